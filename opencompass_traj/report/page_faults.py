"""What went wrong on a path, in the order in which it went wrong: the first entry is where to look."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from opencompass_traj.report.page_match import PathMatch

KINDS: Final = (
    'silent',
    'unsolved',
    'unreadable',
    'forbidden',
    'loop',
    'missing',
    'redundant',
    'tool',
    'order',
    'argument',
    'dependency',
    'dropped',
    'mended',
    'error',
    'reordered',
    'perfect',
)
"""Kinds of samples, a sample may have several; the place of a kind is its bit in the page's index."""

# At one place the graver fault speaks first.
_GRAVITY: Final = {
    kind: rank
    for rank, kind in enumerate(
        ('unreadable', 'forbidden', 'tool', 'missing', 'order', 'loop', 'redundant', 'argument', 'dependency')
    )
}
_STATED: Final = {'prev', 'references'}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong.

    Attributes:
        kind: One of `KINDS`.
        line: The line of the alignment where it shows.
        pred: The predicted steps concerned, indices from 0.
        ref: The golden steps concerned, indices from 0.
        more: What the sentence about it needs besides.
    """

    kind: str
    line: int
    pred: tuple[int, ...] = ()
    ref: tuple[int, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def find_faults(row: Mapping[str, Any], match: PathMatch, *, late: Mapping[int, int]) -> list[Fault]:
    """All faults of a path, first things first.

    Args:
        row: The sample's details.
        match: Its steps, paired.
        late: As `wrong_orders` gives it.

    Returns:
        The faults by their place in the alignment, graver ones first at one place. An unreadable answer has that one
        alone. Empty where nothing went wrong; doing independent steps in another order is nothing wrong.
    """
    if row.get('parse_status') == 'unreadable':
        return [Fault('unreadable', 0, more={'reason': str(row.get('parse_reason') or '')})]
    looped = _loop_faults(row, match)
    in_loop = {index for fault in looped for index in fault.pred}
    found = [
        *_forbidden(row, match),
        *looped,
        *(Fault('tool', match.line[one], (one,), (other,)) for one, other in match.replaced.items()),
        *_missing(match),
        *_redundant(match, in_loop),
        *(
            Fault('order', match.line[one], (one,), (match.partner[one],), {'needs': early})
            for one, early in late.items()
        ),
        *_arguments(row, match),
        *_dependencies(row, match, in_disorder=late),
    ]
    return sorted(found, key=lambda fault: (fault.line, _GRAVITY[fault.kind], fault.pred, fault.ref))


def kinds_of(row: Mapping[str, Any], match: PathMatch, faults: list[Fault]) -> frozenset[str]:
    """The kinds that a sample can be found by."""
    kinds = {fault.kind for fault in faults}
    tests = {
        'silent': row.get('silent_degradation_rate') == 1,
        'unsolved': row.get('solved_rate') == 0,
        'dropped': bool(row.get('n_dropped')),
        'mended': row.get('recovered_rate') == 1,
        'error': any(step.get('failed') for step in row['pred_steps']),
        'reordered': bool(match.moved) and 'order' not in kinds,
        'perfect': not faults,
    }
    return frozenset(kinds | {kind for kind, holds in tests.items() if holds})


def wrong_orders(row: Mapping[str, Any], match: PathMatch) -> dict[int, int]:
    """Predicted steps done before (or beside) one that the golden graph puts first: that golden step, for each.

    Golden dependencies lead from earlier steps to later ones, so that one pass finds all that a step follows on.
    """
    times = _times(row['pred_steps'])
    when = {ref: times[pred] for pred, ref in match.partner.items()}
    before: list[set[int]] = [set() for _ in row['ref_steps']]
    for a, b in sorted(row.get('ref_edges') or (), key=lambda edge: edge[1]):
        before[b] |= {a} | before[a]
    found = {}
    for pred, ref in sorted(match.partner.items()):
        early = [a for a in before[ref] if a in when and when[a] >= times[pred]]
        if early:
            found[pred] = min(early)
    return found


def _times(steps: list[Mapping[str, Any]]) -> list[int]:
    turns = [step.get('turn') for step in steps]
    return list(range(len(steps))) if None in turns else [int(turn) for turn in turns if turn is not None]


def _forbidden(row: Mapping[str, Any], match: PathMatch) -> Iterator[Fault]:
    for index in row.get('forbidden_calls') or ():
        if index in match.line:
            yield Fault('forbidden', match.line[index], (index,))


def _loop_faults(row: Mapping[str, Any], match: PathMatch) -> list[Fault]:
    found = []
    for loop in row.get('loops') or ():
        first = loop['start'] + loop['period']
        if not loop['repeated'] or first not in match.line:
            continue
        steps = tuple(range(first, min(loop['start'] + loop['period'] * loop['repeats'], len(row['pred_steps']))))
        more = {key: loop[key] for key in ('start', 'period', 'repeats', 'exact')}
        found.append(Fault('loop', match.line[first], steps, more=more))
    return found


def _missing(match: PathMatch) -> Iterator[Fault]:
    """Golden steps left out, those in a row as one fault, with the last predicted step before them."""
    run: list[int] = []
    start, before, after = 0, -1, -1
    end = max((line for line, (pred, _) in enumerate(match.rows) if pred is not None), default=-1)
    for line, (pred, ref) in enumerate((*match.rows, (-1, None))):
        if ref is not None and ref in match.missing:
            start, after = (start, after) if run else (line, before)
            run.append(ref)
        elif run:
            yield Fault('missing', start, (), tuple(run), {'after': after, 'end': start > end})
            run = []
        before = before if pred is None else pred


def _redundant(match: PathMatch, in_loop: set[int]) -> Iterator[Fault]:
    run: list[int] = []
    start = 0
    for line, (pred, _) in enumerate((*match.rows, (-1, None))):
        if pred is not None and pred in match.redundant and pred not in in_loop:
            start = start if run else line
            run.append(pred)
        elif run:
            yield Fault('redundant', start, tuple(run))
            run = []


def _arguments(row: Mapping[str, Any], match: PathMatch) -> Iterator[Fault]:
    for entry in row.get('argument_differences') or ():
        pred, ref = entry['pred'], entry['ref']
        if match.partner.get(pred) == ref:
            keys = {kind: list(dict.fromkeys(entry[kind])) for kind in ('different', 'missing', 'extra')}
            yield Fault('argument', match.line[pred], (pred,), (ref,), keys)


def _dependencies(row: Mapping[str, Any], match: PathMatch, *, in_disorder: Container[int]) -> Iterator[Fault]:
    """Dependencies stated wrongly between steps that are both there; others follow from the steps themselves."""
    if row.get('edge_source') not in _STATED:
        return
    back = {ref: pred for pred, ref in match.graph.items()}
    stated = {(a, b) for a, b in row.get('pred_edges') or ()}
    golden = {(a, b) for a, b in row.get('ref_edges') or ()}
    lacking: dict[int, list[int]] = {}
    surplus: dict[int, list[int]] = {}
    for a, b in sorted(golden):
        if a in back and b in back and (back[a], back[b]) not in stated and back[b] not in in_disorder:
            lacking.setdefault(back[b], []).append(back[a])
    for a, b in sorted(stated):
        if a in match.graph and b in match.graph and (match.graph[a], match.graph[b]) not in golden:
            surplus.setdefault(b, []).append(a)
    for step in sorted({*chain(lacking, surplus)}):
        more = {'lacking': lacking.get(step, []), 'surplus': surplus.get(step, [])}
        yield Fault('dependency', match.line[step], (step,), (match.graph[step],), more)
