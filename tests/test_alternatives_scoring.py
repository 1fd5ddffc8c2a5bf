"""More than one right way: several golden plans, optional steps, budgets, and steps compared by more than a name."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.embedding import TextVectors
from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    EffectMatch,
    Efficiency,
    GraphSimilarity,
    Metric,
    PartialOrderSimilarity,
    PlanMatch,
    Reading,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)
from tests.conftest import ExactEncoder, HashedEncoder


def symbolic() -> list[Metric]:
    return [
        SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(), TrajectoryScore(),
        ArgumentMatch(), EffectMatch(), Efficiency(),
    ]  # fmt: skip


def steps(*calls: Any, chain: bool = False, optional: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    named = [(call, {}) if isinstance(call, str) else call for call in calls]
    return [
        {
            'id': i, 'name': name, 'args': args,
            **({'prev': [i - 1] if i else []} if chain else {}),
            **({'optional': True} if i in optional else {}),
        }
        for i, (name, args) in enumerate(named)
    ]  # fmt: skip


def scored(predictions: list[Any], goldens: list[Any], *metrics: Metric, encoder: Any = None, **options: Any) -> Any:
    vectors = TextVectors(encoder or ExactEncoder())
    scorer = Scorer(list(metrics) or symbolic(), vectors=lambda: vectors, **options)
    return scorer.score(predictions, read_references(goldens))


def one(prediction: Any, golden: Any, *metrics: Metric, rules: Any = None, **options: Any) -> dict[str, Any]:
    options.setdefault('reading', Reading(rules=argument_rules(rules)))
    return scored([prediction], [golden], *metrics, **options).details[0]


# ---------------------------------------------------------------- several golden plans

SHORT, LONG = steps('A', 'B'), steps('A', 'X', 'Y', 'B')


@pytest.mark.parametrize(
    ('prediction', 'index', 'score'),
    [
        (SHORT, 0, 1),
        (LONG, 1, 1),
        (steps('A', 'X', 'B'), 1, 0.6 * 0.75 + 0.4 * 2 * (3 + 1) / (3 + 2 + 4 + 3)),
        (steps('Z'), 0, 0),
        ('no plan', 0, 0),
        ('[]', 0, 0),
    ],
)
def test_the_best_golden_plan_counts(prediction: Any, index: int, score: float) -> None:
    row = one(prediction, {'ground_truths': [SHORT, LONG]})
    assert (row['golden_index'], row['n_ref']) == (index, len([SHORT, LONG][index]))
    assert row['trajectory_score'] == pytest.approx(score)


def test_all_numbers_of_a_sample_are_those_of_one_golden_plan() -> None:
    pred = steps('A', 'X', 'B')
    row = one(pred, {'ground_truths': [SHORT, LONG]})
    alone = one(pred, LONG)
    assert {**row, 'golden_index': 0} == alone


@pytest.mark.parametrize('order', [1, -1])
def test_of_equally_good_plans_the_first_counts(order: int) -> None:
    row = one(steps('A'), {'ground_truths': [steps('A', 'B'), steps('A', 'C')][::order]})
    assert row['golden_index'] == 0
    assert row['missing_edge_list'] == [f'0 A -> 1 {"BC"[::order][0]}']


def test_which_is_best_goes_by_the_rate_that_is_named() -> None:
    """Against the first plan the order is right, against the second the arguments are."""
    pred = steps(('pay', {'x': 1}), ('send', {'y': 2}))
    plans = [steps(('pay', {'x': 8}), ('send', {'y': 9})), steps(('send', {'y': 2}), ('pay', {'x': 1}))]
    for key, index in {
        None: 0, 'trajectory_score': 0, 'sequence_similarity': 0, 'argument_f1': 1, 'effect_exact_rate': 1,
    }.items():  # fmt: skip
        row = one(pred, {'ground_truths': plans}, best_by=key)
        assert row['golden_index'] == index, key
        assert row['argument_f1'] == index


def test_without_a_trajectory_score_the_first_rate_decides() -> None:
    scorer = Scorer([Efficiency(), ArgumentMatch(), SequenceSimilarity()])
    assert scorer.best_by == 'argument_precision'
    assert Scorer([SequenceSimilarity(), GraphSimilarity(), TrajectoryScore()]).best_by == 'trajectory_score'
    assert Scorer([Efficiency()]).best_by is None
    row = one(LONG, {'ground_truths': [SHORT, LONG]}, Efficiency())
    assert (row['golden_index'], row['step_ratio']) == (0, 2)


@pytest.mark.parametrize(
    'key', ['trajectory_scor', 'redundant_steps', 'step_ratio', 'step_known_rate', '', 'solved_rate']
)
def test_a_best_by_that_is_no_rate_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match='expected `best_by` to be a rate of one of the metrics') as caught:
        Scorer(symbolic(), best_by=key)
    if key == 'trajectory_scor':
        assert "['trajectory_score'" in str(caught.value)


def test_one_of_one_is_the_same_as_a_single_golden_plan() -> None:
    preds = [SHORT, LONG, 'no plan', steps('B', 'A')]
    several = scored(preds, [{'ground_truths': [LONG]}] * 4)
    single = scored(preds, [{'ground_truth': LONG}] * 4)
    assert several.details == single.details
    assert several.means == single.means


NAMES = st.lists(st.sampled_from('ABC'), max_size=4)


@given(NAMES, st.lists(NAMES, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_more_golden_plans_never_lower_the_score_by_which_they_are_chosen(pred: list[str], plans: list[Any]) -> None:
    golden = [steps(*names) for names in plans]
    row = one(steps(*pred), {'ground_truths': golden})
    alone = [one(steps(*pred), plan) for plan in golden]
    assert row['trajectory_score'] == max(other['trajectory_score'] for other in alone)
    assert row['trajectory_score'] == alone[row['golden_index']]['trajectory_score']


@pytest.mark.parametrize(
    ('record', 'expected'),
    [
        ({'ground_truths': []}, "sample 'q7': expected `ground_truths` to be a list of golden plans, got []"),
        ({'ground_truths': 'x'}, "sample 'q7': expected `ground_truths` to be a list of golden plans"),
        ({'ground_truths': [SHORT, 3]}, "sample 'q7': expected a list of steps, got int"),
        ({'ground_truths': [SHORT, [{'name': ''}]]}, "sample 'q7': step 0: expected a name"),
        ({'ground_truths': [SHORT, [{'name': 'A', 'prev': [4]}]]}, "sample 'q7': step 0: `prev` names the unknown"),
        ({'ground_truth': SHORT, 'forbidden': 'x'}, "sample 'q7': expected `forbidden` to be a list"),
        ({'ground_truth': SHORT, 'forbidden': [3]}, "sample 'q7': expected `forbidden` to be a list"),
        ({'ground_truth': SHORT, 'forbidden': {'x': 1}}, "sample 'q7': expected `forbidden` to be a list"),
        ({'ground_truth': SHORT, 'budget': [3]}, "sample 'q7': expected `budget` to have keys of steps, tokens"),
        ({'ground_truth': SHORT, 'budget': {'step': 3}}, "sample 'q7': expected `budget` to have keys of steps"),
        ({'ground_truth': SHORT, 'budget': {'steps': 0}}, "sample 'q7': expected `budget.steps` to be a number above"),
        ({'ground_truth': SHORT, 'budget': {'cost': -1}}, "sample 'q7': expected `budget.cost` to be a number above 0"),
        ({'ground_truth': SHORT, 'budget': {'tokens': '9'}}, "sample 'q7': expected `budget.tokens` to be a number"),
        ({'ground_truth': SHORT, 'budget': {'tokens': True}}, "sample 'q7': expected `budget.tokens` to be a number"),
        ({'ground_truth': SHORT, 'budget': {'latency': float('nan')}}, "sample 'q7': expected `budget.latency`"),
        ({'ground_truth': SHORT, 'budget': {'latency': float('inf')}}, "sample 'q7': expected `budget.latency`"),
    ],
)  # fmt: skip
def test_wrong_values_are_named_with_their_sample(record: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match='1 of 2 golden plans cannot be used') as caught:
        read_references([SHORT, {'id': 'q7', **record}])
    assert expected in str(caught.value)


# ---------------------------------------------------------------- optional steps


@pytest.mark.parametrize('value', ['yes', 'true', 1, []])
def test_an_optional_that_is_no_boolean_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="sample 'q7': step 0: expected `optional`"):
        read_references([{'id': 'q7', 'ground_truth': [{'name': 'A', 'optional': value}]}])


@pytest.mark.parametrize(
    ('prediction', 'optional', 'similarity', 'n_ref', 'missing'),
    [
        (steps('A', 'C'), (1,), 1, 2, 0),
        (steps('A', 'B', 'C'), (1,), 1, 3, 0),
        (steps('A', 'X', 'C'), (1,), 2 / 3, 2, 0),
        (steps('A', 'C'), (), 2 / 3, 3, 1),
        (steps('A'), (1,), 0.5, 2, 1),
        ('[]', (0, 1, 2), 1, 0, 0),
        ('no plan', (0, 1, 2), 0, 0, 0),
        (steps('C'), (0, 1), 1, 1, 0),
        (steps('B', 'A', 'C'), (1,), 1 / 3, 3, 0),
    ],
)
@pytest.mark.parametrize('chain', [True, False])
def test_leaving_out_an_optional_step_costs_nothing(
    prediction: Any, optional: tuple[int, ...], similarity: float, n_ref: int, missing: int, chain: bool
) -> None:
    row = one(prediction, steps('A', 'B', 'C', chain=chain, optional=optional))
    assert row['sequence_similarity'] == pytest.approx(similarity)
    assert (row['n_ref'], row['missing_steps']) == (n_ref, missing)
    if similarity == 1:
        assert row['dag_similarity'] == row['partial_order_similarity'] == row['causal_fidelity'] == 1


def test_a_step_behind_an_optional_one_depends_on_what_that_one_did() -> None:
    golden = steps('A', 'B', 'C', chain=True, optional=(1,))
    row = one(steps('A', 'C', chain=True), golden)
    assert (row['edge_f1'], row['isomorphic_rate'], row['missing_edges']) == (1, 1, 0)
    wrong = one(steps('C', 'A'), golden)
    assert wrong['causal_fidelity'] == 0


@pytest.mark.parametrize('key', [7, '7', 'seven', '07', None])
def test_an_optional_step_is_found_whatever_its_id(key: Any) -> None:
    golden = [{'id': key, 'name': 'B', 'optional': True}, {'id': 8, 'name': 'A'}]
    assert one(steps('A'), golden, SequenceSimilarity())['sequence_similarity'] == 1


def test_optional_steps_in_a_json_text_and_among_several_plans() -> None:
    golden = steps('A', 'B', 'C', optional=(1,))
    assert one(steps('A', 'C'), {'ground_truth': json.dumps(golden)})['sequence_similarity'] == 1
    row = one(steps('A', 'C'), {'ground_truths': [steps('A', 'C', 'D'), golden]})
    assert (row['golden_index'], row['trajectory_score']) == (1, 1)


def test_finish_markers_are_no_concern_of_optional_steps() -> None:
    row = one(steps('A', 'FinishAction'), steps('A', 'B', 'FinishAction', optional=(1,)))
    assert (row['sequence_similarity'], row['n_ref']) == (1, 1)


# ---------------------------------------------------------------- by name, by call, softly


@pytest.mark.parametrize(
    ('pred', 'golden', 'rules', 'sequence', 'causal'),
    [
        ((('f', {'x': 1}), ('g', {})), (('f', {'x': 1}), ('g', {})), None, 1, 1),
        ((('f', {'x': '1'}), ('g', {})), (('f', {'x': 1}), ('g', {})), None, 1, 1),
        ((('f', {'x': '1'}), ('g', {})), (('f', {'x': 1}), ('g', {})), 'strict', 0.5, 0),
        ((('f', {'x': 2}), ('g', {})), (('f', {'x': 1}), ('g', {})), None, 0.5, 0),
        ((('f', {'x': 2}), ('g', {})), (('f', {'x': 1}), ('g', {})), {'tolerance': 1}, 1, 1),
        ((('f', {'x': 2}), ('g', {})), (('f', {'x': 1}), ('g', {})), {'ignore_keys': ['x']}, 1, 1),
        ((('f', {'x': 2}), ('f', {'x': 1})), (('f', {'x': 1}), ('f', {'x': 2})), None, 0, 0),
        ((('h', {'x': 1}), ('g', {})), (('f', {'x': 1}), ('g', {})), None, 0.5, 0),
        ((('f', '{"x": 1}'),), (('f', {'x': 1}),), None, 1, 1),
    ],
)
def test_calls_are_compared_by_tool_and_arguments(
    pred: Any, golden: Any, rules: Any, sequence: float, causal: float
) -> None:
    metrics: list[Metric] = [
        SequenceSimilarity(compare='call'), PartialOrderSimilarity(compare='call'), GraphSimilarity(compare='call'),
        CausalFidelity(compare='call'),
    ]  # fmt: skip
    for chain in (True, False):
        row = one(steps(*pred), steps(*golden, chain=chain), *metrics, rules=rules)
        assert row['sequence_similarity'] == row['partial_order_similarity'] == sequence
        assert row['causal_fidelity'] == causal
        assert (row['dag_similarity'] == 1) is (sequence == 1)
        assert all('#' not in str(row[key]) for key in ('missing_edge_list', 'redundant_edge_list', 'alignment'))


def test_the_details_name_tools_and_not_labels() -> None:
    row = one(
        steps(('f', {'x': 2}), 'g'), steps(('f', {'x': 1}), 'g'),
        SequenceSimilarity(compare='call'), GraphSimilarity(compare='call'),
    )  # fmt: skip
    assert [(step['op'], step['pred_name'], step['ref_name']) for step in row['alignment']] == [
        ('replace', 'f', 'f'), ('keep', 'g', 'g'),
    ]  # fmt: skip
    assert row['missing_edge_list'] == ['0 f -> 1 g']
    assert row['graph_pairs'] == [[1, 1]]


@given(NAMES, NAMES, st.lists(st.integers(0, 1), min_size=8, max_size=8))
@settings(max_examples=60, deadline=None)
def test_by_call_is_never_more_than_by_name_and_equals_it_without_arguments(
    pred: list[str], ref: list[str], bits: list[int]
) -> None:
    def rows(with_args: bool) -> list[dict[str, Any]]:
        args = iter(bits)
        sides = [steps(*((name, {'x': next(args)} if with_args else {}) for name in names)) for names in (pred, ref)]
        return [
            one(*sides, SequenceSimilarity(compare=how), PartialOrderSimilarity(compare=how),
                GraphSimilarity(compare=how))
            for how in ('name', 'call')
        ]  # fmt: skip

    keys = ('sequence_similarity', 'partial_order_similarity', 'dag_similarity', 'node_f1')
    by_name, by_call = rows(with_args=True)
    assert all(by_call[key] <= by_name[key] + 1e-12 for key in keys)
    by_name, by_call = rows(with_args=False)
    assert [by_call[key] for key in keys] == [by_name[key] for key in keys]


def test_soft_comparison_gives_part_of_the_score_for_a_like_step() -> None:
    pred, golden = steps('search_flights', 'book'), steps('search_flight', 'book')
    metrics = [SequenceSimilarity(compare='soft'), GraphSimilarity(compare='soft')]
    row = one(pred, golden, *metrics, encoder=HashedEncoder())
    assert 0.5 < row['sequence_similarity'] < 1
    assert 0.5 < row['dag_similarity'] < 1
    same = one(golden, golden, *metrics, encoder=HashedEncoder())
    assert same['sequence_similarity'] == pytest.approx(1)
    assert same['dag_similarity'] == pytest.approx(1)
    other = one(steps('zzz'), steps('qqq'), GraphSimilarity(compare='soft'), encoder=HashedEncoder())
    assert other['dag_similarity'] == 0


@pytest.mark.parametrize(
    ('build', 'expected'),
    [
        (lambda: SequenceSimilarity(compare='args'), 'expected `compare` to be one of name, call, soft'),
        (lambda: GraphSimilarity(compare='calls'), 'expected `compare` to be one of name, call, soft'),
        (lambda: PartialOrderSimilarity(compare='soft'), 'expected `compare` to be one of name, call, got'),
        (lambda: CausalFidelity(compare='soft'), 'expected `compare` to be one of name, call, got'),
        (lambda: SequenceSimilarity('indel', compare='soft'), "expected `mode` 'levenshtein' with `compare` 'soft'"),
    ],
)
def test_wrong_ways_to_compare_are_refused(build: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        build()


def test_only_soft_comparison_loads_an_encoder() -> None:
    assert not any(metric.uses_embeddings for metric in symbolic())
    assert SequenceSimilarity(compare='soft').uses_embeddings
    assert GraphSimilarity(compare='soft').uses_embeddings
    with pytest.raises(RuntimeError, match='no text vectors'):
        Scorer([SequenceSimilarity(compare='soft')]).score([steps('A')], read_references([steps('A')]))


def test_plan_match_sees_the_chosen_and_trimmed_plan() -> None:
    golden = {'ground_truths': [steps('Z'), steps('A', 'B', 'C', optional=(1,))]}
    row = one(steps('A', 'C'), golden, PlanMatch())
    assert (row['plan_f1'], row['golden_index'], row['n_ref']) == (1, 1, 2)


# ---------------------------------------------------------------- through the evaluator


@pytest.mark.host
def test_tevals_keys_are_those_of_the_chosen_plan(build: Any, exact: ExactEncoder) -> None:
    plans = [steps('A', 'B', 'C'), steps('A', 'X')]
    answer = json.dumps(steps('A', 'X'))
    both = build(exact).score([answer], [json.dumps({'ground_truths': plans})])
    (row,) = both['details']
    assert row['golden_index'] == 1
    assert [row[key] for key in ('precision', 'recall', 'f1_score', 'parse_rate')] == [1, 1, 1, 1]
    assert both['f1_score'] == 100

    first = build(exact, best_by='recall').score([answer], [json.dumps({'ground_truths': plans[:1]})])['details'][0]
    forced = build(exact).score([answer], [json.dumps({'ground_truths': plans[:1]})])['details'][0]
    assert first['f1_score'] == forced['f1_score'] < 1


@pytest.mark.host
def test_tevals_keys_count_optional_steps_as_upstream_does(build: Any, exact: ExactEncoder) -> None:
    golden = steps('A', 'B', 'C', optional=(1,))
    row = build(exact).score([json.dumps(steps('A', 'C'))], [json.dumps({'ground_truth': golden})])['details'][0]
    assert row['sequence_similarity'] == row['plan_f1'] == 1
    assert row['recall'] == pytest.approx(2 / 3)


@pytest.mark.host
def test_options_of_the_evaluator_reach_the_scorer(build: Any, host: SimpleNamespace) -> None:
    pred, golden = json.dumps(steps(('f', {'x': 1}))), json.dumps({'ground_truth': steps(('f', {'x': '1'}))})
    lenient = build().score([pred], [golden])
    assert lenient['args_exact_rate'] == 100
    strict = build(argument_rules={'preset': 'strict'}, best_by='argument_f1').score([pred], [golden])
    assert strict['args_exact_rate'] == 0
    assert strict['settings']['argument_rules'] == {'preset': 'strict'}
    assert strict['settings']['best_by'] == 'argument_f1'
    by_call = build(metrics=[{'type': 'SequenceSimilarity', 'compare': 'call'}], argument_rules={'preset': 'strict'})
    assert by_call.score([pred], [golden])['sequence_similarity'] == 0
    for options, expected in (
        ({'best_by': 'trajectory_scor'}, 'expected `best_by`'),
        ({'argument_rules': {'casing': 'ignore'}}, "did you mean 'case'|expected"),
        ({'prediction_format': 'opnai'}, "got 'opnai'; did you mean 'openai'"),
    ):
        with pytest.raises(ValueError, match=expected):
            build(**options)


@pytest.mark.host
@pytest.mark.parametrize(('threshold', 'expected'), [(0.5, 100), (0.999, 0)])
def test_the_semantic_rule_asks_the_encoder(build: Any, threshold: float, expected: float) -> None:
    encoder = HashedEncoder()
    rules = {'tools': {'mail': {'text': {'semantic': threshold}}}}
    metrics = [{'type': 'ArgumentMatch'}, {'type': 'EffectMatch'}]
    evaluator = build(encoder, argument_rules=rules, metrics=metrics)
    pred = json.dumps(steps(('mail', {'text': 'see you tomorrow at noon', 'to': 'Ann'})))
    golden = json.dumps({'ground_truth': steps(('mail', {'text': 'see you tomorrow at noon!', 'to': 'Ann'}))})
    assert encoder.calls == []
    result = evaluator.score([pred], [golden])
    assert (result['args_exact_rate'], result['effect_exact_rate']) == (expected, expected)
    assert {text for call in encoder.calls for text in call} == {
        'see you tomorrow at noon',
        'see you tomorrow at noon!',
    }
    json.dumps(result['settings'], allow_nan=False)


@pytest.mark.host
def test_without_a_semantic_rule_no_encoder_is_asked(build: Any) -> None:
    encoder = HashedEncoder()
    build(encoder, metrics=[{'type': 'ArgumentMatch'}]).score(
        [json.dumps(steps(('mail', {'text': 'a'})))], [json.dumps({'ground_truth': steps(('mail', {'text': 'b'}))})]
    )
    assert encoder.calls == []
