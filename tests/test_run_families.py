"""The metrics of how a run went, through the scorer: their values, options, errors, and what is not recorded."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    CorpusScore,
    EffectMatch,
    Efficiency,
    ForbiddenTools,
    GraphSimilarity,
    LoopDetection,
    Metric,
    Outcome,
    PartialOrderSimilarity,
    Reading,
    Recovery,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)

SPARSE = {
    'step_ratio': 'step_known_rate', 'token_ratio': 'token_known_rate', 'latency_ratio': 'latency_known_rate',
    'cost_ratio': 'cost_known_rate', 'solved_rate': 'outcome_known_rate',
    'silent_degradation_rate': 'outcome_known_rate',
}  # fmt: skip
METRICS_PAGE = Path(__file__).resolve().parents[1] / 'docs' / 'metrics.md'


def everything() -> list[Metric]:
    return [
        Recovery(), SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(),
        TrajectoryScore(), ArgumentMatch(), EffectMatch(), LoopDetection(), ForbiddenTools(), Efficiency(), Outcome(),
    ]  # fmt: skip


def steps(*calls: Any) -> list[dict[str, Any]]:
    """T-Eval's steps: each call a name, or a name and its arguments."""
    named = [(call, {}) if isinstance(call, str) else call for call in calls]
    return [{'id': i, 'name': name, 'args': args} for i, (name, args) in enumerate(named)]


def chat(*turns: list[Any], **record: Any) -> dict[str, Any]:
    """A run as OpenAI chat messages: turns of calls `name`, `(name, args)` or `(name, args, failed)`."""
    messages: list[dict[str, Any]] = [{'role': 'user', 'content': 'Go.'}]
    number = 0
    for turn in turns:
        calls, results = [], []
        for call in turn:
            name, args, failed = (*((call,) if isinstance(call, str) else call), {}, False)[:3]
            function = {'name': name, 'arguments': json.dumps(args)}
            calls.append({'id': f'c{number}', 'type': 'function', 'function': function})
            content = 'Error: refused' if failed else 'done'
            results.append({'role': 'tool', 'tool_call_id': f'c{number}', 'content': content})
            number += 1
        messages += [{'role': 'assistant', 'content': None, 'tool_calls': calls}, *results]
    return {'messages': messages, **record}


def serial(*calls: Any, **record: Any) -> str:
    return chat(*([call] for call in calls), **record)


def corpus(
    predictions: list[Any], references: list[Any], metrics: list[Metric] | None = None, **options: Any
) -> CorpusScore:
    return Scorer(everything() if metrics is None else metrics, **options).score(
        predictions, read_references(references)
    )


def one(prediction: Any, golden: Any, *metrics: Metric, rules: Any = None, **options: Any) -> dict[str, Any]:
    reading = Reading(rules=argument_rules(rules))
    return corpus([prediction], [golden], list(metrics) or None, reading=reading, **options).details[0]


def picked(row: dict[str, Any], *keys: str) -> list[Any]:
    return [row[key] for key in keys]


# ---------------------------------------------------------------- recovered_rate


@pytest.mark.parametrize(
    ('prediction', 'status', 'rate'),
    [
        (json.dumps(steps('A')), 'read', 0),
        (steps('A'), 'read', 0),
        ('My plan:\n' + json.dumps(steps('A')), 'read', 0),
        ('[{"id": 0, "name": "A", "args": {},}, // the only one\n]', 'recovered', 1),
        ('A()', 'recovered', 1),
        ('[{"tool": "A", "param": {}}]', 'recovered', 1),
        ([{'tool': 'A', 'param': {}}], 'recovered', 1),
        (serial('A'), 'read', 0),
        ('I cannot help with that.', 'unreadable', 0),
        ('', 'unreadable', 0),
        (None, 'unreadable', 0),
    ],
)
def test_recovered_is_what_only_a_lenient_reading_gets(prediction: Any, status: str, rate: float) -> None:
    row = one(prediction, steps('A'))
    assert (row['parse_status'], row['recovered_rate']) == (status, rate)
    assert row['sequence_similarity'] == (0 if status == 'unreadable' else 1)
    assert bool(row['parse_reason']) is (status == 'unreadable')
    assert bool(row['format']) is (status != 'unreadable')


