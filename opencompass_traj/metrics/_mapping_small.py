"""The best mapping of few nodes, in plain Python: depth first, without matrices to set up.

Golden nodes are decided one after another; a branch ends when it has lost as many golden edges as the best complete
mapping. A prediction that is close to the golden plan loses few, so that little is left to try.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencompass_traj.metrics._downsets import bits
from opencompass_traj.metrics._mapping_inputs import Edges, mask_of
from opencompass_traj.metrics._mapping_problem import Block, Pairs

MOST_NODES = 32
_MOST_STEPS = 300
_UNMATCHED = -1


def map_small(blocks: Sequence[Block], pred_edges: Edges, ref_edges: Edges, settled: Pairs) -> tuple[Pairs, int] | None:
    """The best maximal mapping of the blocks, where all pairs inside a block are worth 1.

    Args:
        blocks: Groups (predicted nodes, golden nodes).
        pred_edges: The predicted edges.
        ref_edges: The golden ones.
        settled: The pairs outside the blocks.

    Returns:
        The mapping, and its matched nodes plus matched edges; edges to settled nodes count, edges between them do not.
        None where the nodes are many, or not done after a fixed number of steps.
    """
    if sum(len(ref) for _, ref in blocks) > MOST_NODES:
        return None
    search = _DepthFirst(blocks, pred_edges, ref_edges, settled)
    search.descend(0, 0)
    if search.steps > _MOST_STEPS:
        return None
    return search.pairs, len(search.pairs) + search.n_edges - search.fewest_lost


class _DepthFirst:
    def __init__(
        self,
        blocks: Sequence[Block],
        pred_edges: Edges,
        ref_edges: Edges,
        settled: Pairs,
    ) -> None:
        self.rows = pred_edges.rows
        self.partner = {golden: node for node, golden in settled}
        self.block_of = {node: number for number, (_, ref) in enumerate(blocks) for node in ref}
        self.free = [list(pred) for pred, _ in blocks]
        self.spare = [max(0, len(ref) - len(pred)) for pred, ref in blocks]
        self.order = sorted(self.block_of)
        self.earlier = self._earlier(ref_edges)
        self.n_edges = sum(len(edges) for edges in self.earlier)
        self.pairs: Pairs = []
        self.fewest_lost = self.n_edges + 1
        self.steps = 0

    def descend(self, depth: int, lost: int) -> None:
        """Decide the golden nodes from `depth` on, `lost` golden edges being lost already."""
        self.steps += 1
        if depth == len(self.order):
            self.fewest_lost = lost
            self.pairs = [(self.partner[g], g) for g in self.order if self.partner[g] != _UNMATCHED]
            return
        golden = self.order[depth]
        free = self.free[self.block_of[golden]]
        edges = self.earlier[depth]
        options = sorted((self._loss(node, edges), node) for node in free)
        for loss, node in options:
            if lost + loss >= self.fewest_lost or self.steps > _MOST_STEPS:
                break
            free.remove(node)
            self.partner[golden] = node
            self.descend(depth + 1, lost + loss)
            free.append(node)
        if self.spare[self.block_of[golden]] and lost + len(edges) < self.fewest_lost:
            self._leave_out(golden, depth, lost + len(edges))

    def _leave_out(self, golden: int, depth: int, lost: int) -> None:
        self.spare[self.block_of[golden]] -= 1
        self.partner[golden] = _UNMATCHED
        self.descend(depth + 1, lost)
        self.spare[self.block_of[golden]] += 1

    def _loss(self, node: int, edges: list[tuple[int, bool]]) -> int:
        """How many of the edges to decided nodes are lost if the golden node is mapped to `node`."""
        lost = 0
        for other, outgoing in edges:
            end = self.partner[other]
            if end == _UNMATCHED or not (self.rows[node] >> end if outgoing else self.rows[end] >> node) & 1:
                lost += 1
        return lost

    def _earlier(self, ref_edges: Edges) -> list[list[tuple[int, bool]]]:
        """For each golden node in turn, its edges to nodes decided before it, and whether they lead there."""
        known = mask_of(self.partner)
        edges: list[list[tuple[int, bool]]] = []
        for node in self.order:
            outgoing = [(other, True) for other in bits(ref_edges.rows[node] & known)]
            edges.append(outgoing + [(other, False) for other in bits(ref_edges.columns[node] & known)])
            known |= 1 << node
        return edges
