"""The best mapping where there are so few that trying them all is faster than any cleverness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.metrics._mapping_problem import Block, Pairs


def count_choices(blocks: Sequence[Block]) -> int:
    """How many maximal mappings inside the blocks there are."""
    return math.prod(math.perm(max(len(pred), len(ref)), min(len(pred), len(ref))) for pred, ref in blocks)


def try_all(
    blocks: Sequence[Block], pred_adjacency: NDArray[np.bool_], ref_adjacency: NDArray[np.bool_], settled: Pairs
) -> tuple[Pairs, int]:
    """The best maximal mapping of the blocks, where all pairs inside a block are worth 1.

    Args:
        blocks: Groups (predicted nodes, golden nodes).
        pred_adjacency: Whether the predicted edge (row, column) exists.
        ref_adjacency: The same for the golden graph.
        settled: The pairs outside the blocks.

    Returns:
        The mapping, and its matched nodes plus matched edges; edges to settled nodes count, edges between them do not.
    """
    fixed = {golden: node for node, golden in settled}
    inside = {node for _, ref in blocks for node in ref}
    tails, heads = np.nonzero(ref_adjacency)
    known = inside | fixed.keys()
    edges = [
        edge
        for edge in zip(tails.tolist(), heads.tolist(), strict=True)
        if (edge[0] in inside or edge[1] in inside) and edge[0] in known and edge[1] in known
    ]
    exists = pred_adjacency.tolist()
    best: tuple[int, Pairs] = (-1, [])
    for choice in itertools.product(*(list(_choices(block)) for block in blocks)):
        pairs = [pair for part in choice for pair in part]
        at = {**fixed, **{golden: node for node, golden in pairs}}
        matched = sum(1 for tail, head in edges if tail in at and head in at and exists[at[tail]][at[head]])
        if matched > best[0]:
            best = (matched, pairs)
        if matched == len(edges):
            break
    return best[1], best[0] + len(best[1])


def _choices(block: Block) -> Iterator[Pairs]:
    pred, ref = block
    if len(pred) >= len(ref):
        for chosen in itertools.permutations(pred, len(ref)):
            yield list(zip(chosen, ref, strict=True))
    else:
        for chosen in itertools.permutations(ref, len(pred)):
            yield list(zip(pred, chosen, strict=True))
