"""T-Eval's own matching of two plans on vectors computed once: the code of OpenCompass' `PlanningEvaluator` itself.

Upstream encodes the texts of every sample anew and has networkx find the heaviest matching. Here its encoder answers
from stored vectors, and networkx is asked only where more than one matching could be the heaviest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
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


class Edges:
    """Stands where upstream has networkx' graph: its edges in order.

    Attributes:
        weights: The weight of each edge, by predicted step and golden step, as upstream names them.
    """

    def __init__(self) -> None:
        self.weights: dict[tuple[int, str], float] = {}

    def add_edge(self, pred: int, ref: str, *, weight: float) -> None:
        """Add an edge, as networkx' graph does."""
        self.weights[pred, ref] = weight


class _Graph(nx.Graph):  # type: ignore[misc]
    """networkx' graph whose neighbours are a plain dictionary, which is read some hundred times for each edge."""

    def __getitem__(self, node: object) -> Any:
        return self._adj[node]


def heaviest_matching(edges: Edges) -> Iterable[tuple[Any, Any]]:
    """The matching of networkx' algorithm, found faster where no other one weighs as much.

    Args:
        edges: From predicted to golden steps, with weights above 0.

    Returns:
        The pairs, each in either order, as networkx gives them.
    """
    only = only_matching(edges.weights)
    if only is not None:
        return only
    graph = _Graph()
    for (pred, ref), weight in edges.weights.items():
        graph.add_edge(pred, ref, weight=weight)
    found: Iterable[tuple[Any, Any]] = nx.max_weight_matching(graph)
    return found


def only_matching(weights: Mapping[tuple[int, str], float]) -> list[tuple[int, str]] | None:
    """The pairs of the heaviest matching, predicted step first; None if another one is as heavy, or nearly so.

    Another one as heavy would lack a pair of this one. So for each pair the heaviest matching without it is found; all
    must weigh less.
    """
    of_pred, of_ref = Counter(pred for pred, _ in weights), Counter(ref for _, ref in weights)
    row = {pred: at for at, pred in enumerate(of_pred)}
    column = {ref: at for at, ref in enumerate(of_ref)}
    weight = np.zeros((len(row), len(column)))
    for (pred, ref), value in weights.items():
        weight[row[pred], column[ref]] = value
    rows, columns = linear_sum_assignment(weight, maximize=True)
    preds, refs = list(row), list(column)
    pairs = [(preds[i], refs[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
    pairs = [pair for pair in pairs if pair in weights]
    most = sum(weights[pair] for pair in pairs)
    for pred, ref in pairs:
        if of_pred[pred] == of_ref[ref] == 1:
            # Nothing can take the place of either: the matching without the pair weighs less by all of it.
            continue
        place = row[pred], column[ref]
        weight[place] = 0.0
        if weight[linear_sum_assignment(weight, maximize=True)].sum() >= most * (1 - SURELY_LESS):
            return None
        weight[place] = weights[pred, ref]
    return pairs


def _zeros(shape: tuple[int, int]) -> list[list[float]]:
    return [[0.0] * shape[1] for _ in range(shape[0])]


def _ones(size: int) -> list[float]:
    return [1.0] * size


def _maximum(matrix: NDArray[np.float32], least: float) -> list[list[float]]:
    rows: list[list[float]] = np.maximum(matrix, least).tolist()
    return rows


def cosine(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Upstream's `cos_sim` without its conversions, which take longer than the product: the same to the last bit.

    Args:
        a: Rows, shape `(n, d)`.
        b: Rows, shape `(m, d)`.

    Returns:
        Shape `(n, m)`, in [-1, 1] but for rounding; 0 for a row of zeros.
    """
    unit = (rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min_(1e-12) for rows in (a, b))
    return torch.mm(next(unit), next(unit).T)


# Upstream goes through its matrices number by number. As lists of Python's numbers they are read several times faster,
# and a float32 times a Python number is a Python number's product in NumPy 1, which OpenCompass needs.
_LISTS: Final = SimpleNamespace(zeros=_zeros, ones=_ones, maximum=_maximum)

# Upstream copies the plans deeply and then only reads them: the copies are left out.
MATCH = FunctionType(
    planning_evaluator.PlanningEvaluator.bertscore_match.__code__,
    {
        **vars(planning_evaluator),
        'copy': SimpleNamespace(deepcopy=list),
        'util': SimpleNamespace(cos_sim=cosine),
        'np': _LISTS if np.result_type(np.float32(1) * 1.0) == np.float64 else np,
        'nx': SimpleNamespace(Graph=Edges, max_weight_matching=heaviest_matching),
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
