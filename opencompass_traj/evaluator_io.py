"""What the evaluator reads and shows beside its numbers: T-Eval's result file, warnings, and how far it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass.utils import get_logger
from tqdm import tqdm

PROGRESS_FROM_SAMPLES = 200
# Samples in one warning.
MAX_NAMED = 10


def read_result_file(path: str) -> list[dict[str, Any]]:
    """Read a T-Eval result file, `{key: {prediction, ground_truth, meta}}`.

    Args:
        path: The file.

    Returns:
        The records, each with its key as `id`.

    Raises:
        ValueError: If there is no path, or something else in the file.
    """
    if not path:
        raise ValueError('expected `dataset_path` for evaluate() without arguments, got none')
    with Path(path).open(encoding='utf-8') as file:
        content = json.load(file)
    if not isinstance(content, dict):
        raise ValueError(f'{path}: expected a T-Eval result {{key: record}}, got {type(content).__name__}')
    for key, record in content.items():
        if not isinstance(record, dict) or not {'prediction', 'ground_truth'} <= set(record):
            raise ValueError(f'{path}: sample {key!r}: expected a record with `prediction` and `ground_truth`')
    return [{'id': key, **record} for key, record in content.items()]


def warn_of_rows(details: Sequence[Mapping[str, Any]]) -> None:
    """Log which samples cannot be read or have an unsound golden plan, so that none is lost without a word.

    Args:
        details: A row for each sample; of those that are written to a file, what `scoring.chunks.brief` keeps.
    """
    _warn_of(details, 'cannot be read, and score 0', lambda row: row.get('parse_reason', ''))
    _warn_of(details, 'have an unsound golden plan', lambda row: '; '.join(row.get('golden_dropped', ())))


def progress(samples: Iterable[int], total: int) -> Iterable[int]:
    """Show how far the scoring is, where it takes a while."""
    get_logger().debug(f'scoring {total} samples')
    return tqdm(samples, total=total, desc='scoring', disable=total < PROGRESS_FROM_SAMPLES)  # type: ignore[no-any-return]


def _warn_of(details: Sequence[Mapping[str, Any]], what: str, reason: Callable[[Mapping[str, Any]], str]) -> None:
    named = [f'{row["sample"]!r} ({reason(row)})' for row in details if reason(row)]
    if named:
        more = f', and {len(named) - MAX_NAMED} more' if len(named) > MAX_NAMED else ''
        listed = ', '.join(named[:MAX_NAMED]) + more
        get_logger().warning(f'{len(named)} of {len(details)} samples {what}: {listed}')
