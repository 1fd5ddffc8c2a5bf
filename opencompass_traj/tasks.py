"""Golden files: what is asked, and the golden plan of each sample, checked whole."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from opencompass_traj.files import Fault, Fields, Row, as_text, listed, resolve_path, scan_rows
from opencompass_traj.parsing.golden import golden_problems, is_teval_layout, parse_golden
from opencompass_traj.parsing.golden_options import golden_options
from opencompass_traj.parsing.literal import shown
from opencompass_traj.parsing.teval import PromptType
from opencompass_traj.parsing.trajectories import read_trajectory
from opencompass_traj.plain_text import encodable
from opencompass_traj.plan import Plan, Trajectory

STEP_KEYS = ('id', 'prev', 'name', 'args', 'optional', 'turn', 'failed')
RECORD_KEYS = (
    'id', 'query', 'meta', 'ground_truth', 'ground_truths', 'tools', 'origin_prompt', 'forbidden', 'effects', 'lookups',
    'budget', 'golden_figures', 'tags',
)  # fmt: skip
DEFAULT_INSTRUCTION = (
    'Plan the tool calls that solve the task. Answer with a JSON list of steps and nothing else; each step has "id" '
    '(from 0), "name" (a tool), "args" (an object) and "prev" (the ids of the steps whose results it needs).\n'
    'Tools:\n{tools}'
)


@dataclass(frozen=True, slots=True)
class Task:
    """One sample of a golden file.

    Attributes:
        id: Unique within its file.
        prompt: What the agent is asked; unique within its file.
        messages: The chat that leads up to the agent's answer: `role` and `content`.
        record: T-Eval's record: `id`, `meta`, `ground_truth`, and what else the file had; every golden step has an `id`
            and `args`, as T-Eval's reader wants.
    """

    id: str
    prompt: str
    messages: tuple[dict[str, str], ...]
    record: Row


def read_tasks(path: str, *, instruction: str = DEFAULT_INSTRUCTION, fields: Fields | None = None) -> list[Task]:
    """Read a golden file.

    Args:
        path: See `files.resolve_path`. JSON lines or a JSON list of objects with `id`, `query` and `ground_truth`, or
            T-Eval's JSON `{id: {meta, ground_truth, origin_prompt}}`. A golden plan is a list of steps, or a recorded
            run in a format of `parsing.trajectories`; `ground_truths` holds several, the best of which counts.
        instruction: The system message for tasks that bring no `origin_prompt`; `{tools}` becomes the tools' names,
            one a line: the task's own `tools`, else those of all golden plans in the file.
        fields: Where the values are in files with other keys; see `files.read_rows`.

    Returns:
        The tasks in the file's order. A task without a query is asked by its id; queries that occur more than once
        get their id behind them.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If anything in it is unsound; the message names the file, each sample and step, and what was
            expected.
    """
    file = resolve_path(path)
    golden = scan_tasks(file, instruction=instruction, fields=fields)
    if golden.faults:
        raise ValueError(listed(f'{file}: the golden file is unsound', golden.faults))
    return golden.tasks


@dataclass(frozen=True, slots=True)
class GoldenFile:
    """What a golden file holds.

    Attributes:
        tasks: Those of the samples that are sound; all of them where there are no faults.
        faults: What is wrong.
        unread: Keys of the records that nothing reads, and in how many of them.
    """

    tasks: list[Task]
    faults: list[Fault]
    unread: dict[str, int]


def scan_tasks(file: Path, *, instruction: str = DEFAULT_INSTRUCTION, fields: Fields | None = None) -> GoldenFile:
    """Read a golden file, and say all that is wrong with it.

    Args:
        file: Its place.
        instruction: As for `read_tasks`.
        fields: As for `read_tasks`.

    Returns:
        What is sound, and every fault.

    Raises:
        ValueError: If the file as a whole cannot be read, or holds no row.
    """
    found, faults = scan_rows(file, fields=fields, exact=True)
    rows: list[tuple[str, Row]] = []
    for place, key, row in found:
        normalised = _normalised(key, row)
        problems = [Fault(place, key, problem) for problem in _problems(normalised)]
        faults += problems
        if not problems:
            rows.append((key, _checked(normalised)))
    queries = Counter(_query(row) for _, row in rows)
    tools = sorted({step['name'] for _, row in rows for plan in _plans(row) for step in plan})
    tasks = [_task(key, row, queries, tools, instruction) for key, row in rows]
    foreign = Counter(key for _, _, row in found for key in row if key not in RECORD_KEYS)
    return GoldenFile(tasks, faults, dict(sorted(foreign.items())))


def _plans(row: Row) -> list[Any]:
    return [row['ground_truth'], *row.get('ground_truths', ())]


def _normalised(key: str, row: Row) -> Row:
    """The row with recorded golden runs turned into lists of steps, and what they took beside them."""
    row = {**row, 'id': key}
    several = row.get('ground_truths')
    if not (isinstance(several, list) and several) and 'ground_truth' not in row:
        return row
    read = [_steps_of(one) for one in (several if isinstance(several, list) and several else [row['ground_truth']])]
    row['ground_truth'] = read[0][0]
    if several:
        row['ground_truths'] = [steps for steps, _ in read]
    if any(figures for _, figures in read):
        row['golden_figures'] = [figures for _, figures in read]
    return row


def _steps_of(golden: object) -> tuple[object, dict[str, float]]:
    """A golden plan as T-Eval's steps, and the figures that its recording has; unchanged where it cannot be read."""
    if is_teval_layout(golden):
        return golden, {}
    found = read_trajectory(golden)
    if not isinstance(found, Trajectory) or found.dropped:
        return golden, {}
    run = found.record
    figures = {'tokens': run.tokens, 'latency': run.latency, 'cost': run.cost}
    return _teval_steps(found.plan), {key: value for key, value in figures.items() if value}


