import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics import arguments
from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.metrics.arguments import argument_match
from tests.data import shared_data

RULES = argument_rules()
STRICT = argument_rules('strict')
UNORDERED = argument_rules({'unordered_lists': True})


def one(pred, ref, rules=RULES, tool='t'):
    return argument_match([pred], [ref], pairs=[(0, 0)], tools=[tool], rules=rules)


@pytest.mark.parametrize(
    ('pred', 'ref', 'counts', 'extra', 'missing', 'different'),
    [
        ({}, {}, (0, 0, 0), (), (), ()),
        (None, '', (0, 0, 0), (), (), ()),
        ({'a': 1}, {'a': '1'}, (1, 1, 1), (), (), ()),
        ({'a': 1, 'b': 2}, {'a': 1}, (1, 2, 1), ('b',), (), ()),
        ({'a': 1}, {'a': 1, 'b': 2}, (1, 1, 2), (), ('b',), ()),
        ({'a': 1, 'b': 2}, {'a': 1, 'b': 3}, (1, 2, 2), (), (), ('b',)),
        ({}, {'a': 1}, (0, 0, 1), (), ('a',), ()),
        # Nested values count one by one.
        ({'to': {'city': 'Lyon', 'zip': 1}}, {'to': {'city': 'Lyon', 'zip': 2}}, (1, 2, 2), (), (), ('to.zip',)),
        ({'to': '{"city": "Lyon"}'}, {'to': {'city': 'Lyon'}}, (1, 1, 1), (), (), ()),
        ('{"to": {"city": "Lyon"}}', {'to': {'city': 'Lyon'}}, (1, 1, 1), (), (), ()),
        ({'l': [1, 2, 3]}, {'l': [1, 3]}, (1, 3, 2), ('l.2',), (), ('l.1',)),
        ({'l': [{'a': 1}]}, {'l': [{'a': 1, 'b': 2}]}, (1, 1, 2), (), ('l.0.b',), ()),
        # An empty object or list is a value of its own.
        ({'a': {}}, {'a': {}}, (1, 1, 1), (), (), ()),
        ({'a': {}}, {'a': []}, (0, 1, 1), (), (), ('a',)),
        ({'a': {}}, {'a': {'b': 1}}, (0, 1, 1), ('a',), ('a.b',), ()),
        ({'a': 5}, {'a': {'b': 1}}, (0, 1, 1), ('a',), ('a.b',), ()),
        ({'a': None}, {}, (0, 1, 0), ('a',), (), ()),
        # Arguments as text, as a list, as anything.
        ('where is Lyon', ' where is Lyon ', (1, 1, 1), (), (), ()),
        ('where is Lyon', 'where is Rome', (0, 1, 1), (), (), ('',)),
        ('where is Lyon', {'q': 'where is Lyon'}, (0, 1, 1), ('',), ('q',), ()),
        ([1, 2], [1, 3], (1, 2, 2), (), (), ('1',)),
        (5, '5', (1, 1, 1), (), (), ()),
        # A dot in a key is not a path.
        ({'a.b': 1}, {'a': {'b': 1}}, (0, 1, 1), ('a.b',), ('a.b',), ()),
    ],
)
def test_keys_of_one_pair(pred, ref, counts, extra, missing, different):
    step = one(pred, ref).steps[0]
    assert (step.matched, step.n_pred, step.n_ref) == counts
    assert (step.extra, step.missing, step.different) == (extra, missing, different)
    assert step.exact is RULES.equal(pred, ref, tool='t')
    back = one(ref, pred).steps[0]
    assert (back.matched, back.n_ref, back.n_pred) == counts
    assert (set(back.missing), set(back.extra)) == (set(extra), set(missing))


