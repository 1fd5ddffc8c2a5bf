"""The quadratic assignment problem behind a best mapping, in padded form, with its relaxation.

A *block* is a set of predicted and golden nodes that may stand for one another; nodes of different blocks may not. Each
block is padded with edgeless nodes of no weight to the same number of nodes on both sides, the *slots*. Any partial
mapping then extends, without loss, to a permutation of the slots that stays inside the blocks, so that neither the
bounds nor the search need a case for a node that is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Block: TypeAlias = tuple[Sequence[int], Sequence[int]]
Pairs: TypeAlias = list[tuple[int, int]]

# Two values closer than TOLERANCE are the same; a value within PROOF of its upper bound is proved to be best.
TOLERANCE = 1e-9
PROOF = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class MappingProblem:
    """Choose a permutation of the slots, block by block, that maximises matched nodes plus matched edges.

    Attributes:
        slices: The slots of each block.
        pred_nodes: The predicted node in each slot, or -1 for padding.
        ref_nodes: The golden node in each slot, or -1 for padding.
        pred: Predicted adjacency between slots, 0 or 1.
        ref: Golden adjacency between slots, 0 or 1.
        weight: What a pair of slots is worth as a node match, in [0, 1]; 0 outside the blocks.
        unary: `weight`, plus the edges that the pair completes with the nodes that are already settled.
        integral: Whether every weight is 0 or 1, so that every value is a whole number.
    """

    slices: tuple[slice, ...]
    pred_nodes: Ints
    ref_nodes: Ints
    pred: Floats
    ref: Floats
    weight: Floats
    unary: Floats
    integral: bool

    @property
    def size(self) -> int:
        """The number of slots."""
        return len(self.pred_nodes)

    def value(self, perm: Ints) -> float:
        """Matched nodes plus matched edges when slot `i` stands for slot `perm[i]`."""
        rows = np.arange(self.size)
        worth = self.weight[rows, perm]
        edges = worth @ (self.pred * self.ref[perm][:, perm]) @ worth
        return float(self.unary[rows, perm].sum() + edges)

    def gradient(self, perm: Ints) -> Floats:
        """What each pair of slots would bring while all other slots stay as `perm` has them."""
        worth = self.weight[np.arange(self.size), perm]
        return self.linearised(np.arange(self.size), perm, worth)

    def linearised(self, rows: Ints, cols: Ints, worth: Floats) -> Floats:
        """The worth of each pair of slots, its edges to the pairs `rows`, `cols` included."""
        outgoing = (self.pred[:, rows] * worth) @ self.ref[:, cols].T
        incoming = (self.pred[rows].T * worth) @ self.ref[cols]
        return self.unary + self.weight * (outgoing + incoming)

    def floor(self, bound: float) -> float:
        """Sharpen an upper bound: whole numbers cannot lie between whole numbers."""
        return float(math.floor(bound + PROOF)) if self.integral else bound

    def pairs(self, perm: Ints) -> Pairs:
        """The mapping that a permutation stands for, padding and worthless pairs left out."""
        kept = (self.pred_nodes >= 0) & (self.ref_nodes[perm] >= 0)
        kept &= self.weight[np.arange(self.size), perm] > 0
        return list(zip(self.pred_nodes[kept].tolist(), self.ref_nodes[perm][kept].tolist(), strict=True))


def build_problem(
    blocks: Sequence[Block],
    pred_adjacency: NDArray[np.bool_],
    ref_adjacency: NDArray[np.bool_],
    *,
    weights: Floats | None,
    settled: Pairs,
) -> MappingProblem:
    """Pad the blocks and count the edges to settled nodes as worth of single pairs."""
    sizes = [max(len(pred), len(ref)) for pred, ref in blocks]
    ends = np.cumsum(sizes)
    slices = tuple(slice(int(end) - size, int(end)) for size, end in zip(sizes, ends, strict=True))
    pred_nodes = _padded([pred for pred, _ in blocks], sizes)
    ref_nodes = _padded([ref for _, ref in blocks], sizes)
    real = (pred_nodes >= 0)[:, None] & (ref_nodes >= 0)
    weight = np.zeros(real.shape)
    for part in slices:
        weight[part, part] = 1.0
    weight = weight * real if weights is None else weight * real * weights[np.ix_(pred_nodes, ref_nodes)]
    unary = weight * (1.0 + _settled_edges(pred_nodes, ref_nodes, pred_adjacency, ref_adjacency, weights, settled))
    return MappingProblem(
        slices=slices,
        pred_nodes=pred_nodes,
        ref_nodes=ref_nodes,
        pred=_between_slots(pred_adjacency, pred_nodes),
        ref=_between_slots(ref_adjacency, ref_nodes),
        weight=weight,
        unary=unary,
        integral=weights is None or bool(np.isin(weights, (0.0, 1.0)).all()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """The Gilmore-Lawler bound of a problem in which some slots are settled.

    Attributes:
        bound: No completion is worth more.
        perm: The completion that the bound's assignment proposes.
        promised: For each slot, the open edges that the bound hoped for, 0 where settled.
    """

    bound: float
    perm: Ints
    promised: Floats


def relax(problem: MappingProblem, rows: Ints, cols: Ints, features: Sequence[Sequence[int]]) -> Relaxation:
    """Bound the best completion of the pairs `rows`, `cols` from above.

    An edge between two open slots is shared half and half by its ends. An open pair can hope for as many edges into a
    block as both its ends have there, whichever has fewer. The rest is one linear assignment per block.
    """
    worth = problem.weight[rows, cols]
    linear = problem.linearised(rows, cols, worth) if len(rows) else problem.unary
    inner = worth @ (problem.pred[np.ix_(rows, rows)] * problem.ref[np.ix_(cols, cols)]) @ worth
    bound = float(problem.unary[rows, cols].sum() + inner)
    open_rows, open_cols = _complement(problem.size, rows), _complement(problem.size, cols)
    pred_counts = open_degrees(problem.pred, open_rows, problem.slices)
    ref_counts = open_degrees(problem.ref, open_cols, problem.slices)
    perm = np.empty(problem.size, dtype=np.intp)
    perm[rows] = cols
    promised = np.zeros(problem.size)
    for part, used in zip(problem.slices, features, strict=True):
        row, col = _inside(open_rows, part), _inside(open_cols, part)
        hope = np.zeros((len(row), len(col)))
        for feature in used:
            hope += np.minimum(pred_counts[row, feature][:, None], ref_counts[col, feature])
        at = (row[:, None], col)
        hope *= problem.weight[at]
        total = linear[at] + 0.5 * hope
        picked, chosen = linear_sum_assignment(total, maximize=True)
        bound += float(total[picked, chosen].sum())
        perm[row] = col[chosen]
        promised[row] = hope[picked, chosen]
    return Relaxation(problem.floor(bound), perm, promised)


def open_degrees(adjacency: Floats, is_open: NDArray[np.bool_], slices: Sequence[slice]) -> Floats:
    """How many edges each slot has to (first half) and from (second half) the open slots of each block."""
    member = np.zeros((len(adjacency), len(slices)))
    for column, part in enumerate(slices):
        member[part, column] = is_open[part]
    return np.hstack((adjacency @ member, adjacency.T @ member))


def useful_features(problem: MappingProblem) -> list[list[int]]:
    """For each block, the directions and blocks to which both sides have edges at all."""
    everything = np.ones(problem.size, dtype=bool)
    pred = open_degrees(problem.pred, everything, problem.slices)
    ref = open_degrees(problem.ref, everything, problem.slices)
    return [np.flatnonzero(pred[part].any(axis=0) & ref[part].any(axis=0)).tolist() for part in problem.slices]


def edge_count_bound(problem: MappingProblem) -> float:
    """Bound the value by the best worth of single pairs plus, for two blocks, the fewer edges between them."""
    single = 0.0
    for part in problem.slices:
        inner: Any = problem.unary[part, part]
        single += float(inner[linear_sum_assignment(inner, maximize=True)].sum())
    starts = [part.start for part in problem.slices]
    pred = np.add.reduceat(np.add.reduceat(problem.pred, starts, axis=0), starts, axis=1)
    ref = np.add.reduceat(np.add.reduceat(problem.ref, starts, axis=0), starts, axis=1)
    return problem.floor(single + float(np.minimum(pred, ref).sum()))


def _padded(groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> Ints:
    padded = [[*group, *([-1] * (size - len(group)))] for group, size in zip(groups, sizes, strict=True)]
    return np.array([node for group in padded for node in group], dtype=np.intp)


def _between_slots(adjacency: NDArray[np.bool_], nodes: Ints) -> Floats:
    real = nodes >= 0
    return np.asarray(adjacency[np.ix_(nodes, nodes)] & real[:, None] & real, dtype=np.float64)


def _settled_edges(
    pred_nodes: Ints,
    ref_nodes: Ints,
    pred: NDArray[np.bool_],
    ref: NDArray[np.bool_],
    weights: Floats | None,
    settled: Pairs,
) -> Floats | float:
    if not settled:
        return 0.0
    rows, cols = (np.array(side, dtype=np.intp) for side in zip(*settled, strict=True))
    worth: Floats | float = 1.0 if weights is None else weights[rows, cols]
    outgoing = (pred[np.ix_(pred_nodes, rows)] * worth) @ ref[np.ix_(ref_nodes, cols)].T.astype(np.float64)
    incoming = (pred[np.ix_(rows, pred_nodes)].T * worth) @ ref[np.ix_(cols, ref_nodes)].astype(np.float64)
    return np.asarray(outgoing + incoming, dtype=np.float64)


def _complement(size: int, taken: Ints) -> NDArray[np.bool_]:
    is_open = np.ones(size, dtype=bool)
    is_open[taken] = False
    return is_open


def _inside(is_open: NDArray[np.bool_], part: slice) -> Ints:
    return np.asarray(np.flatnonzero(is_open[part]) + part.start, dtype=np.intp)
