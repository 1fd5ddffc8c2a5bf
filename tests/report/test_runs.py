"""Reading a run's folder: what OpenCompass writes, what it leaves out, and what was broken on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.report.logs import MAX_BYTES, MAX_REASON, failure_reason
from opencompass_traj.report.results import ResultFileError, known_rates, metric_key, read_result
from opencompass_traj.report.runs import Run, TaskResult, read_run, result_file, run_folder

ROW = {'sample': 'q', 'parse_status': 'read', 'metric_version': '1', 'f1': 0.5}
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\n'


def write(folder: Path, name: str, content: Any) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding='utf-8')
    return file


def as_host(rows: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows as OpenCompass writes them: one entry per sample, each value a list with an entry per replica."""
    return [
        {'example_abbr': f'd_{i}', **{key: [row[key] for row in replicas] for key in replicas[0]}}
        for i, replicas in enumerate(rows)
    ]


def tasks_of(run: Run) -> list[tuple[str, str]]:
    return [(task.model, task.dataset) for task in run.tasks]


def test_a_result_is_unwrapped(tmp_path: Path) -> None:
    other = {**ROW, 'sample': 'r', 'f1': 1.0, 'tags': ['a', 'b'], 'alignment': []}
    content = {'f1': 75.0, 'settings': [{'metric_version': '1'}], 'details': as_host([[ROW], [other]])}
    found = read_result(write(tmp_path, 'd.json', content))
    assert found.numbers == {'f1': 75.0}
    assert found.settings == {'metric_version': '1'}
    assert list(found.rows) == [{**ROW, 'replica': 0}, {**other, 'replica': 0}]
    assert found.rates == {'f1'}


def test_replicas_are_rows_of_their_own(tmp_path: Path) -> None:
    content = {'f1 (2 runs average)': 75.0, 'details': as_host([[ROW, {**ROW, 'f1': 1.0}]])}
    found = read_result(write(tmp_path, 'd.json', content))
    assert found.numbers == {'f1': 75.0}
    assert [(row['sample'], row['replica'], row['f1']) for row in found.rows] == [('q', 0, 0.5), ('q', 1, 1.0)]
    assert found.rates == {'f1'}


def test_an_evaluators_own_result_is_read_too(tmp_path: Path) -> None:
    found = read_result(write(tmp_path, 'd.json', {'f1': 50.0, 'settings': {'a': 1}, 'details': [ROW]}))
    assert (found.settings, list(found.rows)) == ({'a': 1}, [{**ROW, 'replica': 0}])


@pytest.mark.parametrize(
    'details',
    [
        None, [], {}, 'text', [1], {'0': {'pred': 'a', 'answer': 'a', 'correct': True}, 'type': 'GEN'},
        [{'pred': ['a'], 'correct': [True], 'example_abbr': 'x_0'}], [[ROW]],
    ],
)  # fmt: skip
def test_another_evaluators_result_has_numbers_alone(tmp_path: Path, details: Any) -> None:
    content = {'accuracy': 50, 'nan': float('nan'), 'flag': True, 'text': 'x', 'list': [1.0], 'details': details}
    found = read_result(write(tmp_path, 'd.json', content))
    assert (found.numbers, list(found.rows), found.rates) == ({'accuracy': 50.0}, [], frozenset())
    assert type(found.numbers['accuracy']) is float


@pytest.mark.parametrize(
    ('content', 'reason'),
    [
        ('{"f1": 1', 'd.json cannot be read'),
        ('', 'd.json cannot be read'),
        ('[1]', 'expected a JSON object, got list'),
        ('[' * 100_000, 'd.json cannot be read'),
        ({'error': 'no such column'}, 'the evaluator reports: no such column'),
        ({'error': 'x' * 9_000}, 'the evaluator reports: x'),
    ],
)
def test_a_broken_result_says_why(tmp_path: Path, content: Any, reason: str) -> None:
    with pytest.raises(ResultFileError, match=reason) as caught:
        read_result(write(tmp_path, 'd.json', content))
    assert len(str(caught.value)) < 1_000
    (tmp_path / 'results' / 'm').mkdir(parents=True)
    (tmp_path / 'd.json').rename(tmp_path / 'results' / 'm' / 'd.json')
    (task,) = read_run(tmp_path).tasks
    assert reason in task.failure
    assert read_run(tmp_path).failed == (task,)


def test_bytes_that_are_no_text_are_a_failure(tmp_path: Path) -> None:
    file = tmp_path / 'd.json'
    file.write_bytes(b'\xff\xfe{')
    with pytest.raises(ResultFileError, match='cannot be read'):
        read_result(file)


