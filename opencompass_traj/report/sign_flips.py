"""The paired permutation test of means: the signs of the differences, drawn or tried one and all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAX_FLIPPED_ROWS: Final = 2_000
"""Above it the test takes the normal distribution that the signs lead to."""

_BLOCK: Final = 4_000_000
# Sums of the same numbers in another order differ in the last digits; that far counts as equal.
_TIE: Final = 1e-12

Floats: TypeAlias = NDArray[np.float64]


def sign_flip_p_values(table: Floats, *, permutations: int, seed: int) -> Floats:
    """Two-sided p-values of the columns' means under random signs.

    A difference of 0 has no sign, so that of many rows only the others are flipped. The flipped sum of many differences
    is as good as normal: it is symmetric, and its variance is known.

    Args:
        table: Differences, a row per task; all known.
        permutations: Signs drawn; all of them are tried where there are no more. At least 1.
        seed: Of the draws.
    """
    from scipy import stats

    if len(table) <= MAX_FLIPPED_ROWS:
        return _sign_flips(table, permutations, seed)
    found = np.ones(table.shape[1])
    for column, values in enumerate(table.T):
        differing = values[values != 0]
        if len(differing) <= MAX_FLIPPED_ROWS:
            found[column] = _sign_flips(differing[:, None], permutations, seed)[0]
        else:
            found[column] = 2 * stats.norm.sf(abs(differing.sum()) / np.sqrt((differing**2).sum()))
    return found


def _sign_flips(table: Floats, permutations: int, seed: int) -> Floats:
    """Two-sided p-values of the columns' means under random signs; all signs where they are few."""
    observed = np.abs(table.sum(axis=0))
    margin = _TIE * np.abs(table).sum(axis=0)
    exact = 2 ** len(table) <= permutations + 1
    hits = np.zeros(table.shape[1])
    for signs in _signs(len(table), permutations, seed, exact=exact):
        hits += (np.abs(signs @ table) >= observed - margin).sum(axis=0)
    found: Floats = hits / 2 ** len(table) if exact else (hits + 1) / (permutations + 1)
    return found


def _signs(size: int, permutations: int, seed: int, *, exact: bool) -> Iterator[Floats]:
    if exact:
        yield np.array(list(itertools.product((-1.0, 1.0), repeat=size)))
        return
    random = np.random.default_rng(seed)
    block = max(1, _BLOCK // size)
    for start in range(0, permutations, block):
        drawn: Any = random.integers(0, 2, size=(min(block, permutations - start), size), dtype=np.int8)
        yield drawn * 2.0 - 1.0
