"""Golden graphs of real plans, and plans with faults put in."""

import json
import random
import re

from opencompass_traj.plan import StepGraph
from tests.data import shared_data


def teval_graphs() -> list[StepGraph]:
    """The golden plan graphs of T-Eval, without the closing FinishAction."""
    graphs = []
    for sample in json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8')).values():
        steps = sample['ground_truth']
        steps = steps[:-1] if steps[-1]['name'] == 'FinishAction' else steps
        place = {step['id']: node for node, step in enumerate(steps)}
        edges = {(place[prev], place[step['id']]) for step in steps for prev in step['prev'] if prev in place}
        graphs.append(StepGraph(tuple(step['name'] for step in steps), frozenset(edges)))
    return graphs


def worfbench_graphs() -> list[StepGraph]:
    """The golden workflows of WorFBench, with every node under one of three labels, so that partners are a search."""
    graphs = []
    for sample in json.loads(shared_data('worfbench/toolbench.json').read_text(encoding='utf-8')):
        text = sample['conversations'][-1]['content']
        count = len(re.findall(r'^\d+:', text, flags=re.MULTILINE))
        pairs = [(int(a) - 1, int(b) - 1) for a, b in re.findall(r'\((\d+),\s*(\d+)\)', text)]
        edges = frozenset((a, b) for a, b in pairs if a != b and max(a, b) < count)
        graphs.append(StepGraph(tuple('ABC'[node % 3] for node in range(count)), edges))
    return graphs


def with_faults(rng: random.Random, graph: StepGraph, count: int) -> StepGraph:
    """Drop, swap, insert, repeat and rename steps, and rewire edges."""
    names, edges = list(graph.names), set(graph.edges)
    for _ in range(count):
        fault = rng.choice([_drop, _swap, _insert, _repeat, _rename, _rewire])
        if len(names) > 1:
            names, edges = fault(rng, names, edges)
    return StepGraph(tuple(names), frozenset(edges))


def _drop(rng, names, edges):
    gone = rng.randrange(len(names))
    kept = {(a - (a > gone), b - (b > gone)) for a, b in edges if gone not in (a, b)}
    return names[:gone] + names[gone + 1 :], kept


def _swap(rng, names, edges):
    at = rng.randrange(len(names) - 1)
    return [*names[:at], names[at + 1], names[at], *names[at + 2 :]], edges


def _insert(rng, names, edges):
    return [*names, 'inserted'], edges | {(rng.randrange(len(names)), len(names))}


def _repeat(rng, names, edges):
    return [*names, rng.choice(names)], edges | {(rng.randrange(len(names)), len(names))}


def _rename(rng, names, edges):
    at = rng.randrange(len(names))
    return [*names[:at], rng.choice([*names, 'renamed']), *names[at + 1 :]], edges


def _rewire(rng, names, edges):
    kept = set(sorted(edges)[1:]) if edges else set()
    return names, kept | {tuple(sorted(rng.sample(range(len(names)), 2)))}
