"""Golden plans and evaluators' options are checked before the first answer is asked for, and by `validate CONFIG`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.command_line import main
from opencompass_traj.exit_codes import FAULTS_FOUND, GOOD, WRONG_CALL

pytestmark = pytest.mark.host

MODEL = {'abbr': 'agent', 'type': 'any'}
SOUND = [{'id': f'q{i}', 'query': f'q{i}', 'ground_truth': [{'name': 'find', 'args': {'id': 'a+'}}]} for i in range(5)]
BY_PATTERN = {'tools': {'*': {'id': 'regex'}}}


def golden(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    path = folder / f'{name}.jsonl'
    path.write_text('\n'.join(map(json.dumps, rows)))
    return str(path)


def patterned(pattern: object, *, at: int = 3) -> list[dict[str, Any]]:
    """Sound plans, but for one pattern."""
    changed = {**SOUND[at], 'ground_truth': [{'name': 'find', 'args': {'id': pattern}}]}
    return [*SOUND[:at], changed, *SOUND[at + 1 :]]


def dataset(path: str, abbr: str = 'tasks', *, options: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    from opencompass_traj.dataset import TrajectoryDataset
    from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

    evaluator = {'type': TrajectoryPlanningEvaluator, 'bert_score_model': 'none', **(options or {})}
    reader = {'input_columns': ['prompt'], 'output_column': 'ground_truth', 'train_split': 'test'}
    return {
        'type': TrajectoryDataset, 'abbr': abbr, 'path': path, 'reader_cfg': reader, 'infer_cfg': {},
        'eval_cfg': {'evaluator': evaluator}, **more,
    }  # fmt: skip


def partition(folder: Path, datasets: list[dict[str, Any]], part: str = 'predictions', **options: Any) -> list[Any]:
    from opencompass_traj.resume import ResumingPartitioner

    out = str(folder / part)
    combinations = [{'models': [MODEL], 'datasets': datasets}]
    tasks: list[Any] = ResumingPartitioner(out_dir=out, **options).partition(combinations, str(folder), out)
    return tasks


def refused(folder: Path, *datasets: dict[str, Any]) -> list[str]:
    """The lines of the refusal, without the first and the last."""
    with pytest.raises(ValueError, match='so no answer is asked for') as error:
        partition(folder, list(datasets))
    return str(error.value).splitlines()[1:-1]


def test_sound_golden_plans_are_asked(tmp_path: Path) -> None:
    path = golden(tmp_path, 'golden', SOUND)
    assert len(partition(tmp_path, [dataset(path, options={'argument_rules': BY_PATTERN})])) == 1


def test_all_that_is_unsound_in_any_dataset_is_named_before_the_first_answer(tmp_path: Path) -> None:
    cyclic = [{**SOUND[0], 'ground_truth': [{'id': 0, 'name': 'find', 'prev': [0]}]}, {'id': 'lost'}]
    found = refused(
        tmp_path,
        dataset(golden(tmp_path, 'sound', SOUND), 'sound'),
        dataset(golden(tmp_path, 'cyclic', cyclic), 'cyclic'),
        dataset(golden(tmp_path, 'pattern', patterned('(')), 'pattern', options={'argument_rules': BY_PATTERN}),
        dataset(str(tmp_path / 'absent.jsonl'), 'absent'),
    )
    text = '\n'.join(found)
    assert 'sound:' not in found
    assert [line for line in found if not line.startswith(' ')] == ['cyclic:', 'pattern:', 'absent:']
    assert "line 1, sample 'q0': step 0: depends on itself" in text
    assert "line 2, sample 'lost': expected " in text
    assert "sample 'q3': step 0: argument id: expected a pattern of RE2's syntax, got '('" in text
    assert 'absent.jsonl' in text
    assert not (tmp_path / 'predictions').exists()


def test_a_wrong_option_is_named_before_the_first_answer(tmp_path: Path) -> None:
    path = golden(tmp_path, 'golden', SOUND)
    found = refused(tmp_path, dataset(path, options={'match_threshold': 7}))
    assert 'match_threshold' in '\n'.join(found)
    found = refused(tmp_path, dataset(path, options={'metrics': [{'type': 'SequenceSimilarty'}]}))
    assert "no metric is called 'SequenceSimilarty'" in '\n'.join(found)
    found = refused(tmp_path, dataset(path, options={'thershold': 0.5}))
    assert 'thershold' in '\n'.join(found)


def test_what_is_not_strict_is_not_refused(tmp_path: Path) -> None:
    options = {'argument_rules': BY_PATTERN, 'strict_golden': False}
    assert partition(tmp_path, [dataset(golden(tmp_path, 'golden', patterned('(')), options=options)])


def test_a_shard_s_fault_is_named_once_for_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from opencompass_traj import dataset as module

    path = golden(tmp_path, 'golden', patterned('(', at=4))
    reads: list[str] = []
    read = module.read_tasks
    monkeypatch.setattr(module, 'read_tasks', lambda path, **options: reads.append(path) or read(path, **options))
    shards = [
        dataset(path, f'tasks-shard-{i}-of-5', options={'argument_rules': BY_PATTERN}, shard=i, shards=5)
        for i in range(5)
    ]
    found = refused(tmp_path, *shards)
    assert found[0] == 'tasks:'
    assert sum("sample 'q4'" in line for line in found) == 1
    assert reads == [path]


def test_the_same_plans_under_other_options_are_looked_at_again(tmp_path: Path) -> None:
    path = golden(tmp_path, 'golden', patterned(7))
    found = refused(tmp_path, dataset(path, 'plain'), dataset(path, 'rules', options={'argument_rules': BY_PATTERN}))
    assert found[0] == 'rules:'


def test_only_what_is_still_to_be_asked_is_looked_at(tmp_path: Path) -> None:
    unsound = dataset(golden(tmp_path, 'golden', [{'id': 'q'}]))
    for part in ('predictions', 'results'):
        (tmp_path / part / 'agent').mkdir(parents=True)
    # The evaluation reads the golden plans itself.
    assert len(partition(tmp_path, [unsound], 'results')) == 1
    (tmp_path / 'predictions' / 'agent' / 'tasks.json').write_text('{"0": {"prediction": "x"}}')
    assert partition(tmp_path, [unsound]) == []


def test_it_can_be_left_to_the_tasks(tmp_path: Path) -> None:
    assert len(partition(tmp_path, [dataset(golden(tmp_path, 'golden', [{'id': 'q'}]))], check=False)) == 1


def test_datasets_of_other_evaluators_are_not_built(tmp_path: Path) -> None:
    from opencompass.openicl.icl_evaluator import AccEvaluator

    other = {'type': 'no.such.Dataset', 'abbr': 'other', 'eval_cfg': {'evaluator': {'type': AccEvaluator}}}
    handed_on = dataset('no such file', 'review', options={'subset': 'review'})
    nothing = {'type': 'no.such.Dataset', 'abbr': 'unscored'}
    assert len(partition(tmp_path, [other, handed_on, nothing])) == 3


def test_references_that_a_postprocessor_makes_are_left_to_it(tmp_path: Path) -> None:
    config = dataset(golden(tmp_path, 'golden', patterned('(')), options={'argument_rules': BY_PATTERN})
    config['eval_cfg']['dataset_postprocessor'] = {'type': 'any'}
    assert len(partition(tmp_path, [config])) == 1


def test_hostile_golden_text_is_shown_as_escapes(tmp_path: Path) -> None:
    path = golden(tmp_path, 'golden', [{'id': '\x1b[31mq\u202e', 'ground_truth': [{'name': ''}]}])
    assert not {'\x1b', '\u202e'} & set('\n'.join(refused(tmp_path, dataset(path))))


# ---------------------------------------------------------------- validate CONFIG

CONFIG = """
from opencompass_traj.dataset import TrajectoryDataset
from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

