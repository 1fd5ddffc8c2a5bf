"""Peers that compare graphs or plans by their texts: TaskBench, m&m's, WorFEval and T-Eval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.matching import step_similarity, step_texts, text_similarity
from opencompass_traj.metrics.call_equality import mapping_of, text_of_value
from opencompass_traj.metrics.prf import PrecisionRecallF1
from opencompass_traj.metrics.sequence import sequence_similarity
from opencompass_traj.metrics.threshold_matching import connected_match, first_orders, ordered_match
from opencompass_traj.metrics.tool_calls import set_counts
from opencompass_traj.parsing.trajectories import RECORDED
from opencompass_traj.plan import Plan, StepGraph, Trajectory
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.peers.peer import Peer, Values
from opencompass_traj.scoring.peers.written import written_edges, written_links
from opencompass_traj.scoring.ratio import Ratio
from opencompass_traj.turns import turn_edges

START, END = 'START', 'END'
# WorFEval takes a golden graph of so many nodes, START and END among them, in the order in which it is listed.
MANY_NODES = 10
MOST_ORDERS = 20


class TaskBench(Peer):
    """TaskBench's node F1, edge F1, edit distance, and F1 of argument names and values, over the whole corpus.

    Args:
        tools: The names of all tools. Names of no tool do not count as nodes, and are all alike for the edit distance;
            None: every name is a tool's.
    """

    rates = ('node_micro_f1', 'edge_f1', 't_f1', 'v_f1', 'normalized_edit_distance')
    sparse = MappingProxyType(dict.fromkeys(rates, 'supports'))
    ratios = MappingProxyType(
        {
            key: Ratio((f'{key}_matched', f'{key}_matched'), (f'{key}_n_pred', f'{key}_n_ref'))
            for key in rates
            if key.endswith('f1')
        }
    )

    def __init__(self, *, tools: Sequence[str] | None = None) -> None:
        self.tools = None if tools is None else list(tools)
        self._known = None if tools is None else frozenset(tools)

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`. An answer that cannot be read is left out of the corpus."""
        read = comparison.failure is None
        links = written_links(comparison)
        pred = self._sets(comparison.pred, _links(_stated(comparison)) if links is None else links)
        ref = self._sets(comparison.ref, _links(comparison.ref_graph))
        found: dict[str, float | None] = {}
        for key, one, other in zip(self.rates, pred, ref, strict=False):
            counts = set_counts(one, other) if read else PrecisionRecallF1(0, 0, 0)
            found |= _f1_with_counts(key, counts)
        if not read:
            return {**found, **dict.fromkeys(self.rates)}
        names = (self._places(plan.names) for plan in (comparison.pred, comparison.ref))
        return {**found, 'normalized_edit_distance': 1 - sequence_similarity(*names, mode='indel')}

    def _sets(self, plan: Plan, links: set[tuple[str, str]]) -> tuple[set[Any], ...]:
        nodes = {name for name in plan.names if self._known is None or name in self._known}
        arguments = [(step.name, key, value) for step in plan.steps for key, value in mapping_of(step.args).items()]
        return (
            nodes,
            links,
            {f'{tool}-{key}' for tool, key, _ in arguments},
            {f'{tool}-{key}-{text_of_value(value)}' for tool, key, value in arguments},
        )

    def _places(self, names: Sequence[str]) -> list[str | None]:
        return [name if self._known is None or name in self._known else None for name in names]


class Mnms(Peer):
    """The numbers of m&m's: edit distance, F1 of neighbouring calls and plan accuracy, by the tools' names."""

    rates = ('edge_f1', 'plan_accuracy', 'normalized_edit_distance')
    sparse = MappingProxyType({'edge_f1': 'edge_known_rate'})
    ratios = MappingProxyType({'edge_f1': TaskBench.ratios['edge_f1']})

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        pred, ref = comparison.pred.names, comparison.ref.names
        edges = set_counts(pairwise(pred), pairwise(ref))
        found = _f1_with_counts('edge_f1', edges)
        return {
            **(found if edges.n_pred or edges.n_ref else {**found, 'edge_f1': None}),
            'plan_accuracy': float(pred == ref),
            'normalized_edit_distance': 1 - sequence_similarity(pred, ref, mode='indel'),
        }


