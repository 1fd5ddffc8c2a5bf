"""Text vectors on disk, shared by all tasks, models and runs of a machine: a text is encoded once, not once a run.

A vector is known by its encoder's weights and settings and by the SHA-256 of its text. The texts themselves are not
kept. `entry_store` says what the disk gives and what it does not.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from opencompass_traj.encoder import Encoder, Vectors
from opencompass_traj.entry_store import EntryStore
from opencompass_traj.hashing import file_hash

ENVIRONMENT = 'OPENCOMPASS_TRAJ_CACHE'
# The number is that of the layout: another layout gets another folder, and versions do not replace each other's.
STORE = 'text-vectors-1'
DEFAULT_MAX_BYTES = 1 << 30
# How much is lost at most if a run is killed while it encodes; a multiple of usual batch sizes.
ENCODE_CHUNK = 4_096
# Of the files beside a model, those that change no number.
IGNORED_SUFFIXES = frozenset({'.md', '.png', '.jpg', '.jpeg', '.gif', '.svg', '.pdf', '.pyc', '.lock'})
# Without one of these a folder does not say what its model computes: it is a download that is not complete.
WEIGHT_SUFFIXES = frozenset({'.safetensors', '.bin', '.pt', '.onnx', '.h5', '.msgpack', '.gguf'})


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds, and what it was good for.

    Attributes:
        path: The store's file.
        entries: Rows in the store, from all processes.
        bytes: Size of the file.
        hits: Distinct texts that this object was asked for and found.
        misses: Distinct texts that it was asked for and did not find.
    """

    path: str
    entries: int
    bytes: int
    hits: int
    misses: int


class VectorCache:
    """A bounded store of vectors by encoder and text.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> cache = VectorCache.open(folder.name)
        >>> cache.put_many('encoder', ['a', 'b'], np.array([[1, 2], [3, 4]], dtype=np.float32))
        >>> cache.get_many('encoder', ['b', 'c'])
        {'b': array([3., 4.], dtype=float32)}
        >>> cache.close()
        >>> folder.cleanup()
    """

    def __init__(self, store: EntryStore) -> None:
        self.store = store
        self._hits = 0
        self._misses = 0

    @classmethod
    def open(cls, path: str | Path | None = None, *, max_bytes: int = DEFAULT_MAX_BYTES) -> VectorCache | None:
        """Open the cache.

        Args:
            path: The folder that holds the store; None takes `default_folder()`.
            max_bytes: The store's size at most, above 0; the least recently used rows go first.

        Returns:
            The cache, or None where it is turned off or cannot be used; the latter is logged.

        Raises:
            ValueError: If `max_bytes` is not above 0.
        """
        folder = default_folder() if path is None else Path(path)
        store = EntryStore((folder or Path()) / STORE, max_bytes=max_bytes)
        return cls(store) if folder is not None and store.check() else None

    def get_many(self, identity: str, texts: Sequence[str], *, dimension: int | None = None) -> dict[str, Vectors]:
        """Look texts up.

        Args:
            identity: Which encoder; see `encoder_identity`.
            texts: Texts, which may repeat.
            dimension: Length of the rows; a row of another length counts as unknown. None takes any.

        Returns:
            The rows of the known texts, bit for bit as they were stored; read-only.
        """
        keys = {_vector_key(identity, text): text for text in texts}
        rows = {
            keys[key]: np.frombuffer(value, dtype='<f4').astype(np.float32, copy=False)
            for key, value in self.store.fetch(list(keys)).items()
            if value and len(value) % 4 == 0
        }
        found = {text: row for text, row in rows.items() if dimension is None or len(row) == dimension}
        self._hits += len(found)
        self._misses += len(keys) - len(found)
        return found

    def put_many(self, identity: str, texts: Sequence[str], rows: Vectors) -> None:
        """Store the rows of texts, in place of what was stored for them before.

        Args:
            identity: Which encoder.
            texts: Distinct texts.
            rows: Shape `(len(texts), d)`, float32.

        Raises:
            ValueError: If there are not as many rows as texts.
        """
        values = np.ascontiguousarray(rows, dtype='<f4')
        pairs = zip(texts, values, strict=True)
        self.store.store({_vector_key(identity, text): row.tobytes() for text, row in pairs})

    def stats(self) -> CacheStats:
        """Count; zeros where the store cannot be read."""
        entries, size = self.store.size()
        return CacheStats(str(self.store.file), entries=entries, bytes=size, hits=self._hits, misses=self._misses)

    def close(self) -> None:
        """Use the cache no more. Nothing waits to be written: to leave it open loses nothing."""
        self.store.usable = False


