"""Texts to vectors: each distinct text is encoded once, in batches, by one encoder a process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version

import numpy as np

from opencompass_traj.embedding_cache import CachedEncoder, VectorCache, encoder_identity
from opencompass_traj.encoder import Encoder, Vectors
from opencompass_traj.model_files import load_model, model_folder
from opencompass_traj.plain_text import encodable
from opencompass_traj.sentence_encoder import SentenceEncoder

# All-MiniLM rows take 1.5 kB each: this many stay below half a gigabyte.
MAX_REMEMBERED_TEXTS = 300_000
# Of whichever one changes, vectors that were kept on disk are encoded anew.
NUMERIC_LIBRARIES = ('sentence-transformers', 'transformers', 'torch')


@dataclass(slots=True)
class TextVectors:
    """Vectors by text.

    Attributes:
        encoder: Encodes what is asked for and not yet known.
    """

    encoder: Encoder
    _rows: dict[str, Vectors] = field(default_factory=dict)

    def add(self, texts: Iterable[str]) -> None:
        """Encode those of `texts` that are not known yet, in one call, each distinct text once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if not new:
            return
        # Texts of one length in a batch waste no padding; the order of the samples does not change the batches.
        new.sort(key=lambda text: (-len(text), text))
        rows = self.encoder.encode([encodable(text) for text in new])
        self._rows.update(zip(new, rows, strict=True))

    def forget_beyond(self, limit: int = MAX_REMEMBERED_TEXTS) -> None:
        """Drop the oldest vectors past `limit`, so that memory stays bounded over many samples."""
        for text in list(self._rows)[: max(0, len(self._rows) - limit)]:
            del self._rows[text]

    def __getitem__(self, texts: Sequence[str]) -> Vectors:
        """The rows of `texts`, shape `(len(texts), d)`; texts may repeat.

        Raises:
            KeyError: If a text was not added before.
        """
        return np.array([self._rows[text] for text in texts]) if texts else np.zeros((0, 1), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(slots=True)
class LazyEncoder:
    """A sentence-transformers model that is loaded at the first text: where all are in the cache, never.

    Attributes:
        name: As for `load_encoder`.
        device: As for `load_encoder`.
        batch_size: As for `load_encoder`.
    """

    name: str
    device: str | None = None
    batch_size: int | None = None
    _loaded: SentenceEncoder | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; see `Encoder.encode`.

        Raises:
            EncoderUnavailableError: If the model cannot be had.
        """
        if self._loaded is None:
            self._loaded = load_encoder(self.name, device=self.device, batch_size=self.batch_size)
        return self._loaded.encode(texts)


def load_encoder(source: str, *, device: str | None = None, batch_size: int | None = None) -> SentenceEncoder:
    """Load a sentence encoder; evaluators share one through `shared_vectors`.

    Args:
        source: A local folder, `package:NAME` for a model that an installed package carries, or a hub name. A hub
            name is looked for in the local cache first; the network is asked only where it is not there.
        device: Such as `cpu` or `cuda:0`; None takes a GPU if there is one.
        batch_size: Texts per forward pass, at least 1; None chooses, see `SentenceEncoder`.

    Returns:
        The encoder.

    Raises:
        EncoderUnavailableError: If the model cannot be had; the message names the ways out.
        ValueError: If `batch_size` is below 1.
    """
    check_batch_size(batch_size)
    return SentenceEncoder(name=source, model=load_model(source, device), batch_size=batch_size)


def check_batch_size(batch_size: int | None) -> None:
    """Raise `ValueError` for a batch size below 1."""
    if batch_size is not None and batch_size < 1:
        raise ValueError(f'expected `batch_size` of at least 1, got {batch_size}')


def cached_encoder(
    source: str, *, device: str | None = None, batch_size: int | None = None, cache: VectorCache | None = None
) -> Encoder:
    """An encoder that takes from the cache what it holds, and loads the model only for what it does not.

    Args:
        source: As for `load_encoder`.
        device: As for `load_encoder`. It is no part of the cache's key: devices agree to 1e-6.
        batch_size: As for `load_encoder`.
        cache: Vectors on disk; None loads the model at once and keeps nothing.

    Raises:
        EncoderUnavailableError: If the model cannot be had; at once if there is no folder of it, else at first use.
        ValueError: If `batch_size` is below 1.
    """
    check_batch_size(batch_size)
    encoder = LazyEncoder(source, device, batch_size)
    folder = model_folder(source) if cache else None
    if cache is None or folder is None:
        # A hub name that is not in the local cache: once loaded it is, for the next run.
        return load_encoder(source, device=device, batch_size=batch_size)
    variant = ', '.join(['float32', 'equal lengths', *(f'{name} {version(name)}' for name in NUMERIC_LIBRARIES)])
    try:
        return CachedEncoder(encoder, cache, encoder_identity(folder, variant=variant, cache=cache))
    except OSError:
        return load_encoder(source, device=device, batch_size=batch_size)


@lru_cache(maxsize=4)
def shared_vectors(
    source: str, device: str | None = None, batch_size: int | None = None, *, cached: bool = True
) -> TextVectors:
    """The vectors that all evaluators of this process with the same encoder share."""
    cache = VectorCache.open() if cached else None
    return TextVectors(cached_encoder(source, device=device, batch_size=batch_size, cache=cache))
