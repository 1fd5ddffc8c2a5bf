"""A run as its folder holds it: every task's numbers and rows, and why a task has none.

Only result files, the names of prediction files and the ends of logs are read. OpenCompass' config dumps are Python
code, and nothing is taken from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from opencompass_traj.report.logs import failure_reason
from opencompass_traj.report.results import ResultFileError, read_result
from opencompass_traj.report.shards import join_tasks

Row: TypeAlias = Mapping[str, Any]

PARTS: Final = ('results', 'predictions', 'logs/infer', 'logs/eval')
"""The folders of a run that say which tasks it had; each holds `<model>/<dataset>.*`."""

_TIME: Final = re.compile(r'[0-9]{8}_[0-9]{6}')
_PARTIAL: Final = re.compile(r'(.+)_[0-9]+')
_TEMPORARY: Final = 'tmp_'


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What one model has on one dataset.

    Attributes:
        model: The model's `abbr`.
        dataset: The dataset's `abbr`.
        numbers: The result's finite numbers: rates 0 to 100, counts as means per sample. With replicas, their average,
            under the metric's own key.
        settings: The options that the numbers were made with; empty for another evaluator's result.
        rows: One row of details per sample and replica, in the file's order: the keys of `docs/metrics.md`, each with
            the value itself (no list around it), and `replica`, from 0. Rates are in [0, 1] here. Empty for another
            evaluator's result.
        rates: The keys of `rows` that are rates: a number of `numbers` is 100 times their mean.
        counts: How many samples the numbers are means of: `all`, and those that have a number that not all have. Empty
            where the result does not say.
        failure: Why there is no result, fit to be shown; empty where there is one.
    """

    model: str
    dataset: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ()
    rates: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict)
    failure: str = ''


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the folder of one time stamp.

    Attributes:
        work_dir: The folder that holds `results`.
        tasks: One entry for each model and dataset, failed ones included, models and datasets in a stable order.
    """

    work_dir: Path
    tasks: tuple[TaskResult, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models' names, each once, in the order of `tasks`."""
        return tuple(dict.fromkeys(task.model for task in self.tasks))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets' names, each once, in the order of `tasks`."""
        return tuple(dict.fromkeys(task.dataset for task in self.tasks))

    @property
    def scored(self) -> tuple[TaskResult, ...]:
        """The tasks that have a result."""
        return tuple(task for task in self.tasks if not task.failure)

    @property
    def failed(self) -> tuple[TaskResult, ...]:
        """The tasks that have none."""
        return tuple(task for task in self.tasks if task.failure)

    def task(self, model: str, dataset: str) -> TaskResult | None:
        """The task of a model and a dataset; None where the run has none."""
        return next((task for task in self.tasks if (task.model, task.dataset) == (model, dataset)), None)


def read_run(path: str | Path, *, expected: Iterable[tuple[str, str]] = ()) -> Run:
    """Read a run.

    Args:
        path: A run's `work_dir` (of its time-stamped folders the newest is taken), or one such folder.
        expected: Models and datasets that the run was to have, in the order to be shown: those of which nothing is
            found are failed tasks. Tasks that are found and not expected come after them, sorted by name.

    Returns:
        The run. A result file that cannot be read is a failed task, with the reason. The shards of a dataset are one
        task under the dataset's name.

    Raises:
        FileNotFoundError: If there is no such folder, or no run in it.
    """
    folder = run_folder(path)
    found = {part: _names(folder / part) for part in PARTS}
    known = sorted(set().union(*found.values()))
    results = found['results']
    tasks = dict.fromkeys([*expected, *(name for name in known if name in results or not _is_part(name, known))])
    read = (_task(folder, model, dataset) for model, dataset in tasks)
    return Run(folder, tuple(join_tasks(read, absent=partial(_task, folder))))


def run_folder(path: str | Path) -> Path:
    """The folder that holds a run's `results`: the path itself, or the newest time-stamped folder in it.

    Raises:
        FileNotFoundError: If there is no run.
    """
    given = Path(path).expanduser()
    if not given.is_dir():
        raise FileNotFoundError(f'no folder {str(path)!r}')
    stamped = sorted(inner for inner in given.iterdir() if _TIME.fullmatch(inner.name) and inner.is_dir())
    if (given / 'configs').is_dir():
        # A run of which nothing came.
        return given
    for folder in (given, *reversed(stamped)):
        if any((folder / part).is_dir() for part in PARTS):
            return folder
    raise FileNotFoundError(
        f'no run in {str(path)!r}: expected a folder with `results`, or with folders named like 20261231_235959 in it'
    )


def result_file(folder: Path, model: str, dataset: str) -> Path:
    """Where OpenCompass writes a task's result; `folder` is a run's."""
    return folder / 'results' / model / f'{dataset}.json'


def _names(folder: Path) -> set[tuple[str, str]]:
    """Models and datasets of which there is a file. A model's name may hold slashes, and a dataset's dots."""
    files = (file for file in folder.rglob('*') if file.suffix in {'.json', '.out'} and file.is_file())
    named = ((file.relative_to(folder).parent.as_posix(), file.stem.removeprefix(_TEMPORARY)) for file in files)
    return {(model, dataset) for model, dataset in named if model != '.'}


def _is_part(name: tuple[str, str], known: Sequence[tuple[str, str]]) -> bool:
    """Whether a file belongs to a part of a dataset that is known as a whole: `demo_0` beside `demo`."""
    match = _PARTIAL.fullmatch(name[1])
    return match is not None and (name[0], match[1]) in known


def _task(folder: Path, model: str, dataset: str) -> TaskResult:
    file = result_file(folder, model, dataset)
    if not file.is_file():
        return TaskResult(model, dataset, failure=failure_reason(folder, model, dataset))
    try:
        result = read_result(file)
    except ResultFileError as error:
        return TaskResult(model, dataset, failure=str(error))
    return TaskResult(model, dataset, result.numbers, result.settings, result.rows, result.rates, result.counts)
