"""Fewest chains and largest antichain of a partial order, by one bipartite matching."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from opencompass_traj.metrics._downsets import bits, transpose


def chain_partition(preds: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Split the nodes into as few chains as possible.

    Returns:
        Chains that hold every node once, each in legal order. By Dilworth's theorem there are as many as the largest
        antichain has nodes.

    Complexity:
        One maximum bipartite matching (Hopcroft-Karp) on the pairs of the closure: O(pairs · √n).

    Source:
        Fulkerson, Note on Dilworth's decomposition theorem for partially ordered sets, 1956.

    Example:
        >>> chain_partition((0, 1, 1))
        ((0, 1), (2,))
    """
    after = _matched_successor(preds)
    chains = []
    for head in sorted(set(range(len(preds))) - set(after)):
        links = [head]
        while after[links[-1]] >= 0:
            links.append(after[links[-1]])
        chains.append(tuple(links))
    return tuple(chains)


def maximum_antichain(preds: Sequence[int]) -> tuple[int, ...]:
    """Find as many nodes as possible of which none must precede another.

    Returns:
        Their indices, ascending. Empty for no nodes.

    Complexity:
        That of `chain_partition`.

    Source:
        König's theorem on the bipartite graph of the closure: a node whose two copies are both outside the smallest
        vertex cover belongs to the antichain.

    Example:
        >>> maximum_antichain((0, 1, 1, 7))
        (1, 2)
    """
    after = _matched_successor(preds)
    before = {v: u for u, v in enumerate(after) if v >= 0}
    following = transpose(preds)
    left = [u for u, v in enumerate(after) if v < 0]
    reached_left, reached_right = set(left), 0
    for u in left:
        fresh = following[u] & ~reached_right
        reached_right |= fresh
        for v in bits(fresh):
            if before[v] not in reached_left:
                reached_left.add(before[v])
                left.append(before[v])
    return tuple(v for v in range(len(preds)) if v in reached_left and not reached_right >> v & 1)


def _matched_successor(preds: Sequence[int]) -> list[int]:
    n = len(preds)
    if not any(preds):
        return [-1] * n
    following = transpose(preds)
    columns = [list(bits(mask)) for mask in following]
    bounds = np.cumsum([0, *(len(row) for row in columns)])
    flat = np.fromiter(chain.from_iterable(columns), dtype=np.int32, count=int(bounds[-1]))
    graph = csr_array((np.ones(len(flat), dtype=np.int8), flat, bounds.astype(np.int32)), shape=(n, n))
    return [int(v) for v in maximum_bipartite_matching(graph, perm_type='column')]
