"""One result file: OpenCompass' wrapping of an evaluator's numbers and rows taken off again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from opencompass_traj import scoring
from opencompass_traj.details import DETAILS_FILE
from opencompass_traj.plain_text import json_value
from opencompass_traj.report.row_files import file_rows
from opencompass_traj.scoring import Metric
from opencompass_traj.scoring.peers import PEERS, PeerMetrics, ToolCallMatch
from opencompass_traj.shards import sample_counts

MAX_REASON: Final = 500
_REPLICAS: Final = re.compile(r' \([0-9]+ runs average\)')
# What tells a row of ours from another evaluator's.
_OWN_KEYS: Final = frozenset({'sample', 'parse_status', 'metric_version'})
_TEVAL_RATES: Final = frozenset({'precision', 'recall', 'f1_score', 'parse_rate'})
# Rows that are enough to tell whether a key that no metric of the package gives is a rate.
_LOOKED_AT: Final = 100_000


class ResultFileError(ValueError):
    """A result file that holds no result; the message says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """The content of one result file; see `runs.TaskResult`."""

    numbers: Mapping[str, float]
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    rates: frozenset[str]
    counts: Mapping[str, int]


def read_result(file: Path) -> Result:
    """Read a result file.

    Args:
        file: As OpenCompass writes it, or the JSON of what an evaluator's `score` returns.

    Returns:
        Its content, with the rows of the file of details that it names. Another evaluator's details are left out: only
        its numbers remain.

    Raises:
        ResultFileError: If it cannot be read, is no JSON object, or states an error; or if the file of details that it
            names is not there, or not whole.
    """
    content = _content(file)
    if 'error' in content:
        raise ResultFileError(f'the evaluator reports: {content["error"]!s:.{MAX_REASON}}')
    numbers = {
        metric_key(key): float(value)
        for key, value in content.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }
    rows: Sequence[Mapping[str, Any]] = (
        _rows_of_file(content, file.parent) if DETAILS_FILE in content else list(_rows(content.get('details')))
    )
    settings = content.get('settings')
    if isinstance(settings, list) and settings:
        settings = settings[0]
    settings = settings if isinstance(settings, dict) else {}
    return Result(numbers, settings, rows, _rates(numbers, rows), sample_counts(content) or {})


def metric_key(key: str) -> str:
    """A number's own key, where OpenCompass averaged it over replicas and named it so.

    Example:
        >>> metric_key('f1_score (4 runs average)'), metric_key('f1_score')
        ('f1_score', 'f1_score')
    """
    return _REPLICAS.sub('', key)


def known_rates() -> frozenset[str]:
    """The keys of all metrics of the package that are rates."""
    kinds: list[Metric | type[Metric]] = [*_families(), ToolCallMatch(), *map(PeerMetrics, PEERS)]
    keys = (key for kind in kinds for key in (*kind.rates, *kind.sparse.values()))
    return _TEVAL_RATES.union(keys)


def further_keys(numbers: Iterable[str]) -> list[str]:
    """Those of a result's keys that the default metrics do not give: what the config asked for besides, in order."""
    default = {key for kind in _families() for key in (*kind.rates, *kind.counts, *kind.sparse.values())}
    return [key for key in dict.fromkeys(numbers) if key not in default and key not in _TEVAL_RATES]


def _families() -> list[type[Metric]]:
    metrics = [getattr(scoring, name) for name in scoring.__all__]
    return [kind for kind in metrics if isinstance(kind, type) and issubclass(kind, Metric)]


def _content(file: Path) -> dict[str, Any]:
    try:
        content = json_value(file.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultFileError(f'{file.name} cannot be read: {error!s:.{MAX_REASON}}') from error
    if not isinstance(content, dict):
        raise ResultFileError(f'{file.name}: expected a JSON object, got {type(content).__name__}')
    return content


def _rows(details: object) -> Iterator[dict[str, Any]]:
    """The rows, one per sample and replica. OpenCompass puts each value into a list with one entry per replica."""
    for sample in details if isinstance(details, list) else ():
        if not isinstance(sample, dict) or not sample.keys() >= _OWN_KEYS:
            continue
        names = sample['sample']
        if not isinstance(names, list):
            yield {**sample, 'replica': 0}
            continue
        lists = {key: value for key, value in sample.items() if isinstance(value, list)}
        for replica in range(len(names) if lists.keys() >= _OWN_KEYS else 0):
            yield {**{key: _entry(value, replica) for key, value in lists.items()}, 'replica': replica}


def _rows_of_file(content: Mapping[str, Any], folder: Path) -> Sequence[Mapping[str, Any]]:
    """The rows that stand in a file of their own, beside the result."""
    named = content[DETAILS_FILE]
    name, total, replicas = (
        named.get(key) if isinstance(named, dict) else None for key in ('name', 'rows', 'replicas')
    )
    if (
        not isinstance(name, str)
        or Path(name).name != name
        or not isinstance(total, int)
        or not isinstance(replicas, int)
    ):
        raise ResultFileError(
            f'expected `{DETAILS_FILE}` to name a file beside the result, got {named!r:.{MAX_REASON}}'
        )
    try:
        return file_rows(folder / name, total=total, replicas=replicas)
    except (OSError, ValueError) as error:
        raise ResultFileError(f'{name} cannot be read: {error!s:.{MAX_REASON}}') from error


def _entry(values: list[Any], replica: int) -> Any:
    return values[replica] if replica < len(values) else None


def _rates(numbers: Mapping[str, float], rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Which numbers of the rows are rates: those of the package, and any other that the result has in percent."""
    known = known_rates()
    return frozenset(key for key in numbers if key in known or _is_percent_of(numbers[key], rows, key))


def _is_percent_of(number: float, rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    found = (row.get(key) for row in islice(rows, _LOOKED_AT))
    values = [value for value in found if isinstance(value, int | float)]
    if not values or number == 0:
        return False
    return math.isclose(number, 100 * sum(values) / len(values), rel_tol=1e-9)
