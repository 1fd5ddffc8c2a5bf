"""How much two lists of calls have in common: as multisets, as sets, place by place, and in order.

The calls are given as labels: two calls are the same if their labels are equal. `call_equality` makes them from steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from opencompass_traj.metrics._argument_values import largest_matching
from opencompass_traj.metrics.prf import PrecisionRecallF1

Item = TypeVar('Item')
Same = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class CallPairs:
    """Two lists of calls, and which predicted call is as good as which golden one.

    Attributes:
        pred: A label for each predicted call.
        ref: A label for each golden call. Calls with different labels are never the same.
        same: Given the indices of a predicted and a golden call with equal labels, from 0, whether they are the same;
            None: always. It need not be an equivalence.
    """

    pred: tuple[Hashable, ...]
    ref: tuple[Hashable, ...]
    same: Same | None = None

    def equal(self, pred: int, ref: int) -> bool:
        """Whether a predicted call, by its index from 0, is as good as a golden one."""
        return self.pred[pred] == self.ref[ref] and (self.same is None or self.same(pred, ref))

    @property
    def counts(self) -> PrecisionRecallF1:
        """As many pairs as possible, each call in at most one, against the calls of both sides.

        Complexity:
            Linear where `same` is None; else O(pairs of one label · √calls).
        """
        return PrecisionRecallF1(self._matched(), len(self.pred), len(self.ref))

    def _matched(self) -> int:
        if self.same is None:
            return multiset_overlap(self.pred, self.ref)
        golden = places(self.ref)
        return sum(
            self._matched_of(left, golden[label]) for label, left in places(self.pred).items() if label in golden
        )

    def _matched_of(self, pred: list[int], ref: list[int]) -> int:
        return len(largest_matching([[self.equal(i, j) for j in ref] for i in pred]))


def multiset_overlap(pred: Iterable[Hashable], ref: Iterable[Hashable]) -> int:
    """How many items two lists have in common, each occurrence counted once.

    Example:
        >>> multiset_overlap('aab', 'abbc')
        2
    """
    return (Counter(pred) & Counter(ref)).total()


def set_counts(pred: Iterable[Hashable], ref: Iterable[Hashable]) -> PrecisionRecallF1:
    """Compare two lists as sets: how often something occurs does not count.

    Example:
        >>> set_counts('aab', 'abc').f1
        0.8
    """
    left, right = set(pred), set(ref)
    return PrecisionRecallF1(len(left & right), len(left), len(right))


def shares_found(pairs: CallPairs, pred: Iterable[int], ref: Iterable[int]) -> tuple[float, float]:
    """How many of some calls are the same as any call of the other side, each call as often as it is listed here.

    Args:
        pairs: The calls.
        pred: Indices of predicted calls, from 0; usually one of each kind.
        ref: Indices of golden calls.

    Returns:
        The share of the predicted and that of the golden calls, in [0, 1]. Of no calls: 1 if the other side has none
        either, else 0.

    Complexity:
        O(pairs of calls with equal labels).

    Example:
        >>> shares_found(CallPairs(('a', 'b'), ('a', 'c', 'd')), range(2), range(3))
        (0.5, 0.3333333333333333)
    """
    left, right = list(pred), list(ref)
    golden, made = places(pairs.ref), places(pairs.pred)
    good = sum(any(pairs.equal(i, j) for j in golden.get(pairs.pred[i], ())) for i in left)
    found = sum(any(pairs.equal(i, j) for i in made.get(pairs.ref[j], ())) for j in right)
    empty = float(not left and not right)
    return good / len(left) if left else empty, found / len(right) if right else empty


def place_overlap(pairs: CallPairs) -> int:
    """How many golden calls stand at the same place of the prediction.

    Example:
        >>> place_overlap(CallPairs(tuple('axc'), tuple('abcd')))
        2
    """
    return sum(pairs.equal(i, i) for i in range(min(len(pairs.pred), len(pairs.ref))))


def in_order_prefix(pairs: CallPairs) -> int:
    """How many golden calls, from the first on, occur in the prediction one after the other, with others between.

    The search for a golden call that is missing goes to the end of the prediction: nothing after it is found.

    Returns:
        The number of golden calls found, in [0, n_ref]; n_ref: they all occur in order.

    Example:
        >>> (
        ...     in_order_prefix(CallPairs(tuple('axbc'), tuple('abc'))),
        ...     in_order_prefix(CallPairs(tuple('bc'), tuple('abc'))),
        ... )
        (3, 0)
    """
    found = 0
    for i in range(len(pairs.pred)):
        if found < len(pairs.ref) and pairs.equal(i, found):
            found += 1
    return found


def all_found(pairs: CallPairs, *, by_prediction: bool = False) -> bool:
    """Whether each golden call finds a predicted one of its own, by the first fit.

    Args:
        pairs: The calls.
        by_prediction: Whether the predicted calls look for golden ones instead, in their order.

    Example:
        >>> all_found(CallPairs(tuple('bxa'), tuple('ab'))), all_found(CallPairs(tuple('a'), tuple('aa')))
        (True, False)
    """
    wanted, given = (pairs.pred, pairs.ref) if by_prediction else (pairs.ref, pairs.pred)
    if pairs.same is None:
        return multiset_overlap(wanted, given) == len(wanted)
    free = places(given)
    for i, label in enumerate(wanted):
        left = free.get(label, [])
        ends = ((i, j) if by_prediction else (j, i) for j in left)
        at = next((place for place, pair in enumerate(ends) if pairs.same(*pair)), None)
        if at is None:
            return False
        del left[at]
    return True


def same_in_turns(pred: Sequence[Sequence[Hashable]], ref: Sequence[Sequence[Hashable]]) -> bool:
    """Whether two lists of turns can be the same list of calls, where the calls of one turn come in any order.

    Args:
        pred: The predicted turns, each with the labels of its calls.
        ref: The golden turns.

    Complexity:
        O(calls · turns of one side that share a turn of the other).

    Example:
        >>> same_in_turns(['b', 'a'], ['ab']), same_in_turns(['ab', 'c'], ['a', 'bc']), same_in_turns(['a'], ['ab'])
        (True, True, False)
    """
    left, right = (Turns(side) for side in (pred, ref))
    while left.open and right.open:
        common = left.open & right.open
        left.take(common)
        right.take(common)
        if left.open and right.open and not left.fresh and not right.fresh:
            return False
    return not left.open and not right.open


def golden_turns_found(pred: Sequence[Sequence[Hashable]], ref: Sequence[Sequence[Hashable]]) -> bool:
    """Whether all golden calls occur in the prediction, turn after turn, with others between.

    Args:
        pred: The predicted turns, each with the labels of its calls, which come in any order.
        ref: The golden turns.

    Example:
        >>> golden_turns_found(['x', 'b', 'a'], ['ab']), golden_turns_found(['ba'], ['a', 'b'])
        (True, True)
        >>> golden_turns_found(['b', 'a'], ['a', 'b'])
        False
    """
    golden = Turns(ref)
    for turn in pred:
        calls = Counter(turn)
        while golden.open and (common := calls & golden.open):
            calls -= common
            golden.take(common)
            if not golden.fresh:
                break
    return not golden.open


class Turns:
    """Turns that are used up one after the other.

    Attributes:
        open: The calls that are left of the present turn; empty after the last.
        fresh: Whether the present turn was begun by the last `take`.
    """

    __slots__ = ('_rest', 'fresh', 'open')

    def __init__(self, turns: Sequence[Sequence[Hashable]]) -> None:
        self._rest = iter([turn for turn in turns if len(turn)])
        self.fresh = True
        self.open: Counter[Hashable] = Counter(next(self._rest, ()))

    def take(self, calls: Counter[Hashable]) -> None:
        """Use calls of the present turn, and go to the next if none is left."""
        self.open = self.open - calls
        self.fresh = not self.open
        if self.fresh:
            self.open = Counter(next(self._rest, ()))


def in_turns(items: Sequence[Item], ranks: Sequence[int] | None) -> list[list[Item]]:
    """Items turn by turn.

    Args:
        items: One for each call.
        ranks: The turn of each call, ascending; None: each call is a turn of its own.

    Example:
        >>> in_turns('abc', (0, 1, 1)), in_turns('ab', None)
        ([['a'], ['b', 'c']], [['a'], ['b']])
    """
    numbered = zip(range(len(items)) if ranks is None else ranks, items, strict=True)
    return [[item for _, item in turn] for _, turn in groupby(numbered, key=itemgetter(0))]


def places(labels: Iterable[Hashable]) -> dict[Hashable, list[int]]:
    """Where each label stands, indices from 0, in order.

    Example:
        >>> places('aba')
        {'a': [0, 2], 'b': [1]}
    """
    found: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        found.setdefault(label, []).append(place)
    return found
