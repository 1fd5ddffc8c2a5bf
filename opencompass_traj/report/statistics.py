"""How sure a mean is, and whether two differ: intervals by the bootstrap, paired tests by permutation.

Values stand in a table: a row for each task, a column for each metric (or each pair of models and metric); NaN: not
known. Trials of one task are no new tasks: their values are averaged into one row first, with `weights` saying how many
they were, so that whole tasks are drawn and flipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opencompass_traj.report.sign_flips import sign_flip_p_values

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2_000
PERMUTATIONS: Final = 9_999
SEED: Final = 0
MAX_BCA_ROWS: Final = 2_000
"""Above it plain percentiles: the correction leaves out each row in turn, and by then changes next to nothing."""

MAX_DRAWN_ROWS: Final = 20_000
"""Above it a mean's distribution is normal, unless the values are as skewed as those of a rare event."""

MAX_SKEWNESS: Final = 0.1
"""Of a mean: that of a count of a hundred rare events."""

_BLOCK: Final = 4_000_000
_DIGITS: Final = 12
_SAME: Final = 1e-9

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and how sure it is.

    Attributes:
        mean: The mean over all known values; NaN where none is known.
        low: The interval's lower end; NaN where nothing can be said.
        high: Its upper end.
        n: How many tasks have a known value.
    """

    mean: float
    low: float
    high: float
    n: int

    def scaled(self, factor: float) -> Interval:
        """The same in another unit, such as 100 for percent."""
        return Interval(self.mean * factor, self.low * factor, self.high * factor, self.n)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two columns differ on the same tasks.

    Attributes:
        interval: The mean of the differences, and its interval.
        p_value: How often chance alone gives a mean at least so far from 0, in [0, 1]; 1 where nothing differs.
    """

    interval: Interval
    p_value: float


def mean_intervals(
    values: ArrayLike,
    *,
    bounds: Sequence[tuple[float, float] | None] | None = None,
    weights: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Interval]:
    """Intervals of the means of columns, by the bootstrap over rows.

    `scipy.stats.bootstrap` draws rows and gives bias-corrected and accelerated (BCa) intervals, which follow a skewed
    mean; above `MAX_BCA_ROWS` rows plain percentiles, and above `MAX_DRAWN_ROWS` the normal interval that the draws
    lead to, except for rare events. All columns share the draws. The level is widened by the factor that Student's
    interval has over the normal one, without which intervals of few rows are too narrow (Hesterberg 2015).

    Where all values of a bounded column are equal there is nothing to draw from. A share of up to `p = 1 - ((1 -
    confidence) / 2) ** (1 / n)` of all tasks may differ and not have been seen, and the interval is how far these can
    move the mean. For a rate of only 1 or only 0 this is the exact binomial interval.

    Args:
        values: One row per task, one column per metric; NaN where not known. A mean is over the known values, and so
            are the draws.
        bounds: For each column the least and the greatest value that is possible; None: unbounded.
        weights: For each value how many trials it is the mean of, in the shape of `values`; None: 1.
        confidence: In (0, 1).
        resamples: Draws, at least 1.
        seed: Of the draws.

    Returns:
        For each column its interval, within the column's bounds. One task, or equal values, of an unbounded column: the
        ends are NaN. No known value: all NaN.

    Raises:
        ValueError: If the shapes differ or an argument is out of range.

    Source: Efron 1987; Hesterberg, What teachers should know about the bootstrap, The American Statistician 69 (2015).

    Example:
        >>> [interval] = mean_intervals([[1.0]] * 30, bounds=[(0.0, 1.0)])
        >>> interval.mean, round(interval.low, 3), interval.high
        (1.0, 0.884, 1.0)
    """
    table, counts = _checked(values, weights)
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError(f'expected `confidence` in (0, 1) and `resamples` >= 1, got {confidence} and {resamples}')
    limits = list(bounds) if bounds is not None else [None] * table.shape[1]
    if len(limits) != table.shape[1]:
        raise ValueError(f'expected bounds for {table.shape[1]} columns, got {len(limits)}')
    found: dict[int, Interval] = {}
    for columns, rows in _groups(table):
        part, share = table[np.ix_(rows, columns)], counts[np.ix_(rows, columns)]
        varied = _varied(part)
        for column, values_of in zip(columns[~varied], part.T[~varied], strict=True):
            found[int(column)] = _constant(values_of, limits[column], confidence)
        if varied.any():
            means, lows, highs = _ends(part[:, varied], share[:, varied], confidence, resamples, seed)
            for place, column in enumerate(columns[varied]):
                low, high = _within(lows[place], highs[place], limits[column])
                found[int(column)] = Interval(float(means[place]), low, high, len(rows))
    return [found[column] for column in range(table.shape[1])]