@pytest.mark.parametrize(
    ('number', 'values', 'is_rate'),
    [
        (75.0, [0.5, 1.0], True),
        (0.75, [0.5, 1.0], False),
        (75.0, [0.5, None, 1.0], True),
        (0.0, [0.0, 0.0], False),
        (75.0, ['x'], False),
        (75.0, [], False),
    ],
)
def test_a_rate_is_known_by_its_percent(tmp_path: Path, number: float, values: list[Any], is_rate: bool) -> None:
    rows = [{**ROW, 'mine': value} for value in values]
    found = read_result(write(tmp_path, 'd.json', {'mine': number, 'details': rows}))
    assert ('mine' in found.rates) == is_rate


def test_the_rates_of_the_package_are_known_without_rows(tmp_path: Path) -> None:
    found = read_result(write(tmp_path, 'd.json', {'f1_score': 0.0, 'step_known_rate': 0.0, 'step_ratio': 0.0}))
    assert found.rates == {'f1_score', 'step_known_rate'}
    assert {'trajectory_score', 'precision', 'outcome_known_rate', 'silent_degradation_rate'} <= known_rates()
    assert not {'redundant_steps', 'longest_loop', 'token_ratio'} & known_rates()


@pytest.mark.parametrize(
    ('key', 'plain'),
    [('f1 (2 runs average)', 'f1'), ('f1', 'f1'), ('f1 (x runs average)', 'f1 (x runs average)'), ('', '')],
)
def test_the_key_of_an_average(key: str, plain: str) -> None:
    assert metric_key(key) == plain


RESULT = {'f1': 50.0, 'details': [ROW]}


def test_the_newest_run_is_taken(tmp_path: Path) -> None:
    for stamp in ('20250101_000000', '20260101_000000', '20260101_000001'):
        write(tmp_path, f'{stamp}/results/m/d.json', RESULT)
    write(tmp_path, 'zzz/results/m/d.json', RESULT)
    (tmp_path / '20270101_000000').mkdir()
    assert run_folder(tmp_path).name == '20260101_000001'
    assert read_run(str(tmp_path)).work_dir == tmp_path / '20260101_000001'
    assert run_folder(tmp_path / '20250101_000000').name == '20250101_000000'
    assert result_file(run_folder(tmp_path), 'm', 'd').is_file()


@pytest.mark.parametrize('make', ['nothing', 'empty', 'file', 'other'])
def test_a_folder_without_a_run_is_named(tmp_path: Path, make: str) -> None:
    folder = tmp_path / 'x'
    if make == 'file':
        folder.write_text('')
    elif make != 'nothing':
        folder.mkdir()
        (folder / 'notes').mkdir()
    with pytest.raises(FileNotFoundError, match='x'):
        read_run(folder)


def test_a_run_of_which_nothing_came_is_a_run(tmp_path: Path) -> None:
    (tmp_path / 'configs').mkdir()
    run = read_run(tmp_path, expected=[('m', 'd')])
    assert [task.failure.split(';')[0] for task in run.tasks] == ['not answered']
    assert read_run(tmp_path).tasks == ()


def test_models_and_datasets_are_found_wherever_they_left_a_file(tmp_path: Path) -> None:
    write(tmp_path, 'results/org/model/d.v1.json', RESULT)
    write(tmp_path, 'results/a/d.v1.json', RESULT)
    write(tmp_path, 'predictions/a/tmp_late.json', {})
    write(tmp_path, 'predictions/a/d.v1.json', {})
    write(tmp_path, 'logs/infer/b/d.v1.out', '')
    write(tmp_path, 'logs/eval/c/e.out', '')
    write(tmp_path, 'results/stray.json', RESULT)
    run = read_run(tmp_path)
    assert tasks_of(run) == [
        ('a', 'd.v1'), ('a', 'late'), ('b', 'd.v1'), ('c', 'e'), ('org/model', 'd.v1'),
    ]  # fmt: skip
    assert run.models == ('a', 'b', 'c', 'org/model')
    assert run.datasets == ('d.v1', 'late', 'e')
    assert [bool(task.failure) for task in run.tasks] == [False, True, True, True, False]
    assert run.task('a', 'd.v1') == run.scored[0]
    assert run.task('a', 'e') is None


def test_parts_of_a_dataset_are_no_datasets(tmp_path: Path) -> None:
    write(tmp_path, 'results/m/demo.json', RESULT)
    for part in ('demo_0', 'demo_1', 'tmp_demo_1', 'alone_0'):
        write(tmp_path, f'predictions/m/{part}.json', {})
    write(tmp_path, 'results/m/demo_7.json', RESULT)
    assert tasks_of(read_run(tmp_path)) == [('m', 'alone_0'), ('m', 'demo'), ('m', 'demo_7')]


