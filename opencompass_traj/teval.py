"""T-Eval's four numbers by OpenCompass' own `PlanningEvaluator`, so that they stay T-Eval's.

Upstream's own code reads the plans and matches them (`teval_matching`). It is kept from the inputs on which it stops or
runs text as code.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import json
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from opencompass.datasets.teval.evaluators import planning_evaluator
from scipy.optimize import linear_sum_assignment

from opencompass_traj.edges import chain_graph, golden_graph, predicted_edges
from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions, text_similarity
from opencompass_traj.metrics.permutation import permutation_match
from opencompass_traj.metrics.prf import precision_recall_f1
from opencompass_traj.parsing.literal import load_literal
from opencompass_traj.parsing.teval import rewoo_args_text
from opencompass_traj.parsing.trajectories import RECORDED
from opencompass_traj.plan import ParseFailure, Trajectory
from opencompass_traj.scoring import Comparison, Metric, Reference
from opencompass_traj.teval_matching import Steps, match_as_upstream

STRATEGIES = ('bertscore', 'permutation')
# networkx' matching grows with the cube: where all pairs may match it took 0.02 s at 20 × 20 steps (T-Eval's longest
# plan), 0.5 s at 60 × 60 and 7 s at 120 × 120 on one core, scipy's assignment 0.5 ms at 120 × 120.
MAX_UPSTREAM_PAIRS = 3_600

_KEPT = 'teval_plans'


class _Numbers(NamedTuple):
    precision: float
    recall: float
    f1: float


_NOTHING = _Numbers(0.0, 0.0, 0.0)


class TEvalPlanning(Metric):
    """`precision`, `recall`, `f1_score`, `parse_rate`: T-Eval's planning metric, its oddities included.

    Where upstream stops with an exception the value is stated here: a plan of finish markers alone scores 0.

    Args:
        match_strategy: `bertscore`, or `permutation`: steps and dependencies counted together, tools ignored.
        max_pairs: Above this many pairs of steps, scipy's assignment takes the place of networkx' matching, which
            would take minutes; `teval_matching` in the details says `assignment`. At least 1.
    """

    rates = ('precision', 'recall', 'f1_score', 'parse_rate')
    reads_prediction = True

    def __init__(self, match_strategy: str = 'bertscore', *, max_pairs: int = MAX_UPSTREAM_PAIRS) -> None:
        if match_strategy not in STRATEGIES:
            raise ValueError(f'expected `match_strategy` to be one of {", ".join(STRATEGIES)}, got {match_strategy!r}')
        if max_pairs < 1:
            raise ValueError(f'expected `max_pairs` of at least 1, got {max_pairs}')
        self.match_strategy = match_strategy
        self.max_pairs = max_pairs
        self.uses_embeddings = match_strategy == 'bertscore'

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `score` will read; see `Metric.texts`."""
        if not self.uses_embeddings:
            return
        for steps in _plans(comparison):
            for step in steps:
                yield step['name']
                yield str(step['args'])

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        pred, ref = _plans(comparison)
        found, how = self._match(comparison, pred, ref)
        return {
            'precision': found.precision,
            'recall': found.recall,
            'f1_score': found.f1,
            'parse_rate': float(bool(pred and ref)),
            'teval_matching': how,
        }

    def _match(self, comparison: Comparison, pred: Steps, ref: Steps) -> tuple[_Numbers, str]:
        if not pred or not ref:
            return _NOTHING, 'upstream'
        if self.match_strategy == 'permutation':
            return _permutation(comparison), 'permutation'
        if not _without_finish(pred) or not _without_finish(ref):
            return _NOTHING, 'convention'
        vectors = comparison.vectors
        if vectors is None:
            raise RuntimeError('T-Eval compares texts by their vectors, and there is no encoder')
        if len(pred) * len(ref) > self.max_pairs:
            return _assignment(
                _without_finish(pred), _without_finish(ref), vectors, comparison.reading.match
            ), 'assignment'
        numbers = match_as_upstream(pred, ref, vectors, comparison.reading.match)
        return _Numbers(*(numbers[key] for key in ('precision', 'recall', 'f1_score'))), 'upstream'


def _literal(text: str) -> dict[Any, Any]:
    """Read golden arguments that upstream would run as Python; what is no mapping counts as no arguments."""
    for read in (ast.literal_eval, json.loads):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        return value if isinstance(value, dict) else {}
    return {}


# Upstream's own reading of a sample, with its one call of `eval` (on golden ReWOO arguments) bound to a literal reader.
_read_upstream = FunctionType(
    planning_evaluator.PlanningEvaluator._process_response.__code__,
    {**vars(planning_evaluator), 'eval': _literal},
)


class _Reader(planning_evaluator.PlanningEvaluator):  # type: ignore[misc]
    default_prompt_type = 'json'

    def __init__(self) -> None:
        """Upstream's own constructor would load a model, which reading does not need."""


