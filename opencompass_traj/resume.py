"""A partitioner that makes `-r` safe: what a stopped run left half written, or scored otherwise, is made again.

OpenCompass takes any file that is there for finished work. A run that was killed, or a full disk, leaves predictions
and results that are cut off: the first lose the dataset quietly, the second stop the summary. Results of other
evaluator options are taken over without a word.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

from opencompass.partitioners import NaivePartitioner
from opencompass.registry import ICL_EVALUATORS, PARTITIONERS
from opencompass.utils import get_infer_output_path, get_logger

from opencompass_traj.report.settings import settings_differences

LOCK_NAME: Final = '.opencompass_traj.lock'
MAX_NAMED: Final = 5

_DECODER: Final = json.JSONDecoder()
_ENTRY: Final = re.compile(r'\s*[{,]\s*"([0-9]{1,12})"\s*:\s*')

# Kept for as long as the process lives: the operating system lets go of a lock with its process, however that ends.
_locks: dict[Path, IO[str]] = {}


class FolderInUseError(RuntimeError):
    """Another run works in the same folder."""


@PARTITIONERS.register_module()
class ResumingPartitioner(NaivePartitioner):  # type: ignore[misc]
    """OpenCompass' `NaivePartitioner`, which looks at what is there before it takes it for finished.

    - A file of predictions or results that is no whole JSON is renamed to `….broken`, named in the log, and made again.
    - Of the answers that a stopped run had already written, all whole ones are kept: none is asked, or paid, twice.
    - Results that were made with other evaluator options are renamed to `….outdated`, the options are named in the log,
      and the predictions are scored again.
    - A second run in the same folder is refused.

    Args:
        out_dir: As for `NaivePartitioner`.
        n: As for `NaivePartitioner`.
        keep_keys: As for `NaivePartitioner`.

    Example:
        In a config: `eval=dict(partitioner=dict(type=ResumingPartitioner), runner=…)`, and the same for `infer`.
    """

    def __init__(self, out_dir: str, n: int = 1, keep_keys: list[str] | None = None) -> None:
        super().__init__(out_dir=out_dir, n=n, keep_keys=keep_keys)

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
        """
        lock_folder(Path(work_dir))
        for model, dataset in _pairs(model_dataset_combinations):
            file = Path(get_infer_output_path(model, dataset, out_dir))
            _look_at(file, dataset)
            _keep_answers(Path(get_infer_output_path(model, dataset, str(Path(work_dir) / 'predictions'))))
        tasks: list[dict[str, Any]] = super().partition(
            model_dataset_combinations, work_dir, out_dir, dict(add_cfg or {})
        )
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
    file = (folder / LOCK_NAME).open('a+', encoding='ascii')
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read(20).strip()
        file.close()
        raise FolderInUseError(
            f'{folder}: another run works in this folder (process {owner or "unknown"}); '
            'wait for it, or start one in a folder of its own (without -r)'
        ) from None
    except OSError as error:
        # Some network file systems have no locks; then two runs are the user's affair.
        get_logger().debug(f'{folder}: cannot be locked: {error}')
        file.close()
        return
    file.truncate(0)
    file.write(f'{os.getpid()}\n')
    file.flush()
    _locks[folder] = file


def is_whole(file: Path) -> bool:
    """Whether there is a file, and it holds a JSON object to its end."""
    try:
        return isinstance(json.loads(file.read_text(encoding='utf-8')), dict)
    except (FileNotFoundError, ValueError, RecursionError):
        return False


def _pairs(combinations: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    for combination in combinations:
        for model in combination['models']:
            for dataset in combination['datasets']:
                yield model, dataset


def _keep_answers(file: Path) -> None:
    """See to it that OpenCompass goes on from the answers that a stopped run had, and from whole ones alone.

    It goes on from `tmp_….jsonl`, but throws all of it away where one line is cut off; and its chat inferencer writes
    `tmp_….json` instead, which nothing reads.
    """
    lines = file.with_name(f'tmp_{file.name}').with_suffix('.jsonl')
    content = file.with_name(f'tmp_{file.name}')
    if is_whole(file):
        # All answers are in it; what is left over would only bring old ones back if the file were deleted.
        content.unlink(missing_ok=True)
    elif lines.is_file():
        _keep_lines(lines)
    elif content.is_file():
        answers = _whole_entries(content.read_text(encoding='utf-8', errors='replace'))
        rows = [json.dumps({'idx': key, **answer}) for key, answer in answers]
        _replace(lines, ''.join(f'{row}\n' for row in rows).encode())
        content.unlink()
        get_logger().info(f'{file}: going on behind the {len(rows)} answers that a stopped run had')


def _keep_lines(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    whole = _whole_lines(lines)
    if len(whole) < len(lines):
        _replace(file, b''.join(whole))
        get_logger().warning(f'{file}: a run was stopped while writing; the {len(whole)} whole answers are kept')


def _whole_lines(lines: list[bytes]) -> list[bytes]:
    """The lines up to the first that is broken."""
    whole: list[bytes] = []
    for line in lines:
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not line.endswith(b'\n') or not isinstance(item, dict) or 'idx' not in item:
            break
        whole.append(line)
    return whole


def _whole_entries(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The entries of a JSON object by number, up to the first that is cut off or out of its turn."""
    entries: list[tuple[str, dict[str, Any]]] = []
    position = 0
    while (found := _ENTRY.match(text, position)) is not None and int(found[1]) == len(entries):
        try:
            value, position = _DECODER.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        entries.append((found[1], value))
    return entries


def _replace(file: Path, content: bytes) -> None:
    temporary = file.with_name(f'.{file.name}.{os.getpid()}.tmp')
    temporary.write_bytes(content)
    temporary.replace(file)


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
    number = 0
    while (target := file.with_name(f'{file.name}.{why}{f"-{number}" if number else ""}')).exists():
        number += 1
    return file.rename(target)
