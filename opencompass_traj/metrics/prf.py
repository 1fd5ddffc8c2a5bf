"""Precision, recall and F1 from whole counts: the one place that says what 0/0 is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrecisionRecallF1:
    """How many of two sets of things were matched one to one.

    Attributes:
        matched: The number of matched pairs, or their total weight; at most `min(n_pred, n_ref)`.
        n_pred: The number of predicted things.
        n_ref: The number of golden things.
    """

    matched: float
    n_pred: float
    n_ref: float

    @property
    def precision(self) -> float:
        """`matched / n_pred`. Nothing predicted: 1 if nothing was asked for either, else 0."""
        return _ratio(self.matched, self.n_pred, empty=self.n_ref == 0)

    @property
    def recall(self) -> float:
        """`matched / n_ref`. Nothing asked for: 1 if nothing was predicted either, else 0."""
        return _ratio(self.matched, self.n_ref, empty=self.n_pred == 0)

    @property
    def f1(self) -> float:
        """`2 · matched / (n_pred + n_ref)`. Both empty: 1; one empty: 0."""
        return _ratio(2 * self.matched, self.n_pred + self.n_ref, empty=True)


def precision_recall_f1(matched: float, n_pred: float, n_ref: float) -> PrecisionRecallF1:
    """Count matched pairs against both sides.

    Args:
        matched: Matched pairs, or their total weight, in [0, min(n_pred, n_ref)].
        n_pred: Number of predicted things, at least 0.
        n_ref: Number of golden things, at least 0.

    Returns:
        Precision, recall and F1, each in [0, 1]; both sides empty gives 1, one side empty 0.

    Raises:
        ValueError: If a count is negative, or more was matched than there is.

    Example:
        >>> precision_recall_f1(4, n_pred=5, n_ref=6).precision
        0.8
    """
    if not 0 <= matched <= min(n_pred, n_ref):
        raise ValueError(f'expected 0 <= matched <= min(n_pred, n_ref), got {matched} of {n_pred} and {n_ref}')
    return PrecisionRecallF1(matched, n_pred, n_ref)


def _ratio(part: float, whole: float, *, empty: bool) -> float:
    return float(part / whole) if whole else float(empty)