def test_with_tevals_reading_nothing_is_recovered() -> None:
    reading = Reading(prediction_format='teval')
    found = corpus(['A()', serial('A'), json.dumps(steps('A'))], [steps('A')] * 3, reading=reading)
    assert [row['parse_status'] for row in found.details] == ['unreadable', 'unreadable', 'read']
    assert found.means['recovered_rate'] == 0
    assert found.means['sequence_similarity'] == pytest.approx(1 / 3)


# ---------------------------------------------------------------- arguments

ARGUMENTS = ('argument_precision', 'argument_recall', 'argument_f1', 'args_exact_rate')


@pytest.mark.parametrize(
    ('pred', 'golden', 'rules', 'expected'),
    [
        ({'city': 'Lyon'}, {'city': 'Lyon'}, None, [1, 1, 1, 1]),
        ({'city': 'Lyon', 'day': 2}, {'city': 'Lyon', 'seat': '1A'}, None, [0.5, 0.5, 0.5, 0]),
        ({'city': 'Lyon', 'day': 2}, {'city': 'Lyon'}, None, [0.5, 1, 2 / 3, 0]),
        ({'city': 'Lyon'}, {'city': 'Lyon', 'day': 2}, None, [1, 0.5, 2 / 3, 0]),
        ({'n': '1', 'b': 'true', 'z': 'null'}, {'n': 1, 'b': True, 'z': None}, None, [1, 1, 1, 1]),
        ({'n': 1.0, 'm': 1}, {'n': '1', 'm': '1.0'}, None, [1, 1, 1, 1]),
        ({'n': '1'}, {'n': 1}, 'strict', [0, 0, 0, 0]),
        ({'c': 'LYON '}, {'c': 'lyon'}, None, [0, 0, 0, 0]),
        ({'c': 'LYON '}, {'c': 'lyon'}, {'case': 'ignore'}, [1, 1, 1, 1]),
        ({'d': '20240520'}, {'d': '2024-05-20'}, {'dates': True}, [1, 1, 1, 1]),
        ({'p': 10.4}, {'p': 10}, {'tolerance': 0.5}, [1, 1, 1, 1]),
        ({'p': 10.4}, {'p': 10}, None, [0, 0, 0, 0]),
        ({'l': [2, 1]}, {'l': [1, 2]}, {'unordered_lists': True}, [1, 1, 1, 1]),
        ({'l': [2, 1]}, {'l': [1, 2]}, None, [0, 0, 0, 0]),
        ({'q': 'x', 'trace': 7}, {'q': 'x'}, {'ignore_keys': ['trace']}, [1, 1, 1, 1]),
        ({'q': 'to Lyon, fast'}, {'q': 'Lyon'}, {'tools': {'find': {'q': 'contains'}}}, [1, 1, 1, 1]),
        ({'q': 'to Lyon'}, {'q': 'Lyon'}, {'tools': {'book': {'q': 'contains'}}}, [0, 0, 0, 0]),
        ({'q': 'AB12'}, {'q': '[A-Z]{2}[0-9]+'}, {'tools': {'*': {'q': 'regex'}}}, [1, 1, 1, 1]),
        ({'q': 'AB12'}, {'q': 'zz'}, {'tools': {'*': {'q': 'ignore'}}}, [1, 1, 1, 1]),
        ({'q': '9.95'}, {'q': 10}, {'tools': {'find': {'q': {'numeric': 0.1}}}}, [1, 1, 1, 1]),
        ({'q': 'b', 'r': 'a'}, {'q': 'B', 'r': 'A'},
         {'tools': {'find': {'q': {'call': 'tests.test_run_families.same_letter'}}}}, [0.5, 0.5, 0.5, 0]),
        ({'to': {'city': 'Lyon', 'zip': 1}}, {'to': {'city': 'Lyon', 'zip': 2}}, None, [0.5, 0.5, 0.5, 0]),
        ({}, {}, None, [1, 1, 1, 1]),
        (None, {}, None, [1, 1, 1, 1]),
    ],
)  # fmt: skip
def test_values_of_the_arguments(pred: Any, golden: Any, rules: Any, expected: list[float]) -> None:
    row = one(steps(('find', pred)), steps(('find', golden)), ArgumentMatch(), rules=rules)
    assert picked(row, *ARGUMENTS) == pytest.approx(expected)


