"""The cheapest alignment of two partial orders over all their legal orders, by dynamic programming over down-sets.

A cell is a pair of down-sets: what has been done of the golden side, and what of the predicted side. Its value is the
least cost of aligning some legal order of the one with some legal order of the other. The golden side goes level by
level; all predicted down-sets of a level of cells are handled at once by numpy. A predicted sequence is the partial
order in which only its prefixes are down-sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.metrics._downsets import Covers, first_level, immediate_successors, next_level
from opencompass_traj.metrics.poset import chain_partition, count_downsets, is_chain

# Larger than any sum of costs, and twice itself still fits into 64 bits.
FORBIDDEN = 1 << 61
# Cells: room for 8,192 down-sets (the most in T-Eval's and WorFBench's golden plans) beside 240 predicted steps.
DEFAULT_BUDGET = 2_000_000
# For each cell of the budget, how many a beam may keep, and how many it may look at: its order is only a guess, so
# that a few more cells buy a better bound.
_BEAM_CELLS = 4
_BEAM_WORK = 24

Ints = NDArray[np.int64]
Links = tuple[tuple[int | None, int | None], ...]


class Costs(NamedTuple):
    """What an alignment costs, in whole numbers.

    Attributes:
        pair: Matrix n_pred × n_ref: the cost of pairing two steps, or `FORBIDDEN`.
        pred_gap: The cost of a predicted step that is paired with nothing.
        ref_gap: The cost of a golden step that is paired with nothing.
    """

    pair: Ints
    pred_gap: int
    ref_gap: int


class AlignedOrders(NamedTuple):
    """The cheapest alignment found.

    Attributes:
        links: `(pred, ref)` in order, one side None where a step is alone; each side spells a legal order.
        exact: Whether no alignment of any two legal orders is cheaper.
    """

    links: Links
    exact: bool


@dataclass(frozen=True, slots=True)
class _Level:
    """Down-sets of one size: `lower[first[s]:first[s + 1]]` are the sets below set `s`, `element` what each lacks."""

    n_sets: int
    lower: Ints
    element: Ints
    first: Ints

    def covers(self, row: int) -> Iterator[tuple[int, int]]:
        span = slice(int(self.first[row]), int(self.first[row + 1]))
        return zip(self.lower[span].tolist(), self.element[span].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The predicted side: all its down-sets in one row, smallest first; `starts` are the levels' first columns."""

    cells: _Level
    starts: tuple[int, ...]
    sizes: Ints
    linear: bool


