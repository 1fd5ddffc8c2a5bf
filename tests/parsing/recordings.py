"""One sample of each recorded format: the same run, written as each framework writes it."""

from __future__ import annotations

import json
from typing import Any

from opencompass_traj.parsing import (
    anthropic_messages,
    atif,
    google_contents,
    langchain_messages,
    openai_chat,
    openai_responses,
    otel_spans,
)
from opencompass_traj.plan import Trajectory

MODULES = {
    module.NAME: module
    for module in (
        openai_chat,
        openai_responses,
        anthropic_messages,
        langchain_messages,
        google_contents,
        otel_spans,
        atif,
    )
}

# Turns of calls: (name, arguments, failed). None: no result was recorded.
Run = list[list[tuple[str, dict[str, Any], bool | None]]]

RUN: Run = [
    [('search', {'city': 'Lyon'}, False), ('weather', {'city': 'Lyon', 'days': [1, 2]}, True)],
    [('book', {'id': 7}, False)],
    [('book', {'id': 7}, None)],
]


def result_text(failed: bool) -> str:
    return 'Error: no such city' if failed else '{"ok": true}'


def as_openai(run: Run) -> Any:
    messages: list[dict[str, Any]] = [{'role': 'system', 'content': 'Help.'}, {'role': 'user', 'content': 'Go.'}]
    for turn, calls in enumerate(run):
        messages.append(
            {
                'role': 'assistant',
                'content': None,
                'tool_calls': [
                    {
                        'id': f'c{turn}_{i}',
                        'type': 'function',
                        'function': {'name': name, 'arguments': json.dumps(args)},
                    }
                    for i, (name, args, _) in enumerate(calls)
                ],
            }
        )
        messages.extend(
            {'role': 'tool', 'tool_call_id': f'c{turn}_{i}', 'content': result_text(failed)}
            for i, (_, _, failed) in enumerate(calls)
            if failed is not None
        )
    return {'messages': [*messages, {'role': 'assistant', 'content': 'Done.'}]}


def as_responses(run: Run) -> Any:
    items: list[dict[str, Any]] = [{'role': 'user', 'content': 'Go.'}]
    for turn, calls in enumerate(run):
        items.append({'type': 'reasoning', 'id': f'r{turn}', 'summary': []})
        items.extend(
            {'type': 'function_call', 'call_id': f'c{turn}_{i}', 'name': name, 'arguments': json.dumps(args)}
            for i, (name, args, _) in enumerate(calls)
        )
        items.extend(
            {'type': 'function_call_output', 'call_id': f'c{turn}_{i}', 'output': result_text(failed)}
            for i, (_, _, failed) in enumerate(calls)
            if failed is not None
        )
        items.append({'role': 'user', 'content': 'Go on.'})
    return {'output': items}


def as_anthropic(run: Run) -> Any:
    messages: list[dict[str, Any]] = [{'role': 'user', 'content': 'Go.'}]
    for turn, calls in enumerate(run):
        used = [
            {'type': 'tool_use', 'id': f'c{turn}_{i}', 'name': name, 'input': args}
            for i, (name, args, _) in enumerate(calls)
        ]
        messages.append({'role': 'assistant', 'content': [{'type': 'text', 'text': 'Hm.'}, *used]})
        results = [
            {
                'type': 'tool_result',
                'tool_use_id': f'c{turn}_{i}',
                'content': [{'type': 'text', 'text': 'x'}],
                'is_error': failed,
            }
            for i, (_, _, failed) in enumerate(calls)
            if failed is not None
        ]
        messages.append({'role': 'user', 'content': results})
    return {'messages': messages}


