"""The program: its commands, their arguments, and what becomes of errors."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Protocol, cast

from opencompass_traj.exit_codes import EXPLAINED, INTERRUPTED, UNFORESEEN, WRONG_CALL
from opencompass_traj.plain_text import plain
from opencompass_traj.terminal import complain, write

COMMANDS: Final[dict[str, str]] = {
    'inspect': 'show what is recognised in a file of runs or golden plans',
    'validate': 'check golden files, and the recordings that answer them',
    'gate': 'say whether a run may be released: bounds, and no worse than a baseline',
    'comment': 'write markdown about a run for a pull request',
    'plot': 'draw the leaderboard, and the graphs of samples',
    'report': 'write the HTML report of a run again',
    'export': 'write the rows of a run as JSON lines or parquet',
}
_EXAMPLES: Final = """
examples:
  {program} inspect runs/
  {program} gate outputs/new --baseline outputs/old --no-worse-than 1
  {program} plot outputs/new --out figures

`COMMAND --help` says more."""


class Command(Protocol):
    """What the module of a command has."""

    describe: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None, *, program: str = 'python -m opencompass_traj') -> int:
    """Run a command.

    Args:
        arguments: What follows the program's name; None: those of this process.
        program: How the program was called, for its messages.

    Returns:
        The exit code: 0 if all is well, 1 if the command found faults or its answer is no, 2 for wrong arguments and
        input that cannot be read, 130 if it was stopped by Ctrl-C. An error that nobody foresaw is raised; `script`
        makes it 70.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    given = _parser(program, arguments[0] if arguments else '').parse_args(arguments)
    try:
        return command(given.command).run(given)
    except (OSError, ValueError) as error:
        complain(program, plain(str(error), limit=2_000))
        return WRONG_CALL
    except KeyboardInterrupt:
        return INTERRUPTED


def script(program: str = 'opencompass-traj') -> int:
    """Run a command as a process of its own: as `main`, and an error that nobody foresaw gives exit code 70."""
    sys.excepthook = _unforeseen
    return main(program=program)


def _unforeseen(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show an error and where it arose, and end with a code that is not that of a failed gate."""
    if not issubclass(kind, Exception):
        sys.__excepthook__(kind, error, trace)
        return
    for line in ''.join(traceback.format_exception(kind, error, trace)).splitlines():
        write(plain(line, limit=2_000), sys.stderr)
    sys.exit(UNFORESEEN)


def command(name: str) -> Command:
    """The module of a command."""
    return cast('Command', importlib.import_module(f'opencompass_traj.command_line.{name}'))


def _parser(program: str, chosen: str) -> argparse.ArgumentParser:
    """The arguments of the chosen command, and of the others their names alone, so that nothing else is imported."""
    parser = argparse.ArgumentParser(
        prog=program,
        description='Trajectory evaluation: look at recorded runs, and at the results of evaluated ones.',
        epilog=f'{EXPLAINED}\n{_EXAMPLES.format(program=program)}',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title='commands', required=True, metavar='COMMAND', dest='command')
    for name, summary in COMMANDS.items():
        one = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == chosen:
            command(name).describe(one)
    return parser
