"""Bounds, branch and bound and linear programs for one problem, on a budget of search nodes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from opencompass_traj.metrics._mapping_heuristic import improve
from opencompass_traj.metrics._mapping_problem import (
    PROOF,
    TOLERANCE,
    Floats,
    Ints,
    MappingProblem,
    Relaxation,
    edge_count_bound,
    relax,
    useful_features,
)
from opencompass_traj.metrics._mapping_program import MappingProgram, build_program, count_edge_pairs, program_price

_Assignment: TypeAlias = tuple[tuple[int, int], ...]
# A negated bound, a ticket that settles ties, what is settled, and the pair to branch on.
_Fraction: TypeAlias = tuple[float, int, dict[int, int], int]

_FIRST_NODES = 60
_SMALL = 16
_FIRST_PROGRAMS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What is known about a problem.

    Attributes:
        perm: The best permutation found.
        value: Its worth.
        upper: No permutation is worth more.
        spent: The budget used.
    """

    perm: Ints
    value: float
    upper: float
    spent: float


def search(problem: MappingProblem, start: Ints, budget: float) -> Outcome:
    """Find a best permutation, or as good a one as the budget allows.

    Bounds and heuristics settle most problems. Else a few search nodes are tried; then branching on the linear
    program, which is tight where the graphs share few edges; then more search nodes, as far as the budget goes.

    Args:
        problem: The problem.
        start: A first permutation of the slots that stays inside the blocks.
        budget: How much may be spent. The root is free. A search node of a problem of n slots costs
            `max(1, n² / 400)`; solving the linear program of m pairs of edges costs `10 + m² / 1000`.

    Returns:
        The best permutation and an upper bound, which is its own value where it is proved to be best.
    """
    state = _Search(problem, start)
    state.begin()
    state.explore(min(budget, _FIRST_NODES))
    edge_pairs = count_edge_pairs(problem) if state.is_open else 0.0
    if state.is_open and program_price(edge_pairs) <= budget - state.spent:
        # Where there are few slots, plain branching is the faster of the two once the program has had its say.
        state.explore_program(budget if problem.size > _SMALL else min(budget, _FIRST_PROGRAMS))
    state.explore(budget)
    return Outcome(state.perm, state.value, state.upper if state.is_open else state.value, state.spent)


