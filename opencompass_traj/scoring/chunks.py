"""A stretch of a corpus: what a worker process is given, what it gives back, and how it is scored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opencompass_traj.embedding import TextVectors
from opencompass_traj.encoder import Vectors
from opencompass_traj.plain_text import encodable
from opencompass_traj.scoring.collector import search_put_off
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.references import Alternatives, UnreadReferences
from opencompass_traj.scoring.rows import Row
from opencompass_traj.scoring.sums import Sums

if TYPE_CHECKING:
    from opencompass_traj.scoring.corpus import Scorer

Sample = list[Comparison]

FLAGS: Final = ('correct', 'is_correct', 'cascade_correct')
"""What OpenCompass looks for in a row, for G-Pass@k."""

REASONS: Final = ('parse_reason', 'golden_dropped')
"""Why a row is no plain reading of a sound plan; empty where it is."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few samples, not yet read.

    Attributes:
        predictions: What the agents gave.
        references: For each, its golden plans, read or not yet.
        as_lines: Whether the rows are wanted as JSON lines.
    """

    predictions: Sequence[object]
    references: Sequence[Alternatives] | UnreadReferences
    as_lines: bool = False

    def samples(self, scorer: Scorer, vectors: TextVectors | None) -> list[Sample]:
        """Each prediction beside each of its golden plans."""
        read = (
            self.references.read(scorer.reading.rules)
            if isinstance(self.references, UnreadReferences)
            else self.references
        )
        return [
            [Comparison(prediction, golden, scorer.reading, vectors) for golden in alternatives]
            for prediction, alternatives in zip(self.predictions, read, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """The result of a chunk.

    Attributes:
        samples: How many it has.
        sums: Of their numbers.
        rows: A row of details for each; where they were wanted as lines, of each only what `brief` keeps.
        lines: The rows as JSON lines, where they were wanted so.
    """

    samples: int
    sums: Sums
    rows: list[Row]
    lines: str = ''


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """The vectors of a chunk's texts: an encoder for a process that has none.

    Attributes:
        texts: The texts, as the metrics name them.
        rows: A row for each.
        name: See `Encoder.name`.
    """

    texts: Sequence[str]
    rows: Vectors
    name: str = 'known vectors'

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Look texts up; see `Encoder.encode`.

        Raises:
            KeyError: If a metric reads the vector of a text that its `texts` did not name.
        """
        numbers = {encodable(text): number for number, text in enumerate(self.texts)}
        return self.rows[[numbers[text] for text in texts]]


def texts_of(scorer: Scorer, chunk: Chunk) -> list[str]:
    """The different texts whose vectors the metrics read, in order."""
    samples = chunk.samples(scorer, None)
    return list(dict.fromkeys(text for sample in samples for text in scorer.texts(sample)))


def score_chunk(scorer: Scorer, given: tuple[Chunk, KnownVectors | None]) -> ScoredChunk:
    """Read and score a chunk, where its texts are embedded already."""
    chunk, known = given
    vectors = None
    if known is not None:
        vectors = TextVectors(known)
        vectors.add(known.texts)
    return scored(scorer, chunk.samples(scorer, vectors), as_lines=chunk.as_lines)


def scored(scorer: Scorer, samples: Sequence[Sample], *, as_lines: bool) -> ScoredChunk:
    """Score samples whose texts are embedded already."""
    with search_put_off():
        rows = [scorer.best_row(sample) for sample in samples]
    sums = Sums.of(rows, scorer.keys)
    if not as_lines:
        return ScoredChunk(len(rows), sums, rows)
    return ScoredChunk(len(rows), sums, [brief(row) for row in rows], ''.join(_lines(rows)))


def brief(row: Row) -> Row:
    """What the host and the log need of a row that is written to a file.

    Example:
        >>> brief({'sample': 'q', 'parse_reason': '', 'golden_dropped': [], 'f1': 0.5, 'correct': False})
        {'correct': False}
        >>> brief({'sample': 'q', 'parse_reason': 'no list', 'golden_dropped': []})
        {'sample': 'q', 'parse_reason': 'no list'}
    """
    reasons = {key: row[key] for key in REASONS if row.get(key)}
    named = {'sample': row['sample'], **reasons} if reasons else {}
    return {**named, **{key: row[key] for key in FLAGS if key in row}}


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, default=_plain) + '\n'


def _plain(value: Any) -> Any:
    """What a metric of the user's may have put into a row, as OpenCompass writes it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, set | frozenset | range):
        return list(value)
    raise TypeError(f'expected a value that JSON can hold in a row of details, got {value!r:.80}')
