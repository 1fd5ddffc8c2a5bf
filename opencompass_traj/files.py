"""Data files: where they are, and the rows in them, each with its id."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from opencompass_traj.model_files import PACKAGE_PREFIX, package_folder

MAX_NAMED_PROBLEMS = 50
# Of the rows that share an id.
MAX_NAMED_PLACES = 5

_STEP = re.compile(r'(?:golden plan [0-9]+: )?step (.*?)(?:: | comes before )')

Row = dict[str, Any]
# Which key of a row holds what: a dotted path, or several whose values are joined by '-'.
Fields = Mapping[str, 'str | Sequence[str] | None']


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with a row of a file; its text says where, what was expected, and what came.

    Attributes:
        place: The line or row; empty for an object by id, and where several rows are meant.
        sample: The sample's id; None where it is not known.
        problem: What is wrong: for a golden step it begins with `step ID: `.

    Example:
        >>> str(Fault('line 3', 'q1', 'step 0: depends on itself'))
        "line 3, sample 'q1': step 0: depends on itself"
    """

    place: str
    sample: str | None
    problem: str

    @property
    def step(self) -> str | None:
        """The step's id, or `at position N`; None where the fault is not about a step."""
        found = _STEP.match(self.problem)
        return found[1] if found else None

    def __str__(self) -> str:
        where = [self.place] if self.place else []
        where += [] if self.sample is None else [f'sample {self.sample!r}']
        return ': '.join([', '.join(where), self.problem] if where else [self.problem])


