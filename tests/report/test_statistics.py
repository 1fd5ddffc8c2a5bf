"""Intervals and tests: against scipy's own, by simulation, and in the cases where there is little to go by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from opencompass_traj.report import statistics
from opencompass_traj.report.sign_flips import MAX_FLIPPED_ROWS
from opencompass_traj.report.statistics import (
    MAX_BCA_ROWS,
    MAX_DRAWN_ROWS,
    Interval,
    _widened,
    holm,
    mean_intervals,
    paired_differences,
)

UNIT = (0.0, 1.0)


def one(values: Any, **options: Any) -> Interval:
    """The interval of one column."""
    return mean_intervals([[value] for value in values], **options)[0]


def same(found: Interval, expected: Interval) -> bool:
    """Equal but for the last digits."""
    return found.n == expected.n and np.allclose(
        (found.mean, found.low, found.high), (expected.mean, expected.low, expected.high), rtol=1e-9, atol=0
    )


def difference(values: Any, **options: Any) -> Any:
    return paired_differences([[value] for value in values], **options)[0]


# Each: the draws, the true mean, and the bounds. Rates are skewed and often close to constant.
DISTRIBUTIONS: dict[str, tuple[Callable[[Any, Any], Any], float, tuple[float, float] | None]] = {
    'uniform': (lambda rng, size: rng.random(size), 0.5, UNIT),
    'skewed rate': (lambda rng, size: rng.beta(5, 0.5, size), 5 / 5.5, UNIT),
    'mostly 1': (lambda rng, size: np.where(rng.random(size) < 0.1, rng.random(size), 1.0), 0.95, UNIT),
    'solved at 90 %': (lambda rng, size: (rng.random(size) < 0.9) * 1.0, 0.9, UNIT),
    'solved at 97 %': (lambda rng, size: (rng.random(size) < 0.97) * 1.0, 0.97, UNIT),
    'solved at 99.9 %': (lambda rng, size: (rng.random(size) < 0.999) * 1.0, 0.999, UNIT),
    'counts': (lambda rng, size: rng.poisson(1.5, size) * 1.0, 1.5, None),
    'exponential': (lambda rng, size: rng.exponential(1, size), 1.0, None),
}


@pytest.mark.parametrize('name', DISTRIBUTIONS)
@pytest.mark.parametrize(('rows', 'least'), [(12, 0.9), (30, 0.915), (100, 0.93)])
def test_intervals_cover_the_true_mean(name: str, rows: int, least: float) -> None:
    """A thousand samples, as columns of one table: 95 % of the intervals should hold the true mean.

    The simulation's own error is 0.7 points. A bootstrap of few and skewed rows covers less, which its users are told.
    """
    draw, truth, bounds = DISTRIBUTIONS[name]
    table = draw(np.random.default_rng(7), (rows, 1_000))
    found = mean_intervals(table, bounds=[bounds] * 1_000, resamples=1_000)
    covered = np.mean([interval.low <= truth <= interval.high for interval in found])
    assert covered >= least


def test_a_wider_level_gives_wider_intervals() -> None:
    values = np.random.default_rng(1).random((40, 1))
    narrow, usual, wide = (mean_intervals(values, confidence=level)[0] for level in (0.8, 0.95, 0.99))
    assert wide.low < usual.low < narrow.low < narrow.mean < narrow.high < usual.high < wide.high


@pytest.mark.parametrize('rows', [8, 30, 200])
def test_intervals_are_scipys_at_the_widened_level(rows: int) -> None:
    """The same as a bootstrap of the values themselves, but for the draws."""
    values = np.random.default_rng(rows).beta(3, 1, rows)
    ours = one(values, resamples=9_999)
    scipys = stats.bootstrap(
        (values,), np.mean, n_resamples=9_999, confidence_level=_widened(0.95, rows), rng=np.random.default_rng(99)
    ).confidence_interval
    spread = np.std(values) / math.sqrt(rows)
    assert ours.low == pytest.approx(scipys.low, abs=0.12 * spread)
    assert ours.high == pytest.approx(scipys.high, abs=0.12 * spread)
    assert ours.mean == pytest.approx(values.mean())


@pytest.mark.parametrize('rows', [5, 12, 30, 1_000])
def test_the_widened_level_is_students(rows: int) -> None:
    """A normal interval from the biased variance, as the bootstrap has it, is then as wide as Student's."""
    values = np.random.default_rng(3).normal(size=rows)
    bootstrap = stats.norm.ppf((1 + _widened(0.95, rows)) / 2) * np.std(values) / math.sqrt(rows)
    student = stats.t.ppf(0.975, rows - 1) * np.std(values, ddof=1) / math.sqrt(rows)
    assert bootstrap == pytest.approx(student, rel=1e-6)


