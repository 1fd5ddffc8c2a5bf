"""T-Eval's and WorFEval's counts, beside slow forms of the same."""

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics.threshold_matching import (
    connected_match,
    first_orders,
    ordered_count,
    ordered_match,
    threshold_matching,
)

SIMILARITIES = st.integers(0, 4).flatmap(
    lambda n: st.integers(0, 4).flatmap(
        lambda m: st.lists(
            st.lists(st.sampled_from([0.0, 0.3, 0.7, 0.71, 0.9, 1.0]), min_size=m, max_size=m), min_size=n, max_size=n
        ).map(lambda rows: np.array(rows, dtype=float).reshape(n, m))
    )
)
PLACES = st.lists(
    st.one_of(st.none(), st.integers(0, 9)),
    min_size=1,
    max_size=7,
    unique_by=lambda x: x if x is not None else object(),
)


def heaviest(weight):
    """The largest total of all one-to-one pairings."""
    n, m = weight.shape
    table = weight if n <= m else weight.T
    columns = range(table.shape[1])
    return max((sum(table[i, j] for i, j in enumerate(one)) for one in permutations(columns, len(table))), default=0.0)


def longest_ascending(places):
    known = [place for place in places if place is not None]
    lengths = range(len(known), 0, -1)
    return next((n for n in lengths if any(list(one) == sorted(set(one)) for one in combinations(known, n))), 1)


@settings(max_examples=60, deadline=None)
@given(SIMILARITIES, st.sampled_from([0, 3_600]))
def test_the_matching_is_the_heaviest_of_all(similarity, max_pairs):
    weight = np.where(similarity > 0.7, similarity, 0.0)
    found = threshold_matching(similarity, threshold=0.7, max_pairs=max_pairs)
    pairs = [(i, j) for i, j in enumerate(found) if j is not None]
    assert len(found) == len(similarity)
    assert len({j for _, j in pairs}) == len(pairs)
    assert all(weight[pair] > 0 for pair in pairs)
    assert sum(weight[pair] for pair in pairs) == pytest.approx(heaviest(weight))


@settings(max_examples=80, deadline=None)
@given(PLACES)
def test_the_ordered_part_is_the_longest_of_all(places):
    assert ordered_count(places) == longest_ascending(places)


@pytest.mark.parametrize(
    ('similarity', 'counts'),
    [
        (np.zeros((0, 0)), (0, 0, 0)),
        (np.zeros((0, 2)), (0, 0, 2)),
        (np.zeros((2, 0)), (0, 2, 0)),
        (np.zeros((2, 2)), (1, 2, 2)),  # nothing is matched, and one counts
        (np.eye(3), (3, 3, 3)),
        (np.eye(3)[::-1], (1, 3, 3)),
        (np.ones((2, 2)), (1, 2, 2)),  # equal steps are crossed
        (np.full((1, 1), 0.7), (1, 1, 1)),
    ],
)
def test_the_ordered_count_of_small_plans(similarity, counts):
    found = ordered_match(similarity, threshold=0.7)
    assert (found.matched, found.n_pred, found.n_ref) == counts


def test_only_what_is_strictly_above_the_threshold_is_matched():
    assert threshold_matching(np.full((1, 1), 0.7), threshold=0.7) == (None,)
    assert threshold_matching(np.full((1, 1), 0.7), threshold=0.69) == (0,)
    assert threshold_matching(np.zeros((2, 0)), threshold=0.5) == (None, None)


@pytest.mark.parametrize('edges', [[], [(0, 1)], [(0, 1), (0, 2), (1, 3), (2, 3)], [(3, 2), (2, 1), (1, 0)]])
def test_the_orders_are_the_legal_ones(edges):
    legal = {one for one in permutations(range(4)) if all(one.index(i) < one.index(j) for i, j in edges)}
    found = [tuple(one) for one in first_orders(4, edges, limit=100)]
    assert len(found) == len(legal)
    assert set(found) == legal
    assert [tuple(one) for one in first_orders(4, edges, limit=2)] == found[:2]


def test_a_cycle_has_no_order():
    assert list(first_orders(2, [(0, 1), (1, 0)], limit=5)) == []


def connected_by_definition(similarity, pred_edges, ref_edges, threshold):
    matched = threshold_matching(similarity, threshold=threshold)
    both = nx.Graph((i, j) for i, j in pred_edges if (i, j) in ref_edges and {i, j} <= set(matched))
    both.remove_nodes_from([node for node in list(both) if matched[node] is None])
    largest = max((len(part) for part in nx.connected_components(both)), default=0)
    return max(largest, int(any(place is not None for place in matched)))


@settings(max_examples=60, deadline=None)
@given(
    SIMILARITIES,
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
)
def test_the_connected_part_is_the_largest(similarity, pred_edges, ref_edges):
    n_pred, n_ref = similarity.shape
    pred_edges = {(i, j) for i, j in pred_edges if i < j < n_pred}
    ref_edges = {(i, j) for i, j in ref_edges if i < j < n_ref}
    found = connected_match(similarity, pred_edges, ref_edges, threshold=0.6)
    assert (found.n_pred, found.n_ref) == (n_pred, n_ref)
    assert found.matched == connected_by_definition(similarity, pred_edges, ref_edges, 0.6)


def test_the_same_graph_in_another_listing_is_another_one():
    chain, renamed = [(0, 1), (1, 2)], [(1, 0), (0, 2)]
    swapped = np.eye(3)[[1, 0, 2]]
    assert connected_match(np.eye(3), chain, chain, threshold=0.6).matched == 3
    assert connected_match(swapped, renamed, chain, threshold=0.6).matched == 1


def test_long_plans_take_no_minutes():
    rng = np.random.default_rng(0)
    found = ordered_match(rng.random((600, 500)), threshold=0.7)
    assert 1 <= found.matched <= 500
