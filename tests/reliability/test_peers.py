"""The second table of `python -m tests.reliability.peers`, with peers that are stand-ins."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.reliability import peers, peers_driver
from tests.reliability.peers import CASES, DRIVER, Case, ask, ours, peers_table, tool_calls

# Scores the number of messages, and fails as a peer might.
FAKE = """
def create_trajectory_match_evaluator():
    print('a peer that talks')
    def evaluate(*, outputs, reference_outputs):
        if outputs == 'leave':
            import os
            os._exit(3)
        return {'score': len(outputs) == len(reference_outputs)}
    return evaluate
"""
# A first module of the name stands before whatever is installed.
ABSENT = "raise ImportError('no such peer here')"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in for agentevals, and none for deepeval, that a Python started from here finds first."""
    for name in ('agentevals', 'agentevals/trajectory', 'deepeval', 'agentevals-9.8.7.dist-info'):
        (tmp_path / name).mkdir()
    for name in ('agentevals', 'agentevals/trajectory'):
        (tmp_path / name / '__init__.py').touch()
    (tmp_path / 'agentevals/trajectory/match.py').write_text(FAKE, 'utf-8')
    (tmp_path / 'deepeval/__init__.py').write_text(ABSENT, 'utf-8')
    metadata = 'Metadata-Version: 2.1\nName: agentevals\nVersion: 9.8.7\n'
    (tmp_path / 'agentevals-9.8.7.dist-info/METADATA').write_text(metadata, 'utf-8')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    return tmp_path


def fails(error: BaseException) -> peers_driver.Peer:
    def peer(_: Any) -> float:
        raise error

    return peer


@pytest.mark.parametrize(
    ('peer', 'said'),
    [
        (lambda given: given['score'], '0.50'),
        (lambda _: True, '1.00'),
        (fails(TypeError('no\n  mapping')), 'stops: TypeError: no mapping'),
        (fails(ValueError()), 'stops: ValueError'),
        (fails(RecursionError('deep')), 'stops: RecursionError: deep'),
        (fails(ValueError('x' * 80)), f'stops: ValueError: {"x" * 80}'),
        (fails(ValueError('x' * 81)), f'stops: ValueError: {"x" * 79}…'),
    ],
)
def test_an_answer_is_a_score_or_an_error_in_one_line(peer: peers_driver.Peer, said: str) -> None:
    assert peers_driver.answer(peer, {'score': 0.5}) == said


def test_a_peer_that_is_absent_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def absent() -> peers_driver.Peer:
        raise ModuleNotFoundError("No module named 'x'")

    found = peers_driver.loaded({'one': lambda: lambda _: 1.0, 'other': absent})
    assert list(found) == ['one']
    assert capsys.readouterr().err == "other is left out: No module named 'x'\n"


def test_the_driver_writes_the_versions_and_a_line_for_each_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_driver, 'loaded', lambda: {'one': lambda given: given, 'two': fails(KeyError('name'))})
    monkeypatch.setattr(peers_driver, 'version', lambda name: f'{name}.0')
    out = io.StringIO()
    asked = {'cases': [{'one': 0, 'two': []}, {'one': 1}, {'other': 1}]}
    peers_driver.run(io.StringIO(json.dumps(asked)), out)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {'versions': {'one': 'one.0', 'two': 'two.0'}},
        {'one': '0.00', 'two': "stops: KeyError: 'name'"},
        {'one': '1.00'},
        {},
    ]


