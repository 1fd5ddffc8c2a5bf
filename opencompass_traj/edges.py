"""Graphs from plans: the golden one, and whichever one a prediction states, implies or leaves open."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from opencompass_traj.acyclic_edges import AcyclicEdges, sorted_steps
from opencompass_traj.plan import Plan, Step, StepGraph, StepId
from opencompass_traj.turns import turn_edges

EdgeSource: TypeAlias = Literal['prev', 'references', 'order', 'chain']

MAX_REFERENCE_DEPTH: Final = 32
"""How deep references are looked for in a step's arguments."""

MAX_REFERENCE_VALUES: Final = 10_000
"""How many values of one step's arguments are looked through."""

# `<node-0>` (TaskBench) counts from 0; `#E1` (ReWOO) and `$var_1` or `$var1.field$` (NESTFUL) count from 1.
_REFERENCE: Final = re.compile(
    r'<node-(?P<node>[0-9]{1,9})>|(?:#E|\$var_?)(?P<number>[0-9]{1,9})(?![0-9A-Za-z_])',
)
_WHOLE_NUMBER: Final = re.compile(r'0|-?[1-9][0-9]{0,17}')


@dataclass(frozen=True, slots=True)
class PredictedEdges:
    """The dependencies of a prediction.

    Attributes:
        source: Where they come from. 'prev': some step says what it depends on. 'references': the arguments name
            earlier outputs. 'order': only the steps' order is known, and `graph` has no edges. 'chain': each step
            follows from the one before.
        graph: The steps and the dependencies that make sense; it has no cycle.
        dropped: What was said and makes no sense, one text for each dependency.
    """

    source: EdgeSource
    graph: StepGraph
    dropped: tuple[str, ...] = ()


def golden_graph(plan: Plan) -> StepGraph | None:
    """Return the graph that a golden plan states.

    Args:
        plan: A golden plan, as `parse_golden` returns it, with or without its finish marker.

    Returns:
        The graph, or None where no step says what it depends on.

    Raises:
        ValueError: For a dependency that makes no sense, or an id used twice, with the steps' names.

    Example:
        >>> from opencompass_traj.plan import Plan, Step
        >>> golden_graph(Plan((Step('a', 'search', prev=()), Step('b', 'book', prev=('a',))))).edges
        frozenset({(0, 1)})
    """
    if not plan.states_dependencies:
        return None
    plain = _edges_to_earlier(plan)
    if plain is not None:
        return StepGraph(plan.names, plain)
    doubled = [f'the id {_shown(key)} is used twice' for key, at in _positions(plan).items() if len(at) > 1]
    edges, dropped = _stated_edges(plan)
    if doubled or dropped:
        raise ValueError('golden plan: ' + '; '.join([*doubled, *dropped]))
    return StepGraph(plan.names, edges)


def chain_graph(plan: Plan) -> StepGraph:
    """Return the graph in which each step depends on the one before, or on all steps of the turn before.

    Example:
        >>> from opencompass_traj.plan import Plan
        >>> sorted(chain_graph(Plan.of('a', 'b', 'c')).edges)
        [(0, 1), (1, 2)]
    """
    return StepGraph(plan.names, turn_edges(plan))


def predicted_edges(pred: Plan, *, golden_has_graph: bool) -> PredictedEdges:
    """Find out what depends on what in a prediction.

    The first of these that applies: `prev`, if any step has it (an empty one states that there is no dependency);
    references to earlier steps in the arguments, at least one of which holds; the mere order, if the golden plan
    has a graph to hold against it; a chain, to be compared with the golden plan as a chain (`chain_graph`).

    A dependency on the step itself, on an unknown step or one that would close a cycle with those before it is
    dropped. So is a reference to the step itself or to a later one. A `prev` that names a later step is kept: that
    is no contradiction in itself. An id that several steps have means the latest of them before the step that
    names it; if there is none, the dependency is dropped.

    Args:
        pred: The prediction, its finish marker dropped.
        golden_has_graph: Whether `golden_graph` of the golden plan is a graph.

    Returns:
        The edges, where they come from, and what was dropped.

    Complexity: linear in the plan. Where `prev` entries have a cycle, the search for it is bounded by
    `MAX_CYCLE_STEPS`; past that bound an edge is dropped unless it agrees with the order found so far.

    Example:
        >>> from opencompass_traj.plan import Plan, Step
        >>> pred = Plan((Step(0, 'search'), Step(1, 'book', {'train': '#E1'})))
        >>> predicted_edges(pred, golden_has_graph=True)
        PredictedEdges(source='references', graph=StepGraph(names=('search', 'book'), edges=frozenset({(0, 1)})), \
dropped=())
    """
    if pred.states_dependencies:
        edges, dropped = _stated_edges(pred)
        return PredictedEdges('prev', StepGraph(pred.names, edges), dropped)
    edges, dropped = _referred_edges(pred)
    if edges:
        return PredictedEdges('references', StepGraph(pred.names, edges), dropped)
    if golden_has_graph:
        return PredictedEdges('order', StepGraph(pred.names), dropped)
    return PredictedEdges('chain', chain_graph(pred), dropped)


