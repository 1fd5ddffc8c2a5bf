"""Sums over a corpus that may come in pieces: the means are those of the whole, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any


@dataclass(frozen=True, slots=True)
class Sums:
    """Exact sums of the numbers of some samples, by key.

    Attributes:
        samples: How many samples these are.
        known: For each key, how many of them have its number.
        parts: For each key, floats whose exact sum is that of its numbers; a few, however many samples there are.
    """

    samples: int = 0
    known: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], keys: Iterable[str]) -> Sums:
        """The sums over rows of details.

        Args:
            rows: One for each sample.
            keys: Those to be summed; each row has a finite number for each, or None where it is not known.

        Example:
            >>> some, others = Sums.of([{'x': 0.1}, {'x': None}], ['x']), Sums.of([{'x': 0.2}], ['x'])
            >>> both = some + others
            >>> both.samples, both.known['x'], both.mean('x')
            (3, 2, 0.15000000000000002)
        """
        listed = list(rows)
        values = {key: [row[key] for row in listed if row[key] is not None] for key in keys}
        return cls(
            len(listed),
            {key: len(known) for key, known in values.items()},
            {key: exact_parts(known) for key, known in values.items()},
        )

    def __add__(self, other: Sums) -> Sums:
        """The sums over both."""
        keys = list(dict.fromkeys([*self.parts, *other.parts]))
        return Sums(
            self.samples + other.samples,
            {key: self.known.get(key, 0) + other.known.get(key, 0) for key in keys},
            {key: exact_parts((*self.parts.get(key, ()), *other.parts.get(key, ()))) for key in keys},
        )

    def total(self, key: str) -> float:
        """The sum of a key's numbers, rounded once; 0.0 for none."""
        return fsum(self.parts.get(key, ()))

    def mean(self, key: str) -> float:
        """The mean over the samples that have the number; 0.0 where none has.

        The same as `math.fsum(numbers) / len(numbers)`, because the sum is exact and rounded once.
        """
        known = self.known.get(key, 0)
        return self.total(key) / known if known else 0.0

    def known_share(self, key: str) -> float:
        """The share of the samples that have the number, in [0, 1]; 0.0 without samples."""
        return self.known.get(key, 0) / self.samples if self.samples else 0.0


def exact_parts(values: Iterable[float]) -> tuple[float, ...]:
    """A few floats with the exact sum of many: the rounded sum, what the rounding left, and so on.

    Args:
        values: Finite numbers.

    Returns:
        At most about 40 numbers, mostly one or two; none where the sum is 0.

    Raises:
        OverflowError: If the sum is beyond every float.

    Source: the expansions of J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic (1997), by `math.fsum`.

    Example:
        >>> exact_parts([1e16, 1.0, 1.0]), exact_parts([0.1] * 10), exact_parts([])
        ((1.0000000000000002e+16,), (1.0, 5.551115123125783e-17), ())
    """
    given = list(values)
    parts: list[float] = []
    while rest := fsum((*given, *(-part for part in parts))):
        parts.append(rest)
    return tuple(parts)
