"""Exact graph edit distance between a predicted and a golden plan graph, and what follows from its best mapping.

Costs: 1 per inserted or deleted node or edge; a node may only stand for a node of the same tool. The distance is then
`n_pred + n_ref + e_pred + e_ref - 2 * (matched nodes + matched edges)`, so that a cheapest edit is a mapping that
matches the most nodes and edges. Since a pair more never unmatches an edge, every tool is matched as often as both
plans have it, and only the partners of repeated tools are a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import linear_sum_assignment

from opencompass_traj.metrics._mapping import DEFAULT_BUDGET, Mapping, best_mapping
from opencompass_traj.metrics._mapping_inputs import (
    Edges,
    Weights,
    adjacency,
    checked_weights,
    common_subsequence,
    label_blocks,
    precedence,
    weight_blocks,
)
from opencompass_traj.metrics._mapping_problem import Floats
from opencompass_traj.metrics._mapping_ties import Prefer, prefer_pairs
from opencompass_traj.metrics.prf import PrecisionRecallF1, precision_recall_f1
from opencompass_traj.plan import StepGraph

__all__ = ['DEFAULT_BUDGET', 'GraphMatch', 'graph_match', 'order_match']


@dataclass(frozen=True, slots=True)
class GraphMatch:
    """The best mapping between two plan graphs, and its counts.

    Attributes:
        mapping: Pairs (predicted node, golden node), sorted; indices from 0.
        matched_nodes: Mapped pairs, by weight; a whole number without weights.
        matched_edges: Golden edges that a predicted edge stands for, by weight; a whole number without weights.
        n_pred_nodes: Predicted nodes.
        n_ref_nodes: Golden nodes.
        n_pred_edges: Predicted edges. By order (`order_match`): the matched edges.
        n_ref_edges: Golden edges.
        redundant_edges: Predicted edges that stand for no golden edge, as pairs of predicted nodes, sorted.
        missing_edges: Golden edges that no predicted edge stands for, as pairs of golden nodes, sorted.
        similarity_lower: The best mapping's similarity is at least this.
        similarity_upper: The best mapping's similarity is at most this.
        exact: Whether the mapping is proved to be best. All other fields describe the mapping that was found.
    """

    mapping: tuple[tuple[int, int], ...]
    matched_nodes: float
    matched_edges: float
    n_pred_nodes: int
    n_ref_nodes: int
    n_pred_edges: float
    n_ref_edges: int
    redundant_edges: tuple[tuple[int, int], ...]
    missing_edges: tuple[tuple[int, int], ...]
    similarity_lower: float
    similarity_upper: float
    exact: bool

    @property
    def _total(self) -> float:
        return self.n_pred_nodes + self.n_ref_nodes + self.n_pred_edges + self.n_ref_edges

    @property
    def distance(self) -> float:
        """The graph edit distance: nodes and edges of either side that were not matched."""
        return self._total - 2 * (self.matched_nodes + self.matched_edges)

    @property
    def similarity(self) -> float:
        """`1 - distance / (nodes + edges of both)`, in [0, 1]; both graphs empty: 1."""
        return _similarity(self.matched_nodes + self.matched_edges, self._total)

    @property
    def nodes(self) -> PrecisionRecallF1:
        """Precision, recall and F1 of the nodes."""
        return precision_recall_f1(self.matched_nodes, self.n_pred_nodes, self.n_ref_nodes)

    @property
    def edges(self) -> PrecisionRecallF1:
        """Precision, recall and F1 of the edges."""
        return precision_recall_f1(self.matched_edges, self.n_pred_edges, self.n_ref_edges)

    @property
    def isomorphic(self) -> bool:
        """Whether the mapping matches every node and edge of both graphs in full."""
        return self.distance == 0


def graph_match(
    pred: StepGraph,
    ref: StepGraph,
    *,
    weights: Weights | None = None,
    prefer: Prefer | None = None,
    prefer_at_most: Prefer | None = None,
    budget: float = DEFAULT_BUDGET,
) -> GraphMatch:
    """Match two directed graphs by their best mapping.

    Args:
        pred: The predicted graph; any directed graph without self-loops, cycles allowed.
        ref: The golden graph, likewise.
        weights: What a predicted node (row) standing for a golden node (column) is worth, in [0, 1]; 0 forbids the
            pair. A matched edge is worth the product of its ends' weights. None: 1 for the same tool, else 0.
        prefer: The worth of a pair (predicted node, golden node) where several mappings match equally much; without
            weights only. It changes which steps and edges are named, and no number.
        prefer_at_most: A bound on `prefer`, quickly had, so that it is asked less often; it changes nothing else.
        budget: Search nodes after which the best mapping found is returned, with bounds.

    Returns:
        The match with its counts. Both graphs empty: similarity 1; one empty: 0. Where `exact`, the similarity is the
        same with the graphs exchanged or their nodes renumbered; with weights, it is proved to within 1e-6 matches.

    Raises:
        ValueError: If an edge names no node or is a self-loop, the weights have another shape or range, or the budget
            is negative.

    Complexity:
        Polynomial where no edge joins two repeated tools; else exponential in the repeated steps, within the budget.

    Example:
        >>> chain = lambda *names: StepGraph(names, frozenset((i, i + 1) for i in range(len(names) - 1)))
        >>> match = graph_match(chain('A', 'X', 'B', 'C'), chain('A', 'B', 'C'))
        >>> match.distance, match.redundant_edges, match.missing_edges
        (4, ((0, 1), (1, 2)), ((0, 1),))
    """
    pred_edges, ref_edges = adjacency(pred), adjacency(ref)
    table = checked_weights(weights, len(pred.names), len(ref.names))
    found = _find((pred, pred_edges), (ref, ref_edges), table, (prefer, prefer_at_most), budget)
    nodes, edges, missing = _matched(found, pred_edges, ref, table)
    ahead = dict(found.pairs)
    redundant = [(i, j) for i, j in pred.edges if (ahead.get(i, -1), ahead.get(j, -1)) not in ref.edges]
    total = len(pred.names) + len(ref.names) + len(pred.edges) + len(ref.edges)
    return GraphMatch(
        mapping=found.pairs,
        matched_nodes=nodes,
        matched_edges=edges,
        n_pred_nodes=len(pred.names),
        n_ref_nodes=len(ref.names),
        n_pred_edges=len(pred.edges),
        n_ref_edges=len(ref.edges),
        redundant_edges=tuple(sorted(redundant)),
        missing_edges=missing,
        similarity_lower=_similarity(nodes + edges, total),
        similarity_upper=_similarity(nodes + edges if found.exact else found.upper, total),
        exact=found.exact,
    )


def order_match(
    pred: StepGraph,
    ref: StepGraph,
    *,
    rank: Sequence[int] | None = None,
    weights: Weights | None = None,
    prefer: Prefer | None = None,
    prefer_at_most: Prefer | None = None,
    budget: float = DEFAULT_BUDGET,
) -> GraphMatch:
    """Match a golden graph with predicted steps that state only their order.

    A golden dependency counts as present when both its steps occur and in that order, and the predicted edges are
    exactly those. A legal order of the golden graph has similarity 1.

    Args:
        pred: The predicted steps; the edges are not looked at.
        ref: The golden graph.
        rank: For each predicted step, when it was made; steps made together share a rank. None: one after another.
        weights: As for `graph_match`.
        prefer: As for `graph_match`.
        prefer_at_most: As for `graph_match`.
        budget: As for `graph_match`.

    Returns:
        The match under the mapping that matches the most nodes and edges. No predicted edge is redundant.

    Raises:
        ValueError: As for `graph_match`, and if `rank` has not one entry per predicted step.

    Example:
        >>> match = order_match(
        ...     StepGraph(('A', 'X', 'B', 'C')), StepGraph(('A', 'B', 'C'), frozenset({(0, 1), (1, 2)}))
        ... )
        >>> match.similarity == 10 / 11
        True
    """
    before, ref_edges = precedence(len(pred.names), rank), adjacency(ref)
    table = checked_weights(weights, len(pred.names), len(ref.names))
    found = _find((pred, before), (ref, ref_edges), table, (prefer, prefer_at_most), budget)
    nodes, edges, missing = _matched(found, before, ref, table)
    lower, upper = _order_bounds(found, (nodes, edges), table, len(pred.names), ref)
    return GraphMatch(
        mapping=found.pairs,
        matched_nodes=nodes,
        matched_edges=edges,
        n_pred_nodes=len(pred.names),
        n_ref_nodes=len(ref.names),
        n_pred_edges=edges,
        n_ref_edges=len(ref.edges),
        redundant_edges=(),
        missing_edges=missing,
        similarity_lower=lower,
        similarity_upper=upper,
        exact=found.exact,
    )


def _find(
    pred: tuple[StepGraph, Edges],
    ref: tuple[StepGraph, Edges],
    weights: Floats | None,
    prefer: tuple[Prefer | None, Prefer | None],
    budget: float,
) -> Mapping:
    names, golden = pred[0].names, ref[0].names
    blocks = label_blocks(names, golden) if weights is None else weight_blocks(weights)
    found = best_mapping(
        blocks, pred[1], ref[1], weights=weights, hint=lambda: common_subsequence(names, golden), budget=budget
    )
    worth, at_most = prefer
    if worth is None or weights is not None:
        return found
    preferred = prefer_pairs(found.pairs, blocks, pred[1], ref[1], worth, at_most)
    return Mapping(preferred, found.value, found.upper, found.exact)


def _matched(
    found: Mapping, pred_edges: Edges, ref: StepGraph, weights: Floats | None
) -> tuple[float, float, tuple[tuple[int, int], ...]]:
    """Matched nodes, matched edges (both by weight) and the golden edges that were not matched."""
    back = {golden: node for node, golden in found.pairs}
    hits = [(i, j) for i, j in ref.edges if i in back and j in back and pred_edges.rows[back[i]] >> back[j] & 1]
    missing = tuple(sorted(ref.edges.difference(hits)))
    if weights is None:
        return len(found.pairs), len(hits), missing
    worth = {golden: float(weights[node, golden]) for node, golden in found.pairs}
    # Sorted, since the last digits of a sum depend on its order.
    return sum(worth.values()), sum(worth[i] * worth[j] for i, j in sorted(hits)), missing


def _order_bounds(
    found: Mapping, matched: tuple[float, float], weights: Floats | None, n_pred: int, ref: StepGraph
) -> tuple[float, float]:
    """Bounds on the similarity by order, whose denominator grows with the matched edges."""
    nodes, edges = matched
    value, fixed = nodes + edges, n_pred + len(ref.names) + len(ref.edges)
    if found.exact:
        return (_similarity(value, fixed + edges),) * 2
    least = most = nodes
    if weights is not None:
        least = max(0.0, value - len(ref.edges))
        most = float(weights[linear_sum_assignment(weights, maximize=True)].sum())
    return _similarity(value, fixed + value - least), _similarity(found.upper, fixed + found.upper - most)


def _similarity(matched: float, total: float) -> float:
    return 2 * matched / total if total else 1.0
