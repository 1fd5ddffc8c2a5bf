"""Compares two agents by their recorded runs: `opencompass configs/eval_recorded.py`. No GPU, no text encoder."""

from mmengine.config import read_base

with read_base():
    from .datasets.recorded_demo_tasks import recorded_demo_datasets as datasets
    from .models.recorded_runs import recorded_runs_models as models
    from .runners.in_process import eval, infer
    from .summarizers.trajectory import summarizer

work_dir = './outputs/recorded_demo'
