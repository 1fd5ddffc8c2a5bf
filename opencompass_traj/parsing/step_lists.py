"""Lists of steps as decoded JSON, by whichever of the usual keys they name the tool and its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from opencompass_traj.parsing.literal import MAX_CHARS, MAX_DEPTH, shown
from opencompass_traj.parsing.values import MAX_STEPS, as_id, decoded_args, nests_deeper, read_json
from opencompass_traj.plan import ParseFailure, Plan, Step, StepId, Trajectory

NAME: Final = 'steps'

MAX_HOLDERS: Final = 4
"""How many objects around a list of steps, or lists around a step, are opened."""

# Keys are compared in lower case without `_`, `-` and blanks. Where an object has several, the first listed counts.
_NAME_KEYS: Final = ('name', 'tool', 'toolname', 'function', 'functionname', 'action', 'apiname', 'api')
_ARGS_KEYS: Final = (
    'args', 'arguments', 'param', 'params', 'parameters', 'toolinput', 'actioninput', 'input', 'kwargs', 'toolargs',
)  # fmt: skip
_ID_KEYS: Final = ('id', 'stepid', 'index')
_PREV_KEYS: Final = ('prev', 'dependson', 'dependencies', 'parents')
_NESTED_KEYS: Final = ('function', 'functioncall', 'toolcall', 'tool', 'action', 'call')
HOLDER_KEYS: Final = ('plan', 'steps', 'actions', 'toolcalls', 'trajectory', 'calls', 'parts')
_MISSING: Final = object()


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    steps: list[Step] = field(default_factory=list)
    has_id: list[bool] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    turn: int = 0
    grouped: bool = False


def recognises(value: object) -> bool:
    """Whether decoded JSON looks like a list of steps, an object that holds one, or a single step.

    Args:
        value: Decoded JSON. Of a list only the first three items are looked at.

    Returns:
        True if `parse` is likely to find a step; True as well for an empty list and for a holder of nothing.

    Example:
        >>> recognises([{'tool': 'search', 'param': {}}]), recognises({'plan': []}), recognises({'city': 'Lyon'})
        (True, True, False)
    """
    for _ in range(MAX_HOLDERS):
        if isinstance(value, list):
            return not value or any(_is_step(item) or recognises_group(item) for item in value[:3])
        if not isinstance(value, dict) or _is_call(value):
            break
        held = _held(value)
        if held is _MISSING:
            break
        if held is None or isinstance(held, str):
            return True
        value = held
    return _is_step(value)


def recognises_group(value: object) -> bool:
    """Whether an item of a list is itself a list that begins with a step (the calls of one turn).

    Example:
        >>> recognises_group([{'name': 'search'}]), recognises_group(['search'])
        (True, False)
    """
    return isinstance(value, list) and bool(value) and _is_step(value[0])


def is_call(value: object) -> bool:
    """Whether an object names a tool beyond doubt, so that it is a step even where it stands alone.

    Returns:
        True for an object that has arguments beside its tool's name, or a nested call, or names the tool by another
        key than `name`: `{"name": "Lyon"}` may be anything.

    Example:
        >>> is_call({'name': 'search', 'args': {}}), is_call({'tool': 'search'}), is_call({'name': 'Lyon'})
        (True, True, False)
    """
    return isinstance(value, dict) and _is_call(value)


def holds_steps(value: dict[Any, Any]) -> bool:
    """Whether an object has one of the keys that hold a list of steps.

    Example:
        >>> holds_steps({'plan': []}), holds_steps({'name': 'Lyon'})
        (True, False)
    """
    fields = _by_plain_key(value)
    return any(key in fields for key in HOLDER_KEYS)


def parse(value: object) -> Trajectory | ParseFailure:
    """Read the steps of decoded JSON.

    Args:
        value: A list of steps, an object that holds one (`plan`, `steps`, `actions`, `tool_calls`, `trajectory`,
            `calls`, `parts`), or one step. A step is an object with a tool's name (`name`, `tool`, `tool_name`,
            `function`, `action`, `api_name`, `api`), which may be nested (`{'function': {'name': …}}`); arguments
            (`args`, `arguments`, `param`, `params`, `parameters`, `tool_input`, `action_input`, `input`, `kwargs`);
            an id (`id`, `step_id`, `index`) and what it depends on (`prev`, `depends_on`, `dependencies`,
            `parents`). The JSON text of any of these will do. The value is not changed.

    Returns:
        The steps as listed, or by their ids where every one has a whole number of its own, as T-Eval has it. Where
        items of the list are lists, each item is one turn. Missing arguments are `{}`; arguments written as the text
        of an object are decoded, other text stays. A missing id is the step's position. Ids that occur twice, and
        that no step refers to, give way to positions. An item that is no step is left out and named in `dropped`. A
        list without items is an empty plan; one without a step among its items is a failure.

    Complexity: linear in the value, but for the sorting.

    Example:
        >>> parse({'plan': [{'tool': 'search', 'param': '{"q": "x"}'}, 'oops']})
        Trajectory(plan=Plan(steps=(Step(id=0, name='search', args={'q': 'x'}, prev=None),)), format='steps', \
recovered=False, dropped=("item 2 of 2: a str, not a step: 'oops'",), record=RunRecord(solved=None, tokens=None, \
latency=None, cost=None))
    """
    decoded = read_json(value) if isinstance(value, str) and len(value) <= MAX_CHARS else value
    if not isinstance(decoded, list | dict):
        return ParseFailure(f'no list of steps, but a {type(value).__name__}')
    if nests_deeper(decoded):
        return ParseFailure(f'nested more than {MAX_DEPTH} deep')
    items = _items(decoded)
    if items is None:
        return ParseFailure('an object that is no step and holds no list of steps')
    reading = _Reading()
    _read_items(items, reading, depth=0)
    return _outcome(reading)


def _outcome(reading: _Reading) -> Trajectory | ParseFailure:
    if len(reading.steps) + len(reading.dropped) > MAX_STEPS:
        return ParseFailure(f'more than {MAX_STEPS} steps')
    if not reading.steps and reading.dropped:
        return ParseFailure(f'no step could be read: {reading.dropped[0]}')
    return Trajectory(Plan(tuple(_finished(reading))), NAME, dropped=tuple(reading.dropped))


def _items(value: object) -> list[Any] | None:
    """The items of the list that a value is or holds; a single step is a list of one."""
    for _ in range(MAX_HOLDERS):
        if isinstance(value, list):
            return value
        if isinstance(value, str):
            value = read_json(value)
        if not isinstance(value, dict | list):
            return None
        if isinstance(value, dict):
            held = _MISSING if _is_call(value) else _held(value)
            if held is _MISSING:
                return [value] if _is_step(value) else None
            value = [] if held is None else held
    return None


def _read_items(items: list[Any], reading: _Reading, *, depth: int) -> None:
    for position, item in enumerate(items, start=1):
        if len(reading.steps) + len(reading.dropped) > MAX_STEPS:
            break
        inner = item if isinstance(item, list) else _group(item)
        if inner is not None and depth < MAX_HOLDERS:
            reading.grouped = reading.grouped or depth == 0
            _read_items(inner, reading, depth=depth + 1)
        elif isinstance(item, dict) and _is_step(item):
            step, has_id = _step(item, len(reading.steps))
            reading.steps.append(replace(step, turn=reading.turn))
            reading.has_id.append(has_id)
        else:
            kind = 'an object without a tool' if isinstance(item, dict) else f'a {type(item).__name__}, not a step'
            reading.dropped.append(f'item {position} of {len(items)}: {kind}: {shown(item)}')
        reading.turn += depth == 0


def _group(item: object) -> list[Any] | None:
    """The calls of an item that holds several, such as a message with `tool_calls`."""
    if not isinstance(item, dict) or _is_step(item):
        return None
    held = _held(item)
    return held if isinstance(held, list) else None


def _step(item: dict[Any, Any], position: int) -> tuple[Step, bool]:
    fields = _by_plain_key(item)
    name, args = _name_and_args(item)
    raw_id = _first(fields, _ID_KEYS)
    identifier = as_id(raw_id)
    prev = _prev(_first(fields, _PREV_KEYS))
    step = Step(id=position if identifier is None else identifier, name=name, args=decoded_args(args), prev=prev)
    return step, identifier is not None


def _name_and_args(item: dict[Any, Any]) -> tuple[str, Any]:
    """The tool's name, empty if there is none, and the arguments as written."""
    fields = _by_plain_key(item)
    args = _first(fields, _ARGS_KEYS)
    for key in _NAME_KEYS:
        name = fields.get(key)
        if isinstance(name, str) and name.strip():
            return name.strip(), args
    for key in _NESTED_KEYS:
        inner = fields.get(key)
        if isinstance(inner, dict):
            inner_fields = _by_plain_key(inner)
            name = next((inner_fields[k] for k in _NAME_KEYS if isinstance(inner_fields.get(k), str)), '')
            inner_args = _first(inner_fields, _ARGS_KEYS)
            return name.strip(), args if inner_args is None else inner_args
    return '', args


