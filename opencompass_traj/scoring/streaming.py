"""A corpus scored a chunk at a time, in this process or by workers, with the same results in the same order."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from opencompass_traj.embedding import TextVectors
from opencompass_traj.metrics.argument_rules import ArgumentRules
from opencompass_traj.scoring.chunks import Chunk, KnownVectors, ScoredChunk, score_chunk, scored, texts_of
from opencompass_traj.scoring.references import Alternatives, UnreadReferences
from opencompass_traj.scoring.workers import Workers, may_have_children

if TYPE_CHECKING:
    from opencompass_traj.scoring.corpus import Scorer

# Enough texts for full batches, few enough plans to hold in memory.
EMBEDDED_SAMPLES = 1_000
# What a worker process gets at a time: much longer work than the way to it and back, and the progress bar moves.
CHUNK_SAMPLES = 25
# Fewer are scored before the first worker process is there.
WORKERS_FROM_SAMPLES = 1_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is to be scored, and by what.

    Attributes:
        scorer: Scores a sample.
        predictions: What the agents gave.
        references: For each, its golden plans, read or not yet.
        vectors: Text vectors, where a metric uses them; texts are embedded in this process alone.
        as_lines: Whether the rows of details are wanted as JSON lines.
    """

    scorer: Scorer
    predictions: Sequence[object]
    references: Sequence[Alternatives] | UnreadReferences
    vectors: TextVectors | None
    as_lines: bool

    def scored(self, workers: int) -> Iterator[ScoredChunk]:
        """Score the samples.

        Args:
            workers: How many processes, at least 1.

        Returns:
            The chunks in order, each scored as late as the workers allow.
        """
        if workers == 1:
            return self._here()
        reason = self._why_alone()
        if not reason:
            return self._by_workers(workers)
        logger.info('one process scores all: %s', reason)
        return self._here()

    def _why_alone(self) -> str:
        if len(self.predictions) < WORKERS_FROM_SAMPLES:
            return f'{len(self.predictions)} samples take less time than the start of others'
        if not may_have_children():
            return 'it is daemonic, and may not start others'
        if _asks_for_similarity(self.scorer.reading.rules):
            return 'the argument rules ask the text encoder, which it has'
        return ''

    def _here(self) -> Iterator[ScoredChunk]:
        chunks = self._chunks()
        at_once = 1 if self.vectors is None else _chunks_at_once()
        while group := list(islice(chunks, at_once)):
            read = deque(chunk.samples(self.scorer, self.vectors) for chunk in group)
            if self.vectors is not None:
                self.vectors.forget_beyond()
                self.vectors.add(text for samples in read for sample in samples for text in self.scorer.texts(sample))
            while read:
                yield scored(self.scorer, read.popleft(), as_lines=self.as_lines)

    def _by_workers(self, workers: int) -> Iterator[ScoredChunk]:
        modules = dict.fromkeys(type(metric).__module__ for metric in self.scorer.metrics)
        with Workers(self.scorer, workers, preload=modules) as pool:
            yield from pool.map(score_chunk, self._embedded(pool))

    def _embedded(self, pool: Workers[Scorer]) -> Iterator[tuple[Chunk, KnownVectors | None]]:
        """The chunks with the vectors of their texts, embedded many chunks at a time."""
        if self.vectors is None:
            yield from ((chunk, None) for chunk in self._chunks())
            return
        pairs = zip(self._chunks(), pool.map(texts_of, self._chunks()), strict=True)
        while group := list(islice(pairs, _chunks_at_once())):
            self.vectors.forget_beyond()
            self.vectors.add(text for _, texts in group for text in texts)
            for chunk, texts in group:
                yield chunk, KnownVectors(texts, self.vectors[texts])

    def _chunks(self) -> Iterator[Chunk]:
        size = min(CHUNK_SAMPLES, EMBEDDED_SAMPLES)
        for start in range(0, len(self.predictions), size):
            stop = start + size
            golden = self.references
            part = golden.part(start, stop) if isinstance(golden, UnreadReferences) else golden[start:stop]
            yield Chunk(self.predictions[start:stop], part, self.as_lines)


def _chunks_at_once() -> int:
    return max(1, EMBEDDED_SAMPLES // CHUNK_SAMPLES)


def _asks_for_similarity(rules: ArgumentRules) -> bool:
    return any(rule.kind == 'semantic' for _, by_key in rules.tools for _, rule in by_key)
