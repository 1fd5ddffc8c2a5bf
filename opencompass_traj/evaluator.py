"""The OpenCompass evaluator: T-Eval's interface around `scoring`; translation, no arithmetic."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_evaluator import BaseEvaluator, TEvalEvaluator
from opencompass.registry import ICL_EVALUATORS, METRICS
from opencompass.utils import get_logger
from tqdm import tqdm

from opencompass_traj import scoring
from opencompass_traj.embedding import TextVectors, check_batch_size, shared_vectors
from opencompass_traj.matching import MatchOptions, text_similarity
from opencompass_traj.metrics.argument_rules import argument_rules as read_rules
from opencompass_traj.parsing.trajectories import check_format
from opencompass_traj.scoring import FINISH_NAMES, Comparison, Metric, Reading, Scorer, read_references
from opencompass_traj.teval import STRATEGIES, TEvalPlanning

# The encoders that OpenCompass' T-Eval evaluator takes for its two planning sets.
PLANNING_ENCODERS = {'plan': 'all-mpnet-base-v2', 'plan_zh': 'thenlper/gte-large-zh'}
_LANGUAGE_FREE = ('instruct', 'plan', 'review', 'reason_retrieve_understand', 'reason', 'retrieve', 'understand')
SUBSETS = tuple(name + suffix for suffix in ('', '_zh') for name in _LANGUAGE_FREE)
DEFAULT_METRICS = (
    'Recovery',
    'PlanMatch',
    'SequenceSimilarity',
    'PartialOrderSimilarity',
    'GraphSimilarity',
    'CausalFidelity',
    'ForbiddenTools',
    'TrajectoryScore',
    'ArgumentMatch',
    'EffectMatch',
    'LoopDetection',
    'Efficiency',
    'Outcome',
)
PROGRESS_FROM_SAMPLES = 200
# Samples in one warning.
MAX_NAMED = 10

METRICS.register_module(module=TEvalPlanning)
for _name in DEFAULT_METRICS:
    METRICS.register_module(module=getattr(scoring, _name))


@ICL_EVALUATORS.register_module()
class TrajectoryPlanningEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Scores plans: T-Eval's four numbers unchanged, and those of `docs/metrics.md` beside them.

    It takes the place of `TEvalEvaluator` (`subset`) and of T-Eval's `PlanningEvaluator` (the other arguments).

    Args:
        dataset_path: A T-Eval result file `{key: {prediction, ground_truth, meta}}` for `evaluate()` without arguments.
        name_weight: Weight of the tool names' similarity in a pair of steps, at least 0.
        args_weight: Weight of the arguments' similarity, at least 0.
        match_threshold: Pairs of steps strictly above it may be matched, in [0, 1].
        match_strategy: For T-Eval's numbers: `bertscore`, or `permutation` (needs no encoder, ignores tools).
        bert_score_model: The encoder: a hub name, a local folder or `package:NAME`; None takes T-Eval's for `subset`.
        default_prompt_type: How predictions are written where a sample's `meta` does not say: `json`, `str`, `ReWOO`.
        subset: T-Eval's subset. `plan` and `plan_zh` are scored here; any other is handed to `TEvalEvaluator`.
        metrics: The metrics as `dict(type=…, option=…)` or `Metric` objects; None takes all that the package has.
        finish_names: Tools that only mark the end of a plan; not counted (T-Eval's numbers keep T-Eval's own rule).
        prediction_format: How predictions are read for all but T-Eval's numbers: `auto` (T-Eval's reading, else the
            first format that recognises it), `teval`, or another of `parsing.trajectories.FORMATS`.
        argument_rules: When arguments are the same; see `metrics.argument_rules.argument_rules`.
        best_by: The rate by which the best of several golden plans is chosen; None: `trajectory_score`.
        strict_golden: Whether an unsound golden plan stops the evaluation; False scores what is sound in it.
        device: Where the encoder runs, such as `cpu` or `cuda:0`; None takes a GPU if there is one.
        batch_size: Texts per forward pass of the encoder, at least 1.
        embedding_cache: Whether text vectors are kept on disk for later runs; `$OPENCOMPASS_TRAJ_CACHE` says where, and
            `off` in it turns the cache off. It changes no score beyond 1e-6.
        pred_postprocessor: OpenCompass' postprocessor for replicated predictions.

    Raises:
        ValueError: For an argument out of range, or an unknown name.

    Example:
        In a config: `evaluator=dict(type=TrajectoryPlanningEvaluator, subset='plan')`.
    """

    def __init__(  # noqa: PLR0913 - T-Eval's arguments, and ours
        self,
        dataset_path: str = '',
        name_weight: float = 0.75,
        args_weight: float = 0.25,
        match_threshold: float = 0.7,
        match_strategy: str = 'bertscore',
        bert_score_model: str | None = None,
        default_prompt_type: str = 'json',
        *,
        subset: str = 'plan',
        metrics: Sequence[Mapping[str, Any] | Metric] | None = None,
        finish_names: Sequence[str] = FINISH_NAMES,
        prediction_format: str = 'auto',
        argument_rules: Mapping[str, Any] | None = None,
        best_by: str | None = None,
        strict_golden: bool = True,
        device: str | None = None,
        batch_size: int = 64,
        embedding_cache: bool = True,
        pred_postprocessor: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(pred_postprocessor=pred_postprocessor)
        if dataset_path in SUBSETS:
            raise ValueError(f'expected `dataset_path` to be a file, got a subset name: write subset={dataset_path!r}')
        _one_of('subset', subset, SUBSETS)
        _one_of('match_strategy', match_strategy, STRATEGIES)
        _one_of('default_prompt_type', default_prompt_type, scoring.PROMPT_TYPES)
        check_batch_size(batch_size)
        check_format(prediction_format)
        if isinstance(finish_names, str):
            raise TypeError(f'expected `finish_names` to be a list of names, got the text {finish_names!r}')
        self.argument_rules = dict(argument_rules or {})
        self.dataset_path = dataset_path
        self.subset = subset
        self.default_prompt_type = default_prompt_type
        self.strict_golden = strict_golden
        self.delegate = None if subset in PLANNING_ENCODERS else TEvalEvaluator(subset)
        self.bert_score_model = bert_score_model or PLANNING_ENCODERS.get(subset, '')
        vectors = partial(shared_vectors, self.bert_score_model, device, batch_size, cached=embedding_cache)
        self.scorer = Scorer(
            _build_metrics(metrics, match_strategy),
            reading=Reading(
                match=MatchOptions(name_weight, args_weight, match_threshold),
                rules=read_rules(argument_rules or {}, similar=partial(_similar, vectors)),
                finish_names=tuple(finish_names),
                prediction_format=prediction_format,
            ),
            vectors=vectors,
            best_by=best_by,
            progress=_progress,
        )

    def score(self, predictions: Sequence[object], references: Sequence[object]) -> dict[str, Any]:
        """Score predictions, as OpenCompass calls it.

        Args:
            predictions: The agents' answers.
            references: For each, T-Eval's record as JSON text (`ground_truth`, `meta`).

        Returns:
            The numbers of `docs/metrics.md` (rates as 0 to 100, counts as means per sample), `settings` with every
            option that changes them, and `details`: one row per prediction.

        Raises:
            ValueError: If the two differ in length or are empty, or golden plans are unsound (all are named).
        """
        if self.delegate is not None:
            result: dict[str, Any] = self.delegate.score(predictions, references)
            return result
        scored = self._score(predictions, references)
        return {**scored.in_percent(), 'settings': self.settings(), 'details': scored.details}

    def evaluate(
        self, k: int | list[int] = 1, n: int = 1, original_dataset: Any = None, **score_kwargs: Any
    ) -> dict[str, Any]:
        """Score a dataset with replicas as OpenCompass calls it, or, without arguments, the file `dataset_path`.

        Returns:
            With arguments, what OpenCompass makes of `score`. Without, the same keys with rates in [0, 1], as T-Eval's
            `PlanningEvaluator.evaluate()` gives them.

        Raises:
            ValueError: Without arguments, if there is no `dataset_path`, or it does not hold a T-Eval result.
        """
        if original_dataset is not None:
            result: dict[str, Any] = super().evaluate(k, n, original_dataset, **score_kwargs)
            return result
        if self.delegate is not None:
            raise ValueError(f"expected subset 'plan' or 'plan_zh' for evaluate() over a file, got {self.subset!r}")
        records = _read_result_file(self.dataset_path)
        scored = self._score([record['prediction'] for record in records], records)
        return {**scored.means, 'settings': self.settings(), 'details': scored.details}

    def settings(self) -> dict[str, Any]:
        """Every option that changes a number, and the version of the metrics, to be kept beside the results."""
        reading = self.scorer.reading
        return {
            'metric_version': scoring.METRIC_VERSION,
            **asdict(reading.match),
            'bert_score_model': self.bert_score_model if self.scorer.uses_embeddings else None,
            'default_prompt_type': self.default_prompt_type,
            'finish_names': list(reading.finish_names),
            'prediction_format': reading.prediction_format,
            'argument_rules': self.argument_rules,
            'best_by': self.scorer.best_by,
            'strict_golden': self.strict_golden,
            'metrics': [metric.settings() for metric in self.scorer.metrics],
        }

    def _score(self, predictions: Sequence[object], references: Sequence[object]) -> scoring.CorpusScore:
        read = read_references(references, default_prompt_type=self.default_prompt_type, strict=self.strict_golden)
        scored = self.scorer.score(predictions, read)
        _warn_of(scored.details, 'cannot be read, and score 0', lambda row: row['parse_reason'])
        _warn_of(scored.details, 'have an unsound golden plan', lambda row: '; '.join(row['golden_dropped']))
        return scored


def _warn_of(details: Sequence[Mapping[str, Any]], what: str, reason: Callable[[Mapping[str, Any]], str]) -> None:
    """Log which samples have a reason, so that none is lost without a word."""
    named = [f'{row["sample"]!r} ({reason(row)})' for row in details if reason(row)]
    if named:
        more = f', and {len(named) - MAX_NAMED} more' if len(named) > MAX_NAMED else ''
        listed = ', '.join(named[:MAX_NAMED]) + more
        get_logger().warning(f'{len(named)} of {len(details)} samples {what}: {listed}')


def _similar(vectors: Callable[[], TextVectors], pred: str, ref: str) -> float:
    """How alike two argument values are, for rules that ask for it; the encoder is loaded at the first."""
    known = vectors()
    known.add([pred, ref])
    return float(text_similarity([pred], [ref], known)[0, 0])


def _build_metrics(entries: Sequence[Mapping[str, Any] | Metric] | None, match_strategy: str) -> list[Metric]:
    if entries is None:
        return [TEvalPlanning(match_strategy), *(getattr(scoring, name)() for name in DEFAULT_METRICS)]
    return [entry if isinstance(entry, Metric) else _build_metric(entry, match_strategy) for entry in entries]


def _build_metric(entry: Mapping[str, Any], match_strategy: str) -> Metric:
    if not isinstance(entry, Mapping):
        raise TypeError(f'expected every entry of `metrics` to be dict(type=…) or a Metric, got {entry!r:.80}')
    config = dict(entry)
    kind = config.get('type')
    if kind is None:
        raise ValueError(f'expected every entry of `metrics` to have a `type`, got {entry!r:.80}')
    if isinstance(kind, str) and METRICS.get(kind) is None:
        names = ('TEvalPlanning', *DEFAULT_METRICS)
        near = ', '.join(difflib.get_close_matches(kind.rsplit('.', 1)[-1], names) or names)
        hint = 'the path cannot be imported' if '.' in kind else 'a metric of your own is named by its full dotted path'
        raise ValueError(f'no metric is called {kind!r} ({hint}); did you mean {near}?')
    if kind is TEvalPlanning or str(kind).rsplit('.', 1)[-1] == 'TEvalPlanning':
        config.setdefault('match_strategy', match_strategy)
    metric: Metric = METRICS.build(config)
    return metric


def _read_result_file(path: str) -> list[dict[str, Any]]:
    if not path:
        raise ValueError('expected `dataset_path` for evaluate() without arguments, got none')
    with Path(path).open(encoding='utf-8') as file:
        content = json.load(file)
    if not isinstance(content, dict):
        raise ValueError(f'{path}: expected a T-Eval result {{key: record}}, got {type(content).__name__}')
    for key, record in content.items():
        if not isinstance(record, dict) or not {'prediction', 'ground_truth'} <= set(record):
            raise ValueError(f'{path}: sample {key!r}: expected a record with `prediction` and `ground_truth`')
    return [{'id': key, **record} for key, record in content.items()]


def _one_of(argument: str, value: str, known: Iterable[str]) -> None:
    names = list(known)
    if value not in names:
        folded = {name.casefold(): name for name in names}
        near = difflib.get_close_matches(str(value).casefold(), folded)
        hint = f'; did you mean {folded[near[0]]!r}?' if near else ''
        raise ValueError(f'expected `{argument}` to be one of {", ".join(names)}, got {value!r}{hint}')


def _progress(samples: Iterable[list[Comparison]], total: int) -> Iterable[list[Comparison]]:
    get_logger().debug(f'scoring {total} samples')
    return tqdm(samples, total=total, desc='scoring', disable=total < PROGRESS_FROM_SAMPLES)  # type: ignore[no-any-return]
