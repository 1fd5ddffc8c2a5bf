"""OpenCompass' summary with the trajectory columns first, and what stands beside it: intervals, comparisons, causes."""

from __future__ import annotations

import copy
import importlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass.summarizers import DefaultSummarizer
from opencompass.summarizers.default import (
    METRIC_BLACKLIST,
    METRIC_WHITELIST,
    model_abbr_from_cfg_used_in_summarizer,
)
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg
from opencompass.utils.prompt import get_prompt_hash

from opencompass_traj.exit_codes import FAULTS_FOUND
from opencompass_traj.report.gate import Gate
from opencompass_traj.report.junit import as_junit
from opencompass_traj.report.page import write_report
from opencompass_traj.report.page_overview import Findings
from opencompass_traj.report.results import further_keys
from opencompass_traj.report.runs import Run, TaskResult, read_run
from opencompass_traj.report.summary import analyse, write_tables
from opencompass_traj.report.summary_text import summary_text
from opencompass_traj.scoring import Efficiency, Outcome
from opencompass_traj.shards import shard_groups
from opencompass_traj.terminal import write, write_file

# Of each model the results by dataset; which numbers a dataset's results have; how it was inferred.
Picked = tuple[dict[str, dict[str, Any]], dict[str, dict[str, dict[str, float]]], dict[str, list[str]], dict[str, str]]

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
    """OpenCompass' txt, csv and markdown summary of trajectory runs, and beside it what `docs/results.md` lists.

    A task without a result is a dash in the table, and is named with the reason from its log.

    Args:
        config: The run's config, given by OpenCompass.
        metrics: Rows for each dataset that has them, in order; None: `LEADING_METRICS`, and what the config
            asked for besides the default ones.
        dataset_abbrs: OpenCompass' own list of rows, put behind the trajectory rows.
        summary_groups: OpenCompass' groups.
        based_on: The module of a summarizer config whose rows and groups are taken over, such as
            `opencompass.configs.summarizers.teval`. (A config cannot read that one by `read_base()`: it calls a
            function, which mmengine's lazy configs refuse in a virtual environment.)
        report: Whether the HTML report is written.
        language: The language that the report opens in, `en` or `zh`.
        gate: What the run must show, as `report.gate.Gate` takes it: `dict(min=dict(trajectory_score=80))`. Where it
            does not, the command ends with exit code 1 once everything is written.

    Raises:
        ValueError: If `based_on` names no module with a `summarizer`, or the gate asks for something impossible.
    """

    def __init__(
        self,
        config: Any,
        metrics: Sequence[str] | None = None,
        dataset_abbrs: Sequence[Any] = (),
        summary_groups: Sequence[Any] = (),
        based_on: str | None = None,
        *,
        report: bool = True,
        language: str = 'en',
        gate: Mapping[str, Any] | None = None,
    ) -> None:
        base = _summarizer_of(based_on) if based_on else {}
        super().__init__(config=config, summary_groups=[*base.get('summary_groups', ()), *summary_groups])
        self.metrics = list(LEADING_METRICS if metrics is None else metrics)
        self.shows_further = metrics is None
        self.further_rows = [*base.get('dataset_abbrs', ()), *dataset_abbrs]
        self.report = report
        self.language = language
        self.gate = None if gate is None else Gate(**_plain(gate))

    def summarize(self, output_path: str | None = None, time_str: str | None = None) -> None:
        """Write the summary and all that stands beside it; OpenCompass calls it.

        Args:
            output_path: The text file, of which the other files' names are made; None: `summary/summary_<time>.txt`.
            time_str: The time stamp in the files' names.

        Raises:
            SystemExit: With code 1, if there is a gate and the run does not pass it.
        """
        stamp = time_str or datetime.now().strftime('%Y%m%d_%H%M%S')
        super().summarize(output_path, stamp)
        base = Path(output_path or Path(self.work_dir) / 'summary' / f'summary_{stamp}.txt').with_suffix('')
        analysis = analyse(self.run, [*self.metrics, *self._further()])
        files = write_tables(analysis, base)
        write(f'\n{summary_text(analysis, files=base.name)}')
        if self.report:
            findings = Findings(analysis.intervals, analysis.comparisons)
            page = base.with_suffix('.html')
            files.append(write_report(self.run, page, language=self.language, findings=findings))
        for file in files:
            self.logger.info(f'write {file.absolute()}')
        if self.gate is not None:
            self._check(self.gate, base)

    def _check(self, gate: Gate, base: Path) -> None:
        result = gate.check(self.run)
        write(f'\n{result.text}')
        write_file(f'{base}_gate.txt', result.text)
        write_file(f'{base}_gate.xml', as_junit(result))
        self.logger.info(f'write {base.absolute()}_gate.xml')
        if not result.passed:
            raise SystemExit(FAULTS_FOUND)

    @cached_property
    def run(self) -> Run:
        """The tasks of this config, by the names that the summary shows; the shards of a dataset are one task."""
        names = {model_abbr_from_cfg(one): model_abbr_from_cfg_used_in_summarizer(one) for one in self.model_cfgs}
        datasets = [dataset_abbr_from_cfg(dataset) for dataset in self.dataset_cfgs]
        run = read_run(self.work_dir, expected=[(model, dataset) for model in names for dataset in datasets])
        wanted = {*datasets, *shard_groups(datasets)}
        ours = (task for task in run.tasks if task.model in names and task.dataset in wanted)
        return replace(run, tasks=tuple(replace(task, model=names[task.model]) for task in ours))

    def _pick_up_results(self) -> Picked:
        """What OpenCompass picks up, from the run as it was read.

        OpenCompass' own way stops at a file that is no JSON, and where the results of two models have not the same
        numbers; it names those of replicas otherwise, and knows no shards.
        """
        raw: dict[str, dict[str, Any]] = {model: {} for model in self.model_abbrs}
        parsed: dict[str, dict[str, dict[str, float]]] = {model: {} for model in self.model_abbrs}
        for task in self.run.tasks:
            raw[task.model][task.dataset] = {'error': task.failure} if task.failure else _as_written(task)
            if task.numbers:
                parsed[task.model][task.dataset] = dict(task.numbers)
        metrics = _common_metrics(parsed)
        self.dataset_abbrs = self._rows(parsed, metrics)
        return raw, parsed, metrics, self._modes()

    def _modes(self) -> dict[str, str]:
        without_models = copy.copy(self)
        without_models.model_cfgs = []
        with _without_message(self.logger, 'unknown inferencer'):
            *_, modes = super(TrajectorySummarizer, without_models)._pick_up_results()
        # OpenCompass knows the mode of three inferencers; T-Eval's chat inferencer, used here too, generates.
        modes = {abbr: 'gen' if mode == 'unknown' else mode for abbr, mode in modes.items()}
        joined = {dataset: modes[shards[0]] for dataset, shards in shard_groups(modes).items() if shards[0] in modes}
        return {**modes, **joined}

    def _rows(self, parsed: Mapping[str, Mapping[str, Any]], metrics: Mapping[str, Sequence[str]]) -> list[Any]:
        """The rows of the table: dataset and metric, or the dataset alone."""
        abbrs = self.run.datasets
        shown = [*self.metrics, *self._further()]
        rows = [
            [abbr, metric]
            for abbr in abbrs
            for metric in shown
            if metric in metrics.get(abbr, ()) and _known(parsed, abbr, metric)
        ]
        # A dataset without a result keeps a row of dashes, and one that none of our metrics scored its first number.
        others = [abbr for abbr in abbrs if not any(abbr == row[0] for row in rows)] if not self.further_rows else []
        return [*rows, *others, *self.further_rows]

    def _further(self) -> list[str]:
        ours = (task.numbers for task in self.run.scored if task.settings) if self.shows_further else ()
        return [key for key in further_keys(key for numbers in ours for key in numbers) if key not in self.metrics]

    def _format_table(self, *arguments: Any, **options: Any) -> list[list[str]]:
        table = super()._format_table(*arguments, **options)
        versions = self._versions_of_shards()
        for row in table:
            row[1] = versions.get(row[0], row[1])
        return [['-' if cell == 'nan' else cell for cell in row] for row in table]

    def _versions_of_shards(self) -> dict[str, str]:
        """The versions of the datasets that stand in the config as shards: OpenCompass looks for them by name."""
        configs = {dataset_abbr_from_cfg(dataset): dataset for dataset in self.dataset_cfgs}
        return {
            dataset: get_prompt_hash(configs[names[0]])[:6]
            for dataset, names in shard_groups(configs).items()
            if names[0] in configs
        }


def _as_written(task: TaskResult) -> dict[str, Any]:
    return {**task.numbers, **({'settings': dict(task.settings)} if task.settings else {})}


def _common_metrics(parsed: Mapping[str, Mapping[str, dict[str, float]]]) -> dict[str, list[str]]:
    """The numbers of each dataset, OpenCompass' main ones first; what is not known of a model becomes NaN there."""
    metrics: dict[str, list[str]] = {}
    for results in parsed.values():
        for abbr, numbers in results.items():
            numbers.update({key: math.nan for key, known in KNOWN_BY.items() if numbers.get(known) == 0})
            metrics[abbr] = list(dict.fromkeys([*metrics.get(abbr, ()), *numbers]))
    places = {key: place for place, key in enumerate(METRIC_WHITELIST)}
    for keys in metrics.values():
        keys[:] = sorted(
            (key for key in keys if key not in METRIC_BLACKLIST), key=lambda key: places.get(key, len(places))
        )
    for results in parsed.values():
        for abbr, numbers in results.items():
            numbers.update({key: math.nan for key in metrics[abbr] if key not in numbers})
    return metrics


def _plain(value: Any) -> Any:
    """A part of a config as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


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
