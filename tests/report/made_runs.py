"""Runs made of plain values, in memory and on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_traj.report.runs import Run, TaskResult
from opencompass_traj.scoring import (
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

SETTINGS = {'metric_version': '1', 'match_threshold': 0.7, 'metrics': [{'type': 'Outcome', 'threshold': 0.7}]}
RATES = frozenset({'trajectory_score', 'silent_degradation_rate', 'solved_rate', 'my_rate'})


def task(
    model: str = 'm',
    dataset: str = 'd',
    *,
    settings: Mapping[str, Any] | None = None,
    samples: Sequence[str] | None = None,
    **columns: Sequence[float | None],
) -> TaskResult:
    """A task with one row per value; rates in [0, 1], as rows have them."""
    size = max((len(values) for values in columns.values()), default=0)
    names = samples or [f's{i}' for i in range(size)]
    rows = [
        {'sample': names[i], 'replica': 0, **{key: values[i] for key, values in columns.items()}} for i in range(size)
    ]
    numbers = {}
    for key, values in columns.items():
        known = [value for value in values if value is not None]
        numbers[key] = (100 if key in RATES else 1) * sum(known) / len(known) if known else 0.0
    return TaskResult(model, dataset, numbers, SETTINGS if settings is None else settings, rows, RATES & {*columns})


def run(*tasks: TaskResult) -> Run:
    return Run(Path('made'), tasks)


def failed(model: str = 'm', dataset: str = 'd', why: str = 'out of memory') -> TaskResult:
    return TaskResult(model, dataset, failure=why)


def plan(*names: str, prev: Sequence[Sequence[int]] | None = None) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = [{'id': i, 'name': name, 'args': {}} for i, name in enumerate(names)]
    return steps if prev is None else [{**one, 'prev': list(ids)} for one, ids in zip(steps, prev, strict=True)]


GOLDEN = {
    'chain': plan('find', 'book', 'mail'),
    'open': plan('find', 'hotel', 'flight', 'mail', prev=[[], [0], [0], [1, 2]]),
    'one': plan('find'),
}
RIGHT = {'chain': plan('find', 'book', 'mail'), 'open': GOLDEN['open'], 'one': plan('find')}
WRONG = {
    'chain': plan('find', 'find', 'search', 'mail'),
    'open': plan('flight', 'hotel', 'find', 'mail', prev=[[], [0], [1], [2]]),
    'one': 'Sorry, I cannot.',
}


def write_run(folder: Path, answers: Mapping[str, Mapping[str, Any]], *, repeat: int = 1) -> Path:
    """A run's folder, with one dataset `trips` that every model's answers are scored on."""
    kinds = (Recovery, SequenceSimilarity, GraphSimilarity, TrajectoryScore, LoopDetection, Efficiency, Outcome)
    names = [(name, number) for number in range(repeat) for name in GOLDEN]
    golden = read_references([{'id': f'{name}-{number}', 'ground_truth': GOLDEN[name]} for name, number in names])
    for model, given in answers.items():
        found = Scorer([kind() for kind in kinds]).score([given[name] for name, _ in names], golden)
        content = {**found.in_percent(), 'settings': SETTINGS, 'details': found.details}
        file = folder / 'results' / model / 'trips.json'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding='utf-8')
    return folder
