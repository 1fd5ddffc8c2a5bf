"""Eight invented tasks with a budget each, for recorded runs: what was done, in which order, at what cost."""

from opencompass.openicl.icl_inferencer import ChatInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

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
        reader_cfg=dict(input_columns=['prompt'], output_column='ground_truth'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{prompt}')])),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ChatInferencer, max_out_len=2048),
        ),
        eval_cfg=dict(
            evaluator=dict(type=TrajectoryPlanningEvaluator, metrics=[dict(type=metric) for metric in ENCODER_FREE]),
        ),
    )
]
