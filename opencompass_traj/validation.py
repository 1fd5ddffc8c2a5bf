"""Golden files and recordings checked alone: all that is wrong with them, before any inference is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opencompass_traj.files import Fault, Fields, resolve_path
from opencompass_traj.recordings import pairing_problems, scan_recording
from opencompass_traj.tasks import scan_tasks


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one file.

    Attributes:
        file: Its path, or what was asked for where there is none.
        samples: How many samples are sound.
        faults: What is wrong.
        unread: Keys that nothing reads, and in how many records: an author's own, or a misspelling.
    """

    file: str
    samples: int
    faults: tuple[Fault, ...]
    unread: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found in all files.

    Attributes:
        files: In the order in which they were named: golden files, then recordings.
    """

    files: tuple[Checked, ...]

    @property
    def faults(self) -> tuple[tuple[str, Fault], ...]:
        """All faults, each with its file."""
        return tuple((one.file, fault) for one in self.files for fault in one.faults)

    @property
    def sound(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


def validate(
    paths: Sequence[str],
    *,
    recordings: Sequence[str] = (),
    fields: Fields | None = None,
    recording_fields: Fields | None = None,
) -> Validation:
    """Check golden files, and recordings that answer their tasks, as the dataset and `RecordedAgent` would.

    Args:
        paths: Golden files; see `files.resolve_path`.
        recordings: Recorded answers, or folders of runs; each must answer every task of all the golden files, and no
            other.
        fields: Where the values are in golden files with other keys; see `files.read_rows`.
        recording_fields: The same for the recordings.

    Returns:
        Every fault of every file. A file that does not exist is a fault.

    Example:
        >>> validate(['package:opencompass_traj/data/demo/tasks.jsonl']).sound
        True
    """
    golden: list[Checked] = []
    ids: list[str] = []
    for path in paths:
        found, keys = _golden(path, fields)
        golden.append(found)
        ids.extend(keys)
    complete = not any(one.faults for one in golden)
    return Validation(
        (*golden, *(_recording(path, recording_fields, ids if complete else None) for path in recordings))
    )


def _golden(path: str, fields: Fields | None) -> tuple[Checked, list[str]]:
    try:
        file = resolve_path(path)
        found = scan_tasks(file, fields=fields)
    except (OSError, ValueError) as error:
        return _unreadable(path, error), []
    return Checked(str(file), len(found.tasks), tuple(found.faults), tuple(found.unread.items())), [
        one.id for one in found.tasks
    ]


def _recording(path: str, fields: Fields | None, ids: Sequence[str] | None) -> Checked:
    try:
        file = resolve_path(path, folders=True)
        answers, faults = scan_recording(file, fields=fields)
    except (OSError, ValueError) as error:
        return _unreadable(path, error)
    if ids is not None:
        absent, unknown = pairing_problems(list(answers), ids)
        faults += [Fault('', key, 'expected an answer, got none') for key in absent]
        faults += [Fault('', key, 'expected the id of a task') for key in unknown]
    return Checked(str(file), len(answers), tuple(faults))


def _unreadable(path: str, error: OSError | ValueError) -> Checked:
    text = str(error)
    return Checked(path, 0, (Fault('', None, text.removeprefix(f'{path}: ')),))
