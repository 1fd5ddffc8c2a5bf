"""Where a run's models are good and where not: by group of samples, and by tool."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from opencompass_traj.report.runs import Row, Run, TaskResult

GroupKind: TypeAlias = Literal['dataset', 'tag', 'length', 'language']
GROUP_KINDS: Final[tuple[GroupKind, ...]] = get_args(GroupKind)

LENGTHS: Final = ((0, 0), (1, 1), (2, 3), (4, 6), (7, 10), (11, 20))
"""Bands of golden steps; longer plans are one more band."""

MAX_NAMED: Final = 5
"""Confusions and arguments that one tool names."""

_HAN: Final = re.compile('[\u3400-\u4dbf\u4e00-\u9fff]')
_KANA: Final = re.compile('[\u3040-\u30ff]')


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """One model on the samples of one group.

    Attributes:
        kind: What the samples are grouped by.
        group: Which group it is.
        model: The model.
        n: Rows in the group.
        means: The metrics' means over them, as they are shown; a metric that is not known for any of them is left out.
    """

    kind: GroupKind
    group: str
    model: str
    n: int
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ToolFaults:
    """What one model does with one tool, over all samples whose prediction can be read.

    Attributes:
        model: The model.
        tool: The tool.
        golden: Calls of it in the golden plans.
        predicted: Calls of it in the predictions.
        missed: Golden calls that the prediction lacks, wherever in the plan: of each sample's golden calls of the tool
            those beyond its predicted ones.
        redundant: Predicted calls beyond the golden ones, likewise.
        confused_with: Tools called in its place, and how often: a replaced step of the alignment counts where its
            golden tool is missed in the sample, and its predicted one redundant (else the steps only changed places).
        arguments: Its arguments that differ, are missing or are extra in matched steps, and how often.
    """

    model: str
    tool: str
    golden: int
    predicted: int
    missed: int
    redundant: int
    confused_with: tuple[tuple[str, int], ...] = ()
    arguments: tuple[tuple[str, int], ...] = ()

    @property
    def faults(self) -> int:
        """Calls missed and redundant, and arguments that differ."""
        return self.missed + self.redundant + sum(count for _, count in self.arguments)


def group_means(run: Run, metrics: Sequence[str], *, kinds: Iterable[GroupKind] = GROUP_KINDS) -> list[GroupMeans]:
    """The means of each group of samples and each model.

    Args:
        run: The run.
        metrics: Of these keys.
        kinds: What to group by. A kind that puts all samples into one group says nothing, and is left out.

    Returns:
        By kind, group and model. A sample with several tags is in the group of each; one without any is in none.
    """
    found: list[GroupMeans] = []
    for kind in kinds:
        groups: dict[str, dict[str, list[tuple[TaskResult, Row]]]] = {}
        for task in run.scored:
            for row in task.rows:
                for group in groups_of(row, task.dataset, kind):
                    groups.setdefault(group, {}).setdefault(task.model, []).append((task, row))
        if len(groups) > 1:
            found.extend(
                GroupMeans(kind, group, model, len(rows), _means(rows, metrics))
                for group in sorted(groups, key=_place)
                for model, rows in groups[group].items()
            )
    return found


def groups_of(row: Row, dataset: str, kind: GroupKind) -> list[str]:
    """The groups that a row is in: none, one, or as many as it has tags."""
    if kind == 'dataset':
        return [dataset]
    if kind == 'tag':
        return [str(tag) for tag in row.get('tags') or ()]
    if kind == 'length':
        return [length_band(int(row.get('n_ref') or 0))]
    return [language] if (language := language_of(str(row.get('query') or ''))) else []


def length_band(steps: int) -> str:
    """The band of a golden plan's length.

    Example:
        >>> length_band(1), length_band(5), length_band(30)
        ('1 step', '4-6 steps', '21+ steps')
    """
    for low, high in LENGTHS:
        if steps <= high:
            return f'{low} step{"s" * (low != 1)}' if low == high else f'{low}-{high} steps'
    return f'{LENGTHS[-1][1] + 1}+ steps'


def language_of(query: str) -> str:
    """`zh` for a text with Chinese characters and no Japanese kana, `other` for any other, empty for none.

    Example:
        >>> language_of('查询余额'), language_of('残高を確認'), language_of('balance'), language_of('')
        ('zh', 'other', 'other', '')
    """
    if not query.strip():
        return ''
    return 'zh' if _HAN.search(query) and not _KANA.search(query) else 'other'


@dataclass
class _Tally:
    """What is counted for each tool of one model."""

    golden: Counter[str] = field(default_factory=Counter)
    predicted: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    redundant: Counter[str] = field(default_factory=Counter)
    confused: dict[str, Counter[str]] = field(default_factory=dict)
    arguments: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count one row."""
        pred, ref = _names(row, 'pred'), _names(row, 'ref')
        missed, redundant = ref - pred, pred - ref
        for total, names in ((self.golden, ref), (self.predicted, pred)):
            total.update(names)
        self.missed.update(missed)
        self.redundant.update(redundant)
        for instead, of in _replaced(row):
            if missed[of] > 0 and redundant[instead] > 0:
                missed[of] -= 1
                redundant[instead] -= 1
                self.confused.setdefault(of, Counter())[instead] += 1
        for step in row.get('argument_differences') or ():
            differing = [str(name) for kind in ('different', 'missing', 'extra') for name in step.get(kind) or ()]
            self.arguments.setdefault(str(step.get('tool')), Counter()).update(differing)

    def faults(self, model: str) -> Iterator[ToolFaults]:
        """What was counted, one for each tool."""
        for tool in self.golden.keys() | self.predicted.keys():
            yield ToolFaults(
                model,
                tool,
                self.golden[tool],
                self.predicted[tool],
                self.missed[tool],
                self.redundant[tool],
                _most_common(self.confused.get(tool)),
                _most_common(self.arguments.get(tool)),
            )


