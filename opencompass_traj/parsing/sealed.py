"""A recorded answer with the run's figures that stood beside it, as one text on its way through the host.

What a model writes about its own outcome is not believed. A live model's answer and a recorded run reach the evaluator
alike, as text; so a recording is sealed with what only the golden file's owner knows: the golden plan itself.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from opencompass_traj.limits import CEILINGS
from opencompass_traj.parsing._figures import run_record
from opencompass_traj.parsing.golden import parse_golden_leniently
from opencompass_traj.parsing.literal import UNREADABLE
from opencompass_traj.plain_text import encodable
from opencompass_traj.plan import ParseFailure, RunRecord, Trajectory

FIGURE_KEYS: Final = (
    'solved', 'success', 'reward', 'reward_info', 'outcome', 'tokens', 'usage', 'usage_metadata', 'latency',
    'latency_s', 'latency_ms', 'duration', 'duration_s', 'duration_ms', 'cost', 'total_cost', 'cost_usd',
    'total_cost_usd',
)  # fmt: skip
_MARK: Final = 'recorded_prediction'
_SEAL: Final = 'seal'
_BEGINNING: Final = '{"' + _MARK + '"'
_END: Final = re.compile(rf', "{_SEAL}": "([0-9a-f]{{64}})"\}}')
_END_CHARS: Final = len(_SEAL) + 73
_NOTHING: Final = RunRecord()


class Unsealed(NamedTuple):
    """An answer taken apart.

    Attributes:
        prediction: The answer itself.
        record: What stood beside it about its run.
        trusted: Whether what the answer says about its own run counts: it was sealed, or is no text.
        refused: Whether it states figures beside itself without the right seal.
    """

    prediction: object
    record: RunRecord = _NOTHING
    trusted: bool = False
    refused: bool = False


def golden_key(record: Mapping[str, Any]) -> str:
    """What a recording of a task is sealed with: a digest of the task's first golden plan.

    Args:
        record: A golden record, as `tasks` or the evaluator has it; the two give the same key.

    Example:
        >>> golden_key({'ground_truth': [{'name': 'a'}]}) == golden_key({'ground_truth': [{'id': 0, 'name': 'a'}]})
        True
    """
    several = record.get('ground_truths')
    plan = several[0] if isinstance(several, list) and several else record.get('ground_truth')
    steps = [[str(step.id), step.name, step.args] for step in parse_golden_leniently(plan)[0].steps]
    return _digest(json.dumps(steps, sort_keys=True, default=str))


def seal(prediction: object, beside: Mapping[str, Any], *, key: str = '', is_run: bool = False) -> str:
    """Write a recorded answer as text, with what its row says about the run.

    Args:
        prediction: The answer; what is no text is written as JSON.
        beside: The row, of which the figures are kept.
        key: The task's `golden_key`.
        is_run: Whether the answer is a recorded run that may state figures within itself.

    Returns:
        The answer alone where there are no figures.

    Example:
        >>> seal('[]', {'id': 1}), seal('[]', {'id': 1, 'reward': 1.0})[:50]
        ('[]', '{"recorded_prediction": "[]", "reward": 1.0, "seal')
    """
    figures = {name: beside[name] for name in FIGURE_KEYS if beside.get(name) is not None}
    if not figures and not is_run:
        return encodable(prediction if isinstance(prediction, str) else json.dumps(prediction, ensure_ascii=False))
    body = encodable(json.dumps({_MARK: prediction, **figures}, ensure_ascii=False))[:-1]
    return f'{body}, "{_SEAL}": "{_tag(body, key)}"}}'


def unseal(prediction: object, key: Callable[[], str] = str) -> Unsealed:
    """Take an answer and what is known of its run apart again; any other value is an answer alone.

    Args:
        prediction: What the host handed over.
        key: Gives the task's `golden_key`; called only for what looks sealed.

    Returns:
        The answer. Where the seal is not the right one, an answer that is no text becomes its text, so that nothing
        within it is believed either.

    Example:
        >>> unseal(seal('[]', {'reward': 1.0}, key='k'), lambda: 'k').record.solved
        True
        >>> unseal('{"recorded_prediction": "[]", "reward": 1.0}')
        Unsealed(prediction='[]', record=RunRecord(solved=None, tokens=None, latency=None, cost=None), trusted=False, \
refused=True)
    """
    if not isinstance(prediction, str):
        return Unsealed(prediction, trusted=True)
    if not prediction.startswith(_BEGINNING) or len(prediction) > 2 * CEILINGS['recording_chars']:
        return Unsealed(prediction)
    try:
        content = json.loads(prediction)
    except UNREADABLE:
        return Unsealed(prediction)
    inner = content[_MARK]
    body, found = prediction[:-_END_CHARS], _END.fullmatch(prediction, max(0, len(prediction) - _END_CHARS))
    if found is not None and hmac.compare_digest(found[1], _tag(body, key())):
        return Unsealed(inner, run_record(content), trusted=True)
    return Unsealed(inner if isinstance(inner, str) else json.dumps(inner), refused=True)


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


def _tag(body: str, key: str) -> str:
    return _digest(f'{key}\n{body}')


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()
