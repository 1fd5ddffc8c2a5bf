"""The best mapping as a linear program over pairs of nodes and pairs of edges, for problems that share few edges.

Variables: `x` of a pair of slots that completes something, and `y` of a pair of edges that could stand for one
another. `y` may not exceed the `x` at either of its ends, and neither may the sum of all `y` that share that `x` and
one of the two edges, since an edge is matched once. On plan graphs this relaxation is seldom fractional.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array

from opencompass_traj.metrics._mapping_problem import Floats, Ints, MappingProblem


@dataclass(frozen=True, slots=True, eq=False)
class Fractional:
    """A solution of the relaxed program.

    Attributes:
        bound: No permutation that keeps to what is settled is worth more.
        values: The value of each pair of slots, in [0, 1].
        perm: The permutation that is closest to these values.
    """

    bound: float
    values: Floats
    perm: Ints


@dataclass(frozen=True, slots=True, eq=False)
class MappingProgram:
    """The program of one problem.

    Attributes:
        problem: The problem.
        base: The worth of the node pairs that every maximal mapping has, which no variable counts.
        pairs: The pairs of slots that have a variable, as `row · size + column`, ascending.
        profit: What each variable is worth: first the pairs of slots, then the pairs of edges.
        matrix: The constraints' left side; the right side is 0 for the links, 1 for the slots.
        right: The constraints' right side.
    """

    problem: MappingProblem
    base: float
    pairs: Ints
    profit: Floats
    matrix: csr_array
    right: Floats

    @property
    def price(self) -> float:
        """What solving the relaxation costs, in search nodes."""
        return program_price(len(self.profit) - len(self.pairs))

    def relaxed(self, settled: dict[int, int]) -> Fractional | None:
        """Solve without integrality; None where the solver gave up.

        Args:
            settled: Pairs of slots, by their place in `pairs`, that are taken (1) or forbidden (0).
        """
        limits = np.zeros((len(self.profit), 2))
        limits[:, 1] = 1.0
        for place, value in settled.items():
            limits[place] = value
        result = linprog(-self.profit, A_ub=self.matrix, b_ub=self.right, bounds=limits, method='highs')
        if result.status != 0:
            return None
        # By the dual prices the bound holds however inexact the solver's optimum is.
        price = np.maximum(0.0, -result.ineqlin.marginals)
        left_over = self.profit - self.matrix.T @ price
        bound = self.base + self.right @ price + (limits * left_over[:, None]).max(axis=1).sum()
        values = result.x[: len(self.pairs)]
        return Fractional(self.problem.floor(float(bound)), values, self._rounded(values))

    def _rounded(self, values: Floats) -> Ints:
        """The permutation closest to the pairs' values."""
        problem = self.problem
        table = np.zeros(problem.size**2)
        table[self.pairs] = values
        table = table.reshape(problem.size, problem.size)
        perm = np.empty(problem.size, dtype=np.intp)
        for part in problem.slices:
            # The node weights decide between pairs without a variable, and never against one that was chosen.
            worth = table[part, part] + 1e-3 * problem.weight[part, part]
            perm[part] = linear_sum_assignment(worth, maximize=True)[1] + part.start
        return perm


def build_program(problem: MappingProblem) -> MappingProgram:
    """Write a problem as a program. Its size is `count_edge_pairs(problem)`."""
    tail, head, ref_tail, ref_head = _edge_pairs(problem)
    size, n_edges = problem.size, len(tail)
    base, spare = _spare_worth(problem)
    first, second = tail * size + ref_tail, head * size + ref_head
    pairs = np.unique(np.concatenate((first, second, np.flatnonzero(spare > 0))))
    at_tail, at_head = np.searchsorted(pairs, first), np.searchsorted(pairs, second)
    pred_edge, ref_edge = tail * size + head, ref_tail * size + ref_head
    rows = _Rows(len(pairs), n_edges)
    rows.link(pred_edge * size + ref_tail, at_tail)
    rows.link(pred_edge * size + ref_head, at_head)
    rows.link(ref_edge * size + tail, at_tail)
    rows.link(ref_edge * size + head, at_head)
    for side in np.divmod(pairs, size):
        rows.pick_one(side)
    weight = problem.weight.ravel()
    profit = np.concatenate((spare.ravel()[pairs], weight[first] * weight[second]))
    return MappingProgram(problem, base, pairs, profit, rows.matrix(), np.concatenate(rows.right))


