"""Recorded runs: an agent's answers by sample, and whether they pair up with the golden file."""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_traj.files import Fields, Row, as_text, listed, read_rows, resolve_path
from opencompass_traj.parsing import step_lists
from opencompass_traj.parsing.sealed import seal
from opencompass_traj.parsing.trajectories import RECORDED


def read_recording(path: str, *, fields: Fields | None = None) -> dict[str, str]:
    """Read an agent's recorded answers.

    Args:
        path: See `files.resolve_path`. JSON lines or a JSON list of objects with `id` and `prediction`, JSON
            `{id: prediction}` or `{id: {prediction: …}}`; or a folder of files, one a run. A row without `prediction`
            that is itself a recorded run (chat messages, spans, …) or holds a list of steps is the prediction.
            Outcome, tokens, latency and cost beside a prediction stay with it.
        fields: Where the values are in files with other keys; see `files.read_rows`.

    Returns:
        The answer's text by sample id; an answer that is no text is written as JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a row has no id or no prediction, or an id occurs twice; all are named.
    """
    file = resolve_path(path, folders=True)
    rows = read_rows(file, fields=fields, scalar='prediction')
    lacking = [f'sample {key!r}: expected a `prediction`' for key, row in rows if not has_prediction(row)]
    if lacking:
        raise ValueError(listed(f'{file}: the recording is unsound', lacking))
    return {key: answer_of(row) for key, row in rows}


def answer_of(row: Row) -> str:
    """The answer in a row as text, with what the row says about the run; see `parsing.sealed`."""
    if 'prediction' not in row:
        # The reader of a recorded run finds the figures itself; a list of steps is read without them.
        recorded = any(recorded.recognises(row) for recorded in RECORDED.values())
        return as_text(row) if recorded else seal(row, row)
    prediction = row['prediction']
    within = prediction if isinstance(prediction, dict) else {}
    return seal(prediction, {**within, **{key: value for key, value in row.items() if value is not None}})


def pairing_problems(recorded: Sequence[str], tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which tasks have no recorded answer, and which recorded answers belong to no task, each in order."""
    known, asked = set(recorded), set(tasks)
    return [key for key in tasks if key not in known], [key for key in recorded if key not in asked]


def has_prediction(row: Row) -> bool:
    """Whether a row has a `prediction`, or is one itself."""
    if 'prediction' in row or any(recorded.recognises(row) for recorded in RECORDED.values()):
        return True
    return 'ground_truth' not in row and step_lists.recognises(row)
