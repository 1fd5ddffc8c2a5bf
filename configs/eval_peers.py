"""The recorded demo with other packages' numbers beside ours: `opencompass configs/eval_peers.py`. No encoder."""

from mmengine.config import read_base

with read_base():
    from .datasets.recorded_demo_tasks import recorded_demo_datasets
    from .models.recorded_runs import recorded_runs_models as models
    from .runners.in_process import eval, infer

# Worfeval and teval compare texts, and would load an encoder.
datasets = [
    {
        **dataset,
        'eval_cfg': dict(
            evaluator={
                **dataset['eval_cfg']['evaluator'],
                'legacy': ['adk', 'agentevals', 'azure', 'deepeval', 'ragas', 'taskbench', 'vertex'],
            },
        ),
    }
    for dataset in recorded_demo_datasets
]

work_dir = './outputs/peers_demo'
