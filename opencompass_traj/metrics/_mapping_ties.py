"""Among mappings that match equally much, one that pairs the steps a reader would pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from opencompass_traj.metrics._downsets import bits
from opencompass_traj.metrics._mapping_inputs import Edges
from opencompass_traj.metrics._mapping_problem import Block, Pairs

Prefer = Callable[[int, int], float]
# Each exchange raises the preference, so the rounds end by themselves; this bounds the time on long plans.
_MAX_ROUNDS = 4
_NOBODY = -1


def prefer_pairs(
    pairs: Sequence[tuple[int, int]],
    blocks: Sequence[Block],
    pred: Edges,
    ref: Edges,
    prefer: Prefer,
    at_most: Prefer | None = None,
) -> tuple[tuple[int, int], ...]:
    """Exchange partners inside blocks where no matched edge is lost and the pairs are preferred.

    Args:
        pairs: A mapping (predicted node, golden node).
        blocks: Disjoint groups of nodes that may stand for each other.
        pred: The predicted edges.
        ref: The golden ones.
        prefer: The worth of a pair.
        at_most: A bound on it, quickly had; it saves asking for the worth of pairs that cannot be preferred.

    Returns:
        A mapping with as many pairs and at least as many matched edges, sorted. Better by exchanges of two partners
        alone, so not always the most preferred of all.
    """
    mapping = _Mapping(pairs, (pred, ref), prefer, at_most)
    for nodes, goldens in blocks:
        if len(nodes) * len(goldens) > 1:
            mapping.exchange(nodes, goldens)
    return tuple(sorted(mapping.partner.items()))


class _Mapping:
    """A mapping whose partners can be exchanged.

    Attributes:
        partner: The golden node of each mapped predicted node.
        node_of: The reverse.
    """

    def __init__(
        self, pairs: Sequence[tuple[int, int]], graphs: tuple[Edges, Edges], prefer: Prefer, at_most: Prefer | None
    ) -> None:
        self.partner = dict(pairs)
        self.node_of = {golden: node for node, golden in pairs}
        self.pred, self.ref = graphs
        self._prefer = prefer
        self._at_most = at_most
        self._worth: dict[tuple[int, int], float] = {}

    def exchange(self, nodes: Sequence[int], goldens: Sequence[int]) -> None:
        """Try all exchanges inside a block, again and again while one is a gain."""
        for _ in range(_MAX_ROUNDS):
            # The golden nodes left over wait behind the predicted ones, as partners of nobody.
            left_over = [golden for golden in sorted(goldens) if golden not in self.node_of]
            moves: Pairs = [*combinations(nodes, 2), *((node, -1 - golden) for golden in left_over for node in nodes)]
            # Every move is tried, not only those up to the first that helps.
            if not sum(self._try(one, other) for one, other in moves):
                return

    def _try(self, one: int, other: int) -> bool:
        """Exchange two nodes' partners, or give a node a golden one that is left over; undone if that is no gain."""
        touched = [one] if other < 0 else [one, other]
        before = [self.partner.get(node, _NOBODY) for node in touched]
        after = [-1 - other] if other < 0 else before[::-1]
        if other < 0 and (before[0] == _NOBODY or after[0] in self.node_of):
            return False
        worth = sum(map(self._worth_of, touched, before))
        # Adding up rounds the bounds no further down than what they bound.
        if self._at_most is not None and sum(map(self._bound_of, touched, after)) - worth <= 0:
            return False
        kept = self._matched_edges(touched)
        self._set(touched, before, after)
        # The worth of pairs takes longer to find out than the edges.
        if self._matched_edges(touched) >= kept and sum(map(self._worth_of, touched, after)) - worth > 0:
            return True
        self._set(touched, after, before)
        return False

    def _worth_of(self, node: int, golden: int) -> float:
        if golden == _NOBODY:
            return 0.0
        if (node, golden) not in self._worth:
            self._worth[node, golden] = self._prefer(node, golden)
        return self._worth[node, golden]

    def _bound_of(self, node: int, golden: int) -> float:
        return self._at_most(node, golden) if self._at_most is not None and golden != _NOBODY else 0.0

    def _set(self, touched: Sequence[int], before: Sequence[int], after: Sequence[int]) -> None:
        for node, golden in zip(touched, before, strict=True):
            self.partner.pop(node, None)
            self.node_of.pop(golden, None)
        for node, golden in zip(touched, after, strict=True):
            if golden != _NOBODY:
                self.partner[node] = golden
                self.node_of[golden] = node

    def _matched_edges(self, touched: Sequence[int]) -> int:
        """How many matched edges begin or end at the touched nodes."""
        count = 0
        for at, node in enumerate(touched):
            golden = self.partner.get(node, _NOBODY)
            if golden == _NOBODY:
                continue
            # An edge between two touched nodes counts once.
            seen = touched[:at]
            count += sum((node, other) in self.pred for other in self._mapped(self.ref.rows[golden], seen))
            count += sum((other, node) in self.pred for other in self._mapped(self.ref.columns[golden], seen))
        return count

    def _mapped(self, goldens: int, seen: Sequence[int]) -> Iterator[int]:
        """The predicted nodes that stand for some golden nodes, but for those seen."""
        nodes = (self.node_of.get(golden, _NOBODY) for golden in bits(goldens))
        return (node for node in nodes if node != _NOBODY and node not in seen)
