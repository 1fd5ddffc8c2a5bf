"""The real command: a dataset whole and in shards, its details in the result and in files, in one run."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.report.runs import Run, read_run

pytestmark = pytest.mark.host

COMMAND = Path(sysconfig.get_path('scripts')) / 'opencompass'
CONFIG = """
from mmengine.config import read_base

with read_base():
    from opencompass_traj.configs.datasets.trajectory_demo import trajectory_demo_datasets as _whole
    from opencompass_traj.configs.models.recorded_demo import recorded_demo_models as _models
    from opencompass_traj.configs.runners.in_process import eval, infer
    from opencompass_traj.configs.summarizers.trajectory import summarizer as _summarizer

models = [model for model in _models if model['abbr'] in ('looping', 'careless')]
summarizer = {**_summarizer, 'report': False}
whole = _whole[0]
in_files = {'evaluator': {**whole['eval_cfg']['evaluator'], 'max_inline_details': 0}}
datasets = [
    {**whole, 'abbr': 'whole'},
    *[
        {**whole, 'abbr': f'parts-shard-{shard}-of-3', 'shard': shard, 'shards': 3, 'eval_cfg': in_files}
        for shard in range(3)
    ],
]
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('sharded')
    (folder / 'sharded.py').write_text(CONFIG, encoding='utf-8')
    opencompass(folder)
    return next(path for path in (folder / 'work').iterdir() if path.is_dir())


def opencompass(folder: Path, *arguments: str) -> str:
    found = subprocess.run(
        [sys.executable, str(COMMAND), 'sharded.py', '-w', 'work', *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout[-4000:]
    return found.stdout


def rows_of(folder: Path, dataset: str) -> dict[str, list[str]]:
    """The rows of the newest summary, by metric: version, mode and numbers."""
    (newest,) = sorted((folder / 'summary').glob('summary_*[0-9].csv'))[-1:]
    with newest.open(encoding='utf-8', newline='') as file:
        return {row[2]: [row[1], *row[4:]] for row in csv.reader(file) if row[0] == dataset}


def test_the_summary_shows_one_dataset_with_the_numbers_of_the_whole(folder: Path) -> None:
    whole = rows_of(folder, 'whole')
    assert len(whole) > 15
    assert rows_of(folder, 'parts') == whole
    assert 'shard' not in ''.join(path.read_text(encoding='utf-8') for path in (folder / 'summary').glob('*[0-9].csv'))


def numbers_and_rows(run: Run, model: str, dataset: str) -> tuple[Any, list[dict[str, Any]]]:
    task = run.task(model, dataset)
    assert task is not None
    assert task.failure == ''
    # OpenCompass' own name of a sample counts within a shard.
    return task, [{key: value for key, value in row.items() if key != 'example_abbr'} for row in task.rows]


@pytest.mark.parametrize('model', ['looping', 'careless'])
def test_the_run_is_read_as_one_dataset_with_all_rows_in_order(folder: Path, model: str) -> None:
    run = read_run(folder)
    assert set(run.datasets) == {'whole', 'parts'}
    whole, rows = numbers_and_rows(run, model, 'whole')
    parts, same = numbers_and_rows(run, model, 'parts')
    assert same == rows
    assert len(rows) == 30
    assert parts.counts == whole.counts
    assert parts.numbers == pytest.approx(whole.numbers, rel=1e-9, abs=1e-9)
    assert parts.settings == whole.settings


def test_details_stand_beside_the_results(folder: Path) -> None:
    results = folder / 'results' / 'looping'
    assert sorted(path.name for path in results.iterdir()) == [
        *(f'parts-shard-{shard}-of-3{end}' for shard in range(3) for end in ('.details.jsonl', '.json')), 'whole.json',
    ]  # fmt: skip
    content = json.loads((results / 'parts-shard-1-of-3.json').read_text(encoding='utf-8'))
    assert content['details'] == []
    assert content['details_file'] == {'name': 'parts-shard-1-of-3.details.jsonl', 'rows': 10, 'replicas': 1}
    assert content['samples'][0]['all'] == 10


def test_a_shard_that_is_missing_is_named(folder: Path) -> None:
    """The last test: it takes a result away."""
    (folder / 'results' / 'looping' / 'parts-shard-1-of-3.json').unlink()
    shown = opencompass(folder.parents[1], '-m', 'viz', '-r', folder.name)
    assert '1 of 3 shards have no result: parts-shard-1-of-3: ' in shown
    rows = rows_of(folder, 'parts').values()
    assert {looping for _, _, looping in rows} == {'-'}
    assert '-' not in {careless for _, careless, _ in rows}
