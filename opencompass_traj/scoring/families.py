"""The metrics that a config can list: each turns one comparison into named numbers by a pure metric module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.matching import step_texts
from opencompass_traj.metrics import causal, dag, partial_order, plan_match
from opencompass_traj.metrics.sequence import Mode, SequenceEdit, check_mode, sequence_edit, soft_levenshtein
from opencompass_traj.scoring.comparison import Comparison


class Metric(ABC):
    """One family of numbers about a prediction.

    Subclass it, name the keys, and list the class in a config's `metrics`; nothing else needs to know.

    Attributes:
        rates: Keys whose numbers are in [0, 1] and are shown as 0 to 100; 0 for an unreadable prediction.
        counts: Keys whose numbers are shown as they are, as means per sample.
        uses_embeddings: Whether `score` reads `comparison.similarity` or `comparison.vectors`.
        reads_prediction: Whether `score` reads `comparison.prediction` itself, so that its rates stand as they are
            even where the common parser reads no plan.
        requires: Keys of metrics that must come before this one in the list.

    Example:
        >>> class ToolCount(Metric):
        ...     counts = ('tools_used',)
        ...
        ...     def score(self, comparison):
        ...         return {'tools_used': len(set(comparison.pred.names))}
    """

    rates: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    uses_embeddings: bool = False
    reads_prediction: bool = False
    requires: tuple[str, ...] = ()

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `score` will read; by default the names and arguments of both plans' steps."""
        if not self.uses_embeddings:
            return
        for plan in (comparison.pred, comparison.ref):
            for column in step_texts(plan):
                yield from column

    def settings(self) -> dict[str, Any]:
        """What was asked of this metric, to be kept beside its numbers: its class and its options."""
        options = {key: value for key, value in vars(self).items() if not key.startswith('_') and key not in _DECLARED}
        return {'type': type(self).__name__, **options}

    @abstractmethod
    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison.

        Returns:
            A number for each key in `rates` and `counts`; any further keys go to the details as they are.
        """


_DECLARED = frozenset(Metric.__annotations__)


class PlanMatch(Metric):
    """`plan_precision`, `plan_recall`, `plan_f1`: T-Eval's idea, repaired; see `metrics.plan_match`.

    Args:
        match_threshold: Pairs strictly above it may match, in [0, 1]; None takes the evaluator's.
        budget: Cells of the exact computation before it falls back to bounds, at least 1.
    """

    rates = ('plan_precision', 'plan_recall', 'plan_f1')
    uses_embeddings = True

    def __init__(self, match_threshold: float | None = None, *, budget: int = plan_match.DEFAULT_BUDGET) -> None:
        self.match_threshold = match_threshold
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = plan_match.plan_match(
            np.minimum(comparison.similarity, 1.0),
            comparison.ref_graph.edges,
            threshold=comparison.match.match_threshold if self.match_threshold is None else self.match_threshold,
            budget=self.budget,
        )
        return {
            'plan_precision': found.score.precision,
            'plan_recall': found.score.recall,
            'plan_f1': found.score.f1,
            'plan_exact': found.exact,
            'plan_bounds': [found.score.f1, replace(found.score, matched=found.upper).f1],
            'plan_pairs': [list(pair) for pair in found.pairs],
        }


class SequenceSimilarity(Metric):
    """`sequence_similarity`, `redundant_steps`, `missing_steps`, `optimal_rate`; see `metrics.sequence`.

    Args:
        mode: `levenshtein`, the default, or `indel`: `2·LCS / (n_pred + n_ref)`, which a redundant step never raises.
        soft: Whether replacing a step costs 1 less the similarity of the two steps instead of 1. Levenshtein only;
            needs an encoder.
    """

    rates = ('sequence_similarity', 'optimal_rate')
    counts = ('redundant_steps', 'missing_steps')

    def __init__(self, mode: Mode = 'levenshtein', *, soft: bool = False) -> None:
        check_mode(mode)
        if soft and mode != 'levenshtein':
            raise ValueError(f"expected `mode` 'levenshtein' with `soft`, got {mode!r}")
        self.mode: Mode = mode
        self.soft = self.uses_embeddings = soft

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        edit = self._edit(comparison)
        return {
            'sequence_similarity': edit.similarity,
            'optimal_rate': float(edit.similarity == 1 and not edit.redundant),
            'redundant_steps': float(edit.redundant),
            'missing_steps': float(edit.missing),
            'alignment': [
                {'op': step.op, 'pred': step.pred, 'ref': step.ref, **_named(comparison, step.pred, step.ref)}
                for step in edit.alignment
            ],
        }

    def _edit(self, comparison: Comparison) -> SequenceEdit:
        if self.soft:
            return soft_levenshtein(np.minimum(comparison.similarity, 1.0))
        return sequence_edit(comparison.pred.names, comparison.ref.names, mode=self.mode)


class PartialOrderSimilarity(Metric):
    """`partial_order_similarity`: the sequence similarity to the closest legal order; see `metrics.partial_order`.

    Args:
        mode: As for `SequenceSimilarity`.
        budget: Cells of the exact computation before it falls back to bounds, at least 1.
    """

    rates = ('partial_order_similarity',)

    def __init__(self, mode: Mode = 'levenshtein', *, budget: int = partial_order.DEFAULT_BUDGET) -> None:
        check_mode(mode)
        self.mode: Mode = mode
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = partial_order.partial_order_similarity(
            comparison.pred.names, comparison.ref_graph, mode=self.mode, budget=self.budget
        )
        return {
            'partial_order_similarity': found.similarity,
            'partial_order_exact': found.exact,
            'partial_order_bounds': [found.lower, found.upper],
        }


class GraphSimilarity(Metric):
    """`dag_similarity` with its node and edge figures; see `metrics.dag`.

    Args:
        semantic: Whether a node may stand for a node of another tool whose step similarity is above the threshold,
            weighted by it. Needs an encoder.
        match_threshold: For `semantic`, in [0, 1]; None takes the evaluator's.
        budget: Search nodes before a result becomes a bound, at least 1.
    """

    rates = ('dag_similarity', 'node_f1', 'edge_precision', 'edge_recall', 'edge_f1', 'isomorphic_rate')
    counts = ('redundant_edges', 'missing_edges')

    def __init__(
        self, *, semantic: bool = False, match_threshold: float | None = None, budget: float = dag.DEFAULT_BUDGET
    ) -> None:
        self.semantic = self.uses_embeddings = semantic
        self.match_threshold = match_threshold
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = comparison.graph_match(weights=self._weights(comparison), budget=self.budget)
        return {
            'dag_similarity': found.similarity,
            'node_f1': found.nodes.f1,
            'edge_precision': found.edges.precision,
            'edge_recall': found.edges.recall,
            'edge_f1': found.edges.f1,
            'isomorphic_rate': float(found.isomorphic),
            'redundant_edges': float(len(found.redundant_edges)),
            'missing_edges': float(len(found.missing_edges)),
            'edge_source': comparison.pred_edges.source,
            'dropped_edges': list(comparison.pred_edges.dropped),
            'graph_exact': found.exact,
            'graph_bounds': [found.similarity_lower, found.similarity_upper],
            'graph_pairs': [list(pair) for pair in found.mapping],
            'redundant_edge_list': [_edge(comparison.pred.names, edge) for edge in found.redundant_edges],
            'missing_edge_list': [_edge(comparison.ref.names, edge) for edge in found.missing_edges],
        }

    def _weights(self, comparison: Comparison) -> NDArray[np.float64] | None:
        if not self.uses_embeddings:
            return None
        threshold = comparison.match.match_threshold if self.match_threshold is None else self.match_threshold
        similarity = comparison.similarity
        kept: NDArray[np.float64] = np.where(similarity > threshold, np.minimum(similarity, 1.0), 0.0)
        return kept


class CausalFidelity(Metric):
    """`causal_fidelity`: the share of golden precedences that the prediction keeps; see `metrics.causal`.

    Args:
        budget: Search nodes before a result becomes a bound, at least 1.
    """

    rates = ('causal_fidelity',)

    def __init__(self, *, budget: float = dag.DEFAULT_BUDGET) -> None:
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = causal.causal_fidelity(comparison.pred.names, comparison.ref_graph, budget=self.budget)
        return {
            'causal_fidelity': found.fidelity,
            'causal_exact': found.exact,
            'causal_bounds': [found.lower, found.upper],
        }


class TrajectoryScore(Metric):
    """`trajectory_score`: a weighted mean of rates that come before it in the list.

    Args:
        weights: The rates and their weights, each at least 0, not all 0; by default 0.6 of `sequence_similarity` and
            0.4 of `dag_similarity`. They are divided by their sum.
    """

    rates = ('trajectory_score',)

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        self.weights = dict({'sequence_similarity': 0.6, 'dag_similarity': 0.4} if weights is None else weights)
        if not self.weights or min(self.weights.values()) < 0 or not sum(self.weights.values()) > 0:
            raise ValueError(f'expected `weights` of at least 0 with a sum above 0, got {self.weights}')
        self.requires = tuple(self.weights)

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        total = sum(weight * comparison.values[key] for key, weight in self.weights.items())
        return {'trajectory_score': total / sum(self.weights.values())}


def _named(comparison: Comparison, pred: int | None, ref: int | None) -> dict[str, str | None]:
    return {
        'pred_name': None if pred is None else comparison.pred.names[pred],
        'ref_name': None if ref is None else comparison.ref.names[ref],
    }


def _edge(names: tuple[str, ...], edge: tuple[int, int]) -> str:
    return f'{edge[0]} {names[edge[0]]} -> {edge[1]} {names[edge[1]]}'
