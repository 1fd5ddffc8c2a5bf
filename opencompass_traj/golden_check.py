"""What a config's datasets are scored against, checked before the first answer is asked for.

A dataset is otherwise read when its task begins, behind the answers of the tasks before it; an evaluator, and what only
its options can find wrong in golden plans, when all answers are paid for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from mmengine.config import Config
from opencompass.registry import ICL_EVALUATORS
from opencompass.utils import build_dataset_from_cfg

from opencompass_traj.evaluator import PLANNING_ENCODERS, SUBSETS, TrajectoryPlanningEvaluator
from opencompass_traj.files import Fault, listed
from opencompass_traj.plain_text import plain
from opencompass_traj.shards import shard_of
from opencompass_traj.validation import Checked, Validation

# Of a dataset's config: what changes neither its golden plans nor how they are scored.
_INDIFFERENT: Final = ('abbr', 'infer_cfg', 'shard', 'shards')
# What code that builds something from a config may raise.
_OF_CODE: Final = (
    ArithmeticError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError, SyntaxError, TypeError,
    ValueError,
)  # fmt: skip
MAX_CHARS: Final = 400
_ALL: Final = '(`python -m opencompass_traj validate CONFIG --json` lists all)'


def check_golden(datasets: Iterable[Mapping[str, Any]]) -> Validation:
    """Build datasets and their evaluators as OpenCompass' tasks would, and check the golden plans by both.

    Args:
        datasets: Their configs. Only those that `TrajectoryPlanningEvaluator` scores are looked at; shards of one
            dataset are looked at once, as a whole.

    Returns:
        For each dataset, by its name, what is wrong with it.
    """
    found: dict[str, Checked] = {}
    for dataset in datasets:
        whole = _whole(dataset)
        key = repr(sorted((name, repr(value)) for name, value in whole.items() if name not in _INDIFFERENT))
        if key not in found and _is_ours(_evaluator_config(whole)):
            found[key] = _checked(whole)
    return Validation(tuple(found.values()))


def check_config(path: Path) -> Validation:
    """Check the golden plans of all datasets of a config; see `check_golden`.

    Args:
        path: The config. It is run, as `opencompass` runs it.

    Raises:
        ValueError: If it cannot be run, or none of its datasets is scored by `TrajectoryPlanningEvaluator`.
    """
    try:
        config = Config.fromfile(str(path), format_python_code=False)
    except _OF_CODE as error:
        raise ValueError(f'{path}: the config cannot be run: {type(error).__name__}: {error}') from error
    found = check_golden(config.get('datasets') or [])
    if not found.files:
        raise ValueError(f'{path}: expected `datasets` that TrajectoryPlanningEvaluator scores, got none')
    return found


def refuse_unsound(datasets: Iterable[Mapping[str, Any]]) -> None:
    """Raise `ValueError` with all that is wrong with the datasets' golden plans or their evaluators' options."""
    unsound = [one for one in check_golden(datasets).files if one.faults]
    if unsound:
        texts = [listed(one.file, [plain(str(fault), limit=MAX_CHARS) for fault in one.faults]) for one in unsound]
        raise ValueError('\n'.join(['golden data or options are unsound, so no answer is asked for:', *texts, _ALL]))


def _whole(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """The config of the dataset that a shard is a part of, and any other as it is."""
    config = dict(dataset)
    part = shard_of(str(config.get('abbr')))
    if part is None or (config.get('shard'), config.get('shards')) != (part.shard, part.shards):
        return config
    return {**config, 'abbr': part.dataset, 'shard': 0, 'shards': 1}


def _evaluator_config(dataset: Mapping[str, Any]) -> Mapping[str, Any]:
    return (dataset.get('eval_cfg') or {}).get('evaluator') or {}


def _is_ours(evaluator: Mapping[str, Any]) -> bool:
    """Whether golden plans are scored here; an evaluator that hands them to T-Eval's loads an encoder when built."""
    if evaluator.get('subset') in set(SUBSETS) - set(PLANNING_ENCODERS):
        return False
    kind = evaluator.get('type')
    if isinstance(kind, str):
        kind = ICL_EVALUATORS.get(kind)
    return isinstance(kind, type) and issubclass(kind, TrajectoryPlanningEvaluator)


def _checked(dataset: Mapping[str, Any]) -> Checked:
    name = str(dataset.get('abbr') or dataset.get('path') or dataset.get('type'))
    samples = 0
    try:
        evaluator = ICL_EVALUATORS.build(copy.deepcopy(_evaluator_config(dataset)))
        references = _references(dataset)
        samples = len(references)
        evaluator.check_references(references)
    except _OF_CODE as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return Checked(name, 0, tuple(Fault('', None, line) for line in lines or [type(error).__name__]))
    return Checked(name, samples, ())


def _references(dataset: Mapping[str, Any]) -> Sequence[object]:
    """What OpenCompass' evaluation task takes for the references of a dataset."""
    with _no_bars():
        built = build_dataset_from_cfg(dict(dataset))
    column = built.reader.output_column
    postprocessor = (dataset.get('eval_cfg') or {}).get('dataset_postprocessor')
    # It may make references of anything: then they are checked when they are scored.
    return () if column is None or postprocessor else list(built.test[column])


@contextmanager
def _no_bars() -> Iterator[None]:
    """Without the progress bars of `datasets`, which will be shown when the task reads the dataset."""
    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
