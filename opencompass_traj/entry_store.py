"""A bounded store of bytes by key on disk that several processes may use at once, and that trusts nothing it reads.

The store is one SQLite file in a folder of its own. Three decisions and their reasons:

- It keeps a rollback journal instead of a write-ahead log. A log needs memory shared between its processes, which
  network file systems do not give; writes here are few and large, so that the log's speed would not show. The
  journal is truncated, not deleted, so that a store that was put aside cannot take the new store's journal with it.
- Nothing read is trusted. Each row carries a checksum over its key and its bytes, the tables must be exactly ours,
  and a file that is not ours or is damaged is put aside and begun anew.
- A connection lives for one operation. No state crosses a fork or a thread, and a kill leaves what was committed.

A store that cannot be used costs speed and one warning, never a run.
"""

from __future__ import annotations

import logging
import sqlite3
import time
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache, partial
from math import ceil
from pathlib import Path
from typing import TypeVar

FILE = 'entries.sqlite3'
# What an eviction leaves, so that not every write evicts.
KEPT_SHARE = 0.9
READ_CHUNK = 500
WRITE_CHUNK = 1_000
LOCK_SECONDS = 20.0
# A stamp of use that cannot be written at once is written another time.
STAMP_LOCK_MILLISECONDS = 50
DAY = 86_400
# Once as it is, once after another process replaced the store, once after this one did.
ATTEMPTS = 3
# Ten rows of 384 numbers fit in a page with little waste, five of 768, three of 1024.
PAGE_BYTES = 16_384

SCHEMA = {
    'entries': 'CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, checksum INTEGER NOT NULL, '
    'used INTEGER NOT NULL)',
    'entries_used': 'CREATE INDEX entries_used ON entries (used)',
}

T = TypeVar('T')
Row = tuple[bytes, bytes, int, int]
logger = logging.getLogger(__name__)


class _ForeignStoreError(sqlite3.DatabaseError):
    """The file holds other tables than ours."""


