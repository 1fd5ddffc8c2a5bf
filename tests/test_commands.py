"""The commands on results: exit codes, what they write and where, and what they load."""

from __future__ import annotations

import importlib
import io
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from opencompass_traj import terminal
from opencompass_traj.command_line import main, program, script
from opencompass_traj.exit_codes import ALWAYS, FAULTS_FOUND, GOOD, INTERRUPTED, UNFORESEEN, WRONG_CALL
from opencompass_traj.report.runs import read_run
from tests.report.made_runs import RIGHT, WRONG, write_run

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    'torch',
    'opencompass',
    'mmengine',
    'datasets',
    'transformers',
    'sentence_transformers',
    'pandas',
    'matplotlib',
)


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A run, and one in which model `b` has become worse."""
    folder = tmp_path_factory.mktemp('runs')
    for name in ('old', 'same'):
        write_run(folder / name / '20260101_000000', {'a': RIGHT, 'b': RIGHT}, repeat=4)
    write_run(folder / 'new' / '20260102_000000', {'a': RIGHT, 'b': WRONG}, repeat=4)
    return str(folder / 'old'), str(folder / 'new')


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


# ---------------------------------------------------------------- gate


def test_the_gate_opens_and_shuts(runs: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new = runs
    same = str(Path(old).parent / 'same')
    code, out, err = ran(capsys, 'gate', same, '--baseline', old, '--no-worse-than', '1', '--strict')
    assert (code, err) == (GOOD, '')
    assert out.startswith('gate passed: 2 passed')
    junit = tmp_path / 'reports' / 'gate.xml'
    code, out, _ = ran(capsys, 'gate', new, '--baseline', old, '--no-worse-than', '1', '--junit', str(junit))
    assert code == FAULTS_FOUND
    assert out.splitlines()[0] == 'gate failed: 1 failed, 1 passed'
    assert '  failed     trajectory_score no more than 1 worse: ' in out
    root = ElementTree.fromstring(junit.read_text('utf-8'))  # noqa: S314 - our own text
    assert (root.get('tests'), root.get('failures')) == ('2', '1')


def test_a_run_beside_itself_passes_with_a_warning(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """A `work_dir` is its newest run: named as the baseline of that one, it would prove nothing."""
    code, out, _ = ran(capsys, 'gate', runs[1], '--baseline', f'{runs[1]}/20260102_000000')
    assert code == GOOD
    assert out.splitlines()[0] == 'gate passed: 1 warning, 2 passed'
    assert '  warning    baseline: it is this very run, ' in out


@pytest.mark.parametrize(
    ('options', 'code', 'shown'),
    [
        ('--min trajectory_score=99', FAULTS_FOUND, 'failed     trajectory_score at least 99: '),
        ('--min trajectory_score=99 --model a', GOOD, 'passed     trajectory_score at least 99: 100.00'),
        ('--min trajectory_score=1 --min sequence_similarity=1', GOOD, 'sequence_similarity at least 1: '),
        ('--max redundant_steps=0', FAULTS_FOUND, 'failed     redundant_steps at most 0: '),
        ('--max silent_degradation_rate=2', FAULTS_FOUND, 'not known: no sample has it'),
        ('--min trajectry_score=9', FAULTS_FOUND, "did you mean 'trajectory_score'?"),
        ('--min trajectory_score=9 --model c', FAULTS_FOUND, 'model c: the run has none of this name; there are: a, b'),
        ('--min trajectory_score=9 --dataset trip', FAULTS_FOUND, "did you mean 'trips'?"),
    ],
)
def test_what_a_gate_may_ask(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str], options: str, code: int, shown: str
) -> None:
    found, out, _ = ran(capsys, 'gate', runs[1], *options.split())
    assert found == code
    assert shown in out


@pytest.mark.parametrize(
    ('options', 'allowances'),
    [
        ([], None),
        (['2'], {'*': 2.0}),
        (['step_ratio=.1', '2'], {'step_ratio': 0.1, '*': 2.0}),
        (['trajectory_score=1', 'redundant_steps=.5'], {'trajectory_score': 1.0, 'redundant_steps': 0.5}),
        (['a=b=3'], {'a=b': 3.0}),
    ],
)
def test_allowances_on_the_command_line(options: list[str], allowances: Any) -> None:
    from opencompass_traj.command_line.gate import gate_of

    arguments = ['gate', 'run', '--baseline', 'x', *(text for one in options for text in ('--no-worse-than', one))]
    given = program._parser('x', 'gate').parse_args(arguments)
    assert gate_of(given).no_worse_than == allowances


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['gate', '{old}'], 'expected something to check'),
        (['gate', '{old}', '--min', 'f1_score'], "expected --min as METRIC=NUMBER, got 'f1_score'"),
        (['gate', '{old}', '--min', '=5'], "expected --min as METRIC=NUMBER, got '=5'"),
        (['gate', '{old}', '--max', 'f1_score=much'], "expected --max with a number, got 'much'"),
        (['gate', '{old}', '--max', 'f1_score=nan'], "expected a number for 'f1_score' in `max`, got nan"),
        (['gate', '{old}', '--min', 'a=1', '--min', 'a=2'], "expected --min once for each metric, got 'a=2' too"),
        (['gate', '{old}', '--no-worse-than', '1'], 'expected a `baseline`'),
        (['gate', '{old}', '--baseline', '{old}', '--no-worse-than', '1', '--no-worse-than', '2'], 'once'),
        (['gate', '{old}', '--baseline', 'no-such\x1b-folder'], "no folder 'no-such\\x1b-folder'"),
        (['gate', 'no-such-folder', '--min', 'a=1'], "no folder 'no-such-folder'"),
        (['gate', '{tests}', '--min', 'a=1'], 'no run in '),
        (['gate', '{old}', '--min', 'a=1', '--junit', '{tests}'], 'directory'),
        (['comment', '{old}', '--metric', 'trajectry_score'], "did you mean 'trajectory_score'?"),
        (['comment', '{old}', '--worst', '-1'], '`worst` of at least 0'),
        (['comment', '{old}', '--baseline', 'nowhere'], "no folder 'nowhere'"),
        (['plot', '{old}', '--sample', 'chain0'], "the run has no sample 'chain0'; did you mean 'chain-0'?"),
        (['plot', '{old}', '--model', 'x'], "the run has no model 'x'; there are: a, b"),
        (['plot', '{old}', '--dataset', 'x'], "the run has no dataset 'x'; there are: trips"),
        (['plot', '{old}', '--metric', 'x'], "the run has no metric 'x'"),
        (['plot', '{old}', '--worst', '-1'], 'expected --worst of at least 0, got -1'),
        (['export', '{old}', '--out', 'x.csv'], 'expected a file that ends in .jsonl or .parquet'),
        (['export', '{old}', '--out', 'x.jsonl', '--format', 'parquet'], 'expected a file that ends in .parquet'),
        (['report', 'nowhere'], "no folder 'nowhere'"),
    ],
)
def test_wrong_calls_end_with_2_and_say_why(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    filled = [one.format(old=runs[0], tests=Path(__file__).parent) for one in arguments]
    code, out, err = ran(capsys, *filled)
    assert (code, out) == (WRONG_CALL, '')
    assert message in err
    assert err.startswith('python -m opencompass_traj: ')
    assert 'Traceback' not in err


@pytest.mark.parametrize(
    'arguments',
    [[], ['gat', 'x'], ['gate'], ['gate', 'x', '--nonsense'], ['plot', 'x', '--format', 'pdf'], ['export'], ['--gate']],
)
def test_what_argparse_refuses_ends_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == WRONG_CALL
    assert 'usage:' in capsys.readouterr().err


# ---------------------------------------------------------------- plot, comment, report, export


def test_the_leaderboard_is_drawn(runs: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    code, out, err = ran(capsys, 'plot', runs[1], '--out', str(tmp_path))
    assert (code, err) == (GOOD, '')
    assert out.splitlines() == [str(tmp_path / 'leaderboard-trips.svg')]
    assert (tmp_path / 'leaderboard-trips.svg').read_bytes().startswith(b'<?xml')


def test_samples_are_drawn(runs: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    code, out, _ = ran(capsys, 'plot', runs[1], '--sample', 'chain-0', '--format', 'png', '--out', str(tmp_path))
    assert code == GOOD
    assert [Path(line).name for line in out.splitlines()] == ['a-trips-chain-0.png', 'b-trips-chain-0.png']
    out = ran(capsys, 'plot', runs[1], '--worst', '2', '--model', 'b', '--sample', 'one-0', '--out', str(tmp_path))[1]
    names = [Path(line).name for line in out.splitlines()]
    assert names == ['b-trips-one-0.svg', 'b-trips-one-1.svg']
    assert all((tmp_path / name).is_file() for name in names)


def test_a_comment_goes_to_the_output_or_to_a_file(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old, new = runs
    code, out, _ = ran(capsys, 'comment', new)
    assert code == GOOD
    assert out.startswith('### Trajectories\n')
    file = tmp_path / 'a' / 'comment.md'
    code, out, _ = ran(capsys, 'comment', new, '--baseline', old, '--no-worse-than', '1', '--out', str(file))
    assert (code, out) == (GOOD, '')
    text = file.read_text('utf-8')
    assert text.startswith('### Trajectories: ❌ gate failed: 1 failed, 1 passed\n')
    assert '| `b` | `one-0` |' in text
    out = ran(capsys, 'comment', new, '--baseline', old, '--metric', 'redundant_steps')[1]
    assert out.startswith('### Trajectories: ✅ gate passed: 1 not shown, 1 passed\n')
    assert '`redundant_steps no worse (less is better)`' in out
    out = ran(capsys, 'comment', new, '--metric', 'redundant_steps', '--max', 'redundant_steps=9')[1]
    assert out.startswith('### Trajectories: ✅ gate passed: 2 passed\n')
    assert 'The worst samples, by redundant_steps' in out


def test_the_report_is_written_beside_the_summary_or_elsewhere(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = ran(capsys, 'report', runs[0])
    assert code == GOOD
    path = Path(runs[0]) / '20260101_000000' / 'summary' / 'summary_20260101_000000.html'
    assert out.strip() == str(path)
    assert 'chain-0' in path.read_text('utf-8') or path.stat().st_size > 10_000
    out = ran(capsys, 'report', runs[0], '--out', str(tmp_path / 'r.html'), '--language', 'zh', '--title', 'T & T')[1]
    assert out.strip() == str(tmp_path / 'r.html')
    assert 'T &amp; T' in (tmp_path / 'r.html').read_text('utf-8')


def test_the_report_names_tasks_without_a_result(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_run(tmp_path, {'a': RIGHT})
    broken = tmp_path / 'results' / 'b' / 'trips.json'
    broken.parent.mkdir()
    broken.write_text('{"error": "no \\u001b memory"}')
    code, out, _ = ran(capsys, 'report', str(tmp_path), '--out', str(tmp_path / 'r.html'))
    assert code == GOOD
    assert out.splitlines()[1] == 'no result: b on trips: the evaluator reports: no \\x1b memory'


@pytest.mark.parametrize(
    ('options', 'name'),
    [
        (['--out', '{folder}/x.jsonl'], 'x.jsonl'),
        (['--out', '{folder}/x.parquet', '--format', 'parquet'], 'x.parquet'),
        ([], 'samples.jsonl'),
        (['--format', 'parquet'], 'samples.parquet'),
    ],
)
def test_rows_are_exported(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: list[str], name: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, out, _ = ran(capsys, 'export', runs[1], *(one.format(folder=tmp_path) for one in options))
    assert code == GOOD
    assert Path(out.strip()).name == name
    size = sum(len(task.rows) for task in read_run(runs[1]).tasks)
    if name.endswith('.jsonl'):
        lines = (tmp_path / name).read_text('utf-8').splitlines()
        assert [json.loads(line)['model'] for line in lines] == ['a'] * (size // 2) + ['b'] * (size // 2)
    else:
        pandas = pytest.importorskip('pandas')
        assert len(pandas.read_parquet(tmp_path / name)) == size


# ---------------------------------------------------------------- help


@pytest.mark.parametrize('name', program.COMMANDS)
def test_every_command_explains_itself_with_examples_that_are_right(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, '--help'])
    assert stopped.value.code == GOOD
    text = capsys.readouterr().out
    assert '\nexit codes:\n  0' in text
    assert f'\n{ALWAYS}\n' in text
    examples = text.partition('\nexamples:\n')[2].replace('\\\n', ' ').splitlines()
    assert examples
    for line in examples:
        words = shlex.split(line)
        assert words[:3] == ['python', '-m', 'opencompass_traj']
        assert words[3] == name
        program._parser('x', name).parse_args(words[3:])


def test_the_help_lists_all_commands_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(['--help'])
    text = ' '.join(capsys.readouterr().out.split())
    for name, summary in program.COMMANDS.items():
        assert f'{name} {summary}' in text
    assert '0 done, and all is well 1 done, and the answer is no' in text
    assert '130 stopped by Ctrl-C' in text


def test_there_is_a_module_for_each_command_and_no_other() -> None:
    folder = Path(program.__file__).parent
    others = {'__init__', 'program', 'arguments'}
    assert {path.stem for path in folder.glob('*.py')} - others == set(program.COMMANDS)
    for name in program.COMMANDS:
        module = importlib.import_module(f'opencompass_traj.command_line.{name}')
        assert callable(module.describe)
        assert callable(module.run)


def test_the_exit_codes_are_documented() -> None:
    page = (ROOT / 'docs' / 'ci.md').read_text('utf-8')
    for code in (GOOD, FAULTS_FOUND, WRONG_CALL, UNFORESEEN, INTERRUPTED):
        assert f'\n| {code} |' in page
    assert all(f'`{name}`' in page for name in program.COMMANDS)


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from opencompass_traj.command_line import report

    def stop(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, 'run', stop)
    assert ran(capsys, 'report', 'x') == (INTERRUPTED, '', '')


def test_the_installed_script_says_its_own_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, 'argv', ['opencompass-traj', 'report', 'nowhere'])
    assert script() == WRONG_CALL
    assert capsys.readouterr().err.startswith('opencompass-traj: no folder')
    assert "'opencompass-traj=opencompass_traj.command_line:script'" in (ROOT / 'setup.py').read_text('utf-8')


# ---------------------------------------------------------------- terminal


def test_text_is_written_in_any_encoding() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding='ascii', newline='\n')
    terminal.write('查 ✅ \ud800', stream)
    assert raw.getvalue() == b'\\u67e5 \\u2705 \\ud800\n'
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding='utf-8', newline='\n')
    terminal.write('查', stream)
    assert raw.getvalue() == '查\n'.encode()


def test_files_are_utf_8_with_plain_ends_of_lines(tmp_path: Path) -> None:
    terminal.write_file(str(tmp_path / 'a' / 'b.txt'), '查\nx')
    assert (tmp_path / 'a' / 'b.txt').read_bytes() == '查\nx\n'.encode()


@pytest.mark.parametrize(
    ('stream', 'environment', 'coloured'),
    [
        (Terminal(), {}, True),
        (Terminal(), {'NO_COLOR': ''}, True),
        (Terminal(), {'NO_COLOR': '1'}, False),
        (Terminal(), {'TERM': 'dumb'}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, stream: Any, environment: dict[str, str], coloured: bool
) -> None:
    for name in ('NO_COLOR', 'TERM'):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    text = 'failed: a\n  passed  failed\nfailedly'
    words = [('passed', 'good'), ('failed', 'bad')]
    shown = '\x1b[31mfailed\x1b[0m: a\n  \x1b[32mpassed\x1b[0m  failed\nfailedly' if coloured else text
    assert terminal.coloured(text, words, stream) == shown


def test_a_terminal_sees_the_gate_in_colours(runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('NO_COLOR', raising=False)
    monkeypatch.setenv('TERM', 'xterm')
    terminal = Terminal()
    monkeypatch.setattr(sys, 'stdout', terminal)
    assert main(['gate', runs[1], '--min', 'trajectory_score=99']) == FAULTS_FOUND
    text = terminal.getvalue()
    assert text.startswith('\x1b[31mgate failed\x1b[0m: 1 failed, 1 passed')
    assert '  \x1b[32mpassed\x1b[0m     trajectory_score at least 99' in text


def test_a_bar_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [1, 2, 3]
    monkeypatch.setattr(sys, 'stderr', io.StringIO())
    assert terminal.progress(items, title='x') is items
    screen = Terminal()
    monkeypatch.setattr(sys, 'stderr', screen)
    assert list(terminal.progress(items, title='x')) == items
    # Nothing is shown before a second has passed.
    assert 'x' not in screen.getvalue()


# ---------------------------------------------------------------- whole processes


def in_process(arguments: Sequence[str], *, loaded: Sequence[str] = HEAVY) -> tuple[int, list[str], str]:
    """Exit code, which modules were loaded, and the output of a command in a fresh process."""
    code = (
        'import sys\n'
        'from opencompass_traj.command_line import main\n'
        'try:\n'
        f'    code = main({list(arguments)!r})\n'
        'except SystemExit as stopped:\n'
        '    code = stopped.code\n'
        f'sys.stderr.write(" ".join(sorted(sys.modules.keys() & set({list(loaded)!r}))))\n'
        'sys.exit(code)\n'
    )
    found = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    return found.returncode, found.stderr.split(), found.stdout


@pytest.mark.parametrize(
    ('command', 'code'), [('gate {new} --baseline {old} --no-worse-than 1', FAULTS_FOUND), ('comment {new}', GOOD)]
)
def test_a_command_loads_neither_the_host_nor_what_only_others_need(
    runs: tuple[str, str], command: str, code: int
) -> None:
    found, loaded, out = in_process(command.format(old=runs[0], new=runs[1]).split())
    assert (found, loaded) == (code, [])
    assert out


def test_help_loads_next_to_nothing() -> None:
    assert in_process(['--help'], loaded=[*HEAVY, 'numpy', 'scipy', 'networkx', 'json_repair'])[:2] == (GOOD, [])


def test_the_exit_code_reaches_the_shell(runs: tuple[str, str], tmp_path: Path) -> None:
    junit = tmp_path / 'gate.xml'
    command = [sys.executable, '-m', 'opencompass_traj', 'gate', runs[1], '--min', 'trajectory_score=99']
    found = subprocess.run(
        [*command, '--junit', str(junit)], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert (found.returncode, found.stderr) == (FAULTS_FOUND, '')
    assert found.stdout.startswith('gate failed: 1 failed, 1 passed\n')
    assert junit.is_file()


@pytest.mark.parametrize(
    ('raised', 'code', 'shown'),
    [
        ('RuntimeError("\\x1b[31mred")', UNFORESEEN, r'RuntimeError: \x1b[31mred'),
        ('RecursionError("deep")', UNFORESEEN, 'RecursionError: deep'),
        ('MemoryError()', UNFORESEEN, 'MemoryError'),
        ('ValueError("known")', WRONG_CALL, 'known'),
        ('KeyboardInterrupt()', INTERRUPTED, ''),
    ],
)
def test_an_error_that_nobody_foresaw_is_not_taken_for_a_failed_gate(raised: str, code: int, shown: str) -> None:
    program_code = (
        'import sys\n'
        'from opencompass_traj.command_line import script\n'
        'from opencompass_traj.command_line import gate\n'
        f'def run(_): raise {raised}\n'
        'gate.run = run\n'
        'sys.argv = ["opencompass-traj", "gate", "nowhere"]\n'
        'sys.exit(script())\n'
    )
    found = subprocess.run(
        [sys.executable, '-c', program_code], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert found.returncode == code
    assert shown in found.stderr
    assert '\x1b' not in found.stderr
    assert ('in run' in found.stderr) == (code == UNFORESEEN)


# ---------------------------------------------------------------- broken and foreign results


def broken(folder: Path) -> str:
    """A run of two models of which one has a lone surrogate in a row, and the other no whole result."""
    run = write_run(folder / '20260101_000000', {'a': RIGHT, 'b': RIGHT}, repeat=2)
    results = sorted((run / 'results').glob('*/*.json'))
    content = json.loads(results[0].read_text('utf-8'))
    content['details'][0]['query'] = ['\ud800x'] if isinstance(content['details'][0]['query'], list) else '\ud800x'
    results[0].write_text(json.dumps(content), 'utf-8')
    results[1].write_text('', 'utf-8')
    return str(run)


@pytest.mark.parametrize('ending', ['jsonl', 'parquet'])
def test_an_export_keeps_all_rows_and_names_what_has_no_result(
    ending: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import pandas as pd

    file = tmp_path / f'rows.{ending}'
    code, out, err = ran(capsys, 'export', broken(tmp_path / 'run'), '--out', str(file))
    assert (code, out) == (GOOD, f'{file}\n')
    assert err.startswith('export: no result: b on ')
    frame = pd.read_parquet(file) if ending == 'parquet' else pd.read_json(file, lines=True)
    assert set(frame['model']) == {'a'}
    assert '?x' in set(frame['query'])


def test_a_comment_on_one_model_is_about_that_model(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert '`b`' in ran(capsys, 'comment', runs[1])[1]
    code, out, _ = ran(capsys, 'comment', runs[1], '--model', 'a')
    assert code == GOOD
    assert '`a`' in out
    assert '`b`' not in out
