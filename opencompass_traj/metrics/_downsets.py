"""Down-sets of a partial order, grown level by level on bit masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


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


def _list_bits(mask: int) -> tuple[int, ...]:
    if mask.bit_count() * 8 > mask.bit_length():
        # Of a long and well filled mask every single step below would cost its whole length.
        return tuple(i for i, digit in enumerate(bin(mask)[:1:-1]) if digit == '1')
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


# Most plans have few steps, and a look-up is several times faster than the loop.
_FEW_BITS: Final = tuple(map(_list_bits, range(1 << 10)))


def bits(mask: int) -> tuple[int, ...]:
    """List the members of a mask, ascending.

    Example:
        >>> bits(5)
        (0, 2)
    """
    return _FEW_BITS[mask] if mask < 1 << 10 else _list_bits(mask)


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
    add_lower, add_element, add_upper = (part.append for part in covers)
    for lower, (mask, free) in enumerate(level.items()):
        if limit is not None and len(grown) > limit:
            break
        for v in bits(free):
            larger = mask | 1 << v
            upper = index.get(larger)
            if upper is None:
                upper = index[larger] = len(index)
                grown[larger] = _enabled(free & ~(1 << v), larger, preds, following[v])
            add_lower(lower)
            add_element(v)
            add_upper(upper)
    return grown, covers


def _enabled(free: int, done: int, preds: Sequence[int], following: Sequence[int]) -> int:
    for s in following:
        if not preds[s] & ~done:
            free |= 1 << s
    return free
