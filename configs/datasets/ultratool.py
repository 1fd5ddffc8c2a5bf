"""UltraTool's tool calls, English and Chinese: the golden plans, from the files that hold the models' answers."""

from mmengine.config import read_base

from opencompass_traj.dataset import TrajectoryDataset
from opencompass_traj.evaluator import TrajectoryPlanningEvaluator
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    Efficiency,
    GraphSimilarity,
    LoopDetection,
    PartialOrderSimilarity,
    Recovery,
    SequenceSimilarity,
    TrajectoryScore,
)

with read_base():
    from .trajectory import trajectory_infer_cfg, trajectory_reader_cfg

ultratool_datasets = [
    dict(
        abbr=f'ultratool-{language}',
        type=TrajectoryDataset,
        # Any model's file will do: they hold the same golden plans.
        path=f'./data/ultratool/{language}_gpt-4.jsonl',
        # The rows have no id: None takes their number.
        fields=dict(id=None, query='data.question', ground_truth='data.reference'),
        reader_cfg=trajectory_reader_cfg,
        infer_cfg=trajectory_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(
                type=TrajectoryPlanningEvaluator,
                # All that needs no text encoder, and that the files have something for.
                metrics=[
                    dict(type=metric)
                    for metric in (
                        Recovery,
                        SequenceSimilarity,
                        PartialOrderSimilarity,
                        GraphSimilarity,
                        CausalFidelity,
                        TrajectoryScore,
                        ArgumentMatch,
                        LoopDetection,
                        Efficiency,
                    )
                ],
            ),
        ),
    )
    for language in ('en', 'zh')
]
