"""A number of the whole corpus that is no mean over samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """A sum of counts over the whole corpus, divided by another.

    Attributes:
        part: Keys of whole numbers in each sample's row, all summed; a key may be listed twice.
        whole: Likewise. Where this sum is 0, so is the number.
    """

    part: tuple[str, ...]
    whole: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that is summed, once."""
        return tuple(dict.fromkeys((*self.part, *self.whole)))

    def of(self, total: Callable[[str], float]) -> float:
        """The number, from the sum of each key over the corpus.

        Example:
            >>> Ratio(('hit', 'hit'), ('pred', 'ref')).of({'hit': 3.0, 'pred': 4.0, 'ref': 8.0}.__getitem__)
            0.5
        """
        whole = sum(map(total, self.whole))
        return sum(map(total, self.part)) / whole if whole else 0.0
