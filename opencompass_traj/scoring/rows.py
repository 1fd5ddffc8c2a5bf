"""What a sample's row of details says beside its numbers: how it was read, and both plans as they were compared.

A row is enough for a report: no prediction file and no golden file is needed beside it. Every text in it is bounded,
and fit for the host's UTF-8 JSON file: one lone surrogate, huge number or deep nesting would lose the whole result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from opencompass_traj.parsing.literal import nests_deeper, shown
from opencompass_traj.plain_text import encodable
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory
from opencompass_traj.scoring.comparison import Comparison, Reference

# A broken recording may lose thousands of steps; a few say enough.
MAX_NAMED: Final = 20
MAX_STEPS: Final = 1_000
"""Steps of one plan that a row lists; `n_pred` and `n_ref` count all."""

MAX_VALUE: Final = 1_000
"""Characters of one argument's value, as JSON, where the plan is not short."""

MAX_PLAN: Final = 100_000
"""Characters of all arguments of one plan, as JSON."""

SHORT_PLAN: Final = 4_000
"""Characters of all steps of a plan, as JSON, up to which nothing in it is cut."""

MAX_TEXT: Final = 4_000
"""Characters of the query, of the raw prediction, and of any other text."""

MAX_NOTE: Final = 60
"""Characters that `cut` puts behind a text."""

MAX_ARGUMENTS: Final = 100
MAX_NAME: Final = 200
MAX_EDGES: Final = 5_000
MAX_DEPTH: Final = 50

Row = dict[str, Any]
# Where in memory an object lies is another place in every run.
_ADDRESS: Final = re.compile(r'(?: at 0|\.\.\.)x[0-9a-f]{4,16}(?=>)')
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def details_row(comparison: Comparison, numbers: Mapping[str, Any]) -> Row:
    """Describe a sample beside its numbers; the keys are the same for every sample.

    Args:
        comparison: The sample as it was compared.
        numbers: What the metrics gave for it. `graph_pairs`, where there are any, say which golden dependencies a
            prediction without stated ones keeps.

    Returns:
        The numbers, and these beside them. Indices in all of it are those of `pred_steps` and `ref_steps`, from 0.
    """
    found = comparison.trajectory
    pred_steps, pred_clean = _steps(comparison.pred)
    ref_steps, ref_clean = _steps(comparison.ref)
    row = {
        **numbers,
        **_reading(comparison),
        'query': cut(_query(comparison.reference.record), MAX_TEXT),
        'tags': list(comparison.reference.options.tags),
        'task': _task(comparison.reference),
        'pred_steps': pred_steps,
        'ref_steps': ref_steps,
        'pred_edges': _pred_edges(comparison, numbers.get('graph_pairs')),
        'ref_edges': _pairs(comparison.ref_graph.edges),
        'raw': '' if isinstance(found, Trajectory) and not found.recovered else _raw(comparison.prediction),
    }
    single = (row['sample'], row['task'], row['parse_reason'], row['query'], row['raw'])
    if pred_clean and ref_clean and _is_clean(*single, *row['tags'], *row['dropped_steps'], *row['golden_dropped']):
        return row
    return {key: _mended(value) for key, value in row.items()}


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters; where something is left out, the end says how much.

    Example:
        >>> cut('abcdefgh' * 10, 40)
        'abcdefghabcdefghabcdefghabcdefghabcdefgh… (40 of 80 characters left out)'
    """
    if len(text) <= limit:
        return text
    return f'{text[:limit]}… ({len(text) - limit} of {len(text)} characters left out)'


def _reading(comparison: Comparison) -> Row:
    found = comparison.trajectory
    read = isinstance(found, Trajectory)
    return {
        'sample': comparison.reference.name,
        'parse_status': ('recovered' if found.recovered else 'read') if isinstance(found, Trajectory) else 'unreadable',
        'parse_reason': found.reason if isinstance(found, ParseFailure) else '',
        'format': found.format if isinstance(found, Trajectory) else '',
        'dropped_steps': list(found.dropped[:MAX_NAMED]) if isinstance(found, Trajectory) else [],
        'n_dropped': len(found.dropped) if isinstance(found, Trajectory) else 0,
        'figures_refused': comparison.figures_refused,
        'golden_dropped': list(comparison.reference.dropped[:MAX_NAMED]),
        'n_pred': len(comparison.pred) if read else 0,
        'n_ref': len(comparison.ref),
    }


def _task(reference: Reference) -> str:
    """What several trials of one task have in common, where the record says so; else the sample itself."""
    found = reference.record.get('task', reference.record.get('task_id'))
    return cut(str(found), MAX_NAME) if isinstance(found, str | int) and found != '' else reference.name


def _query(record: Mapping[str, Any]) -> str:
    """What the agent was asked: the record's query, else the last message of its chat."""
    query = record.get('query')
    if isinstance(query, str):
        return query
    chat = record.get('origin_prompt')
    if isinstance(chat, str):
        try:
            chat = json.loads(chat)
        except (ValueError, RecursionError):
            return ''
    last = chat[-1] if isinstance(chat, list) and chat else None
    content = last.get('content') if isinstance(last, dict) else None
    return content if isinstance(content, str) else ''


