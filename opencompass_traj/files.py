"""Golden and recorded files: what is in them, checked whole, every fault named at once."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_traj.embedding import PACKAGE_PREFIX, encodable, package_folder
from opencompass_traj.parsing.golden import golden_problems, parse_golden

MAX_NAMED_PROBLEMS = 50
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
    record: dict[str, Any]


def resolve_path(path: str) -> Path:
    """Find a data file.

    Args:
        path: Absolute, relative to the current folder or to `$COMPASS_DATA_CACHE`, or `package:NAME/rest` for a file
            that an installed package carries.

    Returns:
        The absolute path of an existing file.

    Raises:
        FileNotFoundError: If it is nowhere; the message names each place that was tried.
    """
    if path.startswith(PACKAGE_PREFIX):
        package, _, rest = path.removeprefix(PACKAGE_PREFIX).partition('/')
        tried = [folder / rest for folder in package_folder(package)]
    else:
        given = Path(path).expanduser()
        cache = os.environ.get('COMPASS_DATA_CACHE', '')
        tried = [given.absolute(), *([Path(cache).expanduser().absolute() / given] if cache else [])]
    for candidate in tried:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f'no file {path!r}; looked for {", ".join(map(str, tried)) or "an installed package"}')


def read_tasks(path: str, *, instruction: str = DEFAULT_INSTRUCTION) -> list[Task]:
    """Read a golden file.

    Args:
        path: See `resolve_path`. JSON lines or a JSON list of objects with `id`, `query` and `ground_truth`, or
            T-Eval's JSON `{id: {meta, ground_truth, origin_prompt}}`.
        instruction: The system message for tasks that bring no `origin_prompt`; `{tools}` becomes the tools' names,
            one a line: the task's own `tools`, else those of all golden plans in the file.

    Returns:
        The tasks in the file's order. A task without a query is asked by its id; queries that occur more than once
        get their id behind them.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If anything in it is unsound; the message names the file, each sample and step, and what was
            expected.
    """
    file = resolve_path(path)
    rows = _identified(_rows(file), file)
    problems = _task_problems(rows)
    if problems:
        raise ValueError(_listed(f'{file}: the golden file is unsound', problems))
    rows = [(key, {**row, 'id': key, 'ground_truth': _steps(row['ground_truth'])}) for key, row in rows]
    queries = Counter(_query(row) for _, row in rows)
    tools = sorted({step['name'] for _, row in rows for step in row['ground_truth']})
    return [_task(key, row, queries, tools, instruction) for key, row in rows]


def read_recording(path: str) -> dict[str, str]:
    """Read an agent's recorded answers.

    Args:
        path: See `resolve_path`. JSON lines or a JSON list of objects with `id` and `prediction`, or JSON
            `{id: prediction}` or `{id: {prediction: …}}`.

    Returns:
        The answer's text by sample id; an answer that is no text is written as JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a row has no id or no prediction, or an id occurs twice; all are named.
    """
    file = resolve_path(path)
    rows = _identified(_rows(file), file, scalar='prediction')
    lacking = [f'sample {key!r}: expected a `prediction`' for key, row in rows if 'prediction' not in row]
    if lacking:
        raise ValueError(_listed(f'{file}: the recording is unsound', lacking))
    return {key: _text(row['prediction']) for key, row in rows}


def pairing_problems(recorded: Sequence[str], tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Which tasks have no recorded answer, and which recorded answers belong to no task, each in order."""
    known, asked = set(recorded), set(tasks)
    return [key for key in tasks if key not in known], [key for key in recorded if key not in asked]


def _rows(file: Path) -> list[tuple[str, str | None, Any]]:
    """The file's rows: what to call each in messages, its key where it has one, and its value."""
    text = file.read_text(encoding='utf-8-sig')
    if file.suffix != '.jsonl':
        content = _json(text, f'{file}')
        if isinstance(content, dict):
            return [(f'sample {key!r}', key, value) for key, value in content.items()]
        if isinstance(content, list):
            return [(f'row {number}', None, value) for number, value in enumerate(content)]
        raise ValueError(f'{file}: expected a JSON object or list, got {type(content).__name__}')
    lines = [(number, line) for number, line in enumerate(text.split('\n'), 1) if line.strip()]
    return [(f'line {number}', None, _json(line, f'{file}: line {number}')) for number, line in lines]


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'{where}: expected JSON ({error})') from error


def _identified(
    rows: list[tuple[str, str | None, Any]], file: Path, *, scalar: str = ''
) -> list[tuple[str, dict[str, Any]]]:
    """Give every row its id: its own, or its key in a JSON object."""
    found: list[tuple[str, dict[str, Any]]] = []
    problems: list[str] = []
    for label, key, value in rows:
        row = {scalar: value} if scalar and key is not None and not isinstance(value, dict) else value
        if not isinstance(row, dict):
            problems.append(f'{label}: expected an object, got {type(value).__name__}')
        elif 'id' not in row and key is None:
            problems.append(f'{label}: expected an `id`')
        else:
            found.append((str(row.get('id', key)), row))
    doubled = [f'sample {key!r}: {count} rows have this id' for key, count in _counts(found) if count > 1]
    if problems or doubled:
        raise ValueError(_listed(f'{file}: rows cannot be told apart', problems + doubled))
    if not found:
        raise ValueError(f'{file}: expected at least one sample, got none')
    return found


def _counts(rows: Sequence[tuple[str, object]]) -> list[tuple[str, int]]:
    return list(Counter(key for key, _ in rows).items())


def _task_problems(rows: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    problems: list[str] = []
    for key, row in rows:
        found = golden_problems(row['ground_truth']) if 'ground_truth' in row else ['expected a `ground_truth`']
        problems.extend(f'sample {key!r}: {problem}' for problem in found)
        if not isinstance(row.get('meta', {}), Mapping):
            problems.append(f'sample {key!r}: expected `meta` to be an object, got {type(row["meta"]).__name__}')
        if 'origin_prompt' in row and _chat(row) is None:
            problems.append(f'sample {key!r}: expected `origin_prompt` to be a list of messages with role and content')
    return problems


def _task(key: str, row: dict[str, Any], queries: Counter[str], tools: list[str], instruction: str) -> Task:
    chat = _chat(row)
    if chat is not None:
        return Task(key, chat[-1]['content'], chat, row)
    query = _query(row)
    prompt = query if query and queries[query] == 1 else f'{query} [{encodable(key)}]'.strip()
    listing = encodable('\n'.join(f'- {_text(tool)}' for tool in row.get('tools', tools)))
    system = {'role': 'system', 'content': instruction.replace('{tools}', listing)}
    return Task(key, prompt, (system, {'role': 'user', 'content': prompt}), row)


def _query(row: Mapping[str, Any]) -> str:
    return encodable(str(row.get('query', '')).strip())


def _steps(golden: object) -> list[dict[str, Any]]:
    """A sound golden plan with the `id` and `args` that T-Eval's reader wants of every step."""
    return [
        {
            'id': step.id,
            'name': step.name,
            'args': step.args,
            **({} if step.prev is None else {'prev': list(step.prev)}),
        }
        for step in parse_golden(golden, where='golden plan').steps
    ]


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


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _listed(title: str, problems: Sequence[str]) -> str:
    shown = list(problems[:MAX_NAMED_PROBLEMS])
    if len(problems) > len(shown):
        shown.append(f'… and {len(problems) - len(shown)} more')
    return '\n  '.join([f'{title}:', *shown])
