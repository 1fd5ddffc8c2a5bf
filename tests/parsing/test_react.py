"""ReAct text, in English and Chinese."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing import lenient
from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.parsing.react import NAME, parse, recognises
from opencompass_traj.plan import ParseFailure, Trajectory


def steps(text):
    reading = parse(text)
    assert isinstance(reading, Trajectory), reading
    assert reading.format == NAME == 'react'
    assert [step.id for step in reading.plan.steps] == [step.turn for step in reading.plan.steps]
    assert [step.id for step in reading.plan.steps] == list(range(len(reading.plan)))
    return [(step.name, step.args, step.failed) for step in reading.plan.steps]


FIND = ('find', {'city': 'Lyon'}, None)


@pytest.mark.parametrize(
    'text',
    [
        'Thought: go\nAction: find\nAction Input: {"city": "Lyon"}',
        'Action: find\nAction Input: {"city": "Lyon"}\nFinal Answer: 42',
        'thought: go\naction: find\naction input: {"city": "Lyon"}',
        '  Thought: go\n  Action: find\n  Action Input: {"city": "Lyon"}\n',
        '**Thought:** go\n**Action:** find\n**Action Input:** {"city": "Lyon"}',
        '**Action**: `find`\n**Action Input**: {"city": "Lyon"}',
        'Thought 1: go\nAction 1: find\nAction Input 1: {"city": "Lyon"}',
        'Action: find\nAction_Input: {"city": "Lyon"}',
        'Action: "find"\nActionInput: {"city": "Lyon"}',
        'Action:\nfind\nAction Input:\n{"city": "Lyon"}',
        'Action: find.\nAction Input:\n```json\n{\n  "city": "Lyon"\n}\n```',
        "Action: find\nAction Input: {'city': 'Lyon'}",
        'Action: find\nAction Input: {"city": "Lyon",} and then I wait',
        'Action: find(city="Lyon")',
        'Action: find({"city": "Lyon"})',
        'Action: find[{"city": "Lyon"}]',
        'Action 1: #E1 = find(city="Lyon")',
        'Action:\n```json\n{"action": "find", "action_input": {"city": "Lyon"}}\n```',
        'Action: {"name": "find", "arguments": "{\\"city\\": \\"Lyon\\"}"}',
        'Action: {"action": "find", "action_input": {"city": "Lyon"},}',
        '思考：走\n行动：find\n行动输入：{"city": "Lyon"}',
        '思考: 走\n动作: find\n动作输入: {"city": "Lyon"}\n最终答案：好',
        '<think>Action: book</think>\nAction: find\nAction Input: {"city": "Lyon"}',
        'Thought: Action: book would be wrong\nAction: find\nAction Input: {"city": "Lyon"}',
    ],
)
def test_ways_of_writing_one_action(text):
    found = steps(text)
    if found == [('find', [{'city': 'Lyon'}], None)]:
        found = [FIND]  # An object without a name is an argument without a name.
    assert found == [FIND]
    assert recognises(text)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('Action: Search[Ada Lovelace]', [('Search', 'Ada Lovelace', None)]),
        ('Action: Search[a [b] c]', [('Search', 'a [b] c', None)]),
        ('Action: search\nAction Input: Ada Lovelace', [('search', 'Ada Lovelace', None)]),
        ('Action: search\nAction Input: two\nlines', [('search', 'two\nlines', None)]),
        ('Action: now', [('now', {}, None)]),
        ('Action: now\nAction Input:', [('now', {}, None)]),
        ('Action: now\nAction Input: None', [('now', {}, None)]),
        ('Action: now()', [('now', {}, None)]),
        ('Action: book(7, seat="12A")', [('book', {'args': [7], 'seat': '12A'}, None)]),
        ('Action: book(7, the blue one)', [('book', '7, the blue one', None)]),
        ('行动：搜索\n行动输入：里昂', [('搜索', '里昂', None)]),
        ('Action: Train Desk\nAction Input: 7', [('Train Desk', '7', None)]),
    ],
)
def test_actions_and_inputs(text, expected):
    assert steps(text) == expected


@pytest.mark.parametrize(
    ('observation', 'failed'),
    [
        ('42', False),
        ('', False),
        ('Error: no such city', True),
        ('error 404', True),
        ('ERROR', True),
        ('\nError: next line', True),
        ('[Error] x', True),
        ('Traceback (most recent call last):\n ...', True),
        ('错误：没有', True),
        ('No error was found', False),
        ('Errors: 0', False),
        ('{"Action": "x"}', False),
    ],
)
def test_an_observation_says_whether_the_call_failed(observation, failed):
    for label in ('Observation:', '观察：', 'observation 1: '):
        assert steps(f'Action: find\nAction Input: x\n{label}{observation}\nThought: ...') == [('find', 'x', failed)]


def test_several_rounds_are_several_turns():
    text = (
        'Thought: a\nAction: find\nAction Input: {"city": "Lyon"}\nObservation: Error: busy\n'
        'Thought: again\nAction: find\nAction Input: {"city": "Lyon"}\nObservation: 42\n'
        'Thought: book\nAction: book\nAction Input: {"train": 7}\nThought: done\nFinal Answer: booked\n'
        'Action: never\nAction Input: {}'
    )
    assert steps(text) == [
        ('find', {'city': 'Lyon'}, True),
        ('find', {'city': 'Lyon'}, False),
        ('book', {'train': 7}, None),
    ]


@pytest.mark.parametrize(
    'end',
    ['Final Answer: x', 'Action: Finish[x]', 'Action: finish', 'Action: FinishAction\nAction Input: x', '最终答案：x',
     'Action: Final Answer', '行动：完成', 'Action: {"action": "Final Answer", "action_input": "x"}'],
)  # fmt: skip
def test_what_ends_the_plan(end):
    assert steps(f'Action: find\nAction Input: x\n{end}\nAction: never') == [('find', 'x', None)]


@pytest.mark.parametrize('text', ['Thought: easy\nFinal Answer: 42', '思考：简单\n最终答案：42', 'Action: Finish[42]'])
def test_an_answer_without_an_action_is_an_empty_plan(text):
    assert recognises(text)
    assert steps(text) == []


def test_no_tool_is_no_step():
    assert steps('Action: None\nAction: find\nAction: 无\nFinal Answer: x') == [('find', {}, None)]


def test_inputs_that_are_cut_off_take_their_action_with_them():
    reading = parse('Action: a\nAction Input: {"x": 1}\nAction: b\nAction Input: {"x": [1, "tw')
    assert reading.plan.names == ('a',)
    assert reading.dropped == ("input of 'b' not readable: '{\"x\": [1, \"tw'",)
    assert isinstance(parse('Action: b\nAction Input: {"x": [1, "tw'), ParseFailure)
    assert isinstance(parse('Action: {"action": "b", "act'), ParseFailure)
    assert isinstance(parse('Action: ' + 'b' * 300), ParseFailure)


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        (None, 'no text, but a NoneType'),
        ('', 'no actions in the answer'),
        ('Thought: hm', 'no actions in the answer'),
        ('<think>Action: a', 'the answer ends inside its reasoning'),
        ('x' * (MAX_CHARS + 1), f'answer longer than {MAX_CHARS} characters'),
    ],
)
def test_failures_say_why(value, reason):
    assert parse(value) == ParseFailure(reason)


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ('Action: a', True), ('x\nAction: a', True), ('行动：a', True), ('Thought: a\nFinal Answer: b', True),
        ('My Action: a', False), ('Action a', False), ('Thought: a', False), ('Action Input: a', False), (None, False),
        ('Reaction: a', False), ('[]', False), ('x' * (MAX_CHARS + 1), False),
    ],
)  # fmt: skip
def test_recognises(value, expected):
    assert recognises(value) is expected


names = st.from_regex(r'[A-Za-z][A-Za-z0-9_.]{0,10}[a-z]', fullmatch=True).filter(
    lambda name: name.lower() not in {'none', 'null', 'finish', 'finishaction'}
)
args = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=8) | st.none(), min_size=1, max_size=3)


@given(st.lists(st.tuples(names, args, st.sampled_from(['42', 'Error: x'])), min_size=1, max_size=5), st.booleans())
@settings(max_examples=150, deadline=None)
def test_round_trip(calls, chinese):
    labels = (
        ('思考：', '行动：', '行动输入：', '观察：')
        if chinese
        else ('Thought: ', 'Action: ', 'Action Input: ', 'Observation: ')
    )
    text = '\n'.join(
        f'{labels[0]}hm\n{labels[1]}{name}\n{labels[2]}{json.dumps(given_args)}\n{labels[3]}{seen}'
        for name, given_args, seen in calls
    )
    expected = [(name, given_args, seen != '42') for name, given_args, seen in calls]
    assert steps(text) == expected
    assert [(s.name, s.args, s.failed) for s in lenient.parse(text).plan.steps] == expected


def test_a_cut_at_any_place_leaves_a_prefix():
    text = (
        'Thought: a\nAction: find\nAction Input: {"city": "Lyon"}\nObservation: 42\n'
        'Action: book\nAction Input: {"train": 7}'
    )
    for end in range(len(text)):
        reading = parse(text[:end])
        found = reading.plan.steps if isinstance(reading, Trajectory) else ()
        for step, name in zip(found, ['find', 'book'], strict=False):
            assert name.startswith(step.name)
            assert step.args in ({}, {'city': 'Lyon'}, {'train': 7})


parts = st.sampled_from(
    [*':：\n []{}()"1*', 'Thought', 'Action', ' Input', 'find', 'Observation:', 'Error', 'Final Answer:', '行动', '```',
     '<think>', '</think>', '#E1 = ', '观察', 'Action: a\n', 'Action Input: {"x": 1}\n'],
)  # fmt: skip


@given(st.lists(parts, max_size=40).map(''.join))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_value(text):
    reading = parse(text)
    recognises(text)
    if isinstance(reading, Trajectory):
        assert all(0 < len(step.name) <= 200 for step in reading.plan.steps)
        assert len(reading.plan) <= text.count('Action') + text.count('行动')
