"""OpenTelemetry spans and ATIF."""

from __future__ import annotations

import copy
import random
from itertools import pairwise
from typing import Any

import pytest

from opencompass_traj.parsing import atif, otel_spans
from opencompass_traj.plan import ParseFailure, RunRecord
from tests.parsing.recordings import attribute, calls_of, read

# --- OpenTelemetry ---

SECOND = 10**9


def span(
    name: str, identifier: str, start: Any = None, end: Any = None, parent: str | None = 'root', **more: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {'name': name, 'spanId': identifier, 'traceId': 't', **more}
    if parent is not None:
        made['parentSpanId'] = parent
    if start is not None:
        made |= {'startTimeUnixNano': str(start), 'endTimeUnixNano': str(end)}
    return made


def export(*spans: Any) -> dict[str, Any]:
    return {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'scope': {}, 'spans': list(spans)}]}]}


def turns(*spans: Any) -> list[tuple[str, int | None]]:
    return [(step.name, step.turn) for step in read('otel', export(*spans)).plan.steps]


def test_a_tool_span_by_its_operation_and_by_its_name() -> None:
    by_operation = span('run', 's1', 1, 2, attributes=[
        attribute('gen_ai.operation.name', 'execute_tool'), attribute('gen_ai.tool.name', 'search'),
        attribute('gen_ai.tool.call.arguments', '{"q": "x"}')])  # fmt: skip
    by_name = span('execute_tool book', 's2', 3, 4)
    other = span('execute_tool chat', 's3', 5, 6, attributes=[attribute('gen_ai.operation.name', 'chat')])
    assert calls_of(read('otel', export(by_operation, by_name, other))) == [
        ('search', {'q': 'x'}, 0, False),
        ('book', {}, 1, False),
    ]


@pytest.mark.parametrize(
    ('spans', 'expected'),
    [
        ([('a', 0, 10), ('b', 5, 15)], [0, 0]),
        ([('a', 0, 10), ('b', 10, 15)], [0, 1]),
        ([('a', 0, 10), ('b', 2, 4), ('c', 6, 8)], [0, 0, 0]),
        ([('a', 0, 10), ('b', 5, 20), ('c', 15, 30)], [0, 0, 0]),
        ([('a', 0, 1), ('b', 2, 3), ('c', 2, 4)], [0, 1, 1]),
        ([('a', 0, 0), ('b', 0, 0)], [0, 1]),
    ],
)
def test_spans_that_overlap_are_one_turn(spans: list[tuple[str, int, int]], expected: list[int]) -> None:
    made = [span(f'execute_tool {name}', name, start, end) for name, start, end in spans]
    names = [name for name, *_ in spans]
    assert turns(*made) == list(zip(names, expected, strict=True))
    rootless = [{key: value for key, value in each.items() if key != 'parentSpanId'} for each in made]
    assert turns(*rootless) == list(zip(names, expected, strict=True))


def test_spans_of_different_parents_are_not_one_turn() -> None:
    assert turns(span('execute_tool a', 'a', 0, 10, 'p1'), span('execute_tool b', 'b', 5, 15, 'p2')) == [
        ('a', 0),
        ('b', 1),
    ]


def test_turns_against_a_plain_reading() -> None:
    """Spans of one parent: a turn is a connected piece of the time that the spans cover."""
    draw = random.Random(5)
    for _ in range(200):
        times = [(start := draw.randrange(30), start + draw.randrange(1, 6)) for _ in range(draw.randrange(1, 8))]
        made = [span(f'execute_tool t{i}', f's{i}', start, end) for i, (start, end) in enumerate(times)]
        covered = {moment for start, end in times for moment in range(start, end)}
        found = read('otel', export(*made)).plan.steps
        for first, second in pairwise(found):
            begin, later = times[int(first.name[1:])][0], times[int(second.name[1:])][0]
            assert begin <= later
            # Where one span ends as the next begins, the time is covered but nothing overlaps.
            touching = any(
                all(start >= cut or end <= cut for start, end in times) for cut in range(begin + 1, later + 1)
            )
            together = set(range(begin, later)) <= covered and not touching
            assert (first.turn == second.turn) is together


def test_steps_stand_by_start_time() -> None:
    made = [span(f'execute_tool t{i}', f's{i}', i * 10, i * 10 + 5) for i in range(5)]
    assert turns(*made[::-1]) == [(f't{i}', i) for i in range(5)]


def test_without_times_the_order_is_the_files_and_no_turn_is_known() -> None:
    timed = span('execute_tool b', 'b', 5, 6)
    assert turns(span('execute_tool a', 'a'), timed) == [('a', None), ('b', None)]


