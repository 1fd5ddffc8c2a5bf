"""`python -m opencompass_traj inspect`: what it recognises, what it cannot read, and how it says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.command_line import main
from opencompass_traj.command_line.inspect import MAX_LISTED
from opencompass_traj.files import read_rows
from opencompass_traj.inspection import KEYLESS, counted, inspect_path
from opencompass_traj.parsing.trajectories import FORMATS
from opencompass_traj.plain_text import MAX_TEXT, plain
from tests.data import shared_data

DEMO = 'package:opencompass_traj/data/demo/'
HOSTILE = 'rm\x1b[31m\u202e\u200b\x07\x7f\x85\n'


def calls(*names: str, args: str = '{}') -> dict[str, Any]:
    return {
        'role': 'assistant',
        'tool_calls': [
            {'id': f'c{i}', 'type': 'function', 'function': {'name': name, 'arguments': args}}
            for i, name in enumerate(names)
        ],
    }


def result(content: str, call_id: str = 'c0') -> dict[str, Any]:
    return {'role': 'tool', 'tool_call_id': call_id, 'content': content}


def write(path: Path, *rows: Any) -> str:
    path.write_text('\n'.join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding='utf-8')
    return str(path)


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(['inspect', *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---------------------------------------------------------------- what is recognised


def test_a_run_with_all_that_can_be_recorded(tmp_path: Path) -> None:
    run = {
        'id': 'a',
        'messages': [calls('search', 'look'), result('Error: no'), result('yes', 'c1'), calls('book')],
        'reward': 1.0,
        'tokens': 70,
        'latency': 2,
        'cost': 0.5,
    }
    found = inspect_path(write(tmp_path / 'runs.jsonl', run))
    (sample,) = found.samples
    assert (sample.part, sample.id, sample.format, sample.reason) == ('prediction', 'a', 'openai', '')
    assert sample.plan.names == ('search', 'look', 'book')
    assert (sample.turns, sample.failed_calls) == (2, 1)
    record = sample.record
    assert (record.solved, record.tokens, record.latency, record.cost) == (True, 70, 2, 0.5)
    assert found.sound
    assert not found.one_run


@pytest.mark.parametrize(
    ('prediction', 'format_name', 'recovered', 'steps'),
    [
        ('[{"id": 0, "name": "a", "args": {}}]', 'teval', False, 1),
        ('Thought: x\nAction: search\nAction Input: {"q": 1}\nObservation: ok', 'react', True, 1),
        ([{'tool': 'a', 'param': {}}, {'tool': 'b', 'param': {}}], 'steps', True, 2),
        ('[]', 'teval', False, 0),
        ({'messages': [calls('a')]}, 'openai', False, 1),
    ],
)
def test_formats_of_answers(tmp_path: Path, prediction: object, format_name: str, recovered: bool, steps: int) -> None:
    found = inspect_path(write(tmp_path / 'answers.jsonl', {'id': 'x', 'prediction': prediction}))
    (sample,) = found.samples
    assert (sample.format, sample.recovered, len(sample.plan)) == (format_name, recovered, steps)
    assert found.sound


def test_the_format_may_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / 'answers.jsonl', {'id': 'x', 'prediction': '[{"tool": "a", "param": {}}]'})
    assert inspect_path(path, prediction_format='lenient').samples[0].plan.names == ('a',)
    assert inspect_path(path, prediction_format='teval').samples[0].reason.startswith('step 1 of 1 has no name')


def test_golden_plans_with_what_they_state(tmp_path: Path) -> None:
    steps = [{'id': 0, 'prev': [], 'name': 'a', 'args': {}}, {'id': 1, 'prev': [0], 'name': 'b', 'optional': True}]
    path = write(
        tmp_path / 'tasks.jsonl',
        {'id': 'one', 'query': 'q', 'ground_truth': steps, 'budget': {'tokens': 5}, 'forbidden': ['x_*']},
        {'id': 'two', 'ground_truths': [steps[:1], [{'name': 'c', 'kwargs': {}}]]},
    )
    found = inspect_path(path)
    assert [(one.part, one.id, one.format, one.plan.names) for one in found.samples] == [
        ('golden', 'one', 'teval', ('a', 'b')),
        ('golden', 'two', 'teval', ('a',)),
        ('golden', 'two', 'steps', ('c',)),
    ]
    assert found.samples[0].stated == ('budget', 'forbidden', 'optional steps')
    assert found.sound
    assert counted(list(found.samples), key='stated') == [('budget', 1), ('forbidden', 1), ('optional steps', 1)]


def test_an_unsound_golden_plan_says_every_fault(tmp_path: Path) -> None:
    path = write(tmp_path / 'tasks.jsonl', {'id': 1, 'ground_truth': [{'name': ''}, {'name': 'x', 'prev': [9]}]})
    (sample,) = inspect_path(path).samples
    assert sample.reason == 'step 0: expected a name that is not empty; step 1: `prev` names the unknown step 9'


def test_a_teval_result_file_gives_both_parts_and_reads_answers_as_its_meta_says(tmp_path: Path) -> None:
    record = {
        'prediction': '1. call a.b first\n2. then c.d',
        'ground_truth': [{'id': 0, 'name': 'a.b', 'args': 'x'}],
        'meta': {'prompt_type': 'str', 'API_list': ['a.b', 'c.d']},
    }
    found = inspect_path(write(tmp_path / 'result.json', {'s1': record}))
    assert [(one.part, one.id, one.format) for one in found.samples] == [
        ('prediction', 's1', 'teval'),
        ('golden', 's1', 'teval'),
    ]
    assert found.samples[0].plan.names == ('a.b', 'c.d')


def test_a_file_that_is_one_run(tmp_path: Path) -> None:
    found = inspect_path(write(tmp_path / 'task-7.json', {'messages': [calls('a')]}))
    assert (found.one_run, [one.id for one in found.samples]) == (True, ['task-7'])
    assert found.sound


def test_answers_by_id(tmp_path: Path) -> None:
    found = inspect_path(write(tmp_path / 'answers.json', {'a': '[{"name": "x", "id": 0, "args": {}}]', 'b': '?'}))
    assert [(one.id, len(one.plan), bool(one.reason)) for one in found.samples] == [('a', 1, False), ('b', 0, True)]


def test_a_folder_of_runs_is_read_like_the_loader_reads_it() -> None:
    found = inspect_path(f'{DEMO}recorded/detour')
    assert [one.id for one in found.samples] == [key for key, _ in read_rows(Path(found.path))]
    assert found.sound
    assert counted(list(found.samples), key='format') == [('openai', 8)]


# ---------------------------------------------------------------- fields and limit


def test_fields_name_the_keys_of_other_files(tmp_path: Path) -> None:
    rows = [{'t': 1, 'k': k, 'out': {'text': '[]'}, 'gold': [{'name': 'a'}]} for k in (0, 1)]
    path = write(tmp_path / 'rows.jsonl', *rows)
    fields = {'id': ['t', 'k'], 'prediction': 'out.text', 'ground_truth': 'gold'}
    found = inspect_path(path, fields=fields)
    assert [(one.id, one.part) for one in found.samples] == [
        ('1-0', 'prediction'), ('1-0', 'golden'), ('1-1', 'prediction'), ('1-1', 'golden'),
    ]  # fmt: skip
    assert found.sound


def test_fields_still_count_where_a_line_is_broken(tmp_path: Path) -> None:
    path = write(tmp_path / 'rows.jsonl', {'out': {'text': '[]'}}, '{"out": ')
    found = inspect_path(path, fields={'id': None, 'prediction': 'out.text'})
    assert [(one.id, one.reason, one.format) for one in found.samples] == [('line 1', '', 'teval')]
    assert [problem.split(' (')[0] for problem in found.problems] == ['line 2: expected JSON']


def test_a_field_that_a_row_lacks_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / 'rows.jsonl', {'id': 1, 'out': '[]'}, {'id': 2})
    found = inspect_path(path, fields={'prediction': 'out'})
    assert found.problems == ("line 2: expected a value at 'out'",)
    assert [one.reason for one in found.samples] == ['', f'{KEYLESS}, but: id']


def test_the_limit_is_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path / 'rows.jsonl', *({'id': i, 'prediction': '[]'} for i in range(5)))
    found = inspect_path(path, limit=2)
    assert (len(found.samples), found.left_out) == (2, 3)
    assert inspect_path(path, limit=9).left_out == 0
    with pytest.raises(ValueError, match='expected `limit` of at least 1, got 0'):
        inspect_path(path, limit=0)


# ---------------------------------------------------------------- what cannot be read


def test_rows_without_an_id_or_with_one_twice_are_numbered(tmp_path: Path) -> None:
    lacking = inspect_path(write(tmp_path / 'a.jsonl', {'prediction': '[]'}, {'prediction': '[]'}))
    assert lacking.problems == ('line 1: expected an `id`', 'line 2: expected an `id`')
    assert [one.id for one in lacking.samples] == ['0', '1']
    double = inspect_path(write(tmp_path / 'b.jsonl', *({'id': 'x', 'prediction': '[]'} for _ in range(2))))
    assert double.problems == ("sample 'x': 2 rows have this id (line 1, line 2)",)
    assert len(double.samples) == 2
    assert not double.sound


def test_every_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    good = {'id': 'a', 'prediction': '[]'}
    deep, long = '{"id": 1, "prediction": ' + '[' * 100_000 + '}', '{"id": 2, "n": ' + '9' * 5000 + '}'
    found = inspect_path(write(tmp_path / 'a.jsonl', good, '{"id": ', deep, long, '', [1], good))
    assert [problem.partition(':')[0] for problem in found.problems] == ['line 2', 'line 3', 'line 4']
    assert [(one.id, one.reason) for one in found.samples] == [
        ('line 1', ''), ('line 6', f'{KEYLESS}, but: list'), ('line 7', ''),
    ]  # fmt: skip


@pytest.mark.parametrize('content', [b'', b'\xff\xfe\x00', b'null', b'[]', b'{}', b'"x"', b'nonsense'])
@pytest.mark.parametrize('name', ['a.json', 'a.jsonl', 'a.txt'])
def test_no_content_stops_the_inspection(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert not inspect_path(str(tmp_path / name)).sound


def test_an_empty_folder_and_one_with_a_broken_file(tmp_path: Path) -> None:
    assert not inspect_path(str(tmp_path)).sound
    write(tmp_path / 'a.json', {'messages': [calls('a')]})
    write(tmp_path / 'b.json', '{')
    write(tmp_path / 'c.jsonl', {'id': 'c', 'prediction': '[]'}, '{')
    write(tmp_path / 'notes.txt', 'not read')
    found = inspect_path(str(tmp_path))
    assert [one.id for one in found.samples if not one.reason] == ['a.json', 'c.jsonl: line 1']
    assert [problem.partition(': expected')[0] for problem in found.problems] == ['b.json', 'c.jsonl: line 2']


def test_a_call_without_a_name_is_dropped_and_that_is_not_sound(tmp_path: Path) -> None:
    run = {'id': 'a', 'messages': [calls('x'), {'role': 'assistant', 'tool_calls': [{'function': {}}]}]}
    found = inspect_path(write(tmp_path / 'a.jsonl', run))
    assert found.samples[0].dropped == ('message 1: a call without a name',)
    assert not found.sound


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(['id', 'prediction', 'messages', 'ground_truth', 'ground_truths', 'role', 'meta', 'name']),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(VALUES, max_size=4))
def test_any_rows_are_inspected_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: Any) -> None:
    path = write(tmp_path / 'a.jsonl', *(json.dumps(row) for row in rows))
    code, out, _ = ran(capsys, path)
    assert code in (0, 1)
    assert all(len(line) < 3_000 for line in out.splitlines())
    code, out, _ = ran(capsys, path, '--json')
    assert json.loads(out)['sound'] == (code == 0)


# ---------------------------------------------------------------- the report


def test_the_report_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, f'{DEMO}recorded/detour')
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert lines[2] == 'recorded answers and runs: 8, 8 read, 0 not'
    assert 'formats       openai 8' in lines
    assert 'steps         44, 4 to 7 a sample' in lines
    assert 'failed calls  2 of 44 calls with a recorded result' in lines
    assert 'outcome       7 solved, 1 not' in lines
    assert 'tokens        7525 on average' in lines
    assert any(line.startswith('tools         find_free_slot 5, convert_currency 4, ') for line in lines)


def test_parallel_calls_and_missing_figures_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        tmp_path / 'a.jsonl',
        {'id': 1, 'messages': [calls('a', 'b')], 'tokens': 10, 'solved': True},
        {'id': 2, 'messages': [{'role': 'user', 'content': 'hi'}]},
    )
    code, out, _ = ran(capsys, path)
    assert code == 0
    assert 'steps         2 in 1 turns (parallel calls in 1 samples), 0 to 2 a sample, 1 samples with none' in out
    assert 'outcome       1 solved, 0 not, 1 not recorded' in out
    assert 'tokens        10 on average, 1 not recorded' in out
    assert 'latency' not in out
    assert 'failed calls' not in out


def test_same_faults_share_a_line_and_many_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = write(tmp_path / 'a.jsonl', *({'id': i, 'text': 'x'} for i in range(100)))
    code, out, _ = ran(capsys, same)
    assert code == 1
    assert f'  0, 1, 2, 3 and 96 more: {KEYLESS}, but: id, text' in out
    assert '--fields id=task_id prediction=answer' in out
    differing = write(tmp_path / 'b.jsonl', *({'id': i, f'text{i}': 'x'} for i in range(100)))
    out = ran(capsys, differing)[1]
    assert f'… and {100 - MAX_LISTED} other faults' in out
    assert len(out.splitlines()) < 3 * MAX_LISTED


def test_hostile_text_is_shown_as_escapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        tmp_path / 'a.jsonl',
        {'id': HOSTILE, 'messages': [calls(HOSTILE * 100)]},
        {'id': HOSTILE * 99, 'prediction': HOSTILE},
        {'id': 3, HOSTILE: HOSTILE},
        {'id': 'zh', 'messages': [calls('查询')]},
    )
    code, out, _ = ran(capsys, path)
    assert code == 1
    assert all(one.isprintable() or one == '\n' for one in out)
    assert 'rm\\x1b[31m\\u202e\\u200b\\x07\\x7f\\x85\\n' in out
    assert '查询 1' in out
    assert len(out) < 4_000
    out = ran(capsys, path, '--json')[1]
    assert all(' ' <= one < '\x7f' or one == '\n' for one in out)
    assert json.loads(out)['samples'][0]['id'] == HOSTILE


@given(st.text())
def test_plain_text_is_printable_and_bounded(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert len(shown) <= MAX_TEXT * len('\\U0010ffff')
    assert plain(shown, limit=10**6) == shown


def test_json_has_a_row_a_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / 'a.jsonl', {'id': 1, 'messages': [calls('a', 'a')], 'reward': 0.0}, {'id': 2})
    code, out, _ = ran(capsys, path, '--json')
    found = json.loads(out)
    assert code == 1
    assert set(found) == {'path', 'sound', 'problems', 'left_out', 'one_run', 'samples'}
    assert found['samples'][0] == {
        'part': 'prediction', 'id': '1', 'reason': '', 'format': 'openai', 'recovered': False, 'steps': 2, 'turns': 1,
        'failed_calls': 0, 'solved': False, 'tokens': None, 'latency': None, 'cost': None, 'stated': [], 'dropped': [],
        'n_dropped': 0, 'tools': {'a': 2},
    }  # fmt: skip
    assert found['samples'][1]['reason'] == f'{KEYLESS}, but: id'


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['no-such-file.jsonl'], "no file 'no-such-file.jsonl'; looked for"),
        ([f'{DEMO}tasks.jsonl', '--format', 'openia'], "got 'openia'; did you mean 'openai'?"),
        ([f'{DEMO}tasks.jsonl', '--limit', '0'], 'expected `limit` of at least 1, got 0'),
        ([f'{DEMO}tasks.jsonl', '--fields', 'id'], "expected --fields as name=path, got 'id'"),
        (['no\x1bfile'], 'no\\x1bfile'),
    ],
)
def test_wrong_calls_end_with_2_and_say_why(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = ran(capsys, *arguments)
    assert (code, out) == (2, '')
    assert message in err
    assert 'Traceback' not in err


@pytest.mark.parametrize('arguments', [[], ['inspect'], ['inspcet', 'x'], ['inspect', 'x', '--limit', 'many']])
def test_what_argparse_refuses_ends_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert 'usage:' in capsys.readouterr().err


def test_the_help_states_formats_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(['inspect', '--help'])
    assert stopped.value.code == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert ', '.join(FORMATS) in text
    assert '0 everything was read 1 something could not be read' in text


def test_fields_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / 'a.jsonl', {'t': 1, 'k': 2, 'init output': '[]'})
    code, out, _ = ran(capsys, path, '--fields', 'id=t,k', '--fields', 'prediction=init output', '--json')
    assert code == 0
    assert [one['id'] for one in json.loads(out)['samples']] == ['1-2']
    out = ran(capsys, path, '--json', '--fields', 'id=', 'prediction=init output')[1]
    assert [one['id'] for one in json.loads(out)['samples']] == ['0']


def test_the_process_loads_nothing_of_the_host_and_writes_to_an_ascii_terminal(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.jsonl', {'id': 'zh', 'messages': [calls('查询')]})
    script = (
        'import sys\n'
        'from opencompass_traj.command_line import main\n'
        f'code = main(["inspect", {path!r}])\n'
        'loaded = {"torch", "opencompass", "mmengine", "datasets", "transformers", "scipy"} & sys.modules.keys()\n'
        'sys.exit(9 if loaded else code)\n'
    )
    environment = {'PYTHONIOENCODING': 'ascii', 'PATH': '/usr/bin'}
    found = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=False, timeout=120, env=environment
    )
    assert (found.returncode, found.stderr) == (0, '')
    assert '\\u67e5\\u8be2 1' in found.stdout


def test_the_module_runs_and_a_reader_may_leave_early() -> None:
    command = f'{sys.executable} -m opencompass_traj inspect {DEMO}recorded/direct.jsonl --json | head -1'
    found = subprocess.run(  # noqa: S602 - the pipe is what is tested
        command, shell=True, capture_output=True, text=True, check=False, timeout=120, cwd=Path(__file__).parents[1]
    )
    assert (found.stdout.strip(), found.stderr) == ('{', '')


# ---------------------------------------------------------------- real files


@pytest.mark.parametrize(
    ('name', 'fields', 'samples', 'steps'),
    [
        ('tau_bench/gpt_4o_airline.jsonl', {'id': ['task_id', 'trial']}, 100, 577),
        ('ultratool/zh_gpt-4.jsonl', {'id': None, 'prediction': 'init output'}, 250, None),
        ('teval/plan_json_v1.json', {}, 369, None),
    ],
)
def test_real_files_are_read_whole(name: str, fields: dict[str, Any], samples: int, steps: int | None) -> None:
    found = inspect_path(str(shared_data(name)), fields=fields)
    assert not [one.reason for one in found.samples if one.reason]
    assert len(found.samples) == samples
    assert steps in (None, sum(len(one.plan) for one in found.samples))
