"""Golden trajectories as an OpenCompass dataset."""

from __future__ import annotations

import json
from typing import Any

from datasets import Dataset, DatasetDict
from opencompass.datasets.base import BaseDataset
from opencompass.datasets.teval import TEvalDataset
from opencompass.registry import LOAD_DATASET

from opencompass_traj.files import Fields
from opencompass_traj.shards import Shard, samples_of, shard_of
from opencompass_traj.tasks import DEFAULT_INSTRUCTION, read_tasks


@LOAD_DATASET.register_module()
class TrajectoryDataset(BaseDataset):  # type: ignore[misc]
    """Golden plans from a file; its columns are those of T-Eval's dataset, and `id`.

    `prompt` is the chat that leads up to the answer, `ground_truth` T-Eval's record as JSON text (as text, because
    Arrow would give every record the argument names of all others).

    Args:
        options: Of OpenCompass' datasets (`abbr`, `reader_cfg`, `k`, `n`), and those of `load`.

    Raises:
        ValueError: If a shard is not called as one: its results could not be joined.
    """

    def __init__(self, **options: Any) -> None:
        _check_name(options.get('abbr'), options.get('shard', 0), options.get('shards', 1))
        super().__init__(**options)

    @staticmethod
    def load(
        path: str,
        instruction: str = DEFAULT_INSTRUCTION,
        fields: Fields | None = None,
        *,
        shard: int = 0,
        shards: int = 1,
    ) -> DatasetDict:
        """Read and check a golden file.

        Args:
            path: See `files.resolve_path`; formats as in `tasks.read_tasks`.
            instruction: The system message for tasks that bring no prompt of their own.
            fields: Where the values are in files with other keys; see `files.read_rows`.
            shard: Which part of the samples to take, from 0; see `shards.samples_of`.
            shards: How many parts there are, at least 1. Every part is asked in the words of the whole dataset.

        Returns:
            The samples, as `test` and `train`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If anything in it is unsound (all faults are named), or there is no such part.
        """
        tasks = read_tasks(path, instruction=instruction, fields=fields)
        rows = [
            {
                'id': task.id,
                'prompt': [*task.messages, {'role': 'assistant', 'content': json.dumps(task.record['ground_truth'])}],
                'ground_truth': json.dumps(task.record),
            }
            for task in (tasks[number] for number in samples_of(len(tasks), shard, shards))
        ]
        samples = Dataset.from_list(rows)
        return DatasetDict({'test': samples, 'train': samples})


@LOAD_DATASET.register_module()
class ShardedTEvalDataset(TEvalDataset):  # type: ignore[misc]
    """OpenCompass' own T-Eval dataset, or a shard of it.

    Args:
        options: Of OpenCompass' T-Eval dataset (`abbr`, `reader_cfg`, `path`, `name`), `shard` and `shards`.

    Raises:
        ValueError: If a shard is not called as one, or there is no such part.
    """

    def __init__(self, **options: Any) -> None:
        _check_name(options.get('abbr'), options.get('shard', 0), options.get('shards', 1))
        super().__init__(**options)

    def load(self, path: str, name: str, *, shard: int = 0, shards: int = 1) -> DatasetDict:
        """Read a subset of T-Eval.

        Args:
            path: The folder of T-Eval's files.
            name: The subset, such as `plan_json_v1`.
            shard: As for `TrajectoryDataset.load`.
            shards: As for `TrajectoryDataset.load`.

        Returns:
            The samples, as `test` and `train`.
        """
        whole = super().load(path, name)
        chosen = samples_of(len(whole['test']), shard, shards)
        return DatasetDict({split: samples.select(chosen) for split, samples in whole.items()})


def _check_name(name: str | None, shard: int, shards: int) -> None:
    if shards == 1 or name is None:
        return
    found = shard_of(name)
    if found is None or (found.shard, found.shards) != (shard, shards):
        expected = Shard('<name>', shard, shards).name
        raise ValueError(f"expected `abbr` '{expected}' for shard {shard} of {shards}, got {name!r}")
