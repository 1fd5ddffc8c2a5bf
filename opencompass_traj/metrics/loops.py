"""Loops in a list of calls: blocks of one or more calls that are made again at once, exactly or nearly.

A *loop* is a block of `period` calls made `repeats` times in a row. Only what follows at once counts: the same look-up
after other work may well be needed (the state may have changed), so it is counted apart, as `recurring_steps`, and is
no loop. A repetition right after a recorded error is a retry, and no blind repeat. `metrics._calls` says when two calls
are equal, exactly or nearly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from opencompass_traj.metrics._calls import Calls, read_calls
from opencompass_traj.plan import Plan

DEFAULT_NEAR: Final = 0.9
DEFAULT_MAX_PERIOD: Final = 16
DEFAULT_MAX_RETRIES: Final = 3

MAX_PLACES: Final = 100
"""How many places are listed; the counts are over all of them."""

_EXACT, _NEAR, _RETRY = 1, 2, 3


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """One block of calls, and how often it is made in a row.

    Attributes:
        start: Index of its first call in the plan, from 0. (Calls of one turn have no order; they are taken in the
            order of their names and arguments.)
        period: How many calls the block has. 1: one call is repeated; more: a cycle.
        repeats: How many times the block is made, the first time included.
        exact: Whether all repetitions are exact.
        repeated: Calls counted for this place as blind repeats.
        retries: Calls counted for this place as retries after a recorded error.
        names: The tools of the block.
    """

    start: int
    period: int
    repeats: int
    exact: bool
    repeated: int
    retries: int
    names: tuple[str, ...]

    @property
    def calls(self) -> int:
        """How many calls it has in all: `period · repeats`."""
        return self.period * self.repeats


@dataclass(frozen=True, slots=True)
class Loops:
    """The loops of one plan. Each call is counted at most once, as one of exact, near, retry, recurring or none.

    Attributes:
        n_calls: The number of calls.
        exact_repeats: Calls in a loop that equal the call one period before.
        near_repeats: Calls in a loop that nearly equal it.
        retries: Calls in a loop that were made because a call came back with an error.
        recurring_steps: Calls outside of these that equal some earlier call; they need not be wrong.
        cycles: Places of period 2 or more with a blind repeat.
        longest_loop: Calls of the longest place with a blind repeat; 0 without one.
        n_places: The number of places.
        places: The places in order, the `MAX_PLACES` longest where there are more.
    """

    n_calls: int
    exact_repeats: int
    near_repeats: int
    retries: int
    recurring_steps: int
    cycles: int
    longest_loop: int
    n_places: int
    places: tuple[LoopPlace, ...]

    @property
    def repeated_steps(self) -> int:
        """Blind repeats, exact or near."""
        return self.exact_repeats + self.near_repeats

    @property
    def has_loop(self) -> bool:
        """Whether there is a blind repeat."""
        return self.repeated_steps > 0

    @property
    def repeated_share(self) -> float:
        """`repeated_steps / n_calls`, in [0, 1); without calls 0."""
        return self.repeated_steps / self.n_calls if self.n_calls else 0.0


def find_loops(
    plan: Plan,
    *,
    near: float = DEFAULT_NEAR,
    min_repeats: int = 2,
    max_period: int = DEFAULT_MAX_PERIOD,
    max_retries: int = DEFAULT_MAX_RETRIES,
) -> Loops:
    """Find the blocks of calls that are made several times in a row.

    Shorter periods come first: A, A, A, A is one call made four times, not a cycle of two. A longer block is a place of
    its own if at least one call in its repetitions is in no place of a shorter period, and only such calls are counted
    for it. Where a cycle ends in the middle (A, B, A, B, A), whole blocks count, from the first call on.

    A call in a repetition is a retry if the call one period before it failed, or if the block before ended in a failed
    call. Only the first `max_retries` repetitions of a place can be retries: to go on after that is blind.

    Args:
        plan: The calls. `Step.failed` tells retries from repeats; `Step.turn` says which calls are parallel.
        near: The least similarity of two texts that differ, in [0, 1]; 1 asks for equality but for case and space.
        min_repeats: How many times in a row make a loop, at least 2.
        max_period: The longest block that is looked for, at least 1.
        max_retries: How many repetitions after an error may pass as retries, at least 0.

    Returns:
        Counts and places. A plan of fewer than two calls has none.

    Raises:
        ValueError: If an option is out of its range.

    Complexity:
        O(n · max_period) comparisons of calls, each linear in the length of their arguments; texts of up to
        `_calls.MAX_NEAR_CHARS` take O(length² / 64) where they are neither equal nor of different shape.

    Example:
        >>> found = find_loops(Plan.of('A', 'B', 'A', 'B', 'C'))
        >>> found.repeated_steps, found.longest_loop, found.places[0].names
        (2, 4, ('A', 'B'))
    """
    _check(near, min_repeats, max_period, max_retries)
    if _all_tools_differ(plan):
        return Loops(len(plan), 0, 0, 0, 0, 0, 0, 0, ())
    calls = read_calls(plan)
    search = _Search(plan, calls, bytearray(len(plan)), max_retries)
    places: list[LoopPlace] = []
    for period in range(1, min(max_period, len(plan) // 2) + 1):
        for start, length in _runs(calls.alike(period, near)):
            repeats = length // period + 1
            if repeats >= min_repeats:
                places.extend(search.place(start, period, repeats))
    return _summary(calls, search.kinds, places)


class _Search(NamedTuple):
    plan: Plan
    calls: Calls
    kinds: bytearray  # what each call was found to be, 0: nothing so far
    max_retries: int

    def place(self, start: int, period: int, repeats: int) -> Iterator[LoopPlace]:
        """Mark the calls that this place is the first to repeat; no place where there are none."""
        stop = start + period * repeats
        fresh = [i for i in range(start + period, stop) if not self.kinds[i]]
        if not fresh:
            return
        ids, origin = self.calls.ids[start:stop], self.calls.origin
        for i in fresh:
            equal = ids[i - start] == ids[i - start - period]
            self.kinds[i] = _RETRY if self._is_retry(i, start, period) else _EXACT if equal else _NEAR
        retries = sum(self.kinds[i] == _RETRY for i in fresh)
        yield LoopPlace(
            start=origin[start],
            period=period,
            repeats=repeats,
            exact=ids[period:] == ids[:-period],
            repeated=len(fresh) - retries,
            retries=retries,
            names=tuple(self.plan.steps[i].name for i in origin[start : start + period]),
        )

    def _is_retry(self, index: int, start: int, period: int) -> bool:
        block = (index - start) // period
        before = (index - period, start + block * period - 1)
        failed = any(self.plan.steps[self.calls.origin[i]].failed is True for i in before)
        return failed and block <= self.max_retries


def _all_tools_differ(plan: Plan) -> bool:
    return len({step.name for step in plan.steps}) == len(plan)


def _summary(calls: Calls, kinds: bytearray, places: list[LoopPlace]) -> Loops:
    blind = [place for place in places if place.repeated]
    longest = sorted(places, key=lambda place: (-place.calls, place.start, place.period))[:MAX_PLACES]
    return Loops(
        n_calls=len(kinds),
        exact_repeats=kinds.count(_EXACT),
        near_repeats=kinds.count(_NEAR),
        retries=kinds.count(_RETRY),
        recurring_steps=_recurring(calls, kinds),
        cycles=sum(place.period > 1 for place in blind),
        longest_loop=max((place.calls for place in blind), default=0),
        n_places=len(places),
        places=tuple(sorted(longest, key=lambda place: (place.start, place.period))),
    )


def _recurring(calls: Calls, kinds: bytearray) -> int:
    seen: set[int] = set()
    recurring = 0
    for number, kind in zip(calls.ids, kinds, strict=True):
        recurring += number in seen and not kind
        seen.add(number)
    return recurring


def _check(near: float, min_repeats: int, max_period: int, max_retries: int) -> None:
    if not 0 <= near <= 1:
        raise ValueError(f'expected `near` in [0, 1], got {near}')
    for name, value, least in (
        ('min_repeats', min_repeats, 2),
        ('max_period', max_period, 1),
        ('max_retries', max_retries, 0),
    ):
        if value < least:
            raise ValueError(f'expected `{name}` of at least {least}, got {value}')


def _runs(alike: bytearray) -> Iterator[tuple[int, int]]:
    """The longest stretches of ones: where each starts, and its length."""
    start = alike.find(1)
    while start >= 0:
        stop = alike.find(0, start)
        stop = len(alike) if stop < 0 else stop
        yield start, stop - start
        start = alike.find(1, stop)
