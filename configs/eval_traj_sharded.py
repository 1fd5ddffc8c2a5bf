"""The demo of `eval_traj.py` with its dataset in four shards, which OpenCompass spreads over processes or machines.

Four tasks for each agent, two at a time here: `opencompass configs/eval_traj_sharded.py --max-num-workers 2`. On a
cluster: `opencompass configs/eval_traj_sharded.py --slurm -p PARTITION --max-num-workers 64`.
"""

from mmengine.config import read_base

with read_base():
    from .datasets.trajectory_demo import trajectory_demo_datasets as _whole
    from .models.recorded_demo import recorded_demo_models as models
    from .summarizers.trajectory import summarizer

shards = 4
datasets = [
    # The name is what joins the shards in the summary: `<dataset>-shard-<shard>-of-<shards>`.
    {**dataset, 'abbr': f'{dataset["abbr"]}-shard-{shard}-of-{shards}', 'shard': shard, 'shards': shards}
    for dataset in _whole
    for shard in range(shards)
]

work_dir = './outputs/trajectory_demo_sharded'
