"""T-Eval's matching on stored vectors: upstream's function untouched beside it, and every matching there is."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions

pytestmark = pytest.mark.host

Pairs = frozenset[tuple[int, str]]


class Digits:
    """Few different vectors, so that many steps are alike."""

    name = 'digits'

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def encode(self, texts: Any) -> Any:
        rng = np.random.default_rng(len(texts))
        return np.stack([rng.normal(size=self.dimension) for _ in texts]).astype(np.float32)


@pytest.fixture(scope='module')
def teval_matching() -> Any:
    from opencompass_traj import teval_matching

    return teval_matching


def graph_of(rng: random.Random, weights: list[float] | None, density: float, most: int) -> nx.Graph:
    graph = nx.Graph()
    for pred in range(rng.randint(1, most)):
        for ref in range(rng.randint(1, most)):
            if rng.random() < density:
                graph.add_edge(pred, str(ref), weight=rng.choice(weights) if weights else rng.uniform(0.7, 1.0))
    return graph


def edges_of(teval_matching: Any, graph: nx.Graph) -> Any:
    """What upstream's code would build in place of the graph, in the order in which it does."""
    edges = teval_matching.Edges()
    pairs = (sorted(pair, key=lambda node: isinstance(node, str)) for pair in graph.edges)
    for pred, ref in sorted(pairs, key=lambda pair: (pair[0], int(pair[1]))):
        edges.add_edge(pred, ref, weight=graph.edges[pred, ref]['weight'])
    return edges


def matchings(graph: nx.Graph) -> Iterator[Pairs]:
    """All of them."""
    edges = [tuple(sorted(edge, key=lambda node: isinstance(node, str))) for edge in graph.edges]
    for count in range(len(edges) + 1):
        for chosen in itertools.combinations(edges, count):
            if len({node for edge in chosen for node in edge}) == 2 * count:
                yield frozenset(chosen)


def weight_of(graph: nx.Graph, pairs: Pairs) -> float:
    return sum(graph.edges[pair]['weight'] for pair in pairs)


def normal(pairs: Any) -> Pairs:
    return frozenset((a, b) if isinstance(a, int) else (b, a) for a, b in pairs)


WEIGHTS: list[list[float] | None] = [None, [0.8, 0.9, 1.0], [1.0], [0.75, 0.75 + 1e-12], [1e-9, 1.0], [0.8, 0.9, 0.7]]


@pytest.mark.parametrize('weights', WEIGHTS)
def test_a_matching_is_the_only_heaviest_one_or_none(teval_matching: Any, weights: list[float] | None) -> None:
    rng = random.Random(5)
    found = []
    for _ in range(150):
        graph = graph_of(rng, weights, density=rng.choice([0.3, 0.7]), most=4)
        if graph.number_of_edges() > 10:
            continue
        worths = sorted(((weight_of(graph, pairs), pairs) for pairs in matchings(graph)), key=lambda one: -one[0])
        only = teval_matching.only_matching(edges_of(teval_matching, graph).weights)
        margin = worths[0][0] - worths[1][0] if len(worths) > 1 else 1.0
        if only is not None:
            assert normal(only) == worths[0][1]
            assert margin > 0
        elif margin > 1e-6:
            pytest.fail(f'{dict(graph.edges)}: one matching is heavier than all others, and none was found')
        found.append(only is not None)
    assert len(found) > 50
    # Both ways are taken, but where the weights allow only one.
    assert any(found)
    assert weights is None or not all(found)


@pytest.mark.parametrize('weights', WEIGHTS)
def test_networkx_gives_the_same(teval_matching: Any, weights: list[float] | None) -> None:
    rng = random.Random(6)
    for _ in range(100):
        graph = graph_of(rng, weights, density=rng.choice([0.2, 0.5, 1.0]), most=12)
        if graph.number_of_edges():
            edges = edges_of(teval_matching, graph)
            before = dict(edges.weights)
            assert normal(teval_matching.heaviest_matching(edges)) == normal(nx.max_weight_matching(graph))
            assert before == edges.weights


def test_no_edges_are_no_matching(teval_matching: Any) -> None:
    assert list(teval_matching.heaviest_matching(teval_matching.Edges())) == []


@pytest.mark.parametrize('dimension', [2, 3, 8])
def test_the_numbers_are_upstreams_own(teval_matching: Any, dimension: int) -> None:
    """Dense, sparse and tied weights, beside upstream's untouched function on the same vectors."""
    rng = random.Random(11)
    for _ in range(60):
        texts = [f'tool {number}' for number in range(rng.randint(1, 6))]
        pred, golden = (
            [{'id': at, 'name': rng.choice(texts), 'args': rng.choice(texts)} for at in range(rng.randint(1, 12))]
            for _ in range(2)
        )
        vectors = TextVectors(Digits(dimension))
        vectors.add(texts)
        match = MatchOptions(match_threshold=rng.choice([0.0, 0.3, 0.7]))
        beside = teval_matching.UpstreamPlanning(match, vectors)
        assert teval_matching.MATCH(beside, pred, golden) == beside.bertscore_match(pred, golden)
        found = teval_matching.match_as_upstream(pred, golden, vectors, match)
        assert found == {key: float(value) for key, value in beside.bertscore_match(pred, golden).items()}


def test_similarities_are_upstreams_to_the_last_bit(teval_matching: Any) -> None:
    import torch
    from sentence_transformers import util

    rng = np.random.default_rng(3)
    for number in range(300):
        width = int(rng.choice([1, 2, 3, 8, 384, 768]))
        one, other = (
            torch.from_numpy((rng.normal(size=(rng.integers(1, 25), width)) * 10.0 ** rng.integers(-6, 6)).astype('f4'))
            for _ in range(2)
        )
        if number % 4 == 0:
            one[0] = 0
        assert torch.equal(teval_matching.cosine(one, other), util.cos_sim(one, other))


def test_lists_hold_what_upstreams_matrices_hold(teval_matching: Any) -> None:
    """Every operation of upstream's loops, on NumPy's numbers and on Python's."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(6, 5)).astype(np.float32)
    plain, theirs = teval_matching._maximum(matrix, 0), np.maximum(matrix, 0)
    for i, j in itertools.product(range(6), range(5)):
        for weight in (0.75, 0.25, 1 / 3):
            assert plain[i][j] * weight + plain[j][i % 5] * 0.1 == theirs[i][j] * weight + theirs[j][i % 5] * 0.1
    assert (teval_matching._zeros((2, 3)), teval_matching._ones(3)) == (np.zeros((2, 3)).tolist(), np.ones(3).tolist())
