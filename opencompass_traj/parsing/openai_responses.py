"""Items of the OpenAI Responses API: `function_call` and its `function_call_output`.

Checked against: OpenAI, "API reference: Responses" and the guide "Function calling".
"""

from __future__ import annotations

from typing import Any, Final

from opencompass_traj.parsing._figures import run_record
from opencompass_traj.parsing._messages import Recording, chosen, message_lists, result_failed
from opencompass_traj.plan import ParseFailure, Trajectory

NAME: Final = 'responses'

_TEXT_BLOCKS: Final = frozenset({'input_text', 'output_text'})
_PLAIN_CALLS: Final = frozenset({'function_call', 'custom_tool_call', 'mcp_call'})
_HOSTED_ARGS: Final = ('action', 'queries', 'code', 'arguments', 'operation')


def recognises(value: object) -> bool:
    """Whether a value holds items of the Responses API.

    Args:
        value: A list of items, or an object with them under `output` or `input`.

    Returns:
        True if each item is an object with a `type` or a `role`, and one is a call, an output, a reasoning item, or a
        message of `input_text` or `output_text`.

    Complexity: linear in the number of items and content blocks.

    Example:
        >>> recognises({'output': [{'type': 'function_call', 'call_id': 'c1', 'name': 'f', 'arguments': '{}'}]})
        True
        >>> recognises([{'role': 'user', 'content': 'hi'}])
        False
    """
    return chosen(_lists(value), _are_items)[1]


def parse(value: object) -> Trajectory | ParseFailure:
    """Read a run recorded as items of the Responses API.

    Args:
        value: As for `recognises`. Where an object has both `input` and `output`, the output follows the input.

    Returns:
        The trajectory, or a failure for a value without such items. Calls with neither an output nor a user's message
        between them are one turn; reasoning is skipped. A hosted tool (`web_search_call`) is a step named after it
        (`web_search`). `failed` is None without an output, else as `says_error` has it; a hosted tool's own `status`
        and an MCP call's `error` count. Tokens are those of the object's `usage`.

    Complexity: linear in the text.

    Example:
        >>> items = [
        ...     {'type': 'function_call', 'call_id': 'c1', 'name': 'f', 'arguments': '{"a": 1}'},
        ...     {'type': 'function_call_output', 'call_id': 'c1', 'output': 'Error: no'},
        ... ]
        >>> step = parse(items).plan.steps[0]
        >>> step.args, step.failed
        ({'a': 1}, True)
    """
    items, recognised = chosen(_lists(value), _are_items)
    recording = Recording()
    for index, item in enumerate(items):
        _read(item, f'item {index}', recording)
    return recording.outcome(NAME, record=run_record(value), recognised=recognised)


def _lists(value: object) -> list[list[Any]]:
    lists = message_lists(value, ('input', 'output', 'items', 'messages'))
    both = isinstance(value, dict) and isinstance(value.get('input'), list) and isinstance(value.get('output'), list)
    return [lists[0] + lists[1], *lists] if both else lists


def _are_items(items: list[Any]) -> bool:
    return all(_is_item(item) for item in items) and any(_is_marked(item) for item in items)


def _is_item(item: object) -> bool:
    return isinstance(item, dict) and (isinstance(item.get('type'), str) or isinstance(item.get('role'), str))


def _is_marked(item: dict[str, Any]) -> bool:
    kind = item.get('type')
    if kind in ('message', None):
        content = item.get('content')
        return isinstance(content, list) and any(
            isinstance(block, dict) and block.get('type') in _TEXT_BLOCKS
            for block in content
            if isinstance(block, dict) and isinstance(block.get('type'), str)
        )
    return isinstance(kind, str) and (kind == 'reasoning' or _is_call(kind) or _is_output(kind))


def _is_call(kind: str) -> bool:
    return kind.endswith('_call')


def _is_output(kind: str) -> bool:
    return kind.endswith('_call_output')


def _read(item: object, place: str, recording: Recording) -> None:
    if not isinstance(item, dict):
        recording.drop(f'{place}: no object')
        return
    kind = item.get('type')
    if item.get('role') == 'user':
        recording.next_turn()
    elif isinstance(kind, str) and _is_call(kind):
        _read_call(item, kind, place, recording)
    elif isinstance(kind, str) and _is_output(kind):
        recording.next_turn()
        recording.result(call_id=item.get('call_id'), failed=result_failed(item, item.get('output')))


def _read_call(item: dict[str, Any], kind: str, place: str, recording: Recording) -> None:
    call_id = item.get('call_id')
    if kind in _PLAIN_CALLS:
        args = item.get('input') if kind == 'custom_tool_call' else item.get('arguments')
        failed = bool(item.get('error')) if kind == 'mcp_call' else None
        recording.call(item.get('name'), args, call_id=call_id, failed=failed, place=place)
        return
    status = item.get('status')
    failed = status == 'failed' if status in ('failed', 'completed') else None
    args = {key: item[key] for key in _HOSTED_ARGS if item.get(key) is not None}
    recording.call(kind.removesuffix('_call'), args, call_id=call_id, failed=failed, place=place)
