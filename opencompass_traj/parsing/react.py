"""ReAct text: Thought, Action, Action Input and Observation, as in the ReAct paper and LangChain's ReAct agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from opencompass_traj.parsing.call_text import parse_call
from opencompass_traj.parsing.json_text import Found, Mending, json_values
from opencompass_traj.parsing.literal import MAX_CHARS, shown
from opencompass_traj.parsing.reasoning import without_reasoning
from opencompass_traj.parsing.step_lists import parse as parse_steps
from opencompass_traj.parsing.values import MAX_STEPS, decoded_args
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory

NAME: Final = 'react'

_LABELS: Final = {
    'thought': 'thought', '思考': 'thought', '想法': 'thought',
    'action': 'action', '行动': 'action', '动作': 'action',
    'actioninput': 'input', '行动输入': 'input', '动作输入': 'input',
    'observation': 'observation', '观察': 'observation', '观察结果': 'observation',
    'finalanswer': 'end', '最终答案': 'end', '最终回答': 'end',
}  # fmt: skip
_LABEL: Final = re.compile(
    r'^[ \t>#*_]*(?P<label>Thought|Action[ _]?Input|Action|Observation|Final[ _]Answer|思考|想法|行动输入|动作输入'
    r'|行动|动作|观察结果|观察|最终答案|最终回答)[ \t]{0,9}[0-9]{0,4}[*_]{0,3}[ \t]{0,9}[:：][ \t*_]*',
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETS: Final = re.compile(r'(?P<name>[^\[\]\n]{1,200})\[(?P<args>.*)\]', re.DOTALL)
_VARIABLE: Final = re.compile(r'#E[0-9]{1,4}[ \t]*=[ \t]*')
_FENCE: Final = re.compile(r'^[ \t]*```[^\n`]*$', re.MULTILINE)
_ERROR: Final = re.compile(r'[\s\[("\'*]*(?:error\b|错误|Traceback \(most recent call last\))', re.IGNORECASE)
_ENDS: Final = frozenset({'finish', 'finishaction', 'finalanswer', '完成', '结束', '最终答案'})
_NO_TOOL: Final = frozenset({'', 'none', 'null', 'n/a', '无', '空'})
_MAX_NAME: Final = 200


@dataclass(slots=True)
class _Reading:
    steps: list[Step] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    mending: Mending = field(default_factory=Mending)
    waits_for_input: bool = False
    ended: bool = False


def recognises(value: object) -> bool:
    r"""Whether a text has a line that begins with `Action:`, or with `Thought:` and another with `Final Answer:`.

    Example:
        >>> recognises('Thought: look\nAction: search'), recognises('思考：好\n行动：搜索'), recognises('Action!')
        (True, True, False)
    """
    if not isinstance(value, str) or len(value) > MAX_CHARS:
        return False
    labels = {label for label, _ in _sections(value)}
    return 'action' in labels or {'thought', 'end'} <= labels


def parse(value: object) -> Trajectory | ParseFailure:
    r"""Read the actions of a ReAct transcript.

    Args:
        value: The text. Labels stand at the beginning of a line, in English or Chinese, with a colon of either width,
            and may be numbered. An action is a tool's name with an `Action Input`, `tool[…]`, `tool(a=1)`, or a JSON
            object with both. Reasoning blocks are cut out first.

    Returns:
        One step per action, each a turn of its own. An input is decoded where it is an object and stays text where it
        is not; without one it is `{}`. `failed` is True where the observation begins with an error, False for any
        other, None without one. `Final Answer` and the actions `Finish` and `FinishAction` end the plan and are no
        steps; thoughts and observations are not read. An input that is cut off or no readable object takes its
        action with it, into `dropped`. A transcript that ends without an action is an empty plan.

    Complexity: linear in the text, but for the bounded mending of broken input.

    Example:
        >>> step = parse('Thought: locate\nAction: find\nAction Input: {"city": "Lyon"}\nObservation: 42').plan.steps[0]
        >>> step.name, step.args, step.failed
        ('find', {'city': 'Lyon'}, False)
    """
    if not isinstance(value, str):
        return ParseFailure(f'no text, but a {type(value).__name__}')
    if len(value) > MAX_CHARS:
        return ParseFailure(f'answer longer than {MAX_CHARS} characters')
    text = without_reasoning(value)
    if isinstance(text, ParseFailure):
        return text
    return _outcome(_read(text))


def _read(text: str) -> _Reading:
    reading = _Reading()
    for label, content in _sections(text):
        _take(label, content, reading)
        if reading.ended:
            break
    return reading


def _outcome(reading: _Reading) -> Trajectory | ParseFailure:
    if not reading.steps and reading.dropped:
        return ParseFailure(f'no action could be read: {reading.dropped[0]}')
    if not reading.steps and not reading.ended:
        return ParseFailure('no actions in the answer')
    if len(reading.steps) > MAX_STEPS:
        return ParseFailure(f'more than {MAX_STEPS} actions')
    steps = tuple(replace(step, id=turn, turn=turn) for turn, step in enumerate(reading.steps))
    return Trajectory(Plan(steps), NAME, dropped=tuple(reading.dropped))


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Each label's meaning with the text up to the next label."""
    previous: re.Match[str] | None = None
    for match in _LABEL.finditer(text):
        if previous is not None:
            yield _meaning(previous), text[previous.end() : match.start()]
        previous = match
    if previous is not None:
        yield _meaning(previous), text[previous.end() :]


