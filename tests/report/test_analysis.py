"""A run's intervals and comparisons, and where its models are good: by group and by tool."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.report.analysis import (
    Comparison,
    compare_models,
    intervals,
    row_metrics,
    task_id,
    value_table,
)
from opencompass_traj.report.breakdown import (
    MAX_NAMED,
    group_means,
    groups_of,
    language_of,
    length_band,
    tool_faults,
)
from opencompass_traj.report.runs import Run, TaskResult
from opencompass_traj.report.statistics import Interval, holm, mean_intervals, paired_differences
from opencompass_traj.scoring import (
    ArgumentMatch,
    GraphSimilarity,
    Recovery,
    Scorer,
    SequenceSimilarity,
    read_references,
)


def task(model: str, rows: list[dict[str, Any]], dataset: str = 'd', rates: tuple[str, ...] = ('score',)) -> TaskResult:
    """A result with these rows; the numbers are the means of what is known."""
    keys = {key for row in rows for key, value in row.items() if isinstance(value, float) or value is None}
    numbers = {}
    for key in sorted(keys):
        known = [row[key] for row in rows if row.get(key) is not None]
        numbers[key] = (100 if key in rates else 1) * sum(known) / len(known) if known else 0.0
    return TaskResult(model, dataset, numbers, {}, [{'replica': 0, **row} for row in rows], frozenset(rates))


def scores(*values: float | None, **more: Any) -> list[dict[str, Any]]:
    return [{'sample': f's{i}', 'score': value, **more} for i, value in enumerate(values)]


def run(*tasks: TaskResult) -> Run:
    return Run(Path('made'), tasks)


def test_a_table_has_a_row_per_task_and_averages_its_trials() -> None:
    rows = [
        {'sample': 'a', 'score': 1.0, 'steps': 2.0},
        {'sample': 'b', 'score': 0.5, 'steps': None},
        {'sample': 'a', 'score': 0.0, 'steps': None, 'replica': 1},
        {'sample': 'b', 'score': 0.25, 'steps': None, 'replica': 1},
    ]
    table = value_table(task('m', rows))
    assert (table.tasks, table.metrics) == (('a', 'b'), ('score', 'steps'))
    np.testing.assert_array_equal(table.values, [[0.5, 2.0], [0.375, np.nan]])
    np.testing.assert_array_equal(table.weights, [[2, 1], [2, 1]])


def test_trials_that_stand_as_samples_are_one_task_where_the_row_says_so() -> None:
    rows = [{'sample': f'{i}-{trial}', 'task': str(i), 'score': 1.0 * trial} for i in range(2) for trial in range(2)]
    assert value_table(task('m', rows)).tasks == ('0', '1')
    assert [task_id({'sample': 3}), task_id({'sample': 3, 'task': ''}), task_id({'sample': 3, 'task': 7})] == [
        '3',
        '3',
        '7',
    ]


def test_the_metrics_are_the_numbers_that_rows_have() -> None:
    result = TaskResult('m', 'd', {'score': 1.0, 'known_rate': 1.0}, {}, scores(1.0), frozenset())
    assert row_metrics(result) == ['score']
    assert row_metrics(TaskResult('m', 'd', {'score': 1.0})) == []
    assert value_table(TaskResult('m', 'd', {'score': 1.0})).values.shape == (0, 0)
    assert value_table(TaskResult('m', 'd'), ['x']).values.shape == (0, 1)


def test_the_intervals_are_those_of_the_columns_as_they_are_shown() -> None:
    values = [0.0, 0.5, 1.0, 0.75, 0.25]
    rows = [{'sample': f's{i}', 'score': value, 'steps': value * 8} for i, value in enumerate(values)]
    found = intervals(run(task('m', rows), task('n', scores(*values)), TaskResult('x', 'd', failure='gone')))
    assert list(found) == [('m', 'd'), ('n', 'd')]
    expected = mean_intervals([[value, 8 * value] for value in values], bounds=[(0.0, 1.0), None])
    for metric, interval in zip(('score', 'steps'), expected, strict=True):
        one, scale = found['m', 'd'][metric], 100 if metric == 'score' else 1
        assert (one.mean, one.low, one.high) == pytest.approx(
            (scale * interval.mean, scale * interval.low, scale * interval.high)
        )
        assert one.n == 5
    assert found['n', 'd']['score'].low == pytest.approx(found['m', 'd']['score'].low)


def test_means_are_those_of_the_result() -> None:
    random = np.random.default_rng(1)
    rows = [
        {'sample': f's{i % 7}', 'score': float(value), 'replica': i // 7} for i, value in enumerate(random.random(21))
    ]
    result = task('m', rows)
    assert intervals(run(result))['m', 'd']['score'].mean == pytest.approx(result.numbers['score'])


def test_a_number_that_is_no_mean_of_its_rows_has_no_interval() -> None:
    """Such as a ratio of sums over the whole corpus: an interval of the rows' mean would be of something else."""
    rows = [{**row, 'ratio': value} for row, value in zip(scores(1.0, 0.5, 0.0), (0.1, 0.2, 0.9), strict=True)]
    result = replace(task('m', rows), numbers={'score': 50.0, 'ratio': 0.7})
    assert list(intervals(run(result))['m', 'd']) == ['score']
    # Where some rows lack it, the mean of the replicas' means is not quite that of all rows.
    sparse = replace(task('m', [*rows[:2], {**rows[2], 'ratio': None}]), numbers={'ratio': 0.7})
    assert list(intervals(run(sparse))['m', 'd']) == ['ratio']


