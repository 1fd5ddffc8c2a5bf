"""Whether a number of a result is one: where no sample has it, a result says 0 for want of a better value."""

from __future__ import annotations

from typing import Final

import numpy as np

from opencompass_traj.report.analysis import row_metrics, value_table
from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.runs import Row, TaskResult
from opencompass_traj.scoring import Efficiency, Outcome

_SHARES: Final = {key: share for metric in (Efficiency, Outcome) for key, share in metric.sparse.items()}


def known_samples(task: TaskResult, metric: str) -> tuple[int, int]:
    """How many samples have a number.

    Args:
        task: A task that has a result.
        metric: A key of its `numbers`.

    Returns:
        How many have it, and how many there are. Of a result without rows: 1 of 1 where any sample has it, else 0 of 1.
    """
    if metric in row_metrics(task):
        table = value_table(task, [metric])
        return int(np.count_nonzero(~np.isnan(table.values))), len(table.tasks)
    return int(task.numbers.get(_SHARES.get(metric, ''), 1) > 0), 1


def known_number(task: TaskResult, metric: str) -> float | None:
    """A result's number; None where it has none, or no sample has it."""
    value = task.numbers.get(metric)
    return None if value is None or not known_samples(task, metric)[0] else value


def worst_rows(task: TaskResult, metric: str, number: int) -> list[Row]:
    """The rows with the worst values, the worst first; of equal ones, in the file's order.

    Args:
        task: A task.
        metric: A key of its rows; rows that lack it are left out.
        number: How many, at least 0.
    """
    known = [row for row in task.rows if isinstance(row.get(metric), int | float)]
    sign = 1 if less_is_better(metric) else -1
    return sorted(known, key=lambda row: -sign * row[metric])[:number]