def as_langchain(run: Run) -> Any:
    messages: list[dict[str, Any]] = [{'type': 'human', 'content': 'Go.'}]
    for turn, calls in enumerate(run):
        used = [
            {'name': name, 'args': args, 'id': f'c{turn}_{i}', 'type': 'tool_call'}
            for i, (name, args, _) in enumerate(calls)
        ]
        messages.append({'type': 'ai', 'content': '', 'tool_calls': used})
        messages.extend(
            {
                'type': 'tool',
                'content': 'x',
                'tool_call_id': f'c{turn}_{i}',
                'status': 'error' if failed else 'success',
            }
            for i, (_, _, failed) in enumerate(calls)
            if failed is not None
        )
    return {'messages': messages}


def as_google(run: Run) -> Any:
    contents: list[dict[str, Any]] = [{'role': 'user', 'parts': [{'text': 'Go.'}]}]
    for turn, calls in enumerate(run):
        used = [
            {'functionCall': {'id': f'c{turn}_{i}', 'name': name, 'args': args}}
            for i, (name, args, _) in enumerate(calls)
        ]
        contents.append({'role': 'model', 'parts': [{'text': 'Hm.', 'thought': True}, *used]})
        answers = [
            {
                'functionResponse': {
                    'id': f'c{turn}_{i}',
                    'name': name,
                    'response': {'error': 'no'} if failed else {'output': 'x'},
                }
            }
            for i, (name, _, failed) in enumerate(calls)
            if failed is not None
        ]
        contents.append({'role': 'user', 'parts': answers})
    return {'contents': contents}


def attribute(key: str, value: str | int) -> dict[str, Any]:
    return {
        'key': key,
        'value': {'intValue': str(value)} if isinstance(value, int) else {'stringValue': value},
    }


def as_otel(run: Run) -> Any:
    """A span is a finished call: it always has a result, and `failed` None becomes False."""
    spans: list[dict[str, Any]] = []
    for turn, calls in enumerate(run):
        spans.extend(
            {
                'traceId': 't',
                'spanId': f's{turn}_{i}',
                'parentSpanId': 'root',
                'name': f'execute_tool {name}',
                'startTimeUnixNano': str(turn * 1000 + i),
                'endTimeUnixNano': str(turn * 1000 + 900),
                'status': {'code': 2} if failed else {},
                'attributes': [
                    attribute('gen_ai.operation.name', 'execute_tool'),
                    attribute('gen_ai.tool.name', name),
                    attribute('gen_ai.tool.call.arguments', json.dumps(args)),
                ],
            }
            for i, (name, args, failed) in enumerate(calls)
        )
    return {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'scope': {}, 'spans': spans[::-1]}]}]}


def as_atif(run: Run) -> Any:
    steps: list[dict[str, Any]] = [{'step_id': 1, 'source': 'user', 'message': 'Go.'}]
    for turn, calls in enumerate(run):
        used = [
            {'tool_call_id': f'c{turn}_{i}', 'function_name': name, 'arguments': args}
            for i, (name, args, _) in enumerate(calls)
        ]
        results = [
            {'source_call_id': f'c{turn}_{i}', 'content': result_text(failed)}
            for i, (_, _, failed) in enumerate(calls)
            if failed is not None
        ]
        steps.append(
            {
                'step_id': turn + 2,
                'source': 'agent',
                'message': '',
                'tool_calls': used,
                'observation': {'results': results},
            }
        )
    agent = {'name': 'demo', 'version': '1'}
    return {'schema_version': 'ATIF-v1.4', 'session_id': 's', 'agent': agent, 'steps': steps}


WRITERS = {
    'openai': as_openai,
    'responses': as_responses,
    'anthropic': as_anthropic,
    'langchain': as_langchain,
    'google': as_google,
    'otel': as_otel,
    'atif': as_atif,
}


def read(name: str, value: object) -> Trajectory:
    """Parse, and insist on a trajectory."""
    found = MODULES[name].parse(value)
    assert isinstance(found, Trajectory), found
    assert found.format == name
    assert not found.recovered
    return found


def calls_of(found: Trajectory) -> list[tuple[str, Any, int | None, bool | None]]:
    return [(step.name, step.args, step.turn, step.failed) for step in found.plan.steps]
