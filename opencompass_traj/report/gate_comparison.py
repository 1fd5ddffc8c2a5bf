"""Whether a run is worse than a baseline: the same samples beside each other, and what that shows.

Of each metric, the drop from the baseline's mean to the run's is known with an interval, and a paired permutation test
says whether it is beyond the allowance. The run is

- *worse* if the whole interval is beyond the allowance, and the test shows as much when it is corrected for the number
  of comparisons (Holm): a drop counts when it is shown;
- *no worse* if the whole interval is within the allowance (non-inferiority), or no sample is worse;
- else it is *not shown*: the samples are too few, or differ too much, to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.report.analysis import task_id, value_table
from opencompass_traj.report.directions import less_is_better
from opencompass_traj.report.gate_result import Check, Outcome
from opencompass_traj.report.runs import Run, TaskResult
from opencompass_traj.report.settings import VERSION, settings_differences
from opencompass_traj.report.statistics import CONFIDENCE, Difference, Interval, holm, paired_differences

MAX_NAMED: Final = 5
_UNCORRECTED: Final = 'worse by the interval, but not by the test'
# Of what is shown as 0 to 100.
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric of one model and dataset, before and now, on the samples that have it in both.

    Attributes:
        model: The model's name.
        dataset: The dataset's.
        metric: The key of the results.
        allowance: How much worse the mean may be, at least 0.
        falls: Whether less of the metric is better.
        now: The run's values, as they are shown (rates from 0 to 100); at least one.
        before: The baseline's, in the same order of samples.
    """

    model: str
    dataset: str
    metric: str
    allowance: float
    falls: bool
    now: tuple[float, ...]
    before: tuple[float, ...]


def comparisons(
    task: TaskResult, baseline: TaskResult | None, *, allowances: Mapping[str, float], falling: Iterable[str] = ()
) -> tuple[list[Comparison], list[Check]]:
    """Put a task's samples beside the baseline's.

    Args:
        task: A task that has a result.
        baseline: The same model's and dataset's task of the baseline, if there is one.
        allowances: How much worse each metric may be; these are the metrics that are compared.
        falling: Metrics of which less is better, beside those that are known to be so.

    Returns:
        What can be compared, and checks that say what cannot, or only with care.
    """
    if baseline is None or baseline.failure:
        why = 'has none of this model and dataset' if baseline is None else f'has no result: {baseline.failure}'
        return [], [Check(task.model, task.dataset, 'baseline', 'warning', f'{why}; nothing is compared')]
    checks = _differing_settings(task, baseline)
    if any(check.outcome == 'failed' for check in checks):
        return [], checks
    checks += _differing_samples(task, baseline)
    made = [
        _comparison(
            task, baseline, metric=metric, allowance=allowance, falls=metric in falling or less_is_better(metric)
        )
        for metric, allowance in allowances.items()
    ]
    found = [one for one in made if isinstance(one, Comparison)]
    return found, checks + [one for one in made if isinstance(one, Check)]


def judged(compared: Sequence[Comparison], *, confidence: float) -> list[Check]:
    """Say of each comparison whether the run is worse.

    Args:
        compared: All comparisons of the gate; the tests are corrected for their number.
        confidence: Of the intervals, in (0, 1).

    Returns:
        One check for each.
    """
    found = _tested(compared, confidence)
    p_values = holm([one.p_value for one in found])
    return [
        _judged(*each, confidence=confidence, number=len(compared))
        for each in zip(compared, found, p_values, strict=True)
    ]


def changes(run: Run, baseline: Run, metrics: Iterable[str]) -> dict[tuple[str, str, str], Interval]:
    """How far each mean has moved from the baseline's, on the samples that both have.

    Args:
        run: The run.
        baseline: The run before.
        metrics: Keys of the results.

    Returns:
        For each model, dataset and metric that can be compared the change (up is more, whatever is better), as it is
        shown, with its 95 % interval.
    """
    allowances = dict.fromkeys(metrics, 0.0)
    compared: list[Comparison] = []
    for task in run.scored:
        compared += comparisons(task, baseline.task(task.model, task.dataset), allowances=allowances)[0]
    found: dict[tuple[str, str, str], Interval] = {}
    for one, difference in zip(compared, _tested(compared, CONFIDENCE), strict=True):
        drop = difference.interval
        change = drop if one.falls else Interval(-drop.mean, -drop.high, -drop.low, drop.n)
        found[one.model, one.dataset, one.metric] = change
    return found


def by_sample(task: TaskResult, metric: str) -> dict[str, float]:
    """A metric's value for each sample that has one, as it is shown; the mean over trials.

    Args:
        task: A task with rows.
        metric: A key of the rows.
    """
    table = value_table(task, [metric])
    scale = 100 if metric in task.rates else 1
    values = zip(table.tasks, table.values[:, 0].tolist(), strict=True)
    return {sample: scale * value for sample, value in values if not math.isnan(value)}


