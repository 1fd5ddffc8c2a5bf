"""Eight invented tasks with a budget each, for recorded runs: what was done, in which order, at what cost."""

from mmengine.config import read_base

from opencompass_traj.dataset import TrajectoryDataset
from opencompass_traj.evaluator import TrajectoryPlanningEvaluator
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    EffectMatch,
    Efficiency,
    ForbiddenTools,
    GraphSimilarity,
    LoopDetection,
    Outcome,
    PartialOrderSimilarity,
    Recovery,
    SequenceSimilarity,
    TrajectoryScore,
)

with read_base():
    from .trajectory import trajectory_infer_cfg, trajectory_reader_cfg

# All that needs no text encoder: tool calls are compared by name and arguments, so that no model is loaded. T-Eval's
# own four numbers (TEvalPlanning) and PlanMatch compare texts by their meaning; leave `metrics` out to have them too.
ENCODER_FREE = (
    Recovery,
    SequenceSimilarity,
    PartialOrderSimilarity,
    GraphSimilarity,
    CausalFidelity,
    ForbiddenTools,
    TrajectoryScore,
    ArgumentMatch,
    EffectMatch,
    LoopDetection,
    Efficiency,
    Outcome,
)

recorded_demo_datasets = [
    dict(
        abbr='recorded-demo',
        type=TrajectoryDataset,
        # Your own golden plans: the path of a .jsonl or .json file.
        path='package:opencompass_traj/data/demo/recorded/tasks.jsonl',
        reader_cfg=trajectory_reader_cfg,
        infer_cfg=trajectory_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=TrajectoryPlanningEvaluator, metrics=[dict(type=metric) for metric in ENCODER_FREE]),
        ),
    )
]
