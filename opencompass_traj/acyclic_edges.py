"""Edges that close no cycle, chosen one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Final

MAX_CYCLE_STEPS: Final = 2_000_000
"""How many edges are walked, in all, to find out whether an edge closes a cycle; about a second."""

_CYCLE: Final = 'depends on step {}, which would close a cycle'
_UNCHECKED: Final = 'depends on step {} against the order so far, and it would take too long to look for a cycle'


def sorted_steps(size: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The steps in an order that all edges agree with, or in the plan's order if there is none."""
    before: dict[int, list[int]] = {step: [] for step in range(size)}
    for source, target in edges:
        before[target].append(source)
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError:
        return list(range(size))


class AcyclicEdges:
    """Edges added one by one, each refused that would close a cycle.

    Keeps a topological order (Pearce and Kelly 2006): an edge that agrees with it costs nothing, and for another one
    the steps between its ends are searched.
    """

    def __init__(self, order: list[int]) -> None:
        size = len(order)
        self._rank = sorted(range(size), key=order.__getitem__)
        self._after: list[dict[int, None]] = [{} for _ in range(size)]
        self._before: list[dict[int, None]] = [{} for _ in range(size)]
        self._budget = MAX_CYCLE_STEPS

    def add(self, source: int, target: int) -> str | None:
        """Add an edge, or say why not."""
        if source in self._after[target] or (
            self._rank[source] > self._rank[target] and not self._swap(source, target)
        ):
            return _CYCLE if self._budget > 0 else _UNCHECKED
        self._after[source][target] = None
        self._before[target][source] = None
        return None

    def edges(self) -> Iterator[tuple[int, int]]:
        """The edges that were added, as (source, target)."""
        return ((source, target) for source, targets in enumerate(self._after) for target in targets)

    def _swap(self, source: int, target: int) -> bool:
        """Make the order put `source` before `target`, if it can."""
        low, high = self._rank[target], self._rank[source]
        later = self._reach(target, self._after, low, high)
        if source in later or self._budget <= 0:
            return False
        earlier = self._reach(source, self._before, low, high)
        if self._budget <= 0:
            return False
        moved = [*sorted(earlier, key=self._rank.__getitem__), *sorted(later, key=self._rank.__getitem__)]
        for step, rank in zip(moved, sorted(self._rank[step] for step in moved), strict=True):
            self._rank[step] = rank
        return True

    def _reach(self, start: int, links: list[dict[int, None]], low: int, high: int) -> set[int]:
        seen, stack = {start}, [start]
        while stack and self._budget > 0:
            here = links[stack.pop()]
            self._budget -= len(here) + 1
            new = [step for step in here if step not in seen and low <= self._rank[step] <= high]
            seen.update(new)
            stack.extend(new)
        return seen
