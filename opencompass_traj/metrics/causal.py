"""How much of the order that the golden graph demands the prediction keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from opencompass_traj.metrics._causal_bounds import surely_most
from opencompass_traj.metrics._causal_choices import Tool, most_kept
from opencompass_traj.metrics._mapping import DEFAULT_BUDGET, best_mapping
from opencompass_traj.metrics._mapping_inputs import Edges, common_subsequence, label_blocks, precedence
from opencompass_traj.metrics._mapping_problem import Block
from opencompass_traj.metrics.poset import transitive_closure, transpose
from opencompass_traj.plan import StepGraph

# Steps of a side up to which the order of a tool's steps is looked for, which takes the square of their number.
MOST_ORDERED = 500


@dataclass(frozen=True, slots=True)
class CausalFidelity:
    """The golden precedence pairs that a prediction keeps.

    Attributes:
        kept: Precedence pairs whose two steps both occur, and in that order. Without such pairs in the golden graph:
            the golden steps that occur.
        pairs: Precedence pairs of the golden graph, direct or through other steps; without any: its steps.
        lower: The best mapping's fidelity is at least this.
        upper: The best mapping's fidelity is at most this.
        exact: Whether `kept` is proved to be the most that a mapping keeps.
    """

    kept: int
    pairs: int
    lower: float
    upper: float
    exact: bool

    @property
    def fidelity(self) -> float:
        """`kept / pairs`, in [0, 1]; an empty golden graph: 1."""
        return _share(self.kept, self.pairs)


def causal_fidelity(
    pred_names: Sequence[str],
    ref: StepGraph,
    *,
    rank: Sequence[int] | None = None,
    budget: float = DEFAULT_BUDGET,
) -> CausalFidelity:
    """Count the golden precedence pairs that the predicted order keeps, under the mapping that keeps the most.

    Args:
        pred_names: The tools of the predicted steps.
        ref: The golden graph, without cycles. Its precedence pairs are the transitive closure of its edges.
        rank: For each predicted step, when it was made; steps made together share a rank. None: one after another.
        budget: Search nodes after which the best mapping found is counted, with bounds.

    Returns:
        Kept pairs and all pairs. A golden graph that demands no order: the golden steps that occur. Empty: 1.

    Raises:
        ValueError: If `ref` has a cycle or an edge that names no node, `rank` has another length than `pred_names`, or
            the budget is negative.

    Complexity:
        Polynomial where no two repeated tools have a precedence pair between them; else exponential in the repeated
        steps, within the budget.

    Example:
        >>> golden = StepGraph(('A', 'B', 'C'), frozenset({(0, 1), (1, 2)}))
        >>> causal_fidelity(('B', 'A', 'C'), golden).fidelity == 2 / 3
        True
    """
    if not budget >= 0:
        raise ValueError(f'expected budget >= 0, got {budget}')
    before = precedence(len(pred_names), rank)
    preds = transitive_closure(len(ref.names), ref.edges)
    pairs = sum(mask.bit_count() for mask in preds)
    blocks = label_blocks(pred_names, ref.names)
    steps = sum(min(len(pred), len(golden)) for pred, golden in blocks)
    if not pairs:
        share = _share(steps, len(ref.names))
        return CausalFidelity(steps, len(ref.names), share, share, exact=True)
    after = transpose(preds)
    hint = partial(common_subsequence, pred_names, ref.names)
    ordered = max(len(pred_names), len(ref.names)) <= MOST_ORDERED
    tools: list[Tool] = []
    if ordered:
        known = surely_most(blocks, before.rows, (after, preds), rank=rank, hint=hint)
        if known is None:
            tools = [Tool.of(block, preds, after, rank) for block in blocks]
            known = most_kept(tools, before.rows, after)
        if known is not None:
            share = _share(known, pairs)
            return CausalFidelity(known, pairs, share, share, exact=True)
    found = best_mapping(_settled(tools) if ordered else blocks, before, Edges(after), hint=hint, budget=budget)
    kept, most = round(found.value) - steps, round(found.upper) - steps
    return CausalFidelity(kept, pairs, _share(kept, pairs), _share(min(most, pairs), pairs), exact=found.exact)


def _settled(tools: Sequence[Tool]) -> list[Block]:
    """The blocks, those that leave nothing open pair by pair."""
    blocks: list[Block] = []
    for tool in tools:
        if tool.settled:
            blocks += [([i], [v]) for i, v in zip(tool.pred, tool.golden, strict=True)]
        else:
            blocks.append((sorted(tool.pred), sorted(tool.golden)))
    return blocks


def _share(part: float, whole: int) -> float:
    return float(part / whole) if whole else 1.0
