"""OpenAI chat messages: `tool_calls`, the older `function_call`, and `role: tool` results.

Checked against: OpenAI, "API reference: Chat Completions" and the guide "Function calling".
"""

from __future__ import annotations

from typing import Any, Final

from opencompass_traj.parsing._figures import message_tokens, run_record, total
from opencompass_traj.parsing._messages import Recording, chosen, message_lists, result_failed
from opencompass_traj.plan import ParseFailure, Trajectory

NAME: Final = 'openai'

_ROLES: Final = frozenset({'system', 'developer', 'user', 'assistant', 'tool', 'function'})
_OTHER_BLOCKS: Final = frozenset({'tool_use', 'tool_result', 'server_tool_use', 'input_text', 'output_text'})


def recognises(value: object) -> bool:
    """Whether a value is a conversation of OpenAI chat messages.

    Args:
        value: A list of messages, one message, a list of tool calls (`type: function`), a chat completion
            (`choices`), or an object with the list under `messages`, `traj`, `trajectory` or `conversation`.

    Returns:
        True if every message has a role of this format and none has the marks of another one. A conversation without
        any tool call is of this format.

    Complexity: linear in the number of messages and content blocks.

    Example:
        >>> recognises([{'role': 'user', 'content': 'hi'}]), recognises([{'type': 'human', 'content': 'hi'}])
        (True, False)
    """
    return chosen(_lists(value), _is_chat)[1]


def parse(value: object) -> Trajectory | ParseFailure:
    """Read a run recorded as OpenAI chat messages.

    Args:
        value: As for `recognises`. Of several `choices` the first is read.

    Returns:
        The trajectory, or a failure for a value without a message of this format. The calls of one assistant message
        are one turn. `args` is the value of the JSON text, or the text if it is no JSON. `failed` is None without a
        result, else what `is_error` says, or else True for a `status` of `error`, a non-empty `error`, and content
        that says error: text that begins with `Error`, JSON with a non-empty `error` or `is_error` or with `status:
        error` (exactly: `says_error`). Results are paired by `tool_call_id`, without one by name. Tokens are those
        of the object, else the sum over the assistant messages if each has its `usage`.

    Complexity: linear in the text.

    Example:
        >>> call = {'id': 'c1', 'type': 'function', 'function': {'name': 'search', 'arguments': '{"q": "x"}'}}
        >>> run = parse({'messages': [{'role': 'assistant', 'tool_calls': [call]}], 'reward': 1.0})
        >>> run.plan.steps[0].args, run.record.solved
        ({'q': 'x'}, True)
    """
    messages, recognised = chosen(_lists(value), _is_chat)
    recording = Recording()
    for index, message in enumerate(messages):
        _read(message, f'message {index}', recording)
    spoken = [message for message in messages if isinstance(message, dict) and _is_assistant(message)]
    record = run_record(value, tokens=total(message_tokens(message) for message in spoken))
    return recording.outcome(NAME, record=record, recognised=recognised)


def read_tool_call(call: object, place: str, recording: Recording) -> None:
    """Read one entry of `tool_calls`, the name and arguments within `function` or `custom` or beside each other."""
    if not isinstance(call, dict):
        recording.drop(f'{place}: a call that is no object')
        return
    inner = next((call[key] for key in ('function', 'custom') if isinstance(call.get(key), dict)), call)
    args = next((inner[key] for key in ('arguments', 'args', 'input') if inner.get(key) is not None), None)
    recording.call(inner.get('name'), args, call_id=call.get('id'), place=place)


def _lists(value: object) -> list[list[Any]]:
    if isinstance(value, list) and value and all(_is_bare_call(item) for item in value):
        return [[{'role': 'assistant', 'tool_calls': value}]]
    if isinstance(value, dict) and _is_message(value):
        return [[value]]
    lists = message_lists(value)
    if isinstance(value, dict) and isinstance(value.get('choices'), list):
        lists.append([choice.get('message') for choice in value['choices'][:1] if isinstance(choice, dict)])
    return lists


def _is_bare_call(item: object) -> bool:
    return isinstance(item, dict) and item.get('type') == 'function' and isinstance(item.get('function'), dict)


def _is_chat(messages: list[Any]) -> bool:
    return bool(messages) and all(_is_message(message) for message in messages)


def _is_message(message: object) -> bool:
    if not isinstance(message, dict) or message.get('type') is not None or message.get('parts') is not None:
        return False
    role = message.get('role')
    if role is None:
        return _has_calls(message)
    return isinstance(role, str) and role in _ROLES and _is_content(message.get('content'))


def _has_calls(message: dict[str, Any]) -> bool:
    return isinstance(message.get('tool_calls'), list) or isinstance(message.get('function_call'), dict)


def _is_content(content: object) -> bool:
    if isinstance(content, list):
        return all(_is_block(block) for block in content)
    return content is None or isinstance(content, str)


def _is_block(block: object) -> bool:
    kind = block.get('type') if isinstance(block, dict) else block
    return isinstance(kind, str) and kind not in _OTHER_BLOCKS


def _is_assistant(message: dict[str, Any]) -> bool:
    return message.get('role') == 'assistant' or ('role' not in message and _has_calls(message))


def _read(message: object, place: str, recording: Recording) -> None:
    if not isinstance(message, dict):
        recording.drop(f'{place}: no object')
    elif _is_assistant(message):
        recording.next_turn()
        _read_calls(message, place, recording)
    elif message.get('role') in ('tool', 'function'):
        recording.result(
            call_id=message.get('tool_call_id'),
            name=message.get('name') or message.get('tool_name'),
            failed=result_failed(message, message.get('content')),
        )


def _read_calls(message: dict[str, Any], place: str, recording: Recording) -> None:
    calls = message.get('tool_calls')
    if not isinstance(calls, list) or not calls:
        calls = [] if message.get('function_call') is None else [message['function_call']]
    for call in calls:
        read_tool_call(call, place, recording)
