"""Text from models and files, made fit for a page: bounded, and with what cannot be seen made visible."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_LEAVES: Final = 80
"""Arguments of one call that are shown."""
MAX_DEPTH: Final = 8
"""Nesting that is taken apart; what lies deeper is shown as JSON."""

_HIDDEN: Final = {'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'}
_SPACES: Final = {'\n', '\t', '\r'}
# The note of `scoring.rows.cut` at the end of a text.
_NOTE: Final = 60
_LEFT_OUT: Final = re.compile(r'… \([0-9]{1,19} of ([0-9]{1,19}) characters left out\)\Z')


def visible(text: str) -> str:
    """A text with control, format and other unseen characters written as their code points.

    Example:
        >>> visible('a\u202eb')
        'a⟦U+202E⟧b'
    """
    return ''.join(_mark(one) if unicodedata.category(one) in _HIDDEN and one not in _SPACES else one for one in text)


def cut(text: str, limit: int) -> str | list[Any]:
    """A text, or its beginning with its whole length; a note that says what a row left out is read, and taken off.

    Example:
        >>> cut('abc', 3), cut('abcd', 3), cut('ab… (98 of 100 characters left out)', 10)
        ('abc', ['abc', 4], ['ab', 100])
    """
    kept, whole = _kept(text, limit)
    return kept if whole == len(kept) else [kept, whole]


def _kept(text: str, limit: int) -> tuple[str, int]:
    note = _LEFT_OUT.search(text, max(0, len(text) - _NOTE))
    whole = int(note[1]) if note else len(text)
    kept = text[: note.start()] if note else text
    return kept[:limit], whole


def leaves(args: object, *, limit: int) -> list[list[Any]]:
    """The arguments of a call as single values with their places, as the page shows them.

    Args:
        args: Any JSON value.
        limit: Characters of one value that are kept, at least 1.

    Returns:
        For each value `[path, text, kind]`, `kind` 1 for a text and 0 for other JSON; a value that was cut has its
        whole length as a fourth entry. Paths are keys and indices (from 0) joined by dots, '' for a call whose
        arguments are one value. At most 80 values; then one more entry `[None, number left out]`. No arguments: [].

    Example:
        >>> leaves({'to': {'city': 'Lyon'}, 'n': [2]}, limit=100)
        [['to.city', 'Lyon', 1], ['n.0', '2', 0]]
    """
    if args is None or args in ({}, [], ''):
        return []
    found: list[list[Any]] = []
    more = 0
    for path, value in _leaves(args, (), 0):
        if len(found) < MAX_LEAVES:
            found.append(_leaf(path, value, limit))
        else:
            more += 1
    return [*found, [None, more]] if more else found


def _leaves(value: object, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], object]]:
    if depth >= MAX_DEPTH or not isinstance(value, (dict, list)) or not value:
        yield path, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in items:
        yield from _leaves(one, (*path, str(key)), depth + 1)


def _leaf(path: tuple[str, ...], value: object, limit: int) -> list[Any]:
    kept, whole = _kept(value if isinstance(value, str) else _json(value), limit)
    leaf = ['.'.join(path)[:200], kept, int(isinstance(value, str))]
    return leaf if whole == len(kept) else [*leaf, whole]


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return '…'


def number(value: object) -> float | int | None:
    """A number as the page keeps it, to four decimals; None for what is none, not a number or infinite.

    Example:
        >>> number(2 / 3), number(3.0), number(float('nan')), number('7')
        (0.6667, 3, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        rounded = round(float(value), 4)
    except OverflowError:
        return None
    if not math.isfinite(rounded):
        return None
    return int(rounded) if rounded.is_integer() else rounded


def ascii_json(value: Mapping[str, Any] | list[Any]) -> str:
    r"""JSON in ASCII alone that may stand in a script element: no `<`, `>` or `&`; half a surrogate pair survives.

    Example:
        >>> ascii_json(['</script>é'])
        '["\\u003c/script\\u003e\\u00e9"]'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(',', ':'), allow_nan=False)
    return text.replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')


def _mark(character: str) -> str:
    return f'⟦U+{ord(character):04X}⟧'
