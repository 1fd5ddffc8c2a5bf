"""What stands beside a recorded prediction reaches the scores, and nothing else is taken for it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.parsing.sealed import FIGURE_KEYS, seal, unseal, with_record
from opencompass_traj.plan import ParseFailure, Plan, RunRecord, Trajectory
from opencompass_traj.recordings import read_recording
from opencompass_traj.scoring import (
    Efficiency,
    GraphSimilarity,
    Outcome,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)

CALL = {'id': 'c1', 'type': 'function', 'function': {'name': 'a', 'arguments': '{}'}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def write(folder, *rows):
    path = folder / 'run.jsonl'
    path.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    return str(path)


@pytest.mark.parametrize(
    'row',
    [
        {'prediction': [{'id': 0, 'name': 'a', 'args': {}}], 'reward': 1.0, 'tokens': 500},
        {'prediction': '[{"id": 0, "name": "a", "args": {}}]', 'solved': True, 'usage': {'total_tokens': 500}},
        {'prediction': {'steps': [{'tool': 'a'}], 'reward': 1, 'tokens': 500}},
        {'prediction': [{'role': 'assistant', 'tool_calls': [CALL]}], 'outcome': 'success', 'tokens': 500},
        {'messages': [{'role': 'assistant', 'tool_calls': [CALL]}], 'reward': 1, 'tokens': 500},
        {'steps': [{'tool': 'a', 'param': {}}], 'reward': 1, 'tokens': 500},
    ],
)
def test_figures_beside_a_prediction_count(tmp_path, row):
    (answer,) = read_recording(write(tmp_path, {'id': 't1', **row})).values()
    metrics = [SequenceSimilarity(), GraphSimilarity(), TrajectoryScore(), Efficiency(), Outcome()]
    golden = {'ground_truth': [{'name': 'a'}], 'budget': {'tokens': 250}}
    found = Scorer(metrics).score([answer], read_references([golden])).means
    assert (found['sequence_similarity'], found['solved_rate'], found['token_ratio']) == (1, 1, 2)


def test_an_unreadable_run_keeps_its_outcome(tmp_path):
    (answer,) = read_recording(write(tmp_path, {'id': 't1', 'prediction': '[{"na', 'reward': 0.0})).values()
    metrics = [SequenceSimilarity(), GraphSimilarity(), TrajectoryScore(), Outcome()]
    found = Scorer(metrics).score([answer], read_references([[{'name': 'a'}]]))
    assert found.details[0]['parse_status'] == 'unreadable'
    assert (found.means['outcome_known_rate'], found.means['solved_rate']) == (1, 0)


def test_a_rows_figure_goes_before_one_within_the_prediction(tmp_path):
    (answer,) = read_recording(write(tmp_path, {'id': 1, 'prediction': {'steps': [], 'cost': 1}, 'cost': 2})).values()
    assert unseal(answer)[1].cost == 2


def test_a_trajectorys_own_figures_go_first():
    own = Trajectory(Plan(), 'openai', record=RunRecord(tokens=3))
    assert with_record(own, RunRecord(solved=True, tokens=9)).record == RunRecord(solved=True, tokens=3)
    failure = ParseFailure('no')
    assert with_record(failure, RunRecord(solved=True)) is failure


def test_an_answer_without_figures_is_as_it_was():
    assert seal('text', {'id': 1, 'note': 'x', 'reward': None}) == 'text'
    assert seal([1], {}) == '[1]'


@given(JSON, st.dictionaries(st.sampled_from(FIGURE_KEYS), JSON, min_size=1, max_size=3))
def test_what_is_sealed_comes_out_again(prediction, figures):
    answer, record = unseal(seal(prediction, figures))
    if any(value is not None for value in figures.values()):
        assert answer == prediction
    assert isinstance(record, RunRecord)


@given(st.text() | st.text().map('{"recorded_prediction"'.__add__) | JSON)
def test_nothing_raises_and_other_values_are_answers(value):
    answer, record = unseal(value)
    if record == RunRecord():
        assert answer == value or isinstance(value, str)
