"""What the formats have in common: JSON text, arguments, ids and depth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from opencompass_traj.parsing.literal import MAX_DEPTH, load_literal
from opencompass_traj.plan import ParseFailure, StepId

MAX_STEPS: Final = 100_000
"""Most steps that are read from one answer or recording."""

_WHOLE_NUMBER: Final = re.compile(r'-?[0-9]{1,18}')


def nests_deeper(value: object, limit: int = MAX_DEPTH) -> bool:
    """Whether lists and objects are nested more than `limit` deep, found without recursion.

    Example:
        >>> nests_deeper([[1]], 1), nests_deeper([[1]], 2)
        (True, False)
    """
    level = [value]
    for _ in range(limit):
        level = [item for container in level if isinstance(container, list | dict) for item in _inside(container)]
        if not level:
            return False
    return any(isinstance(item, list | dict) for item in level)


def decoded_args(value: object) -> Any:
    """Arguments as they are compared: None and blank text are `{}`, the text of an object is that object.

    Args:
        value: Arguments of any type. Text is read as JSON, else as a Python literal, and stays text where that is
            no object.

    Example:
        >>> decoded_args('{"city": "Lyon"}'), decoded_args("{'n': None}"), decoded_args('Lyon'), decoded_args('')
        ({'city': 'Lyon'}, {'n': None}, 'Lyon', {})
    """
    if value is None:
        return {}
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return {}
    if not (text.startswith('{') and text.endswith('}')):
        return value
    decoded = read_json(text)
    if isinstance(decoded, ParseFailure):
        decoded = load_literal(text)
    return decoded if isinstance(decoded, dict) and not nests_deeper(decoded) else value


def read_json(text: str) -> Any:
    """Read JSON text, line breaks within strings and numbers of any length included, or say that it is none.

    Returns:
        The value, in which a whole number of more than 4,300 digits is its text; or a `ParseFailure`.

    Example:
        >>> read_json('{"a": 1}')
        {'a': 1}
        >>> read_json('{a: 1}')
        ParseFailure(reason='not JSON')
    """
    try:
        return json.loads(text, strict=False, parse_int=whole_number)
    except (ValueError, RecursionError):
        return ParseFailure('not JSON')


def whole_number(digits: str) -> int | str:
    """An integer from its digits, or the digits where Python refuses to convert that many."""
    return int(digits) if len(digits) < 4300 else digits


def as_id(value: object) -> StepId | None:
    """A step's id from what was written: whole numbers become integers; None where it is no id.

    Example:
        >>> as_id('7'), as_id('call_7'), as_id(2.0), as_id(None), as_id(True)
        (7, 'call_7', 2, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value:
        return int(value) if _WHOLE_NUMBER.fullmatch(value) else value
    return None


def _inside(container: list[Any] | dict[Any, Any]) -> Iterator[Any]:
    return iter(container.values() if isinstance(container, dict) else container)
