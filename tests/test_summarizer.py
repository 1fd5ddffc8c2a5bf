"""The summarizer on runs as they are found: whole, with failed models, with broken files, replicas and shards."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.report.run_files import BAD, GOOD, write_run

pytestmark = pytest.mark.host

REPOSITORY = Path(__file__).resolve().parents[1]
TRACEBACK = 'Traceback (most recent call last):\n  File "m.py", line 1\nMemoryError: no room\n'


@pytest.fixture(scope='module', autouse=True)
def _host() -> None:
    # The host's logger keeps the stream that it finds when it is made, which must not be one test's own.
    from opencompass.utils import get_logger

    get_logger()


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp('made'), {'good': GOOD, 'bad': BAD}, repeat=4)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A run's folder to change."""
    shutil.copytree(made, tmp_path / 'run')
    return tmp_path / 'run'


def summarizer(folder: Path, models: tuple[str, ...], datasets: tuple[str, ...] = ('trips',), **options: Any) -> Any:
    from mmengine.config import Config

    from opencompass_traj.summarizer import TrajectorySummarizer

    config = Config.fromfile(str(REPOSITORY / 'configs' / 'eval_traj.py'))
    model, dataset = config.models[0], config.datasets[0]
    config.models = [{**model, 'abbr': name} if isinstance(name, str) else {**model, **name} for name in models]
    config.datasets = [{**dataset, 'abbr': name} for name in datasets]
    config.work_dir = str(folder)
    return TrajectorySummarizer(config=config, **options)


def table(folder: Path, stamp: str = 'x') -> dict[tuple[str, str], dict[str, str]]:
    """The usual CSV by dataset and metric."""
    with (folder / 'summary' / f'summary_{stamp}.csv').open(encoding='utf-8', newline='') as file:
        return {(row['dataset'], row['metric']): row for row in csv.DictReader(file)}


def written(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / 'summary').iterdir())


