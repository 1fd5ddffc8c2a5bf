"""Time the exact graph edit distance, beside networkx in the same run, by plan length.

Run from the root of the repository:

    python benchmarks/graph_edit_distance.py [--pairs 20] [--sizes 4 8] [--long 500]

Each pair is a random plan graph and the same graph with faults put in, once with tools that mostly repeat and once with
few repeats. networkx runs both ways round, since its answer on directed graphs depends on it; a call that takes longer
than its limit counts with the limit, so that the ratios are then lower bounds.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import platform
import random
import statistics
import time
from collections.abc import Callable

import networkx as nx

from opencompass_traj.metrics.causal import causal_fidelity
from opencompass_traj.metrics.dag import graph_match, order_match
from opencompass_traj.plan import StepGraph

NETWORKX_LIMIT = 5.0


def random_plan(rng: random.Random, size: int, tools: int) -> StepGraph:
    """A plan graph: every step but the first depends on one or two earlier ones."""
    names = tuple(f'tool {rng.randrange(tools)}' for _ in range(size))
    edges = {(rng.randrange(node), node) for node in range(1, size) for _ in range(rng.randint(1, 2))}
    return StepGraph(names, frozenset(edges))


def with_faults(rng: random.Random, graph: StepGraph) -> StepGraph:
    """The plan with a step renamed, one repeated at its end and one dependency moved."""
    names, edges = list(graph.names), sorted(graph.edges)
    names[rng.randrange(len(names))] = rng.choice(names)
    edges[rng.randrange(len(edges))] = (rng.randrange(len(names)), len(names))
    names.append(rng.choice(names))
    return StepGraph(tuple(names), frozenset(edges))


def networkx_distance(pred: StepGraph, ref: StepGraph) -> float | None:
    """The distance under the same costs; None where the limit cut the search short."""
    start = time.perf_counter()
    found: float | None = nx.graph_edit_distance(
        _to_networkx(pred),
        _to_networkx(ref),
        node_subst_cost=lambda a, b: 0 if a['name'] == b['name'] else math.inf,
        timeout=NETWORKX_LIMIT,
    )
    return found if time.perf_counter() - start < NETWORKX_LIMIT else None


def seconds(call: Callable[[], object], repeat: int = 1) -> float:
    """The fastest of `repeat` runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def against_networkx(sizes: list[int], pairs: int, tools_per_step: float, rng: random.Random) -> None:
    print(f'\nexact distance, {pairs} pairs per length, {tools_per_step:g} tools per step; milliseconds, medians')
    print('steps  ours (p,r)  ours (r,p)  networkx (p,r)  networkx (r,p)  ratio  of totals  cut short  not minimal')
    for size in sizes:
        rows, late, wrong = [], 0, 0
        for _ in range(pairs):
            ref = random_plan(rng, size, max(1, round(size * tools_per_step)))
            pred = with_faults(rng, ref)
            row = []
            for left, right in ((pred, ref), (ref, pred)):
                row.append(1e3 * seconds(lambda left=left, right=right: graph_match(left, right), repeat=3))
                start = time.perf_counter()
                theirs = networkx_distance(left, right)
                row.append(1e3 * (time.perf_counter() - start))
                late += theirs is None
                wrong += theirs is not None and theirs > graph_match(left, right).distance
            rows.append(row)
        ours, theirs_forth, ours_back, theirs_back = (statistics.median(column) for column in zip(*rows, strict=True))
        ratio = statistics.median((row[1] + row[3]) / (row[0] + row[2]) for row in rows)
        totals = sum(row[1] + row[3] for row in rows) / sum(row[0] + row[2] for row in rows)
        times = f'{ours:10.3f}  {ours_back:10.3f}  {theirs_forth:14.1f}  {theirs_back:14.1f}'
        print(f'{size:5d}  {times}  {ratio:5.0f}  {totals:9.0f}  {late:9d}  {wrong:11d}')


def long_plans(sizes: list[int], rng: random.Random) -> None:
    print('\nlong plans over 20 tools, against an unrelated plan and against one with 10 faults; seconds')
    print('steps  metric           unrelated  bounds            faults     bounds')
    for size in sizes:
        ref, other = random_plan(rng, size, 20), random_plan(rng, size, 20)
        pred = ref
        for _ in range(10):
            pred = with_faults(rng, pred)
        for name, measure in (('graph_match', graph_match), ('order_match', order_match), ('causal_fidelity', _causal)):
            cells = []
            for side in (other, pred):
                start = time.perf_counter()
                result = measure(side, ref)
                took = time.perf_counter() - start
                cells.append(f'{took:9.3f}  {_bounds(result):16s}')
            print(f'{size:5d}  {name:15s}  {cells[0]}  {cells[1]}')


def _causal(pred: StepGraph, ref: StepGraph) -> object:
    return causal_fidelity(pred.names, ref)


def _bounds(result: object) -> str:
    lower = getattr(result, 'similarity_lower', None)
    if lower is None:
        lower, upper = getattr(result, 'lower', 0.0), getattr(result, 'upper', 1.0)
    else:
        upper = getattr(result, 'similarity_upper', 1.0)
    return f'{lower:.4f} exact' if lower == upper else f'{lower:.4f} to {upper:.4f}'


def _to_networkx(graph: StepGraph) -> nx.DiGraph:
    built = nx.DiGraph()
    built.add_nodes_from((node, {'name': name}) for node, name in enumerate(graph.names))
    built.add_edges_from(sorted(graph.edges))
    return built


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--sizes', type=int, nargs='+', default=[4, 5, 6, 7, 8], help='plan lengths beside networkx')
    parser.add_argument('--pairs', type=int, default=10, help='pairs per length')
    parser.add_argument('--long', type=int, nargs='*', default=[20, 50, 100, 200, 500], help='lengths of long plans')
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args()
    versions = ', '.join(f'{name} {importlib.metadata.version(name)}' for name in ('numpy', 'scipy', 'networkx'))
    print(f'{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} CPUs, {versions}')
    rng = random.Random(options.seed)
    graph_match(random_plan(rng, 6, 2), random_plan(rng, 6, 2))  # The first call pays for imports.
    for tools_per_step in (0.5, 2):
        against_networkx(options.sizes, options.pairs, tools_per_step, rng)
    long_plans(options.long, rng)


if __name__ == '__main__':
    main()
