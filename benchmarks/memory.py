"""Peak memory by the number of samples, with the rows of details in a file and in memory; each in its own process.

    python benchmarks/memory.py [--samples 1000 10000 100000] [--data plan_json_v1.json] [--workers 1] [--json FILE]

The samples are T-Eval's plans (without `--data` the demo's) with faults, made when they are asked for: what is
measured is what scoring needs, not the texts that OpenCompass holds of every sample in any case. The metrics are all
that need no text encoder. Rows are kept in memory only up to `--most-in-memory` samples.
"""

import argparse
import datetime
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from faults import with_fault

from opencompass_traj import scoring
from opencompass_traj.details import DetailsFile
from opencompass_traj.scoring import Scorer, UnreadReferences
from opencompass_traj.tasks import read_tasks

METRICS = (
    'Recovery', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity', 'CausalFidelity', 'ForbiddenTools',
    'TrajectoryScore', 'ArgumentMatch', 'EffectMatch', 'LoopDetection', 'Efficiency', 'Outcome',
)  # fmt: skip


class Made(Sequence):
    """Texts that are made when they are asked for; the same for the same number."""

    def __init__(self, records, size, make):
        self.records, self.size, self.make = records, size, make

    def __len__(self):
        return self.size

    def __getitem__(self, at):
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self.size))]
        return self.make(self.records[at % len(self.records)], at)


def prediction(record, number):
    return json.dumps(with_fault(record['ground_truth'], random.Random(number)))


def reference(record, number):
    return json.dumps({**record, 'id': f'{record["id"]}-{number}'})


def peak():
    """Megabytes of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(options):
    """What one process does; prints its figures."""
    records = [task.record for task in read_tasks(options.data)]
    (size,) = options.samples
    scorer = Scorer([getattr(scoring, name)() for name in METRICS])
    predictions, references = Made(records, size, prediction), UnreadReferences(Made(records, size, reference))
    before = peak()
    begin, cpu = time.perf_counter(), time.process_time()
    written = 0
    if options.work == 'file':
        with tempfile.TemporaryDirectory() as folder:
            with DetailsFile(Path(folder) / 'details.jsonl') as file:
                result = scorer.score(predictions, references, workers=options.workers, write=file.write)
            written = file.path.stat().st_size / 1e6
    else:
        result = scorer.score(predictions, references, workers=options.workers)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    figures = {
        'samples': size, 'details': options.work, 'workers': options.workers, 'start_mb': before, 'peak_mb': peak(),
        'seconds': seconds, 'per_second': size / seconds, 'per_cpu_second': size / cpu, 'file_mb': written,
        'trajectory_score': result.means['trajectory_score'],
    }  # fmt: skip
    print(json.dumps(figures))


def run(options, size, details):
    command = [sys.executable, __file__, '--work', details, '--samples', str(size), '--data', options.data]
    command += ['--workers', str(options.workers)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(found.stdout.splitlines()[-1])


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--samples', type=int, nargs='+', default=[1_000, 10_000, 100_000])
    parser.add_argument('--most-in-memory', type=int, default=10_000)
    parser.add_argument('--data', default='package:opencompass_traj/data/demo/tasks.jsonl')
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--json', help='a file for the figures')
    parser.add_argument('--work', help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parsed()
    if options.work:
        work(options)
        return
    machine = {
        'date': datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        'platform': platform.platform(),
        'cores': os.cpu_count(),
        'python': platform.python_version(),
        **{name: version(name) for name in ('numpy', 'scipy', 'rapidfuzz')},
    }
    print(', '.join(f'{key} {value}' for key, value in machine.items()))
    print(
        f'{"samples":>9}{"details":>9}{"start MB":>10}{"peak MB":>10}{"a second":>10}{"a CPU second":>14}{"file MB":>9}'
    )
    rows = []
    for size in options.samples:
        for details in ('file', 'memory') if size <= options.most_in_memory else ('file',):
            row = run(options, size, details)
            rows.append(row)
            print(
                f'{size:9,}{details:>9}{row["start_mb"]:10.0f}{row["peak_mb"]:10.0f}'
                f'{row["per_second"]:10.0f}{row["per_cpu_second"]:14.0f}{row["file_mb"]:9.1f}',
                flush=True,
            )
    if options.json:
        Path(options.json).write_text(json.dumps({'machine': machine, 'rows': rows}, indent=1) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
