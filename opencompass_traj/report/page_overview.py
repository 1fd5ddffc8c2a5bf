"""The page's overview: the leaderboard, how sure it is, how models compare, and where groups and tools go wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from opencompass_traj.report.analysis import LEAST_TASKS, Comparison, compare_models, intervals
from opencompass_traj.report.breakdown import group_means, tool_faults
from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.known import known_number
from opencompass_traj.report.page_text import cut, number, visible
from opencompass_traj.report.results import further_keys, known_rates
from opencompass_traj.report.runs import Run
from opencompass_traj.report.statistics import CONFIDENCE, Interval

Intervals: TypeAlias = Mapping[tuple[str, str], Mapping[str, Interval]]

LEADING: Final = (
    'trajectory_score',
    'sequence_similarity',
    'partial_order_similarity',
    'dag_similarity',
    'plan_f1',
    'causal_fidelity',
    'argument_f1',
    'effect_f1',
    'solved_rate',
    'silent_degradation_rate',
    'redundant_steps',
    'missing_steps',
    'loop_rate',
    'forbidden_hits',
    'optimal_rate',
    'step_ratio',
    'token_ratio',
    'latency_ratio',
    'cost_ratio',
    'unreadable_rate',
    'f1_score',
)
"""Columns of the leaderboard, in order; the page hides what does not fit until it is asked for."""

MAX_TOOLS: Final = 300


@dataclass(frozen=True, slots=True)
class Findings:
    """What was computed of a run already; None: to be computed.

    Attributes:
        intervals: As `analysis.intervals` gives them.
        comparisons: As `analysis.compare_models` gives them. Where there are none by the first number of the
            leaderboard, those are computed.
        confidence: Of the intervals, in (0, 1).
    """

    intervals: Intervals | None = None
    comparisons: Iterable[Comparison] | None = None
    confidence: float = CONFIDENCE


def build_overview(run: Run, findings: Findings | None = None) -> dict[str, Any]:
    """What the page's first view shows beside what it counts itself.

    Args:
        run: The run.
        findings: What is known already.

    Returns:
        `columns`: the leaderboard's metrics, each `[key, is a rate, less is better]`; `scores`: for each dataset and
        model the means and their intervals; `comparisons`; `groups`; `tools`; `plain`: the means as rows of text, for
        readers without scripts.
    """
    known = findings or Findings()
    columns = columns_of(run)
    found = known.intervals if known.intervals is not None else intervals(run, confidence=known.confidence)
    main, rates = columns[:1], known_rates().union(*(task.rates for task in run.scored))
    comparisons = [one for one in known.comparisons or () if one.metric in main]
    comparisons = comparisons or compare_models(run, main, confidence=known.confidence)
    return {
        'level': number(100 * known.confidence),
        'columns': [[key, int(key in rates), int(less_is_better(key))] for key in columns],
        'scores': _scores(run, columns, found),
        'comparisons': [_comparison(one) for one in comparisons],
        'groups': [
            [one.kind, cut(one.group, 100), one.model, one.n, number(one.means[main[0]])]
            for one in group_means(run, main)
            if one.means
        ],
        'tools': _tools(run),
        'plain': _plain(run, columns),
    }


def columns_of(run: Run) -> list[str]:
    """The leading metrics that some task has, and what was asked for besides; of a run without any, all it has."""
    further = further_keys(key for task in run.scored if task.settings for key in task.numbers)
    leading = [key for key in (*LEADING, *further) if any(known_number(task, key) is not None for task in run.scored)]
    return leading or list(dict.fromkeys(key for task in run.scored for key in task.numbers))


def _scores(run: Run, columns: list[str], found: Intervals) -> list[list[Any]]:
    scores = []
    for task in run.scored:
        means = [number(known_number(task, key)) for key in columns]
        ends = [
            _ends(found.get((task.model, task.dataset), {}).get(key)) if mean is not None else None
            for key, mean in zip(columns, means, strict=True)
        ]
        scores.append([task.dataset, task.model, means, len(task.rows), ends if any(ends) else None])
    return scores


def _ends(interval: Interval | None) -> list[float | int | None] | None:
    if interval is None or math.isnan(interval.low) or math.isnan(interval.high):
        return None
    return [number(interval.low), number(interval.high)]


def _comparison(one: Comparison) -> list[Any]:
    """`[dataset, model, other, difference, low, high, adjusted p-value, what is shown]`."""
    difference = one.difference
    shown = 'none'
    if one.better:
        shown = 'model' if one.better == one.model else 'other'
    elif difference.n < LEAST_TASKS:
        shown = 'few'
    ends = [number(value) for value in (difference.mean, difference.low, difference.high)]
    return [one.dataset, one.model, one.other, *ends, number(one.p_adjusted), shown]


def _tools(run: Run) -> list[list[Any]]:
    """Tools that some model misses, adds or confuses, most faults first."""
    faults = sorted((one for one in tool_faults(run) if one.faults or one.confused_with), key=lambda one: -one.faults)
    return [
        [
            one.model,
            cut(one.tool, 100),
            one.golden,
            one.predicted,
            one.missed,
            one.redundant,
            [[cut(name, 100), times] for name, times in one.confused_with],
            [[cut(name, 100), times] for name, times in one.arguments],
        ]
        for one in faults[:MAX_TOOLS]
    ]


def _plain(run: Run, columns: list[str]) -> list[tuple[str, str, str, str]]:
    rows = [(task, key, known_number(task, key)) for task in run.scored for key in columns]
    return [
        (visible(task.model), visible(task.dataset), key, f'{value:.2f}')
        for task, key, value in rows
        if value is not None
    ]
