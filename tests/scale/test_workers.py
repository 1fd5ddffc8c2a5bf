"""Worker processes: the same results bit for bit and in order, whatever becomes of a worker."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.embedding import TextVectors
from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.scoring import Metric, Reading, Scorer, UnreadReferences, check_workers, streaming, workers
from opencompass_traj.scoring.workers import Workers
from tests.conftest import HashedEncoder
from tests.scale.corpora import Killer, Unsendable, Where, Wrong, corpus, everything, symbolic

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small_corpora_use_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, 'WORKERS_FROM_SAMPLES', 2)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are there when the first sample is scored; otherwise this process may be done before."""
    enter = Workers.__enter__

    def wait(self: Workers[Any]) -> Workers[Any]:
        enter(self)
        until = time.monotonic() + 60
        while self._executor is None and time.monotonic() < until:
            time.sleep(0.01)
        return self

    monkeypatch.setattr(Workers, '__enter__', wait)


def scored(metrics: list[Metric], size: int, *, workers: int, **options: Any) -> Any:
    predictions, references = corpus(size)
    scorer = Scorer(metrics, vectors=lambda: TextVectors(HashedEncoder()), **options)
    return scorer.score(predictions, UnreadReferences(references), workers=workers)


# ---------------------------------------------------------------- the same result


@pytest.mark.usefixtures('started')
@pytest.mark.parametrize('metrics', [symbolic, everything])
def test_the_result_is_the_same_bit_for_bit_and_in_order(metrics: Any) -> None:
    alone, by_two = (scored(metrics(), 260, workers=count) for count in (1, 2))
    assert json.dumps(by_two.details) == json.dumps(alone.details)
    assert by_two.means == alone.means
    assert by_two.counts == alone.counts == {**alone.counts, 'all': 260}
    assert {row['parse_status'] for row in alone.details} == {'read', 'recovered', 'unreadable'}


@pytest.mark.usefixtures('started')
def test_workers_do_the_work_and_keep_the_order() -> None:
    found = scored([Where()], 300, workers=2)
    assert {row['process'] for row in found.details}.isdisjoint({os.getpid()})
    assert [row['sample'] for row in found.details] == [f'q{number}' for number in range(300)]


def test_until_the_workers_are_there_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, '_start', lambda self: None)
    found = scored([Where()], 60, workers=2)
    assert {row['process'] for row in found.details} == {os.getpid()}


@pytest.mark.usefixtures('started')
def test_lines_are_the_rows() -> None:
    predictions, references = corpus(120)
    lines: list[str] = []
    scorer = Scorer(everything(), vectors=lambda: TextVectors(HashedEncoder()))
    streamed = scorer.score(predictions, UnreadReferences(references), workers=2, write=lines.append)
    whole = scored(everything(), 120, workers=1)
    assert [json.loads(line) for line in ''.join(lines).splitlines()] == json.loads(json.dumps(whole.details))
    assert streamed.means == whole.means
    reasons = {row['sample']: row['parse_reason'] for row in whole.details if row['parse_reason']}
    assert {row['sample']: row['parse_reason'] for row in streamed.details if row} == reasons != {}
    assert len(streamed.details) == 120


@pytest.mark.usefixtures('started')
def test_progress_moves_on_to_the_last_sample() -> None:
    seen: list[int] = []

    def progress(samples: Any, total: int) -> Iterator[int]:
        for sample in samples:
            seen.append(sample)
            yield sample

    scored([Where()], 130, workers=2, progress=progress)
    assert seen == list(range(130))


# ---------------------------------------------------------------- when one process has to do


