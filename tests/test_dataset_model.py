"""The dataset and the recorded agent as OpenCompass builds and calls them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.host

DEMO = 'package:opencompass_traj/data/demo/tasks.jsonl'
STEPS = [
    {'id': 0, 'prev': [], 'name': 'search', 'args': {'q': 'x'}},
    {'id': 1, 'prev': [0], 'name': 'book', 'args': {}},
]


@pytest.fixture(scope='module')
def parts() -> SimpleNamespace:
    from opencompass.registry import LOAD_DATASET, MODELS
    from opencompass.utils.prompt import PromptList

    from opencompass_traj import dataset, model

    return SimpleNamespace(
        LOAD_DATASET=LOAD_DATASET,
        MODELS=MODELS,
        PromptList=PromptList,
        TrajectoryDataset=dataset.TrajectoryDataset,
        RecordedAgent=model.RecordedAgent,
    )


def write(folder: Path, name: str, rows: Any) -> str:
    (folder / name).write_text(json.dumps(rows, ensure_ascii=False), encoding='utf-8')
    return str(folder / name)


def golden(folder: Path, *keys: str, name: str = 'golden.json') -> str:
    return write(folder, name, [{'id': key, 'query': f'do {key}', 'ground_truth': STEPS} for key in keys])


# ---------------------------------------------------------------- the dataset


def test_columns_and_json_text(parts: SimpleNamespace, tmp_path: Path) -> None:
    rows = [
        {'id': 'one', 'query': 'q', 'ground_truth': [{'id': 0, 'name': 'a', 'args': {'x': 1}}]},
        {'id': 'two', 'query': '订票', 'ground_truth': [{'id': 0, 'name': 'b', 'args': {'x': 'text', 'y': [None]}}]},
    ]
    loaded = parts.TrajectoryDataset.load(write(tmp_path, 'golden.json', rows))
    assert set(loaded) == {'test', 'train'}
    assert loaded['test'].column_names == ['id', 'prompt', 'ground_truth']
    # As text, because Arrow would mix the arguments' keys and types.
    assert [json.loads(row['ground_truth']) for row in loaded['test']] == rows
    assert loaded['test'][1]['prompt'][-1]['role'] == 'assistant'
    assert json.loads(loaded['test'][1]['prompt'][-1]['content']) == rows[1]['ground_truth']
    assert [message['role'] for message in loaded['test'][0]['prompt']] == ['system', 'user', 'assistant']


def test_an_option_that_there_is_not_is_refused(parts: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match='instuction'):
        parts.TrajectoryDataset.load(golden(tmp_path, 'one'), instuction='Tools: {tools}')


def test_it_is_registered_and_built_as_opencompass_builds_it(parts: SimpleNamespace, tmp_path: Path) -> None:
    built = parts.LOAD_DATASET.build(
        {
            'type': 'TrajectoryDataset',
            'abbr': 'mine',
            'path': golden(tmp_path, 'one', 'two'),
            'instruction': 'Tools: {tools}',
            'reader_cfg': {'input_columns': ['prompt'], 'output_column': 'ground_truth'},
            'k': 1,
            'n': 2,
        }
    )
    assert len(built.test) == 4
    assert {'subdivision', 'idx', 'id', 'prompt', 'ground_truth'} <= set(built.test.column_names)
    assert built.test[0]['prompt'][0]['content'] == 'Tools: - book\n- search'


def test_the_demo_is_loaded(parts: SimpleNamespace) -> None:
    loaded = parts.TrajectoryDataset.load(DEMO)['test']
    assert len(loaded) == 30
    assert len(set(loaded['id'])) == 30


def test_an_unsound_file_is_refused(parts: SimpleNamespace, tmp_path: Path) -> None:
    path = write(tmp_path, 'golden.json', [{'id': 'q', 'ground_truth': [{'id': 3, 'name': 'a', 'prev': [3]}]}])
    with pytest.raises(ValueError, match=r"golden.json.*\n.*sample 'q': step 3: depends on itself"):
        parts.TrajectoryDataset.load(path)
    with pytest.raises(FileNotFoundError, match=r'none.json'):
        parts.TrajectoryDataset.load(str(tmp_path / 'none.json'))


def test_texts_that_utf8_cannot_hold_are_loaded(parts: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / 'golden.json'
    steps = [{'id': 0, 'name': 'a', 'args': {'x': '\ud83d'}}]
    path.write_text(json.dumps([{'id': 'q', 'query': 'lone \ud83d', 'ground_truth': steps}]), encoding='utf-8')
    assert len(parts.TrajectoryDataset.load(str(path))['test']) == 1


# ---------------------------------------------------------------- the recorded agent


def test_chats_prompt_lists_and_texts_are_answered(parts: SimpleNamespace, tmp_path: Path) -> None:
    recording = write(tmp_path, 'rec.json', {'one': 'first', 'two': STEPS})
    agent = parts.RecordedAgent(recording, golden(tmp_path, 'one', 'two'))
    chat = [{'role': 'system', 'content': 's'}, {'role': 'user', 'content': 'do one'}]
    prompts = parts.PromptList([{'role': 'SYSTEM', 'prompt': 's'}, {'role': 'HUMAN', 'prompt': 'do two'}])
    plain = parts.PromptList(['do two'])

    answers = agent.generate_from_template([chat, prompts, 'do one', plain], max_out_len=7)

    assert answers == ['first', json.dumps(STEPS), 'first', json.dumps(STEPS)]
    assert agent.generate(['do two', 'do one'], 5, stopping_criteria=[]) == [json.dumps(STEPS), 'first']
    assert agent.get_token_len('three short words') == 3


def test_it_is_registered(parts: SimpleNamespace, tmp_path: Path) -> None:
    agent = parts.MODELS.build(
        {'type': 'RecordedAgent', 'path': write(tmp_path, 'r.json', {'one': 'x'}), 'tasks': golden(tmp_path, 'one')}
    )
    assert isinstance(agent, parts.RecordedAgent)
    assert agent.generate(['do one']) == ['x']


def test_a_long_answer_is_not_cut(parts: SimpleNamespace, tmp_path: Path) -> None:
    text = 'word ' * 50_000
    agent = parts.RecordedAgent(write(tmp_path, 'r.json', {'one': text}), golden(tmp_path, 'one'), max_seq_len=10)
    assert agent.generate(['do one'], max_out_len=1) == [text]


def test_missing_samples_are_reported(parts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, tasks = write(tmp_path, 'r.json', {'one': 'x'}), golden(tmp_path, 'one', 'two', 'three')
    with pytest.raises(ValueError, match=r"r.json: no recorded answer for 2 samples: 'two', 'three'"):
        parts.RecordedAgent(recording, tasks)

    logged = warnings_of(monkeypatch)
    agent = parts.RecordedAgent(recording, tasks, missing='unreadable')
    assert len(logged) == 1
    assert "no recorded answer for 2 samples: 'two', 'three'" in logged[0]
    assert agent.generate(['do one', 'do three']) == ['x', '']


def test_unknown_samples_are_reported(parts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, tasks = write(tmp_path, 'r.json', {'one': 'x', 'two': 'y'}), golden(tmp_path, 'one')
    with pytest.raises(ValueError, match=r"r.json: recorded answers to no task: 1 samples: 'two'"):
        parts.RecordedAgent(recording, tasks)

    logged = warnings_of(monkeypatch)
    parts.RecordedAgent(recording, tasks, extra='ignore')
    assert len(logged) == 1
    assert "'two'" in logged[0]


def warnings_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from opencompass_traj import model

    logged: list[str] = []
    logger = logging.getLogger('tests.recorded')
    monkeypatch.setattr(logger, 'warning', logged.append)
    monkeypatch.setattr(model, 'get_logger', lambda: logger)
    return logged


def test_doubled_samples_are_reported(parts: SimpleNamespace, tmp_path: Path) -> None:
    rows = [{'id': 'one', 'prediction': 'x'}, {'id': 'one', 'prediction': 'y'}]
    with pytest.raises(ValueError, match=r"r.json.*\n.*sample 'one': 2 rows have this id"):
        parts.RecordedAgent(write(tmp_path, 'r.json', rows), golden(tmp_path, 'one'))


def test_a_prompt_of_no_task_is_refused(parts: SimpleNamespace, tmp_path: Path) -> None:
    agent = parts.RecordedAgent(write(tmp_path, 'r.json', {'one': 'x'}), golden(tmp_path, 'one'))
    with pytest.raises(ValueError, match=r"r.json: no task of `tasks` is asked by 'do something else'"):
        agent.generate(['do something else'])


@pytest.mark.parametrize(('argument', 'known'), [('missing', 'error, unreadable'), ('extra', 'error, ignore')])
def test_wrong_options_are_refused(parts: SimpleNamespace, tmp_path: Path, argument: str, known: str) -> None:
    recording, tasks = write(tmp_path, 'r.json', {'one': 'x'}), golden(tmp_path, 'one')
    with pytest.raises(ValueError, match=f"expected `{argument}` to be one of {known}, got 'skip'"):
        parts.RecordedAgent(recording, tasks, **{argument: 'skip'})


def test_queries_that_occur_twice_are_told_apart(parts: SimpleNamespace, tmp_path: Path) -> None:
    tasks = write(tmp_path, 'g.json', [{'id': key, 'query': 'same', 'ground_truth': STEPS} for key in ('one', 'two')])
    agent = parts.RecordedAgent(write(tmp_path, 'r.json', {'one': 'x', 'two': 'y'}), tasks)
    samples = parts.TrajectoryDataset.load(tasks)['test']
    assert agent.generate([row['prompt'][:-1] for row in samples]) == ['x', 'y']


def test_equal_chats_with_other_answers_are_refused(parts: SimpleNamespace, tmp_path: Path) -> None:
    chat = [{'role': 'user', 'content': 'same'}]
    rows = [{'id': key, 'origin_prompt': chat, 'ground_truth': STEPS} for key in ('one', 'two')]
    tasks = write(tmp_path, 'g.json', rows)
    with pytest.raises(ValueError, match="sample 'two' has the prompt of another sample"):
        parts.RecordedAgent(write(tmp_path, 'r.json', {'one': 'x', 'two': 'y'}), tasks)
    agent = parts.RecordedAgent(write(tmp_path, 'r2.json', {'one': 'x', 'two': 'x'}), tasks)
    assert agent.generate(['same']) == ['x']


def test_several_golden_files_have_a_recording_each(parts: SimpleNamespace, tmp_path: Path) -> None:
    tasks = [golden(tmp_path, 'one', name='a.json'), golden(tmp_path, 'two', name='b.json')]
    recordings = [write(tmp_path, 'ra.json', {'one': 'x'}), write(tmp_path, 'rb.json', {'two': 'y'})]
    agent = parts.RecordedAgent(recordings, tasks)
    assert agent.generate(['do two', 'do one']) == ['y', 'x']
    with pytest.raises(ValueError, match='expected a recording for each golden file, got 1 and 2'):
        parts.RecordedAgent(recordings[0], tasks)


@pytest.mark.parametrize('name', ['exact', 'reordered', 'planner', 'roundabout', 'careless', 'looping'])
def test_the_demos_agents_answer_every_prompt_of_the_demo(parts: SimpleNamespace, name: str) -> None:
    agent = parts.RecordedAgent(f'package:opencompass_traj/data/demo/agents/{name}.jsonl', DEMO)
    samples = parts.TrajectoryDataset.load(DEMO)['test']
    answers = agent.generate_from_template([row['prompt'][:-1] for row in samples])
    assert len(answers) == 30
    assert all(isinstance(answer, str) for answer in answers)
