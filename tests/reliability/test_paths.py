"""Names from data never lead to a write outside the folder that the user chose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencompass_traj.details import SUFFIX, DetailsFile
from opencompass_traj.report.frames import export_samples
from opencompass_traj.report.page import write_report
from opencompass_traj.report.runs import read_run
from opencompass_traj.report.summary import analyse, write_tables
from tests.report.run_files import BAD, GOOD, write_run

NAMES = ['../../escape', '/escape', '..', '../escape.json', 'a/../../../escape', 'escape\0', '~/escape']


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob('*') if file.is_file()}


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / 'a' / 'b' / 'run', {'good': GOOD, 'bad': BAD})


@pytest.mark.parametrize('name', NAMES)
def test_a_sample_s_id_is_no_path(tmp_path: Path, run_folder: Path, name: str) -> None:
    for file in (run_folder / 'results').rglob('*.json'):
        content = json.loads(file.read_text())
        for number, row in enumerate(content['details']):
            row['sample'] = f'{name}{number or ""}'
        file.write_text(json.dumps(content))
    before = files(tmp_path)
    run = read_run(run_folder)
    out = run_folder / 'summary'
    write_report(run, out / 'page.html')
    export_samples(run, out / 'samples.jsonl')
    write_tables(analyse(run, ['trajectory_score']), out / 'summary')
    after = files(tmp_path)
    assert {file: content for file, content in after.items() if not file.startswith('a/b/run/summary/')} == before
    written = [json.loads(line)['sample'] for line in (out / 'samples.jsonl').read_text().splitlines()]
    assert written.count(name) == 2


@pytest.mark.parametrize('name', [name for name in NAMES if '\0' not in name])
def test_the_names_of_models_and_datasets_are_no_place_to_write_to(tmp_path: Path, run_folder: Path, name: str) -> None:
    before = files(tmp_path)
    run = read_run(run_folder, expected=[(name, 'trips'), ('good', name), (name, name)])
    out = run_folder / 'summary'
    write_report(run, out / 'page.html')
    export_samples(run, out / 'samples.jsonl')
    after = files(tmp_path)
    assert {file: content for file, content in after.items() if not file.startswith('a/b/run/summary/')} == before


@pytest.mark.parametrize('name', NAMES)
def test_a_file_of_details_elsewhere_is_not_read(run_folder: Path, name: str) -> None:
    file = run_folder / 'results' / 'good' / 'trips.json'
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, 'details': [], 'details_file': {'name': name, 'rows': 1, 'replicas': 1}}))
    (task,) = [task for task in read_run(run_folder).tasks if task.model == 'good']
    assert not task.rows
    assert task.failure


def test_the_rows_of_details_do_not_say_where_they_go(tmp_path: Path) -> None:
    folder = tmp_path / 'a' / 'results'
    with DetailsFile(folder / f'trips{SUFFIX}') as file:
        file.write(json.dumps({'sample': '../../escape'}) + '\n')
    assert list(files(tmp_path)) == [f'a/results/trips{SUFFIX}']