@pytest.mark.parametrize(
    ('metrics', 'options', 'reason'),
    [
        ([Where()], {}, 'take less time'),
        (
            symbolic(),
            {
                'reading': Reading(
                    rules=argument_rules({'tools': {'*': {'city': 'semantic'}}}, similar=lambda _a, _b: 0.5)
                )
            },
            'the argument rules ask the text encoder',
        ),
    ],
)
def test_one_process_says_why(
    metrics: list[Metric], options: Any, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not options:
        monkeypatch.setattr(streaming, 'WORKERS_FROM_SAMPLES', 41)
    monkeypatch.setattr(Workers, '__enter__', lambda _self: pytest.fail('a worker was started'))
    with caplog.at_level(logging.INFO, streaming.__name__):
        assert scored(metrics, 40, workers=2, **options).counts['all'] == 40
    assert reason in caplog.text


def in_daemon(results: Any) -> None:
    streaming.WORKERS_FROM_SAMPLES = 2
    found = scored([Where()], 40, workers=2)
    results.put([os.getpid(), sorted({row['process'] for row in found.details})])


def test_a_daemonic_process_scores_alone() -> None:
    """OpenCompass may run a task in a `multiprocessing.Pool`, whose workers may not have children."""
    context = multiprocessing.get_context('spawn')
    results = context.Queue()
    process = context.Process(target=in_daemon, args=(results,), daemon=True)
    process.start()
    own, seen = results.get(timeout=60)
    process.join(30)
    assert seen == [own]


def test_what_cannot_be_sent_is_scored_here(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    # The start runs in this thread, so that its end is waited for.
    monkeypatch.setattr(Workers, '_start', Workers._open)
    found = scored([Unsendable()], 60, workers=2)
    assert {row['process'] for row in found.details} == {os.getpid()}
    assert 'no worker process can be started' in caplog.text


# ---------------------------------------------------------------- workers that die


@pytest.mark.usefixtures('started')
def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    killer = Killer('q70', os.getpid(), str(tmp_path / 'killed'))
    found = scored([killer], 800, workers=2)
    assert (tmp_path / 'killed').exists()
    assert [row['sample'] for row in found.details] == [f'q{number}' for number in range(800)]
    assert found.means == {'one': 1.0}
    assert caplog.text.count('a worker process died') == 1
    assert 'others are started' in caplog.text


@pytest.mark.usefixtures('started')
def test_a_sample_that_kills_every_worker_is_scored_here(caplog: pytest.LogCaptureFixture) -> None:
    found = scored([Killer('q10', os.getpid())], 120, workers=2)
    rows = {row['sample']: row for row in found.details}
    assert len(rows) == 120
    assert rows['q10']['process'] == os.getpid()
    assert 'a worker process died' in caplog.text


def test_workers_are_not_replaced_for_ever(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(workers, 'MAX_RESTARTS', 1)
    monkeypatch.setattr(Workers, '_start', Workers._open)
    monkeypatch.setattr(streaming, 'CHUNK_SAMPLES', 2)
    monkeypatch.setattr('opencompass_traj.scoring.workers.AHEAD', 0)
    predictions, references = corpus(80)
    killers: list[Metric] = [Killer('q1', os.getpid())]
    again = [references[1]] * 80
    found = Scorer(killers).score(predictions, UnreadReferences(again), workers=2)
    assert found.counts == {'all': 80}
    assert {row['process'] for row in found.details} == {os.getpid()}
    assert caplog.text.count('a worker process died') == 2
    assert 'the rest is scored in this process' in caplog.text


@pytest.mark.usefixtures('started')
def test_an_error_of_a_metric_is_raised_as_without_workers() -> None:
    with pytest.raises(TypeError, match=r"Wrong must give a finite float for 'one', got nan"):
        scored([Wrong('q50')], 200, workers=2)


@pytest.mark.usefixtures('started')
def test_all_unsound_golden_plans_are_named() -> None:
    predictions, references = corpus(200)
    for number in (7, 150, 199):
        references[number] = json.dumps({'id': f'bad{number}', 'ground_truth': [{'id': 0, 'prev': [0], 'name': 'A'}]})
    expected = r"(?s)3 of 200 golden plans cannot be used:.*'bad7'.*'bad150'.*'bad199'"
    for count in (1, 2):
        with pytest.raises(ValueError, match=expected):
            Scorer([Where()]).score(predictions, UnreadReferences(references), workers=count)


ENDLESS = """
import sys, time
from opencompass_traj.scoring import workers
from tests.scale.test_workers import process_of, sleep_long

if __name__ == '__main__':
    with workers.Workers(None, 2) as pool:
        while pool._executor is None:
            time.sleep(0.01)
        print(*pool.map(process_of, [0, 0]), flush=True)
        list(pool.map(sleep_long, range(4)))
"""


def sleep_long(_state: object, _item: object) -> None:
    time.sleep(600)


def process_of(_state: object, _item: object) -> int:
    time.sleep(0.2)
    return os.getpid()


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / 'endless.py'
    script.write_text(ENDLESS, encoding='utf-8')
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
    )
    try:
        assert parent.stdout is not None
        children = {int(number) for number in parent.stdout.readline().split()}
        assert children
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.communicate(timeout=30)
    until = time.monotonic() + 30
    while any(alive(child) for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(alive(child) for child in children)


def alive(process: int) -> bool:
    try:
        # Field 3 of its status: a zombie has ended.
        return Path(f'/proc/{process}/stat').read_text(encoding='utf-8').rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


# ---------------------------------------------------------------- how many


@pytest.mark.parametrize(('given', 'expected'), [(1, 1), (3, 3), (0, len(os.sched_getaffinity(0)))])
def test_how_many_workers_are_meant(given: int, expected: int) -> None:
    assert check_workers(given) == expected


@pytest.mark.parametrize('given', [-1, 1.5, '2', True, None])
def test_wrong_numbers_of_workers_are_refused(given: Any) -> None:
    with pytest.raises(ValueError, match='expected `workers` to be a whole number of at least 0'):
        check_workers(given)
