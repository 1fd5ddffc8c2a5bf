"""The best one-to-one mapping between the nodes of two graphs: most matched nodes plus matched edges.

A node may only stand for a node of its own block, so that most real plans leave nothing to search: a block with one
node on either side is settled at once, and what remains falls into components that no shared edge connects. Each
component is bounded, improved by heuristics and, if need be, searched (`_mapping_search`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from opencompass_traj.metrics._downsets import bits, transpose
from opencompass_traj.metrics._mapping_inputs import Edges, mask_of
from opencompass_traj.metrics._mapping_problem import (
    PROOF,
    Block,
    Floats,
    Ints,
    MappingProblem,
    Pairs,
    build_problem,
)
from opencompass_traj.metrics._mapping_search import search
from opencompass_traj.metrics._mapping_small import MOST_NODES, map_small

DEFAULT_BUDGET = 5000
_FEW_NODES = 6
# Above this many pairs matrices count the matched edges of a dense graph faster than masks do.
_MOST_COUNTED = 64


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping and what is known about better ones.

    Attributes:
        pairs: The mapped pairs (predicted node, golden node), sorted.
        value: The weight of the mapped pairs plus the weight of the edges that they match.
        upper: No mapping has a greater value.
        exact: Whether this one is proved to be best; `upper` is then `value`.
    """

    pairs: tuple[tuple[int, int], ...]
    value: float
    upper: float
    exact: bool


def best_mapping(
    blocks: Sequence[Block],
    pred_edges: Edges,
    ref_edges: Edges,
    *,
    weights: Floats | None = None,
    hint: Callable[[], Pairs] = list,
    budget: float = DEFAULT_BUDGET,
) -> Mapping:
    """Map nodes one to one within blocks so that matched nodes plus matched edges weigh the most.

    Args:
        blocks: Disjoint groups (predicted nodes, golden nodes); only nodes of one group may be mapped to each other.
        pred_edges: The predicted edges, without self-loops.
        ref_edges: The golden ones.
        weights: The worth of each pair in [0, 1], predicted nodes by rows; 0 forbids the pair. None: 1 inside a block.
            A matched edge is worth the product of its two pairs' weights.
        hint: Gives a mapping to start from, if asked. It affects the result only where the search is cut short.
        budget: The number of search nodes; one in a component of n > 20 nodes counts n² / 400.

    Returns:
        The best mapping, or the best one found with an upper bound.

    Raises:
        ValueError: If the budget is negative.
    """
    if not budget >= 0:
        raise ValueError(f'expected budget >= 0, got {budget}')
    settled, open_blocks = _settle(blocks, weights)
    straight = _straight(blocks, pred_edges, ref_edges) if weights is None and _is_small(open_blocks) else None
    if straight is not None:
        return straight
    pairs = list(settled)
    value = _value(settled, pred_edges, ref_edges, weights)
    upper = value
    left = float(budget)
    for component in _components(open_blocks, pred_edges, ref_edges):
        small = map_small(component, pred_edges, ref_edges, settled) if weights is None else None
        if small is not None:
            pairs, value, upper = pairs + small[0], value + small[1], upper + small[1]
            continue
        problem = build_problem(component, pred_edges.matrix, ref_edges.matrix, weights=weights, settled=settled)
        outcome = search(problem, _start(problem, hint()), left)
        left = max(0.0, left - outcome.spent)
        pairs += problem.pairs(outcome.perm)
        value += outcome.value
        upper += outcome.upper
    return Mapping(tuple(sorted(pairs)), value, upper, upper <= value + PROOF)


def _settle(blocks: Sequence[Block], weights: Floats | None) -> tuple[Pairs, list[Block]]:
    """Take the blocks that leave no choice out of the search. No pair with a weight above 0 is ever a loss."""
    settled: Pairs = []
    open_blocks: list[Block] = []
    for pred, ref in blocks:
        if len(pred) == len(ref) == 1:
            if weights is None or weights[pred[0], ref[0]] > 0:
                settled.append((pred[0], ref[0]))
        elif pred and ref:
            open_blocks.append((pred, ref))
    return settled, open_blocks


