"""The best-first search over legal orders, beside the dynamic programme over all down-sets."""

import random

import numpy as np
import pytest

from opencompass_traj.metrics._order_dp import FORBIDDEN, Costs, align_orders
from opencompass_traj.metrics._order_search import search_orders
from opencompass_traj.metrics.poset import is_legal_order, transitive_closure, weak_order
from tests.metrics.order_reference import random_edges

ALL = 1 << 30


def side(rng, most, *, parallel):
    n = rng.randint(0, most)
    labels = [rng.randrange(4) for _ in range(n)]
    if parallel:
        return labels, weak_order([rng.randrange(3) for _ in range(n)])
    return labels, transitive_closure(n, random_edges(rng, n, rng.choice([0.0, 0.3, 0.8])))


def price(links, pred, ref):
    return sum(i is None or v is None or pred[i] != ref[v] for i, v in links)


def least(pred, ref, *, substitutes):
    """By going through all down-sets."""
    differs = np.array([[a != b for b in ref[0]] for a in pred[0]], dtype=np.int64).reshape(len(pred[0]), len(ref[0]))
    costs = Costs(differs if substitutes else differs * FORBIDDEN, 1, 1)
    found = align_orders(pred[1], ref[1], costs, budget=ALL)
    assert found.exact
    return price(found.links, pred[0], ref[0])


def cases(count, most, seed):
    rng = random.Random(seed)
    for _ in range(count):
        yield side(rng, most, parallel=rng.random() < 0.5), side(rng, most, parallel=False)


@pytest.mark.parametrize('substitutes', [True, False])
def test_it_finds_what_the_dynamic_programme_finds(substitutes):
    for pred, ref in cases(300, 6, seed=1):
        found = search_orders(pred, ref, substitutes=substitutes, below=100, limit=ALL)
        expected = least(pred, ref, substitutes=substitutes)
        assert found.done
        assert (found.at_least, price(found.links, pred[0], ref[0])) == (expected, expected)
        assert is_legal_order([i for i, _ in found.links if i is not None], pred[1])
        assert is_legal_order([v for _, v in found.links if v is not None], ref[1])
        if not substitutes:
            assert all(i is None or v is None or pred[0][i] == ref[0][v] for i, v in found.links)


@pytest.mark.parametrize('substitutes', [True, False])
def test_nothing_is_found_where_nothing_is_cheaper(substitutes):
    for pred, ref in cases(100, 5, seed=2):
        expected = least(pred, ref, substitutes=substitutes)
        for below in range(expected + 2):
            found = search_orders(pred, ref, substitutes=substitutes, below=below, limit=ALL)
            assert found.done
            assert (found.links is None) == (below <= expected)
            assert found.at_least == min(below, expected) or below < expected


@pytest.mark.parametrize('limit', [1, 5, 20, 80])
def test_what_it_gives_up_is_bounded(limit):
    given_up = 0
    for pred, ref in cases(150, 7, seed=3):
        found = search_orders(pred, ref, substitutes=True, below=100, limit=limit)
        given_up += not found.done
        assert found.at_least <= least(pred, ref, substitutes=True)
        assert found.done == (found.links is not None)
    assert given_up


def test_more_down_sets_than_can_be_counted_are_no_hindrance():
    """Forty steps without any order, one of them missing in the prediction and two new."""
    ref = [*range(40)], [0] * 40
    pred = [*range(20), 50, *range(21, 40), 51], weak_order(range(41))
    found = search_orders(pred, ref, substitutes=True, below=41, limit=10_000)
    assert (found.at_least, found.done) == (2, True)


def test_steps_made_together_beside_unordered_golden_ones_are_given_up_at_once():
    """Nine million pairs may come first: none of them is made."""
    pred = [*range(3_000)], [0] * 3_000
    ref = [*range(1, 3_001)], [0] * 3_000
    found = search_orders(pred, ref, substitutes=True, below=3_000, limit=50_000)
    assert (found.links, found.at_least, found.done) == (None, 1, False)
