"""Data files: where they are, and the rows in them, each with its id."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencompass_traj.embedding import PACKAGE_PREFIX, package_folder

MAX_NAMED_PROBLEMS = 50

Row = dict[str, Any]
# Which key of a row holds what: a dotted path, or several whose values are joined by '-'.
Fields = Mapping[str, 'str | Sequence[str] | None']


class _NoJson(NamedTuple):
    """Stands where a row is no JSON, so that the other rows' faults are named too."""

    reason: str


def resolve_path(path: str, *, folders: bool = False) -> Path:
    """Find a data file.

    Args:
        path: Absolute, relative to the current folder or to `$COMPASS_DATA_CACHE`, or `package:NAME/rest` for a file
            that an installed package carries.
        folders: Whether a folder will do too.

    Returns:
        The absolute path of what exists.

    Raises:
        FileNotFoundError: If it is nowhere; the message names each place that was tried.
    """
    if path.startswith(PACKAGE_PREFIX):
        package, _, rest = path.removeprefix(PACKAGE_PREFIX).partition('/')
        tried = [folder / rest for folder in package_folder(package)]
    else:
        given = Path(path).expanduser()
        cache = os.environ.get('COMPASS_DATA_CACHE', '')
        tried = [given.absolute(), *([Path(cache).expanduser().absolute() / given] if cache else [])]
    for candidate in tried:
        if candidate.is_file() or (folders and candidate.is_dir()):
            return candidate
    raise FileNotFoundError(f'no file {path!r}; looked for {", ".join(map(str, tried)) or "an installed package"}')


def read_rows(file: Path, *, fields: Fields | None = None, scalar: str = '') -> list[tuple[str, Row]]:
    """Read the rows of a file, or of all files of a folder, each with its id.

    Args:
        file: JSON lines, a JSON list, or a JSON object by id; or a folder of such files, where a `.json` file that
            holds one object or one chat is a row whose id is the file's name.
        fields: Where a row's values are, for files with other keys: `{'id': ['task_id', 'trial'], 'query':
            'data.question'}`. An id of None is the row's number, from 0.
        scalar: The key under which a value that is no object is put, where the file is a JSON object by id.

    Returns:
        Ids and rows; `fields` are added to the rows under their own names.

    Raises:
        ValueError: If a row has no id, an id occurs twice, or there is no row; all are named.
    """
    found: list[tuple[str, Row]] = []
    problems: list[str] = []
    for number, (label, key, value) in enumerate(_rows_of_folder(file) if file.is_dir() else _rows_of_file(file)):
        row = {scalar: value} if scalar and key is not None and not isinstance(value, dict) else value
        if isinstance(row, _NoJson):
            problems.append(f'{label}: {row.reason}')
            continue
        if not isinstance(row, dict):
            problems.append(f'{label}: expected an object, got {type(value).__name__}')
            continue
        row, missing = _with_fields(row, fields or {}, number)
        problems.extend(f'{label}: expected a value at {path!r}' for path in missing)
        if 'id' not in row and key is None and not missing:
            problems.append(f'{label}: expected an `id`')
        elif not missing:
            found.append((str(row.get('id', key)), row))
    counts = Counter(key for key, _ in found)
    problems.extend(f'sample {key!r}: {count} rows have this id' for key, count in counts.items() if count > 1)
    if problems:
        raise ValueError(listed(f'{file}: rows cannot be used', problems))
    if not found:
        raise ValueError(f'{file}: expected at least one sample, got none')
    return found


def listed(title: str, problems: Sequence[str]) -> str:
    """A message of many problems, one a line, cut where there are too many."""
    shown = list(problems[:MAX_NAMED_PROBLEMS])
    if len(problems) > len(shown):
        shown.append(f'… and {len(problems) - len(shown)} more')
    return '\n  '.join([f'{title}:', *shown])


def as_text(value: object) -> str:
    """A text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rows_of_file(file: Path) -> list[tuple[str, str | None, Any]]:
    """The file's rows: what to call each in messages, its key where it has one, and its value."""
    text = file.read_text(encoding='utf-8-sig')
    if file.suffix != '.jsonl':
        content = _json(text, f'{file}')
        if isinstance(content, dict):
            return [(f'sample {key!r}', key, value) for key, value in content.items()]
        if isinstance(content, list):
            return [(f'row {number}', None, value) for number, value in enumerate(content)]
        raise ValueError(f'{file}: expected a JSON object or list, got {type(content).__name__}')
    lines = [(number, line) for number, line in enumerate(text.split('\n'), 1) if line.strip()]
    return [(f'line {number}', None, _json_or_why(line)) for number, line in lines]


def _rows_of_folder(folder: Path) -> list[tuple[str, str | None, Any]]:
    rows: list[tuple[str, str | None, Any]] = []
    for file in sorted(folder.iterdir()):
        if file.suffix == '.jsonl':
            rows.extend((f'{file.name}: {label}', key, value) for label, key, value in _rows_of_file(file))
        elif file.suffix == '.json':
            content = _json_or_why(file.read_text(encoding='utf-8-sig'))
            if isinstance(content, _NoJson):
                rows.append((file.name, None, content))
                continue
            # A framework's own id of a run says nothing about the sample; the file's name does.
            row = content if isinstance(content, dict) else {'prediction': content}
            rows.append((file.name, file.stem, {**row, 'id': file.stem}))
    return rows


def _json(text: str, where: str) -> Any:
    value = _json_or_why(text)
    if isinstance(value, _NoJson):
        raise ValueError(f'{where}: {value.reason}')
    return value


def _json_or_why(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return _NoJson(f'expected JSON ({error})')


def _with_fields(row: Row, fields: Fields, number: int) -> tuple[Row, list[str]]:
    added: Row = {}
    missing: list[str] = []
    for name, paths in fields.items():
        if paths is None:
            added[name] = number
            continue
        values = []
        for path in [paths] if isinstance(paths, str) else paths:
            value = _at(row, path)
            values.append(value)
            if value is None:
                missing.append(path)
        added[name] = values[0] if isinstance(paths, str) else '-'.join(map(str, values))
    return {**row, **added}, missing


def _at(row: object, path: str) -> Any:
    """The value at a dotted path; None where there is none. A key with dots in it goes before a path."""
    if isinstance(row, dict) and path in row:
        return row[path]
    head, _, rest = path.partition('.')
    inner = row.get(head) if isinstance(row, dict) else None
    return inner if not rest or inner is None else _at(inner, rest)
