"""The arguments of the steps that were matched, pair by pair of key and value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from opencompass_traj.metrics._argument_comparison import small_enough
from opencompass_traj.metrics._argument_values import MAX_DEPTH, largest_matching
from opencompass_traj.metrics._identical_arguments import count_identical
from opencompass_traj.metrics.argument_rules import ENTRY, ArgumentRules, Path, path_name
from opencompass_traj.metrics.prf import PrecisionRecallF1, precision_recall_f1

# Keys named for one pair of steps and each kind of difference, and characters of each name.
MAX_NAMED = 20
MAX_NAME_CHARS = 200

# The values at each place.
_Values: TypeAlias = dict[Path, list[Any]]


@dataclass(frozen=True, slots=True)
class StepArguments:
    """The arguments of one predicted step against those of the golden step that it stands for.

    Attributes:
        pred: The predicted step's index, from 0.
        ref: The golden step's index, from 0.
        matched: Keys with equal values.
        n_pred: Keys of the predicted step, nested ones included.
        n_ref: Keys of the golden step, nested ones included.
        extra: Predicted keys that the golden step does not have; at most 20 are named, here and below.
        missing: Golden keys that the predicted step does not have.
        different: Keys of both with different values.
    """

    pred: int
    ref: int
    matched: int
    n_pred: int
    n_ref: int
    extra: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    different: tuple[str, ...] = ()

    @property
    def f1(self) -> float:
        """F1 of the keys with equal values; without arguments on both sides 1."""
        return precision_recall_f1(self.matched, self.n_pred, self.n_ref).f1

    @property
    def exact(self) -> bool:
        """Whether all values are equal and no key is extra or missing."""
        return self.matched == self.n_pred == self.n_ref


@dataclass(frozen=True, slots=True)
class ArgumentMatch:
    """The arguments of all matched steps.

    Attributes:
        steps: One entry for each matched pair of steps, in the order given.
        counts: Keys with equal values against the keys of both sides, over the matched steps.
        empty: Whether neither plan has a step.
    """

    steps: tuple[StepArguments, ...]
    counts: PrecisionRecallF1
    empty: bool

    @property
    def precision(self) -> float:
        """Share of the predicted keys that are right. No step matched: 1 if neither plan has any, else 0."""
        return self.counts.precision if self.steps else float(self.empty)

    @property
    def recall(self) -> float:
        """Share of the golden keys that were got right. No step matched: 1 if neither plan has any, else 0."""
        return self.counts.recall if self.steps else float(self.empty)

    @property
    def f1(self) -> float:
        """Their F1. No step matched: 1 if neither plan has any, else 0. Matched steps without arguments: 1."""
        return self.counts.f1 if self.steps else float(self.empty)

    @property
    def exact(self) -> int:
        """The number of matched steps whose arguments are all equal."""
        return sum(step.exact for step in self.steps)

    @property
    def exact_rate(self) -> float:
        """`exact` as a share of the matched steps. No step matched: 1 if neither plan has any, else 0."""
        return self.exact / len(self.steps) if self.steps else float(self.empty)


def argument_match(
    pred_args: Sequence[object],
    ref_args: Sequence[object],
    *,
    pairs: Sequence[tuple[int, int]],
    tools: Sequence[str],
    rules: ArgumentRules,
) -> ArgumentMatch:
    """Compare the arguments of matched steps, key by key.

    Nested objects and lists count by what is in them: `{'to': {'city': 'Lyon'}}` has the one key `to.city`. An empty
    object or list is a value. A list without order counts one value for each entry, matched one to one.

    Args:
        pred_args: The arguments of every predicted step. None, a blank text and an empty list are no arguments; a text
            that is no JSON is compared whole, under the key ''.
        ref_args: The arguments of every golden step.
        pairs: Matched steps `(pred, ref)`, indices from 0, each at most once.
        tools: The golden steps' tools, for the rules of single tools.
        rules: What counts as equal.

    Returns:
        Counts over the matched steps alone: steps without a partner do not enter. Matched steps without arguments on
        both sides are exact, and F1 is 1 where no matched step has any. No pairs: all numbers are 1 if both plans are
        empty, else 0.

    Raises:
        ValueError: If there are not as many tools as golden steps, or a pair names no step.

    Complexity:
        O(size of the arguments), but for lists without order: O(values in one · values in the other), up to 100,000 of
        these; larger lists are compared in order.

    Example:
        >>> from opencompass_traj.metrics.argument_rules import argument_rules
        >>> match = argument_match(
        ...     [{'city': 'Lyon', 'day': 2}],
        ...     [{'city': 'Lyon', 'seat': '1A'}],
        ...     pairs=[(0, 0)],
        ...     tools=['book'],
        ...     rules=argument_rules(),
        ... )
        >>> match.f1, match.steps[0].extra, match.steps[0].missing
        (0.5, ('day',), ('seat',))
    """
    if len(tools) != len(ref_args):
        raise ValueError(f'expected one tool for each of {len(ref_args)} golden steps, got {len(tools)}')
    table = ArgumentTable(pred_args, ref_args, tools=tools, rules=rules)
    for pred, ref in pairs:
        if not (0 <= pred < len(pred_args) and 0 <= ref < len(ref_args)):
            raise ValueError(f'expected pairs of step indices, got ({pred}, {ref})')
    return table.match(pairs)


class ArgumentTable:
    """The arguments of two plans, compared pair by pair; what was found out is kept.

    Args:
        pred_args: As for `argument_match`, and so the others.
        ref_args: One for each golden step.
        tools: One for each golden step.
        rules: What counts as equal.
    """

    def __init__(
        self, pred_args: Sequence[object], ref_args: Sequence[object], *, tools: Sequence[str], rules: ArgumentRules
    ) -> None:
        self.pred_args = pred_args
        self.ref_args = ref_args
        self.tools = tools
        self.rules = rules
        # Identical arguments are all equal, unless a place has a rule of its own or lists are sets.
        self._identical_is_equal = not rules.has_places and not rules.unordered_lists
        self._pairs: dict[tuple[int, int], StepArguments] = {}
        self._by_path: dict[tuple[str, int, str], _Values] = {}

    def match(self, pairs: Sequence[tuple[int, int]]) -> ArgumentMatch:
        """Compare matched steps; see `argument_match`."""
        steps = tuple(self.compare(pred, ref) for pred, ref in pairs)
        counts = precision_recall_f1(
            sum(step.matched for step in steps),
            n_pred=sum(step.n_pred for step in steps),
            n_ref=sum(step.n_ref for step in steps),
        )
        return ArgumentMatch(steps, counts, empty=not self.pred_args and not self.ref_args)

    def compare(self, pred: int, ref: int) -> StepArguments:
        """Compare the arguments of a predicted and a golden step, by their indices from 0."""
        found = self._pairs.get((pred, ref))
        if found is None:
            found = self._pairs[pred, ref] = self._compare(pred, ref)
        return found

    def _compare(self, pred: int, ref: int) -> StepArguments:
        if self._identical_is_equal:
            same = count_identical(self.pred_args[pred], self.ref_args[ref])
            if same is not None:
                return StepArguments(pred, ref, same, same, same)
        tool = self.tools[ref]
        ours, golden = self._values('pred', pred, tool), self._values('ref', ref, tool)
        return _compare(ours, golden, (pred, ref), tool, self.rules)

    def _values(self, side: str, index: int, tool: str) -> _Values:
        # Without rules for places the tool makes no difference.
        key = side, index, tool if self.rules.has_places else ''
        if key not in self._by_path:
            args = (self.pred_args if side == 'pred' else self.ref_args)[index]
            self._by_path[key] = _by_path(self.rules.prepare(args, tool=tool), tool, self.rules)
        return self._by_path[key]


def _compare(pred: _Values, ref: _Values, pair: tuple[int, int], tool: str, rules: ArgumentRules) -> StepArguments:
    matched = 0
    names: dict[str, list[str]] = {'extra': [], 'missing': [], 'different': []}
    for path in [*ref, *(path for path in pred if path not in ref)]:
        ours, golden = pred.get(path, []), ref.get(path, [])
        if len(ours) == len(golden) == 1:
            equal = int(rules.equal_prepared(ours[0], golden[0], tool=tool, path=path))
        else:
            equal = _matched(ours, golden, path, tool, rules)
        matched += equal
        if equal == len(ours) == len(golden):
            continue
        shared = min(len(ours), len(golden))
        counts = {'extra': len(ours) - shared, 'missing': len(golden) - shared, 'different': shared - equal}
        for kind, count in counts.items():
            names[kind].extend([path_name(path)[:MAX_NAME_CHARS]] * min(count, MAX_NAMED - len(names[kind])))
    sizes = [sum(len(values) for values in side.values()) for side in (pred, ref)]
    extra, missing, different = (tuple(names[kind]) for kind in ('extra', 'missing', 'different'))
    return StepArguments(*pair, matched, sizes[0], sizes[1], extra, missing, different)


def _matched(pred: list[Any], ref: list[Any], path: Path, tool: str, rules: ArgumentRules) -> int:
    def same(one: Any, other: Any) -> bool:
        return rules.equal_prepared(one, other, tool=tool, path=path)

    if len(pred) * len(ref) <= 1 or not small_enough(pred, ref):
        return sum(same(one, other) for one, other in zip(pred, ref, strict=False))
    return len(largest_matching([[same(one, other) for other in ref] for one in pred]))


def _by_path(args: Any, tool: str, rules: ArgumentRules) -> _Values:
    found: _Values = {}
    if args not in ({}, []):
        for path, value in _leaves(args, (), tool, rules):
            found.setdefault(path, []).append(value)
    return found


def _leaves(value: Any, path: Path, tool: str, rules: ArgumentRules) -> Iterator[tuple[Path, Any]]:
    """Single values with their places; entries of lists without order, and what has a rule of its own, are single."""
    nested = isinstance(value, (dict, list)) and len(value) > 0 and len(path) <= MAX_DEPTH
    entry_of_a_set = bool(path) and path[-1] == ENTRY
    if not nested or entry_of_a_set or (path and rules.rule_for(tool, path) is not None):
        yield path, value
        return
    items = value.items() if isinstance(value, dict) else ((rules.entry(i), one) for i, one in enumerate(value))
    for step, one in items:
        yield from _leaves(one, (*path, step), tool, rules)
