"""What a value may be that is compared: of bounded size and depth, and such that its text can be had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from opencompass_traj.limits import Limits
from opencompass_traj.plan import ParseFailure, Step, Trajectory

MOST_VALUES: Final = 5_000_000
"""Most values in a prediction that is no text; one that holds itself has more."""

NOT_COMPARED: Final = '(arguments that are not compared)'
"""Stands for arguments past a limit: equal to no golden ones."""

# Python refuses to write a whole number of more than 4,300 digits in decimal.
_MOST_BITS: Final = 14_283
# What JSON has, and what else a Python literal can be whose text is always the same.
_PLAIN: Final = (str, int, float, bytes, complex, type(None), type(...))

# Values whose text can always be had; a whole number may have too many digits.
_SIMPLE: Final = frozenset({str, float, bool, type(None)})
_TEXT: Final = frozenset({str})


def is_flat(args: object) -> bool:
    """Whether these are texts and the like under names: most arguments are, and nothing but their number can be wrong.

    Example:
        >>> is_flat({'city': 'Lyon', 'fast': True}), is_flat({'ids': [1]}), is_flat({'id': 10**5000})
        (True, False, False)
    """
    return type(args) is dict and _SIMPLE.issuperset(map(type, args.values())) and _TEXT.issuperset(map(type, args))


def value_problem(value: object, *, depth: int, values: int) -> str:
    """Why a value cannot be compared; found without recursion, and in time that the limit on values bounds.

    Args:
        value: Any value, one that holds itself included.
        depth: How deep lists and objects may be nested.
        values: How many values there may be.

    Returns:
        The reason; empty for a value that can be compared. A set counts as no problem; see `without_sets`.

    Example:
        >>> value_problem({'a': [1, None]}, depth=2, values=3), value_problem([[1]], depth=1, values=10)
        ('', 'nested more than 1 deep')
        >>> value_problem({'a': object()}, depth=2, values=3)
        'a value of the type object, which JSON does not have'
    """
    level: list[object] = [value]
    left = values
    for _ in range(depth + 1):
        inner: list[object] = []
        for item in level:
            if isinstance(item, (dict, list, tuple, set, frozenset)):
                left -= len(item)
                if left < 0:
                    return f'more than {values} values'
                inner.extend(item.values() if isinstance(item, dict) else item)
                problem = _keys_problem(item) if isinstance(item, dict) else ''
            else:
                problem = _plain_problem(item)
            if problem:
                return problem
        if not inner:
            return ''
        level = inner
    return f'nested more than {depth} deep'


def holds_more(value: object, most: int = MOST_VALUES) -> bool:
    """Whether there are more values within a value than that; found without recursion.

    Example:
        >>> holds_more([1, {'a': [2]}], 4), holds_more([1, {'a': [2]}], 3)
        (False, True)
    """
    level: list[object] = [value]
    left = most
    while level:
        inner: list[object] = []
        for item in level:
            if isinstance(item, (dict, list, tuple)):
                left -= len(item)
                if left < 0:
                    return True
                inner.extend(item.values() if isinstance(item, dict) else item)
        level = inner
    return False


def without_sets(value: Any) -> Any:
    """A value in which every set is its text, in an order that is always the same.

    Python writes a set in the order of its hashes, which differ from process to process.

    Args:
        value: Nested no deeper than recursion goes.

    Example:
        >>> without_sets({'of': {'b', 'a'}}), without_sets({'of': [1]})
        ({'of': "{'a', 'b'}"}, {'of': [1]})
    """
    if isinstance(value, (set, frozenset)):
        return '{' + ', '.join(sorted(repr(without_sets(item)) for item in value)) + '}'
    if isinstance(value, dict):
        return {key: without_sets(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_sets(item) for item in value] if isinstance(value, list) else tuple(map(without_sets, value))
    return value


def bounded(found: Trajectory | ParseFailure, limits: Limits) -> Trajectory | ParseFailure:
    """Hold what was read to the limits.

    Returns:
        The trajectory itself where it keeps them. A failure for too many steps. Arguments that cannot be compared give
        way to `NOT_COMPARED`, and are named in `dropped`.

    Complexity: linear in the arguments, up to the limit on their values.
    """
    if isinstance(found, ParseFailure):
        return found
    if len(found.plan) > limits.steps:
        return ParseFailure(f'more than {limits.steps} steps')
    dropped: list[str] = []
    steps = [_bounded_step(step, limits, dropped) for step in found.plan.steps]
    if all(one is other for one, other in zip(steps, found.plan.steps, strict=True)):
        return found
    return replace(found, plan=replace(found.plan, steps=tuple(steps)), dropped=(*found.dropped, *dropped))


def _bounded_step(step: Step, limits: Limits, dropped: list[str]) -> Step:
    if is_flat(step.args) and len(step.args) <= limits.argument_values:
        return step
    problem = value_problem(step.args, depth=limits.depth, values=limits.argument_values)
    if problem:
        dropped.append(f'step {_id_text(step)}: arguments not compared: {problem}')
        return replace(step, args=NOT_COMPARED)
    return replace(step, args=without_sets(step.args)) if _has_set(step.args) else step


def _id_text(step: Step) -> str:
    return str(step.id)[:40] if isinstance(step.id, str) or not _plain_problem(step.id) else 'of a huge id'


def _has_set(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_set, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_set, value))
    return isinstance(value, (set, frozenset))


def _keys_problem(value: dict[Any, Any]) -> str:
    return next((problem for key in value if not isinstance(key, str) and (problem := _key_problem(key))), '')


def _key_problem(key: object) -> str:
    parts: Iterable[object] = key if isinstance(key, tuple) else (key,)
    return next((problem for part in parts if (problem := _plain_problem(part))), '')


def _plain_problem(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return 'a whole number of more than 4300 digits'
    if type(value) is bool or isinstance(value, _PLAIN):
        return ''
    return f'a value of the type {type(value).__name__}, which JSON does not have'