def _is_step(value: object) -> bool:
    return isinstance(value, dict) and _name_and_args(value)[0] != ''


def _is_call(value: dict[Any, Any]) -> bool:
    if not _is_step(value):
        return False
    fields = _by_plain_key(value)
    return any(key in fields for key in _ARGS_KEYS) or not isinstance(fields.get('name'), str)


def _held(value: dict[Any, Any]) -> Any:
    """What the first holder key with something in it holds; None where all are empty; `_MISSING` without one."""
    fields = _by_plain_key(value)
    held = [fields[key] for key in HOLDER_KEYS if key in fields]
    filled = [item for item in held if isinstance(item, list | dict | str) and item]
    return filled[0] if filled else None if held else _MISSING


def _by_plain_key(item: dict[Any, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in item.items():
        if isinstance(key, str) and len(key) <= 40:
            fields.setdefault(plain_key(key), value)
    return fields


def plain_key(key: str) -> str:
    """A key as the keys of a step are compared: in lower case, without `_`, `-` and blanks.

    Example:
        >>> plain_key('Tool_Name'), plain_key('toolName')
        ('toolname', 'toolname')
    """
    return key.lower().replace('_', '').replace('-', '').replace(' ', '')


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _prev(value: object) -> tuple[StepId, ...] | None:
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(identifier for item in listed if (identifier := as_id(item)) is not None))


def _finished(reading: _Reading) -> list[Step]:
    """The steps in their order, with turns only where the list was grouped and ids that are no use replaced."""
    steps = reading.steps if reading.grouped else [replace(step, turn=None) for step in reading.steps]
    distinct = len({step.id for step in steps}) == len(steps)
    if not distinct and not any(step.prev for step in steps):
        return [replace(step, id=position) for position, step in enumerate(steps)]
    sortable = distinct and all(reading.has_id) and all(isinstance(step.id, int) for step in steps)
    if sortable and not reading.grouped:
        return sorted(steps, key=lambda step: int(step.id))
    return steps
