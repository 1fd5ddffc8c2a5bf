"""Recorded runs of tau-bench's airline tasks: 25 tasks, four trials each, every trial a sample of its own.

A row of the file holds the golden actions and the run: `task_id`, `trial`, `instruction`, `gold_actions`, `messages`,
`reward`. Golden actions name what must be changed; what has to be looked up before that is left to the agent.
"""

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
    LoopDetection,
    Outcome,
    SequenceSimilarity,
)

tau_bench_datasets = [
    dict(
        abbr='tau-bench-airline',
        type=TrajectoryDataset,
        path='./data/tau_bench/gpt_4o_airline.jsonl',
        # The same sample has the same id on both sides: `task_fields` in models/tau_bench_runs.py says this again.
        fields=dict(id=['task_id', 'trial'], query='instruction', ground_truth='gold_actions'),
        reader_cfg=dict(input_columns=['prompt'], output_column='ground_truth'),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role='HUMAN', prompt='{prompt}')])),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=ChatInferencer, max_out_len=2048),
        ),
        eval_cfg=dict(
            evaluator=dict(
                type=TrajectoryPlanningEvaluator,
                metrics=[
                    # Which tools change something, in one sentence. None lets the verbs in the tools' names decide.
                    dict(type=EffectMatch, effects=['book_*', 'cancel_*', 'update_*', 'send_*']),
                    dict(type=ArgumentMatch),
                    dict(type=CausalFidelity),
                    # Every look-up counts as redundant here, for no golden plan has one.
                    dict(type=SequenceSimilarity),
                    dict(type=LoopDetection),
                    dict(type=Efficiency),
                    # A run is held to what it changed: solved, but with other changes, is a silent degradation.
                    dict(type=Outcome, score_key='effect_f1', threshold=1.0),
                ],
            ),
        ),
    )
]
