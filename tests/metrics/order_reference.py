"""Slow and obvious references for what is computed over all legal orders, and random cases."""

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence

Edges = frozenset[tuple[int, int]]


def random_edges(rng: random.Random, n: int, density: float) -> Edges:
    """A random acyclic graph whose node numbers say nothing about the order."""
    order = rng.sample(range(n), n)
    return frozenset((order[a], order[b]) for a in range(n) for b in range(a + 1, n) if rng.random() < density)


def legal_orders(preds: Sequence[int]) -> set[tuple[int, ...]]:
    """All permutations in which each node follows its predecessors."""
    n = len(preds)

    def legal(order: tuple[int, ...]) -> bool:
        place = {v: k for k, v in enumerate(order)}
        return all(place[u] < place[v] for v in range(n) for u in range(n) if preds[v] >> u & 1)

    return {order for order in itertools.permutations(range(n)) if legal(order)}


def random_legal_order(rng: random.Random, n: int, edges: Edges) -> list[int]:
    """Take any step that may come next, again and again."""
    order: list[int] = []
    while len(order) < n:
        ready = [v for v in range(n) if v not in order and all(u in order for u, w in edges if w == v)]
        order.append(rng.choice(ready))
    return order


def legal_matchings(
    n_pred: int, n_ref: int, allowed: Callable[[int, int], bool], clash: Callable[[int, int, int, int], bool]
) -> Iterator[list[tuple[int, int]]]:
    """All one-to-one sets of allowed pairs without a clash."""

    def extend(i: int, pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
        if i == n_pred:
            yield pairs
            return
        yield from extend(i + 1, pairs)
        for v in range(n_ref):
            if allowed(i, v) and not any(v == u or clash(k, u, i, v) or clash(i, v, k, u) for k, u in pairs):
                yield from extend(i + 1, [*pairs, (i, v)])

    return extend(0, [])


def read_workflow(text: str) -> tuple[tuple[str, ...], Edges]:
    """WorFBench's `Node:` … `Edges:` text; START and END are left out."""
    nodes = {int(number): name.strip() for number, name in re.findall(r'^(\d+):(.*)$', text, flags=re.MULTILINE)}
    place = {number: k for k, number in enumerate(nodes)}
    edges = re.findall(r'\((\d+),\s*(\d+)\)', text)
    return tuple(nodes.values()), frozenset((place[int(u)], place[int(v)]) for u, v in edges)