@pytest.mark.parametrize(
    ('pred', 'ref', 'counts', 'extra', 'missing', 'different'),
    [
        ({'l': [1, 2]}, {'l': [2, 1]}, (2, 2, 2), (), (), ()),
        ({'l': [1, 1, 2]}, {'l': [2, 1]}, (2, 3, 2), ('l.*',), (), ()),
        ({'l': [1, 3]}, {'l': [2, 1, 4]}, (1, 2, 3), (), ('l.*',), ('l.*',)),
        # An entry counts whole.
        ({'l': [{'a': 1, 'b': 2}, {'a': 3}]}, {'l': [{'a': 3}, {'a': 1, 'b': 2}]}, (2, 2, 2), (), (), ()),
        ({'l': [{'a': 1}, {'a': 3, 'b': 2}]}, {'l': [{'a': 3}, {'a': 1, 'b': 2}]}, (0, 2, 2), (), (), ('l.*', 'l.*')),
        ([2, 1], [1, 2], (2, 2, 2), (), (), ()),
    ],
)
def test_lists_without_order(pred, ref, counts, extra, missing, different):
    step = one(pred, ref, UNORDERED).steps[0]
    assert (step.matched, step.n_pred, step.n_ref) == counts
    assert (step.extra, step.missing, step.different) == (extra, missing, different)
    assert step.exact is UNORDERED.equal(pred, ref, tool='t')


def test_numbers_over_all_matched_steps():
    match = argument_match(
        [{'a': 1}, {'b': 2, 'c': 3}, {'never': 'counted'}],
        [{'b': 2}, {}, {'a': 1, 'd': 4}],
        pairs=[(0, 2), (1, 0)],
        tools=['x', 'y', 'z'],
        rules=RULES,
    )
    assert (match.counts.matched, match.counts.n_pred, match.counts.n_ref) == (2, 3, 3)
    assert match.precision == match.recall == match.f1 == 2 / 3
    assert (match.exact, match.exact_rate) == (0, 0.0)
    assert [(step.pred, step.ref) for step in match.steps] == [(0, 2), (1, 0)]


@pytest.mark.parametrize(
    ('preds', 'refs', 'pairs', 'number'),
    [
        ([], [], [], 1.0),
        ([{}], [], [], 0.0),
        ([], [{}], [], 0.0),
        # Nothing matched is nothing right, even where there was nothing to get wrong.
        ([{}], [{}], [], 0.0),
        ([{'a': 1}], [{'a': 1}], [], 0.0),
        ([{}], [{}], [(0, 0)], 1.0),
        ([None], [{}], [(0, 0)], 1.0),
        ([{}], [{'a': 1}], [(0, 0)], 0.0),
        ([{'a': 1}], [{}], [(0, 0)], 0.0),
    ],
)
def test_empty_cases(preds, refs, pairs, number):
    match = argument_match(preds, refs, pairs=pairs, tools=['t'] * len(refs), rules=RULES)
    assert (match.precision, match.recall, match.f1, match.exact_rate) == (number,) * 4
    assert all(type(value) is float for value in (match.precision, match.recall, match.f1, match.exact_rate))


def test_rules_of_single_tools():
    rules = argument_rules(
        {'ignore_keys': ['id'], 'tools': {'book': {'to': 'exact', 'note': 'ignore', 'n': {'numeric': 1}}}}
    )
    pred = {'id': 1, 'to': {'a': 1, 'b': 2}, 'note': 'x', 'n': 4}
    ref = {'id': 2, 'to': {'a': 1, 'b': 3}, 'n': 5}
    step = one(pred, ref, rules, 'book').steps[0]
    # `to` has a rule of its own and counts whole.
    assert (step.matched, step.n_pred, step.n_ref, step.different) == (1, 2, 2, ('to',))
    step = one(pred, ref, rules, 'other').steps[0]
    assert (step.matched, step.n_pred, step.n_ref) == (1, 4, 3)
    assert (step.extra, step.different) == (('note',), ('to.b', 'n'))
    # The golden step's tool decides.
    two = argument_match([pred, pred], [ref, ref], pairs=[(1, 0)], tools=['book', 'other'], rules=rules)
    assert two.steps[0].n_pred == 2


def test_names_are_bounded():
    step = one({f'k{i}': 1 for i in range(100)}, {'x' * 1000: 1, **{f'l{i}': 1 for i in range(100)}}).steps[0]
    assert len(step.extra) == len(step.missing) == arguments.MAX_NAMED
    assert len(step.missing[0]) == arguments.MAX_NAME_CHARS
    assert (step.n_pred, step.n_ref) == (100, 101)
    many = one({'l': list(range(1000))}, {'l': list(range(1000))[::-1]}, UNORDERED).steps[0]
    # Too long to be matched: in order, and no name more than 20 times.
    assert (many.matched, len(many.different)) == (0, arguments.MAX_NAMED)
    assert one({'l': list(range(200))}, {'l': list(range(200))[::-1]}, UNORDERED).steps[0].exact


