"""What a run changed, as against what it looked up: its state-changing calls against the golden ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Any

from opencompass_traj.metrics._argument_values import largest_matching
from opencompass_traj.metrics._identical_arguments import count_identical
from opencompass_traj.metrics.argument_rules import ArgumentRules
from opencompass_traj.metrics.plan_match import plan_match
from opencompass_traj.metrics.prf import PrecisionRecallF1, precision_recall_f1
from opencompass_traj.plan import Step

# Verbs whose plain sense leaves the world as it was: to look at something, to think, to compute.
LOOKUP_VERBS = frozenset({
    'analyse', 'analyze', 'ask', 'browse', 'calculate', 'check', 'compare', 'compute', 'convert', 'count', 'describe',
    'detect', 'estimate', 'evaluate', 'examine', 'explain', 'explore', 'extract', 'fetch', 'filter', 'find', 'get',
    'has', 'inspect', 'is', 'list', 'look', 'lookup', 'peek', 'preview', 'query', 'rank', 'read', 'recall',
    'recommend', 'retrieve', 'scan', 'search', 'show', 'sort', 'summarize', 'think', 'translate',
    'validate', 'verify', 'view',
})  # fmt: skip
# Verbs of changing: they decide where they come first, as in `delete_search_history`. Words that are mostly nouns in
# the names of tools (`book`, `order`, `file`, `transfer`) are left out, so that `order_lookup` looks up.
CHANGE_VERBS = frozenset({
    'accept', 'add', 'append', 'apply', 'approve', 'assign', 'cancel', 'clear', 'close', 'confirm', 'create',
    'deactivate', 'delete', 'disable', 'edit', 'enable', 'execute', 'insert', 'install', 'mark', 'modify', 'move',
    'pay', 'purchase', 'put', 'reject', 'remove', 'rename', 'replace', 'save', 'send', 'set', 'start', 'stop',
    'submit', 'subscribe', 'uninstall', 'unsubscribe', 'update', 'upload', 'write',
})  # fmt: skip
# To check in and to check out is to do something.
_PHRASES = frozenset({('check', 'in'), ('check', 'out')})

_MAX_NAME_CHARS = 1_000
_PARTS = re.compile(r'[./:]|__')
_WORDS = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+')


@dataclass(frozen=True, slots=True)
class EffectPatterns:
    """Which tools change something, where it is declared. Patterns are those of `fnmatch`, with case, for whole names.

    Attributes:
        effects: Patterns of the tools that change something. None: undeclared, the name's verb decides. An empty tuple:
            no tool does.
        lookups: Patterns of tools that change nothing, whatever else is said.
    """

    effects: tuple[str, ...] | None = None
    lookups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, patterns in (('effects', self.effects), ('lookups', self.lookups)):
            sound = patterns is None or (
                not isinstance(patterns, str) and all(isinstance(pattern, str) for pattern in patterns)
            )
            if not sound:
                raise TypeError(f'expected `{name}` to be a list of patterns, got {patterns!r:.80}')


@dataclass(frozen=True, slots=True)
class EffectMatch:
    """The changes of a run against the golden ones.

    Attributes:
        score: Precision, recall and F1 of the changes; both sides without any: 1.
        pairs: `(pred, ref)` indices from 0 into the calls that were given.
        extra: Predicted changes without a golden one.
        missing: Golden changes that were not made.
        proved: Whether no larger matching is possible. Always true but for very long plans whose order counts.
    """

    score: PrecisionRecallF1
    pairs: tuple[tuple[int, int], ...]
    extra: tuple[int, ...]
    missing: tuple[int, ...]
    proved: bool = True

    @property
    def exact(self) -> bool:
        """Whether the run changed what was to be changed, and nothing else."""
        return not self.extra and not self.missing


def is_effect(name: str, patterns: EffectPatterns | None = None) -> bool:
    """Whether a tool changes something, by what is declared, else by the verb in its name.

    Without a declaration the last part of the name (after `.`, `/`, `:` or `__`) is split into words at capitals and
    at whatever is no letter, and its first word that is a verb of looking up or of changing decides; but a verb of
    changing behind `and` or `or` makes a change of a look-up (`get_or_create`). A name without either is taken for a
    change: a change that nobody noticed is the worse mistake.

    Args:
        name: The tool's name.
        patterns: What is declared. Default: nothing.

    Example:
        >>> is_effect('TrainDesk.findStation'), is_effect('web_search'), is_effect('delete_search_history')
        (False, False, True)
        >>> is_effect('get_or_create_user'), is_effect('search_and_sort')
        (True, False)
        >>> is_effect('web_search', EffectPatterns(effects=('web_*',)))
        True
    """
    declared = EffectPatterns() if patterns is None else patterns
    if declared.lookups and any(fnmatchcase(name, pattern) for pattern in declared.lookups):
        return False
    if declared.effects is not None:
        return any(fnmatchcase(name, pattern) for pattern in declared.effects)
    return _verb_changes(name)


# Tools come again in every plan of a benchmark.
@lru_cache(maxsize=4096)
def _verb_changes(name: str) -> bool:
    words = _words(name)
    for word, following in pairwise([*words, '']):
        if word in CHANGE_VERBS or (word, following) in _PHRASES:
            return True
        if word in LOOKUP_VERBS:
            return _goes_on_to_change(words)
    return True


def _goes_on_to_change(words: Sequence[str]) -> bool:
    """Whether a look-up's name joins a verb of changing to it, as in `find_and_delete` and `get_or_create`."""
    return any(word in {'and', 'or'} and after in CHANGE_VERBS for word, after in pairwise(words))


