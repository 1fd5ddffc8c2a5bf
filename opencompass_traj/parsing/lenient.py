"""The lenient parser: the plan that a careful reader takes from a model's text, whatever stands around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from opencompass_traj.parsing import call_text, react, step_lists, taskbench, worfbench
from opencompass_traj.parsing.json_text import Found, json_values
from opencompass_traj.parsing.literal import MAX_CHARS, NO_CALLS, shown
from opencompass_traj.parsing.reasoning import without_reasoning
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.parsing.values import decoded_args, read_json
from opencompass_traj.plan import ParseFailure, Plan, Trajectory

NAME: Final = 'lenient'

_MAX_QUOTED: Final = 3
_ADJACENT: Final = re.compile(r'[\s,;，；\]})]*')
_BROKEN_CALL: Final = re.compile(r'["\'](?:name|tool|tool_name|function|action|api|api_name)["\']\s*[:：]')


@dataclass(frozen=True, slots=True)
class _Reading:
    """A value of the text that reads as a plan.

    Attributes:
        found: The value and its place.
        trajectory: Its steps.
        alone: Whether it is a single step and no list.
    """

    found: Found
    trajectory: Trajectory
    alone: bool


def recognises(value: object) -> bool:
    """Whether a value is text: any text is searched.

    Example:
        >>> recognises('Sure! [...]'), recognises([])
        (True, False)
    """
    return isinstance(value, str)


def parse(value: object) -> Trajectory | ParseFailure:
    r"""Read the plan in a model's answer.

    Reasoning blocks are cut out; an answer that ends inside one is none. ReAct transcripts, WorFBench workflows, ReWOO
    lines and texts that are nothing but calls are read as such. Else the JSON values in the text are found, in
    fences or not, and read or mended one by one. Values with nothing but commas or blanks between them are one plan:
    JSON Lines, or one list per turn. Among plans with other text between them the last complete one counts, since a
    later plan replaces an earlier draft; lists that are cut off count only where no other does. Single steps with text
    between them are one plan, in their order. Text without a JSON step is searched for lines that are calls.

    Args:
        value: The answer's text. Decoded JSON is read as `step_lists` or `taskbench` do.

    Returns:
        The steps. `recovered` says that T-Eval's own reading (`prompt_type='json'`) fails or finds other names or
        arguments. What was cut off, or could not be read, is named in `dropped`. A failure says why: `NO_CALLS` where
        nothing looked like a call.

    Complexity: linear in the text, but for the bounded mending.

    Example:
        >>> found = parse('<think>[…]</think>Sure:\n```JSON\n[{"name": "search", "args": {"q": 1,}}]\n```')
        >>> found.plan.steps[0].args, found.recovered
        ({'q': 1}, True)
        >>> parse('[{"name": "search", "args": {}}, {"name": "book", "ar').plan.names
        ('search',)
        >>> parse('Sorry, none of the tools can do this.')
        ParseFailure(reason='no calls in the answer')
    """
    if isinstance(value, list | dict):
        return _read_value(value)
    if not isinstance(value, str):
        return ParseFailure(f'no text, but a {type(value).__name__}')
    if len(value) > MAX_CHARS:
        return ParseFailure(f'answer longer than {MAX_CHARS} characters')
    found = _read_text(value)
    if isinstance(found, ParseFailure):
        return found
    return replace(found, recovered=not _as_strict(value, found.plan))


def _as_strict(text: str, plan: Plan) -> bool:
    strict = parse_prediction(text, prompt_type='json')
    if isinstance(strict, ParseFailure):
        return False
    read = [(step.name, decoded_args(step.args)) for step in strict.steps]
    return read == [(step.name, step.args) for step in plan.steps]


def _read_value(value: object) -> Trajectory | ParseFailure:
    return taskbench.parse(value) if taskbench.recognises(value) else step_lists.parse(value)


def _read_text(text: str) -> Trajectory | ParseFailure:
    whole = _whole_value(text)
    if isinstance(whole, list | dict):
        found = _read_value(whole)
        if isinstance(found, Trajectory):
            return found
    answer = without_reasoning(whole if isinstance(whole, str) else text)
    if isinstance(answer, ParseFailure):
        return answer
    written = _written(answer)
    if isinstance(written, Trajectory) and len(written.plan):
        return written
    searched = _searched(answer)
    if isinstance(searched, Trajectory):
        return searched
    return written if isinstance(written, Trajectory) else searched


def _whole_value(text: str) -> Any:
    """The JSON value that the whole text is, JSON within a JSON string included; None if it is none."""
    value: Any = None
    for _ in range(_MAX_QUOTED):
        body = text.strip()
        if not body.startswith(('"', '[', '{')):
            return value
        inner = read_json(body)
        if not isinstance(inner, str):
            return value if isinstance(inner, ParseFailure) else inner
        value = text = inner
    return value


def _written(answer: str) -> Trajectory | ParseFailure | None:
    """The plan of an answer in a form that is not JSON, None for other answers."""
    if 'Dependency ' in answer:
        rewoo = parse_prediction(answer, prompt_type='ReWOO')
        if isinstance(rewoo, Plan):
            return Trajectory(rewoo, 'ReWOO')
    if worfbench.recognises(answer):
        return worfbench.parse(answer)
    if react.recognises(answer):
        return react.parse(answer)
    if call_text.recognises(answer):
        return call_text.parse_whole(answer)
    return None


def _searched(answer: str) -> Trajectory | ParseFailure:
    found = json_values(answer)
    if isinstance(found, ParseFailure):
        return found
    readings = [reading for value in found if (reading := _reading(value)) is not None]
    chosen = _chosen(answer, readings)
    if chosen is not None:
        return chosen
    calls = call_text.parse(answer)
    if isinstance(calls, Trajectory):
        return calls
    dropped = [text for value in found for text in value.dropped]
    if dropped:
        return ParseFailure(f'no step could be read: {dropped[0]}')
    if any(value.value in ([], {}) for value in found) or any(not len(r.trajectory.plan) for r in readings):
        return Trajectory(Plan(), NAME)
    return _no_calls(answer, found)


def _no_calls(answer: str, found: Sequence[Found]) -> ParseFailure:
    """Say whether there is a call that could not be read, or nothing like one."""
    position = 0
    for value in found:
        broken = _BROKEN_CALL.search(answer, position, value.start)
        if broken is not None:
            return ParseFailure(f'a call that cannot be read: {shown(broken[0])}')
        position = value.end
        if isinstance(value.value, list) and any(isinstance(item, dict) for item in value.value):
            reading = step_lists.parse(value.value)
            if isinstance(reading, ParseFailure):
                return reading
    broken = _BROKEN_CALL.search(answer, position)
    return ParseFailure(NO_CALLS if broken is None else f'a call that cannot be read: {shown(broken[0])}')


def _reading(found: Found) -> _Reading | None:
    if not isinstance(found.value, list | dict) or found.value in ([], {}):
        return None
    trajectory = _read_value(found.value)
    if isinstance(trajectory, ParseFailure):
        return None
    alone = isinstance(found.value, dict) and step_lists.is_call(found.value)
    if isinstance(found.value, dict) and not (alone or _holds_plan(found.value)):
        return None
    return _Reading(found, trajectory, alone)


def _holds_plan(value: dict[str, Any]) -> bool:
    return step_lists.holds_steps(value) or taskbench.recognises(value)


def _chosen(answer: str, readings: Sequence[_Reading]) -> Trajectory | None:
    readings = [reading for reading in readings if len(reading.trajectory.plan)]
    if not readings:
        return None
    groups = _groups(answer, readings)
    lists = [group for group in groups if not all(reading.alone for reading in group)]
    complete = [group for group in lists if not any(reading.found.cut for reading in group)]
    if lists:
        return _joined((complete or lists)[-1])
    return _joined([reading for group in groups for reading in group])


def _groups(answer: str, readings: Sequence[_Reading]) -> list[list[_Reading]]:
    """Runs of values with nothing between them."""
    groups: list[list[_Reading]] = []
    end = -1
    for reading in readings:
        adjacent = end >= 0 and _ADJACENT.fullmatch(answer, end, reading.found.start) is not None
        if adjacent:
            groups[-1].append(reading)
        else:
            groups.append([reading])
        end = reading.found.end
    return groups


def _joined(group: Sequence[_Reading]) -> Trajectory:
    dropped = [text for reading in group for text in reading.found.dropped]
    if len(group) == 1:
        only = group[0].trajectory
        return replace(only, format=_format(only), dropped=(*dropped, *only.dropped))
    as_turns = not any(reading.alone for reading in group)
    values: list[Any] = []
    for reading in group:
        value = reading.found.value
        values.extend([value] if as_turns or not isinstance(value, list) else value)
    joined = step_lists.parse(values)
    if isinstance(joined, ParseFailure):
        return group[-1].trajectory
    return replace(joined, format=NAME, dropped=(*dropped, *joined.dropped))


def _format(trajectory: Trajectory) -> str:
    return NAME if trajectory.format == step_lists.NAME else trajectory.format
