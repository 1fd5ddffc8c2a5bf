"""What a gate found: its checks, the verdict, and both as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from opencompass_traj.plain_text import plain

Outcome = Literal['passed', 'failed', 'not shown', 'warning']
OUTCOMES: Final[tuple[Outcome, ...]] = ('failed', 'not shown', 'warning', 'passed')
MAX_NAME: Final = 80
MAX_LINE: Final = 600
MAX_CHECKS: Final = 60
"""From here on, the text only counts what passed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a gate looked at.

    Attributes:
        model: Empty where the check is of the run as a whole.
        dataset: Likewise.
        rule: What was asked, such as `trajectory_score at least 80`; unique within a model and dataset.
        outcome: `not shown`: the samples are too few or too different to tell; `warning`: something that makes the
            numbers harder to compare.
        text: What was found, in words; may hold text of others, unescaped.
    """

    model: str
    dataset: str
    rule: str
    outcome: Outcome
    text: str

    @property
    def place(self) -> str:
        """The model and dataset in words; empty for a check of the run as a whole."""
        return f'{self.model} on {self.dataset}' if self.model else ''


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate's checks and its verdict.

    Attributes:
        checks: In the order of the run's models and datasets.
        strict: Whether `not shown` and `warning` fail the gate too.
    """

    checks: tuple[Check, ...]
    strict: bool = False

    @property
    def passed(self) -> bool:
        """Whether the gate lets the run pass; one that looked at nothing does not."""
        return bool(self.checks) and not any(self.fails(check) for check in self.checks)

    def fails(self, check: Check) -> bool:
        """Whether a check keeps the gate shut."""
        return check.outcome == 'failed' or (self.strict and check.outcome != 'passed')

    @property
    def verdict(self) -> str:
        """The verdict in one line.

        Example:
            >>> GateResult((Check('m', 'd', 'f1_score at least 5', 'passed', '7.00'),)).verdict
            'gate passed: 1 passed'
        """
        counts = Counter(check.outcome for check in self.checks)
        said = ', '.join(f'{counts[outcome]} {outcome}' for outcome in OUTCOMES if counts[outcome])
        strict = ' (strict: only what is shown passes)' if self.strict else ''
        return f'gate {"passed" if self.passed else "failed"}: {said or "nothing was checked"}{strict}'

    @property
    def text(self) -> str:
        """The verdict and the checks, for people; hostile characters are shown as escapes, long lines are cut.

        Of many checks, those that passed are only counted.
        """
        brief = len(self.checks) > MAX_CHECKS
        lines = [self.verdict]
        for place, checks in _grouped(self.checks):
            shown = [check for check in checks if not brief or check.outcome != 'passed']
            lines += ['', plain(place, limit=2 * MAX_NAME) or 'the run']
            lines += [
                f'  {check.outcome:<9}  {plain(f"{check.rule}: {check.text}", limit=MAX_LINE)}' for check in shown
            ]
            if len(shown) < len(checks):
                lines.append(f'  {len(checks) - len(shown)} passed')
        return '\n'.join(lines)


def _grouped(checks: Iterable[Check]) -> list[tuple[str, list[Check]]]:
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.place, []).append(check)
    return list(groups.items())