def drop_finish(plan: Plan, names: Collection[str] = ('FinishAction',)) -> Plan:
    """Take the finish markers off the end of a plan, and dependencies on them with them.

    Args:
        plan: Any plan.
        names: The names of markers. Only steps at the end count, however many; one in the middle is a step.

    Returns:
        The plan without them.

    Example:
        >>> from opencompass_traj.plan import Plan
        >>> drop_finish(Plan.of('search', 'FinishAction')).names
        ('search',)
    """
    end = len(plan)
    while end and plan.steps[end - 1].name in names:
        end -= 1
    if end == len(plan):
        return plan
    kept = plan.steps[:end]
    gone = {_key(step.id) for step in plan.steps[end:]} - {_key(step.id) for step in kept}
    if not any(_names_any(step, gone) for step in kept):
        return Plan(kept)
    return Plan(tuple(_without_dependencies(step, gone) for step in kept))


def _without_dependencies(step: Step, gone: Collection[StepId]) -> Step:
    if not _names_any(step, gone):
        return step
    return replace(step, prev=tuple(identifier for identifier in step.prev or () if _key(identifier) not in gone))


def _names_any(step: Step, gone: Collection[StepId]) -> bool:
    return any((one if type(one) is int else _key(one)) in gone for one in step.prev or ())


def _stated_edges(plan: Plan) -> tuple[frozenset[tuple[int, int]], tuple[str, ...]]:
    edges = _edges_to_earlier(plan)
    if edges is not None:
        return edges, ()
    positions = _positions(plan)
    stated = [
        (_source(positions.get(_key(identifier), []), target), target, identifier)
        for target, step in enumerate(plan.steps)
        for identifier in dict.fromkeys(step.prev or ())
    ]
    order = AcyclicEdges(sorted_steps(len(plan), [(i, j) for i, j, _ in stated if isinstance(i, int)]))
    dropped: list[str] = []
    for source, target, identifier in stated:
        fault = order.add(source, target) if isinstance(source, int) else source
        if fault:
            dropped.append(f'step {_shown(plan.steps[target].id)}: ' + fault.replace('{}', _shown(identifier)))
    return frozenset(order.edges()), tuple(dropped)


def _edges_to_earlier(plan: Plan) -> frozenset[tuple[int, int]] | None:
    """The edges of a plan without an id used twice in which every dependency names an earlier step; else None.

    Nearly every plan is one. Its edges agree with the order of the steps, so that no cycle has to be looked for.
    """
    places: dict[StepId, int] = {}
    edges = []
    for target, step in enumerate(plan.steps):
        for identifier in step.prev or ():
            source = places.get(identifier if type(identifier) is int else _key(identifier))
            if source is None:
                return None
            edges.append((source, target))
        places[step.id if type(step.id) is int else _key(step.id)] = target
    return frozenset(edges) if len(places) == len(plan) else None


def _source(candidates: list[int], target: int) -> int | str:
    """The one step that an id means for the step at `target`, or what is wrong with it."""
    if not candidates:
        return 'depends on unknown step {}'
    if candidates == [target]:
        return 'depends on itself'
    if len(candidates) == 1:
        return candidates[0]
    earlier = bisect_left(candidates, target)
    return candidates[earlier - 1] if earlier else 'depends on step {}, an id of several steps, none of them earlier'


def _referred_edges(plan: Plan) -> tuple[frozenset[tuple[int, int]], tuple[str, ...]]:
    edges: list[tuple[int, int]] = []
    dropped: list[str] = []
    for target, step in enumerate(plan.steps):
        for source in sorted(set(_references(step.args))):
            if 0 <= source < target:
                edges.append((source, target))
            else:
                dropped.append(f'step {_shown(step.id)}: ' + _reference_fault(plan, source, target))
    return frozenset(edges), tuple(dropped)


def _reference_fault(plan: Plan, source: int, target: int) -> str:
    if source == target:
        return 'refers to itself'
    if 0 <= source < len(plan):
        return f'refers to later step {_shown(plan.steps[source].id)}'
    return f'refers to an unknown step, number {source + 1}'


def _references(args: object) -> Iterator[int]:
    """The positions, from 0, that the texts within some arguments refer to."""
    for text in _texts(args):
        for match in _REFERENCE.finditer(text):
            yield int(match['node']) if match['node'] else int(match['number']) - 1


def _texts(args: object) -> Iterator[str]:
    stack: list[tuple[Any, int]] = [(args, 0)]
    left = MAX_REFERENCE_VALUES
    while stack:
        value, depth = stack.pop()
        if isinstance(value, str):
            yield value
        elif depth < MAX_REFERENCE_DEPTH:
            inner = list(islice(_members(value), left))
            left -= len(inner)
            stack.extend((member, depth + 1) for member in inner)


def _members(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, set):
        # Python literals hold sets; their order changes from run to run.
        return sorted(member for member in value if isinstance(member, str))
    return value if isinstance(value, list | tuple) else ()


def _positions(plan: Plan) -> dict[StepId, list[int]]:
    positions: dict[StepId, list[int]] = {}
    for position, step in enumerate(plan.steps):
        key = step.id if type(step.id) is int else _key(step.id)
        positions.setdefault(key, []).append(position)
    return positions


def _key(identifier: StepId) -> StepId:
    """What ids are compared by: agents write 1 in one place and '1' in another."""
    return int(identifier) if isinstance(identifier, str) and _WHOLE_NUMBER.fullmatch(identifier) else identifier


def _shown(identifier: StepId) -> str:
    # Python refuses to write an integer of more than 4300 digits, and nobody wants to read a text of that length.
    text = 'of a huge number' if isinstance(identifier, int) and identifier.bit_length() > 200 else repr(identifier)
    return text if len(text) <= 60 else text[:57] + '…'
