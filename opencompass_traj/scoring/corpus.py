"""A whole corpus: texts embedded once, every metric over every sample, and the means."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from opencompass_traj.embedding import TextVectors
from opencompass_traj.metrics.alternatives import best_of
from opencompass_traj.scoring.chunks import Sample, ScoredChunk
from opencompass_traj.scoring.collector import heap_left_out
from opencompass_traj.scoring.comparison import Comparison, Reading
from opencompass_traj.scoring.metric import Metric
from opencompass_traj.scoring.references import Alternatives, UnreadReferences
from opencompass_traj.scoring.rows import Row, details_row
from opencompass_traj.scoring.streaming import Corpus
from opencompass_traj.scoring.sums import Sums

METRIC_VERSION = '1'
Progress = Callable[[Iterable[int], int], Iterable[int]]


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The result over all samples.

    Attributes:
        means: The mean over the samples for each key: rates in [0, 1], counts as they are.
        rates: Which of the keys are rates.
        details: One row per prediction, in order, all under the same keys.
        counts: How many samples the means are over: `all`, and those that have the number of a `sparse` key; for a key
            of `ratios`, what it is divided by.
    """

    means: dict[str, float]
    rates: frozenset[str]
    details: list[Row]
    counts: dict[str, int]

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
        self._progress = progress or (lambda ticks, _total: ticks)
        self.rates = frozenset(key for metric in self.metrics for key in (*metric.rates, *metric.sparse.values()))
        self.best_by = self._best_by(best_by)

    @property
    def uses_embeddings(self) -> bool:
        """Whether any metric needs text vectors."""
        return any(metric.uses_embeddings for metric in self.metrics)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that are summed over the corpus: every row of details has a number, or None, for each."""
        summed = (ratio.keys for metric in self.metrics for ratio in metric.ratios.values())
        given = (key for metric in self.metrics for key in (*metric.rates, *metric.counts))
        return tuple(dict.fromkeys(chain(given, *summed)))

    def score(
        self,
        predictions: Sequence[object],
        references: Sequence[Alternatives] | UnreadReferences,
        *,
        workers: int = 1,
        write: Callable[[str], object] | None = None,
    ) -> CorpusScore:
        """Score a corpus.

        Args:
            predictions: What the agents gave, one for each reference.
            references: The golden plans of each sample; `UnreadReferences` are read a chunk at a time.
            workers: Processes that score, at least 1; the result does not depend on it. Few samples are scored in this
                process alone.
            write: Takes the rows of details as JSON lines, in order. The memory that is needed then does not grow with
                the number of samples, and `details` holds of each row only what `chunks.brief` keeps.

        Returns:
            The means and the details. Unreadable predictions score 0 in every rate and stay in every denominator.

        Raises:
            ValueError: If there are no samples, the two differ in length, or unread references are unsound; all of
                these are named.
        """
        if len(predictions) != len(references):
            raise ValueError(
                f'expected as many predictions as references, got {len(predictions)} and {len(references)}'
            )
        if not predictions:
            raise ValueError('expected at least one prediction, got none')
        sums, details = Sums(), []
        vectors = self._get_vectors() if self.uses_embeddings and self._get_vectors else None
        corpus = Corpus(self, predictions, references, vectors, as_lines=write is not None)
        try:
            with heap_left_out():
                for chunk in self._watched(corpus.scored(workers), len(predictions)):
                    sums += chunk.sums
                    details += chunk.rows
                    if write is not None:
                        write(chunk.lines)
        except ValueError:
            # One faulty golden plan stops the scoring, but must not hide the faults of those after it.
            problems = references.problems(self.reading.rules) if isinstance(references, UnreadReferences) else None
            if problems is not None:
                raise problems from None
            raise
        return CorpusScore(self._means(sums), self.rates, details, self._counts(sums))

    def texts(self, sample: Sample) -> Iterator[str]:
        """The texts of a sample whose vectors the metrics read."""
        return (text for comparison in sample for metric in self.metrics for text in metric.texts(comparison))

    def best_row(self, sample: Sample) -> Row:
        """The row of details of a sample, whose texts are embedded already."""
        rows = [self._row(comparison) for comparison in sample]
        best = best_of([row[self.best_by] for row in rows]) if self.best_by else 0
        row = details_row(sample[best], rows[best])
        return {**row, 'metric_version': METRIC_VERSION, 'golden_index': best}

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process needs; neither the progress bar nor the encoder."""
        rules = dataclasses.replace(self.reading.rules, similar=None)
        reading = dataclasses.replace(self.reading, rules=rules)
        return {**vars(self), 'reading': reading, '_get_vectors': None, '_progress': None}

    def _watched(self, chunks: Iterator[ScoredChunk], total: int) -> Iterator[ScoredChunk]:
        """The chunks, while the progress moves on by the samples of each."""
        ticks = iter(self._progress(range(total), total))
        for chunk in chunks:
            yield chunk
            for _ in range(chunk.samples):
                next(ticks, None)
        next(ticks, None)

    def _means(self, sums: Sums) -> dict[str, float]:
        means: dict[str, float] = {}
        for metric in self.metrics:
            for key in (*metric.rates, *metric.counts):
                ratio = metric.ratios.get(key)
                means[key] = ratio.of(sums.total) if ratio else sums.mean(key)
                if key in metric.sparse:
                    means[metric.sparse[key]] = sums.known_share(key)
        return means

    def _counts(self, sums: Sums) -> dict[str, int]:
        """What each number is weighed by where corpora are joined."""
        sparse = {key: sums.known.get(key, 0) for metric in self.metrics for key in metric.sparse}
        ratios = {
            key: round(sum(map(sums.total, ratio.whole)))
            for metric in self.metrics
            for key, ratio in metric.ratios.items()
        }
        return {'all': sums.samples, **sparse, **ratios}

    def _row(self, comparison: Comparison) -> Row:
        failure = comparison.failure
        row: Row = {}
        for metric in self.metrics:
            numbers = dict(metric.score(comparison))
            _check_numbers(metric, numbers)
            if failure is not None and not metric.reads_prediction:
                numbers.update({key: 0.0 for key in metric.rates if numbers[key] is not None})
            for keys in (metric.rates, metric.counts):
                for key in keys:
                    comparison.values[key] = numbers[key]
            row.update(numbers)
        return row

    def _best_by(self, key: str | None) -> str | None:
        given = [rate for metric in self.metrics for rate in metric.rates if rate not in metric.sparse]
        if key is None:
            return 'trajectory_score' if 'trajectory_score' in given else next(iter(given), None)
        if key not in given:
            near = difflib.get_close_matches(key, given) or given
            raise ValueError(f'expected `best_by` to be a rate of one of the metrics, got {key!r}; there are: {near}')
        return key


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
    if _are_plain(metric, numbers):
        return
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


def _are_plain(metric: Metric, numbers: Mapping[str, Any]) -> bool:
    """Whether all numbers are floats in their range, or missing where they may be: the usual case, quickly seen."""
    for key in metric.rates:
        value = numbers.get(key)
        if not (0.0 <= value <= 1.0 if type(value) is float else value is None and key in metric.sparse):
            return False
    for key in metric.counts:
        value = numbers.get(key)
        if not (math.isfinite(value) if type(value) is float else value is None and key in metric.sparse):
            return False
    return True
