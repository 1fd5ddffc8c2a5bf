"""Recorded runs of tau-bench's airline tasks: 25 tasks, four trials each, every trial a sample of its own.

A row of the file holds the golden actions and the run: `task_id`, `trial`, `instruction`, `gold_actions`, `messages`,
`reward`. Golden actions name what must be changed; what has to be looked up before that is left to the agent.
"""

from mmengine.config import read_base

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

with read_base():
    from .trajectory import trajectory_infer_cfg, trajectory_reader_cfg

tau_bench_datasets = [
    dict(
        abbr='tau-bench-airline',
        type=TrajectoryDataset,
        path='./data/tau_bench/gpt_4o_airline.jsonl',
        # The same sample has the same id on both sides: `task_fields` in models/tau_bench_runs.py says this again.
        fields=dict(id=['task_id', 'trial'], query='instruction', ground_truth='gold_actions'),
        reader_cfg=trajectory_reader_cfg,
        infer_cfg=trajectory_infer_cfg,
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
