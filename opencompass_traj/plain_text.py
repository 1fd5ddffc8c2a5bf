"""Text of others, such as a model's, made fit to be shown."""

from __future__ import annotations

from typing import Final

MAX_TEXT: Final = 200


def plain(text: str, *, limit: int = MAX_TEXT) -> str:
    r"""Text fit for a terminal: control, bidirectional and other invisible characters as escapes, cut at a limit.

    Example:
        >>> plain('a\x1b[31m\u202eb')
        'a\\x1b[31m\\u202eb'
    """
    cut = text if len(text) <= limit else text[: limit - 1] + '…'
    return ''.join(one if one.isprintable() else one.encode('unicode_escape').decode() for one in cut)
