"""Details in a file beside the result: written whole or not at all, read again, and none of the host's numbers lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencompass_traj.details import DetailsFile, read_details
from opencompass_traj.report.results import ResultFileError, read_result
from opencompass_traj.scoring import Comparison, Metric, Scorer, UnreadReferences
from tests.scale.corpora import Where, corpus, symbolic

ROOT = Path(__file__).parents[2]
MOUNT = ('/usr/bin/mount', '-t', 'tmpfs', '-o', 'size=64k', 'none')


# ---------------------------------------------------------------- the file


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / 'model' / 'demo.details.jsonl'
    rows = [{'sample': '测试', 'text': 'a\nb\u2028c'}, {'sample': 2}]
    with DetailsFile(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + '\n')
        assert not path.exists()
    assert list(read_details(path)) == rows
    assert [found.name for found in path.parent.iterdir()] == ['demo.details.jsonl']


def stop_after(write: Callable[[str], None], text: str) -> None:
    write(text)
    raise RuntimeError('in the middle')


def test_what_is_not_finished_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / 'demo.details.jsonl'
    path.write_text('{"sample": "former"}\n', encoding='utf-8')
    file = DetailsFile(path)
    with pytest.raises(RuntimeError, match='in the middle'), file:
        stop_after(file.write, '{"sample": "new"}\n')
    assert list(read_details(path)) == [{'sample': 'former'}]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ValueError, match='within its context'):
        file.write('{}\n')


def test_a_kill_leaves_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / 'demo.details.jsonl'
    path.write_text('{"sample": "former"}\n', encoding='utf-8')
    script = (
        'import os, signal, sys\nfrom pathlib import Path\nfrom opencompass_traj.details import DetailsFile\n'
        'with DetailsFile(Path(sys.argv[1])) as file:\n'
        '    file.write(\'{"sample": "new"}\\n\' * 100_000)\n    os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    killed = subprocess.run([sys.executable, '-c', script, str(path)], check=False, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    assert list(read_details(path)) == [{'sample': 'former'}]


@pytest.mark.skipif(os.geteuid() != 0, reason='a small file system can be made by root alone')
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    small = tmp_path / 'small'
    small.mkdir()
    if subprocess.run([*MOUNT, str(small)], check=False).returncode:
        pytest.skip('no file system can be mounted here')
    try:
        path = small / 'demo.details.jsonl'
        with pytest.raises(OSError, match='No space left'), DetailsFile(path) as file:
            file.write('x' * 1_000_000)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(['/usr/bin/umount', str(small)], check=True)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('{"a": 1}\n{"a": \n', 'line 2: expected JSON'),
        ('[1]\n', 'line 1: expected an object, got list'),
        ('[' * 100_000 + '\n', 'line 1: expected JSON'),
    ],
)
def test_lines_that_are_no_rows_are_named(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / 'demo.details.jsonl'
    path.write_text(text, encoding='utf-8')
    with pytest.raises(ValueError, match=f'demo.details.jsonl: {expected}'):
        list(read_details(path))


class Odd(Metric):
    """Puts what JSON does not know into its rows, a lone surrogate among it."""

    counts = ('one',)

    def score(self, comparison: Comparison) -> dict[str, Any]:
        return {
            'one': 1.0,
            'array': np.arange(2),
            'number': np.float32(0.5),
            'set': {1},
            'range': range(2),
            'text': '\ud83d',
        }


def test_rows_of_other_values_are_written_as_the_host_writes_them(tmp_path: Path) -> None:
    predictions, references = corpus(3)
    with DetailsFile(tmp_path / 'demo.details.jsonl') as file:
        Scorer([Odd()]).score(predictions, UnreadReferences(references), write=file.write)
    for row in read_details(file.path):
        picked = {key: row[key] for key in ('array', 'number', 'set', 'range', 'text')}
        assert picked == {'array': [0, 1], 'number': 0.5, 'set': [1], 'range': [0, 1], 'text': '?'}


def test_a_value_that_json_cannot_hold_is_named() -> None:
    class Unwritable(Where):
        def score(self, comparison: Comparison) -> dict[str, Any]:
            return {'one': 1.0, 'what': object()}

    predictions, references = corpus(1)
    with pytest.raises(TypeError, match=r'expected a value that JSON can hold in a row of details, got <object'):
        Scorer([Unwritable()]).score(predictions, UnreadReferences(references), write=lambda _: None)


# ---------------------------------------------------------------- memory


def test_memory_does_not_grow_with_the_samples() -> None:
    """A row takes kilobytes; of one that is written hardly anything is kept."""
    predictions, references = corpus(60)

    def peak(times: int) -> int:
        given, golden = predictions * times, UnreadReferences(references * times)
        tracemalloc.start()
        try:
            Scorer(symbolic()[:2]).score(given, golden, write=lambda _: None)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(1), peak(6)
    assert many - few < 300 * 1_000


# ---------------------------------------------------------------- the reader of results


def written(folder: Path, lines: str, **named: Any) -> Path:
    (folder / 'demo.details.jsonl').write_text(lines, encoding='utf-8')
    file = folder / 'demo.json'
    entry = {'name': 'demo.details.jsonl', 'rows': 4, 'replicas': 2, **named}
    content = {'trajectory_score': 25.0, 'samples': [{'all': 4}], 'details_file': entry, 'details': []}
    file.write_text(json.dumps(content), encoding='utf-8')
    return file


def test_a_result_is_read_with_its_file(tmp_path: Path) -> None:
    found = read_result(
        written(tmp_path, ''.join(f'{{"sample": "q{i % 2}", "trajectory_score": 0.25}}\n' for i in range(4)))
    )
    assert [(row['sample'], row['replica']) for row in found.rows] == [('q0', 0), ('q1', 0), ('q0', 1), ('q1', 1)]
    assert found.counts == {'all': 4}


@pytest.mark.parametrize(
    ('lines', 'named', 'expected'),
    [
        ('{}\n' * 3, {}, 'cannot be read: 3 rows, and the result says 4'),
        ('{}\n{', {}, 'line 2: expected JSON'),
        ('{}\n' * 4, {'name': 'none.jsonl'}, 'none.jsonl cannot be read'),
        ('{}\n' * 4, {'name': '../demo.details.jsonl'}, 'to name a file beside the result'),
        ('{}\n' * 4, {'name': '/etc/passwd'}, 'to name a file beside the result'),
        ('{}\n' * 4, {'name': None}, 'to name a file beside the result'),
        ('{}\n' * 4, {'rows': '4'}, 'to name a file beside the result'),
    ],
)
def test_a_file_that_is_not_whole_is_named(tmp_path: Path, lines: str, named: Any, expected: str) -> None:
    with pytest.raises(ResultFileError, match=expected):
        read_result(written(tmp_path, lines, **named))


# ---------------------------------------------------------------- as OpenCompass calls it


class Correct(Metric):
    """What G-Pass@k counts."""

    rates = ('right',)

    def score(self, comparison: Comparison) -> dict[str, Any]:
        right = comparison.failure is None and int(comparison.reference.name[1:]) % 2 == 0
        return {'right': float(right), 'correct': right}


def evaluated(build: Callable[..., Any], out: Path | None, *, n: int = 1, k: int = 1, **options: Any) -> Any:
    from datasets import Dataset

    predictions, references = corpus(30)
    predictions[3] = 'no plan'
    rows = [{'subdivision': 'demo_test', 'idx': i % 30, 'ground_truth': references[i % 30]} for i in range(30 * n)]
    evaluator = build(metrics=[*symbolic(), Correct()], **options)
    if out is not None:
        evaluator._out_dir = str(out / 'demo')
    return evaluator.evaluate(
        k, n, Dataset.from_list(rows), predictions=predictions * n, references=[row['ground_truth'] for row in rows]
    )


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=float))


@pytest.mark.host
@pytest.mark.parametrize(('n', 'k'), [(1, 1), (3, 2)])
def test_a_result_with_a_file_is_the_result_without(build: Callable[..., Any], tmp_path: Path, n: int, k: int) -> None:
    inside = evaluated(build, tmp_path / 'inside', n=n, k=k, max_inline_details=30 * n)
    beside = evaluated(build, tmp_path / 'beside', n=n, k=k, max_inline_details=30 * n - 1)
    assert beside['details_file'] == {'name': 'demo.details.jsonl', 'rows': 30 * n, 'replicas': n}
    assert not (tmp_path / 'inside').exists()
    left = {key: value for key, value in beside.items() if key not in {'details', 'details_file'}}
    assert plain(left) == plain({key: value for key, value in inside.items() if key != 'details'})
    assert ('G-Pass@2_1.0' in left) == (n > 1)
    for name, result in (('inside', inside), ('beside', beside)):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / 'demo.json').write_text(json.dumps(plain(result)), encoding='utf-8')
    one, other = (read_result(tmp_path / name / 'demo.json') for name in ('inside', 'beside'))
    assert one.numbers == other.numbers
    assert one.counts == other.counts
    by_place = [sorted(found.rows, key=lambda row: (row['replica'], int(row['sample'][1:]))) for found in (one, other)]
    for row in by_place[0]:
        row.pop('example_abbr', None)
    assert by_place[0] == by_place[1]


@pytest.mark.host
@pytest.mark.parametrize('options', [{'max_inline_details': None}, {'max_inline_details': 30}, {}])
def test_few_rows_stay_in_the_result(build: Callable[..., Any], tmp_path: Path, options: Any) -> None:
    result = evaluated(build, tmp_path / 'out', **options)
    assert len(result['details']) == 30
    assert 'details_file' not in result
    assert not (tmp_path / 'out').exists()


@pytest.mark.host
def test_without_a_place_rows_stay_in_the_result(build: Callable[..., Any]) -> None:
    assert len(evaluated(build, None, max_inline_details=0)['details']) == 30


@pytest.mark.host
def test_a_failed_evaluation_leaves_no_file(build: Callable[..., Any], tmp_path: Path) -> None:
    evaluator = build(metrics=symbolic(), max_inline_details=0)
    evaluator._out_dir = str(tmp_path / 'demo')
    with pytest.raises(ValueError, match='must have the same length'):
        evaluator.evaluate(1, 1, [1, 2], predictions=['x'], references=[])
    assert list(tmp_path.iterdir()) == []
    assert evaluator._details_file is None


@pytest.mark.host
def test_unreadable_samples_are_named_as_ever(
    build: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opencompass_traj import evaluator_io

    said: list[str] = []
    monkeypatch.setattr(evaluator_io.get_logger(), 'warning', said.append)
    for most in (30, 29):
        evaluated(build, tmp_path, max_inline_details=most)
    assert said[0] == said[1]
    assert 'of 30 samples cannot be read, and score 0' in said[0]


@pytest.mark.host
@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ({'workers': -1}, 'expected `workers` to be a whole number of at least 0, got -1'),
        ({'max_inline_details': -1}, 'expected `max_inline_details` of at least 0 or None, got -1'),
    ],
)
def test_wrong_options_are_refused(build: Callable[..., Any], options: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        build(**options)


@pytest.mark.host
def test_what_changes_no_number_is_no_setting(build: Callable[..., Any]) -> None:
    assert build(workers=3, max_inline_details=5).settings() == build().settings()
