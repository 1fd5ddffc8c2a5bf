"""`comment RUN`: writes markdown about a run for a pull request."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Final

from opencompass_traj.command_line.arguments import add_repeatable, add_run
from opencompass_traj.command_line.gate import add_gate_arguments, gate_of
from opencompass_traj.exit_codes import ALWAYS, GOOD
from opencompass_traj.report.runs import read_run
from opencompass_traj.terminal import write, write_file

_DESCRIPTION: Final = """\
Writes markdown for a comment on a pull request: the leaderboard with intervals, what changed against a baseline, the
samples to look at, and what the gate says, if anything is asked of the run; with --baseline alone, that each column is
no worse. The exit code does not depend on that: `gate` is what stops a release."""
_EPILOG: Final = f"""\
exit codes:
  0    the comment is written
  2    the arguments are wrong, or a run cannot be read
{ALWAYS}

examples:
  python -m opencompass_traj comment outputs/new --baseline outputs/old --no-worse-than 1 --out comment.md
  python -m opencompass_traj comment outputs/new --metric trajectory_score --metric redundant_steps --worst 10"""


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_run(parser)
    column = 'a column; the first one says which samples are the worst; default: trajectory_score'
    add_repeatable(parser, '--metric', 'METRIC', column)
    parser.add_argument('--worst', type=int, default=5, metavar='N', help='samples to name; default: 5')
    add_gate_arguments(parser)
    parser.add_argument('--out', metavar='FILE', help='write to a file; default: standard output')


def run(given: argparse.Namespace) -> int:
    """Write about the run that was named.

    Raises:
        ValueError: If an option is wrong.
        OSError: If a run cannot be read, or the file not be written.
    """
    from opencompass_traj.report.markdown import as_comment
    from opencompass_traj.report.names import known_metrics

    found = read_run(given.run)
    if given.model:
        found = replace(found, tasks=tuple(task for task in found.tasks if task.model in given.model))
    baseline = read_run(given.baseline) if given.baseline else None
    metrics = known_metrics(found, given.metric)
    result = None
    if given.min or given.max or given.baseline or given.no_worse_than:
        gate = gate_of(given, baseline)
        if not (given.min or given.max or given.no_worse_than):
            gate = replace(gate, no_worse_than=dict.fromkeys(metrics, 0.0))
        result = gate.check(found)
    text = as_comment(found, metrics, baseline=baseline, result=result, worst=given.worst)
    if given.out:
        write_file(given.out, text)
    else:
        write(text)
    return GOOD
