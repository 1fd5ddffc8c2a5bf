"""Scoring without the host: one prediction beside its golden plan, the metrics over it, and a whole corpus."""

from opencompass_traj.scoring.comparison import FINISH_NAMES, Comparison, Reading, Reference
from opencompass_traj.scoring.corpus import METRIC_VERSION, CorpusScore, Scorer
from opencompass_traj.scoring.families import (
    CausalFidelity,
    GraphSimilarity,
    PartialOrderSimilarity,
    PlanMatch,
    SequenceSimilarity,
    TrajectoryScore,
)
from opencompass_traj.scoring.metric import Metric
from opencompass_traj.scoring.references import PROMPT_TYPES, UnreadReferences, read_references
from opencompass_traj.scoring.run_families import (
    ArgumentMatch,
    EffectMatch,
    Efficiency,
    ForbiddenTools,
    LoopDetection,
    Outcome,
    Recovery,
)
from opencompass_traj.scoring.workers import check_workers

__all__ = [
    'FINISH_NAMES',
    'METRIC_VERSION',
    'PROMPT_TYPES',
    'ArgumentMatch',
    'CausalFidelity',
    'Comparison',
    'CorpusScore',
    'EffectMatch',
    'Efficiency',
    'ForbiddenTools',
    'GraphSimilarity',
    'LoopDetection',
    'Metric',
    'Outcome',
    'PartialOrderSimilarity',
    'PlanMatch',
    'Reading',
    'Recovery',
    'Reference',
    'Scorer',
    'SequenceSimilarity',
    'TrajectoryScore',
    'UnreadReferences',
    'check_workers',
    'read_references',
]
