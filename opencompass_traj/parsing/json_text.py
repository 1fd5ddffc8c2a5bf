"""Text to the JSON values that stand in it: exact where it can be, mended piece by piece where it must be."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

import json_repair

from opencompass_traj.parsing.brackets import OPENER, Bracket, looks_like_json, read_bracket
from opencompass_traj.parsing.literal import UNREADABLE, load_literal, shown
from opencompass_traj.parsing.step_lists import HOLDER_KEYS, parse, plain_key
from opencompass_traj.parsing.values import read_json, whole_number
from opencompass_traj.plan import ParseFailure

MAX_MARKS: Final = 2_000
"""Most quotes and brackets of one piece that is mended: the mending takes quadratic time in them at worst."""

MAX_MENDED: Final = 20_000
"""Most quotes and brackets that are mended in one text."""

MAX_RESTARTS: Final = 5
"""How many brackets that never close are passed over."""

MAX_BROKEN: Final = 2_000
"""How many pieces that are not JSON are tried in other ways in one text; any JSON among the rest is still read."""

# `json_repair` asserts what it takes for granted of a text, and not every text grants it.
_MENDING_FAILS: Final = (*UNREADABLE, AssertionError, LookupError, AttributeError)
_DECODER: Final = json.JSONDecoder(strict=False, parse_int=whole_number)
_MARK: Final = re.compile(r"""["'“”‘’\[\](){}]""")
_KEY: Final = re.compile(r"""["'“]?(\w{1,40})["'”]?\s*[:：]\s*\Z""")
_HOLDERS: Final = frozenset((*HOLDER_KEYS, 'tasknodes', 'toolnodes'))
_COMMENT: Final = re.compile(r'//[^\n]*|#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)')
_WIDE: Final = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|“[^”]*(?:”|\Z)|‘[^’]*(?:’|\Z)|[：，［］｛｝]', re.DOTALL)
# A string by what stands around its quotes, whichever quotes stand within, or a placeholder without quotes.
_LOOSE_STRING: Final = re.compile(
    r"""([\[{(,:]\s*)(?:'((?:\\.|[^\\])*?)'|"((?:\\.|[^\\])*?)"|(<[^<>"']{1,200}>))(?=\s*[,:\]})])""", re.DOTALL
)
_BARE_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)
_MAX_LOOSE: Final = 20_000
_NARROW: Final = {'：': ':', '，': ',', '［': '[', '］': ']', '｛': '{', '｝': '}'}


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value in a text.

    Attributes:
        start: Where it begins, from 0.
        end: Where it ends, exclusive.
        value: The value, or what could be read of it.
        cut: Whether the text, or the fence around it, ends before the value does.
        dropped: What of it could not be read, one short text each.
    """

    start: int
    end: int
    value: Any
    cut: bool = False
    dropped: tuple[str, ...] = ()


@dataclass(slots=True)
class Mending:
    """One text's allowance for mending.

    Attributes:
        tries_left: How many more pieces that are not JSON are tried.
        marks_left: How many more quotes and brackets are mended.
        dropped: What could not be read of the value at hand.
    """

    tries_left: int = MAX_BROKEN
    marks_left: int = MAX_MENDED
    dropped: list[str] = field(default_factory=list)


def json_values(text: str, mending: Mending | None = None) -> list[Found] | ParseFailure:
    r"""Find the lists and objects in a text, wherever they stand.

    Each one is read as JSON; where that fails, as a Python literal, with full-width punctuation made narrow, or
    else item by item, so that a bad item does not void the others. Only an item that none of these read is given
    to `json_repair`, and what it makes of the item is refused if it names a tool that the item's text does not. An
    item that the end of the text cuts off is dropped, never completed.

    Args:
        text: The text, of bounded length.
        mending: What is left of the allowance, where the text is a piece of a longer one.

    Returns:
        The values in the order of the text, a value that could not be read at all as None with what was dropped; or
        a failure where brackets are nested too deep.

    Complexity: linear in the text, but for the mending, which is bounded by `MAX_BROKEN`, `MAX_MARKS` and
        `MAX_MENDED`.

    Example:
        >>> [found.value for found in json_values('Draft [v2]: [{\'name\': \'a\',}] and {"name": "b"}')]
        [[{'name': 'a'}], {'name': 'b'}]
        >>> json_values('[{"name": "a"}, {"name": "b", "ar')[0].dropped
        ('cut off: \'{"name": "b", "ar\'',)
    """
    found: list[Found] = []
    mending = Mending() if mending is None else mending
    restarts = 0
    position = 0
    while (opener := OPENER.search(text, position)) is not None:
        start = opener.start()
        position = start + 1
        if not looks_like_json(text, start):
            continue
        exact = _exact(text, start)
        if exact is not None:
            found.append(exact)
            position = exact.end
            continue
        if not mending.tries_left:
            break
        bracket = read_bracket(text, start)
        if isinstance(bracket, ParseFailure):
            return bracket
        value = _read(text, bracket, mending)
        if value is not None or not bracket.cut or restarts >= MAX_RESTARTS:
            position = bracket.end
        restarts += value is None
        found.append(Found(start, bracket.end, value, bracket.cut, tuple(mending.dropped)))
        mending.dropped.clear()
    return found


def _exact(text: str, start: int) -> Found | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return Found(start, end, value)


def _read(text: str, bracket: Bracket, mending: Mending) -> Any:
    """The value of a bracket, None if there is none."""
    body = text[bracket.start : bracket.end]
    if not bracket.cut:
        value = _whole(body, mending)
        if not isinstance(value, ParseFailure):
            return value
    if text[bracket.start] == '[':
        return _read_list(text, bracket, mending)
    keyed = _holder(text, bracket, mending)
    if keyed is not None:
        return keyed
    if bracket.cut:
        mending.dropped.append(f'cut off: {shown(body)}')
        return None
    return _mended(body, mending)


def _whole(body: str, mending: Mending) -> Any:
    value = read_json(body)
    if isinstance(value, ParseFailure) and not mending.tries_left:
        return value
    mending.tries_left -= isinstance(value, ParseFailure)
    if isinstance(value, ParseFailure):
        value = load_literal(body)
    if isinstance(value, ParseFailure) and (narrow := _WIDE.sub(_narrow, body)) != body:
        value = read_json(narrow)
        if isinstance(value, ParseFailure):
            value = load_literal(narrow)
    return value if isinstance(value, list | dict) else ParseFailure('no list and no object')


def _narrow(match: re.Match[str]) -> str:
    piece = match[0]
    if piece[0] in '“‘':
        return json.dumps(piece[1:].rstrip('”’'), ensure_ascii=False)
    return _NARROW.get(piece, piece)


def _read_list(text: str, bracket: Bracket, mending: Mending) -> list[Any] | None:
    items = []
    position = bracket.start + 1
    for child in bracket.children:
        _note_unread(text[position : child.start], mending)
        item = _read(text, child, mending)
        if item is not None:
            items.append(item)
        position = child.end
    _note_unread(text[position : bracket.end], mending)
    return items or None


def _note_unread(between: str, mending: Mending) -> None:
    between = _COMMENT.sub('', between) if '/' in between or '#' in between else between
    if any(map(str.isalnum, between)):
        mending.dropped.append(f'unread between the steps: {shown(between.strip())}')


def _holder(text: str, bracket: Bracket, mending: Mending) -> dict[str, Any] | None:
    """A broken or cut-off object around a list of steps: its lists and objects by their keys."""
    position = bracket.start
    keyed: list[tuple[str, Bracket]] = []
    for child in bracket.children:
        match = _KEY.search(text, max(position, child.start - 100), child.start)
        position = child.end
        if match is not None:
            keyed.append((match[1], child))
    if not any(plain_key(key) in _HOLDERS and text[child.start] == '[' for key, child in keyed):
        return None
    values = {key: _read(text, child, mending) for key, child in keyed}
    return {key: value for key, value in values.items() if value is not None} or None


def _mended(body: str, mending: Mending) -> Any:
    """What `json_repair` makes of an object, None if that is no object or names a tool that is not in the text."""
    marks = sum(1 for _ in _MARK.finditer(body))
    value: Any = None
    if mending.tries_left and marks <= min(MAX_MARKS, mending.marks_left):
        mending.marks_left -= marks
        value = _requoted(body)
        if isinstance(value, dict):
            return value
        try:
            value = json_repair.loads(body, skip_json_loads=True)
        except _MENDING_FAILS:
            value = None
    if not isinstance(value, dict) or not value or _invents(value, body):
        mending.dropped.append(f'not readable: {shown(body)}')
        return None
    return value


def _requoted(body: str) -> Any:
    """The value where only the quotes are wrong: within strings, or missing around a placeholder such as `<city>`."""
    if len(body) > _MAX_LOOSE:
        return None
    strict = _LOOSE_STRING.sub(_quoted, body)
    value = read_json(strict)
    return load_literal(strict) if isinstance(value, ParseFailure) else value


def _quoted(match: re.Match[str]) -> str:
    inner = next(group for group in match.groups()[1:] if group is not None)
    return f'{match[1]}"{_BARE_QUOTE.sub(_escaped, inner)}"'


def _escaped(match: re.Match[str]) -> str:
    return {'"': '\\"', "\\'": "'"}.get(match[0], match[0])


def _invents(value: dict[str, Any], body: str) -> bool:
    reading = parse(value)
    if isinstance(reading, ParseFailure):
        return False
    names = reading.plan.names
    return any(name not in body and json.dumps(name)[1:-1] not in body for name in names)