def test_what_is_known_of_no_sample_has_no_interval() -> None:
    found = intervals(run(task('m', scores(None, None))))['m', 'd']['score']
    assert (found.n, math.isnan(found.mean)) == (0, True)


def test_comparisons_match_tasks_by_their_ids() -> None:
    first = task('a', scores(1.0, 0.5, 0.75, 1.0, 1.0, 0.5, 0.25))
    second = task('b', list(reversed(scores(0.5, 0.5, 0.25, 0.5, 0.75, 0.0, 0.0, 0.9))))
    (found,) = compare_models(run(first, second), ['score', 'other'])
    differences = [0.5, 0.0, 0.5, 0.5, 0.25, 0.5, 0.25]
    (expected,) = paired_differences([[value] for value in differences], bounds=[(-1.0, 1.0)])
    assert (found.dataset, found.metric, found.model, found.other, found.comparisons) == ('d', 'score', 'a', 'b', 1)
    assert found.difference.mean == pytest.approx(100 * sum(differences) / 7)
    assert found.difference.n == 7
    assert found.p_value == found.p_adjusted == expected.p_value == pytest.approx(2 / 2**6)


def test_trials_are_averaged_before_models_are_compared() -> None:
    twice = [{**row, 'replica': i} for i in range(2) for row in scores(*[1.0 * i] * 6)]
    (found,) = compare_models(run(task('a', twice), task('b', scores(*[0.5] * 6))), ['score'])
    assert (found.difference.mean, found.difference.n, found.p_value) == (0.0, 6, 1.0)


def test_the_correction_is_over_all_pairs_of_models_by_one_metric() -> None:
    random = np.random.default_rng(3)
    shifts = {'a': 0.0, 'b': 0.1, 'c': 0.4}
    tasks = [
        task(model, [
            {'sample': f's{i}', 'score': float(np.clip(shift + random.random() / 2, 0, 1)), 'steps': random.random()}
            for i in range(20)
        ])
        for model, shift in shifts.items()
    ]  # fmt: skip
    found = compare_models(run(*tasks), ['score', 'steps'])
    assert [(one.metric, one.model, one.other) for one in found] == [
        (metric, *pair) for metric in ('score', 'steps') for pair in itertools.combinations('abc', 2)
    ]
    for metric in ('score', 'steps'):
        part = [one for one in found if one.metric == metric]
        assert [one.p_adjusted for one in part] == pytest.approx(holm([one.p_value for one in part]))
        assert {one.comparisons for one in part} == {3}
    alone = compare_models(run(*tasks), ['score'], models=['c', 'a'])
    assert [(one.model, one.other, one.comparisons) for one in alone] == [('c', 'a', 1)]
    assert alone[0].difference.mean == pytest.approx(-found[1].difference.mean)


