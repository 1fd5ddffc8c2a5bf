"""Small runs for the tests of the page: scored as the evaluator scores, without a text encoder and without the host."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from opencompass_traj import scoring
from opencompass_traj.recordings import read_recording
from opencompass_traj.report.runs import Run, TaskResult
from opencompass_traj.scoring import Scorer, read_references
from opencompass_traj.tasks import read_tasks

DEMO = 'package:opencompass_traj/data/demo'
FAMILIES = (
    'Recovery', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity', 'CausalFidelity', 'ForbiddenTools',
    'TrajectoryScore', 'ArgumentMatch', 'EffectMatch', 'LoopDetection', 'Efficiency', 'Outcome',
)  # fmt: skip


def steps(*names: str, prev: Sequence[Sequence[int]] | None = None, args: Sequence[Any] | None = None) -> list[Any]:
    """Steps in T-Eval's layout; `prev` and `args`, where given, one entry per step."""
    made: list[dict[str, Any]] = [{'id': i, 'name': name, 'args': {}} for i, name in enumerate(names)]
    for i, ids in enumerate(prev or ()):
        made[i]['prev'] = list(ids)
    for i, one in enumerate(args or ()):
        made[i]['args'] = one
    return made


def task(model: str, predictions: Sequence[Any], records: Sequence[Any], *, dataset: str = 'made') -> TaskResult:
    """A model's result on golden records, as `read_run` gives it."""
    metrics = [getattr(scoring, name)() for name in FAMILIES]
    found = Scorer(metrics).score(list(predictions), read_references(list(records)))
    rates = frozenset(key for metric in metrics for key in (*metric.rates, *metric.sparse.values()))
    numbers = {key: value * (100 if key in rates else 1) for key, value in found.means.items()}
    rows = [{**row, 'replica': 0} for row in found.details]
    return TaskResult(model, dataset, numbers, {}, rows, rates)


def row(pred: Any, golden: Any) -> dict[str, Any]:
    """The details of one prediction; `golden` is a list of steps or a record."""
    record = golden if isinstance(golden, dict) else {'id': 't', 'query': 'q', 'ground_truth': golden}
    return dict(task('m', [pred], [record]).rows[0])


def run_of(*tasks: TaskResult, name: str = 'made') -> Run:
    return Run(Path('/runs') / name, tasks)


@cache
def demo_run() -> Run:
    """The packaged demo: six agents on 30 tasks, and two recorded ones on 8 with outcomes, time and tokens."""
    found = []
    for dataset, tasks, agents in (
        ('trajectory-demo', 'tasks.jsonl', ('exact', 'reordered', 'planner', 'roundabout', 'careless', 'looping')),
        ('recorded-demo', 'recorded/tasks.jsonl', ('direct', 'detour')),
    ):
        read = read_tasks(f'{DEMO}/{tasks}')
        paths = {'direct': 'recorded/direct.jsonl', 'detour': 'recorded/detour'}
        for agent in agents:
            recorded = read_recording(f'{DEMO}/{paths.get(agent, f"agents/{agent}.jsonl")}', tasks=read)
            answers = [recorded.get(one.id, '') for one in read]
            found.append(task(agent, answers, [one.record for one in read], dataset=dataset))
    failed = TaskResult(
        'absent', 'trajectory-demo', failure='RuntimeError: <the model> & its "endpoint" did not answer'
    )
    return run_of(*found, failed, name='20310512_101500')


def older_run() -> Run:
    """The demo as an older version wrote it: rows without steps, queries and edges."""
    added = {'pred_steps', 'ref_steps', 'pred_edges', 'ref_edges', 'query', 'tags', 'raw'}
    tasks = [
        TaskResult(one.model, one.dataset, one.numbers, {}, [
            {key: value for key, value in row.items() if key not in added} for row in one.rows
        ], one.rates)
        for one in demo_run().scored[:2]
    ]  # fmt: skip
    return run_of(*tasks, name='older')


BIDI = 'user\u202etxt.exe\u2066\u200b'
HOSTILE = (
    '<script>window.hacked = 1</script>',
    '</script><script>window.hacked = 2</script>',
    '<img src=x onerror="window.hacked = 3">',
    '<!--<script>window.hacked = 4//-->',
    '{{ 7 * 7 }}${7*7}{% raw %}',
    '"><svg onload=window.hacked=5>',
    'javascript:window.hacked=6',
    "' onmouseover='window.hacked=7",
    BIDI,
    'nul\x00bell\x07escape\x1b[31m\x85',
    'half \ud83d pair',
    '\u2028\u2029\ufeff',
    ']]>&lt;b&gt;&#60;i&#62;',
    '__proto__',
    'constructor',
)


def hostile_run(*, long: int = 1_000_000) -> Run:
    """Every text that a model, a task or a folder's name can bring is hostile somewhere."""
    records, predictions = [], []
    for place, text in enumerate(HOSTILE):
        args = {text: text, 'plain': 1}
        golden = [
            *steps('look', text, prev=[[], [0]], args=[args, {}]),
            {'id': 2, 'name': 'end', 'args': {}, 'prev': [1]},
        ]
        records.append({'id': f'{place} {text}', 'query': text, 'tags': [text], 'ground_truth': golden})
        predictions.append(steps(text, 'look', text + 'x', args=[{text: [text]}, {text: text * 2}, text]))
    golden = steps('look', prev=[[]])
    records += [
        {'id': 'unreadable', 'query': 'q', 'ground_truth': golden},
        {'id': 'long', 'query': 'q' * long, 'ground_truth': golden},
    ]
    predictions += [' '.join(HOSTILE), steps('look', 'n' * long, args=[{'text': 'a' * long, 'k' * long: 1}, {}])]
    model = '<b onclick="window.hacked=8">m</b>' + BIDI
    failed = TaskResult(HOSTILE[0], HOSTILE[1], failure=HOSTILE[2] + BIDI)
    return run_of(
        task(model, predictions, records, dataset=HOSTILE[5]), failed, name='</title><script>window.hacked = 9<'
    )
