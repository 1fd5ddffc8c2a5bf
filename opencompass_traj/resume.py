"""A partitioner that makes `-r` safe: what a stopped run left half written, or scored otherwise, is made again.

OpenCompass takes any file that is there for finished work. A run that was killed, or a full disk, leaves predictions
and results that are cut off: the first lose the dataset quietly, the second stop the summary. Results of other
evaluator options are taken over without a word, and so are predictions of a golden file that has changed since.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from opencompass.partitioners import NaivePartitioner
from opencompass.registry import ICL_EVALUATORS, PARTITIONERS
from opencompass.utils import get_infer_output_path, get_logger

from opencompass_traj.details import SUFFIX
from opencompass_traj.golden_check import refuse_unsound
from opencompass_traj.report.settings import settings_differences
from opencompass_traj.run_inputs import (
    Made,
    changed_roles,
    check_inside,
    digests,
    file_digest,
    input_files,
    named,
    read_made,
    write_made,
)
from opencompass_traj.stopped_answers import is_whole, keep_answers

LOCK_NAME: Final = '.opencompass_traj.lock'
MAX_NAMED: Final = 5

# Kept for as long as the process lives: the operating system lets go of a lock with its process, however that ends.
# A bare descriptor, because a file object would be reported as never closed.
_locks: dict[Path, int] = {}


class FolderInUseError(RuntimeError):
    """Another run works in the same folder."""


@PARTITIONERS.register_module()
class ResumingPartitioner(NaivePartitioner):  # type: ignore[misc]
    """OpenCompass' `NaivePartitioner`, which looks at what is there before it takes it for finished.

    - A file of predictions or results that is no whole JSON is renamed to `….broken`, named in the log, and made again.
    - Of the answers that a stopped run had already written, all whole ones are kept: none is asked, or paid, twice.
    - Results that were made with other evaluator options are renamed to `….outdated`, the options are named in the log,
      and the predictions are scored again.
    - Predictions and results of a golden file, or a recording, that has changed since are renamed to `….outdated`, the
      file is named in the log, and they are made again.
    - A second run in the same folder is refused.
    - Before the first answer is asked for, the golden plans of all datasets with answers still to come, and their
      evaluators' options, are checked.

    Args:
        out_dir: As for `NaivePartitioner`.
        n: As for `NaivePartitioner`.
        keep_keys: As for `NaivePartitioner`.
        check: Whether golden plans and options are checked before all else; False leaves it to each task.

    Example:
        In a config: `eval=dict(partitioner=dict(type=ResumingPartitioner), runner=…)`, and the same for `infer`.
    """

    def __init__(self, out_dir: str, n: int = 1, keep_keys: list[str] | None = None, *, check: bool = True) -> None:
        super().__init__(out_dir=out_dir, n=n, keep_keys=keep_keys)
        self.check = check

    def partition(
        self,
        model_dataset_combinations: list[dict[str, Any]],
        work_dir: str,
        out_dir: str,
        add_cfg: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Make the tasks that are still to do.

        Args:
            model_dataset_combinations: Models and datasets, as OpenCompass gives them.
            work_dir: The run's folder.
            out_dir: Its folder of predictions or of results.
            add_cfg: What is added to each task's config.

        Returns:
            The tasks' configs.

        Raises:
            FolderInUseError: If another process works in the folder.
            ValueError: If a model or dataset is called so that its files would be outside the folder; before inference
                also if golden plans or evaluators' options are unsound (all are named).
        """
        pairs = list(_pairs(model_dataset_combinations))
        for model, dataset in pairs:
            check_inside(Path(out_dir), Path(get_infer_output_path(model, dataset, out_dir)))
        lock_folder(Path(work_dir))
        _look_at_inputs(Path(work_dir), pairs)
        for model, dataset in pairs:
            file = Path(get_infer_output_path(model, dataset, out_dir))
            _look_at(file, dataset)
            keep_answers(Path(get_infer_output_path(model, dataset, str(Path(work_dir) / 'predictions'))))
        tasks: list[dict[str, Any]] = super().partition(
            model_dataset_combinations, work_dir, out_dir, dict(add_cfg or {})
        )
        if self.check and Path(out_dir).name == 'predictions':
            refuse_unsound(dataset for task in tasks for part in task['datasets'] for dataset in part)
        return tasks


def lock_folder(folder: Path) -> None:
    """Claim a run's folder for this process.

    Raises:
        FolderInUseError: If another process has it.
    """
    folder = folder.resolve()
    if folder in _locks:
        return
    try:
        import fcntl
    except ImportError:
        return
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.read(file, 20).decode('ascii', errors='replace').strip()
        os.close(file)
        raise FolderInUseError(
            f'{folder}: another run works in this folder (process {owner or "unknown"}); '
            'wait for it, or start one in a folder of its own (without -r)'
        ) from None
    except OSError as error:
        # Some network file systems have no locks; then two runs are the user's affair.
        get_logger().debug(f'{folder}: cannot be locked: {error}')
        os.close(file)
        return
    _locks[folder] = file
    os.ftruncate(file, 0)
    os.write(file, f'{os.getpid()}\n'.encode())


