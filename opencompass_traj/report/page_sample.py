"""One sample of one model, as the page keeps it: both paths, how they compare, and what went wrong."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.metrics.arguments import argument_match
from opencompass_traj.report.page_faults import KINDS, Fault, find_faults, kinds_of, wrong_orders
from opencompass_traj.report.page_match import PathMatch, match_path
from opencompass_traj.report.page_text import cut, leaves, number

MAX_STEPS: Final = 300
"""Steps of one path that the page keeps."""
MAX_FAULTS: Final = 60
MAX_STRIP: Final = 40
"""Signs of the small picture of a path in the list of samples."""

_RULES = argument_rules()
_DIFFERENCES: Final = ('different', 'missing', 'extra')
_ABOUT_THE_ANSWER: Final = ('parse_status', 'parse_reason', 'format', 'edge_source')


@dataclass(frozen=True, slots=True)
class SampleView:
    """A sample of one model.

    Attributes:
        detail: The model's path, how it compares with the golden one, and what went wrong.
        kinds: Its kinds as bits, see `KINDS`.
        strip: One sign a line of the alignment.
        first: The fault that came first, for a sentence; None where nothing went wrong.
        values: Its numbers, in [0, 1] or counts.
    """

    detail: dict[str, Any]
    kinds: int
    strip: str
    first: list[Any] | None
    values: dict[str, float | int]


@dataclass(frozen=True, slots=True)
class _Looks:
    """One sign for each step: kept `k`, moved `m`, moved wrongly `o`, replaced `r`, redundant `i`, missing `d`.

    `flags` has `l` for a predicted step in a loop, `f` for a forbidden one, else `.`.
    """

    pred: str
    ref: str
    flags: str


def view_sample(row: Mapping[str, Any], *, limit: int) -> SampleView:
    """Take from a row of details what the page shows.

    Args:
        row: A self-contained row: steps, edges, the alignment, and the numbers. One of an older run will do.
        limit: Characters that are kept of any one text, at least 1.

    Returns:
        The view; an unreadable answer has no predicted steps, but its raw text.
    """
    row = with_steps(row)
    match = match_path(row)
    late = wrong_orders(row, match)
    faults = find_faults(row, match, late=late)
    kinds = kinds_of(row, match, faults)
    written = [_fault(fault) for fault in faults[:MAX_FAULTS]]
    looks = _looks(row, match, faults, late)
    return SampleView(
        detail=_detail(row, match, limit) | {'faults': written} | asdict(looks),
        kinds=sum(1 << KINDS.index(kind) for kind in kinds),
        strip=_strip(match, faults, looks),
        first=_named(written[0], row) if written else None,
        values={key: shown for key, value in row.items() if (shown := number(value)) is not None},
    )


def golden_view(row: Mapping[str, Any], *, limit: int) -> dict[str, Any]:
    """The golden path of a row, and its graph."""
    row = with_steps(row)
    return {'steps': _steps(row['ref_steps'], limit), 'edges': _edges(row.get('ref_edges'))}


def with_steps(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of an older run, which has no steps, with those that its alignment names; any other as it is.

    Neither their arguments nor the graphs are known; of the golden dependencies those that the row names as missing.
    """
    if 'pred_steps' in row and 'ref_steps' in row:
        return row
    steps = {}
    for side in ('pred', 'ref'):
        names = {one[side]: one[f'{side}_name'] for one in row.get('alignment') or () if one[side] is not None}
        steps[side] = [{'id': i, 'name': names.get(i, '…'), 'args': {}} for i in range(max(names, default=-1) + 1)]
    lacking = set(row.get('missing_edge_list') or ())
    texts = [f'{i} {step["name"]}' for i, step in enumerate(steps['ref'])]
    edges = [[a, b] for b in range(len(texts)) for a in range(b) if f'{texts[a]} -> {texts[b]}' in lacking]
    filled = {'pred_steps': steps['pred'], 'ref_steps': steps['ref'], 'pred_edges': [], 'ref_edges': edges}
    return {**row, **filled, 'edge_source': '', 'older': True}


def _detail(row: Mapping[str, Any], match: PathMatch, limit: int) -> dict[str, Any]:
    detail: dict[str, Any] = {
        'steps': _steps(row['pred_steps'], limit),
        'n': [len(row['pred_steps']), len(row['ref_steps'])],
        'lines': [
            [-1 if one is None else one for one in line]
            for line in match.rows
            if all(one is None or one < MAX_STEPS for one in line)
        ],
        'partner': [[one, other] for one, other in sorted(match.partner.items()) if max(one, other) < MAX_STEPS],
        'edges': _edges(row.get('pred_edges')),
        'pairs': [[one, other] for one, other in sorted(match.graph.items()) if max(one, other) < MAX_STEPS],
        'marks': _marks(row, match),
        'loops': [
            [loop['start'], loop['period'], loop['repeats'], int(bool(loop['exact'])), loop['retries']]
            for loop in row.get('loops') or ()
        ],
        'about': {key: str(row[key])[:500] for key in _ABOUT_THE_ANSWER if row.get(key)},
    }
    for key in ('dropped_steps', 'golden_dropped', 'dropped_edges', 'extra_effects', 'missing_effects'):
        if row.get(key):
            detail[key] = [cut(str(text), limit) for text in row[key][:MAX_FAULTS]]
    if row.get('older'):
        detail['older'] = 1
    if row.get('raw'):
        detail['raw'] = cut(str(row['raw']), 10 * limit)
    return detail


