"""Slow and obvious references for the mapping metrics: every partial mapping is tried."""

import itertools
import random

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

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


def integer_program(pred, ref):
    """The greatest (matched nodes + matched edges) by the textbook integer program, for graphs beyond brute force."""
    pairs = [(i, j) for i, a in enumerate(pred.names) for j, b in enumerate(ref.names) if a == b]
    place = {pair: column for column, pair in enumerate(pairs)}
    doubles = [
        (place[a, c], place[b, d])
        for a, b in sorted(pred.edges)
        for c, d in sorted(ref.edges)
        if (a, c) in place and (b, d) in place
    ]
    count = len(pairs) + len(doubles)
    if not count:
        return 0.0
    rows, right = [], []
    for column, ends in enumerate(doubles, len(pairs)):
        for end in ends:
            rows.append({column: 1, end: -1})
            right.append(0)
    for side in (0, 1):
        for node in sorted({pair[side] for pair in pairs}):
            rows.append({place[pair]: 1 for pair in pairs if pair[side] == node})
            right.append(1)
    matrix = np.zeros((len(rows), count))
    for number, row in enumerate(rows):
        matrix[number, list(row)] = list(row.values())
    solved = milp(
        -np.ones(count),
        constraints=LinearConstraint(matrix, -np.inf, right),
        integrality=np.ones(count),
        bounds=Bounds(0, 1),
        options={'mip_rel_gap': 0.0},
    )
    return float(round(-solved.fun))


def legal_order(rng: random.Random, graph: StepGraph) -> list[int]:
    """A random topological order of the graph's nodes."""
    built = nx.DiGraph(sorted(graph.edges))
    built.add_nodes_from(range(len(graph.names)))
    waiting = dict(built.in_degree())
    order: list[int] = []
    while len(order) < len(graph.names):
        node = rng.choice(sorted(node for node, count in waiting.items() if count == 0))
        del waiting[node]
        order.append(node)
        for child in built.successors(node):
            waiting[child] -= 1
    return order
