"""LangChain and LangGraph messages, as dicts or as their serialised constructors.

Checked against: LangChain, "Reference: langchain_core.messages" (`AIMessage`, `ToolMessage`, `InvalidToolCall`).
"""

from __future__ import annotations

from typing import Any, Final

from opencompass_traj.parsing._figures import message_tokens, run_record, total, usage_tokens
from opencompass_traj.parsing._messages import HOLDERS, Recording, chosen, message_lists, result_failed
from opencompass_traj.parsing.openai_chat import read_tool_call
from opencompass_traj.plan import ParseFailure, Trajectory

NAME: Final = 'langchain'

_KINDS: Final = {
    'ai': 'ai',
    'AIMessage': 'ai',
    'AIMessageChunk': 'ai',
    'tool': 'tool',
    'ToolMessage': 'tool',
    'ToolMessageChunk': 'tool',
    'function': 'tool',
    'FunctionMessage': 'tool',
    'human': 'human',
    'HumanMessage': 'human',
    'HumanMessageChunk': 'human',
    'system': 'system',
    'SystemMessage': 'system',
    'SystemMessageChunk': 'system',
    'chat': 'chat',
    'ChatMessage': 'chat',
}


def recognises(value: object) -> bool:
    """Whether a value is a list of LangChain messages or a LangGraph state that holds one.

    Args:
        value: A list of messages, or an object with the list under `messages`, `traj`, `trajectory` or
            `conversation`, itself or under `values` (a LangGraph snapshot).

    Returns:
        True if every message has a `type` of this format (`human`, `ai`, `tool`, ...) and a `content`, in itself, under
        `data`, or under `kwargs` of a serialised constructor.

    Complexity: linear in the number of messages.

    Example:
        >>> recognises([{'type': 'human', 'content': 'hi'}]), recognises([{'role': 'user', 'content': 'hi'}])
        (True, False)
    """
    return chosen(_lists(value), _are_messages)[1]


def parse(value: object) -> Trajectory | ParseFailure:
    """Read a run recorded as LangChain messages.

    Args:
        value: As for `recognises`.

    Returns:
        The trajectory, or a failure for a value without such messages. The calls of one AI message are one turn: its
        `tool_calls` and then its `invalid_tool_calls` (their arguments stay text), or where it has neither,
        `additional_kwargs.tool_calls` or `function_call`. `failed` is None without a result, True for `status:
        error`, else what the content says (`says_error`): the status `success` is a default and proves nothing.
        Tokens are those of the object, else the sum over the AI messages if each has its usage.

    Complexity: linear in the text.

    Example:
        >>> run = parse(
        ...     {
        ...         'messages': [
        ...             {'type': 'ai', 'content': '', 'tool_calls': [{'name': 'f', 'args': {'a': 1}, 'id': 'c1'}]},
        ...             {'type': 'tool', 'content': 'no', 'tool_call_id': 'c1', 'status': 'error'},
        ...         ]
        ...     }
        ... )
        >>> run.plan.steps[0].args, run.plan.steps[0].failed
        ({'a': 1}, True)
    """
    messages, recognised = chosen(_lists(value), _are_messages)
    recording = Recording()
    tokens: list[float | None] = []
    for index, message in enumerate(messages):
        kind, body = _unwrapped(message)
        if kind == 'ai':
            tokens.append(_tokens(body))
            recording.next_turn()
            _read_calls(body, f'message {index}', recording)
        elif kind == 'tool':
            failed = result_failed(body, body.get('content'))
            recording.result(call_id=body.get('tool_call_id'), name=body.get('name'), failed=failed)
        elif not kind:
            recording.drop(f'message {index}: no LangChain message')
    return recording.outcome(NAME, record=run_record(value, tokens=total(tokens)), recognised=recognised)


def _lists(value: object) -> list[list[Any]]:
    lists = message_lists(value)
    inner = value.get('values') if isinstance(value, dict) else None
    return lists + (message_lists(inner, HOLDERS) if isinstance(inner, dict) else [])


def _are_messages(messages: list[Any]) -> bool:
    return bool(messages) and all(_is_message(message) for message in messages)


def _is_message(message: object) -> bool:
    kind, body = _unwrapped(message)
    return kind != '' and 'content' in body and (kind == 'chat' or body.get('role') is None)


def _unwrapped(message: object) -> tuple[str, dict[str, Any]]:
    """The kind of a message and what it says; an empty kind for what is no message."""
    if not isinstance(message, dict):
        return '', {}
    name, body = message.get('type'), message
    if name == 'constructor':
        path = message.get('id')
        name = path[-1] if isinstance(path, list) and path else None
        body = message.get('kwargs', {})
    elif isinstance(message.get('data'), dict):
        body = message['data']
    kind = _KINDS.get(name, '') if isinstance(name, str) else ''
    return (kind, body) if isinstance(body, dict) else ('', {})


def _tokens(body: dict[str, Any]) -> float | None:
    stated = message_tokens(body)
    metadata = body.get('response_metadata')
    if stated is not None or not isinstance(metadata, dict):
        return stated
    older = usage_tokens(metadata.get('token_usage'))
    return message_tokens(metadata) if older is None else older


def _read_calls(body: dict[str, Any], place: str, recording: Recording) -> None:
    calls = [*_items(body.get('tool_calls')), *_items(body.get('invalid_tool_calls'))]
    extra = body.get('additional_kwargs')
    if not calls and isinstance(extra, dict):
        single = extra.get('function_call')
        calls = _items(extra.get('tool_calls')) or ([] if single is None else [single])
    for call in calls:
        read_tool_call(call, place, recording)


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