def _steps(steps: Sequence[Mapping[str, Any]], limit: int) -> list[list[Any]]:
    """Each step as `[name, arguments, turn from 1, failed, optional]`, what is empty at the end left out."""
    written = []
    for step in steps[:MAX_STEPS]:
        turn = step.get('turn')
        entry = [
            cut(str(step['name']), min(limit, 300)),
            leaves(step.get('args'), limit=limit),
            0 if turn is None else turn + 1,
            int(bool(step.get('failed'))),
            int(bool(step.get('optional'))),
        ]
        while not entry[-1] and len(entry) > 2:
            entry.pop()
        written.append(entry)
    return written


def _edges(edges: Sequence[Sequence[int]] | None) -> list[list[int]]:
    return sorted([a, b] for a, b in edges or () if max(a, b) < MAX_STEPS)


def _marks(row: Mapping[str, Any], match: PathMatch) -> list[list[Any]]:
    """For each pair whose arguments differ: `[pred, different keys, missing keys, extra keys]`.

    The metric says so for the pairs of the graph mapping; the others are compared here, by the default rules.
    """
    marks = {
        entry['pred']: [list(dict.fromkeys(entry[kind])) for kind in _DIFFERENCES]
        for entry in row.get('argument_differences') or ()
        if match.partner.get(entry['pred']) == entry['ref']
    }
    others = [(one, other) for one, other in match.partner.items() if match.graph.get(one) != other]
    if not others:
        return [[one, *keys] for one, keys in sorted(marks.items()) if one < MAX_STEPS]
    pred, ref = row['pred_steps'], row['ref_steps']
    found = argument_match(
        [step['args'] for step in pred],
        [step['args'] for step in ref],
        pairs=others,
        tools=[step['name'] for step in ref],
        rules=_RULES,
    )
    for step in found.steps:
        if not step.exact:
            marks[step.pred] = [list(dict.fromkeys(getattr(step, kind))) for kind in _DIFFERENCES]
    return [[one, *keys] for one, keys in sorted(marks.items()) if one < MAX_STEPS]


def _looks(row: Mapping[str, Any], match: PathMatch, faults: Sequence[Fault], late: Container[int]) -> _Looks:
    back = {ref: pred for pred, ref in match.partner.items()}
    in_place = set(match.replaced.values())
    pred = ''.join(_look(index, match, late) for index in range(min(len(row['pred_steps']), MAX_STEPS)))
    ref = ''.join(
        _look(back[index], match, late) if index in back else 'r' if index in in_place else 'd'
        for index in range(min(len(row['ref_steps']), MAX_STEPS))
    )
    flags = dict.fromkeys(_steps_of('loop', faults), 'l') | dict.fromkeys(_steps_of('forbidden', faults), 'f')
    return _Looks(pred, ref, ''.join(flags.get(index, '.') for index in range(len(pred))))


def _steps_of(kind: str, faults: Sequence[Fault]) -> set[int]:
    return {one for fault in faults if fault.kind == kind for one in fault.pred}


def _look(index: int, match: PathMatch, late: Container[int]) -> str:
    if index in late:
        return 'o'
    if index in match.moved:
        return 'm'
    if index in match.partner:
        return 'k'
    return 'r' if index in match.replaced else 'i'


def _strip(match: PathMatch, faults: Sequence[Fault], looks: _Looks) -> str:
    """One sign a line: those of `_Looks`, `a` for a kept step with other arguments, `u` for an unreadable answer."""
    if faults and faults[0].kind == 'unreadable':
        return 'u'
    arguments = _steps_of('argument', faults)

    def sign(pred: int | None, ref: int | None) -> str:
        """How a pair of steps, or one without a partner, is shown."""
        if pred is None:
            return looks.ref[ref or 0]
        if looks.flags[pred] != '.':
            return looks.flags[pred]
        return 'a' if pred in arguments and looks.pred[pred] == 'k' else looks.pred[pred]

    signs = ''.join(sign(pred, ref) for pred, ref in match.rows[:MAX_STRIP])
    return signs + ('…' if len(match.rows) > MAX_STRIP else '')


def _fault(fault: Fault) -> list[Any]:
    return [fault.kind, fault.line, list(fault.pred), list(fault.ref), dict(fault.more)]


def _named(fault: list[Any], row: Mapping[str, Any]) -> list[Any]:
    """A fault with the names of its steps, for a sentence away from the sample."""
    kind, line, pred, ref, more = fault
    golden = [*ref[:3], more['needs']] if 'needs' in more else ref[:3]
    names = [
        [cut(str(steps[index]['name']), 80) for index in indices]
        for steps, indices in ((row['pred_steps'], pred[:3]), (row['ref_steps'], golden))
    ]
    keys = [key for kind in _DIFFERENCES for key in more.get(kind, ())][:3]
    short = {key: more[key] for key in more if key not in _DIFFERENCES} | ({'keys': keys} if keys else {})
    return [kind, line, pred, ref, *names, short]
