"""Golden plans: read strictly, with every fault of a plan reported at once."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from opencompass_traj.parsing.literal import shown
from opencompass_traj.plan import Plan, Step, StepId

_WHOLE_NUMBER: Final = re.compile(r'-?[0-9]{1,18}')
_WHOLE: Final = frozenset({int})

_OTHER_ARGS = {'arguments', 'kwargs', 'param', 'params', 'parameters', 'tool_input', 'action_input', 'input'}


@dataclass(frozen=True, slots=True)
class _Draft:
    """A step as written: the dependencies are not yet known to exist, and a name that is no good is empty."""

    id: StepId
    name: str
    args: Any
    prev: tuple[StepId, ...] | None
    turn: int | None = None
    failed: bool | None = None
    optional: bool = False

    def step(self, prev: tuple[StepId, ...] | None) -> Step:
        """The step with the dependencies that are known to exist."""
        return Step(self.id, self.name, self.args, prev, self.turn, self.failed, self.optional)


def parse_golden(record: object, *, where: str) -> Plan:
    """Read a golden plan and refuse one that is not sound.

    Args:
        record: A list of dicts `id`, `prev`, `name`, `args` (T-Eval's layout; also `optional`, and `turn` and `failed`
            of a recorded run), or the JSON text of one. A missing
            `id` is the step's position from 0, missing `args` are `{}`; a missing `prev` states no dependency if
            another step has the key, and nothing at all if none has. None counts as missing, because Arrow tables
            fill rows up with it.
        where: What to call the plan in an error, as in "plans.json: sample 'q1'".

    Returns:
        The plan. Where all ids are integers or texts of integers, they become integers and the steps stand in their
        order (equal to T-Eval's); else the steps stand as listed. The order is a legal one of the graph.

    Raises:
        ValueError: Names `where`, and every fault with its step: a name missing, empty or no text; wrong types;
            doubled ids; unknown ids in `prev`; a step that depends on itself, on a later step, or in a cycle.

    Example:
        >>> parse_golden([{'name': 'search'}, {'name': 'book', 'prev': [0]}], where='demo').names
        ('search', 'book')
        >>> parse_golden([{'name': 'search', 'prev': [7]}], where='demo')
        Traceback (most recent call last):
        ...
        ValueError: demo: step 0: `prev` names the unknown step 7
    """
    plan, problems = parse_golden_leniently(record)
    if problems:
        raise ValueError(f'{where}: ' + '; '.join(problems))
    return plan


def is_teval_layout(record: object) -> bool:
    """Whether a golden plan is written as T-Eval writes it, sound or not; else it may be in another format.

    Example:
        >>> is_teval_layout([{'name': 'search'}]), is_teval_layout([{'name': 'search', 'kwargs': {'q': 'x'}}])
        (True, False)
    """
    steps = record
    if isinstance(record, str):
        try:
            steps = json.loads(record)
        except (ValueError, RecursionError):
            return False
    if not isinstance(steps, list):
        return False
    return all(isinstance(step, dict) and 'name' in step and not _OTHER_ARGS & set(step) for step in steps)


def golden_problems(record: object) -> list[str]:
    """Say everything that makes a golden plan unsound.

    Args:
        record: As for `parse_golden`.

    Returns:
        One text per fault, in the order of the steps within each kind of fault; empty for a sound plan.

    Example:
        >>> golden_problems([{'name': 'search', 'prev': [0]}, {'name': ''}])
        ['step 1: expected a name that is not empty', 'step 0: depends on itself']
    """
    return parse_golden_leniently(record)[1]


def parse_golden_leniently(record: object) -> tuple[Plan, list[str]]:
    """Read what is sound of a golden plan, for old benchmark files.

    Args:
        record: As for `parse_golden`.

    Returns:
        The plan and its faults. A step is left out for a bad name, a bad id or an id already used; a dependency for
        naming no step that is kept, its own step, or a step that does not stand before it. Bad arguments become
        `{}`. The dependencies that are left have no cycle.

    Complexity: linear in the plan, and once more per dependency on a later step.

    Example:
        >>> plan, problems = parse_golden_leniently([{'name': 'a', 'prev': [1]}, {'name': 'b', 'prev': []}])
        >>> [step.prev for step in plan.steps], problems
        ([(), ()], ['step 0 comes before step 1 that it depends on'])
    """
    problems: list[str] = []
    listed = _records(record, problems)
    drafts = [draft for position, item in enumerate(listed) if (draft := _draft(item, position, problems)) is not None]
    drafts = _without_doubles(_in_order(drafts), problems)
    prevs = _known_dependencies(drafts, problems)
    _report_wrong_order(prevs, problems)
    if all(draft.prev is None for draft in drafts):
        return Plan(tuple(draft.step(None) for draft in drafts if draft.name)), problems
    position = {draft.id: index for index, draft in enumerate(drafts)}
    steps = (
        draft.step(tuple(i for i in prevs[draft.id] if position[i] < position[draft.id]))
        for draft in drafts
        if draft.name
    )
    return Plan(tuple(steps)), problems


def _records(record: object, problems: list[str]) -> list[Any]:
    if isinstance(record, str):
        try:
            record = json.loads(record)
        except (ValueError, RecursionError) as error:
            problems.append(f'expected the JSON text of a list of steps, got {shown(record)} ({error})')
            return []
    if not isinstance(record, list):
        problems.append(f'expected a list of steps, got {type(record).__name__}')
        return []
    return record


def _draft(item: object, position: int, problems: list[str]) -> _Draft | None:
    if not isinstance(item, dict):
        problems.append(f'step at position {position}: expected an object, got {type(item).__name__}')
        return None
    raw_id = item.get('id')
    identifier = position if raw_id is None else raw_id
    if not _is_id(identifier):
        problems.append(
            f'step at position {position}: expected an id that is an integer or a text, got {shown(identifier)}'
        )
        return None
    prev = _draft_prev(item.get('prev'), identifier, problems)
    args = _draft_args(item.get('args'), identifier, problems)
    name = item.get('name')
    if not isinstance(name, str) or not name.strip():
        got = '' if name is None or isinstance(name, str) else f' and a text, got {shown(name)}'
        problems.append(f'step {shown(identifier)}: expected a name that is not empty{got}')
        name = ''
    return _Draft(
        identifier,
        name,
        args,
        prev,
        turn=_draft_mark(item, 'turn', int, identifier, problems),
        failed=_draft_mark(item, 'failed', bool, identifier, problems),
        optional=bool(_draft_mark(item, 'optional', bool, identifier, problems)),
    )


def _draft_prev(value: object, step: StepId, problems: list[str]) -> tuple[StepId, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        problems.append(f'step {shown(step)}: expected `prev` to be a list of ids, got {shown(value)}')
        return ()
    if _WHOLE.issuperset(map(type, value)):
        return tuple(dict.fromkeys(value))
    problems.extend(
        f'step {shown(step)}: expected ids that are integers or texts in `prev`, got {shown(item)}'
        for item in value
        if not _is_id(item)
    )
    return tuple(dict.fromkeys(item for item in value if _is_id(item)))


def _draft_mark(item: dict[Any, Any], key: str, kind: type, step: StepId, problems: list[str]) -> Any:
    value = item.get(key)
    if value is None or type(value) is kind:
        return value
    what = 'true or false' if kind is bool else 'a whole number'
    problems.append(f'step {shown(step)}: expected `{key}` to be {what}, got {shown(value)}')
    return None


def _draft_args(value: object, step: StepId, problems: list[str]) -> Any:
    if value is None:
        return {}
    if isinstance(value, dict | list | str):
        return value
    problems.append(f'step {shown(step)}: expected `args` to be an object, a list or a text, got {shown(value)}')
    return {}


def _is_id(value: object) -> bool:
    # A bool is an int to Python, and `true` as an id is a mistake.
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value != '')


def _in_order(drafts: list[_Draft]) -> list[_Draft]:
    """Sorted by integer id, the ids made integers, if all are; else unchanged."""
    if not all(isinstance(draft.id, int) or _WHOLE_NUMBER.fullmatch(draft.id) for draft in drafts):
        return drafts
    return sorted(map(_numbered, drafts), key=lambda draft: int(draft.id))


def _numbered(draft: _Draft) -> _Draft:
    if type(draft.id) is int and _WHOLE.issuperset(map(type, draft.prev or ())):
        return draft
    return replace(draft, id=int(draft.id), prev=None if draft.prev is None else tuple(map(_as_integer, draft.prev)))


def _as_integer(identifier: StepId) -> StepId:
    return int(identifier) if isinstance(identifier, int) or _WHOLE_NUMBER.fullmatch(identifier) else identifier


def _without_doubles(drafts: list[_Draft], problems: list[str]) -> list[_Draft]:
    kept: dict[StepId, _Draft] = {}
    for draft in drafts:
        if draft.id in kept:
            problems.append(
                f'step {shown(draft.id)}: the id is used twice, for {kept[draft.id].name!r} and for {draft.name!r}'
            )
        else:
            kept[draft.id] = draft
    return list(kept.values())


def _known_dependencies(drafts: Sequence[_Draft], problems: list[str]) -> dict[StepId, list[StepId]]:
    has_name = {draft.id: draft.name != '' for draft in drafts}
    prevs: dict[StepId, list[StepId]] = {draft.id: [] for draft in drafts}
    for draft in drafts:
        for identifier in dict.fromkeys(draft.prev or ()):
            if identifier == draft.id:
                problems.append(f'step {shown(draft.id)}: depends on itself')
            elif not has_name.get(identifier, False):
                kind = 'the faulty' if identifier in has_name else 'the unknown'
                problems.append(f'step {shown(draft.id)}: `prev` names {kind} step {shown(identifier)}')
            else:
                prevs[draft.id].append(identifier)
    return prevs


def _report_wrong_order(prevs: dict[StepId, list[StepId]], problems: list[str]) -> None:
    """Report each dependency on a later step: as a cycle if it closes one, else as a wrong order."""
    position = {identifier: index for index, identifier in enumerate(prevs)}
    reported: set[frozenset[StepId]] = set()
    for step, needed in prevs.items():
        for later in (identifier for identifier in needed if position[identifier] > position[step]):
            cycle = _way(prevs, later, step)
            if not cycle:
                problems.append(f'step {shown(step)} comes before step {shown(later)} that it depends on')
            elif frozenset(cycle) not in reported:
                reported.add(frozenset(cycle))
                problems.append('cycle of dependencies: ' + _chain_text([step, *cycle]))


def _way(prevs: dict[StepId, list[StepId]], start: StepId, goal: StepId) -> list[StepId]:
    """A shortest way from `start` to `goal` along the dependencies; empty if there is none."""
    came_from: dict[StepId, StepId] = {start: start}
    queue = deque([start])
    while queue and goal not in came_from:
        here = queue.popleft()
        for needed in prevs[here]:
            if needed not in came_from:
                came_from[needed] = here
                queue.append(needed)
    if goal not in came_from:
        return []
    way = [goal]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _chain_text(identifiers: Iterable[StepId]) -> str:
    return ' needs '.join(f'step {shown(identifier)}' for identifier in identifiers)
