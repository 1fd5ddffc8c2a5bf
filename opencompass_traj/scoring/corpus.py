"""A whole corpus: texts embedded once, every metric over every sample, and the means."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from opencompass_traj.embedding import TextVectors
from opencompass_traj.metrics.alternatives import best_of
from opencompass_traj.metrics.efficiency import mean_of_known
from opencompass_traj.plan import Trajectory
from opencompass_traj.scoring.comparison import Comparison, Reading
from opencompass_traj.scoring.metric import Metric
from opencompass_traj.scoring.references import Alternatives

METRIC_VERSION = '1'
# Enough texts for full batches, few enough plans to hold in memory.
CHUNK_SAMPLES = 1_000
# A broken recording may lose thousands of steps; a few say enough.
MAX_NAMED = 20

Row = dict[str, Any]
Sample = list[Comparison]
Progress = Callable[[Iterable[Sample], int], Iterable[Sample]]


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
        reading: How predictions are read and steps compared.
        vectors: Gives the text vectors; called only if a metric uses embeddings, and only then is a model loaded.
        best_by: The rate by which the best of several golden plans is chosen; None: `trajectory_score` where a metric
            gives it, else the first rate.
        progress: Wraps the loop over samples to show how far it is; None shows nothing.

    Raises:
        ValueError: If two metrics give the same key, a metric lacks one that it requires, or none gives `best_by`.
        TypeError: If an entry is no `Metric`.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        *,
        reading: Reading | None = None,
        vectors: Callable[[], TextVectors] | None = None,
        best_by: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.metrics = list(metrics)
        if not self.metrics:
            raise ValueError('expected at least one metric, got none')
        _check_metrics(self.metrics)
        self.reading = reading or Reading()
        self._get_vectors = vectors
        self._progress = progress or (lambda samples, _total: samples)
        self.rates = frozenset(key for metric in self.metrics for key in (*metric.rates, *metric.sparse.values()))
        self.best_by = self._best_by(best_by)

    @property
    def uses_embeddings(self) -> bool:
        """Whether any metric needs text vectors."""
        return any(metric.uses_embeddings for metric in self.metrics)

    def score(self, predictions: Sequence[object], references: Sequence[Alternatives]) -> CorpusScore:
        """Score a corpus.

        Args:
            predictions: What the agents gave, one for each reference.
            references: The golden plans of each sample.

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
        samples = (
            [Comparison(prediction, golden, self.reading, vectors) for golden in alternatives]
            for prediction, alternatives in zip(predictions, references, strict=True)
        )
        embedded = self._progress(self._embedded(samples, vectors), len(predictions))
        details = [self._best_row(sample) for sample in embedded]
        return CorpusScore(self._means(details), self.rates, details)

    def _means(self, details: Sequence[Row]) -> dict[str, float]:
        means: dict[str, float] = {}
        for metric in self.metrics:
            for key in (*metric.rates, *metric.counts):
                found = mean_of_known(row[key] for row in details)
                means[key] = found.mean
                if key in metric.sparse:
                    means[metric.sparse[key]] = found.known_share
        return means

    def _embedded(self, samples: Iterator[Sample], vectors: TextVectors | None) -> Iterator[Sample]:
        while chunk := list(islice(samples, CHUNK_SAMPLES)):
            if vectors is not None:
                vectors.forget_beyond()
                vectors.add(
                    text for sample in chunk for one in sample for metric in self.metrics for text in metric.texts(one)
                )
            yield from chunk

    def _best_row(self, sample: Sample) -> Row:
        rows = [self._row(comparison) for comparison in sample]
        best = best_of([row[self.best_by] for row in rows]) if self.best_by else 0
        return {**rows[best], 'golden_index': best}

    def _row(self, comparison: Comparison) -> Row:
        failure = comparison.failure
        row: Row = {}
        for metric in self.metrics:
            numbers = dict(metric.score(comparison))
            _check_numbers(metric, numbers)
            if failure is not None and not metric.reads_prediction:
                numbers.update({key: 0.0 for key in metric.rates if numbers[key] is not None})
            comparison.values.update({key: numbers[key] for key in (*metric.rates, *metric.counts)})
            row.update(numbers)
        return {**row, **_reading_row(comparison)}

    def _best_by(self, key: str | None) -> str | None:
        given = [rate for metric in self.metrics for rate in metric.rates if rate not in metric.sparse]
        if key is None:
            return 'trajectory_score' if 'trajectory_score' in given else next(iter(given), None)
        if key not in given:
            near = difflib.get_close_matches(key, given) or given
            raise ValueError(f'expected `best_by` to be a rate of one of the metrics, got {key!r}; there are: {near}')
        return key


def _reading_row(comparison: Comparison) -> Row:
    """What every sample's details say, whatever the metrics."""
    found = comparison.trajectory
    read = isinstance(found, Trajectory)
    return {
        'sample': comparison.reference.name,
        'parse_status': ('recovered' if found.recovered else 'read') if isinstance(found, Trajectory) else 'unreadable',
        'parse_reason': '' if isinstance(found, Trajectory) else found.reason,
        'format': found.format if isinstance(found, Trajectory) else '',
        'dropped_steps': list(found.dropped[:MAX_NAMED]) if isinstance(found, Trajectory) else [],
        'n_dropped': len(found.dropped) if isinstance(found, Trajectory) else 0,
        'golden_dropped': list(comparison.reference.dropped[:MAX_NAMED]),
        'n_pred': len(comparison.pred) if read else 0,
        'n_ref': len(comparison.ref),
        'metric_version': METRIC_VERSION,
    }


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
        for key in dict.fromkeys((*metric.rates, *metric.counts, *metric.sparse.values())):
            if key in known:
                raise ValueError(f'{known[key]} and {name} both give {key!r}; a key may be given once')
            known[key] = name


def _check_numbers(metric: Metric, numbers: Mapping[str, Any]) -> None:
    name = type(metric).__name__
    for key in (*metric.rates, *metric.counts):
        value = numbers.get(key)
        if key in metric.sparse and value is None:
            continue
        if type(value) not in {float, int} or not math.isfinite(value):  # type: ignore[arg-type]
            raise TypeError(f'{name} must give a finite float for {key!r}, got {value!r:.80}')
    for key in metric.rates:
        if numbers[key] is not None and not -1e-9 <= numbers[key] <= 1 + 1e-9:
            raise ValueError(f'{name} must give a rate in [0, 1] for {key!r}, got {numbers[key]!r}')
