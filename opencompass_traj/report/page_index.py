"""The page's data: one index over all samples, and the samples themselves in chunks that are read when looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.page_faults import KINDS
from opencompass_traj.report.page_sample import SampleView, golden_view, view_sample
from opencompass_traj.report.page_text import cut, number
from opencompass_traj.report.results import known_rates
from opencompass_traj.report.runs import Row, Run, TaskResult

LISTED: Final = (
    'trajectory_score',
    'sequence_similarity',
    'partial_order_similarity',
    'dag_similarity',
    'plan_f1',
    'causal_fidelity',
    'argument_f1',
    'effect_f1',
    'f1_score',
    'redundant_steps',
    'missing_steps',
    'repeated_steps',
    'step_ratio',
    'token_ratio',
    'latency_ratio',
    'cost_ratio',
    'tokens',
    'latency',
    'cost',
)
"""Numbers that samples can be sorted and filtered by; the first that a run has is the one shown first."""

ROWS_IN_CHUNK: Final = 100
# Room for the texts of all samples together, so that hostile answers do not make a page that no browser opens.
ALL_TEXT: Final = 60_000_000
MOST_TEXT: Final = 1_200
LEAST_TEXT: Final = 200
QUERY_IN_LIST: Final = 160

# What makes a golden path.
_GOLDEN: Final = ('ref_steps', 'ref_edges', 'golden_index', 'n_ref')


@dataclass
class _Names:
    """Names by the order in which they came."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, name: str) -> int:
        return self.places.setdefault(name, len(self.places))


@dataclass(frozen=True, slots=True)
class PageIndex:
    """What the page is made from.

    Attributes:
        index: All that the overview and the list of samples need.
        chunks: The samples, in the index's order, as JSON values.
    """

    index: dict[str, Any]
    chunks: list[list[dict[str, Any]]]


def build_index(run: Run) -> PageIndex:
    """Arrange a run's rows by sample, the models of each side by side.

    Args:
        run: The run; its failed tasks are named, and have no rows.

    Returns:
        Index and chunks. A model that has a sample more than once (replicas, or the same id twice) has one line for
        each.
    """
    samples = _by_sample(run)
    n_rows = sum(len(rows) for rows in samples.values())
    limit = max(LEAST_TEXT, min(MOST_TEXT, ALL_TEXT // (40 * max(n_rows, 1))))
    keys = _keys(run)
    models, datasets, tags = _Names(), _Names(), _Names()
    for task in run.tasks:
        models.place(task.model)
        datasets.place(task.dataset)
    heads: list[list[Any]] = []
    columns: dict[str, list[Any]] = {name: [] for name in ('m', 's', 'k', 'strip', 'first')}
    values: dict[str, list[Any]] = {key: [] for key in keys}
    kept: list[dict[str, Any]] = []
    for place, ((dataset, name), rows) in enumerate(samples.items()):
        heads.append(_head(datasets.place(dataset), name, next(iter(rows.values())), tags))
        views = [view_sample(row, limit=limit) for row in rows.values()]
        for model, view in zip(rows, views, strict=True):
            _add(columns, values, model=models.place(model), sample=place, view=view)
        kept.append(_sample(list(rows.values()), views, limit))
    index = {
        'models': list(models.places),
        'datasets': list(datasets.places),
        'tags': list(tags.places),
        'kinds': list(KINDS),
        'metrics': [[key, int(key in known_rates() or _is_rate(run, key)), int(less_is_better(key))] for key in keys],
        'rates': sorted(known_rates().union(*(task.rates for task in run.scored))),
        'samples': heads,
        'rows': columns | {'v': values},
        'failed': [[task.model, task.dataset, cut(task.failure, 2_000)] for task in run.failed],
    }
    chunks = list(_chunks(kept))
    return PageIndex(index | {'chunks': [len(chunk) for chunk in chunks]}, chunks)


def _by_sample(run: Run) -> dict[tuple[str, str], dict[str, Row]]:
    """The rows of each sample by model; samples in the order in which the tasks name them, datasets together."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for dataset in run.datasets:
        for task in run.scored:
            if task.dataset == dataset:
                for name, row in _named(task):
                    found.setdefault((dataset, name), {})[task.model] = row
    return found


def _named(task: TaskResult) -> Iterator[tuple[str, Row]]:
    """The rows with names that occur once: a later replica, or a second sample of that name, is numbered."""
    seen: dict[str, int] = {}
    for row in task.rows:
        name = str(row.get('sample', ''))[:200]
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f'{name} ({seen[name]})'), row


def _keys(run: Run) -> list[str]:
    """The numbers that some row has: the listed ones, then those that are not the package's own."""
    there: dict[str, None] = {}
    for task in run.scored:
        for row in task.rows:
            there.update((key, None) for key, value in row.items() if key not in there and number(value) is not None)
    further = sorted({key for task in run.scored for key in task.rates} - known_rates())
    return [key for key in (*LISTED, *further) if key in there]


def _is_rate(run: Run, key: str) -> bool:
    return any(key in task.rates for task in run.scored)


def _head(dataset: int, name: str, row: Row, tags: _Names) -> list[Any]:
    query = ' '.join(str(row.get('query') or '').split())
    return [dataset, name, query[:QUERY_IN_LIST], [tags.place(str(tag)[:100]) for tag in row.get('tags') or ()]]


def _add(
    columns: Mapping[str, list[Any]], values: Mapping[str, list[Any]], *, model: int, sample: int, view: SampleView
) -> None:
    entry = {'m': model, 's': sample, 'k': view.kinds, 'strip': view.strip, 'first': view.first}
    for name, value in entry.items():
        columns[name].append(value)
    for key, column in values.items():
        column.append(view.values.get(key))


def _sample(rows: Sequence[Row], views: Sequence[SampleView], limit: int) -> dict[str, Any]:
    """One sample with all models' paths; a golden path that several models share is kept once."""
    seen: list[Row] = []
    kept = []
    for row, view in zip(rows, views, strict=True):
        same = (place for place, other in enumerate(seen) if all(row.get(key) == other.get(key) for key in _GOLDEN))
        place = next(same, len(seen))
        if place == len(seen):
            seen.append(row)
        kept.append(view.detail | {'golden': place, 'values': view.values})
    return {
        'query': cut(str(rows[0].get('query') or ''), 10 * limit),
        'goldens': [golden_view(row, limit=limit) for row in seen],
        'rows': kept,
    }


def _chunks(samples: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    size = 0
    for sample in samples:
        chunk.append(sample)
        size += len(sample['rows'])
        if size >= ROWS_IN_CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
