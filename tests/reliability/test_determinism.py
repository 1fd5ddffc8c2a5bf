"""The same bytes, whatever the hash seed, the order of the samples, and how many are scored at once."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.sentence_encoder import SentenceEncoder
from tests.fuzz.targets import RECORDS, references, scorer
from tests.reliability.hostile import ODD, TEXTS, VALUES

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = [name for name in VALUES if '000' not in name and 'million' not in name and name != 'opaque']
PREDICTIONS: list[Any] = [
    *ODD.values(), *(TEXTS[name](2_000) for name in TEXTS), *(VALUES[name]() for name in NAMES if 'itself' not in name),
]  # fmt: skip
GOLDEN = [number % len(RECORDS) for number in range(len(PREDICTIONS))]


def rows(order: list[int] | None = None) -> dict[int, str]:
    """The details of all samples, scored in an order, as JSON by the sample's number."""
    numbers = list(range(len(PREDICTIONS))) if order is None else order
    found = scorer().score([PREDICTIONS[i] for i in numbers], [references()[GOLDEN[i]] for i in numbers])
    return {i: json.dumps(row) for i, row in zip(numbers, found.details, strict=True)}


def digest() -> str:
    """One text for all numbers and rows."""
    found = scorer().score(PREDICTIONS, [references()[i] for i in GOLDEN])
    return hashlib.sha256(json.dumps([found.means, found.details]).encode()).hexdigest()


def test_the_hash_seed_changes_nothing() -> None:
    code = 'from tests.reliability.test_determinism import digest; print(digest())'
    found = {
        subprocess.run(
            [sys.executable, '-c', code],
            env={**os.environ, 'PYTHONHASHSEED': seed, 'PYTHONPATH': str(REPOSITORY)},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ('0', '1', '4711')
    }
    assert found == {digest() + '\n'}


@pytest.mark.parametrize('seed', range(3))
def test_the_order_of_the_samples_changes_nothing(seed: int) -> None:
    order = list(range(len(PREDICTIONS)))
    random.Random(seed).shuffle(order)
    assert rows(order) == rows()
    straight = scorer().score(PREDICTIONS, [references()[i] for i in GOLDEN])
    turned = scorer().score([PREDICTIONS[i] for i in order], [references()[GOLDEN[i]] for i in order])
    assert turned.means == straight.means


def test_a_sample_alone_has_the_row_that_it_has_among_others() -> None:
    together = rows()
    for number in range(0, len(PREDICTIONS), 7):
        assert rows([number]) == {number: together[number]}


def test_the_batch_size_changes_no_vector_beyond_a_millionth(packaged: SentenceEncoder) -> None:
    """Padding changes how floats are added up: the one place where less than the same bytes is promised."""
    texts = [
        f'get_weather {{"city": "{name}"}}' * (1 + i % 5) for i, name in enumerate(('Lyon', 'Rome', '北京', 'x' * 90))
    ]
    alone = [packaged.encode([text])[0] for text in texts]
    together = packaged.encode(texts)
    assert max(abs(one - other).max() for one, other in zip(alone, together, strict=True)) < 1e-6
