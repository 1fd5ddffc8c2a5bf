"""How the time of each metric grows with the length of the plan: seconds per sample, and the exponent of the growth.

    python benchmarks/growth.py [--lengths 25 50 100 200 400] [--seconds 45] [--data FILE] [--json FILE]

Two kinds of samples: plans whose dependencies the prediction states (`graph`), and recorded runs whose calls come in
turns of five parallel ones (`parallel`), each against a golden plan of the same kind with a fault in every tenth step.
The exponent is the slope of a straight line through the logarithms of the three longest lengths: 1 is linear, 2
quadratic. `read` is reading the prediction and its dependencies. What a metric needs of another (`ArgumentMatch` the
best mapping) is not counted again. The metrics bound their work: from some length on a result may be a bound, and the
exponent then says how the bound's cost grows.
"""

import argparse
import json
import math
import random
import time

from machine import describe, machine, write
from symbolic_speed import METRICS, plan_of, with_faults

from opencompass_traj import scoring
from opencompass_traj.scoring import Comparison, Reading, read_references
from opencompass_traj.tasks import read_tasks

KINDS = ('graph', 'parallel')
TURN = 5


def sample(kind, rng, plans, length):
    """A prediction as text, and its golden plan."""
    plan = plan_of(rng, plans, length)
    if kind == 'graph':
        pred = json.dumps(with_faults(rng, plan))
    else:
        plan = [{'name': step['name'], 'args': step['args'], 'turn': i // TURN} for i, step in enumerate(plan)]
        calls = [{'name': step['name'], 'args': step['args']} for step in with_faults(rng, plan)]
        pred = json.dumps({'plan': [calls[at : at + TURN] for at in range(0, len(calls), TURN)]})
    return pred, read_references([json.dumps({'ground_truth': plan})])[0][0]


def seconds_of(names, pred, golden):
    """Processor seconds of each metric for one sample, in the order of the list."""
    begin = time.process_time()
    comparison = Comparison(pred, golden, Reading())
    for part in ('pred_edges', 'ref_graph', 'pred_ranks'):
        getattr(comparison, part)
    found = {'read': time.process_time() - begin}
    for name in names:
        metric = getattr(scoring, name)()
        begin = time.process_time()
        comparison.values.update(metric.score(comparison))
        found[name] = time.process_time() - begin
    return found


def exponent(times):
    """The slope through the last three points in logarithms; None where there are fewer."""
    points = [(math.log(length), math.log(max(seconds, 1e-7))) for length, seconds in sorted(times.items())[-3:]]
    if len(points) < 3:
        return None
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def measure(kind, lengths, plans, limit):
    """By metric, the seconds by length: the mean over a few samples."""
    times = {}
    begin = time.perf_counter()
    for length in lengths:
        rng = random.Random(length)
        for number in range(3):
            if number and time.perf_counter() - begin > limit:
                break
            for name, seconds in seconds_of(METRICS, *sample(kind, rng, plans, length)).items():
                times.setdefault(name, {}).setdefault(length, []).append(seconds)
        if time.perf_counter() - begin > limit:
            break
    return {name: {length: sum(all_) / len(all_) for length, all_ in by.items()} for name, by in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--lengths', type=int, nargs='+', default=[25, 50, 100, 200, 400])
    parser.add_argument(
        '--seconds', type=float, default=45.0, help='after which no longer plans are tried, for each kind'
    )
    parser.add_argument('--data', help="T-Eval's plans, or another golden file; by default the demo's")
    parser.add_argument('--json', help='a file for the figures')
    options = parser.parse_args()
    tasks = read_tasks(options.data or 'package:opencompass_traj/data/demo/tasks.jsonl')
    plans = [task.record['ground_truth'] for task in tasks]
    found = machine('numpy', 'scipy', 'rapidfuzz', 'networkx')
    print(describe(found))
    rows = []
    for kind in KINDS:
        seconds_of(METRICS, *sample(kind, random.Random(0), plans, 10))
        times = measure(kind, options.lengths, plans, options.seconds)
        lengths = sorted({length for by in times.values() for length in by})
        print(
            f'\n{kind}: milliseconds by the number of steps\n{"":24}'
            + ''.join(f'{n:10d}' for n in lengths)
            + '  exponent'
        )
        for name, by in times.items():
            slope = exponent(by)
            cells = ''.join(f'{1e3 * by[n]:10.2f}' if n in by else ' ' * 10 for n in lengths)
            print(f'{name:24}{cells}' + ('' if slope is None else f'{slope:10.2f}'), flush=True)
            rows.append(
                {'kind': kind, 'metric': name, 'seconds': {str(n): s for n, s in by.items()}, 'exponent': slope}
            )
    write(options.json, found, rows)


if __name__ == '__main__':
    main()
