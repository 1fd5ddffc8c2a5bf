"""Slow and obvious references for the mapping metrics: every partial mapping is tried."""

import itertools
import random

from opencompass_traj.plan import StepGraph


def all_mappings(allowed, n_pred):
    """Every injective partial mapping as a dict, where `allowed[i]` are the golden nodes that node i may stand for."""
    if n_pred == 0:
        yield {}
        return
    last = n_pred - 1
    for mapping in all_mappings(allowed, last):
        yield mapping
        for golden in allowed[last]:
            if golden not in mapping.values():
                yield {**mapping, last: golden}


def brute_force(pred, ref, weights=None, has_edge=None):
    """The greatest (matched nodes + matched edges) over all mappings; predicted edges by `has_edge` if given."""
    if weights is None:
        weights = [[float(a == b) for b in ref.names] for a in pred.names]
    has_edge = has_edge or (lambda i, j: (i, j) in pred.edges)
    allowed = [[j for j, weight in enumerate(row) if weight > 0] for row in weights]
    best = 0.0
    for mapping in all_mappings(allowed, len(pred.names)):
        worth = sum(weights[i][j] for i, j in mapping.items())
        for a, b in itertools.permutations(mapping, 2):
            if has_edge(a, b) and (mapping[a], mapping[b]) in ref.edges:
                worth += weights[a][mapping[a]] * weights[b][mapping[b]]
        best = max(best, worth)
    return best


def random_graph(rng: random.Random, max_nodes: int, labels: str, density: float | None = None, acyclic: bool = False):
    """A random labelled digraph, with at most `max_nodes` nodes; acyclic: edges lead from lower to higher nodes."""
    names = tuple(rng.choice(labels) for _ in range(rng.randint(0, max_nodes)))
    density = rng.random() if density is None else density
    pairs = itertools.combinations(range(len(names)), 2) if acyclic else itertools.permutations(range(len(names)), 2)
    return StepGraph(names, frozenset(pair for pair in pairs if rng.random() < density))


def shuffled(rng: random.Random, graph: StepGraph) -> StepGraph:
    """The same graph with its nodes numbered in another way."""
    new = list(range(len(graph.names)))
    rng.shuffle(new)
    names = [''] * len(new)
    for old, node in enumerate(new):
        names[node] = graph.names[old]
    return StepGraph(tuple(names), frozenset((new[i], new[j]) for i, j in graph.edges))


def chain(*names: str) -> StepGraph:
    return StepGraph(names, frozenset((i, i + 1) for i in range(len(names) - 1)))
