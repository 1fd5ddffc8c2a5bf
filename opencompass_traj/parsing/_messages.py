"""What the readers of recorded conversations share: lists of messages, calls and their results, errors."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opencompass_traj.parsing.literal import MAX_DEPTH
from opencompass_traj.parsing.values import MAX_STEPS, decoded_args, nests_deeper, read_json
from opencompass_traj.plan import ParseFailure, Plan, RunRecord, Step, Trajectory

HOLDERS: Final = ('messages', 'traj', 'trajectory', 'conversation')
"""Keys under which an object holds the run's messages."""

_ERROR_TEXT: Final = re.compile(r'\s*(?:Error(?![\w-])|ERROR(?![\w-])|error:|Traceback \(most recent call last\))')
_OBJECT_TEXT: Final = re.compile(r'\s*\{')

_NOTHING_RECORDED: Final = RunRecord()


@dataclass(slots=True)
class _Call:
    name: str
    args: Any
    turn: int | None
    failed: bool | None


class Recording:
    """Collects the calls of a run in order and pairs them with their results.

    Call ids are not trusted to be unique: recordings reuse them from turn to turn. A result belongs to the oldest call
    with its id and no result yet, in the latest turn that used the id.

    Example:
        >>> recording = Recording()
        >>> recording.next_turn()
        >>> recording.call('search', '{"q": 1}', call_id='c1', place='message 0')
        >>> recording.result(call_id='c1', failed=False)
        >>> recording.outcome('demo').plan.steps[0].args
        {'q': 1}
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._dropped: list[str] = []
        self._too_many = False
        self._waiting: dict[tuple[str, object], deque[_Call]] = {}
        self._turn = -1
        self._in_turn = False

    def next_turn(self) -> None:
        """End the turn: the next call opens another one."""
        self._in_turn = False

    def drop(self, text: str) -> None:
        """Note something that could not be read as a step."""
        if len(self._dropped) < MAX_STEPS:
            self._dropped.append(text)

    def call(
        self,
        name: object,
        args: object,
        *,
        place: str,
        call_id: object = None,
        failed: bool | None = None,
        timed: bool = True,
    ) -> None:
        """Add a call, or note why it cannot be one.

        Args:
            name: The tool's name as recorded.
            args: The arguments as recorded: JSON text or a value (see `decoded_args`).
            place: Where the call stands, for the note.
            call_id: What its result names; anything but a text or an integer counts as none.
            failed: Whether it failed, if the call itself says so.
            timed: Whether it is known which calls are of one turn.
        """
        read = decoded_args(args)
        if not isinstance(name, str) or not name.strip():
            self.drop(f'{place}: a call without a name')
        elif nests_deeper(read):
            self.drop(f'{place}: arguments nested more than {MAX_DEPTH} deep')
        elif len(self._calls) >= MAX_STEPS:
            self._too_many = True
        else:
            if not self._in_turn:
                self._turn += 1
                self._in_turn = True
            call = _Call(name, read, self._turn if timed else None, failed)
            self._calls.append(call)
            self._await_result(call, call_id)

    def _await_result(self, call: _Call, call_id: object) -> None:
        keys: list[tuple[str, object]] = [('name', call.name), ('any', None)]
        if is_id(call_id):
            keys.append(('id', call_id))
        for key in keys:
            queue = self._waiting.setdefault(key, deque())
            if queue and queue[0].turn != call.turn:
                queue.clear()
            queue.append(call)

    def result(self, *, failed: bool, call_id: object = None, name: object = None) -> None:
        """Say how a call ended.

        Args:
            failed: Whether the result is an error.
            call_id: The call's id. Where it is missing or no call has it, the name decides.
            name: The tool's name. Where both are missing, the oldest open call of the latest turn is meant.
        """
        key: tuple[str, object] = ('any', None)
        if is_id(call_id) and (('id', call_id) in self._waiting or not isinstance(name, str)):
            key = ('id', call_id)
        elif isinstance(name, str):
            key = ('name', name)
        queue = self._waiting.get(key, deque())
        while queue:
            call = queue.popleft()
            if call.failed is None:
                call.failed = failed
                break

    def outcome(
        self, format_name: str, *, record: RunRecord = _NOTHING_RECORDED, recognised: bool = True
    ) -> Trajectory | ParseFailure:
        """Give what was collected.

        Args:
            format_name: The format's name.
            record: What is known of the run.
            recognised: Whether the recording is of the format as a whole.

        Returns:
            A trajectory with ids from 0. A recording of the format in which no tool was called is an empty plan. A
            failure: nothing was read, and either something was dropped or the recording is not of the format.
        """
        if self._too_many:
            return ParseFailure(f'more than {MAX_STEPS} calls')
        if not self._calls and self._dropped:
            return ParseFailure(f'no call could be read; {self._dropped[0]}')
        if not self._calls and not recognised:
            return ParseFailure(f'not a recording of the format {format_name!r}')
        steps = tuple(
            Step(id=i, name=call.name, args=call.args, turn=call.turn, failed=call.failed)
            for i, call in enumerate(self._calls)
        )
        return Trajectory(Plan(steps), format_name, dropped=tuple(self._dropped), record=record)


def is_id(value: object) -> bool:
    """Whether a value can pair a call with its result: a text that is not empty, or an integer."""
    return isinstance(value, int) or (isinstance(value, str) and value != '')


def says_error(content: object) -> bool:
    """Whether a tool's result says that the call failed.

    Args:
        content: The result: a text, an object, or a list of content blocks, of which the first text counts.

    Returns:
        True for a text that begins with the word `Error` or `ERROR`, with `error:` or with the head of a Python
        traceback; and for an object, or the JSON text of one, in which `error`, `is_error` or `isError` is neither
        null, false, 0 nor empty, or `status` is `error` in any case. False for everything else: a refusal in other
        words counts as a result.

    Example:
        >>> says_error('Error: no such user'), says_error('{"error": null}'), says_error({'status': 'error'})
        (True, False, True)
    """
    if isinstance(content, list):
        texts = (block.get('text') for block in content if isinstance(block, dict))
        content = next((text for text in texts if isinstance(text, str)), None)
    if isinstance(content, str):
        if _ERROR_TEXT.match(content):
            return True
        content = read_json(content) if _OBJECT_TEXT.match(content) else None
    if not isinstance(content, dict):
        return False
    status = content.get('status')
    flagged = any(content.get(key) for key in ('error', 'is_error', 'isError'))
    return flagged or (isinstance(status, str) and status.lower() == 'error')


def result_failed(message: dict[str, Any], content: object) -> bool:
    """Whether a result message says so: `is_error` if it is a boolean, else its other flags and its content."""
    stated = message.get('is_error')
    if isinstance(stated, bool):
        return stated
    flags = {key: message.get(key) for key in ('error', 'status')}
    return says_error(flags) or says_error(content)


def message_lists(value: object, keys: Sequence[str] = HOLDERS) -> list[list[Any]]:
    """The lists of messages that a value may hold: itself, or those under the keys, in the order of the keys."""
    if isinstance(value, list):
        return [value]
    if not isinstance(value, dict):
        return []
    return [value[key] for key in keys if isinstance(value.get(key), list)]


def chosen(lists: Sequence[list[Any]], fits: Callable[[list[Any]], bool]) -> tuple[list[Any], bool]:
    """The first list that fits, else the first one (an empty one if there is none), and whether it fits."""
    for messages in lists:
        if fits(messages):
            return messages, True
    return (lists[0] if lists else []), False
