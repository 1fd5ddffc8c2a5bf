"""How much of the order that the golden graph demands the prediction keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.metrics._mapping import DEFAULT_BUDGET, best_mapping
from opencompass_traj.metrics._mapping_inputs import adjacency, common_subsequence, label_blocks, precedence
from opencompass_traj.plan import StepGraph


@dataclass(frozen=True, slots=True)
class CausalFidelity:
    """The golden precedence pairs that a prediction keeps.

    Attributes:
        kept: Precedence pairs whose two steps both occur, and in that order. Without such pairs in the golden graph:
            the golden steps that occur.
        pairs: Precedence pairs of the golden graph, direct or through other steps; without any: its steps.
        lower: The best mapping's fidelity is at least this.
        upper: The best mapping's fidelity is at most this.
        exact: Whether `kept` is proved to be the most that a mapping keeps.
    """

    kept: int
    pairs: int
    lower: float
    upper: float
    exact: bool

    @property
    def fidelity(self) -> float:
        """`kept / pairs`, in [0, 1]; an empty golden graph: 1."""
        return _share(self.kept, self.pairs)


def causal_fidelity(
    pred_names: Sequence[str],
    ref: StepGraph,
    *,
    rank: Sequence[int] | None = None,
    budget: float = DEFAULT_BUDGET,
) -> CausalFidelity:
    """Count the golden precedence pairs that the predicted order keeps, under the mapping that keeps the most.

    Args:
        pred_names: The tools of the predicted steps.
        ref: The golden graph, without cycles. Its precedence pairs are the transitive closure of its edges.
        rank: For each predicted step, when it was made; steps made together share a rank. None: one after another.
        budget: Search nodes after which the best mapping found is counted, with bounds.

    Returns:
        Kept pairs and all pairs. A golden graph that demands no order: the golden steps that occur. Empty: 1.

    Raises:
        ValueError: If `ref` has a cycle or an edge that names no node, `rank` has another length than `pred_names`, or
            the budget is negative.

    Complexity:
        Polynomial where no two repeated tools have a precedence pair between them; else exponential in the repeated
        steps, within the budget.

    Example:
        >>> golden = StepGraph(('A', 'B', 'C'), frozenset({(0, 1), (1, 2)}))
        >>> causal_fidelity(('B', 'A', 'C'), golden).fidelity == 2 / 3
        True
    """
    before = precedence(len(pred_names), rank)
    closure = transitive_closure(adjacency(ref))
    pairs = int(closure.sum())
    blocks = label_blocks(pred_names, ref.names)
    steps = sum(min(len(pred), len(golden)) for pred, golden in blocks)
    if not pairs:
        share = _share(steps, len(ref.names))
        return CausalFidelity(steps, len(ref.names), share, share, exact=True)
    found = best_mapping(blocks, before, closure, hint=lambda: common_subsequence(pred_names, ref.names), budget=budget)
    kept, most = round(found.value) - steps, round(found.upper) - steps
    return CausalFidelity(kept, pairs, _share(kept, pairs), _share(min(most, pairs), pairs), exact=found.exact)


def transitive_closure(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which node leads to which, directly or through others.

    Args:
        edges: A square adjacency matrix.

    Returns:
        The closure, of the same shape.

    Raises:
        ValueError: If there is a cycle.

    Complexity:
        O(n · e / w) for words of w bits.
    """
    after = [0] * len(edges)
    for node in reversed(_topological_order(edges)):
        for child in np.flatnonzero(edges[node]).tolist():
            after[node] |= after[child] | 1 << child
    closure = np.zeros_like(edges)
    for node, reached in enumerate(after):
        packed = np.frombuffer(reached.to_bytes(len(edges) // 8 + 1, 'little'), dtype=np.uint8)
        closure[node] = np.unpackbits(packed, bitorder='little', count=len(edges))
    return closure


def _topological_order(edges: NDArray[np.bool_]) -> list[int]:
    waiting = edges.sum(axis=0).tolist()
    order = [node for node, count in enumerate(waiting) if count == 0]
    for node in order:
        for child in np.flatnonzero(edges[node]).tolist():
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < len(edges):
        stuck = next(node for node, count in enumerate(waiting) if count)
        raise ValueError(f'expected a golden graph without cycles, got one that step {stuck} is in or behind')
    return order


def _share(part: float, whole: int) -> float:
    return float(part / whole) if whole else 1.0
