"""Sums in pieces: the same means as of all numbers at once, to the last bit."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.metrics.efficiency import mean_of_known
from opencompass_traj.scoring import Scorer, read_references
from opencompass_traj.scoring.sums import Sums, exact_parts
from tests.scale.corpora import Micro, corpus

NUMBERS = st.floats(-1e300, 1e300) | st.floats(0, 1) | st.integers(-(2**53), 2**53).map(float)


@given(st.lists(NUMBERS, max_size=40))
def test_parts_have_the_exact_sum(values: list[float]) -> None:
    """Against whole numbers without end: every float is one, times a power of two."""
    scale = 2**1074

    def whole(numbers: Any) -> int:
        total = 0
        for number in numbers:
            numerator, denominator = number.as_integer_ratio()
            total += numerator * (scale // denominator)
        return total

    parts = exact_parts(values)
    assert whole(parts) == whole(values)
    assert all(parts)
    assert len(parts) <= 42


@given(st.lists(st.lists(st.none() | st.floats(0, 1e9), max_size=8), max_size=8))
def test_means_of_pieces_are_the_mean_of_the_whole_bit_for_bit(pieces: list[list[float | None]]) -> None:
    total = Sums()
    for piece in pieces:
        total += Sums.of([{'x': value} for value in piece], ['x'])
    whole = mean_of_known([value for piece in pieces for value in piece])
    assert total.mean('x') == whole.mean
    assert total.known_share('x') == whole.known_share
    assert (total.samples, total.known.get('x', 0)) == (whole.total, whole.known)


def test_a_million_numbers_leave_a_few() -> None:
    rng = random.Random(0)
    total, values = Sums(), []
    for _ in range(100):
        piece = [rng.random() for _ in range(1_000)]
        values += piece
        total += Sums.of([{'x': value} for value in piece], ['x'])
    assert len(total.parts['x']) <= 4
    assert total.mean('x') == math.fsum(values) / len(values)


@pytest.mark.parametrize(('rows', 'mean', 'share'), [([], 0, 0), ([{'x': None}], 0, 0), ([{'x': 0.0}], 0, 1)])
def test_nothing_known_is_0(rows: list[dict[str, Any]], mean: float, share: float) -> None:
    found = Sums.of(rows, ['x'])
    assert (found.mean('x'), found.known_share('x'), found.total('x')) == (mean, share, 0)


def test_keys_of_either_side_are_kept_in_order() -> None:
    both = Sums.of([{'b': 1, 'a': 2}], ['b', 'a']) + Sums.of([{'c': 3}], ['c'])
    assert [list(both.parts), list(both.known)] == [['b', 'a', 'c']] * 2
    assert both.samples == 2


def test_a_ratio_is_of_the_sums_over_the_corpus() -> None:
    predictions, references = corpus(60)
    found = Scorer([Micro()]).score(predictions, read_references(references))
    hits, both = (sum(row[key] for row in found.details) for key in ('hits', 'n_both'))
    assert found.means == {'micro': 2 * hits / both}
    assert found.means['micro'] != pytest.approx(sum(row['micro'] for row in found.details) / 60, rel=1e-3)
    assert found.counts == {'all': 60, 'micro': both}