def same_letter(pred: Any, ref: Any) -> bool:
    return str(pred).lower() == str(ref).lower()


def test_arguments_are_those_of_the_matched_steps_alone() -> None:
    golden = steps(('find', {'q': 'x'}), ('book', {'id': 1}))
    row = one(steps(('other', {'a': 1, 'b': 2}), ('book', {'id': 1})), golden, ArgumentMatch())
    assert picked(row, *ARGUMENTS) == [1, 1, 1, 1]
    nothing = one(steps(('other', {'id': 1})), golden, ArgumentMatch())
    assert picked(nothing, *ARGUMENTS) == [0, 0, 0, 0]
    empty = one('[]', steps('FinishAction'), ArgumentMatch())
    assert picked(empty, *ARGUMENTS) == [1, 1, 1, 1]


def test_among_equal_tools_the_arguments_decide_which_is_which() -> None:
    pred = steps(('find', {'q': 'b'}), ('find', {'q': 'a'}))
    golden = [{**step, 'prev': []} for step in steps(('find', {'q': 'a'}), ('find', {'q': 'b'}))]
    assert one(pred, golden, ArgumentMatch())['args_exact_rate'] == 1


def test_extra_missing_and_different_keys_are_named() -> None:
    pred = steps('other', ('find', {'city': 'Nice', 'day': 2, 'to': {'zip': 1}}))
    golden = steps(('find', {'city': 'Lyon', 'seat': '1A', 'to': {'zip': 1}}))
    (difference,) = one(pred, golden, ArgumentMatch())['argument_differences']
    assert difference == {
        'pred': 1, 'ref': 0, 'tool': 'find', 'extra': ['day'], 'missing': ['seat'], 'different': ['city'],
    }  # fmt: skip
    assert one(golden, golden, ArgumentMatch())['argument_differences'] == []


def test_no_more_than_fifty_differences_are_named() -> None:
    pred, golden = (steps(*((f'tool_{i}', {'x': value}) for i in range(60))) for value in (1, 2))
    row = one(pred, golden, ArgumentMatch())
    assert len(row['argument_differences']) == 50
    assert row['argument_f1'] == 0


# ---------------------------------------------------------------- effects

EFFECTS = ('effect_precision', 'effect_recall', 'effect_f1', 'effect_exact_rate')
CANCEL, PAY = ('cancel', {'id': 7}), ('pay', {'sum': 3})


