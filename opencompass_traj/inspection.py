"""What is recognised in a file of recorded runs or golden plans, and what is not and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from opencompass_traj.files import Fields, as_text, read_rows, resolve_path
from opencompass_traj.parsing.golden import is_teval_layout, parse_golden_leniently
from opencompass_traj.parsing.literal import UNREADABLE
from opencompass_traj.parsing.sealed import unseal, with_record
from opencompass_traj.parsing.teval import PromptType, parse_prediction
from opencompass_traj.parsing.trajectories import RECORDED, check_format, read_trajectory
from opencompass_traj.plan import ParseFailure, Plan, RunRecord, Trajectory
from opencompass_traj.recordings import answer_of, has_prediction
from opencompass_traj.turns import turn_ranks

Part: TypeAlias = Literal['prediction', 'golden']

KEYLESS: Final = 'no `prediction`, no recorded run and no `ground_truth`'

_NO_PLAN: Final = Plan()
_NOTHING: Final = RunRecord()
# What a golden record may say beside its plan.
_STATED: Final = ('budget', 'forbidden', 'effects', 'lookups')
_GOLDEN: Final = frozenset({'ground_truth', 'ground_truths'})

Rows = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Sample:
    """What was made of one prediction or one golden plan.

    Attributes:
        part: `prediction` or `golden`.
        id: The sample's id, or its number in a file without ids.
        reason: Why it cannot be read; empty where it can.
        format: The format that was recognised.
        plan: The steps.
        recovered: Whether T-Eval's own reading fails on it.
        dropped: What could not be read as a step, one text each.
        record: Outcome, tokens, seconds and money.
        stated: What a golden record says beside its plan: `budget`, `forbidden`, `optional steps`, …
    """

    part: Part
    id: str
    reason: str = ''
    format: str = ''
    plan: Plan = _NO_PLAN
    recovered: bool = False
    dropped: tuple[str, ...] = ()
    record: RunRecord = _NOTHING
    stated: tuple[str, ...] = ()

    @property
    def turns(self) -> int:
        """In how many turns the calls were made."""
        ranks = turn_ranks(self.plan)
        return len(self.plan) if ranks is None else len(set(ranks))

    @property
    def failed_calls(self) -> int:
        """How many calls came back with an error, as far as that is recorded."""
        return sum(step.failed is True for step in self.plan.steps)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a file or folder.

    Attributes:
        path: What was read.
        samples: In the file's order; a row with a prediction and golden plans gives a sample for each.
        problems: What is wrong with the rows themselves: no JSON, no id, the same id twice.
        left_out: How many rows were left out by the limit.
        one_run: Whether the file as a whole is a single recorded run.
    """

    path: str
    samples: tuple[Sample, ...]
    problems: tuple[str, ...] = ()
    left_out: int = 0
    one_run: bool = False

    @property
    def sound(self) -> bool:
        """Whether all was read: every row, every sample and every step."""
        return not self.problems and not any(sample.reason or sample.dropped for sample in self.samples)


def inspect_path(
    path: str, *, prediction_format: str = 'auto', fields: Fields | None = None, limit: int | None = None
) -> Inspection:
    """Read a file or folder as `RecordedAgent` and `TrajectoryDataset` do, but say what fails instead of raising.

    Args:
        path: See `files.resolve_path`: recorded runs, golden plans, or rows with both.
        prediction_format: How predictions are read; one of `parsing.trajectories.FORMATS`.
        fields: Where the values are in files with other keys; see `files.read_rows`.
        limit: How many rows are looked at, at least 1; None: all.

    Returns:
        What was found. A row that holds neither a prediction nor a golden plan counts as a prediction that cannot be
        read. Where rows have no id, or one twice, that is a problem, and they are numbered from 0.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        OSError: If it cannot be opened.
        ValueError: For an unknown format or a limit under 1.
    """
    check_format(prediction_format)
    if limit is not None and limit < 1:
        raise ValueError(f'expected `limit` of at least 1, got {limit}')
    file = resolve_path(path, folders=True)
    single = None if fields else _single_run(file)
    rows, problems = ([(file.stem, single)], []) if single is not None else _rows(file, fields or {})
    shown = list(islice(rows, limit))
    samples = tuple(sample for key, row in shown for sample in _samples(key, row, prediction_format))
    return Inspection(str(file), samples, tuple(problems), len(rows) - len(shown), single is not None)


def _single_run(file: Path) -> object | None:
    """The content of a `.json` file that is one recorded run."""
    if file.is_dir() or file.suffix != '.json':
        return None
    try:
        content = json.loads(file.read_text(encoding='utf-8-sig'))
    except UNREADABLE:
        return None
    return content if any(recorded.recognises(content) for recorded in RECORDED.values()) else None


