"""Checked edges of plan graphs, and which nodes may stand for which."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from opencompass_traj.metrics._downsets import transpose
from opencompass_traj.metrics._mapping_problem import Block, Floats, Pairs
from opencompass_traj.plan import StepGraph

Weights: TypeAlias = Sequence[Sequence[float]] | NDArray[np.float64]


class Edges:
    """The edges of a graph as bit masks: few steps are done faster on these than on matrices.

    Attributes:
        rows: For each node, the nodes that its edges lead to.
        columns: For each node, the nodes that its edges come from.
    """

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = rows

    @cached_property
    def columns(self) -> tuple[int, ...]:
        return transpose(self.rows)

    @cached_property
    def matrix(self) -> NDArray[np.bool_]:
        """Whether there is an edge from the row's node to the column's."""
        size = len(self.rows)
        packed = b''.join(row.to_bytes(size // 8 + 1, 'little') for row in self.rows)
        wide = np.frombuffer(packed, dtype=np.uint8).reshape(size, size // 8 + 1)
        return np.unpackbits(wide, axis=1, bitorder='little', count=size).astype(bool)

    def __contains__(self, edge: tuple[int, int]) -> bool:
        return bool(self.rows[edge[0]] >> edge[1] & 1)


def adjacency(graph: StepGraph) -> Edges:
    """The graph's edges.

    Raises:
        ValueError: If an edge names no node or is a self-loop.
    """
    size = len(graph.names)
    rows = [0] * size
    for i, j in graph.edges:
        if i == j or not (0 <= i < size and 0 <= j < size):
            wrong = min((a, b) for a, b in graph.edges if a == b or not (0 <= a < size and 0 <= b < size))
            raise ValueError(f'expected edges between two different nodes in 0..{size - 1}, got {wrong}')
        rows[i] |= 1 << j
    return Edges(rows)


def precedence(size: int, rank: Sequence[int] | None) -> Edges:
    """An edge from each step to all that were made after it.

    Raises:
        ValueError: If `rank` has not `size` entries.
    """
    everything = (1 << size) - 1
    if rank is None:
        return Edges([everything >> i + 1 << i + 1 for i in range(size)])
    if len(rank) != size:
        raise ValueError(f'expected one rank for each of the {size} steps, got {len(rank)}')
    later: dict[int, int] = {}
    left = everything
    for when, steps in groupby(sorted(range(size), key=rank.__getitem__), key=rank.__getitem__):
        left &= ~mask_of(steps)
        later[when] = left
    return Edges([later[when] for when in rank])


def mask_of(nodes: Iterable[int]) -> int:
    """The bit mask of some nodes.

    Example:
        >>> mask_of([0, 2])
        5
    """
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def checked_weights(weights: Weights | None, n_pred: int, n_ref: int) -> Floats | None:
    """The weights as a matrix.

    Raises:
        ValueError: If they have another shape than `(n_pred, n_ref)` or leave [0, 1].
    """
    if weights is None:
        return None
    table = np.asarray(weights, dtype=np.float64)
    if table.size == 0 and n_pred * n_ref == 0:
        return table.reshape(n_pred, n_ref)
    if table.shape != (n_pred, n_ref):
        raise ValueError(f'expected weights of shape {(n_pred, n_ref)}, got {table.shape}')
    if not ((table >= 0) & (table <= 1)).all():
        raise ValueError('expected weights in [0, 1]')
    return table


def label_blocks(pred: Sequence[Hashable], ref: Sequence[Hashable]) -> list[Block]:
    """Nodes of the same label may stand for one another: one block per label that both sides have."""
    golden: dict[Hashable, list[int]] = {}
    for node, label in enumerate(ref):
        golden.setdefault(label, []).append(node)
    predicted: dict[Hashable, list[int]] = {label: [] for label in golden}
    for node, label in enumerate(pred):
        if label in predicted:
            predicted[label].append(node)
    return [(predicted[label], nodes) for label, nodes in golden.items() if predicted[label]]


def weight_blocks(weights: Floats) -> list[Block]:
    """The groups of nodes that pairs with a weight above 0 connect."""
    n_pred, n_ref = weights.shape
    if n_pred * n_ref == 0:
        return []
    rows, cols = np.nonzero(weights)
    links = coo_array((np.ones(len(rows)), (rows, cols + n_pred)), shape=(n_pred + n_ref, n_pred + n_ref))
    _, member = connected_components(links, directed=False)
    return label_blocks(member[:n_pred].tolist(), member[n_pred:].tolist())


def common_subsequence(pred: Sequence[Hashable], ref: Sequence[Hashable]) -> Pairs:
    """The pairs of a longest common subsequence of labels: a good first mapping between plans."""
    number: dict[Hashable, int] = {}
    left, right = ([number.setdefault(label, len(number)) for label in side] for side in (pred, ref))
    equal = [op for op in LCSseq.opcodes(left, right) if op.tag == 'equal']
    return [(op.src_start + k, op.dest_start + k) for op in equal for k in range(op.src_end - op.src_start)]