@pytest.mark.parametrize(
    ('prediction', 'golden', 'metric', 'expected'),
    [
        (steps(CANCEL), steps(CANCEL), EffectMatch(), [1, 1, 1, 1]),
        (steps('get_user', CANCEL, 'think'), steps(CANCEL), EffectMatch(), [1, 1, 1, 1]),
        (steps(CANCEL, CANCEL), steps(CANCEL), EffectMatch(), [0.5, 1, 2 / 3, 0]),
        (steps(CANCEL), steps(CANCEL, PAY), EffectMatch(), [1, 0.5, 2 / 3, 0]),
        (steps(('cancel', {'id': '7'})), steps(CANCEL), EffectMatch(), [1, 1, 1, 1]),
        (steps(('cancel', {'id': 8})), steps(CANCEL), EffectMatch(), [0, 0, 0, 0]),
        (steps('get_user'), steps('search'), EffectMatch(), [1, 1, 1, 1]),
        (steps(PAY), steps('search'), EffectMatch(), [0, 0, 0, 0]),
        (steps(PAY, CANCEL), steps(CANCEL, PAY), EffectMatch(), [1, 1, 1, 1]),
        (steps(PAY, CANCEL), steps(CANCEL, PAY), EffectMatch(ordered=True), [0.5, 0.5, 0.5, 0]),
        (chat([PAY, CANCEL]), steps(CANCEL, PAY), EffectMatch(ordered=True), [1, 1, 1, 1]),
        (serial((*CANCEL, True), CANCEL), steps(CANCEL), EffectMatch(), [1, 1, 1, 1]),
        (serial((*CANCEL, True)), steps(CANCEL), EffectMatch(), [0, 0, 0, 0]),
        (steps(PAY, 'get_user'), steps('get_user'), EffectMatch(['get_*']), [1, 1, 1, 1]),
        (steps(PAY), steps('get_user'), EffectMatch(['get_*']), [0, 0, 0, 0]),
        (steps(CANCEL, PAY), steps(CANCEL), EffectMatch(lookups=['pay']), [1, 1, 1, 1]),
        (steps(PAY), steps(CANCEL), EffectMatch([]), [1, 1, 1, 1]),
        (steps(CANCEL, PAY), {'ground_truth': steps(CANCEL), 'lookups': ['p*']}, EffectMatch(), [1, 1, 1, 1]),
        (steps('get_user'), {'ground_truth': steps(CANCEL), 'effects': ['get_*']}, EffectMatch(['cancel']),
         [0, 0, 0, 0]),
        (steps(CANCEL, PAY), {'ground_truth': steps(CANCEL), 'effects': ['cancel']}, EffectMatch(), [1, 1, 1, 1]),
        (steps(CANCEL, PAY), {'ground_truth': steps(CANCEL), 'effects': []}, EffectMatch(), [1, 1, 1, 1]),
        ('no plan', steps('search'), EffectMatch(), [0, 0, 0, 0]),
    ],
)  # fmt: skip
def test_values_of_the_effects(prediction: Any, golden: Any, metric: Metric, expected: list[float]) -> None:
    assert picked(one(prediction, golden, metric), *EFFECTS) == pytest.approx(expected)


def test_extra_and_missing_effects_are_named_with_their_place() -> None:
    row = one(steps('search', PAY, ('create_user', {})), steps('search', 'think', CANCEL, PAY), EffectMatch())
    assert (row['extra_effects'], row['missing_effects']) == (['2 create_user'], ['2 cancel'])


def test_effects_go_by_the_argument_rules() -> None:
    pred, golden = steps(('pay', {'sum': 3.004, 'note': 'x'})), steps(('pay', {'sum': 3, 'note': 'y'}))
    assert one(pred, golden, EffectMatch())['effect_exact_rate'] == 0
    rules = {'tolerance': 0.01, 'ignore_keys': ['note']}
    assert one(pred, golden, EffectMatch(), rules=rules)['effect_exact_rate'] == 1


@pytest.mark.parametrize('options', [{'effects': 'cancel'}, {'lookups': 'cancel'}])
def test_a_text_in_place_of_a_list_of_patterns_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match='expected a list of tool names or patterns'):
        EffectMatch(**options)


@pytest.mark.parametrize('key', ['effects', 'lookups'])
@pytest.mark.parametrize('value', ['cancel', 3, [3], {'cancel': 1}])
def test_wrong_patterns_of_a_golden_record_are_named_with_their_sample(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"sample 'q7': expected `{key}` to be a list of"):
        read_references([{'id': 'q7', 'ground_truth': steps(CANCEL), key: value}])


# ---------------------------------------------------------------- loops

LOOPS = ('loop_rate', 'repeated_steps', 'retried_steps', 'longest_loop')
ASK = ('search', {'q': 'trains from Lyon to Nice'})
NEARLY = ('search', {'q': 'trains from Lyon to Nice!'})


