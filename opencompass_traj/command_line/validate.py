"""`validate FILE`: checks golden files, and the recordings that answer them, without running anything."""

from __future__ import annotations

import argparse
import json
from typing import Final

from opencompass_traj.command_line.exit_codes import ALWAYS, FAULTS_FOUND, GOOD
from opencompass_traj.command_line.inspect import read_fields
from opencompass_traj.command_line.output import write
from opencompass_traj.plain_text import plain
from opencompass_traj.validation import Checked, Validation, validate

MAX_LISTED: Final = 200
MAX_CHARS: Final = 400

_DESCRIPTION: Final = """\
Says everything that is wrong with golden files: rows, ids, steps, dependencies, arguments, budgets, prompts; and with
recordings, whether they answer every task and no other. Nothing is run, and no model is asked."""
_EPILOG: Final = f"""\
exit codes:
  0    no fault
  1    faults were found
  2    the arguments are wrong
{ALWAYS}

examples:
  python -m opencompass_traj validate tasks.jsonl
  python -m opencompass_traj validate tasks.jsonl --recordings runs/ --json
  python -m opencompass_traj validate gold.json --fields id=task_id query=instruction ground_truth=gold_actions"""


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument('files', nargs='+', metavar='FILE', help='a golden file, or package:NAME/path')
    for flag, what in (('--fields', 'golden files'), ('--recording-fields', 'recordings')):
        parser.add_argument(
            flag,
            nargs='+',
            action='extend',
            default=[],
            metavar='NAME=PATH',
            help=f'where the values are in {what} with other keys: a dotted path, several joined by commas, or '
            "nothing: the row's number",
        )
    parser.add_argument(
        '--recordings', nargs='+', default=[], metavar='PATH', help='recorded answers, or folders of runs, to check too'
    )
    parser.add_argument('--json', action='store_true', help='write JSON, with every fault')


def run(given: argparse.Namespace) -> int:
    """Validate the files that were named.

    Raises:
        ValueError: If an option is wrong.
    """
    found = validate(
        given.files,
        recordings=given.recordings,
        fields=read_fields(given.fields),
        recording_fields=read_fields(given.recording_fields),
    )
    write(as_json(found) if given.json else as_text(found))
    return GOOD if found.sound else FAULTS_FOUND


def as_text(found: Validation) -> str:
    """A validation as text for people; lines are bounded, and hostile characters are shown as escapes."""
    return '\n'.join(line for file in found.files for line in _of_file(file))


def as_json(found: Validation) -> str:
    """A validation as JSON in ASCII: `sound`, and a list of `files` with their `faults`."""
    files = [
        {
            'file': one.file,
            'samples': one.samples,
            'unread': dict(one.unread),
            'faults': [
                {'place': fault.place, 'sample': fault.sample, 'step': fault.step, 'problem': fault.problem}
                for fault in one.faults
            ],
        }
        for one in found.files
    ]
    return json.dumps({'sound': found.sound, 'files': files}, indent=1).replace('\x7f', '\\u007f')


def _of_file(one: Checked) -> list[str]:
    state = _counted(len(one.faults), 'fault') if one.faults else 'no fault'
    lines = [f'{plain(one.file, limit=2_000)}: {_counted(one.samples, "sound sample")}, {state}']
    lines += [f'  {plain(str(fault), limit=MAX_CHARS)}' for fault in one.faults[:MAX_LISTED]]
    if len(one.faults) > MAX_LISTED:
        lines.append(f'  … and {len(one.faults) - MAX_LISTED} more; --json lists all')
    if one.unread:
        keys = ', '.join(f'{plain(key, limit=60)} ({count})' for key, count in one.unread[:MAX_LISTED])
        lines.append(f'  keys that nothing reads, with the samples that have them: {keys}')
    return lines


def _counted(count: int, name: str) -> str:
    return f'{count} {name}' if count == 1 else f'{count} {name}s'
