"""Text of others, such as a model's, made fit to be shown."""

from __future__ import annotations

import json
import re
from typing import Any, Final

MAX_TEXT: Final = 200
_SURROGATE: Final = re.compile(r'\\u[dD][89a-fA-F]')


def plain(text: str, *, limit: int = MAX_TEXT) -> str:
    r"""Text fit for a terminal: control, bidirectional and other invisible characters as escapes, cut at a limit.

    Example:
        >>> plain('a\x1b[31m\u202eb')
        'a\\x1b[31m\\u202eb'
    """
    cut = text if len(text) <= limit else text[: limit - 1] + '…'
    return ''.join(one if one.isprintable() else one.encode('unicode_escape').decode() for one in cut)


def encodable(text: str) -> str:
    r"""Replace what UTF-8 cannot hold (lone surrogates) by `?`: tokenizers, Arrow and files of text stop at it.

    Example:
        >>> encodable('a\ud800')
        'a?'
    """
    return text.encode('utf-8', 'replace').decode('utf-8')


def json_value(text: str) -> Any:
    r"""What a JSON text holds, with `?` for lone surrogates, which no file or table can take.

    Raises:
        ValueError: If it is no JSON.
        RecursionError: If it is nested too deep.

    Example:
        >>> json_value(r'{"name": "a\ud800", "smile": "\ud83d\ude00"}')
        {'name': 'a?', 'smile': '😀'}
    """
    value = json.loads(text)
    if not _SURROGATE.search(text):
        return value
    return json.loads(encodable(json.dumps(value, ensure_ascii=False)))
