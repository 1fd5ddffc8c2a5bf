"""When two arguments are the same, under rules for all keys and for the keys of single tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from opencompass_traj.metrics._argument_values import (
    MAX_DEPTH,
    Tolerance,
    close,
    fold,
    identical,
    largest_matching,
    read_json,
    read_moment,
    read_number,
    read_value,
    size_of,
    text_of,
)
from opencompass_traj.metrics._golden_patterns import pattern_fault, pattern_matches

# A step of a path: a key, the index of a list's entry from 0, or ENTRY where entries have no order.
Path: TypeAlias = tuple[str | int, ...]
ENTRY = -1

# Lists whose sizes multiply to more are compared in order even where order does not count.
MAX_UNORDERED = 100_000


@dataclass(frozen=True, slots=True)
class Rule:
    """How one key of one tool is compared.

    Attributes:
        kind: `exact`, `ignore`, `contains`, `regex`, `semantic`, `numeric` or `call`.
        written: The rule as the config has it.
        tolerance: Of `numeric`.
        threshold: Of `semantic`: the least similarity of equal texts, in [0, 1].
        call: Of `call`: given the predicted and the golden value, says whether they are equal.
    """

    kind: str
    written: Any = field(default=None, compare=False)
    tolerance: Tolerance = field(default_factory=Tolerance)
    threshold: float = 0.7
    call: Callable[[Any, Any], object] | None = None


@dataclass(frozen=True, slots=True)
class ArgumentRules:
    """Which differences between a predicted and a golden argument do not count. `argument_rules` builds and checks it.

    The defaults leave out what an agent's format does to a value without a change of meaning. White space within a text
    may be code, and counts.

    Attributes:
        numbers_as_text: Whether a number equals the text of that JSON number. Two texts are compared as texts, so
            that version "1.10" is not "1.1".
        constants_as_text: Whether true, false and null equal the texts `true`, `false`, `null` and `none` in any case.
        case: `keep` or `ignore`.
        space: `keep`, `strip` (white space at both ends does not count) or `collapse` (nor how much there is within).
        unicode: `keep` or `nfkc` (full-width letters and digits equal the plain ones).
        dates: Whether ISO dates and times are equal that mean the same.
        tolerance: How far equal numbers may be apart, where at least one side is a number and no text.
        unordered_lists: Whether a list is compared as a multiset.
        json_text: Whether the JSON text of an object or list equals that object or list.
        ignore_keys: Patterns of keys that are left out on both sides.
        tools: `(tool pattern, ((key pattern, rule), …))`, the first that fits counts.
        similar: The similarity of two texts in [0, 1], for `semantic`.
    """

    numbers_as_text: bool = True
    constants_as_text: bool = True
    case: str = 'keep'
    space: str = 'strip'
    unicode: str = 'nfkc'
    dates: bool = False
    tolerance: Tolerance = field(default_factory=Tolerance)
    unordered_lists: bool = False
    json_text: bool = True
    ignore_keys: tuple[str, ...] = ()
    tools: tuple[tuple[str, tuple[tuple[str, Rule], ...]], ...] = ()
    similar: Callable[[str, str], float] | None = field(default=None, repr=False, compare=False)

    @property
    def has_places(self) -> bool:
        """Whether there are rules for single places; where there are none, no place needs its name."""
        return bool(self.ignore_keys or self.tools)

    def equal(self, pred_value: object, ref_value: object, *, tool: str, key: str = '') -> bool:
        """Whether a predicted value is as good as the golden one.

        Args:
            pred_value: Any JSON value.
            ref_value: Any JSON value.
            tool: The golden step's tool.
            key: Where the values stand: keys and indices (from 0) joined by dots. Empty: they are all arguments of a
                call, where null, a blank text and an empty list are the same as `{}`.

        Returns:
            True for a value and itself, but for the rules `regex` and `call`. The same either way round, but for
            `contains`, `regex` and `call`. Never raises on JSON values, unless the function of a `call` does.

        Complexity:
            O(size); a list without order O(values in one · values in the other), up to 100,000 of these; larger lists
            are compared in order.

        Example:
            >>> from opencompass_traj.metrics.argument_rules import argument_rules
            >>> argument_rules().equal({'n': '7', 'm': '[1, 2]'}, {'m': [1, 2], 'n': 7}, tool='book')
            True
        """
        path: Path = tuple(key.split('.')) if key else ()
        pred, ref = (self.prepare(value, tool=tool, path=path) for value in (pred_value, ref_value))
        return self.equal_prepared(pred, ref, tool=tool, path=path)

    def rule_for(self, tool: str, path: Path) -> Rule | None:
        """The special rule for a place in the arguments of a tool, or None.

        A key pattern fits the whole dotted path (`flights.*.date`), or the key that it ends in (`date`). The names of
        entries of a list are their indices from 0, or `*` where order does not count.
        """
        if not self.ignore_keys and not self.tools:
            return None
        if any(_fits(pattern, path) for pattern in self.ignore_keys):
            return Rule('ignore')
        rules = (rule for pattern, keys in self.tools if fnmatchcase(tool, pattern) for rule in keys)
        return next((rule for pattern, rule in rules if _fits(pattern, path)), None)

    def prepare(self, value: object, *, tool: str, path: Path = ()) -> Any:
        """A value without its ignored keys, JSON texts read, tuples as lists; what has a rule of its own as it is.

        At the empty path, which stands for all arguments of a call, null, a blank text and an empty list are no
        arguments: `{}`.
        """
        blank = isinstance(value, str) and not value.strip()
        if not path and (value is None or blank or (isinstance(value, (list, tuple)) and not value)):
            return {}
        if self.has_places:
            return self._prepare_at(value, tool, path)
        return read_value(value, json_text=self.json_text, depth=len(path))

    def _prepare_at(self, value: object, tool: str, path: Path) -> Any:
        rule = self.rule_for(tool, path) if path else None
        if rule is not None or len(path) > MAX_DEPTH:
            return value
        if isinstance(value, str):
            parsed = read_json(value) if self.json_text else None
            return value if parsed is None else self.prepare(parsed, tool=tool, path=path)
        if isinstance(value, dict):
            places = ((str(key), (*path, str(key)), one) for key, one in value.items())
            return {
                key: self.prepare(one, tool=tool, path=place)
                for key, place, one in places
                if not self._ignores(tool, place)
            }
        if isinstance(value, (list, tuple)):
            entries = (((*path, self.entry(index)), one) for index, one in enumerate(value))
            return [
                self.prepare(one, tool=tool, path=place) for place, one in entries if not self._ignores(tool, place)
            ]
        return value

    def entry(self, index: int) -> int:
        """The step of a path that leads to an entry of a list."""
        return ENTRY if self.unordered_lists else index

    def equal_prepared(self, pred: Any, ref: Any, *, tool: str, path: Path = ()) -> bool:
        """`equal` for values that `prepare` returned for the same tool and path."""
        nested = isinstance(pred, (dict, list)) or isinstance(ref, (dict, list))
        rule = self.rule_for(tool, path) if path or not nested else None
        if rule is not None:
            return self._equal_by(rule, pred, ref)
        if len(path) > MAX_DEPTH:
            return identical(pred, ref)
        if isinstance(pred, dict) and isinstance(ref, dict):
            return pred.keys() == ref.keys() and all(
                self.equal_prepared(pred[key], ref[key], tool=tool, path=(*path, key)) for key in ref
            )
        if isinstance(pred, list) and isinstance(ref, list):
            return len(pred) == len(ref) and self._equal_lists(pred, ref, tool, path)
        return self._equal_leaves(pred, ref)

    def semantic_texts(self, args: object, *, tool: str) -> tuple[str, ...]:
        """The texts of a call that `similar` may be asked about, so that they can be embedded beforehand."""
        texts = (self._text(value) for _, value in self._under('semantic', self.prepare(args, tool=tool), tool, ()))
        return tuple(text for text in texts if text is not None)

    def golden_faults(self, args: object, *, tool: str) -> tuple[str, ...]:
        """What no prediction could match in the arguments of a golden call: values under `regex` that are no pattern.

        Example:
            >>> from opencompass_traj.metrics.argument_rules import argument_rules
            >>> argument_rules({'tools': {'*': {'id': 'regex'}}}).golden_faults({'id': 7}, tool='find')
            ('argument id: expected a pattern, got a value of the type int',)
        """
        if not any(rule.kind == 'regex' for _, keys in self.tools for _, rule in keys):
            return ()
        found = self._under('regex', self.prepare(args, tool=tool), tool, ())
        faults = ((path, pattern_fault(value)) for path, value in found)
        return tuple(f'argument {path_name(path) or tool}: {fault}' for path, fault in faults if fault)

    def _under(self, kind: str, value: Any, tool: str, path: Path) -> Iterator[tuple[Path, Any]]:
        """The places of prepared arguments that a kind of rule is for, and their values."""
        rule = self.rule_for(tool, path) if path or not isinstance(value, (dict, list)) else None
        if rule is not None or len(path) > MAX_DEPTH:
            if rule is not None and rule.kind == kind:
                yield path, value
            return
        items: Iterator[tuple[str | int, Any]] = iter(())
        if isinstance(value, dict):
            items = iter(value.items())
        elif isinstance(value, list):
            items = ((self.entry(index), one) for index, one in enumerate(value))
        for step, one in items:
            yield from self._under(kind, one, tool, (*path, step))

    def _ignores(self, tool: str, path: Path) -> bool:
        rule = self.rule_for(tool, path)
        return rule is not None and rule.kind == 'ignore'

    def _equal_lists(self, pred: list[Any], ref: list[Any], tool: str, path: Path) -> bool:
        def same(one: Any, other: Any, index: int) -> bool:
            return self.equal_prepared(one, other, tool=tool, path=(*path, self.entry(index)))

        if not self.unordered_lists or len(ref) < 2 or not small_enough(pred, ref):
            return all(same(one, other, index) for index, (one, other) in enumerate(zip(pred, ref, strict=True)))
        allowed = [[same(one, other, index) for index, other in enumerate(ref)] for one in pred]
        return len(largest_matching(allowed)) == len(ref)

    def _equal_leaves(self, pred: Any, ref: Any) -> bool:
        texts = isinstance(pred, str), isinstance(ref, str)
        if all(texts):
            return self._equal_texts(self._fold(pred), self._fold(ref))
        if any(texts):
            text, value = (pred, ref) if texts[0] else (ref, pred)
            return self._equals_text(value, self._fold(text))
        if isinstance(pred, bool) or isinstance(ref, bool):
            return pred is ref
        return _close(pred, ref, self.tolerance) or identical(pred, ref)

    def _equals_text(self, value: object, text: str) -> bool:
        if value is None or isinstance(value, bool):
            names = ('null', 'none') if value is None else (str(value).lower(),)
            return self.constants_as_text and text.strip().lower() in names
        return self.numbers_as_text and _close(value, text, self.tolerance)

    def _equal_texts(self, pred: str, ref: str) -> bool:
        if pred == ref or not self.dates:
            return pred == ref
        moment = read_moment(pred.strip().upper())
        return moment is not None and moment == read_moment(ref.strip().upper())

    def _equal_by(self, rule: Rule, pred: Any, ref: Any) -> bool:
        if rule.kind == 'call' and rule.call is not None:
            return bool(rule.call(pred, ref))
        if rule.kind == 'numeric':
            return _close(pred, ref, rule.tolerance) or self._equal_leaves(pred, ref)
        if rule.kind == 'regex':
            return pattern_matches(ref, text_of(pred))
        if rule.kind in {'contains', 'semantic'}:
            return self._equal_as_text(rule, self._text(pred), self._text(ref)) or identical(pred, ref)
        return rule.kind == 'ignore' or identical(pred, ref)

    def _equal_as_text(self, rule: Rule, pred: str | None, ref: str | None) -> bool:
        if pred is None or ref is None:
            return False
        if rule.kind == 'contains' or pred == ref or self.similar is None:
            return ref in pred if rule.kind == 'contains' else pred == ref
        return self.similar(pred, ref) >= rule.threshold

    def _text(self, value: object) -> str | None:
        text = text_of(value)
        return None if text is None else self._fold(text)

    def _fold(self, text: str) -> str:
        return fold(text, nfkc=self.unicode == 'nfkc', space=self.space, ignore_case=self.case == 'ignore')


def small_enough(pred: list[Any], ref: list[Any]) -> bool:
    """Whether two lists are so small that every entry of one is compared with every entry of the other.

    Example:
        >>> small_enough([1] * 300, [2] * 300), small_enough([1] * 400, [2] * 400)
        (True, False)
    """
    return size_of(pred, most=MAX_UNORDERED) * size_of(ref, most=MAX_UNORDERED) <= MAX_UNORDERED


def path_name(path: Path) -> str:
    """A place in the arguments as it is shown and as patterns see it.

    Example:
        >>> path_name(('flights', 0, 'date')), path_name(('tags', ENTRY)), path_name(())
        ('flights.0.date', 'tags.*', '')
    """
    return '.'.join('*' if step == ENTRY else str(step) for step in path)


def _fits(pattern: str, path: Path) -> bool:
    if fnmatchcase(path_name(path), pattern):
        return True
    last = path[-1] if path else ''
    return isinstance(last, str) and fnmatchcase(last, pattern)


def _close(pred: object, ref: object, tolerance: Tolerance) -> bool:
    numbers = read_number(pred), read_number(ref)
    return numbers[0] is not None and numbers[1] is not None and close(numbers[0], numbers[1], tolerance)
