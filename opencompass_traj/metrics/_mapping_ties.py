"""Among mappings that match equally much, one that pairs the steps a reader would pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.metrics._mapping_problem import Block, Pairs

Prefer = Callable[[int, int], float]
# Each exchange raises the preference, so the rounds end by themselves; this bounds the time on long plans.
_MAX_ROUNDS = 4


def prefer_pairs(
    pairs: Sequence[tuple[int, int]],
    blocks: Sequence[Block],
    pred: NDArray[np.bool_],
    ref: NDArray[np.bool_],
    prefer: Prefer,
) -> tuple[tuple[int, int], ...]:
    """Exchange partners inside blocks where no matched edge is lost and the pairs are preferred.

    Args:
        pairs: A mapping (predicted node, golden node).
        blocks: Disjoint groups of nodes that may stand for each other.
        pred: The predicted adjacency matrix.
        ref: The golden adjacency matrix.
        prefer: The worth of a pair.

    Returns:
        A mapping with as many pairs and at least as many matched edges, sorted. Better by exchanges of two partners
        alone, so not always the most preferred of all.
    """
    partner = np.full(len(pred), -1, dtype=np.intp)
    for node, golden in pairs:
        partner[node] = golden
    for nodes, goldens in blocks:
        if len(nodes) * len(goldens) > 1:
            worth = {(a, b): prefer(a, b) for a in nodes for b in goldens}
            _exchange(nodes, goldens, partner, (pred, ref), worth)
    return tuple((node, golden) for node, golden in enumerate(partner.tolist()) if golden >= 0)


def _exchange(
    nodes: Sequence[int],
    goldens: Sequence[int],
    partner: NDArray[np.intp],
    graphs: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    worth: dict[tuple[int, int], float],
) -> None:
    for _ in range(_MAX_ROUNDS):
        # The golden nodes left over wait behind the predicted ones, as partners of nobody.
        left_over = sorted(set(goldens) - set(partner[list(nodes)].tolist()))
        moves: Pairs = [*combinations(nodes, 2), *((node, -1 - golden) for golden in left_over for node in nodes)]
        # Every move is tried, not only those up to the first that helps.
        if not sum(_try(move, partner, graphs, worth) for move in moves):
            return


def _try(
    move: tuple[int, int],
    partner: NDArray[np.intp],
    graphs: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    worth: dict[tuple[int, int], float],
) -> bool:
    """Exchange two nodes' partners, or give a node a golden one that is left over; undone if that is no gain."""
    one, other = move
    touched = [one] if other < 0 else [one, other]
    before = partner[touched].tolist()
    after = [-1 - other] if other < 0 else before[::-1]
    if other < 0 and (before[0] < 0 or after[0] in partner):
        return False
    gain = sum(worth.get((node, golden), 0.0) for node, golden in zip(touched, after, strict=True))
    gain -= sum(worth.get((node, golden), 0.0) for node, golden in zip(touched, before, strict=True))
    if gain <= 0:
        return False
    kept = _matched_edges(touched, partner, graphs)
    partner[touched] = after
    if _matched_edges(touched, partner, graphs) >= kept:
        return True
    partner[touched] = before
    return False


def _matched_edges(
    touched: Sequence[int], partner: NDArray[np.intp], graphs: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> int:
    """How many matched edges begin or end at the touched nodes."""
    pred, ref = graphs
    mapped = np.flatnonzero(partner >= 0)
    golden = partner[mapped]
    count = 0
    for at, node in enumerate(touched):
        if partner[node] < 0:
            continue
        # An edge between two touched nodes counts once.
        others = ~np.isin(mapped, touched[:at])
        count += int((pred[node, mapped] & ref[partner[node], golden] & others).sum())
        count += int((pred[mapped, node] & ref[golden, partner[node]] & others).sum())
    return count
