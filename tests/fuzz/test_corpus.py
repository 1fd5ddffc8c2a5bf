"""Inputs that the fuzzer began with, and those that broke something once (`found-…`), through the fuzzed functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import targets

CORPUS = Path(__file__).resolve().parent / 'corpus'
INPUTS = sorted(path for path in CORPUS.glob('*/*') if path.parent.name in targets.TARGETS)


@pytest.mark.parametrize('path', INPUTS, ids=lambda path: f'{path.parent.name}-{path.name}')
def test_the_promise_holds(path: Path) -> None:
    targets.TARGETS[path.parent.name](path.read_bytes())


def test_every_target_has_its_inputs() -> None:
    assert {path.parent.name for path in INPUTS} == set(targets.TARGETS)


def test_a_broken_promise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lossy:
        def score(self, predictions: list[object], golden: list[object]) -> object:
            found = targets.scorer().score(predictions, golden)
            return type(found)(found.means, found.rates, found.details[:-1], found.counts)

    golden = targets.references()[:1]
    with pytest.raises(targets.BrokenPromiseError, match='one row of details per prediction'):
        targets.check_scores(Lossy(), ['[]'], golden)  # type: ignore[arg-type]
    monkeypatch.setattr(targets, 'load_literal', lambda _: [1])
    with pytest.raises(targets.BrokenPromiseError, match='the value that Python, then JSON reads'):
        targets.read_any(b'\0[2]')
