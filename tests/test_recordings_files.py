"""Files of recorded runs: other people's keys, folders, recorded golden runs, and what does not pair up."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opencompass_traj.files import as_text, listed, read_rows, resolve_path
from opencompass_traj.parsing.trajectories import read_trajectory
from opencompass_traj.plan import RunRecord, Trajectory
from opencompass_traj.recordings import pairing_problems, read_recording
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    EffectMatch,
    Efficiency,
    GraphSimilarity,
    Metric,
    Outcome,
    PartialOrderSimilarity,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)
from opencompass_traj.tasks import read_tasks
from tests.data import shared_data
from tests.parsing.recordings import RUN, WRITERS

STEPS = [{'id': 0, 'name': 'search', 'args': {'q': 'x'}}, {'id': 1, 'name': 'book', 'args': {}}]


def write(folder: Path, name: str, content: Any) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    path.write_text(text, encoding='utf-8')
    return str(path)


def lines(*rows: Any) -> str:
    return '\n'.join(json.dumps(row, ensure_ascii=False) for row in rows)


def chat(*turns: list[Any], **record: Any) -> dict[str, Any]:
    """A run as OpenAI chat messages: turns of calls `name` or `(name, args, failed)`."""
    messages: list[dict[str, Any]] = [{'role': 'user', 'content': 'Go.'}]
    for turn, given in enumerate(turns):
        named = [(call, {}, False) if isinstance(call, str) else call for call in given]
        calls = [
            {'id': f'c{turn}_{i}', 'type': 'function', 'function': {'name': name, 'arguments': json.dumps(args)}}
            for i, (name, args, _) in enumerate(named)
        ]
        messages.append({'role': 'assistant', 'content': None, 'tool_calls': calls})
        messages += [
            {'role': 'tool', 'tool_call_id': f'c{turn}_{i}', 'content': 'Error: refused' if failed else 'done'}
            for i, (_, _, failed) in enumerate(named)
        ]
    return {'messages': messages, **record}


def tasks_of(folder: Path, golden: Any, **more: Any) -> list[Any]:
    return read_tasks(write(folder, 'golden.json', [{'id': 'q', 'query': 'do', 'ground_truth': golden, **more}]))


def everything() -> list[Metric]:
    return [
        SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(), TrajectoryScore(),
        ArgumentMatch(), EffectMatch(), Efficiency(), Outcome(),
    ]  # fmt: skip


def scored(prediction: Any, folder: Path, golden: Any, **more: Any) -> dict[str, Any]:
    (task,) = tasks_of(folder, golden, **more)
    return Scorer(everything()).score([prediction], read_references([task.record])).details[0]


# ---------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ('row', 'fields', 'expected'),
    [
        ({'task': 7, 'answer': 'x'}, {'id': 'task', 'prediction': 'answer'}, ('7', 'x')),
        ({'t': 3, 'trial': 1, 'p': 'x'}, {'id': ['t', 'trial'], 'prediction': 'p'}, ('3-1', 'x')),
        ({'data': {'key': 'k', 'out': {'text': 'x'}}}, {'id': 'data.key', 'prediction': 'data.out.text'}, ('k', 'x')),
        ({'a.b': 'k', 'a': {'b': 'other'}, 'p': 'x'}, {'id': 'a.b', 'prediction': 'p'}, ('k', 'x')),
        ({'init output': 'x'}, {'id': None, 'prediction': 'init output'}, ('0', 'x')),
        ({'id': 'old', 'new': 'k', 'prediction': 'x'}, {'id': 'new'}, ('k', 'x')),
        ({'id': 'k', 'prediction': 'x'}, {}, ('k', 'x')),
        ({'id': 0, 'n': 0, 'prediction': ''}, {'id': ['id', 'n']}, ('0-0', '')),
        ({'id': 'k', 'p': 0}, {'prediction': 'p'}, ('k', '0')),
        ({'id': 'k', 'p': False}, {'prediction': 'p'}, ('k', 'false')),
        ({'id': 'k', 'p': []}, {'prediction': 'p'}, ('k', '[]')),
        ({'编号': 'k', '回答': {'文': 'x'}}, {'id': '编号', 'prediction': '回答.文'}, ('k', 'x')),
    ],
)
def test_fields_say_where_the_values_are(
    tmp_path: Path, row: dict[str, Any], fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    for name, content in (('a.jsonl', lines(row)), ('a.json', [row])):
        assert read_recording(write(tmp_path, name, content), fields=fields) == dict([expected])


@pytest.mark.parametrize(
    ('rows', 'fields', 'expected'),
    [
        ([{'a': 1}], {'id': 'b', 'prediction': 'a'}, "line 1: expected a value at 'b'"),
        ([{'a': 1}], {'id': 'a', 'prediction': 'x.y'}, "line 1: expected a value at 'x.y'"),
        ([{'a': 1}], {'id': ['a', 'b'], 'prediction': 'a'}, "line 1: expected a value at 'b'"),
        ([{'a': {'b': 3}}], {'id': 'a.b.c', 'prediction': 'a'}, "line 1: expected a value at 'a.b.c'"),
        ([{'a': None}], {'id': 'a', 'prediction': 'a'}, "line 1: expected a value at 'a'"),
        ([{'a': 1, 'p': 'x'}, {'a': '1', 'p': 'y'}], {'id': 'a', 'prediction': 'p'}, "sample '1': 2 rows have this id"),
        ([{'a': 1, 'p': 'x'}, {'p': 'y'}], {'id': 'a', 'prediction': 'p'}, "line 2: expected a value at 'a'"),
    ],
)
def test_fields_that_a_row_lacks_are_named(
    tmp_path: Path, rows: list[Any], fields: dict[str, Any], expected: str
) -> None:
    path = write(tmp_path, 'a.jsonl', lines(*rows))
    with pytest.raises(ValueError, match='the recording is unsound') as caught:
        read_recording(path, fields=fields)
    assert expected in str(caught.value)
    assert path in str(caught.value)


def test_all_rows_that_lack_a_field_are_named_up_to_a_limit(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', lines(*({'x': number} for number in range(60))))
    with pytest.raises(ValueError, match='… and 10 more') as caught:
        read_recording(path, fields={'id': 'y'})
    assert len(str(caught.value).splitlines()) == 52


def test_fields_of_a_golden_file(tmp_path: Path) -> None:
    rows = [
        {'n': 1, 'trial': 0, 'ask': {'text': 'book it'}, 'gold': [{'name': 'book', 'kwargs': {'x': 1}}]},
        {'n': 1, 'trial': 1, 'ask': {'text': 'book it'}, 'gold': [{'name': 'book', 'kwargs': {'x': 1}}]},
    ]
    fields = {'id': ['n', 'trial'], 'query': 'ask.text', 'ground_truth': 'gold'}
    first, second = read_tasks(write(tmp_path, 'g.jsonl', lines(*rows)), fields=fields)
    assert (first.id, second.id) == ('1-0', '1-1')
    assert (first.prompt, second.prompt) == ('book it [1-0]', 'book it [1-1]')
    assert first.record['ground_truth'] == [{'id': 0, 'name': 'book', 'args': {'x': 1}}]
    assert (first.record['id'], first.record['n']) == ('1-0', 1)


def test_rows_are_given_with_their_ids_and_are_not_changed(tmp_path: Path) -> None:
    path = Path(write(tmp_path, 'a.json', {'k': {'x': 1}, 'l': 'text'}))
    assert read_rows(path, scalar='prediction') == [('k', {'x': 1}), ('l', {'prediction': 'text'})]
    with pytest.raises(ValueError, match="sample 'l': expected an object, got str"):
        read_rows(path)
    assert listed('title', ['a', 'b']) == 'title:\n  a\n  b'


# ---------------------------------------------------------------- folders


def folder_of_runs(folder: Path) -> str:
    write(folder, 'runs/one.json', chat(['search'], ['book'], reward=1))
    write(folder, 'runs/two.json', chat(['book'])['messages'])
    write(folder, 'runs/more.jsonl', lines({'id': 'three', 'prediction': 'book()'}, {'id': 4, **chat(['search'])}))
    write(folder, 'runs/notes.txt', 'nothing to do with it')
    write(folder, 'runs/deep/five.json', chat(['book']))
    return str(folder / 'runs')


def test_a_folder_holds_a_run_in_each_file(tmp_path: Path) -> None:
    recorded = read_recording(folder_of_runs(tmp_path))
    assert list(recorded) == ['three', '4', 'one', 'two']
    names = {key: read(text).plan.names for key, text in recorded.items()}
    assert names == {'one': ('search', 'book'), 'two': ('book',), 'three': ('book',), '4': ('search',)}
    assert read(recorded['one']).record == RunRecord(solved=True)
    assert {key: read(text).format for key, text in recorded.items()} == {
        'one': 'openai', 'two': 'openai', 'three': 'calls', '4': 'openai',
    }  # fmt: skip


def read(text: str) -> Trajectory:
    found = read_trajectory(text)
    assert isinstance(found, Trajectory), found
    return found


@pytest.mark.parametrize('name', WRITERS)
def test_a_folder_takes_every_recorded_format(tmp_path: Path, name: str) -> None:
    run = WRITERS[name](RUN)
    write(tmp_path, f'{name}/q.json', run)
    assert read(read_recording(str(tmp_path / name))['q']) == read(json.dumps(run))


@pytest.mark.parametrize('name', WRITERS)
def test_a_row_that_is_itself_a_run_is_the_prediction(tmp_path: Path, name: str) -> None:
    run = WRITERS[name](RUN)
    for file, content in (('a.jsonl', lines({'id': 'q', **run})), ('a.json', {'q': run})):
        found = read(read_recording(write(tmp_path, file, content))['q'])
        assert (found.format, found.plan) == (name, read(json.dumps(run)).plan)


def test_a_files_name_goes_before_an_id_in_it(tmp_path: Path) -> None:
    write(tmp_path, 'runs/q1.json', chat(['book'], id='run-8c1'))
    assert list(read_recording(str(tmp_path / 'runs'))) == ['q1']
    write(tmp_path, 'runs/q2.json', chat(['book'], task={'key': 'k'}))
    write(tmp_path, 'runs/q1.json', chat(['book'], task={'key': 'l'}))
    assert list(read_recording(str(tmp_path / 'runs'), fields={'id': 'task.key'})) == ['l', 'k']


@pytest.mark.parametrize(
    ('files', 'expected'),
    [
        ({}, 'expected at least one sample, got none'),
        ({'a.txt': 'x'}, 'expected at least one sample, got none'),
        ({'a.json': '{'}, 'a.json: expected JSON'),
        ({'a.json': {'x': 1}}, "sample 'a': expected a `prediction`"),
        ({'a.jsonl': '{"id": "b", "prediction": "x"}\n{'}, 'a.jsonl: line 2: expected JSON'),
        ({'a.jsonl': '{"prediction": "x"}'}, 'a.jsonl: line 1: expected an `id`'),
        ({'a.json': {'prediction': 'x'}, 'b.jsonl': '{"id": "a", "prediction": "y"}'}, "'a': 2 rows have this id"),
    ],
)  # fmt: skip
def test_faults_in_a_folder_name_the_file(tmp_path: Path, files: dict[str, Any], expected: str) -> None:
    (tmp_path / 'runs').mkdir()
    for name, content in files.items():
        write(tmp_path, f'runs/{name}', content)
    with pytest.raises(ValueError, match='runs') as caught:
        read_recording(str(tmp_path / 'runs'))
    assert expected in str(caught.value)


def test_a_folder_is_taken_only_where_one_is_meant(tmp_path: Path) -> None:
    path = folder_of_runs(tmp_path)
    assert resolve_path(path, folders=True) == Path(path)
    with pytest.raises(FileNotFoundError, match='no file'):
        read_tasks(path)
    with pytest.raises(FileNotFoundError, match='no file'):
        read_recording(str(tmp_path / 'absent'))


# ---------------------------------------------------------------- golden runs in recorded formats


@pytest.mark.parametrize('name', WRITERS)
def test_a_recorded_golden_run_becomes_a_plan(tmp_path: Path, name: str) -> None:
    for golden in (WRITERS[name](RUN), json.dumps(WRITERS[name](RUN))):
        (task,) = tasks_of(tmp_path, golden)
        steps = task.record['ground_truth']
        assert [step['name'] for step in steps] == ['search', 'weather', 'book', 'book']
        assert [step['args'] for step in steps] == [
            {'city': 'Lyon'}, {'city': 'Lyon', 'days': [1, 2]}, {'id': 7}, {'id': 7},
        ]  # fmt: skip
        assert not any('prev' in step for step in steps)
        turns = [step['turn'] for step in steps]
        assert turns[0] == turns[1] < turns[2] < turns[3]
        json.dumps(task.record)


@pytest.mark.parametrize('name', WRITERS)
@pytest.mark.parametrize('other', ['openai', 'otel', 'anthropic'])
def test_a_run_against_itself_in_any_format_is_1(tmp_path: Path, name: str, other: str) -> None:
    row = scored(WRITERS[name](RUN), tmp_path, WRITERS[other](RUN))
    for key in (
        'sequence_similarity', 'partial_order_similarity', 'dag_similarity', 'causal_fidelity', 'trajectory_score',
        'args_exact_rate', 'step_ratio',
    ):  # fmt: skip
        assert row[key] == 1, key
    assert row['redundant_steps'] == row['missing_steps'] == 0


def test_a_run_against_itself_changed_what_it_changed(tmp_path: Path) -> None:
    """The first try was refused: the golden run changed one thing, not two."""
    run = chat([('cancel', {'id': 1}, True)], [('cancel', {'id': 1}, False)])
    row = scored(run, tmp_path, run)
    assert (row['effect_exact_rate'], row['effect_f1']) == (1, 1)
    straight = scored(chat([('cancel', {'id': 1}, False)]), tmp_path, run)
    assert straight['effect_exact_rate'] == 1


def test_parallel_golden_calls_have_no_order(tmp_path: Path) -> None:
    golden = chat(['A', 'B'], ['C'])
    for run in (golden, chat(['B', 'A'], ['C']), chat(['B'], ['A'], ['C']), chat(['A'], ['B'], ['C'])):
        row = scored(run, tmp_path, golden)
        for key in ('sequence_similarity', 'partial_order_similarity', 'dag_similarity', 'causal_fidelity'):
            assert row[key] == 1, (key, run)


def test_what_a_golden_run_took_is_the_budget(tmp_path: Path) -> None:
    golden = chat(['A'], ['B'], tokens=200, latency=4.0, cost=0.5, reward=1)
    (task,) = tasks_of(tmp_path, golden)
    assert task.record['golden_figures'] == [{'tokens': 200, 'latency': 4, 'cost': 0.5}]
    run = chat(['A'], ['B'], ['B'], tokens=300, latency=2.0, cost=0.5)
    row = scored(run, tmp_path, golden)
    assert [row[key] for key in ('step_ratio', 'token_ratio', 'latency_ratio', 'cost_ratio')] == [1.5, 1.5, 0.5, 1]


def test_a_stated_budget_goes_before_what_the_golden_run_took(tmp_path: Path) -> None:
    golden = chat(['A'], ['B'], tokens=200, latency=4.0)
    run = chat(['A'], tokens=300, latency=2.0)
    row = scored(run, tmp_path, golden, budget={'tokens': 600})
    assert row['token_ratio'] == 0.5
    assert row['latency_ratio'] == 0.5
    row = scored(run, tmp_path, golden, budget={'steps': 4})
    assert (row['step_ratio'], row['token_ratio']) == (0.25, 1.5)


def test_figures_of_nothing_are_no_budget(tmp_path: Path) -> None:
    (task,) = tasks_of(tmp_path, chat(['A'], tokens=0))
    assert 'budget' not in task.record
    assert scored(chat(['A'], tokens=5), tmp_path, chat(['A'], tokens=0))['token_ratio'] is None


def test_several_golden_runs_may_be_recorded_each_in_a_format_of_its_own(tmp_path: Path) -> None:
    several = [WRITERS['anthropic'](RUN), [{'tool': 'book', 'param': {'id': 7}}], STEPS, 'search(q="x")\nbook()']
    path = write(tmp_path, 'g.json', [{'id': 'q', 'query': 'do', 'ground_truths': several}])
    (task,) = read_tasks(path)
    names = [[step['name'] for step in plan] for plan in task.record['ground_truths']]
    assert names == [['search', 'weather', 'book', 'book'], ['book'], ['search', 'book'], ['search', 'book']]
    assert task.record['ground_truth'] == task.record['ground_truths'][0]
    for prediction, index in ((chat([('book', {'id': 7}, False)]), 1), (STEPS, 2), (WRITERS['google'](RUN), 0)):
        row = Scorer(everything()).score([as_text(prediction)], read_references([task.record])).details[0]
        assert (row['golden_index'], row['trajectory_score']) == (index, 1)


def test_each_of_several_golden_runs_has_its_own_figures(tmp_path: Path) -> None:
    several = [chat(['A'], tokens=100), chat(['B'], tokens=400)]
    path = write(tmp_path, 'g.json', [{'id': 'q', 'query': 'do', 'ground_truths': several}])
    (task,) = read_tasks(path)
    runs = [chat([name], tokens=200) for name in 'AB']
    found = Scorer(everything()).score(runs, read_references([task.record] * 2))
    assert [row['golden_index'] for row in found.details] == [0, 1]
    assert [row['token_ratio'] for row in found.details] == [2, 0.5]


@pytest.mark.parametrize(
    ('golden', 'expected'),
    [
        (3, "sample 'q': expected a list of steps, got int"),
        ('I cannot help.', "sample 'q': expected the JSON text of a list of steps"),
        ([{'tool': 'A'}, {'tool': ''}], "sample 'q': step 0: expected a name"),
        ({'messages': [{'role': 'assistant', 'tool_calls': [{'function': {'arguments': '{}'}}]}]}, "sample 'q': "),
    ],
)
def test_a_golden_run_that_cannot_be_read_whole_is_refused(tmp_path: Path, golden: Any, expected: str) -> None:
    with pytest.raises(ValueError, match='the golden file is unsound') as caught:
        tasks_of(tmp_path, golden)
    assert expected in str(caught.value)
    with pytest.raises(ValueError, match='the golden file is unsound') as caught:
        read_tasks(write(tmp_path, 'h.json', [{'id': 'q', 'ground_truths': [STEPS, golden]}]))
    assert "sample 'q': golden plan 1: " in str(caught.value)


@pytest.mark.parametrize('several', [[], 'x', {'a': STEPS}, 3])
def test_ground_truths_that_are_no_list_of_plans_are_refused(tmp_path: Path, several: Any) -> None:
    with pytest.raises(ValueError, match="sample 'q': ") as caught:
        read_tasks(write(tmp_path, 'g.json', [{'id': 'q', 'ground_truths': several}]))
    assert 'g.json' in str(caught.value)


@pytest.mark.parametrize(
    ('more', 'expected'),
    [
        ({'budget': {'steps': 0}}, '`budget.steps`'),
        ({'budget': 'cheap'}, '`budget`'),
        ({'forbidden': 'x'}, '`forbidden`'),
        ({'effects': 'x'}, '`effects`'),
        ({'lookups': [3]}, '`lookups`'),
    ],
)
def test_options_of_a_golden_row_are_checked_when_the_file_is_read(
    tmp_path: Path, more: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValueError, match=r'golden\.json') as caught:
        tasks_of(tmp_path, STEPS, **more)
    assert "sample 'q'" in str(caught.value)
    assert expected in str(caught.value)


def test_optional_steps_stay_optional_in_the_record(tmp_path: Path) -> None:
    golden = [{'name': 'A'}, {'name': 'B', 'optional': True}, {'name': 'C'}]
    (task,) = tasks_of(tmp_path, golden)
    assert [step.get('optional') for step in task.record['ground_truth']] == [None, True, None]
    assert scored(chat(['A'], ['C']), tmp_path, golden)['sequence_similarity'] == 1


# ---------------------------------------------------------------- through the host


@pytest.fixture(scope='module')
def parts() -> SimpleNamespace:
    pytest.importorskip('opencompass')
    from opencompass_traj import dataset, model

    return SimpleNamespace(module=model, Dataset=dataset.TrajectoryDataset, Agent=model.RecordedAgent)


GOLDEN_FIELDS = {'id': ['task_id', 'trial'], 'query': 'instruction', 'ground_truth': 'gold'}
RUN_FIELDS = {'id': ['task_id', 'trial']}


def bench(folder: Path, *keys: int, extra: tuple[int, ...] = ()) -> tuple[str, str]:
    """A golden file and recorded chats in one, as tau-bench has them."""
    rows = [
        {'task_id': key, 'trial': 0, 'instruction': f'do {key}', 'gold': [{'name': 'book', 'kwargs': {'id': key}}]}
        for key in keys
    ]
    runs = [{'task_id': key, 'trial': 0, **chat([('book', {'id': key}, False)], reward=1)} for key in (*keys, *extra)]
    return write(folder, 'golden.jsonl', lines(*rows)), write(folder, 'runs.jsonl', lines(*runs))


@pytest.mark.host
def test_dataset_agent_and_evaluator_with_fields(parts: SimpleNamespace, build: Any, tmp_path: Path) -> None:
    golden, runs = bench(tmp_path, 3, 5, 8)
    samples = parts.Dataset.load(golden, fields=GOLDEN_FIELDS)['test']
    assert samples['id'][:] == ['3-0', '5-0', '8-0']
    agent = parts.Agent(runs, golden, fields=RUN_FIELDS, task_fields=GOLDEN_FIELDS)
    answers = agent.generate_from_template([row['prompt'][:-1] for row in samples])
    result = build().score(answers, samples['ground_truth'][:])
    assert [row['sample'] for row in result['details']] == ['3-0', '5-0', '8-0']
    assert {row['format'] for row in result['details']} == {'openai'}
    for key in ('trajectory_score', 'f1_score', 'parse_rate', 'args_exact_rate', 'effect_exact_rate', 'solved_rate'):
        assert result[key] == 100, key
    assert result['outcome_known_rate'] == 100


@pytest.mark.host
def test_a_folder_of_runs_is_an_agent(parts: SimpleNamespace, build: Any, tmp_path: Path) -> None:
    for key in ('one', 'two'):
        write(tmp_path, f'runs/{key}.json', chat(['search'], ['book'], reward=int(key == 'one'), id='framework-id'))
    golden = write(
        tmp_path, 'golden.json',
        [{'id': key, 'query': f'do {key}', 'ground_truth': chat(['search'], ['book'])} for key in ('one', 'two')],
    )  # fmt: skip
    samples = parts.Dataset.load(golden)['test']
    agent = parts.Agent(str(tmp_path / 'runs'), golden)
    result = build().score(agent.generate(['do one', 'do two']), samples['ground_truth'][:])
    assert (result['trajectory_score'], result['solved_rate']) == (100, 50)


@pytest.mark.host
def test_ids_that_do_not_pair_up_are_named(
    parts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden, runs = bench(tmp_path, 1, 2, extra=(7, 9))
    options = {'fields': RUN_FIELDS, 'task_fields': GOLDEN_FIELDS}
    with pytest.raises(ValueError, match=r"runs.jsonl: recorded answers to no task: 2 samples: '7-0', '9-0'"):
        parts.Agent(runs, golden, **options)
    other_golden, _ = bench(tmp_path / 'other', 1, 2, 4)
    with pytest.raises(ValueError, match=r"runs.jsonl: no recorded answer for 1 samples: '4-0'"):
        parts.Agent(runs, other_golden, **options)
    with pytest.raises(ValueError, match=r'golden.jsonl.*\n.*line 1: expected an `id`'):
        parts.Agent(runs, golden, fields=RUN_FIELDS)
    with pytest.raises(ValueError, match=r'runs.jsonl.*\n.*line 1: expected an `id`'):
        parts.Agent(runs, golden, task_fields=GOLDEN_FIELDS)

    logged: list[str] = []
    logger = logging.getLogger('tests.pairing')
    monkeypatch.setattr(logger, 'warning', logged.append)
    monkeypatch.setattr(parts.module, 'get_logger', lambda: logger)
    agent = parts.Agent(runs, other_golden, missing='unreadable', extra='ignore', **options)
    assert [agent.generate([f'do {key}']) != [''] for key in (1, 2, 4)] == [True, True, False]
    assert len(logged) == 2


@pytest.mark.parametrize(
    ('recorded', 'tasks', 'expected'),
    [
        (['1-0', '2-0'], ['1-0', '2-0'], ([], [])),
        (['1', '2'], ['1-0', '2-0'], (['1-0', '2-0'], ['1', '2'])),
        (['A'], ['a'], (['a'], ['A'])),
        (['01'], ['1'], (['1'], ['01'])),
    ],
)
def test_ids_are_compared_as_they_are_written(recorded: list[str], tasks: list[str], expected: Any) -> None:
    assert pairing_problems(recorded, tasks) == expected


@pytest.mark.host
def test_tau_bench_goes_through_the_host_whole(parts: SimpleNamespace, build: Any) -> None:
    path = str(shared_data('tau_bench/gpt_4o_airline.jsonl'))
    fields = {'id': ['task_id', 'trial'], 'query': 'instruction', 'ground_truth': 'gold_actions'}
    samples = parts.Dataset.load(path, fields=fields)['test']
    agent = parts.Agent(path, path, fields=RUN_FIELDS, task_fields=fields)
    answers = agent.generate_from_template([row['prompt'][:-1] for row in samples])
    result = build().score(answers, samples['ground_truth'][:])
    assert len(result['details']) == 100
    assert {row['parse_status'] for row in result['details']} == {'read'}
    assert (result['solved_rate'], result['outcome_known_rate'], result['recovered_rate']) == (49, 100, 0)
    # The 3 tasks without golden steps, 4 trials each, are what T-Eval calls unparsed.
    assert result['parse_rate'] == sum(row['n_ref'] > 0 for row in result['details'] if row['n_pred'])
    json.dumps(result, allow_nan=False)
