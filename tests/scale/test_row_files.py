"""Rows of a file of details: as in the file, with little of them in memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.report import row_files
from opencompass_traj.report.row_files import FileRow, file_rows
from opencompass_traj.scoring import Scorer, UnreadReferences
from tests.scale.corpora import corpus, symbolic

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=150),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def written(path: Path, rows: list[Any]) -> Path:
    path.write_bytes(b''.join(json.dumps(row).encode() + b'\n' for row in rows))
    return path


def exact(value: Any) -> str:
    """1, 1.0 and True are equal, and not the same."""
    return json.dumps(value)


@settings(max_examples=60)
@given(rows=st.lists(st.dictionaries(st.sampled_from(['a', 'b', 'c', '键', '']), VALUES, max_size=5), max_size=6))
def test_every_row_is_that_of_the_file(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.mktemp('rows') / 'x.details.jsonl', rows)
    found = file_rows(path, total=len(rows), replicas=1)
    for row, expected in zip(found, rows, strict=True):
        whole = {**expected, 'replica': 0}
        # Some of it is asked for before the rest is read.
        assert [(key in row, exact(row.get(key))) for key in ('c', 'none')] == [
            ('c' in whole, exact(whole.get('c'))), (False, 'null'),
        ]  # fmt: skip
        assert exact(dict(row)) == exact(whole) == exact({**row})
        assert row == whole
        assert len(row) == len(whole)
        assert list(row) == list(whole)


def test_a_key_that_there_is_not_raises_as_in_a_dict(tmp_path: Path) -> None:
    (row,) = file_rows(written(tmp_path / 'x.jsonl', [{'a': 1}]), total=1, replicas=1)
    with pytest.raises(KeyError, match='b'):
        row['b']
    assert repr(row) == "FileRow({'a': 1, 'replica': 0})"


def test_replicas_follow_each_other(tmp_path: Path) -> None:
    rows = file_rows(written(tmp_path / 'x.jsonl', [{'n': n} for n in range(6)]), total=6, replicas=3)
    assert [(row['n'], row['replica']) for row in rows] == [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)]


@pytest.mark.parametrize('total', [0, 1, 3])
def test_another_number_of_rows_is_an_error(tmp_path: Path, total: int) -> None:
    with pytest.raises(ValueError, match=f'2 rows, and the result says {total}'):
        file_rows(written(tmp_path / 'x.jsonl', [{}, {}]), total=total, replicas=1)


def test_a_file_that_was_changed_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path / 'x.jsonl', [{'a': ['long' * 50]}] * 3)
    rows = file_rows(path, total=3, replicas=1)
    path.write_text('{"b": 1}\n', encoding='utf-8')
    with pytest.raises(ValueError, match=r'x.jsonl: byte \d+: expected JSON'):
        rows[2]['a']


def test_numbers_and_short_texts_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictions, references = corpus(20)
    lines: list[str] = []
    found = Scorer(symbolic()).score(predictions, UnreadReferences(references), write=lines.append)
    path = tmp_path / 'x.jsonl'
    path.write_text(''.join(lines), encoding='utf-8')
    rows = file_rows(path, total=20, replicas=1)
    monkeypatch.setattr(row_files, 'details_at', lambda *_: pytest.fail('the file was read again'))
    for row in rows:
        assert row['sample'].startswith('q')
        assert row.get('none') is None
        assert row['tags'] == []
        for key in found.means:
            row.get(key)


def test_a_row_takes_little_memory(tmp_path: Path) -> None:
    predictions, references = corpus(100)
    lines: list[str] = []
    Scorer(symbolic()).score(predictions, UnreadReferences(references), write=lines.append)
    path = tmp_path / 'x.jsonl'
    path.write_text(''.join(lines), encoding='utf-8')

    def size(read: Any) -> int:
        tracemalloc.start()
        try:
            kept = read()
            assert len(kept) == 100
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    little = size(lambda: file_rows(path, total=100, replicas=1))
    whole = size(lambda: [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()])
    assert little < whole / 4
    assert isinstance(file_rows(path, total=100, replicas=1)[0], FileRow)
