"""One prediction beside its golden plan: what every metric looks at, each part computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.edges import PredictedEdges, chain_graph, drop_finish, golden_graph, predicted_edges
from opencompass_traj.embedding import TextVectors
from opencompass_traj.limits import DEFAULT_LIMITS, Limits
from opencompass_traj.matching import MatchOptions, step_similarity
from opencompass_traj.metrics.alternatives import without_optional
from opencompass_traj.metrics.argument_rules import ArgumentRules, argument_rules
from opencompass_traj.metrics.arguments import ArgumentTable
from opencompass_traj.metrics.dag import GraphMatch, graph_match, order_match
from opencompass_traj.metrics.partial_order import PartialOrderEdit, partial_order_similarity
from opencompass_traj.metrics.sequence import Mode
from opencompass_traj.parsing.golden_options import GoldenOptions, golden_options
from opencompass_traj.parsing.literal import NO_CALLS
from opencompass_traj.parsing.sealed import golden_key, unseal, with_record
from opencompass_traj.parsing.teval import PromptType, parse_prediction
from opencompass_traj.parsing.trajectories import read_trajectory
from opencompass_traj.plan import ParseFailure, Plan, RunRecord, Step, StepGraph, Trajectory
from opencompass_traj.turns import turn_ranks

# Above this many pairs of steps only equal arguments decide between equal mappings, for the time that it takes.
MAX_ARGUMENT_PAIRS = 2_500
FINISH_NAMES = ('FinishAction',)

_NO_OPTIONS = golden_options({})[0]
_NOTHING = RunRecord()

Compare: TypeAlias = Literal['name', 'call', 'soft']


def check_compare(compare: str, allowed: tuple[str, ...] = get_args(Compare)) -> None:
    """Raise `ValueError` for an unknown way to compare steps."""
    if compare not in allowed:
        raise ValueError(f'expected `compare` to be one of {", ".join(allowed)}, got {compare!r}')


@dataclass(frozen=True, slots=True)
class Reference:
    """A golden plan, checked, with the record that it came in.

    Attributes:
        name: What to call the sample in messages: its id where it has one, else its number.
        record: T-Eval's record: `ground_truth`, and `meta` where there is one.
        written: The golden plan with its finish markers.
        prompt_type: How predictions are written: `json`, `str` or `ReWOO`.
        api_list: The tools that a `str` prediction may name.
        dropped: What was unsound in the golden plan and left out, in words.
        options: Forbidden tools, what changes something, and what a run may take.
    """

    name: str
    record: Mapping[str, Any]
    written: Plan
    prompt_type: PromptType = 'json'
    api_list: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    options: GoldenOptions = _NO_OPTIONS


@dataclass(frozen=True, slots=True)
class Reading:
    """How predictions are read and steps compared, the same for a whole corpus.

    Attributes:
        match: When the texts of two steps count as the same.
        rules: When arguments count as the same.
        finish_names: Tools that only mark the end of a plan.
        prediction_format: `auto`, `teval` or another of `parsing.trajectories.FORMATS`.
        limits: How much of a prediction is read.
    """

    match: MatchOptions = field(default_factory=MatchOptions)
    rules: ArgumentRules = field(default_factory=argument_rules)
    finish_names: tuple[str, ...] = FINISH_NAMES
    prediction_format: str = 'auto'
    limits: Limits = DEFAULT_LIMITS


@dataclass
class Comparison:
    """A prediction beside its golden plan.

    Attributes:
        prediction: What the agent gave, untouched.
        reference: The golden plan as it was read.
        reading: How the prediction is read, and when steps are the same.
        vectors: Text vectors, where a metric asked for them.
        values: The numbers of the metrics before this one in the list, by key.
        beside: What stood beside the prediction about its run.
        trusted: Whether what the prediction says about its own run counts; see `parsing.sealed`.
        figures_refused: Whether it says anything about its own run that does not count.
    """

    prediction: object
    reference: Reference
    reading: Reading = field(default_factory=Reading)
    vectors: TextVectors | None = None
    values: dict[str, Any] = field(default_factory=dict)
    beside: RunRecord = field(default=_NOTHING, init=False)
    trusted: bool = field(default=False, init=False)
    figures_refused: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        found = unseal(self.prediction, lambda: golden_key(self.reference.record))
        self.prediction, self.beside, self.trusted, self.figures_refused = found

    @cached_property
    def strict(self) -> Plan | ParseFailure:
        """The prediction as T-Eval reads it, finish markers included."""
        limits = self.reading.limits
        return parse_prediction(
            self.prediction,
            prompt_type=self.reference.prompt_type,
            api_list=self.reference.api_list,
            max_chars=limits.answer_chars,
            max_depth=limits.depth,
        )

    @cached_property
    def trajectory(self) -> Trajectory | ParseFailure:
        """The prediction as `prediction_format` reads it.

        An answer without any call, broken ones included, is a plan where the golden plan is empty: nothing was to be
        called. Elsewhere it is unreadable.
        """
        tools = self.reference.api_list if self.reference.prompt_type == 'str' else ()
        reading = self.reading
        found = read_trajectory(
            self.prediction, format=reading.prediction_format, strict=self.strict, tools=tools, limits=reading.limits
        )
        if isinstance(found, ParseFailure) and found.reason == NO_CALLS and not len(self.golden):
            return Trajectory(Plan(), format='', recovered=True)
        if not self.trusted and isinstance(found, Trajectory) and found.record != _NOTHING:
            self.figures_refused = True
            found = replace(found, record=_NOTHING)
        return with_record(found, self.beside)

    @property
    def failure(self) -> ParseFailure | None:
        """Why the prediction cannot be read; None where it can."""
        return self.trajectory if isinstance(self.trajectory, ParseFailure) else None

    @property
    def run(self) -> RunRecord:
        """What the recording says about the run."""
        return self.beside if isinstance(self.trajectory, ParseFailure) else self.trajectory.record

    @cached_property
    def pred(self) -> Plan:
        """The predicted plan without finish markers; empty where the prediction cannot be read."""
        if isinstance(self.trajectory, ParseFailure):
            return Plan()
        return drop_finish(self.trajectory.plan, self.reading.finish_names)

    @cached_property
    def pred_names(self) -> tuple[str, ...]:
        """The tools of `pred`."""
        return self.pred.names

    @cached_property
    def ref_names(self) -> tuple[str, ...]:
        """The tools of `ref`."""
        return self.ref.names

    @cached_property
    def golden(self) -> Plan:
        """The golden plan without finish markers, whole."""
        return drop_finish(self.reference.written, self.reading.finish_names)

    @cached_property
    def ref(self) -> Plan:
        """The golden plan without finish markers, and without those optional steps that the prediction left out."""
        optional = frozenset(i for i, step in enumerate(self.golden.steps) if step.optional)
        return without_optional(self.pred, self.golden, optional=optional).plan if optional else self.golden

    @cached_property
    def pred_ranks(self) -> tuple[int, ...] | None:
        """When each predicted step was made; None where there are no parallel calls."""
        return turn_ranks(self.pred)

    @cached_property
    def ref_graph(self) -> StepGraph:
        """The golden graph; where the golden plan states no dependencies, each turn depends on the one before."""
        return golden_graph(self.ref) or chain_graph(self.ref)

    @cached_property
    def pred_edges(self) -> PredictedEdges:
        """The prediction's dependencies, and where they come from."""
        has_graph = self.ref.states_dependencies or turn_ranks(self.ref) is not None
        return predicted_edges(self.pred, golden_has_graph=has_graph)

    @cached_property
    def similarity(self) -> NDArray[np.float64]:
        """How alike each predicted step (row) and golden step (column) are, by their texts' vectors.

        Raises:
            RuntimeError: If no metric in the list declares that it uses embeddings.
        """
        if self.vectors is None:
            raise RuntimeError('no text vectors: the metric that reads `similarity` must set `uses_embeddings = True`')
        return step_similarity(self.pred, self.ref, self.vectors, self.reading.match)

    @cached_property
    def call_labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Labels for the predicted and the golden steps: equal where tool and arguments are, by the rules.

        Equality by rules need not carry over (with a tolerance, say): a step takes the label of the first golden call
        that it equals.
        """
        known: dict[str, list[Any]] = {}
        golden = tuple(self._label(step, known) for step in self.ref.steps)
        return tuple(self._label(step, known) for step in self.pred.steps), golden

    @cached_property
    def arguments(self) -> ArgumentTable:
        """The arguments of the predicted and the golden steps; pairs are compared once."""
        return ArgumentTable(
            [step.args for step in self.pred.steps],
            [step.args for step in self.ref.steps],
            tools=self.ref_names,
            rules=self.reading.rules,
        )

    def labels(self, compare: Compare) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the predicted and the golden steps are compared by: `name` or `call`."""
        return self.call_labels if compare == 'call' else (self.pred_names, self.ref_names)

    @cached_property
    def graph_matches(self) -> dict[tuple[Compare, float], GraphMatch]:
        """The graph matches found so far; `graph_match` fills it."""
        return {}

    def graph_match(
        self, *, budget: float, compare: Compare = 'name', weights: NDArray[np.float64] | None = None
    ) -> GraphMatch:
        """Map the predicted graph to the golden one, by the rule that its `edge_source` asks for."""
        if (compare, budget) not in self.graph_matches or weights is not None:
            self.graph_matches[compare, budget] = self._graph_match(budget, compare, weights)
        return self.graph_matches[compare, budget]

    @cached_property
    def closest_orders(self) -> dict[tuple[object, ...], PartialOrderEdit]:
        """The closest orders found so far; `closest_order` fills it."""
        return {}

    def closest_order(
        self, edges: frozenset[tuple[int, int]], *, compare: Compare, mode: Mode, budget: int
    ) -> PartialOrderEdit:
        """Compare the predicted order with the closest one that golden dependencies allow.

        Where the golden plan has turns and no graph, two metrics ask for the same.
        """
        key = (edges, compare, mode, budget)
        if key not in self.closest_orders:
            pred, ref = self.labels(compare)
            self.closest_orders[key] = partial_order_similarity(
                pred, StepGraph(ref, edges), mode=mode, rank=self.pred_ranks, budget=budget
            )
        return self.closest_orders[key]

    def _graph_match(self, budget: float, compare: Compare, weights: NDArray[np.float64] | None) -> GraphMatch:
        pred_labels, ref_labels = self.labels(compare)
        pred = StepGraph(pred_labels, self.pred_edges.graph.edges)
        ref = StepGraph(ref_labels, self.ref_graph.edges)
        # Between equally good mappings, the arguments decide, then the place in the plan.
        places = 1_000 * (len(self.pred) + len(self.ref)) ** 2
        by_order = self.pred_edges.source == 'order'
        match = partial(order_match, rank=self.pred_ranks) if by_order else graph_match
        return match(
            pred,
            ref,
            weights=weights,
            prefer=lambda i, j: self._args_f1(i, j) - abs(i - j) / places,
            prefer_at_most=lambda i, j: 1.0 - abs(i - j) / places,
            budget=budget,
        )

    def _args_f1(self, pred: int, ref: int) -> float:
        if len(self.pred) * len(self.ref) > MAX_ARGUMENT_PAIRS:
            return float(self._equal(self.pred.steps[pred].args, self.ref.steps[ref]))
        return self.arguments.compare(pred, ref).f1

    def _label(self, step: Step, known: dict[str, list[Any]]) -> str:
        """The tool's name, and which of its different calls this is."""
        calls = known.setdefault(step.name, [])
        for number, other in enumerate(calls):
            if self._equal(step.args, other):
                return f'{step.name}#{number}'
        calls.append(step)
        return f'{step.name}#{len(calls) - 1}'

    def _equal(self, args: object, golden: Step) -> bool:
        return self.reading.rules.equal(args, golden.args, tool=golden.name)