def paired_differences(
    differences: ArrayLike,
    *,
    bounds: Sequence[tuple[float, float] | None] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> list[Difference]:
    """Test whether the means of differences are 0.

    The test is the paired permutation test of the mean: if two models do equally well on a task, either could have had
    the other's score, so every sign of the differences is as likely. It assumes nothing of how scores are distributed
    (bounded, skewed and tied as they are) and tests the mean, which is what a table shows. Wilcoxon's test asks
    something else: it ranks the differences, leaves out the ties, and can call a model better whose mean is lower.

    Args:
        differences: One row per task, one column per comparison; NaN where either side is not known.
        bounds: For each column the least and the greatest difference that is possible; None: unbounded.
        confidence: Of the intervals, as for `mean_intervals`.
        resamples: As for `mean_intervals`.
        permutations: Signs drawn at random; all of them are taken where there are no more. At least 1.
        seed: Of all draws.

    Returns:
        For each column the difference, two-sided. The least p-value is `1 / (permutations + 1)`, or `2 / 2 ** n` with
        `n` tasks: under 6 tasks no difference can be shown at 5 %. Of very many differences
        the normal distribution stands for the draws; see `sign_flips`.

    Raises:
        ValueError: As for `mean_intervals`.
    """
    table, _ = _checked(differences, None)
    if permutations < 1:
        raise ValueError(f'expected `permutations` of at least 1, got {permutations}')
    intervals = mean_intervals(table, bounds=bounds, confidence=confidence, resamples=resamples, seed=seed)
    p_values = np.ones(table.shape[1])
    for columns, rows in _groups(table):
        if len(rows):
            p_values[columns] = sign_flip_p_values(table[np.ix_(rows, columns)], permutations=permutations, seed=seed)
    return [Difference(interval, float(p)) for interval, p in zip(intervals, p_values, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, so that any one below 5 % by chance alone is a 5 % event.

    Args:
        p_values: Of all comparisons that are made.

    Returns:
        The adjusted ones in the same order, in [0, 1].

    Source: Holm 1979, step-down Bonferroni; holds however the comparisons depend on each other.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [1.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def _checked(values: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, Floats]:
    table: Floats = np.asarray(values, dtype=np.float64)
    counts: Floats = np.ones_like(table) if weights is None else np.asarray(weights, dtype=np.float64)
    if table.ndim != 2 or counts.shape != table.shape:
        raise ValueError(f'expected a table, and weights of its shape, got {table.shape} and {counts.shape}')
    if np.isinf(table).any() or not (counts > 0)[~np.isnan(table)].all():
        raise ValueError('expected finite values, and weights above 0')
    return table, counts


def _groups(table: Floats) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The columns whose values are known in the same rows, and those rows."""
    known = ~np.isnan(table)
    groups: dict[bytes, list[int]] = {}
    for column in range(table.shape[1]):
        groups.setdefault(known[:, column].tobytes(), []).append(column)
    for columns in groups.values():
        yield np.array(columns, dtype=np.intp), np.flatnonzero(known[:, columns[0]])


def _varied(values: Floats) -> NDArray[np.bool_]:
    """Which columns have different values, beyond the last digits of the same value computed in two ways."""
    if not len(values):
        return np.zeros(values.shape[1], dtype=bool)
    found: NDArray[np.bool_] = np.ptp(values, axis=0) > _SAME * np.abs(values).max(axis=0)
    return found


def _constant(values: Floats, bounds: tuple[float, float] | None, confidence: float) -> Interval:
    if not len(values):
        return Interval(np.nan, np.nan, np.nan, 0)
    value = float(values[0])
    if bounds is None:
        return Interval(value, np.nan, np.nan, len(values))
    unseen = 1 - ((1 - confidence) / 2) ** (1 / len(values))
    least, most = bounds
    return Interval(value, value - unseen * (value - least), value + unseen * (most - value), len(values))


def _ends(
    values: Floats, weights: Floats, confidence: float, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Means, lower and upper ends: by draws, or of very many rows by what the draws would lead to."""
    from scipy import stats

    size = len(values)
    if size <= MAX_DRAWN_ROWS:
        return _bootstrap(values, weights, confidence, resamples, seed)
    means = np.average(values, axis=0, weights=weights)
    # What leaving out a row would change, for the ratio of two sums that a weighted mean is.
    influence = weights * (values - means) / weights.mean(axis=0)
    spread = np.sqrt((influence**2).mean(axis=0))
    half = stats.norm.ppf((1 + confidence) / 2) * spread / np.sqrt(size)
    lows, highs = means - half, means + half
    rare = np.abs((influence**3).mean(axis=0)) / spread**3 > MAX_SKEWNESS * np.sqrt(size)
    if rare.any():
        _, lows[rare], highs[rare] = _bootstrap(values[:, rare], weights[:, rare], confidence, resamples, seed)
    return means, lows, highs


def _bootstrap(
    values: Floats, weights: Floats, confidence: float, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Means, lower and upper ends of columns that are known in all rows."""
    from scipy import stats

    size = len(values)
    scale = np.abs(values).max(axis=0)
    sums = values / scale * weights

    def means(drawn: NDArray[np.intp], axis: int = -1) -> Floats:
        """The mean of each draw of tasks."""
        rows = drawn.reshape(-1, drawn.shape[axis])
        offsets = size * np.arange(len(rows))[:, None]
        times = np.bincount((rows + offsets).ravel(), minlength=size * len(rows)).reshape(len(rows), size)
        # Rounded, for equal means to be equal whatever order the product adds them up in: BCa counts the ties.
        found: Floats = np.round((times @ sums) / (times @ weights), _DIGITS).T
        return found.reshape(-1, *drawn.shape[:-1])

    # scipy's bootstrap of row numbers: it draws, and takes the quantiles; a draw's means are one matrix product.
    result = stats.bootstrap(
        (np.arange(size),),
        means,
        n_resamples=resamples,
        batch=max(1, _BLOCK // size),
        vectorized=True,
        confidence_level=_widened(confidence, size),
        method='BCa' if size <= MAX_BCA_ROWS else 'percentile',
        rng=np.random.default_rng(seed),
    )
    ends = result.confidence_interval
    return np.average(values, axis=0, weights=weights), ends.low * scale, ends.high * scale


def _widened(confidence: float, size: int) -> float:
    """The level at which a normal interval is as wide as Student's with the unbiased variance is at `confidence`."""
    from scipy import stats

    quantile = stats.t.ppf((1 + confidence) / 2, size - 1) * np.sqrt(size / (size - 1))
    return float(min(2 * stats.norm.cdf(quantile) - 1, 1 - 1e-9))


def _within(low: float, high: float, bounds: tuple[float, float] | None) -> tuple[float, float]:
    least, most = bounds or (-np.inf, np.inf)
    return float(max(low, least)), float(min(high, most))