def test_expected_tasks_come_first_and_in_their_order(tmp_path: Path) -> None:
    for model in ('a', 'b', 'c'):
        write(tmp_path, f'results/{model}/d.json', RESULT)
    run = read_run(tmp_path, expected=[('c', 'd'), ('z', 'd'), ('a', 'd')])
    assert tasks_of(run) == [('c', 'd'), ('z', 'd'), ('a', 'd'), ('b', 'd')]
    assert [task.model for task in run.failed] == ['z']


def test_config_dumps_are_never_executed(tmp_path: Path) -> None:
    write(tmp_path, 'results/m/d.json', RESULT)
    write(tmp_path, 'configs/x.py', f'open({str(tmp_path / "ran")!r}, "w")')
    read_run(tmp_path)
    assert not (tmp_path / 'ran').exists()


def test_a_task_of_plain_values() -> None:
    task = TaskResult('m', 'd')
    assert (dict(task.numbers), list(task.rows), task.failure) == ({}, [], '')


@pytest.mark.parametrize(
    ('log', 'reason'),
    [
        (TRACEBACK + 'ValueError: no column\n', 'ValueError: no column'),
        (TRACEBACK + 'KeyError: 1\n\nThen:\n\n' + TRACEBACK + 'a.b.MyError: two\nlines\n', 'a.b.MyError: two lines'),
        (TRACEBACK + 'E: x\n07/01 10:00:00 - OpenCompass - INFO - bye\n', 'E: x'),
        (TRACEBACK + 'E: x\r\n[2026-07-01 10:00:00] bye\n', 'E: x'),
        (TRACEBACK + 'E: \x1b[31mred\x1b[0m\x07\n', 'E: red'),
        ('07/01 10:00:00 - OpenCompass - ERROR - no quota\nbye\n', '07/01 10:00:00 - OpenCompass - ERROR - no quota'),
        ('slurmstepd: error: Job 1 CANCELLED\n', 'slurmstepd: error: Job 1 CANCELLED'),
        ('loading\nKilled\n', 'Killed'),
        (TRACEBACK, ''),
        ('all is well\n', ''),
        ('', ''),
    ],
)  # fmt: skip
def test_the_reason_is_the_last_exception_of_the_log(tmp_path: Path, log: str, reason: str) -> None:
    write(tmp_path, 'logs/infer/m/d.out', log)
    found = failure_reason(tmp_path, 'm', 'd')
    assert found == f'infer failed: {reason}' if reason else found.startswith('not answered; no log says why')


def test_the_stage_that_failed_is_the_one_without_its_file(tmp_path: Path) -> None:
    write(tmp_path, 'logs/infer/m/d.out', TRACEBACK + 'OSError: down\n')
    write(tmp_path, 'logs/eval/m/d.out', TRACEBACK + 'FileNotFoundError: no predictions\n')
    assert failure_reason(tmp_path, 'm', 'd') == 'infer failed: OSError: down'
    # Another dataset's predictions, whose name begins alike, are not this one's.
    write(tmp_path, 'predictions/m/d2.json', {})
    write(tmp_path, 'predictions/m/tmp_d.json', {})
    assert failure_reason(tmp_path, 'm', 'd') == 'infer failed: OSError: down'
    write(tmp_path, 'predictions/m/d_0.json', {})
    assert failure_reason(tmp_path, 'm', 'd') == 'eval failed: FileNotFoundError: no predictions'
    assert failure_reason(tmp_path, 'm', 'd2') == (
        'answered, but not scored; no log says why (the run was stopped, is not finished, or wrote to the terminal)'
    )


def test_only_the_end_of_a_log_is_read_and_little_of_it_shown(tmp_path: Path) -> None:
    early = TRACEBACK + 'ValueError: early\n'
    write(tmp_path, 'logs/infer/m/d.out', early + 'x' * MAX_BYTES)
    assert failure_reason(tmp_path, 'm', 'd').startswith('not answered')
    write(tmp_path, 'logs/infer/m/d.out', TRACEBACK + 'ValueError: ' + 'y' * 9_000)
    assert len(failure_reason(tmp_path, 'm', 'd')) < MAX_REASON + 40


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ['f1', 'details', 'settings', 'error', 'details_file', 'samples', 'sample', 'x (2 runs average)']
)
SAMPLES = st.dictionaries(st.sampled_from([*ROW, 'tags']), VALUES, max_size=5)


@given(content=st.dictionaries(KEYS, VALUES | st.lists(SAMPLES, max_size=2), max_size=5))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_is_a_result_or_a_reason(tmp_path: Path, content: dict[str, Any]) -> None:
    write(tmp_path, 'results/m/d.json', content)
    (task,) = read_run(tmp_path).tasks
    assert isinstance(task.failure, str)
    assert all(type(value) is float for value in task.numbers.values())
    assert all({*ROW} - {'f1'} <= row.keys() for row in task.rows)
