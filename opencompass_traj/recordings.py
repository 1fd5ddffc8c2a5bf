"""Recorded runs: an agent's answers by sample, and whether they pair up with the golden file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opencompass_traj.files import Fault, Fields, Row, listed, resolve_path, scan_rows
from opencompass_traj.parsing import step_lists
from opencompass_traj.parsing.sealed import golden_key, seal
from opencompass_traj.parsing.trajectories import RECORDED
from opencompass_traj.tasks import Task


def read_recording(path: str, *, fields: Fields | None = None, tasks: Sequence[Task] = ()) -> dict[str, str]:
    """Read an agent's recorded answers.

    Args:
        path: See `files.resolve_path`. JSON lines or a JSON list of objects with `id` and `prediction`, JSON
            `{id: prediction}` or `{id: {prediction: …}}`; or a folder of files, one a run. A row without `prediction`
            that is itself a recorded run (chat messages, spans, …) or holds a list of steps is the prediction.
            Outcome, tokens, latency and cost beside a prediction stay with it.
        fields: Where the values are in files with other keys; see `files.read_rows`.
        tasks: The golden tasks that it answers: an answer is sealed with its task, and the evaluator believes what a
            recording says about outcome, tokens, latency and cost only under that seal; see `parsing.sealed`.

    Returns:
        The answer's text by sample id; an answer that is no text is written as JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a row has no id or no prediction, or an id occurs twice; all are named.
    """
    file = resolve_path(path, folders=True)
    keys = {task.id: golden_key(task.record) for task in tasks}
    answers, faults = scan_recording(file, fields=fields, keys=keys)
    if faults:
        raise ValueError(listed(f'{file}: the recording is unsound', faults))
    return answers


def scan_recording(
    file: Path, *, fields: Fields | None = None, keys: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[Fault]]:
    """Read what can be read of an agent's recorded answers, and say what is wrong with the others.

    Args:
        file: A file or folder.
        fields: As for `read_recording`.
        keys: What the figures of each sample are sealed with: its task's `parsing.sealed.golden_key`.

    Returns:
        The answers by sample id, and the faults.

    Raises:
        ValueError: If the file as a whole cannot be read, or holds no row.
    """
    rows, faults = scan_rows(file, fields=fields, scalar='prediction')
    faults += [Fault(place, key, 'expected a `prediction`') for place, key, row in rows if not has_prediction(row)]
    known = keys or {}
    return {key: answer_of(row, known.get(key, '')) for _, key, row in rows if has_prediction(row)}, faults


def answer_of(row: Row, key: str = '') -> str:
    """The answer in a row as text, with what the row says about the run.

    Args:
        row: A row of a recording.
        key: The task's `parsing.sealed.golden_key`, without which no evaluator believes the figures.
    """
    if 'prediction' not in row:
        # The reader of a recorded run finds the figures itself; a list of steps is read without them.
        is_run = _is_recorded(row)
        return seal(row, {} if is_run else row, key=key, is_run=is_run)
    prediction = row['prediction']
    within = prediction if isinstance(prediction, dict) else {}
    beside = {**within, **{name: value for name, value in row.items() if value is not None}}
    return seal(prediction, beside, key=key, is_run=_is_recorded(prediction))


def _is_recorded(value: object) -> bool:
    return any(recorded.recognises(value) for recorded in RECORDED.values())


def pairing_problems(recorded: Sequence[str], tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which tasks have no recorded answer, and which recorded answers belong to no task, each in order."""
    known, asked = set(recorded), set(tasks)
    return [key for key in tasks if key not in known], [key for key in recorded if key not in asked]


def has_prediction(row: Row) -> bool:
    """Whether a row has a `prediction`, or is one itself."""
    if 'prediction' in row or any(recorded.recognises(row) for recorded in RECORDED.values()):
        return True
    return 'ground_truth' not in row and step_lists.recognises(row)
