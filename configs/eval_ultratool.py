"""Scores two models' answers to UltraTool's tasks, from ./data/ultratool: `opencompass configs/eval_ultratool.py`."""

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from .datasets.ultratool import ultratool_datasets as datasets
    from .models.ultratool_answers import ultratool_models as models
    from .summarizers.trajectory import summarizer

# One process for everything; see eval_recorded.py.
infer = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLEvalTask)),
)

work_dir = './outputs/ultratool'