def tool_faults(run: Run) -> list[ToolFaults]:
    """What each model misses, adds and confuses, tool by tool.

    Returns:
        By model in the run's order, the tools with the most faults first. Predictions that cannot be read are left
        out: they miss every tool, which says nothing of the tools.
    """
    tallies: dict[str, _Tally] = {}
    for task in run.scored:
        for row in task.rows:
            if row.get('parse_status') != 'unreadable':
                tallies.setdefault(task.model, _Tally()).add(row)
    order: Callable[[ToolFaults], tuple[int, str]] = lambda one: (-one.faults, one.tool)  # noqa: E731
    return [faults for model, tally in tallies.items() for faults in sorted(tally.faults(model), key=order)]


def _means(rows: Sequence[tuple[TaskResult, Row]], metrics: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for metric in metrics:
        values = [
            value * (100 if metric in task.rates else 1)
            for task, row in rows
            if isinstance(value := row.get(metric), int | float)
        ]
        if values:
            found[metric] = math.fsum(values) / len(values)
    return found


def _place(group: str) -> tuple[int, str]:
    """Bands of lengths by number, all else by name."""
    start = re.match(r'[0-9]{1,9}', group)
    return (int(start[0]) if start and group.endswith(('step', 'steps')) else 0, group)


def _names(row: Row, side: Literal['pred', 'ref']) -> Counter[str]:
    """The tools of one side, from its steps, or from the alignment in rows of older runs."""
    steps = row.get(f'{side}_steps')
    if steps is not None:
        return Counter(str(step.get('name')) for step in steps)
    names = (one.get(f'{side}_name') for one in row.get('alignment') or ())
    return Counter(str(name) for name in names if name is not None)


def _replaced(row: Row) -> Iterator[tuple[str, str]]:
    for one in row.get('alignment') or ():
        if one.get('op') == 'replace':
            yield str(one.get('pred_name')), str(one.get('ref_name'))


def _most_common(counts: Counter[str] | None) -> tuple[tuple[str, int], ...]:
    ordered = sorted((counts or Counter()).items(), key=lambda one: (-one[1], one[0]))
    return tuple(ordered[:MAX_NAMED])
