"""Arguments that several commands take."""

from __future__ import annotations

import argparse


def add_run(parser: argparse.ArgumentParser) -> None:
    """The run that a command is about."""
    parser.add_argument('run', metavar='RUN', help="a run's work_dir (its newest run is taken) or time-stamped folder")


def add_repeatable(parser: argparse.ArgumentParser, flag: str, metavar: str, text: str) -> None:
    """An option that may be given several times, and whose values are a list."""
    parser.add_argument(flag, action='append', default=[], metavar=metavar, help=f'{text} (repeatable)')
