"""What a run cost against what it should have cost: steps, tokens, time and money.

A figure that nobody recorded is missing (None), not 0, and so is a ratio against a figure of 0, which gives no scale.
Corpus means are over the samples that have the number; how many these are is part of the result, because a mean over
none is written as 0 to keep the keys of all models equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Final

from opencompass_traj.plan import RunRecord

MAX_RATIO: Final = 1e9
"""The largest ratio that is given, so that every mean of ratios is finite."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run took, or may take; None: not known.

    Attributes:
        steps: The number of steps, at least 0.
        tokens: Tokens of all model calls, at least 0.
        latency: Seconds, at least 0.
        cost: Money, at least 0, in one unit for all that are compared.
    """

    steps: float | None = None
    tokens: float | None = None
    latency: float | None = None
    cost: float | None = None

    @classmethod
    def of(cls, n_steps: int | None, record: RunRecord) -> Figures:
        """Take the figures of a recorded run.

        Args:
            n_steps: The number of its steps; None where they cannot be read, so that no step counts as no effort.
            record: The rest of its figures.
        """
        return cls(n_steps, record.tokens, record.latency, record.cost)

    def or_else(self, other: Figures) -> Figures:
        """These figures, and where one is missing, the other's.

        Example:
            >>> Figures(tokens=900).or_else(Figures(steps=3, tokens=500))
            Figures(steps=3, tokens=900, latency=None, cost=None)
        """
        return Figures(
            steps=other.steps if self.steps is None else self.steps,
            tokens=other.tokens if self.tokens is None else self.tokens,
            latency=other.latency if self.latency is None else self.latency,
            cost=other.cost if self.cost is None else self.cost,
        )


@dataclass(frozen=True, slots=True)
class Efficiency:
    """A run's figures, each divided by what it should have been; 1 is on the spot, less is better. None: not known.

    Attributes:
        step_ratio: Steps.
        token_ratio: Tokens.
        latency_ratio: Seconds.
        cost_ratio: Money.
    """

    step_ratio: float | None
    token_ratio: float | None
    latency_ratio: float | None
    cost_ratio: float | None


@dataclass(frozen=True, slots=True)
class KnownMean:
    """The mean over the samples that have the number.

    Attributes:
        mean: The mean; 0.0 where no sample has it, which `known` tells from a mean of 0.
        known: How many samples have it.
        total: How many samples there are.
    """

    mean: float
    known: int
    total: int

    @property
    def known_share(self) -> float:
        """`known / total`, in [0, 1]; without samples 0."""
        return self.known / self.total if self.total else 0.0


def ratio(value: float | None, budget: float | None) -> float | None:
    """Divide a figure by what it should have been.

    Args:
        value: What was used, at least 0; None where it is missing.
        budget: What should have been used, at least 0; None where it is missing.

    Returns:
        `value / budget`, at most `MAX_RATIO`. None if one is missing, and for a budget of 0, whatever the value:
        were only 0 of 0 known, the mean would see the runs that did well and not the others.

    Raises:
        ValueError: If a figure is negative or not finite.

    Example:
        >>> ratio(6, 4), ratio(None, 4), ratio(0, 4), ratio(0, 0)
        (1.5, None, 0.0, None)
    """
    for name, figure in (('value', value), ('budget', budget)):
        if figure is not None and not (isfinite(figure) and figure >= 0):
            raise ValueError(f'expected a finite `{name}` of at least 0, got {figure}')
    if value is None or not budget:
        return None
    # Compared before it is divided: the quotient of two floats may be infinite.
    return MAX_RATIO if value >= budget * MAX_RATIO else float(value / budget)


def efficiency(pred: Figures, ref: Figures, *, budget: Figures | None = None) -> Efficiency:
    """Compare a run's figures with the golden ones, or with a stated budget.

    Args:
        pred: The run's figures.
        ref: The golden plan's figures.
        budget: What may be used; a figure stated here goes before the golden one.

    Returns:
        One ratio for each figure, None where it is not known; see `ratio`.

    Raises:
        ValueError: If a figure is negative or not finite.

    Example:
        >>> efficiency(Figures(steps=6, tokens=900), Figures(steps=4), budget=Figures(tokens=1200)).token_ratio
        0.75
    """
    allowed = (budget or Figures()).or_else(ref)
    return Efficiency(
        step_ratio=ratio(pred.steps, allowed.steps),
        token_ratio=ratio(pred.tokens, allowed.tokens),
        latency_ratio=ratio(pred.latency, allowed.latency),
        cost_ratio=ratio(pred.cost, allowed.cost),
    )


def mean_of_known(values: Iterable[float | None]) -> KnownMean:
    """Average the values that are known.

    Args:
        values: One for each sample; None where it is missing.

    Returns:
        The mean with its counts. None known: mean 0.0 and `known` 0, because a result may hold no NaN and the keys must
        be the same for all models. Show `known` or `known_share` beside the mean.

    Raises:
        ValueError: If a value is not finite.

    Example:
        >>> mean_of_known([1.5, None, 0.5])
        KnownMean(mean=1.0, known=2, total=3)
    """
    rows = list(values)
    known = [value for value in rows if value is not None]
    for value in known:
        if not isfinite(value):
            raise ValueError(f'expected finite values, got {value}')
    return KnownMean(fsum(known) / len(known) if known else 0.0, len(known), len(rows))
