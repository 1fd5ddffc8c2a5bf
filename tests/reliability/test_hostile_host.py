"""The promise through OpenCompass' evaluator, T-Eval's own numbers included."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.fuzz.targets import RECORDS, DigestEncoder
from tests.reliability.hostile import ODD, STEP, TEXTS, VALUES, nested

pytestmark = pytest.mark.host

NAMES = [name for name in VALUES if '100,000 steps' not in name and 'million' not in name and 'calls' not in name]


def test_every_prediction_has_its_row(build: Callable[..., Any]) -> None:
    predictions = [*ODD.values(), *(TEXTS[name](3_000) for name in TEXTS), *(VALUES[name]() for name in NAMES)]
    references = [json.dumps(RECORDS[i % len(RECORDS)]) for i in range(len(predictions))]
    result = build(DigestEncoder()).score(predictions, references)
    assert len(result['details']) == len(predictions)
    json.dumps(result['details'], allow_nan=False).encode()
    for key, value in result.items():
        if isinstance(value, float):
            assert value >= 0, key
    alone = build(DigestEncoder()).score([json.dumps([STEP])], references[:1])['details'][0]
    among = build(DigestEncoder()).score([predictions[-1], json.dumps([STEP])], [references[0]] * 2)['details'][1]
    named = {'sample': '', 'task': ''}
    assert {**among, **named} == {**alone, **named}


def test_limits_are_an_option_that_stands_in_the_settings(build: Callable[..., Any]) -> None:
    evaluator = build(DigestEncoder(), limits={'steps': 1, 'answer_chars': 200})
    predictions = [json.dumps([STEP, {**STEP, 'id': 1}]), json.dumps([STEP]), json.dumps([{**STEP, 'x': 'y' * 300}])]
    result = evaluator.score(predictions, [json.dumps(RECORDS[1])] * 3)
    assert [row['parse_reason'] for row in result['details']] == [
        'more than 1 steps', '', 'answer longer than 200 characters',
    ]  # fmt: skip
    assert (result['settings']['limits']['steps'], result['settings']['limits']['depth']) == (1, 200)
    # T-Eval's numbers keep T-Eval's reading, but for the length.
    assert [row['parse_rate'] for row in result['details']] == [1, 1, 0]
    with pytest.raises(ValueError, match='expected limits of answer_chars'):
        build(DigestEncoder(), limits={'step': 1})


def test_an_unknown_option_of_a_metric_is_named(build: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="GraphSimilarity has no option 'bugdet'; did you mean 'budget'"):
        build(metrics=[{'type': 'GraphSimilarity', 'bugdet': 3}])


@pytest.mark.parametrize('value', [nested(100_000), nested(100_000, kind='dict'), [{**STEP, 'args': nested(5_000)}]])
def test_what_upstream_cannot_copy_is_unread(build: Callable[..., Any], value: Any) -> None:
    (row,) = build(DigestEncoder()).score([value], [json.dumps(RECORDS[0])])['details']
    assert row['parse_rate'] == 0
