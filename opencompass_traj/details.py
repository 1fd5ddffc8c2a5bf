"""A file of details beside a result: a row a line, whole or not there at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TextIO

from opencompass_traj.plain_text import json_value
from opencompass_traj.whole_files import whole_file

DETAILS_FILE: Final = 'details_file'
"""The key of a result that names its file of details: `name`, `rows` in all, and `replicas`, one after the other."""

SUFFIX: Final = '.details.jsonl'
"""What the file is called behind the dataset's name."""


class DetailsFile:
    """Writes rows into a temporary file, which takes its name once all are there; a context manager.

    Args:
        path: What the file is to be called.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None
        self._context = ExitStack()

    def __enter__(self) -> DetailsFile:
        temporary = self._context.enter_context(whole_file(self.path))
        # A lone surrogate in a text of a user's metric must not lose all rows.
        file = temporary.open('w', encoding='utf-8', errors='replace', newline='\n')
        self._file = self._context.enter_context(file)
        return self

    def write(self, lines: str) -> None:
        """Add rows, each a line of JSON.

        Raises:
            ValueError: Outside the context.
        """
        if self._file is None:
            raise ValueError(f'{self.path.name}: expected to be written within its context')
        self._file.write(lines)

    def __exit__(self, *raised: Any) -> None:
        self._file = None
        self._context.__exit__(*raised)


def read_details(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a file of details, one at a time; see `placed_details`."""
    return (row for _, row in placed_details(path))


def placed_details(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the rows of a file of details, each with its place.

    Args:
        path: The file.

    Returns:
        For each row, in order, the byte at which its line begins, for `details_at`, and the row.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If a line is no JSON object; the message names it.
    """
    place = 0
    with path.open('rb') as file:
        for number, line in enumerate(file, 1):
            yield place, _row(line, f'{path.name}: line {number}')
            place += len(line)


def details_at(path: Path, place: int) -> dict[str, Any]:
    """Read the row whose line begins at a byte of the file.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If no JSON object begins there: the file is not the one that it was.
    """
    with path.open('rb') as file:
        file.seek(place)
        return _row(file.readline(), f'{path.name}: byte {place}')


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json_value(line.decode('utf-8'))
    except (ValueError, RecursionError) as error:
        raise ValueError(f'{where}: expected JSON ({error})') from error
    if not isinstance(row, dict):
        raise ValueError(f'{where}: expected an object, got {type(row).__name__}')
    return row
