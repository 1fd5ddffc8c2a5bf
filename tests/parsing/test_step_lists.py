"""Decoded lists of steps: every alias, every holder, and what is no step."""

import copy
import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing import step_lists
from opencompass_traj.parsing.literal import MAX_DEPTH
from opencompass_traj.parsing.step_lists import holds_steps, is_call, parse, recognises
from opencompass_traj.parsing.values import MAX_STEPS
from opencompass_traj.plan import ParseFailure, Step, Trajectory

NAMES = ('name', 'tool', 'tool_name', 'function', 'action', 'api_name', 'api')
ARGS = ('args', 'arguments', 'param', 'params', 'parameters', 'tool_input', 'action_input', 'input', 'kwargs')
HOLDERS = ('plan', 'steps', 'actions', 'tool_calls', 'trajectory', 'calls')


def steps(value):
    reading = parse(value)
    assert isinstance(reading, Trajectory), reading
    assert reading.format == step_lists.NAME == 'steps'
    assert not reading.recovered
    return [(step.id, step.name, step.args, step.prev) for step in reading.plan.steps]


@pytest.mark.parametrize(('name', 'args'), list(itertools.product(NAMES, ARGS)))
def test_every_pair_of_aliases(name, args):
    assert steps([{name: 'search', args: {'q': 'x'}}]) == [(0, 'search', {'q': 'x'}, None)]
    assert steps([{name: 'search', args: '{"q": "x"}'}]) == [(0, 'search', {'q': 'x'}, None)]
    assert recognises([{name: 'search', args: {}}])
    assert is_call({name: 'search', args: {}})


@pytest.mark.parametrize('key', ['Tool', 'toolName', 'TOOL_NAME', 'tool-name', 'Tool Name', 'apiName'])
def test_case_and_joints_of_keys_do_not_matter(key):
    assert steps([{key: 'search'}]) == [(0, 'search', {}, None)]


@pytest.mark.parametrize('holder', HOLDERS)
def test_every_holder(holder):
    listed = [{'name': 'a'}, {'name': 'b'}]
    expected = [(0, 'a', {}, None), (1, 'b', {}, None)]
    assert steps({holder: listed, 'tags': ['x']}) == expected
    assert steps({holder: {'steps': listed}}) == expected
    assert steps({holder: json.dumps(listed)}) == expected
    assert recognises({holder: listed})
    assert holds_steps({holder: None})
    for nothing in ([], None, {}, ''):
        assert steps({holder: nothing}) == []


@pytest.mark.parametrize(
    'nested',
    [
        {'function': {'name': 'f', 'arguments': '{"a": 1}'}},
        {'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': {'a': 1}}},
        {'function_call': {'name': 'f', 'arguments': '{"a": 1}'}},
        {'functionCall': {'name': 'f', 'args': {'a': 1}}},
        {'tool': {'name': 'f', 'input': {'a': 1}}},
        {'action': {'tool': 'f', 'tool_input': {'a': 1}}},
        {'tool_call': {'tool_name': 'f', 'args': {'a': 1}}},
        {'function': {'name': 'f'}, 'arguments': {'a': 1}},
    ],
)
def test_nested_calls(nested):
    for value in (nested, [nested], {'calls': [nested]}):
        ((_, name, args, _),) = steps(value)
        assert (name, args) == ('f', {'a': 1})
    assert is_call(nested)


@pytest.mark.parametrize(
    ('given_args', 'expected'),
    [
        ({'a': [1]}, {'a': [1]}), ('{"a": 1}', {'a': 1}), ("{'a': True}", {'a': True}), ('Lyon', 'Lyon'),
        ('', {}), (None, {}), ([1, 2], [1, 2]), (7, 7), ('{broken', '{broken'), ('[1]', '[1]'), (False, False),
    ],
)  # fmt: skip
def test_arguments(given_args, expected):
    assert steps([{'name': 'f', 'args': given_args}]) == [(0, 'f', expected, None)]


@pytest.mark.parametrize(
    ('items', 'expected'),
    [
        # Whole numbers on every step put them in order, as upstream has it ...
        ([(2, 'c'), (0, 'a'), (1, 'b')], [(0, 'a'), (1, 'b'), (2, 'c')]),
        ([('10', 'c'), ('8', 'a'), ('9', 'b')], [(8, 'a'), (9, 'b'), (10, 'c')]),
        # ... other ids only name the steps, ...
        ([('y', 'a'), ('x', 'b')], [('y', 'a'), ('x', 'b')]),
        ([(2, 'a'), (None, 'b')], [(2, 'a'), (1, 'b')]),
        ([(2, 'a'), ('x', 'b')], [(2, 'a'), ('x', 'b')]),
        # ... and ids that occur twice say nothing.
        ([('c', 'a'), ('c', 'b')], [(0, 'a'), (1, 'b')]),
        ([(3, 'a'), (3, 'b'), (1, 'c')], [(0, 'a'), (1, 'b'), (2, 'c')]),
        ([(1.0, 'a'), (True, 'b')], [(1, 'a'), (1, 'b')]),
    ],
)
def test_ids_and_order(items, expected):
    value = [{'id': identifier, 'name': name} for identifier, name in items]
    if expected == [(1, 'a'), (1, 'b')]:
        expected = [(0, 'a'), (1, 'b')]  # A missing id is the position, which is taken here.
    assert [(identifier, name) for identifier, name, _, _ in steps(value)] == expected