def _plans(comparison: Comparison) -> tuple[Steps, Steps]:
    """The predicted and the golden steps as upstream reads them; both empty where it would not or must not.

    They are kept in the comparison, as its own cached properties are: `texts` and `score` both need them.
    """
    kept = vars(comparison)
    if _KEPT not in kept:
        kept[_KEPT] = _read_plans(comparison)
    plans: tuple[Steps, Steps] = kept[_KEPT]
    return plans


def _read_plans(comparison: Comparison) -> tuple[Steps, Steps]:
    reference = comparison.reference
    prediction = comparison.prediction
    found = comparison.trajectory
    if isinstance(found, Trajectory) and found.format in RECORDED:
        # A recording is no answer that T-Eval could read; its calls are taken as one that was written well.
        steps = [{'id': i, 'name': step.name, 'args': step.args} for i, step in enumerate(found.plan.steps)]
        return _read(steps, dataclasses.replace(reference, prompt_type='json'))
    if reference.prompt_type == 'ReWOO':
        return _rewoo_plans(comparison)
    if isinstance(prediction, str):
        unusable = len(prediction) > comparison.reading.limits.answer_chars
    else:
        # Upstream copies a value before it looks at it, and stops at one that is nested too deep.
        unusable = reference.prompt_type == 'str' or isinstance(comparison.strict, ParseFailure)
    return ([], []) if unusable else _read(_as_value(prediction, reference), reference)


def _as_value(prediction: object, reference: Reference) -> object:
    """What a JSON answer says, where that is sure to be what upstream reads in it.

    Upstream has Python's compiler read every answer first, which takes several times longer than all else that is done
    for a sample. What lies beyond our own limits is left to upstream as it is.
    """
    if not isinstance(prediction, str) or reference.prompt_type != 'json':
        return prediction
    value = load_literal(prediction, start='[', end=']')
    return prediction if isinstance(value, ParseFailure) else value


def _rewoo_plans(comparison: Comparison) -> tuple[Steps, Steps]:
    """Upstream's reading of the golden plan, beside our own of the prediction.

    Upstream's patterns take time that grows with the cube of a line's length, and stop at a number of 5,000 digits.
    """
    parsed = comparison.strict
    if isinstance(parsed, ParseFailure):
        return [], []
    golden = _read('', comparison.reference)[1]
    return [{'id': step.id, 'name': step.name, 'args': rewoo_args_text(step.args)} for step in parsed.steps], golden


def _read(prediction: object, reference: Reference) -> tuple[Steps, Steps]:
    record = {
        # Upstream puts its own steps in the place of those in the list; in the steps themselves it only reads.
        'prediction': copy.copy(prediction),
        'ground_truth': copy.copy(reference.record['ground_truth']),
        'meta': {'prompt_type': reference.prompt_type, 'API_list': list(reference.api_list)},
    }
    with warnings.catch_warnings():
        # Odd escapes in an answer are the agent's affair, not a fault of this run.
        warnings.simplefilter('ignore', SyntaxWarning)
        sample = _read_upstream(_Reader(), record)[0]
    return sample.pred['planning'], sample.gt['planning']


def _without_finish(steps: Steps) -> Steps:
    ordered = sorted(steps, key=lambda step: step['id'])
    return ordered[:-1] if ordered[-1]['name'] == 'FinishAction' else ordered


def _assignment(pred: Steps, ref: Steps, vectors: TextVectors, match: MatchOptions) -> _Numbers:
    """Upstream's numbers with scipy's assignment for the matching and bisection for the subsequence."""
    names = text_similarity([step['name'] for step in pred], [step['name'] for step in ref], vectors)
    args = text_similarity([str(step['args']) for step in pred], [str(step['args']) for step in ref], vectors)
    similarity = match.name_weight * names + match.args_weight * args
    weight = np.where(similarity > match.match_threshold, similarity, 0.0)
    rows, columns = linear_sum_assignment(weight, maximize=True)
    tails: list[int] = []
    for column in columns[weight[rows, columns] > 0].tolist():
        at = bisect_left(tails, column)
        tails[at : at + 1] = [column]
    # Upstream counts one step even where nothing matches.
    counts = precision_recall_f1(max(1, len(tails)), len(pred), len(ref))
    return _Numbers(counts.precision, counts.recall, counts.f1)


def _permutation(comparison: Comparison) -> _Numbers:
    written = comparison.strict
    if isinstance(written, ParseFailure):
        return _NOTHING
    edges = predicted_edges(written, golden_has_graph=False)
    golden = golden_graph(comparison.reference.written) or chain_graph(comparison.reference.written)
    found = permutation_match(edges.graph, golden)
    return _Numbers(found.precision, found.recall, found.f1)