def _raw(prediction: object) -> str:
    if isinstance(prediction, str):
        return cut(prediction, MAX_TEXT)
    try:
        return cut(_encode(prediction), MAX_TEXT)
    except (ValueError, TypeError, RecursionError):
        return _ADDRESS.sub('', shown(prediction))


def _steps(plan: Plan) -> tuple[list[Row], bool]:
    """The steps, bounded, and whether all of their texts are short and can be written."""
    steps = plan.steps[:MAX_STEPS]
    try:
        text = _encode([(step.id, step.name, step.args) for step in steps])
    except (ValueError, TypeError, RecursionError):
        return _bounded_steps(steps)
    if len(text) > SHORT_PLAN or nests_deeper(text, MAX_DEPTH):
        return _bounded_steps(steps)
    rows = [{'id': step.id, 'name': step.name, 'args': step.args, **_flags(step)} for step in steps]
    return rows, _is_clean(text)


def _bounded_steps(steps: Sequence[Step]) -> tuple[list[Row], bool]:
    rows: list[Row] = []
    texts: list[str] = []
    left = MAX_PLAN
    for step in steps:
        args, text = _args(step.args, left)
        left -= len(text)
        identifier = _id(step.id)
        texts += (text, step.name, str(identifier))
        rows.append({'id': identifier, 'name': step.name, 'args': args, **_flags(step)})
    return rows, all(len(step.name) <= MAX_NAME for step in steps) and _is_clean(*texts)


def _flags(step: Step) -> Row:
    if step.turn is None and step.failed is None and not step.optional:
        return {}
    return (
        ({} if step.turn is None else {'turn': step.turn})
        | ({} if step.failed is None else {'failed': step.failed})
        | ({'optional': True} if step.optional else {})
    )


def _id(value: object) -> object:
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_NAME else shown(value)
    return cut(str(value), MAX_NAME)


def _args(args: Any, left: int) -> tuple[Any, str]:
    """Arguments of at most `left` characters, and their JSON text; what is too long becomes a cut text."""
    value, text = _bounded(args, MAX_VALUE) if not isinstance(args, dict) else _bounded_mapping(args)
    if len(text) > left:
        note = f'({len(text)} characters left out: the plan is too long)'
        return note, ''
    return value, text


def _bounded_mapping(args: dict[Any, Any]) -> tuple[Any, str]:
    whole, text = _bounded(args, MAX_VALUE)
    if whole is args:
        return args, text
    kept = {cut(str(key), MAX_NAME): _bounded(args[key], MAX_VALUE)[0] for key in list(args)[:MAX_ARGUMENTS]}
    if len(args) > MAX_ARGUMENTS:
        kept['…'] = f'({len(args) - MAX_ARGUMENTS} of {len(args)} arguments left out)'
    return kept, _encode(kept)


def _bounded(value: Any, limit: int) -> tuple[Any, str]:
    """The value itself where its JSON is short and sound, else a text that begins like it; and the JSON."""
    try:
        text = _encode(value)
    except (ValueError, TypeError, RecursionError):
        # NaN, a huge number, a set, nesting without end: what JSON cannot hold, but Python's literals can.
        short = shown(value)
        return short, short
    if len(text) > limit:
        short = cut(value if isinstance(value, str) else text, limit)
        return short, short
    if nests_deeper(text, MAX_DEPTH):
        return text, text
    return value, text


def _pred_edges(comparison: Comparison, pairs: Iterable[Iterable[int]] | None) -> list[list[int]]:
    """The predicted dependencies; by order alone, they are the golden ones that the mapped steps keep."""
    found = comparison.pred_edges
    if found.source != 'order':
        return _pairs(found.graph.edges)
    back = {ref: pred for pred, ref in pairs or ()}
    rank: Sequence[int] = comparison.pred_ranks or range(len(comparison.pred))
    ends = ((back[i], back[j]) for i, j in comparison.ref_graph.edges if i in back and j in back)
    return _pairs((i, j) for i, j in ends if rank[i] < rank[j])


def _pairs(edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    listed = sorted(edge for edge in edges if max(edge) < MAX_STEPS)
    return [list(edge) for edge in listed[:MAX_EDGES]]


def _is_clean(*texts: str) -> bool:
    """Whether UTF-8 can hold the texts."""
    whole = ''.join(texts)
    return whole.isascii() or encodable(whole) == whole


def _mended(value: Any) -> Any:
    """The value with every text in it short and fit to be written."""
    if isinstance(value, str):
        # What `cut` has shortened before is left as it is, with its note.
        return encodable(value if len(value) <= MAX_TEXT + MAX_NOTE else cut(value, MAX_TEXT))
    if isinstance(value, dict):
        return {_mended(key): _mended(inner) for key, inner in value.items()}
    return [_mended(inner) for inner in value] if isinstance(value, list | tuple) else value
