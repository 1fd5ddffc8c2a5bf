"""A model's text: literal cases, cuts at every place, and any text at all."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing import lenient
from opencompass_traj.parsing.brackets import read_bracket
from opencompass_traj.parsing.json_text import MAX_MARKS, json_values
from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.parsing.mentions import parse_mentions
from opencompass_traj.parsing.reasoning import without_reasoning
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.parsing.values import MAX_STEPS, as_id, decoded_args, nests_deeper, read_json
from opencompass_traj.plan import ParseFailure, Plan, Trajectory

PLAN = [
    {'id': 0, 'name': 'find', 'args': {'city': 'Lyon', 'note': "it's [here] {now}, isn't it"}},
    {'id': 1, 'name': 'list', 'args': {'station': 42, 'days': [1, {'a': None}], 'ok': True}},
    {'id': 2, 'name': 'book', 'args': {}},
]
TEXT = json.dumps(PLAN)
CALLS = [(step['name'], step['args']) for step in PLAN]
AB = [('a', {'x': 1}), ('b', {'y': 2})]
A, B = '{"name": "a", "args": {"x": 1}}', '{"name": "b", "args": {"y": 2}}'


def calls(reading):
    assert isinstance(reading, Trajectory), reading
    return [(step.name, step.args) for step in reading.plan.steps]


def read(text):
    return calls(lenient.parse(text))


@pytest.mark.parametrize(
    'text',
    [
        TEXT,
        f'```json\n{TEXT}\n```',
        f'```JSON\n{TEXT}\n```',
        f'```\n{TEXT}\n```',
        f'```python\n{PLAN!r}\n```',
        f'~~~\n{TEXT}\n~~~',
        f'Here is [my] plan (v2): {TEXT} Good luck!',
        f"It's what I'd do: {TEXT}",
        repr(PLAN),
        f'plan = {PLAN!r}',
        json.dumps(TEXT),
        json.dumps(json.dumps(TEXT)),
        json.dumps({'plan': PLAN, 'tags': ['rail', 'eu'], 'confidence': 0.5}),
        json.dumps({'plan': TEXT}),
        '\n'.join(map(json.dumps, PLAN)),
        ',\n'.join(map(json.dumps, PLAN)),
        '\n'.join(json.dumps([step]) for step in PLAN),
        TEXT[:-1] + ',]',
        TEXT[:-1],
        TEXT + ']',
        TEXT.replace('{"id": 1', '// then\n{"id": 1'),
        TEXT.replace('{"id": 1', '/* then [1] */ {"id": 1'),
        TEXT.replace('{"id": 1', '# then {\n{"id": 1'),
        TEXT.replace('}, {"id": 2', '}}, {"id": 2'),
        TEXT.replace('}, {"id": 2', '} {"id": 2'),
        TEXT.replace('"id": ', 'id: ').replace('"name"', 'name'),
        f'<think>Perhaps {json.dumps([{"name": "x", "args": {}}])}?</think>{TEXT}',
        f'<THINKING>[</THINKING>\n{TEXT}',
        f'Perhaps [{A}]?</think>{TEXT}',
        f'<reasoning>a <think> b</reasoning>{TEXT}',
        ''.join(f'<tool_call>\n{json.dumps(step)}\n</tool_call>\n' for step in PLAN),
        f'First {json.dumps(PLAN[0])}, then {json.dumps(PLAN[1])}, and last {json.dumps(PLAN[2])}.',
        f'[TOOL_CALLS]{TEXT}',
        f'Not [1, 2], not {{"city": "Lyon"}}, not {{"name": "Lyon"}}, but {TEXT}',
        f'Draft: [{A}]. On reflection:\n{TEXT}',
        f'{TEXT}\nThis is better than [{{"name": "x", "arg',
        f'[unclosed {TEXT}',
        f'{TEXT} [unclosed',
        f'{{unclosed: {TEXT}',
    ],
)
def test_the_same_plan_whatever_stands_around_it(text):
    assert read(text) == CALLS


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('[{“name”: “a”, “args”: {“x”: 1}}]', AB[:1]),
        ('[{‘name’: ‘a’, ‘args’: {‘x’: 1}}]', AB[:1]),
        ('［｛“name”：“a”，“args”：｛“x”：1｝｝］', None),
        ('[{"name"："a"，"args"：{"x"：1}}]', AB[:1]),
        ('[{"name": "a", "args": {"q": "he said "hi" twice"}}]', [('a', {'q': 'he said "hi" twice'})]),
        ("[{'name': 'a', 'args': {'q': 'Tom's hat'}}]", [('a', {'q': "Tom's hat"})]),
        ("[{'name': 'a', 'args': {'q': '''x [y'''}}]", [('a', {'q': 'x [y'})]),
        ('[{"name": "a", "args": {"q": "two\nlines"}}]', [('a', {'q': 'two\nlines'})]),
        ('[{"name": "a", "args": {"x": 1}, {"name": "b", "args": {"y": 2}}]', None),
        ("[{'name': 'a', 'args': {'x': true, 'y': null}}]", [('a', {'x': True, 'y': None})]),
        ("[{'name': 'a', 'args': {'x': <the city>}}]", [('a', {'x': '<the city>'})]),
        ('[{"name": "a", "args": {"x": 1}}, ...]', AB[:1]),
        ('[{"name": "a", "args": {"x": "<think>"}}]', [('a', {'x': '<think>'})]),
        ('[[' + A + '], [' + B + ']]', AB),
        ('```json\n[' + A + ']\n```\nNo, rather:\n```json\n[' + B + ']\n```', AB[1:]),
        ('[' + A + '][' + B + ']', AB),
        ('search(q="x")', [('search', {'q': 'x'})]),
        ('I would do this:\n1. find(city="Lyon")\n2. book(7)', [('find', {'city': 'Lyon'}), ('book', [7])]),
        ('```python\nfind(\n  city="Lyon",\n)\n```', [('find', {'city': 'Lyon'})]),
        ('Thought: go\nAction: find\nAction Input: {"name": "Bob", "args": 1}', [('find', {'name': 'Bob', 'args': 1})]),
        ('Node:\n1: go\nEdges:\n(START,1) (1,END)', [('go', {})]),
        ('{"task_nodes": [{"task": "Get", "arguments": ["a"]}], "task_links": []}', [('Get', ['a'])]),
        ('My plan: {"task_nodes": [{"task": "Get", "arguments": ["a"]}], "task_links": []}', [('Get', ['a'])]),
        ('[]', []),
        ('No tool is needed: []', []),
        ('{"tool_calls": null}', []),
    ],
)
def test_literal_texts(text, expected):
    if expected is None:
        # Broken in a way that leaves more than one reading: no step that is not there may come out.
        reading = lenient.parse(text)
        assert isinstance(reading, ParseFailure) or set(reading.plan.names) <= {'a', 'b'}
    else:
        assert read(text) == expected


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', lenient.NO_CALLS),
        ('Sorry, I cannot [do] that (see the docs).', lenient.NO_CALLS),
        ('The city is {"name": "Lyon"} and [1, 2].', lenient.NO_CALLS),
        ('<think>' + TEXT, 'the answer ends inside its reasoning'),
        (TEXT[:-1] + '<think>', 'the answer ends inside its reasoning'),
        ('[{"name": "a", "ar', 'no step could be read: cut off: '),
        ('{"name": "a", "args": {"x": 1', 'no step could be read: cut off: '),
        ('I call "name": "a" now', 'a call that cannot be read: '),
        ('[' * 300, 'brackets nested more than 200 deep'),
        ('x' * (MAX_CHARS + 1), f'answer longer than {MAX_CHARS} characters'),
        (None, 'no text, but a NoneType'),
        (7, 'no text, but a int'),
    ],
)
def test_failures_say_why(text, reason):
    reading = lenient.parse(text)
    assert isinstance(reading, ParseFailure)
    assert reading.reason.startswith(reason)


def test_recovered_is_what_upstream_cannot_read():
    assert not lenient.parse(TEXT).recovered
    assert not lenient.parse(f'```json\n{TEXT}\n```').recovered
    assert lenient.parse(f'[my] {TEXT}').recovered
    assert lenient.parse('[{"tool": "a", "param": {}}]').recovered
    assert lenient.parse('search()').recovered
    # Upstream takes the first list of the two, this one the last.
    assert lenient.parse(f'[{{"id": 0, "name": "x", "args": {{}}}}] then {TEXT}').recovered


def test_an_old_draft_that_is_whole_beats_a_later_plan_that_is_cut_off():
    assert read(f'[{A}] or rather [{B}, {{"name": "c"') == AB[:1]
    assert read(f'Rather [{A}, {{"name": "c"') == AB[:1]


def test_lists_one_after_the_other_are_turns_and_steps_are_not():
    assert [step.turn for step in lenient.parse(f'[{A}]\n[{B}]').plan.steps] == [0, 1]
    assert [step.turn for step in lenient.parse(f'{A}\n{B}').plan.steps] == [None, None]


def test_a_bad_step_does_not_void_the_others_and_is_named():
    reading = lenient.parse(
        '[{"name": "a", "args": {"x": 1,}}, {"nonsense": 1}, oops, {"name": "b", "args": {"y": 2}}]'
    )
    assert calls(reading) == AB
    assert [text.split(':')[0] for text in reading.dropped] == ['unread between the steps', 'item 2 of 3']


WRAPPINGS = {
    'json': json.dumps,
    'spaced': lambda steps: json.dumps(steps, indent=1),
    'python': repr,
    'fenced': lambda steps: '```json\n' + json.dumps(steps) + '\n```',
    'prose': lambda steps: 'The [best] plan: ' + json.dumps(steps),
    'holder': lambda steps: json.dumps({'plan': steps, 'score': [1, 2]}),
    'lines': lambda steps: '\n'.join(map(json.dumps, steps)),
    'groups': lambda steps: json.dumps([[step] for step in steps]),
    'openai': lambda steps: json.dumps(
        {'tool_calls': [{'function': {'name': s['name'], 'arguments': json.dumps(s['args'])}} for s in steps]}
    ),
    'code': lambda steps: '[' + ', '.join(f'{s["name"]}(**{s["args"]!r})' for s in steps) + ']',
    'taskbench': lambda steps: json.dumps(
        {'task_nodes': [{'task': s['name'], 'arguments': s['args']} for s in steps], 'task_links': []}
    ),
}


@pytest.mark.parametrize('wrapping', sorted(WRAPPINGS))
def test_a_cut_at_any_place_leaves_the_whole_steps_and_invents_none(wrapping):
    text = WRAPPINGS[wrapping](PLAN)
    whole = read(text)
    assert [name for name, _ in whole] == [name for name, _ in CALLS]
    sizes = set()
    for end in range(len(text) + 1):
        reading = lenient.parse(text[:end])
        found = calls(reading) if isinstance(reading, Trajectory) else []
        assert found == whole[: len(found)], text[:end]
        sizes.add(len(found))
    assert sizes == {0, 1, 2, 3}


def test_what_is_cut_off_is_counted():
    for end in range(TEXT.index('{"id": 1') + 1, TEXT.index(', {"id": 2')):
        reading = lenient.parse(TEXT[:end])
        assert calls(reading) == CALLS[:1]
        assert len(reading.dropped) == 1
        assert reading.dropped[0].startswith('cut off: ')


def test_a_tool_that_the_text_does_not_name_is_refused(monkeypatch):
    monkeypatch.setattr('json_repair.loads', lambda *_, **__: {'name': 'invented', 'args': {}})
    assert isinstance(lenient.parse('[{"name": "a" "args" {}}]'), ParseFailure)


def test_only_so_much_is_mended():
    piece = '{"name": "a" "args": {}}'
    reading = lenient.parse('[' + ', '.join([piece] * 5_000) + ']')
    assert 0 < len(reading.plan) < 5_000
    assert len(reading.plan) + len(reading.dropped) == 5_000
    assert json_values('[{"a": x' + '"' * (MAX_MARKS + 1) + ' ]}]')[0].value is None


def test_too_many_steps_are_a_failure():
    assert isinstance(lenient.parse('[' + ','.join(['{"tool":1}'] * 3) + ']'), ParseFailure)
    text = '[' + ','.join(['{"tool":"a"}'] * (MAX_CHARS // 13)) + ']'
    assert len(lenient.parse(text).plan) == MAX_CHARS // 13 <= MAX_STEPS


names = st.text(min_size=1, max_size=12).map(str.strip).filter(bool)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
plans = st.lists(
    st.fixed_dictionaries({'name': names, 'args': st.dictionaries(st.text(max_size=6), values, max_size=3)}), max_size=4
)


@given(plans, st.sampled_from(['json', 'spaced', 'python', 'holder', 'groups']))
@settings(max_examples=150, deadline=None)
def test_round_trip(plan, wrapping):
    assert read(WRAPPINGS[wrapping](plan)) == [(step['name'], step['args']) for step in plan]


@given(plans, st.data())
@settings(max_examples=150, deadline=None)
def test_a_cut_of_any_plan_is_a_prefix_of_it(plan, data):
    text = json.dumps(plan, ensure_ascii=False)
    reading = lenient.parse(text[: data.draw(st.integers(0, len(text)))])
    found = calls(reading) if isinstance(reading, Trajectory) else []
    assert found == [(step['name'], step['args']) for step in plan][: len(found)]


pieces = st.sampled_from([
    '[', ']', '{', '}', '"', "'", '“', '”', ',', ':', '：', '\\', '\n', ' ', '```', '```json\n', '//', '/*', '*/', '#',
    '"name"', '"args"', "'tool'", '"a"', 'null', 'None', '1', '<think>', '</think>', 'Action:', 'Action Input:',
    'Observation:', 'Final Answer:', 'f(', ')', '(1,2)', 'Node:', 'Edges:', '"task_nodes"', '"plan"', 'x', '思考：',
    '{"name": "a", "args": {}}', '\ud800', '\x00', '"""', 'Dependency 1: ', 'Plan 1: x', '1' * 40,
])  # fmt: skip


