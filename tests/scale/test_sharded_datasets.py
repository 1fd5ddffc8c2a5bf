"""Shards of a dataset as OpenCompass builds them, and the summary that shows one dataset."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.shards import shard_groups, shard_of

pytestmark = pytest.mark.host

READER = {'input_columns': ['prompt'], 'output_column': 'ground_truth'}
DEMO = 'package:opencompass_traj/data/demo/tasks.jsonl'


def built(**options: Any) -> Any:
    from opencompass.registry import LOAD_DATASET

    from opencompass_traj import dataset

    assert dataset
    return LOAD_DATASET.build({'reader_cfg': READER, **options}).test


def teval_folder(folder: Path, size: int) -> str:
    step = {'id': 0, 'prev': [], 'name': 'a', 'args': {}}
    records = {
        f'k{number}': {
            'origin_prompt': [{'role': 'user', 'content': f'do {number}'}],
            'ground_truth': [step],
            'meta': {'number': number},
        }
        for number in range(size)
    }
    (folder / 'plan_json_v1.json').write_text(json.dumps(records), encoding='utf-8')
    return str(folder)


@pytest.mark.parametrize('shards', [2, 7, 30])
def test_the_shards_of_the_demo_are_the_demo(shards: int) -> None:
    whole = built(type='TrajectoryDataset', abbr='demo', path=DEMO)
    parts = [
        built(type='TrajectoryDataset', abbr=f'demo-shard-{i}-of-{shards}', path=DEMO, shard=i, shards=shards)
        for i in range(shards)
    ]
    for column in ('id', 'prompt', 'ground_truth'):
        assert [value for part in parts for value in part[column]] == list(whole[column])


def test_replicas_repeat_the_shard() -> None:
    part = built(type='TrajectoryDataset', abbr='d-shard-1-of-8', path=DEMO, shard=1, shards=8, n=2)
    assert len(part) == 8
    assert list(part['id'])[:4] == list(part['id'])[4:]


@pytest.mark.parametrize('shards', [1, 3])
def test_the_shards_of_tevals_dataset_are_the_dataset(shards: int, tmp_path: Path) -> None:
    from opencompass.datasets.teval import TEvalDataset

    folder = teval_folder(tmp_path, 7)
    whole = TEvalDataset(reader_cfg=READER, path=folder, name='plan_json_v1').test
    rows = []
    for shard in range(shards):
        name = f'teval-shard-{shard}-of-{shards}' if shards > 1 else 'teval'
        options = {'shard': shard, 'shards': shards} if shards > 1 else {}
        part = built(type='ShardedTEvalDataset', abbr=name, path=folder, name='plan_json_v1', **options)
        rows += [(row['prompt'], row['ground_truth']) for row in part]
    assert rows == [(row['prompt'], row['ground_truth']) for row in whole]


@pytest.mark.parametrize('kind', ['TrajectoryDataset', 'ShardedTEvalDataset'])
@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        (
            {'abbr': 'demo', 'shard': 1, 'shards': 4},
            "expected `abbr` '<name>-shard-1-of-4' for shard 1 of 4, got 'demo'",
        ),
        ({'abbr': 'demo-shard-0-of-4', 'shard': 1, 'shards': 4}, "got 'demo-shard-0-of-4'"),
        ({'abbr': 'demo-shard-4-of-4', 'shard': 4, 'shards': 4}, "got 'demo-shard-4-of-4'"),
        ({'shard': 4, 'shards': 4}, 'expected `shard` from 0 to `shards` - 1, got shard 4 of 4'),
        ({'abbr': 'demo-shard-0-of-31', 'shard': 0, 'shards': 31}, 'got 31 shards of'),
    ],
)
def test_shards_that_cannot_be_are_refused(kind: str, options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    where = (
        {'path': DEMO} if kind == 'TrajectoryDataset' else {'path': teval_folder(tmp_path, 7), 'name': 'plan_json_v1'}
    )
    with pytest.raises(ValueError, match=expected):
        built(type=kind, **where, **options)


def configs_of_the_page() -> list[str]:
    page = (Path(__file__).parents[2] / 'docs' / 'scale.md').read_text(encoding='utf-8')
    return [block for block in re.findall(r'```python config\n(.*?)```', page, re.DOTALL) if 'import' in block]


@pytest.mark.parametrize('number', range(3))
def test_the_configs_of_the_page_load(number: int, tmp_path: Path) -> None:
    """As a file of the user's, and once more as OpenCompass writes it for its tasks."""
    from mmengine.config import Config

    (tmp_path / 'given.py').write_text(configs_of_the_page()[number], encoding='utf-8')
    Config.fromfile(str(tmp_path / 'given.py')).dump(str(tmp_path / 'dumped.py'))
    config = Config.fromfile(str(tmp_path / 'dumped.py'), format_python_code=False)
    if 'datasets' not in config:
        assert config['eval']['runner']['type'].endswith('SlurmRunner')
        return
    names = [dataset['abbr'] for dataset in config['datasets']]
    assert len(set(names)) == len(names)
    for dataset in config['datasets']:
        shard = shard_of(dataset['abbr'])
        assert shard is not None
        assert (shard.shard, shard.shards) == (dataset['shard'], dataset['shards'])
    assert all(set(shards) <= set(names) for shards in shard_groups(names).values())


def test_the_page_has_no_other_configs() -> None:
    assert len(configs_of_the_page()) == 3
