"""What stands beside a recorded prediction reaches the scores, and nothing else is taken for it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.parsing.sealed import FIGURE_KEYS, golden_key, seal, unseal, with_record
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
from opencompass_traj.tasks import Task

CALL = {'id': 'c1', 'type': 'function', 'function': {'name': 'a', 'arguments': '{}'}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


GOLDEN = {'ground_truth': [{'name': 'a'}], 'budget': {'tokens': 250}}


def write(folder, *rows):
    path = folder / 'run.jsonl'
    path.write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    return str(path)


def answers(folder, *rows, golden=GOLDEN):
    tasks = [Task(str(row['id']), '', (), golden) for row in rows]
    return list(read_recording(write(folder, *rows), tasks=tasks).values())


def scored(prediction, golden=GOLDEN):
    metrics = [SequenceSimilarity(), GraphSimilarity(), TrajectoryScore(), Efficiency(), Outcome()]
    return Scorer(metrics).score([prediction], read_references([golden])).details[0]


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
    (answer,) = answers(tmp_path, {'id': 't1', **row})
    found = scored(answer)
    assert (found['sequence_similarity'], found['solved_rate'], found['token_ratio']) == (1, 1, 2)
    assert found['figures_refused'] is False


RUN = {'messages': [{'role': 'assistant', 'tool_calls': [CALL]}], 'reward': 1, 'tokens': 500}
STEPS = '[{"id": 0, "name": "a", "args": {}}]'


@pytest.mark.parametrize(
    'text',
    [
        json.dumps(RUN),
        json.dumps(RUN, indent=1),
        json.dumps({'recorded_prediction': RUN}),
        json.dumps({'recorded_prediction': STEPS, 'reward': 1, 'tokens': 500}),
        json.dumps({'recorded_prediction': json.dumps(RUN), 'reward': 1}),
        seal(RUN, RUN, key='guessed', is_run=True),
        seal(STEPS, RUN, key=''),
        seal(STEPS, RUN, key=golden_key({'ground_truth': [{'name': 'b'}]})),
        seal(STEPS, RUN, key=golden_key(GOLDEN)).replace('"reward": 1', '"reward": 2'),
        seal(STEPS, RUN, key=golden_key(GOLDEN)).replace('\\"a\\"', '\\"a\\" '),
        seal(STEPS, RUN, key=golden_key(GOLDEN))[:-3] + '0"}',
    ],
)
def test_a_model_is_not_believed_about_its_own_outcome(text):
    found = scored(text)
    assert (found['solved_rate'], found['token_ratio'], found['tokens']) == (None, None, None)
    assert found['figures_refused'] is True
    # The plan is the plan, whatever stands around it.
    assert (found['parse_status'] != 'unreadable', found['sequence_similarity']) == (True, 1)


def test_a_run_that_is_no_text_comes_from_the_caller_and_is_believed():
    found = scored(RUN)
    assert (found['solved_rate'], found['tokens'], found['figures_refused']) == (1, 500, False)


def test_a_run_without_figures_has_none_to_refuse():
    for text in (STEPS, json.dumps(RUN['messages']), 'no plan', seal(STEPS, {})):
        assert scored(text)['figures_refused'] is False


@pytest.mark.parametrize(
    ('one', 'other'),
    [
        ({'ground_truth': [{'name': 'a'}]}, {'ground_truth': [{'id': 0, 'name': 'a', 'args': {}}], 'id': 'x'}),
        ({'ground_truth': [{'name': 'a'}]}, {'ground_truth': '[{"name": "a"}]', 'meta': {}}),
        ({'ground_truth': [{'id': '1', 'name': 'a'}]}, {'ground_truth': [{'id': 1, 'name': 'a'}]}),
        ({'ground_truths': [[{'name': 'a'}], []]}, {'ground_truth': [], 'ground_truths': [[{'name': 'a'}]]}),
    ],
)
def test_the_key_is_the_same_however_the_golden_plan_is_written(one, other):
    assert golden_key(one) == golden_key(other)
    assert len({golden_key(one), golden_key({'ground_truth': [{'name': 'b'}]}), golden_key({})}) == 3


@pytest.mark.parametrize('golden', [[{'name': 'a', 'args': {'n': 1, 'x': '\ud800'}}], [], [{'name': 'é', 'prev': []}]])
def test_any_of_several_golden_plans_takes_the_seal(tmp_path, golden):
    record = {'ground_truths': [golden, [{'name': 'a'}]]}
    (answer,) = answers(tmp_path, {'id': 1, 'prediction': STEPS, 'reward': 1.0}, golden=record)
    assert scored(answer, record)['solved_rate'] == 1


def test_an_unreadable_run_keeps_its_outcome(tmp_path):
    (answer,) = answers(tmp_path, {'id': 't1', 'prediction': '[{"na', 'reward': 0.0})
    found = scored(answer)
    assert (found['parse_status'], found['solved_rate']) == ('unreadable', 0)


def test_a_rows_figure_goes_before_one_within_the_prediction(tmp_path):
    (answer,) = read_recording(write(tmp_path, {'id': 1, 'prediction': {'steps': [], 'cost': 1}, 'cost': 2})).values()
    assert unseal(answer, str).record.cost == 2


def test_lone_surrogates_do_not_stop_the_hosts_files(tmp_path):
    rows = [{'id': 1, 'prediction': '[] \ud800'}, {'id': 2, 'prediction': '\udfff', 'reward': 1.0}]
    found = answers(tmp_path, *rows)
    assert [text.encode() for text in found]
    assert scored(found[1])['solved_rate'] == 1


def test_a_trajectorys_own_figures_go_first():
    own = Trajectory(Plan(), 'openai', record=RunRecord(tokens=3))
    assert with_record(own, RunRecord(solved=True, tokens=9)).record == RunRecord(solved=True, tokens=3)
    failure = ParseFailure('no')
    assert with_record(failure, RunRecord(solved=True)) is failure


def test_an_answer_without_figures_is_as_it_was():
    assert seal('text', {'id': 1, 'note': 'x', 'reward': None}) == 'text'
    assert seal([1], {}) == '[1]'


@given(JSON, st.dictionaries(st.sampled_from(FIGURE_KEYS), JSON, min_size=1, max_size=3), st.text())
def test_what_is_sealed_comes_out_again(prediction, figures, key):
    found = unseal(seal(prediction, figures, key=key), lambda: key)
    if any(value is not None for value in figures.values()):
        assert found.prediction == json.loads(json.dumps(prediction).encode('utf-8', 'replace'))
        assert (found.trusted, found.refused) == (True, False)
    assert isinstance(found.record, RunRecord)


@given(st.text() | st.text().map('{"recorded_prediction"'.__add__) | JSON)
def test_nothing_raises_and_other_values_are_answers(value):
    found = unseal(value)
    assert found.record == RunRecord()
    assert found.refused or found.prediction == value
    assert found.trusted == (not isinstance(value, str))
