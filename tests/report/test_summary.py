"""The tables and the text beside OpenCompass' summary, and the frames for notebooks."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import opencompass_traj
from opencompass_traj.report.analysis import intervals
from opencompass_traj.report.frames import export_samples, load_results, samples_frame
from opencompass_traj.report.runs import Run, TaskResult, read_run
from opencompass_traj.report.statistics import Interval
from opencompass_traj.report.summary import analyse, counted, tables, write_tables
from opencompass_traj.report.summary_text import MAX_DATASETS, MAX_METRICS, shown_interval, summary_text
from tests.report.run_files import BAD, GOOD, write_run

METRICS = ('trajectory_score', 'solved_rate', 'redundant_steps', 'sequence_similarity', 'token_ratio')


def task(model: str = 'm', dataset: str = 'd', **columns: list[float | None]) -> TaskResult:
    """A task with a row per value; only `trajectory_score` is a rate."""
    size = max(len(values) for values in columns.values())
    rows = [{'sample': f's{i}', 'replica': 0, **{key: columns[key][i] for key in columns}} for i in range(size)]
    numbers = {}
    for key, values in columns.items():
        known = [value for value in values if value is not None]
        numbers[key] = (100 if key == 'trajectory_score' else 1) * sum(known) / max(1, len(known))
    return TaskResult(model, dataset, numbers, {}, rows, frozenset({'trajectory_score'}))


def run(*tasks: TaskResult) -> Run:
    return Run(Path('made'), tasks)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models on ten trips of each kind, and a third that failed."""
    made = write_run(tmp_path_factory.mktemp('run'), {'good': GOOD, 'bad': BAD}, repeat=10)
    log = made / 'logs' / 'infer' / 'lost' / 'trips.out'
    log.parent.mkdir(parents=True)
    log.write_text('Traceback (most recent call last):\n  File "m.py", line 1\nMemoryError: no room\n', 'utf-8')
    return made


def read_csv(file: Path) -> list[dict[str, str]]:
    with file.open(encoding='utf-8', newline='') as stream:
        return list(csv.DictReader(stream))


def test_the_tables_are_files_that_any_reader_takes(folder: Path, tmp_path: Path) -> None:
    found = read_run(folder)
    files = write_tables(analyse(found, METRICS), tmp_path / 'summary_1')
    assert [file.name for file in files] == [
        'summary_1_intervals.csv', 'summary_1_comparison.csv', 'summary_1_groups.csv', 'summary_1_tools.csv',
    ]  # fmt: skip
    by_metric = {(row['model'], row['metric']): row for row in read_csv(files[0])}
    for (model, metric), row in by_metric.items():
        expected = intervals(found)[model, 'trips'][metric]
        assert (float(row['mean']), int(row['tasks'])) == (expected.mean, expected.n)
        assert row['low'] == ('' if math.isnan(expected.low) else repr(expected.low))
    # What no run has a figure for is no row: there are neither tokens nor outcomes here.
    assert not {'token_ratio', 'solved_rate'} & {metric for _, metric in by_metric}
    comparison = {row['metric']: row for row in read_csv(files[1])}
    assert list(comparison) == ['trajectory_score', 'redundant_steps', 'sequence_similarity']
    row = comparison['trajectory_score']
    assert (row['model'], row['other'], row['verdict'], row['tasks']) == ('bad', 'good', 'good is better', '30')
    assert float(row['difference']) < -50
    groups = read_csv(files[2])
    assert {row['group'] for row in groups} == {'1 step', '2-3 steps', '4-6 steps'}
    assert [row['rows'] for row in groups] == ['10'] * 6
    tools = {(row['model'], row['tool']): row for row in read_csv(files[3])}
    assert tools['bad', 'book']['missed'] == '10'
    assert tools['bad', 'book']['confused_with'] in {'find (10)', 'search (10)'}
    assert tools['good', 'book']['missed'] == '0'


def test_tables_without_rows_are_no_files(tmp_path: Path) -> None:
    assert write_tables(analyse(run(TaskResult('m', 'd', failure='x')), METRICS), tmp_path / 's') == []
    assert [table.name for table in tables(analyse(run(task(trajectory_score=[0.5])), METRICS))] == ['intervals']


