"""What differs between the settings under which two results were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

VERSION: Final = 'metric_version'
MAX_VALUE: Final = 60
MAX_DEPTH: Final = 3
_ABSENT: Final = 'absent'
_LISTED: Final = 'there'


def settings_differences(settings: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words.

    Args:
        settings: A result's `settings`; the options of a metric are named by its class, wherever in the list it is.
        baseline: Another result's.

    Returns:
        One text per option, sorted by its name; a metric that only one of the two has is one text.

    Example:
        >>> settings_differences({'batch': 1, 'metrics': [{'type': 'Outcome', 'threshold': 0.7}]}, {'batch': 2})
        ['batch: 1, baseline 2', 'metrics.Outcome: there, baseline absent']
    """
    here, there = _flat(settings), _flat(baseline)
    differing = [name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)]
    alone = tuple(f'{name}.' for name in differing if _LISTED in (here.get(name), there.get(name)))
    return [
        f'{name}: {_cut(here.get(name, _ABSENT))}, baseline {_cut(there.get(name, _ABSENT))}'
        for name in differing
        if not name.startswith(alone)
    ]


def _flat(settings: Mapping[str, Any]) -> dict[str, str]:
    """Each option as JSON; those of a mapping under its name, and those of a metric under its class."""
    flat: dict[str, str] = {}
    for name, value in settings.items():
        if name != 'metrics':
            _add(flat, name, value, MAX_DEPTH)
    metrics = settings.get('metrics')
    seen: dict[str, int] = {}
    for metric in metrics if isinstance(metrics, list | tuple) else ():
        options = dict(metric) if isinstance(metric, Mapping) else {'type': metric}
        kind = str(options.pop('type', '?'))
        seen[kind] = seen.get(kind, 0) + 1
        _add(flat, f'metrics.{kind}' if seen[kind] == 1 else f'metrics.{kind} ({seen[kind]})', options, MAX_DEPTH)
    return flat


def _add(flat: dict[str, str], name: str, value: Any, depth: int) -> None:
    if not isinstance(value, Mapping) or not depth:
        flat[name] = _text(value)
        return
    flat[name] = _LISTED
    for option, inner in value.items():
        _add(flat, f'{name}.{option}', inner, depth - 1)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + '…'
