"""A run in markdown, for a comment on a pull request."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opencompass_traj.plain_text import plain
from opencompass_traj.report.analysis import intervals, task_id
from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.gate_comparison import by_sample, changes, figure
from opencompass_traj.report.gate_result import GateResult
from opencompass_traj.report.known import known_number
from opencompass_traj.report.runs import Row, Run, TaskResult
from opencompass_traj.report.statistics import Interval
from opencompass_traj.report.summary_text import shown_interval

MAX_ROWS: Final = 40
MAX_CHECKS: Final = 40
MAX_CELL: Final = 60
MAX_FAULTS: Final = 4
"""Redundant and missing tools that are named of one sample."""

_TICKS: Final = re.compile('`+')


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample that is worth a look: how far it is from good, for sorting, and what to say of it."""

    loss: float
    model: str
    name: str
    numbers: str
    fault: str


def as_comment(
    run: Run,
    metrics: Sequence[str],
    *,
    baseline: Run | None = None,
    result: GateResult | None = None,
    worst: int = 5,
) -> str:
    """The leaderboard with intervals, the changes against a baseline, the gate's verdict, and the samples to look at.

    Args:
        run: The run.
        metrics: Columns of the leaderboard; the first one says which samples are the worst.
        baseline: The run to compare with.
        result: What a gate said of the run.
        worst: Samples to name, at least 0: those that lost the most, or without a baseline those with the worst values.

    Returns:
        Markdown of less than GitHub's limit of 65,536 characters. Names, and all other text of others, stand in code
        spans, in which nothing is markup, a link or a mention.

    Raises:
        ValueError: If there are no metrics, or `worst` is below 0.
    """
    if not metrics or worst < 0:
        raise ValueError(f'expected a metric, and `worst` of at least 0, got {list(metrics)} and {worst}')
    title = 'Trajectories' if result is None else f'Trajectories: {"✅" if result.passed else "❌"} {result.verdict}'
    parts = [f'### {title}', _leaderboard(run, metrics, baseline), _failures(run)]
    parts += [] if result is None else [_checks(result)]
    parts.append(_samples(run, metrics[0], baseline, worst))
    return '\n\n'.join(part for part in parts if part)