@dataclass(frozen=True, slots=True)
class CachedEncoder:
    """An `Encoder` that encodes only what the cache does not know.

    Attributes:
        encoder: Encodes the rest.
        cache: Where rows are looked up and stored.
        identity: Which encoder it is; see `encoder_identity`.
    """

    encoder: Encoder
    cache: VectorCache
    identity: str

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; see `Encoder.encode`. The encoder is asked for unknown texts alone, many in portions."""
        distinct = list(dict.fromkeys(texts))
        rows = self.cache.get_many(self.identity, distinct)
        self._encode_into(rows, [text for text in distinct if text not in rows])
        if len({row.shape for row in rows.values()}) > 1:
            # Rows of two lengths under one identity: the encoder has the last word.
            self._encode_into(rows, distinct)
        return np.stack([rows[text] for text in texts])

    def _encode_into(self, rows: dict[str, Vectors], texts: list[str]) -> None:
        for start in range(0, len(texts), ENCODE_CHUNK):
            portion = texts[start : start + ENCODE_CHUNK]
            encoded = np.asarray(self.encoder.encode(portion), dtype=np.float32)
            rows.update(zip(portion, encoded, strict=True))
            self.cache.put_many(self.identity, portion, encoded)


def default_folder() -> Path | None:
    """The folder of the cache: that of the environment variable, else the platform's; None if it is turned off.

    `OPENCOMPASS_TRAJ_CACHE` names a folder; where it is empty, `0` or `off`, there is no cache.
    """
    chosen = os.environ.get(ENVIRONMENT)
    if chosen is not None:
        return None if chosen.strip().lower() in {'', '0', 'off'} else Path(_with_home(chosen))
    if sys.platform == 'win32':
        base = Path(os.environ.get('LOCALAPPDATA') or _with_home('~/AppData/Local'))
    elif sys.platform == 'darwin':
        base = Path(_with_home('~/Library/Caches'))
    else:
        # The XDG Base Directory Specification: a relative path is to be ignored.
        base = Path(os.environ.get('XDG_CACHE_HOME', ''))
        base = base if base.is_absolute() else Path(_with_home('~/.cache'))
    return base / 'opencompass-traj' if base.is_absolute() else None


def encoder_identity(folder: str | Path, *, variant: str = '', cache: VectorCache | None = None) -> str:
    """What makes an encoder the same: its weights and settings, not its name or place.

    Args:
        folder: The model's folder; all its files count but hidden ones, documentation and pictures.
        variant: What else changes the numbers: precision, backend, versions of libraries.
        cache: Remembers the hash of each file, by its place, size and times, so that weights are read once.

    Returns:
        A SHA-256 in hexadecimal.

    Raises:
        FileNotFoundError: If there is no such folder, or no weights in it.
        OSError: If a file cannot be read.

    Complexity: Reads the files once, about a gigabyte a second; with the cache, one look-up.
    """
    folder = Path(folder)
    files = [path for path in sorted(folder.rglob('*')) if _counts(path.relative_to(folder)) and path.is_file()]
    if not any(path.suffix.lower() in WEIGHT_SUFFIXES for path in files):
        raise FileNotFoundError(f'no weights of a model in {folder}')
    names = [path.relative_to(folder).as_posix() for path in files]
    return _sha256('encoder', variant, *names, *_file_hashes(files, cache)).hex()


def _counts(path: Path) -> bool:
    return path.suffix.lower() not in IGNORED_SUFFIXES and not any(part.startswith('.') for part in path.parts)


def _file_hashes(files: Sequence[Path], cache: VectorCache | None) -> list[str]:
    before = [_file_key(path) for path in files]
    known = {} if cache is None else cache.store.fetch(before)
    hashes = [known.get(key) or file_hash(path) for path, key in zip(files, before, strict=True)]
    if cache is not None:
        new = zip(files, before, hashes, strict=True)
        # A file that was written while it was read is not remembered.
        cache.store.store({key: h for path, key, h in new if key not in known and key == _file_key(path)})
    return [h.hex() for h in hashes]


def _file_key(path: Path) -> bytes:
    """A key that another content hardly shares: copying tools can keep the size and `mtime`, but not the `ctime`."""
    status = path.stat()
    numbers = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev, status.st_ino)
    return _sha256('file', str(path.resolve()), *map(str, numbers))


def _vector_key(identity: str, text: str) -> bytes:
    # Lone surrogates have no UTF-8, and two texts that differ in them are two texts.
    content = hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()
    return _sha256('vector', 'float32', identity, content)


def _sha256(*parts: str) -> bytes:
    # As JSON, so that no two lists of parts look alike.
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def _with_home(path: str) -> str:
    # Unlike `Path.expanduser` this does not raise where there is no home.
    return os.path.expanduser(path)  # noqa: PTH111
