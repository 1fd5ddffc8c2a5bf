"""Blocks in which a model thinks aloud: what is in them is no answer."""

from __future__ import annotations

import re
from typing import Final

from opencompass_traj.plan import ParseFailure

_TAG: Final = re.compile(
    r'<(?P<close>/?)(?P<name>think|thinking|thought|reasoning)>|(?P<mark>\[/?THINK\]|◁/?think▷)', re.IGNORECASE
)
_WORDS: Final = ('think', 'thought', 'reasoning')


def without_reasoning(text: str) -> str | ParseFailure:
    """Cut the reasoning blocks out of an answer.

    A block runs from `<think>`, `<thinking>`, `<thought>`, `<reasoning>`, `[THINK]` or `◁think▷` to the closing tag of
    the same name; an opening tag within it is text. What stands before a closing tag that nothing opened is reasoning
    too: chat templates often write the opening tag themselves.

    Args:
        text: The answer.

    Returns:
        The answer without them; a failure if a block is not closed, because then no answer was given.

    Complexity: linear in the text.

    Example:
        >>> without_reasoning('<think>search or book?</think>[{"name": "book"}]')
        '[{"name": "book"}]'
        >>> without_reasoning('<think>I would call [{"name": "book"}]')
        ParseFailure(reason='the answer ends inside its reasoning')
    """
    # Most answers have none of the words, and looking for them takes a tenth of the pattern's time. Outside ASCII,
    # other letters are the same to the pattern, such as the long s.
    if text.isascii() and not any(word in text.lower() for word in _WORDS):
        return text
    kept: list[str] = []
    opened = ''
    position = 0
    for tag in _TAG.finditer(text):
        name = (tag['name'] or tag['mark'].replace('/', '')).lower()
        closes = bool(tag['close']) or '/' in (tag['mark'] or '')
        if not opened and not closes:
            kept.append(text[position : tag.start()])
            opened = name
        elif closes and opened in {'', name}:
            if not opened:
                kept.clear()
            opened = ''
            position = tag.end()
    if opened:
        return ParseFailure('the answer ends inside its reasoning')
    return ''.join([*kept, text[position:]])
