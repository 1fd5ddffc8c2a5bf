"""A run's numbers with their intervals, and its models compared on the same tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.runs import Row, Run, TaskResult
from opencompass_traj.report.statistics import (
    CONFIDENCE,
    Difference,
    Interval,
    holm,
    mean_intervals,
    paired_differences,
)

SIGNIFICANCE: Final = 0.05
LEAST_TASKS: Final = 6
"""With fewer tasks even a difference in all of them is a matter of chance at 5 %: `2 / 2 ** 5 > 0.05`."""


@dataclass(frozen=True, slots=True)
class ValueTable:
    """The numbers of one model on one dataset, one row per task: trials of a task are averaged.

    Attributes:
        tasks: The tasks' ids, in the order in which they first occur.
        metrics: The columns.
        values: Means over the trials with a known value; NaN where there is none. Rates in [0, 1].
        weights: How many trials have a known value.
    """

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the tasks of one dataset that both have.

    Attributes:
        dataset: The dataset.
        metric: What is compared.
        model: The one model.
        other: The other.
        difference: The mean of the one less the other's, as it is shown (rates in points of 100), with its interval,
            which is not corrected for the number of comparisons.
        p_value: Of the paired permutation test.
        p_adjusted: Corrected (Holm) for all comparisons of models by this metric on this dataset.
        comparisons: How many those are.
    """

    dataset: str
    metric: str
    model: str
    other: str
    difference: Interval
    p_value: float
    p_adjusted: float
    comparisons: int

    @property
    def better(self) -> str:
        """The model that is shown to be better; empty where no difference is shown."""
        if not self.p_adjusted < SIGNIFICANCE:
            return ''
        return self.model if (self.difference.mean > 0) != less_is_better(self.metric) else self.other

    @property
    def verdict(self) -> str:
        """What is shown, in words."""
        if self.better:
            return f'{self.better} is better'
        if self.difference.n == 0:
            return 'no task in common'
        return 'no difference shown' if self.difference.n >= LEAST_TASKS else 'too few tasks to show a difference'


def value_table(task: TaskResult, metrics: Sequence[str] | None = None) -> ValueTable:
    """The numbers of a task's rows.

    Args:
        task: A model's result on a dataset.
        metrics: The columns; None: all numbers of the result that its rows have.
    """
    chosen = tuple(row_metrics(task) if metrics is None else metrics)
    places: dict[str, int] = {}
    for row in task.rows:
        places.setdefault(task_id(row), len(places))
    sums, counts = np.zeros((2, len(places), len(chosen)))
    at = np.array([places[task_id(row)] for row in task.rows], dtype=np.intp)
    for column, metric in enumerate(chosen):
        values = np.array([_number(row.get(metric)) for row in task.rows])
        known = ~np.isnan(values)
        sums[:, column] = np.bincount(at[known], values[known], len(places)) if places else 0
        counts[:, column] = np.bincount(at[known], minlength=len(places))
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return ValueTable(tuple(places), chosen, means, np.maximum(counts, 1))


def row_metrics(task: TaskResult) -> list[str]:
    """The numbers of a result that its rows have too, in the result's order."""
    first = task.rows[0] if len(task.rows) else {}
    return [key for key in task.numbers if key in first]


def task_id(row: Row) -> str:
    """What is the same for all trials of one task: the row's `task`, or in rows of older runs its sample."""
    return str(row.get('task') or row['sample'])


def intervals(run: Run, *, confidence: float = CONFIDENCE) -> dict[tuple[str, str], dict[str, Interval]]:
    """The interval of each metric's mean, for every result that has rows.

    Args:
        run: The run.
        confidence: In (0, 1).

    Returns:
        For each (model, dataset) and metric the interval, as it is shown: rates from 0 to 100, counts as means. It is
        one over tasks: where tasks have several trials, whole tasks are drawn. A number that is no mean over the
        samples, such as a ratio of sums over the corpus, is left out.
    """
    found: dict[tuple[str, str], dict[str, Interval]] = {}
    for dataset in run.datasets:
        tables = [(task, value_table(task)) for task in run.scored if task.dataset == dataset and len(task.rows)]
        for _, same in itertools.groupby(sorted(tables, key=lambda one: one[1].tasks), key=lambda one: one[1].tasks):
            found.update(_intervals(list(same), confidence))
    return {key: found[key] for task in run.tasks if (key := (task.model, task.dataset)) in found}


