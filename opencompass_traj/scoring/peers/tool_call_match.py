"""Our own form of what most packages ask: are these the golden calls, in order, in any order, which part of them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from opencompass_traj.metrics.call_equality import MODES, call_equality
from opencompass_traj.metrics.partial_credit import in_order_count
from opencompass_traj.metrics.prf import precision_recall_f1
from opencompass_traj.metrics.tool_calls import (
    CallPairs,
    golden_turns_found,
    in_turns,
    places,
    same_in_turns,
    shares_found,
)
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.metric import Metric
from opencompass_traj.scoring.peers.peer import Matches
from opencompass_traj.turns import turn_ranks

RULES = 'rules'
# Calls that the argument rules compare one by one; above, arguments are compared exactly.
MAX_RULE_PAIRS = 50_000

_CALLS = call_equality('exact')


class ToolCallMatch(Metric):
    """Whether, and how far, the calls are the golden ones; see `docs/peers.md`.

    Calls of one turn come in any order, on either side (in the order in which they are listed where arguments are
    compared by `subset` or `superset`). Nothing on both sides is right.

    Args:
        arguments: How arguments are compared: `rules`, the default, by the evaluator's `argument_rules`; `exact`,
            `ignore`, `subset` (each predicted argument is a golden one) or `superset` (each golden one is predicted).
        tools: For single tools, by name, another of the last four, or a list with the dotted paths of the only
            arguments that count. Not with `rules`, which have their own.
        prefix: What stands before each key, so that the class may be listed more than once.

    Raises:
        ValueError: For an unknown mode, or `tools` beside `rules`.
    """

    def __init__(
        self,
        arguments: str = RULES,
        *,
        tools: Mapping[str, str | Sequence[str]] | None = None,
        prefix: str = '',
    ) -> None:
        if arguments == RULES and tools:
            raise ValueError(
                "expected no `tools` with `arguments='rules'`: the evaluator's `argument_rules` have their own"
            )
        if arguments not in {RULES, *MODES}:
            raise ValueError(f'expected `arguments` to be one of {", ".join((RULES, *MODES))}, got {arguments!r:.80}')
        self.arguments = arguments
        self.tools = tools
        self.prefix = prefix
        self._equality = call_equality('exact' if arguments == RULES else arguments, tools)
        self.rates = tuple(prefix + key for key in MATCH_KEYS)

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        calls = self._calls(comparison)
        matches, counts = self._matches(comparison, calls), calls.counts
        precision, recall = self._set_shares(comparison, calls)
        numbers = (
            matches.exact,
            matches.in_order,
            matches.any_order,
            float(counts.matched == counts.n_pred),
            float(counts.matched == counts.n_ref),
            counts.precision,
            counts.recall,
            counts.f1,
            precision,
            recall,
            2 * precision * recall / (precision + recall) if precision else 0.0,
            precision_recall_f1(in_order_count(calls), len(calls.pred), len(calls.ref)).recall,
        )
        return dict(zip(self.rates, numbers, strict=True))

    def _calls(self, comparison: Comparison) -> CallPairs:
        if self.arguments == RULES and _rule_pairs(comparison) <= MAX_RULE_PAIRS:
            return CallPairs(*comparison.call_labels)
        return self._equality.pairs(comparison.pred.steps, comparison.ref.steps)

    def _matches(self, comparison: Comparison, calls: CallPairs) -> Matches:
        found = Matches.of(calls)
        ranks = comparison.pred_ranks, turn_ranks(comparison.ref)
        if ranks == (None, None) or calls.same is not None:
            return found
        pred, ref = in_turns(calls.pred, ranks[0]), in_turns(calls.ref, ranks[1])
        exact, in_order = same_in_turns(pred, ref), golden_turns_found(pred, ref)
        return Matches(float(exact), float(in_order), found.any_order)

    def _set_shares(self, comparison: Comparison, calls: CallPairs) -> tuple[float, float]:
        """The shares of different calls that are right, and that are found."""
        kinds = calls if calls.same is None else _CALLS.pairs(comparison.pred.steps, comparison.ref.steps)
        first = ([at[0] for at in places(side).values()] for side in (kinds.pred, kinds.ref))
        return shares_found(calls, *first)


def _rule_pairs(comparison: Comparison) -> int:
    made, golden = Counter(comparison.pred.names), Counter(comparison.ref.names)
    return sum(count * (made[name] + count) for name, count in golden.items())


MATCH_KEYS = (
    'exact_match',
    'in_order_match',
    'any_order_match',
    'subset_match',
    'superset_match',
    'tool_precision',
    'tool_recall',
    'tool_f1',
    'tool_set_precision',
    'tool_set_recall',
    'tool_set_f1',
    'in_order_recall',
)


class SingleToolUse(Metric):
    """`single_tool_use`: whether a tool was called, however often.

    Args:
        tool: Its name, or a pattern of a shell such as `search_*`.
        prefix: What stands before the key, so that the class may be listed more than once.
    """

    def __init__(self, tool: str, *, prefix: str = '') -> None:
        if not isinstance(tool, str) or not tool:
            raise ValueError(f'expected `tool` to be a name or a pattern, got {tool!r:.80}')
        self.tool = tool
        self.prefix = prefix
        self.rates = (f'{prefix}single_tool_use',)

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        return {self.rates[0]: float(any(fnmatchcase(name, self.tool) for name in comparison.pred.names))}
