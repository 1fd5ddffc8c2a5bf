"""Rows of a file of details with little of them in memory: numbers and short texts, the rest when it is asked for.

A row takes some twenty kilobytes as Python's lists and dicts, a tenth of that here; a million of them then fit into a
summary's memory, which looks at the numbers of all rows and at the plans of a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from opencompass_traj.details import details_at, placed_details

MAX_TEXT: Final = 100
"""Characters of a text that is kept in memory."""

MAX_SEEN: Final = 100_000
"""Different values that are looked for among those that were met before."""

MAX_ENTRIES: Final = 5
"""Entries of a list of short texts, such as tags, that is kept in memory."""

REPLICA: Final = 'replica'
_LEFT_OUT: Final = object()


class FileRow(Mapping[str, Any]):
    """A row: the same keys and values as in the file, and `replica`."""

    __slots__ = ('_file', '_kept', '_place')

    def __init__(self, file: _File, place: int, kept: tuple[Any, ...]) -> None:
        self._file = file
        self._place = place
        self._kept = kept

    def __getitem__(self, key: str) -> Any:
        """The value; read from the file where it is no number and no short text."""
        value = self._light(key)
        if value is not _LEFT_OUT:
            return value
        if key not in self._file.keys:
            raise KeyError(key)
        return self._file.row(self._place)[key]

    def __iter__(self) -> Iterator[str]:
        """The keys, in the file's order."""
        yield from self._file.row(self._place)
        yield REPLICA

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._file.row(self._place)) + 1

    def __contains__(self, key: object) -> bool:
        """Whether there is such a key."""
        return self._light(key) is not _LEFT_OUT or (key in self._file.keys and key in self._file.row(self._place))

    def _light(self, key: object) -> Any:
        at = self._file.kept.get(key)  # type: ignore[call-overload]
        # A key whose value was too long in this row may have been kept of later ones.
        return self._kept[at] if at is not None and at < len(self._kept) else _LEFT_OUT

    def __repr__(self) -> str:
        return f'FileRow({dict(self)!r})'


class _File:
    """What the rows of one file share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # All keys of all rows, and the place of a key in what is kept of each row.
        self.keys: set[str] = set()
        self.kept: dict[str, int] = {REPLICA: 0}
        self._last: tuple[int, dict[str, Any]] = (-1, {})
        # Rates and names come again and again; a number and an equal one of another type are two.
        self._seen: dict[tuple[type, Any], Any] = {}

    def row(self, place: int) -> dict[str, Any]:
        if self._last[0] != place:
            self._last = (place, details_at(self.path, place))
        return self._last[1]

    def keep(self, row: Mapping[str, Any], replica: int) -> tuple[Any, ...]:
        """What of a row stays in memory."""
        self.keys.update(row)
        for key, value in row.items():
            if key not in self.kept and _is_light(value):
                self.kept[key] = len(self.kept)
        light = (self._light(row.get(key, _LEFT_OUT)) for key in list(self.kept)[1:])
        return (replica, *light)

    def _light(self, value: Any) -> Any:
        if not _is_light(value):
            return _LEFT_OUT
        key = (type(value), tuple(value) if isinstance(value, list) else value)
        return self._seen.setdefault(key, value) if len(self._seen) < MAX_SEEN else value


def file_rows(path: Path, *, total: int, replicas: int) -> list[FileRow]:
    """Read a file of details.

    Args:
        path: The file.
        total: How many rows it should have.
        replicas: Of how many replicas, one after the other.

    Returns:
        The rows in order. The file is read again for what is not kept; it must stay.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no file of details, or has another number of rows.
    """
    file = _File(path)
    rows = [
        FileRow(file, place, file.keep(row, number * replicas // max(1, total)))
        for number, (place, row) in enumerate(placed_details(path))
    ]
    if len(rows) != total:
        raise ValueError(f'{len(rows)} rows, and the result says {total}')
    return rows


def _is_light(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= MAX_ENTRIES and all(isinstance(entry, str) and len(entry) <= MAX_TEXT for entry in value)
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)
