"""Outcome beside path: runs that solve the task, and runs that solve it by a degraded path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

DEFAULT_THRESHOLD: Final = 0.7
"""Under `trajectory_score`: a golden plan of three steps may have one redundant step, not two."""

OutcomeLabel: TypeAlias = Literal['solved', 'silent degradation', 'unsolved', 'unknown']


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended, and whether its path was in order.

    Attributes:
        solved: Whether the task was solved. None: not recorded.
        degraded: Whether the path's score is under the threshold.
    """

    solved: bool | None
    degraded: bool

    @property
    def silent(self) -> bool:
        """Whether the task was solved by a degraded path: what a check of the answer alone does not see."""
        return self.solved is True and self.degraded

    @property
    def label(self) -> OutcomeLabel:
        """The outcome in a word; 'solved' means by a path in order."""
        if self.solved is None:
            return 'unknown'
        if not self.solved:
            return 'unsolved'
        return 'silent degradation' if self.degraded else 'solved'


def outcome(solved: bool | None, score: float, *, threshold: float = DEFAULT_THRESHOLD) -> Outcome:  # noqa: FBT001
    """Judge one run.

    Args:
        solved: Whether the task was solved; None where it is not recorded.
        score: How good the path is, in [0, 1].
        threshold: The path is degraded if `score` is under it, in [0, 1]; a score equal to it is in order.

    Returns:
        The outcome.

    Raises:
        ValueError: If `score` or `threshold` is outside [0, 1] by more than a rounding error (1e-9).

    Example:
        >>> outcome(True, 0.4, threshold=0.7).label, outcome(True, 0.7, threshold=0.7).label
        ('silent degradation', 'solved')
    """
    for name, value in (('score', score), ('threshold', threshold)):
        if not -1e-9 <= value <= 1 + 1e-9:
            raise ValueError(f'expected `{name}` in [0, 1], got {value}')
    return Outcome(solved, bool(score < threshold))
