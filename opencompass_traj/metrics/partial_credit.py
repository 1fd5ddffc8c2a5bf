"""Part of the credit for a call whose arguments are right in part: the best in any order, and in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.metrics._argument_values import MAX_DEPTH
from opencompass_traj.metrics.call_equality import call_equality, mapping_of
from opencompass_traj.metrics.sequence import sequence_distance
from opencompass_traj.metrics.tool_calls import CallPairs, places
from opencompass_traj.plan import Step

# Pairs of a predicted and a golden call; above, a call has all of the credit or none.
MAX_CREDIT_PAIRS: Final = 250_000

_CALLS = call_equality('exact')
_NAMES = call_equality('ignore')


@dataclass(frozen=True, slots=True)
class CallCredit:
    """How much credit the predicted calls earn on the golden ones: nothing for another tool, and at most 1 for each.

    Attributes:
        pred: The predicted calls.
        ref: The golden calls.
        by_arguments: Whether the credit is `shared_arguments`, else 1 for the right tool.
    """

    pred: Sequence[Step]
    ref: Sequence[Step]
    by_arguments: bool = False

    @property
    def partial(self) -> bool:
        """Whether a call can have a part of the credit."""
        return self.by_arguments and len(self.pred) * len(self.ref) <= MAX_CREDIT_PAIRS

    def greedy(self) -> float:
        """The credit where each golden call in turn takes the best call that is left, the first of equal ones.

        A predicted call that is equal to one that was taken, with its arguments, cannot be taken: how often a call is
        made does not count. So the plan A, A earns 1 of 2 on itself. The order of the golden calls can change the sum.

        Complexity:
            O(pairs of calls of one tool), linear where no part of the credit is given.

        Example:
            >>> from opencompass_traj.plan import Plan
            >>> CallCredit(Plan.of('b', 'a', 'a').steps, Plan.of('a', 'a', 'b').steps).greedy()
            2.0
        """
        labels = _CALLS.pairs(self.pred, self.ref)
        distinct = [self.pred[at[0]] for at in places(labels.pred).values()]
        if not self.by_arguments:
            called = Counter(step.name for step in distinct)
            return float((called & Counter(step.name for step in self.ref)).total())
        if not self.partial:
            return float(len(set(labels.pred) & set(labels.ref)))
        return _take_in_turn(distinct, self.ref)

    def in_order(self) -> float:
        """The most credit that calls earn in the golden order, each on at most one golden call.

        Complexity:
            O(n_pred · n_ref).

        Example:
            >>> from opencompass_traj.plan import Plan
            >>> CallCredit(Plan.of('a', 'x', 'c', 'b').steps, Plan.of('a', 'b', 'c').steps).in_order()
            2.0
        """
        if self.partial:
            return heaviest_in_order(self._weights())
        calls = (_CALLS if self.by_arguments else _NAMES).pairs(self.pred, self.ref)
        return float(longest_in_order(calls.pred, calls.ref))

    def _weights(self) -> NDArray[np.float64]:
        weights = np.zeros((len(self.pred), len(self.ref)))
        golden = places(step.name for step in self.ref)
        for i, step in enumerate(self.pred):
            for j in golden.get(step.name, ()):
                weights[i, j] = shared_arguments(mapping_of(step.args), mapping_of(self.ref[j].args))
        return weights


def heaviest_in_order(weights: NDArray[np.float64]) -> float:
    """The largest total of pairs (row, column) of which a later row has a later column.

    Args:
        weights: Shape (n_pred, n_ref), each at least 0.

    Complexity:
        O(n_pred · n_ref).

    Example:
        >>> heaviest_in_order(np.array([[0.0, 1.0], [0.75, 0.0]]))
        1.0
    """
    best = np.zeros(weights.shape[1] + 1)
    for row in weights:
        step = best.copy()
        step[1:] = np.maximum(step[1:], best[:-1] + row)
        best = np.maximum.accumulate(step)
    return float(best[-1])


def in_order_count(pairs: CallPairs) -> int:
    """How many golden calls occur in the prediction in order, at the most; what is between them on either side is free.

    Complexity:
        O(n_pred · n_ref); past `MAX_CREDIT_PAIRS` of them only the tools are compared where calls are compared one by
        one.

    Example:
        >>> in_order_count(CallPairs(tuple('axcb'), tuple('abc')))
        2
    """
    n_pred, n_ref = len(pairs.pred), len(pairs.ref)
    if pairs.same is None or n_pred * n_ref > MAX_CREDIT_PAIRS:
        return longest_in_order(pairs.pred, pairs.ref)
    equal = np.array([[float(pairs.equal(i, j)) for j in range(n_ref)] for i in range(n_pred)]).reshape(n_pred, n_ref)
    return int(heaviest_in_order(equal))


def longest_in_order(pred: Sequence[Any], ref: Sequence[Any]) -> int:
    """The longest common subsequence of two lists of labels.

    Example:
        >>> longest_in_order('axcb', 'abc')
        2
    """
    return (len(pred) + len(ref) - sequence_distance(pred, ref, mode='indel')) // 2


def shared_arguments(pred: Mapping[Any, Any], ref: Mapping[Any, Any], depth: int = 0) -> float:
    """The share of the arguments of either call that both have with equal values; equal calls have 1.

    Args:
        pred: The predicted arguments by name.
        ref: The golden ones. Two objects under one name that are not equal count as their own share.
        depth: How deep in the arguments these lie; what is deeper than 64 counts wholly or not.

    Example:
        >>> shared_arguments({'q': 'x', 'n': 5}, {'q': 'x', 'n': 10})
        0.5
        >>> shared_arguments({'at': {'day': 1, 'hour': 2}}, {'at': {'day': 1, 'hour': 3}})
        0.5
    """
    if pred == ref:
        return 1.0
    total = 0.0
    both = [key for key in ref if key in pred]
    for key in both:
        one, other = pred[key], ref[key]
        if one == other:
            total += 1
        elif isinstance(one, dict) and isinstance(other, dict) and depth < MAX_DEPTH:
            total += shared_arguments(one, other, depth + 1)
    return total / (len(pred) + len(ref) - len(both))


def _take_in_turn(pred: Sequence[Step], ref: Sequence[Step]) -> float:
    free = {name: [pred[i] for i in at] for name, at in places(step.name for step in pred).items()}
    total = 0.0
    for golden in ref:
        calls = free.get(golden.name, [])
        shares = [shared_arguments(mapping_of(call.args), mapping_of(golden.args)) for call in calls]
        best = max(shares, default=0.0)
        if best > 0:
            total += best
            del calls[shares.index(best)]
    return total
