"""Text to a value, in the order that T-Eval tries it: Python literal, JSON, JSON with its quotes mended."""

from __future__ import annotations

import ast
import json
import re
import reprlib
import warnings
from collections.abc import Callable
from typing import Any, Final

from opencompass_traj.plan import ParseFailure

MAX_CHARS: Final = 1_000_000
"""Longest answer that is read. Python's own parser takes about 1.5 s for one of this length."""

MAX_DEPTH: Final = 200
"""Deepest nesting of brackets that is read; Python's own tokenizer stops there too."""

NO_CALLS: Final = 'no calls in the answer'
"""The reason of a failure where nothing in the text looks like a call, broken or whole: the agent abstained."""

UNREADABLE: Final = (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError)
"""All that the two readers raise for a text they refuse (OverflowError: a huge integer plus an imaginary number)."""

_UNREAD: Final = ParseFailure('neither a Python literal nor JSON')
_DIFFERENT_ESCAPE: Final = re.compile(r'\\(?:/|u[dD][89a-fA-F])')
_FENCE: Final = '```json'
# A string runs to its closing quote or to the end of the text, so that no start is scanned twice: linear.
_STRING_OR_BRACKET: Final = re.compile(
    r'"(?:[^"\\]|\\.?)*(?:"|\Z)|' + r"'(?:[^'\\]|\\.?)*(?:'|\Z)|" + r'[\[({]|[\])}]', re.DOTALL
)


def load_literal(
    text: str, *, start: str = '', end: str = '', max_chars: int = MAX_CHARS, max_depth: int = MAX_DEPTH
) -> Any:
    r"""Read the value that a text holds, as T-Eval's `format_load` does.

    What stands before a first "```json" and the backticks around the rest are cut, then what stands before the
    first `start` and after the last `end`. The rest is read as a Python literal, else as JSON, else as JSON after
    every `'` has become `"`. A text that is valid both ways is therefore a Python literal: `"\/"` keeps its
    backslash.

    Args:
        text: The answer.
        start: Where the value begins; empty: at the beginning.
        end: Where the value ends, itself included; empty: at the end.
        max_chars: Longest text that is read, in characters.
        max_depth: Deepest nesting of brackets outside strings that is read.

    Returns:
        The value, or a `ParseFailure`.

    Complexity: linear in the text, and bounded by the two limits.

    Source: `opencompass/datasets/teval/utils/format_load.py`. Differs in the limits, in raising nothing and in
    keeping quiet about odd escapes.

    Example:
        >>> load_literal("Sure: [{'id': 0}]. Done.", start='[', end=']')
        [{'id': 0}]
        >>> load_literal('[{', start='[', end=']')
        ParseFailure(reason='neither a Python literal nor JSON')
    """
    if len(text) > max_chars:
        return ParseFailure(f'answer longer than {max_chars} characters')
    body = _cut(text, start, end)
    if nests_deeper(body, max_depth):
        return ParseFailure(f'brackets nested more than {max_depth} deep')
    # JSON's reader is many times faster than Python's parser, and nearly every answer is JSON without odd escapes.
    value = _UNREAD if _may_differ(body) else _attempt(json.loads, body)
    readers = (_read_python, json.loads, _read_requoted) if isinstance(value, ParseFailure) else ()
    for read in readers:
        value = _attempt(read, body)
        if not isinstance(value, ParseFailure):
            break
    return value


def _may_differ(text: str) -> bool:
    r"""Whether a text could be valid JSON and, with another value, a valid Python literal.

    Where a text is both, the two agree but for escapes within strings: Python keeps the backslash of `\/`, and does not
    join the two halves of `\ud83d\ude00`. Names such as `true` and `NaN` are no Python literals at all.
    """
    # Pairs of backslashes gone, each one left begins an escape.
    return '\\' in text and _DIFFERENT_ESCAPE.search(text.replace('\\\\', '')) is not None


def _attempt(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except UNREADABLE:
        return _UNREAD


def _cut(text: str, start: str, end: str) -> str:
    fence = text.find(_FENCE)
    if fence >= 0:
        text = text[fence + len(_FENCE) :].strip('`')
    if start:
        # Upstream's arithmetic with `find`'s -1: without a `start` the last character remains, without an `end` none.
        text = text[text.find(start) :]
    return text[: text.rfind(end) + len(end)] if end else text


def nests_deeper(text: str, limit: int) -> bool:
    """Tell whether brackets outside strings are nested more than `limit` deep."""
    if sum(map(text.count, '[({')) <= limit:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        piece = match[0]
        if piece in '[({':
            depth += 1
        elif piece in '])}':
            depth -= 1
        if depth > limit:
            return True
    return False


def _read_python(text: str) -> Any:
    with warnings.catch_warnings():
        # An answer with '\d' or '1 is 1' in it makes the compiler warn: nothing that the user could act on.
        warnings.simplefilter('ignore')
        return ast.literal_eval(text)


def _read_requoted(text: str) -> Any:
    return json.loads(text.replace("'", '"'))


def shown(value: object) -> str:
    """Write a value for a message: short, and without failing on a number too long to be written.

    Example:
        >>> shown('x' * 100)
        "'xxxxxxxxxxxx...xxxxxxxxxxxxx'"
        >>> shown(16**5000)
        'a value that cannot be written'
    """
    try:
        return reprlib.repr(value)
    except ValueError:
        return 'a value that cannot be written'
