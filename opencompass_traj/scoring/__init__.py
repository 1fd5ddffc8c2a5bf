"""Scoring without the host: one prediction beside its golden plan, the metrics over it, and a whole corpus."""

from opencompass_traj.scoring.comparison import Comparison, Reference
from opencompass_traj.scoring.corpus import METRIC_VERSION, CorpusScore, Scorer
from opencompass_traj.scoring.families import (
    CausalFidelity,
    GraphSimilarity,
    Metric,
    PartialOrderSimilarity,
    PlanMatch,
    SequenceSimilarity,
    TrajectoryScore,
)
from opencompass_traj.scoring.references import PROMPT_TYPES, read_references

__all__ = [
    'METRIC_VERSION',
    'PROMPT_TYPES',
    'CausalFidelity',
    'Comparison',
    'CorpusScore',
    'GraphSimilarity',
    'Metric',
    'PartialOrderSimilarity',
    'PlanMatch',
    'Reference',
    'Scorer',
    'SequenceSimilarity',
    'TrajectoryScore',
    'read_references',
]
