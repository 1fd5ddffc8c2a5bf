"""Parallel calls: the steps of one turn have no order among themselves."""

from __future__ import annotations

from itertools import groupby, pairwise

from opencompass_traj.plan import Plan


def turn_ranks(plan: Plan) -> tuple[int, ...] | None:
    """Number the turns in which a plan's steps were made.

    Returns:
        One number per step, from 0, ascending; steps of one turn share theirs, and a step without a recorded turn has
        one of its own. None where no two steps share a turn, so that the steps' order is all there is to know.

    Example:
        >>> from opencompass_traj.plan import Step
        >>> turn_ranks(Plan((Step(0, 'a', turn=0), Step(1, 'b', turn=1), Step(2, 'c', turn=1))))
        (0, 1, 1)
        >>> turn_ranks(Plan.of('a', 'b')) is None
        True
    """
    if all(step.turn is None for step in plan.steps):
        return None
    keys = [(-1 - i) if step.turn is None else step.turn for i, step in enumerate(plan.steps)]
    ranks = tuple(rank for rank, (_, steps) in enumerate(groupby(keys)) for _ in steps)
    return ranks if len(set(ranks)) < len(ranks) else None


def turn_edges(plan: Plan) -> frozenset[tuple[int, int]]:
    """Let each step depend on all steps of the turn before; without parallel calls, on the step before.

    Example:
        >>> sorted(turn_edges(Plan.of('a', 'b', 'c')))
        [(0, 1), (1, 2)]
    """
    ranks = turn_ranks(plan)
    if ranks is None:
        return frozenset((i, i + 1) for i in range(len(plan) - 1))
    turns = [[i for i, _ in steps] for _, steps in groupby(enumerate(ranks), key=lambda pair: pair[1])]
    return frozenset((i, j) for before, after in pairwise(turns) for i in before for j in after)
