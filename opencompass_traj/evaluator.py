"""The OpenCompass evaluator: T-Eval's interface around `scoring`; translation, no arithmetic."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from opencompass.openicl.icl_evaluator import BaseEvaluator, TEvalEvaluator
from opencompass.registry import ICL_EVALUATORS, METRICS

from opencompass_traj import scoring
from opencompass_traj.details import DETAILS_FILE, SUFFIX, DetailsFile
from opencompass_traj.embedding import TextVectors, check_batch_size, shared_vectors
from opencompass_traj.evaluator_io import progress, read_result_file, warn_of_rows
from opencompass_traj.limits import Limits
from opencompass_traj.matching import MatchOptions, text_similarity
from opencompass_traj.metrics.argument_rules import argument_rules as read_rules
from opencompass_traj.parsing.trajectories import check_format
from opencompass_traj.scoring import FINISH_NAMES, Metric, Reading, Scorer, UnreadReferences, check_workers
from opencompass_traj.scoring.metric import check_options
from opencompass_traj.scoring.peers import PeerMetrics, SingleToolUse, ToolCallMatch
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
FURTHER_METRICS = (PeerMetrics, SingleToolUse, ToolCallMatch)
# A row takes some kilobytes in the file, and ten times that in memory until the host has written it.
MAX_INLINE_DETAILS = 10_000

METRICS.register_module(module=TEvalPlanning)
for _name in DEFAULT_METRICS:
    METRICS.register_module(module=getattr(scoring, _name))
for _metric in FURTHER_METRICS:
    METRICS.register_module(module=_metric)


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
        metrics: The metrics as `dict(type=…, option=…)` or `Metric` objects; None takes those of `DEFAULT_METRICS`.
        extra_metrics: Further metrics behind those.
        legacy: Other packages whose numbers are given too, by the names of `docs/peers.md`: `['adk', 'ragas']`.
        finish_names: Tools that only mark the end of a plan; not counted (T-Eval's numbers keep T-Eval's own rule).
        prediction_format: How predictions are read for all but T-Eval's numbers: `auto` (T-Eval's reading, else the
            first format that recognises it), `teval`, or another of `parsing.trajectories.FORMATS`.
        limits: How much of a prediction is read, such as `dict(steps=500)`; see `limits.Limits`.
        argument_rules: When arguments are the same; see `metrics.argument_rules.argument_rules`.
        best_by: The rate by which the best of several golden plans is chosen; None: `trajectory_score`.
        strict_golden: Whether an unsound golden plan stops the evaluation; False scores what is sound in it.
        device: Where the encoder runs, such as `cpu` or `cuda:0`; None takes a GPU if there is one.
        batch_size: Texts per forward pass of the encoder, at least 1; None fills each with as many tokens as the device
            works fastest with.
        embedding_cache: Whether text vectors are kept on disk for later runs; `$OPENCOMPASS_TRAJ_CACHE` says where, and
            `off` in it turns the cache off. It changes no score beyond 1e-6.
        workers: Processes that score; 0 means one for each core that the task may use. The result does not depend on
            it. Fewer than 1,000 samples are scored in one process.
        max_inline_details: A dataset with more samples writes its rows of details to `<dataset>.details.jsonl` beside
            the result, which then names that file; None keeps them in the result, however many they are.
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
        extra_metrics: Sequence[Mapping[str, Any] | Metric] = (),
        legacy: Sequence[str] = (),
        finish_names: Sequence[str] = FINISH_NAMES,
        prediction_format: str = 'auto',
        limits: Mapping[str, int] | None = None,
        argument_rules: Mapping[str, Any] | None = None,
        best_by: str | None = None,
        strict_golden: bool = True,
        device: str | None = None,
        batch_size: int | None = None,
        embedding_cache: bool = True,
        workers: int = 1,
        max_inline_details: int | None = MAX_INLINE_DETAILS,
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
        self.workers = check_workers(workers)
        if max_inline_details is not None and max_inline_details < 0:
            raise ValueError(f'expected `max_inline_details` of at least 0 or None, got {max_inline_details}')
        self.max_inline_details = max_inline_details
        self._details_file: DetailsFile | None = None
        self._replicas = 1
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
            [*_build_metrics(metrics, match_strategy), *_further_metrics(extra_metrics, legacy, match_strategy)],
            reading=Reading(
                match=MatchOptions(name_weight, args_weight, match_threshold),
                rules=read_rules(argument_rules or {}, similar=partial(_similar, vectors)),
                finish_names=tuple(finish_names),
                prediction_format=prediction_format,
                limits=Limits.of(limits),
            ),
            vectors=vectors,
            best_by=best_by,
            progress=progress,
        )

    def score(self, predictions: Sequence[object], references: Sequence[object]) -> dict[str, Any]:
        """Score predictions, as OpenCompass calls it.

        Args:
            predictions: The agents' answers.
            references: For each, T-Eval's record as JSON text (`ground_truth`, `meta`).

        Returns:
            The numbers of `docs/metrics.md` (rates as 0 to 100, counts as means per sample), `samples`: how many they
            are means of, `settings` with every option that changes them, and `details`: one row per prediction.

        Raises:
            ValueError: If the two differ in length or are empty, or golden plans are unsound (all are named).
        """
        if self.delegate is not None:
            result: dict[str, Any] = self.delegate.score(predictions, references)
            return result
        scored = self._score(predictions, references)
        details = {} if self._host_needs_no_details() else {'details': scored.details}
        return {**scored.in_percent(), 'samples': scored.counts, 'settings': self.settings(), **details}

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
            return self._evaluate_dataset(k, n, original_dataset, score_kwargs)
        if self.delegate is not None:
            raise ValueError(f"expected subset 'plan' or 'plan_zh' for evaluate() over a file, got {self.subset!r}")
        records = read_result_file(self.dataset_path)
        scored = self._score([record['prediction'] for record in records], records)
        return {**scored.means, 'samples': scored.counts, 'settings': self.settings(), 'details': scored.details}

    def check_references(self, references: Sequence[object]) -> None:
        """Raise the `ValueError` that `score` would raise for unsound golden plans, without any predictions.

        Args:
            references: As for `score`.
        """
        if self.delegate is None:
            problems = self._unread(references).problems(self.scorer.reading.rules)
            if problems:
                raise problems

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
            'limits': reading.limits.as_options(),
            'argument_rules': self.argument_rules,
            'best_by': self.scorer.best_by,
            'strict_golden': self.strict_golden,
            'metrics': [metric.settings() for metric in self.scorer.metrics],
        }

    def _score(self, predictions: Sequence[object], references: Sequence[object]) -> scoring.CorpusScore:
        unread = self._unread(references)
        write = self._details_file.write if self._details_file else None
        scored = self.scorer.score(predictions, unread, workers=self.workers, write=write)
        warn_of_rows(scored.details)
        return scored

    def _unread(self, references: Sequence[object]) -> UnreadReferences:
        return UnreadReferences(references, self.default_prompt_type, self.strict_golden)

    def _evaluate_dataset(
        self, k: int | list[int], n: int, original_dataset: Any, score_kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        # OpenCompass' task says where the result goes, without the ending.
        out = getattr(self, '_out_dir', None)
        most = self.max_inline_details
        result: dict[str, Any]
        if out is None or most is None or len(original_dataset) <= most or self.delegate is not None:
            result = super().evaluate(k, n, original_dataset, **score_kwargs)
            return result
        with DetailsFile(Path(f'{out}{SUFFIX}')) as file:
            self._details_file, self._replicas = file, n
            try:
                result = super().evaluate(k, n, original_dataset, **score_kwargs)
            finally:
                self._details_file = None
        if n == 1:
            # As OpenCompass gives them where there are details.
            result = {key: value if isinstance(value, float) else [value] for key, value in result.items()}
        named = {'name': file.path.name, 'rows': len(original_dataset), 'replicas': n}
        # An empty list: without one OpenCompass would make details of all prompts and answers.
        return {**result, DETAILS_FILE: named, 'details': result.get('details', [])}

    def _host_needs_no_details(self) -> bool:
        """Only G-Pass@k over replicas needs any, where they are in a file: one of its flags a row."""
        return self._details_file is not None and self._replicas == 1


def _similar(vectors: Callable[[], TextVectors], pred: str, ref: str) -> float:
    """How alike two argument values are, for rules that ask for it; the encoder is loaded at the first."""
    known = vectors()
    known.add([pred, ref])
    return float(text_similarity([pred], [ref], known)[0, 0])


def _build_metrics(entries: Sequence[Mapping[str, Any] | Metric] | None, match_strategy: str) -> list[Metric]:
    if entries is None:
        return [TEvalPlanning(match_strategy), *(getattr(scoring, name)() for name in DEFAULT_METRICS)]
    return [entry if isinstance(entry, Metric) else _build_metric(entry, match_strategy) for entry in entries]


def _further_metrics(
    entries: Sequence[Mapping[str, Any] | Metric], legacy: Sequence[str], match_strategy: str
) -> list[Metric]:
    if isinstance(legacy, str):
        raise TypeError(f'expected `legacy` to be a list of names, got the text {legacy!r}: write legacy=[{legacy!r}]')
    return [*_build_metrics(list(entries), match_strategy), *map(PeerMetrics, legacy)]


def _build_metric(entry: Mapping[str, Any], match_strategy: str) -> Metric:
    if not isinstance(entry, Mapping):
        raise TypeError(f'expected every entry of `metrics` to be dict(type=…) or a Metric, got {entry!r:.80}')
    config = dict(entry)
    kind = config.get('type')
    if kind is None:
        raise ValueError(f'expected every entry of `metrics` to have a `type`, got {entry!r:.80}')
    if isinstance(kind, str) and METRICS.get(kind) is None:
        names = ('TEvalPlanning', *DEFAULT_METRICS, *(metric.__name__ for metric in FURTHER_METRICS))
        near = ', '.join(difflib.get_close_matches(kind.rsplit('.', 1)[-1], names) or names)
        hint = 'the path cannot be imported' if '.' in kind else 'a metric of your own is named by its full dotted path'
        raise ValueError(f'no metric is called {kind!r} ({hint}); did you mean {near}?')
    if kind is TEvalPlanning or str(kind).rsplit('.', 1)[-1] == 'TEvalPlanning':
        config.setdefault('match_strategy', match_strategy)
    check_options(kind if isinstance(kind, type) else METRICS.get(kind), config)
    metric: Metric = METRICS.build(config)
    return metric


def _one_of(argument: str, value: str, known: Iterable[str]) -> None:
    names = list(known)
    if value not in names:
        folded = {name.casefold(): name for name in names}
        near = difflib.get_close_matches(str(value).casefold(), folded)
        hint = f'; did you mean {folded[near[0]]!r}?' if near else ''
        raise ValueError(f'expected `{argument}` to be one of {", ".join(names)}, got {value!r}{hint}')
