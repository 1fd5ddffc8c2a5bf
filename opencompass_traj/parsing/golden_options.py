"""What a golden record says beside its plan: forbidden tools, what changes something, what a run may take, and tags."""

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
        tags: By what the sample is grouped in a report.
    """

    forbidden: tuple[str, ...]
    effects: tuple[str, ...] | None
    lookups: tuple[str, ...]
    budget: RunRecord
    steps: float | None
    tags: tuple[str, ...] = ()


def golden_options(record: Mapping[str, Any], *, plan: int = 0) -> tuple[GoldenOptions, list[str]]:
    """Read the options of a golden record.

    Args:
        record: With any of `forbidden`, `effects`, `lookups` (lists of `fnmatch` patterns), `budget` (numbers above 0
            for `steps`, `tokens`, `latency`, `cost`), `golden_figures` (the same of each recorded golden run, over
            which `budget` goes) and `tags` (a list of texts; those of `meta.tags` are added).
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
        tags=_tags(record, problems),
    )
    return options, problems


def _tags(record: Mapping[str, Any], problems: list[str]) -> tuple[str, ...]:
    """The record's own tags, checked, and what texts there are in `meta.tags`, which may be anybody's."""
    own, meta = record.get('tags'), record.get('meta')
    if own is not None and not (isinstance(own, list) and all(isinstance(tag, str) for tag in own)):
        problems.append(f'expected `tags` to be a list of texts, got {shown(own)}')
        own = None
    foreign = meta.get('tags') if isinstance(meta, Mapping) else None
    texts = [tag for tag in foreign if isinstance(tag, str)] if isinstance(foreign, list) else []
    return tuple(dict.fromkeys([*(own or ()), *texts]))


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
