"""T-Eval's and WorFEval's way to count: a matching of similar steps, then a longest ordered part or a connected one.

The same networkx matching over the same edges in the same order decides between equally good matchings as it does
there: equal steps may be crossed, and then count less than they should. `metrics.plan_match` has the repaired count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from opencompass_traj.metrics.prf import PrecisionRecallF1, precision_recall_f1

# networkx' matching grows with the cube of the length: seconds at 100 × 100, minutes above.
MAX_PAIRS: Final = 3_600

Edge = tuple[int, int]


def threshold_matching(
    similarity: NDArray[np.float64], *, threshold: float, max_pairs: int = MAX_PAIRS
) -> tuple[int | None, ...]:
    """Match predicted with golden steps one to one, with the largest total similarity.

    Args:
        similarity: Shape (n_pred, n_ref).
        threshold: Only pairs strictly above it may be matched.
        max_pairs: Above this many cells scipy's assignment takes the place of networkx' matching.

    Returns:
        For each predicted step the index of its golden step from 0, or None.

    Complexity:
        O((n_pred + n_ref)³) up to `max_pairs`, above which the cubic step is compiled.

    Example:
        >>> threshold_matching(np.array([[0.9, 0.0], [0.8, 0.7]]), threshold=0.6)
        (0, 1)
    """
    n_pred, n_ref = similarity.shape
    if not n_pred or not n_ref:
        return (None,) * n_pred
    if n_pred * n_ref > max_pairs:
        weight = np.where(similarity > threshold, similarity, 0.0)
        rows, columns = linear_sum_assignment(weight, maximize=True)
        found = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if weight[i, j] > 0}
    else:
        found = _networkx_matching(similarity, threshold)
    return tuple(found.get(i) for i in range(n_pred))


def ordered_count(matched: Sequence[int | None]) -> int:
    """The longest part of a matching in which later predicted steps have later golden ones, and at least 1.

    T-Eval begins to count at 1, so that a plan of which nothing is matched has one step right.

    Args:
        matched: As `threshold_matching` returns it; not empty.

    Example:
        >>> ordered_count([0, 2, 3, 1, 5]), ordered_count([None])
        (4, 1)
    """
    tails: list[int] = []
    for place in matched:
        if place is not None:
            at = bisect_left(tails, place)
            tails[at : at + 1] = [place]
    return max(1, len(tails))


def ordered_match(similarity: NDArray[np.float64], *, threshold: float) -> PrecisionRecallF1:
    """T-Eval's count: the longest ordered part of the matching against the steps of both sides.

    Args:
        similarity: Shape (n_pred, n_ref).
        threshold: Only pairs strictly above it may be matched.

    Returns:
        Counts with at least one matched step; of an empty side, none.

    Example:
        >>> ordered_match(np.zeros((2, 4)), threshold=0.7).recall
        0.25
    """
    n_pred, n_ref = similarity.shape
    if not n_pred or not n_ref:
        return precision_recall_f1(0, n_pred, n_ref)
    return precision_recall_f1(
        ordered_count(threshold_matching(similarity, threshold=threshold)), n_pred=n_pred, n_ref=n_ref
    )


def first_orders(size: int, edges: Iterable[Edge], *, limit: int) -> Iterator[list[int]]:
    """The first topological orders of a graph, in networkx' order.

    Args:
        size: Number of nodes, which are numbered from 0.
        edges: Pairs (before, after).
        limit: How many orders at most.

    Returns:
        The orders; none where the graph has a cycle.

    Example:
        >>> list(first_orders(3, [(0, 1), (0, 2)], limit=5))
        [[0, 2, 1], [0, 1, 2]]
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(edges)
    return islice(nx.all_topological_sorts(graph), limit) if nx.is_directed_acyclic_graph(graph) else iter(())


def connected_match(
    similarity: NDArray[np.float64], pred_edges: Collection[Edge], ref_edges: Collection[Edge], *, threshold: float
) -> PrecisionRecallF1:
    """WorFEval's count for graphs: the largest connected part of the matched nodes.

    Connected are nodes by edges that both graphs have under the same numbers, from the same place of one list of nodes
    to the same place of it: where the same graph is listed in another order, its edges are others.

    Args:
        similarity: Shape (n_pred, n_ref).
        pred_edges: Pairs of predicted nodes, numbered from 0.
        ref_edges: Pairs of golden nodes.
        threshold: Only pairs strictly above it may be matched.

    Returns:
        The size of that part against the nodes of both sides; nothing matched is 0.

    Example:
        >>> connected_match(np.eye(3), [(0, 1), (1, 2)], [(0, 1)], threshold=0.6).precision == 2 / 3
        True
    """
    matched = threshold_matching(similarity, threshold=threshold)
    pred_nodes = {i for i, j in enumerate(matched) if j is not None}
    ref_nodes = {j for j in matched if j is not None}
    nodes = pred_nodes & ref_nodes
    both = [edge for edge in set(ref_edges).intersection(pred_edges) if edge[0] in nodes and edge[1] in nodes]
    graph = nx.Graph()
    graph.add_nodes_from(pred_nodes)
    graph.add_edges_from(both)
    largest = max(map(len, nx.connected_components(graph)), default=0)
    return precision_recall_f1(largest, *similarity.shape)


def _networkx_matching(similarity: NDArray[np.float64], threshold: float) -> dict[int, int]:
    graph = nx.Graph()
    for i, row in enumerate(similarity.tolist()):
        for j, value in enumerate(row):
            if value > threshold:
                # Golden nodes under text names, as upstream has them: the two sides must not be confused.
                graph.add_edge(i, str(j), weight=value)
    pairs = (pair if isinstance(pair[0], int) else pair[::-1] for pair in nx.max_weight_matching(graph))
    return {int(i): int(j) for i, j in pairs}