class WorfEval(Peer):
    """WorFEval's precision, recall and F1 of chains and of graphs.

    Args:
        match_threshold: Nodes whose similarity is strictly above it may be matched, in [0, 1].
    """

    rates = ('precision_chain', 'recall_chain', 'f1_chain', 'precision_graph', 'recall_graph', 'f1_graph')
    uses_embeddings = True

    def __init__(self, *, match_threshold: float = 0.6) -> None:
        self.match_threshold = _checked(match_threshold)

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `values` will read; see `Peer.texts`."""
        return START, *comparison.pred.names, *comparison.ref.names, END

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        pred, ref = comparison.pred, comparison.ref
        pred_edges, ref_edges = written_edges(comparison), _framed(len(ref), comparison.ref_graph)
        if pred_edges == []:
            # A workflow without edges is none to WorFEval.
            return dict.fromkeys(self.rates, 0.0)
        pred_edges = _framed(len(pred), _stated(comparison)) if pred_edges is None else pred_edges
        similarity = _node_similarity(comparison, pred.names, ref.names)
        chain = PrecisionRecallF1(0, max(1, len(pred)), max(1, len(ref)))
        for order in self._orders(ref, ref_edges):
            found = ordered_match(similarity[1:-1, order], threshold=self.match_threshold)
            chain = found if found.matched and found.f1 > chain.f1 else chain
        graph = connected_match(similarity, pred_edges, ref_edges, threshold=self.match_threshold)
        numbers = (chain.precision, chain.recall, chain.f1, graph.precision, graph.recall, graph.f1)
        return dict(zip(self.rates, numbers, strict=True))

    def _orders(self, ref: Plan, edges: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
        """Golden nodes in the orders that are tried, as their numbers behind START, which is 0."""
        size = len(ref) + 2
        if size >= MANY_NODES:
            yield list(range(size))
            return
        for order in first_orders(size, edges, limit=MOST_ORDERS):
            yield order[1:-1]


class TEval(Peer):
    """T-Eval's planning numbers at the threshold of its own repository, 0.8; OpenCompass took 0.7.

    Args:
        match_threshold: Steps whose similarity is strictly above it may be matched, in [0, 1].
    """

    rates = ('precision', 'recall', 'f1_score')
    uses_embeddings = True

    def __init__(self, *, match_threshold: float = 0.8) -> None:
        self.match_threshold = _checked(match_threshold)

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `values` will read; see `Peer.texts`."""
        for plan in _teval_plans(comparison):
            for column in step_texts(plan):
                yield from column

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        pred, ref = _teval_plans(comparison)
        if not len(pred) or not len(ref) or comparison.vectors is None:
            return dict.fromkeys(self.rates, 0.0)
        similarity = step_similarity(pred, ref, comparison.vectors, comparison.reading.match)
        found = ordered_match(similarity, threshold=self.match_threshold)
        return dict(zip(self.rates, (found.precision, found.recall, found.f1), strict=True))


def _f1_with_counts(key: str, counts: PrecisionRecallF1) -> dict[str, float | None]:
    """The F1 of one sample (0 where there is nothing on either side), and what the corpus is counted from."""
    empty = not counts.n_pred and not counts.n_ref
    return {
        key: 0.0 if empty else counts.f1,
        f'{key}_matched': counts.matched,
        f'{key}_n_pred': counts.n_pred,
        f'{key}_n_ref': counts.n_ref,
    }


def _links(graph: StepGraph) -> set[tuple[str, str]]:
    """The dependencies from tool to tool."""
    return {(graph.names[i], graph.names[j]) for i, j in graph.edges}


def _stated(comparison: Comparison) -> StepGraph:
    """The prediction's own dependencies; where it states none, each call follows from the one before."""
    found = comparison.pred_edges
    return found.graph if found.source != 'order' else StepGraph(comparison.pred.names, turn_edges(comparison.pred))


def _framed(size: int, graph: StepGraph) -> list[tuple[int, int]]:
    """A graph's edges between a START, node 0, and an END: those of nodes that nothing else comes before or after."""
    after, before = {j for _, j in graph.edges}, {i for i, _ in graph.edges}
    inner = [(i + 1, j + 1) for i, j in sorted(graph.edges)]
    start = [(0, i + 1) for i in range(size) if i not in after]
    end = [(i + 1, size + 1) for i in range(size) if i not in before]
    return [*start, *inner, *end] if size else [(0, 1)]


def _node_similarity(comparison: Comparison, pred: Sequence[str], ref: Sequence[str]) -> NDArray[np.float64]:
    if comparison.vectors is None:
        raise RuntimeError('WorFEval compares texts by their vectors, and there is no encoder')
    return text_similarity([START, *pred, END], [START, *ref, END], comparison.vectors)


def _teval_plans(comparison: Comparison) -> tuple[Plan, Plan]:
    """Both plans as T-Eval reads them, each without one last finish marker."""
    found: object = comparison.trajectory
    recorded = isinstance(found, Trajectory) and found.format in RECORDED
    read = comparison.trajectory if recorded else comparison.strict
    pred = read.plan if isinstance(read, Trajectory) else read
    plans = (pred if isinstance(pred, Plan) else Plan(), comparison.reference.written)
    return _without_finish(plans[0]), _without_finish(plans[1])


def _without_finish(plan: Plan) -> Plan:
    return Plan(plan.steps[:-1]) if len(plan) and plan.steps[-1].name == 'FinishAction' else plan


def _checked(threshold: float) -> float:
    if not 0 <= threshold <= 1:
        raise ValueError(f'expected `match_threshold` in [0, 1], got {threshold}')
    return threshold