class _Search:
    """Best-first branch and bound that can be stopped, and taken up again with better bounds."""

    def __init__(self, problem: MappingProblem, start: Ints) -> None:
        self.problem = problem
        self.features = useful_features(problem)
        self.twins: list[int] = []
        self.perm = start
        self.value = problem.value(start)
        self.upper = float('inf')
        self.heap: list[tuple[float, int, int, _Assignment, Relaxation]] = []
        self.ticket = 0
        self.spent = 0.0
        self.price = max(1.0, problem.size**2 / 400)

    @property
    def is_open(self) -> bool:
        """Whether a better permutation could still exist."""
        return self.upper > self.value + PROOF

    def begin(self) -> None:
        """Bound the whole problem, and improve the first permutation and the bound's own."""
        root = self._relaxation(())
        self.spent = 0.0
        self.upper = root.bound
        if self.is_open:
            self.upper = min(root.bound, edge_count_bound(self.problem))
        self._improve_from(self.perm)
        self._improve_from(root.perm)
        self._push((), root)
        self.twins = _twins(self.problem) if self.is_open else []

    def explore(self, limit: float) -> None:
        """Branch until nothing better can exist or `limit` has been spent."""
        while self.is_open and self.spent < limit and self.heap and -self.heap[0][0] > self.value + PROOF:
            _, _, _, settled, relaxation = heapq.heappop(self.heap)
            self._branch(settled, relaxation, limit)
        self.upper = min(self.upper, max(self.value, -self.heap[0][0] if self.heap else self.value))

    def explore_program(self, limit: float) -> None:
        """Branch on fractional solutions of the linear program, the highest bound first, within `limit`."""
        program = build_program(self.problem)
        heap: list[_Fraction] = []
        # Bounds that could not be lowered, for want of a solution or of a fractional pair to branch on.
        stuck = self._solve(program, {}, self.upper, heap)
        while heap and -heap[0][0] > self.value + PROOF:
            self.upper = min(self.upper, max(stuck, -heap[0][0]))
            if not self.is_open or self.spent + 2 * program.price > limit:
                return
            bound, _, settled, place = heapq.heappop(heap)
            for value in (1, 0):
                stuck = max(stuck, self._solve(program, {**settled, place: value}, -bound, heap))
        self.upper = min(self.upper, max(stuck, self.value))

    def _solve(self, program: MappingProgram, settled: dict[int, int], known: float, heap: list[_Fraction]) -> float:
        """Solve one relaxed program and queue it; return its bound where it cannot be branched on, else 0."""
        self.spent += program.price
        found = program.relaxed(settled)
        if found is None:
            return known
        self._improve_from(found.perm)
        bound = min(found.bound, known)
        if bound <= self.value + PROOF:
            return 0.0
        place = int(np.argmin(np.abs(found.values - 0.5)))
        if not PROOF < found.values[place] < 1 - PROOF:
            return bound
        self.ticket += 1
        heapq.heappush(heap, (-bound, -self.ticket, settled, place))
        return 0.0

    def _improve_from(self, perm: Ints) -> None:
        if self.is_open:
            self._offer(improve(self.problem, perm, self.upper))

    def _offer(self, perm: Ints) -> None:
        value = self.problem.value(perm)
        if value > self.value + TOLERANCE:
            self.perm, self.value = perm, value

    def _relaxation(self, settled: _Assignment) -> Relaxation:
        self.spent += self.price
        pairs = np.array(settled, dtype=np.intp).reshape(-1, 2)
        relaxation = relax(self.problem, pairs[:, 0], pairs[:, 1], self.features)
        self._offer(relaxation.perm)
        return relaxation

    def _push(self, settled: _Assignment, relaxation: Relaxation) -> None:
        if relaxation.bound > self.value + PROOF:
            self.ticket += 1
            # Among equal bounds the deepest node is tried first: it is the nearest to a complete mapping.
            heapq.heappush(self.heap, (-relaxation.bound, -len(settled), self.ticket, settled, relaxation))

    def _branch(self, settled: _Assignment, relaxation: Relaxation, limit: float) -> None:
        slot = int(np.argmax(self._shortfall(relaxation)))
        part = next(part for part in self.problem.slices if part.start <= slot < part.stop)
        taken = {col for _, col in settled}
        seen: set[int] = set()
        for col in range(part.start, part.stop):
            # Slots with the same edges and weights lead to the same values; one of them is enough.
            if col in taken or self.twins[col] in seen:
                continue
            if self.spent >= limit:
                self._push(settled, relaxation)
                return
            seen.add(self.twins[col])
            child = (*settled, (slot, col))
            self._push(child, self._relaxation(child))

    def _shortfall(self, relaxation: Relaxation) -> Floats:
        """How many edges each open slot was promised and did not get; -1 where settled or nothing was promised."""
        perm = relaxation.perm
        worth = self.problem.weight[np.arange(self.problem.size), perm] * (relaxation.promised > 0)
        edges = self.problem.pred * self.problem.ref[perm][:, perm]
        got = worth * (edges @ worth + edges.T @ worth)
        missed: Floats = np.where(relaxation.promised > 0, np.maximum(relaxation.promised - got, 0.0), -1.0)
        return missed


def _twins(problem: MappingProblem) -> list[int]:
    """For each golden slot, the first slot that no mapping can tell from it."""
    first: dict[bytes, int] = {}
    looks = np.hstack((problem.ref, problem.ref.T, problem.weight.T, problem.unary.T))
    return [first.setdefault(look.tobytes(), slot) for slot, look in enumerate(looks)]