@pytest.mark.parametrize(
    ('prediction', 'metric', 'expected'),
    [
        (steps('A', 'B', 'C'), LoopDetection(), [0, 0, 0, 0]),
        (steps('A', 'A', 'A'), LoopDetection(), [1, 2, 0, 3]),
        (steps('A', 'B', 'A', 'B'), LoopDetection(), [1, 2, 0, 4]),
        (steps('A', 'B', 'A', 'B'), LoopDetection(max_period=1), [0, 0, 0, 0]),
        (steps('A', 'A'), LoopDetection(min_repeats=3), [0, 0, 0, 0]),
        (steps('A', 'A', 'A'), LoopDetection(min_repeats=3), [1, 2, 0, 3]),
        (steps(('A', {'page': 1}), ('A', {'page': 2})), LoopDetection(), [0, 0, 0, 0]),
        (steps(ASK, NEARLY), LoopDetection(), [1, 1, 0, 2]),
        (steps(ASK, NEARLY), LoopDetection(near=1), [0, 0, 0, 0]),
        (steps('A', 'B', 'A'), LoopDetection(), [0, 0, 0, 0]),
        (serial(('A', {}, True), 'A'), LoopDetection(), [0, 0, 1, 0]),
        (serial(('A', {}, True), 'A'), LoopDetection(max_retries=0), [1, 1, 0, 2]),
        (serial(('A', {}, False), 'A'), LoopDetection(), [1, 1, 0, 2]),
        ('no plan', LoopDetection(), [0, 0, 0, 0]),
        ('[]', LoopDetection(), [0, 0, 0, 0]),
    ],
)
def test_values_of_the_loops(prediction: Any, metric: Metric, expected: list[float]) -> None:
    assert picked(one(prediction, steps('A'), metric), *LOOPS) == expected


