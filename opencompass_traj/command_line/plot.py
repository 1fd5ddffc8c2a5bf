"""`plot RUN`: draws the leaderboard, and the graphs of samples."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from opencompass_traj.command_line.arguments import add_repeatable, add_run
from opencompass_traj.exit_codes import ALWAYS, GOOD
from opencompass_traj.plain_text import plain
from opencompass_traj.report.known import worst_rows
from opencompass_traj.report.names import chosen, known_metrics
from opencompass_traj.report.runs import Run, read_run
from opencompass_traj.terminal import progress, write

_DESCRIPTION: Final = """\
Draws each dataset's leaderboard with intervals; with --sample or --worst, the golden and the predicted graph of
samples: which steps and dependencies are in both, redundant, or missing. Prints the names of the files."""
_EPILOG: Final = f"""\
exit codes:
  0    the pictures are drawn
  2    the arguments are wrong, the run cannot be read, or matplotlib is not installed
{ALWAYS}

examples:
  python -m opencompass_traj plot outputs/new --out figures
  python -m opencompass_traj plot outputs/new --metric trajectory_score --metric redundant_steps --format png
  python -m opencompass_traj plot outputs/new --sample crm-007 --model planner
  python -m opencompass_traj plot outputs/new --worst 3"""


@dataclass(frozen=True, slots=True)
class _Picture:
    """What will be drawn, and the name of its file without the ending."""

    name: str
    title: str
    draw: Callable[[], Any]


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_run(parser)
    add_repeatable(parser, '--metric', 'METRIC', 'a panel of the leaderboard; the first one orders it')
    add_repeatable(parser, '--sample', 'ID', 'draw the graphs of this sample')
    add_repeatable(parser, '--model', 'NAME', 'look at this model alone')
    add_repeatable(parser, '--dataset', 'NAME', 'look at this dataset alone')
    parser.add_argument('--worst', type=int, default=0, metavar='N', help="draw each model's N worst samples")
    parser.add_argument('--out', default='figures', metavar='DIR', help='folder of the pictures; default: figures')
    parser.add_argument('--format', choices=('svg', 'png'), default='svg', help='default: svg')


def run(given: argparse.Namespace) -> int:
    """Draw the run that was named.

    Raises:
        ValueError: If an option is wrong, or matplotlib is missing.
        OSError: If the run cannot be read, or a file not be written.
    """
    from opencompass_traj.report.drawing import file_names, save, style

    found = read_run(given.run)
    models = chosen('model', given.model, found.models)
    datasets = chosen('dataset', given.dataset, found.datasets)
    tasks = tuple(task for task in found.tasks if task.model in models and task.dataset in datasets)
    kept = replace(found, tasks=tasks)
    metrics = known_metrics(kept, given.metric)
    if given.worst < 0:
        raise ValueError(f'expected --worst of at least 0, got {given.worst}')
    graphs = given.sample or given.worst
    pictures = list(_graphs(kept, metrics[0], given) if graphs else _leaderboards(kept, metrics))
    names = file_names([picture.name for picture in pictures])
    for name, picture in progress(list(zip(names, pictures, strict=True)), title='drawing'):
        with style():
            path = save(picture.draw(), Path(given.out) / f'{name}.{given.format}', title=picture.title)
        write(plain(str(path), limit=2_000))
    return GOOD


def _leaderboards(found: Run, metrics: Sequence[str]) -> Iterator[_Picture]:
    from opencompass_traj.report.plots import draw_leaderboard, leaderboard

    for dataset in found.datasets:
        places = leaderboard(found, dataset, metrics)
        draw = partial(draw_leaderboard, places, metrics, title=dataset)
        yield _Picture(f'leaderboard-{dataset}', f'{dataset}: {", ".join(metrics)}', draw)


def _graphs(found: Run, metric: str, given: argparse.Namespace) -> Iterator[_Picture]:
    from opencompass_traj.report.graph_plot import draw_graphs

    wanted = set(chosen('sample', given.sample, list(_ids(found)))) if given.sample else set()
    for task in found.scored:
        rows = [row for row in task.rows if str(row['sample']) in wanted] + worst_rows(task, metric, given.worst)
        for row in {id(row): row for row in rows}.values():
            value = row.get(metric)
            score = '' if value is None else f': {metric} {value * (100 if metric in task.rates else 1):.1f}'
            trial = f', trial {row["replica"] + 1}' if row.get('replica') else ''
            title = f'{task.model}, {row["sample"]}{trial}{score}'
            yield _Picture(
                f'{task.model}-{task.dataset}-{row["sample"]}', title, partial(draw_graphs, row, title=title)
            )


def _ids(found: Run) -> dict[str, None]:
    return dict.fromkeys(str(row['sample']) for task in found.scored for row in task.rows)
