"""A sample's two graphs as values: what is in both, what in one alone, and where each step stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import networkx as nx

State = Literal['matched', 'redundant', 'missing']
Edge = tuple[int, int]
MAX_STEPS: Final = 40
"""Steps of one graph that a picture has room for."""


@dataclass(frozen=True, slots=True)
class SampleGraph:
    """One side of a sample.

    Attributes:
        names: The tools of its steps, at most 40.
        states: For each step whether the other side has it.
        partners: For each step its partner on the other side, from 0; None where there is none.
        edges: Dependencies between these steps, from the step that must come first, and whether the other side has
            them.
        layers: For each step its row from the top, from 0.
        left_out: How many further steps there are.
    """

    names: tuple[str, ...]
    states: tuple[State, ...]
    partners: tuple[int | None, ...]
    edges: tuple[tuple[int, int, State], ...]
    layers: tuple[int, ...]
    left_out: int = 0


def sample_graphs(row: Mapping[str, Any]) -> tuple[SampleGraph, SampleGraph]:
    """The two graphs of a row of details.

    Args:
        row: A row as `read_run` gives it.

    Returns:
        The predicted and the golden graph. Steps stand below those that they depend on (topological generations); a
        prediction whose dependencies are not stated, or not acyclic, stands in its own order.

    Raises:
        ValueError: If the row has no steps in it.
    """
    if not isinstance(row.get('pred_steps'), list) or not isinstance(row.get('ref_steps'), list):
        raise ValueError('the details hold no steps: evaluate again with this version')
    pred_steps, ref_steps = row['pred_steps'], row['ref_steps']
    pairs = _pairs(row)
    pred_edges, ref_edges = _edges(row.get('pred_edges')), _edges(row.get('ref_edges'))
    back = {ref: pred for pred, ref in pairs.items()}
    in_order = row.get('edge_source') == 'order'
    pred_layers = _turns(pred_steps) if in_order else _generations(len(pred_steps), pred_edges)
    pred = _graph(pred_steps, pred_edges, pairs, set(ref_edges), alone='redundant', layers=pred_layers)
    ref_layers = _generations(len(ref_steps), ref_edges)
    return pred, _graph(ref_steps, ref_edges, back, set(pred_edges), alone='missing', layers=ref_layers)


def _graph(
    steps: Sequence[Mapping[str, Any]],
    edges: Iterable[Edge],
    partners: Mapping[int, int],
    others: Collection[Edge],
    *,
    alone: State,
    layers: Sequence[int],
) -> SampleGraph:
    size = min(len(steps), MAX_STEPS)
    shown = [edge for edge in edges if max(edge) < size]
    # Two steps without a partner make the edge (None, None), which the other side does not have.
    kept = {edge for edge in shown if (partners.get(edge[0]), partners.get(edge[1])) in others}
    return SampleGraph(
        names=tuple(str(step.get('name', '')) for step in steps[:size]),
        states=tuple('matched' if i in partners else alone for i in range(size)),
        partners=tuple(partners.get(i) for i in range(size)),
        edges=tuple((*edge, 'matched' if edge in kept else alone) for edge in shown),
        layers=tuple(layers[:size]),
        left_out=len(steps) - size,
    )


def _pairs(row: Mapping[str, Any]) -> dict[int, int]:
    """Predicted steps with their golden ones: by the graphs' mapping, else by the alignment."""
    if row.get('graph_pairs') is not None:
        return dict(_edges(row['graph_pairs']))
    return {one['pred']: one['ref'] for one in row.get('alignment') or () if one.get('op') == 'keep'}


def _edges(found: Iterable[Sequence[int]] | None) -> list[Edge]:
    return [(one[0], one[1]) for one in found or ()]


def _turns(steps: Sequence[Mapping[str, Any]]) -> list[int]:
    """One row per step, and one for all steps of a turn."""
    layers: list[int] = []
    for i, step in enumerate(steps):
        same = i > 0 and step.get('turn') is not None and step.get('turn') == steps[i - 1].get('turn')
        layers.append(layers[-1] if same else (layers[-1] + 1 if layers else 0))
    return layers


def _generations(size: int, edges: Iterable[Edge]) -> list[int]:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(edge for edge in edges if max(edge) < size)
    if not nx.is_directed_acyclic_graph(graph):
        return list(range(size))
    layers = [0] * size
    for layer, nodes in enumerate(nx.topological_generations(graph)):
        for node in nodes:
            layers[node] = layer
    return layers
