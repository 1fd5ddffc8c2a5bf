"""`gate RUN`: says whether a run may be released."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from opencompass_traj.command_line.arguments import add_repeatable, add_run
from opencompass_traj.exit_codes import ALWAYS, FAULTS_FOUND, GOOD
from opencompass_traj.report.gate import RATES, Gate
from opencompass_traj.report.junit import as_junit
from opencompass_traj.report.runs import Run, read_run
from opencompass_traj.terminal import coloured, write, write_file

_DESCRIPTION: Final = """\
Says whether a run may be released: whether its numbers keep within bounds, and whether it is no worse than a baseline
on the samples that both have. Numbers are those of the summary: rates from 0 to 100, counts as means per sample."""
_EPILOG: Final = f"""\
A drop fails the gate when it is shown: when its whole interval is beyond the allowance, and a paired permutation test,
corrected for the number of comparisons, says so too. Where the samples are too few to tell, the text says `not shown`,
which passes without --strict. A model, dataset, metric or result that is missing fails.

exit codes:
  0    the gate passed
  1    the gate failed
  2    the arguments are wrong, or a run cannot be read
{ALWAYS}

examples:
  python -m opencompass_traj gate outputs/new --min trajectory_score=80 --max silent_degradation_rate=2
  python -m opencompass_traj gate outputs/new --baseline outputs/old --no-worse-than 1 --junit gate.xml
  python -m opencompass_traj gate outputs/new --baseline outputs/old \\
      --no-worse-than trajectory_score=1 --no-worse-than redundant_steps=0.5 --strict"""
_COLOURS: Final = (
    ('gate passed', 'good'),
    ('gate failed', 'bad'),
    ('passed', 'good'),
    ('failed', 'bad'),
    ('not shown', 'unsure'),
    ('warning', 'unsure'),
)


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_run(parser)
    add_gate_arguments(parser)
    parser.add_argument('--junit', metavar='FILE', help='write the checks as JUnit XML, too')


def add_gate_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is asked of a run."""
    parser.add_argument('--baseline', metavar='RUN', help='the run to compare with')
    add_repeatable(parser, '--min', 'METRIC=NUMBER', 'the least that a mean may be')
    add_repeatable(parser, '--max', 'METRIC=NUMBER', 'the most that a mean may be')
    add_repeatable(
        parser,
        '--no-worse-than',
        '[METRIC=]NUMBER',
        "how much worse than the baseline's a mean may be; a number alone is meant for the rates named by --min and "
        '--max, or for trajectory_score; default: 0',
    )
    add_repeatable(parser, '--model', 'NAME', 'look at this model, which must be there')
    add_repeatable(parser, '--dataset', 'NAME', 'look at this dataset, which must be there')
    add_repeatable(parser, '--less-is-better', 'METRIC', 'a metric of your own of which less is better')
    parser.add_argument('--strict', action='store_true', help='let `not shown` and warnings fail, too')
    parser.add_argument('--confidence', type=float, default=0.95, metavar='P', help='of the intervals; default: 0.95')


def run(given: argparse.Namespace) -> int:
    """Check the run that was named.

    Raises:
        ValueError: If an option is wrong.
        OSError: If a run cannot be read, or the file not be written.
    """
    result = gate_of(given).check(read_run(given.run))
    if given.junit:
        write_file(given.junit, as_junit(result))
    write(coloured(result.text, _COLOURS))
    return GOOD if result.passed else FAULTS_FOUND


def gate_of(given: argparse.Namespace, baseline: Run | None = None) -> Gate:
    """The gate that the arguments describe.

    Args:
        given: The arguments.
        baseline: The run that `--baseline` names, where it is read already.

    Raises:
        ValueError: If they are wrong.
    """
    return Gate(
        min=_numbers('--min', given.min),
        max=_numbers('--max', given.max),
        baseline=given.baseline if baseline is None else baseline,
        no_worse_than=_allowances(given.no_worse_than),
        models=given.model,
        datasets=given.dataset,
        less_is_better=given.less_is_better,
        strict=given.strict,
        confidence=given.confidence,
    )


def _allowances(texts: Sequence[str]) -> dict[str, float] | None:
    return _numbers('--no-worse-than', [text if '=' in text else f'{RATES}={text}' for text in texts]) or None


def _numbers(option: str, texts: Sequence[str]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for text in texts:
        metric, equals, number = text.rpartition('=')
        if not metric or not equals:
            raise ValueError(f'expected {option} as METRIC=NUMBER, got {text!r}')
        if metric in numbers:
            raise ValueError(f'expected {option} once for each metric, got {text!r} too')
        numbers[metric] = _number(option, number)
    return numbers


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'expected {option} with a number, got {text!r}') from None
