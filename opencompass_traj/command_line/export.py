"""`export RUN`: writes the rows of a run for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from opencompass_traj.command_line.arguments import add_run
from opencompass_traj.exit_codes import ALWAYS, GOOD
from opencompass_traj.plain_text import plain
from opencompass_traj.report.runs import read_run
from opencompass_traj.terminal import complain, write

_DESCRIPTION: Final = """\
Writes every row of details of a run, of all models and datasets, into one file: JSON lines, or parquet with lists as
JSON text. Rates are from 0 to 1, as in the details. Prints the file's name; tasks without
a result are named on standard error."""
_EPILOG: Final = f"""\
exit codes:
  0    the file is written
  2    the arguments are wrong, or the run cannot be read
{ALWAYS}

examples:
  python -m opencompass_traj export outputs/new --out samples.jsonl
  python -m opencompass_traj export outputs/new --format parquet"""
_FORMATS: Final = ('jsonl', 'parquet')


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_run(parser)
    parser.add_argument('--format', choices=_FORMATS, help="default: by the file's ending, else jsonl")
    parser.add_argument('--out', metavar='FILE', help='default: samples.jsonl or samples.parquet')


def run(given: argparse.Namespace) -> int:
    """Write the rows of the run that was named.

    Raises:
        ValueError: If the format is another one than the file's ending says.
        OSError: If the run cannot be read, or the file not be written.
    """
    from opencompass_traj.report.frames import export_samples

    out = given.out or f'samples.{given.format or _FORMATS[0]}'
    if given.format and Path(out).suffix != f'.{given.format}':
        raise ValueError(f'expected a file that ends in .{given.format}, got {out!r}')
    found = read_run(given.run)
    write(plain(str(export_samples(found, out)), limit=2_000))
    for task in found.failed:
        complain('export', plain(f'no result: {task.model} on {task.dataset}: {task.failure}', limit=600))
    return GOOD
