"""Laws of all recorded formats: no exception, bounds, round trips, no format claims another's recording."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing import _messages
from opencompass_traj.parsing._figures import nanoseconds, run_record, seconds_between, total, usage_tokens
from opencompass_traj.parsing._messages import Recording, result_failed, says_error
from opencompass_traj.parsing.values import nests_deeper
from opencompass_traj.plan import ParseFailure, RunRecord, Trajectory
from tests.parsing.recordings import MODULES, RUN, WRITERS, Run, calls_of, read

NAMES = sorted(MODULES)

# Keys and words that the formats give a meaning to, so that random values get past the first check.
WORDS = (
    'role', 'content', 'type', 'tool_calls', 'function', 'function_call', 'name', 'arguments', 'args', 'id',
    'tool_call_id', 'messages', 'parts', 'functionCall', 'functionResponse', 'response', 'contents', 'output',
    'input', 'call_id', 'kwargs', 'data', 'lc', 'usage', 'usage_metadata', 'total_tokens', 'status', 'error',
    'is_error', 'spans', 'resourceSpans', 'scopeSpans', 'spanId', 'parentSpanId', 'attributes', 'key',
    'value', 'stringValue', 'intValue', 'kvlistValue', 'arrayValue', 'values', 'startTimeUnixNano',
    'endTimeUnixNano', 'code', 'schema_version', 'steps', 'function_name', 'observation', 'results',
    'source_call_id', 'metrics', 'final_metrics', 'timestamp', 'reward', 'outcome', 'cost', 'latency',
    'message', 'author', 'partial', 'choices', 'candidates', 'additional_kwargs', 'response_metadata',
    'token_usage', 'gen_ai.operation.name', 'gen_ai.tool.call.arguments', 'context', 'span_id',
    'is_copied_context', 'tool_use_id', 'invalid_tool_calls', 'gen_ai.usage.input_tokens', 'custom', 'action',
)  # fmt: skip
TEXTS = (
    'assistant', 'user', 'tool', 'model', 'ai', 'human', 'AIMessage', 'constructor', 'function_call', 'mcp_call',
    'function_call_output', 'web_search_call', 'tool_use', 'tool_result', 'execute_tool', 'execute_tool f', 'chat',
    'ATIF-v1.4', 'agent', '{"a": 1}', '{"a": ', '[[', '', ' ', 'Error: no', 'error', 'success', '2025-01-01T00:00:00Z',
    '12', 'message', 'reasoning', 'text', 'f', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59',
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((2, 10**400, -(10**30)))
    | st.floats()
    | st.sampled_from(TEXTS)
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=25,
)


def check_bounds(found: Trajectory | ParseFailure, name: str) -> None:
    if isinstance(found, ParseFailure):
        assert 0 < len(found.reason) < 200
        return
    steps = found.plan.steps
    assert found.format == name
    assert not found.recovered
    assert [step.id for step in steps] == list(range(len(steps)))
    assert all(isinstance(step.name, str) and step.name.strip() for step in steps)
    assert all(step.failed in (None, True, False) and step.prev is None for step in steps)
    assert not any(nests_deeper(step.args, 200) for step in steps)
    turns = [step.turn for step in steps if step.turn is not None]
    assert len(turns) in (0, len(steps))
    assert sorted(set(turns)) == list(range(len(set(turns))))
    assert turns == sorted(turns)
    assert all(len(text) < 200 for text in found.dropped)
    for figure in (found.record.tokens, found.record.latency, found.record.cost):
        assert figure is None or (type(figure) is float and math.isfinite(figure) and figure >= 0)
    assert found.record.solved in (None, True, False)


@pytest.mark.parametrize('name', NAMES)
@settings(max_examples=150, deadline=None)
@given(value=JSON)
def test_any_json_value_is_read_or_refused(name: str, value: Any) -> None:
    module = MODULES[name]
    before = copy.deepcopy(value)
    assert module.recognises(value) in (True, False)
    check_bounds(module.parse(value), name)
    assert repr(value) == repr(before)


@pytest.mark.parametrize('name', NAMES)
@settings(max_examples=80, deadline=None)
@given(data=st.data(), part=JSON)
def test_a_sample_with_any_part_replaced_is_read_or_refused(name: str, data: st.DataObject, part: Any) -> None:
    value = copy.deepcopy(WRITERS[name](RUN))
    places = list(_places(value))
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    holder[key] = part
    module = MODULES[name]
    assert module.recognises(value) in (True, False)
    check_bounds(module.parse(value), name)


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


@pytest.mark.parametrize('name', NAMES)
def test_the_same_run_in_each_format(name: str) -> None:
    found = read(name, WRITERS[name](RUN))
    no_result = False if name == 'otel' else None
    assert calls_of(found) == [
        ('search', {'city': 'Lyon'}, 0, False),
        ('weather', {'city': 'Lyon', 'days': [1, 2]}, 0, True),
        ('book', {'id': 7}, 1, False),
        ('book', {'id': 7}, 2, no_result),
    ]
    assert found.dropped == ()
    assert found.record == RunRecord(latency=found.record.latency)


ARGS = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
CALLS = st.tuples(st.text(min_size=1, max_size=6).filter(str.strip), ARGS, st.sampled_from((None, True, False)))
RUNS = st.lists(st.lists(CALLS, min_size=1, max_size=3), max_size=4)


@pytest.mark.parametrize('name', NAMES)
@settings(max_examples=40, deadline=None)
@given(run=RUNS)
def test_round_trip(name: str, run: Run) -> None:
    value = json.loads(json.dumps(WRITERS[name](run)))
    if name in ('responses', 'otel', 'anthropic') and not run:
        return  # Without a call nothing marks these formats.
    expected = [
        (tool, args, turn, bool(failed) if name == 'otel' else failed)
        for turn, calls in enumerate(run)
        for tool, args, failed in calls
    ]
    assert MODULES[name].recognises(value)
    assert calls_of(read(name, value)) == expected


@pytest.mark.parametrize('name', NAMES)
def test_each_sample_is_claimed_by_its_format_alone(name: str) -> None:
    value = WRITERS[name](RUN)
    assert [other for other in NAMES if MODULES[other].recognises(value)] == [name]
    if name not in ('otel', 'atif'):
        [bare] = value.values()
        assert [other for other in NAMES if MODULES[other].recognises(bare)] == [name]


VARIANTS: list[tuple[str, Any]] = [
    ('openai', [{'role': 'user', 'content': 'hi'}, {'role': 'assistant', 'content': 'hello'}]),
    ('openai', {'role': 'assistant', 'content': 'No tool is needed.', 'tool_calls': None}),
    ('openai', {'role': 'assistant', 'content': None, 'function_call': {'name': 'f', 'arguments': '{}'}}),
    ('openai', [{'id': 'c', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]),
    ('openai', {'choices': [{'message': {'role': 'assistant', 'content': 'hi'}}], 'usage': {'total_tokens': 3}}),
    ('openai', [{'role': 'user', 'content': [{'type': 'text', 'text': 'hi'}, {'type': 'image_url', 'image_url': {}}]}]),
    ('responses', [{'type': 'message', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'hi'}]}]),
    ('responses', [{'role': 'user', 'content': [{'type': 'input_text', 'text': 'hi'}]}]),
    ('responses', {'object': 'response', 'output': [{'type': 'web_search_call', 'status': 'completed'}]}),
    ('anthropic', {'type': 'message', 'role': 'assistant', 'content': [], 'stop_reason': 'end_turn'}),
    ('anthropic', [{'type': 'user', 'message': {'role': 'user', 'content': 'hi'}, 'uuid': 'u'}, {'type': 'summary'}]),
    ('langchain', [{'type': 'human', 'data': {'content': 'hi', 'type': 'human'}}]),
    ('langchain', {'values': {'messages': [{'type': 'ai', 'content': 'hi'}]}, 'next': []}),
    ('langchain', [{'type': 'chat', 'role': 'user', 'content': 'hi'}, {'type': 'ai', 'content': 'hi'}]),
    ('google', {'parts': [{'functionCall': {'name': 'f', 'args': {}}}]}),
    ('google', {'candidates': [{'content': {'role': 'model', 'parts': [{'text': 'hi'}]}}], 'usageMetadata': {}}),
    ('google', [{'author': 'user', 'content': {'parts': [{'text': 'hi'}]}}, {'author': 'agent', 'content': None}]),
    ('otel', [{'name': 'chat m', 'context': {'span_id': '0x1'}, 'attributes': {}}]),
    ('otel', [{'resourceSpans': []}, {'resourceSpans': []}]),
    ('atif', {'schema_version': 'ATIF-v1.7', 'steps': []}),
]


@pytest.mark.parametrize(('name', 'value'), VARIANTS)
def test_each_variant_is_claimed_by_its_format_alone(name: str, value: Any) -> None:
    assert [other for other in NAMES if MODULES[other].recognises(value)] == [name]


FOREIGN: list[Any] = [
    None, 1, 'text', '[]', [], {}, [[]], [1], [{}], {'messages': []}, {'messages': 'hi'}, {'output': []}, {'spans': []},
    [{'id': 0, 'name': 'search', 'args': {}}], [{'tool': 'search', 'param': {}}], {'plan': [{'name': 'search'}]},
    {'task_nodes': [], 'task_links': []}, [{'role': 'assistant', 'parts': [{'type': 'text', 'text': 'hi'}]}],
    [{'role': 'agent', 'parts': [{'kind': 'text', 'text': 'hi'}]}], {'steps': [{'tool_calls': []}]},
    [{'function': 'search', 'arguments': {}}], [{'name': 'search', 'arguments': '{}'}],
]  # fmt: skip


@pytest.mark.parametrize('value', FOREIGN)
def test_what_is_no_recording_is_claimed_by_none(value: Any) -> None:
    assert [name for name in NAMES if MODULES[name].recognises(value)] == []


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('value', [None, 1, 'text', [], {}, [1, 2], {'messages': []}, [{'name': 'search'}]])
def test_what_is_no_recording_is_a_failure(name: str, value: Any) -> None:
    assert isinstance(MODULES[name].parse(value), ParseFailure)


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('other', NAMES)
def test_a_named_format_does_not_take_another_for_an_empty_plan(name: str, other: str) -> None:
    found = MODULES[name].parse(WRITERS[other](RUN))
    if name != other:
        assert isinstance(found, ParseFailure) or found.plan.steps


@pytest.mark.parametrize('name', NAMES)
def test_a_recording_without_calls_is_an_empty_plan(name: str) -> None:
    value = WRITERS[name]([])
    if name == 'responses':
        value = [{'type': 'message', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'hi'}]}]
    elif name == 'anthropic':
        value = {'type': 'message', 'role': 'assistant', 'content': [], 'stop_reason': 'end_turn'}
    assert calls_of(read(name, value)) == []


@pytest.mark.parametrize('name', NAMES)
def test_calls_without_a_name_are_dropped_and_the_others_stay(name: str) -> None:
    text = json.dumps(WRITERS[name](RUN)).replace('"weather"', '" "').replace('execute_tool weather', 'execute_tool ')
    found = read(name, json.loads(text))
    assert found.plan.names == ('search', 'book', 'book')
    assert [text.endswith('a call without a name') for text in found.dropped] == [True]


@pytest.mark.parametrize('name', NAMES)
def test_calls_that_all_have_no_name_are_no_abstention(name: str) -> None:
    found = MODULES[name].parse(WRITERS[name]([[(' ', {}, None)]]))
    assert isinstance(found, ParseFailure)
    assert found.reason.startswith('no call could be read')


@pytest.mark.parametrize('name', ['anthropic', 'langchain', 'google', 'atif'])
def test_arguments_nested_too_deep_are_dropped(name: str) -> None:
    deep: Any = 0
    for _ in range(300):
        deep = [deep]
    found = read(name, WRITERS[name]([[('f', {'a': deep}, None), ('g', {}, None)]]))
    assert found.plan.names == ('g',)
    assert 'nested more than 200 deep' in found.dropped[0]


@pytest.mark.parametrize('name', NAMES)
def test_nesting_beyond_any_recursion_is_read_or_refused(name: str) -> None:
    deep: Any = {}
    for key in ('content', 'parts', 'messages', 'values', 'output', 'response', 'attributes', 'value') * 5_000:
        deep = {key: [deep], 'type': 'text', 'role': 'user'}
    for value in (deep, [deep], {'messages': [deep]}, {'resourceSpans': [{'scopeSpans': [{'spans': [deep]}]}]}):
        assert MODULES[name].recognises(value) in (True, False)
        check_bounds(MODULES[name].parse(value), name)


def test_too_many_calls_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_messages, 'MAX_STEPS', 3)
    assert isinstance(MODULES['openai'].parse(WRITERS['openai'](RUN)), ParseFailure)
    assert len(read('openai', WRITERS['openai'](RUN[:2])).plan) == 3


@pytest.mark.parametrize(
    ('content', 'expected'),
    [
        ('Error: payment amount does not add up', True),
        ('  Error executing tool f', True),
        ('ERROR 500', True),
        ('error: no', True),
        ('Traceback (most recent call last):\n ...', True),
        ('{"error": "no such user"}', True),
        ('{"error": {"code": 1}}', True),
        (' {"is_error": true}', True),
        ('{"status": "Error"}', True),
        ({'isError': True}, True),
        ([{'type': 'text', 'text': 'Error: no'}], True),
        ([{'type': 'image'}, {'type': 'text', 'text': '{"error": 1}'}], True),
        ('Error', True),
        ('Errors found: 0', False),
        ('Error-free', False),
        ('error handling is a chapter', False),
        ('No error', False),
        ('Transfer successful', False),
        ('{"error": null}', False),
        ('{"error": ""}', False),
        ('{"is_error": false, "status": "ok"}', False),
        ('{"status": "failed"}', False),
        ('{"error": ', False),
        ('[{"error": "x"}]', False),
        ([{'text': 'fine'}, {'text': 'Error: x'}], False),
        ({'data': {'error': 'x'}}, False),
        ('', False),
        (None, False),
        (5, False),
    ],
)
def test_what_says_error(content: Any, expected: bool) -> None:
    assert says_error(content) is expected


def test_a_stated_flag_outweighs_the_text() -> None:
    assert result_failed({'is_error': False}, 'Error: x') is False
    assert result_failed({'is_error': True}, 'fine') is True
    assert result_failed({'status': 'success'}, 'Error: x') is True


@pytest.mark.parametrize(
    ('holder', 'expected'),
    [
        ({'reward': 1.0}, True),
        ({'reward': 1}, True),
        ({'reward': 0.9999999}, True),
        ({'reward': 10**400}, True),
        ({'reward': 0.0}, False),
        ({'reward': 0.5}, False),
        ({'reward': -1}, False),
        ({'reward': float('nan')}, None),
        ({'reward': '1'}, None),
        ({'reward_info': {'reward': 1.0}}, True),
        ({'solved': False, 'reward': 1.0}, False),
        ({'solved': 'yes', 'reward': 1.0}, True),
        ({'success': True}, True),
        ({'outcome': ' Success '}, True),
        ({'outcome': 'passed'}, True),
        ({'outcome': 'FAILED'}, False),
        ({'outcome': 'incorrect'}, False),
        ({'outcome': 'timeout'}, None),
        ({'outcome': False}, False),
        ({'reward': 0.0, 'outcome': 'success'}, False),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_solved(holder: Any, expected: bool | None) -> None:
    assert run_record(holder).solved is expected


@pytest.mark.parametrize(
    ('holder', 'expected'),
    [
        ({'tokens': 12, 'latency': 1.5, 'cost': 0.25}, (12.0, 1.5, 0.25)),
        ({'usage': {'total_tokens': 7}, 'duration': 2, 'total_cost': 3}, (7.0, 2.0, 3.0)),
        ({'usage': {'input_tokens': 3, 'output_tokens': 4}, 'latency_s': 1}, (7.0, 1.0, None)),
        ({'tokens': 1, 'usage': {'total_tokens': 7}}, (1.0, None, None)),
        ({'duration_ms': 1500, 'cost_usd': 0}, (None, 1.5, 0.0)),
        ({'tokens': -1, 'latency': 'fast', 'cost': float('inf')}, (None, None, None)),
        ({'tokens': True, 'latency': None, 'cost': 10**400}, (None, None, None)),
        ({'usage': {'prompt_tokens': 3}}, (None, None, None)),
        ({'usage': 5}, (None, None, None)),
    ],
)
def test_figures(holder: Any, expected: tuple[float | None, ...]) -> None:
    record = run_record(holder)
    assert (record.tokens, record.latency, record.cost) == expected


def test_the_objects_figures_come_before_those_of_the_messages() -> None:
    assert run_record({'tokens': 5}, tokens=1.0, latency=2.0, cost=3.0) == RunRecord(None, 5.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ('usage', 'expected'),
    [
        ({'prompt_tokens': 1, 'completion_tokens': 2}, 3.0),
        ({'promptTokenCount': 1, 'candidatesTokenCount': 2, 'totalTokenCount': 9}, 9.0),
        (
            {'input_tokens': 1, 'output_tokens': 2, 'cache_read_input_tokens': 10, 'cache_creation_input_tokens': 20},
            33.0,
        ),
        ({'total_tokens': 3, 'cache_read_input_tokens': 10}, 3.0),
        ({'total_tokens': None, 'prompt_tokens': 1, 'completion_tokens': 2}, 3.0),
        ({'output_tokens': 2}, None),
        ({}, None),
        (None, None),
    ],
)
def test_usage(usage: Any, expected: float | None) -> None:
    assert usage_tokens(usage) == expected


def test_half_a_sum_is_none() -> None:
    assert total([1.0, 2.0]) == 3.0
    assert total([1.0, None]) is None
    assert total([]) is None
    assert total([1e308, 1e308]) is None


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ('1970-01-01T00:00:01Z', 10**9),
        ('1970-01-01T01:00:01+01:00', 10**9),
        ('1970-01-01T00:00:01', 10**9),
        ('1970-01-01T00:00:00.123456789Z', 123_456_000),
        ('1969-12-31T23:59:59Z', -(10**9)),
        (5, 5),
        ('5', 5),
        (True, None),
        (-5, None),
        ('-5', None),
        (10**30, None),
        (1.5, None),
        ('soon', None),
        ('1' * 50, None),
        (None, None),
    ],
)
def test_nanoseconds(value: Any, expected: int | None) -> None:
    assert nanoseconds(value) == expected


def test_seconds_between() -> None:
    assert seconds_between([3 * 10**9, 10**9]) == 2.0
    assert seconds_between([5]) == 0.0
    assert seconds_between([5, None]) is None
    assert seconds_between([]) is None


def outcome(recording: Recording) -> list[tuple[str, Any, int | None, bool | None]]:
    found = recording.outcome('demo')
    assert isinstance(found, Trajectory)
    return calls_of(found)


def test_a_reused_id_means_the_call_of_the_latest_turn() -> None:
    recording = Recording()
    for _ in range(2):
        recording.next_turn()
        recording.call('f', {}, call_id='same', place='x')
    recording.result(call_id='same', failed=True)
    assert [failed for *_, failed in outcome(recording)] == [None, True]


def test_an_id_reused_within_a_turn_is_served_in_order() -> None:
    recording = Recording()
    recording.call('f', {}, call_id='same', place='x')
    recording.call('g', {}, call_id='same', place='x')
    recording.result(call_id='same', failed=True)
    recording.result(call_id='same', failed=False)
    recording.result(call_id='same', failed=True)
    assert [failed for *_, failed in outcome(recording)] == [True, False]


def test_results_without_an_id_are_paired_by_name_and_then_by_order() -> None:
    recording = Recording()
    recording.call('f', {}, call_id='a', place='x')
    recording.call('g', {}, place='x')
    recording.call('h', {}, place='x')
    recording.result(name='g', failed=True)
    recording.result(failed=True)
    recording.result(call_id='unknown', failed=True)
    recording.result(call_id='unknown', name='h', failed=False)
    assert [failed for *_, failed in outcome(recording)] == [True, True, False]


def test_nothing_collected_is_an_empty_plan_of_a_recording_and_else_a_failure() -> None:
    assert outcome(Recording()) == []
    assert isinstance(Recording().outcome('demo', recognised=False), ParseFailure)
