"""T-Eval's permutation strategy: steps and dependencies counted together under the best mapping, labels ignored."""

from __future__ import annotations

from dataclasses import dataclass

from opencompass_traj.metrics._mapping import DEFAULT_BUDGET
from opencompass_traj.metrics.dag import graph_match
from opencompass_traj.metrics.prf import PrecisionRecallF1, precision_recall_f1
from opencompass_traj.plan import StepGraph


@dataclass(frozen=True, slots=True)
class PermutationMatch:
    """Steps and dependencies that match under the best mapping.

    Attributes:
        matched: Matched steps plus matched dependencies.
        n_pred: Predicted steps plus dependencies, the closing marker included.
        n_ref: Golden steps plus dependencies, the closing marker included.
        matched_upper: No mapping matches more.
        exact: Whether `matched` is proved to be the most.
    """

    matched: int
    n_pred: int
    n_ref: int
    matched_upper: int
    exact: bool

    @property
    def scores(self) -> PrecisionRecallF1:
        """Precision, recall and F1 of the mapping found: lower bounds, and the exact values where `exact`."""
        return precision_recall_f1(self.matched, self.n_pred, self.n_ref)

    @property
    def upper(self) -> PrecisionRecallF1:
        """Upper bounds on precision, recall and F1."""
        return precision_recall_f1(self.matched_upper, self.n_pred, self.n_ref)

    @property
    def precision(self) -> float:
        """`matched / n_pred`; both sides empty 1, one side empty 0."""
        return self.scores.precision

    @property
    def recall(self) -> float:
        """`matched / n_ref`; both sides empty 1, one side empty 0."""
        return self.scores.recall

    @property
    def f1(self) -> float:
        """`2 · matched / (n_pred + n_ref)`; both sides empty 1, one side empty 0."""
        return self.scores.f1


def permutation_match(
    pred: StepGraph, ref: StepGraph, *, finish: str = 'FinishAction', budget: float = DEFAULT_BUDGET
) -> PermutationMatch:
    """Match steps and dependencies together, whatever the steps' tools.

    Args:
        pred: The predicted graph.
        ref: The golden graph.
        finish: The name of the closing marker. A plan whose last step has another name gets one, without
            dependencies.
        budget: Search nodes after which the best mapping found is counted, with bounds.

    Returns:
        The counts. A plan without steps gets no marker and matches nothing; both without steps: 1.

    Raises:
        ValueError: If an edge names no node or is a self-loop.

    Source:
        `PlanningEvaluator.permutation_match` of OpenCompass (`datasets/teval/evaluators/planning_evaluator.py`). Equal
        to it up to 9 steps, marker included; that one cuts longer plans to 9, and then takes the golden plan's place
        by the prediction, fails on an empty plan, writes into its arguments, and lists all orders.

    Example:
        >>> match = permutation_match(StepGraph(('A', 'B'), frozenset({(0, 1)})), StepGraph(('X', 'Y')))
        >>> match.precision, match.recall
        (0.75, 1.0)
    """
    left, right = _unlabelled(pred, finish), _unlabelled(ref, finish)
    match = graph_match(left, right, budget=budget)
    matched = int(match.matched_nodes + match.matched_edges)
    n_pred, n_ref = (len(side.names) + len(side.edges) for side in (left, right))
    most = min(round(match.similarity_upper * (n_pred + n_ref) / 2), n_pred, n_ref)
    return PermutationMatch(matched, n_pred, n_ref, most, match.exact)


def _unlabelled(graph: StepGraph, finish: str) -> StepGraph:
    closing = int(bool(graph.names) and graph.names[-1] != finish)
    return StepGraph(('',) * (len(graph.names) + closing), graph.edges)
