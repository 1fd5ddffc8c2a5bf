"""A run as pandas frames for notebooks, and as files for other tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opencompass_traj.report.analysis import intervals
from opencompass_traj.report.runs import Run, read_run
from opencompass_traj.whole_files import whole_file

if TYPE_CHECKING:
    import pandas as pd

EXPORT_SUFFIXES: Final = ('.jsonl', '.parquet')
# What tells rows apart comes first.
_KEYS: Final = ('model', 'dataset', 'sample', 'replica')


class Results(NamedTuple):
    """A run's frames.

    Attributes:
        samples: A row per sample, replica, model and dataset, a column per key of the details. Rates are in [0, 1], as
            in the details.
        summary: A row per model, dataset and metric: `value` as the summary shows it (rates 0 to 100), `low` and `high`
            of its 95 % interval, `tasks` that it is over. NaN: not known.
        failed: A row per task without a result, with the `reason`.
    """

    samples: pd.DataFrame
    summary: pd.DataFrame
    failed: pd.DataFrame


def load_results(path: str | Path, *, nested: bool = False) -> Results:
    """Load a run's results.

    Args:
        path: A run's `work_dir`, of whose time-stamped folders the newest is taken, or one such folder.
        nested: Whether `samples` has the columns that hold lists too, such as `alignment`, `pred_steps` and `tags`.

    Returns:
        The frames.

    Raises:
        FileNotFoundError: If there is no run.
    """
    run = read_run(path)
    return Results(samples_frame(run, nested=nested), summary_frame(run), _failed_frame(run))


def samples_frame(run: Run, *, nested: bool = False) -> pd.DataFrame:
    """The rows of all results as one frame; see `Results`."""
    import pandas as pd

    rows = [row if nested else {key: value for key, value in row.items() if _is_plain(value)} for row in _rows(run)]
    frame = pd.DataFrame(rows, columns=list(dict.fromkeys([*_KEYS, *(key for row in rows for key in row)])))
    # A number that is not known of any sample: a column of None, which is no number yet.
    unknown = [column for column in frame.columns if frame[column].dtype == object and frame[column].isna().all()]
    return frame.astype(dict.fromkeys(unknown, 'float64'))


def summary_frame(run: Run) -> pd.DataFrame:
    """The means of all results as one frame; see `Results`."""
    import pandas as pd

    found = intervals(run)
    rows = []
    for task in run.scored:
        known = found.get((task.model, task.dataset), {})
        for metric, value in task.numbers.items():
            one = known.get(metric)
            ends = (one.low, one.high, one.n) if one else (float('nan'), float('nan'), 0)
            unknown = one is not None and not one.n
            rows.append((task.model, task.dataset, metric, float('nan') if unknown else value, *ends))
    return pd.DataFrame(rows, columns=['model', 'dataset', 'metric', 'value', 'low', 'high', 'tasks'])


def export_samples(run: Run, path: str | Path) -> Path:
    """Write the rows of all results into one file.

    Args:
        run: The run.
        path: `.jsonl`: a row a line. `.parquet`: the columns of `samples_frame(nested=True)`, lists as JSON text.

    Returns:
        The file.

    Raises:
        ValueError: For another ending.
        OSError: If the file cannot be written.
    """
    file = Path(path)
    if file.suffix not in EXPORT_SUFFIXES:
        raise ValueError(f'expected a file that ends in {" or ".join(EXPORT_SUFFIXES)}, got {str(path)!r}')
    if file.suffix == '.jsonl':
        with whole_file(file) as temporary, temporary.open('w', encoding='utf-8', newline='\n') as stream:
            stream.writelines(json.dumps(row, ensure_ascii=False) + '\n' for row in _rows(run))
        return file
    frame = samples_frame(run, nested=True)
    for column in frame.columns:
        if _holds_lists(frame[column]):
            frame[column] = [_as_json(value) for value in frame[column]]
    with whole_file(file) as temporary:
        frame.to_parquet(temporary, index=False)
    return file


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    for task in run.scored:
        for row in task.rows:
            yield {'model': task.model, 'dataset': task.dataset, **{key: row[key] for key in _KEYS[2:]}, **row}


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _holds_lists(column: pd.Series[Any]) -> bool:
    return bool(column.map(lambda value: isinstance(value, list | dict)).any())


def _as_json(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else None


def _failed_frame(run: Run) -> pd.DataFrame:
    import pandas as pd

    rows = [(task.model, task.dataset, task.failure) for task in run.failed]
    return pd.DataFrame(rows, columns=['model', 'dataset', 'reason'])
