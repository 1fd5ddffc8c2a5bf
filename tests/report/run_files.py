"""A small run on disk, scored as the evaluator scores, without a text encoder and without the host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass_traj.scoring import (
    ArgumentMatch,
    Efficiency,
    GraphSimilarity,
    LoopDetection,
    Outcome,
    Recovery,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)


def _plan(*names: str, prev: list[list[int]] | None = None) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = [{'id': i, 'name': name, 'args': {}} for i, name in enumerate(names)]
    return steps if prev is None else [{**one, 'prev': ids} for one, ids in zip(steps, prev, strict=True)]


GOLDEN = {
    'chain': _plan('find', 'book', 'mail'),
    'open': _plan('find', 'hotel', 'flight', 'mail', prev=[[], [0], [0], [1, 2]]),
    'one': _plan('find'),
}
GOOD: dict[str, Any] = GOLDEN
BAD: dict[str, Any] = {
    'chain': _plan('find', 'find', 'search', 'mail'),
    'open': _plan('flight', 'hotel', 'find', 'mail', prev=[[], [0], [1], [2]]),
    'one': 'Sorry, I cannot.',
}
SETTINGS = {'metric_version': '1'}


def write_run(folder: Path, answers: Mapping[str, Mapping[str, Any]], *, repeat: int = 1) -> Path:
    """A run's folder with the dataset `trips`, of `repeat` samples per golden plan, answered by every model."""
    names = [(name, number) for number in range(repeat) for name in GOLDEN]
    golden = read_references([{'id': f'{name}-{number}', 'ground_truth': GOLDEN[name]} for name, number in names])
    for model, given in answers.items():
        metrics = [
            Recovery(), SequenceSimilarity(), GraphSimilarity(), TrajectoryScore(), ArgumentMatch(), LoopDetection(),
            Efficiency(), Outcome(),
        ]  # fmt: skip
        found = Scorer(metrics).score([given[name] for name, _ in names], golden)
        content = {**found.in_percent(), 'settings': SETTINGS, 'details': found.details}
        file = folder / 'results' / model / 'trips.json'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding='utf-8')
    return folder
