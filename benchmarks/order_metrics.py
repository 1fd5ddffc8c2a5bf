"""Time the order-fair metrics beside the usual ways, by plan length, as ratios in one run.

Run from the root of the repository: `python benchmarks/order_metrics.py [--cases 6]`. Two tables:

1. The similarity to the closest topological order: the dynamic programme over down-sets against listing the orders and
   taking rapidfuzz's distance to each, all of them (up to a limit, after which the ratio is a lower bound) and only the
   first 20, as WorFEval does. "missed" is how often the first 20 do not hold the closest order.
2. Matching and order together against networkx' maximum-weight matching followed by the longest increasing
   subsequence, as T-Eval does.

Every case is run in both orders, ours first and ours last; the table shows both ratios.
"""

from __future__ import annotations

import argparse
import bisect
import importlib.metadata
import itertools
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator

import networkx as nx
import numpy as np
from rapidfuzz.distance import Levenshtein

from opencompass_traj.metrics.partial_order import partial_order_similarity
from opencompass_traj.metrics.plan_match import plan_match
from opencompass_traj.plan import StepGraph

LISTED_AT_MOST = 20_000
TOOLS = 20


def random_plan(rng: random.Random, size: int) -> StepGraph:
    """A plan graph: every step but the first depends on one or two of the six before it."""
    names = tuple(f'tool {rng.randrange(TOOLS)}' for _ in range(size))
    edges = {(rng.randrange(max(0, v - 6), v), v) for v in range(1, size) for _ in range(rng.randint(1, 2))}
    return StepGraph(names, frozenset(edges))


def faulty_run(rng: random.Random, plan: StepGraph) -> list[str]:
    """The plan's tools in order, with a tenth left out, a tenth added and a tenth of the neighbours exchanged."""
    tools = [name for name in plan.names if rng.random() < 0.9]
    for k in range(len(tools) - 1):
        if rng.random() < 0.1:
            tools[k], tools[k + 1] = tools[k + 1], tools[k]
    for _ in range(max(1, len(plan.names) // 10)):
        tools.insert(rng.randint(0, len(tools)), f'tool {rng.randrange(TOOLS)}')
    return tools


def listed_orders(plan: StepGraph) -> Iterator[list[int]]:
    graph = nx.DiGraph(sorted(plan.edges))
    graph.add_nodes_from(range(len(plan.names)))
    return nx.all_topological_sorts(graph)


def listed_distance(pred: list[str], plan: StepGraph, limit: int) -> tuple[int, bool]:
    """The distance to the closest of the first `limit` orders, and whether those were all."""
    best, count = len(pred) + len(plan.names), 0
    for order in itertools.islice(listed_orders(plan), limit):
        best = min(best, Levenshtein.distance(pred, [plan.names[v] for v in order]))
        count += 1
    return best, count < limit


def networkx_matched(similarity: np.ndarray, threshold: float) -> int:
    """T-Eval's count: a maximum-weight matching, then its longest increasing run of golden indices."""
    graph = nx.Graph()
    for i, v in zip(*np.nonzero(similarity > threshold), strict=True):
        graph.add_edge(('pred', int(i)), ('ref', int(v)), weight=float(similarity[i, v]))
    pairs = sorted((dict((a, b))['pred'], dict((a, b))['ref']) for a, b in nx.max_weight_matching(graph))
    tails: list[int] = []
    for _, v in pairs:
        place = bisect.bisect_left(tails, v)
        tails[place : place + 1] = [v]
    return len(tails)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def both_ways(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float, float]:
    """Our fastest time, and their time by ours with ours first and with ours last."""
    first, after = seconds(ours), seconds(theirs)
    before, last = seconds(theirs), seconds(ours)
    return min(first, last), after / first, before / last


def print_machine() -> None:
    packages = ', '.join(f'{name} {importlib.metadata.version(name)}' for name in ('networkx', 'numpy', 'rapidfuzz'))
    print(f'{platform.platform()}, {platform.processor() or platform.machine()}, {os.cpu_count()} CPUs')
    print(f'Python {platform.python_version()}, {packages}\n')


def compare_orders(sizes: list[int], cases: int) -> None:
    print('Closest topological order (medians; ratio: their time by ours, ours first / ours last)')
    print('steps | ours ms | exact | all orders, ratio | all listed | first 20, ratio | missed by first 20')
    for size in sizes:
        rng = random.Random(size)
        rows = []
        for _ in range(cases if size <= 20 else 1):
            plan = random_plan(rng, size)
            pred = faulty_run(rng, plan)
            result = partial_order_similarity(pred, plan)

            def ours(pred: list[str] = pred, plan: StepGraph = plan) -> object:
                return partial_order_similarity(pred, plan)

            full = both_ways(ours, lambda pred=pred, plan=plan: listed_distance(pred, plan, LISTED_AT_MOST))
            some = both_ways(ours, lambda pred=pred, plan=plan: listed_distance(pred, plan, 20))
            complete = listed_distance(pred, plan, LISTED_AT_MOST)
            if complete[1] and (complete[0] != result.distance or not result.exact):
                raise SystemExit(f'the two disagree: {complete[0]} and {result}')
            missed = listed_distance(pred, plan, 20)[0] > result.distance
            rows.append((full[0] * 1e3, result.exact, *full[1:], complete[1], *some[1:], missed))
        ms, exact, full_a, full_b, listed, some_a, some_b, missed = zip(*rows, strict=True)
        mark = '' if all(listed) else '≥ '
        print(
            f'{size:5} | {statistics.median(ms):7.2f} | {sum(exact)}/{len(rows)} | '
            f'{mark}{statistics.median(full_a):.1f} / {mark}{statistics.median(full_b):.1f} | '
            f'{sum(listed)}/{len(rows)} | '
            f'{statistics.median(some_a):.2f} / {statistics.median(some_b):.2f} | {sum(missed)}/{len(rows)}',
            flush=True,
        )


def compare_matchings(sizes: list[int], cases: int) -> None:
    print('\nMatching and order (medians; ratio: networkx by ours, ours first / ours last)')
    print('steps | golden | ours ms | exact | gap of the bounds | ratio | steps that T-Eval does not count')
    for size, kind in itertools.product(sizes, ('chain', 'graph')):
        rng = random.Random(size)
        rows = []
        for _ in range(cases if size <= 100 else 1):
            plan = random_plan(rng, size)
            edges = plan.edges if kind == 'graph' else [(v, v + 1) for v in range(size - 1)]
            similarity = np.array([[float(a == b) for b in plan.names] for a in faulty_run(rng, plan)])
            match = plan_match(similarity, edges, threshold=0.7)

            def ours(similarity: np.ndarray = similarity, edges: object = edges) -> object:
                return plan_match(similarity, edges, threshold=0.7)

            ms, first, last = both_ways(ours, lambda similarity=similarity: networkx_matched(similarity, 0.7))
            lost = match.count - networkx_matched(similarity, 0.7)
            rows.append((ms * 1e3, match.exact, match.upper - match.lower, first, last, lost))
        ms, exact, gap, first, last, lost = (statistics.median(column) for column in zip(*rows, strict=True))
        print(
            f'{size:5} | {kind} | {ms:7.2f} | {exact:g} | {gap:g} | {first:.1f} / {last:.1f} | {lost:g}',
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--cases', type=int, default=6, help='random cases per length')
    options = parser.parse_args()
    print_machine()
    compare_orders([5, 8, 12, 20, 50, 100, 500], options.cases)
    compare_matchings([5, 8, 12, 20, 50, 100, 200, 500], options.cases)


if __name__ == '__main__':
    main()