def _intervals(
    tables: Sequence[tuple[TaskResult, ValueTable]], confidence: float
) -> dict[tuple[str, str], dict[str, Interval]]:
    """The intervals of models that have the same tasks, which share their draws."""
    columns = [(task, table, column) for task, table in tables for column in range(len(table.metrics))]
    computed = mean_intervals(
        np.hstack([table.values for _, table in tables]),
        bounds=[(0.0, 1.0) if table.metrics[column] in task.rates else None for task, table, column in columns],
        weights=np.hstack([table.weights for _, table in tables]),
        confidence=confidence,
    )
    found: dict[tuple[str, str], dict[str, Interval]] = {}
    for (task, table, column), interval in zip(columns, computed, strict=True):
        metric = table.metrics[column]
        shown = interval.scaled(100) if metric in task.rates else interval
        numbers = found.setdefault((task.model, task.dataset), {})
        # Of a number that not all rows have, OpenCompass averages the replicas first.
        known = table.weights[~np.isnan(table.values[:, column]), column].sum()
        if known < len(task.rows) or math.isclose(shown.mean, task.numbers[metric], rel_tol=1e-6, abs_tol=1e-6):
            numbers[metric] = shown
    return found


def compare_models(
    run: Run, metrics: Iterable[str], *, confidence: float = CONFIDENCE, models: Sequence[str] | None = None
) -> list[Comparison]:
    """Compare every two models on every dataset by some metrics.

    Args:
        run: The run.
        metrics: By what; a metric that a model lacks is left out for it.
        confidence: Of the intervals.
        models: The models to compare, in order; None: all.

    Returns:
        The comparisons: by dataset, metric, then pair of models in order. Tasks are matched by their ids, and the
        trials of one averaged; a task whose value either model lacks is left out.
    """
    wanted = list(metrics)
    found: list[Comparison] = []
    for dataset in run.datasets:
        tasks = [task for name in models or run.models if (task := run.task(name, dataset)) and len(task.rows)]
        found.extend(_compare(dataset, tasks, wanted, confidence))
    return found


def _compare(dataset: str, tasks: Sequence[TaskResult], metrics: Sequence[str], confidence: float) -> list[Comparison]:
    tables = {task.model: value_table(task, [key for key in metrics if key in task.numbers]) for task in tasks}
    rates = frozenset(key for task in tasks for key in task.rates)
    aligned = _aligned(tables)
    found: list[Comparison] = []
    pairs = [
        (metric, one.model, other.model)
        for metric in metrics
        for one, other in itertools.combinations(tasks, 2)
        if (one.model, metric) in aligned and (other.model, metric) in aligned
    ]
    if not pairs:
        return found
    differences = paired_differences(
        np.column_stack([aligned[one, metric] - aligned[other, metric] for metric, one, other in pairs]),
        bounds=[(-1.0, 1.0) if metric in rates else None for metric, _, _ in pairs],
        confidence=confidence,
    )
    for _, members in itertools.groupby(zip(pairs, differences, strict=True), key=lambda one: one[0][0]):
        found.extend(_corrected(dataset, list(members), rates))
    return found


def _corrected(
    dataset: str, members: Sequence[tuple[tuple[str, str, str], Difference]], rates: frozenset[str]
) -> Iterator[Comparison]:
    """The comparisons of one metric, with p-values corrected for their number."""
    adjusted = holm([difference.p_value for _, difference in members])
    for ((metric, one, other), difference), p in zip(members, adjusted, strict=True):
        interval = difference.interval.scaled(100 if metric in rates else 1)
        yield Comparison(dataset, metric, one, other, interval, difference.p_value, p, len(members))


def _aligned(tables: Mapping[str, ValueTable]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """For each model and metric its values, all for the same tasks in the same order."""
    places: dict[str, int] = {}
    for task in itertools.chain.from_iterable(table.tasks for table in tables.values()):
        places.setdefault(task, len(places))
    found: dict[tuple[str, str], NDArray[np.float64]] = {}
    for model, table in tables.items():
        values = np.full((len(places), len(table.metrics)), np.nan)
        values[[places[task] for task in table.tasks]] = table.values
        found.update({(model, metric): values[:, column] for column, metric in enumerate(table.metrics)})
    return found


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
