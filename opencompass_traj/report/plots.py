"""The leaderboard as a picture: each model's mean with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from opencompass_traj.report.analysis import intervals
from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.drawing import BLUE, GREY, INK, PALE, label, new_figure
from opencompass_traj.report.known import known_number
from opencompass_traj.report.runs import Run
from opencompass_traj.report.statistics import CONFIDENCE, Interval
from opencompass_traj.report.summary_text import shown_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_MODELS: Final = 60
MAX_PANELS: Final = 6
_NAME: Final = 36
# Inches.
_ROW: Final = 0.3
_ABOVE: Final = 0.7
_BELOW: Final = 0.5
_PANEL: Final = 2.9


@dataclass(frozen=True, slots=True)
class Place:
    """One model's place on the leaderboard of a dataset.

    Attributes:
        model: The model.
        intervals: Of each metric, as it is shown; a metric that is not known is not there.
        failure: Why there is no result; empty where there is one.
    """

    model: str
    intervals: dict[str, Interval]
    failure: str = ''


def leaderboard(run: Run, dataset: str, metrics: Sequence[str]) -> list[Place]:
    """A dataset's models, the best by the first metric first, those without a result last.

    Args:
        run: The run.
        dataset: One of its datasets.
        metrics: Keys of the results.

    Returns:
        A place for each model that has a task of this dataset.
    """
    tasks = tuple(task for task in run.tasks if task.dataset == dataset)
    found = intervals(replace(run, tasks=tasks))
    places = []
    for task in tasks:
        sure = found.get((task.model, dataset), {})
        numbers = {key: value for key in metrics if (value := known_number(task, key)) is not None}
        alone = {key: Interval(value, math.nan, math.nan, 0) for key, value in numbers.items()}
        places.append(Place(task.model, {key: sure.get(key, alone[key]) for key in numbers}, task.failure))
    sign = 1 if less_is_better(metrics[0]) else -1

    def rank(place: Place) -> float:
        interval = place.intervals.get(metrics[0])
        return math.inf if interval is None else sign * interval.mean

    return sorted(places, key=rank)


def draw_leaderboard(places: Sequence[Place], metrics: Sequence[str], *, title: str) -> Figure:
    """Draw a dataset's leaderboard; call it within `drawing.style`.

    Args:
        places: From the top; at most 60 are drawn, and the title says so.
        metrics: One panel each, at most 6.
        title: Such as the dataset's name.

    Raises:
        ValueError: If there are no places or metrics, or too many metrics.
    """
    if not places or not 1 <= len(metrics) <= MAX_PANELS:
        raise ValueError(f'expected models, and 1 to {MAX_PANELS} metrics, got {len(places)} and {len(metrics)}')
    shown = places[:MAX_MODELS]
    height = _ABOVE + _ROW * len(shown) + _BELOW
    figure = new_figure(1.4 + _PANEL * len(metrics), height)
    figure.subplots_adjust(top=1 - _ABOVE / height, bottom=_BELOW / height, wspace=0.75)
    axes = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
    for one, metric in zip(axes, metrics, strict=True):
        _panel(one, shown, metric)
    axes[0].set_yticks(range(len(shown)), [label(place.model, limit=_NAME) for place in shown])
    axes[0].set_ylim(len(shown) - 0.4, -0.6)
    more = f' (the first {len(shown)} of {len(places)} models)' if len(shown) < len(places) else ''
    axes[0].annotate(
        label(title, limit=80) + more, (0, 1), (0, 24), 'axes fraction', 'offset points', fontsize=11, fontweight='bold'
    )
    return figure


def _panel(axes: Axes, places: Sequence[Place], metric: str) -> None:
    ends: list[float] = []
    for row, place in enumerate(places):
        interval = place.intervals.get(metric)
        if interval is None:
            text = 'no result' if place.failure else 'not known'
        else:
            sure = not math.isnan(interval.low)
            low, high = (interval.low, interval.high) if sure else (interval.mean, interval.mean)
            axes.errorbar(
                [interval.mean], [row], xerr=[[interval.mean - low], [high - interval.mean]],
                fmt='o', color=BLUE, markersize=4.5, linewidth=1.6, capsize=3 if sure else 0,
            )  # fmt: skip
            text = shown_interval(interval)
            ends += [low, high]
        axes.annotate(
            text, (1.04, row), xycoords=('axes fraction', 'data'), va='center', fontsize=8,
            color=GREY if interval is None else INK,
        )  # fmt: skip
    _scale(axes, ends)
    axes.set_title(label(metric, limit=_NAME), fontweight='normal')
    way = 'less is better' if less_is_better(metric) else 'more is better'
    axes.set_xlabel(f'mean and {100 * CONFIDENCE:g} % interval; {way}', fontsize=7.5, color=GREY)


def _scale(axes: Axes, ends: Sequence[float]) -> None:
    if ends:
        low, high = min(ends), max(ends)
        margin = 0.06 * (high - low) or 1.0
        axes.set_xlim(low - margin, high + margin)
    else:
        axes.set_xticks([])
    axes.grid(axis='x', color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines['left'].set_visible(False)
    axes.tick_params(axis='y', length=0)
    axes.tick_params(axis='x', labelsize=8)
