"""One prediction beside its golden plan: what every metric looks at, each part computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opencompass_traj.edges import PredictedEdges, chain_graph, drop_finish, golden_graph, predicted_edges
from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions, step_similarity
from opencompass_traj.metrics.dag import GraphMatch, graph_match, order_match
from opencompass_traj.parsing.teval import PromptType, parse_prediction
from opencompass_traj.plan import ParseFailure, Plan, StepGraph

FINISH_NAMES = ('FinishAction',)


@dataclass(frozen=True, slots=True)
class Reference:
    """A golden plan, checked, with the record that it came in.

    Attributes:
        name: What to call the sample in messages: its id where it has one, else its number.
        record: T-Eval's record: `ground_truth`, and `meta` where there is one.
        written: The golden plan with its finish markers.
        prompt_type: How predictions are written: `json`, `str` or `ReWOO`.
        api_list: The tools that a `str` prediction may name.
    """

    name: str
    record: Mapping[str, Any]
    written: Plan
    prompt_type: PromptType = 'json'
    api_list: tuple[str, ...] = ()


@dataclass
class Comparison:
    """A prediction beside its golden plan.

    Attributes:
        prediction: What the agent gave, untouched.
        reference: The golden plan as it was read.
        match: When two steps count as the same.
        finish_names: Tools that only mark the end of a plan.
        vectors: Text vectors, where a metric asked for them.
        values: The numbers of the metrics before this one in the list, by key.
    """

    prediction: object
    reference: Reference
    match: MatchOptions = field(default_factory=MatchOptions)
    finish_names: tuple[str, ...] = FINISH_NAMES
    vectors: TextVectors | None = None
    values: dict[str, float] = field(default_factory=dict)

    @cached_property
    def parsed(self) -> Plan | ParseFailure:
        """The prediction as T-Eval reads it, finish markers included."""
        return parse_prediction(
            self.prediction, prompt_type=self.reference.prompt_type, api_list=self.reference.api_list
        )

    @property
    def failure(self) -> ParseFailure | None:
        """Why the prediction cannot be read; None where it can."""
        return self.parsed if isinstance(self.parsed, ParseFailure) else None

    @cached_property
    def pred(self) -> Plan:
        """The predicted plan without finish markers; empty where the prediction cannot be read."""
        return Plan() if isinstance(self.parsed, ParseFailure) else drop_finish(self.parsed, self.finish_names)

    @cached_property
    def ref(self) -> Plan:
        """The golden plan without finish markers."""
        return drop_finish(self.reference.written, self.finish_names)

    @cached_property
    def ref_graph(self) -> StepGraph:
        """The golden graph; a chain where the golden plan states no dependencies."""
        return golden_graph(self.ref) or chain_graph(self.ref)

    @cached_property
    def pred_edges(self) -> PredictedEdges:
        """The prediction's dependencies, and where they come from."""
        return predicted_edges(self.pred, golden_has_graph=self.ref.states_dependencies)

    @cached_property
    def similarity(self) -> NDArray[np.float64]:
        """How alike each predicted step (row) and golden step (column) are, by their texts' vectors.

        Raises:
            RuntimeError: If no metric in the list declares that it uses embeddings.
        """
        if self.vectors is None:
            raise RuntimeError('no text vectors: the metric that reads `similarity` must set `uses_embeddings = True`')
        return step_similarity(self.pred, self.ref, self.vectors, self.match)

    def graph_match(self, *, budget: float, weights: NDArray[np.float64] | None = None) -> GraphMatch:
        """Map the predicted graph to the golden one, by the rule that its `edge_source` asks for."""
        edges = self.pred_edges
        match = order_match if edges.source == 'order' else graph_match
        return match(edges.graph, self.ref_graph, weights=weights, prefer=self._prefer, budget=budget)

    def _prefer(self, pred: int, ref: int) -> float:
        """Between equally good mappings, equal arguments decide, then the place in the plan."""
        equal = self.pred.steps[pred].args == self.ref.steps[ref].args
        places = (len(self.pred) + len(self.ref)) ** 2
        return float(equal) - abs(pred - ref) / places
