"""Overlaps of two lists of calls, beside slow forms of the same."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics.tool_calls import (
    CallPairs,
    all_found,
    golden_turns_found,
    in_order_prefix,
    in_turns,
    multiset_overlap,
    place_overlap,
    places,
    same_in_turns,
    set_counts,
)

LABELS = st.lists(st.sampled_from('abc'), max_size=6)
TURNS = st.lists(st.lists(st.sampled_from('abc'), min_size=1, max_size=3), max_size=3)
# A relation that is no equivalence: which predicted call is as good as which golden one.
RELATIONS = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.booleans())


def related(pred, ref, relation):
    return CallPairs(tuple(pred), tuple(ref), lambda i, j: relation.get((i, j), False))


def most_pairs(pairs):
    """Every way to give golden calls to predicted ones, tried out."""
    n_pred, n_ref = len(pairs.pred), len(pairs.ref)
    best = 0
    for chosen in permutations(range(max(n_pred, n_ref)), min(n_pred, n_ref)):
        ends = enumerate(chosen) if n_pred <= n_ref else ((i, j) for j, i in enumerate(chosen))
        best = max(best, sum(pairs.equal(i, j) for i, j in ends))
    return best


def orders(turns):
    """Every list of calls that a list of turns can be."""
    if not turns:
        return {()}
    return {(*first, *rest) for first in permutations(turns[0]) for rest in orders(turns[1:])}


def is_subsequence(few, many):
    rest = iter(many)
    return all(item in rest for item in few)


@pytest.mark.parametrize(
    ('pred', 'ref', 'multiset', 'as_sets', 'in_place', 'prefix'),
    [
        ('', '', 0, 0, 0, 0),
        ('abc', 'abc', 3, 3, 3, 3),
        ('acb', 'abc', 3, 3, 1, 2),
        ('axbc', 'abc', 3, 3, 1, 3),
        ('bc', 'abc', 2, 2, 0, 0),
        ('aab', 'ab', 2, 2, 1, 2),
        ('ab', 'aab', 2, 2, 1, 1),
        ('a', '', 0, 0, 0, 0),
        ('', 'a', 0, 0, 0, 0),
    ],
)
def test_the_overlaps_of_small_lists(pred, ref, multiset, as_sets, in_place, prefix):
    pairs = CallPairs(tuple(pred), tuple(ref))
    assert multiset_overlap(pred, ref) == pairs.counts.matched == multiset
    assert set_counts(pred, ref).matched == as_sets
    assert place_overlap(pairs) == in_place
    assert in_order_prefix(pairs) == prefix
    assert all_found(pairs) == (multiset == len(ref))
    assert all_found(pairs, by_prediction=True) == (multiset == len(pred))


@settings(max_examples=80, deadline=None)
@given(LABELS, LABELS)
def test_equal_labels_overlap_as_every_assignment_says(pred, ref):
    pairs = CallPairs(tuple(pred), tuple(ref))
    assert pairs.counts.matched == most_pairs(pairs)
    assert (in_order_prefix(pairs) == len(ref)) == is_subsequence(ref, pred)
    assert in_order_prefix(pairs) == max(n for n in range(len(ref) + 1) if is_subsequence(ref[:n], pred))


@settings(max_examples=80, deadline=None)
@given(LABELS, LABELS, RELATIONS)
def test_a_relation_is_matched_as_every_assignment_says(pred, ref, relation):
    pairs = related(pred, ref, relation)
    assert pairs.counts.matched == most_pairs(pairs)
    # The first fit is one assignment: it never finds more.
    assert not all_found(pairs) or pairs.counts.matched == len(ref)
    assert not all_found(pairs, by_prediction=True) or pairs.counts.matched == len(pred)


def test_the_first_fit_can_miss_what_a_matching_finds():
    taken_by_both = {(0, 0): True, (1, 0): True, (0, 1): True}
    pairs = related('aa', 'aa', taken_by_both)
    assert pairs.counts.matched == 2
    assert not all_found(pairs)


@settings(max_examples=100, deadline=None)
@given(TURNS, TURNS)
def test_turns_agree_with_every_order_of_their_calls(pred, ref):
    left, right = orders(pred), orders(ref)
    assert same_in_turns(pred, ref) == bool(left & right)
    assert golden_turns_found(pred, ref) == any(is_subsequence(few, many) for few in right for many in left)


def test_empty_turns_are_none():
    assert same_in_turns([[], ['a'], []], [['a']])
    assert same_in_turns([[]], [])
    assert golden_turns_found([], [[], []])
    assert not golden_turns_found([], [['a']])


def test_turns_and_places():
    assert in_turns('abcd', (0, 0, 3, 4)) == [['a', 'b'], ['c'], ['d']]
    assert in_turns('', None) == []
    assert places('abca') == {'a': [0, 3], 'b': [1], 'c': [2]}


def test_long_lists_need_no_table_of_pairs():
    calls = tuple(range(20_000))
    pairs = CallPairs(calls, calls[::-1])
    assert pairs.counts.matched == 20_000
    assert in_order_prefix(pairs) == 1
    assert same_in_turns([calls], [calls[::-1]])
