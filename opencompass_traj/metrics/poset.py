"""Finite partial orders as bit masks: closure, orders, down-sets, chains and antichains. Exact, and free of text.

A partial order over the nodes 0 … n-1 is a sequence of whole numbers, `preds`: bit `u` of `preds[v]` is set when `u`
must come before `v`, directly or through others. `transitive_closure` makes one from edges; every other function here
takes one. A down-set is a set of nodes that holds all predecessors of its members: what may have been done at some
moment of a legal order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, combinations

from opencompass_traj.metrics._chains import chain_partition, maximum_antichain
from opencompass_traj.metrics._downsets import bits, first_level, immediate_successors, next_level, transpose

__all__ = [
    'chain_partition',
    'count_downsets',
    'downset_levels',
    'extend_order',
    'is_chain',
    'is_legal_order',
    'maximum_antichain',
    'order_twins',
    'restrict',
    'topological_order',
    'transitive_closure',
    'transpose',
    'weak_order',
]


def transitive_closure(n: int, edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Find out what must come before what.

    Args:
        n: Number of nodes, at least 0.
        edges: Pairs `(u, v)` of node indices from 0: `u` comes before `v`. Doubled edges are harmless.

    Returns:
        For each node the bit mask of all its predecessors, direct or not.

    Raises:
        ValueError: If an edge names a node outside 0 … n-1, is a self-loop, or closes a cycle; the node is named.

    Complexity:
        O(n + edges) operations on masks of n bits.

    Example:
        >>> [bin(mask) for mask in transitive_closure(3, [(0, 1), (1, 2)])]
        ['0b0', '0b1', '0b11']
    """
    return _close(_direct_predecessors(n, edges))


def topological_order(preds: Sequence[int]) -> tuple[int, ...]:
    """List the nodes in a legal order: by number of predecessors, then by index.

    Example:
        >>> topological_order((2, 0, 0))
        (1, 2, 0)
    """
    return tuple(sorted(range(len(preds)), key=lambda v: (preds[v].bit_count(), v)))


def is_chain(preds: Sequence[int]) -> bool:
    """Tell whether only one order is legal. Nothing and a single node are chains."""
    n = len(preds)
    return sum(mask.bit_count() for mask in preds) == n * (n - 1) // 2


def is_legal_order(order: Sequence[int], preds: Sequence[int]) -> bool:
    """Tell whether `order` lists every node once, each after all its predecessors.

    Example:
        >>> is_legal_order((0, 2, 1), (0, 1, 1)), is_legal_order((1, 0, 2), (0, 1, 1))
        (True, False)
    """
    if sorted(order) != list(range(len(preds))):
        return False
    done = 0
    for v in order:
        if preds[v] & ~done:
            return False
        done |= 1 << v
    return True


def extend_order(part: Iterable[int], preds: Sequence[int]) -> tuple[int, ...]:
    """Complete a legal order of some nodes to one of all nodes, moving none of the given ones.

    Args:
        part: Distinct nodes, none after a successor of its own.
        preds: The partial order.

    Returns:
        All nodes in a legal order; a node outside `part` stands just before the first one that needs it, or at the end.

    Complexity:
        O(n²) bit operations.

    Example:
        >>> extend_order([2], (0, 1, 3))
        (0, 1, 2)
    """
    base = topological_order(preds)
    place = {v: k for k, v in enumerate(base)}
    order: list[int] = []
    done = 0
    for v in chain(part, base):
        if not done >> v & 1:
            before = preds[v] & ~done
            order.extend(sorted(bits(before), key=place.__getitem__))
            order.append(v)
            done |= before | 1 << v
    return tuple(order)


def restrict(preds: Sequence[int], nodes: Sequence[int]) -> tuple[int, ...]:
    """Keep only `nodes`, renumbered by their place in that list, with what the order says of them.

    Example:
        >>> restrict((0, 1, 3), [0, 2])
        (0, 1)
    """
    return tuple(sum(1 << k for k, u in enumerate(nodes) if preds[v] >> u & 1) for v in nodes)


def weak_order(rank: Sequence[int]) -> tuple[int, ...]:
    """Order nodes by rank alone; nodes of equal rank stay unordered.

    Example:
        >>> weak_order([0, 1, 1])
        (0, 1, 1)
    """
    members: dict[int, int] = {}
    for v, level in enumerate(rank):
        members[level] = members.get(level, 0) | 1 << v
    below: dict[int, int] = {}
    total = 0
    for level in sorted(members):
        below[level] = total
        total |= members[level]
    return tuple(below[level] for level in rank)


