"""Golden regular expressions, matched in time linear in the text, whatever they are."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

from opencompass_traj.plain_text import encodable

# A longer golden pattern is a fault, and a longer predicted text does not match.
MAX_PATTERN_CHARS: Final = 1_000
MAX_TEXT_CHARS: Final = 1_000
# Of a compiled pattern: a larger one is a fault, since its time and memory grow with its size.
MAX_PATTERN_BYTES: Final = 1 << 20


def pattern_matches(pattern: object, text: str | None) -> bool:
    r"""Whether a golden pattern matches a whole text.

    Patterns are RE2's: Python's `re` without look-around, backreferences and possessive repetition, and with `\d`, `\w`
    and `\s` for ASCII alone (`\p{Nd}`, `\p{L}` are Unicode's).

    Args:
        pattern: What the golden value is; see `pattern_fault`.
        text: None, and one of more than 1,000 characters, do not match.

    Returns:
        False for what is no pattern.

    Complexity: O(pattern · text) in time, and at most about 1 MiB for a pattern; no pattern backtracks.
    Measured: at most some hundredths of a second for a pattern and a text, mostly microseconds.

    Example:
        >>> pattern_matches(r'[A-Z]-\d{4}', 'A-1234'), pattern_matches('(a+)+', 'a' * 999 + '!')
        (True, False)
    """
    if not isinstance(pattern, str) or text is None or len(text) > MAX_TEXT_CHARS:
        return False
    compiled, _ = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(encodable(text)) is not None


def pattern_fault(pattern: object) -> str:
    r"""Why a golden value is no pattern; empty if it is one.

    Example:
        >>> pattern_fault(r'\d+'), pattern_fault(7)
        ('', 'expected a pattern, got a value of the type int')
        >>> pattern_fault('a(?=b)')
        "expected a pattern of RE2's syntax, got 'a(?=b)': invalid perl operator: (?="
    """
    if not isinstance(pattern, str):
        return f'expected a pattern, got a value of the type {type(pattern).__name__}'
    return _compiled(pattern)[1]


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> tuple[Any, str]:
    """The pattern ready for use, or None and what is wrong with it."""
    if len(pattern) > MAX_PATTERN_CHARS:
        return None, f'expected a pattern of at most {MAX_PATTERN_CHARS:,} characters, got {len(pattern):,}'
    options = re2.Options()
    # Else it writes to standard error what it raises too.
    options.log_errors = False
    options.max_mem = MAX_PATTERN_BYTES
    try:
        return re2.compile(pattern, options), ''
    except UnicodeEncodeError:
        # In a pattern a substitute could mean something.
        return None, f'expected a pattern without lone surrogates, got {pattern!r:.80}'
    except re2.error as error:
        reason = error.args[0] if error.args else ''
        reason = reason.decode('utf-8', 'replace') if isinstance(reason, bytes) else str(reason)
        return None, f"expected a pattern of RE2's syntax, got {pattern!r:.80}: {reason:.80}"
