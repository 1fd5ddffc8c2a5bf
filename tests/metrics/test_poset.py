"""Partial orders against brute force over permutations and subsets, and against networkx."""

import itertools
import random

import networkx as nx
import pytest

from opencompass_traj.metrics.poset import (
    chain_partition,
    count_downsets,
    downset_levels,
    extend_order,
    is_chain,
    is_legal_order,
    maximum_antichain,
    order_twins,
    restrict,
    topological_order,
    transitive_closure,
    transpose,
    weak_order,
)
from tests.metrics.order_reference import legal_orders, random_edges


def random_poset(seed: int, largest: int = 7):
    rng = random.Random(seed)
    n = rng.randrange(largest)
    edges = random_edges(rng, n, rng.choice([0, 0.2, 0.5, 1]))
    return n, edges, transitive_closure(n, edges)


def members(mask: int) -> set[int]:
    return {v for v in range(mask.bit_length()) if mask >> v & 1}


@pytest.mark.parametrize(
    ('n', 'edges', 'message'),
    [
        (3, [(0, 3)], 'node 3'),
        (3, [(-1, 0)], 'node -1'),
        (2, [(1, 1)], 'node 1 depends on itself'),
        (4, [(0, 1), (1, 2), (2, 1), (2, 3)], 'node [12] depends on itself'),
        (3, [(0, 1), (1, 2), (2, 0)], 'without cycles'),
    ],
)
def test_what_is_no_partial_order_is_refused_by_name(n, edges, message):
    with pytest.raises(ValueError, match=message):
        transitive_closure(n, edges)


def test_a_node_that_only_follows_a_cycle_is_not_blamed():
    with pytest.raises(ValueError, match=r'node [34]'):
        transitive_closure(5, [(3, 4), (4, 3), (4, 0), (0, 1), (1, 2)])


@pytest.mark.parametrize('seed', range(60))
def test_closure_agrees_with_networkx(seed):
    n, edges, preds = random_poset(seed)
    graph = nx.DiGraph(list(edges))
    graph.add_nodes_from(range(n))
    assert [members(mask) for mask in preds] == [nx.ancestors(graph, v) for v in range(n)]
    assert [members(mask) for mask in transpose(preds)] == [nx.descendants(graph, v) for v in range(n)]
    assert transpose(transpose(preds)) == preds


@pytest.mark.parametrize('seed', range(60))
def test_orders(seed):
    n, _, preds = random_poset(seed, 6)
    orders = legal_orders(preds)
    assert topological_order(preds) in orders
    assert is_chain(preds) == (len(orders) == 1)
    for order in itertools.permutations(range(n)):
        assert is_legal_order(order, preds) == (order in orders)
    assert not is_legal_order((*range(n), 0), preds)


@pytest.mark.parametrize('seed', range(60))
def test_a_part_of_a_legal_order_is_extended_without_a_move(seed):
    rng = random.Random(seed)
    _, _, preds = random_poset(seed, 6)
    for order in legal_orders(preds):
        part = [v for v in order if rng.random() < 0.5]
        extended = extend_order(part, preds)
        assert is_legal_order(extended, preds)
        assert [v for v in extended if v in part] == part


@pytest.mark.parametrize('seed', range(60))
def test_down_sets_are_all_closed_subsets(seed):
    n, _, preds = random_poset(seed)
    closed = [s for s in range(2**n) if all(not preds[v] & ~s for v in members(s))]
    levels = list(downset_levels(preds))
    assert sorted(mask for level in levels for mask in level) == closed
    assert all(mask.bit_count() == size for size, level in enumerate(levels) for mask in level)
    assert count_downsets(preds, limit=1000) == count_downsets(preds, limit=len(closed)) == len(closed)
    assert count_downsets(preds, limit=len(closed) - 1) == len(closed)
    assert count_downsets(preds, limit=0) == 1


@pytest.mark.parametrize('seed', range(80))
def test_chains_and_antichains_by_dilworth(seed):
    n, _, preds = random_poset(seed, 8)
    best = 0
    for subset in range(2**n):
        if not any(preds[v] & subset for v in members(subset)):
            best = max(best, subset.bit_count())
    antichain, chains = maximum_antichain(preds), chain_partition(preds)
    assert len(antichain) == len(chains) == best
    assert not any(preds[v] >> u & 1 for u in antichain for v in antichain)
    assert sorted(v for chain in chains for v in chain) == list(range(n))
    assert all(preds[v] >> u & 1 for chain in chains for u, v in itertools.pairwise(chain))


def test_large_orders():
    long_chain = transitive_closure(500, [(i, i + 1) for i in range(499)])
    assert is_chain(long_chain)
    assert count_downsets(long_chain, limit=10_000) == 501
    assert len(maximum_antichain(long_chain)) == 1
    assert len(maximum_antichain([0] * 500)) == 500
    assert count_downsets([0] * 500, limit=100) == 101


@pytest.mark.parametrize('seed', range(80))
def test_ordering_twins_keeps_every_sequence_of_labels(seed):
    rng = random.Random(seed)
    n, _, preds = random_poset(seed, 7)
    labels = [rng.choice('ab') for _ in range(n)]
    narrowed = order_twins(preds, labels)
    assert all(not before & ~after for before, after in zip(preds, narrowed, strict=True))

    def spelled(order_preds):
        return {tuple(labels[v] for v in order) for order in legal_orders(order_preds)}

    assert spelled(narrowed) == spelled(preds)


def test_twins_without_dependencies_become_a_chain():
    assert is_chain(order_twins([0] * 60, ['a'] * 60))
    assert count_downsets(order_twins([0] * 10, 'aaaaabbbbb'), limit=1000) == 36


def test_restriction_keeps_what_goes_through_left_out_nodes():
    preds = transitive_closure(4, [(0, 1), (1, 2), (3, 2)])
    assert restrict(preds, [0, 2, 3]) == (0, 0b101, 0)
    assert restrict(preds, []) == ()


def test_weak_order():
    assert weak_order([]) == ()
    assert weak_order([5, 1, 5, 9]) == (0b10, 0, 0b10, 0b111)
    assert is_chain(weak_order([3, 1, 2]))
