"""Scores recorded runs of tau-bench's airline tasks, from ./data/tau_bench: `opencompass configs/eval_tau_bench.py`."""

from mmengine.config import read_base

with read_base():
    from .datasets.tau_bench import tau_bench_datasets as datasets
    from .models.tau_bench_runs import tau_bench_models as models
    from .runners.in_process import eval, infer
    from .summarizers.trajectory import summarizer

work_dir = './outputs/tau_bench'
