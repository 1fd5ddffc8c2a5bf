"""WorFBench's workflows: numbered nodes and an edge list as text, after the benchmark's own prompt and data."""

from __future__ import annotations

import re
from typing import Final

from opencompass_traj.parsing.literal import MAX_CHARS, shown
from opencompass_traj.parsing.reasoning import without_reasoning
from opencompass_traj.parsing.values import MAX_STEPS
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory

NAME: Final = 'worfbench'

_NODES: Final = re.compile(r'^[ \t#*-]*Nodes?[ \t*]*[:：]', re.IGNORECASE | re.MULTILINE)
_EDGES: Final = re.compile(r'^[ \t#*-]*Edges?[ \t*]*[:：]', re.IGNORECASE | re.MULTILINE)
_NODE: Final = re.compile(r'^[ \t]*([0-9]{1,9})[ \t]*[:：.、)][ \t]*(\S[^\n]*)$', re.MULTILINE)
_EDGE: Final = re.compile(
    r'\([ \t]*([0-9]{1,9}|START|END)[ \t]*[,，][ \t]*([0-9]{1,9}|START|END)[ \t]*\)', re.IGNORECASE
)


def recognises(value: object) -> bool:
    r"""Whether a text has a line `Node:` and, after it, a line `Edges:` or `Edge:`.

    Example:
        >>> recognises('Node:\n1: search\nEdges:\n(START,1) (1,END)'), recognises('Node: 1')
        (True, False)
    """
    if not isinstance(value, str) or len(value) > MAX_CHARS:
        return False
    nodes = _NODES.search(value)
    return nodes is not None and _EDGES.search(value, nodes.end()) is not None


def parse(value: object) -> Trajectory | ParseFailure:
    r"""Read a WorFBench workflow.

    Args:
        value: Text with a line `Node:`, then numbered lines (`1: …` or `1. …`), then `Edges:` (or `Graph:` and
            `Edge:`) and pairs such as `(START,1) (1,2) (2,END)`. Reasoning blocks are cut out.

    Returns:
        The nodes as listed: the number is the id, the line's text the name, `prev` the nodes that have an edge to it,
        START left out. A number that occurs twice and an edge that names no node are dropped and named; edges to END
        say nothing about the steps.

    Complexity: linear in the text.

    Example:
        >>> workflow = 'Node:\n1: find a city\n2: get its weather\nEdges:\n(START,1) (1,2) (2,END)'
        >>> parse(workflow).plan.steps[1]
        Step(id=2, name='get its weather', args={}, prev=(1,))
    """
    if not isinstance(value, str):
        return ParseFailure(f'no text, but a {type(value).__name__}')
    if len(value) > MAX_CHARS:
        return ParseFailure(f'answer longer than {MAX_CHARS} characters')
    text = without_reasoning(value)
    return text if isinstance(text, ParseFailure) else _workflow(text)


def _workflow(text: str) -> Trajectory | ParseFailure:
    nodes = _NODES.search(text)
    edges = None if nodes is None else _EDGES.search(text, nodes.end())
    if nodes is None or edges is None:
        return ParseFailure('no lines Node: and Edges:')
    dropped: list[str] = []
    names: dict[int, str] = {}
    for match in _NODE.finditer(text, nodes.end(), edges.start()):
        if int(match[1]) in names:
            dropped.append(f'node {match[1]} occurs twice: {shown(match[2])}')
        else:
            names[int(match[1])] = match[2].strip()
    if not names or len(names) > MAX_STEPS:
        return ParseFailure(f'expected 1 to {MAX_STEPS} numbered nodes, got {len(names)}')
    prevs = _prevs(names, text[edges.end() :], dropped)
    steps = tuple(Step(number, name, {}, tuple(prevs[number])) for number, name in names.items())
    return Trajectory(Plan(steps), NAME, dropped=tuple(dropped))


def _prevs(names: dict[int, str], text: str, dropped: list[str]) -> dict[int, dict[int, None]]:
    # A dict for its keys: in order and without repetition.
    prevs: dict[int, dict[int, None]] = {number: {} for number in names}
    for match in _EDGE.finditer(text):
        ends = [int(end) if end.isdigit() else end.upper() for end in match.groups()]
        source, target = ends
        if any(isinstance(end, int) and end not in names for end in ends):
            dropped.append(f'edge {match[0]} names no node')
        elif isinstance(source, int) and isinstance(target, int):
            prevs[target][source] = None
    return prevs
