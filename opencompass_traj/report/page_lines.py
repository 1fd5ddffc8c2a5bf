"""The lines in which two paths stand side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Line: TypeAlias = tuple[int | None, int | None]


def script_lines(alignment: Sequence[Mapping[str, Any]], n_pred: int, n_ref: int) -> tuple[Line, ...]:
    """The edit script's lines; steps that it does not name (a metric left out) come behind.

    Args:
        alignment: The edit script of a row of details.
        n_pred: Predicted steps that the row lists.
        n_ref: Golden steps that it lists.

    Returns:
        The lines, each `(pred, ref)`, indices from 0; None where a side has no step there. Every step is in one line.
    """
    rows = [(_within(step.get('pred'), n_pred), _within(step.get('ref'), n_ref)) for step in alignment]
    rows = [row for row in rows if row != (None, None)]
    seen = [{row[side] for row in rows} for side in (0, 1)]
    rows += [(index, None) for index in range(n_pred) if index not in seen[0]]
    rows += [(None, index) for index in range(n_ref) if index not in seen[1]]
    return tuple(rows)


def lines_along(rows: tuple[Line, ...], partner: Mapping[int, int], n_pred: int, n_ref: int) -> tuple[Line, ...]:
    """The lines, laid anew along the pairs of steps where more of them are in order than the script's lines hold.

    The script keeps the names' order alone: of two calls of one tool it may keep the one that is redundant.

    Args:
        rows: The script's lines.
        partner: The golden step of each matched predicted step.
        n_pred: Predicted steps.
        n_ref: Golden steps.

    Returns:
        Lines with every step once, both sides in order. Of the script's replacements those stay that still fit.
    """
    anchors = longest_increasing(sorted(partner.items()))
    if len(anchors) <= sum(line in rows for line in partner.items()):
        return rows
    taken = set(partner.values())
    swapped = {one: other for one, other in rows if one is not None and other is not None and one not in partner}
    laid: list[Line] = []
    pred, ref = 0, 0
    for one, other in (*anchors, (n_pred, n_ref)):
        for step in range(pred, one):
            golden = swapped.get(step)
            if golden is None or not ref <= golden < other or golden in taken:
                laid.append((step, None))
                continue
            laid += [*((None, left) for left in range(ref, golden)), (step, golden)]
            ref = golden + 1
        laid += [(None, left) for left in range(ref, other)]
        laid += [(one, other)] if one < n_pred else []
        pred, ref = one + 1, other + 1
    return tuple(laid)


def longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs whose second numbers increase; the first numbers do already.

    Example:
        >>> longest_increasing([(0, 2), (1, 0), (2, 1), (3, 3)])
        [(1, 0), (2, 1), (3, 3)]
    """
    ends: list[int] = []
    chains: list[int] = []
    before: list[int | None] = []
    for place, (_, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        before.append(chains[length - 1] if length else None)
        ends[length : length + 1] = [other]
        chains[length : length + 1] = [place]
    found = []
    at = chains[-1] if chains else None
    while at is not None:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _within(index: int | None, size: int) -> int | None:
    """The index of a step that the row lists; a row lists no more than a thousand of each plan."""
    return index if index is not None and index < size else None
