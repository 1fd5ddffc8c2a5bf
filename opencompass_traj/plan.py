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
    """

    id: StepId
    name: str
    args: Any = field(default_factory=dict)
    prev: tuple[StepId, ...] | None = None


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