def test_above_the_limit_plain_percentiles_take_over_smoothly() -> None:
    values = np.random.default_rng(4).beta(4, 1, MAX_BCA_ROWS + 1)
    corrected, plain = one(values[:-1]), one(values)
    width = plain.high - plain.low
    assert corrected.low == pytest.approx(plain.low, abs=0.1 * width)
    assert corrected.high == pytest.approx(plain.high, abs=0.1 * width)


@pytest.mark.parametrize('share', [0.5, 0.1, 0.001])
def test_of_very_many_rows_the_normal_interval_stands_for_the_draws(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for a rare event, such as 20 of 20,000, whose count is skewed."""
    random = np.random.default_rng(14)
    values = (random.random((MAX_DRAWN_ROWS + 1, 1)) < share) * 1.0
    weights = random.integers(1, 4, values.shape)
    (quick,) = mean_intervals(values, weights=weights, bounds=[UNIT], resamples=300)
    monkeypatch.setattr(statistics, 'MAX_DRAWN_ROWS', MAX_DRAWN_ROWS + 1)
    (drawn,) = mean_intervals(values, weights=weights, bounds=[UNIT], resamples=300)
    half = (drawn.high - drawn.low) / 2
    assert quick.mean == drawn.mean
    assert quick.low == pytest.approx(drawn.low, abs=0.2 * half)
    assert quick.high == pytest.approx(drawn.high, abs=0.2 * half)
    assert (quick == drawn) == (share == 0.001)


@pytest.mark.parametrize('rows', [1, 2, 10, 30, 1_000])
@pytest.mark.parametrize('value', [0.0, 1.0])
def test_a_rate_that_never_varies_gets_the_exact_binomial_interval(rows: int, value: float) -> None:
    found = one([value] * rows, bounds=[UNIT])
    exact = stats.binomtest(int(value) * rows, rows).proportion_ci(method='exact')
    assert (found.low, found.high) == (pytest.approx(exact.low), pytest.approx(exact.high))
    assert (found.mean, found.n) == (value, rows)


def test_an_inner_constant_is_bounded_by_what_was_not_seen() -> None:
    found = one([0.25] * 20, bounds=[UNIT])
    unseen = 1 - 0.025 ** (1 / 20)
    assert found.low == pytest.approx(0.25 - 0.25 * unseen)
    assert found.high == pytest.approx(0.25 + 0.75 * unseen)


@pytest.mark.parametrize('rows', [1, 3])
def test_nothing_can_be_said_of_a_count_that_never_varies(rows: int) -> None:
    found = one([2.0] * rows)
    assert (found.mean, found.n) == (2.0, rows)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_no_known_value_is_no_mean() -> None:
    found = mean_intervals(np.full((3, 2), np.nan), bounds=[UNIT, None])
    assert [(interval.n, math.isnan(interval.mean), math.isnan(interval.low)) for interval in found] == [
        (0, True, True)
    ] * 2
    assert mean_intervals(np.empty((0, 1)))[0].n == 0
    assert mean_intervals(np.empty((5, 0))) == []


def test_a_sparse_column_is_its_known_rows_alone() -> None:
    random = np.random.default_rng(5)
    values = random.random((40, 3))
    sparse = values.copy()
    sparse[random.random(40) < 0.6, 1] = np.nan
    known = sparse[~np.isnan(sparse[:, 1]), 1]
    found = mean_intervals(sparse, bounds=[UNIT] * 3)
    assert same(found[1], one(known, bounds=[UNIT]))
    # The others are none the worse for it.
    others = mean_intervals(values[:, [0, 2]], bounds=[UNIT] * 2)
    assert same(found[0], others[0])
    assert same(found[2], others[1])


def test_columns_do_not_change_each_other() -> None:
    """Equal means are equal in any table: ties decide over the correction, and a matrix product rounds by its shape."""
    table = np.random.default_rng(6).integers(0, 4, (30, 57)) / 3
    together = mean_intervals(table, bounds=[UNIT] * 57)
    for column in range(57):
        assert same(one(table[:, column], bounds=[UNIT]), together[column])


def test_values_that_differ_in_the_last_digits_alone_are_equal() -> None:
    found = one([0.1 + 0.2, 0.3] * 5, bounds=[UNIT])
    assert same(found, one([0.3] * 10, bounds=[UNIT]))


def test_trials_of_a_task_are_drawn_together() -> None:
    """With three equal trials of each task there is no more to know than with one."""
    values = np.random.default_rng(8).random((25, 2))
    once = mean_intervals(values)
    for tripled, single in zip(mean_intervals(values, weights=np.full((25, 2), 3.0)), once, strict=True):
        assert same(tripled, single)
    rows = mean_intervals(np.repeat(values, 3, axis=0))
    assert all(wide.high - wide.low > 1.5 * (narrow.high - narrow.low) for wide, narrow in zip(once, rows, strict=True))


def test_intervals_cover_the_mean_over_tasks_where_trials_are_alike() -> None:
    """25 tasks of four trials, each solved or not by how hard the task is, as tau-bench's are."""
    random = np.random.default_rng(10)
    easy = random.beta(0.5, 0.5, (25, 1_000))
    trials = (random.random((4, 25, 1_000)) < easy) * 1.0
    by_task = mean_intervals(trials.mean(axis=0), weights=np.full((25, 1_000), 4.0), resamples=1_000)
    assert np.mean([one.low <= 0.5 <= one.high for one in by_task]) >= 0.93
    # Taken for 100 tasks they would promise far more than they hold.
    by_row = mean_intervals(trials.reshape(100, 1_000), resamples=1_000)
    assert np.mean([one.low <= 0.5 <= one.high for one in by_row]) < 0.85


def test_the_mean_of_unequal_trials_is_that_of_all_rows() -> None:
    values, weights = [0.0, 1.0, 0.5], [1.0, 3.0, 2.0]
    found = mean_intervals([[value] for value in values], weights=[[weight] for weight in weights])[0]
    assert found.mean == pytest.approx(np.average(values, weights=weights))


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12),
    st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_an_interval_of_a_rate_is_within_its_bounds_and_holds_the_mean(values: list[float], seed: int) -> None:
    found = one(values, bounds=[UNIT], resamples=200, seed=seed)
    assert 0 <= found.low <= found.high <= 1
    assert min(values) - 1e-12 <= found.mean <= max(values) + 1e-12
    if len(set(values)) == 1:
        assert found.low <= found.mean <= found.high


