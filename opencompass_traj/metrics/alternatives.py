"""More than one right way: the best of several golden plans, optional steps, and forbidden tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from opencompass_traj.metrics.sequence import sequence_edit
from opencompass_traj.plan import Plan, Step, StepId

_WHOLE_NUMBER: Final = re.compile(r'0|-?[1-9][0-9]{0,17}')


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A golden plan without the optional steps that the prediction does not take.

    Attributes:
        plan: The steps that are left, in order; a step that depended on a removed one depends on what that one did.
        kept: Their indices in the whole golden plan, ascending.
        removed: The indices of the others, ascending.
    """

    plan: Plan
    kept: tuple[int, ...]
    removed: tuple[int, ...]


def best_of(values: Sequence[float]) -> int:
    """Say which of several values is the best.

    Args:
        values: At least one; more is better.

    Returns:
        The index of the largest, from 0; of equal ones the first.

    Raises:
        ValueError: If there are none, or one is not a number.

    Example:
        >>> best_of([0.5, 0.75, 0.75])
        1
    """
    if not values:
        raise ValueError('expected at least one value, got none')
    if any(value != value for value in values):  # noqa: PLR0124 - NaN alone differs from itself
        raise ValueError(f'expected numbers, got {list(values)}')
    return max(range(len(values)), key=lambda i: values[i])


def without_optional(pred: Plan, ref: Plan, *, optional: Collection[int]) -> Trimmed:
    """Drop the optional golden steps that the prediction does not take, so that leaving them out costs nothing.

    For each tool, the predicted calls first serve the golden steps that are not optional; as many optional ones stay as
    calls are left over. Among all choices of optional steps this one gives the largest F1 over the multisets of tools.
    Where only some of a tool's optional steps can stay, those are preferred whose arguments a call has, then those
    that a longest common subsequence of all names keeps in order, then the earlier ones.

    Args:
        pred: The predicted plan.
        ref: The golden plan with all its steps.
        optional: The indices of its optional steps, from 0.

    Returns:
        The golden plan to compare with, and what became of its steps. The golden plan itself if nothing is removed.

    Raises:
        ValueError: If `optional` has an index that the golden plan does not have.

    Complexity:
        O(n_pred + n_ref), and where there is a choice O(n_pred · n_ref).

    Example:
        >>> without_optional(Plan.of('A', 'C'), Plan.of('A', 'B', 'C'), optional={1}).plan.names
        ('A', 'C')
    """
    chosen = sorted(set(optional))
    if chosen and not (chosen[0] >= 0 and chosen[-1] < len(ref)):
        raise ValueError(f'expected `optional` to hold indices from 0 to {len(ref) - 1}, got {chosen}')
    removed = _not_taken(pred, ref, chosen)
    if not removed:
        return Trimmed(ref, tuple(range(len(ref))), ())
    kept = tuple(i for i in range(len(ref)) if i not in removed)
    inherited = {_key(ref.steps[i].id): ref.steps[i].prev or () for i in sorted(removed)}
    plan = Plan(tuple(_bridged(ref.steps[i], inherited) for i in kept))
    return Trimmed(plan, kept, tuple(sorted(removed)))


def forbidden_hits(names: Sequence[str], patterns: Iterable[str]) -> list[int]:
    """Find the calls of forbidden tools.

    Args:
        names: The tools that were called, in order.
        patterns: Shell patterns (`*`, `?`, `[…]`) for the whole name; case counts.

    Returns:
        The indices of the calls whose tool matches any pattern, from 0, ascending.

    Raises:
        TypeError: If `patterns` is a single text, which would be taken letter by letter.

    Example:
        >>> forbidden_hits(['search', 'delete_user', 'delete_all'], ['delete_*'])
        [1, 2]
    """
    if isinstance(patterns, str):
        raise TypeError(f'expected `patterns` to be a list of texts, got the text {patterns!r:.80}')
    wanted = list(patterns)
    if not wanted:
        return []
    forbidden = {name for name in set(names) if any(fnmatchcase(name, pattern) for pattern in wanted)}
    return [i for i, name in enumerate(names) if name in forbidden]


def _not_taken(pred: Plan, ref: Plan, optional: Sequence[int]) -> frozenset[int]:
    spare = Counter(pred.names)
    spare.subtract(Counter(ref.names))
    spare.update(ref.names[i] for i in optional)
    by_tool: dict[str, list[int]] = {}
    for i in optional:
        by_tool.setdefault(ref.names[i], []).append(i)
    removed: list[int] = []
    in_order: frozenset[int] | None = None
    for name, steps in by_tool.items():
        stay = max(0, spare[name])
        if 0 < stay < len(steps):
            in_order = _in_order(pred, ref) if in_order is None else in_order
            steps = _by_preference(pred, ref, steps, in_order)  # noqa: PLW2901 - the same steps
        removed.extend(steps[stay:])
    return frozenset(removed)


def _in_order(pred: Plan, ref: Plan) -> frozenset[int]:
    script = sequence_edit(pred.names, ref.names, mode='indel').alignment
    return frozenset(op.ref for op in script if op.op == 'keep' and op.ref is not None)


def _by_preference(pred: Plan, ref: Plan, steps: Sequence[int], in_order: Collection[int]) -> list[int]:
    calls = [step.args for step in pred.steps if step.name == ref.names[steps[0]]]
    return sorted(steps, key=lambda i: (ref.steps[i].args not in calls, i not in in_order, i))


def _bridged(step: Step, inherited: dict[StepId, tuple[StepId, ...]]) -> Step:
    """The step, each removed step among its dependencies replaced by what that one depends on, through chains too."""
    if step.prev is None or not any(_key(before) in inherited for before in step.prev):
        return step
    found: list[StepId] = []
    seen = {_key(step.id)}
    stack = list(reversed(step.prev))
    while stack:
        before = stack.pop()
        if _key(before) in seen:
            continue
        seen.add(_key(before))
        if _key(before) in inherited:
            stack.extend(reversed(inherited[_key(before)]))
        else:
            found.append(before)
    return replace(step, prev=tuple(found))


def _key(identifier: StepId) -> StepId:
    """What ids are compared by: 1 in one place may be '1' in another."""
    return int(identifier) if isinstance(identifier, str) and _WHOLE_NUMBER.fullmatch(identifier) else identifier
