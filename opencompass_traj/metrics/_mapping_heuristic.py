"""A good mapping at once: improvement by linearised assignments, then by swaps of two slots."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from opencompass_traj.metrics._mapping_problem import TOLERANCE, Floats, Ints, MappingProblem

_MOST_SWAPS = 2000


def improve(problem: MappingProblem, perm: Ints, target: float) -> Ints:
    """Improve a permutation until it reaches `target` or neither kind of move helps.

    Args:
        problem: The problem.
        perm: A permutation of the slots that stays inside the blocks. It is not changed.
        target: A value that need not be exceeded.

    Returns:
        A permutation worth at least as much.
    """
    perm = _reassign(problem, perm, target)
    if problem.value(perm) < target - TOLERANCE:
        perm = _swap(problem, perm)
    return perm


def _reassign(problem: MappingProblem, perm: Ints, target: float) -> Ints:
    """Replace the permutation by the best assignment for its own gradient while that is worth more."""
    value = problem.value(perm)
    while value < target - TOLERANCE:
        slope = problem.gradient(perm)
        other = perm.copy()
        for part in problem.slices:
            other[part] = linear_sum_assignment(slope[part, part], maximize=True)[1] + part.start
        better = problem.value(other)
        if better <= value + TOLERANCE:
            break
        perm, value = other, better
    return perm


def _swap(problem: MappingProblem, perm: Ints) -> Ints:
    """Exchange the partners of two slots of a block, the best exchange first, until none helps."""
    perm = perm.copy()
    slope = problem.gradient(perm)
    for _ in range(min(4 * problem.size, _MOST_SWAPS)):
        first, second, gain = _best_swap(problem, perm, slope)
        if gain <= TOLERANCE:
            break
        for slot in (first, second):
            _influence(problem, slot, int(perm[slot]), slope, -1.0)
        perm[[first, second]] = perm[[second, first]]
        for slot in (first, second):
            _influence(problem, slot, int(perm[slot]), slope, 1.0)
    return perm


def _best_swap(problem: MappingProblem, perm: Ints, slope: Floats) -> tuple[int, int, float]:
    best = (0, 0, 0.0)
    for part in problem.slices:
        cols = perm[part]
        here = slope[part, cols]
        worth = problem.weight[part, cols]
        inner, outer = problem.pred[part, part], problem.ref[np.ix_(cols, cols)]
        # Edges between the two slots themselves: counted twice before the exchange, not at all after it.
        before, after = inner * outer, inner * outer.T
        alone, crossed = worth.diagonal(), worth * worth.T
        gain = here + here.T - here.diagonal() - here.diagonal()[:, None]
        gain += (before + before.T) * alone * alone[:, None] + (after + after.T) * crossed
        at = int(gain.argmax())
        row, col = divmod(at, len(cols))
        if gain[row, col] > best[2] + TOLERANCE:
            best = (part.start + row, part.start + col, float(gain[row, col]))
    return best


def _influence(problem: MappingProblem, slot: int, partner: int, slope: Floats, sign: float) -> None:
    """Add to the gradient, or take from it, what the pair `slot`, `partner` brings to its neighbours."""
    worth = sign * problem.weight[slot, partner]
    sides = ((problem.pred[:, slot], problem.ref[:, partner]), (problem.pred[slot], problem.ref[partner]))
    for left, right in sides:
        near = np.ix_(np.flatnonzero(left), np.flatnonzero(right))
        slope[near] += worth * problem.weight[near]
