"""Bounds, branch and bound and linear programs for one problem, on a budget of search nodes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from opencompass_traj.metrics._mapping_heuristic import improve
from opencompass_traj.metrics._mapping_problem import (
    TOLERANCE,
    Floats,
    Ints,
    MappingProblem,
    Relaxation,
    edge_count_bound,
    relax,
    useful_features,
)
from opencompass_traj.metrics._mapping_program import build_program, count_edge_pairs

_Assignment = tuple[tuple[int, int], ...]

_FIRST_NODES = 60
_SMALL = 16
_SMALL_NODES = 3000


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

    Bounds and heuristics settle most problems. Else a few search nodes are tried; then, as far as the budget goes, the
    linear program, which is tight where the graphs share few edges, and the same with integrality.

    Args:
        problem: The problem.
        start: A first permutation of the slots that stays inside the blocks.
        budget: How much may be spent. The root is free. A search node of a problem of n slots costs
            `max(1, n² / 400)`; with m pairs of edges, the linear program costs `m² / 1000`, with integrality `m² / 40`.

    Returns:
        The best permutation and an upper bound, which is its own value where it is proved to be best.
    """
    state = _Search(problem, start)
    state.begin()
    state.explore(min(budget, _FIRST_NODES))
    edge_pairs = count_edge_pairs(problem) if state.is_open else 0.0
    if state.is_open and state.pay(edge_pairs**2 / 1000, budget):
        state.use_relaxed_program()
    if problem.size <= _SMALL:
        state.explore(min(budget, _SMALL_NODES))
    if state.is_open and state.pay(edge_pairs**2 / 40, budget):
        state.use_integral_program()
    state.explore(budget)
    return Outcome(state.perm, state.value, max(state.upper, state.value), state.spent)


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
        return self.upper > self.value + TOLERANCE

    def pay(self, price: float, budget: float) -> bool:
        """Spend `price` if the budget has it."""
        affordable = self.spent + price <= budget
        self.spent += price if affordable else 0.0
        return affordable

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
        while self.is_open and self.spent < limit and self.heap and -self.heap[0][0] > self.value + TOLERANCE:
            _, _, _, settled, relaxation = heapq.heappop(self.heap)
            self._branch(settled, relaxation, limit)
        self.upper = min(self.upper, max(self.value, -self.heap[0][0] if self.heap else self.value))

    def use_relaxed_program(self) -> None:
        """Take the linear program's bound, and round its solution."""
        found = build_program(self.problem).relaxed()
        if found is not None:
            self.upper = min(self.upper, found[1])
            self._offer(found[0])
            self._improve_from(found[0])

    def use_integral_program(self) -> None:
        """Take the bound and the solution of the program with integrality."""
        perm, upper = build_program(self.problem).integral()
        if perm is not None:
            self._offer(perm)
        # The solver stops within 1e-6 of its bound, which is proof enough for weights.
        self.upper = min(self.upper, self.value if upper <= self.value + 1e-6 else upper)

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
        if relaxation.bound > self.value + TOLERANCE:
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