def test_loops_are_named_with_their_place() -> None:
    row = one(steps('X', 'A', 'B', 'A', 'B', 'X'), steps('A'), LoopDetection())
    assert row['recurring_steps'] == 1
    (place,) = row['loops']
    assert place == {
        'start': 1, 'period': 2, 'repeats': 2, 'exact': True, 'repeated': 2, 'retries': 0, 'names': ('A', 'B'),
    }  # fmt: skip


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ({'near': 1.5}, r'expected `near` in \[0, 1\], got 1.5'),
        ({'near': -0.1}, r'expected `near` in \[0, 1\]'),
        ({'min_repeats': 1}, 'expected `min_repeats` of at least 2, got 1'),
        ({'max_period': 0}, 'expected `max_period` of at least 1, got 0'),
        ({'max_retries': -1}, 'expected `max_retries` of at least 0, got -1'),
    ],
)
def test_wrong_options_of_loops_are_refused_at_construction(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        LoopDetection(**options)


# ---------------------------------------------------------------- forbidden tools


@pytest.mark.parametrize(
    ('forbidden', 'configured', 'hits', 'calls'),
    [
        ([], [], 0, []),
        (['delete_*'], [], 2, [1, 2]),
        ([], ['delete_*'], 2, [1, 2]),
        (['delete_user'], ['delete_all', 'delete_user'], 2, [1, 2]),
        (['*'], [], 3, [0, 1, 2]),
        (['DELETE_*'], [], 0, []),
        (['delete'], [], 0, []),
    ],
)
def test_forbidden_calls_are_counted(forbidden: list[str], configured: list[str], hits: int, calls: list[int]) -> None:
    golden = {'ground_truth': steps('search'), 'forbidden': forbidden}
    row = one(steps('search', 'delete_user', 'delete_all'), golden, ForbiddenTools(configured))
    assert (row['forbidden_hits'], row['forbidden_calls']) == (hits, calls)


def test_a_forbidden_call_can_make_the_score_zero() -> None:
    golden = {'ground_truth': steps('search', 'book'), 'forbidden': ['delete_*']}
    pred = steps('search', 'delete_user', 'book')
    parts: list[Metric] = [SequenceSimilarity(), GraphSimilarity(), ForbiddenTools()]
    assert one(pred, golden, *parts, TrajectoryScore())['trajectory_score'] > 0.5
    strict = one(pred, golden, *parts, TrajectoryScore(zero_if_forbidden=True))
    assert strict['trajectory_score'] == 0
    assert strict['sequence_similarity'] > 0.5
    spared = one(steps('search', 'book'), golden, *parts, TrajectoryScore(zero_if_forbidden=True))
    assert spared['trajectory_score'] == 1


def test_forbidden_patterns_must_be_a_list() -> None:
    with pytest.raises(TypeError, match='expected a list of tool names or patterns'):
        ForbiddenTools('delete_*')


# ---------------------------------------------------------------- cost

RATIOS = ('step_ratio', 'token_ratio', 'latency_ratio', 'cost_ratio')


@pytest.mark.parametrize(
    ('prediction', 'golden', 'expected'),
    [
        (steps('A', 'B', 'C'), {}, [1.5, None, None, None]),
        ('[]', {}, [0, None, None, None]),
        ('no plan', {}, [None, None, None, None]),
        (steps('A', 'FinishAction'), {}, [0.5, None, None, None]),
        (steps('A', 'B', 'C'), {'budget': {'steps': 6}}, [0.5, None, None, None]),
        (serial('A', tokens=300, latency=2, cost=0.1), {}, [0.5, None, None, None]),
        (serial('A', tokens=300, latency=2, cost=0.1), {'budget': {'tokens': 200, 'latency': 4, 'cost': 0.1}},
         [0.5, 1.5, 0.5, 1]),
        (serial('A', tokens=300), {'budget': {'tokens': 200, 'latency': 4}}, [0.5, 1.5, None, None]),
        (serial('A', tokens=0), {'budget': {'tokens': 200}}, [0.5, 0, None, None]),
        (steps('A'), {'budget': {'tokens': 200}}, [0.5, None, None, None]),
    ],
)  # fmt: skip
def test_values_of_the_ratios(prediction: Any, golden: dict[str, Any], expected: list[Any]) -> None:
    row = one(prediction, {'ground_truth': steps('A', 'B'), **golden}, Efficiency())
    assert picked(row, *RATIOS) == expected


def test_a_golden_plan_without_steps_gives_no_step_ratio() -> None:
    assert one(steps('A'), steps('FinishAction'), Efficiency())['step_ratio'] is None


def test_the_budget_counts_optional_steps_too() -> None:
    golden = steps('A', 'B')
    golden[1]['optional'] = True
    row = one(steps('A'), golden, SequenceSimilarity(), Efficiency())
    assert (row['step_ratio'], row['sequence_similarity']) == (0.5, 1)


def test_recorded_figures_stand_in_the_details() -> None:
    row = one(serial('A', tokens=300, latency=2, cost=0.1), steps('A'), Efficiency())
    assert picked(row, 'tokens', 'latency', 'cost') == [300, 2, 0.1]
    assert picked(one(steps('A'), steps('A'), Efficiency()), 'tokens', 'latency', 'cost') == [None] * 3


@pytest.mark.parametrize(
    ('known', 'mean', 'share'), [([], 0, 0), ([100], 0.5, 1 / 3), ([100, 400], 1.25, 2 / 3), ([0, 100, 500], 1, 1)]
)
def test_means_are_over_the_samples_that_have_the_number(known: list[int], mean: float, share: float) -> None:
    predictions = [serial('A', tokens=number) for number in known] + [serial('A')] * (3 - len(known))
    golden = {'ground_truth': steps('A'), 'budget': {'tokens': 200}}
    found = corpus(predictions, [golden] * 3, [Efficiency()])
    assert found.means['token_ratio'] == pytest.approx(mean)
    assert found.means['token_known_rate'] == pytest.approx(share)
    assert found.in_percent()['token_ratio'] == pytest.approx(mean)
    assert found.in_percent()['token_known_rate'] == pytest.approx(100 * share)
    assert 'token_known_rate' in found.rates
    assert 'token_known_rate' not in found.details[0]
    assert found.means['step_known_rate'] == 1


def test_a_budget_beyond_any_float_is_refused_with_its_sample() -> None:
    golden = {'id': 'q7', 'ground_truth': steps('A'), 'budget': {'tokens': 10**400}}
    with pytest.raises(ValueError, match=r"sample 'q7': expected `budget\.tokens` to be a number"):
        one(serial('A', tokens=3), golden, Efficiency())


def test_the_smallest_and_the_largest_budgets_give_finite_ratios() -> None:
    for budget, expected in ((5e-324, 1e9), (1.7e308, 0)):
        golden = {'ground_truth': steps('A'), 'budget': {'tokens': budget}}
        assert one(serial('A', tokens=3), golden, Efficiency())['token_ratio'] == pytest.approx(expected, abs=1e-300)


# ---------------------------------------------------------------- outcome


def outcomes(*solved: Any, metric: Metric | None = None) -> dict[str, float]:
    """Means over runs of `A`, `X`, `B` against `A`, `B`: score 0.7 x a little less, hence degraded."""
    predictions = [serial('A', 'X', 'B', **({} if reward is None else {'reward': reward})) for reward in solved]
    metrics = [SequenceSimilarity(), GraphSimilarity(), TrajectoryScore(), metric or Outcome()]
    return corpus(predictions, [steps('A', 'B')] * len(solved), metrics).means


@pytest.mark.parametrize(
    ('rewards', 'solved', 'silent', 'known'),
    [
        ([None, None], 0, 0, 0),
        ([1, None], 1, 1, 0.5),
        ([1, 0, None, None], 0.5, 0.5, 0.5),
        ([1.0, 0.0], 0.5, 0.5, 1),
        ([0, 0], 0, 0, 1),
        ([1, 1, 1], 1, 1, 1),
    ],
)
def test_solved_and_silently_degraded_are_shares_of_the_known(
    rewards: list[Any], solved: float, silent: float, known: float
) -> None:
    means = outcomes(*rewards)
    assert means['trajectory_score'] < 0.7
    assert (means['solved_rate'], means['silent_degradation_rate']) == (solved, silent)
    assert means['outcome_known_rate'] == known
    assert means['degraded_rate'] == 1


@pytest.mark.parametrize(
    ('record', 'solved'),
    [
        ({'reward': 1}, 1), ({'reward': 0.9}, 0), ({'solved': True}, 1), ({'success': False}, 0),
        ({'outcome': 'Failed'}, 0), ({'outcome': 'passed'}, 1), ({'outcome': 'who knows'}, None), ({}, None),
    ],
)  # fmt: skip
def test_what_a_record_says_of_its_outcome(record: dict[str, Any], solved: float | None) -> None:
    row = one(serial('A', **record), steps('A'))
    assert row['solved_rate'] == solved
    assert row['silent_degradation_rate'] == (None if solved is None else 0)


def test_the_threshold_is_an_option_and_a_score_equal_to_it_is_in_order() -> None:
    score = outcomes(1)['trajectory_score']
    assert outcomes(1, metric=Outcome(score))['degraded_rate'] == 0
    assert outcomes(1, metric=Outcome(math.nextafter(score, 1)))['degraded_rate'] == 1
    assert outcomes(1, metric=Outcome(0))['silent_degradation_rate'] == 0


def test_the_score_of_the_path_is_an_option() -> None:
    metrics: list[Metric] = [SequenceSimilarity(), EffectMatch(), Outcome(score_key='effect_f1')]
    row = one(serial('search', 'get_x', CANCEL, reward=1), steps(CANCEL), *metrics)
    assert row['degraded_rate'] == 0
    assert row['sequence_similarity'] < 0.7
    with pytest.raises(ValueError, match="Outcome needs 'effect_f1' from a metric before it"):
        Scorer([Outcome(score_key='effect_f1'), EffectMatch()])
    with pytest.raises(ValueError, match="Outcome needs 'trajectory_score'"):
        Scorer([SequenceSimilarity(), Outcome()])


@pytest.mark.parametrize('threshold', [-0.1, 1.1, float('nan')])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match=r'expected `threshold` in \[0, 1\]'):
        Outcome(threshold)