@given(st.lists(pieces, max_size=40).map(''.join) | st.text(max_size=200))
@settings(max_examples=500, deadline=None)
def test_any_text_gives_a_value_within_bounds(text):
    reading = lenient.parse(text)
    assert reading == lenient.parse(text)
    if isinstance(reading, ParseFailure):
        assert 0 < len(reading.reason) < 300
        return
    assert isinstance(reading.plan, Plan)
    assert len(reading.plan) + len(reading.dropped) <= len(text)
    assert all(step.name.strip() for step in reading.plan.steps)
    assert not any(nests_deeper(step.args) for step in reading.plan.steps)


@given(st.lists(pieces, max_size=25).map(''.join))
@settings(max_examples=300, deadline=None)
def test_every_bracket_lies_within_its_parent(text):
    root = read_bracket('[' + text, 0)
    assert not isinstance(root, ParseFailure)
    level = [root]
    while level:
        for parent in level:
            assert 0 <= parent.start < parent.end <= len(text) + 1
            ends = [child.end for child in parent.children]
            starts = [child.start for child in parent.children]
            assert all(parent.start < start for start in starts)
            assert all(end <= parent.end for end in ends)
            assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
        level = [child for parent in level for child in parent.children]


@pytest.mark.parametrize(
    'unit', ['[', '{"a":', '["', '[\'"', '{"a":"b', "{'n':x},", '“', '[1x]', 'f()\n', 'Action: a\n', ')']
)
@pytest.mark.parametrize('before', ['', '[', '{"plan": ['])
def test_long_hostile_text_comes_to_an_end(before, unit):
    # Without bounds, several of these take minutes.
    lenient.parse(before + unit * (20_000 // len(unit)))
    lenient.parse(before + unit * (20_000 // len(unit)) + ']')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('a', 'a'),
        ('<think>x</think>a', 'a'),
        ('a<think>x</think>b<reasoning>y</reasoning>c', 'abc'),
        ('x</think>a', 'a'),
        ('<think>x<think>y</think>a', 'a'),
        ('<think>x<think>y</think>z</think>a', 'a'),
        ('<think>x</reasoning>y</think>a', 'a'),
        ('[THINK]x[/THINK]a', 'a'),
        ('◁think▷x◁/think▷a', 'a'),
        ('<Think>x</THINK>a', 'a'),
        ('<thinker>a', '<thinker>a'),
        ('x</think>', ''),
    ],
)
def test_reasoning(text, expected):
    assert without_reasoning(text) == expected


@pytest.mark.parametrize('text', ['<think>', 'a<think>b', '<think></think><reasoning>', '<think>a</thinking>'])
def test_reasoning_that_does_not_end(text):
    assert without_reasoning(text) == ParseFailure('the answer ends inside its reasoning')


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('Use Geo.find. Then Geo.find_all', ('Geo.find', 'Geo.find_all')),
        ('refind\nfinds\nfind', ('find',)),
        ('查find，然后book', ('find',)),
        ('find and book\nbook', ('find', 'book')),
        ('<think>book</think>find', ('find',)),
    ],
)
def test_mentions(text, names):
    reading = parse_mentions(text, ['find', 'book', 'Geo.find', 'Geo.find_all', ''])
    assert reading.plan.names == names


