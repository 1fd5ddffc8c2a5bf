"""UltraTool's tool calls, English and Chinese: the golden plans, from the files that hold the models' answers."""

from opencompass.openicl.icl_inferencer import ChatInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

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

ultratool_datasets = [
    dict(
        abbr=f'ultratool-{language}',
        type=TrajectoryDataset,
        # Any model's file will do: they hold the same golden plans.
        path=f'./data/ultratool/{language}_gpt-4.jsonl',
        # The rows have no id: None takes their number.
        fields=dict(id=None, query='data.question', ground_truth='data.reference'),
        reader_cfg=dict(input_columns=['prompt'], output_column='ground_truth'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{prompt}')])),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ChatInferencer, max_out_len=2048),
        ),
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
