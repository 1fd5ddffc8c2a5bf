"""OpenAI's two formats: chat messages and the items of the Responses API; and 100 real runs of tau-bench."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.parsing import openai_chat, openai_responses
from opencompass_traj.plan import ParseFailure, RunRecord
from tests.data import shared_data
from tests.parsing.recordings import calls_of, read


def called(name: Any, arguments: Any, call_id: Any = 'c1') -> dict[str, Any]:
    return {'id': call_id, 'type': 'function', 'function': {'name': name, 'arguments': arguments}}


def said(*calls: Any, **more: Any) -> dict[str, Any]:
    return {'role': 'assistant', 'content': None, 'tool_calls': list(calls), **more}


def answered(content: Any, call_id: Any = 'c1', **more: Any) -> dict[str, Any]:
    return {'role': 'tool', 'tool_call_id': call_id, 'content': content, **more}


def test_one_call_with_its_result() -> None:
    messages = [{'role': 'user', 'content': 'hi'}, said(called('search', '{"q": "x"}')), answered('found')]
    assert calls_of(read('openai', messages)) == [('search', {'q': 'x'}, 0, False)]


def test_calls_of_one_message_are_one_turn_and_messages_are_turns() -> None:
    messages = [
        said(called('a', '{}', 'c1'), called('b', '{}', 'c2')),
        answered('Error: no', 'c2'),
        answered('ok', 'c1'),
        {'role': 'assistant', 'content': 'Let me see.'},
        said(called('c', '{}', 'c3')),
        said(called('d', '{}', 'c4')),
    ]
    assert calls_of(read('openai', messages)) == [
        ('a', {}, 0, False),
        ('b', {}, 0, True),
        ('c', {}, 1, None),
        ('d', {}, 2, None),
    ]


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        ('{"a": {"b": [1, null, "é"]}}', {'a': {'b': [1, None, 'é']}}),
        ('', {}),
        ('  ', {}),
        (None, {}),
        ('{}', {}),
        ({'a': 1}, {'a': 1}),
        ('{"a": 1', '{"a": 1'),
        ('just text', 'just text'),
        ('[1, 2]', '[1, 2]'),
        ('5', '5'),
        ('{"a": "line\nbreak"}', {'a': 'line\nbreak'}),
        ('{"a":' * 300 + '1' + '}' * 300, '{"a":' * 300 + '1' + '}' * 300),
    ],
)
def test_arguments(arguments: Any, expected: Any) -> None:
    found = read('openai', [said(called('f', arguments))])
    assert found.plan.steps[0].args == expected
    assert found.dropped == ()


def test_the_older_function_call() -> None:
    messages = [
        {'role': 'assistant', 'content': None, 'function_call': {'name': 'f', 'arguments': '{"a": 1}'}},
        {'role': 'function', 'name': 'f', 'content': '{"error": "no"}'},
        {'role': 'assistant', 'content': None, 'function_call': {'name': 'f', 'arguments': '{"a": 2}'}},
        {'role': 'function', 'name': 'f', 'content': '{"ok": 1}'},
    ]
    assert calls_of(read('openai', messages)) == [('f', {'a': 1}, 0, True), ('f', {'a': 2}, 1, False)]


def test_both_ways_of_calling_in_one_message_are_one_call() -> None:
    message = said(called('f', '{}'), function_call={'name': 'f', 'arguments': '{}'})
    assert read('openai', [message]).plan.names == ('f',)


def test_custom_tools_take_text() -> None:
    call = {'id': 'c1', 'type': 'custom', 'custom': {'name': 'shell', 'input': 'ls -l'}}
    assert calls_of(read('openai', [said(call), answered('total 0')])) == [('shell', 'ls -l', 0, False)]


def test_flat_calls_as_some_servers_write_them() -> None:
    message = said({'name': 'f', 'arguments': {'a': 1}}, {'name': 'g', 'args': {'b': 2}})
    assert calls_of(read('openai', [message])) == [('f', {'a': 1}, 0, None), ('g', {'b': 2}, 0, None)]


@pytest.mark.parametrize(
    ('message', 'failed'),
    [
        (answered('Error: no'), True),
        (answered('{"error": "no"}'), True),
        (answered('{"is_error": true}'), True),
        (answered('{"status": "error"}'), True),
        (answered('no', is_error=True), True),
        (answered('no', status='error'), True),
        (answered('no', error='timeout'), True),
        (answered('Error: no', is_error=False), False),
        (answered([{'type': 'text', 'text': 'Error: no'}]), True),
        (answered(''), False),
        (answered(None), False),
        (answered('No flights found'), False),
        ({'role': 'tool', 'name': 'f', 'content': 'Error: no'}, True),
        ({'role': 'tool', 'content': 'Error: no'}, True),
        (answered('Error: no', 'another'), None),
        ({'role': 'user', 'content': 'Error: no'}, None),
    ],
)
def test_failed(message: dict[str, Any], failed: bool | None) -> None:
    assert read('openai', [said(called('f', '{}')), message]).plan.steps[0].failed is failed


def test_a_simulated_users_own_tool_calls_are_not_the_agents() -> None:
    user = {'role': 'user', 'content': None, 'tool_calls': [called('toggle', '{}', 'u1')]}
    assert read('openai', [user, said(called('f', '{}'))]).plan.names == ('f',)


@pytest.mark.parametrize('key', ['messages', 'traj', 'trajectory', 'conversation'])
def test_holders(key: str) -> None:
    value = {key: [said(called('f', '{}'))], 'reward': 0.0, 'usage': {'total_tokens': 9}, 'latency': 2, 'cost': 0.5}
    found = read('openai', value)
    assert found.plan.names == ('f',)
    assert found.record == RunRecord(solved=False, tokens=9.0, latency=2.0, cost=0.5)


def test_of_two_lists_the_one_in_this_format_is_read() -> None:
    value = {'messages': ['a prompt'], 'trajectory': [said(called('f', '{}'))]}
    assert read('openai', value).plan.names == ('f',)


def test_tokens_are_summed_over_the_assistant_messages_if_each_has_them() -> None:
    usage = {'prompt_tokens': 10, 'completion_tokens': 5, 'total_tokens': 15}
    full = [said(called('f', '{}'), usage=usage), answered('ok'), said(content='done', usage=usage)]
    assert read('openai', full).record.tokens == 30.0
    assert read('openai', [*full, said(content='bye')]).record.tokens is None
    assert read('openai', {'messages': full, 'tokens': 99}).record.tokens == 99.0


def test_chat_completion() -> None:
    value = {'choices': [{'message': said(called('f', '{}'))}, {'message': said(called('g', '{}'))}],
             'usage': {'total_tokens': 4}}  # fmt: skip
    found = read('openai', value)
    assert (found.plan.names, found.record.tokens) == (('f',), 4.0)


def test_faulty_parts_do_not_void_the_rest() -> None:
    messages = [5, said('oops', called('', '{}'), called(None, '{}'), called('f', '{}')), {'role': 'assistant'}]
    found = read('openai', messages)
    assert found.plan.names == ('f',)
    assert found.dropped == (
        'message 0: no object',
        'message 1: a call that is no object',
        'message 1: a call without a name',
        'message 1: a call without a name',
    )


@pytest.mark.parametrize('tool_calls', [None, [], {}, 'none', 0])
def test_a_message_that_calls_nothing_is_an_abstention(tool_calls: Any) -> None:
    found = read('openai', {'role': 'assistant', 'content': 'No tool is needed.', 'tool_calls': tool_calls})
    assert calls_of(found) == []


def parse_cases() -> list[Any]:
    path = Path(__file__).resolve().parents[3] / 'shared' / 'data' / 'bug_cases.json'
    wanted = ('parse-021-openai-tool-calls-json', 'parse-071-legacy-function-call', 'parse-081-tool-calls-null')
    cases = json.loads(path.read_text(encoding='utf-8')) if path.exists() else []
    return [case for case in cases if case['id'] in wanted]


@pytest.mark.parametrize('case', parse_cases(), ids=lambda case: case['id'])
def test_public_bug_cases(case: dict[str, Any]) -> None:
    value = case['input']['prediction']
    found = read('openai', json.loads(value) if isinstance(value, str) else value)
    expected = [(step['name'], step['args']) for step in case['right']['parse']['steps']]
    assert [(step.name, step.args) for step in found.plan.steps] == expected


# --- Responses API ---


def item(name: Any, arguments: Any, call_id: Any = 'c1', **more: Any) -> dict[str, Any]:
    return {'type': 'function_call', 'call_id': call_id, 'name': name, 'arguments': arguments, **more}


def output(text: Any, call_id: Any = 'c1', **more: Any) -> dict[str, Any]:
    return {'type': 'function_call_output', 'call_id': call_id, 'output': text, **more}


REASONING = {'type': 'reasoning', 'id': 'r', 'summary': [{'type': 'summary_text', 'text': 'call g'}]}
MESSAGE = {'type': 'message', 'role': 'assistant', 'content': [{'type': 'output_text', 'text': 'hi'}]}


def test_an_output_or_a_user_ends_the_turn() -> None:
    items = [
        {'role': 'user', 'content': 'go'},
        REASONING,
        item('a', '{"x": 1}', 'c1'),
        REASONING,
        item('b', '{}', 'c2'),
        output('Error: no', 'c1'),
        output([{'type': 'input_text', 'text': 'ok'}], 'c2'),
        MESSAGE,
        item('c', '{}', 'c3'),
        {'role': 'user', 'content': 'and?'},
        item('d', 'not JSON', 'c4'),
    ]
    assert calls_of(read('responses', items)) == [
        ('a', {'x': 1}, 0, True),
        ('b', {}, 0, False),
        ('c', {}, 1, None),
        ('d', 'not JSON', 2, None),
    ]


def test_input_and_output_are_one_run() -> None:
    value = {'input': [item('a', '{}'), output('ok')], 'output': [item('b', '{}', 'c2')],
             'usage': {'input_tokens': 5, 'output_tokens': 2, 'total_tokens': 7}, 'success': True}  # fmt: skip
    found = read('responses', value)
    assert calls_of(found) == [('a', {}, 0, False), ('b', {}, 1, None)]
    assert found.record == RunRecord(solved=True, tokens=7.0)


def test_a_textual_input_is_no_item() -> None:
    assert read('responses', {'input': 'go', 'output': [item('a', '{}')]}).plan.names == ('a',)


def test_hosted_custom_and_mcp_tools() -> None:
    items = [
        {'type': 'web_search_call', 'id': 'w', 'status': 'completed', 'action': {'type': 'search', 'query': 'x'}},
        {'type': 'code_interpreter_call', 'id': 'i', 'status': 'failed', 'code': '1/0'},
        {'type': 'file_search_call', 'id': 'f', 'status': 'searching', 'queries': ['q']},
        {'type': 'mcp_call', 'name': 'lookup', 'server_label': 's', 'arguments': '{"a": 1}', 'error': None},
        {'type': 'mcp_call', 'name': 'lookup', 'server_label': 's', 'arguments': '{"a": 2}', 'error': 'no'},
        {'type': 'custom_tool_call', 'call_id': 'k', 'name': 'shell', 'input': 'ls'},
        {'type': 'custom_tool_call_output', 'call_id': 'k', 'output': 'Error: denied'},
    ]
    assert calls_of(read('responses', items)) == [
        ('web_search', {'action': {'type': 'search', 'query': 'x'}}, 0, False),
        ('code_interpreter', {'code': '1/0'}, 0, True),
        ('file_search', {'queries': ['q']}, 0, None),
        ('lookup', {'a': 1}, 0, False),
        ('lookup', {'a': 2}, 0, True),
        ('shell', 'ls', 0, True),
    ]


def test_an_answer_without_calls_is_an_abstention() -> None:
    assert calls_of(read('responses', {'output': [REASONING, MESSAGE]})) == []


def test_faulty_items_do_not_void_the_rest() -> None:
    found = read('responses', [None, item(None, '{}'), item('a', '{}')])
    assert found.plan.names == ('a',)
    assert found.dropped == ('item 0: no object', 'item 1: a call without a name')


@pytest.mark.parametrize('value', [{'output': 'text'}, {'output': [1]}, [{'role': 'user', 'content': 'hi'}]])
def test_no_items(value: Any) -> None:
    assert not openai_responses.recognises(value)
    assert isinstance(openai_responses.parse(value), ParseFailure)


# --- Real runs ---


@pytest.fixture(scope='module')
def tau_runs() -> list[dict[str, Any]]:
    text = shared_data('tau_bench/gpt_4o_airline.jsonl').read_text(encoding='utf-8')
    return [json.loads(line) for line in text.splitlines()]


def test_tau_bench_is_read_whole(tau_runs: list[dict[str, Any]]) -> None:
    assert len(tau_runs) == 100
    assert all(openai_chat.recognises(run) and openai_chat.recognises(run['messages']) for run in tau_runs)
    found = [read('openai', run) for run in tau_runs]
    assert sum(len(each.plan) for each in found) == 577
    assert all(each.dropped == () for each in found)
    assert [each.record.solved for each in found] == [run['reward'] == 1 for run in tau_runs]
    assert sum(each.record.solved is True for each in found) == 49
    assert all(isinstance(step.args, dict) for each in found for step in each.plan.steps)
    # Nothing was recorded of tokens, time or money.
    assert {each.record.tokens for each in found} == {each.record.latency for each in found} == {None}


def test_tau_bench_against_a_plain_reading(tau_runs: list[dict[str, Any]]) -> None:
    """The runs have one call a message and its result in the next one, so that no pairing is needed."""
    failures: Counter[bool] = Counter()
    for run in tau_runs:
        expected = []
        for message, following in zip(run['messages'], [*run['messages'][1:], {}], strict=True):
            for call in message.get('tool_calls') or ():
                function = call['function']
                failed = following['content'].startswith('Error')
                expected.append((function['name'], json.loads(function['arguments']), len(expected), failed))
                failures[failed] += 1
        assert calls_of(read('openai', run)) == expected
    assert failures == {True: 21, False: 556}
