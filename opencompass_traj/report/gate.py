"""The gate: may this run go out? Bounds on its numbers, and no worse than a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from opencompass_traj.report.gate_comparison import Comparison, comparisons, figure, judged
from opencompass_traj.report.gate_result import Check, GateResult
from opencompass_traj.report.known import known_samples
from opencompass_traj.report.names import DEFAULT_METRIC, hint
from opencompass_traj.report.runs import Run, TaskResult, read_run

RATES: Final = '*'
"""In `no_worse_than`: every rate named in `min` and `max`, or `trajectory_score`."""

# Beside a bound, the last bits of a mean do not count.
_NOISE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What a run must show to pass.

    Numbers are those of the summary: rates from 0 to 100, counts as means per sample.

    Attributes:
        min: The least that a metric's mean may be, by metric.
        max: The most that it may be.
        baseline: A run, or the folder of one, that this one is compared with, sample by sample.
        no_worse_than: How much worse than the baseline's a metric's mean may be: by metric, or one number for every
            rate named in `min` and `max`, and for `trajectory_score` where they name none; by metric, `*` stands for
            those. None: 0.
        models: The models to look at, which must be there; none: all of the run, and all of the baseline must be
            there.
        datasets: Likewise.
        less_is_better: Metrics of your own of which less is better.
        strict: Whether what is not shown to be no worse fails too, and each warning.
        confidence: Of the intervals, in (0, 1).

    Raises:
        ValueError: If nothing is asked, or a number is not one.
    """

    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)
    baseline: Run | str | Path | None = None
    no_worse_than: float | Mapping[str, float] | None = None
    models: Sequence[str] = ()
    datasets: Sequence[str] = ()
    less_is_better: Sequence[str] = ()
    strict: bool = False
    confidence: float = 0.95

    def __post_init__(self) -> None:
        allowed = self.no_worse_than
        by_metric = {} if allowed is None else allowed if isinstance(allowed, Mapping) else {RATES: allowed}
        for option, numbers in (('min', self.min), ('max', self.max), ('no_worse_than', by_metric)):
            _check_numbers(option, numbers)
        if any(number < 0 for number in by_metric.values()):
            raise ValueError(f'expected `no_worse_than` of at least 0, got {allowed!r}')
        for option, names in (
            ('models', self.models),
            ('datasets', self.datasets),
            ('less_is_better', self.less_is_better),
        ):
            if isinstance(names, str):
                raise ValueError(f'expected `{option}` as a list of names, got {names!r}')
        if not 0 < self.confidence < 1:
            raise ValueError(f'expected `confidence` in (0, 1), got {self.confidence!r}')
        if allowed is not None and self.baseline is None:
            raise ValueError('expected a `baseline` beside `no_worse_than`')
        if not self.min and not self.max and self.baseline is None:
            raise ValueError('expected something to check: `min`, `max` or a `baseline`')

    def check(self, run: Run) -> GateResult:
        """Check a run.

        Args:
            run: The run in question.

        Returns:
            A check for each thing that was asked of each model and dataset. What is missing (a model, a dataset, a
            metric, the result of a task that failed) is a check that failed.

        Raises:
            FileNotFoundError: If the baseline is a folder that holds no run.
        """
        baseline = read_run(self.baseline) if isinstance(self.baseline, str | Path) else self.baseline
        tasks = self._chosen(run)
        missing = [*_unknown('model', self.models, run.models), *_unknown('dataset', self.datasets, run.datasets)]
        missing += [] if baseline is None else [*_itself(run, baseline), *_left_out(tasks, self._chosen(baseline))]
        if not tasks and not missing:
            missing = [Check('', '', 'results', 'failed', 'the run has none')]
        found = {(task.model, task.dataset): self._bounds(task) for task in tasks}
        for check in [] if baseline is None else self._compared(tasks, baseline):
            found[check.model, check.dataset].append(check)
        return GateResult((*missing, *(check for checks in found.values() for check in checks)), self.strict)

    def allowances(self, rates: Iterable[str]) -> dict[str, float]:
        """How much worse each metric that is compared may be.

        Args:
            rates: The keys that are shown as 0 to 100; one number for all is meant for these alone.
        """
        allowed = self.no_worse_than
        by_metric = dict(allowed) if isinstance(allowed, Mapping) else {RATES: 0.0 if allowed is None else allowed}
        if RATES not in by_metric:
            return by_metric
        of_rates = by_metric.pop(RATES)
        named = [metric for metric in {**self.min, **self.max} if metric in set(rates)]
        return {**dict.fromkeys(named or [DEFAULT_METRIC], of_rates), **by_metric}

    def _chosen(self, run: Run) -> list[TaskResult]:
        return [
            task
            for task in run.tasks
            if (not self.models or task.model in self.models) and (not self.datasets or task.dataset in self.datasets)
        ]

    def _bounds(self, task: TaskResult) -> list[Check]:
        if task.failure:
            return [Check(task.model, task.dataset, 'result', 'failed', f'the task has none: {task.failure}')]
        least = [_bound(task, metric, bound, at_least=True) for metric, bound in self.min.items()]
        return least + [_bound(task, metric, bound, at_least=False) for metric, bound in self.max.items()]

    def _compared(self, tasks: Iterable[TaskResult], baseline: Run) -> list[Check]:
        compared: list[Comparison] = []
        cautions: list[Check] = []
        for task in tasks:
            if not task.failure:
                before = baseline.task(task.model, task.dataset)
                allowances = self.allowances(task.rates)
                made, checks = comparisons(task, before, allowances=allowances, falling=self.less_is_better)
                compared += made
                cautions += checks
        return cautions + judged(compared, confidence=self.confidence)


