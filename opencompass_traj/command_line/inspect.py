"""`inspect FILE`: shows what is recognised in a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any, Final, Literal

from opencompass_traj.exit_codes import ALWAYS, FAULTS_FOUND, GOOD
from opencompass_traj.inspection import KEYLESS, Inspection, Sample, counted, inspect_path
from opencompass_traj.parsing.trajectories import FORMATS, check_format
from opencompass_traj.plain_text import MAX_TEXT, plain
from opencompass_traj.terminal import write

MAX_LISTED: Final = 20
MAX_PLACES: Final = 4

_WITHOUT_ID: Final = 'expected an `id`'

_HINT: Final = 'For files with other keys, --fields says where the values are: --fields id=task_id prediction=answer'
_TITLES: Final[dict[str, str]] = {'prediction': 'recorded answers and runs', 'golden': 'golden plans'}
_DESCRIPTION: Final = """\
Shows what is recognised in a file or folder of recorded runs, answers or golden plans: formats, samples, steps, turns,
failed calls, outcome and figures, the tools used most, and what could not be read and why."""
_EPILOG: Final = f"""\
exit codes:
  0    everything was read
  1    something could not be read: a row, a sample or a step
  2    the arguments are wrong, or there is no such file
{ALWAYS}

examples:
  python -m opencompass_traj inspect runs/
  python -m opencompass_traj inspect answers.jsonl --format react --limit 20
  python -m opencompass_traj inspect runs.jsonl --fields id=task_id,trial query=instruction ground_truth=gold_actions
  python -m opencompass_traj inspect answers.jsonl --fields id= 'prediction=init output' --json"""


def describe(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument('file', metavar='FILE', help='a file, a folder of runs, or package:NAME/path')
    parser.add_argument('--format', default='auto', metavar='NAME', help=f'how answers are read: {", ".join(FORMATS)}')
    parser.add_argument(
        '--fields',
        nargs='+',
        action='extend',
        default=[],
        metavar='NAME=PATH',
        help='where id, prediction, query and ground_truth are: a dotted path, several joined by commas (their values '
        "make one id), or nothing: the row's number",
    )
    parser.add_argument('--limit', type=int, metavar='N', help='look at the first N rows only')
    parser.add_argument('--json', action='store_true', help='write JSON, with a row for each sample')


def run(given: argparse.Namespace) -> int:
    """Inspect the file that was named.

    Raises:
        ValueError: If an option is wrong.
        OSError: If there is no such file.
    """
    check_format(given.format)
    found = inspect_path(
        given.file, prediction_format=given.format, fields=read_fields(given.fields), limit=given.limit
    )
    write(as_json(found) if given.json else as_report(found))
    return GOOD if found.sound else FAULTS_FOUND


def as_report(found: Inspection) -> str:
    """An inspection as text for people; each line is bounded, and hostile characters are shown as escapes."""
    lines = [plain(found.path, limit=2_000)]
    if found.one_run:
        lines.append('one recorded run; a config takes a folder of such files, each named by the id of its task')
    if found.left_out:
        lines.append(f'{found.left_out} more rows left out by --limit')
    for part, title in _TITLES.items():
        samples = [sample for sample in found.samples if sample.part == part]
        if samples:
            lines += ['', *_section(title, samples)]
    lines += _listing('problems with the rows', [_split(problem) for problem in found.problems])
    lines += _listing('could not be read', [(sample.id, sample.reason) for sample in found.samples if sample.reason])
    dropped = [(sample.id, text) for sample in found.samples for text in sample.dropped]
    lines += _listing('left out of what was read', dropped)
    if any(_WITHOUT_ID in problem for problem in found.problems) or any(KEYLESS in one.reason for one in found.samples):
        lines += ['', _HINT]
    return '\n'.join(lines)


def as_json(found: Inspection) -> str:
    """An inspection as JSON in ASCII: `path`, `sound`, `problems`, `left_out`, `one_run` and a list of `samples`."""
    content = {
        'path': found.path,
        'sound': found.sound,
        'problems': [text[:MAX_TEXT] for text in found.problems],
        'left_out': found.left_out,
        'one_run': found.one_run,
        'samples': [_sample(sample) for sample in found.samples],
    }
    return json.dumps(content, indent=1).replace('\x7f', '\\u007f')


def _section(title: str, samples: list[Sample]) -> list[str]:
    read = [sample for sample in samples if not sample.reason]
    ids = len({sample.id for sample in samples})
    several = f' of {ids} samples' if ids < len(samples) else ''
    lines = [f'{title}: {len(samples)}{several}, {len(read)} read, {len(samples) - len(read)} not']
    figures = [
        ('formats', _counts(samples, 'format')),
        ('recovered', _recovered(read)),
        ('steps', _steps(read)),
        ('failed calls', _failures(read)),
        ('outcome', _outcome(read)),
        *((key, _figure(read, key)) for key in ('tokens', 'latency', 'cost')),
        ('stated', _counts(samples, 'stated')),
        ('tools', _counts(samples, 'tool')),
    ]
    return lines + [f'  {name:<13} {text}' for name, text in figures if text]


def _counts(samples: list[Sample], key: Literal['format', 'tool', 'stated']) -> str:
    counts = counted(samples, key=key)
    more = f', and {len(counts) - MAX_LISTED} others' if len(counts) > MAX_LISTED else ''
    return ', '.join(f'{plain(name, limit=60)} {count}' for name, count in counts[:MAX_LISTED]) + more


def _recovered(read: list[Sample]) -> str:
    recovered = sum(sample.recovered for sample in read if sample.part == 'prediction')
    return f"{recovered} that T-Eval's own reading does not take" if recovered else ''


def _steps(read: list[Sample]) -> str:
    if not read:
        return ''
    lengths = [len(sample.plan) for sample in read]
    turns, parallel = sum(sample.turns for sample in read), sum(sample.turns < len(sample.plan) for sample in read)
    together = f' in {turns} turns (parallel calls in {parallel} samples)' if parallel else ''
    empty = f', {lengths.count(0)} samples with none' if 0 in lengths else ''
    return f'{sum(lengths)}{together}, {min(lengths)} to {max(lengths)} a sample{empty}'


def _failures(read: list[Sample]) -> str:
    known = sum(step.failed is not None for sample in read for step in sample.plan.steps)
    if not known:
        return ''
    failed = sum(sample.failed_calls for sample in read)
    return f'{failed} of {known} calls with a recorded result'


def _outcome(read: list[Sample]) -> str:
    known = [sample.record.solved for sample in read if sample.record.solved is not None]
    return f'{sum(known)} solved, {len(known) - sum(known)} not{_missing(len(known), len(read))}' if known else ''


def _figure(read: list[Sample], key: str) -> str:
    values = [value for sample in read if (value := getattr(sample.record, key)) is not None]
    return f'{sum(values) / len(values):.6g} on average{_missing(len(values), len(read))}' if values else ''


def _missing(known: int, total: int) -> str:
    return f', {total - known} not recorded' if known < total else ''


def _listing(title: str, found: Sequence[tuple[str, str]]) -> list[str]:
    """Pairs of a place and what is wrong there, places with the same fault on one line."""
    if not found:
        return []
    places: dict[str, list[str]] = {}
    for place, fault in found:
        places.setdefault(fault, []).append(place)
    lines = [f'  {_places(where)}{plain(fault)}' for fault, where in places.items()]
    more = [f'  … and {len(lines) - MAX_LISTED} other faults'] if len(lines) > MAX_LISTED else []
    return ['', f'{title}:', *lines[:MAX_LISTED], *more]


def _split(problem: str) -> tuple[str, str]:
    place, expected, rest = problem.partition(': expected ')
    return (place, f'expected {rest}') if expected else ('', problem)


def _places(where: Sequence[str]) -> str:
    named = [plain(place, limit=60) for place in where[:MAX_PLACES] if place]
    more = f' and {len(where) - MAX_PLACES} more' if len(where) > MAX_PLACES else ''
    return f'{", ".join(named)}{more}: ' if named else ''


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        'part': sample.part,
        'id': sample.id[:MAX_TEXT],
        'reason': sample.reason[:MAX_TEXT],
        'format': sample.format,
        'recovered': sample.recovered,
        'steps': len(sample.plan),
        'turns': sample.turns,
        'failed_calls': sample.failed_calls,
        'solved': sample.record.solved,
        'tokens': sample.record.tokens,
        'latency': sample.record.latency,
        'cost': sample.record.cost,
        'stated': list(sample.stated),
        'dropped': [text[:MAX_TEXT] for text in sample.dropped[:MAX_LISTED]],
        'n_dropped': len(sample.dropped),
        'tools': {name[:MAX_TEXT]: count for name, count in counted([sample], key='tool')[:MAX_LISTED]},
    }


def read_fields(pairs: Sequence[str]) -> dict[str, str | list[str] | None]:
    """`name=path`, `name=path,path` for joined values, and `name=` for the row's number."""
    fields: dict[str, str | list[str] | None] = {}
    for pair in pairs:
        name, equals, path = pair.partition('=')
        if not name or not equals:
            raise ValueError(f'expected --fields as name=path, got {pair!r}')
        paths = path.split(',')
        fields[name] = None if not path else paths[0] if len(paths) == 1 else paths
    return fields
