"""Credit for calls whose arguments are right in part, beside slow forms of the same."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics import partial_credit as module
from opencompass_traj.metrics.partial_credit import CallCredit, longest_in_order, shared_arguments
from opencompass_traj.plan import Plan, Step

ARGS = st.dictionaries(st.sampled_from('xyz'), st.sampled_from([1, 2, {'k': 1}, {'k': 2, 'l': 1}]), max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from('ab'), ARGS), max_size=5)


def steps(calls):
    return [Step(i, name, args) for i, (name, args) in enumerate(calls)]


def most_in_order(pred, ref, weight):
    """The best of all ways to pair calls in order, by the definition."""

    @cache
    def best(i, j):
        if i == len(pred) or j == len(ref):
            return 0.0
        return max(best(i + 1, j), best(i, j + 1), best(i + 1, j + 1) + weight(pred[i], ref[j]))

    return best(0, 0)


@pytest.mark.parametrize(
    ('pred', 'ref', 'share'),
    [
        ({}, {}, 1),
        ({'x': 1}, {}, 0),
        ({'x': 1}, {'x': 1.0}, 1),
        ({'x': 1}, {'x': 2}, 0),
        ({'x': 1, 'y': 2}, {'x': 1, 'z': 2}, 1 / 3),
        ({'x': {'k': 1, 'l': 2}}, {'x': {'k': 1, 'l': 3}}, 1 / 2),
        ({'x': {'k': {'m': 1}}, 'y': 1}, {'x': {'k': {'m': 2}}, 'y': 1}, 1 / 2),
        ({'x': {}}, {'x': {'k': 1}}, 0),
    ],
)
def test_the_share_of_arguments(pred, ref, share):
    assert shared_arguments(pred, ref) == share


def test_arguments_without_end_have_a_share():
    deep, other = {'k': 1, 'x': 1}, {'k': 2, 'x': 1}
    for _ in range(180):
        deep, other = {'k': deep}, {'k': other}
    assert shared_arguments(deep, other) == 0
    assert shared_arguments(deep, deep) == 1


@pytest.mark.parametrize(
    ('pred', 'ref', 'greedy', 'in_order'),
    [
        ('abc', 'abc', 3, 3),
        ('cba', 'abc', 3, 1),
        ('aa', 'aa', 1, 2),
        ('ab', 'aab', 2, 2),
        ('aab', 'ab', 2, 2),
        ('', 'ab', 0, 0),
        ('xyz', 'abc', 0, 0),
    ],
)
def test_names_alone(pred, ref, greedy, in_order):
    credit = CallCredit(Plan.of(*pred).steps, Plan.of(*ref).steps)
    assert (credit.greedy(), credit.in_order()) == (greedy, in_order)


def test_the_order_of_the_golden_calls_changes_the_greedy_sum():
    book = steps([('book', {'a': 1, 'b': 1, 'c': 2}), ('book', {'a': 1, 'b': 5, 'c': 5})])
    golden = steps([('book', {'a': 1, 'b': 1, 'c': 1}), ('book', {'a': 1, 'b': 1, 'c': 2})])
    first, second = CallCredit(book, golden, by_arguments=True), CallCredit(book, golden[::-1], by_arguments=True)
    assert first.greedy() == pytest.approx(2 / 3 + 1 / 3)
    assert second.greedy() == pytest.approx(1 + 1 / 3)


@settings(max_examples=60, deadline=None)
@given(CALLS, CALLS)
def test_the_credit_in_order_is_the_best_of_all_pairings(pred, ref):
    def weight(one, other):
        return shared_arguments(one.args, other.args) if one.name == other.name else 0.0

    left, right = steps(pred), steps(ref)
    found = CallCredit(left, right, by_arguments=True).in_order()
    assert found == pytest.approx(most_in_order_of(left, right, weight))
    names = CallCredit(left, right).in_order()
    assert names == most_in_order_of(left, right, lambda one, other: float(one.name == other.name))
    assert names == longest_in_order([step.name for step in left], [step.name for step in right])


def most_in_order_of(left, right, weight):
    return most_in_order(tuple(range(len(left))), tuple(range(len(right))), lambda i, j: weight(left[i], right[j]))


@settings(max_examples=60, deadline=None)
@given(CALLS, CALLS)
def test_the_greedy_credit_takes_the_best_that_is_left(pred, ref):
    left, right = steps(pred), steps(ref)
    taken, total = [], 0.0
    for golden in right:
        best, chosen = 0.0, None
        for call in left:
            score = shared_arguments(call.args, golden.args) if call.name == golden.name else 0.0
            if (call.name, call.args) not in taken and score > best:
                best, chosen = score, call
        if chosen is not None:
            taken.append((chosen.name, chosen.args))
        total += best
    assert CallCredit(left, right, by_arguments=True).greedy() == pytest.approx(total)


def test_past_the_bound_a_call_has_all_of_the_credit_or_none(monkeypatch):
    pred = steps([('a', {'x': 1, 'y': 1}), ('a', {'x': 2})])
    ref = steps([('a', {'x': 1, 'y': 2}), ('a', {'x': 2})])
    assert CallCredit(pred, ref, by_arguments=True).in_order() == 1.5
    monkeypatch.setattr(module, 'MAX_CREDIT_PAIRS', 3)
    whole = CallCredit(pred, ref, by_arguments=True)
    assert (whole.in_order(), whole.greedy()) == (1, 1)


def test_thousands_of_calls():
    calls = steps([('a', {'x': i}) for i in range(5_000)])
    credit = CallCredit(calls, calls[::-1], by_arguments=True)
    assert (credit.in_order(), credit.greedy()) == (1, 5_000)