class FileRow(NamedTuple):
    """One row of a file.

    Attributes:
        place: Where it stands, as it is shown: `line 3`, `row 3`; empty in an object by id.
        id: The sample's id.
        row: The object.
    """

    place: str
    id: str
    row: Row


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
            holds one object or one chat is a row whose id is the file's name. JSON lines are known by `.jsonl`, or by
            what they hold.
        fields: Where a row's values are, for files with other keys: `{'id': ['task_id', 'trial'], 'query':
            'data.question'}`. An id of None is the row's number, from 0.
        scalar: The key under which a value that is no object is put, where the file is a JSON object by id.

    Returns:
        Ids and rows; `fields` are added to the rows under their own names.

    Raises:
        ValueError: If a row has no id, an id occurs twice, or there is no row; all are named.
    """
    found, faults = scan_rows(file, fields=fields, scalar=scalar)
    if faults:
        raise ValueError(listed(f'{file}: rows cannot be used', faults))
    return [(key, row) for _, key, row in found]


def scan_rows(
    file: Path, *, fields: Fields | None = None, scalar: str = '', exact: bool = False
) -> tuple[list[FileRow], list[Fault]]:
    """Read what can be read of the rows of a file or folder, and say what is wrong with the others.

    Args:
        file: As for `read_rows`.
        fields: As for `read_rows`.
        scalar: As for `read_rows`.
        exact: Whether a key that occurs twice in one object, and a number that JSON does not have (NaN, an infinite
            one), are faults.

    Returns:
        The rows that have an id, and the faults in the file's order.

    Raises:
        ValueError: If the file as a whole cannot be read, or holds no row.
    """
    found: list[FileRow] = []
    faults: list[Fault] = []
    for number, (place, key, value) in enumerate(_all_rows(file, exact=exact)):
        row = {scalar: value} if scalar and key is not None and not isinstance(value, dict) else value
        if isinstance(row, _NoJson):
            faults.append(Fault(place, key, row.reason))
            continue
        if not isinstance(row, dict):
            faults.append(Fault(place, key, f'expected an object, got {type(value).__name__}'))
            continue
        row, missing = _with_fields(row, fields or {}, number)
        faults.extend(Fault(place, key, f'expected a value at {path!r}') for path in missing)
        if 'id' not in row and key is None and not missing:
            faults.append(Fault(place, None, 'expected an `id`'))
        elif not missing:
            found.append(FileRow(place, id_text(row.get('id', key)), row))
    faults.extend(_doubled(found))
    if not found and not faults:
        raise ValueError(f'{file}: expected at least one sample, got none')
    return found, faults


def id_text(value: object) -> str:
    """An id as text; a whole number that Python does not write in decimal is written in hexadecimal."""
    try:
        return str(value)
    except ValueError:
        return hex(value) if isinstance(value, int) else 'an id that cannot be written'


def _doubled(rows: Sequence[FileRow]) -> list[Fault]:
    places: dict[str, list[str]] = {}
    for place, key, _ in rows:
        places.setdefault(key, []).append(place)
    faults = []
    for key, where in places.items():
        named = ', '.join(filter(None, where[:MAX_NAMED_PLACES])) + (', …' if len(where) > MAX_NAMED_PLACES else '')
        if len(where) > 1:
            faults.append(Fault('', key, f'{len(where)} rows have this id' + (f' ({named})' if named else '')))
    return faults


def listed(title: str, problems: Sequence[object]) -> str:
    """A message of many problems, one a line, cut where there are too many."""
    shown = list(map(str, problems[:MAX_NAMED_PROBLEMS]))
    if len(problems) > len(shown):
        shown.append(f'… and {len(problems) - len(shown)} more')
    return '\n  '.join([f'{title}:', *shown])


def as_text(value: object) -> str:
    """A text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _all_rows(file: Path, *, exact: bool) -> list[tuple[str, str | None, Any]]:
    return _rows_of_folder(file, exact=exact) if file.is_dir() else _rows_of_file(file, exact=exact)


def _rows_of_file(file: Path, *, exact: bool) -> list[tuple[str, str | None, Any]]:
    """The file's rows: what to call each in messages, its key where it has one, and its value."""
    text = _text_of(file)
    if file.suffix == '.jsonl':
        return _rows_of_lines(text, exact=exact)
    content = _json_or_why(text, exact=exact)
    if isinstance(content, _NoJson):
        if _is_lines(text):
            return _rows_of_lines(text, exact=exact)
        raise ValueError(f'{file}: {content.reason}')
    if isinstance(content, dict):
        return [('', key, value) for key, value in content.items()]
    if isinstance(content, list):
        return [(f'row {number}', None, value) for number, value in enumerate(content)]
    raise ValueError(f'{file}: expected a JSON object or list, got {type(content).__name__}')


def _rows_of_lines(text: str, *, exact: bool) -> list[tuple[str, str | None, Any]]:
    lines = [(number, line) for number, line in enumerate(text.split('\n'), 1) if line.strip()]
    return [(f'line {number}', None, _json_or_why(line, exact=exact)) for number, line in lines]


def _is_lines(text: str) -> bool:
    """Whether a text that is not JSON as a whole begins with a line that is an object, and has others."""
    first, _, rest = text.strip().partition('\n')
    return bool(rest.strip()) and first.lstrip().startswith('{') and not isinstance(_json_or_why(first), _NoJson)


def _rows_of_folder(folder: Path, *, exact: bool) -> list[tuple[str, str | None, Any]]:
    rows: list[tuple[str, str | None, Any]] = []
    for file in sorted(folder.iterdir()):
        if file.suffix == '.jsonl':
            found = _rows_of_file(file, exact=exact)
            rows.extend((f'{file.name}: {place}', key, value) for place, key, value in found)
        elif file.suffix == '.json':
            content = _json_or_why(_text_of(file), exact=exact)
            if isinstance(content, _NoJson):
                rows.append((file.name, None, content))
                continue
            # A framework's own id of a run says nothing about the sample; the file's name does.
            row = content if isinstance(content, dict) else {'prediction': content}
            rows.append((file.name, file.stem, {**row, 'id': file.stem}))
    return rows


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise ValueError(f'{file}: expected UTF-8 text ({error.reason} at byte {error.start})') from error


def _json_or_why(text: str, *, exact: bool = False) -> Any:
    try:
        return _EXACT.decode(text) if exact else json.loads(text)
    except (ValueError, RecursionError) as error:
        return _NoJson(f'expected JSON ({error})')


def _once(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key {double!r:.80} occurs twice in one object')
    return row


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f'the number {written:.40} is none that JSON can hold')
    return number


_EXACT = json.JSONDecoder(object_pairs_hook=_once, parse_float=_finite, parse_constant=_finite)


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
