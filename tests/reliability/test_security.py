"""Nothing from data is run: what the package's own code may call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import opencompass_traj

PACKAGE = Path(opencompass_traj.__file__).resolve().parent
SOURCES = [
    path for path in sorted(PACKAGE.rglob('*.py')) if path.relative_to(PACKAGE).parts[0] not in {'configs', 'data'}
]
RUNS_TEXT = {'eval', 'exec', 'compile', '__import__', 'breakpoint'}
READS_CODE = {'pickle', 'marshal', 'shelve', 'dill', 'joblib', 'subprocess', 'ctypes', 'socket', 'urllib', 'requests'}
# A function, or a summary, that a config names; the module of a command; the shell's names on first use.
IMPORTS_BY_NAME = {'metrics/argument_rules.py', 'summarizer.py', 'command_line/program.py', '__init__.py'}


def calls(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or '').partition('.')[0]


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_runs_text_or_reads_code(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding='utf-8'))
    called = set(calls(tree))
    assert not called & RUNS_TEXT
    assert not {name for name in called if name.startswith(('os.system', 'os.popen', 'os.exec', 'os.spawn'))}
    assert not set(imported(tree)) & READS_CODE
    if str(path.relative_to(PACKAGE)) not in IMPORTS_BY_NAME:
        assert 'importlib.import_module' not in called


def test_no_model_repository_runs_its_code() -> None:
    text = ''.join(path.read_text(encoding='utf-8') for path in SOURCES)
    assert 'trust_remote_code=True' not in text
    assert 'allow_pickle=True' not in text


def test_the_check_sees_what_it_forbids() -> None:
    tree = ast.parse('import pickle\nfrom subprocess import run\neval("1")\nos.system("x")')
    assert set(calls(tree)) == {'eval', 'os.system'}
    assert set(imported(tree)) == {'pickle', 'subprocess'}
