"""Anthropic messages: `tool_use` blocks and their `tool_result`; also the session files of Claude Code.

Checked against: Anthropic, "API reference: Messages" and the guide "Tool use".
"""

from __future__ import annotations

from typing import Any, Final

from opencompass_traj.parsing._figures import message_tokens, run_record, total
from opencompass_traj.parsing._messages import Recording, chosen, message_lists, result_failed
from opencompass_traj.plan import ParseFailure, Trajectory

NAME: Final = 'anthropic'

_CALLS: Final = frozenset({'tool_use', 'server_tool_use', 'mcp_tool_use'})


def recognises(value: object) -> bool:
    """Whether a value is a conversation of Anthropic messages.

    Args:
        value: A list of messages or of a session file's lines, one message, or an object with the list under
            `messages`, `traj`, `trajectory` or `conversation`.

    Returns:
        True if every message is a user's, an assistant's or the system's, and one has a `tool_use` or `tool_result`
        block, came whole from the API (`type: message` and `stop_reason`), or is a line of a session file. A bare
        conversation without tools is taken for OpenAI's: the two cannot be told apart, and both plans are empty.

    Complexity: linear in the number of messages and content blocks.

    Example:
        >>> recognises([{'role': 'assistant', 'content': [{'type': 'tool_use', 'id': 't', 'name': 'f', 'input': {}}]}])
        True
        >>> recognises([{'role': 'assistant', 'content': 'hi'}])
        False
    """
    return chosen(_lists(value), _is_conversation)[1]


def parse(value: object) -> Trajectory | ParseFailure:
    """Read a run recorded as Anthropic messages.

    Args:
        value: As for `recognises`.

    Returns:
        The trajectory, or a failure for a value without such messages. The `tool_use` blocks of one assistant message
        are one turn; so are those of several lines with the same message id, and a result within the message (of a
        tool that the server runs) ends the turn. `failed` is None without a result, else `is_error`, and where that is
        not stated, what the content says (`says_error`). Tokens are those of the object, else the sum over the
        assistant messages if each has its `usage`, cached input included.

    Complexity: linear in the text.

    Example:
        >>> run = parse(
        ...     [
        ...         {'role': 'assistant', 'content': [{'type': 'tool_use', 'id': 't', 'name': 'f', 'input': {'a': 1}}]},
        ...         {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 't', 'is_error': True}]},
        ...     ]
        ... )
        >>> run.plan.steps[0].args, run.plan.steps[0].failed
        ({'a': 1}, True)
    """
    lines, recognised = chosen(_lists(value), _is_conversation)
    recording = Recording()
    usages: dict[tuple[str, object], float | None] = {}
    last_id: object = None
    for index, line in enumerate(lines):
        message = _unwrapped(line)
        if message is None:
            _drop_unless_session_line(line, f'message {index}', recording)
            continue
        assistant = message.get('role') == 'assistant'
        if assistant:
            identifier = message.get('id') if isinstance(message.get('id'), str) else None
            if identifier is None or identifier != last_id:
                recording.next_turn()
            last_id = identifier
            usages[('at', index) if identifier is None else ('id', identifier)] = message_tokens(message)
        _read_blocks(message.get('content'), f'message {index}', recording, assistant=assistant)
    record = run_record(value, tokens=total(usages.values()))
    return recording.outcome(NAME, record=record, recognised=recognised)


def _lists(value: object) -> list[list[Any]]:
    if isinstance(value, dict) and _unwrapped(value) is not None:
        return [[value]]
    return message_lists(value)


def _unwrapped(line: object) -> dict[str, Any] | None:
    """The message that a line is or holds."""
    if not isinstance(line, dict):
        return None
    inner = line.get('message') if _is_session_line(line) else line
    return inner if isinstance(inner, dict) and isinstance(inner.get('role'), str) else None


def _is_session_line(line: dict[str, Any]) -> bool:
    return line.get('type') in ('user', 'assistant') and isinstance(line.get('message'), dict)


def _drop_unless_session_line(line: object, place: str, recording: Recording) -> None:
    # A session file has lines of other types between its messages: summaries, snapshots.
    if not isinstance(line, dict) or not isinstance(line.get('type'), str):
        recording.drop(f'{place}: no message')


def _is_conversation(lines: list[Any]) -> bool:
    if not all(isinstance(line, dict) for line in lines):
        return False
    session = any(_is_session_line(line) for line in lines)
    messages = [_unwrapped(line) for line in lines]
    whole = session or None not in messages
    known = [message for message in messages if message is not None]
    return whole and all(_is_message(message) for message in known) and (session or any(map(_is_marked, known)))


def _is_message(message: dict[str, Any]) -> bool:
    of_role = message['role'] in ('user', 'assistant', 'system')
    return of_role and 'tool_calls' not in message and isinstance(message.get('content'), str | list)


def _is_marked(message: dict[str, Any]) -> bool:
    if message.get('type') == 'message' and 'stop_reason' in message:
        return True
    content = message['content']
    return isinstance(content, list) and any(
        kind in _CALLS or kind.endswith('tool_result') for block in content if (kind := _kind(block))
    )


def _kind(block: object) -> str:
    kind = block.get('type') if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ''


def _read_blocks(content: object, place: str, recording: Recording, *, assistant: bool) -> None:
    for block in content if isinstance(content, list) else ():
        kind = _kind(block)
        if kind in _CALLS and assistant:
            recording.call(block.get('name'), block.get('input'), call_id=block.get('id'), place=place)
        elif kind.endswith('tool_result'):
            recording.result(call_id=block.get('tool_use_id'), failed=_failed(block))
            if assistant:
                recording.next_turn()


def _failed(block: dict[str, Any]) -> bool:
    # The server's own tools report an error as content of a type of its own.
    content = block.get('content')
    return _kind(content).endswith('_error') or result_failed(block, content)