def test_the_summary_and_all_beside_it_are_written(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    summarizer(folder, ('good', 'bad')).summarize(time_str='x')
    assert written(folder) == [
        'summary_x.csv', 'summary_x.html', 'summary_x.md', 'summary_x.txt', 'summary_x_comparison.csv',
        'summary_x_groups.csv', 'summary_x_intervals.csv', 'summary_x_tools.csv',
    ]  # fmt: skip
    row = table(folder)['trips', 'trajectory_score']
    assert (row['good'], row['mode']) == ('100.00', 'gen')
    assert next(iter(table(folder))) == ('trips', 'trajectory_score')
    # No run has tokens or outcomes: those rows are left out.
    assert not {('trips', 'token_ratio'), ('trips', 'solved_rate')} & set(table(folder))
    output = capfd.readouterr().out
    assert '95 % intervals of the means; all: summary_x_intervals.csv' in output
    assert 'no result' not in output
    assert '<html' in (folder / 'summary' / 'summary_x.html').read_text('utf-8')[:200]


def test_what_is_not_wanted_is_not_written(folder: Path) -> None:
    summarizer(folder, ('good',), report=False).summarize(output_path=str(folder / 'out' / 'mine.txt'))
    names = sorted(file.name for file in (folder / 'out').iterdir())
    # One model: nothing to compare.
    assert names == [
        'mine.csv', 'mine.md', 'mine.txt', 'mine_groups.csv', 'mine_intervals.csv', 'mine_tools.csv',
    ]  # fmt: skip


def test_failed_models_are_dashes_with_a_reason(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = folder / 'logs' / 'infer' / 'lost' / 'trips.out'
    log.parent.mkdir(parents=True)
    log.write_text(TRACEBACK, 'utf-8')
    (folder / 'results' / 'torn').mkdir()
    (folder / 'results' / 'torn' / 'trips.json').write_text('{"trajectory_score": 1', 'utf-8')
    summarizer(folder, ('lost', 'good', 'torn', 'never')).summarize(time_str='x')
    row = table(folder)['trips', 'trajectory_score']
    assert (row['lost'], row['good'], row['torn'], row['never']) == ('-', '100.00', '-', '-')
    output = capfd.readouterr().out
    assert '3 of 4 tasks have no result:\n  lost on trips: infer failed: MemoryError: no room\n' in output
    assert 'torn on trips: trips.json cannot be read' in output
    assert 'never on trips: not answered; no log says why' in output
    assert 'summary_x.html' in written(folder)


def test_a_run_of_which_nothing_came_is_summarised(tmp_path: Path) -> None:
    (tmp_path / 'configs').mkdir()
    summarizer(tmp_path, ('a', 'b')).summarize(time_str='x')
    assert {'summary_x.txt', 'summary_x.html'} <= set(written(tmp_path))
    assert '-' in (tmp_path / 'summary' / 'summary_x.csv').read_text('utf-8')


def edit(folder: Path, model: str, change: Any, dataset: str = 'trips') -> None:
    file = folder / 'results' / model / 'trips.json'
    content = json.loads(file.read_text('utf-8'))
    file.with_name(f'{dataset}.json').write_text(json.dumps(change(content)), 'utf-8')


def test_models_that_were_scored_by_different_metrics_stand_beside_each_other(folder: Path) -> None:
    """OpenCompass stops there with an AssertionError, and writes nothing."""
    edit(folder, 'bad', lambda content: {key: value for key, value in content.items() if key != 'optimal_rate'})
    edit(folder, 'good', lambda content: {**content, 'accuracy': 12.5})
    metrics = ('accuracy', 'optimal_rate', 'trajectory_score')
    summarizer(folder, ('good', 'bad'), metrics=metrics).summarize(time_str='x')
    rows = table(folder)
    assert (rows['trips', 'optimal_rate']['good'], rows['trips', 'optimal_rate']['bad']) == ('100.00', '-')
    assert (rows['trips', 'accuracy']['good'], rows['trips', 'accuracy']['bad']) == ('12.50', '-')
    assert rows['trips', 'trajectory_score']['bad'] not in {'-', '0.00'}


def test_replicas_stand_in_the_rows_of_their_metrics(folder: Path) -> None:
    """OpenCompass calls their averages by other names, and the summary lost all but the first."""

    def doubled(content: dict[str, Any]) -> dict[str, Any]:
        numbers = {f'{key} (2 runs average)': value for key, value in content.items() if isinstance(value, float)}
        rows = [{key: [value, value] for key, value in row.items()} for row in content['details']]
        return {**numbers, 'settings': [content['settings']] * 2, 'details': rows}

    edit(folder, 'bad', doubled, 'twice')
    summarizer(folder, ('bad',), ('trips', 'twice')).summarize(time_str='x')
    rows = table(folder)
    for dataset, metric in rows:
        assert rows[dataset, metric]['bad'] == rows['trips', metric]['bad']
    assert len({metric for _, metric in rows}) * 2 == len(rows)


def test_the_shards_of_a_dataset_are_its_rows(folder: Path) -> None:
    def shard(content: dict[str, Any], part: slice) -> dict[str, Any]:
        rows = content['details'][part]
        score = 100 * sum(row['trajectory_score'] for row in rows) / len(rows)
        return {**content, 'trajectory_score': score, 'details': rows, 'samples': {'all': len(rows)}}

    names = [f'whole-shard-{number}-of-2' for number in range(2)]
    for name, part in zip(names, (slice(0, 5), slice(5, None)), strict=True):
        edit(folder, 'bad', lambda content, part=part: shard(content, part), name)
    summarizer(folder, ('bad',), ('trips', *names)).summarize(time_str='x')
    rows = table(folder)
    assert {dataset for dataset, _ in rows} == {'trips', 'whole'}
    assert rows['whole', 'trajectory_score']['bad'] == rows['trips', 'trajectory_score']['bad']
    assert rows['whole', 'trajectory_score']['mode'] == 'gen'


def test_other_evaluators_results_keep_their_numbers(folder: Path) -> None:
    for model in ('good', 'bad'):
        edit(folder, model, lambda _: {'accuracy': 25.0, 'details': {'0': {'pred': 'a', 'correct': True}}}, 'quiz')
    summarizer(folder, ('good', 'bad'), ('trips', 'quiz', 'gone')).summarize(time_str='x')
    rows = table(folder)
    assert rows['quiz', 'accuracy']['good'] == '25.00'
    assert rows['gone', '-']['good'] == '-'
    with (folder / 'summary' / 'summary_x_intervals.csv').open(encoding='utf-8') as file:
        assert {row['dataset'] for row in csv.DictReader(file)} == {'trips'}


def test_tevals_own_rows_stand_behind_ours(folder: Path) -> None:
    instruct = {f'{kind}_{part}_metric': 50.0 for kind in ('string', 'json') for part in ('format', 'args_em')}
    for model in ('good', 'bad'):
        edit(folder, model, lambda content: {**content, 'f1_score': 25.0}, 'teval-plan_json_v1')
        edit(folder, model, lambda _: instruct, 'teval-instruct_v1')
    datasets = ('teval-instruct_v1', 'teval-plan_json_v1')
    base = 'opencompass.configs.summarizers.teval'
    summarizer(folder, ('good', 'bad'), datasets, based_on=base).summarize(time_str='x')
    rows = table(folder)
    assert next(iter(rows)) == ('teval-plan_json_v1', 'trajectory_score')
    assert rows['teval-plan_json_v1', 'f1_score']['good'] == '25.00'
    assert rows['teval-instruct_v1', 'json_metric']['bad'] == '50.00'
    # OpenCompass has dashes for what was not asked.
    assert ('teval', '-') in rows


def test_models_have_the_names_that_the_summary_gives_them(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    named = {'abbr': 'good', 'summarizer_abbr': 'the good one'}
    summarizer(folder, (named, 'bad')).summarize(time_str='x')  # type: ignore[arg-type]
    assert table(folder)['trips', 'trajectory_score']['the good one'] == '100.00'
    assert 'the good one is better' in (folder / 'summary' / 'summary_x_comparison.csv').read_text('utf-8')
    assert 'no result' not in capfd.readouterr().out


def test_results_of_models_that_the_config_does_not_have_are_left_out(folder: Path) -> None:
    summarizer(folder, ('good',)).summarize(time_str='x')
    assert "'bad'" not in (folder / 'summary' / 'summary_x_intervals.csv').read_text('utf-8')
    assert list(table(folder)['trips', 'trajectory_score'])[-1] == 'good'


def test_a_gate_ends_the_command(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        summarizer(folder, ('good', 'bad'), gate={'min': {'trajectory_score': 90}}).summarize(time_str='x')
    assert caught.value.code == 1
    assert 'gate failed' in capfd.readouterr().out
    assert {'summary_x.html', 'summary_x_gate.txt', 'summary_x_gate.xml'} <= set(written(folder))
    assert '<failure' in (folder / 'summary' / 'summary_x_gate.xml').read_text('utf-8')


def test_a_gate_that_the_run_passes(folder: Path, made: Path, capfd: pytest.CaptureFixture[str]) -> None:
    gate = {'min': {'trajectory_score': 90}, 'baseline': str(made), 'no_worse_than': 1, 'models': ['good']}
    summarizer(folder, ('good', 'bad'), gate=gate).summarize(time_str='x')
    assert 'gate passed' in capfd.readouterr().out


@pytest.mark.parametrize('gate', [{}, {'min': {'trajectory_score': float('nan')}}])
def test_an_impossible_gate_is_named_at_once(folder: Path, gate: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match='expected'):
        summarizer(folder, ('good',), gate=gate)


def test_the_summary_is_made_again_the_same(folder: Path) -> None:
    for stamp in ('x', 'y'):
        summarizer(folder, ('good', 'bad')).summarize(time_str=stamp)
    for name in ('.csv', '.md', '_intervals.csv', '_comparison.csv', '_groups.csv', '_tools.csv'):
        first, second = (folder / 'summary' / f'summary_{stamp}{name}' for stamp in ('x', 'y'))
        assert first.read_bytes() == second.read_bytes()


def test_numbers_that_the_config_asked_for_besides_stand_behind_ours(folder: Path) -> None:
    for model in ('good', 'bad'):
        edit(folder, model, lambda content: {**content, 'ragas_tool_call_f1': 25.0, 'tools_used': 3.0})
    summarizer(folder, ('good', 'bad'), report=False).summarize(time_str='x')
    rows = [metric for _, metric in table(folder)]
    assert rows[0] == 'trajectory_score'
    assert rows[-2:] == ['ragas_tool_call_f1', 'tools_used']
    assert len(rows) == len(set(rows))
    assert not {'plan_precision', 'step_known_rate', 'precision'} & set(rows)
    summarizer(folder, ('good', 'bad'), report=False, metrics=['sequence_similarity']).summarize(time_str='y')
    assert [metric for _, metric in table(folder, 'y')] == ['sequence_similarity']
