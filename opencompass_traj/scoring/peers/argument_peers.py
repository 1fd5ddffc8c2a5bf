"""Peers that give a part of the credit for a part of the arguments: ragas and deepeval; and agentevals' modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_traj.metrics.call_equality import call_equality, mapping_of, text_of_value
from opencompass_traj.metrics.partial_credit import CallCredit
from opencompass_traj.metrics.tool_calls import all_found, in_turns, set_counts
from opencompass_traj.plan import Plan, Step
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.peers.peer import Matches, Peer, Values, zero_if_nothing
from opencompass_traj.turns import turn_ranks

_CALLS = call_equality('exact')


class Ragas(Peer):
    """ragas' tool call accuracy, in strict and in flexible order, and tool call F1."""

    rates = ('tool_call_accuracy', 'tool_call_accuracy_flexible_order', 'tool_call_f1')

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        pred, ref = comparison.pred.steps, comparison.ref.steps
        calls = _CALLS.pairs(pred, ref)
        flexible = (sorted(side, key=_sorting_key) for side in (pred, ref))
        return {
            'tool_call_accuracy': _accuracy(pred, ref),
            'tool_call_accuracy_flexible_order': _accuracy(*flexible),
            'tool_call_f1': round(zero_if_nothing(set_counts(calls.pred, calls.ref)).f1, 4),
        }


def _accuracy(pred: Sequence[Step], ref: Sequence[Step]) -> float:
    if [step.name for step in pred] != [step.name for step in ref]:
        return 0.0
    shares = [
        _share_of_texts(mapping_of(one.args), mapping_of(other.args)) for one, other in zip(pred, ref, strict=True)
    ]
    return sum(shares) / len(shares) if shares else 1.0


def _share_of_texts(pred: Mapping[Any, Any], ref: Mapping[Any, Any]) -> float:
    """The share of the golden arguments whose text is the predicted one's; further predicted ones are free."""
    if not ref:
        return float(not pred)
    return sum(key in pred and text_of_value(pred[key]) == text_of_value(ref[key]) for key in ref) / len(ref)


def _sorting_key(step: Step) -> tuple[str, ...]:
    args = {str(key): text_of_value(value) for key, value in mapping_of(step.args).items()}
    return step.name, *(text for key in sorted(args) for text in (key, args[key]))


class DeepEval(Peer):
    """deepeval's tool correctness: by default, with ordering considered, and as an exact match.

    Args:
        input_parameters: Whether the arguments count too (`ToolCallParams.INPUT_PARAMETERS`).
    """

    rates = ('tool_correctness', 'tool_correctness_ordered', 'tool_correctness_exact')

    def __init__(self, *, input_parameters: bool = False) -> None:
        self.input_parameters = input_parameters
        self._equality = _CALLS if input_parameters else call_equality('ignore')

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        pred, ref = comparison.pred.steps, comparison.ref.steps
        exact = Matches.of(self._equality.pairs(pred, ref)).exact
        if not ref:
            return dict.fromkeys(self.rates, exact)
        credit = CallCredit(pred, ref, by_arguments=self.input_parameters)
        return {
            'tool_correctness': credit.greedy() / len(ref),
            'tool_correctness_ordered': credit.in_order() / len(ref),
            'tool_correctness_exact': exact,
        }


class AgentEvals(Peer):
    """agentevals' four trajectory matches; a turn with calls is one assistant message.

    Args:
        tool_args_match_mode: `exact`, `ignore`, `subset` or `superset`.
        tool_args_match_overrides: For single tools a mode, or the dotted paths of the only arguments that count.
    """

    rates = (
        'trajectory_strict_match',
        'trajectory_unordered_match',
        'trajectory_subset_match',
        'trajectory_superset_match',
    )

    def __init__(
        self,
        *,
        tool_args_match_mode: str = 'exact',
        tool_args_match_overrides: Mapping[str, str | Sequence[str]] | None = None,
    ) -> None:
        self.tool_args_match_mode = tool_args_match_mode
        self.tool_args_match_overrides = tool_args_match_overrides
        self._equality = call_equality(tool_args_match_mode, tool_args_match_overrides)

    def values(self, comparison: Comparison) -> Values:
        """The numbers of one sample; see `Peer.values`."""
        pred, ref = comparison.pred, comparison.ref
        superset = self._all_found(wanted=ref.steps, given=pred.steps)
        # The peer swaps the two sides, and with them what the arguments are held against.
        subset = self._all_found(wanted=pred.steps, given=ref.steps)
        return {
            'trajectory_strict_match': float(self._same_messages(pred, ref)),
            'trajectory_unordered_match': float(superset and subset),
            'trajectory_subset_match': float(subset),
            'trajectory_superset_match': float(superset),
        }

    def _all_found(self, *, wanted: Sequence[Step], given: Sequence[Step]) -> bool:
        return all_found(self._equality.pairs(given, wanted))

    def _same_messages(self, pred: Plan, ref: Plan) -> bool:
        left, right = (in_turns(plan.steps, turn_ranks(plan)) for plan in (pred, ref))
        if [len(turn) for turn in left] != [len(turn) for turn in right]:
            return False
        return all(
            all_found(self._equality.pairs(one, other), by_prediction=True)
            for one, other in zip(left, right, strict=True)
        )