def code(text: str, *, limit: int = MAX_CELL) -> str:
    r"""Text as a code span that also fits into a table's cell.

    Example:
        >>> code('a|b'), code('a`b'), code('')
        ('`a\\x7cb`', '``a`b``', '–')
    """
    # A backslash cannot keep a bar in its cell where the text has a backslash of its own.
    shown = plain(text, limit=limit).replace('|', '\\x7c').strip()
    if not shown:
        return '–'
    fence = '`' * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    space = ' ' if shown[0] == '`' or shown[-1] == '`' else ''
    return f'{fence}{space}{shown}{space}{fence}'


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table; its cells are markdown."""
    lines = [header, ['---'] * len(header), *rows]
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in lines)


def _leaderboard(run: Run, metrics: Sequence[str], baseline: Run | None) -> str:
    sure = intervals(run)
    moved = {} if baseline is None else changes(run, baseline, metrics)
    several = len(run.datasets) > 1
    columns = [f'{code(metric)}{" (less is better)" if less_is_better(metric) else ""}' for metric in metrics]
    header = ['model', *(['dataset'] if several else []), 'samples', *columns]
    rows = []
    for task in _ranked(run, metrics[0])[:MAX_ROWS]:
        known = sure.get((task.model, task.dataset), {})
        cells = [_cell(task, metric, known, moved.get((task.model, task.dataset, metric))) for metric in metrics]
        samples = len({task_id(row) for row in task.rows})
        rows.append([code(task.model), *([code(task.dataset)] if several else []), str(samples), *cells])
    if not rows:
        return ''
    note = 'Means with 95 % intervals'
    note += (
        ' · changes from the baseline on the common samples; bold: the whole interval is on one side of 0.'
        if moved
        else '.'
    )
    more = f' {len(run.scored) - MAX_ROWS} more results are left out.' if len(run.scored) > MAX_ROWS else ''
    return f'{table(header, rows)}\n\n{note}{more}'


def _cell(task: TaskResult, metric: str, known: Mapping[str, Interval], moved: Interval | None) -> str:
    value = known_number(task, metric)
    if value is None:
        return '–'
    shown = shown_interval(known[metric]) if metric in known else figure(value)
    if moved is None:
        return shown
    # Where no sample has moved there is no interval.
    change = shown_interval(moved, signed=True) if moved.mean or moved.low < moved.high else 'no change'
    sure = moved.low > 0 or moved.high < 0
    return f'{shown} · {f"**{change}**" if sure else change}'


def _ranked(run: Run, metric: str) -> list[TaskResult]:
    """By dataset, the best model first."""
    sign = 1 if less_is_better(metric) else -1
    places = {dataset: place for place, dataset in enumerate(run.datasets)}

    def rank(task: TaskResult) -> tuple[int, float]:
        value = known_number(task, metric)
        return places[task.dataset], math.inf if value is None else sign * value

    return sorted(run.scored, key=rank)


def _failures(run: Run) -> str:
    lines = [f'- {code(task.model)} on {code(task.dataset)}: {code(task.failure, limit=300)}' for task in run.failed]
    more = [f'- and {len(lines) - MAX_ROWS} more'] if len(lines) > MAX_ROWS else []
    return '\n'.join(['**Tasks without a result**', '', *lines[:MAX_ROWS], *more]) if lines else ''


def _checks(result: GateResult) -> str:
    """What keeps the gate shut, then what is not shown; what passed is only counted in the verdict."""
    told = sorted(
        (check for check in result.checks if check.outcome != 'passed'), key=lambda check: not result.fails(check)
    )
    if not told:
        return ''
    rows = [
        [
            f'{"❌" if result.fails(check) else "⚠️"} {check.outcome}',
            code(check.place),
            code(check.rule),
            code(check.text, limit=300),
        ]
        for check in told[:MAX_CHECKS]
    ]
    more = f'\n\n{len(told) - MAX_CHECKS} more checks are left out.' if len(told) > MAX_CHECKS else ''
    return table(['check', 'where', 'asked', 'found'], rows) + more


def _samples(run: Run, metric: str, baseline: Run | None, worst: int) -> str:
    found = [one for task in run.scored for one in _of_task(task, metric, baseline)]
    shown = sorted(found, key=lambda one: -one.loss)[:worst]
    if not shown:
        return ''
    title = f'The samples that lost the most, by {metric}' if baseline else f'The worst samples, by {metric}'
    rows = [[code(one.model), code(one.name), one.numbers, one.fault] for one in shown]
    body = table(['model', 'sample', 'change' if baseline else 'value', 'what went wrong'], rows)
    # Within the summary's tags markdown is not read, and code spans would not be either.
    return f'<details><summary>{html.escape(plain(title))}</summary>\n\n{body}\n\n</details>'


def _of_task(task: TaskResult, metric: str, baseline: Run | None) -> list[_Sample]:
    """The samples of a task; beside a baseline, those that are worse than they were."""
    now = by_sample(task, metric)
    rows = {task_id(row): row for row in task.rows}
    sign = 1 if less_is_better(metric) else -1
    if baseline is None:
        return [
            _Sample(sign * value, task.model, name, figure(value), _fault(rows[name])) for name, value in now.items()
        ]
    before = baseline.task(task.model, task.dataset)
    then = by_sample(before, metric) if before else {}
    return [
        _Sample(loss, task.model, name, f'{figure(value)} after {figure(then[name])}', _fault(rows[name]))
        for name, value in now.items()
        if name in then and (loss := sign * (value - then[name])) > 0
    ]


def _fault(row: Row) -> str:
    """What went wrong in a sample, in a few words."""
    if row.get('parse_status') == 'unreadable':
        return f'cannot be read: {code(str(row.get("parse_reason") or "no reason is known"), limit=120)}'
    steps = [one for one in row.get('alignment') or () if one.get('op') != 'keep']
    added, left = (
        Counter(str(one[key]) for one in steps if one.get(key) is not None) for key in ('pred_name', 'ref_name')
    )
    moved = added & left
    kinds = (('moved', moved), ('redundant', added - moved), ('missing', left - moved))
    named = [
        f'{kind} {code(name)}{f" ×{number}" if number > 1 else ""}'
        for kind, counted in kinds
        for name, number in counted.items()
    ]
    more = f' and {len(named) - MAX_FAULTS} more' if len(named) > MAX_FAULTS else ''
    return ', '.join(named[:MAX_FAULTS]) + more or 'the steps are right'