def _problems(row: Row) -> list[str]:
    problems = []
    if 'ground_truth' not in row:
        problems.append('expected a `ground_truth`')
    plans = row.get('ground_truths') or ([row['ground_truth']] if 'ground_truth' in row else [])
    for number, plan in enumerate(plans if isinstance(plans, list) else [plans]):
        where = f'golden plan {number}: ' if 'ground_truths' in row else ''
        problems.extend(where + problem for problem in golden_problems(plan))
    problems.extend(golden_options(row)[1])
    problems.extend(_misspelt(row, RECORD_KEYS, ''))
    for plan in plans if isinstance(plans, list) else []:
        for number, step in enumerate(plan if isinstance(plan, list) else []):
            problems.extend(_misspelt(step, STEP_KEYS, f'step at position {number}: '))
    problems.extend(_forbidden_steps(row, plans))
    problems.extend(_meta_problems(row.get('meta')))
    if 'origin_prompt' in row and _chat(row) is None:
        problems.append('expected `origin_prompt` to be a list of messages with role and content')
    return problems


def _forbidden_steps(row: Row, plans: object) -> list[str]:
    """Golden steps that the record itself forbids."""
    forbidden = golden_options(row)[0].forbidden
    steps = [step for plan in plans if isinstance(plan, list) for step in plan] if isinstance(plans, list) else []
    names = dict.fromkeys(step.get('name') for step in steps if isinstance(step, dict))
    hits = [name for name in names if any(isinstance(name, str) and fnmatchcase(name, one) for one in forbidden)]
    return [f'expected `forbidden` to name no tool of the golden plan, got {shown(hit)}' for hit in hits]


def _meta_problems(meta: object) -> list[str]:
    if meta is None:
        return []
    if not isinstance(meta, Mapping):
        return [f'expected `meta` to be an object, got {type(meta).__name__}']
    kind, tools = meta.get('prompt_type', 'json'), meta.get('API_list')
    if kind not in get_args(PromptType):
        return [f'expected `meta.prompt_type` to be one of {", ".join(get_args(PromptType))}, got {shown(kind)}']
    if tools is not None and not isinstance(tools, list):
        return [f'expected `meta.API_list` to be a list of tools, got {shown(tools)}']
    lacking = kind == 'str' and not tools
    return ["expected `meta.API_list` to name the tools, as prompt type 'str' needs"] if lacking else []


def _misspelt(row: object, known: tuple[str, ...], where: str) -> list[str]:
    """Keys that are nearly one of ours: a rule that is not read would be lost without a word."""
    keys = [key for key in row if isinstance(key, str) and key not in known] if isinstance(row, dict) else []
    near = [(key, _near(key, known)) for key in keys]
    return [f'{where}expected `{match}`, got the key `{key}`' for key, match in near if match]


def _near(key: str, known: Sequence[str]) -> str:
    """The known key that this one is meant to be, if any: nearly the same, or its letters in another order."""
    turned = [one for one in known if sorted(one) == sorted(key.lower())]
    return next(iter(turned or difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.8)), '')


def _checked(row: Row) -> Row:
    several = row.get('ground_truths')
    plans = [_teval_steps(parse_golden(plan, where='golden plan')) for plan in (several or [row['ground_truth']])]
    return {**row, 'ground_truth': plans[0], **({'ground_truths': plans} if several else {})}


def _teval_steps(plan: Plan) -> list[Row]:
    """A plan as T-Eval writes it, with the `id` and `args` that its reader wants of every step; what else is known."""
    return [
        {'id': step.id, 'name': step.name, 'args': step.args}
        | ({} if step.prev is None else {'prev': list(step.prev)})
        | ({} if step.turn is None else {'turn': step.turn})
        | ({} if step.failed is None else {'failed': step.failed})
        | ({'optional': True} if step.optional else {})
        for step in plan.steps
    ]


def _task(key: str, row: Row, queries: Counter[str], tools: Sequence[str], instruction: str) -> Task:
    chat = _chat(row)
    if chat is not None:
        return Task(key, chat[-1]['content'], chat, row)
    query = _query(row)
    prompt = query if query and queries[query] == 1 else f'{query} [{encodable(key)}]'.strip()
    listing = encodable('\n'.join(f'- {as_text(tool)}' for tool in row.get('tools', tools)))
    system = {'role': 'system', 'content': instruction.replace('{tools}', listing)}
    return Task(key, prompt, (system, {'role': 'user', 'content': prompt}), row)


def _query(row: Mapping[str, Any]) -> str:
    return encodable(str(row.get('query', '')).strip())


def _chat(row: Mapping[str, Any]) -> tuple[dict[str, str], ...] | None:
    chat = row.get('origin_prompt')
    if isinstance(chat, str):
        try:
            chat = json.loads(chat)
        except ValueError:
            return None
    if not isinstance(chat, list) or not chat:
        return None
    if not all(isinstance(one, dict) and isinstance(one.get('content'), str) and 'role' in one for one in chat):
        return None
    return tuple({'role': str(one['role']), 'content': encodable(one['content'])} for one in chat)
