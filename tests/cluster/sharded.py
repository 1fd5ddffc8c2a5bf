"""The sharded demo, small: two agents, two shards."""

from mmengine.config import read_base

with read_base():
    from opencompass_traj.configs.eval_traj_sharded import _whole, summarizer  # noqa: F401 - OpenCompass reads it
    from opencompass_traj.configs.models.recorded_demo import recorded_demo_models as _models

models = [model for model in _models if model['abbr'] in ('roundabout', 'looping')]
datasets = [
    {**dataset, 'abbr': f'{dataset["abbr"]}-shard-{shard}-of-2', 'shard': shard, 'shards': 2}
    for dataset in _whole
    for shard in range(2)
]