def _pairs(combinations: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    for combination in combinations:
        for model in combination['models']:
            for dataset in combination['datasets']:
                yield model, dataset


def _look_at_inputs(folder: Path, pairs: list[tuple[Any, Any]]) -> None:
    """Set aside what was made from files that have changed since, and remember what they are now.

    What is to be remembered is written last: a run that is killed before that finds the same change again.
    """
    before = read_made(folder)
    after = dict(before)
    known: dict[Path, str] = {}
    for model, dataset in pairs:
        outputs = [
            Path(get_infer_output_path(model, dataset, str(folder / part))) for part in ('predictions', 'results')
        ]
        key = get_infer_output_path(model, dataset, '')
        files = input_files(model, dataset)
        inputs = digests(files, known)
        made = before.get(key, Made())
        replaced = _set_aside_changed(outputs, named(files, changed_roles(inputs, made.inputs))) or made.replaced
        if replaced and replaced == made.replaced and _brought_back(outputs, replaced):
            replaced = ''
        if inputs or replaced:
            after[key] = Made({**made.inputs, **inputs}, replaced)
    if after != before:
        write_made(folder, after)


def _set_aside_changed(outputs: list[Path], files: str) -> str:
    """Set aside what was made from files that have changed; the digest of the predictions, empty without them."""
    predictions, results = outputs
    half_written = predictions.with_name(f'tmp_{predictions.name}')
    there = [one for one in (results, half_written, half_written.with_suffix('.jsonl'), predictions) if one.is_file()]
    if not files or not there:
        return ''
    replaced = file_digest(predictions) if predictions.is_file() else ''
    kept = [_set_aside(file, 'outdated') for file in there]
    get_logger().warning(
        f'{files}: changed since {", ".join(map(str, there))} were made from it: kept as '
        f'{", ".join(file.name for file in kept)}, and made again'
    )
    if replaced:
        get_logger().warning(
            f'{predictions}: if the answers still fit the samples, number by number, keep them: rename {kept[-1].name} '
            f'back to {predictions.name}, in place of any new one, and run the same command again with -r'
        )
    return replaced


def _brought_back(outputs: list[Path], replaced: str) -> bool:
    """Whether predictions that were set aside are there again; then results of those that took their place are not."""
    predictions, results = outputs
    if not predictions.is_file() or file_digest(predictions) != replaced:
        return False
    if results.is_file():
        kept = _set_aside(results, 'outdated')
        get_logger().warning(
            f'{results}: the predictions set aside before are back: kept as {kept.name}, and they are scored'
        )
    return True


def _look_at(file: Path, dataset: Any) -> None:
    if not file.is_file():
        return
    if not is_whole(file):
        kept = _set_aside(file, 'broken')
        get_logger().warning(f'{file}: cut off, or no JSON: kept as {kept.name}, and made again')
        return
    differences = _differences(file, dataset)
    if differences:
        kept = _set_aside(file, 'outdated')
        more = f', and {len(differences) - MAX_NAMED} more' if len(differences) > MAX_NAMED else ''
        named = '; '.join(differences[:MAX_NAMED]).replace(', baseline ', ', before ') + more
        get_logger().warning(
            f'{file}: made with other options ({named}): kept as {kept.name}, and the predictions are scored again'
        )


def _differences(file: Path, dataset: Any) -> list[str]:
    """The options in which the evaluator now differs from the one that made a result; none for other files."""
    content = json.loads(file.read_text(encoding='utf-8'))
    made_with = content.get('settings')
    if isinstance(made_with, list) and made_with:
        made_with = made_with[0]
    config = (dataset.get('eval_cfg') or {}).get('evaluator')
    if not isinstance(made_with, dict) or config is None:
        return []
    settings = getattr(ICL_EVALUATORS.build(copy.deepcopy(config)), 'settings', None)
    return [] if settings is None else settings_differences(json.loads(json.dumps(settings())), made_with)


def _set_aside(file: Path, why: str) -> Path:
    """Rename a file, and the details beside a result in the same way.

    The file is the last: a run that is killed between the two finds it again, and gives it the ending of its details.
    """
    parts = [one for one in (file.with_suffix(SUFFIX), file) if one.is_file()]
    number, ending = 0, why
    while any(Path(f'{one}.{ending}').exists() for one in parts):
        number += 1
        ending = f'{why}-{number}'
    *_, kept = [one.rename(f'{one}.{ending}') for one in parts]
    return kept
