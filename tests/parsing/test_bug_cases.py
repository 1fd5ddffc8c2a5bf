"""Inputs after public bug reports, with the steps that a careful reader would take from them."""

import copy
import json

import pytest

from opencompass_traj.parsing import lenient
from opencompass_traj.parsing.mentions import parse_mentions
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.plan import ParseFailure, Trajectory
from tests.data import SHARED, shared_data

FILE = SHARED / 'bug_cases.json'
CASES = json.loads(FILE.read_text('utf-8')) if FILE.exists() else []
PARSE = {case['id']: case for case in CASES if case['kind'] == 'parse'}
METRIC = {case['id']: case for case in CASES if case['kind'] == 'metric'}

# Cases that are judged by a test of their own below.
APART = {'parse-049-big-int', 'parse-057-str-prefix-api', 'parse-059-str-negation', 'parse-061-unknown-prompt-type'}


def parsed(identifier):
    shared_data('bug_cases.json')
    return lenient.parse(PARSE[identifier]['input']['prediction'])


def test_all_cases_are_here():
    shared_data('bug_cases.json')
    assert len(PARSE) == 41
    assert len(METRIC) == 33
    assert set(PARSE) >= APART


@pytest.mark.parametrize('identifier', sorted(set(PARSE) - APART))
def test_a_careful_reader_takes_these_steps(identifier):
    case = PARSE[identifier]
    before = copy.deepcopy(case['input']['prediction'])
    reading = lenient.parse(case['input']['prediction'])
    assert case['input']['prediction'] == before, "the caller's data was changed"
    right = case['right']['parse']
    if right['status'] == 'failed':
        assert isinstance(reading, ParseFailure)
        return
    assert isinstance(reading, Trajectory)
    # Ids are run-specific: an order, not something to compare.
    assert [(s.name, s.args) for s in reading.plan.steps] == [(s['name'], s['args']) for s in right['steps']]


# `repaired` in the cases includes what T-Eval reads but by other keys; `ok` includes what it does not read at all.
# `recovered` has one meaning: T-Eval's own reading fails or finds something else.
@pytest.mark.parametrize('identifier', sorted(set(PARSE) - APART))
def test_recovered_says_whether_upstream_fails(identifier):
    prediction = PARSE[identifier]['input']['prediction']
    reading = lenient.parse(prediction)
    if not isinstance(reading, Trajectory) or not isinstance(prediction, str):
        return
    strict = parse_prediction(prediction, prompt_type='json')
    if isinstance(strict, ParseFailure):
        assert reading.recovered
    elif not reading.recovered:
        assert reading.plan.names == strict.names


def test_a_step_among_three_that_is_no_object_is_dropped_and_named():
    reading = parsed('parse-079-one-bad-step-of-three')
    assert reading.dropped == ("item 2 of 3: a str, not a step: 'oops'",)


@pytest.mark.parametrize(
    ('identifier', 'turns'),
    [
        ('parse-041-nested-parallel-groups', (0, 1, 1)),
        ('parse-051-two-arrays', (0, 1, 2)),
        ('parse-001-clean', (None,) * 3),
    ],
)
def test_lists_within_the_list_are_turns(identifier, turns):
    assert tuple(step.turn for step in parsed(identifier).plan.steps) == turns


def test_a_message_without_calls_is_an_abstention():
    assert len(parsed('parse-081-tool-calls-null').plan) == 0


def test_a_refusal_is_told_from_a_broken_call():
    assert parsed('parse-039-refusal') == ParseFailure(lenient.NO_CALLS)


def test_a_number_of_too_many_digits_is_kept_as_its_digits():
    (step,) = parsed('parse-049-big-int').plan.steps
    assert step.name == 'Math.factor'
    assert step.args['n'] == '7' * len(step.args['n'])
    assert len(step.args['n']) > 4300


def test_of_two_tools_that_begin_alike_the_longer_is_meant():
    shared_data('bug_cases.json')
    case = PARSE['parse-057-str-prefix-api']
    reading = parse_mentions(case['input']['prediction'], case['input']['API_list'])
    assert list(reading.plan.names) == case['right']['parse']['names']


def test_a_tool_that_is_ruled_out_is_read_all_the_same():
    """The case's own note says that this cannot be solved in general: both tools are read, as upstream does."""
    shared_data('bug_cases.json')
    case = PARSE['parse-059-str-negation']
    reading = parse_mentions(case['input']['prediction'], case['input']['API_list'])
    assert reading.plan.names == ('TrainDesk.find_station', 'TrainDesk.book_seat')


def test_an_unknown_prompt_type_is_refused_with_those_there_are():
    shared_data('bug_cases.json')
    given = PARSE['parse-061-unknown-prompt-type']['input']
    with pytest.raises(ValueError, match="'json', 'str' or 'ReWOO', got 'xml'"):
        parse_prediction(given['prediction'], prompt_type=given['prompt_type'])


def _metric_predictions():
    for identifier, case in METRIC.items():
        given = case['input']['prediction']
        for index, prediction in enumerate(given if 'batch' in case['input'] else [given]):
            yield pytest.param(identifier, prediction, id=f'{identifier}-{index}')


@pytest.mark.parametrize(('identifier', 'prediction'), list(_metric_predictions()))
def test_predictions_of_the_metric_cases_are_read(identifier, prediction):
    reading = lenient.parse(prediction)
    if identifier == 'metric-044-abstain-text-vs-empty-gold':
        assert reading == ParseFailure(lenient.NO_CALLS)
    elif identifier == 'metric-046-empty-name':
        # A call without a tool is none; the case wants a score of 0 for it, which a failure is.
        assert reading.reason.startswith('no step could be read')
    else:
        assert isinstance(reading, Trajectory)
        assert reading.dropped == ()
        prompt_type = METRIC[identifier]['input'].get('prompt_type', 'json')
        assert reading.plan.names == parse_prediction(prediction, prompt_type=prompt_type).names
