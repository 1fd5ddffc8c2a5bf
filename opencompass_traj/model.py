"""A recorded agent as an OpenCompass model: it answers from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.models.base import BaseModel
from opencompass.registry import MODELS
from opencompass.utils import get_logger

from opencompass_traj.files import Fields
from opencompass_traj.recordings import pairing_problems, read_recording
from opencompass_traj.tasks import read_tasks


@MODELS.register_module()
class RecordedAgent(BaseModel):  # type: ignore[misc]
    """Replays the answers that an agent gave before, so that its runs are compared without inference.

    Args:
        path: The recording, or one for each file of `tasks`; see `recordings.read_recording`.
        tasks: The golden file that the recording answers, the same `path` as the dataset's; or a list of them.
        fields: Where the values are in recordings with other keys; see `files.read_rows`.
        task_fields: The same for the golden files; the dataset's own `fields`.
        missing: What to do where a task has no recorded answer: `error`, or `unreadable`: it is logged, and counts as
            an answer that cannot be read, which scores 0.
        extra: What to do with recorded answers that belong to no task: `error`, or `ignore`: they are logged.
        max_seq_len: OpenCompass' argument; nothing is cut here.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file is unsound, or recording and tasks do not pair up; the samples are named.
    """

    def __init__(
        self,
        path: str | Sequence[str],
        tasks: str | Sequence[str],
        *,
        fields: Fields | None = None,
        task_fields: Fields | None = None,
        missing: str = 'error',
        extra: str = 'error',
        max_seq_len: int = 1_000_000,
    ) -> None:
        recordings, golden = _as_list(path), _as_list(tasks)
        if len(recordings) != len(golden):
            raise ValueError(f'expected a recording for each golden file, got {len(recordings)} and {len(golden)}')
        super().__init__(path=', '.join(recordings), max_seq_len=max_seq_len)
        _one_of('missing', missing, ('error', 'unreadable'))
        _one_of('extra', extra, ('error', 'ignore'))
        self._fields, self._task_fields = fields, task_fields
        self._answers: dict[str, str] = {}
        for recording, file in zip(recordings, golden, strict=True):
            self._add(recording, file, missing_is_fatal=missing == 'error', extra_is_fatal=extra == 'error')

    def generate_from_template(self, templates: Sequence[Any], max_out_len: int = 0, **_options: Any) -> list[str]:
        """Answer each chat or prompt with what was recorded for it.

        Raises:
            ValueError: If a prompt is none of the tasks'.
        """
        return [self._answer(_last_text(template)) for template in templates]

    def generate(self, inputs: Sequence[Any], max_out_len: int = 0, **_options: Any) -> list[str]:
        """Answer prompts; see `generate_from_template`."""
        return self.generate_from_template(inputs, max_out_len)

    def get_token_len(self, prompt: str) -> int:
        """Length in words, for OpenCompass' batching."""
        return len(prompt.split())

    def _add(self, recording: str, golden: str, *, missing_is_fatal: bool, extra_is_fatal: bool) -> None:
        asked = read_tasks(golden, fields=self._task_fields)
        answers = read_recording(recording, fields=self._fields, tasks=asked)
        absent, unknown = pairing_problems(list(answers), [task.id for task in asked])
        _report(recording, 'no recorded answer for', absent, fatal=missing_is_fatal)
        _report(recording, 'recorded answers to no task:', unknown, fatal=extra_is_fatal)
        for task in asked:
            answer = answers.get(task.id, '')
            if self._answers.setdefault(task.prompt, answer) != answer:
                raise ValueError(f'{golden}: sample {task.id!r} has the prompt of another sample, and another answer')

    def _answer(self, prompt: str) -> str:
        if prompt not in self._answers:
            raise ValueError(f'{self.path}: no task of `tasks` is asked by {prompt!r:.200}')
        return self._answers[prompt]


def _as_list(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _last_text(template: Any) -> str:
    if isinstance(template, str):
        return template
    last = template[-1]
    if isinstance(last, Mapping):
        return str(last.get('content', last.get('prompt', '')))
    return str(last)


def _report(path: str, what: str, samples: Sequence[str], *, fatal: bool) -> None:
    if not samples:
        return
    message = f'{path}: {what} {len(samples)} samples: {", ".join(map(repr, samples[:20]))}'
    if fatal:
        raise ValueError(message)
    get_logger().warning(message)


def _one_of(argument: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f'expected `{argument}` to be one of {", ".join(known)}, got {value!r}')
