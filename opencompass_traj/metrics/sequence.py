"""How alike two sequences are: edit distance, longest common subsequence, a soft form, and the edit script.

`distance` counts edits; `similarity` is 1 minus its share of the largest possible distance: of `max(n_pred, n_ref)` for
Levenshtein, of `n_pred + n_ref` for indel (which makes it `2 · LCS / (n_pred + n_ref)`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import eq
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rapidfuzz.distance import Indel, Levenshtein
from scipy.optimize import linear_sum_assignment

Mode: TypeAlias = Literal['levenshtein', 'indel']


class EditOp(NamedTuple):
    """One line of an edit script.

    Attributes:
        op: 'keep' and 'replace' pair a predicted with a golden step; 'insert' is a step that only the prediction has;
            'delete' is a golden step that the prediction lacks.
        pred: Index of the predicted step from 0; None for 'delete'.
        ref: Index of the golden step from 0; None for 'insert'.
    """

    op: Literal['keep', 'replace', 'insert', 'delete']
    pred: int | None
    ref: int | None


class StepCounts:
    """How much longer or shorter a prediction is; for results with both lengths."""

    __slots__ = ()
    n_pred: int
    n_ref: int

    @property
    def redundant(self) -> int:
        """How many steps the prediction has beyond the golden number: `max(0, n_pred - n_ref)`."""
        return max(0, self.n_pred - self.n_ref)

    @property
    def missing(self) -> int:
        """How many steps the prediction is short of the golden number: `max(0, n_ref - n_pred)`."""
        return max(0, self.n_ref - self.n_pred)


@dataclass(frozen=True, slots=True)
class SequenceEdit(StepCounts):
    """Two sequences compared.

    Attributes:
        distance: The smallest number of edits, or their least total cost in the soft form.
        n_pred: Length of the prediction.
        n_ref: Length of the golden sequence.
        similarity: In [0, 1]; both empty 1, one empty 0.
        alignment: One best edit script, in order; always the same one for the same input.
    """

    distance: float
    n_pred: int
    n_ref: int
    similarity: float
    alignment: tuple[EditOp, ...]


def sequence_edit(pred: Sequence[Hashable], ref: Sequence[Hashable], *, mode: Mode = 'levenshtein') -> SequenceEdit:
    """Compare two sequences item by item and say which items were kept, replaced, inserted or deleted.

    Args:
        pred: The predicted items, such as tool names; compared by equality.
        ref: The golden items.
        mode: 'levenshtein' lets one edit replace an item; 'indel' knows insertion and deletion alone, which makes sure
            that one more item that matches nothing never raises the similarity.

    Returns:
        Distance, similarity and edit script. Both empty: distance 0, similarity 1. One empty: similarity 0.

    Raises:
        ValueError: If `mode` is unknown.

    Complexity:
        O(n_pred · n_ref / 64) for the distance, O(n_pred · n_ref) bits for the script.

    Source:
        rapidfuzz (Levenshtein and Indel, `opcodes`).

    Example:
        >>> edit = sequence_edit(['A', 'X', 'B', 'C'], ['A', 'B', 'C'])
        >>> edit.similarity, edit.redundant, edit.alignment[1]
        (0.75, 1, EditOp(op='insert', pred=1, ref=None))
    """
    check_mode(mode)
    if len(pred) == len(ref) and all(map(eq, pred, ref)):
        return SequenceEdit(0, len(pred), len(ref), 1.0, _all_kept(len(pred)))
    left, right = encode(pred, ref)
    codes = (Levenshtein if mode == 'levenshtein' else Indel).opcodes(right, left)
    ops: list[EditOp] = []
    for code in codes:
        ops.extend(_spell(code.tag, range(code.dest_start, code.dest_end), range(code.src_start, code.src_end)))
    distance = sum(op.op != 'keep' for op in ops)
    return SequenceEdit(
        distance, len(left), len(right), similarity_of(distance, len(left), len(right), mode=mode), tuple(ops)
    )


def sequence_distance(pred: Sequence[Hashable], ref: Sequence[Hashable], *, mode: Mode = 'levenshtein') -> int:
    """Count the edits that turn `ref` into `pred`, without the script.

    Example:
        >>> sequence_distance('abc', 'axc'), sequence_distance('abc', 'axc', mode='indel')
        (1, 2)
    """
    check_mode(mode)
    left, right = encode(pred, ref)
    return int((Levenshtein if mode == 'levenshtein' else Indel).distance(left, right))


def sequence_similarity(pred: Sequence[Hashable], ref: Sequence[Hashable], *, mode: Mode = 'levenshtein') -> float:
    """Compute the similarity alone, in [0, 1]; see `sequence_edit`.

    Example:
        >>> sequence_similarity(['B', 'X', 'Y'], ['A', 'B']), sequence_similarity(['Z', 'B', 'X', 'Y'], ['A', 'B'])
        (0.0, 0.25)
    """
    return similarity_of(sequence_distance(pred, ref, mode=mode), len(pred), len(ref), mode=mode)


def similarity_of(distance: float, n_pred: int, n_ref: int, *, mode: Mode = 'levenshtein') -> float:
    """Normalise a distance to a similarity.

    Returns:
        `1 - distance / max(n_pred, n_ref)` for 'levenshtein', `1 - distance / (n_pred + n_ref)` for 'indel', as one
        division of the difference, so that no rounding comes in between. Both lengths 0: 1.

    Example:
        >>> similarity_of(1, 4, 3), similarity_of(1, 4, 3, mode='indel') == 6 / 7
        (0.75, True)
    """
    largest = max(n_pred, n_ref) if mode == 'levenshtein' else n_pred + n_ref
    return float((largest - distance) / largest) if largest else 1.0


def soft_levenshtein(similarity: ArrayLike, *, rank: Sequence[int] | None = None) -> SequenceEdit:
    """Compare two sequences by the similarity of their items: replacing one costs `1 - similarity` instead of 1.

    Args:
        similarity: Matrix n_pred × n_ref with values in [0, 1]; row i, column j says how alike predicted item i and
            golden item j are. An empty side is a matrix of shape (n, 0) or (0, n).
        rank: One number per predicted item, ascending; items that share one have no order among themselves, and come
            in the order in which they are most like golden items. None: as they stand.

    Returns:
        As `sequence_edit` in mode 'levenshtein', with a distance that need not be whole. A pair of similarity 1 is a
        'keep', any other pair a 'replace'.

    Raises:
        ValueError: If the matrix has not two dimensions or holds a value outside [0, 1].

    Complexity:
        O(n_pred · n_ref) time and memory.

    Example:
        >>> soft_levenshtein([[1.0, 0.0], [0.0, 0.5]]).similarity
        0.75
    """
    matrix = similarity_matrix(similarity)
    n_pred, n_ref = matrix.shape
    order = list(range(n_pred)) if rank is None else _likely_order(matrix, rank)
    matrix = matrix[order]
    table = _soft_table(matrix)
    # Rounding of a sum of differences may leave [0, max] by a last digit.
    distance = min(max(float(table[-1, -1]), 0.0), float(max(n_pred, n_ref)))
    script = _soft_script(table, matrix)
    alignment = tuple(op if op.pred is None else op._replace(pred=order[op.pred]) for op in script)
    return SequenceEdit(distance, n_pred, n_ref, similarity_of(distance, n_pred, n_ref), alignment)


def _likely_order(matrix: NDArray[np.float64], rank: Sequence[int]) -> list[int]:
    """The items by rank, and within a rank by the golden items that the best matching gives them."""
    places = dict(zip(*(side.tolist() for side in linear_sum_assignment(matrix, maximize=True)), strict=True))
    return sorted(range(len(rank)), key=lambda i: (rank[i], places.get(i, -1), i))


def similarity_matrix(values: ArrayLike) -> NDArray[np.float64]:
    """Check a similarity matrix; values that leave [0, 1] by a rounding error are put back.

    Raises:
        ValueError: If it has not two dimensions or holds a value outside [0, 1] by more than 1e-6, or none at all.
    """
    matrix = np.array(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f'expected a similarity matrix with two dimensions, got {matrix.ndim}')
    bad = ~((matrix >= -1e-6) & (matrix <= 1 + 1e-6))
    if bad.any():
        raise ValueError(f'expected similarities in [0, 1], got {float(matrix[bad][0])}')
    return np.clip(matrix, 0.0, 1.0)


def check_mode(mode: str) -> None:
    """Raise `ValueError` for an unknown mode."""
    if mode not in ('levenshtein', 'indel'):
        raise ValueError(f"expected `mode` 'levenshtein' or 'indel', got {mode!r}")


def encode(pred: Sequence[Hashable], ref: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Number the items by first appearance, because rapidfuzz compares hashes and hashes may collide.

    Example:
        >>> encode('ab', 'bc')
        ([0, 1], [1, 2])
    """
    codes: dict[Hashable, int] = {}
    return [codes.setdefault(item, len(codes)) for item in pred], [codes.setdefault(item, len(codes)) for item in ref]


