"""The metrics that a config can list: each turns one comparison into named numbers by a pure metric module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.metrics import causal, dag, partial_order, plan_match
from opencompass_traj.metrics.sequence import EditOp, Mode, SequenceEdit, check_mode, sequence_edit, soft_levenshtein
from opencompass_traj.plan import StepGraph
from opencompass_traj.scoring.comparison import Compare, Comparison, check_compare
from opencompass_traj.scoring.metric import Metric
from opencompass_traj.turns import turn_edges, turn_ranks


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
            rank=comparison.pred_ranks,
            threshold=comparison.reading.match.match_threshold
            if self.match_threshold is None
            else self.match_threshold,
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

    Parallel calls of one turn, on either side, may come in any order: the similarity is that of the best one (`soft`:
    that of the order in which the predicted calls of a turn are most like golden steps).

    Args:
        mode: `levenshtein`, the default, or `indel`: `2·LCS / (n_pred + n_ref)`, which a redundant step never raises.
        compare: `name`, the default; `call`: tool and arguments; or `soft`: replacing a step costs 1 less the
            similarity of the two steps instead of 1 (Levenshtein only; needs an encoder).
        budget: As for `PartialOrderSimilarity`, where there are parallel calls.
    """

    rates = ('sequence_similarity', 'optimal_rate')
    counts = ('redundant_steps', 'missing_steps')

    def __init__(
        self,
        mode: Mode = 'levenshtein',
        *,
        compare: Compare = 'name',
        budget: int = partial_order.DEFAULT_BUDGET,
    ) -> None:
        check_mode(mode)
        check_compare(compare)
        if compare == 'soft' and mode != 'levenshtein':
            raise ValueError(f"expected `mode` 'levenshtein' with `compare` 'soft', got {mode!r}")
        self.mode: Mode = mode
        self.compare: Compare = compare
        self.uses_embeddings = compare == 'soft'
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        edit = self._edit(comparison)
        return {
            'sequence_similarity': edit.similarity,
            'optimal_rate': float(edit.similarity == 1 and not edit.redundant),
            'redundant_steps': float(edit.redundant),
            'missing_steps': float(edit.missing),
            'sequence_exact': edit.exact if isinstance(edit, partial_order.PartialOrderEdit) else True,
            'alignment': _alignment(comparison, edit.alignment),
        }

    def _edit(self, comparison: Comparison) -> SequenceEdit | partial_order.PartialOrderEdit:
        if self.compare == 'soft':
            return soft_levenshtein(np.minimum(comparison.similarity, 1.0), rank=comparison.pred_ranks)
        pred, ref = comparison.labels(self.compare)
        if comparison.pred_ranks is None and turn_ranks(comparison.ref) is None:
            return sequence_edit(pred, ref, mode=self.mode)
        return comparison.closest_order(
            turn_edges(comparison.ref), compare=self.compare, mode=self.mode, budget=self.budget
        )


class PartialOrderSimilarity(Metric):
    """`partial_order_similarity`: the sequence similarity to the closest legal order; see `metrics.partial_order`.

    Args:
        mode: As for `SequenceSimilarity`.
        compare: `name`, the default, or `call`: tool and arguments.
        budget: Cells of the exact computation before it falls back to bounds, at least 1.
    """

    rates = ('partial_order_similarity',)

    def __init__(
        self,
        mode: Mode = 'levenshtein',
        *,
        compare: Compare = 'name',
        budget: int = partial_order.DEFAULT_BUDGET,
    ) -> None:
        check_mode(mode)
        check_compare(compare, ('name', 'call'))
        self.mode: Mode = mode
        self.compare: Compare = compare
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = comparison.closest_order(
            comparison.ref_graph.edges, compare=self.compare, mode=self.mode, budget=self.budget
        )
        return {
            'partial_order_similarity': found.similarity,
            'partial_order_exact': found.exact,
            'partial_order_bounds': [found.lower, found.upper],
        }