@pytest.mark.parametrize('text', ['', 'nothing', None, 3, '<think>find', 'x' * (MAX_CHARS + 1)])
def test_no_mentions(text):
    assert isinstance(parse_mentions(text, ['find']), ParseFailure)
    assert isinstance(parse_mentions('find', []), ParseFailure)


@pytest.mark.parametrize(
    ('given_args', 'expected'),
    [
        (None, {}), ('', {}), (' ', {}), ('x', 'x'), ('{"a": 1}', {'a': 1}), ("{'a': None}", {'a': None}),
        ('{a}', '{a}'), ('[1]', '[1]'), ([1], [1]), (0, 0), ('{"a": ' * 500 + '1' + '}' * 500,) * 2,
    ],
)  # fmt: skip
def test_decoded_args(given_args, expected):
    assert decoded_args(given_args) == expected


def test_small_values():
    assert [as_id(value) for value in (1, '1', '01x', '', 1.5, 2.0, None, [], False)] == [
        1, 1, '01x', None, None, 2, None, None, None,
    ]  # fmt: skip
    assert isinstance(read_json('{'), ParseFailure)
    assert isinstance(read_json('[' * 100_000), ParseFailure)
    assert read_json('{"a": "x\ny"}') == {'a': 'x\ny'}
    assert nests_deeper([[[]]], 2)
    assert not nests_deeper([[[]]], 3)
    assert not nests_deeper('x', 0)


def test_the_strict_parser_is_not_touched_by_this_one():
    broken = f'[my] {TEXT}'
    assert isinstance(parse_prediction(broken, prompt_type='json'), ParseFailure)
