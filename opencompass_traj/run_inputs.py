"""Which golden and recorded files a run's predictions were made from, so that a later change of them is noticed.

OpenCompass matches predictions to samples by number: a row that is added to a golden file shifts all behind it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from opencompass_traj.files import resolve_path
from opencompass_traj.hashing import file_hash
from opencompass_traj.whole_files import whole_file

INPUTS_NAME: Final = '.opencompass_traj.inputs.json'
GOLDEN: Final = 'golden'

_READ_IN_FOLDERS: Final = ('.json', '.jsonl')


@dataclass(frozen=True, slots=True)
class Made:
    """What the predictions of one model for one dataset were made from.

    Attributes:
        inputs: The digest of each input file by its role: `golden`, `recording 0`, `recording 1`, ….
        replaced: The digest of the predictions that a changed input has put aside last; empty where there are none.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    replaced: str = ''


def input_files(model: Mapping[str, Any], dataset: Mapping[str, Any]) -> dict[str, Path]:
    """The files that a model's predictions for a dataset depend on, by their role.

    Args:
        model: Its config. It is a recorded agent if it has `path` and `tasks`; of other models nothing is looked at.
        dataset: Its config. A folder is looked into for `TrajectoryDataset` alone; of T-Eval's dataset it is the
            subset's file.

    Returns:
        The files that can be found; those that cannot are left out.
    """
    kind = _class_name(dataset.get('type'))
    golden = dataset.get('path')
    if isinstance(golden, str) and kind.endswith('TEvalDataset') and 'name' in dataset:
        golden = f'{golden}/{dataset["name"]}.json'
    wanted = {GOLDEN: (golden, kind.endswith('TrajectoryDataset'))}
    if 'tasks' in model:
        given = model.get('path')
        recordings = [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else []
        wanted |= {f'recording {number}': (path, True) for number, path in enumerate(recordings)}
    found = {role: _found(path, folders=folders) for role, (path, folders) in wanted.items()}
    return {role: path for role, path in found.items() if path is not None}


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content; of a folder: of the names and contents of the JSON files directly in it.

    Args:
        path: The file or folder.

    Returns:
        The digest in hexadecimal; empty where it cannot be read.
    """
    try:
        if not path.is_dir():
            return file_hash(path).hex()
        files = (file for file in sorted(path.iterdir()) if file.suffix in _READ_IN_FOLDERS and file.is_file())
        listed = ''.join(f'{file_hash(file).hex()} {file.name}\n' for file in files)
    except OSError:
        return ''
    return hashlib.sha256(listed.encode(errors='surrogateescape')).hexdigest()


def changed_roles(inputs: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """The roles whose file is another than before; one that was or is not known says nothing.

    Example:
        >>> changed_roles({'golden': 'b', 'recording 0': 'c'}, {'golden': 'a'})
        ['golden']
    """
    return [role for role, digest in inputs.items() if before.get(role, digest) != digest]


def read_made(folder: Path) -> dict[str, Made]:
    """Read what is known of a run's inputs.

    Args:
        folder: The run's folder.

    Returns:
        By `model/dataset`; empty for a run that nothing was written for, or whose file is no JSON of this kind.
    """
    try:
        content = json.loads((folder / INPUTS_NAME).read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError):
        return {}
    entries = content.get('made') if isinstance(content, dict) else None
    return {key: _made(entry) for key, entry in entries.items()} if isinstance(entries, dict) else {}


def write_made(folder: Path, made: Mapping[str, Made]) -> None:
    """Write what is known of a run's inputs, whole or not at all.

    Raises:
        OSError: If it cannot be written.
    """
    entries = {key: {'inputs': dict(one.inputs), 'replaced': one.replaced} for key, one in sorted(made.items())}
    with whole_file(folder / INPUTS_NAME) as file:
        file.write_text(json.dumps({'made': entries}, indent=1) + '\n', encoding='utf-8')


def digests(files: Mapping[str, Path], known: dict[Path, str]) -> dict[str, str]:
    """The digests of files by their role, those that can be read; `known` has the digests so far, and gets the new."""
    for path in files.values():
        if path not in known:
            known[path] = file_digest(path)
    return {role: known[path] for role, path in files.items() if known[path]}


def check_inside(folder: Path, file: Path) -> None:
    """Raise `ValueError` where a file that is to be written in a folder would be outside of it, by its name alone."""
    inner, outer = (Path(os.path.normpath(path.absolute())) for path in (file, folder))
    if not inner.is_relative_to(outer):
        raise ValueError(f'expected names (`abbr`) of models and datasets that stay in {folder}, got {file}')


def named(files: Mapping[str, Path], roles: Iterable[str]) -> str:
    """The files of some roles, in words."""
    return ', '.join(str(files[role]) for role in roles)


def _class_name(kind: object) -> str:
    return (kind.__name__ if isinstance(kind, type) else str(kind)).rpartition('.')[2]


def _found(path: object, *, folders: bool) -> Path | None:
    if not isinstance(path, str):
        return None
    try:
        return resolve_path(path, folders=folders)
    except (OSError, ValueError, RuntimeError):
        # A name that no file can have, or a home folder that there is not.
        return None


def _made(entry: object) -> Made:
    if not isinstance(entry, dict):
        return Made()
    inputs, replaced = entry.get('inputs'), entry.get('replaced')
    known = {key: value for key, value in inputs.items() if isinstance(value, str)} if isinstance(inputs, dict) else {}
    return Made(known, replaced if isinstance(replaced, str) else '')
