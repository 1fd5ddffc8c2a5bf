"""The configs for recorded runs, and the demo runs that they compare."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj import scoring
from opencompass_traj.parsing.sealed import golden_key, unseal
from opencompass_traj.parsing.trajectories import read_trajectory
from opencompass_traj.plan import Trajectory
from opencompass_traj.recordings import pairing_problems, read_recording
from opencompass_traj.tasks import Task, read_tasks
from tests.data import shared_data

REPOSITORY = Path(__file__).resolve().parents[1]
RECORDED = 'package:opencompass_traj/data/demo/recorded/'
AGENTS = {'direct': f'{RECORDED}direct.jsonl', 'detour': f'{RECORDED}detour'}
METRICS = (
    'Recovery', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity', 'CausalFidelity', 'TrajectoryScore',
    'ArgumentMatch', 'EffectMatch', 'LoopDetection', 'ForbiddenTools', 'Efficiency', 'Outcome',
)  # fmt: skip


@pytest.fixture(scope='module')
def tasks() -> list[Task]:
    return read_tasks(f'{RECORDED}tasks.jsonl')


@pytest.fixture(scope='module')
def runs(tasks: list[Task]) -> dict[str, dict[str, Trajectory]]:
    found: dict[str, dict[str, Trajectory]] = {}
    for agent, path in AGENTS.items():
        found[agent] = {}
        keys = {task.id: golden_key(task.record) for task in tasks}
        for key, text in read_recording(path, tasks=tasks).items():
            run = read_trajectory(unseal(text, partial(keys.get, key, '')).prediction)
            assert isinstance(run, Trajectory), (agent, key, run)
            found[agent][key] = run
    return found


@pytest.fixture(scope='module')
def scores(tasks: list[Task]) -> dict[str, scoring.CorpusScore]:
    golden = scoring.read_references([task.record for task in tasks])
    scorer = scoring.Scorer([getattr(scoring, name)() for name in METRICS])
    found = {}
    for agent, path in AGENTS.items():
        answers = read_recording(path, tasks=tasks)
        found[agent] = scorer.score([answers[task.id] for task in tasks], golden)
    return found


# ---------------------------------------------------------------- the demo runs


def test_the_tasks_show_what_a_golden_file_can_say(tasks: list[Task]) -> None:
    records = {task.id: task.record for task in tasks}
    assert list(records) == ['balance', 'parcel', 'invoice', 'room', 'ticket', 'weather', 'expense', 'meeting']
    assert all(set(record['budget']) == {'steps', 'tokens', 'latency'} for record in records.values())
    assert [key for key, record in records.items() if 'ground_truths' in record] == ['invoice']
    assert [key for key, record in records.items() if record.get('forbidden')] == ['ticket']
    optional = [key for key, record in records.items() if any(step.get('optional') for step in record['ground_truth'])]
    assert optional == ['room']


def test_both_agents_answer_every_task(tasks: list[Task]) -> None:
    for path in AGENTS.values():
        assert pairing_problems(list(read_recording(path)), [task.id for task in tasks]) == ([], [])


def test_every_run_is_read_whole_with_all_its_figures(runs: dict[str, dict[str, Trajectory]]) -> None:
    for run in (run for agent in runs.values() for run in agent.values()):
        assert (run.format, run.dropped, run.recovered) == ('openai', (), False)
        assert run.record.solved is not None
        assert run.record.tokens
        assert run.record.latency
        assert all(step.failed is not None for step in run.plan.steps)


def test_the_direct_agent_asks_three_things_at_once(runs: dict[str, dict[str, Trajectory]]) -> None:
    assert [step.turn for step in runs['direct']['weather'].plan.steps] == [0, 0, 0, 1]
    assert [step.turn for step in runs['detour']['weather'].plan.steps] == [0, 1, 2, 3]


def test_the_detours_are_of_the_stated_kinds(scores: dict[str, scoring.CorpusScore]) -> None:
    rows = {row['sample']: row for row in scores['detour'].details}
    assert [key for key, row in rows.items() if row['forbidden_hits']] == ['ticket']
    assert [key for key, row in rows.items() if row['loop_rate']] == ['meeting']
    assert [key for key, row in rows.items() if row['retried_steps']] == ['expense']
    assert [key for key, row in rows.items() if not row['degraded_rate']] == ['weather']
    assert [key for key, row in rows.items() if not row['solved_rate']] == ['meeting']


def test_the_direct_agent_takes_one_of_the_right_ways_everywhere(scores: dict[str, scoring.CorpusScore]) -> None:
    rows = {row['sample']: row for row in scores['direct'].details}
    assert {row['trajectory_score'] for row in rows.values()} == {1.0}
    assert rows['invoice']['golden_index'] == 1
    assert rows['room']['n_ref'] == 2
    assert [key for key, row in rows.items() if not row['solved_rate']] == ['expense']
    assert [key for key, row in rows.items() if row['argument_f1'] < 1] == ['expense']


def test_the_two_solve_as_much_and_only_one_does_it_well(scores: dict[str, scoring.CorpusScore]) -> None:
    direct, detour = scores['direct'].means, scores['detour'].means
    assert direct['solved_rate'] == detour['solved_rate'] == 0.875
    assert direct['silent_degradation_rate'] == 0
    assert detour['silent_degradation_rate'] == 0.75
    for known in ('outcome_known_rate', 'token_known_rate', 'latency_known_rate'):
        assert direct[known] == detour[known] == 1
    assert direct['token_ratio'] < 1
    assert detour['token_ratio'] > 6
    assert direct['latency_ratio'] < 1
    assert detour['latency_ratio'] > 3


def test_the_readme_has_the_numbers_of_the_run(scores: dict[str, scoring.CorpusScore]) -> None:
    text = (REPOSITORY / 'opencompass_traj' / 'data' / 'demo' / 'README.md').read_text(encoding='utf-8')
    direct, detour = scores['direct'].in_percent(), scores['detour'].in_percent()
    for key in (
        'solved_rate', 'silent_degradation_rate', 'trajectory_score', 'step_ratio', 'token_ratio', 'latency_ratio',
    ):  # fmt: skip
        assert f'| `{key}` | {direct[key]:.2f} | {detour[key]:.2f} |' in text


def test_the_files_are_small_and_invented() -> None:
    folder = REPOSITORY / 'opencompass_traj' / 'data' / 'demo' / 'recorded'
    files = [path for path in folder.rglob('*') if path.is_file()]
    assert Counter(path.suffix for path in files) == {'.jsonl': 2, '.json': 8}
    assert sum(path.stat().st_size for path in files) < 50_000


# ---------------------------------------------------------------- the configs


@pytest.fixture(scope='module')
def host() -> Any:
    from mmengine.config import Config
    from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET, MODELS

    # Registers them, as the types of a loaded config do.
    from opencompass_traj import dataset, evaluator, model

    assert dataset
    assert evaluator
    assert model
    return Config, ICL_EVALUATORS, LOAD_DATASET, MODELS


@pytest.fixture
def loaded(host: Any, tmp_path: Path) -> Any:
    """Loads a config as a task sees it: dumped by the command and read again."""

    def load(name: str) -> Any:
        config = host[0].fromfile(str(REPOSITORY / 'configs' / f'{name}.py'))
        config.dump(str(tmp_path / 'dumped.py'))
        return host[0].fromfile(str(tmp_path / 'dumped.py'), format_python_code=False)

    return load


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder in which `./data` is the folder of real data."""
    folder = shared_data('README.md').parent
    (tmp_path / 'work').mkdir()
    (tmp_path / 'work' / 'data').symlink_to(folder)
    monkeypatch.chdir(tmp_path / 'work')
    return folder


