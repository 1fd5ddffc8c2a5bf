"""`-r` after a stopped run: what is half written is made again, whole answers are kept, other options are noticed.

So are golden files and recordings that have changed since.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings as python_warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opencompass_traj.run_inputs import INPUTS_NAME

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
    partitioner = resume.Partitioner(out_dir=str(folder / part), check=False)
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
    for module in (resume.module, sys.modules['opencompass_traj.stopped_answers']):
        monkeypatch.setattr(module, 'get_logger', lambda: logger)
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
    for number in range(2):
        stored(folder).write_text(old)
        stored(folder).with_name('tasks.details.jsonl').write_text('{}')
        assert len(partition(resume, folder, 'results')) == 1
        ending = f'outdated-{number}' if number else 'outdated'
        assert stored(folder).with_name(f'tasks.json.{ending}').read_text() == old
        # The rows go with the numbers that they belong to.
        assert stored(folder).with_name(f'tasks.details.jsonl.{ending}').read_text() == '{}'
        assert not stored(folder).with_name('tasks.details.jsonl').exists()
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


def test_the_lock_is_no_file_object_that_is_left_open(resume: SimpleNamespace, folder: Path) -> None:
    with python_warnings.catch_warnings():
        python_warnings.simplefilter('error')
        partition(resume, folder, 'predictions')
        held = resume.module._locks[folder.resolve()]
        assert isinstance(held, int)
    assert (folder / resume.module.LOCK_NAME).read_text().strip().isdigit()


class Inputs:
    """A run of two agents on two datasets, each with everything that a run can have written."""

    def __init__(self, resume: SimpleNamespace, folder: Path) -> None:
        self.resume = resume
        self.folder = folder / 'run'
        self.data = folder / 'data'
        self.data.mkdir()
        self.datasets: list[dict[str, Any]] = [
            {'abbr': name, 'path': str(self.data / f'{name}.jsonl'), 'type': 'opencompass_traj.TrajectoryDataset'}
            for name in ('one', 'two')
        ]
        self.models: list[dict[str, Any]] = []
        for name in ('a', 'b'):
            paths = [str(self.data / f'{name}-{number}.jsonl') for number in range(2)]
            self.models.append({'abbr': name, 'type': 'RecordedAgent', 'path': paths, 'tasks': ['one', 'two']})
            for path in paths:
                Path(path).write_text('recorded')
        for dataset in self.datasets:
            Path(dataset['path']).write_text('golden')

    def partition(self, part: str) -> int:
        out = str(self.folder / part)
        combinations = [{'models': self.models, 'datasets': self.datasets}]
        partitioner = self.resume.Partitioner(out_dir=out)
        return len(partitioner.partition(combinations, work_dir=str(self.folder), out_dir=out))

    def make(self) -> None:
        """Write what is missing, as a run does behind its partitioners."""
        for model in self.models:
            for dataset in self.datasets:
                for name in (f'predictions/{{}}/{dataset["abbr"]}.json', f'results/{{}}/{dataset["abbr"]}.json'):
                    file = self.folder / name.format(model['abbr'])
                    file.parent.mkdir(parents=True, exist_ok=True)
                    if not file.exists():
                        file.write_text(json.dumps({'0': {'prediction': len(list(self.folder.rglob('*.json*')))}}))

    def aside(self) -> list[str]:
        return sorted(str(file.relative_to(self.folder)) for file in self.folder.rglob('*.outdated*'))


@pytest.fixture
def inputs(resume: SimpleNamespace, tmp_path: Path) -> Inputs:
    run = Inputs(resume, tmp_path)
    assert (run.partition('predictions'), run.partition('results')) == (4, 4)
    run.make()
    return run


def outdated(*pairs: str) -> list[str]:
    return [f'{part}/{pair}.json.outdated' for part in ('predictions', 'results') for pair in pairs]


def test_the_same_inputs_are_finished_work(inputs: Inputs, warnings: list[str]) -> None:
    for part in ('predictions', 'results', 'results'):
        assert inputs.partition(part) == 0
    assert not warnings


@pytest.mark.parametrize('first', ['predictions', 'results'])
def test_of_a_changed_golden_file_all_is_made_again_once(inputs: Inputs, warnings: list[str], first: str) -> None:
    """Whichever partitioner is the first to see it, the other, and the next run, find nothing more."""
    for half in ('tmp_one.json', 'tmp_one.jsonl'):
        (inputs.folder / 'predictions' / 'a' / half).write_text('{"idx": 0}\n')
    golden = inputs.data / 'one.jsonl'
    golden.write_text('golden, with a row more')
    assert inputs.partition(first) == 2
    halves = ['predictions/a/tmp_one.json.outdated', 'predictions/a/tmp_one.jsonl.outdated']
    assert inputs.aside() == sorted([*outdated('a/one', 'b/one'), *halves])
    assert sum(str(golden) in line for line in warnings) == 2
    assert not any('two' in line for line in warnings)
    warnings.clear()
    assert (inputs.partition('predictions'), inputs.partition('results')) == (2, 2)
    inputs.make()
    assert (inputs.partition('predictions'), inputs.partition('results')) == (0, 0)
    assert not warnings


def test_a_changed_recording_is_its_model_s_affair(inputs: Inputs, warnings: list[str]) -> None:
    (inputs.data / 'b-1.jsonl').write_text('recorded anew')
    assert inputs.partition('predictions') == 2
    assert inputs.aside() == outdated('b/one', 'b/two')
    assert 'b-1.jsonl: changed since' in warnings[0]


@pytest.mark.parametrize('made_anew', [False, True])
def test_predictions_that_are_renamed_back_are_kept_and_scored(
    inputs: Inputs, warnings: list[str], made_anew: bool
) -> None:
    """Whether the run that set them aside had made others, and their results, or not."""
    file = inputs.folder / 'predictions' / 'a' / 'one.json'
    old = file.read_text()
    (inputs.data / 'one.jsonl').write_text('golden, with a mended plan')
    inputs.partition('predictions')
    assert any('rename one.json.outdated back to one.json' in line for line in warnings)
    if made_anew:
        inputs.make()
        assert file.read_text() != old
    file.with_name('one.json.outdated').replace(file)
    warnings.clear()
    expected = (0, 1) if made_anew else (1, 2)
    assert (inputs.partition('predictions'), inputs.partition('results')) == expected
    assert file.read_text() == old
    assert len(warnings) == made_anew
    inputs.make()
    assert (inputs.partition('predictions'), inputs.partition('results')) == (0, 0)


def test_a_run_of_one_model_does_not_vouch_for_the_others(inputs: Inputs) -> None:
    models = inputs.models
    (inputs.data / 'one.jsonl').write_text('changed')
    inputs.models = models[:1]
    assert inputs.partition('predictions') == 1
    inputs.make()
    inputs.models = models
    assert inputs.partition('predictions') == 1
    assert inputs.aside() == outdated('a/one', 'b/one')


def test_several_datasets_of_one_file_are_all_made_again(inputs: Inputs) -> None:
    for number, dataset in enumerate(inputs.datasets):
        dataset.update(abbr=f'x-shard-{number}-of-2', path=inputs.datasets[0]['path'], shard=number, shards=2)
    inputs.partition('predictions')
    inputs.make()
    Path(inputs.datasets[0]['path']).write_text('changed')
    assert inputs.partition('results') == 4
    assert inputs.partition('predictions') == 4


def test_a_run_that_is_killed_between_the_steps_finds_the_same_change_again(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inputs.data / 'one.jsonl').write_text('changed')
    rename = Path.rename
    done: list[Path] = []

    def stops_after_two(self: Path, target: Path) -> Path:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(target)
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, 'rename', stops_after_two)
        with pytest.raises(KeyboardInterrupt):
            inputs.partition('predictions')
    assert len(inputs.aside()) == 2
    assert inputs.partition('predictions') == 2
    assert inputs.aside() == outdated('a/one', 'b/one')


@pytest.mark.parametrize('content', [None, '', '{', '[]', '{"made": 3}', '{"made": {"a/one.json": [1]}}'])
def test_an_old_folder_is_taken_as_it_is(inputs: Inputs, warnings: list[str], content: str | None) -> None:
    file = inputs.folder / INPUTS_NAME
    file.unlink()
    if content is not None:
        file.write_text(content)
    (inputs.data / 'one.jsonl').write_text('changed, but before what was it')
    assert inputs.partition('predictions') == 0
    assert not warnings
    (inputs.data / 'one.jsonl').write_text('changed again')
    assert inputs.partition('predictions') == 2


def test_a_file_that_cannot_be_found_says_nothing(inputs: Inputs, warnings: list[str]) -> None:
    golden = inputs.data / 'one.jsonl'
    golden.rename(golden.with_suffix('.away'))
    assert inputs.partition('predictions') == 0
    golden.write_text('golden')
    assert inputs.partition('predictions') == 0
    golden.write_text('changed')
    assert inputs.partition('predictions') == 2
    assert str(golden) in warnings[0]


@pytest.mark.parametrize(('model', 'name'), [('../../x', 'd'), ('m', '../../x'), ('m', '../../../x'), ('/x', 'd')])
@pytest.mark.parametrize('part', ['predictions', 'results'])
def test_no_name_leads_out_of_the_folder(
    resume: SimpleNamespace, tmp_path: Path, part: str, model: str, name: str
) -> None:
    folder = tmp_path / 'run'
    combinations = [{'models': [{'abbr': model, 'type': 'any'}], 'datasets': [{'abbr': name}]}]
    partitioner = resume.Partitioner(out_dir=str(folder / part), check=False)
    with pytest.raises(ValueError, match=r'expected names .* that stay in'):
        partitioner.partition(combinations, work_dir=str(folder), out_dir=str(folder / part))
    assert not list(tmp_path.iterdir())


def test_names_with_folders_in_them_stay(resume: SimpleNamespace, tmp_path: Path) -> None:
    combinations = [{'models': [{'abbr': 'org/agent', 'type': 'any'}], 'datasets': [{'abbr': 'a..b'}]}]
    out = str(tmp_path / 'predictions')
    assert len(resume.Partitioner(out_dir=out).partition(combinations, work_dir=str(tmp_path), out_dir=out)) == 1
