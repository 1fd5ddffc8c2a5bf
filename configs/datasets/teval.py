"""OpenCompass' own T-Eval datasets, English and Chinese, with the evaluator's class swapped and no GPU asked for."""

from mmengine.config import read_base

from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

with read_base():
    from opencompass.configs.datasets.teval.teval_en_gen_1ac254 import teval_datasets as _english
    from opencompass.configs.datasets.teval.teval_zh_gen_1ac254 import teval_datasets as _chinese

teval_datasets = [
    {
        **dataset,
        'eval_cfg': {
            **dataset['eval_cfg'],
            'evaluator': {**dataset['eval_cfg']['evaluator'], 'type': TrajectoryPlanningEvaluator},
            # 1 lets OpenCompass' runner give the encoder a GPU; on a machine without one it would stop.
            'num_gpus': 0,
        },
    }
    for dataset in [*_english, *_chinese]
]
