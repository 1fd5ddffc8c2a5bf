"""The most precedence pairs that can be kept, where it is mostly known which steps of a tool stand for which.

Let golden `u` and `v` be of one tool, all that precedes `u` precede `v`, and all that follows `v` follow `u`. If the
step for `v` comes before the step for `u`, then exchanging the two loses no precedence pair: `u` goes first. What this
rule leaves open for each tool, and which steps are left out where one side has more, are a few choices; branch and
bound over the tools finds the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from opencompass_traj.metrics._downsets import bits, transpose
from opencompass_traj.metrics._mapping_problem import Block

MOST_CHOICES = 64
# Of all tools together: what each keeps with each other one is counted beforehand.
MOST_TOGETHER = 256
_MOST_STEPS = 1_000

_Pairs = list[tuple[int, int]]


def golden_order(nodes: Sequence[int], preds: Sequence[int], after: Sequence[int]) -> list[int]:
    """The golden steps of a tool in an order that the rule allows.

    Args:
        nodes: The steps.
        preds: For each golden step, the mask of the steps that must come before it.
        after: For each golden step, the mask of the steps that must come after it.
    """
    return sorted(nodes, key=lambda v: (preds[v].bit_count(), -after[v].bit_count(), v))


def pred_order(steps: Sequence[int], rank: Sequence[int] | None) -> list[int]:
    """The predicted steps of a tool, the earliest first; `rank` says when each was made, None: one after another."""
    return sorted(steps, key=lambda i: (i if rank is None else rank[i], i))


@dataclass(frozen=True, slots=True)
class Tool:
    """The steps of one tool.

    Attributes:
        pred: The predicted steps, the earliest first.
        golden: The golden steps, in an order that the rule allows.
        first: For each place in `golden`, the mask of the places that go before it by the rule.
    """

    pred: Sequence[int]
    golden: Sequence[int]
    first: Sequence[int]

    @classmethod
    def of(cls, block: Block, preds: Sequence[int], after: Sequence[int], rank: Sequence[int] | None) -> Tool:
        """Find the order of a block's steps, from what precedes and what follows each golden step."""
        pred, nodes = block
        golden = golden_order(nodes, preds, after)
        first = [
            sum(1 << at for at, u in enumerate(golden[:place]) if not preds[u] & ~preds[v] and not after[v] & ~after[u])
            for place, v in enumerate(golden)
        ]
        return cls(pred_order(pred, rank), golden, first)

    @property
    def settled(self) -> bool:
        """Whether nothing is open."""
        in_order = all(mask == (1 << place) - 1 for place, mask in enumerate(self.first))
        return in_order and len(self.pred) == len(self.golden)

    def choices(self) -> list[_Pairs] | None:
        """The mappings that the rule leaves; None if they are many."""
        if self.settled:
            return [list(zip(self.pred, self.golden, strict=True))]
        if max(len(self.pred), len(self.golden)) > MOST_CHOICES:
            return None
        size = min(len(self.pred), len(self.golden))
        orders = islice(self._orders(size, 0), MOST_CHOICES + 1)
        made = [
            list(zip(chosen, order, strict=True))
            for order in orders
            for chosen in islice(combinations(self.pred, size), MOST_CHOICES + 1)
        ]
        return made if len(made) <= MOST_CHOICES else None

    def _orders(self, size: int, taken: int, barred: int = 0) -> Iterator[tuple[int, ...]]:
        """Sequences of `size` golden steps in which nothing comes after what it goes before."""
        if not size:
            yield ()
            return
        gone = taken | barred
        # With as many steps left as places, every one of these beginnings can be completed.
        if len(self.golden) - gone.bit_count() < size:
            return
        for place, v in enumerate(self.golden):
            if not gone >> place & 1:
                for rest in self._orders(size - 1, taken | 1 << place, barred | self.first[place]):
                    yield (v, *rest)