def test_datasets_and_metrics_that_a_model_lacks_are_left_out() -> None:
    tasks = [
        task('a', scores(1.0, 0.5)), task('b', scores(0.5, 0.5)), task('a', scores(1.0), 'e'),
        task('b', [{'sample': 's0', 'other': 1.0}], 'e'), TaskResult('b', 'f', {'accuracy': 3.0}),
        TaskResult('c', 'd', failure='x'),
    ]  # fmt: skip
    assert [(one.dataset, one.model, one.other) for one in compare_models(run(*tasks), ['score'])] == [('d', 'a', 'b')]
    assert compare_models(run(), ['score']) == []
    assert compare_models(run(tasks[0]), ['score']) == []


def made(metric: str = 'score', mean: float = 1.0, p: float = 0.01, n: int = 30) -> Comparison:
    return Comparison('d', metric, 'a', 'b', Interval(mean, mean - 1, mean + 1, n), p, p, 1)


@pytest.mark.parametrize(
    ('comparison', 'better', 'verdict'),
    [
        (made(), 'a', 'a is better'),
        (made(mean=-1.0), 'b', 'b is better'),
        (made(metric='redundant_steps'), 'b', 'b is better'),
        (made(metric='redundant_steps', mean=-1.0), 'a', 'a is better'),
        (made(p=0.05), '', 'no difference shown'),
        (made(p=0.5), '', 'no difference shown'),
        (made(p=0.0625, n=5), '', 'too few tasks to show a difference'),
        (made(p=1.0, n=0), '', 'no task in common'),
    ],
)
def test_the_verdict_in_words(comparison: Comparison, better: str, verdict: str) -> None:
    assert (comparison.better, comparison.verdict) == (better, verdict)


@pytest.mark.parametrize(
    ('steps', 'band'),
    [(0, '0 steps'), (1, '1 step'), (2, '2-3 steps'), (3, '2-3 steps'), (4, '4-6 steps'), (10, '7-10 steps'),
     (20, '11-20 steps'), (21, '21+ steps'), (900, '21+ steps')],
)  # fmt: skip
def test_length_bands(steps: int, band: str) -> None:
    assert length_band(steps) == band


@pytest.mark.parametrize(
    ('query', 'language'),
    [('', ''), (' \n', ''), ('balance', 'other'), ('查余额', 'zh'), ('look up 余额', 'zh'), ('残高を見る', 'other'),
     ('Привет', 'other')],
)  # fmt: skip
def test_languages(query: str, language: str) -> None:
    assert language_of(query) == language


def test_groups_of_a_row() -> None:
    row = {'tags': ['x', 'y'], 'n_ref': 5, 'query': '查'}
    assert groups_of(row, 'd', 'dataset') == ['d']
    assert groups_of(row, 'd', 'tag') == ['x', 'y']
    assert groups_of(row, 'd', 'length') == ['4-6 steps']
    assert groups_of(row, 'd', 'language') == ['zh']
    # Rows of older runs say less.
    assert [groups_of({}, 'd', kind) for kind in ('tag', 'length', 'language')] == [[], ['0 steps'], []]


def test_group_means() -> None:
    rows = [
        {'sample': 'a', 'score': 1.0, 'n_ref': 12, 'tags': ['x', 'y'], 'query': 'q'},
        {'sample': 'b', 'score': 0.5, 'n_ref': 2, 'tags': ['x'], 'query': 'q'},
        {'sample': 'c', 'score': None, 'n_ref': 2, 'tags': [], 'query': 'q'},
    ]
    found = group_means(run(task('m', rows), task('n', rows[:1])), ['score', 'absent'])
    assert [(one.kind, one.group, one.model, one.n, dict(one.means)) for one in found] == [
        ('tag', 'x', 'm', 2, {'score': 75.0}),
        ('tag', 'x', 'n', 1, {'score': 100.0}),
        ('tag', 'y', 'm', 1, {'score': 100.0}),
        ('tag', 'y', 'n', 1, {'score': 100.0}),
        # Bands in the order of their lengths; one dataset and one language say nothing.
        ('length', '2-3 steps', 'm', 2, {'score': 50.0}),
        ('length', '11-20 steps', 'm', 1, {'score': 100.0}),
        ('length', '11-20 steps', 'n', 1, {'score': 100.0}),
    ]
    assert {
        one.kind for one in group_means(run(task('m', rows), task('m', rows, 'e')), ['score'], kinds=['dataset'])
    } == {'dataset'}