@pytest.mark.parametrize(
    ('pairs', 'tools', 'message'),
    [
        ([(1, 0)], ['t'], 'pairs of step indices'),
        ([(0, 1)], ['t'], 'pairs of step indices'),
        ([(-1, 0)], ['t'], 'pairs of step indices'),
        ([], [], 'one tool for each of 1'),
    ],
)
def test_wrong_input(pairs, tools, message):
    with pytest.raises(ValueError, match=message):
        argument_match([{}], [{}], pairs=pairs, tools=tools, rules=RULES)


def flat(value, path=()):
    """Slow and obvious: all single values with their places."""
    if isinstance(value, dict) and value:
        return [leaf for key in value for leaf in flat(value[key], (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for i, entry in enumerate(value) for leaf in flat(entry, (*path, i))]
    return [(path, value)]


LEAF = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.text('ab', max_size=1))
VALUE = st.recursive(
    LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from('xyz'), inner, max_size=3)),
    max_leaves=8,
)
ARGS = st.dictionaries(st.sampled_from('abcd'), VALUE, max_size=4)


@settings(max_examples=300, deadline=None)
@given(ARGS, ARGS)
def test_against_flat_dicts(pred, ref):
    left = dict(flat(pred)) if pred else {}
    right = dict(flat(ref)) if ref else {}
    equal = [path for path in right if path in left and json.dumps(left[path]) == json.dumps(right[path])]
    step = one(pred, ref, STRICT).steps[0]
    assert (step.matched, step.n_pred, step.n_ref) == (len(equal), len(left), len(right))
    assert len(step.extra) == min(arguments.MAX_NAMED, len(left.keys() - right.keys()))
    assert len(step.missing) == min(arguments.MAX_NAMED, len(right.keys() - left.keys()))
    assert len(step.different) == min(arguments.MAX_NAMED, len(left.keys() & right.keys()) - len(equal))


@settings(max_examples=300, deadline=None)
@given(st.one_of(ARGS, VALUE), st.one_of(ARGS, VALUE))
def test_laws(pred, ref):
    for rules in (RULES, STRICT, UNORDERED, argument_rules({'ignore_keys': ['a', 'x']})):
        assert one(pred, pred, rules).exact_rate == one(pred, pred, rules).f1 == 1
        match, back = one(pred, ref, rules), one(ref, pred, rules)
        assert 0 <= match.f1 <= 1
        assert (match.precision, match.recall) == (back.recall, back.precision)
        assert match.steps[0].exact is rules.equal(pred, ref, tool='t')
        step = match.steps[0]
        if max(step.n_pred, step.n_ref) > arguments.MAX_NAMED:
            continue
        assert step.matched + len(step.extra) + len(step.different) == step.n_pred
        assert step.matched + len(step.missing) + len(step.different) == step.n_ref


def test_deep_arguments():
    value = {'a': 1}
    for _ in range(5_000):
        value = {'a': value}
    step = one(value, value).steps[0]
    assert step.exact
    assert step.n_pred == 1


def test_real_golden_plans():
    rng = random.Random(1)
    plans = json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8'))
    for record in list(plans.values())[:100] if isinstance(plans, dict) else plans[:100]:
        golden = record['ground_truth']
        args = [step['args'] for step in golden]
        tools = [step['name'] for step in golden]
        pairs = [(i, i) for i in range(len(golden))]
        match = argument_match(args, args, pairs=pairs, tools=tools, rules=STRICT)
        assert match.f1 == match.exact_rate == 1
        changed = [dict(one, added=rng.random()) if isinstance(one, dict) else one for one in args]
        match = argument_match(changed, args, pairs=pairs, tools=tools, rules=STRICT)
        assert match.recall == (1 if match.counts.n_ref else 0)
        assert {name for step in match.steps for name in step.extra} <= {'added'}
