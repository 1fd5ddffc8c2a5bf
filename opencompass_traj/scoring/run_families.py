"""Metrics of how the run went, beside whether the plan was right: arguments, changes, loops, cost and outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from opencompass_traj.metrics import alternatives, dag, effects, efficiency, loops, outcome
from opencompass_traj.parsing.golden_options import GoldenOptions
from opencompass_traj.plan import Plan, Trajectory
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.metric import Metric

# A run of thousands of calls may have as many differences; a few say enough.
MAX_NAMED = 50


class Recovery(Metric):
    """`recovered_rate`, `unreadable_rate`: predictions that only a lenient reading could make a plan of, or none."""

    rates = ('recovered_rate', 'unreadable_rate')
    reads_prediction = True

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = comparison.trajectory
        return {
            'recovered_rate': float(isinstance(found, Trajectory) and found.recovered),
            'unreadable_rate': float(not isinstance(found, Trajectory)),
        }


class ArgumentMatch(Metric):
    """`argument_precision`, `argument_recall`, `argument_f1`, `args_exact_rate`; see `metrics.arguments`.

    The steps compared are those of the best graph mapping (same tool; among equals, the arguments decide).

    Args:
        budget: Search nodes of that mapping, at least 1.
    """

    rates = ('argument_precision', 'argument_recall', 'argument_f1', 'args_exact_rate')

    def __init__(self, *, budget: float = dag.DEFAULT_BUDGET) -> None:
        self.budget = budget

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = comparison.arguments.match(comparison.graph_match(budget=self.budget).mapping)
        names = comparison.ref_names
        differing = [step for step in found.steps if not step.exact]
        return {
            'argument_precision': found.precision,
            'argument_recall': found.recall,
            'argument_f1': found.f1,
            'args_exact_rate': found.exact_rate,
            'argument_differences': [
                {
                    'pred': step.pred,
                    'ref': step.ref,
                    'tool': names[step.ref],
                    'extra': list(step.extra),
                    'missing': list(step.missing),
                    'different': list(step.different),
                }
                for step in differing[:MAX_NAMED]
            ],
        }


class EffectMatch(Metric):
    """`effect_precision`, `effect_recall`, `effect_f1`, `effect_exact_rate`: what was changed; see `metrics.effects`.

    Args:
        effects: Patterns of the tools that change something; None lets the verb in the tool's name decide. A golden
            record's own `effects` and `lookups` go before these.
        lookups: Patterns of tools that change nothing, whatever else is said.
        ordered: Whether the changes must come in the golden order.
    """

    rates = ('effect_precision', 'effect_recall', 'effect_f1', 'effect_exact_rate')

    def __init__(
        self, effects: Sequence[str] | None = None, lookups: Sequence[str] = (), *, ordered: bool = False
    ) -> None:
        for patterns in (effects, lookups):
            _check_patterns(patterns)
        self._patterns = _patterns(effects, lookups)
        self.effects = None if effects is None else list(effects)
        self.lookups = list(lookups)
        self.ordered = ordered

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        pred, ref = comparison.pred, comparison.ref
        found = effects.effects(
            pred.steps,
            ref.steps,
            comparison.reading.rules,
            patterns=self._of(comparison.reference.options),
            ordered=self.ordered,
        )
        return {
            'effect_precision': found.score.precision,
            'effect_recall': found.score.recall,
            'effect_f1': found.score.f1,
            'effect_exact_rate': float(found.exact),
            'extra_effects': [f'{i} {comparison.pred_names[i]}' for i in found.extra[:MAX_NAMED]],
            'missing_effects': [f'{i} {comparison.ref_names[i]}' for i in found.missing[:MAX_NAMED]],
        }

    def _of(self, golden: GoldenOptions) -> effects.EffectPatterns:
        if golden.effects is None and not golden.lookups:
            return self._patterns
        stated = self.effects if golden.effects is None else golden.effects
        return _patterns(stated, golden.lookups or self.lookups)


class LoopDetection(Metric):
    """`loop_rate`, `repeated_steps`, `retried_steps`, `longest_loop`: calls made again and again; see `metrics.loops`.

    Args:
        near: How alike the arguments of nearly equal calls are at least, in [0, 1].
        min_repeats: How often a block of calls must be made to be a loop, at least 2.
        max_period: The longest block that is looked for, at least 1.
        max_retries: How many repetitions after a recorded error pass as retries, at least 0.
    """

    rates = ('loop_rate',)
    counts = ('repeated_steps', 'retried_steps', 'longest_loop')

    def __init__(
        self,
        *,
        near: float = loops.DEFAULT_NEAR,
        min_repeats: int = 2,
        max_period: int = loops.DEFAULT_MAX_PERIOD,
        max_retries: int = loops.DEFAULT_MAX_RETRIES,
    ) -> None:
        self.near = near
        self.min_repeats = min_repeats
        self.max_period = max_period
        self.max_retries = max_retries
        # An empty plan checks the options.
        self._find(Plan())

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = self._find(comparison.pred)
        longest = sorted(found.places, key=lambda place: -place.calls)[:MAX_NAMED]
        return {
            'loop_rate': float(found.has_loop),
            'repeated_steps': float(found.repeated_steps),
            'retried_steps': float(found.retries),
            'longest_loop': float(found.longest_loop),
            'recurring_steps': found.recurring_steps,
            'loops': [asdict(place) for place in sorted(longest, key=lambda place: place.start)],
        }

    def _find(self, plan: Plan) -> loops.Loops:
        return loops.find_loops(
            plan,
            near=self.near,
            min_repeats=self.min_repeats,
            max_period=self.max_period,
            max_retries=self.max_retries,
        )


class ForbiddenTools(Metric):
    """`forbidden_hits`: calls of tools that the golden record, or the config, forbids.

    Args:
        forbidden: Patterns that no run may call, beside those of the golden record.
    """

    counts = ('forbidden_hits',)

    def __init__(self, forbidden: Sequence[str] = ()) -> None:
        _check_patterns(forbidden)
        self.forbidden = list(forbidden)

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        patterns = (*comparison.reference.options.forbidden, *self.forbidden)
        hits = alternatives.forbidden_hits(comparison.pred_names, patterns)
        return {'forbidden_hits': float(len(hits)), 'forbidden_calls': hits[:MAX_NAMED]}


class Efficiency(Metric):
    """`step_ratio`, `token_ratio`, `latency_ratio`, `cost_ratio`: figures against the golden record's budget.

    A figure that is not recorded, or has nothing to be held against, is missing: it stays out of the mean, and the
    share of samples that have it is given beside it.
    """

    counts = ('step_ratio', 'token_ratio', 'latency_ratio', 'cost_ratio')
    sparse = MappingProxyType({key: key.replace('_ratio', '_known_rate') for key in counts})
    reads_prediction = True

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        options = comparison.reference.options
        steps = None if comparison.failure is not None else len(comparison.pred)
        found = efficiency.efficiency(
            efficiency.Figures.of(steps, comparison.run),
            efficiency.Figures.of(len(comparison.golden), options.budget),
            budget=efficiency.Figures(steps=options.steps),
        )
        return {
            'step_ratio': found.step_ratio,
            'token_ratio': found.token_ratio,
            'latency_ratio': found.latency_ratio,
            'cost_ratio': found.cost_ratio,
            'tokens': comparison.run.tokens,
            'latency': comparison.run.latency,
            'cost': comparison.run.cost,
        }


class Outcome(Metric):
    """`solved_rate`, `degraded_rate`, `silent_degradation_rate`: the right answer by a degraded path.

    `solved_rate` and `silent_degradation_rate` (solved, but degraded) are shares of the samples whose outcome is
    recorded; `degraded_rate` of all.

    Args:
        threshold: A path whose score is under it is degraded, in [0, 1].
        score_key: The rate that is the path's score; a metric before this one must give it.
    """

    rates = ('solved_rate', 'degraded_rate', 'silent_degradation_rate')
    sparse = MappingProxyType(dict.fromkeys(('solved_rate', 'silent_degradation_rate'), 'outcome_known_rate'))
    reads_prediction = True

    def __init__(self, threshold: float = outcome.DEFAULT_THRESHOLD, *, score_key: str = 'trajectory_score') -> None:
        if not 0 <= threshold <= 1:
            raise ValueError(f'expected `threshold` in [0, 1], got {threshold}')
        self.threshold = threshold
        self.score_key = score_key
        self.requires = (score_key,)

    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison; see `Metric.score`."""
        found = outcome.outcome(comparison.run.solved, comparison.values[self.score_key], threshold=self.threshold)
        return {
            'solved_rate': None if found.solved is None else float(found.solved),
            'degraded_rate': float(found.degraded),
            'silent_degradation_rate': None if found.solved is None else float(found.silent),
        }


def _check_patterns(patterns: Sequence[str] | None) -> None:
    if patterns is None or (not isinstance(patterns, str) and all(isinstance(pattern, str) for pattern in patterns)):
        return
    raise TypeError(f'expected a list of tool names or patterns, got {patterns!r:.80}')


def _patterns(effect: Sequence[str] | None, lookups: Sequence[str]) -> effects.EffectPatterns:
    return effects.EffectPatterns(None if effect is None else tuple(effect), tuple(lookups))
