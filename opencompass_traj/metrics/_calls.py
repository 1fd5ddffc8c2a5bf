"""Calls as comparable things: exactly equal, and nearly equal.

Two calls are *exactly* equal if tool and arguments are (1 and 1.0 are one number; the order of keys means nothing).
They are *nearly* equal if the tool is the same, the arguments have the same keys and the same numbers, booleans and
nulls, and each text in the one is nearly the text in the other: the same but for case and white space, or alike by
rapidfuzz's ratio while every digit stays. Page 2 after page 1, another date or another order number is a new question,
however alike the texts are as a whole; that is why the texts are compared value by value.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby, islice
from math import isfinite
from operator import eq
from typing import Final, TypeAlias

from rapidfuzz.distance import Indel

from opencompass_traj.plan import Plan, Step

MAX_VALUES: Final = 10_000
"""How many values of one call's arguments are compared."""

MAX_NEAR_CHARS: Final = 1_000
"""Longer texts are compared but for case and white space alone."""

_DIGITS: Final = re.compile(r'\d+')
_Shape: TypeAlias = tuple[object, ...]
_Texts: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a plan, numbered by what they are.

    Attributes:
        origin: The plan's index of each call here, from 0. The plan's order, but for the calls of one turn: these have
            no order and stand by their names and arguments, the failed one first among equals.
        ids: Equal for exactly equal calls.
        shapes: Equal for calls that differ in texts alone, and there not in a digit.
        texts: The texts in the arguments, by id.
    """

    origin: tuple[int, ...]
    ids: list[int]
    shapes: list[int]
    texts: tuple[_Texts, ...]
    _plain_texts: dict[int, _Texts] = field(default_factory=dict, init=False, repr=False, compare=False)

    def alike(self, period: int, near: float) -> bytearray:
        """For each call whether the one that comes `period` later is exactly or nearly equal to it: 1 or 0."""
        found = bytearray(map(eq, self.ids, islice(self.ids, period, None)))
        same_shape = bytes(map(eq, self.shapes, islice(self.shapes, period, None)))
        if found == same_shape:
            return found
        for i, possible in enumerate(same_shape):
            if possible and not found[i]:
                found[i] = _all_nearly(self._plain(self.ids[i]), self._plain(self.ids[i + period]), near)
        return found

    def _plain(self, number: int) -> _Texts:
        """The texts of a call in lower case and with single spaces."""
        if number not in self._plain_texts:
            self._plain_texts[number] = tuple(' '.join(text.casefold().split()) for text in self.texts[number])
        return self._plain_texts[number]


def read_calls(plan: Plan) -> Calls:
    """Number the calls of a plan.

    Example:
        >>> read_calls(Plan.of('A', 'B', 'A')).ids
        [0, 1, 0]
    """
    tools = Counter(step.name for step in plan.steps)
    # A call whose tool is called once is like no other, whatever its arguments.
    parts = [_parts(step) if tools[step.name] > 1 else ((step.name,), ()) for step in plan.steps]
    origin = _order(plan.steps, parts)
    shape_numbers: dict[_Shape, int] = {}
    numbers: dict[tuple[int, _Texts], int] = {}
    ids: list[int] = []
    shapes: list[int] = []
    for index in origin:
        shape = shape_numbers.setdefault(parts[index][0], len(shape_numbers))
        shapes.append(shape)
        ids.append(numbers.setdefault((shape, parts[index][1]), len(numbers)))
    return Calls(origin, ids, shapes, tuple(texts for _, texts in numbers))


def _order(steps: tuple[Step, ...], parts: list[tuple[_Shape, _Texts]]) -> tuple[int, ...]:
    """The order of the plan, in which the calls of one turn stand in an order that does not hang on how they came."""
    turns = groupby(range(len(steps)), key=lambda i: (-1, i) if steps[i].turn is None else (steps[i].turn, -1))
    order: list[int] = []
    for _, turn in turns:
        together = list(turn)
        if len(together) > 1:
            # An error first: what stands beside it may be its retry.
            # The names come first, so that it does not matter whose arguments were not looked at.
            together.sort(key=lambda i: (repr(parts[i]), steps[i].failed is not True))
        order.extend(together)
    return tuple(order)


def _parts(step: Step) -> tuple[_Shape, _Texts]:
    """A call as its shape (tool, keys, all values but texts, and the digits of texts) and its texts, in fixed order."""
    shape: list[object] = [step.name]
    texts: list[str] = []
    stack: list[object] = [step.args]
    while stack and len(shape) <= MAX_VALUES:
        value = stack.pop()
        if isinstance(value, str):
            texts.append(value)
            shape.append(('text', *_DIGITS.findall(value)))
        elif isinstance(value, dict):
            items = sorted(((str(key), inner) for key, inner in value.items()), key=lambda item: item[0])
            shape.append(('keys', tuple(key for key, _ in items)))
            stack.extend(inner for _, inner in reversed(items))
        elif isinstance(value, list | tuple | set | frozenset):
            items_in_order = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
            shape.append(('items', len(value)))
            stack.extend(reversed(list(items_in_order)))
        else:
            shape.append(_plain(value))
    return tuple(shape), tuple(texts)


def _plain(value: object) -> tuple[str, str]:
    if isinstance(value, float) and isfinite(value) and value.is_integer():
        return ('value', hex(int(value)))
    # Python refuses to write an integer of more than 4300 digits in decimal.
    return ('value', hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value))


def _all_nearly(left: _Texts, right: _Texts, near: float) -> bool:
    return all(one == other or _nearly(one, other, near) for one, other in zip(left, right, strict=True))


def _nearly(left: str, right: str, near: float) -> bool:
    if max(len(left), len(right)) > MAX_NEAR_CHARS:
        return False
    both = len(left) + len(right)
    # By whole counts: rapidfuzz's ratio of 16 letters in 20 falls short of 0.8 by a rounding error.
    distance = Indel.distance(left, right, score_cutoff=int((1 - near) * both) + 1)
    return (both - distance) / both >= near
