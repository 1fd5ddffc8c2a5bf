"""Trajectory evaluation for OpenCompass: did the agent take the right path?

Importing this package loads neither torch nor OpenCompass; the names of the OpenCompass side are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencompass_traj.dataset import TrajectoryDataset
    from opencompass_traj.evaluator import TrajectoryPlanningEvaluator
    from opencompass_traj.model import RecordedAgent

__version__ = '0.1.0'
__all__ = ['RecordedAgent', 'TrajectoryDataset', 'TrajectoryPlanningEvaluator', '__version__']

_HOST_SIDE = {
    'RecordedAgent': 'opencompass_traj.model',
    'TrajectoryDataset': 'opencompass_traj.dataset',
    'TrajectoryPlanningEvaluator': 'opencompass_traj.evaluator',
}


def __getattr__(name: str) -> Any:
    if name in _HOST_SIDE:
        return getattr(importlib.import_module(_HOST_SIDE[name]), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