class GraphSimilarity(Metric):
    """`dag_similarity` with its node and edge figures; see `metrics.dag`.

    Args:
        compare: `name`, the default; `call`: tool and arguments; or `soft`: a node may stand for a node of another tool
            whose step similarity is above the threshold, weighted by it (needs an encoder).
        match_threshold: For `soft`, in [0, 1]; None takes the evaluator's.
        budget: Search nodes before a result becomes a bound, at least 1.
    """

    rates = ('dag_similarity', 'node_f1', 'edge_precision', 'edge_recall', 'edge_f1', 'isomorphic_rate')
    counts = ('redundant_edges', 'missing_edges')

    def __init__(
        self,
        *,
        compare: Compare = 'name',
        match_threshold: float | None = None,
        budget: float = dag.DEFAULT_BUDGET,
    ) -> None:
        check_compare(compare)
        self.compare: Compare = compare
        self.uses_embeddings = compare == 'soft'
        self.match_threshold = match_threshold
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = comparison.graph_match(compare=self.compare, weights=self._weights(comparison), budget=self.budget)
        edges = found.edges
        return {
            'dag_similarity': found.similarity,
            'node_f1': found.nodes.f1,
            'edge_precision': edges.precision,
            'edge_recall': edges.recall,
            'edge_f1': edges.f1,
            'isomorphic_rate': float(found.isomorphic),
            'redundant_edges': float(len(found.redundant_edges)),
            'missing_edges': float(len(found.missing_edges)),
            'edge_source': comparison.pred_edges.source,
            'dropped_edges': list(comparison.pred_edges.dropped),
            'graph_exact': found.exact,
            'graph_bounds': [found.similarity_lower, found.similarity_upper],
            'graph_pairs': [list(pair) for pair in found.mapping],
            'redundant_edge_list': [_edge(comparison.pred_names, edge) for edge in found.redundant_edges],
            'missing_edge_list': [_edge(comparison.ref_names, edge) for edge in found.missing_edges],
        }

    def _weights(self, comparison: Comparison) -> NDArray[np.float64] | None:
        if not self.uses_embeddings:
            return None
        threshold = comparison.reading.match.match_threshold if self.match_threshold is None else self.match_threshold
        similarity = comparison.similarity
        kept: NDArray[np.float64] = np.where(similarity > threshold, np.minimum(similarity, 1.0), 0.0)
        return kept


class CausalFidelity(Metric):
    """`causal_fidelity`: the share of golden precedences that the prediction keeps; see `metrics.causal`.

    Args:
        compare: `name`, the default, or `call`: tool and arguments.
        budget: Search nodes before a result becomes a bound, at least 1.
    """

    rates = ('causal_fidelity',)

    def __init__(self, *, compare: Compare = 'name', budget: float = dag.DEFAULT_BUDGET) -> None:
        check_compare(compare, ('name', 'call'))
        self.compare: Compare = compare
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        pred, ref = comparison.labels(self.compare)
        golden = StepGraph(ref, comparison.ref_graph.edges)
        found = causal.causal_fidelity(pred, golden, rank=comparison.pred_ranks, budget=self.budget)
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
        zero_if_forbidden: Whether a call of a forbidden tool makes the score 0; `ForbiddenTools` must come before.
    """

    rates = ('trajectory_score',)

    def __init__(self, weights: Mapping[str, float] | None = None, *, zero_if_forbidden: bool = False) -> None:
        self.weights = dict({'sequence_similarity': 0.6, 'dag_similarity': 0.4} if weights is None else weights)
        if not self.weights or min(self.weights.values()) < 0 or not sum(self.weights.values()) > 0:
            raise ValueError(f'expected `weights` of at least 0 with a sum above 0, got {self.weights}')
        self.requires = (*self.weights, *(['forbidden_hits'] if zero_if_forbidden else []))
        self.zero_if_forbidden = zero_if_forbidden

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        if self.zero_if_forbidden and comparison.values['forbidden_hits']:
            return {'trajectory_score': 0.0}
        total = sum(weight * comparison.values[key] for key, weight in self.weights.items())
        return {'trajectory_score': total / sum(self.weights.values())}


def _alignment(comparison: Comparison, steps: Sequence[EditOp]) -> list[dict[str, Any]]:
    pred_names, ref_names = comparison.pred_names, comparison.ref_names
    return [
        {
            'op': op,
            'pred': pred,
            'ref': ref,
            'pred_name': None if pred is None else pred_names[pred],
            'ref_name': None if ref is None else ref_names[ref],
        }
        for op, pred, ref in steps
    ]


def _edge(names: tuple[str, ...], edge: tuple[int, int]) -> str:
    return f'{edge[0]} {names[edge[0]]} -> {edge[1]} {names[edge[1]]}'