def effects(
    pred_calls: Sequence[Step],
    ref_calls: Sequence[Step],
    rules: ArgumentRules,
    *,
    patterns: EffectPatterns | None = None,
    ordered: bool = False,
) -> EffectMatch:
    """Compare the calls that change something, as multisets of name and arguments.

    Look-ups do not count, nor do calls that came back with an error. The names must be equal, the arguments equal
    under the rules, and as many changes as possible are matched one to one.

    Args:
        pred_calls: The predicted calls, in order.
        ref_calls: The golden calls, in order.
        rules: When arguments are equal.
        patterns: Which tools change something. Default: by the verbs in their names.
        ordered: Whether matched changes must come in the golden order too (a longest common subsequence). Calls of one
            turn have no order among themselves.

    Returns:
        The matching with its counts. Both sides without a change: exact, and F1 1; one side without: F1 0.

    Complexity:
        O(n_pred · n_ref) comparisons of calls of the same name, O(n_pred · n_ref · √(n_pred + n_ref)) for the matching.

    Example:
        >>> from opencompass_traj.metrics.argument_rules import argument_rules
        >>> golden = [Step(0, 'get_user', {'id': 1}), Step(1, 'cancel', {'booking': 7})]
        >>> effects([Step(0, 'cancel', {'booking': '7'})], golden, argument_rules()).exact
        True
    """
    ours, golden = _changes(pred_calls, patterns), _changes(ref_calls, patterns)
    pairs_of = _Calls([pred_calls[i] for i in ours], [ref_calls[j] for j in golden], rules)
    allowed = [[pairs_of.same(i, j) for j in range(len(golden))] for i in range(len(ours))]
    found, proved = largest_matching(allowed), True
    if ordered and found:
        match = plan_match(
            allowed,
            _ordered_pairs([ref_calls[i] for i in golden]),
            threshold=0.5,
            rank=_turns(pred_calls[i] for i in ours),
        )
        found, proved = match.pairs, match.exact
    pairs = tuple(sorted((ours[i], golden[j]) for i, j in found))
    score = precision_recall_f1(len(pairs), n_pred=len(ours), n_ref=len(golden))
    extra, missing = set(ours) - {i for i, _ in pairs}, set(golden) - {j for _, j in pairs}
    return EffectMatch(score, pairs, tuple(sorted(extra)), tuple(sorted(missing)), proved)


def _words(name: str) -> list[str]:
    parts = [part for part in _PARTS.split(name[-_MAX_NAME_CHARS:]) if part]
    return [word.lower() for word in _WORDS.findall(parts[-1])] if parts else []


def _changes(calls: Sequence[Step], patterns: EffectPatterns | None) -> list[int]:
    return [i for i, call in enumerate(calls) if call.failed is not True and is_effect(call.name, patterns)]


class _Calls:
    """The changes of both sides; their arguments are prepared where that is needed, and once."""

    def __init__(self, pred: Sequence[Step], ref: Sequence[Step], rules: ArgumentRules) -> None:
        self.pred = pred
        self.ref = ref
        self.rules = rules
        self._identical_is_equal = not rules.has_places
        self._prepared: dict[int, Any] = {}

    def same(self, i: int, j: int) -> bool:
        """Whether a predicted change is a golden one."""
        pred, ref = self.pred[i], self.ref[j]
        if pred.name != ref.name:
            return False
        if self._identical_is_equal and count_identical(pred.args, ref.args) is not None:
            return True
        return self.rules.equal_prepared(self._of(i, pred), self._of(-1 - j, ref), tool=ref.name)

    def _of(self, key: int, step: Step) -> Any:
        if key not in self._prepared:
            self._prepared[key] = self.rules.prepare(step.args, tool=step.name)
        return self._prepared[key]


def _turns(calls: Iterable[Step]) -> list[int]:
    """One rank per call, ascending: calls of one recorded turn share theirs."""
    ranks: list[int] = []
    last: int | None = None
    for call in calls:
        together = bool(ranks) and call.turn is not None and call.turn == last
        ranks.append((ranks[-1] if ranks else 0) + (not together))
        last = call.turn
    return ranks


def _ordered_pairs(calls: Sequence[Step]) -> list[tuple[int, int]]:
    """Golden order: all calls of a turn before all of the next."""
    groups: dict[int, list[int]] = {}
    for i, rank in enumerate(_turns(calls)):
        groups.setdefault(rank, []).append(i)
    turns = [groups[rank] for rank in sorted(groups)]
    return [(before, after) for earlier, later in pairwise(turns) for before in earlier for after in later]