def downset_levels(preds: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Go through all down-sets by size, from the empty set to the whole, each level as bit masks.

    Complexity:
        O(down-sets · width) operations on masks; there may be 2ⁿ of them, one level is held at a time.

    Example:
        >>> list(downset_levels((0, 1, 1)))
        [(0,), (1,), (3, 5), (7,)]
    """
    following = immediate_successors(preds)
    level = first_level(preds)
    while level:
        yield tuple(level)
        level = next_level(level, preds, following)[0]


def count_downsets(preds: Sequence[int], *, limit: int) -> int:
    """Count the down-sets, the empty one and the whole included, but not far beyond `limit`.

    Returns:
        Their number if it is at most `limit`, else `limit + 1`.

    Example:
        >>> count_downsets((0, 0, 0), limit=100), count_downsets((0, 0, 0), limit=5)
        (8, 6)
    """
    following = immediate_successors(preds)
    level, total = first_level(preds), 1
    for _ in preds:
        if total > limit:
            return limit + 1
        level = next_level(level, preds, following, limit=limit - total)[0]
        total += len(level)
    return min(total, limit + 1)


def order_twins(preds: Sequence[int], labels: Sequence[Hashable]) -> tuple[int, ...]:
    """Order nodes of one label where that loses no sequence of labels, so that fewer down-sets are left.

    If `u` and `v` share a label, all that must precede `u` must precede `v` too and all that must follow `v` must
    follow `u`, then in a legal order with `v` before `u` the two may change places: the same labels in the same order.
    Each such exchange leaves fewer pairs the wrong way round, so that all these pairs can be ordered at once.

    Args:
        preds: The partial order.
        labels: One label per node.

    Returns:
        A partial order that contains `preds` and whose legal orders spell exactly the same label sequences.

    Complexity:
        O(n²) mask operations, on pairs with one label only.

    Example:
        >>> order_twins((0, 0, 0), 'aba')
        (0, 0, 1)
    """
    after = transpose(preds)
    groups: dict[Hashable, list[int]] = {}
    # Whoever may have to go first comes first here, and equals stand by index.
    for v in sorted(range(len(preds)), key=lambda v: (preds[v].bit_count(), -after[v].bit_count(), v)):
        groups.setdefault(labels[v], []).append(v)
    narrowed = list(preds)
    for members in groups.values():
        for u, v in combinations(members, 2):
            if not preds[u] & ~preds[v] and not after[v] & ~after[u]:
                narrowed[v] |= 1 << u
    return _close(narrowed)


def _close(direct: Sequence[int]) -> tuple[int, ...]:
    if all(mask.bit_length() <= v for v, mask in enumerate(direct)):
        return _close_in_order(direct)
    waiting = [mask.bit_count() for mask in direct]
    following = transpose(direct)
    preds = [0] * len(direct)
    ready = [v for v, count in enumerate(waiting) if not count]
    for u in ready:
        for v in bits(following[u]):
            preds[v] |= preds[u] | 1 << u
            waiting[v] -= 1
            if not waiting[v]:
                ready.append(v)
    if len(ready) < len(direct):
        raise ValueError(
            f'expected a graph without cycles, but node {_node_on_cycle(direct, waiting)} depends on itself'
        )
    return tuple(preds)


def _close_in_order(direct: Sequence[int]) -> tuple[int, ...]:
    """The closure where every predecessor has the smaller index, as in nearly every plan."""
    preds: list[int] = []
    for mask in direct:
        closed = mask
        for u in bits(mask):
            closed |= preds[u]
        preds.append(closed)
    return tuple(preds)


def _direct_predecessors(n: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    direct = [0] * n
    for u, v in edges:
        if not (0 <= u < n and 0 <= v < n):
            node = v if 0 <= u < n else u
            raise ValueError(f'expected nodes in 0 … {n - 1}, got node {node} in the edge {(u, v)}')
        if u == v:
            raise ValueError(f'expected a graph without self-loops, but node {u} depends on itself')
        direct[v] |= 1 << u
    return direct


def _node_on_cycle(direct: Sequence[int], waiting: Sequence[int]) -> int:
    # Every node that still waits has a predecessor that waits; going back must come round.
    node = next(v for v, count in enumerate(waiting) if count)
    seen: set[int] = set()
    while node not in seen:
        seen.add(node)
        node = next(u for u in bits(direct[node]) if waiting[u])
    return node