def program_price(edge_pairs: float) -> float:
    """What solving a program with that many pairs of edges costs, in search nodes."""
    return 10.0 + edge_pairs**2 / 1000


def count_edge_pairs(problem: MappingProblem) -> float:
    """How many pairs of a predicted and a golden edge lead between the same two blocks."""
    starts = [part.start for part in problem.slices]
    pred = np.add.reduceat(np.add.reduceat(problem.pred, starts, axis=0), starts, axis=1)
    ref = np.add.reduceat(np.add.reduceat(problem.ref, starts, axis=0), starts, axis=1)
    return float((pred * ref).sum())


class _Rows:
    """Collects constraints as the coordinates of a sparse matrix."""

    def __init__(self, n_pairs: int, n_edges: int) -> None:
        self.n_pairs, self.n_edges = n_pairs, n_edges
        self.count = 0
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        self.right: list[Floats] = []

    def link(self, group: Ints, pair: Ints) -> None:
        """The edge pairs of one group, which all have the same slot pair at one end, sum up to that pair at most."""
        _, where, row = np.unique(group, return_index=True, return_inverse=True)
        self._add(row, np.arange(self.n_edges) + self.n_pairs, 1.0)
        self._add(np.arange(len(where)), pair[where], -1.0)
        self._close(np.zeros(len(where)))

    def pick_one(self, slot: Ints) -> None:
        """Every slot is in one pair at most."""
        slots, row = np.unique(slot, return_inverse=True)
        self._add(row, np.arange(self.n_pairs), 1.0)
        self._close(np.ones(len(slots)))

    def matrix(self) -> csr_array:
        rows, cols, values = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return csr_array((values, (rows, cols)), shape=(self.count, self.n_pairs + self.n_edges))

    def _add(self, row: Ints, col: Ints, value: float) -> None:
        self.entries.append((row + self.count, col, np.full(len(row), value)))

    def _close(self, right: Floats) -> None:
        self.right.append(right)
        self.count += len(right)


def _edge_pairs(problem: MappingProblem) -> tuple[Ints, Ints, Ints, Ints]:
    """All pairs of edges that could stand for one another: tail and head in slots of either side."""
    count = len(problem.slices)
    block = np.repeat(np.arange(count), [part.stop - part.start for part in problem.slices])
    tail, head = np.nonzero(problem.pred)
    ref_tail, ref_head = np.nonzero(problem.ref)
    kind, ref_kind = block[tail] * count + block[head], block[ref_tail] * count + block[ref_head]
    lefts, rights = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for shared in np.intersect1d(kind, ref_kind):
        left, right = np.flatnonzero(kind == shared), np.flatnonzero(ref_kind == shared)
        lefts.append(np.repeat(left, len(right)))
        rights.append(np.tile(right, len(left)))
    i, j = np.concatenate(lefts), np.concatenate(rights)
    keep = (problem.weight[tail[i], ref_tail[j]] > 0) & (problem.weight[head[i], ref_head[j]] > 0)
    i, j = i[keep], j[keep]
    return tail[i], head[i], ref_tail[j], ref_head[j]


def _spare_worth(problem: MappingProblem) -> tuple[float, Floats]:
    """The worth of single pairs, less what every maximal mapping gets anyhow in a block whose pairs all weigh 1."""
    base, spare = 0.0, problem.unary.copy()
    for part in problem.slices:
        n_pred, n_ref = int((problem.pred_nodes[part] >= 0).sum()), int((problem.ref_nodes[part] >= 0).sum())
        weight = problem.weight[part, part]
        if weight.sum() == n_pred * n_ref:
            base += min(n_pred, n_ref)
            spare[part, part] -= weight
    return base, spare
