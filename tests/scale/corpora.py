"""Corpora of any size, and metrics that a worker process can be sent."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    Comparison,
    EffectMatch,
    Efficiency,
    ForbiddenTools,
    GraphSimilarity,
    LoopDetection,
    Metric,
    Outcome,
    PartialOrderSimilarity,
    PlanMatch,
    Recovery,
    SequenceSimilarity,
    TrajectoryScore,
)
from opencompass_traj.scoring.ratio import Ratio

TOOLS = ('search_flights', 'book_flight', 'list_hotels', '预订酒店', 'send_mail', 'get_weather')


def symbolic() -> list[Metric]:
    return [
        Recovery(), SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(),
        ForbiddenTools(), TrajectoryScore(), ArgumentMatch(), EffectMatch(), LoopDetection(), Efficiency(), Outcome(),
        Micro(),
    ]  # fmt: skip


def everything() -> list[Metric]:
    return [PlanMatch(), *symbolic()]


def corpus(size: int, seed: int = 0) -> tuple[list[Any], list[str]]:
    """Predictions and references as OpenCompass hands them over: faulty plans, broken text, recorded runs."""
    rng = random.Random(seed)
    golden = [_golden(rng, number) for number in range(size)]
    return [_prediction(rng, record) for record in golden], [json.dumps(record) for record in golden]


def _golden(rng: random.Random, number: int) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for place in range(rng.randint(1, 6)):
        args = {'city': rng.choice(['Rome', '北京', 'lone \ud83d']), 'n': rng.randint(0, 3)}
        prev = sorted(rng.sample(range(place), rng.randint(0, min(2, place))))
        steps.append({'id': place, 'name': rng.choice(TOOLS), 'args': args, 'prev': prev})
    several = {'ground_truths': [steps, steps[:1]]} if rng.random() < 0.1 else {}
    budget = {'budget': {'tokens': rng.randint(50, 200)}} if rng.random() < 0.5 else {}
    return {'id': f'q{number}', 'ground_truth': steps, **several, **budget}


def _prediction(rng: random.Random, record: dict[str, Any]) -> Any:
    steps = [dict(step) for step in record['ground_truth']]
    if rng.random() < 0.1:
        return rng.choice(['no plan', '', '[{"id": 0, "name": "search_flights", "args": {}}', 'null'])
    if rng.random() < 0.5:
        steps.insert(rng.randint(0, len(steps)), {'name': rng.choice(TOOLS), 'args': {}})
    for place, step in enumerate(steps):
        step['id'] = place
        step.pop('prev', None)
    if rng.random() < 0.3:
        calls = [{'name': step['name'], 'arguments': step['args']} for step in steps]
        run = {'tokens': rng.randint(10, 500), 'solved': rng.random() < 0.7}
        # What a text says about its own run is not believed.
        return {'messages': [_turn(calls)], **run}
    return json.dumps(steps)


def _turn(calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        'role': 'assistant',
        'tool_calls': [
            {
                'id': f'c{number}',
                'type': 'function',
                'function': {'name': call['name'], 'arguments': json.dumps(call['arguments'])},
            }
            for number, call in enumerate(calls)
        ],
    }


class Micro(Metric):
    """A number of the whole corpus that is no mean over the samples."""

    rates = ('micro',)
    ratios = MappingProxyType({'micro': Ratio(('hits', 'hits'), ('n_both',))})

    def score(self, comparison: Comparison) -> dict[str, Any]:
        names = [set(comparison.pred.names), set(comparison.ref.names)]
        hits, both = len(names[0] & names[1]), len(names[0]) + len(names[1])
        return {'micro': 2 * hits / both if both else 0.0, 'hits': hits, 'n_both': both}


class Where(Metric):
    """Which process scored the sample."""

    counts = ('one',)

    def score(self, comparison: Comparison) -> dict[str, Any]:
        return {'one': 1.0, 'process': os.getpid()}


class Killer(Where):
    """Kills the worker process that scores a certain sample, as the system does when memory runs out.

    Args:
        sample: Its name.
        parent: The process that may score it.
        mark: A file that says that it was done; once there, no other worker is killed. Empty: all are.
    """

    def __init__(self, sample: str, parent: int, mark: str = '') -> None:
        self.sample, self.parent, self.mark = sample, parent, mark

    def score(self, comparison: Comparison) -> dict[str, Any]:
        meant = comparison.reference.name == self.sample and os.getpid() != self.parent
        if meant and not (self.mark and Path(self.mark).exists()):
            if self.mark:
                Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().score(comparison)


class Wrong(Where):
    """Gives no number for a certain sample."""

    def __init__(self, sample: str) -> None:
        self.sample = sample

    def score(self, comparison: Comparison) -> dict[str, Any]:
        return {'one': float('nan') if comparison.reference.name == self.sample else 1.0}


class Unsendable(Where):
    """Holds what no other process can be sent."""

    def __init__(self) -> None:
        self.call = lambda: None
