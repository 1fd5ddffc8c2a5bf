"""Scores recorded runs of tau-bench's airline tasks, from ./data/tau_bench: `opencompass configs/eval_tau_bench.py`."""

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from .datasets.tau_bench import tau_bench_datasets as datasets
    from .models.tau_bench_runs import tau_bench_models as models
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

work_dir = './outputs/tau_bench'