def _meaning(match: re.Match[str]) -> str:
    return _LABELS[match['label'].lower().replace(' ', '').replace('_', '')]


def _take(label: str, content: str, reading: _Reading) -> None:
    if label == 'end':
        reading.ended = True
    elif label == 'action':
        _take_action(_FENCE.sub('', content).strip(), reading)
    elif label == 'input' and reading.waits_for_input:
        reading.waits_for_input = False
        _take_input(_FENCE.sub('', content).strip(), reading)
    elif label == 'observation' and reading.steps:
        if reading.steps[-1].failed is None:
            reading.steps[-1] = replace(reading.steps[-1], failed=_ERROR.match(content) is not None)
        reading.waits_for_input = False


def _take_action(content: str, reading: _Reading) -> None:
    reading.waits_for_input = False
    if content.startswith('{'):
        _take_object(content, reading)
        return
    name, args = _action(content)
    plain = name.lower().replace(' ', '').replace('_', '')
    if plain in _ENDS:
        reading.ended = True
    elif len(name) > _MAX_NAME:
        reading.dropped.append(f'no tool: {shown(name)}')
    elif plain not in _NO_TOOL:
        reading.steps.append(Step(len(reading.steps), name, {} if args is None else args))
        reading.waits_for_input = args is None


def _action(content: str) -> tuple[str, Any]:
    """The tool's name and its arguments, None where they are still to come."""
    content = _VARIABLE.sub('', content, count=1)
    line = content.split('\n', 1)[0].strip()
    for text in (content, line):
        match = _BRACKETS.fullmatch(text)
        if match is not None:
            return _bare(match['name']), decoded_args(match['args'])
        call = parse_call(text.replace('\n', ' '))
        if call is not None:
            return call
    return _bare(line), None


def _bare(name: str) -> str:
    return name.strip().strip('`"\'*').rstrip('.。:：').strip()


def _take_object(content: str, reading: _Reading) -> None:
    """Take an action that is a JSON object with the tool and its input."""
    readings = [parse_steps(value.value) for value in _values(content, reading)]
    steps = [step for item in readings if isinstance(item, Trajectory) for step in item.plan.steps]
    if not steps:
        reading.dropped.append(f'action not readable: {shown(content)}')
    for step in steps:
        if step.name.lower().replace(' ', '').replace('_', '') in _ENDS:
            reading.ended = True
            return
        reading.steps.append(step)


def _values(content: str, reading: _Reading) -> list[Found]:
    found = json_values(content, reading.mending)
    return [] if isinstance(found, ParseFailure) else found


def _take_input(content: str, reading: _Reading) -> None:
    args = {} if content.lower() in _NO_TOOL else decoded_args(content)
    if isinstance(args, str) and content.startswith('{'):
        values = _values(content, reading)
        first = values[0].value if values and not values[0].cut else None
        if not isinstance(first, dict):
            step = reading.steps.pop()
            reading.dropped.append(f'input of {shown(step.name)} not readable: {shown(content)}')
            return
        args = first
    reading.steps[-1] = replace(reading.steps[-1], args=args)
