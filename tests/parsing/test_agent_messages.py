"""Anthropic's, LangChain's and Google's recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.parsing import anthropic_messages, google_contents, langchain_messages
from opencompass_traj.plan import ParseFailure, RunRecord
from tests.parsing.recordings import calls_of, read

# --- Anthropic ---


def use(name: Any, args: Any, call_id: Any = 't1', kind: str = 'tool_use') -> dict[str, Any]:
    return {'type': kind, 'id': call_id, 'name': name, 'input': args}


def came(content: Any, call_id: Any = 't1', **more: Any) -> dict[str, Any]:
    return {'type': 'tool_result', 'tool_use_id': call_id, 'content': content, **more}


def assistant(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {'role': 'assistant', 'content': list(blocks), **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {'role': 'user', 'content': list(blocks)}


TEXT = {'type': 'text', 'text': 'Let me see.'}


def test_anthropic_turns_and_results() -> None:
    messages = [
        {'role': 'user', 'content': 'go'},
        assistant(
            {'type': 'thinking', 'thinking': 'hm', 'signature': 's'}, TEXT, use('a', {'x': 1}), use('b', {}, 't2')
        ),
        user(came('ok', 't2'), came('no', 't1', is_error=True)),
        assistant(use('c', {}, 't3')),
        user(came([{'type': 'text', 'text': 'Error: no'}], 't3')),
        assistant(use('d', None, 't4')),
        assistant(TEXT),
    ]
    assert calls_of(read('anthropic', messages)) == [
        ('a', {'x': 1}, 0, True),
        ('b', {}, 0, False),
        ('c', {}, 1, True),
        ('d', {}, 2, None),
    ]


@pytest.mark.parametrize(
    ('result', 'failed'),
    [
        (came('x'), False),
        (came(None), False),
        (came('x', is_error=True), True),
        (came('Error: x', is_error=False), False),
        (came('Error: x'), True),
        (came('Error: x', is_error=None), True),
        (came('x', 'another'), None),
        ({'type': 'web_search_tool_result', 'tool_use_id': 't1', 'content': [{'type': 'web_search_result'}]}, False),
        (
            {'type': 'web_search_tool_result', 'tool_use_id': 't1',
             'content': {'type': 'web_search_tool_result_error', 'error_code': 'too_many_requests'}},
            True,
        ),
    ],
)  # fmt: skip
def test_anthropic_failed(result: dict[str, Any], failed: bool | None) -> None:
    assert read('anthropic', [assistant(use('f', {})), user(result)]).plan.steps[0].failed is failed


def test_tools_that_the_server_runs_have_their_results_within_the_message() -> None:
    message = assistant(
        use('web_search', {'query': 'x'}, 's1', 'server_tool_use'),
        {'type': 'web_search_tool_result', 'tool_use_id': 's1', 'content': []},
        use('lookup', {}, 's2', 'mcp_tool_use'),
        {'type': 'mcp_tool_result', 'tool_use_id': 's2', 'is_error': True, 'content': []},
        use('f', {}, 't3'),
    )
    assert calls_of(read('anthropic', [message])) == [
        ('web_search', {'query': 'x'}, 0, False),
        ('lookup', {}, 1, True),
        ('f', {}, 2, None),
    ]


def test_session_file_lines_of_one_message_are_one_turn_and_count_their_tokens_once() -> None:
    usage = {'input_tokens': 1, 'cache_read_input_tokens': 10, 'cache_creation_input_tokens': 100, 'output_tokens': 5}

    def line(identifier: str, *blocks: Any) -> dict[str, Any]:
        return {'type': 'assistant', 'uuid': 'u', 'message': assistant(*blocks, id=identifier, usage=usage)}

    lines = [
        {'type': 'summary', 'summary': 'x'},
        {'type': 'user', 'message': {'role': 'user', 'content': 'go'}},
        line('m1', TEXT),
        line('m1', use('a', {}, 't1')),
        {'type': 'user', 'message': user(came('ok', 't1'))},
        line('m1', use('b', {}, 't2')),
        {'type': 'user', 'message': user(came('ok', 't2'))},
        line('m2', use('c', {}, 't3')),
    ]
    found = read('anthropic', lines)
    assert calls_of(found) == [('a', {}, 0, False), ('b', {}, 0, False), ('c', {}, 1, None)]
    assert found.record.tokens == 232.0
    assert found.dropped == ()


def test_anthropic_figures() -> None:
    usage = {'input_tokens': 10, 'output_tokens': 5}
    messages = [assistant(use('f', {}), usage=usage), user(came('ok')), assistant(TEXT, usage=usage)]
    assert read('anthropic', {'messages': messages, 'reward': 1}).record == RunRecord(solved=True, tokens=30.0)
    assert read('anthropic', [*messages, assistant(TEXT)]).record.tokens is None


def test_one_message_from_the_api() -> None:
    value = {'type': 'message', 'stop_reason': 'tool_use', 'usage': {'input_tokens': 1, 'output_tokens': 2}}
    found = read('anthropic', {**assistant(use('f', {'a': 1})), **value})
    assert calls_of(found) == [('f', {'a': 1}, 0, None)]
    assert found.record.tokens == 3.0


def test_anthropic_faulty_parts_do_not_void_the_rest() -> None:
    found = read('anthropic', [7, assistant(use(None, {}), 'text', use('f', {})), user('text', use('g', {}))])
    assert found.plan.names == ('f',)
    assert found.dropped == ('message 0: no message', 'message 1: a call without a name')


def test_anthropic_leaves_plain_chat_to_openai() -> None:
    value = [{'role': 'user', 'content': 'hi'}, assistant(TEXT)]
    assert not anthropic_messages.recognises(value)
    assert isinstance(anthropic_messages.parse(value), ParseFailure)


# --- LangChain ---


def ai(*calls: Any, **more: Any) -> dict[str, Any]:
    return {'type': 'ai', 'content': '', 'tool_calls': list(calls), **more}


def tool(content: Any, call_id: Any = 'c1', **more: Any) -> dict[str, Any]:
    return {'type': 'tool', 'content': content, 'tool_call_id': call_id, **more}


def lc(name: str, **kwargs: Any) -> dict[str, Any]:
    path = ['langchain', 'schema', 'messages', name]
    return {'lc': 1, 'type': 'constructor', 'id': path, 'kwargs': kwargs}


CALL = {'name': 'f', 'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}
OPENAI_CALL = {'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{"a": 1}'}}


@pytest.mark.parametrize(
    'messages',
    [
        [{'type': 'human', 'content': 'go'}, ai(CALL), tool('no', status='error')],
        [ai(additional_kwargs={'tool_calls': [OPENAI_CALL]}), tool('no', status='error')],
        [ai(CALL, additional_kwargs={'tool_calls': [OPENAI_CALL]}), tool('Error: no', status='success')],
        [
            lc('SystemMessage', content='x', type='system'),
            lc('HumanMessage', content='go', type='human'),
            lc('AIMessage', content='', type='ai', tool_calls=[CALL]),
            lc('ToolMessage', content='no', type='tool', tool_call_id='c1', status='error'),
        ],
        [lc('AIMessageChunk', content='', tool_calls=[CALL]), lc('ToolMessage', content='Error: x', tool_call_id='c1')],
        [
            {'type': 'human', 'data': {'content': 'go', 'type': 'human'}},
            {'type': 'ai', 'data': ai(CALL)},
            {'type': 'tool', 'data': tool('no', status='error')},
        ],
        [
            ai(additional_kwargs={'function_call': {'name': 'f', 'arguments': '{"a": 1}'}}),
            {'type': 'function', 'name': 'f', 'content': 'Error: no'},
        ],
    ],
)
def test_langchain_forms(messages: list[Any]) -> None:
    expected = [('f', {'a': 1}, 0, True)]
    assert langchain_messages.recognises(messages)
    assert calls_of(read('langchain', messages)) == expected
    assert calls_of(read('langchain', {'messages': messages})) == expected
    assert calls_of(read('langchain', {'values': {'messages': messages}})) == expected
    assert calls_of(read('langchain', json.loads(json.dumps({'messages': messages, 'next': []})))) == expected


def test_langchain_parallel_calls() -> None:
    other = {'name': 'g', 'args': {}, 'id': 'c2'}
    messages = [ai(CALL, other), tool('ok', 'c2'), tool('no', 'c1', status='error'), ai(other)]
    assert calls_of(read('langchain', messages)) == [('f', {'a': 1}, 0, True), ('g', {}, 0, False), ('g', {}, 1, None)]


def test_langchain_keeps_calls_with_invalid_arguments() -> None:
    invalid = {'name': 'g', 'args': '{"a": ', 'id': 'c2', 'error': 'not JSON'}
    assert calls_of(read('langchain', [ai(CALL, invalid_tool_calls=[invalid])])) == [
        ('f', {'a': 1}, 0, None),
        ('g', '{"a": ', 0, None),
    ]


@pytest.mark.parametrize(
    'more',
    [
        {'usage_metadata': {'input_tokens': 4, 'output_tokens': 3, 'total_tokens': 7}},
        {'response_metadata': {'token_usage': {'prompt_tokens': 4, 'completion_tokens': 3, 'total_tokens': 7}}},
        {'response_metadata': {'usage': {'input_tokens': 4, 'output_tokens': 3}}},
    ],
)
def test_langchain_tokens(more: dict[str, Any]) -> None:
    assert read('langchain', [ai(CALL, **more), tool('ok'), ai(**more)]).record.tokens == 14.0
    assert read('langchain', [ai(CALL, **more), ai()]).record.tokens is None


def test_langchain_faulty_parts_do_not_void_the_rest() -> None:
    found = read('langchain', [None, {'type': 'odd'}, ai('x', {'args': {}}, CALL)])
    assert found.plan.names == ('f',)
    assert found.dropped == (
        'message 0: no LangChain message',
        'message 1: no LangChain message',
        'message 2: a call that is no object',
        'message 2: a call without a name',
    )


# --- Google ---


def model(*parts: Any, **more: Any) -> dict[str, Any]:
    return {'role': 'model', 'parts': list(parts), **more}


def call(name: Any, args: Any, **more: Any) -> dict[str, Any]:
    return {'functionCall': {'name': name, 'args': args, **more}}


def response(name: Any, value: Any, **more: Any) -> dict[str, Any]:
    return {'functionResponse': {'name': name, 'response': value, **more}}


def test_google_pairs_by_name_within_the_turn_where_there_are_no_ids() -> None:
    contents = [
        {'role': 'user', 'parts': [{'text': 'go'}]},
        model({'text': 'hm', 'thought': True}, call('f', {'a': 1}), call('f', {'a': 2}), call('g', None)),
        {'role': 'user', 'parts': [
            response('g', {'error': 'no'}), response('f', {'output': 1}), response('f', {'error': 'x'})]},
        model(call('f', {'a': 3})),
        {'role': 'function', 'parts': [response('f', {'status': 'error', 'error_message': 'no'})]},
        model(call('f', {'a': 4})),
        model({'text': 'done'}),
    ]  # fmt: skip
    expected = [
        ('f', {'a': 1}, 0, False),
        ('f', {'a': 2}, 0, True),
        ('g', {}, 0, True),
        ('f', {'a': 3}, 1, True),
        ('f', {'a': 4}, 2, None),
    ]
    assert calls_of(read('google', contents)) == expected
    snake = json.dumps({'contents': contents}).replace('functionCall', 'function_call')
    assert calls_of(read('google', json.loads(snake.replace('functionResponse', 'function_response')))) == expected


def test_google_pairs_by_id_where_there_are_ids() -> None:
    contents = [
        model(call('f', {}, id='1'), call('f', {}, id='2')),
        {'role': 'user', 'parts': [response('f', {'error': 'x'}, id='2'), response('f', {}, id='1')]},
    ]
    assert [step.failed for step in read('google', contents).plan.steps] == [False, True]


def event(author: str, content: Any, **more: Any) -> dict[str, Any]:
    return {'author': author, 'content': content, 'invocation_id': 'i', 'partial': None, **more}


def test_adk_events() -> None:
    usage = {'prompt_token_count': 5, 'candidates_token_count': 2, 'total_token_count': 7}
    part = {'text': None, 'function_response': None, 'function_call': {'id': 'a1', 'name': 'f', 'args': {'a': 1}}}
    back = {'text': None, 'function_call': None,
            'function_response': {'id': 'a1', 'name': 'f', 'response': {'status': 'error'}}}  # fmt: skip
    events = [
        event('user', {'role': 'user', 'parts': [{'text': 'go'}]}, timestamp=100.0),
        event('agent', {'role': 'model', 'parts': [part]}, partial=True, timestamp=100.5),
        event('agent', {'role': 'model', 'parts': [part]}, usage_metadata=usage, timestamp=101.0),
        event('agent', {'role': 'user', 'parts': [back]}, timestamp=101.25),
        event('agent', None, timestamp=101.5),
        event('agent', {'role': 'model', 'parts': [{'text': 'bye'}]}, usage_metadata=usage, timestamp=103.5),
    ]
    for value in (events, {'events': events, 'app_name': 'x'}):
        found = read('google', value)
        assert calls_of(found) == [('f', {'a': 1}, 0, True)]
        assert found.record == RunRecord(tokens=14.0, latency=3.5)
    late = [*events, event('agent', None)]
    assert read('google', late).record.latency is None


def test_gemini_response() -> None:
    value = {
        'candidates': [{'content': model(call('f', {})), 'finishReason': 'STOP'}, {'content': model(call('g', {}))}],
        'usageMetadata': {'promptTokenCount': 1, 'candidatesTokenCount': 2, 'totalTokenCount': 6},
    }
    found = read('google', value)
    assert (found.plan.names, found.record.tokens) == (('f',), 6.0)


def test_google_faulty_parts_do_not_void_the_rest() -> None:
    found = read('google', [1, model('x', {'functionCall': 5}, call(3, {}), call('f', {}))])
    assert found.plan.names == ('f',)
    assert found.dropped == (
        'entry 0: no object',
        'entry 1: a part that is no object',
        'entry 1: a call that is no object',
        'entry 1: a call without a name',
    )


def test_google_public_bug_case() -> None:
    path = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'bug_cases.json'
    if not path.exists():
        pytest.skip('real data not present')
    cases = {case['id']: case for case in json.loads(path.read_text(encoding='utf-8'))}
    case = cases['parse-073-gemini-parts']
    found = read('google', json.loads(case['input']['prediction']))
    expected = [(step['name'], step['args']) for step in case['right']['parse']['steps']]
    assert [(step.name, step.args) for step in found.plan.steps] == expected


def test_google_text_parts_of_another_protocol_are_not_its_own() -> None:
    assert not google_contents.recognises([{'role': 'agent', 'parts': [{'kind': 'text', 'text': 'hi'}]}])
