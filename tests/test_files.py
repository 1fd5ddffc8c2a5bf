"""Golden and recorded files: the formats that are read, and every fault by its name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.files import MAX_NAMED_PROBLEMS, resolve_path
from opencompass_traj.recordings import pairing_problems, read_recording
from opencompass_traj.tasks import DEFAULT_INSTRUCTION, read_tasks
from tests.data import shared_data

STEPS = [
    {'id': 0, 'prev': [], 'name': 'search', 'args': {'q': 'x'}},
    {'id': 1, 'prev': [0], 'name': 'book', 'args': {}},
]


def write(folder: Path, name: str, content: Any) -> str:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    path.write_text(text, encoding='utf-8')
    return str(path)


def lines(*rows: Any) -> str:
    return '\n'.join(json.dumps(row, ensure_ascii=False) for row in rows)


def task(key: str, **more: Any) -> dict[str, Any]:
    return {'id': key, 'query': f'do {key}', 'ground_truth': STEPS, **more}


# ---------------------------------------------------------------- paths


def test_a_path_is_absolute_or_relative_to_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 'a.json', '{}')
    monkeypatch.chdir(tmp_path)
    assert resolve_path(path) == resolve_path('a.json') == resolve_path('./a.json') == Path(path)
    assert resolve_path('a.json').is_absolute()


def test_a_path_may_be_relative_to_the_data_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'cache').mkdir()
    cached = write(tmp_path / 'cache', 'b.json', '{}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'cache'))
    assert resolve_path('b.json') == Path(cached)
    here = write(tmp_path, 'b.json', '{}')
    assert resolve_path('b.json') == Path(here)


def test_a_path_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HOME', str(tmp_path))
    path = write(tmp_path, 'c.json', '{}')
    assert resolve_path('~/c.json') == Path(path)


def test_a_path_may_lie_in_a_package() -> None:
    found = resolve_path('package:opencompass_traj/data/demo/tasks.jsonl')
    assert found.name == 'tasks.jsonl'
    assert found.is_file()


def test_a_missing_file_names_each_place_that_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(tmp_path / 'cache'))
    with pytest.raises(FileNotFoundError, match=r"no file 'none.json'") as caught:
        resolve_path('none.json')
    assert str(tmp_path / 'none.json') in str(caught.value)
    assert str(tmp_path / 'cache' / 'none.json') in str(caught.value)


@pytest.mark.parametrize(
    ('path', 'expected'),
    [
        ('package:opencompass_traj/data/none.jsonl', 'opencompass_traj/data/none.jsonl'),
        ('package:no_such_package/x.json', 'looked for an installed package'),
        ('package:opencompass_traj', "no file 'package:opencompass_traj'"),
    ],
)
def test_a_missing_packaged_file_is_named(path: str, expected: str) -> None:
    with pytest.raises(FileNotFoundError, match=expected):
        resolve_path(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        resolve_path(str(tmp_path))


# ---------------------------------------------------------------- golden files


def test_three_formats_hold_the_same_tasks(tmp_path: Path) -> None:
    rows = [task('one'), task('zwei', query='订一张票 🚆')]
    files = [
        write(tmp_path, 'a.jsonl', lines(*rows)),
        write(tmp_path, 'b.jsonl', '\ufeff' + lines(rows[0]) + '\r\n\n' + lines(rows[1]) + '\n\n'),
        write(tmp_path, 'c.json', rows),
        write(tmp_path, 'd.json', {row['id']: {k: v for k, v in row.items() if k != 'id'} for row in rows}),
    ]
    read = [read_tasks(file) for file in files]
    for tasks in read:
        assert [(one.id, one.prompt) for one in tasks] == [('one', 'do one'), ('zwei', '订一张票 🚆')]
        assert tasks[0].record['ground_truth'] == STEPS
        assert tasks[0].record['id'] == 'one'
        assert tasks[0].messages == read[0][0].messages


def test_unicode_line_ends_within_a_text_are_no_ends_of_lines(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', lines(task('one', query='a\u2028b\x85c\x0bd'), task('two')))
    assert [one.id for one in read_tasks(path)] == ['one', 'two']


def test_the_instruction_lists_the_tools(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', lines(task('one'), task('two', tools=['pay', {'name': 'look', 'args': ['x']}])))
    first, second = read_tasks(path)
    assert first.messages[0] == {
        'role': 'system',
        'content': DEFAULT_INSTRUCTION.replace('{tools}', '- book\n- search'),
    }
    assert second.messages[0]['content'].endswith('- pay\n- {"name": "look", "args": ["x"]}')
    assert first.messages[1] == {'role': 'user', 'content': 'do one'}
    own = read_tasks(path, instruction='Use {tools}; {braces} stay.')[0].messages[0]['content']
    assert own == 'Use - book\n- search; {braces} stay.'


def test_a_task_may_bring_its_own_chat(tmp_path: Path) -> None:
    chat = [{'role': 'system', 'content': 'be brief'}, {'role': 'user', 'content': 'ask'}]
    path = write(tmp_path, 'a.json', {'one': {'ground_truth': STEPS, 'origin_prompt': chat},
                                      'two': {'ground_truth': STEPS, 'origin_prompt': json.dumps(chat)}})  # fmt: skip
    for one in read_tasks(path):
        assert one.messages == tuple(chat)
        assert one.prompt == 'ask'


def test_queries_that_occur_twice_or_not_at_all_get_their_id(tmp_path: Path) -> None:
    rows = [task('a', query='same'), task('b', query='same'), task('c', query=' '), {'id': 'd', 'ground_truth': STEPS}]
    prompts = [one.prompt for one in read_tasks(write(tmp_path, 'a.json', rows))]
    assert prompts[:2] == ['same [a]', 'same [b]']
    assert 'c' in prompts[2]
    assert 'd' in prompts[3]
    assert len(set(prompts)) == 4


def test_a_single_task_without_a_query_is_asked_by_its_id(tmp_path: Path) -> None:
    one = read_tasks(write(tmp_path, 'a.json', [{'id': 'only', 'ground_truth': STEPS}]))[0]
    assert 'only' in one.prompt


def test_ids_may_be_numbers_and_ground_truth_text(tmp_path: Path) -> None:
    path = write(tmp_path, 'a.jsonl', lines({'id': 7, 'query': 'q', 'ground_truth': json.dumps(STEPS)}))
    one = read_tasks(path)[0]
    assert (one.id, one.record['id']) == ('7', '7')
    assert '- book\n- search' in one.messages[0]['content']


def test_tevals_own_file_is_read() -> None:
    tasks = read_tasks(str(shared_data('teval/plan_json_v1.json')))
    assert len(tasks) == 369
    assert len({one.id for one in tasks}) == 369
    assert all(one.messages and one.record['ground_truth'] for one in tasks)


@pytest.mark.parametrize(
    ('name', 'content', 'expected'),
    [
        ('a.jsonl', '{"id": 1', r'a.jsonl: the golden file is unsound:\n  line 1: expected JSON'),
        ('a.jsonl', lines(task('one')) + '\n{', r'is unsound:\n  line 2: expected JSON'),
        ('a.json', '{', 'a.json: expected JSON'),
        ('a.json', '3', 'a.json: expected a JSON object or list, got int'),
        ('a.json', '[' * 100_000, 'a.json: expected JSON'),
        ('a.json', '[]', 'a.json: expected at least one sample, got none'),
        ('a.json', '{}', 'a.json: expected at least one sample, got none'),
        ('a.jsonl', '\n\n', 'a.jsonl: expected at least one sample, got none'),
        ('a.jsonl', '[1]', 'line 1: expected an object, got list'),
        ('a.json', '["x"]', 'row 0: expected an object, got str'),
        ('a.json', '{"k": 3}', "sample 'k': expected an object, got int"),
        ('a.jsonl', lines({'query': 'q', 'ground_truth': STEPS}), 'line 1: expected an `id`'),
        ('a.jsonl', lines(task('one'), task('two'), task('one')), "sample 'one': 2 rows have this id"),
        ('a.json', [task('7'), {**task('x'), 'id': 7}], "sample '7': 2 rows have this id"),
        ('a.json', [{'id': 'one'}], "sample 'one': expected a `ground_truth`"),
        ('a.json', [task('one', meta='json')], "sample 'one': expected `meta` to be an object, got str"),
        (
            'a.json',
            [task('one', origin_prompt='no chat')],
            "sample 'one': expected `origin_prompt` to be a list of mess",
        ),
        ('a.json', [task('one', origin_prompt=[])], "sample 'one': expected `origin_prompt`"),
        ('a.json', [task('one', origin_prompt=[{'role': 'user'}])], "sample 'one': expected `origin_prompt`"),
        ('a.json', [task('one', ground_truth=3)], "sample 'one': expected a list of steps, got int"),
        ('a.json', [task('one', ground_truth=[{'id': 4, 'name': ''}])], "sample 'one': step 4: expected a name"),
        (
            'a.json',
            [task('one', ground_truth=[{'id': 0, 'name': 'A', 'prev': [9]}])],
            "sample 'one': step 0: `prev` names the unknown step 9",
        ),
    ],
)
def test_faults_name_the_file_the_sample_and_the_step(tmp_path: Path, name: str, content: Any, expected: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=expected) as caught:
        read_tasks(path)
    assert path in str(caught.value)


def test_all_faults_are_named_at_once_up_to_a_limit(tmp_path: Path) -> None:
    bad = {'id': 0, 'name': 'A', 'prev': [0]}
    path = write(tmp_path, 'a.json', [task('one', ground_truth=[bad]), task('two'), {'id': 'three'}])
    with pytest.raises(ValueError, match='the golden file is unsound') as caught:
        read_tasks(path)
    message = str(caught.value).splitlines()
    assert message[1:] == [
        "  row 0, sample 'one': step 0: depends on itself",
        "  row 2, sample 'three': expected a `ground_truth`",
    ]

    broken = write(tmp_path, 'c.jsonl', '{\n' + lines(task('one'), [1], task('one')) + '\n{"id": 3')
    with pytest.raises(ValueError, match='the golden file is unsound') as caught:
        read_tasks(broken)
    assert [line.strip().split(' (')[0] for line in str(caught.value).splitlines()[1:]] == [
        'line 1: expected JSON', 'line 3: expected an object, got list', 'line 5: expected JSON',
        "sample 'one': 2 rows have this id",
    ]  # fmt: skip

    many = write(tmp_path, 'b.json', [{'id': number} for number in range(MAX_NAMED_PROBLEMS + 7)])
    with pytest.raises(ValueError, match='… and 7 more') as caught:
        read_tasks(many)
    assert len(str(caught.value).splitlines()) == MAX_NAMED_PROBLEMS + 2


# ---------------------------------------------------------------- recordings


def test_four_formats_hold_the_same_answers(tmp_path: Path) -> None:
    rows = [{'id': 'one', 'prediction': 'text 慕尼黑'}, {'id': 2, 'prediction': STEPS}]
    answers = {'one': 'text 慕尼黑', '2': json.dumps(STEPS)}
    for name, content in {
        'a.jsonl': lines(*rows),
        'b.json': rows,
        'c.json': {'one': 'text 慕尼黑', '2': STEPS},
        'd.json': {'one': {'prediction': 'text 慕尼黑'}, '2': {'prediction': STEPS}},
    }.items():
        assert read_recording(write(tmp_path, name, content)) == answers, name


def test_empty_and_absent_answers_are_kept_as_they_are(tmp_path: Path) -> None:
    rows = [{'id': 'a', 'prediction': ''}, {'id': 'b', 'prediction': None}, {'id': 'c', 'prediction': []}]
    assert read_recording(write(tmp_path, 'a.json', rows)) == {'a': '', 'b': 'null', 'c': '[]'}


def test_a_key_that_starts_with_a_hash_is_a_key_like_any_other(tmp_path: Path) -> None:
    assert read_recording(write(tmp_path, 'a.json', {'#1': '[]', 'b': '[]'})) == {'#1': '[]', 'b': '[]'}


@pytest.mark.parametrize(
    ('content', 'expected'),
    [
        ([{'id': 'one'}], "the recording is unsound:\n  row 0, sample 'one': expected a `prediction`"),
        ([{'prediction': 'x'}], '0: expected an `id`'),
        ([{'id': 1, 'prediction': 'x'}, {'id': '1', 'prediction': 'y'}], "sample '1': 2 rows have this id"),
        (['x'], 'row 0: expected an object, got str'),
        ({}, 'expected at least one sample'),
    ],
)
def test_faults_of_a_recording_are_named(tmp_path: Path, content: Any, expected: str) -> None:
    path = write(tmp_path, 'rec.json', content)
    with pytest.raises(ValueError, match=expected) as caught:
        read_recording(path)
    assert path in str(caught.value)


def test_missing_files_are_missing_files() -> None:
    with pytest.raises(FileNotFoundError, match='no file'):
        read_recording('none.jsonl')
    with pytest.raises(FileNotFoundError, match='no file'):
        read_tasks('none.jsonl')


@pytest.mark.parametrize(
    ('recorded', 'tasks', 'absent', 'unknown'),
    [
        (['a', 'b'], ['b', 'a'], [], []),
        (['a'], ['c', 'a', 'b'], ['c', 'b'], []),
        (['z', 'a', 'y'], ['a'], [], ['z', 'y']),
        ([], [], [], []),
    ],
)
def test_pairing(recorded: list[str], tasks: list[str], absent: list[str], unknown: list[str]) -> None:
    assert pairing_problems(recorded, tasks) == (absent, unknown)


@pytest.mark.parametrize(
    ('more', 'step', 'expected'),
    [
        ({'forbiden': ['x']}, {}, 'expected `forbidden`, got the key `forbiden`'),
        ({}, {'optinal': True}, 'step at position 0: expected `optional`, got the key `optinal`'),
        ({}, {'prevs': []}, 'step at position 0: expected `prev`, got the key `prevs`'),
    ],
)
def test_a_misspelt_key_of_a_golden_record_is_named(tmp_path: Path, more: Any, step: Any, expected: str) -> None:
    record = {'id': 'one', 'ground_truth': [{'name': 'a', 'args': {}, **step}], **more}
    with pytest.raises(ValueError, match=re.escape(expected)):
        read_tasks(write(tmp_path, 'golden.json', [record]))


def test_other_keys_of_a_golden_record_are_the_authors_own(tmp_path: Path) -> None:
    record = {'id': 'one', 'ground_truth': [{'name': 'a', 'thought': 'x'}], 'tags': ['t'], 'difficulty': 3}
    (task,) = read_tasks(write(tmp_path, 'golden.json', [record]))
    assert task.record['difficulty'] == 3
