"""Down-sets of a partial order, grown level by level on bit masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class Covers(NamedTuple):
    """How the down-sets of one level come from those of the level below, as parallel lists.

    Attributes:
        lower: Index of the smaller set within its level.
        element: The node that is added to it.
        upper: Index of the larger set within its level.
    """

    lower: list[int]
    element: list[int]
    upper: list[int]


def bits(mask: int) -> Iterator[int]:
    """List the members of a mask, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def transpose(preds: Sequence[int]) -> tuple[int, ...]:
    """Turn the masks of predecessors into masks of successors, or back.

    Example:
        >>> transpose((0, 1, 3))
        (6, 4, 0)
    """
    following = [0] * len(preds)
    for v, mask in enumerate(preds):
        for u in bits(mask):
            following[u] |= 1 << v
    return tuple(following)


def immediate_successors(preds: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Keep, of all successors of a node, those with nothing in between."""
    following: list[list[int]] = [[] for _ in preds]
    for v, mask in enumerate(preds):
        implied = 0
        for u in bits(mask):
            implied |= preds[u]
        for u in bits(mask & ~implied):
            following[u].append(v)
    return tuple(map(tuple, following))


def first_level(preds: Sequence[int]) -> dict[int, int]:
    """Start with the empty set. A level maps each down-set to the nodes that may be added to it."""
    return {0: sum(1 << v for v, mask in enumerate(preds) if not mask)}


def next_level(
    level: Mapping[int, int],
    preds: Sequence[int],
    following: Sequence[Sequence[int]],
    *,
    limit: int | None = None,
) -> tuple[dict[int, int], Covers]:
    """Grow every down-set of a level by each node that may be added.

    Returns:
        The next level (empty after the whole set), in the order in which its sets are met first, and its covers; not
        all of them if they are more than `limit`, but more than `limit` sets then.
    """
    grown: dict[int, int] = {}
    index: dict[int, int] = {}
    covers = Covers([], [], [])
    for lower, (mask, free) in enumerate(level.items()):
        if limit is not None and len(grown) > limit:
            break
        for v in bits(free):
            larger = mask | 1 << v
            if larger not in index:
                index[larger] = len(index)
                enabled = sum(1 << s for s in following[v] if not preds[s] & ~larger)
                grown[larger] = free & ~(1 << v) | enabled
            covers.lower.append(lower)
            covers.element.append(v)
            covers.upper.append(index[larger])
    return grown, covers
