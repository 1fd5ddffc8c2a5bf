"""Single argument values: what a number, a moment, a JSON text is, and when two are the same."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

# What lies deeper is compared as it stands, without recursion.
MAX_DEPTH = 64
# A longer text is not read as JSON.
MAX_JSON_CHARS = 100_000
_MAX_NUMBER_CHARS = 100

# JSON's own numbers: `007` and `+49` are texts, an exponent is no way to make a number of a million digits.
_NUMBER = re.compile(r'-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?')
_SECONDS = r'(?::?([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?'
_MOMENT = re.compile(rf'([0-9]{{4}})(-?)([0-9]{{2}})\2([0-9]{{2}})(?:[T ]([0-9]{{2}}):?([0-9]{{2}}){_SECONDS})?')
# A time of day needs its colons: `1030` is a number.
_CLOCK = re.compile(rf'([0-9]{{2}}):([0-9]{{2}}){_SECONDS}')
# No traps: a difference of any two numbers is a value, never an exception.
_ARITHMETIC = Context(prec=50, Emin=-(10**9), Emax=10**9, traps=[])


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far apart two equal numbers may be: the greater of the two bounds.

    Attributes:
        absolute: At least 0.
        relative: At least 0, as a share of the greater of both numbers.
    """

    absolute: float = 0.0
    relative: float = 0.0


