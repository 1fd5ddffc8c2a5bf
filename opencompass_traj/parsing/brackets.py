"""Where the brackets of a text that is nearly JSON open and close, its strings and comments passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from opencompass_traj.parsing.literal import MAX_DEPTH
from opencompass_traj.plan import ParseFailure

OPENER: Final = re.compile(r'[\[{]')

MAX_KEPT_DEPTH: Final = 6
"""How deep brackets are remembered; below, they are only counted."""

MAX_PLAIN_ENDS: Final = 20
"""How many strings without a proper end are closed at their next quote; each costs a look at the whole text."""

_LIKE_JSON: Final = re.compile(r"""[\[{]\s*(?:["'“‘\[{\]}]|-?[0-9]|//|/\*|#|\w{1,40}\s*[:：])""")
_TOKEN: Final = re.compile(r"""["'“‘\[\]{}(,:=：，]|//|/\*|#|```""")
_BEFORE_STRING: Final = frozenset('[{(,:=：，')
# A quote closes a string only where JSON could go on: models leave quotes within strings unescaped.
_AFTER_STRING: Final = r'(?=\s*(?:[,:\]})：，]|//|/\*|#|```|\Z))'
_STRING_END: Final = {
    '"': re.compile(r'\\.|"' + _AFTER_STRING, re.DOTALL),
    "'": re.compile(r"\\.|'" + _AFTER_STRING, re.DOTALL),
    '“': re.compile(r'\\.|[”"]' + _AFTER_STRING, re.DOTALL),
    '‘': re.compile(r"\\.|[’']" + _AFTER_STRING, re.DOTALL),
}
_ANY_QUOTE: Final = re.compile(r'\\.|["\'“‘]', re.DOTALL)
_NEXT_ITEM: Final = re.compile(r'\s*,\s*\{')
_OPENS: Final = {']': '[', '}': '{'}


@dataclass(slots=True)
class Bracket:
    """A pair of brackets.

    Attributes:
        kind: '[' or '{'.
        start: Where it opens, from 0.
        end: Where it closes, the closing bracket included, exclusive.
        cut: Whether the text, or the fence around it, ends before it closes.
        children: The brackets directly within.
    """

    kind: str
    start: int
    end: int = -1
    cut: bool = False
    children: list[Bracket] = field(default_factory=list)


def looks_like_json(text: str, start: int) -> bool:
    """Whether a bracket of a text goes on as a JSON list or object does.

    Example:
        >>> looks_like_json('[{"a": 1}]', 0), looks_like_json('[draft v2]', 0), looks_like_json('{a: 1}', 0)
        (True, False, True)
    """
    return _LIKE_JSON.match(text, start) is not None


def read_bracket(text: str, start: int) -> Bracket | ParseFailure:
    """Find where a bracket closes, and the brackets within.

    A closing bracket closes those of the other kind that are still open within its own pair. One that has no pair
    is passed over, and so is a '}' too many before the next object of a list.

    Args:
        text: The text.
        start: The place of a '[' or '{' in it.

    Returns:
        The bracket; or a failure where more than `MAX_DEPTH` are open at once.

    Complexity: linear in the rest of the text.

    Example:
        >>> bracket = read_bracket('x [{"a": "]"}}, {"b": 1}] y', 2)
        >>> bracket.end, [(child.start, child.end) for child in bracket.children]
        (25, [(3, 13), (16, 24)])
    """
    root = Bracket(text[start], start)
    stack = [root]
    position = start + 1
    string_may_start = True
    plain_ends = MAX_PLAIN_ENDS if text[-50:].rstrip().endswith((']', '}', '```')) else 0
    while stack and (token := _TOKEN.search(text, position)) is not None:
        piece = token[0]
        nothing_between = not text[position : token.start()].strip()
        position = token.end()
        if piece == '```':
            return _cut_off(root, stack, token.start())
        if piece in _STRING_END:
            if string_may_start and nothing_between:
                position, plain = _string_end(text, token.start(), plain=plain_ends > 0)
                plain_ends -= plain
            string_may_start = False
        elif piece in {'//', '/*', '#'}:
            position = _comment_end(text, piece, position)
            string_may_start = string_may_start and nothing_between
        else:
            string_may_start = piece in _BEFORE_STRING
            _open_or_close(text, token.start(), stack)
            if len(stack) > MAX_DEPTH:
                return ParseFailure(f'brackets nested more than {MAX_DEPTH} deep')
    return _cut_off(root, stack, len(text))


def _open_or_close(text: str, at: int, stack: list[Bracket]) -> None:
    piece = text[at]
    if piece in '[{':
        bracket = Bracket(piece, at)
        if len(stack) < MAX_KEPT_DEPTH:
            stack[-1].children.append(bracket)
        stack.append(bracket)
    elif piece in _OPENS and not _is_spare(text, at, stack):
        while stack:
            bracket = stack.pop()
            bracket.end = at
            if bracket.kind == _OPENS[piece]:
                bracket.end = at + 1
                break


def _is_spare(text: str, at: int, stack: list[Bracket]) -> bool:
    wanted = _OPENS[text[at]]
    if stack[-1].kind == wanted:
        return False
    if all(bracket.kind != wanted for bracket in stack):
        return True
    return wanted == '{' and _NEXT_ITEM.match(text, at + 1) is not None


def _string_end(text: str, start: int, *, plain: bool) -> tuple[int, bool]:
    """Where a string ends, exclusive; the end of the text if it does not.

    With `plain`, a string without a proper end closes at its next quote, and the second value says so.
    """
    quote = text[start]
    if text.startswith(quote * 3, start):
        end = text.find(quote * 3, start + 3)
        return (end + 3 if end >= 0 else len(text)), False
    for match in _STRING_END[quote].finditer(text, start + 1):
        if not match[0].startswith('\\'):
            return match.end(), False
    if plain:
        ends = (match.end() for match in _ANY_QUOTE.finditer(text, start + 1) if match[0] == quote)
        return next(ends, len(text)), True
    return len(text), False


def _comment_end(text: str, opening: str, position: int) -> int:
    closing = '*/' if opening == '/*' else '\n'
    end = text.find(closing, position)
    return end + len(closing) if end >= 0 else len(text)


def _cut_off(root: Bracket, stack: list[Bracket], end: int) -> Bracket:
    for bracket in stack:
        bracket.end = end
        bracket.cut = True
    return root
