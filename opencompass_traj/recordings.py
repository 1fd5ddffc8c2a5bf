"""Recorded runs: an agent's answers by sample, and whether they pair up with the golden file."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_traj.files import Fields, Row, as_text, listed, read_rows, resolve_path
from opencompass_traj.parsing.trajectories import RECORDED


def read_recording(path: str, *, fields: Fields | None = None) -> dict[str, str]:
    """Read an agent's recorded answers.

    Args:
        path: See `files.resolve_path`. JSON lines or a JSON list of objects with `id` and `prediction`, JSON
            `{id: prediction}` or `{id: {prediction: …}}`; or a folder of files, one a run. A row without `prediction`
            that is itself a recorded run (chat messages, spans, …) is the prediction.
        fields: Where the values are in files with other keys; see `files.read_rows`.

    Returns:
        The answer's text by sample id; an answer that is no text is written as JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a row has no id or no prediction, or an id occurs twice; all are named.
    """
    file = resolve_path(path, folders=True)
    rows = read_rows(file, fields=fields, scalar='prediction')
    lacking = [f'sample {key!r}: expected a `prediction`' for key, row in rows if not _has_prediction(row)]
    if lacking:
        raise ValueError(listed(f'{file}: the recording is unsound', lacking))
    return {key: as_text(row.get('prediction', row)) for key, row in rows}


def pairing_problems(recorded: Sequence[str], tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which tasks have no recorded answer, and which recorded answers belong to no task, each in order."""
    known, asked = set(recorded), set(tasks)
    return [key for key in tasks if key not in known], [key for key in recorded if key not in asked]


def _has_prediction(row: Row) -> bool:
    return 'prediction' in row or any(recorded.recognises(row) for recorded in RECORDED.values())