def read_number(value: object) -> Decimal | None:
    """A number as the decimal that is written, or None.

    Args:
        value: An int, a float (by its shortest decimal text, so that 0.1 is "0.1"), or the text of a JSON number.

    Example:
        >>> read_number('1.50') == read_number(1.5), read_number('007'), read_number(True)
        (True, None, None)
    """
    if isinstance(value, str):
        text = value.strip() if len(value) <= _MAX_NUMBER_CHARS else ''
        return Decimal(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Decimal(value) if isinstance(value, int) else Decimal(float.__repr__(value))


def close(pred: Decimal, ref: Decimal, tolerance: Tolerance) -> bool:
    """Whether two numbers differ by no more than the tolerance; NaN is the same as NaN, infinity as itself alone.

    Example:
        >>> close(Decimal('0.3'), Decimal('0.2'), Tolerance(absolute=0.1))
        True
    """
    if not (pred.is_finite() and ref.is_finite()):
        return (pred.is_nan() and ref.is_nan()) or (not pred.is_nan() and not ref.is_nan() and pred == ref)
    if pred == ref:
        return True
    greater = _ARITHMETIC.max_mag(pred, ref).copy_abs()
    share = _ARITHMETIC.multiply(greater, Decimal(repr(tolerance.relative)))
    distance = _ARITHMETIC.abs(_ARITHMETIC.subtract(pred, ref))
    return bool(distance <= max(share, Decimal(repr(tolerance.absolute))))


def read_moment(text: str) -> tuple[str, int, int] | None:
    """An ISO 8601 date, date and time, or time of day as a point that can be compared, or None.

    Args:
        text: `2024-05-20`, `20240520`, either followed by `T` or a space and a time; or a time with colons. Times may
            lack their seconds and may end in `Z` or an offset.

    Returns:
        What kind of point it is, its seconds (of universal time where an offset is given) and nanoseconds. A date alone
        is its midnight. A point with an offset and one without are of different kinds, and never the same.

    Example:
        >>> read_moment('2024-05-20T10:00Z') == read_moment('2024-05-20 12:00:00.0+02:00')
        True
    """
    full = _MOMENT.fullmatch(text)
    clock = None if full else _CLOCK.fullmatch(text)
    if full:
        try:
            days = date(int(full[1]), int(full[3]), int(full[4])).toordinal()
        except ValueError:
            return None
        return _point('date', days, full.groups()[4:])
    return _point('time', 0, clock.groups()) if clock else None


def _point(kind: str, days: int, time: Sequence[str | None]) -> tuple[str, int, int] | None:
    hour, minute, second, fraction, zone = time
    parts = int(hour or 0), int(minute or 0), int(second or 0)
    if parts > (23, 59, 59) or max(parts) > 59:
        return None
    seconds = days * 86_400 + parts[0] * 3600 + parts[1] * 60 + parts[2]
    if zone is not None and zone != 'Z':
        digits = zone[1:].replace(':', '').ljust(4, '0')
        offset = int(digits[:2]) * 3600 + int(digits[2:]) * 60
        seconds -= offset if zone[0] == '+' else -offset
    return kind if zone is None else f'{kind} with offset', seconds, int((fraction or '').ljust(9, '0'))


def read_json(text: str) -> Any:
    """The object or list that a text is the JSON of, or None.

    Example:
        >>> read_json(' {"a": 1} '), read_json('7'), read_json('[broken')
        ({'a': 1}, None, None)
    """
    if len(text) > MAX_JSON_CHARS or not text.lstrip().startswith(('{', '[')):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_value(value: Any, *, json_text: bool, depth: int = 0) -> Any:
    """A value with its JSON texts read, its keys as texts and its tuples as lists.

    Args:
        value: Any value.
        json_text: Whether texts are read that are the JSON of an object or list.
        depth: How deep the value stands in the arguments; what lies deeper than `MAX_DEPTH` stays as it is.

    Example:
        >>> read_value({1: '[7]', 'a': (True,)}, json_text=True)
        {'1': [7], 'a': [True]}
    """
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, str):
        parsed = read_json(value) if json_text else None
        if parsed is None:
            return value
        # An empty list for all of a call's arguments is no arguments.
        return read_value(parsed, json_text=json_text, depth=depth) if parsed or depth else {}
    if isinstance(value, dict):
        return {str(key): read_value(one, json_text=json_text, depth=depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [read_value(one, json_text=json_text, depth=depth + 1) for one in value]
    return value


def fold(text: str, *, nfkc: bool, space: str, ignore_case: bool) -> str:
    """A text without the differences that do not count.

    Example:
        >>> fold(' Ｌyon  1 ', nfkc=True, space='collapse', ignore_case=True)
        'lyon 1'
    """
    folded = unicodedata.normalize('NFKC', text) if nfkc else text
    folded = folded.casefold() if ignore_case else folded
    if space == 'collapse':
        return ' '.join(folded.split())
    return folded.strip() if space == 'strip' else folded


def text_of(value: object) -> str | None:
    """A text as it is, anything else as its JSON text with sorted keys; None if it has none."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def identical(pred: object, ref: object) -> bool:
    """Whether two values are the same with their types, at any depth; 1 is the same as 1.0, a tuple as a list.

    Example:
        >>> identical({'a': [1, 'x']}, {'a': (1.0, 'x')}), identical(1, True), identical(7, '7')
        (True, False, False)
    """
    waiting: list[tuple[Any, Any]] = [(pred, ref)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            waiting.extend((one[key], other[key]) for key in other)
        elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif not _identical_leaves(one, other):
            return False
    return True


def _identical_leaves(one: object, other: object) -> bool:
    if type(one) is type(other) and one == other:
        return True
    if isinstance(one, str) or isinstance(other, str):
        return False
    numbers = read_number(one), read_number(other)
    return numbers[0] is not None and numbers[1] is not None and close(numbers[0], numbers[1], Tolerance())


def size_of(value: object, *, most: int) -> int:
    """How many values a value holds, itself included; no more than `most + 1` are counted."""
    size, waiting = 0, [value]
    while waiting and size <= most:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
        size += 1
    return size


def largest_matching(allowed: Sequence[Sequence[bool]]) -> tuple[tuple[int, int], ...]:
    """As many pairs (row, column) as possible, each row and each column in at most one, in the order of the rows.

    Complexity:
        O(edges · √(rows + columns)), by Hopcroft and Karp.

    Example:
        >>> largest_matching([[True, True], [True, False]])
        ((0, 1), (1, 0))
    """
    if not allowed or not allowed[0]:
        return ()
    first: dict[int, int] = {}
    for row, line in enumerate(allowed):
        column = next((column for column, one in enumerate(line) if one and column not in first), None)
        if column is not None:
            first[column] = row
    if len(first) == min(sum(map(any, allowed)), sum(map(any, zip(*allowed, strict=True)))):
        # First come, first served leaves nobody out that anybody could take.
        return tuple(sorted((row, column) for column, row in first.items()))
    chosen = maximum_bipartite_matching(csr_array(np.asarray(allowed, dtype=np.int8)), perm_type='column')
    return tuple((row, int(column)) for row, column in enumerate(chosen) if column >= 0)


def is_bound(value: object) -> bool:
    """Whether a value can be a tolerance: a finite number, at least 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
