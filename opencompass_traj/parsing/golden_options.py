"""What a golden record says beside its plan: forbidden tools, what changes something, and what a run may take."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_traj.parsing.literal import shown
from opencompass_traj.plan import RunRecord

BUDGET_KEYS = ('steps', 'tokens', 'latency', 'cost')
PATTERN_KEYS = ('forbidden', 'effects', 'lookups')


@dataclass(frozen=True, slots=True)
class GoldenOptions:
    """The options of one golden record.

    Attributes:
        forbidden: Patterns of tools that must not be called.
        effects: Patterns of tools that change something; None: not stated.
        lookups: Patterns of tools that change nothing.
        budget: What a run may take.
        steps: How many steps it may take; None: as many as the golden plan has.
    """

    forbidden: tuple[str, ...]
    effects: tuple[str, ...] | None
    lookups: tuple[str, ...]
    budget: RunRecord
    steps: float | None


def golden_options(record: Mapping[str, Any], *, plan: int = 0) -> tuple[GoldenOptions, list[str]]:
    """Read the options of a golden record.

    Args:
        record: With any of `forbidden`, `effects`, `lookups` (lists of `fnmatch` patterns), `budget` (numbers above 0
            for `steps`, `tokens`, `latency`, `cost`) and `golden_figures` (the same of each recorded golden run, over
            which `budget` goes).
        plan: Which of several golden plans it is about, from 0.

    Returns:
        The options that are sound, and what is wrong with the others.

    Example:
        >>> options, problems = golden_options({'forbidden': ['drop_*'], 'budget': {'tokens': 0}})
        >>> options.forbidden, problems
        (('drop_*',), ['expected `budget.tokens` to be a number above 0, got 0'])
    """
    problems: list[str] = []
    patterns = {key: _patterns(record.get(key), key, problems) for key in PATTERN_KEYS}
    figures = record.get('golden_figures') or []
    recorded = figures[plan] if isinstance(figures, list) and plan < len(figures) else {}
    limits = {**_numbers(recorded, 'golden_figures', problems), **_numbers(record.get('budget'), 'budget', problems)}
    options = GoldenOptions(
        forbidden=patterns['forbidden'] or (),
        effects=patterns['effects'],
        lookups=patterns['lookups'] or (),
        budget=RunRecord(tokens=limits.get('tokens'), latency=limits.get('latency'), cost=limits.get('cost')),
        steps=limits.get('steps'),
    )
    return options, problems


def _patterns(value: object, key: str, problems: list[str]) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(pattern, str) for pattern in value):
        return tuple(value)
    problems.append(f'expected `{key}` to be a list of tool names or patterns, got {shown(value)}')
    return None


def _numbers(value: object, where: str, problems: list[str]) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not set(value) <= set(BUDGET_KEYS):
        problems.append(f'expected `{where}` to have keys of {", ".join(BUDGET_KEYS)}, got {shown(value)}')
        return {}
    sound = {key: number for key, number in value.items() if _is_amount(number)}
    problems.extend(
        f'expected `{where}.{key}` to be a number above 0, got {shown(number)}'
        for key, number in value.items()
        if key not in sound and number is not None
    )
    return {key: float(number) for key, number in sound.items()}


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= sys.float_info.max
