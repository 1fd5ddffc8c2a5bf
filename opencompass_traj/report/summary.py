"""What stands beside OpenCompass' summary: intervals, comparisons and breakdowns, as CSV files and as a short text."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from opencompass_traj.report.analysis import Comparison, compare_models, intervals
from opencompass_traj.report.breakdown import GroupMeans, ToolFaults, group_means, tool_faults
from opencompass_traj.report.runs import Run
from opencompass_traj.report.statistics import Interval
from opencompass_traj.whole_files import whole_file

Cell: TypeAlias = 'str | int | float'

# What a spreadsheet takes for a formula; a tool's name may be anything.
_FORMULA: Final = ('=', '+', '-', '@', '\t', '\r')


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that is computed from a run for its summary.

    Attributes:
        run: The run.
        metrics: The metrics of the summary that some result has rows for, in order; the first is the main one.
        intervals: For each (model, dataset) and metric, see `analysis.intervals`.
        comparisons: See `analysis.compare_models`.
        groups: See `breakdown.group_means`.
        tools: See `breakdown.tool_faults`.
    """

    run: Run
    metrics: tuple[str, ...]
    intervals: dict[tuple[str, str], dict[str, Interval]]
    comparisons: tuple[Comparison, ...]
    groups: tuple[GroupMeans, ...]
    tools: tuple[ToolFaults, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table for a file.

    Attributes:
        name: What it holds, for the file's name.
        header: The columns.
        rows: The cells; NaN: not known.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def analyse(run: Run, metrics: Iterable[str]) -> Analysis:
    """Compute intervals, comparisons and breakdowns.

    Args:
        run: The run.
        metrics: The summary's metrics, in order. Those that are known for no sample of the run are left out.
    """
    found = intervals(run)
    known = {metric for numbers in found.values() for metric, interval in numbers.items() if interval.n}
    chosen = tuple(metric for metric in metrics if metric in known)
    compared = compare_models(run, chosen)
    return Analysis(run, chosen, found, tuple(compared), tuple(group_means(run, chosen)), tuple(tool_faults(run)))


def tables(analysis: Analysis) -> list[Table]:
    """The tables that are worth a file: those that have rows."""
    made = (_intervals(analysis), _comparison(analysis), _groups(analysis), _tools(analysis))
    return [table for table in made if table.rows]


def write_tables(analysis: Analysis, base: Path) -> list[Path]:
    """Write each table as `<base>_<name>.csv`.

    Args:
        analysis: What `analyse` found.
        base: The folder, and how the files' names begin.

    Returns:
        The files: UTF-8, one header row, numbers with all their digits, empty where nothing is known. A text that a
        spreadsheet would take for a formula has a `'` before it.
    """
    files = []
    for table in tables(analysis):
        file = base.with_name(f'{base.name}_{table.name}.csv')
        with whole_file(file) as temporary, temporary.open('w', encoding='utf-8', newline='') as stream:
            writer = csv.writer(stream, lineterminator='\n')
            writer.writerow(table.header)
            writer.writerows([_cell(value) for value in row] for row in table.rows)
        files.append(file)
    return files


def _intervals(analysis: Analysis) -> Table:
    rows = tuple(
        (model, dataset, metric, interval.mean, interval.low, interval.high, interval.n)
        for (model, dataset), numbers in analysis.intervals.items()
        for metric, interval in numbers.items()
        if interval.n
    )
    return Table('intervals', ('model', 'dataset', 'metric', 'mean', 'low', 'high', 'tasks'), rows)


def _comparison(analysis: Analysis) -> Table:
    rows = tuple(
        (
            one.dataset,
            one.metric,
            one.model,
            one.other,
            one.difference.mean,
            one.difference.low,
            one.difference.high,
            one.difference.n,
            one.p_value,
            one.p_adjusted,
            one.comparisons,
            one.verdict,
        )
        for one in analysis.comparisons
    )
    header = ('dataset', 'metric', 'model', 'other', 'difference', 'low', 'high', 'tasks', 'p_value', 'p_adjusted')
    return Table('comparison', (*header, 'comparisons', 'verdict'), rows)


def _groups(analysis: Analysis) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.kind, one.group, one.model, one.n, *(one.means.get(metric, math.nan) for metric in analysis.metrics))
        for one in analysis.groups
    )
    return Table('groups', ('kind', 'group', 'model', 'rows', *analysis.metrics), rows)


def _tools(analysis: Analysis) -> Table:
    rows = tuple(
        (
            one.model,
            one.tool,
            one.golden,
            one.predicted,
            one.missed,
            one.redundant,
            counted(one.confused_with),
            counted(one.arguments),
        )
        for one in analysis.tools
    )
    header = ('model', 'tool', 'golden', 'predicted', 'missed', 'redundant', 'confused_with', 'differing_arguments')
    return Table('tools', header, rows)


def counted(names: Sequence[tuple[str, int]]) -> str:
    """Names with how often each occurs.

    Example:
        >>> counted([('search', 3), ('list', 1)])
        'search (3), list (1)'
    """
    return ', '.join(f'{name} ({count})' for name, count in names)


def _cell(value: Cell) -> str | int | float:
    if isinstance(value, float):
        return '' if math.isnan(value) else value
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
