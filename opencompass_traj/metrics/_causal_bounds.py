"""How many precedence pairs a mapping can keep at most, and a mapping that mostly keeps so many: no search then.

The bound takes the tools two by two. Of the golden steps of a tool, each precedes some number of steps of the other
tool, and so does each predicted step; a step that stands for another keeps no more than the smaller of the two numbers,
and these add up to the most where the steps with many stand for the steps with many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from opencompass_traj.metrics._causal_choices import golden_order, pred_order
from opencompass_traj.metrics._downsets import transpose
from opencompass_traj.metrics._mapping_inputs import mask_of
from opencompass_traj.metrics._mapping_problem import Block, Pairs

# Predicted step to golden step.
Partners: TypeAlias = dict[int, int]

_MOST_ROUNDS = 8
# Exchanges within a tool that are tried in a round.
_MOST_EXCHANGES = 20_000


def surely_most(
    blocks: Sequence[Block],
    later: Sequence[int],
    ref: tuple[Sequence[int], Sequence[int]],
    *,
    rank: Sequence[int] | None,
    hint: Callable[[], Pairs],
) -> int | None:
    """Count the precedence pairs that the best mapping keeps, where a good mapping reaches the bound.

    Args:
        blocks: For each tool its predicted and its golden steps.
        later: For each predicted step, the mask of the steps that come after it.
        ref: For each golden step, the masks of the steps that must come after it and before it.
        rank: When each predicted step was made; None: one after another.
        hint: As for `first_partners`.

    Returns:
        The greatest number; None where the bound is not reached.
    """
    after, preds = ref
    partners = first_partners(blocks, preds, after, rank, hint)
    kept = kept_by(partners, after, rank)
    if all(len(pred) == len(golden) == 1 for pred, golden in blocks):
        return kept
    most = sum(map(sum, most_possible(blocks, (later, transpose(later)), ref)))
    if kept < most and sum(len(pred) * (len(pred) + len(golden)) for pred, golden in blocks) <= _MOST_EXCHANGES:
        better = improve_partners(partners, blocks, ref, range(len(later)) if rank is None else rank)
        kept = kept_by(better, after, rank)
    return kept if kept == most else None


def first_partners(
    blocks: Sequence[Block],
    preds: Sequence[int],
    after: Sequence[int],
    rank: Sequence[int] | None,
    hint: Callable[[], Pairs],
) -> Partners:
    """Let the steps of each tool stand for its golden steps in their order.

    Args:
        blocks: For each tool its predicted and its golden steps.
        preds: For each golden step, the mask of the steps that must come before it.
        after: For each golden step, the mask of the steps that must come after it.
        rank: When each predicted step was made; None: one after another.
        hint: Pairs (predicted step, golden step), asked for where one side has more steps of a tool: of that side,
            the steps in these pairs are taken first.
    """
    partners: Partners = {}
    hinted: tuple[set[int], set[int]] | None = None
    for steps, nodes in blocks:
        if len(steps) == len(nodes) == 1:
            partners[steps[0]] = nodes[0]
            continue
        pred, ref = pred_order(steps, rank), golden_order(nodes, preds, after)
        if len(pred) != len(ref):
            hinted = hinted or _sides(hint())
            pred, ref = _wanted(pred, hinted[0], len(ref)), _wanted(ref, hinted[1], len(pred))
        partners.update(zip(pred, ref, strict=True))
    return partners


def _sides(pairs: Pairs) -> tuple[set[int], set[int]]:
    return {i for i, _ in pairs}, {v for _, v in pairs}


def _wanted(steps: Sequence[int], hinted: set[int], most: int) -> list[int]:
    """At most so many of the steps, those in the hint first, in the order in which they stand."""
    chosen = {*sorted(steps, key=lambda step: step not in hinted)[:most]}
    return [step for step in steps if step in chosen]


def kept_by(partners: Partners, after: Sequence[int], rank: Sequence[int] | None) -> int:
    """Count the precedence pairs that a mapping keeps.

    Example:
        >>> kept_by({0: 1, 1: 0, 2: 2}, (6, 4, 0), None)
        2
    """
    kept = done = together = 0
    last: int | None = None
    for i in sorted(partners, key=None if rank is None else rank.__getitem__, reverse=True):
        when = i if rank is None else rank[i]
        if when != last:
            done |= together
            together, last = 0, when
        kept += (after[partners[i]] & done).bit_count()
        together |= 1 << partners[i]
    return kept


def most_possible(
    blocks: Sequence[Block], pred: tuple[Sequence[int], Sequence[int]], ref: tuple[Sequence[int], Sequence[int]]
) -> list[list[int]]:
    """No mapping keeps more precedence pairs than these add up to: for two tools, those from the first to the second.

    Args:
        blocks: For each tool its predicted and its golden steps.
        pred: For each predicted step, the masks of the steps after it and before it.
        ref: The same for the golden steps.
    """
    table = [[0] * len(blocks) for _ in blocks]
    masks = [(mask_of(pred), mask_of(ref)) for pred, ref in blocks]
    for (ours, golden), (mask, golden_mask), row in zip(blocks, masks, table, strict=True):
        reached = 0
        for v in golden:
            reached |= ref[0][v]
        for at, ((others, other_golden), (other, other_mask)) in enumerate(zip(blocks, masks, strict=True)):
            if reached & other_mask:
                ahead = _numbers(ours, pred[0], other), _numbers(golden, ref[0], other_mask)
                behind = _numbers(others, pred[1], mask), _numbers(other_golden, ref[1], golden_mask)
                row[at] = _most(ahead, behind)
    return table


def _numbers(steps: Sequence[int], order: Sequence[int], others: int) -> list[int]:
    """How many of the others stand before, or after, each step; the largest number first."""
    if len(steps) == 1:
        return [(order[steps[0]] & others).bit_count()]
    return sorted([(order[step] & others).bit_count() for step in steps], reverse=True)


def _most(ahead: tuple[list[int], list[int]], behind: tuple[list[int], list[int]]) -> int:
    most = min(sum(map(min, *ahead)), sum(map(min, *behind)))
    if most < 2 or ahead[1][0] > 1 or behind[1][0] > 1:
        return most
    # The golden pairs have no step in common, and the predicted steps before one step are also before those after it:
    # taking the steps in turn, each with one before it that is still free, finds the most such pairs.
    found = 0
    for earlier in reversed(behind[0]):
        found += earlier > found
    return min(most, found)


def improve_partners(
    partners: Partners,
    blocks: Sequence[Block],
    ref: tuple[Sequence[int], Sequence[int]],
    rank: Sequence[int],
) -> Partners:
    """Exchange partners within tools, again and again while more precedence pairs are kept.

    Args:
        partners: A mapping; it is not changed.
        blocks: For each tool its predicted and its golden steps.
        ref: For each golden step, the masks of the steps after it and before it.
        rank: When each predicted step was made.
    """
    climb = _Climb(dict(partners), ref, rank)
    for _ in range(_MOST_ROUNDS):
        before = climb.exchanges
        for pred, golden in blocks:
            if len(pred) * len(golden) > 1:
                climb.exchange(pred, golden)
        if climb.exchanges == before:
            break
    return climb.partners


class _Climb:
    """Local search.

    Attributes:
        partners: The mapping so far.
        exchanges: How many exchanges were made.
    """

    def __init__(self, partners: Partners, ref: tuple[Sequence[int], Sequence[int]], rank: Sequence[int]) -> None:
        self.partners = partners
        self.exchanges = 0
        self._after, self._preds = ref
        self._rank = rank
        self._turns = sorted(set(rank))
        self._place()

    def exchange(self, pred: Sequence[int], golden: Sequence[int]) -> None:
        """Try all exchanges of two predicted steps, and of a partner for a golden step that is left over."""
        for i, j in combinations(pred, 2):
            v, w = self.partners.get(i), self.partners.get(j)
            if v != w and self._gain(i, j, v, w) > 0:
                self._set((i, w), (j, v))
        taken = set(self.partners.values())
        for u in [v for v in golden if v not in taken]:
            for i in pred:
                v = self.partners.get(i)
                if v is not None and self._worth(i, u, ~(1 << v)) > self._worth(i, v, -1):
                    self._set((i, u))
                    break

    def _gain(self, i: int, j: int, v: int | None, w: int | None) -> int:
        others = ~mask_of(node for node in (v, w) if node is not None)
        gain = self._worth(i, w, others) - self._worth(i, v, others)
        gain += self._worth(j, v, others) - self._worth(j, w, others)
        if v is None or w is None or self._rank[i] == self._rank[j]:
            return gain
        first, then = (v, w) if self._rank[i] < self._rank[j] else (w, v)
        return gain + (self._after[then] >> first & 1) - (self._after[first] >> then & 1)

    def _worth(self, i: int, v: int | None, others: int) -> int:
        """How many pairs with others a step keeps as `v`."""
        if v is None:
            return 0
        when = self._rank[i]
        return (self._after[v] & self._later[when] & others).bit_count() + (
            self._preds[v] & self._earlier[when] & others
        ).bit_count()

    def _set(self, *pairs: tuple[int, int | None]) -> None:
        for i, v in pairs:
            if v is None:
                del self.partners[i]
            else:
                self.partners[i] = v
        self.exchanges += 1
        self._place()

    def _place(self) -> None:
        """Find out which golden steps stand before and after each turn."""
        at: dict[int, int] = {}
        for i, v in self.partners.items():
            at[self._rank[i]] = at.get(self._rank[i], 0) | 1 << v
        self._earlier = dict(_passed(self._turns, at))
        self._later = dict(_passed(reversed(self._turns), at))


def _passed(turns: Iterable[int], at: dict[int, int]) -> Iterator[tuple[int, int]]:
    passed = 0
    for turn in turns:
        yield turn, passed
        passed |= at.get(turn, 0)
