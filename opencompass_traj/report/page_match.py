"""Which predicted step stands for which golden step, as a reader sees it: kept, moved, replaced, missing, redundant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.report.page_lines import Line, lines_along, script_lines

_RULES = argument_rules()


@dataclass(frozen=True, slots=True)
class PathMatch:
    """The two paths of one sample, step against step.

    Attributes:
        rows: The lines of the alignment, each `(pred, ref)`, indices from 0; None where a side has no step there.
        line: The line of each predicted step.
        partner: Golden step of each matched predicted step.
        graph: Golden step of each predicted step under the graph metric's own mapping; `partner` where a run has none.
        moved: Predicted steps whose partner stands in another line.
        replaced: Predicted steps that stand in the place of a golden step of another tool; their golden steps.
        missing: Golden steps without a counterpart, those that were replaced left out.
        redundant: Predicted steps without a counterpart, those that replace one left out.
    """

    rows: tuple[Line, ...]
    line: Mapping[int, int]
    partner: Mapping[int, int]
    graph: Mapping[int, int]
    moved: frozenset[int]
    replaced: Mapping[int, int]
    missing: frozenset[int]
    redundant: frozenset[int]


def match_path(row: Mapping[str, Any]) -> PathMatch:
    """Pair the steps of a row of details.

    The edit script keeps steps of the same tool in order; the graph mapping also finds those that were done at another
    time, and tells two calls of one tool apart by their arguments. A line of the script stands unless the graph pairs
    one of its steps with another and their arguments differ.

    Args:
        row: A sample's details with `alignment`, `pred_steps`, `ref_steps`, `graph_pairs` and `plan_pairs`.

    Returns:
        The match; empty plans have no lines.
    """
    pred, ref = row['pred_steps'], row['ref_steps']
    rows = script_lines(row.get('alignment') or (), len(pred), len(ref))
    graph = _pairs(row.get('graph_pairs') or (), len(pred), len(ref))
    partner = _kept(rows, graph, pred, ref)
    taken = set(partner.values())
    for one, other in (*graph.items(), *_pairs(row.get('plan_pairs') or (), len(pred), len(ref)).items()):
        if one not in partner and other not in taken and pred[one]['name'] == ref[other]['name']:
            partner[one] = other
            taken.add(other)
    rows = lines_along(rows, partner, len(pred), len(ref))
    lines = set(rows)
    replaced = {
        one: other
        for one, other in rows
        if one is not None and other is not None and one not in partner and other not in taken
    }
    return PathMatch(
        rows=rows,
        line={one: place for place, (one, _) in enumerate(rows) if one is not None},
        partner=partner,
        graph=graph if row.get('graph_pairs') is not None else partner,
        moved=frozenset(one for one, other in partner.items() if (one, other) not in lines),
        replaced=replaced,
        missing=frozenset(range(len(ref))) - taken - set(replaced.values()),
        redundant=frozenset(range(len(pred))) - partner.keys() - replaced.keys(),
    )


def _pairs(pairs: Iterable[Sequence[int]], n_pred: int, n_ref: int) -> dict[int, int]:
    return {pred: ref for pred, ref in pairs if 0 <= pred < n_pred and 0 <= ref < n_ref}


def _kept(
    rows: Iterable[Line],
    graph: Mapping[int, int],
    pred: Sequence[Mapping[str, Any]],
    ref: Sequence[Mapping[str, Any]],
) -> dict[int, int]:
    elsewhere = {other: one for one, other in graph.items()}
    kept: dict[int, int] = {}
    for one, other in rows:
        if one is None or other is None or pred[one]['name'] != ref[other]['name']:
            continue
        crossed = graph.get(one, other) != other or elsewhere.get(other, one) != one
        if not crossed or _RULES.equal(pred[one]['args'], ref[other]['args'], tool=ref[other]['name']):
            kept[one] = other
    return kept
