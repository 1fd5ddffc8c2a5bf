"""Which files a run's predictions depend on, and what is remembered of them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.run_inputs import (
    INPUTS_NAME,
    Made,
    changed_roles,
    digests,
    file_digest,
    input_files,
    named,
    read_made,
    write_made,
)


class MyTEvalDataset:
    """Stands for a class in a config."""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv('COMPASS_DATA_CACHE', raising=False)
    (tmp_path / 'golden.jsonl').write_text('1')
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'folder' / 'plan.json').write_text('2')
    return tmp_path


@pytest.mark.parametrize(
    ('model', 'dataset', 'expected'),
    [
        ({}, {}, {}),
        ({}, {'path': 'golden.jsonl'}, {'golden': 'golden.jsonl'}),
        ({}, {'path': 'folder', 'type': 'opencompass_traj.dataset.TrajectoryDataset'}, {'golden': 'folder'}),
        ({}, {'path': 'folder', 'type': 'SomeDataset'}, {}),
        ({}, {'path': 'folder', 'name': 'plan', 'type': 'a.TEvalDataset'}, {'golden': 'folder/plan.json'}),
        ({}, {'path': 'folder', 'name': 'plan', 'type': MyTEvalDataset}, {'golden': 'folder/plan.json'}),
        ({}, {'path': 'folder', 'name': 'other', 'type': 'TEvalDataset'}, {}),
        ({}, {'path': 'nowhere'}, {}),
        ({}, {'path': 'no\0name'}, {}),
        ({}, {'path': '~nobody-of-this-name/x'}, {}),
        ({}, {'path': 'package:no_such_package/x'}, {}),
        ({}, {'path': ['golden.jsonl']}, {}),
        ({'path': 'golden.jsonl'}, {}, {}),
        ({'path': 'golden.jsonl', 'tasks': 'x'}, {}, {'recording 0': 'golden.jsonl'}),
        ({'path': ['none', 'folder'], 'tasks': ['x', 'y']}, {}, {'recording 1': 'folder'}),
        ({'path': 3, 'tasks': 'x'}, {}, {}),
    ],
)
def test_the_files_that_predictions_depend_on(
    data: Path, model: dict[str, Any], dataset: dict[str, Any], expected: dict[str, str]
) -> None:
    assert input_files(model, dataset) == {role: data / path for role, path in expected.items()}


def test_a_file_s_digest_is_that_of_its_bytes(tmp_path: Path) -> None:
    content = bytes(range(256)) * 9_000
    (tmp_path / 'large').write_bytes(content)
    assert file_digest(tmp_path / 'large') == hashlib.sha256(content).hexdigest()
    assert file_digest(tmp_path / 'absent') == ''


def test_a_folder_s_digest_is_that_of_what_is_read_in_it(tmp_path: Path) -> None:
    (tmp_path / 'a.json').write_text('1')
    (tmp_path / 'b.jsonl').write_text('2')
    first = file_digest(tmp_path)
    (tmp_path / '.a.json.swp').write_text('an editor is open')
    (tmp_path / 'c.json').mkdir()
    assert file_digest(tmp_path) == first
    seen = {first}
    for change in (
        lambda: (tmp_path / 'a.json').write_text('3'),
        lambda: (tmp_path / 'b.jsonl').rename(tmp_path / 'd.jsonl'),
        lambda: (tmp_path / 'e.json').write_text(''),
    ):
        change()
        seen.add(file_digest(tmp_path))
    assert len(seen) == 4


@pytest.mark.parametrize(
    ('inputs', 'before', 'expected'),
    [
        ({}, {}, []),
        ({'golden': 'a'}, {'golden': 'a'}, []),
        ({'golden': 'a'}, {'golden': 'b'}, ['golden']),
        ({'golden': 'a'}, {}, []),
        ({}, {'golden': 'b'}, []),
        ({'golden': 'a', 'recording 0': 'c'}, {'golden': 'b', 'recording 0': 'd'}, ['golden', 'recording 0']),
    ],
)
def test_what_has_changed(inputs: dict[str, str], before: dict[str, str], expected: list[str]) -> None:
    assert changed_roles(inputs, before) == expected


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = {'b/two.json': Made({'golden': 'x'}, 'y'), 'a/one.json': Made()}
    write_made(tmp_path, made)
    assert read_made(tmp_path) == made
    assert [file.name for file in tmp_path.iterdir()] == [INPUTS_NAME]
    first = (tmp_path / INPUTS_NAME).read_bytes()
    write_made(tmp_path, dict(reversed(made.items())))
    assert (tmp_path / INPUTS_NAME).read_bytes() == first


def test_each_file_is_read_once(data: Path) -> None:
    known: dict[Path, str] = {}
    files = {'golden': data / 'golden.jsonl', 'recording 0': data / 'absent'}
    first = digests(files, known)
    (data / 'golden.jsonl').write_text('changed while it was looked at')
    assert digests(files, known) == first
    assert set(first) == {'golden'}
    assert named(files, first) == str(data / 'golden.jsonl')