def test_the_driver_needs_nothing_of_this_package() -> None:
    text = DRIVER.read_text('utf-8')
    assert 'opencompass_traj' not in text
    assert 'tests.' not in text
    done = subprocess.run([sys.executable, '-I', '-S', str(DRIVER)], input='{"cases": []}', capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert json.loads(done.stdout) == {'versions': {}}
    assert [line.split()[0] for line in done.stderr.splitlines()] == ['agentevals', 'deepeval']


@pytest.mark.usefixtures('packages')
def test_a_table_from_a_python_with_one_of_the_peers() -> None:
    cases = [CASES[0], Case('a number', 5), Case('none', []), Case('an end', 'leave'), Case('after it', [])]
    unread = "0.00 and 0.00; unreadable: not a recording of the format 'openai'"
    versions, rows = ask(sys.executable, cases)
    assert versions == {'agentevals': '9.8.7'}
    assert peers_table(versions, rows, cases) == [
        '| recording | agentevals 9.8.7 | here |',
        '| --- | --- | --- |',
        '| a sound recording | 1.00 | 1.00 and 1.00; read |',
        f"| a number | stops: TypeError: object of type 'int' has no len() | {unread} |",
        f'| none | 0.00 | {unread} |',
        f'| an end | ends the process | {unread} |',
        f'| after it | ends the process | {unread} |',
    ]


def test_a_cell_holds_neither_bars_nor_line_ends() -> None:
    lines = peers_table({'agentevals': '1'}, [{'agentevals': 'a|b\nc'}], [CASES[0]])
    assert lines[2] == '| a sound recording | a\\|b c | 1.00 and 1.00; read |'


def test_a_case_that_a_peer_was_not_given_says_so() -> None:
    (row,) = peers_table({'deepeval': '1'}, [{}], [Case('text', 'I called search.')])[2:]
    assert row.startswith('| text | not asked | ')


@pytest.mark.parametrize(
    ('function', 'call'),
    [
        ({'name': 'a', 'arguments': '{"q": 1}'}, {'name': 'a', 'input_parameters': {'q': 1}}),
        ({'name': 'a', 'arguments': '{"q": '}, {'name': 'a', 'input_parameters': '{"q": '}),
        ({'name': 'a', 'arguments': '[' * 100_000}, {'name': 'a', 'input_parameters': '[' * 100_000}),
        ({'name': 'a', 'arguments': '9' * 5_000}, {'name': 'a', 'input_parameters': '9' * 5_000}),
        ({'name': 'a', 'arguments': None}, {'name': 'a', 'input_parameters': None}),
        ({'name': 'a'}, {'name': 'a'}),
        ({'arguments': '{}'}, {'input_parameters': {}}),
    ],
)
def test_deepeval_is_given_the_value_of_the_arguments(function: dict[str, Any], call: dict[str, Any]) -> None:
    message = {'role': 'assistant', 'tool_calls': [{'function': function}]}
    assert tool_calls([message, message]) == [call, call]


@pytest.mark.parametrize(
    ('outputs', 'called'),
    [(None, True), ([], True), ('text', False), ([{'role': 'assistant', 'tool_calls': [None]}], False)],
)
def test_deepeval_is_asked_where_it_has_a_form_for_the_input(outputs: Any, called: bool) -> None:
    assert ('deepeval' in Case('x', outputs).asked()) is called


def test_every_case_is_scored_here() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    found = {case.name: ours(case) for case in CASES}
    assert [name for name, said in found.items() if said.startswith('1.00')] == [
        'a sound recording',
        'the same key twice in the arguments',
    ]
    assert found['a call without a name'].endswith(
        'unreadable: no call could be read; message 0: a call without a name'
    )


@pytest.mark.parametrize('python', ['/no/such/python', 'false'])
def test_a_python_that_cannot_be_asked_is_named(python: str) -> None:
    with pytest.raises(SystemExit, match='the peers could not be asked: .*' + python):
        ask(python, CASES[:1])


def test_without_the_option_the_second_table_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, 'teval_table', lambda: iter(['| a |']))
    peers.main([])
    said = capsys.readouterr()
    assert (said.out, said.err) == ('| a |\n', 'agentevals and deepeval are left out: no --peers-python\n')


@pytest.mark.usefixtures('packages')
def test_the_second_table_follows_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, 'teval_table', lambda: iter(['| a |']))
    peers.main(['--peers-python', sys.executable])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ['| a |', '', '| recording | agentevals 9.8.7 | here |']
    assert len(lines) == len(CASES) + 4