def _check_numbers(option: str, numbers: object) -> None:
    if not isinstance(numbers, Mapping):
        raise ValueError(f'expected `{option}` as metrics with their numbers, got {numbers!r}')
    for metric, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueError(f'expected a number for {metric!r} in `{option}`, got {number!r}')


def _unknown(kind: str, names: Iterable[str], known: Sequence[str]) -> list[Check]:
    return [
        Check('', '', f'{kind} {name}', 'failed', f'the run has none of this name{hint(name, known)}')
        for name in names
        if name not in known
    ]


def _itself(run: Run, baseline: Run) -> list[Check]:
    """A work folder is its newest run: beside the folder that it was written to, a run is beside itself."""
    if baseline.work_dir.is_dir() and run.work_dir.is_dir() and baseline.work_dir.samefile(run.work_dir):
        return [Check('', '', 'baseline', 'warning', f'it is this very run, {run.work_dir}; name an older one')]
    return []


def _left_out(tasks: Iterable[TaskResult], baseline: Iterable[TaskResult]) -> list[Check]:
    """The models and datasets that the baseline has a result of, and the run has not even tried."""
    here = {(task.model, task.dataset) for task in tasks}
    return [
        Check('', '', f'{task.model} on {task.dataset}', 'failed', 'the baseline has it, and this run has not')
        for task in baseline
        if not task.failure and (task.model, task.dataset) not in here
    ]


def _bound(task: TaskResult, metric: str, bound: float, *, at_least: bool) -> Check:
    rule = f'{metric} at {"least" if at_least else "most"} {bound:g}'
    value = task.numbers.get(metric)
    if value is None:
        text = f'there is no such number{hint(metric, list(task.numbers))}'
        return Check(task.model, task.dataset, rule, 'failed', text)
    known, samples = known_samples(task, metric)
    if not known:
        return Check(task.model, task.dataset, rule, 'failed', 'not known: no sample has it')
    good = value >= bound - _NOISE if at_least else value <= bound + _NOISE
    text = figure(value) if good or figure(value) != figure(bound) else f'{value:.9g}'
    partly = f', known of {known} of {samples} samples' if known < samples else ''
    return Check(task.model, task.dataset, rule, 'passed' if good else 'failed', f'{text}{partly}')
