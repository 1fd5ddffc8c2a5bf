"""Which way a metric is better: more of it, or less."""

from __future__ import annotations

from typing import Final

LESS_IS_BETTER: Final = frozenset(
    {
        'redundant_steps',
        'missing_steps',
        'redundant_edges',
        'missing_edges',
        'forbidden_hits',
        'loop_rate',
        'repeated_steps',
        'retried_steps',
        'longest_loop',
        'step_ratio',
        'token_ratio',
        'latency_ratio',
        'cost_ratio',
        'tokens',
        'latency',
        'cost',
        'degraded_rate',
        'silent_degradation_rate',
        'recovered_rate',
        'unreadable_rate',
    }
)
"""The product's own metrics of which less is better; of all others, more is."""


def less_is_better(metric: str) -> bool:
    """Whether less of a metric is better.

    Args:
        metric: A key of the results. For one that the product does not know, its name decides: a distance or a count
            of what is redundant, missing or failed is better when it is less.

    Example:
        >>> less_is_better('redundant_steps'), less_is_better('trajectory_score'), less_is_better('my_distance')
        (True, False, True)
    """
    if metric in LESS_IS_BETTER:
        return True
    return metric.endswith(('_distance', '_errors')) or metric.startswith(('redundant_', 'missing_', 'failed_'))
