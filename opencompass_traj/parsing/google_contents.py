"""Google's Gemini contents with `functionCall` parts, and the events of its Agent Development Kit (ADK).

Checked against: Google, "Gemini API reference: Content, FunctionCall, FunctionResponse" and "ADK docs: Events".
"""

from __future__ import annotations

from typing import Any, Final

from opencompass_traj.parsing._figures import amount, message_tokens, run_record, total
from opencompass_traj.parsing._messages import HOLDERS, Recording, chosen, message_lists, says_error
from opencompass_traj.plan import ParseFailure, Trajectory

NAME: Final = 'google'

_KEYS: Final = ('contents', 'events', 'history', *HOLDERS)
_CALL: Final = ('functionCall', 'function_call')
_RESPONSE: Final = ('functionResponse', 'function_response')


def recognises(value: object) -> bool:
    """Whether a value holds Gemini contents or ADK events.

    Args:
        value: A list of them, one content, a response (`candidates`), or an object with the list under `contents`,
            `events`, `history`, `messages`, `traj`, `trajectory` or `conversation`.

    Returns:
        True if each entry has `parts`, in itself or under `content`, or is an ADK event without content, and one has
        parts. Parts of other formats carry a `type` or a `kind`; these have none.

    Complexity: linear in the number of parts.

    Example:
        >>> recognises({'contents': [{'role': 'user', 'parts': [{'text': 'hi'}]}]})
        True
        >>> recognises([{'role': 'user', 'content': 'hi'}])
        False
    """
    return chosen(_lists(value), _are_entries)[1]


def parse(value: object) -> Trajectory | ParseFailure:
    """Read a run recorded as Gemini contents or ADK events.

    Args:
        value: As for `recognises`. Of several `candidates` the first is read.

    Returns:
        The trajectory, or a failure for a value without such entries. The calls of one entry are one turn; entries
        marked `partial` are pieces of a later one and are skipped. Responses are paired by `id`, without one by name.
        `failed` is None without a response, else what its `response` says (`says_error`). Tokens are those of the
        object, else the sum over the model's events if each has its usage metadata; latency is from the first to the
        last `timestamp` of ADK events if each has one.

    Complexity: linear in the text.

    Example:
        >>> run = parse(
        ...     [
        ...         {'role': 'model', 'parts': [{'functionCall': {'name': 'f', 'args': {'a': 1}}}]},
        ...         {'role': 'user', 'parts': [{'functionResponse': {'name': 'f', 'response': {'error': 'no'}}}]},
        ...     ]
        ... )
        >>> run.plan.steps[0].args, run.plan.steps[0].failed
        ({'a': 1}, True)
    """
    entries, recognised = chosen(_lists(value), _are_entries)
    recording = Recording()
    whole: list[dict[str, Any]] = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            recording.drop(f'entry {index}: no object')
        elif entry.get('partial') is not True:
            whole.append(entry)
            recording.next_turn()
            for part in _parts(entry) or ():
                _read_part(part, f'entry {index}', recording)
    tokens = total(message_tokens(entry) for entry in whole if _is_model(entry))
    record = run_record(value, tokens=tokens, latency=_latency(whole))
    return recording.outcome(NAME, record=record, recognised=recognised)


def _lists(value: object) -> list[list[Any]]:
    if isinstance(value, dict) and _parts(value) is not None:
        return [[value]]
    lists = message_lists(value, _KEYS)
    if isinstance(value, dict) and isinstance(value.get('candidates'), list):
        lists.append(value['candidates'][:1])
    return lists


def _are_entries(entries: list[Any]) -> bool:
    known = [_parts(entry) for entry in entries if _is_entry(entry)]
    return len(known) == len(entries) and any(parts is not None for parts in known)


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    parts = _parts(entry)
    if parts is None:
        # An event that only changes the state, or reports an error.
        return 'author' in entry and entry.get('content') is None
    return all(isinstance(part, dict) and not isinstance(part.get('type', part.get('kind')), str) for part in parts)


def _content(entry: dict[str, Any]) -> dict[str, Any]:
    content = entry.get('content')
    return content if isinstance(content, dict) else entry


def _parts(entry: dict[str, Any]) -> list[Any] | None:
    parts = _content(entry).get('parts')
    return parts if isinstance(parts, list) else None


def _is_model(entry: dict[str, Any]) -> bool:
    return _content(entry).get('role') == 'model'


def _read_part(part: object, place: str, recording: Recording) -> None:
    if not isinstance(part, dict):
        recording.drop(f'{place}: a part that is no object')
        return
    call, response = _under(part, _CALL), _under(part, _RESPONSE)
    if isinstance(call, dict):
        recording.call(call.get('name'), call.get('args'), call_id=call.get('id'), place=place)
    elif call is not None:
        recording.drop(f'{place}: a call that is no object')
    if isinstance(response, dict):
        failed = says_error(response.get('response'))
        recording.result(call_id=response.get('id'), name=response.get('name'), failed=failed)


def _under(part: dict[str, Any], keys: tuple[str, ...]) -> object:
    return next((part[key] for key in keys if part.get(key) is not None), None)


def _latency(entries: list[dict[str, Any]]) -> float | None:
    times = [amount(entry.get('timestamp')) for entry in entries]
    known = [time for time in times if time is not None]
    return max(known) - min(known) if known and len(known) == len(times) else None
