"""A recorded answer with the run's figures that stood beside it, as one text on its way through the host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from opencompass_traj.parsing._figures import run_record
from opencompass_traj.parsing.literal import MAX_CHARS, UNREADABLE
from opencompass_traj.plan import ParseFailure, RunRecord, Trajectory

FIGURE_KEYS: Final = (
    'solved', 'success', 'reward', 'reward_info', 'outcome', 'tokens', 'usage', 'usage_metadata', 'latency',
    'latency_s', 'latency_ms', 'duration', 'duration_s', 'duration_ms', 'cost', 'total_cost', 'cost_usd',
    'total_cost_usd',
)  # fmt: skip
_MARK: Final = 'recorded_prediction'
_BEGINNING: Final = '{"' + _MARK + '"'
_NOTHING: Final = RunRecord()


def seal(prediction: object, beside: Mapping[str, Any]) -> str:
    """Write a recorded answer as text, with what its row says about the run.

    Args:
        prediction: The answer; what is no text is written as JSON.
        beside: The row, of which the figures are kept.

    Returns:
        The answer alone where there are no figures.

    Example:
        >>> seal('[]', {'id': 1}), seal('[]', {'id': 1, 'reward': 1.0})
        ('[]', '{"recorded_prediction": "[]", "reward": 1.0}')
    """
    figures = {key: beside[key] for key in FIGURE_KEYS if beside.get(key) is not None}
    if figures:
        return json.dumps({_MARK: prediction, **figures}, ensure_ascii=False)
    return prediction if isinstance(prediction, str) else json.dumps(prediction, ensure_ascii=False)


def unseal(prediction: object) -> tuple[object, RunRecord]:
    """Take an answer and what is known of its run apart again; any other value is an answer alone.

    Example:
        >>> unseal(seal('[]', {'reward': 1.0}))
        ('[]', RunRecord(solved=True, tokens=None, latency=None, cost=None))
    """
    if not isinstance(prediction, str) or not prediction.startswith(_BEGINNING) or len(prediction) > 2 * MAX_CHARS:
        return prediction, _NOTHING
    try:
        content = json.loads(prediction)
    except UNREADABLE:
        return prediction, _NOTHING
    return content[_MARK], run_record(content)


def with_record(found: Trajectory | ParseFailure, beside: RunRecord) -> Trajectory | ParseFailure:
    """A trajectory with the figures that stood beside it, where it has none of its own."""
    if isinstance(found, ParseFailure) or beside == _NOTHING:
        return found
    own = found.record
    return replace(
        found,
        record=RunRecord(
            solved=beside.solved if own.solved is None else own.solved,
            tokens=beside.tokens if own.tokens is None else own.tokens,
            latency=beside.latency if own.latency is None else own.latency,
            cost=beside.cost if own.cost is None else own.cost,
        ),
    )