@pytest.mark.parametrize('name', ['=cmd()', '+1', '-1', '@x', '\ttab'])
def test_no_text_is_a_formula_for_a_spreadsheet(tmp_path: Path, name: str) -> None:
    rows = [{'sample': 's', 'pred_steps': [{'name': name}], 'ref_steps': []}]
    (file,) = write_tables(analyse(Run(Path(), (TaskResult(name, 'd', {}, {}, rows),)), METRICS), tmp_path / 's')
    assert [(row['model'], row['tool']) for row in read_csv(file)] == [(f"'{name}", f"'{name}")]


def test_hostile_names_are_one_cell(tmp_path: Path) -> None:
    name = 'a,"b"\n<script>\u202e'
    rows = [{'sample': 's', 'pred_steps': [{'name': name}], 'ref_steps': []}]
    made = analyse(Run(Path(), (TaskResult('m', 'd', {}, {}, rows),)), METRICS)
    (file,) = write_tables(made, tmp_path / 's')
    assert [row['tool'] for row in read_csv(file)] == [name]
    text = summary_text(made)
    assert '\u202e' not in text
    assert r'a,"b"\n<script>\u202e' in text


def test_the_text_says_all_that_there_is_to_say(folder: Path) -> None:
    text = summary_text(analyse(read_run(folder), METRICS), files='summary_1')
    parts = text.split('\n\n')
    assert parts[0] == '1 of 3 tasks have no result:\n  lost on trips: infer failed: MemoryError: no room'
    titles = [part.split('\n')[0] for part in parts[1:]]
    assert [title.split(';')[0] for title in titles] == [
        '95 % intervals of the means',
        'Each model beside the next best on the same tasks, by trajectory_score (p corrected for all pairs)',
        'trajectory_score by group',
        'Tools that most goes wrong with',
    ]
    assert [title.split(';')[1] for title in titles] == [
        f' all: summary_1_{name}.csv' for name in ('intervals', 'comparison', 'groups', 'tools')
    ]
    ranking = parts[2].split('\n')
    assert len(ranking) == 4
    assert ranking[3].split()[:3] == ['trips', 'good', 'bad']
    assert ranking[3].endswith('better')
    assert 'csv' not in summary_text(analyse(read_run(folder), METRICS))


def test_a_small_difference_is_said_not_to_be_shown() -> None:
    one, other = task('a', trajectory_score=[0.5, 0.75] * 10), task('b', trajectory_score=[0.75, 0.5] * 10)
    assert 'no difference shown' in summary_text(analyse(run(one, other), METRICS))
    few = [task(model, trajectory_score=[value] * 3) for model, value in (('a', 1.0), ('b', 0.5))]
    assert 'too few tasks to show a difference' in summary_text(analyse(run(*few), METRICS))


def test_less_is_better_of_what_is_counted() -> None:
    tasks = [task(model, redundant_steps=values) for model, values in (('a', [3.0, 4.0] * 9), ('b', [1.0, 0.0] * 9))]
    text = summary_text(analyse(run(*tasks), ['redundant_steps']))
    line = next(line for line in text.splitlines() if line.endswith(' better'))
    assert line.split()[:3] == ['d', 'b', 'a']
    assert '-3.00' in line


def test_much_is_cut_to_a_screen() -> None:
    columns = {f'my_{i}': [0.5, 0.25] for i in range(9)}
    tasks = [task(f'm{i}', f'd{j}', **columns) for i in range(30) for j in range(6)]
    text = summary_text(analyse(run(*tasks), list(columns)))
    assert 'my_3' in text
    assert f'my_{MAX_METRICS}' not in text
    assert f'd{MAX_DATASETS}' not in text
    assert len(text.splitlines()) < 170


def test_nothing_to_say_is_no_text() -> None:
    assert summary_text(analyse(run(), METRICS)) == ''
    foreign = TaskResult('m', 'd', {'accuracy': 50.0})
    assert summary_text(analyse(run(foreign), METRICS)) == ''


@pytest.mark.parametrize(
    ('interval', 'signed', 'text'),
    [
        (Interval(81.24, 78.0, 84.13, 9), False, '81.2 [78.0, 84.1]'),
        (Interval(100.0, 88.43, 100.0, 9), False, '100.0 [88.4, 100.0]'),
        (Interval(1.234, 0.5, 2.0, 9), False, '1.23 [0.50, 2.00]'),
        (Interval(-3.0, -4.0, 0.25, 9), True, '-3.00 [-4.00, +0.25]'),
        (Interval(12.0, math.nan, math.nan, 1), True, '+12.0'),
        (Interval(math.nan, math.nan, math.nan, 0), False, '-'),
    ],
)
def test_an_interval_as_text(interval: Interval, signed: bool, text: str) -> None:
    assert shown_interval(interval, signed=signed) == text


