"""Calls written as code, such as `tool(a=1, b="x")`; the form that the Berkeley leaderboard (BFCL) asks models for."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from opencompass_traj.parsing.literal import MAX_CHARS, NO_CALLS, UNREADABLE, shown
from opencompass_traj.parsing.values import MAX_STEPS, nests_deeper
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory

NAME: Final = 'calls'

_MAX_LINE: Final = 20_000
_MAX_CUT: Final = 100_000
_MAX_CUTS: Final = 20
_NAME_TEXT: Final = r'[^\W\d][\w./-]{0,199}'
# What may stand before a call on its line: a bullet, a number, a label, and the variable that takes the result.
_BEFORE: Final = (
    r'(?:[-*+•>][ \t]{1,9}|[0-9]{1,4}[.)、:][ \t]{1,9})?'
    r'(?:(?:Step|Action|Call|步骤|行动|动作)[ \t]?[0-9]{0,4}[ \t]?[:：][ \t]{0,9})?'
    r'(?:#E[0-9]{1,4}[ \t]?=[ \t]{0,9}|[^\W\d]\w{0,99}[ \t]?=[ \t]{0,9})?`?'
)
_CALL_LINE: Final = re.compile(_BEFORE + rf'(?P<name>{_NAME_TEXT})[ \t]?\((?P<args>.*)\)`?[ \t]?[;,.，。；]?')
_CALL_START: Final = re.compile(_BEFORE + rf'\[?[ \t]?{_NAME_TEXT}[ \t]?\(')
_FENCE: Final = re.compile(r'^[ \t]*```[^\n`]*$', re.MULTILINE)
_LINE_END: Final = re.compile(r'\r\n|\r|\n')
_PARENTHESIS: Final = re.compile(r'[()]')
_WORDS: Final = {'true': True, 'false': False, 'null': None, 'none': None}


def recognises(value: object) -> bool:
    """Whether a text begins as a call does, or has a line that is one.

    Example:
        >>> recognises('[search(q="x"), book(1)]'), recognises('Call search("x") now'), recognises([])
        (True, False, False)
    """
    if not isinstance(value, str) or len(value) > MAX_CHARS:
        return False
    lines = _FENCE.sub('', value).strip().split('\n')
    return _CALL_START.match(lines[0].strip()) is not None or any(
        _CALL_LINE.fullmatch(line) or (line.startswith('[') and _CALL_START.match(line))
        for line in map(str.strip, lines)
        if len(line) <= _MAX_LINE
    )


def parse(value: object) -> Trajectory | ParseFailure:
    """Read calls written as code. Nothing is evaluated: the text is only parsed.

    Args:
        value: One call or several, separated by lines, `;` or commas, or in a list. Around them may stand a fence; on
            its line, a call may have a bullet, a number, a label such as `Action 1:` or `Step 2:`, and the variable
            that takes its result. Other lines are passed over.

    Returns:
        The calls in the order of the text. Named arguments are an object; arguments without names are a list, or
        `args` beside the named ones. Literals are their values (`true`, `false` and `null` too), anything else stays
        its source text, a call within a call included. Where the text is a list of calls that is cut off, the last
        call is dropped and named. The arguments of a line that is no Python are one text. The
        plan's dependencies are not known.

    Complexity: linear in the text.

    Example:
        >>> plan = parse('[Map.find(city="Lyon", n=2), book(7, seat=best)]').plan
        >>> [(step.name, step.args) for step in plan.steps]
        [('Map.find', {'city': 'Lyon', 'n': 2}), ('book', {'args': [7], 'seat': 'best'})]
    """
    if not isinstance(value, str):
        return ParseFailure(f'no text, but a {type(value).__name__}')
    if len(value) > MAX_CHARS:
        return ParseFailure(f'answer longer than {MAX_CHARS} characters')
    text = _FENCE.sub('', value).strip()
    whole = whole_calls(text)
    if whole is None and (kept := _uncut(text)) is not None:
        calls, rest = kept
        return _trajectory(calls, f'cut off: {shown(rest)}')
    calls = list(islice(_line_calls(text), MAX_STEPS + 1)) if whole is None else whole
    return _trajectory(calls) if calls else ParseFailure(NO_CALLS)


def parse_whole(value: str) -> Trajectory | ParseFailure:
    """Read a text that is nothing but calls, a fence around them apart.

    Args:
        value: The text.

    Returns:
        As `parse`, but a failure where the text holds anything else.

    Example:
        >>> parse_whole('Then search(1)')
        ParseFailure(reason='not only calls')
    """
    calls = whole_calls(_FENCE.sub('', value).strip())
    return _trajectory(calls) if calls else ParseFailure('not only calls')


def whole_calls(text: str) -> list[tuple[str, Any]] | None:
    """Read a text that is nothing but calls, as Python sees it.

    Args:
        text: The text, without a fence.

    Returns:
        The tools' names and arguments; None where the text is no Python, or holds anything but calls, lists of calls
        and assignments of calls.

    Example:
        >>> whole_calls('x = search("a"); book()'), whole_calls('search')
        ([('search', ['a']), ('book', {})], None)
    """
    tree = _parsed(text)
    if tree is None:
        return None
    source = _Source(text)
    calls: list[tuple[str, Any]] = []
    for statement in tree.body[: MAX_STEPS + 1]:
        if not isinstance(statement, ast.Expr | ast.Assign):
            return None
        value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
        nodes = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        for node in nodes:
            call = _call(node, source)
            if call is None:
                return None
            calls.append(call)
    return calls


def parse_call(text: str) -> tuple[str, Any] | None:
    """Read one call: its tool's name, and its arguments, as text where they are no Python.

    Args:
        text: A line. What is before or after a call on its line may stand here too.

    Returns:
        The name and the arguments; None where the line is no call.

    Example:
        >>> parse_call('1. get-weather(city="Lyon")'), parse_call('find(New York)'), parse_call('see (1)')
        (('get-weather', {'city': 'Lyon'}), ('find', 'New York'), None)
    """
    match = _CALL_LINE.fullmatch(text.strip()) if len(text) <= _MAX_LINE else None
    if match is None or match.string[match.start('args') - 2] == ' ':
        return None
    inner = match['args'].strip()
    call = whole_calls(f'f({inner})')
    if call is not None and len(call) == 1:
        return match['name'].rstrip('.-/'), call[0][1]
    return (match['name'].rstrip('.-/'), inner) if _is_closed(inner) else None


def _is_closed(inner: str) -> bool:
    """Whether each ')' within has a '(' before it, so that the arguments end where the line does."""
    depth = 0
    for piece in _PARENTHESIS.findall(inner):
        depth += 1 if piece == '(' else -1
        if depth < 0:
            return False
    return depth == 0


def _trajectory(calls: list[tuple[str, Any]], *dropped: str) -> Trajectory | ParseFailure:
    if len(calls) > MAX_STEPS:
        return ParseFailure(f'more than {MAX_STEPS} calls')
    return Trajectory(Plan(tuple(Step(position, *call) for position, call in enumerate(calls))), NAME, dropped=dropped)


def _uncut(text: str) -> tuple[list[tuple[str, Any]], str] | None:
    """The whole calls of a list that is cut off, and what is left of it; None for any other text."""
    if not text.startswith('[') or len(text) > _MAX_CUT:
        return None
    end = len(text)
    for _ in range(_MAX_CUTS):
        end = text.rfind(')', 0, end)
        if end < 0:
            return None
        calls = whole_calls(text[: end + 1] + ']')
        if calls is not None:
            return calls, text[end + 1 :].strip(' ,\n')
    return None


def _line_calls(text: str) -> Iterator[tuple[str, Any]]:
    for line in text.split('\n'):
        call = parse_call(line)
        if call is not None:
            yield call
        elif len(line) <= _MAX_LINE and _CALL_START.match(line.strip()):
            yield from whole_calls(line.strip()) or ()


def _parsed(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        # An odd escape in an answer makes the compiler warn: nothing that the user could act on.
        warnings.simplefilter('ignore')
        try:
            return ast.parse(text)
        except UNREADABLE:
            return None


class _Source:
    """Looks up what stands in a text at a node of its syntax tree, without splitting the text for each."""

    def __init__(self, text: str) -> None:
        self._lines = [line.encode() for line in _LINE_END.split(text)]

    def between(self, line: int, column: int, end_line: int, end_column: int) -> str:
        """The text from one place to another; lines count from 1, columns are bytes from 0."""
        if line == end_line:
            # In one slice: what stands before it in a long line is not copied for each node.
            return self._lines[line - 1][column:end_column].decode()
        lines = self._lines[line - 1 : end_line]
        lines[-1] = lines[-1][:end_column]
        lines[0] = lines[0][column:]
        return b'\n'.join(lines).decode()

    def of(self, node: ast.expr) -> str:
        """The text of a node."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.between(node.lineno, node.col_offset, end_line, end_column)

    def follows(self, node: ast.expr, text: str) -> bool:
        """Whether a text stands right after a node."""
        line, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.between(line, column, line, column + len(text)) == text


def _call(node: ast.expr, source: _Source) -> tuple[str, Any] | None:
    if not isinstance(node, ast.Call):
        return None
    name = _dotted(node.func)
    # With a blank before the parenthesis it is prose: `Done (finally)`.
    if name is None or not source.follows(node.func, '('):
        return None
    named = {
        keyword.arg if keyword.arg is not None else '**': _value(keyword.value, source) for keyword in node.keywords
    }
    plain = [_value(argument, source) for argument in node.args]
    args: Any = named if not plain else {'args': plain, **named} if named else plain
    return name, args


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return '.'.join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _value(node: ast.expr, source: _Source) -> Any:
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    try:
        value = ast.literal_eval(node)
    except UNREADABLE:
        return source.of(node)
    # What JSON cannot say (bytes, sets, complex numbers) stays as it was written.
    if isinstance(value, bool | int | float | str | list | dict | None) and not nests_deeper(value):
        return value
    return list(value) if isinstance(value, tuple) and not nests_deeper(list(value)) else source.of(node)
