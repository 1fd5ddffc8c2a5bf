"""Two plans under a peer's preset, without a reader between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opencompass_traj.embedding import TextVectors
from opencompass_traj.plan import Plan, Step, Trajectory
from opencompass_traj.scoring import Comparison, Metric, Reference
from opencompass_traj.scoring.peers import PeerMetrics
from tests.conftest import ExactEncoder


def plan(calls: Iterable[Any], edges: Iterable[tuple[int, int]] | None = None) -> Plan:
    """A plan of names, or of objects with `name`, `args` and `turn`; `edges` are pairs of places."""
    prev = None if edges is None else list(edges)
    steps = []
    for place, call in enumerate(calls):
        given = {'name': call} if isinstance(call, str) else call
        before = None if prev is None else tuple(i for i, j in prev if j == place)
        steps.append(Step(place, given['name'], given.get('args', {}), before, given.get('turn')))
    return Plan(tuple(steps))


def scored(metric: Metric, pred: Plan, ref: Plan) -> Mapping[str, Any]:
    """The numbers of one comparison; texts are alike only where they are equal."""
    vectors = TextVectors(ExactEncoder(2048))
    steps = [{'id': step.id, 'name': step.name, 'args': step.args} for step in ref.steps]
    one = Comparison('', Reference('x', {'ground_truth': steps}, ref), vectors=vectors)
    one.trajectory = Trajectory(pred, 'openai')
    vectors.add(metric.texts(one))
    return metric.score(one)


def peer(legacy: str, pred: Plan, ref: Plan, **options: Any) -> Mapping[str, Any]:
    """The numbers of a preset under the peer's own names."""
    return scored(PeerMetrics(legacy, prefix='', **options), pred, ref)