def test_a_span_within_one_of_the_same_tool_is_the_same_call() -> None:
    outer = span('execute_tool f', 'o', 0, 10, attributes=[attribute('gen_ai.tool.name', 'f')])
    client = span('tools/call f', 'm', 1, 9, 'o', attributes=[
        attribute('gen_ai.operation.name', 'execute_tool'), attribute('gen_ai.tool.name', 'f'),
        attribute('mcp.method.name', 'tools/call')])  # fmt: skip
    inner = span('execute_tool g', 'g', 2, 3, 'm')
    assert turns(outer, client, inner) == [('f', 0), ('g', 1)]
    assert turns(span('execute_tool f', 'o', 0, 10, 'o')) == [('f', 0)]


@pytest.mark.parametrize(
    ('more', 'failed'),
    [
        ({}, False),
        ({'status': {}}, False),
        ({'status': {'code': 0}}, False),
        ({'status': {'code': 1}}, False),
        ({'status': {'code': 2, 'message': 'no'}}, True),
        ({'status': {'code': 'STATUS_CODE_ERROR'}}, True),
        ({'status': {'status_code': 'ERROR'}}, True),
        ({'status': {'status_code': 'UNSET'}}, False),
        ({'status': {'code': [2]}}, False),
        ({'status': 'bad'}, False),
        ({'attributes': [attribute('error.type', 'TimeoutError')]}, True),
        ({'attributes': [attribute('gen_ai.tool.call.result', 'Error: no')]}, True),
        ({'attributes': [attribute('gen_ai.tool.call.result', '{"ok": 1}')]}, False),
    ],
)
def test_otel_failed(more: dict[str, Any], failed: bool) -> None:
    assert read('otel', export(span('execute_tool f', 's', 1, 2, **more))).plan.steps[0].failed is failed


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ({'stringValue': '{"a": 1}'}, {'a': 1}),
        ({'stringValue': 'ls'}, 'ls'),
        (
            {'kvlistValue': {'values': [
                {'key': 'a', 'value': {'intValue': '-5'}}, {'key': 'b', 'value': {'boolValue': True}},
                {'key': 'c', 'value': {'arrayValue': {'values': [{'doubleValue': 1.5}, {'stringValue': 'x'}, {}]}}},
                {'key': 'd', 'value': {'kvlistValue': {'values': []}}}]}},
            {'a': -5, 'b': True, 'c': [1.5, 'x', None], 'd': {}},
        ),
        ({}, {}),
        (None, {}),
    ],
)  # fmt: skip
def test_otel_arguments(value: Any, expected: Any) -> None:
    tagged = {'key': 'gen_ai.tool.call.arguments', 'value': value}
    assert read('otel', export(span('execute_tool f', 's', 1, 2, attributes=[tagged]))).plan.steps[0].args == expected


def chat(identifier: str, used: dict[str, int], start: int = 0, end: int = 1, **more: Any) -> dict[str, Any]:
    attributes = [attribute('gen_ai.operation.name', 'chat')]
    attributes += [attribute(f'gen_ai.usage.{key}', value) for key, value in used.items()]
    return span('chat m', identifier, start, end, attributes=attributes, **more)


def test_otel_figures() -> None:
    used = {'input_tokens': 10, 'output_tokens': 5, 'cache_read.input_tokens': 8}
    agent = span('invoke_agent a', 'root', 0, 5 * SECOND, None, attributes=[
        attribute('gen_ai.operation.name', 'invoke_agent'), attribute('gen_ai.usage.input_tokens', 20),
        attribute('gen_ai.usage.output_tokens', 10)])  # fmt: skip
    spans = [agent, chat('c1', used, 1, SECOND), span('execute_tool f', 's', SECOND, 2 * SECOND), chat('c2', used)]
    assert read('otel', export(*spans)).record == RunRecord(tokens=30.0, latency=5.0)
    assert read('otel', export(*spans, chat('c3', {}))).record.tokens is None
    assert read('otel', export(*spans, chat('c3', {}, status={'code': 2}))).record.tokens == 30.0
    assert read('otel', export(*spans, span('x', 'x'))).record.latency is None
    assert read('otel', {**export(*spans), 'reward': 1.0, 'cost': 2}).record.solved is True


def test_pythons_console_exporter() -> None:
    spans = [
        {
            'name': f'execute_tool {name}',
            'context': {'trace_id': '0x1', 'span_id': f'0x{i}', 'trace_state': '[]'},
            'kind': 'SpanKind.INTERNAL',
            'parent_id': '0xff',
            'start_time': f'2025-01-01T00:00:0{i}.000000Z',
            'end_time': f'2025-01-01T00:00:0{i}.500000Z',
            'status': {'status_code': 'ERROR' if failed else 'UNSET'},
            'attributes': {'gen_ai.tool.name': name, 'gen_ai.tool.call.arguments': '{"a": 1}'},
        }
        for i, (name, failed) in enumerate([('f', True), ('g', False)])
    ]
    for value in (spans, {'spans': spans}, spans[::-1]):
        found = read('otel', value)
        assert calls_of(found) == [('f', {'a': 1}, 0, True), ('g', {'a': 1}, 1, False)]
        assert found.record.latency == 1.5


