"""T-Eval's own matching of two plans on vectors computed once: the code of OpenCompass' `PlanningEvaluator` itself.

Upstream encodes the texts of every sample anew and has networkx find the heaviest matching. Here its encoder answers
from stored vectors, and networkx is asked only where more than one matching could be the heaviest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import torch
from opencompass.datasets.teval.evaluators import planning_evaluator
from scipy.optimize import linear_sum_assignment

from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions

# Of the heaviest matching's weight: far above what rounding can do to a sum of some hundred numbers.
SURELY_LESS = 1e-9

Steps = list[dict[str, Any]]


def match_as_upstream(pred: Steps, ref: Steps, vectors: TextVectors, match: MatchOptions) -> Mapping[str, float]:
    """Upstream's `bertscore_match` of two plans.

    Args:
        pred: The predicted steps with `id`, `name` and `args`, at least one that is no finish marker.
        ref: The golden steps, likewise.
        vectors: Holds the vectors of the names and of the arguments as texts.
        match: The weights and the threshold.

    Returns:
        `precision`, `recall` and `f1_score` in [0, 1].
    """
    with _one_thread():
        numbers = MATCH(UpstreamPlanning(match, vectors), pred, ref)
    return {key: float(value) for key, value in numbers.items()}


class StoredEncoder:
    """Stands where upstream has its SentenceTransformer."""

    def __init__(self, vectors: TextVectors) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str], **_options: object) -> torch.Tensor:
        """The rows of texts, shape `(len(texts), d)`."""
        return torch.from_numpy(self.vectors[texts])


class UpstreamPlanning(planning_evaluator.PlanningEvaluator):  # type: ignore[misc]
    """Upstream's evaluator for one comparison, without its model."""

    def __init__(self, match: MatchOptions, vectors: TextVectors) -> None:
        # Upstream's own constructor would load a model.
        self.name_weight = match.name_weight
        self.args_weight = match.args_weight
        self.match_threshold = match.match_threshold
        self.sentence_model = StoredEncoder(vectors)


class _Graph(nx.Graph):  # type: ignore[misc]
    """networkx' graph whose neighbours are a plain dictionary, which is read some hundred times for each edge."""

    def __getitem__(self, node: object) -> Any:
        return self._adj[node]


def heaviest_matching(graph: nx.Graph) -> Iterable[tuple[Any, Any]]:
    """The matching of networkx' algorithm, found faster where no other one weighs as much.

    Args:
        graph: Predicted steps as numbers, golden ones as texts, edges with a `weight` above 0.

    Returns:
        The pairs, each in either order, as networkx gives them.
    """
    only = only_matching(graph)
    found: Iterable[tuple[Any, Any]] = nx.max_weight_matching(graph) if only is None else only
    return found


def only_matching(graph: nx.Graph) -> list[tuple[int, str]] | None:
    """The pairs of the heaviest matching, predicted step first; None if another one is as heavy, or nearly so.

    Another one as heavy would lack a pair of this one. So for each pair the heaviest matching without it is found; all
    must weigh less.
    """
    preds = [node for node in graph if isinstance(node, int)]
    refs = [node for node in graph if isinstance(node, str)]
    column = {ref: at for at, ref in enumerate(refs)}
    weight = np.zeros((len(preds), len(refs)))
    for row, pred in enumerate(preds):
        for ref, edge in graph[pred].items():
            weight[row, column[ref]] = edge['weight']
    rows, columns = linear_sum_assignment(weight, maximize=True)
    pairs = [pair for pair in zip(rows.tolist(), columns.tolist(), strict=True) if weight[pair]]
    most = sum(weight[pair] for pair in pairs)
    for row, at in pairs:
        if len(graph[preds[row]]) == len(graph[refs[at]]) == 1:
            # Nothing can take the place of either: the matching without the pair weighs less by all of it.
            continue
        pair_weight, weight[row, at] = weight[row, at], 0.0
        if weight[linear_sum_assignment(weight, maximize=True)].sum() >= most * (1 - SURELY_LESS):
            return None
        weight[row, at] = pair_weight
    return [(preds[row], refs[at]) for row, at in pairs]


# Upstream copies the plans deeply and then only reads them: the copies are left out.
MATCH = FunctionType(
    planning_evaluator.PlanningEvaluator.bertscore_match.__code__,
    {
        **vars(planning_evaluator),
        'copy': SimpleNamespace(deepcopy=list),
        'nx': SimpleNamespace(Graph=_Graph, max_weight_matching=heaviest_matching),
    },
)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have torch multiply on one thread.

    A product of some ten rows takes microseconds; waking a second thread for it takes milliseconds where other
    processes keep the cores busy. On one thread its last bit also does not depend on the number of cores.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
