"""The values that everything else works on: steps, plans, graphs of steps, and a failed reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

StepId: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of a plan.

    Attributes:
        id: The step's identifier, unique within a sound plan.
        name: The tool's name.
        args: The call's arguments, as JSON gives them (usually a dict) or as the text that the agent wrote.
        prev: The ids of the steps that this one depends on. Empty: it depends on none. None: nobody said.
        turn: The turn of the agent in which the call was made, from 0, ascending. Calls of one turn are parallel: they
            have no order among themselves. None: not recorded, and each step is a turn of its own.
        failed: Whether the call came back with an error. None: not recorded.
        optional: Whether a golden step may be left out.
    """

    id: StepId
    name: str
    args: Any = field(default_factory=dict)
    prev: tuple[StepId, ...] | None = None
    turn: int | None = field(default=None, repr=False)
    failed: bool | None = field(default=None, repr=False)
    optional: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan or trajectory: its steps in the order in which they are made.

    Example:
        >>> plan = Plan.of('search', 'book')
        >>> plan.names
        ('search', 'book')
        >>> len(plan)
        2
    """

    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, *names: str) -> Plan:
        """Build a plan from tool names alone, with ids from 0 and no stated dependencies."""
        return cls(tuple(Step(id=i, name=name) for i, name in enumerate(names)))

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in order."""
        return tuple(step.name for step in self.steps)

    @property
    def states_dependencies(self) -> bool:
        """Whether any step says what it depends on, be it that it depends on nothing."""
        return any(step.prev is not None for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a recording says about a run beside its steps; None: not recorded.

    Attributes:
        solved: Whether the task was solved.
        tokens: Tokens of all the run's model calls, at least 0.
        latency: Seconds from the first to the last event, at least 0.
        cost: Money, in the unit of the recording, at least 0.
    """

    solved: bool | None = None
    tokens: float | None = None
    latency: float | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A plan with what is known of where it came from.

    Attributes:
        plan: The steps that were read.
        format: The name of the format that they were read from.
        recovered: Whether the text had to be mended or searched for its plan (T-Eval's own reading fails on it).
        dropped: What was there and could not be read as a step, one short text each.
        record: What the recording says about the run.
    """

    plan: Plan
    format: str
    recovered: bool = False
    dropped: tuple[str, ...] = ()
    record: RunRecord = RunRecord()


@dataclass(frozen=True, slots=True)
class StepGraph:
    """A directed graph over the steps of one plan.

    Attributes:
        names: The tool of each node; node `i` is step `i` of the plan, from 0.
        edges: Pairs `(i, j)`: step `j` depends on step `i`.
    """

    names: tuple[str, ...]
    edges: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """An answer that holds no readable plan. A value, so that no sample is lost to an exception.

    Attributes:
        reason: What was wrong, in a few words, fit to be shown.
    """

    reason: str
