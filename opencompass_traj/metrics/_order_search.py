"""The cheapest alignment of two partial orders over all their legal orders, by best-first search.

A state is a pair of down-sets: what has been done of the predicted side, and what of the golden side. The labels that
both sides still have bound what the rest must cost (A*, Hart, Nilsson and Raphael 1968). A prediction close to the
golden plan leaves few states below the cost of a first guess, however many down-sets there are; `_order_dp` goes
through all of them, and is for what the search gives up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from opencompass_traj.metrics._downsets import bits, first_level, immediate_successors
from opencompass_traj.metrics._order_dp import Links

_Key = tuple[int, int]
_Link = tuple[int | None, int | None]


class SearchResult(NamedTuple):
    """What the search found.

    Attributes:
        links: As in `AlignedOrders`; None where no alignment is cheaper than asked for, or the search gave up.
        at_least: No alignment costs less; what `links` cost, or what was asked for, unless the search gave up.
        done: Whether it did not give up.
    """

    links: Links | None
    at_least: int
    done: bool


@dataclass(frozen=True, slots=True)
class _Side:
    """A partial order with a label for each step; `of_label` are the masks of a label's steps."""

    labels: Sequence[int]
    preds: Sequence[int]
    following: Sequence[Sequence[int]]
    of_label: dict[int, int]

    @classmethod
    def of(cls, labels: Sequence[int], preds: Sequence[int]) -> _Side:
        """Gather what the search asks of a side again and again."""
        of_label: dict[int, int] = {}
        for step, label in enumerate(labels):
            of_label[label] = of_label.get(label, 0) | 1 << step
        return cls(labels, preds, immediate_successors(preds), of_label)

    def left(self, label: int, done: int) -> int:
        """How many steps of a label are still to come."""
        return (self.of_label.get(label, 0) & ~done).bit_count()

    def free_after(self, step: int, free: int, done: int) -> int:
        """What may come next once `step`, the last of `done`, has come."""
        free &= ~(1 << step)
        for other in self.following[step]:
            if not self.preds[other] & ~done:
                free |= 1 << other
        return free


class _State(NamedTuple):
    pred_done: int
    ref_done: int
    pred_free: int
    ref_free: int
    cost: int
    shared: int


def search_orders(
    pred: tuple[Sequence[int], Sequence[int]],
    ref: tuple[Sequence[int], Sequence[int]],
    *,
    substitutes: bool,
    below: int,
    limit: int,
) -> SearchResult:
    """Find the cheapest alignment over all legal orders of both sides, if it costs less than `below`.

    Args:
        pred: The predicted labels, and the partial order of the steps as in `poset`.
        ref: The golden ones.
        substitutes: Whether two steps of different labels may be paired for 1; equal labels cost 0, a step alone 1.
        below: The cost of an alignment that is known.
        limit: How many states may be made before the search gives up.

    Returns:
        The alignment, or none.
    """
    return _Search(_Side.of(*pred), _Side.of(*ref), substitutes=substitutes, below=below, limit=limit).run()


class _Search:
    def __init__(self, pred: _Side, ref: _Side, *, substitutes: bool, below: int, limit: int) -> None:
        self.pred = pred
        self.ref = ref
        self.substitutes = substitutes
        self.below = below
        self.limit = limit
        # How each state was reached most cheaply.
        self.came: dict[_Key, tuple[int, _Link | None, _Key]] = {}
        self.waiting: dict[int, list[_State]] = {}

    def run(self) -> SearchResult:
        """Go through the states, the least total first."""
        sizes = len(self.pred.labels), len(self.ref.labels)
        shared = sum(min(mask.bit_count(), self.ref.left(label, 0)) for label, mask in self.pred.of_label.items())
        start = _State(0, 0, first_level(self.pred.preds)[0], first_level(self.ref.preds)[0], 0, shared)
        goal = (1 << sizes[0]) - 1, (1 << sizes[1]) - 1
        least = self._rest(*sizes, shared)
        self.came[0, 0] = (0, None, (0, 0))
        self.waiting[least] = [start]
        for total in range(least, self.below):
            # The last state first: it is the nearest to the end.
            waiting = self.waiting.setdefault(total, [])
            while waiting:
                state = waiting.pop()
                if state[:2] == goal:
                    return SearchResult(self._links(goal), total, done=True)
                # Steps made together, beside golden ones without an order, may be paired in very many ways.
                ways = state.pred_free.bit_count() * state.ref_free.bit_count()
                if len(self.came) + ways > self.limit:
                    return SearchResult(None, total, done=False)
                if self.came[state[:2]][0] == state.cost:
                    self._grow(state)
        return SearchResult(None, self.below, done=True)

    def _rest(self, pred_left: int, ref_left: int, shared: int) -> int:
        """What remains costs at least this, whatever the order."""
        if self.substitutes:
            return max(pred_left, ref_left) - shared
        return pred_left + ref_left - 2 * shared

    def _grow(self, state: _State) -> None:
        """Make all states that one more link leads to, the most promising ones last."""
        preds, refs = bits(state.pred_free)[::-1], bits(state.ref_free)[::-1]
        for v in refs:
            self._offer(state, None, v)
        for i in preds:
            self._offer(state, i, None)
        pairs = [(i, v) for i in preds for v in refs]
        equal = [self.pred.labels[i] == self.ref.labels[v] for i, v in pairs]
        if self.substitutes:
            for (i, v), same in zip(pairs, equal, strict=True):
                if not same:
                    self._offer(state, i, v)
        for (i, v), same in zip(pairs, equal, strict=True):
            if same:
                self._offer(state, i, v, same=True)

    def _offer(self, state: _State, i: int | None, v: int | None, *, same: bool = False) -> None:
        pred_done = state.pred_done if i is None else state.pred_done | 1 << i
        ref_done = state.ref_done if v is None else state.ref_done | 1 << v
        cost = state.cost + (not same)
        key = (pred_done, ref_done)
        known = self.came.get(key)
        if known is not None and known[0] <= cost:
            return
        shared = state.shared - 1 if same else self._shared_without(state, i, v)
        pred_left = len(self.pred.labels) - pred_done.bit_count()
        total = cost + self._rest(pred_left, len(self.ref.labels) - ref_done.bit_count(), shared)
        if total >= self.below:
            return
        self.came[key] = (cost, (i, v), state[:2])
        pred_free = state.pred_free if i is None else self.pred.free_after(i, state.pred_free, pred_done)
        ref_free = state.ref_free if v is None else self.ref.free_after(v, state.ref_free, ref_done)
        made = _State(pred_done, ref_done, pred_free, ref_free, cost, shared)
        self.waiting.setdefault(total, []).append(made)

    def _shared_without(self, state: _State, i: int | None, v: int | None) -> int:
        """How many steps can still be paired with an equal one when these two are not."""
        shared = state.shared
        if i is not None:
            label = self.pred.labels[i]
            shared -= self.pred.left(label, state.pred_done) <= self.ref.left(label, state.ref_done)
        if v is not None:
            label = self.ref.labels[v]
            shared -= self.ref.left(label, state.ref_done) <= self.pred.left(label, state.pred_done)
        return shared

    def _links(self, key: _Key) -> Links:
        links = []
        while (link := self.came[key][1]) is not None:
            links.append(link)
            key = self.came[key][2]
        return tuple(reversed(links))
