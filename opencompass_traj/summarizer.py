"""OpenCompass' summary with the trajectory columns first."""

from __future__ import annotations

import importlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opencompass.summarizers import DefaultSummarizer
from opencompass.utils import dataset_abbr_from_cfg

from opencompass_traj.scoring import Efficiency, Outcome

LEADING_METRICS = (
    'trajectory_score',
    'sequence_similarity',
    'partial_order_similarity',
    'dag_similarity',
    'plan_f1',
    'causal_fidelity',
    'optimal_rate',
    'redundant_steps',
    'missing_steps',
    'redundant_edges',
    'missing_edges',
    'argument_f1',
    'effect_f1',
    'loop_rate',
    'repeated_steps',
    'forbidden_hits',
    'step_ratio',
    'token_ratio',
    'latency_ratio',
    'cost_ratio',
    'solved_rate',
    'degraded_rate',
    'silent_degradation_rate',
    'parse_rate',
    'recovered_rate',
    'unreadable_rate',
    'f1_score',
)
# Where a share of known samples is 0, the numbers that belong to it are not known either.
KNOWN_BY = {key: known for metric in (Efficiency, Outcome) for key, known in metric.sparse.items()}


class TrajectorySummarizer(DefaultSummarizer):  # type: ignore[misc]
    """OpenCompass' txt, csv and markdown summary of trajectory runs.

    Args:
        config: The run's config, given by OpenCompass.
        metrics: Rows for each dataset that has them, in order.
        dataset_abbrs: OpenCompass' own list of rows, put behind the trajectory rows.
        summary_groups: OpenCompass' groups.
        based_on: The module of a summarizer config whose rows and groups are taken over, such as
            `opencompass.configs.summarizers.teval`. (A config cannot read that one by `read_base()`: it calls a
            function, which mmengine's lazy configs refuse in a virtual environment.)

    Raises:
        ValueError: If `based_on` names no module with a `summarizer`.
    """

    def __init__(
        self,
        config: Any,
        metrics: Sequence[str] = LEADING_METRICS,
        dataset_abbrs: Sequence[Any] = (),
        summary_groups: Sequence[Any] = (),
        based_on: str | None = None,
    ) -> None:
        base = _summarizer_of(based_on) if based_on else {}
        super().__init__(config=config, summary_groups=[*base.get('summary_groups', ()), *summary_groups])
        self.metrics = list(metrics)
        self.further_rows = [*base.get('dataset_abbrs', ()), *dataset_abbrs]

    def _pick_up_results(self) -> Any:
        with _without_message(self.logger, 'unknown inferencer'):
            raw, parsed, metrics, modes = super()._pick_up_results()
        for result in (result for results in parsed.values() for result in results.values()):
            result.update({key: math.nan for key, known in KNOWN_BY.items() if result.get(known) == 0})
        # OpenCompass knows the mode of three inferencers; T-Eval's chat inferencer, used here too, generates.
        modes.update({abbr: 'gen' for abbr, mode in modes.items() if mode == 'unknown'})
        abbrs = [dataset_abbr_from_cfg(dataset) for dataset in self.dataset_cfgs]
        rows = [
            [abbr, metric]
            for abbr in abbrs
            for metric in self.metrics
            if metric in metrics.get(abbr, ()) and _known(parsed, abbr, metric)
        ]
        # A dataset without a result keeps a row of dashes, and one that none of our metrics scored its first number.
        others = [abbr for abbr in abbrs if not any(abbr == row[0] for row in rows)] if not self.further_rows else []
        self.dataset_abbrs = [*rows, *others, *self.further_rows]
        return raw, parsed, metrics, modes

    def _format_table(self, *arguments: Any, **options: Any) -> list[list[str]]:
        table = super()._format_table(*arguments, **options)
        return [['-' if cell == 'nan' else cell for cell in row] for row in table]


def _known(parsed: Mapping[str, Mapping[str, Mapping[str, float]]], abbr: str, metric: str) -> bool:
    """Whether any model has the number."""
    return not all(math.isnan(results[abbr][metric]) for results in parsed.values() if abbr in results)


def _summarizer_of(module: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = importlib.import_module(module).summarizer
    except (ImportError, AttributeError) as error:
        raise ValueError(f'expected `based_on` to be a module with a `summarizer`, got {module!r} ({error})') from error
    return found


@contextmanager
def _without_message(logger: logging.Logger, text: str) -> Iterator[None]:
    """Leave out one warning that a reader can do nothing about."""

    def keep(record: logging.LogRecord) -> bool:
        return text not in record.getMessage()

    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)
