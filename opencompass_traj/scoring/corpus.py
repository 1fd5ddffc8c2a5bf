"""A whole corpus: texts embedded once, every metric over every sample, and the means."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions
from opencompass_traj.scoring.comparison import FINISH_NAMES, Comparison, Reference
from opencompass_traj.scoring.families import Metric

METRIC_VERSION = '1'
# Enough texts for full batches, few enough plans to hold in memory.
CHUNK_SAMPLES = 1_000

Row = dict[str, Any]
Progress = Callable[[Iterable[Comparison], int], Iterable[Comparison]]


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The result over all samples.

    Attributes:
        means: The mean over the samples for each key: rates in [0, 1], counts as they are.
        rates: Which of the keys are rates.
        details: One row per prediction, in order, all under the same keys.
    """

    means: dict[str, float]
    rates: frozenset[str]
    details: list[Row]

    def in_percent(self) -> dict[str, float]:
        """The means with rates as 0 to 100."""
        return {key: value * 100 if key in self.rates else value for key, value in self.means.items()}


class Scorer:
    """Scores predictions by a list of metrics.

    Args:
        metrics: In order; a metric sees the numbers of those before it.
        match: When two steps count as the same.
        vectors: Gives the text vectors; called only if a metric uses embeddings, and only then is a model loaded.
        finish_names: Tools that only mark the end of a plan.
        progress: Wraps the loop over samples to show how far it is; None shows nothing.

    Raises:
        ValueError: If two metrics give the same key, or a metric lacks one that it requires.
        TypeError: If an entry is no `Metric`, or `finish_names` is a text.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        *,
        match: MatchOptions | None = None,
        vectors: Callable[[], TextVectors] | None = None,
        finish_names: Sequence[str] = FINISH_NAMES,
        progress: Progress | None = None,
    ) -> None:
        self.metrics = list(metrics)
        _check_metrics(self.metrics)
        self.match = match or MatchOptions()
        self.finish_names = _names(finish_names)
        self._get_vectors = vectors
        self._progress = progress or (lambda comparisons, _total: comparisons)
        self.rates = frozenset(key for metric in self.metrics for key in metric.rates)

    @property
    def uses_embeddings(self) -> bool:
        """Whether any metric needs text vectors."""
        return any(metric.uses_embeddings for metric in self.metrics)

    def score(self, predictions: Sequence[object], references: Sequence[Reference]) -> CorpusScore:
        """Score a corpus.

        Args:
            predictions: What the agents gave, one for each reference.
            references: The golden plans.

        Returns:
            The means and the details. Unreadable predictions score 0 in every rate and stay in every denominator.

        Raises:
            ValueError: If there are no samples, or the two differ in length.
        """
        if len(predictions) != len(references):
            raise ValueError(
                f'expected as many predictions as references, got {len(predictions)} and {len(references)}'
            )
        if not predictions:
            raise ValueError('expected at least one prediction, got none')
        vectors = self._get_vectors() if self.uses_embeddings and self._get_vectors else None
        comparisons = (
            Comparison(prediction, reference, self.match, self.finish_names, vectors)
            for prediction, reference in zip(predictions, references, strict=True)
        )
        details = [self._row(one) for one in self._progress(self._embedded(comparisons, vectors), len(predictions))]
        keys = [key for metric in self.metrics for key in (*metric.rates, *metric.counts)]
        means = {key: math.fsum(row[key] for row in details) / len(details) for key in keys}
        return CorpusScore(means, self.rates, details)

    def _embedded(self, comparisons: Iterator[Comparison], vectors: TextVectors | None) -> Iterator[Comparison]:
        while chunk := list(islice(comparisons, CHUNK_SAMPLES)):
            if vectors is not None:
                vectors.forget_beyond()
                vectors.add(text for one in chunk for metric in self.metrics for text in metric.texts(one))
            yield from chunk

    def _row(self, comparison: Comparison) -> Row:
        failure = comparison.failure
        row: Row = {}
        for metric in self.metrics:
            numbers = dict(metric.score(comparison))
            _check_numbers(metric, numbers)
            if failure is not None and not metric.reads_prediction:
                numbers.update(dict.fromkeys(metric.rates, 0.0))
            comparison.values.update({key: numbers[key] for key in (*metric.rates, *metric.counts)})
            row.update(numbers)
        row.update(
            sample=comparison.reference.name,
            parse_status='read' if failure is None else 'unreadable',
            parse_reason='' if failure is None else failure.reason,
            n_pred=len(comparison.pred),
            n_ref=len(comparison.ref),
            metric_version=METRIC_VERSION,
        )
        return row


def _names(finish_names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(finish_names, str):
        raise TypeError(f'expected `finish_names` to be a list of names, got the text {finish_names!r}')
    return tuple(finish_names)


def _check_metrics(metrics: Sequence[Metric]) -> None:
    known: dict[str, str] = {}
    for metric in metrics:
        if not isinstance(metric, Metric):
            raise TypeError(f'expected every entry of `metrics` to be a Metric, got {metric!r:.80}')
        name = type(metric).__name__
        for key in metric.requires:
            if key not in known:
                near = difflib.get_close_matches(key, known) or sorted(known)
                raise ValueError(f'{name} needs {key!r} from a metric before it in `metrics`; there are: {near}')
        for key in (*metric.rates, *metric.counts):
            if key in known:
                raise ValueError(f'{known[key]} and {name} both give {key!r}; a key may be given once')
            known[key] = name


def _check_numbers(metric: Metric, numbers: Mapping[str, Any]) -> None:
    name = type(metric).__name__
    for key in (*metric.rates, *metric.counts):
        value = numbers.get(key)
        if type(value) not in {float, int} or not math.isfinite(value):  # type: ignore[arg-type]
            raise TypeError(f'{name} must give a finite float for {key!r}, got {value!r:.80}')
    for key in metric.rates:
        if not -1e-9 <= numbers[key] <= 1 + 1e-9:
            raise ValueError(f'{name} must give a rate in [0, 1] for {key!r}, got {numbers[key]!r}')
