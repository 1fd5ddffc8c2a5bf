"""Why a task has no result, by the end of its log."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 200_000
"""How much of a log's end is read."""

MAX_REASON: Final = 500
MAX_LINES: Final = 8
_TRACEBACK: Final = 'Traceback (most recent call last)'
# The colours and cursor movements of terminals.
_CONTROL: Final = re.compile(r'\x1b\[[0-9;?]{0,20}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]')
_ERROR: Final = re.compile(r'\b(?:[A-Za-z]*Error|ERROR|error|[Kk]illed|CANCELLED|FATAL|out of memory)\b')
# What ends an exception's message: a line of OpenCompass' log, or of torch's launcher.
_LOG_LINE: Final = re.compile(r'[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} - |\[[0-9]{4}-[0-9]{2}-[0-9]{2} ')


def failure_reason(folder: Path, model: str, dataset: str) -> str:
    """Say why a task has no result.

    Args:
        folder: A run's folder.
        model: The model's name.
        dataset: The dataset's name.

    Returns:
        The last exception of its inference log where there is no whole prediction file, else of its evaluation log;
        without one, the last line of the log that speaks of an error; else that nothing was found. Never empty.
    """
    inferred = _is_answered(folder / 'predictions' / model, dataset)
    stages = ('eval', 'infer') if inferred else ('infer', 'eval')
    for stage in stages:
        reason = _reason(folder / 'logs' / stage / model / f'{dataset}.out')
        if reason:
            return f'{stage} failed: {reason}'
    what = 'answered, but not scored' if inferred else 'not answered'
    return f'{what}; no log says why (the run was stopped, is not finished, or wrote to the terminal)'


def _is_answered(folder: Path, dataset: str) -> bool:
    whole = re.compile(re.escape(dataset) + r'(_[0-9]+)?\.json')
    return any(whole.fullmatch(file.name) for file in folder.iterdir()) if folder.is_dir() else False


def _reason(log: Path) -> str:
    lines = [line.rstrip() for line in _end_of(log).splitlines()]
    starts = [number for number, line in enumerate(lines) if _TRACEBACK in line]
    if starts:
        return _shortened(_exception(lines[starts[-1] + 1 :]))
    return _shortened([line for line in lines if _ERROR.search(line)][-1:])


def _exception(lines: list[str]) -> list[str]:
    """The message below a traceback's frames, which are indented."""
    start = next((number for number, line in enumerate(lines) if line and not line[0].isspace()), len(lines))
    found: list[str] = []
    for line in lines[start : start + MAX_LINES]:
        if found and (not line.strip() or _LOG_LINE.match(line)):
            break
        found.append(line)
    return found


def _shortened(lines: list[str]) -> str:
    text = ' '.join(line.strip() for line in lines)
    return text if len(text) <= MAX_REASON else text[:MAX_REASON] + '…'


def _end_of(log: Path) -> str:
    try:
        with log.open('rb') as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_BYTES))
            return _CONTROL.sub('', file.read().decode('utf-8', errors='replace').replace('\r', '\n'))
    except OSError:
        return ''
