"""What a recording says about its run: whether the task was solved, tokens, seconds, money."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, Final

from opencompass_traj.plan import RunRecord

_SOLVED: Final = frozenset({'success', 'succeeded', 'successful', 'solved', 'resolved', 'pass', 'passed', 'correct'})
_UNSOLVED: Final = frozenset(
    {'failure', 'failed', 'fail', 'unsuccessful', 'unsolved', 'unresolved', 'incorrect', 'wrong'}
)
_ALMOST_ONE: Final = 1 - 1e-6

_TOTAL_TOKENS: Final = ('total_tokens', 'total_token_count', 'totalTokenCount', 'totalTokens')
_INPUT_TOKENS: Final = (
    'input_tokens', 'prompt_tokens', 'prompt_token_count', 'promptTokenCount', 'inputTokens', 'total_prompt_tokens',
)  # fmt: skip
_OUTPUT_TOKENS: Final = (
    'output_tokens', 'completion_tokens', 'candidates_token_count', 'candidatesTokenCount', 'outputTokens',
    'total_completion_tokens',
)  # fmt: skip
# Anthropic counts what it writes to and reads from its cache beside `input_tokens`, not within it.
_CACHE_TOKENS: Final = ('cache_creation_input_tokens', 'cache_read_input_tokens')
_USAGE: Final = ('usage', 'usage_metadata', 'usageMetadata')

_WHOLE_NUMBER: Final = re.compile(r'[0-9]{1,20}')
_FRACTION: Final = re.compile(r'\.([0-9]+)')


def amount(value: object) -> float | None:
    """A number that is finite and at least 0, else None. Booleans and texts are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def total(values: Iterable[float | None]) -> float | None:
    """The sum, or None where there is nothing to sum or one of the values is missing: half a figure is none."""
    known: list[float] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return amount(sum(known)) if known else None


def usage_tokens(usage: object) -> float | None:
    """Tokens of one usage object: its total, else input and output (with Anthropic's cache) if both are there.

    Example:
        >>> usage_tokens({'prompt_tokens': 10, 'completion_tokens': 5}), usage_tokens({'prompt_tokens': 10})
        (15.0, None)
    """
    if not isinstance(usage, dict):
        return None
    whole = _first_amount(usage, _TOTAL_TOKENS)
    if whole is not None:
        return whole
    cached = [number for key in _CACHE_TOKENS if (number := amount(usage.get(key))) is not None]
    return total([_first_amount(usage, _INPUT_TOKENS), _first_amount(usage, _OUTPUT_TOKENS), *cached])


def message_tokens(message: dict[str, Any]) -> float | None:
    """Tokens that a message or a whole recording states under `usage` or `usage_metadata`."""
    for key in _USAGE:
        if (tokens := usage_tokens(message.get(key))) is not None:
            return tokens
    return None


def run_record(
    holder: object, *, tokens: float | None = None, latency: float | None = None, cost: float | None = None
) -> RunRecord:
    """Read what an object says about the run that it holds.

    Args:
        holder: The object; anything else says nothing.
        tokens: What the messages say, where the object does not: `tokens`, then `usage`.
        latency: Seconds that the messages say, where the object does not: `latency`, `latency_s`, `duration`,
            `duration_s`, or `latency_ms`, `duration_ms` in milliseconds.
        cost: What the messages say, where the object does not: `cost`, `total_cost`, `cost_usd`, `total_cost_usd`.

    Returns:
        The figures; those that are no number of at least 0 are missing. `solved` is the first of these that says
        it: the booleans `solved` and `success`; `reward` (also in `reward_info`), where 1 or above, to a millionth,
        is solved and every other number is not; `outcome`, a boolean or one of the words `success`, `succeeded`,
        `successful`, `solved`, `resolved`, `pass`, `passed`, `correct` against `failure`, `failed`, `fail`,
        `unsuccessful`, `unsolved`, `unresolved`, `incorrect`, `wrong`, in any case.

    Example:
        >>> run_record({'reward': 1.0, 'usage': {'total_tokens': 70}, 'latency': 2})
        RunRecord(solved=True, tokens=70.0, latency=2.0, cost=None)
    """
    if not isinstance(holder, dict):
        return RunRecord(None, tokens, latency, cost)
    stated = amount(holder.get('tokens'))
    if stated is None:
        stated = message_tokens(holder)
    seconds = _first_amount(holder, ('latency', 'latency_s', 'duration', 'duration_s'))
    if seconds is None and (milliseconds := _first_amount(holder, ('latency_ms', 'duration_ms'))) is not None:
        seconds = milliseconds / 1000
    money = _first_amount(holder, ('cost', 'total_cost', 'cost_usd', 'total_cost_usd'))
    return RunRecord(
        solved=_solved(holder),
        tokens=tokens if stated is None else stated,
        latency=latency if seconds is None else seconds,
        cost=cost if money is None else money,
    )


def _first_amount(holder: dict[str, Any], keys: Sequence[str]) -> float | None:
    return next((number for key in keys if (number := amount(holder.get(key))) is not None), None)


def _solved(holder: dict[str, Any]) -> bool | None:
    info = holder.get('reward_info')
    rewards = (holder.get('reward'), info.get('reward') if isinstance(info, dict) else None)
    votes = [
        *(value if isinstance(value, bool) else None for value in (holder.get('solved'), holder.get('success'))),
        *(_rewarded(value) for value in rewards),
        _outcome(holder.get('outcome')),
    ]
    return next((vote for vote in votes if vote is not None), None)


def _rewarded(reward: object) -> bool | None:
    # Comparing needs no conversion: a whole number may be too long for a float.
    if not isinstance(reward, int | float) or (isinstance(reward, float) and math.isnan(reward)):
        return None
    return reward >= _ALMOST_ONE


def _outcome(outcome: object) -> bool | None:
    if isinstance(outcome, bool):
        return outcome
    word = outcome.strip().lower() if isinstance(outcome, str) else ''
    return True if word in _SOLVED else False if word in _UNSOLVED else None


def nanoseconds(value: object) -> int | None:
    """A point in time in nanoseconds since 1970, from such a number or its text, or from an ISO 8601 text.

    Returns:
        The time; None for anything else. A text without a time zone is taken for UTC.

    Example:
        >>> nanoseconds('1970-01-01T00:00:01Z'), nanoseconds('5'), nanoseconds('soon')
        (1000000000, 5, None)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < 10**20 else None
    if not isinstance(value, str) or len(value) > 40:
        return None
    if _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    # Python 3.10 reads three or six digits of a fraction alone, and no Z.
    written = _FRACTION.sub(lambda fraction: f'.{fraction[1]:0<6.6}', value.replace('Z', '+00:00'))
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    try:
        since = zoned - datetime(1970, 1, 1, tzinfo=timezone.utc)
    except OverflowError:
        return None
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def seconds_between(times: Sequence[int | None]) -> float | None:
    """Seconds from the earliest to the latest time; None where there is none or one is missing."""
    known = [time for time in times if time is not None]
    return (max(known) - min(known)) / 10**9 if known and len(known) == len(times) else None
