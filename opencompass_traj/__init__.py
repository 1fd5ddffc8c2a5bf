"""Trajectory evaluation for OpenCompass: did the agent take the right path?

Importing this package loads neither torch nor OpenCompass, nor pandas; its names are loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencompass_traj.dataset import TrajectoryDataset
    from opencompass_traj.evaluator import TrajectoryPlanningEvaluator
    from opencompass_traj.model import RecordedAgent
    from opencompass_traj.report.frames import load_results

__version__ = '0.1.0'
__all__ = ['RecordedAgent', 'TrajectoryDataset', 'TrajectoryPlanningEvaluator', '__version__', 'load_results']

_MODULES = {
    'RecordedAgent': 'opencompass_traj.model',
    'TrajectoryDataset': 'opencompass_traj.dataset',
    'TrajectoryPlanningEvaluator': 'opencompass_traj.evaluator',
    'load_results': 'opencompass_traj.report.frames',
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
