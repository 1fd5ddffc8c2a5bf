"""`validate FILE`: checks golden files, the recordings that answer them, and the datasets of configs."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from opencompass_traj.command_line.inspect import read_fields
from opencompass_traj.exit_codes import ALWAYS, FAULTS_FOUND, GOOD
from opencompass_traj.plain_text import plain
from opencompass_traj.terminal import write
from opencompass_traj.validation import Checked, Validation, validate

MAX_LISTED: Final = 200
MAX_CHARS: Final = 400

_DESCRIPTION: Final = """\
Says everything that is wrong with golden files: rows, ids, steps, dependencies, arguments, budgets, prompts; and with
recordings, whether they answer every task and no other. Of a config (FILE.py) the golden plans of all its datasets are
checked as the run would read and score them, with the evaluators' options. No model is asked."""
_EPILOG: Final = f"""\
exit codes:
  0    no fault
  1    faults were found
  2    the arguments are wrong
{ALWAYS}

examples:
  python -m opencompass_traj validate tasks.jsonl
  python -m opencompass_traj validate tasks.jsonl --recordings runs/ --json
  python -m opencompass_traj validate configs/eval_traj.py
  python -m opencompass_traj validate gold.json --fields id=task_id query=instruction ground_truth=gold_actions"""


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        'files', nargs='+', metavar='FILE', help='a golden file, package:NAME/path, or a config: a .py file'
    )
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
    configs = [path for path in given.files if path.endswith('.py')]
    files = [path for path in given.files if not path.endswith('.py')]
    if given.recordings and not files:
        raise ValueError('expected a golden file beside --recordings, got configs alone')
    checked = [one for path in configs for one in _of_config(path)]
    if files:
        of_files = validate(
            files,
            recordings=given.recordings,
            fields=read_fields(given.fields),
            recording_fields=read_fields(given.recording_fields),
        )
        checked += of_files.files
    found = Validation(tuple(checked))
    write(as_json(found) if given.json else as_text(found))
    return GOOD if found.sound else FAULTS_FOUND


def _of_config(path: str) -> tuple[Checked, ...]:
    # It loads OpenCompass, which takes longer than all that is checked.
    from opencompass_traj.golden_check import check_config

    return tuple(replace(one, file=f'{path}: {one.file}') for one in check_config(Path(path)).files)


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