def score(config: Any, host: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Every model on every dataset of a config, through the objects that a run would build."""
    _, evaluators, datasets, models = host
    found = {}
    agents = {
        model['abbr']: _built(models, model, 'abbr', 'max_out_len', 'batch_size', 'run_cfg') for model in config.models
    }
    for dataset in config.datasets:
        kind = datasets.get(dataset['type'])
        rows = kind.load(dataset['path'], **({'fields': dataset['fields']} if 'fields' in dataset else {}))['test']
        prompts = [[{'role': one['role'], 'content': one['content']} for one in row['prompt'][:-1]] for row in rows]
        for abbr, agent in agents.items():
            evaluator = _built(evaluators, dataset['eval_cfg']['evaluator'])
            answers = agent.generate_from_template(prompts)
            found[abbr, dataset['abbr']] = evaluator.score(answers, [row['ground_truth'] for row in rows])
    return found


def _built(registry: Any, config: Any, *without: str) -> Any:
    options = {key: value for key, value in config.items() if key not in {'type', *without}}
    return registry.get(config['type'])(**options)


@pytest.mark.host
@pytest.mark.parametrize('name', ['eval_recorded', 'eval_tau_bench', 'eval_ultratool'])
def test_the_configs_load_build_and_survive_the_dump(name: str, host: Any, loaded: Any) -> None:
    config = loaded(name)
    assert config.infer['runner']['debug']
    assert config.eval['runner']['debug']
    assert config.summarizer['type'] == 'opencompass_traj.summarizer.TrajectorySummarizer'
    assert len({model['abbr'] for model in config.models}) == len(config.models)
    assert len({dataset['abbr'] for dataset in config.datasets}) == len(config.datasets)
    for model in config.models:
        assert model['type'] == 'opencompass_traj.model.RecordedAgent'
        assert model['run_cfg']['num_gpus'] == 0
    for dataset in config.datasets:
        evaluator = _built(host[1], dataset['eval_cfg']['evaluator'])
        assert not evaluator.scorer.uses_embeddings
        assert evaluator.settings()['bert_score_model'] is None


@pytest.mark.host
def test_the_demo_config_has_every_metric_that_needs_no_encoder(host: Any, loaded: Any) -> None:
    from opencompass_traj.evaluator import DEFAULT_METRICS

    (dataset,) = loaded('eval_recorded').datasets
    settings = _built(host[1], dataset['eval_cfg']['evaluator']).settings()
    used = [metric['type'] for metric in settings['metrics']]
    assert used == [name for name in DEFAULT_METRICS if not getattr(scoring, name)().uses_embeddings]


@pytest.mark.host
def test_the_demo_config_gives_the_numbers_of_the_readme(
    host: Any, loaded: Any, scores: dict[str, scoring.CorpusScore]
) -> None:
    results = score(loaded('eval_recorded'), host)
    assert set(results) == {('direct', 'recorded-demo'), ('detour', 'recorded-demo')}
    for (agent, _), result in results.items():
        expected = scores[agent].in_percent()
        assert {key: result[key] for key in expected} == pytest.approx(expected)
        assert json.dumps(result)


@pytest.mark.host
def test_tau_bench_goes_through_whole(host: Any, loaded: Any, data_folder: Path) -> None:
    ((names, result),) = score(loaded('eval_tau_bench'), host).items()
    assert names == ('gpt-4o-recorded', 'tau-bench-airline')
    assert len(result['details']) == 100
    assert {row['parse_status'] for row in result['details']} == {'read'}
    assert result['outcome_known_rate'] == 100
    text = (data_folder / 'tau_bench/gpt_4o_airline.jsonl').read_text(encoding='utf-8')
    rewards = [json.loads(line)['reward'] for line in text.splitlines()]
    assert [row['solved_rate'] for row in result['details']] == rewards
    assert result['solved_rate'] == 49
    # Nearly every run that changed what the golden plan changes solved its task, and no other did.
    right = [row['effect_f1'] == 1 for row in result['details']]
    assert sum(a == bool(b) for a, b in zip(right, rewards, strict=True)) >= 95
    assert result['token_known_rate'] == 0


@pytest.mark.host
def test_ultratool_goes_through_whole(host: Any, loaded: Any, data_folder: Path) -> None:
    results = score(loaded('eval_ultratool'), host)
    assert sorted(results) == [
        (model, dataset)
        for model in ('gpt-3.5-recorded', 'gpt-4-recorded')
        for dataset in ('ultratool-en', 'ultratool-zh')
    ]
    assert [len(result['details']) for result in results.values()] == [250] * 4
    for language in ('en', 'zh'):
        better, other = (results[f'{model}-recorded', f'ultratool-{language}'] for model in ('gpt-4', 'gpt-3.5'))
        assert better['trajectory_score'] > 99 > other['trajectory_score'] > 90
    unreadable = sum(row['parse_status'] == 'unreadable' for result in results.values() for row in result['details'])
    assert unreadable <= 10
