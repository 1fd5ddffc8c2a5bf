"""Golden trajectories as an OpenCompass dataset."""

from __future__ import annotations

import json

from datasets import Dataset, DatasetDict
from opencompass.datasets.base import BaseDataset
from opencompass.registry import LOAD_DATASET

from opencompass_traj.files import Fields
from opencompass_traj.tasks import DEFAULT_INSTRUCTION, read_tasks


@LOAD_DATASET.register_module()
class TrajectoryDataset(BaseDataset):  # type: ignore[misc]
    """Golden plans from a file; its columns are those of T-Eval's dataset, and `id`.

    `prompt` is the chat that leads up to the answer, `ground_truth` T-Eval's record as JSON text (as text, because
    Arrow would give every record the argument names of all others).
    """

    @staticmethod
    def load(path: str, instruction: str = DEFAULT_INSTRUCTION, fields: Fields | None = None) -> DatasetDict:
        """Read and check a golden file.

        Args:
            path: See `files.resolve_path`; formats as in `tasks.read_tasks`.
            instruction: The system message for tasks that bring no prompt of their own.
            fields: Where the values are in files with other keys; see `files.read_rows`.

        Returns:
            The samples, as `test` and `train`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If anything in it is unsound; all faults are named.
        """
        rows = [
            {
                'id': task.id,
                'prompt': [*task.messages, {'role': 'assistant', 'content': json.dumps(task.record['ground_truth'])}],
                'ground_truth': json.dumps(task.record),
            }
            for task in read_tasks(path, instruction=instruction, fields=fields)
        ]
        samples = Dataset.from_list(rows)
        return DatasetDict({'test': samples, 'train': samples})
