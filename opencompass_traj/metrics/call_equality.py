"""When two calls are the same: the tool, and the arguments under a mode."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from opencompass_traj.metrics._argument_values import MAX_DEPTH
from opencompass_traj.metrics.tool_calls import CallPairs
from opencompass_traj.plan import Step

# Pairs of calls of one tool that are compared one by one; where there are more, arguments are compared exactly.
MAX_CALL_PAIRS: Final = 250_000

MODES: Final = ('exact', 'ignore', 'subset', 'superset')

# A mode, or the dotted paths of those arguments that count.
ToolRule: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallEquality:
    """How calls are compared; `call_equality` builds and checks it.

    Attributes:
        mode: `exact`: the arguments are equal as Python compares them (1, 1.0 and true are equal). `ignore`: they do
            not count. `subset`: each predicted argument is in the golden call with an equal value. `superset`: each
            golden one is in the predicted call.
        tools: For single tools another mode, or the dotted paths of the only arguments that count.
    """

    mode: str = 'exact'
    tools: Mapping[str, ToolRule] = field(default_factory=dict)

    def pairs(self, pred: Sequence[Step], ref: Sequence[Step]) -> CallPairs:
        """The calls of both sides, ready to be compared.

        Complexity:
            Linear in the arguments.

        Example:
            >>> from opencompass_traj.plan import Plan
            >>> CallEquality('ignore').pairs(Plan.of('a', 'x').steps, Plan.of('a', 'b').steps).counts.recall
            0.5
        """
        exact = frozenset(_with_too_many_pairs(pred, ref))
        left, right = (tuple(self._label(step, exact) for step in side) for side in (pred, ref))
        modes = {name: self._one_by_one(name, exact) for name in {step.name for step in ref}}
        if not any(modes.values()):
            return CallPairs(left, right)
        made, golden = ([mapping_of(step.args) for step in side] for side in (pred, ref))

        def same(i: int, j: int) -> bool:
            """Whether the calls at these places are the same, by the tool's mode."""
            mode = modes[ref[j].name]
            if mode is None:
                return True
            return contains(made[i], golden[j]) if mode == 'subset' else contains(golden[j], made[i])

        return CallPairs(left, right, same)

    def _rule(self, tool: str) -> ToolRule:
        return self.tools.get(tool) or self.mode

    def _one_by_one(self, tool: str, exact: frozenset[str]) -> ToolRule | None:
        """The mode of a tool whose calls no label can compare."""
        rule = self._rule(tool)
        return rule if rule in ('subset', 'superset') and tool not in exact else None

    def _label(self, step: Step, exact: frozenset[str]) -> Hashable:
        rule = self._rule(step.name)
        if rule == 'exact' or (step.name in exact and rule in ('subset', 'superset')):
            return step.name, python_key(mapping_of(step.args))
        if isinstance(rule, tuple):
            return step.name, tuple(python_key(value_at(step.args, path)) for path in rule)
        return step.name


def call_equality(mode: str = 'exact', tools: Mapping[str, str | Sequence[str]] | None = None) -> CallEquality:
    """Build a way to compare calls.

    Args:
        mode: `exact`, `ignore`, `subset` or `superset`; see `CallEquality`.
        tools: For single tools, by name, another mode or a list of dotted paths. An empty list changes nothing.

    Raises:
        ValueError: For an unknown mode.
        TypeError: If `tools` is no mapping, or holds something else than a mode or a list of texts.

    Example:
        >>> equality = call_equality(tools={'search': ['time.start']})
        >>> calls = [Step(0, 'search', {'time': {'start': 1}, 'q': q}) for q in ('a', 'b')]
        >>> equality.pairs(calls[:1], calls[1:]).equal(0, 0)
        True
    """
    _check_mode("the arguments' mode", mode)
    if not isinstance(tools or {}, Mapping):
        raise TypeError(f'expected the rules of single tools to be a mapping from names, got {tools!r:.80}')
    return CallEquality(mode, {name: _tool_rule(name, rule) for name, rule in (tools or {}).items()})


def contains(few: Mapping[Any, Any], many: Mapping[Any, Any]) -> bool:
    """Whether each key of the first is in the second with an equal value.

    Example:
        >>> contains({'a': 1}, {'a': 1.0, 'b': 2}), contains({'a': 1}, {'a': 2})
        (True, False)
    """
    return all(key in many and value == many[key] for key, value in few.items())


def mapping_of(args: object) -> Mapping[Any, Any]:
    """The arguments by name; null, a blank text and an empty list are none, anything else stands under the name ''.

    Example:
        >>> mapping_of({'q': 1}), mapping_of(None), mapping_of('q=1')
        ({'q': 1}, {}, {'': 'q=1'})
    """
    if isinstance(args, Mapping):
        return args
    blank = args is None or (isinstance(args, str) and not args.strip()) or args in ([], ())
    return {} if blank else {'': args}


def value_at(args: object, path: str) -> Any:
    """The value at a dotted path through nested objects; None where there is none.

    Example:
        >>> value_at({'time': {'start': 9}}, 'time.start'), value_at({'time': 9}, 'time.start')
        (9, None)
    """
    value: Any = args
    for key in path.split('.'):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def python_key(value: Any, depth: int = 0) -> Hashable:
    """Something hashable that is equal for two values exactly where Python's `==` finds the values equal.

    Args:
        value: A JSON value, or one that Python literals can hold.
        depth: How deep in a value this one lies; below `MAX_DEPTH` values are compared by their text.

    Example:
        >>> python_key({'a': [1, True]}) == python_key({'a': [1.0, 1]}), python_key('1') == python_key(1)
        (True, False)
    """
    if depth > MAX_DEPTH:
        return 'deep', text_of_value(value)
    if isinstance(value, Mapping):
        return 'object', frozenset((key, python_key(inner, depth + 1)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(python_key(inner, depth + 1) for inner in value)
    return frozenset(value) if isinstance(value, set) else value


def text_of_value(value: object) -> str:
    """`str` of a value; what Python refuses to write (nesting without end, a number of 4,300 digits) by its type.

    Example:
        >>> text_of_value({'a': 1}), text_of_value(10**5000)
        ("{'a': 1}", '<int>')
    """
    try:
        return str(value)
    except (ValueError, RecursionError):
        return f'<{type(value).__name__}>'


def _with_too_many_pairs(pred: Sequence[Step], ref: Sequence[Step]) -> list[str]:
    golden = Counter(step.name for step in ref)
    return [
        name for name, count in Counter(step.name for step in pred).items() if count * golden[name] > MAX_CALL_PAIRS
    ]


def _tool_rule(name: str, rule: str | Sequence[str]) -> ToolRule:
    if isinstance(rule, str):
        _check_mode(f'the mode of {name!r}', rule)
        return rule
    if not isinstance(rule, Sequence) or not all(isinstance(path, str) for path in rule):
        raise TypeError(f'expected a mode or a list of dotted paths for {name!r}, got {rule!r:.80}')
    return tuple(rule)


def _check_mode(what: str, mode: object) -> None:
    if mode not in MODES:
        near = difflib.get_close_matches(str(mode), MODES)
        hint = f'; did you mean {near[0]!r}?' if near else ''
        raise ValueError(f'expected {what} to be one of {", ".join(MODES)}, got {mode!r:.80}{hint}')