@pytest.mark.parametrize('key', ['prev', 'depends_on', 'dependsOn', 'dependencies', 'parents'])
@pytest.mark.parametrize(
    ('value', 'expected'),
    [([], ()), ([0], (0,)), (['0', 'x', 0], (0, 'x')), (0, (0,)), (None, None), ([None, {}, True], ()), ('x', ('x',))],
)
def test_dependencies(key, value, expected):
    assert steps([{'id': 0, 'name': 'a'}, {'id': 1, 'name': 'b', key: value}])[1][3] == expected


def test_doubled_ids_stay_where_a_step_refers_to_one():
    value = [{'id': 'x', 'name': 'a'}, {'id': 'x', 'name': 'b', 'prev': ['x']}]
    assert [step[0] for step in steps(value)] == ['x', 'x']


@pytest.mark.parametrize(
    ('value', 'turns'),
    [
        ([[{'name': 'a'}], [{'name': 'b'}, {'name': 'c'}]], [0, 1, 1]),
        ([{'name': 'a'}, [{'name': 'b'}, {'name': 'c'}]], [0, 1, 1]),
        ([{'tool_calls': [{'name': 'a'}, {'name': 'b'}]}, {'tool_calls': [{'name': 'c'}]}], [0, 0, 1]),
        ([{'name': 'a'}, {'name': 'b'}, {'name': 'c'}], [None, None, None]),
    ],
)
def test_lists_within_the_list_are_turns(value, turns):
    assert [step.turn for step in parse(value).plan.steps] == turns


def test_one_bad_step_does_not_void_the_others():
    reading = parse([{'name': 'a'}, 'oops', {'args': {}}, None, {'name': ' '}, {'name': 7}, {'name': 'b'}])
    assert reading.plan.names == ('a', 'b')
    assert reading.dropped == (
        "item 2 of 7: a str, not a step: 'oops'",
        "item 3 of 7: an object without a tool: {'args': {}}",
        'item 4 of 7: a NoneType, not a step: None',
        "item 5 of 7: an object without a tool: {'name': ' '}",
        "item 6 of 7: an object without a tool: {'name': 7}",
    )


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        ('text', 'no list of steps, but a str'),
        (None, 'no list of steps, but a NoneType'),
        ({'city': 'Lyon'}, 'an object that is no step and holds no list of steps'),
        ({'plan': 'first search'}, 'an object that is no step and holds no list of steps'),
        (['a', 'b'], "no step could be read: item 1 of 2: a str, not a step: 'a'"),
        ([[[[[[[{'name': 'a'}]]]]]]], 'no step could be read: '),
        ({'plan': {'plan': {'plan': {'plan': {'plan': [{'name': 'a'}]}}}}}, 'an object that is no step'),
    ],
)
def test_failures_say_why(value, reason):
    reading = parse(value)
    assert isinstance(reading, ParseFailure)
    assert reading.reason.startswith(reason)


def test_json_text_is_decoded():
    assert steps('[{"tool": "a"}]') == steps([{'tool': 'a'}])
    assert isinstance(parse('[{'), ParseFailure)


def test_bounds():
    deep = {'name': 'a', 'args': {}}
    for _ in range(MAX_DEPTH + 1):
        deep = {'name': 'a', 'args': [deep]}
    assert isinstance(parse(deep), ParseFailure)
    assert isinstance(parse([{'name': 'a'}] * (MAX_STEPS + 1)), ParseFailure)
    endless = []
    endless.append(endless)
    assert isinstance(parse(endless), ParseFailure)


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ([], True), ([{'tool': 'a'}], True), (['x', {'tool': 'a'}], True), ([[{'name': 'a'}]], True),
        ({'name': 'a', 'args': {}}, True), ({'steps': []}, True), ({'steps': '[]'}, True), ({'tool_calls': None}, True),
        (['x'], False), ({'city': 'Lyon'}, False), ('[]', False), (None, False), (3, False), ([[]], False),
    ],
)  # fmt: skip
def test_recognises(value, expected):
    assert recognises(value) is expected


def test_a_step_whose_arguments_are_called_steps_is_a_step():
    assert steps({'name': 'run', 'args': {}, 'steps': [{'name': 'x'}]}) == [(0, 'run', {}, None)]
    assert steps({'name': 'my plan', 'steps': [{'name': 'x'}]}) == [(0, 'x', {}, None)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*NAMES, *ARGS, *HOLDERS, 'id', 'prev', 'x']), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(json_values)
@settings(max_examples=400, deadline=None)
def test_any_value_is_read_without_being_changed(value):
    before = copy.deepcopy(value)
    reading = parse(value)
    recognises(value)
    assert value == before
    if isinstance(reading, Trajectory):
        assert all(isinstance(step, Step) and step.name.strip() for step in reading.plan.steps)
        assert all(isinstance(step.id, int | str) and not isinstance(step.id, bool) for step in reading.plan.steps)


@given(
    st.lists(
        st.tuples(
            st.text(min_size=1, max_size=8).filter(str.strip), st.dictionaries(st.text(), json_values, max_size=2)
        )
    )
)
@settings(max_examples=100, deadline=None)
def test_round_trip(pairs):
    value = [{'id': index, 'name': name, 'args': args} for index, (name, args) in enumerate(pairs)]
    assert [(name, args) for _, name, args, _ in steps(value)] == [(name.strip(), args) for name, args in pairs]
