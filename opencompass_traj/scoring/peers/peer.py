"""What a preset is: the numbers of one other evaluation package, under its own names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from opencompass_traj.metrics.prf import PrecisionRecallF1
from opencompass_traj.metrics.tool_calls import CallPairs, in_order_prefix, place_overlap
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.ratio import Ratio

Values = Mapping[str, float | None]


class Peer(ABC):
    """One peer's numbers.

    Attributes:
        rates: Its keys, in [0, 1], as the peer calls them.
        sparse: As for `Metric.sparse`.
        ratios: For keys that the peer computes over the whole corpus, how; the keys of the counts are further keys.
        uses_embeddings: Whether texts are compared by their vectors.
    """

    rates: ClassVar[tuple[str, ...]]
    sparse: ClassVar[Mapping[str, str]] = MappingProxyType({})
    ratios: ClassVar[Mapping[str, Ratio]] = MappingProxyType({})
    uses_embeddings: ClassVar[bool] = False

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `values` will read; none by default."""
        return ()

    @abstractmethod
    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample under the keys of `rates`, and the counts that `ratios` name."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The three answers that most peers give: how the golden calls occur in the prediction.

    Attributes:
        exact: The same calls in the same order, and no others.
        in_order: The golden calls in order, others between; true for no golden calls.
        any_order: The golden calls in any order, others too; true for no golden calls.
    """

    exact: float
    in_order: float
    any_order: float

    @classmethod
    def of(cls, calls: CallPairs) -> Matches:
        """Compare two lists of calls.

        Example:
            >>> Matches.of(CallPairs(tuple('axb'), tuple('ab')))
            Matches(exact=0.0, in_order=1.0, any_order=1.0)
        """
        n_ref = len(calls.ref)
        return cls(
            exact=float(len(calls.pred) == n_ref and place_overlap(calls) == n_ref),
            in_order=float(in_order_prefix(calls) == n_ref),
            any_order=float(calls.counts.matched == n_ref),
        )


def zero_if_nothing(counts: PrecisionRecallF1) -> PrecisionRecallF1:
    """The same counts, but 0 where neither side has anything, as most peers have it.

    Example:
        >>> zero_if_nothing(PrecisionRecallF1(0, 0, 0)).f1
        0.0
    """
    return counts if counts.n_pred or counts.n_ref else PrecisionRecallF1(0, 1, 1)
