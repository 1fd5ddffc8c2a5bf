"""The short text of a summary, for a terminal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tabulate import tabulate

from opencompass_traj.plain_text import plain
from opencompass_traj.report.analysis import Comparison
from opencompass_traj.report.breakdown import ToolFaults
from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.statistics import Interval
from opencompass_traj.report.summary import Analysis, counted

HEADLINE: Final[tuple[str, ...]] = (
    'trajectory_score',
    'solved_rate',
    'silent_degradation_rate',
    'dag_similarity',
    'argument_f1',
    'effect_f1',
    'redundant_steps',
)
"""The metrics whose intervals the text shows, the first few that are known."""

MAX_METRICS: Final = 4
MAX_DATASETS: Final = 3
MAX_MODELS: Final = 20
TOOLS_PER_MODEL: Final = 2
MAX_REASON: Final = 300
MAX_NAME: Final = 40


def summary_text(analysis: Analysis, *, files: str = '') -> str:
    """Say what a run shows in a screen of text.

    Args:
        analysis: What `summary.analyse` found.
        files: How the names of the files with the whole tables begin, to be named; empty: none are.

    Returns:
        The tasks without a result, intervals of a few metrics, each model beside the next best one, groups, and the
        tools that most goes wrong with; only those parts that there is something to say in. Names are shown with
        invisible characters as escapes.
    """
    beside = f'; all: {files}_{{}}.csv' if files else ''
    parts = (
        _failures(analysis),
        _intervals(analysis, beside.format('intervals')),
        _ranking(analysis, beside.format('comparison')),
        _groups(analysis, beside.format('groups')),
        _tools(analysis, beside.format('tools')),
    )
    return '\n\n'.join(part for part in parts if part)


def shown_interval(interval: Interval, *, signed: bool = False) -> str:
    """An interval as text.

    Example:
        >>> shown_interval(Interval(81.24, 78.0, 84.13, 30)), shown_interval(Interval(1.5, float('nan'), 2, 1))
        ('81.2 [78.0, 84.1]', '1.50')
    """
    if math.isnan(interval.mean):
        return '-'
    # Counts are small numbers, of which a tenth is much.
    most = max(abs(one) for one in (interval.mean, interval.low, interval.high) if not math.isnan(one))
    form = f'{"+" if signed else ""}.{1 if most >= 10 else 2}f'
    mean = format(interval.mean, form)
    if math.isnan(interval.low) or math.isnan(interval.high):
        return mean
    return f'{mean} [{format(interval.low, form)}, {format(interval.high, form)}]'


def _failures(analysis: Analysis) -> str:
    failed = analysis.run.failed
    if not failed:
        return ''
    lines = [
        f'  {_name(task.model)} on {_name(task.dataset)}: {plain(task.failure, limit=MAX_REASON)}' for task in failed
    ]
    return '\n'.join([f'{len(failed)} of {len(analysis.run.tasks)} tasks have no result:', *lines])


def _intervals(analysis: Analysis, beside: str) -> str:
    metrics = _headline(analysis)
    rows = [
        [
            _name(dataset),
            _name(model),
            max((interval.n for interval in numbers.values()), default=0),
            *(shown_interval(numbers[metric]) if metric in numbers else '-' for metric in metrics),
        ]
        for dataset in _datasets(analysis)
        for (model, of), numbers in itertools.islice(analysis.intervals.items(), MAX_MODELS * MAX_DATASETS)
        if of == dataset
    ]
    if not rows or not metrics:
        return ''
    return f'95 % intervals of the means{beside}\n' + _table(['dataset', 'model', 'tasks', *metrics], rows)


def _ranking(analysis: Analysis, beside: str) -> str:
    if not analysis.metrics or not analysis.comparisons:
        return ''
    main = analysis.metrics[0]
    rows: list[list[object]] = []
    for dataset in _datasets(analysis):
        compared = [one for one in analysis.comparisons if (one.dataset, one.metric) == (dataset, main)]
        means = {
            model: numbers[main]
            for (model, of), numbers in analysis.intervals.items()
            if of == dataset and main in numbers and numbers[main].n
        }
        rows.extend([_name(dataset), *row] for row in _neighbours(compared, means, falls=less_is_better(main)))
    title = f'Each model beside the next best on the same tasks, by {main} (p corrected for all pairs){beside}\n'
    return title + _table(['dataset', 'better mean', 'next', 'difference', 'p', ''], rows) if rows else ''


def _neighbours(
    compared: Sequence[Comparison], means: Mapping[str, Interval], *, falls: bool
) -> Iterator[list[object]]:
    """The comparisons of neighbours in the ranking, the better mean first."""
    known = {(one.model, one.other): one for one in compared}
    ranked = sorted(means, key=lambda model: means[model].mean * (1 if falls else -1))[:MAX_MODELS]
    for first, second in itertools.pairwise(ranked):
        one = known.get((first, second)) or known.get((second, first))
        if one is None:
            continue
        ahead = one.difference if one.model == first else _negated(one.difference)
        verdict = 'better' if one.better == first else plain(one.verdict)
        yield [_name(first), _name(second), shown_interval(ahead, signed=True), f'{one.p_adjusted:.4f}', verdict]


def _negated(interval: Interval) -> Interval:
    return Interval(-interval.mean, -interval.high, -interval.low, interval.n)


def _groups(analysis: Analysis, beside: str) -> str:
    if not analysis.metrics or not analysis.groups:
        return ''
    main = analysis.metrics[0]
    models = list(dict.fromkeys(one.model for one in analysis.groups))[:MAX_MODELS]
    rows: list[list[object]] = []
    # The datasets stand in the table of the intervals already.
    groups = [one for one in analysis.groups if one.kind != 'dataset']
    for (kind, group), members in itertools.groupby(groups, key=lambda one: (one.kind, one.group)):
        found = {one.model: one for one in members}
        values = [found[model].means.get(main, math.nan) if model in found else math.nan for model in models]
        shown = ['-' if math.isnan(value) else f'{value:.1f}' for value in values]
        rows.append([kind, _name(group), max(one.n for one in found.values()), *shown])
    title = f'{main} by group{beside}\n'
    return title + _table(['by', 'group', 'rows', *map(_name, models)], rows) if rows else ''


def _tools(analysis: Analysis, beside: str) -> str:
    rows: list[list[object]] = []
    for _, tools in itertools.groupby(analysis.tools, key=lambda one: one.model):
        rows.extend(_tool(one) for one in itertools.islice((one for one in tools if one.faults), TOOLS_PER_MODEL))
    if not rows:
        return ''
    header = ['model', 'tool', 'missed', 'redundant', 'confused with', 'arguments that differ']
    return f'Tools that most goes wrong with{beside}\n' + _table(header, rows[: MAX_MODELS * TOOLS_PER_MODEL])


def _tool(one: ToolFaults) -> list[object]:
    confused, arguments = (plain(counted(names[:2]), limit=MAX_NAME) for names in (one.confused_with, one.arguments))
    return [_name(one.model), _name(one.tool), f'{one.missed} of {one.golden}', one.redundant, confused, arguments]


def _headline(analysis: Analysis) -> list[str]:
    known = [metric for metric in HEADLINE if metric in analysis.metrics]
    return (known or list(analysis.metrics))[:MAX_METRICS]


def _datasets(analysis: Analysis) -> list[str]:
    return list(dict.fromkeys(dataset for _, dataset in analysis.intervals))[:MAX_DATASETS]


def _name(text: str) -> str:
    return plain(text, limit=MAX_NAME)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    # Names that look like numbers stay as they are.
    return str(tabulate(list(rows), headers=list(header), disable_numparse=True))