def figure(value: float, *, signed: bool = False) -> str:
    """A number for people: two decimals, and no minus before a zero.

    Example:
        >>> figure(71.256), figure(0.5, signed=True), figure(-0.001)
        ('71.26', '+0.50', '0.00')
    """
    text = f'{value:+.2f}' if signed else f'{value:.2f}'
    return text[1:] if float(text) == 0 and text[0] in '+-' else text


def _tested(compared: Sequence[Comparison], confidence: float) -> list[Difference]:
    """What is known of each drop beyond its allowance; those on equally many samples are tested together."""
    lengths: dict[int, list[int]] = {}
    for place, one in enumerate(compared):
        lengths.setdefault(len(one.now), []).append(place)
    found: dict[int, Difference] = {}
    for places in lengths.values():
        table = np.column_stack([_drops(compared[place]) - compared[place].allowance for place in places])
        found.update(zip(places, paired_differences(table, confidence=confidence), strict=True))
    return [found[place] for place in range(len(compared))]


def _drops(one: Comparison) -> NDArray[np.float64]:
    """How much worse each sample is, without the last bits, in which two computations of a number may differ."""
    changes: NDArray[np.float64] = np.round(np.subtract(one.now, one.before), _DIGITS)
    return changes if one.falls else -changes


def _judged(one: Comparison, found: Difference, p_value: float, *, confidence: float, number: int) -> Check:
    drops = _drops(one)
    beyond = found.interval
    # Equal drops have no interval: their mean stands for it.
    low, high = (one.allowance + (beyond.mean if math.isnan(end) else end) for end in (beyond.low, beyond.high))
    outcome, said = _verdict(drops, low - one.allowance, high - one.allowance, p_value, 1 - confidence)
    if said == _UNCORRECTED and number > 1:
        said = f'worse, but not once corrected for {number} comparisons'
    ends = (low, high) if one.falls else (-high, -low)
    interval = f', {100 * confidence:g} % interval {" to ".join(figure(end, signed=True) for end in ends)}'
    now, before = (math.fsum(values) / len(values) for values in (one.now, one.before))
    change = f'{figure(now - before, signed=True)}{interval if len(drops) > 1 else ""}, {len(drops)} samples'
    asked = f'no more than {one.allowance:g} worse' if one.allowance else 'no worse'
    rule = f'{one.metric} {asked}{" (less is better)" if one.falls else ""}'
    text = f'{figure(now)} after {figure(before)} ({change}): {said}'
    return Check(one.model, one.dataset, rule, outcome, text)


def _verdict(drops: NDArray[np.float64], low: float, high: float, p_value: float, level: float) -> tuple[Outcome, str]:
    """What the drops show, in a word and in words; `low` and `high` are the ends of the drop beyond the allowance."""
    if not (drops > 0).any():
        return 'passed', 'no sample is worse'
    if 2 / 2 ** len(drops) > level:
        return 'not shown', 'too few samples to tell'
    if low > 0:
        return ('failed', 'worse') if p_value < level else ('not shown', _UNCORRECTED)
    return ('passed', 'no worse') if high <= 0 else ('not shown', 'neither shown to be worse nor shown to be no worse')


def _comparison(
    task: TaskResult, baseline: TaskResult, *, metric: str, allowance: float, falls: bool
) -> Comparison | Check:
    now, before = by_sample(task, metric), by_sample(baseline, metric)
    common = [sample for sample in now if sample in before]
    if common:
        values = (tuple(found[sample] for sample in common) for found in (now, before))
        return Comparison(task.model, task.dataset, metric, allowance, falls, *values)
    if not now or not before:
        text = f'no sample of the {"run" if not now else "baseline"} has it'
    else:
        text = 'no sample is in both runs'
    return Check(task.model, task.dataset, f'{metric} beside the baseline', 'failed', text)


def _differing_settings(task: TaskResult, baseline: TaskResult) -> list[Check]:
    differences = settings_differences(task.settings, baseline.settings)
    version = next((text for text in differences if text.startswith(f'{VERSION}: ')), '')
    if version:
        text = f'{version}; the numbers mean different things, and nothing is compared'
        return [Check(task.model, task.dataset, 'same settings', 'failed', text)]
    if not differences:
        return []
    more = f' and {len(differences) - MAX_NAMED} more' if len(differences) > MAX_NAMED else ''
    return [Check(task.model, task.dataset, 'same settings', 'warning', '; '.join(differences[:MAX_NAMED]) + more)]


def _differing_samples(task: TaskResult, baseline: TaskResult) -> list[Check]:
    now, before = ({task_id(row): row.get('query') for row in one.rows} for one in (task, baseline))
    common = now.keys() & before.keys()
    found = []
    if now.keys() != before.keys():
        alone = f'{len(now) - len(common)} here alone, {len(before) - len(common)} in the baseline alone'
        found.append(f'{len(common)} in both, {alone}')
    # An id that has been given to another task makes a pair of nothing. Older rows do not have the query.
    other = sum(now[name] != before[name] for name in common if None not in (now[name], before[name]))
    if other:
        found.append(f'{other} in both have another query')
    return [Check(task.model, task.dataset, 'same samples', 'warning', '; '.join(found))] if found else []
