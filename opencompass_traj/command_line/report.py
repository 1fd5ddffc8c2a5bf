"""`report RUN`: writes the HTML report of a run again, without OpenCompass."""

from __future__ import annotations

import argparse
from typing import Final

from opencompass_traj.command_line.arguments import add_run
from opencompass_traj.exit_codes import ALWAYS, GOOD
from opencompass_traj.plain_text import plain
from opencompass_traj.report.runs import read_run
from opencompass_traj.terminal import write

_DESCRIPTION: Final = """\
Writes the HTML report of a run again: one file that needs nothing else. By default it takes the place of the one that
the run wrote beside its summary. Prints the file's name, and the tasks that have no result."""
_EPILOG: Final = f"""\
exit codes:
  0    the report is written
  2    the arguments are wrong, or the run cannot be read
{ALWAYS}

examples:
  python -m opencompass_traj report outputs/new
  python -m opencompass_traj report outputs/new --language zh --out report.html"""


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_run(parser)
    parser.add_argument('--out', metavar='FILE', help='default: summary/summary_TIME.html in the run')
    parser.add_argument('--language', choices=('en', 'zh'), default='en', help='that the page opens in; default: en')
    parser.add_argument('--title', default='', metavar='TEXT', help="default: the name of the run's folder")


def run(given: argparse.Namespace) -> int:
    """Write the report of the run that was named.

    Raises:
        OSError: If the run cannot be read, or the file not be written.
    """
    from opencompass_traj.report.page import write_report

    found = read_run(given.run)
    beside = found.work_dir / 'summary' / f'summary_{found.work_dir.resolve().name}.html'
    path = write_report(found, given.out or beside, language=given.language, title=given.title)
    write(plain(str(path), limit=2_000))
    for task in found.failed:
        write(plain(f'no result: {task.model} on {task.dataset}: {task.failure}', limit=600))
    return GOOD
