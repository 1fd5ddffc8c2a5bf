"""Steps of a prediction that stand for golden steps, one to one and in an order that the golden graph allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from opencompass_traj.metrics._order_dp import DEFAULT_BUDGET, FORBIDDEN, Costs, align_orders
from opencompass_traj.metrics.poset import (
    chain_partition,
    maximum_antichain,
    order_twins,
    restrict,
    topological_order,
    transitive_closure,
    weak_order,
)
from opencompass_traj.metrics.prf import PrecisionRecallF1, precision_recall_f1
from opencompass_traj.metrics.sequence import similarity_matrix

__all__ = ['DEFAULT_BUDGET', 'PlanMatch', 'plan_match']

# Similarities are compared in steps of 2^-30, so that sums are whole numbers and equal ones are equal.
_RESOLUTION_BITS = 30
# The dynamic programme needs the square of this many operations on masks of as many bits: some seconds.
MAX_ALIGNED_STEPS = 2_000

_Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PlanMatch:
    """The steps that were matched.

    Attributes:
        pairs: `(pred, ref)` indices from 0, in a legal order of both sides.
        score: Precision, recall and F1 of the matched pairs.
        lower: The greatest possible number of pairs is at least this: `len(pairs)`.
        upper: It is at most this.
        exact: Whether both bounds meet: no matching in a legal order has more pairs.
    """

    pairs: _Pairs
    score: PrecisionRecallF1
    lower: int
    upper: int
    exact: bool

    @property
    def count(self) -> int:
        """The number of matched pairs."""
        return len(self.pairs)


@dataclass(frozen=True, slots=True)
class _Problem:
    """The pairs that may be chosen: `gain` is 0 for the others, and a pair more outweighs any similarity."""

    gain: NDArray[np.int64]
    rank: tuple[int, ...]
    preds: tuple[int, ...]


def plan_match(
    similarity: ArrayLike,
    ref_edges: Iterable[tuple[int, int]],
    *,
    threshold: float,
    rank: Sequence[int] | None = None,
    budget: int = DEFAULT_BUDGET,
) -> PlanMatch:
    """Match predicted with golden steps so that as many as possible stand in a legal order.

    A pair may be matched when its similarity is above the threshold. Pairs `(i, u)` and `(k, v)` are in conflict when
    `i` comes before `k` in the prediction while golden `v` must come before `u`. What is optimised, over all one-to-one
    sets of pairs without a conflict: the number of pairs; among those with most pairs, the total similarity (in steps
    of about 1e-9). Matching and order are chosen together, so that equal steps never cost anything.

    Args:
        similarity: Matrix n_pred × n_ref with values in [0, 1]; rows are the predicted steps in order, columns the
            golden ones. An empty side is a matrix of shape (n, 0) or (0, n).
        ref_edges: Golden dependencies `(u, v)`, indices from 0: `u` must come before `v`.
        threshold: In [0, 1]; a pair needs strictly more.
        rank: One number per predicted step: a smaller one comes first, equal ones (parallel calls of one turn) are not
            ordered among themselves. Default: every step has its own.
        budget: Largest number of cells of the dynamic programme: the golden graph's down-sets times the prediction's.
            Of more than `MAX_ALIGNED_STEPS` predicted steps there is none.

    Returns:
        Exact within the budget, and beyond it wherever the bounds meet. Else `pairs` are the best of two heuristics:
        the heaviest matching, cut down to the largest part in a legal order (the conflicts of a matching are a partial
        order, and that part is a maximum antichain), and the dynamic programme on the most promising down-sets.
        `upper` is then the size of the largest matching in any order, or less where the golden graph's chains say so.
        The total similarity is the greatest if the budget sufficed or the heaviest matching is itself legal. Both sides
        empty: F1 1; one side empty, or nothing matched: 0.

    Raises:
        ValueError: If the matrix, the threshold, the rank or the budget is out of range, or the golden edges are no
            partial order over the columns.

    Complexity:
        One assignment, O((n_pred + n_ref)³), and unless that is legal as it stands at most `budget` cells of 8 bytes,
        O(budget · width of the golden graph) time. A golden chain: O(n_pred · n_ref) cells.

    Source:
        The planning metric of T-Eval (arXiv 2312.14033; `teval/evaluators/planning_evaluator.py`) fixes a
        maximum-weight matching first, then counts its longest increasing run of golden indices, and counts 1 where
        nothing matched. Here the order is the golden graph's, the matching is chosen together with it, nothing is
        nothing, and a plan of repeated equal steps matches itself whole.

    Example:
        >>> match = plan_match([[0, 0.9], [0.8, 0]], [], threshold=0.7)
        >>> match.pairs, match.score.f1
        (((0, 1), (1, 0)), 1.0)
        >>> plan_match([[0, 0.9], [0.8, 0]], [(0, 1)], threshold=0.7).pairs
        ((0, 1),)
    """
    matrix = similarity_matrix(similarity)
    n_pred, n_ref = matrix.shape
    _check(n_pred, threshold, rank, budget)
    ranks = tuple(range(n_pred)) if rank is None else tuple(rank)
    problem = _Problem(_gain(matrix, threshold), ranks, transitive_closure(n_ref, ref_edges))
    pairs, upper = _best_pairs(problem, budget)
    position = {v: k for k, v in enumerate(topological_order(problem.preds))}
    ordered = tuple(sorted(pairs, key=lambda pair: (ranks[pair[0]], position[pair[1]])))
    score = precision_recall_f1(len(ordered), n_pred, n_ref)
    return PlanMatch(ordered, score, len(ordered), upper, len(ordered) == upper)


def _check(n_pred: int, threshold: float, rank: Sequence[int] | None, budget: int) -> None:
    if not 0 <= threshold <= 1:
        raise ValueError(f'expected `threshold` in [0, 1], got {threshold}')
    if rank is not None and len(rank) != n_pred:
        raise ValueError(f'expected one rank for each of {n_pred} predicted steps, got {len(rank)}')
    if budget < 1:
        raise ValueError(f'expected `budget` of at least 1, got {budget}')


def _gain(matrix: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    most = min(matrix.shape) + 1
    # The assignment adds up floats: whole totals below 2^52 stay exact in it.
    bits = min(_RESOLUTION_BITS, 52 - 2 * most.bit_length())
    weight = np.rint(matrix * (1 << bits)).astype(np.int64) + (most << bits)
    return np.where(matrix > threshold, weight, 0)


def _best_pairs(problem: _Problem, budget: int) -> tuple[_Pairs, int]:
    """The best pairs found, and a number of pairs that cannot be passed."""
    assigned = _assignment(problem)
    legal = _largest_legal_part(assigned, problem)
    if len(legal) == len(assigned):
        return legal, len(legal)
    aligned, exact = _align(problem, budget) if len(problem.gain) <= MAX_ALIGNED_STEPS else ((), False)
    if exact:
        return aligned, len(aligned)
    best = max(legal, aligned, key=lambda pairs: sum(int(problem.gain[pair]) for pair in pairs))
    return best, min(len(assigned), _upper_by_chains(problem))


def _assignment(problem: _Problem) -> _Pairs:
    rows, columns = linear_sum_assignment(problem.gain, maximize=True)
    return tuple((int(i), int(v)) for i, v in zip(rows, columns, strict=True) if problem.gain[i, v])


def _largest_legal_part(pairs: _Pairs, problem: _Problem) -> _Pairs:
    conflicts = [
        sum(1 << a for a, (i, u) in enumerate(pairs) if problem.preds[u] >> v & 1 and problem.rank[i] < problem.rank[k])
        for k, v in pairs
    ]
    return tuple(pairs[a] for a in maximum_antichain(conflicts))


def _align(problem: _Problem, budget: int) -> tuple[_Pairs, bool]:
    pred = np.flatnonzero(problem.gain.any(axis=1)).tolist()
    ref = np.flatnonzero(problem.gain.any(axis=0)).tolist()
    gain = np.ascontiguousarray(problem.gain[np.ix_(pred, ref)])
    pred_preds = order_twins(weak_order([problem.rank[i] for i in pred]), [row.tobytes() for row in gain])
    ref_preds = order_twins(restrict(problem.preds, ref), [column.tobytes() for column in gain.T])
    costs = Costs(np.where(gain > 0, -gain, FORBIDDEN), 0, 0)
    links, exact = align_orders(pred_preds, ref_preds, costs, budget=budget)
    return tuple((pred[i], ref[v]) for i, v in links if i is not None and v is not None), exact


def _upper_by_chains(problem: _Problem) -> int:
    """No more pairs can be legal than the longest matches with each of a few golden chains add up to."""
    by_rank = np.argsort(np.array(problem.rank), kind='stable')
    if len(set(problem.rank)) < len(problem.rank):
        return min(problem.gain.shape)
    allowed = problem.gain[by_rank] > 0
    total = 0
    for chain in chain_partition(problem.preds):
        longest = np.zeros(len(by_rank) + 1, dtype=np.int64)
        for v in chain:
            longest[1:] = np.maximum(longest[1:], longest[:-1] + allowed[:, v])
            np.maximum.accumulate(longest, out=longest)
        total += int(longest[-1])
    return total
