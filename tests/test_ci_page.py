"""docs/ci.md: its workflows are YAML, their scripts are shell, and every command in it is one that exists."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from opencompass_traj.command_line import program
from opencompass_traj.report.gate import Gate

PAGE = (Path(__file__).resolve().parents[1] / 'docs' / 'ci.md').read_text('utf-8')
FENCE = re.compile(r'^```(\S+)[^\n]*\n(.*?)^```$', re.MULTILINE | re.DOTALL)
BLOCKS = FENCE.findall(PAGE)


def blocks(kind: str) -> list[str]:
    return [text for info, text in BLOCKS if info == kind]


def scripts() -> list[str]:
    """All shell on the page: its bash blocks, and the steps of the workflows."""
    github, gitlab = (yaml.safe_load(text) for text in blocks('yaml'))
    steps = [step['run'] for step in github['jobs']['gate']['steps'] if 'run' in step]
    return [*blocks('bash'), *steps, *gitlab['gate']['script']]


def calls() -> list[list[str]]:
    """The arguments of each call of the command line, with arrays of the shell as one harmless option."""
    found = []
    for script in scripts():
        for line in script.replace('\\\n', ' ').splitlines():
            if line.strip().startswith('python -m opencompass_traj '):
                words = shlex.split(line.replace('"${asked[@]}"', '--min trajectory_score=80'), comments=True)
                found.append(words[3:])
    return found


@pytest.mark.parametrize('words', calls(), ids=' '.join)
def test_every_command_is_one_that_exists(words: list[str]) -> None:
    given = program._parser('x', words[0]).parse_args(words)
    assert given.command == words[0]


def test_the_commands_are_found() -> None:
    assert {words[0] for words in calls()} == {'gate', 'comment', 'plot', 'validate'}
    assert len(calls()) >= 8


@pytest.mark.parametrize('script', scripts())
def test_every_script_is_shell(script: str) -> None:
    command = ['bash', '-n']
    found = subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=20)
    assert (found.returncode, found.stderr) == (0, '')


def test_no_script_of_the_workflow_pastes_in_what_others_wrote() -> None:
    """In `run:` an expression is put into the shell as text; a branch's or title's name could be a command."""
    assert not [script for script in scripts() if '${{' in script]


def test_the_workflow_has_what_it_promises() -> None:
    github = yaml.safe_load(blocks('yaml')[0])
    # YAML reads the key `on` as true.
    assert set(github[True]) == {'pull_request', 'push'}
    steps: list[dict[str, Any]] = github['jobs']['gate']['steps']
    used = [step['uses'].partition('@')[0] for step in steps if 'uses' in step]
    assert used == [
        'actions/checkout', 'actions/setup-python', 'actions/cache', 'actions/cache/restore', 'actions/upload-artifact',
        'mikepenz/action-junit-report', 'actions/cache/save',
    ]  # fmt: skip
    gate = next(place for place, step in enumerate(steps) if step.get('name') == 'Gate')
    after = [step for step in steps[gate + 1 :] if 'success()' not in step['if']]
    assert all(step['if'].startswith('always()') for step in after), 'what a failed gate needs most is still written'


def test_the_config_is_a_gate_that_can_be_built() -> None:
    (text,) = blocks('python')
    text = text.replace('from opencompass_traj.summarizer import TrajectorySummarizer', 'TrajectorySummarizer = 1')
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 - the repository's own text
    gate = Gate(**names['summarizer']['gate'])
    assert gate.allowances({'trajectory_score', 'silent_degradation_rate'}) == {
        'trajectory_score': 1,
        'silent_degradation_rate': 1,
        'redundant_steps': 0.2,
    }


def test_every_option_of_the_gate_stands_in_the_table() -> None:
    parser = program._parser('x', 'gate')
    (commands,) = (action for action in parser._actions if action.dest == 'command')
    options = [option for action in commands.choices['gate']._actions for option in action.option_strings]  # type: ignore[index, union-attr, call-overload]
    for option in options:
        assert f'`{option}' in PAGE or option in {'-h', '--help'}
