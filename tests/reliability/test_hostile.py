"""Never loses a sample: whatever a prediction is, there is one row for it, and its numbers are sound."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_traj.limits import CEILINGS, DEFAULT_LIMITS, Limits
from opencompass_traj.parsing.bounds import NOT_COMPARED, bounded, holds_more, value_problem, without_sets
from opencompass_traj.parsing.trajectories import FORMATS, read_trajectory
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory
from tests.fuzz.targets import RECORDS, check_scores, references, scorer
from tests.reliability.hostile import ODD, STEP, TEXTS, VALUES, chat, nested

# A twentieth of the longest that is read; `python -m tests.reliability.full_size` takes the full length.
LENGTH = 50_000
# In the order of the golden records, each input meets another kind of golden plan.
VALUE_NAMES = list(VALUES)
TEXT_NAMES = list(TEXTS)


def scored(prediction: Any, number: int = 1, **options: Any) -> dict[str, Any]:
    golden = references()[number % len(RECORDS)]
    (row,) = check_scores(scorer(**options), [prediction], [golden]).details
    return row


@pytest.mark.parametrize('name', VALUE_NAMES)
def test_any_value_has_its_row(name: str) -> None:
    scored(VALUES[name](), VALUE_NAMES.index(name))


@pytest.mark.parametrize('name', TEXT_NAMES)
def test_any_long_text_has_its_row(name: str) -> None:
    scored(TEXTS[name](LENGTH), TEXT_NAMES.index(name))


@pytest.mark.parametrize('name', ODD)
def test_odd_texts_have_their_row_beside_every_golden_plan(name: str) -> None:
    for number in range(len(RECORDS)):
        scored(ODD[name], number)


@pytest.mark.parametrize('format_name', FORMATS)
def test_no_format_loses_a_sample(format_name: str) -> None:
    predictions: list[Any] = [
        *ODD.values(),
        *(TEXTS[name](1_000) for name in TEXT_NAMES[FORMATS.index(format_name) % 3 :: 3]),
    ]
    predictions += [
        VALUES[name]() for name in VALUES if '000' not in name and 'itself' not in name and 'million' not in name
    ]
    golden = [references()[i % len(RECORDS)] for i in range(len(predictions))]
    check_scores(scorer(format_name), predictions, golden)


def test_a_bad_sample_does_not_touch_its_neighbours() -> None:
    good = json.dumps([STEP])
    alone = check_scores(scorer(), [good], references()[:1]).details[0]
    names = [name for name in VALUES if '000' not in name]
    predictions = [value for name in names for value in (VALUES[name](), good)]
    rows = check_scores(scorer(), predictions, references()[:1] * len(predictions)).details
    assert all(row == alone for row in rows[1::2])


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ('limits', 'prediction', 'reason'),
    [
        ({'answer_chars': 20}, json.dumps([STEP]), 'answer longer than 20 characters'),
        ({'recording_chars': 30, 'answer_chars': 20}, json.dumps(chat(1)), 'answer longer than 20 characters'),
        ({'steps': 2}, json.dumps([{**STEP, 'id': i} for i in range(3)]), 'more than 2 steps'),
        ({'steps': 2}, [{**STEP, 'id': i} for i in range(3)], 'more than 2 steps'),
        ({'steps': 2}, chat(3), 'more than 2 steps'),
        ({'steps': 2}, 'a()\nb()\nc()', 'more than 2 steps'),
    ],
)
def test_what_passes_a_limit_is_named(limits: dict[str, int], prediction: Any, reason: str) -> None:
    found = read_trajectory(prediction, limits=Limits(**limits))
    assert found == ParseFailure(reason)
    assert isinstance(read_trajectory(prediction), Trajectory)


def test_a_recording_may_be_longer_than_an_answer() -> None:
    text = json.dumps(chat(30, content='x' * 50_000))
    assert len(text) > DEFAULT_LIMITS.answer_chars
    found = read_trajectory(text)
    assert isinstance(found, Trajectory)
    assert (found.format, len(found.plan)) == ('openai', 30)
    for name in ('openai', 'auto'):
        assert isinstance(read_trajectory(text, format=name), Trajectory)
        assert read_trajectory(text, format=name, limits=Limits(recording_chars=len(text) - 1)) == ParseFailure(
            'answer longer than 1000000 characters'
        )
    assert isinstance(read_trajectory(text, format='react'), ParseFailure)
    assert isinstance(read_trajectory('x' * 1_000_001), ParseFailure)


@pytest.mark.parametrize(
    ('args', 'problem'),
    [
        ({str(i): i for i in range(7)}, 'more than 6 values'),
        ({'a': nested(4)}, 'nested more than 4 deep'),
        ({'a': 10**5000}, 'a whole number of more than 4300 digits'),
        ({10**5000: 'a'}, 'a whole number of more than 4300 digits'),
        ({(1, 10**5000): 'a'}, 'a whole number of more than 4300 digits'),
        ({'a': object()}, 'a value of the type object, which JSON does not have'),
    ],
)
def test_arguments_past_a_limit_are_named_and_the_step_stays(args: Any, problem: str) -> None:
    plan = Plan((Step(0, 'search', {'q': 'x'}), Step('b', 'book', args)))
    found = bounded(Trajectory(plan, 'teval', dropped=('before',)), Limits(depth=4, argument_values=6))
    assert isinstance(found, Trajectory)
    assert found.plan.names == ('search', 'book')
    assert found.plan.steps[0] is plan.steps[0]
    assert found.plan.steps[1].args == NOT_COMPARED
    assert found.dropped == ('before', f'step b: arguments not compared: {problem}')
    assert bounded(Trajectory(plan, 'teval'), Limits()) != found


def test_sound_plans_are_left_as_they_are() -> None:
    found = Trajectory(Plan((Step(0, 'search', {'q': [1, None, {'a': 'x'}]}), Step(1, 'a', 'text'))), 'teval')
    assert bounded(found, Limits(depth=3, argument_values=6)) is found
    assert bounded(ParseFailure('x'), Limits()) == ParseFailure('x')


def test_huge_numbers_in_text_take_only_their_arguments_with_them() -> None:
    row = scored(TEXTS['a call with hexadecimal digits'](6_000))
    assert row['parse_status'] == 'recovered'
    assert row['dropped_steps'] == ['step 0: arguments not compared: a whole number of more than 4300 digits']


@pytest.mark.parametrize(
    ('value', 'depth', 'values', 'problem'),
    [
        (1, 1, 1, ''),
        ([], 1, 1, ''),
        ([[1]], 1, 9, 'nested more than 1 deep'),
        ([[]], 1, 1, ''),
        ([[1]], 2, 2, ''),
        ([1, 2], 1, 1, 'more than 1 values'),
        ([[1, 2], 3], 2, 4, ''),
        ([[1, 2], 3], 2, 3, 'more than 3 values'),
        (10**4300 - 1, 1, 1, 'a whole number of more than 4300 digits'),
        (10**4299, 1, 1, ''),
        (True, 1, 1, ''),
        ({'a': {1, 2}}, 2, 3, ''),
        (b'x', 1, 1, ''),
    ],
)
def test_value_problems(value: Any, depth: int, values: int, problem: str) -> None:
    assert value_problem(value, depth=depth, values=values) == problem


def test_a_value_that_holds_itself_twice_is_bounded() -> None:
    value: list[Any] = []
    value += [value, value]
    assert holds_more(value)
    assert value_problem(value, depth=200, values=1_000) == 'more than 1000 values'
    assert scored(value)['parse_reason'] == 'more than 5000000 values'


def test_sets_are_written_in_one_order() -> None:
    value = {'of': [{'b', 'a', 'c'}, (1, frozenset({2}))], 'x': 1}
    assert without_sets(value) == {'of': ["{'a', 'b', 'c'}", (1, '{2}')], 'x': 1}


@pytest.mark.parametrize('name', CEILINGS)
def test_limits_have_a_range(name: str) -> None:
    assert getattr(Limits(**{name: CEILINGS[name]}), name) == CEILINGS[name]
    assert Limits.of({name: 1}).as_options() == {**DEFAULT_LIMITS.as_options(), name: 1}
    for wrong in (0, -1, CEILINGS[name] + 1, 1.5, True, None, '7'):
        with pytest.raises(ValueError, match=f'expected the limit `{name}` to be a whole number of 1 to'):
            Limits(**{name: wrong})


def test_unknown_limits_are_named() -> None:
    with pytest.raises(ValueError, match=r"expected limits of answer_chars, .*, got 'answer_char'"):
        Limits.of({'answer_char': 7})
    assert Limits.of(None) == DEFAULT_LIMITS
    assert Limits.of(DEFAULT_LIMITS) is DEFAULT_LIMITS
