"""Samples a second for the metrics that need no text encoder, by plan length, in one process and in two.

    python benchmarks/symbolic_speed.py [--lengths 5 20 100 500] [--seconds 4] [--data plan_json_v1.json] [--json FILE]

Reading the predictions is part of the time, reading the golden plans is not (its rate is given beside). First the
plans of T-Eval, without `--data` those of the demo, as they are; then plans of the lengths asked for, which are such
plans one after another. Every prediction is a golden plan with about one fault in ten steps: a step dropped, doubled,
swapped or renamed. Time in one process is that of its processor, which other work on the machine does not change much;
with several it is that of the clock: what three times the samples take longer than the samples. `start` are the seconds
until the processes are at work. `with_plan_match` adds `PlanMatch`, where all text vectors are known.
"""

import argparse
import json
import random
import time
import zlib

import numpy as np
from faults import FAULTS, with_fault
from machine import describe, machine, write

from opencompass_traj import scoring
from opencompass_traj.embedding import TextVectors
from opencompass_traj.scoring import Scorer, read_references, streaming
from opencompass_traj.tasks import read_tasks

METRICS = (
    'Recovery', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity', 'CausalFidelity', 'ForbiddenTools',
    'TrajectoryScore', 'ArgumentMatch', 'EffectMatch', 'LoopDetection', 'Efficiency', 'Outcome',
)  # fmt: skip
# At most so many different samples are made of one length; longer runs score them again.
MOST_MADE = 400


class HashedVectors:
    """Counts trigrams: similar texts are close, at no cost."""

    name = 'hashed'

    def encode(self, texts):
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for at in range(len(text) - 2):
                row[zlib.crc32(text[at : at + 3].encode('utf-8', 'replace')) % 384] += 1
        return rows


def plan_of(rng, plans, length):
    """Golden plans one after another, up to a length; each begins when the one before it is done."""
    made = []
    while len(made) < length:
        first = len(made)
        place = {}
        for step in rng.choice(plans):
            place[step['id']] = len(made)
            needs = [place[one] for one in step.get('prev') or () if one in place] or [first - 1] * (first > 0)
            if step['name'] != 'FinishAction':
                made.append({'id': len(made), 'name': step['name'], 'args': step['args'], 'prev': needs})
    return made[:length]


def with_faults(rng, steps):
    """The plan with a fault in about every tenth step, at least one."""
    return with_fault(steps, rng, faults=FAULTS, times=max(1, len(steps) // 10))


def samples(rng, plans):
    """Predictions as text, and golden records as text."""
    return [json.dumps(with_faults(rng, plan)) for plan in plans], [
        json.dumps({'ground_truth': plan}) for plan in plans
    ]


def scorer(names=METRICS, vectors=None):
    return Scorer([getattr(scoring, name)() for name in names], vectors=lambda: vectors)


def timed(clock, call):
    begin = clock()
    call()
    return clock() - begin


def known_vectors(predictions, references):
    """The vectors of all texts that `PlanMatch` reads."""
    vectors = TextVectors(HashedVectors())
    scorer((*METRICS, 'PlanMatch'), vectors).score(predictions, references)
    return vectors


def measure(name, made, seconds, workers):
    predictions, texts = made
    reading = timed(time.process_time, lambda: read_references(texts))
    golden = read_references(texts)
    one = scorer()
    pilot = timed(time.process_time, lambda: one.score(predictions, golden)) / len(predictions)
    times = max(1, round(seconds / pilot / len(predictions)))
    row = {'plans': name, 'steps': round(sum(len(r[0].written) for r in golden) / len(golden), 1)}
    row['samples'] = times * len(predictions)
    took = min(timed(time.process_time, lambda: one.score(predictions * times, golden * times)) for _ in range(2))
    row['one'] = row['samples'] / took
    walls = [
        timed(time.perf_counter, lambda n=n: one.score(predictions * n, golden * n, workers=workers))
        for n in (times, 3 * times)
    ]
    row['several'] = 2 * row['samples'] / (walls[1] - walls[0])
    row['start'] = max(0.0, walls[0] - row['samples'] / row['several'])
    row['golden_read'] = len(texts) / reading
    vectors = known_vectors(predictions, golden)
    both = scorer((*METRICS, 'PlanMatch'), vectors)
    row['with_plan_match'] = len(predictions) / timed(time.process_time, lambda: both.score(predictions, golden))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--lengths', type=int, nargs='+', default=[5, 20, 100, 500])
    parser.add_argument('--seconds', type=float, default=4.0, help='about how long each measurement takes')
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--data')
    parser.add_argument('--json', help='a file for the figures')
    options = parser.parse_args()
    # Long plans are few, and are still to be shared out.
    streaming.WORKERS_FROM_SAMPLES = 1
    rng = random.Random(0)
    plans = [
        task.record['ground_truth']
        for task in read_tasks(options.data or 'package:opencompass_traj/data/demo/tasks.jsonl')
    ]
    found = machine('numpy', 'scipy', 'rapidfuzz', 'networkx')
    print(describe(found))
    print(f'{len(METRICS)} metrics, samples a second; {options.workers} processes by the clock, one by its own time')
    columns = ('samples', 'one', 'several', 'start', 'with_plan_match', 'golden_read')
    print(f'{"plans":12}{"steps":>8}' + ''.join(f'{name:>17}' for name in columns))
    rows = []
    kinds = [('as they are', plans[:MOST_MADE])]
    for length in options.lengths:
        count = max(4, min(MOST_MADE, 2_000 // length))
        kinds += [(f'{length} steps', [plan_of(rng, plans, length) for _ in range(count)])]
    for name, made in kinds:
        row = measure(name, samples(rng, made), options.seconds, options.workers)
        rows.append(row)
        print(f'{name:12}{row["steps"]:8.1f}' + ''.join(f'{row[key]:17,.1f}' for key in columns), flush=True)
    write(options.json, found, rows, metrics=METRICS, workers=options.workers)


if __name__ == '__main__':
    main()
