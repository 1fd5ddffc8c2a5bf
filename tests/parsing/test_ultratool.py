"""A thousand real answers of two models in two languages, each as it came."""

import json
from collections import Counter
from functools import cache

import pytest

from opencompass_traj.parsing import lenient
from opencompass_traj.parsing.literal import load_literal
from opencompass_traj.plan import ParseFailure, Trajectory
from tests.data import shared_data

# JSON as it stands; what T-Eval's loader makes a list of; answers that lenient reads; with something dropped; whose
# tools are the golden ones in the golden order.
EXPECTED = {
    'en_gpt-3.5': (60, 246, 250, 1, 202),
    'en_gpt-4': (231, 250, 250, 0, 248),
    'zh_gpt-3.5': (5, 244, 250, 2, 209),
    'zh_gpt-4': (29, 250, 250, 0, 250),
}


@cache
def rows(name):
    path = shared_data(f'ultratool/{name}.jsonl')
    return [json.loads(line) for line in path.read_text('utf-8').splitlines()]


@cache
def readings(name):
    return [lenient.parse(row['init output']) for row in rows(name)]


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize('name', EXPECTED)
def test_how_many_are_read(name):
    texts = [row['init output'] for row in rows(name)]
    read = [reading for reading in readings(name) if isinstance(reading, Trajectory)]
    golden = [tuple(step['tool'] for step in row['data']['reference']) for row in rows(name)]
    counts = (
        sum(map(is_json, texts)),
        sum(isinstance(load_literal(text, start='[', end=']'), list) for text in texts),
        len(read),
        sum(bool(reading.dropped) for reading in read),
        sum(reading.plan.names == names for reading, names in zip(readings(name), golden, strict=True)),
    )
    assert counts == EXPECTED[name]


@pytest.mark.parametrize('name', EXPECTED)
def test_no_answer_is_lost(name):
    assert not [reading.reason for reading in readings(name) if isinstance(reading, ParseFailure)]


@pytest.mark.parametrize('name', EXPECTED)
def test_all_are_recovered_because_upstream_wants_other_keys(name):
    assert all(reading.recovered for reading in readings(name))


@pytest.mark.parametrize('name', EXPECTED)
def test_where_the_answer_is_sound_every_tool_of_it_is_read_and_none_besides(name):
    for row, reading in zip(rows(name), readings(name), strict=True):
        value = load_literal(row['init output'], start='[', end=']')
        if isinstance(value, list):
            expected = [(item['tool'], item['param'] or {}) for item in value if item.get('tool')]
            assert [(step.name, step.args) for step in reading.plan.steps] == expected


@pytest.mark.parametrize('name', EXPECTED)
def test_as_many_tools_as_the_text_names(name):
    """An independent count: `'tool':` with something after it, however broken the JSON around it is."""
    for row, reading in zip(rows(name), readings(name), strict=True):
        text = row['init output'].replace('"', "'")
        named = text.count("'tool': '") - text.count("'tool': ''")
        assert named == len(reading.plan), row['init output']


def test_what_is_dropped_are_steps_without_a_tool():
    dropped = Counter(
        text.split(': ', 1)[1][:24] for name in EXPECTED for reading in readings(name) for text in reading.dropped
    )
    assert dropped == {'an object without a tool': 4}