def test_the_same_values_give_the_same_interval() -> None:
    values = np.random.default_rng(9).random((30, 2))
    assert mean_intervals(values) == mean_intervals(values.copy())
    assert mean_intervals(values, seed=1) != mean_intervals(values)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'confidence': 1.0}, 'confidence'),
        ({'confidence': 0.0}, 'confidence'),
        ({'resamples': 0}, 'resamples'),
        ({'bounds': []}, 'bounds for 1 columns, got 0'),
        ({'weights': [[1.0, 1.0]]}, 'weights of its shape'),
        ({'weights': [[0.0]]}, 'weights above 0'),
    ],
)
def test_wrong_arguments_are_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mean_intervals([[1.0]], **options)


@pytest.mark.parametrize('values', [[1.0], [[[1.0]]], [[math.inf]]])
def test_wrong_tables_are_named(values: Any) -> None:
    with pytest.raises(ValueError, match='expected'):
        mean_intervals(values)


def test_an_interval_in_another_unit() -> None:
    assert Interval(0.5, 0.25, 0.75, 4).scaled(100) == Interval(50.0, 25.0, 75.0, 4)


def scipys_p(values: NDArray[np.float64]) -> float:
    """scipy's own test of paired samples, by all permutations."""
    found = stats.permutation_test(
        (values, np.zeros_like(values)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type='samples',
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(found.pvalue)


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('rows', [2, 5, 9, 13])
def test_the_paired_test_is_scipys_where_all_signs_are_tried(rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-3, 5, rows) / 4 if seed % 2 else random.normal(0.3, 1, rows)
    assert difference(values).p_value == pytest.approx(scipys_p(values), abs=1e-12)


@given(st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.1, 0.3, 1.0]), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_the_paired_test_is_a_count_of_signs(values: list[float]) -> None:
    observed = abs(math.fsum(values))
    signs = list(itertools.product((1, -1), repeat=len(values)))
    hits = sum(abs(math.fsum(v * s for v, s in zip(values, row, strict=True))) >= observed - 1e-9 for row in signs)
    assert difference(values, resamples=100).p_value == pytest.approx(hits / len(signs))


def test_drawn_signs_come_close_to_all_signs() -> None:
    values = np.random.default_rng(2).normal(0.4, 1, 16)
    exact = difference(values, permutations=2**16, resamples=100).p_value
    assert difference(values, permutations=9_999, resamples=100).p_value == pytest.approx(exact, abs=0.01)
    assert exact == pytest.approx(scipys_p(values))


@pytest.mark.parametrize(
    ('draw', 'least'),
    [
        (lambda random, size: random.beta(5, 0.5, size), 0.035),
        # Where many scores are tied, so are many means: the test then errs on the safe side.
        (lambda random, size: np.where(random.random(size) < 0.6, 1.0, random.integers(0, 4, size) / 4), 0.025),
    ],
)
def test_under_the_null_at_most_five_in_a_hundred_are_below_five_percent(draw: Any, least: float) -> None:
    """Comparisons of models that are equally good, by scores that are skewed and bounded."""
    random = np.random.default_rng(11)
    found = paired_differences(draw(random, (25, 2_000)) - draw(random, (25, 2_000)), permutations=4_999, resamples=100)
    share = np.mean([one.p_value < 0.05 for one in found])
    assert least <= share <= 0.06


def test_a_real_difference_is_found() -> None:
    random = np.random.default_rng(12)
    values = np.clip(random.normal(0.1, 0.2, (60, 1)), -1, 1)
    found = paired_differences(values, bounds=[(-1.0, 1.0)])[0]
    assert found.p_value < 0.01
    assert 0 < found.interval.low < found.interval.mean < found.interval.high < 0.3


def test_models_that_never_differ_show_no_difference() -> None:
    found = difference([0.0] * 40, bounds=[(-1.0, 1.0)])
    assert found.p_value == 1
    assert found.interval.low == pytest.approx(-found.interval.high)
    assert 0.08 < found.interval.high < 0.1


@pytest.mark.parametrize(('rows', 'p_value'), [(1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125)])
def test_few_tasks_cannot_show_a_difference(rows: int, p_value: float) -> None:
    assert difference([1.0] * rows).p_value == p_value


@pytest.mark.parametrize('shift', [0.0, 0.03, 0.06])
def test_of_many_rows_the_normal_distribution_stands_for_the_signs(shift: float) -> None:
    values = np.random.default_rng(13).beta(5, 0.5, (MAX_FLIPPED_ROWS + 1, 2))
    differences = values[:, 0] - values[:, 1] + shift
    drawn = difference(differences[:-1], resamples=100).p_value
    assert difference(differences, resamples=100).p_value == pytest.approx(drawn, abs=0.02)
    # Equal scores have no sign: a few differences among many rows are tried one and all.
    few = [*differences[:9], *[0.0] * MAX_FLIPPED_ROWS]
    assert difference(few, resamples=100).p_value == pytest.approx(scipys_p(differences[:9]))


def test_unknown_differences_are_left_out_and_none_is_no_test() -> None:
    values = [0.5, np.nan, 0.25, 0.125]
    found = difference(values)
    assert (found.p_value, found.interval.n) == (scipys_p(np.array([0.5, 0.25, 0.125])), 3)
    assert paired_differences(np.full((4, 1), np.nan))[0].p_value == 1


def test_the_least_p_value_is_one_in_all_draws() -> None:
    assert difference([1.0] * 40, permutations=99, resamples=100).p_value == 0.01
    with pytest.raises(ValueError, match='permutations'):
        difference([1.0], permutations=0)


@pytest.mark.parametrize(
    ('p_values', 'adjusted'),
    [
        ([], []),
        ([0.2], [0.2]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.6, 0.9], [1.0, 1.0, 1.0]),
        # Holm's own example of levels: 0.01 * 4, 0.02 * 3, 0.022 * 2, 0.5, never falling.
        ([0.022, 0.01, 0.5, 0.02], [0.06, 0.04, 0.5, 0.06]),
        ([0.01, 0.01], [0.02, 0.02]),
    ],
)
def test_holms_correction(p_values: list[float], adjusted: list[float]) -> None:
    assert holm(p_values) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), max_size=6))
@settings(max_examples=80, deadline=None)
def test_holm_is_the_closed_test_with_bonferroni(p_values: list[float]) -> None:
    """A hypothesis is rejected where every set of hypotheses with it is: the largest Bonferroni p-value of them."""
    found = holm(p_values)
    for place in range(len(p_values)):
        sets = [
            group
            for size in range(1, len(p_values) + 1)
            for group in itertools.combinations(range(len(p_values)), size)
            if place in group
        ]
        closed = max(min(1.0, len(group) * min(p_values[i] for i in group)) for group in sets)
        assert found[place] == pytest.approx(closed)
