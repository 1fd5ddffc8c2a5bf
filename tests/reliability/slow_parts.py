"""An agent and a metric that take their time, so that a run can be stopped in the middle of either."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_traj.model import RecordedAgent
from opencompass_traj.scoring import Comparison, Metric


class SlowAgent(RecordedAgent):
    """A recorded agent that answers after `SLOW_ANSWER` seconds."""

    def generate_from_template(self, templates: Sequence[Any], max_out_len: int = 0, **options: Any) -> list[str]:
        """Answer, later."""
        time.sleep(float(os.environ.get('SLOW_ANSWER', '0')))
        return super().generate_from_template(templates, max_out_len, **options)


class SlowCount(Metric):
    """Counts steps, each sample in `SLOW_SCORE` seconds; the file `SLOW_MARK` says that it has begun, and its time."""

    counts = ('slow_steps',)

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Count, later."""
        if mark := os.environ.get('SLOW_MARK'):
            Path(mark).write_text(str(time.time()))
        time.sleep(float(os.environ.get('SLOW_SCORE', '0')))
        return {'slow_steps': float(len(comparison.pred))}
