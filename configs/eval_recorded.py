"""Compares two agents by their recorded runs: `opencompass configs/eval_recorded.py`. No GPU, no text encoder."""

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from .datasets.recorded_demo_tasks import recorded_demo_datasets as datasets
    from .models.recorded_runs import recorded_runs_models as models
    from .summarizers.trajectory import summarizer

# One process for everything: a process per task would import OpenCompass, which takes longer than all the work, once
# per task. Without these two lines OpenCompass' own runners are used, and --max-num-workers counts.
infer = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLEvalTask)),
)

work_dir = './outputs/recorded_demo'