def test_an_unreadable_run_is_degraded_and_its_outcome_unknown() -> None:
    row = one('no plan', steps('A'))
    assert picked(row, 'degraded_rate', 'solved_rate', 'silent_degradation_rate') == [1, None, None]


# ---------------------------------------------------------------- all of them together

MIXED: list[Any] = [
    json.dumps(steps('A', 'B')),
    serial('A', ('B', {'x': [1, {'y': None}]}, True), 'B', reward=1, tokens=10, latency=1.5, cost=0.25),
    chat(['A', 'A', 'B'], solved=False),
    'A()\nB(x=1)',
    '[{"name": "A", "args": {}}',
    'no plan',
    None,
    {'messages': []},
    [],
]


def test_keys_are_the_same_for_all_samples_and_models() -> None:
    golden = {'ground_truth': steps('A', 'B'), 'budget': {'tokens': 9}}
    whole = corpus(MIXED, [golden] * len(MIXED))
    assert len({tuple(row) for row in whole.details}) == 1
    for prediction in MIXED:
        alone = corpus([prediction], [golden])
        assert list(alone.means) == list(whole.means)
        assert alone.rates == whole.rates
    assert set(whole.means) >= {*SPARSE, *SPARSE.values()}


def test_numbers_are_plain_and_finite_and_details_are_json() -> None:
    found = corpus(MIXED, [{'ground_truth': steps('A', 'B'), 'budget': {'tokens': 9}}] * len(MIXED))
    check_numbers(found)
    json.dumps(found.details, allow_nan=False)
    for row in found.details:
        assert all(plain(value) for value in row.values()), row


