"""`validate`: all that is wrong with golden files and recordings, at once, with its file, place, sample and step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.command_line import main
from opencompass_traj.files import Fault, read_rows, scan_rows
from opencompass_traj.tasks import read_tasks
from opencompass_traj.validation import validate

GOOD = {'id': 'good', 'query': 'q', 'ground_truth': [{'name': 'search'}]}


def write(folder: Path, name: str, *rows: Any) -> str:
    """A file of JSON lines; a text stands for itself."""
    path = folder / name
    path.write_text('\n'.join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding='utf-8')
    return str(path)


def faults(path: str, **options: Any) -> list[str]:
    found = validate([path], **options)
    assert found.sound == (not found.faults)
    return [str(fault) for _, fault in found.faults]


def golden(**more: Any) -> dict[str, Any]:
    return {**GOOD, **more}


EVERY_FAULT = (
    GOOD,
    {'id': 'q1', 'ground_truth': [{'id': 0, 'name': 'search', 'prev': [0]}, {'id': 1, 'name': ''}]},
    '{"id": "q2", "id": "q3", "ground_truth": []}',
    '{"id": "q4", "ground_truth": [{"name": "a", "args": {"x": NaN}}]}',
    '{"id": "q5", "ground_truth": [{"name": "a", "args": {"x": -1e999}}]}',
    '{"id": "q6", "ground_tr',
    {'query': 'no id', 'ground_truth': []},
    [1],
    {'id': 'q1', 'ground_truth': [{'name': 'x', 'agrs': {}}], 'budgte': {'steps': 1}},
    {'id': 'q7', 'ground_truths': [[], [{'id': 1, 'name': 'a', 'prev': [2]}, {'id': 2, 'name': 'b'}]]},
)
ALL_NAMED = [
    "line 3: expected JSON (the key 'id' occurs twice in one object)",
    'line 4: expected JSON (the number NaN is none that JSON can hold)',
    'line 5: expected JSON (the number -1e999 is none that JSON can hold)',
    'line 6: expected JSON (Unterminated string starting at: line 1 column 14 (char 13))',
    'line 7: expected an `id`',
    'line 8: expected an object, got list',
    "sample 'q1': 2 rows have this id (line 2, line 9)",
    "line 2, sample 'q1': step 1: expected a name that is not empty",
    "line 2, sample 'q1': step 0: depends on itself",
    "line 9, sample 'q1': expected `budget`, got the key `budgte`",
    "line 9, sample 'q1': step at position 0: expected `args`, got the key `agrs`",
    "line 10, sample 'q7': golden plan 1: step 1 comes before step 2 that it depends on",
]


def test_every_fault_of_every_kind_is_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', *EVERY_FAULT)
    assert faults(path) == ALL_NAMED
    with pytest.raises(ValueError, match='the golden file is unsound') as caught:
        read_tasks(path)
    assert str(caught.value).split('\n  ')[1:] == ALL_NAMED


def test_a_fault_has_its_place_its_sample_and_its_step(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', *EVERY_FAULT)
    found = [(fault.place, fault.sample, fault.step) for _, fault in validate([path]).faults]
    assert found[0] == ('line 3', None, None)
    assert found[6] == ('', 'q1', None)
    assert found[7:] == [
        ('line 2', 'q1', '1'), ('line 2', 'q1', '0'), ('line 9', 'q1', None), ('line 9', 'q1', 'at position 0'),
        ('line 10', 'q7', '1'),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('record', 'expected'),
    [
        (golden(forbidden=['sea*']), "expected `forbidden` to name no tool of the golden plan, got 'search'"),
        (golden(forbidden='search'), "expected `forbidden` to be a list of tool names or patterns, got 'search'"),
        (golden(meta={'prompt_type': 'xml'}), 'expected `meta.prompt_type` to be one of json, str, ReWOO'),
        (golden(meta={'prompt_type': ['json']}), "expected `meta.prompt_type` to be one of json, str, ReWOO, got ['js"),
        (golden(meta={'prompt_type': 'str'}), "expected `meta.API_list` to name the tools, as prompt type 'str' needs"),
        (golden(meta={'API_list': 7}), 'expected `meta.API_list` to be a list of tools, got 7'),
        (golden(meta=[]), 'expected `meta` to be an object, got list'),
        (golden(budget={'steps': 0}), 'expected `budget.steps` to be a number above 0, got 0'),
        (golden(origin_prompt='no chat'), 'expected `origin_prompt` to be a list of messages'),
        (golden(Ground_Truths=[[]]), 'expected `ground_truths`, got the key `Ground_Truths`'),
        (golden(ground_truth=[{'name': 'a', 'id': True}]), 'step at position 0: expected an id that is an integer'),
        (golden(ground_truth=[{'name': 'a', 'prev': 3}]), 'step 0: expected `prev` to be a list of ids, got 3'),
        (golden(ground_truth=[{'name': 'a', 'turn': 'x'}]), "step 0: expected `turn` to be a whole number, got 'x'"),
        (golden(ground_truth='[' * 100_000), 'expected the JSON text of a list of steps'),
        (golden(ground_truth=None), 'expected a list of steps, got NoneType'),
    ],
)
def test_what_was_expected_is_said(tmp_path: Path, record: Any, expected: str) -> None:
    (fault,) = validate([write(tmp_path, 'a.jsonl', record)]).faults
    assert expected in str(fault[1])
    assert fault[1].place == 'line 1'
    assert fault[1].sample == 'good'


def test_faults_of_several_files_are_named_with_their_file(tmp_path: Path) -> None:
    paths = [write(tmp_path, 'a.jsonl', GOOD), write(tmp_path, 'b.json', '{"k": 3}'), str(tmp_path / 'none.json')]
    found = validate(paths)
    assert [one.samples for one in found.files] == [1, 0, 0]
    named = [(Path(file).name, str(fault)) for file, fault in found.faults]
    assert named[0] == ('b.json', "sample 'k': expected an object, got int")
    assert named[1][1].startswith('no file ')
    assert len(named) == 2


@pytest.mark.parametrize(
    ('content', 'expected'),
    [
        ('[' * 100_000, 'expected JSON'),
        ('{}', 'expected at least one sample, got none'),
        ('7', 'expected a JSON object or list, got int'),
        ('{"a": {"ground_truth": []}, "a": {"ground_truth": []}}', "the key 'a' occurs twice in one object"),
    ],
)
def test_a_file_that_is_no_golden_file(tmp_path: Path, content: str, expected: str) -> None:
    (fault,) = faults(write(tmp_path, 'a.json', content))
    assert expected in fault


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / 'a.jsonl'
    path.write_bytes(b'{"id": "\xff\xfe"}')
    assert faults(str(path)) == ['expected UTF-8 text (invalid start byte at byte 8)']
    with pytest.raises(ValueError, match=r'a.jsonl: expected UTF-8 text'):
        read_rows(path)


def test_json_lines_are_known_by_what_they_hold(tmp_path: Path) -> None:
    for name in ('a.txt', 'a.json', 'a'):
        path = write(tmp_path, name, GOOD, {**GOOD, 'id': 'b'}, '{"id": "c"')
        assert [fault.split(' (')[0] for fault in faults(path)] == ['line 3: expected JSON']
        assert validate([path]).files[0].samples == 2
    # One line, or lines of one value, are no JSON lines.
    assert 'expected JSON' in faults(write(tmp_path, 'b.txt', '{"id": "c"'))[0]
    assert validate([write(tmp_path, 'c.json', '{', '"k": {"ground_truth": []}', '}')]).sound


def test_keys_that_nothing_reads_are_counted_and_are_no_faults(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', golden(difficulty=3), golden(id='b', difficulty=1, author='x'))
    found = validate([path])
    assert found.sound
    assert found.files[0].unread == (('author', 1), ('difficulty', 2))


def test_recordings_must_answer_every_task_and_no_other(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', GOOD, {**GOOD, 'id': 'b'})
    runs = write(tmp_path, 'r.jsonl', {'id': 'b', 'prediction': '[]'}, {'id': 'c', 'prediction': '[]'}, {'id': 'd'})
    found = validate([path], recordings=[runs])
    assert [str(fault) for _, fault in found.faults] == [
        "line 3, sample 'd': expected a `prediction`",
        "sample 'good': expected an answer, got none",
        "sample 'c': expected the id of a task",
    ]
    # Where the tasks are not all known, only what is wrong with the recording itself is.
    unsound = validate([write(tmp_path, 'b.jsonl', '{')], recordings=[runs])
    assert [str(fault) for file, fault in unsound.faults if file == runs] == [
        "line 3, sample 'd': expected a `prediction`"
    ]


def test_fields_say_where_the_values_are(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', {'task': 'x', 'gold': [{'name': 'a'}]}, {'gold': []})
    runs = write(tmp_path, 'r.jsonl', {'run': 'x', 'answer': '[]'})
    found = validate(
        [path],
        recordings=[runs],
        fields={'id': 'task', 'ground_truth': 'gold'},
        recording_fields={'id': 'run', 'prediction': 'answer'},
    )
    assert [str(fault) for _, fault in found.faults] == ["line 2: expected a value at 'task'"]


def test_a_huge_id_is_an_id(tmp_path: Path) -> None:
    rows, problems = scan_rows(Path(write(tmp_path, 'a.json', '[{"id": ' + '9' * 4000 + '}]')))
    assert rows[0].id == '9' * 4000
    assert not problems


def test_the_places_of_doubled_ids_are_cut_where_there_are_many(tmp_path: Path) -> None:
    _, problems = scan_rows(Path(write(tmp_path, 'a.jsonl', *[GOOD] * 7)))
    assert problems == [
        Fault('', 'good', '7 rows have this id (line 1, line 2, line 3, line 4, line 5, …)'),
    ]


# ---------------------------------------------------------------- the command


def test_the_command_says_it_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 'a.jsonl', *EVERY_FAULT)
    good = write(tmp_path, 'b.jsonl', golden(author='x'))
    assert main(['validate', path, good]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f'{path}: 1 sound sample, {len(ALL_NAMED)} faults'
    assert [line.strip() for line in lines[1 : 1 + len(ALL_NAMED)]] == ALL_NAMED
    assert lines[-2] == f'{good}: 1 sound sample, no fault'
    assert lines[-1] == '  keys that nothing reads, with the samples that have them: author (1)'
    assert main(['validate', good]) == 0


def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 'a.jsonl', *EVERY_FAULT)
    runs = write(tmp_path, 'r.jsonl', {'id': 'good', 'prediction': '[]'})
    assert main(['validate', path, '--recordings', runs, '--json']) == 1
    found = json.loads(capsys.readouterr().out)
    assert found['sound'] is False
    assert len(found['files']) == 2
    assert found['files'][0]['faults'][8] == {
        'place': 'line 2', 'sample': 'q1', 'step': '0', 'problem': 'step 0: depends on itself',
    }  # fmt: skip


def test_hostile_names_are_escaped_and_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 'a.jsonl', {'id': 'a\x1b[31m' + 'b' * 1000, 'ground_truth': 3})
    assert main(['validate', path]) == 1
    out = capsys.readouterr().out
    assert '\x1b' not in out
    assert max(map(len, out.splitlines())) < 500
