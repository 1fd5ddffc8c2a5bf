"""T-Eval's own numbers in worker processes: upstream's class, torch and NumPy give the same bits there."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencompass_traj.scoring import streaming
from opencompass_traj.scoring.workers import Workers
from tests.scale.corpora import Where, corpus

pytestmark = pytest.mark.host


class Scattered:
    """Rows that look like a text encoder's: full, of many numbers, and different in the last bits."""

    name = 'scattered'

    def encode(self, texts: list[str]) -> np.ndarray:
        rows = [np.random.default_rng([*text.encode(), 7]).standard_normal(768) for text in texts]
        return np.asarray(rows, dtype=np.float32) + 1


def long_plans() -> tuple[list[str], list[str]]:
    """Plans of up to 55 steps: from a size on, libraries spread a matrix product over threads."""
    rng = random.Random(0)
    golden = [
        [{'id': i, 'prev': [i - 1] if i else [], 'name': f'tool {rng.randrange(30)}', 'args': {}} for i in range(size)]
        for size in (1, 7, 20, 33, 55)
    ]
    predictions = [rng.sample(steps, rng.randint(len(steps) // 2, len(steps))) for steps in golden]
    renumbered = [[{**step, 'id': i, 'prev': []} for i, step in enumerate(steps)] for steps in predictions]
    return list(map(json.dumps, renumbered)), [json.dumps({'ground_truth': steps}) for steps in golden]


def test_all_numbers_are_the_same_bit_for_bit(build: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, 'WORKERS_FROM_SAMPLES', 2)
    monkeypatch.setattr(streaming, 'CHUNK_SAMPLES', 5)
    enter = Workers.__enter__

    def wait(self: Workers[Any]) -> Workers[Any]:
        enter(self)
        until = time.monotonic() + 120
        while self._executor is None and time.monotonic() < until:
            time.sleep(0.05)
        return self

    monkeypatch.setattr(Workers, '__enter__', wait)
    given = [one + other for one, other in zip(corpus(40), long_plans(), strict=True)]
    names = ('TEvalPlanning', 'PlanMatch', 'SequenceSimilarity', 'GraphSimilarity', 'TrajectoryScore', 'Outcome')
    metrics = [{'type': name} for name in names]
    alone, by_two = (build(Scattered(), metrics=[*metrics, Where()], workers=count).score(*given) for count in (1, 2))
    # They were scored elsewhere.
    assert {row.pop('process') for row in alone['details']} == {os.getpid()}
    assert os.getpid() not in {row.pop('process') for row in by_two['details']}
    assert json.dumps(by_two['details']) == json.dumps(alone['details'])
    assert json.dumps({**by_two, 'details': []}) == json.dumps({**alone, 'details': []})
    assert 0 < alone['f1_score'] < 100
