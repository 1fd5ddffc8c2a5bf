"""A sentence-transformers model as an encoder, with batches that are fast and decide no bit of a vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from opencompass_traj.encoder import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# A progress bar for less work than this would be gone before it is read.
PROGRESS_FROM_TEXTS = 2_000
# Tokens in a forward pass. On a processor the fastest of 128 to 16,384: fewer cost more calls, more leave its cache. A
# GPU wants enough to do.
CPU_BATCH_TOKENS = 768
GPU_BATCH_TOKENS = 16_384
# With fewer tokens in a pass the matrix products take another way, which rounds otherwise.
LEAST_TOKENS = 128


@dataclass(frozen=True, slots=True)
class SentenceEncoder:
    """A sentence-transformers model as an `Encoder`.

    Attributes:
        name: The name that it was asked for by.
        model: The loaded model.
        batch_size: Texts per forward pass; None fills each with as many tokens as the device works fastest with. A size
            changes the speed, and the last bits of the vectors; with None a vector depends on its text alone, as far
            as one machine and number of threads go.
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
                if self.batch_size is None:
                    portion += portion[:1] * (-(-LEAST_TOKENS // max(1, lengths[batch[0]])) - len(portion))
                found = self.model.encode(
                    portion, batch_size=len(portion), convert_to_numpy=True, show_progress_bar=False
                )
                for number, row in zip(batch, np.asarray(found[: len(batch)], dtype=np.float32), strict=True):
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
    """Put texts of one length together, the longest first: nothing is padded, and no text's vector depends on others.

    Args:
        lengths: The texts' lengths in tokens.
        batch_size: Texts per batch, at least 1; None fills each up to `tokens`.
        tokens: At most so many in a batch, at least 1; a text that is longer is a batch of its own.

    Yields:
        The numbers of the texts, each once.

    Example:
        >>> list(batches([3, 9, 4, 4, 3], tokens=8))
        [[1], [2, 3], [0, 4]]
        >>> list(batches([4, 4, 4, 9], batch_size=2, tokens=8))
        [[3], [0, 1], [2]]
    """
    same: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        same.setdefault(length, []).append(number)
    for length in sorted(same, reverse=True):
        size = batch_size or max(1, tokens // max(1, length))
        for start in range(0, len(same[length]), size):
            yield same[length][start : start + size]
