"""Where the seconds of `opencompass configs/eval_traj.py` go, with an empty cache and with the cache that this left.

    python benchmarks/demo_time.py [--rounds 2] [--json FILE]

Each run is a process of its own. Clocks around the host's and our functions give the seconds that each took itself,
without those inside it that have a clock of their own. The first line is the host's import alone.
"""

import argparse
import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import describe, machine, write

CONFIG = Path(__file__).resolve().parents[1] / 'configs' / 'eval_traj.py'
HOST_IMPORT, HOST_REST = 'host: import', 'host: all else'
# Whose time it is, the module, and the function.
CLOCKS = (
    ('host: configs written for each task', 'mmengine.config', 'Config.dump'),
    ('host: config read', 'opencompass.cli.main', 'get_config_from_arg'),
    ('host: predictions written', 'opencompass.openicl.icl_inferencer.icl_base_inferencer', 'dump_results_dict'),
    ('host: results written', 'opencompass.tasks.openicl_eval', 'OpenICLEvalTask._save_results'),
    ('ours: golden plans and recordings read', 'opencompass_traj.dataset', 'read_tasks'),
    ('ours: golden plans and recordings read', 'opencompass_traj.model', 'RecordedAgent._add'),
    ('ours: encoder loaded', 'opencompass_traj.embedding', 'load_model'),
    ('ours: texts encoded', 'opencompass_traj.embedding', 'SentenceEncoder.encode'),
    ('ours: scoring', 'opencompass_traj.evaluator', 'TrajectoryPlanningEvaluator.score'),
    ('ours: summary and report', 'opencompass_traj.summarizer', 'TrajectorySummarizer.summarize'),
)


class Clocks:
    """Seconds by name; what runs inside another clock counts for itself alone."""

    def __init__(self):
        self.seconds = {}
        self._open = []

    @contextlib.contextmanager
    def running(self, name):
        begin = time.perf_counter()
        self._open.append(0.0)
        try:
            yield
        finally:
            took = time.perf_counter() - begin
            self.seconds[name] = self.seconds.get(name, 0.0) + took - self._open.pop()
            if self._open:
                self._open[-1] += took

    def wrap(self, name, module, path):
        place = importlib.import_module(module)
        *owners, last = path.split('.')
        for owner in owners:
            place = getattr(place, owner)
        original = getattr(place, last)

        @functools.wraps(original)
        def timed(*args, **options):
            with self.running(name):
                return original(*args, **options)

        setattr(place, last, timed)


def work(folder):
    """What one process does: the command, with clocks."""
    clocks = Clocks()
    with clocks.running(HOST_IMPORT):
        main = importlib.import_module('opencompass.cli.main')
    with clocks.running('ours: import'):
        importlib.import_module('opencompass_traj.evaluator')
        importlib.import_module('opencompass_traj.summarizer')
    for name, module, path in CLOCKS:
        clocks.wrap(name, module, path)
    sys.argv = ['opencompass', str(CONFIG), '-w', str(Path(folder) / 'out')]
    with clocks.running(HOST_REST):
        main.main()
    (Path(folder) / 'clocks.json').write_text(json.dumps(clocks.seconds), encoding='utf-8')


def run(folder, environment):
    begin = time.perf_counter()
    command = [sys.executable, __file__, '--work', folder]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    seconds = json.loads((Path(folder) / 'clocks.json').read_text(encoding='utf-8'))
    whole = time.perf_counter() - begin
    return {**seconds, 'python: start and end': whole - sum(seconds.values()), 'all': whole}


def measure(rounds):
    best = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, 'OPENCOMPASS_TRAJ_CACHE': str(Path(folder) / 'cache')}
            for state in ('empty cache', 'warm cache'):
                print(f'{state} …', flush=True)
                found = run(folder, environment)
                if state not in best or found['all'] < best[state]['all']:
                    best[state] = found
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--json', help='a file for the figures')
    parser.add_argument('--work', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work)
        return
    found = machine('opencompass', 'torch', 'transformers', 'sentence-transformers')
    print(describe(found), flush=True)
    best = measure(options.rounds)
    names = sorted(dict.fromkeys(name for run in best.values() for name in run if name != 'all'))
    rows = [{'seconds': name, **{state: best[state].get(name, 0.0) for state in best}} for name in [*names, 'all']]
    for row in rows:
        print(f'{row["seconds"]:42}' + ''.join(f'{row[state]:10.2f}' for state in best))
    write(options.json, found, rows)


if __name__ == '__main__':
    main()
