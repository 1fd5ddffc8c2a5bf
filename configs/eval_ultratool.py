"""Scores two models' answers to UltraTool's tasks, from ./data/ultratool: `opencompass configs/eval_ultratool.py`."""

from mmengine.config import read_base

with read_base():
    from .datasets.ultratool import ultratool_datasets as datasets
    from .models.ultratool_answers import ultratool_models as models
    from .runners.in_process import eval, infer
    from .summarizers.trajectory import summarizer

work_dir = './outputs/ultratool'
