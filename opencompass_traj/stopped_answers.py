"""The answers that a stopped run had already written: all whole ones are kept, and none is asked or paid twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from opencompass.utils import get_logger

from opencompass_traj.whole_files import whole_file

_DECODER: Final = json.JSONDecoder()
_ENTRY: Final = re.compile(r'\s*[{,]\s*"([0-9]{1,12})"\s*:\s*')


def is_whole(file: Path) -> bool:
    """Whether there is a file, and it holds a JSON object to its end."""
    try:
        return isinstance(json.loads(file.read_text(encoding='utf-8')), dict)
    except (FileNotFoundError, ValueError, RecursionError):
        return False


def keep_answers(file: Path) -> None:
    """See to it that OpenCompass goes on from the answers that a stopped run had, and from whole ones alone.

    It goes on from `tmp_….jsonl`, but throws all of it away where one line is cut off; and its chat inferencer writes
    `tmp_….json` instead, which nothing reads.
    """
    lines = file.with_name(f'tmp_{file.name}').with_suffix('.jsonl')
    content = file.with_name(f'tmp_{file.name}')
    if is_whole(file):
        # All answers are in it; what is left over would only bring old ones back if the file were deleted.
        content.unlink(missing_ok=True)
    elif lines.is_file():
        _keep_lines(lines)
    elif content.is_file():
        answers = _whole_entries(content.read_text(encoding='utf-8', errors='replace'))
        rows = [json.dumps({'idx': key, **answer}) for key, answer in answers]
        _write(lines, ''.join(f'{row}\n' for row in rows).encode())
        content.unlink()
        get_logger().info(f'{file}: going on behind the {len(rows)} answers that a stopped run had')


def _keep_lines(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    whole = _whole_lines(lines)
    if len(whole) < len(lines):
        _write(file, b''.join(whole))
        get_logger().warning(f'{file}: a run was stopped while writing; the {len(whole)} whole answers are kept')


def _whole_lines(lines: list[bytes]) -> list[bytes]:
    """The lines up to the first that is broken."""
    whole: list[bytes] = []
    for line in lines:
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not line.endswith(b'\n') or not isinstance(item, dict) or 'idx' not in item:
            break
        whole.append(line)
    return whole


def _whole_entries(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The entries of a JSON object by number, up to the first that is cut off or out of its turn."""
    entries: list[tuple[str, dict[str, Any]]] = []
    position = 0
    while (found := _ENTRY.match(text, position)) is not None and int(found[1]) == len(entries):
        try:
            value, position = _DECODER.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        entries.append((found[1], value))
    return entries


def _write(file: Path, content: bytes) -> None:
    with whole_file(file) as temporary:
        temporary.write_bytes(content)