def align_orders(pred_preds: Sequence[int], ref_preds: Sequence[int], costs: Costs, *, budget: int) -> AlignedOrders:
    """Find the cheapest alignment over all legal orders of both sides.

    Args:
        pred_preds: The predicted partial order, closed, as in `poset`.
        ref_preds: The golden partial order.
        costs: Costs; more than one pair in a row of `costs.pair` may be allowed.
        budget: Number of cells that may be filled, at least 1. Where the golden down-sets times the predicted ones are
            more, each level keeps only a few of its golden down-sets, the most promising ones, with at most four times
            as many cells in all; a predicted side with too many down-sets of its own is taken in one of its legal
            orders.

    Returns:
        The alignment; exact if all cells fitted into the budget.

    Complexity:
        O(cells · width) time in numpy, 8 bytes a cell.
    """
    room = max(1, budget // (len(ref_preds) + 1))
    fits = is_chain(pred_preds) or count_downsets(pred_preds, limit=room) <= room
    columns = _columns(pred_preds if fits else _chain_of(pred_preds))
    room = budget // len(columns.sizes)
    whole = _all_levels(ref_preds, room)
    if whole is not None:
        rows, levels = _fill(whole, columns, costs)
    else:
        rows, levels = _fill_beam(ref_preds, columns, costs, width=_beam_width(ref_preds, room))
    return AlignedOrders(tuple(reversed(_trace(rows, levels, columns, costs))), whole is not None and fits)


def _all_levels(preds: Sequence[int], room: int) -> list[_Level] | None:
    """All down-sets, level by level; None if they are more than `room`."""
    following = immediate_successors(preds)
    level, total = first_level(preds), 1
    levels = [_level(1, Covers([], [], []))]
    for _ in preds:
        level, covers = next_level(level, preds, following, limit=room - total)
        total += len(level)
        if total > room:
            return None
        levels.append(_level(len(level), covers))
    return levels if total <= room else None


def _beam_width(preds: Sequence[int], room: int) -> int:
    # A set is grown by at most as many steps as the largest antichain has.
    widest = max(1, len(chain_partition(preds)))
    return max(1, min(_BEAM_CELLS * room, _BEAM_WORK * room // widest) // (len(preds) + 1))


def _chain_of(preds: Sequence[int]) -> list[int]:
    chained, done = [0] * len(preds), 0
    for v in sorted(range(len(preds)), key=lambda v: (preds[v].bit_count(), v)):
        chained[v] = done
        done |= 1 << v
    return chained


def _level(n_sets: int, covers: Covers) -> _Level:
    lower, element, upper = (np.array(part, dtype=np.int64) for part in covers)
    by_upper = np.argsort(upper, kind='stable')
    first = np.searchsorted(upper[by_upper], np.arange(n_sets + 1))
    return _Level(n_sets, lower[by_upper], element[by_upper], first)


def _columns(preds: Sequence[int]) -> _Columns:
    following = immediate_successors(preds)
    level, starts, joined = first_level(preds), [0, 1], Covers([], [], [])
    for _ in preds:
        level, covers = next_level(level, preds, following)
        below, here = starts[-2:]
        joined.lower.extend(below + s for s in covers.lower)
        joined.element.extend(covers.element)
        joined.upper.extend(here + s for s in covers.upper)
        starts.append(here + len(level))
    sizes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return _Columns(_level(starts[-1], joined), tuple(starts), sizes, starts[-1] == len(preds) + 1)


def _fill(levels: list[_Level], columns: _Columns, costs: Costs) -> tuple[list[Ints], list[_Level]]:
    rows = [(columns.sizes * costs.pred_gap)[None, :]]
    pairs = _pairs_by_cover(columns, costs)
    for level in levels[1:]:
        rows.append(_relax(rows[-1], level, columns, costs, pairs))
    return rows, levels


def _pairs_by_cover(columns: _Columns, costs: Costs) -> Ints:
    """One row for each golden step, in the order of the columns' covers: what pairing it costs there."""
    return costs.pair.T[:, columns.cells.element]


def _fill_beam(preds: Sequence[int], columns: _Columns, costs: Costs, *, width: int) -> tuple[list[Ints], list[_Level]]:
    """As `_fill`, but keep only the most promising down-sets of each level."""
    following = immediate_successors(preds)
    level = first_level(preds)
    rows = [(columns.sizes * costs.pred_gap)[None, :]]
    levels = [_level(1, Covers([], [], []))]
    pairs = _pairs_by_cover(columns, costs)
    for left in range(len(preds) - 1, -1, -1):
        level, covers = next_level(level, preds, following)
        structure = _level(len(level), covers)
        values = _relax(rows[-1], structure, columns, costs, pairs)
        if len(level) > width:
            kept = _most_promising(values, columns, costs, left, width)
            sets = list(level.items())
            level = dict(sets[s] for s in kept.tolist())
            structure, values = _select(structure, kept), values[kept]
        rows.append(values)
        levels.append(structure)
    return rows, levels


def _relax(below: Ints, level: _Level, columns: _Columns, costs: Costs, pairs: Ints) -> Ints:
    best = np.full((level.n_sets, below.shape[1]), np.iinfo(np.int64).max)
    counts = np.diff(level.first)
    # The sets' first covers together, then their second ones, …: memory stays that of the level itself.
    for turn in range(int(counts.max())):
        sets = np.flatnonzero(counts > turn)
        cover = level.first[sets] + turn
        base = below[level.lower[cover]]
        value = base + costs.ref_gap
        paired = base[:, columns.cells.lower] + pairs[level.element[cover]]
        if not columns.linear:
            paired = np.minimum.reduceat(paired, columns.cells.first[1:-1], axis=1) if paired.size else paired
        value[:, 1:] = np.minimum(value[:, 1:], paired)
        best[sets] = np.minimum(best[sets], value)
    _leave_unpaired(best, columns, costs.pred_gap)
    return best


def _leave_unpaired(values: Ints, columns: _Columns, gap: int) -> None:
    if columns.linear:
        cost = columns.sizes * gap
        values -= cost
        np.minimum.accumulate(values, axis=1, out=values)
        values += cost
        return
    cells = columns.cells
    for start, end in zip(columns.starts[1:], columns.starts[2:], strict=False):
        span = slice(int(cells.first[start]), int(cells.first[end]))
        offers = np.minimum.reduceat(values[:, cells.lower[span]], cells.first[start:end] - cells.first[start], axis=1)
        values[:, start:end] = np.minimum(values[:, start:end], offers + gap)


def _most_promising(values: Ints, columns: _Columns, costs: Costs, ref_left: int, width: int) -> Ints:
    """Keep the sets from which the cheapest conceivable rest leads to the least total."""
    pred_left = columns.sizes[-1] - columns.sizes
    both = np.minimum(pred_left, ref_left)
    cheapest = min(int(costs.pair.min(initial=FORBIDDEN)), costs.pred_gap + costs.ref_gap)
    rest = both * cheapest + (pred_left - both) * costs.pred_gap + (ref_left - both) * costs.ref_gap
    return np.sort(np.argsort((values + rest).min(axis=1), kind='stable')[:width])


def _select(level: _Level, kept: Ints) -> _Level:
    spans = [np.arange(level.first[s], level.first[s + 1]) for s in kept]
    index = np.concatenate(spans)
    first = np.cumsum([0, *map(len, spans)])
    return _Level(len(kept), level.lower[index], level.element[index], first)


def _trace(
    rows: Sequence[Ints], levels: Sequence[_Level], columns: _Columns, costs: Costs
) -> list[tuple[int | None, int | None]]:
    k, row, column = len(rows) - 1, 0, len(columns.sizes) - 1
    links = []
    while k or column:
        pred, ref, row, new_column = next(_ways(rows, k, row, column, levels[k], columns, costs))
        links.append((pred, ref))
        k, column = k - (ref is not None), new_column
    return links


def _ways(
    rows: Sequence[Ints], k: int, row: int, column: int, level: _Level, columns: _Columns, costs: Costs
) -> Iterator[tuple[int | None, int | None, int, int]]:
    """The ways in which the value of a cell can have come about, pairs first."""
    value = int(rows[k][row, column])
    before = list(columns.cells.covers(column))
    for lower, v in level.covers(row):
        for source, i in before:
            if rows[k - 1][lower, source] + costs.pair[i, v] == value:
                yield i, v, lower, source
    for lower, v in level.covers(row):
        if rows[k - 1][lower, column] + costs.ref_gap == value:
            yield None, v, lower, column
    for source, i in before:
        if rows[k][row, source] + costs.pred_gap == value:
            yield i, None, row, source
