"""`-r` after a stopped run: what is half written is made again, whole answers are kept, other options are noticed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.host

MODEL = {'abbr': 'agent', 'type': 'any'}
ANSWERS = {str(i): {'origin_prompt': f'q{i}', 'prediction': f'answer {i} "x"'} for i in range(5)}


@pytest.fixture(scope='module')
def resume() -> SimpleNamespace:
    from opencompass_traj import resume

    return SimpleNamespace(module=resume, Partitioner=resume.ResumingPartitioner)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ('predictions', 'results'):
        (tmp_path / part / 'agent').mkdir(parents=True)
    return tmp_path


def dataset(**options: Any) -> dict[str, Any]:
    from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

    evaluator = {
        'type': TrajectoryPlanningEvaluator, 'metrics': [{'type': 'SequenceSimilarity'}], 'bert_score_model': 'none',
        **options,
    }  # fmt: skip
    return {'abbr': 'tasks', 'eval_cfg': {'evaluator': evaluator}}


def partition(resume: SimpleNamespace, folder: Path, part: str, **options: Any) -> list[Any]:
    partitioner = resume.Partitioner(out_dir=str(folder / part))
    combinations = [{'models': [MODEL], 'datasets': [dataset(**options)]}]
    tasks: list[Any] = partitioner.partition(combinations, work_dir=str(folder), out_dir=str(folder / part))
    return tasks


def result_of(**options: Any) -> str:
    from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

    evaluator = dataset(**options)['eval_cfg']['evaluator']
    settings = TrajectoryPlanningEvaluator(**{key: evaluator[key] for key in evaluator if key != 'type'}).settings()
    return json.dumps({'sequence_similarity': 50.0, 'settings': [settings], 'details': []})


@pytest.fixture
def warnings(resume: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    logger = SimpleNamespace(warning=found.append, info=lambda _: None, debug=lambda _: None)
    monkeypatch.setattr(resume.module, 'get_logger', lambda: logger)
    return found


def stored(folder: Path) -> Path:
    return folder / 'results' / 'agent' / 'tasks.json'


def test_whole_files_are_finished_work(resume: SimpleNamespace, folder: Path, warnings: list[str]) -> None:
    (folder / 'predictions' / 'agent' / 'tasks.json').write_text(json.dumps(ANSWERS))
    assert partition(resume, folder, 'predictions') == []
    assert len(partition(resume, folder, 'results')) == 1
    stored(folder).write_text(json.dumps({'accuracy': 1.0}))
    assert partition(resume, folder, 'results') == []
    assert not warnings


@pytest.mark.parametrize('content', ['', '{', '{"0": {"prediction": "x"', '[]', '\0\0\0'])
@pytest.mark.parametrize('part', ['predictions', 'results'])
def test_a_file_that_is_cut_off_is_kept_aside_and_made_again(
    resume: SimpleNamespace, folder: Path, warnings: list[str], part: str, content: str
) -> None:
    file = folder / part / 'agent' / 'tasks.json'
    for expected in ('tasks.json.broken', 'tasks.json.broken-1'):
        file.write_text(content)
        assert len(partition(resume, folder, part)) == 1
        assert not file.exists()
        assert file.with_name(expected).read_text() == content
        assert warnings.pop().endswith(f'cut off, or no JSON: kept as {expected}, and made again')


@pytest.mark.parametrize('cut', [1, 2, 10, 70])
def test_whole_answers_of_a_stopped_run_are_kept(
    resume: SimpleNamespace, folder: Path, warnings: list[str], cut: int
) -> None:
    lines = [json.dumps({'idx': key, **answer}) + '\n' for key, answer in ANSWERS.items()]
    file = folder / 'predictions' / 'agent' / 'tmp_tasks.jsonl'
    file.write_text(''.join(lines)[:-cut])
    assert len(partition(resume, folder, 'predictions')) == 1
    assert file.read_text() == ''.join(lines[: 4 if cut < 70 else 3])
    assert 'whole answers are kept' in warnings[0]
    assert len(partition(resume, folder, 'predictions')) == 1
    assert len(warnings) == 1


@pytest.mark.parametrize('indent', [None, 4])
def test_answers_of_the_chat_inferencer_are_gone_on_from(
    resume: SimpleNamespace, folder: Path, indent: int | None
) -> None:
    from opencompass.openicl.icl_inferencer.icl_base_inferencer import ChatOutputHandler

    file = folder / 'predictions' / 'agent' / 'tmp_tasks.json'
    text = json.dumps(ANSWERS, indent=indent)
    for cut in range(len(text)):
        file.write_text(text[: len(text) - cut])
        partition(resume, folder, 'predictions')
        restored = ChatOutputHandler().restore_from_jsonl(str(file.parent), 'tmp_tasks.jsonl')
        assert restored == {key: ANSWERS[key] for key in list(ANSWERS)[: len(restored)]}
        # What is cut off is at most the answer that was being written.
        assert len(restored) >= text[: len(text) - cut].count('answer') - 1
        assert not file.exists()
        file.with_suffix('.jsonl').unlink()


def test_old_answers_do_not_come_back_where_the_file_is_deleted(resume: SimpleNamespace, folder: Path) -> None:
    file = folder / 'predictions' / 'agent' / 'tasks.json'
    file.write_text(json.dumps(ANSWERS))
    file.with_name('tmp_tasks.json').write_text(json.dumps(ANSWERS))
    partition(resume, folder, 'results')
    assert not file.with_name('tmp_tasks.json').exists()


def test_results_of_other_options_are_noticed_named_and_made_again(
    resume: SimpleNamespace, folder: Path, warnings: list[str]
) -> None:
    old = result_of(finish_names=['Stop'])
    stored(folder).write_text(old)
    assert len(partition(resume, folder, 'results')) == 1
    assert stored(folder).with_name('tasks.json.outdated').read_text() == old
    assert 'finish_names: ["FinishAction"], before ["Stop"]' in warnings[0]


def test_results_of_the_same_options_are_reused(resume: SimpleNamespace, folder: Path, warnings: list[str]) -> None:
    stored(folder).write_text(result_of(finish_names=('Stop',)))
    assert partition(resume, folder, 'results', finish_names=['Stop']) == []
    assert not warnings


def test_a_second_run_in_a_folder_is_refused(resume: SimpleNamespace, folder: Path) -> None:
    code = (
        'import fcntl, sys\n'
        f'file = open({str(folder / resume.module.LOCK_NAME)!r}, "a+")\n'
        'fcntl.flock(file, fcntl.LOCK_EX); file.write("4711\\n"); file.flush()\n'
        'print("locked", flush=True); sys.stdin.read()'
    )
    with subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b'locked\n'
        with pytest.raises(resume.module.FolderInUseError, match='another run works in this folder \\(process 4711\\)'):
            partition(resume, folder, 'predictions')
        other.kill()
    # A lock goes with its process, however that ends.
    assert len(partition(resume, folder, 'predictions')) == 1
    assert len(partition(resume, folder, 'results')) == 1
