"""How alike two steps are: T-Eval's weighted cosine of names and arguments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.embedding import TextVectors
from opencompass_traj.encoder import Vectors
from opencompass_traj.plan import Plan


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """When two steps count as the same, in T-Eval's terms.

    Attributes:
        name_weight: Weight of the names' similarity, at least 0.
        args_weight: Weight of the arguments' similarity, at least 0.
        match_threshold: Pairs strictly above it may be matched, in [0, 1].
    """

    name_weight: float = 0.75
    args_weight: float = 0.25
    match_threshold: float = 0.7

    def __post_init__(self) -> None:
        for name in ('name_weight', 'args_weight', 'match_threshold'):
            if not isinstance(getattr(self, name), (int, float)):
                raise TypeError(f'expected `{name}` to be a number, got {getattr(self, name)!r}')
        for name in ('name_weight', 'args_weight'):
            if not 0 <= getattr(self, name) < float('inf'):
                raise ValueError(f'expected `{name}` of at least 0, got {getattr(self, name)}')
        if not 0 <= self.match_threshold <= 1:
            raise ValueError(f'expected `match_threshold` in [0, 1], got {self.match_threshold}')


def step_texts(plan: Plan) -> tuple[list[str], list[str]]:
    """The two texts of each step that are embedded: its name, and `str` of its arguments as T-Eval writes them."""
    return [step.name for step in plan.steps], [str(step.args) for step in plan.steps]


def step_similarity(pred: Plan, ref: Plan, vectors: TextVectors, options: MatchOptions) -> NDArray[np.float64]:
    """Compare every predicted step with every golden one.

    Args:
        pred: The predicted plan.
        ref: The golden plan.
        vectors: Holds the vectors of all `step_texts` of both.
        options: The weights.

    Returns:
        Shape `(len(pred), len(ref))`, entries `name_weight · cos⁺(names) + args_weight · cos⁺(args)` where `cos⁺` is
        the cosine or 0, whichever is greater; equal texts give exactly 1, so that equal steps tie exactly.

    Source:
        `bertscore_match` of T-Eval's `PlanningEvaluator` (arXiv 2312.14033), in double precision.
    """
    pred_names, pred_args = step_texts(pred)
    ref_names, ref_args = step_texts(ref)
    names = text_similarity(pred_names, ref_names, vectors)
    return options.name_weight * names + options.args_weight * text_similarity(pred_args, ref_args, vectors)


def text_similarity(pred: list[str], ref: list[str], vectors: TextVectors) -> NDArray[np.float64]:
    """The cosine of each pair of texts, negative ones as 0 and equal texts as exactly 1, in [0, 1]."""
    if not pred or not ref:
        return np.zeros((len(pred), len(ref)))
    cosine = np.clip(_unit(vectors[pred]) @ _unit(vectors[ref]).T, 0.0, 1.0)
    equal = np.array(pred, dtype=object)[:, None] == np.array(ref, dtype=object)[None, :]
    similarity: NDArray[np.float64] = np.where(equal, 1.0, cosine)
    return similarity


def _unit(rows: Vectors) -> NDArray[np.float64]:
    wide = rows.astype(np.float64)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: NDArray[np.float64] = wide / np.where(length > 0, length, 1.0)
    return unit