class EntryStore:
    """Bytes by key. No error of the file system or of SQLite leaves its methods.

    Args:
        folder: The store's own folder; made where it is missing.
        max_bytes: The file's size at most, above 0; the least recently used entries go first. Use is known to the day.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        if max_bytes <= 0:
            raise ValueError(f'expected `max_bytes` above 0, got {max_bytes}')
        self.folder = folder
        self.max_bytes = max_bytes
        self.usable = True
        self._writes = True

    @property
    def file(self) -> Path:
        """The SQLite file."""
        return self.folder / FILE

    def check(self) -> bool:
        """Open the store, make or replace it where that is needed, and say whether it can be used."""
        self._attempt(lambda _: None, None)
        return self.usable

    def fetch(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known and whose checksum is right.

        Complexity: One indexed look-up a key. On the first use of an entry in a day also one write of its stamp.
        """

        def _read_and_stamp(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            today = _today()
            rows = [row for row in _select(connection, keys) if _is_sound(*row[:3])]
            stale = [key for key, _, _, used in rows if used != today]
            if stale and self._writes:
                _stamp(connection, stale, today)
            return {key: value for key, value, _, _ in rows}

        return self._attempt(_read_and_stamp, {}) if keys else {}

    def store(self, entries: Mapping[bytes, bytes]) -> None:
        """Store values, in place of older ones, in transactions of bounded size; what is committed survives a kill."""
        today = _today()
        rows = [(key, value, _checksum(key, value), today) for key, value in entries.items()]
        for start in range(0, len(rows), WRITE_CHUNK):
            if self._writes:
                self._attempt(partial(self._insert, rows=rows[start : start + WRITE_CHUNK]), None)

    def size(self) -> tuple[int, int]:
        """How many entries there are and how many bytes the file has; zeros where it cannot be read."""
        count = self._attempt(lambda connection: _number(connection, 'SELECT COUNT(*) FROM entries'), 0)
        try:
            return count, self.file.stat().st_size
        except OSError:
            return 0, 0

    def _insert(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        connection.execute('BEGIN IMMEDIATE')
        connection.executemany('INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)', rows)
        # Afterwards, because only then the pages that the rows take are known.
        _evict(connection, self.max_bytes)
        connection.execute('COMMIT')

    def _attempt(self, work: Callable[[sqlite3.Connection], T], failed: T) -> T:
        """Do one piece of work on a connection of its own; a damaged or foreign store is replaced first."""
        for _ in range(ATTEMPTS):
            if not self.usable:
                break
            seen = _file_number(self.file)
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with closing(sqlite3.connect(self.file, timeout=LOCK_SECONDS, isolation_level=None)) as connection:
                    _prepare(connection)
                    return work(connection)
            except (sqlite3.OperationalError, OSError) as error:
                # A file that appeared or was replaced meanwhile gets another chance.
                if seen == _file_number(self.file):
                    self._stop_using(error)
                    break
            except sqlite3.DatabaseError as error:
                self._replace(seen, error)
        return failed

    def _stop_using(self, error: Exception) -> None:
        """After an error of the disk or the locks: a store that can still be read is read on."""
        try:
            with closing(sqlite3.connect(self.file, timeout=0, isolation_level=None)) as connection:
                _prepare(connection)
                connection.execute('SELECT key FROM entries LIMIT 1').fetchall()
        except sqlite3.Error:
            self._disable(error)
        else:
            self._writes = False
            _warn(f'the cache in {self.folder} takes nothing new in this run: {error}')

    def _disable(self, error: Exception) -> None:
        self.usable = False
        _warn(f'the cache in {self.folder} is not used in this run: {error}')

    def _replace(self, seen: tuple[int, int] | None, error: sqlite3.Error) -> None:
        """Put an unusable store aside with its journal in one step, then delete it.

        `seen` is the file that was found unusable: where another process has replaced it meanwhile, nothing is done.
        """
        if seen != _file_number(self.file):
            return
        _warn(f'the cache in {self.folder} is damaged or not ours and is begun anew: {error}')
        try:
            self.folder.rename(self.folder.with_name(f'{self.folder.name}.replaced-{uuid.uuid4().hex}'))
        except OSError as problem:
            if seen == _file_number(self.file):
                self._disable(problem)
        # Also what a kill at this place has left before. Only files that SQLite makes are deleted.
        for aside in self.folder.parent.glob(f'{self.folder.name}.replaced-*'):
            with suppress(OSError):
                for ending in ('-journal', '-wal', '-shm', ''):
                    (aside / f'{FILE}{ending}').unlink(missing_ok=True)
                aside.rmdir()


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file; refuse a file with others.

    Raises:
        _ForeignStoreError: If the file holds anything else.
    """
    # Text in a foreign file need not be UTF-8.
    connection.text_factory = bytes
    connection.execute('PRAGMA trusted_schema = OFF')
    connection.execute('PRAGMA cell_size_check = ON')
    connection.execute('PRAGMA journal_mode = TRUNCATE')
    if _is_ours(connection):
        return
    # The first two hold only for a file that is still empty.
    connection.execute(f'PRAGMA page_size = {PAGE_BYTES}')
    connection.execute('PRAGMA auto_vacuum = INCREMENTAL')
    connection.execute('BEGIN IMMEDIATE')
    # Another process may have been faster.
    if not _is_ours(connection):
        for statement in SCHEMA.values():
            connection.execute(statement)
    connection.execute('COMMIT')


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there; False for an empty file."""
    found = connection.execute('SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name LIMIT 10').fetchall()
    if not found:
        return False
    if [sql for (sql,) in found] != [sql.encode() for _, sql in sorted(SCHEMA.items())]:
        raise _ForeignStoreError('it holds other tables')
    return True


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[Row]:
    rows: list[Row] = []
    for start in range(0, len(keys), READ_CHUNK):
        chunk = keys[start : start + READ_CHUNK]
        marks = ', '.join('?' * len(chunk))
        query = f'SELECT key, value, checksum, used FROM entries WHERE key IN ({marks})'  # noqa: S608 - marks alone
        rows += connection.execute(query, chunk).fetchall()
    return rows


def _stamp(connection: sqlite3.Connection, keys: Sequence[bytes], today: int) -> None:
    # A store that may not be written, or is being written, is still good to read.
    with suppress(sqlite3.OperationalError):
        connection.execute(f'PRAGMA busy_timeout = {STAMP_LOCK_MILLISECONDS}')
        connection.execute('BEGIN IMMEDIATE')
        connection.executemany('UPDATE entries SET used = ? WHERE key = ?', [(today, key) for key in keys])
        connection.execute('COMMIT')


def _evict(connection: sqlite3.Connection, max_bytes: int) -> None:
    """Within a transaction: delete the least recently used entries above the bound, and shrink the file to it."""
    while (used := _used_bytes(connection)) > max_bytes:
        entries = _number(connection, 'SELECT COUNT(*) FROM entries')
        if not entries:
            break
        count = ceil(entries * (used - KEPT_SHARE * max_bytes) / used)
        oldest = 'SELECT rowid FROM entries ORDER BY used, rowid LIMIT ?'
        connection.execute(f'DELETE FROM entries WHERE rowid IN ({oldest})', (count,))  # noqa: S608 - a constant
    pages, kept = _number(connection, 'PRAGMA page_count'), max_bytes // _number(connection, 'PRAGMA page_size')
    for _ in range(min(pages - kept, _number(connection, 'PRAGMA freelist_count'))):
        # One page a call: the Python module takes a single step of a statement that has no columns.
        connection.execute('PRAGMA incremental_vacuum(1)')


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages = _number(connection, 'PRAGMA page_count') - _number(connection, 'PRAGMA freelist_count')
    return pages * _number(connection, 'PRAGMA page_size')


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _is_sound(key: object, value: object, checksum: object) -> bool:
    return isinstance(key, bytes) and isinstance(value, bytes) and checksum == _checksum(key, value)


def _checksum(key: bytes, value: bytes) -> int:
    # Over the key too, so that a row that ended up under another key is noticed.
    return zlib.crc32(value, zlib.crc32(key))


def _file_number(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _today() -> int:
    return int(time.time() // DAY)


@cache
def _warn(message: str) -> None:
    """Log a message once a process."""
    logger.warning(message)
