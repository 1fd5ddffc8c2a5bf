"""The shards of a dataset as one task, so that a report, a gate and a notebook see the dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from opencompass_traj.shards import SAMPLES, join_results, shard_groups

if TYPE_CHECKING:
    from opencompass_traj.report.runs import TaskResult

MAX_NAMED = 3
"""Failed shards whose reasons are given."""


def join_tasks(tasks: Iterable[TaskResult], *, absent: Callable[[str, str], TaskResult]) -> list[TaskResult]:
    """Put the shards of each model's datasets together.

    Args:
        tasks: What was found; a shard is a task of its own.
        absent: The failed task of a model and a shard that is not among them.

    Returns:
        The tasks in the same order, a dataset where its first shard stood, its rows in the order of the samples. A
        dataset one of whose shards has no result is a failed task. Shards that do not say how many samples they have,
        or were scored with different settings, stay as they are.
    """
    known = {(task.model, task.dataset): task for task in tasks}
    joined: dict[tuple[str, str], TaskResult] = {}
    for model in dict.fromkeys(model for model, _ in known):
        for dataset, names in shard_groups(name for of, name in known if of == model).items():
            shards = [known.get((model, name)) or absent(model, name) for name in names]
            one = _joined(dataset, shards)
            joined.update({} if one is None else {(model, name): one for name in names})
    found: dict[tuple[str, str], TaskResult] = {}
    for key, task in known.items():
        one = joined.get(key, task)
        found.setdefault((one.model, one.dataset), one)
    return list(found.values())


def _joined(dataset: str, shards: Sequence[TaskResult]) -> TaskResult | None:
    failed = [shard for shard in shards if shard.failure]
    if failed:
        named = '; '.join(f'{shard.dataset}: {shard.failure}' for shard in failed[:MAX_NAMED])
        more = f'; and {len(failed) - MAX_NAMED} more' if len(failed) > MAX_NAMED else ''
        reason = f'{len(failed)} of {len(shards)} shards have no result: {named}{more}'
        return replace(failed[0], dataset=dataset, failure=reason)
    contents = [{**shard.numbers, SAMPLES: dict(shard.counts), 'settings': shard.settings} for shard in shards]
    try:
        whole = join_results(contents)
    except ValueError:
        return None
    return replace(
        shards[0],
        dataset=dataset,
        numbers={key: value for key, value in whole.items() if key not in {SAMPLES, 'settings'}},
        counts=whole[SAMPLES],
        rows=list(chain.from_iterable(shard.rows for shard in shards)),
        rates=frozenset().union(*(shard.rates for shard in shards)),
    )