def _is_small(blocks: Sequence[Block]) -> bool:
    return sum(len(ref) for _, ref in blocks) <= MOST_NODES


def _straight(blocks: Sequence[Block], pred: Edges, ref: Edges) -> Mapping | None:
    """The mapping of equal tools in their order, if it leaves no golden edge unmatched that could be matched.

    No mapping is better, and `map_small` would find this one first.
    """
    if not all(len(nodes) == len(goldens) for nodes, goldens in blocks):
        return None
    back = {golden: node for nodes, goldens in blocks for node, golden in zip(nodes, goldens, strict=True)}
    mapped = mask_of(back)
    count = 0
    for golden, node in back.items():
        row = pred.rows[node]
        for other in bits(ref.rows[golden] & mapped):
            if not row >> back[other] & 1:
                return None
            count += 1
    value = float(len(back) + count)
    return Mapping(tuple(sorted((node, golden) for golden, node in back.items())), value, value, exact=True)


def _value(pairs: Pairs, pred: Edges, ref: Edges, weights: Floats | None) -> float:
    if not pairs:
        return 0.0
    if weights is None and len(pairs) <= _MOST_COUNTED:
        return float(len(pairs) + _count_edges(pairs, pred, ref))
    rows, cols = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    edges = pred.matrix[rows][:, rows] & ref.matrix[cols][:, cols]
    if weights is None:
        return float(len(pairs) + np.count_nonzero(edges))
    worth = weights[rows, cols]
    return float(worth.sum() + worth @ edges.astype(np.float64) @ worth)


def _count_edges(pairs: Pairs, pred: Edges, ref: Edges) -> int:
    """How many golden edges between mapped nodes a predicted edge stands for."""
    back = {golden: node for node, golden in pairs}
    mapped = mask_of(back)
    return sum(
        pred.rows[node] >> back[other] & 1 for node, golden in pairs for other in bits(ref.rows[golden] & mapped)
    )


def _components(blocks: list[Block], pred: Edges, ref: Edges) -> list[list[Block]]:
    """Group the blocks between which both graphs have an edge in the same direction; the smallest group first."""
    if not blocks:
        return []
    if len(blocks) == 1 or sum(len(ref) for _, ref in blocks) <= _FEW_NODES:
        return [blocks]
    in_pred, in_ref = _linked([block[0] for block in blocks], pred), _linked([block[1] for block in blocks], ref)
    groups: list[list[Block]] = []
    waiting = dict.fromkeys(range(len(blocks)))
    while waiting:
        group = [waiting.popitem()[0]]
        for member in group:
            ahead, behind = in_pred[0][member] & in_ref[0][member], in_pred[1][member] & in_ref[1][member]
            found = [other for other in waiting if (ahead | behind) >> other & 1]
            group += found
            for other in found:
                del waiting[other]
        groups.append([blocks[i] for i in sorted(group)])
    return sorted(groups, key=lambda group: sum(max(len(a), len(b)) for a, b in group))


def _linked(groups: list[Sequence[int]], edges: Edges) -> tuple[list[int], tuple[int, ...]]:
    """For each group of nodes the groups that its edges lead to, and those that they come from."""
    members = [mask_of(group) for group in groups]
    ahead = []
    for group in groups:
        reached = 0
        for node in group:
            reached |= edges.rows[node]
        ahead.append(mask_of(other for other, mask in enumerate(members) if reached & mask))
    return ahead, transpose(ahead)


def _start(problem: MappingProblem, hint: Pairs) -> Ints:
    """Follow the hint where it applies, and keep the order of the nodes where it says nothing."""
    wanted = dict(hint)
    slot_of = {int(node): slot for slot, node in enumerate(problem.ref_nodes) if node >= 0}
    perm = np.empty(problem.size, dtype=np.intp)
    for part in problem.slices:
        free = dict.fromkeys(range(part.start, part.stop))
        for row, node in enumerate(problem.pred_nodes[part].tolist(), part.start):
            slot = slot_of.get(wanted.get(node, -1), -1)
            perm[row] = slot if slot in free else -1
            free.pop(slot, None)
        rest = iter(free)
        perm[part] = [slot if slot >= 0 else next(rest) for slot in perm[part].tolist()]
    return perm