def test_counted_names() -> None:
    assert (counted([('a', 2), ('b', 1)]), counted([])) == ('a (2), b (1)', '')


def test_a_notebook_needs_three_lines(folder: Path) -> None:
    results = opencompass_traj.load_results(folder)
    means = 100 * results.samples.groupby('model')['trajectory_score'].mean()
    summary = results.summary.query('metric == "trajectory_score"').set_index('model')['value']
    assert means.to_dict() == pytest.approx(summary.to_dict())
    assert results.failed.to_dict('records') == [
        {'model': 'lost', 'dataset': 'trips', 'reason': 'infer failed: MemoryError: no room'}
    ]


def test_the_frames_are_tidy(folder: Path) -> None:
    samples, summary, _ = load_results(folder)
    assert len(samples) == 60
    assert not samples.duplicated(['model', 'dataset', 'sample', 'replica']).any()
    assert list(samples.columns[:4]) == ['model', 'dataset', 'sample', 'replica']
    assert not {'alignment', 'pred_steps', 'tags'} & set(samples.columns)
    kinds = samples.dtypes
    assert (kinds['trajectory_score'], kinds['token_ratio'], kinds['n_pred']) == ('float64', 'float64', 'int64')
    assert samples['token_ratio'].isna().all()
    assert set(samples['parse_status']) == {'read', 'unreadable'}
    assert not summary.duplicated(['model', 'dataset', 'metric']).any()
    assert list(summary.columns) == ['model', 'dataset', 'metric', 'value', 'low', 'high', 'tasks']
    known = summary[summary['tasks'] > 0]
    assert (known['tasks'] == 30).any()
    score = summary[(summary['metric'] == 'trajectory_score') & (summary['model'] == 'bad')].iloc[0]
    assert score['low'] < score['value'] < score['high']
    # 0 is a number; that no outcome is known is none.
    solved = summary[summary['metric'] == 'solved_rate']
    assert (len(solved), solved['value'].isna().all()) == (2, True)


def test_nested_columns_come_where_they_are_asked_for(folder: Path) -> None:
    samples = load_results(folder, nested=True).samples
    assert samples['pred_steps'].map(type).eq(list).all()
    assert samples['ref_edges'].iloc[0] == [[0, 1], [1, 2]]


def test_a_run_without_any_result_has_empty_frames(tmp_path: Path) -> None:
    (tmp_path / 'configs').mkdir()
    results = load_results(tmp_path)
    assert [len(frame) for frame in results] == [0, 0, 0]
    assert list(results.samples.columns) == ['model', 'dataset', 'sample', 'replica']


def test_rows_that_differ_in_their_keys_are_one_frame() -> None:
    tasks = (task('a', mine=[0.5, None]), task('b', other=[1.0]))
    frame = samples_frame(run(*tasks))
    assert list(frame.columns) == ['model', 'dataset', 'sample', 'replica', 'mine', 'other']
    assert frame['mine'].isna().tolist() == [False, True, True]


def test_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match='nowhere'):
        load_results(tmp_path / 'nowhere')


def test_samples_are_exported(folder: Path, tmp_path: Path) -> None:
    found = read_run(folder)
    lines = export_samples(found, tmp_path / 'new' / 'x.jsonl').read_text('utf-8').splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert [row['model'] for row in rows] == ['bad'] * 30 + ['good'] * 30
    assert {key: value for key, value in rows[0].items() if key not in {'model', 'dataset'}} == found.scored[0].rows[0]
    frame = pd.read_parquet(export_samples(found, str(tmp_path / 'x.parquet')))
    assert frame['trajectory_score'].tolist() == [row['trajectory_score'] for row in rows]
    assert [json.loads(text) for text in frame['pred_steps']] == [row['pred_steps'] for row in rows]
    assert frame['token_ratio'].isna().all()


def test_lists_that_some_rows_lack_are_exported(tmp_path: Path) -> None:
    tasks = (TaskResult('a', 'd', {}, {}, [{'sample': 's', 'replica': 0, 'loops': [1]}]), task('b', mine=[1.0]))
    frame = pd.read_parquet(export_samples(run(*tasks), tmp_path / 'x.parquet'))
    assert frame['loops'].isna().tolist() == [False, True]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r'ends in .jsonl or .parquet'):
        export_samples(run(), tmp_path / 'x.xlsx')
    assert list(tmp_path.iterdir()) == []