def plain(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str and plain(inner) for key, inner in value.items())
    if type(value) in {list, tuple}:
        return all(map(plain, value))
    return value is None or type(value) in {bool, int, float, str}


def check_numbers(found: CorpusScore) -> None:
    assert {type(value) for value in found.means.values()} == {float}
    assert all(math.isfinite(value) for value in found.means.values())
    assert all(0 <= found.means[key] <= 1 + 1e-9 for key in found.rates)
    for row in found.details:
        for key in found.means.keys() - set(SPARSE.values()):
            value = row[key]
            assert (value is None and key in SPARSE) or (type(value) is float and math.isfinite(value)), (key, value)


def test_every_key_is_documented() -> None:
    found = corpus(MIXED[:1], [steps('A', 'B')])
    documented = set(re.findall(r'`([a-z0-9_]+)`', METRICS_PAGE.read_text(encoding='utf-8')))
    assert {*found.means, *found.details[0]} - documented == set()


def test_a_long_run_names_no_more_than_fifty_of_anything() -> None:
    names = [f'make_{i % 7}_{i // 2}' for i in range(400)]
    row = one(steps(*names), {'ground_truth': steps('A'), 'forbidden': ['make_*']})
    assert row['forbidden_hits'] == 400
    assert len(row['forbidden_calls']) == len(row['extra_effects']) == 50
    assert len(row['loops']) <= 50


NAMES = st.sampled_from(['A', 'B', 'get_x', 'cancel', 'FinishAction', '', 'ü'])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.builds(lambda name, args, failed: (name, args, failed), NAMES, VALUES, st.booleans())
RECORDS = st.fixed_dictionaries(
    {}, optional={'reward': VALUES, 'tokens': VALUES, 'latency': VALUES, 'cost': VALUES, 'usage': VALUES}
)


@given(turns=st.lists(st.lists(CALLS, max_size=3), max_size=5), record=RECORDS)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_recorded_run_gets_finite_numbers(turns: list[Any], record: dict[str, Any]) -> None:
    golden = {'ground_truth': steps('A', ('B', {'x': 1}), 'cancel'), 'budget': {'tokens': 3, 'cost': 1e-300}}
    check_numbers(corpus([chat(*turns, **record)], [golden]))
