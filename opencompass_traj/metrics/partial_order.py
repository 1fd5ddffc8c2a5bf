"""The similarity of a predicted sequence to the closest legal order of a golden graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opencompass_traj.metrics._order_dp import DEFAULT_BUDGET, FORBIDDEN, Costs, align_orders
from opencompass_traj.metrics._order_search import search_orders
from opencompass_traj.metrics.poset import (
    chain_partition,
    extend_order,
    is_chain,
    order_twins,
    restrict,
    topological_order,
    transitive_closure,
    weak_order,
)
from opencompass_traj.metrics.sequence import (
    EditOp,
    Mode,
    StepCounts,
    check_mode,
    encode,
    sequence_distance,
    sequence_edit,
    similarity_of,
)
from opencompass_traj.plan import StepGraph

__all__ = ['DEFAULT_BUDGET', 'PartialOrderEdit', 'partial_order_similarity']

# Of the best-first search; about half a second, after which going through all down-sets is tried. A state holds masks
# of all steps: of long plans there may be fewer, so that all together stay below some ten megabytes.
MOST_STATES = 50_000
_MOST_BITS = 1 << 23


@dataclass(frozen=True, slots=True)
class PartialOrderEdit(StepCounts):
    """A predicted sequence compared with a golden partial order.

    Attributes:
        distance: Edits to the closest legal order found; the least possible number if `exact`.
        n_pred: Number of predicted steps.
        n_ref: Number of golden steps.
        similarity: The similarity that belongs to `distance`, in [0, 1]; always equal to `lower`.
        lower: The true similarity is at least this.
        upper: The true similarity is at most this.
        exact: Whether both bounds meet.
        order: The closest legal order found, as golden indices.
        pred_order: The predicted steps in the order that was compared: as they came, but for ties in rank.
        alignment: The edit script between the two orders; indices are those of the given steps.
    """

    distance: int
    n_pred: int
    n_ref: int
    similarity: float
    lower: float
    upper: float
    exact: bool
    order: tuple[int, ...]
    pred_order: tuple[int, ...]
    alignment: tuple[EditOp, ...]


@dataclass(frozen=True, slots=True)
class _Problem:
    """Both sides with their names as numbers and their orders closed."""

    pred: list[int]
    ref: list[int]
    pred_preds: tuple[int, ...]
    ref_preds: tuple[int, ...]
    mode: Mode

    def distance(self, orders: _Orders) -> int:
        pred_order, order = orders
        return sequence_distance([self.pred[i] for i in pred_order], [self.ref[v] for v in order], mode=self.mode)

    def distance_with(self, kept: int) -> int:
        """The distance when `kept` steps can be kept and no alignment needs any further edit."""
        n_pred, n_ref = len(self.pred), len(self.ref)
        return max(n_pred, n_ref) - kept if self.mode == 'levenshtein' else n_pred + n_ref - 2 * kept


_Orders = tuple[tuple[int, ...], tuple[int, ...]]


def partial_order_similarity(
    pred_names: Sequence[str],
    ref: StepGraph,
    *,
    mode: Mode = 'levenshtein',
    rank: Sequence[int] | None = None,
    budget: int = DEFAULT_BUDGET,
) -> PartialOrderEdit:
    """Compare predicted tool names with the closest topological order of the golden graph.

    What is minimised: the edit distance between a legal order of the prediction and a legal order of the golden graph,
    over all of both. Without `rank` the prediction has one legal order, its own.

    Args:
        pred_names: The predicted tools, in order.
        ref: The golden steps and what each depends on (nodes from 0). Without edges every order is legal.
        mode: 'levenshtein' or 'indel', as in `sequence_edit`.
        rank: One number per predicted step: a smaller one comes first, steps of equal rank (parallel calls of one turn)
            may be taken in any order. Exact too, within the budget; c equal steps of one turn count c + 1 states, so a
            turn of different steps doubles the work with each of them.
        budget: Largest number of cells of the dynamic programme: the golden graph's down-sets times the prediction's
            (`n_pred + 1` without ties), after steps that cannot be told apart have been put in order. At least 1. It is
            not needed where a best-first search of at most as many states, and at most `MOST_STATES`, comes to an end:
            where the prediction is close to a legal order, whatever the number of down-sets.

    Returns:
        Exact within the budget, and beyond it wherever the bounds meet. Else `lower` is the similarity to a legal order
        that was found by keeping only the most promising down-sets of each size (with at most four times the budget's
        cells), and `upper` follows from how far the search came and from the golden graph's chains. The exact
        value does not depend on how golden nodes are numbered; bounds that do not meet may. Both sides empty: 1; one
        empty: 0.

    Raises:
        ValueError: If `mode` is unknown, `rank` has another length than `pred_names`, `budget` is below 1, or the
            golden edges are no partial order over the golden steps.

    Complexity:
        A chain: rapidfuzz. Else at most `MOST_STATES` states of some hundred bytes, and where these do not suffice
        `budget` cells of 8 bytes, O(budget · width of the golden graph) time.

    Source:
        WorFBench (arXiv 2410.07869) compares against the first 20 topological orders; here all of them count.

    Example:
        >>> golden = StepGraph(('fly', 'hotel', 'mail'), frozenset({(0, 2), (1, 2)}))
        >>> partial_order_similarity(['hotel', 'fly', 'mail'], golden).similarity
        1.0
    """
    check_mode(mode)
    if budget < 1:
        raise ValueError(f'expected `budget` of at least 1, got {budget}')
    if rank is not None and len(rank) != len(pred_names):
        raise ValueError(f'expected one rank for each of {len(pred_names)} predicted steps, got {len(rank)}')
    pred_codes, ref_codes = encode(pred_names, ref.names)
    pred_preds = weak_order(range(len(pred_codes)) if rank is None else rank)
    problem = _Problem(pred_codes, ref_codes, pred_preds, transitive_closure(len(ref_codes), ref.edges), mode)
    orders, least = _closest(problem, budget)
    return _result(problem, orders, least)


def _closest(problem: _Problem, budget: int) -> tuple[_Orders, int]:
    """The best orders found, and a distance that no orders can go below."""
    if is_chain(problem.ref_preds) and is_chain(problem.pred_preds):
        orders = topological_order(problem.pred_preds), topological_order(problem.ref_preds)
        return orders, problem.distance(orders)
    orders = _follow(problem)
    least = problem.distance_with(_shared(problem.pred, problem.ref))
    if problem.distance(orders) == least:
        return orders, least
    aligned, at_least = _align(problem, orders, budget)
    orders = min(orders, aligned, key=problem.distance)
    if problem.distance(orders) == at_least:
        return orders, at_least
    return orders, max(at_least, problem.distance_with(_kept_by_chains(problem)))


def _shared(pred: Sequence[int], ref: Sequence[int]) -> int:
    """How many steps of each name both sides have."""
    spare: dict[int, int] = {}
    for code in ref:
        spare[code] = spare.get(code, 0) + 1
    shared = 0
    for code in pred:
        left = spare.get(code, 0)
        shared += left > 0
        spare[code] = left - 1
    return shared


def _follow(problem: _Problem) -> _Orders:
    """Take golden steps as the prediction calls for them, where that is legal; fill its other places with the rest."""
    pred_order = topological_order(problem.pred_preds)
    waiting: dict[int, list[int]] = {}
    for v in topological_order(problem.ref_preds):
        waiting.setdefault(problem.ref[v], []).append(v)
    kept: list[int | None] = []
    done = 0
    for i in pred_order:
        candidates = waiting.get(problem.pred[i], [])
        ready = next((v for v in candidates if not problem.ref_preds[v] & ~done), None)
        if ready is not None:
            candidates.remove(ready)
            done |= 1 << ready
        kept.append(ready)
    return pred_order, extend_order(_fill_gaps(kept, problem.ref_preds), problem.ref_preds)


def _fill_gaps(kept: Sequence[int | None], preds: Sequence[int]) -> list[int]:
    """Put a step that is not kept, if one is legal there, into each place where nothing is kept: a replacement."""
    placed = set(kept)
    spare = [v for v in topological_order(preds) if v not in placed]
    order: list[int] = []
    done = 0
    for v in kept:
        step = v if v is not None else next((s for s in spare if not preds[s] & ~done), None)
        if step is None:
            continue
        if v is None:
            spare.remove(step)
        order.append(step)
        done |= 1 << step
    return order


def _align(problem: _Problem, known: _Orders, budget: int) -> tuple[_Orders, int]:
    """The best orders found, which may be no better than those known, and a distance that none can go below."""
    pred, ref = _relevant(problem)
    # Steps whose tool the other side lacks are all alike: none can be kept.
    pred_labels = [problem.pred[i] if problem.pred[i] in problem.ref else -1 for i in pred]
    ref_labels = [problem.ref[v] if problem.ref[v] in problem.pred else -2 for v in ref]
    pred_preds = order_twins(restrict(problem.pred_preds, pred), pred_labels)
    ref_preds = order_twins(restrict(problem.ref_preds, ref), ref_labels)
    substitutes = problem.mode == 'levenshtein'
    left_out = len(problem.pred) - len(pred) + len(problem.ref) - len(ref)
    found = search_orders(
        (pred_labels, pred_preds),
        (ref_labels, ref_preds),
        substitutes=substitutes,
        below=problem.distance(known) - left_out,
        limit=min(budget, MOST_STATES, _MOST_BITS // (len(pred) + len(ref) + 1)),
    )
    links, at_least = found.links, found.at_least + left_out
    if links is None and found.done:
        return known, at_least
    if links is None:
        differs = np.not_equal.outer(np.array(pred_labels), np.array(ref_labels)).astype(np.int64)
        costs = Costs(differs if substitutes else differs * FORBIDDEN, 1, 1)
        links, exact = align_orders(pred_preds, ref_preds, costs, budget=budget)
    pred_part = [pred[i] for i, _ in links if i is not None]
    ref_part = [ref[v] for _, v in links if v is not None]
    orders = extend_order(pred_part, problem.pred_preds), extend_order(ref_part, problem.ref_preds)
    return orders, at_least if found.done or not exact else problem.distance(orders)


def _relevant(problem: _Problem) -> tuple[list[int], list[int]]:
    """The steps that can make a difference: for 'indel' those whose tool both sides have, else all."""
    if problem.mode == 'levenshtein':
        return list(range(len(problem.pred))), list(range(len(problem.ref)))
    both = set(problem.pred) & set(problem.ref)
    return [i for i, c in enumerate(problem.pred) if c in both], [v for v, c in enumerate(problem.ref) if c in both]


def _kept_by_chains(problem: _Problem) -> int:
    """No more steps can be kept than the common subsequences with each of a few chains add up to."""
    if not is_chain(problem.pred_preds):
        return min(len(problem.pred), len(problem.ref))
    total = 0
    for chain in chain_partition(problem.ref_preds):
        names = [problem.ref[v] for v in chain]
        longest = len(problem.pred) + len(names) - sequence_distance(problem.pred, names, mode='indel')
        total += longest // 2
    return min(total, len(problem.pred), len(problem.ref))


def _result(problem: _Problem, orders: _Orders, least: int) -> PartialOrderEdit:
    pred_order, order = orders
    n_pred, n_ref, mode = len(pred_order), len(order), problem.mode
    edit = sequence_edit([problem.pred[i] for i in pred_order], [problem.ref[v] for v in order], mode=mode)
    alignment = tuple(
        EditOp(op, None if i is None else pred_order[i], None if v is None else order[v]) for op, i, v in edit.alignment
    )
    distance = int(edit.distance)
    lower, upper = (similarity_of(d, n_pred, n_ref, mode=mode) for d in (distance, least))
    exact = distance == least
    return PartialOrderEdit(distance, n_pred, n_ref, lower, lower, upper, exact, order, pred_order, alignment)