def _rows(file: Path, fields: Fields) -> tuple[Rows, list[str]]:
    """The rows as the loaders read them, else numbered, else those that can be decoded; and what was in the way."""
    problems: list[str] = []
    for attempt in (fields, {**fields, 'id': None}):
        try:
            return [*read_rows(file, fields=attempt, scalar='prediction')], problems
        except ValueError as error:  # noqa: PERF203 - two attempts
            problems = problems or _listed_problems(str(error).removeprefix(f'{file}: '))
    rows: Rows = []
    broken: list[str] = []
    for label, text in _texts(file):
        try:
            rows.append((label, _picked(json.loads(text), fields)))
        except UNREADABLE as error:  # noqa: PERF203 - a broken line must not hide the others
            broken.append(f'{label}: expected JSON ({error})')
    return rows, broken or problems


def _listed_problems(message: str) -> list[str]:
    """The problems of a message that names them one a line under a title, or the message itself."""
    first, *others = message.split('\n')
    return [line.strip() for line in others] or [first]


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    """The JSON texts of a file or folder with what to call each: a line of JSON lines, else a whole file."""
    for one in sorted(file.iterdir()) if file.is_dir() else [file]:
        if file.is_dir() and one.suffix not in {'.json', '.jsonl'}:
            continue
        text = one.read_text(encoding='utf-8-sig', errors='replace')
        name = f'{one.name}: ' if file.is_dir() else ''
        if one.suffix != '.jsonl':
            yield one.name, text
            continue
        for number, line in enumerate(text.split('\n'), 1):
            if line.strip():
                yield f'{name}line {number}', line


def _picked(row: object, fields: Fields) -> object:
    """A row with the values that `fields` names; ids apart, for these rows have lost their places."""
    if not isinstance(row, dict):
        return row
    paths = {name: path for name, path in fields.items() if name != 'id' and isinstance(path, str)}
    return {**row, **{name: value for name, path in paths.items() if (value := _at(row, path)) is not None}}


def _at(row: object, path: str) -> Any:
    if isinstance(row, dict) and path in row:
        return row[path]
    head, _, rest = path.partition('.')
    return _at(row.get(head), rest) if isinstance(row, dict) and rest else None


def _samples(key: str, row: object, prediction_format: str) -> Iterator[Sample]:
    keys = set(row) if isinstance(row, dict) else set()
    if 'prediction' in keys or (has_prediction(row) if isinstance(row, dict) else _is_recording(row)):
        yield _prediction(key, row, prediction_format)
    elif not _GOLDEN & keys:
        found = ', '.join(map(str, islice(row, 10))) if isinstance(row, dict) else type(row).__name__
        yield Sample('prediction', key, f'{KEYLESS}, but: {found}')
    if isinstance(row, dict) and _GOLDEN & keys:
        yield from _golden(key, row)


def _is_recording(row: object) -> bool:
    return any(recorded.recognises(row) for recorded in RECORDED.values())


def _prediction(key: str, row: Any, prediction_format: str) -> Sample:
    # As the loaders hand it on, and as the evaluator reads it.
    text, figures, *_ = unseal(answer_of(row) if isinstance(row, dict) else as_text(row))
    prompt_type, tools = _prompt_type(row)
    strict = parse_prediction(text, prompt_type=prompt_type, api_list=tools)
    found = read_trajectory(text, format=prediction_format, strict=strict)
    return _read('prediction', key, with_record(found, figures))


def _prompt_type(row: object) -> tuple[PromptType, list[str]]:
    """How T-Eval's record says that its answers are written; JSON where it does not."""
    meta = row.get('meta') if isinstance(row, dict) else None
    found = meta.get('prompt_type') if isinstance(meta, dict) else None
    tools = meta.get('API_list') if isinstance(meta, dict) else None
    kinds: tuple[PromptType, ...] = get_args(PromptType)
    return next((kind for kind in kinds if kind == found), 'json'), [str(tool) for tool in tools] if isinstance(
        tools, list
    ) else []


def _golden(key: str, row: Mapping[str, Any]) -> Iterator[Sample]:
    several = row.get('ground_truths')
    plans = several if isinstance(several, list) and several else [row.get('ground_truth')]
    stated = tuple(name for name in _STATED if row.get(name))
    for golden in plans:
        if is_teval_layout(golden):
            plan, problems = parse_golden_leniently(golden)
            found = ParseFailure('; '.join(problems)) if problems else Trajectory(plan, 'teval')
        else:
            found = read_trajectory(golden)
        steps = golden if isinstance(golden, list) else []
        optional = any(isinstance(step, dict) and step.get('optional') is True for step in steps)
        yield _read('golden', key, found, (*stated, *(('optional steps',) if optional else ())))


def _read(part: Part, key: str, found: Trajectory | ParseFailure, stated: tuple[str, ...] = ()) -> Sample:
    if isinstance(found, ParseFailure):
        return Sample(part, key, found.reason or 'no plan', stated=stated)
    return Sample(part, key, '', found.format, found.plan, found.recovered, found.dropped, found.record, stated)


def counted(samples: list[Sample], *, key: Literal['format', 'tool', 'stated']) -> list[tuple[str, int]]:
    """How often each format, tool or statement occurs, the most frequent first, then by name."""
    names: dict[str, Any] = {
        'format': lambda sample: [sample.format] if not sample.reason else [],
        'tool': lambda sample: sample.plan.names,
        'stated': lambda sample: sample.stated,
    }
    counts = Counter(name for sample in samples for name in names[key](sample))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