datasets = [
    dict(
        type=TrajectoryDataset,
        abbr='tasks',
        path={path!r},
        reader_cfg=dict(input_columns=['prompt'], output_column='ground_truth', train_split='test'),
        infer_cfg=dict(),
        eval_cfg=dict(evaluator=dict(type=TrajectoryPlanningEvaluator, argument_rules={rules!r})),
    )
]
"""


def config(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / 'eval_mine.py'
    path.write_text(CONFIG.format(path=golden(folder, 'golden', rows), rules=BY_PATTERN))
    return str(path)


def test_validate_checks_a_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path, SOUND)
    assert main(['validate', path]) == GOOD
    assert capsys.readouterr().out == f'{path}: tasks: 5 sound samples, no fault\n'


def test_validate_names_what_only_the_options_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path, patterned('(?=a)'))
    assert main(['validate', path, str(tmp_path / 'golden.jsonl'), '--json']) == FAULTS_FOUND
    found = json.loads(capsys.readouterr().out)
    of_config, of_file = found['files']
    assert of_config['file'] == f'{path}: tasks'
    assert any("'(?=a)': invalid perl operator" in fault['problem'] for fault in of_config['faults'])
    # Without the options it is any text.
    assert of_file['faults'] == []


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('datasets = []', 'scores, got none'),
        ('models = []', 'scores, got none'),
        ('datasets = [', 'the config cannot be run'),
        ('datasets = 1 / 0', 'the config cannot be run'),
        ('raise LookupError', 'the config cannot be run'),
    ],
)
def test_a_config_that_says_nothing_is_a_wrong_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    path = tmp_path / 'eval_mine.py'
    path.write_text(text)
    assert main(['validate', str(path)]) == WRONG_CALL
    assert expected in capsys.readouterr().err


def test_a_config_that_is_not_there_is_a_wrong_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['validate', str(tmp_path / 'absent.py')]) == WRONG_CALL
    assert 'absent.py' in capsys.readouterr().err


def test_recordings_answer_files_and_no_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path, SOUND)
    assert main(['validate', path, '--recordings', path]) == WRONG_CALL
    assert 'expected a golden file beside --recordings' in capsys.readouterr().err