def test_several_exports_are_one_run() -> None:
    value = [export(span('execute_tool b', 'b', 5, 6)), export(span('execute_tool a', 'a', 1, 2))]
    assert read('otel', value).plan.names == ('a', 'b')


def test_a_tool_without_a_name_is_dropped() -> None:
    nameless = span('run', 's', 1, 2, attributes=[attribute('gen_ai.operation.name', 'execute_tool')])
    found = read('otel', export(nameless, span('execute_tool f', 't', 3, 4)))
    assert (found.plan.names, found.dropped) == (('f',), ('tool span 0: a call without a name',))


@pytest.mark.parametrize('value', [{'resourceSpans': 'x'}, [{'name': 'f'}], [{'spanId': 's'}], {'spans': [1]}])
def test_no_spans(value: Any) -> None:
    assert not otel_spans.recognises(value)
    assert isinstance(otel_spans.parse(value), ParseFailure)


# --- ATIF ---


def used(name: Any, args: Any, call_id: Any = 'c1') -> dict[str, Any]:
    return {'tool_call_id': call_id, 'function_name': name, 'arguments': args}


def step(*calls: Any, **more: Any) -> dict[str, Any]:
    return {'source': 'agent', 'message': '', 'tool_calls': list(calls), **more}


def seen(*results: tuple[str | None, Any]) -> dict[str, Any]:
    return {'results': [{'source_call_id': call_id, 'content': content} for call_id, content in results]}


def trajectory(*steps: Any, **more: Any) -> dict[str, Any]:
    agent = {'name': 'demo', 'version': '1'}
    return {'schema_version': 'ATIF-v1.6', 'session_id': 's', 'agent': agent, 'steps': list(steps), **more}


def test_atif_turns_and_results() -> None:
    value = trajectory(
        {'source': 'system', 'message': 'x', 'observation': seen((None, 'Error: reset'))},
        {'source': 'user', 'message': 'go'},
        step(
            used('a', {'x': 1}), used('b', {}, 'c2'),
            observation=seen(('c2', [{'type': 'text', 'text': 'Error: no'}]), ('c1', 'ok')),
        ),
        step(observation=seen((None, 'Error: no'))),
        step(used('c', {}, 'c3'), observation=seen((None, 'Error: no'))),
        {'source': 'agent', 'message': 'done'},
    )  # fmt: skip
    assert calls_of(read('atif', value)) == [('a', {'x': 1}, 0, False), ('b', {}, 0, True), ('c', {}, 1, None)]


def metrics(prompt: int, completion: int, cost: float) -> dict[str, Any]:
    cached = {'cached_tokens': prompt}
    return {'prompt_tokens': prompt, 'completion_tokens': completion, 'cost_usd': cost, **cached}


def test_atif_figures() -> None:
    steps = [
        {'source': 'user', 'message': 'go', 'timestamp': '2025-10-11T10:30:00Z'},
        step(used('f', {}), metrics=metrics(520, 80, 0.25), timestamp='2025-10-11T10:30:02Z'),
        step(metrics=metrics(600, 44, 0.5), timestamp='2025-10-11T10:30:05.5Z'),
    ]
    assert read('atif', trajectory(*steps)).record == RunRecord(None, 1244.0, 5.5, 0.75)
    final = {'total_prompt_tokens': 1, 'total_completion_tokens': 2, 'total_cost_usd': 3}
    assert read('atif', trajectory(*steps, final_metrics=final, reward=0)).record == RunRecord(False, 3.0, 5.5, 3.0)
    assert read('atif', trajectory(*steps, step())).record == RunRecord()
    assert read('atif', trajectory(*steps, step(), latency=9, tokens=8)).record == RunRecord(None, 8.0, 9.0, None)


def test_atif_copied_steps_are_of_another_run() -> None:
    copied = step(used('old', {}), is_copied_context=True)
    found = read('atif', trajectory(copied, step(used('f', {}))))
    assert found.plan.names == ('f',)
    assert found.dropped == ('step 0: copied from an earlier trajectory',)


def test_atif_faulty_parts_do_not_void_the_rest() -> None:
    found = read('atif', trajectory('x', step(3, used(None, {}), used('f', '{"a": 1}')), step(observation='x')))
    assert calls_of(found) == [('f', {'a': 1}, 0, None)]
    assert found.dropped == (
        'step 0: no object',
        'step 1: a call that is no object',
        'step 1: a call without a name',
    )


def test_atif_without_its_version() -> None:
    value = trajectory(step(used('f', {})))
    del value['schema_version']
    assert not atif.recognises(value)
    assert read('atif', value).plan.names == ('f',)
    empty = copy.deepcopy(value) | {'steps': []}
    assert isinstance(atif.parse(empty), ParseFailure)
    assert calls_of(read('atif', empty | {'schema_version': 'ATIF-v1.0'})) == []
