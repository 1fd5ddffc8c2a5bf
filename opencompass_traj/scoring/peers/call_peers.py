"""Peers that compare lists of calls: Google ADK, Vertex AI, Azure, Strands, BFCL and ACEBench."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from opencompass_traj.metrics.call_equality import call_equality, mapping_of, text_of_value
from opencompass_traj.metrics.tool_calls import CallPairs, in_order_prefix, place_overlap, set_counts
from opencompass_traj.plan import Step
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.peers.peer import Matches, Peer, Values, zero_if_nothing

_NAMES = call_equality('ignore')
_CALLS = call_equality('exact')


class Adk(Peer):
    """Google ADK's `tool_trajectory_avg_score` for its three match types; a run is one invocation.

    Args:
        ignore_args: Whether the arguments do not count.
    """

    rates = (
        'tool_trajectory_avg_score',
        'tool_trajectory_avg_score_in_order',
        'tool_trajectory_avg_score_any_order',
    )

    def __init__(self, *, ignore_args: bool = False) -> None:
        self.ignore_args = ignore_args
        self._equality = _NAMES if ignore_args else _CALLS

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        found = Matches.of(self._equality.pairs(comparison.pred.steps, comparison.ref.steps))
        return dict(zip(self.rates, (found.exact, found.in_order, found.any_order), strict=True))


class Vertex(Peer):
    """Vertex AI's trajectory metrics, after their documentation: the service's code is not public.

    Args:
        tool: The tool of `trajectory_single_tool_use`; None: the number is 0.
    """

    rates = (
        'trajectory_exact_match',
        'trajectory_in_order_match',
        'trajectory_any_order_match',
        'trajectory_precision',
        'trajectory_recall',
        'trajectory_single_tool_use',
    )

    def __init__(self, *, tool: str | None = None) -> None:
        self.tool = tool

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        calls = _CALLS.pairs(comparison.pred.steps, comparison.ref.steps)
        found = Matches.of(calls)
        return {
            'trajectory_exact_match': found.exact,
            'trajectory_in_order_match': found.in_order,
            'trajectory_any_order_match': found.any_order,
            'trajectory_precision': _share_found(calls.pred, calls.ref),
            'trajectory_recall': _share_found(calls.ref, calls.pred),
            'trajectory_single_tool_use': float(self.tool in comparison.pred.names),
        }


class Azure(Peer):
    """Azure AI's task navigation efficiency: its three matching modes, and precision, recall and F1.

    Args:
        match_params: Whether the arguments count; each value is then compared as a text.
    """

    rates = (
        'task_navigation_efficiency',
        'task_navigation_efficiency_in_order_match',
        'task_navigation_efficiency_any_order_match',
        'precision_score',
        'recall_score',
        'f1_score',
    )

    def __init__(self, *, match_params: bool = False) -> None:
        self.match_params = match_params

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        calls = CallPairs(
            tuple(self._label(step) for step in comparison.pred.steps),
            tuple(self._label(step) for step in comparison.ref.steps),
        )
        found, counts = Matches.of(calls), zero_if_nothing(calls.counts)
        return {
            'task_navigation_efficiency': found.exact,
            'task_navigation_efficiency_in_order_match': found.in_order,
            'task_navigation_efficiency_any_order_match': found.any_order,
            'precision_score': counts.precision,
            'recall_score': counts.recall,
            'f1_score': counts.f1,
        }

    def _label(self, step: Step) -> Hashable:
        if not self.match_params:
            return step.name.strip()
        args = mapping_of(step.args)
        return step.name.strip(), frozenset((str(key), _parameter_text(value)) for key, value in args.items())


class Strands(Peer):
    """Strands Evals' three scorers of a list of tool names."""

    rates = ('exact_match_scorer', 'in_order_match_scorer', 'any_order_match_scorer')

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        calls = _NAMES.pairs(comparison.pred.steps, comparison.ref.steps)
        n_ref = len(calls.ref)
        found = (place_overlap(calls), in_order_prefix(calls), set_counts(calls.pred, calls.ref).matched)
        return {key: count / n_ref if n_ref else 1.0 for key, count in zip(self.rates, found, strict=True)}


class Bfcl(Peer):
    """BFCL's check of a turn: whether the golden calls are a multiset within the predicted ones."""

    rates = ('subsequence_unordered',)

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        calls = _CALLS.pairs(comparison.pred.steps, comparison.ref.steps)
        return {'subsequence_unordered': Matches.of(calls).any_order}


class AceBench(Peer):
    """ACEBench's process accuracy: how many milestones are found in order, to three digits; 1 for a solved task."""

    rates = ('process_accuracy',)

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        calls = _CALLS.pairs(comparison.pred.steps, comparison.ref.steps)
        if comparison.run.solved or not calls.ref:
            return {'process_accuracy': 1.0}
        return {'process_accuracy': round(in_order_prefix(calls) / len(calls.ref), 3)}


def _share_found(items: tuple[Hashable, ...], within: tuple[Hashable, ...]) -> float:
    """How many of the items occur in the other list, however often; 0 if there are none."""
    known = set(within)
    return sum(item in known for item in items) / len(items) if items else 0.0


def _parameter_text(value: Any) -> str:
    if isinstance(value, dict | list):
        try:
            return json.dumps(value, sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            pass
    return text_of_value(value)
