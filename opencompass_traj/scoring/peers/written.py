"""Dependencies as a prediction writes them, where its format holds what a plan of steps does not.

TaskBench's links name tools, those of no node among them; WorFBench's edges lead from START and to END.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from opencompass_traj.parsing import taskbench, worfbench
from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.parsing.values import MAX_STEPS, read_json
from opencompass_traj.plan import Trajectory
from opencompass_traj.scoring.comparison import Comparison

_EDGE: Final = re.compile(r'\(\s*([0-9]{1,9}|START)\s*,\s*([0-9]{1,9}|END)\s*\)')


def written_links(comparison: Comparison) -> set[tuple[str, str]] | None:
    """The links of a prediction in TaskBench's format, from tool to tool.

    Returns:
        The pairs of names, whether there are such nodes or not; None for another format, or without links.

    Complexity:
        Linear in the prediction.
    """
    if not _is_in(comparison, taskbench.NAME):
        return None
    record = _decoded(comparison.prediction)
    record = record.get('result', record) if isinstance(record, Mapping) else None
    links = record.get('task_links', record.get('tool_links')) if isinstance(record, Mapping) else None
    links = _decoded(links)
    if not isinstance(links, list):
        return None
    ends = ((link.get('source'), link.get('target')) for link in links[:MAX_STEPS] if isinstance(link, Mapping))
    return {
        (source.strip(), target.strip())
        for source, target in ends
        if isinstance(source, str) and isinstance(target, str)
    }


def written_edges(comparison: Comparison) -> list[tuple[int, int]] | None:
    """The edges of a prediction in WorFBench's format, between nodes that are numbered from 1 as they are listed.

    Returns:
        The pairs of numbers, START as 0, END as the number after the last node's; None for another format.

    Complexity:
        Linear in the prediction.
    """
    text = comparison.prediction
    if not isinstance(text, str) or len(text) > MAX_CHARS or not _is_in(comparison, worfbench.NAME):
        return None
    end = len(comparison.pred) + 1
    pairs = (match.groups() for match in _EDGE.finditer(text))
    return [(0 if i == 'START' else int(i), end if j == 'END' else int(j)) for i, j in pairs]


def _is_in(comparison: Comparison, name: str) -> bool:
    found = comparison.trajectory
    return isinstance(found, Trajectory) and found.format == name


def _decoded(value: object) -> Any:
    return read_json(value) if isinstance(value, str) and len(value) <= MAX_CHARS else value