def step(number: int, name: str, **args: Any) -> dict[str, Any]:
    return {'id': number, 'name': name, 'args': args}


def scored(predictions: list[Any], golden: list[list[dict[str, Any]]], model: str = 'm') -> TaskResult:
    metrics = [Recovery(), SequenceSimilarity(), GraphSimilarity(), ArgumentMatch()]
    found = Scorer(metrics).score(predictions, read_references([{'ground_truth': plan} for plan in golden]))
    rows = [{**row, 'replica': 0} for row in found.details]
    return TaskResult(model, 'd', found.in_percent(), {}, rows, found.rates)


def plan(*names: str) -> list[dict[str, Any]]:
    return [step(i, name) for i, name in enumerate(names)]


def faults(*tasks: TaskResult) -> dict[str, tuple[Any, ...]]:
    return {
        one.tool: (one.golden, one.predicted, one.missed, one.redundant, one.confused_with, one.arguments)
        for one in tool_faults(run(*tasks))
    }


def test_tools_missed_redundant_and_confused() -> None:
    found = faults(
        scored(
            [plan('find', 'call', 'call'), plan('find', 'call')], [plan('find', 'mail', 'call'), plan('find', 'mail')]
        )
    )
    assert found == {
        'call': (1, 3, 0, 2, (), ()),
        'mail': (2, 0, 2, 0, (('call', 2),), ()),
        'find': (2, 2, 0, 0, (), ()),
    }


def test_steps_that_changed_places_are_neither_missed_nor_confused() -> None:
    found = faults(scored([plan('b', 'a', 'c')], [plan('a', 'b', 'c')]))
    assert all(row[2:] == (0, 0, (), ()) for row in found.values())


def test_the_arguments_that_differ_most() -> None:
    golden = [[step(0, 'book', seat='1A', day='Mon'), step(1, 'book', seat='2A')]] * 2
    wrong = [[step(0, 'book', seat='9Z', day='Mon'), step(1, 'book', meal='x')]] * 2
    assert faults(scored(wrong, golden))['book'] == (4, 4, 0, 0, (), (('seat', 4), ('meal', 2)))


def test_unreadable_predictions_say_nothing_of_tools() -> None:
    assert faults(scored(['no plan', plan('a')], [plan('a', 'b'), plan('a')])) == {'a': (1, 1, 0, 0, (), ())}


def test_the_worst_tools_come_first_and_name_few() -> None:
    names = [f't{i}' for i in range(12)]
    result = scored([plan(*names)] + [plan('ok')] * 2, [plan(*['gone'] * 12), plan('ok'), plan('ok')])
    found = tool_faults(run(result))
    assert [found[0].tool, found[0].missed, found[-1].tool] == ['gone', 12, 'ok']
    assert len(found[0].confused_with) == MAX_NAMED
    assert [one.tool for one in found[1:13]] == sorted(names)


def test_rows_of_older_runs_are_read_by_their_alignment() -> None:
    result = scored([plan('find', 'call')], [plan('find', 'mail')])
    older = [{key: value for key, value in row.items() if not key.endswith('_steps')} for row in result.rows]
    assert faults(TaskResult('m', 'd', result.numbers, {}, older, result.rates)) == faults(result)


NAMES = st.lists(st.sampled_from(['a', 'b', 'c']), max_size=5)


@given(st.lists(st.tuples(NAMES, NAMES.filter(bool)), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_the_counts_add_up(plans: list[tuple[list[str], list[str]]]) -> None:
    found = tool_faults(run(scored([plan(*pred) for pred, _ in plans], [plan(*ref) for _, ref in plans])))
    for one in found:
        assert one.golden == sum(ref.count(one.tool) for _, ref in plans)
        assert one.predicted == sum(pred.count(one.tool) for pred, _ in plans)
        assert one.missed == sum(max(0, ref.count(one.tool) - pred.count(one.tool)) for pred, ref in plans)
        assert one.missed - one.redundant == one.golden - one.predicted
        assert sum(count for _, count in one.confused_with) <= one.missed
        assert one.tool not in dict(one.confused_with)
