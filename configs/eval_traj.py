"""Compares six recorded agents on 30 invented tasks: `opencompass configs/eval_traj.py`. No GPU, no download."""

from mmengine.config import read_base

with read_base():
    from .datasets.trajectory_demo import trajectory_demo_datasets as datasets
    from .models.recorded_demo import recorded_demo_models as models
    from .runners.in_process import eval, infer
    from .summarizers.trajectory import summarizer

work_dir = './outputs/trajectory_demo'