@lru_cache(maxsize=64)
def _all_kept(size: int) -> tuple[EditOp, ...]:
    return tuple(EditOp('keep', i, i) for i in range(size))


def _spell(tag: str, pred: range, ref: range) -> list[EditOp]:
    if tag == 'insert':
        return [EditOp('insert', i, None) for i in pred]
    if tag == 'delete':
        return [EditOp('delete', None, j) for j in ref]
    op: Literal['keep', 'replace'] = 'keep' if tag == 'equal' else 'replace'
    return [EditOp(op, i, j) for i, j in zip(pred, ref, strict=True)]


def _soft_table(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    n_pred, n_ref = matrix.shape
    steps = np.arange(n_ref + 1, dtype=np.float64)
    table = np.empty((n_pred + 1, n_ref + 1))
    table[0] = steps
    for i, row in enumerate(matrix):
        best = table[i] + 1
        best[1:] = np.minimum(best[1:], table[i, :-1] + (1 - row))
        table[i + 1] = np.minimum.accumulate(best - steps) + steps
    return table


def _soft_script(table: NDArray[np.float64], matrix: NDArray[np.float64]) -> tuple[EditOp, ...]:
    i, j = matrix.shape
    ops = []
    while i or j:
        pair = table[i - 1, j - 1] + (1 - matrix[i - 1, j - 1]) if i and j else np.inf
        delete = table[i, j - 1] + 1 if j else np.inf
        insert = table[i - 1, j] + 1 if i else np.inf
        if pair <= min(delete, insert):
            i, j = i - 1, j - 1
            ops.append(EditOp('keep' if matrix[i, j] == 1 else 'replace', i, j))
        elif delete <= insert:
            j -= 1
            ops.append(EditOp('delete', None, j))
        else:
            i -= 1
            ops.append(EditOp('insert', i, None))
    return tuple(reversed(ops))
