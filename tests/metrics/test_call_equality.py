"""When two calls are the same, beside Python's own comparison."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics import call_equality as module
from opencompass_traj.metrics.call_equality import (
    call_equality,
    contains,
    mapping_of,
    python_key,
    text_of_value,
    value_at,
)
from opencompass_traj.plan import Step

LEAVES = st.sampled_from([None, True, False, 0, 1, 1.0, 0.5, '1', '', 'a'])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from('xy'), inner, max_size=2)
)
ARGS = st.dictionaries(st.sampled_from('xyz'), VALUES, max_size=3)


def same(pred, ref, mode='exact', tools=None, names=('a', 'a')):
    steps = [Step(0, name, args) for name, args in zip(names, (pred, ref), strict=True)]
    return call_equality(mode, tools).pairs(steps[:1], steps[1:]).equal(0, 0)


@pytest.mark.parametrize(
    ('pred', 'ref', 'modes'),
    [
        ({}, {}, 'exact ignore subset superset'),
        ({'x': 1}, {'x': 1.0}, 'exact ignore subset superset'),
        ({'x': 1}, {'x': True}, 'exact ignore subset superset'),
        ({'x': 1}, {'x': '1'}, 'ignore'),
        ({'x': 1}, {'x': 1, 'y': 2}, 'ignore subset'),
        ({'x': 1, 'y': 2}, {'x': 1}, 'ignore superset'),
        ({'x': 1}, {'y': 1}, 'ignore'),
        ({'x': {'k': 1}}, {'x': {'k': 1, 'l': 2}}, 'ignore'),
        ({'x': [1, 2]}, {'x': [2, 1]}, 'ignore'),
        (None, {}, 'exact ignore subset superset'),
        ('', {}, 'exact ignore subset superset'),
        ('q=1', 'q=1', 'exact ignore subset superset'),
        ('q=1', {}, 'ignore superset'),
    ],
)
def test_each_mode_on_small_arguments(pred, ref, modes):
    assert [mode for mode in module.MODES if same(pred, ref, mode)] == modes.split()
    assert not any(same(pred, ref, mode, names=('a', 'b')) for mode in module.MODES)


def test_single_tools_have_their_own_mode_or_paths():
    rules = {'a': 'ignore', 'b': ['time.start', 'n'], 'c': []}
    assert same({'x': 1}, {'x': 2}, tools=rules)
    paths = {'names': ('b', 'b'), 'tools': rules}
    assert same({'time': {'start': 1}, 'n': 2, 'q': 1}, {'time': {'start': 1.0}, 'n': 2, 'q': 9}, **paths)
    assert not same({'time': {'start': 1}, 'n': 2}, {'time': {'start': 1}, 'n': 3}, **paths)
    assert same({'time': 7}, {'time': {'end': 1}}, **paths), 'what is nowhere is nowhere on both sides'
    assert not same({'x': 1}, {'x': 2}, names=('c', 'c'), tools=rules), 'an empty list says nothing'
    assert same({'x': 1}, {'x': 1, 'y': 1}, names=('d', 'd'), mode='subset', tools=rules)


@settings(max_examples=80, deadline=None)
@given(VALUES, VALUES)
def test_keys_are_equal_where_python_finds_the_values_equal(one, other):
    assert (python_key(one) == python_key(other)) == (one == other)
    assert hash(python_key(one)) == hash(python_key(one))


@settings(max_examples=80, deadline=None)
@given(ARGS, ARGS)
def test_modes_are_what_their_names_say(pred, ref):
    assert same(pred, ref) == (pred == ref)
    assert same(pred, ref, 'subset') == all(key in ref and ref[key] == value for key, value in pred.items())
    assert same(pred, ref, 'superset') == same(ref, pred, 'subset') == contains(ref, pred)
    assert same(pred, ref, 'ignore')
    assert (same(pred, ref, 'subset') and same(pred, ref, 'superset')) == (pred == ref)


def test_hostile_values_are_compared_all_the_same():
    deep = other = 1
    for _ in range(190):
        deep, other = {'k': [deep]}, {'k': [other]}
    assert python_key(deep) == python_key(other)
    assert python_key({'k': [deep]}) != python_key(deep)
    assert python_key({1, 2}) == python_key({2, 1})
    assert python_key((1,)) != python_key([1])
    assert text_of_value(10**5000) == '<int>'
    assert not same({'x': 10**5000}, {'x': 10**5000 + 1})


def test_past_the_bound_of_pairs_arguments_are_compared_exactly(monkeypatch):
    steps = [Step(i, 'a', {'x': i}) for i in range(3)]
    more = [Step(i, 'a', {'x': i, 'y': 1}) for i in range(3)]
    other = [Step(9, 'b', {}), Step(9, 'b', {'z': 1})]
    equality = call_equality('subset')
    assert equality.pairs([*steps, other[0]], [*more, other[1]]).counts.matched == 4
    monkeypatch.setattr(module, 'MAX_CALL_PAIRS', 8)
    pairs = equality.pairs([*steps, other[0]], [*more, other[1]])
    assert pairs.counts.matched == 1, 'the tool with few calls keeps its mode'
    assert equality.pairs(steps, steps).counts.matched == 3


def test_small_helpers():
    assert mapping_of([]) == mapping_of(()) == mapping_of(' ') == {}
    assert mapping_of([1]) == {'': [1]}
    assert mapping_of(0) == {'': 0}
    assert value_at({'a': {'b': None}}, 'a.b') is None
    assert value_at('text', 'a') is None


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        (('exactly',), ValueError, "did you mean 'exact'"),
        (('exact', {'a': 'supersett'}), ValueError, "the mode of 'a' .* did you mean 'superset'"),
        (('exact', {'a': 3}), TypeError, "a list of dotted paths for 'a', got 3"),
        (('exact', {'a': [1]}), TypeError, 'dotted paths'),
        (('exact', ['a']), TypeError, 'a mapping from names'),
    ],
)
def test_wrong_options_say_what_is_expected(arguments, error, message):
    with pytest.raises(error, match=message):
        call_equality(*arguments)