def most_kept(tools: Sequence[Tool], later: Sequence[int], after: Sequence[int]) -> int | None:
    """Count the precedence pairs that the best mapping keeps.

    Args:
        tools: The tools that both sides have.
        later: For each predicted step, the mask of the steps that come after it.
        after: For each golden step, the mask of the steps that must come after it.

    Returns:
        The greatest number; None where a tool, or all together, leave many choices, or the search takes too long.
    """
    pairs: dict[tuple[int, int], int] = {}
    choices: list[list[int]] = []
    for tool in tools:
        made = tool.choices()
        if made is None:
            return None
        choices.append([_mask(pairs, choice) for choice in made])
    open_choices = [masks for masks in choices if len(masks) > 1]
    if sum(map(len, open_choices)) > MOST_TOGETHER:
        return None
    kept = _kept(list(pairs), later, after)
    fixed = sum(masks[0] for masks in choices if len(masks) == 1)
    search = _Search(kept, fixed, open_choices)
    search.descend(0, sum((kept[pair] & fixed).bit_count() for pair in bits(fixed)), search.gains)
    return search.best if search.steps <= _MOST_STEPS else None


def _mask(numbers: dict[tuple[int, int], int], pairs: Sequence[tuple[int, int]]) -> int:
    return sum(1 << numbers.setdefault(pair, len(numbers)) for pair in pairs)


def _kept(pairs: Sequence[tuple[int, int]], later: Sequence[int], after: Sequence[int]) -> list[int]:
    """For each pair, the mask of the pairs that come after it on both sides."""
    of_pred, of_golden = [0] * len(later), [0] * len(after)
    for number, (i, v) in enumerate(pairs):
        of_pred[i] |= 1 << number
        of_golden[v] |= 1 << number
    behind_pred = {i: _union(of_pred, later[i]) for i in {i for i, _ in pairs}}
    behind_golden = {v: _union(of_golden, after[v]) for v in {v for _, v in pairs}}
    return [behind_pred[i] & behind_golden[v] for i, v in pairs]


def _union(masks: Sequence[int], members: int) -> int:
    union = 0
    for member in bits(members):
        union |= masks[member]
    return union


class _Search:
    """Depth first over the tools with a choice.

    Attributes:
        best: The most pairs kept by a complete choice so far.
        gains: For each tool and choice, the pairs that it keeps within itself and with what is fixed.
    """

    def __init__(self, kept: Sequence[int], fixed: int, choices: Sequence[Sequence[int]]) -> None:
        self.near = [ahead | behind for ahead, behind in zip(kept, transpose(kept), strict=True)]
        self.choices = choices
        self.best = -1
        self.steps = 0
        self.gains = [
            [sum((kept[pair] & mask).bit_count() for pair in bits(mask)) + self._between(mask, fixed) for mask in masks]
            for masks in choices
        ]
        # What each choice can keep at most with the tools behind its own.
        self.ahead = [
            [sum(max(self._between(mask, other) for other in others) for others in choices[at + 1 :]) for mask in masks]
            for at, masks in enumerate(choices)
        ]

    def descend(self, at: int, value: int, gains: Sequence[Sequence[int]]) -> None:
        """Decide the tools from `at` on; `gains` are with all that is decided."""
        self.steps += 1
        if at == len(self.choices):
            self.best = max(self.best, value)
            return
        at_most = [
            max(gain + ahead for gain, ahead in zip(gains[other], self.ahead[other], strict=True))
            for other in range(at, len(self.choices))
        ]
        rest = value + sum(at_most[1:])
        order = sorted(range(len(self.choices[at])), key=lambda one: -gains[at][one] - self.ahead[at][one])
        for one in order:
            if rest + gains[at][one] + self.ahead[at][one] <= self.best or self.steps > _MOST_STEPS:
                return
            mask = self.choices[at][one]
            then = [
                gains[other]
                if other <= at
                else [gain + self._between(mask, two) for gain, two in zip(gains[other], masks, strict=True)]
                for other, masks in enumerate(self.choices)
            ]
            self.descend(at + 1, value + gains[at][one], then)

    def _between(self, one: int, other: int) -> int:
        return sum((self.near[pair] & other).bit_count() for pair in bits(one))
