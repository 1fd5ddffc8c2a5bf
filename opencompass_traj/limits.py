"""How much of an answer is read: what one sample may take of time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

CEILINGS: Mapping[str, int] = MappingProxyType(
    {
        'answer_chars': 1_000_000,
        'recording_chars': 100_000_000,
        'depth': 200,
        'steps': 100_000,
        'argument_values': 100_000,
    }
)
"""What each limit may be at most: the parsers stay fast, small and free of recursion up to here."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one prediction. What passes one is named in the sample's details, and the sample stays.

    Attributes:
        answer_chars: Longest text that is searched for a plan, 1 to 1,000,000. Reading takes linear time; the worst
            texts of this length take about 10 s.
        recording_chars: Longest JSON text of a recorded run, 1 to 100,000,000; it takes about ten bytes of memory for
            each character.
        depth: Deepest nesting of lists and objects, 1 to 200 (Python's own parser stops there).
        steps: Most steps, 1 to 100,000.
        argument_values: Most values in one step's arguments, 1 to 100,000. Where there are more the step stays, and
            its arguments count as other than all golden ones.

    Raises:
        ValueError: For a limit out of its range.

    Example:
        >>> Limits(steps=500).steps, Limits().depth
        (500, 200)
    """

    CEILINGS: ClassVar[Mapping[str, int]] = CEILINGS

    answer_chars: int = 1_000_000
    recording_chars: int = 20_000_000
    depth: int = 200
    steps: int = 10_000
    argument_values: int = 10_000

    def __post_init__(self) -> None:
        for name, most in CEILINGS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise ValueError(
                    f'expected the limit `{name}` to be a whole number of 1 to {most:,}, got {value!r:.80}'
                )

    @classmethod
    def of(cls, options: Mapping[str, Any] | Limits | None) -> Limits:
        """Limits from a config: a mapping of those that are not the defaults.

        Raises:
            ValueError: For an unknown name, with those there are, or a limit out of its range.
        """
        if isinstance(options, Limits):
            return options
        given = dict(options or {})
        unknown = [name for name in given if name not in CEILINGS]
        if unknown:
            raise ValueError(f'expected limits of {", ".join(CEILINGS)}, got {unknown[0]!r:.80}')
        return cls(**given)

    def as_options(self) -> dict[str, int]:
        """The limits as plain data, for a result or a log."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


DEFAULT_LIMITS = Limits()
