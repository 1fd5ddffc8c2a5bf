"""The evaluator as OpenCompass sees it: its arguments, its results, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opencompass_traj.scoring import Metric
from tests.conftest import ExactEncoder

pytestmark = pytest.mark.host

RATES = {
    'precision', 'recall', 'f1_score', 'parse_rate', 'plan_precision', 'plan_recall', 'plan_f1', 'sequence_similarity',
    'optimal_rate', 'partial_order_similarity', 'dag_similarity', 'node_f1', 'edge_precision', 'edge_recall', 'edge_f1',
    'isomorphic_rate', 'causal_fidelity', 'trajectory_score', 'argument_precision', 'argument_recall', 'argument_f1',
    'args_exact_rate', 'effect_precision', 'effect_recall', 'effect_f1', 'effect_exact_rate',
}  # fmt: skip
# Rates of which more is not better: 1 right answer has none of them.
FAULTS = {'recovered_rate', 'unreadable_rate', 'loop_rate', 'degraded_rate'}
COUNTS = {
    'redundant_steps', 'missing_steps', 'redundant_edges', 'missing_edges', 'repeated_steps', 'retried_steps',
    'longest_loop', 'forbidden_hits',
}  # fmt: skip
# What a recording need not say, and where the share of samples stands that do.
SPARSE_RATES = {'solved_rate': 'outcome_known_rate', 'silent_degradation_rate': 'outcome_known_rate'}
SPARSE_COUNTS = {f'{figure}_ratio': f'{figure}_known_rate' for figure in ('step', 'token', 'latency', 'cost')}
SPARSE = {**SPARSE_RATES, **SPARSE_COUNTS}
DENSE = RATES | FAULTS | COUNTS
KEYS = DENSE | set(SPARSE) | set(SPARSE.values())
SYMBOLIC = [{'type': 'SequenceSimilarity'}, {'type': 'GraphSimilarity'}, {'type': 'CausalFidelity'}]


def steps(*names: str, chain: bool = False) -> list[dict[str, Any]]:
    return [
        {'id': i, 'name': name, 'args': {}, **({'prev': [i - 1] if i else []} if chain else {})}
        for i, name in enumerate(names)
    ]


def record(*names: str, chain: bool = True, **more: Any) -> str:
    return json.dumps({'meta': {'prompt_type': 'json'}, 'ground_truth': steps(*names, chain=chain), **more})


GOLDEN = record('A', 'B', 'C')
READABLE = json.dumps(steps('A', 'X', 'B', 'C'))


class ToolCount(Metric):
    """A metric of the user's own."""

    counts = ('tools_used',)

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def score(self, comparison: Any) -> dict[str, float]:
        return {'tools_used': self.factor * len(set(comparison.pred.names))}


class WrongNumber(Metric):
    rates = ('wrong',)

    def __init__(self, value: Any) -> None:
        self.value = value

    def score(self, comparison: Any) -> dict[str, Any]:
        return {'wrong': self.value}


# ---------------------------------------------------------------- construction


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ({'name_weight': -0.1}, 'expected `name_weight` of at least 0, got -0.1'),
        ({'args_weight': float('nan')}, 'expected `args_weight` of at least 0, got nan'),
        ({'args_weight': float('inf')}, 'expected `args_weight` of at least 0, got inf'),
        ({'match_threshold': 1.7}, r'expected `match_threshold` in \[0, 1\], got 1.7'),
        ({'match_threshold': -0.1}, r'expected `match_threshold` in \[0, 1\], got -0.1'),
        ({'match_strategy': 'bertscor'}, "expected `match_strategy` to be one of .*; did you mean 'bertscore'"),
        ({'default_prompt_type': 'ReWO'}, "`default_prompt_type` .*got 'ReWO'; did you mean 'ReWOO'"),
        ({'subset': 'plann'}, "expected `subset` to be one of instruct, plan, .*; did you mean 'plan'"),
        ({'dataset_path': 'plan'}, "write subset='plan'"),
        ({'batch_size': 0}, 'expected `batch_size` of at least 1, got 0'),
        (
            {'metrics': [{'type': 'SequenceSimilariti'}]},
            "no metric is called 'SequenceSimilariti'",
        ),
        ({'metrics': [{'mode': 'indel'}]}, 'expected every entry of `metrics` to have a `type`'),
        ({'metrics': [{'type': 'SequenceSimilarity', 'mode': 'lcs'}]}, 'lcs'),
        ({'metrics': [{'type': 'TEvalPlanning', 'match_strategy': 'x'}]}, 'match_strategy'),
        ({'metrics': [{'type': 'TEvalPlanning', 'max_pairs': 0}]}, 'max_pairs'),
        ({'metrics': [{'type': 'TrajectoryScore'}]}, "TrajectoryScore needs 'sequence_similarity'"),
        ({'metrics': [*SYMBOLIC, {'type': 'TrajectoryScore', 'weights': {'dag_similarity': -1}}]}, 'at least 0'),
        ({'metrics': [{'type': 'SequenceSimilarity'}] * 2}, "both give 'sequence_similarity'"),
    ],
)
def test_wrong_arguments_are_refused(host: SimpleNamespace, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        host.TrajectoryPlanningEvaluator(**options)


def test_a_class_that_is_no_metric_is_refused(host: SimpleNamespace) -> None:
    with pytest.raises(TypeError, match='to be a Metric'):
        host.TrajectoryPlanningEvaluator(metrics=[{'type': 'builtins.dict'}])


def test_arguments_stand_in_upstreams_order(host: SimpleNamespace) -> None:
    evaluator = host.TrajectoryPlanningEvaluator('file.json', 0.9, 0.1, 0.6, 'permutation', 'some/model', 'ReWOO')
    settings = evaluator.settings()
    assert evaluator.dataset_path == 'file.json'
    assert [settings[key] for key in ('name_weight', 'args_weight', 'match_threshold')] == [0.9, 0.1, 0.6]
    assert settings['default_prompt_type'] == 'ReWOO'
    assert settings['bert_score_model'] == 'some/model'
    assert settings['metrics'][0]['match_strategy'] == 'permutation'


@pytest.mark.parametrize(('subset', 'model'), [('plan', 'all-mpnet-base-v2'), ('plan_zh', 'thenlper/gte-large-zh')])
def test_planning_subsets_take_tevals_encoders(host: SimpleNamespace, subset: str, model: str) -> None:
    evaluator = host.TrajectoryPlanningEvaluator(subset=subset)
    assert evaluator.delegate is None
    assert evaluator.bert_score_model == model


@pytest.mark.parametrize('language', ['', '_zh'])
@pytest.mark.parametrize(
    'name', ['instruct', 'review', 'reason_retrieve_understand', 'reason', 'retrieve', 'understand']
)
def test_other_subsets_are_upstreams(
    host: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, name: str, language: str
) -> None:
    import opencompass.datasets.teval.evaluators as upstreams

    built: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def record_class(kind: str) -> Callable[..., Any]:
        def build_upstream(*args: Any, **kwargs: Any) -> Any:
            built.append((kind, args, kwargs))
            return SimpleNamespace(
                _process_response=lambda datum: datum,
                _evaluate=lambda datum: {'mine': float(datum['prediction'])},
                _post_process=lambda rows: {'mine': sum(row['mine'] for row in rows) / len(rows)},
            )

        return build_upstream

    for kind in ('InstructEvaluator', 'PlanningEvaluator', 'ReviewEvaluator', 'ReasonRetrieveUnderstandEvaluator'):
        monkeypatch.setattr(upstreams, kind, record_class(kind))

    evaluator = host.TrajectoryPlanningEvaluator(subset=name + language)
    by_ours = list(built)
    built.clear()
    by_theirs = host.TEvalEvaluator(name + language)

    assert by_ours == built != []
    assert type(evaluator.delegate) is host.TEvalEvaluator
    arguments = (['0.5', '0.25'], ['{"a": 1}', '{"a": 2}'])
    assert evaluator.score(*arguments) == by_theirs.score(*arguments) == {'mine': 37.5}
    with pytest.raises(ValueError, match="expected subset 'plan' or 'plan_zh' for evaluate"):
        evaluator.evaluate()


def test_every_subset_name_is_one_that_upstream_knows(host: SimpleNamespace) -> None:
    """Read off the source: building them all would load their models."""
    constants = host.TEvalEvaluator.__init__.__code__.co_consts
    known = {text for text in constants if isinstance(text, str) and text in host.module.SUBSETS}
    assert known == set(host.module.SUBSETS)
    assert len(known) == 14
    others = {text for text in constants if isinstance(text, str) and text.endswith('_zh')}
    assert others <= set(host.module.SUBSETS)


# ---------------------------------------------------------------- results


def test_keys_are_those_of_the_documents_and_the_same_whatever_the_data(build: Callable[..., Any]) -> None:
    corpora = [
        ([READABLE], [GOLDEN]),
        (['no plan'], [record('A', chain=False)]),
        ([None, '[]', steps('A')], [GOLDEN, record('FinishAction'), json.dumps({'ground_truth': []})]),
    ]
    results = [build().score(*corpus) for corpus in corpora]
    rows = [row for result in results for row in result['details']]
    for result in results:
        assert set(result) == KEYS | {'samples', 'settings', 'details'}
        assert {type(result[key]) for key in KEYS} == {float}
    assert len({tuple(row) for row in rows}) == 1
    assert set(rows[0]) >= DENSE | set(SPARSE) | {'parse_status', 'edge_source', 'graph_exact', 'alignment', 'sample'}
    assert not set(rows[0]) & set(SPARSE.values())


@pytest.mark.parametrize('strategy', ['bertscore', 'permutation'])
def test_only_plain_values_and_no_nan(build: Callable[..., Any], strategy: str) -> None:
    predictions = [READABLE, 'no plan', json.dumps(steps('A', 'B', chain=True)), '[]', '\ud800 [', None]
    result = build(match_strategy=strategy).score(predictions, [GOLDEN] * len(predictions))

    json.dumps(result, allow_nan=False)
    assert plain(result)


def plain(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str and plain(inner) for key, inner in value.items())
    if type(value) in {list, tuple}:
        return all(map(plain, value))
    return value is None or type(value) in {bool, int, float, str}


def test_means_are_those_of_the_details_and_rates_in_percent(build: Callable[..., Any]) -> None:
    predictions = [READABLE, 'no plan', json.dumps(steps('A', 'B', 'C')), json.dumps(steps('C', 'B'))]
    result = build().score(predictions, [GOLDEN] * 4)

    assert len(result['details']) == 4
    for key in DENSE:
        mean = sum(row[key] for row in result['details']) / 4
        assert result[key] == pytest.approx(mean * (1 if key in COUNTS else 100), abs=1e-12), key
    for key, share in SPARSE.items():
        known = [row[key] for row in result['details'] if row[key] is not None]
        mean = sum(known) / max(1, len(known))
        assert result[key] == pytest.approx(mean * (100 if key in SPARSE_RATES else 1), abs=1e-12), key
        assert result[share] == 100 * len(known) / 4
    assert (result['step_known_rate'], result['token_known_rate'], result['outcome_known_rate']) == (75, 0, 0)


def test_an_unreadable_prediction_scores_0_in_every_rate_and_stays_in_the_denominator(
    build: Callable[..., Any],
) -> None:
    result = build().score(['no plan', json.dumps(steps('A', 'B', 'C', chain=True))], [GOLDEN] * 2)
    unreadable, right = result['details']

    assert {key: unreadable[key] for key in RATES} == dict.fromkeys(RATES, 0.0)
    assert {key: right[key] for key in RATES} == dict.fromkeys(RATES, 1.0)
    assert {key: result[key] for key in RATES} == dict.fromkeys(RATES, 50.0)
    assert {key: right[key] for key in FAULTS} == dict.fromkeys(FAULTS, 0.0)
    assert {key: unreadable[key] for key in FAULTS} == {
        'recovered_rate': 0,
        'unreadable_rate': 1,
        'loop_rate': 0,
        'degraded_rate': 1,
    }
    assert {key: unreadable[key] for key in SPARSE} == dict.fromkeys(SPARSE)
    assert (unreadable['parse_status'], right['parse_status']) == ('unreadable', 'read')
    assert unreadable['parse_reason']
    assert (unreadable['missing_steps'], result['missing_steps']) == (3.0, 1.5)


def test_an_unreadable_prediction_scores_0_even_beside_an_empty_golden_plan(build: Callable[..., Any]) -> None:
    """Two empty plans are alike; an answer that cannot be read is not an empty plan."""
    for options, answer in (({}, '[{"name": '), ({'prediction_format': 'teval'}, 'no plan'), ({}, '<think>no plan')):
        row = build(**options).score([answer], [record('FinishAction')])['details'][0]
        assert {key: row[key] for key in RATES} == dict.fromkeys(RATES, 0.0)
        assert row['parse_status'] == 'unreadable'


def test_an_answer_without_a_call_is_right_where_nothing_was_to_be_called(build: Callable[..., Any]) -> None:
    row = build().score(['There is nothing to do.'], [record('FinishAction')])['details'][0]
    ours = RATES - {'precision', 'recall', 'f1_score', 'parse_rate'}
    assert {key: row[key] for key in ours} == dict.fromkeys(ours, 1.0)
    assert row['parse_rate'] == 0


def test_values_to_hold_for_a_redundant_step(build: Callable[..., Any], exact: ExactEncoder) -> None:
    chains = build(exact).score([READABLE], [record('A', 'B', 'C', chain=False)])['details'][0]
    assert chains['edge_source'] == 'chain'
    assert chains['sequence_similarity'] == 0.75
    assert (chains['redundant_steps'], chains['missing_steps'], chains['optimal_rate']) == (1, 0, 0)
    assert chains['dag_similarity'] == pytest.approx(8 / 12, abs=1e-12)
    assert chains['trajectory_score'] == pytest.approx(0.6 * 0.75 + 0.4 * 8 / 12, abs=1e-12)
    assert round(chains['trajectory_score'], 4) == 0.7167

    order = build(exact).score([READABLE], [GOLDEN])['details'][0]
    assert order['edge_source'] == 'order'
    assert order['dag_similarity'] == pytest.approx(10 / 11, abs=1e-12)


def test_values_to_hold_for_a_roundabout_way(build: Callable[..., Any], exact: ExactEncoder) -> None:
    prediction = steps('search_google', 'query_all_users', 'python_filter', 'query_crm_balance')
    row = build(exact).score([json.dumps(prediction)], [record('query_crm_balance')])['details'][0]
    assert row['sequence_similarity'] == 0.25
    assert row['redundant_steps'] == 3
    assert [step['op'] for step in row['alignment']].count('delete') in {0, 3}
    assert {step['pred_name'] for step in row['alignment'] if step['ref'] is None} == {
        'search_google', 'query_all_users', 'python_filter',
    }  # fmt: skip


def test_settings_hold_every_option_that_changes_a_number(build: Callable[..., Any]) -> None:
    options = {'name_weight': 0.5, 'args_weight': 0.5, 'match_threshold': 0.6, 'finish_names': ['End']}
    settings = build(bert_score_model='folder', strict_golden=False, **options).score([READABLE], [GOLDEN])['settings']
    assert {key: settings[key] for key in options} == options
    assert settings['bert_score_model'] == 'folder'
    assert settings['strict_golden'] is False
    assert settings['metric_version']
    assert [metric['type'] for metric in settings['metrics']] == ['TEvalPlanning', *DEFAULTS]
    by_type = {metric['type']: metric for metric in settings['metrics']}
    assert by_type['TrajectoryScore']['weights'] == {'sequence_similarity': 0.6, 'dag_similarity': 0.4}
    assert by_type['Outcome'] == {'type': 'Outcome', 'threshold': 0.7, 'score_key': 'trajectory_score'}
    assert (settings['prediction_format'], settings['argument_rules'], settings['best_by']) == (
        'auto', {}, 'trajectory_score',
    )  # fmt: skip
    json.dumps(settings, allow_nan=False)


DEFAULTS = (
    'Recovery', 'PlanMatch', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity', 'CausalFidelity',
    'ForbiddenTools', 'TrajectoryScore', 'ArgumentMatch', 'EffectMatch', 'LoopDetection', 'Efficiency', 'Outcome',
)  # fmt: skip


def test_finish_names_are_an_option(build: Callable[..., Any]) -> None:
    arguments = ([json.dumps(steps('A', 'End'))], [record('A', 'Stop')])
    assert build().score(*arguments)['sequence_similarity'] == 50
    assert build(finish_names=['End', 'Stop']).score(*arguments)['sequence_similarity'] == 100


@pytest.mark.parametrize(
    ('predictions', 'references', 'expected'),
    [
        ([], [], 'expected at least one prediction, got none'),
        ([READABLE], [GOLDEN, GOLDEN], 'expected as many predictions as references, got 1 and 2'),
        ([READABLE], ['no JSON'], 'expected the JSON text of a T-Eval record'),
        ([READABLE], ['{}'], 'expected a record with `ground_truth`'),
    ],
)
def test_wrong_input_is_refused(
    build: Callable[..., Any], predictions: list[str], references: list[str], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        build().score(predictions, references)


def test_unsound_golden_plans_are_named_all_at_once(build: Callable[..., Any]) -> None:
    references = [
        json.dumps({'id': 'loop', 'ground_truth': [{'id': 0, 'name': 'A', 'args': {}, 'prev': [0]}]}),
        GOLDEN,
        json.dumps({'ground_truth': [{'id': 7, 'name': '', 'args': {}, 'prev': []}]}),
    ]
    with pytest.raises(ValueError, match='2 of 3 golden plans') as caught:
        build().score([READABLE] * 3, references)
    message = str(caught.value)
    assert "sample 'loop': step 0: depends on itself" in message
    assert "sample '2': step 7: expected a name that is not empty" in message
    assert 'strict_golden=False' in message

    result = build(strict_golden=False).score([READABLE] * 3, references)
    assert [row['n_ref'] for row in result['details']] == [1, 3, 0]


# ---------------------------------------------------------------- metrics from a config


def test_no_encoder_is_loaded_where_no_metric_asks_for_one(
    host: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError('an encoder was loaded')

    monkeypatch.setattr(host.module, 'shared_vectors', refuse)
    evaluator = host.TrajectoryPlanningEvaluator(metrics=[*SYMBOLIC, {'type': 'TrajectoryScore'}])
    result = evaluator.score([READABLE], [GOLDEN])
    assert set(result) - {'samples', 'settings', 'details'} == {
        'sequence_similarity', 'optimal_rate', 'redundant_steps', 'missing_steps', 'dag_similarity', 'node_f1',
        'edge_precision', 'edge_recall', 'edge_f1', 'isomorphic_rate', 'redundant_edges', 'missing_edges',
        'causal_fidelity', 'trajectory_score',
    }  # fmt: skip
    assert result['settings']['bert_score_model'] is None
    with pytest.raises(AssertionError, match='an encoder was loaded'):
        host.TrajectoryPlanningEvaluator().score([READABLE], [GOLDEN])


def test_building_loads_no_encoder(host: SimpleNamespace) -> None:
    host.TrajectoryPlanningEvaluator(bert_score_model='/no/such/folder')


def test_a_model_that_cannot_be_had_is_one_clear_error(host: SimpleNamespace) -> None:
    evaluator = host.TrajectoryPlanningEvaluator(bert_score_model='/no/such/folder')
    with pytest.raises(RuntimeError, match="'/no/such/folder' cannot be loaded"):
        evaluator.score([READABLE], [GOLDEN])


@pytest.mark.parametrize(
    'entry',
    [
        {'type': ToolCount, 'factor': 2.0},
        {'type': 'tests.test_evaluator.ToolCount', 'factor': 2.0},
        ToolCount(2.0),
    ],
)
def test_a_metric_of_the_users_own_joins(build: Callable[..., Any], entry: Any) -> None:
    result = build(metrics=[*SYMBOLIC, entry]).score([READABLE, 'no plan'], [GOLDEN] * 2)
    assert result['tools_used'] == 4.0
    assert [row['tools_used'] for row in result['details']] == [8.0, 0.0]
    assert result['settings']['metrics'][-1] == {'type': 'ToolCount', 'factor': 2.0}


@pytest.mark.parametrize('value', [float('nan'), float('inf'), 'text', None, [1.0], True])
def test_numbers_that_are_none_are_refused(build: Callable[..., Any], value: Any) -> None:
    with pytest.raises(TypeError, match="WrongNumber must give a finite float for 'wrong'"):
        build(metrics=[WrongNumber(value)]).score([READABLE], [GOLDEN])


def test_numpy_numbers_are_refused(build: Callable[..., Any]) -> None:
    """OpenCompass drops them from its summary without a word."""
    import numpy as np

    for value in (np.float64(0.5), np.float32(0.5), np.int64(1)):
        with pytest.raises(TypeError, match='must give a finite float'):
            build(metrics=[WrongNumber(value)]).score([READABLE], [GOLDEN])


@pytest.mark.parametrize('value', [1.01, -0.01, 50.0])
def test_rates_beyond_their_range_are_refused(build: Callable[..., Any], value: float) -> None:
    with pytest.raises(ValueError, match=r'WrongNumber must give a rate in \[0, 1\]'):
        build(metrics=[WrongNumber(value)]).score([READABLE], [GOLDEN])


def test_match_strategy_permutation_needs_no_encoder(host: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.module, 'shared_vectors', lambda *_, **__: pytest.fail('an encoder was loaded'))
    evaluator = host.TrajectoryPlanningEvaluator(match_strategy='permutation', metrics=[{'type': 'TEvalPlanning'}])
    right = json.dumps(steps('A', 'B', 'C', chain=True))
    result = evaluator.score([right, 'no plan'], [GOLDEN] * 2)
    assert [row['f1_score'] for row in result['details']] == [1.0, 0.0]
    assert {row['teval_matching'] for row in result['details']} <= {'permutation', 'upstream'}


# ---------------------------------------------------------------- as OpenCompass calls it


def dataset(size: int, replicas: int) -> Any:
    from datasets import Dataset

    # The columns that `BaseDataset` adds.
    rows = [{'subdivision': 'all', 'idx': index, 'ground_truth': GOLDEN} for index in range(size)]
    return Dataset.from_list(rows * replicas)


def test_evaluate_with_one_replica(build: Callable[..., Any]) -> None:
    predictions = [READABLE, 'no plan', json.dumps(steps('A', 'B', 'C'))]
    result = build().evaluate(1, 1, dataset(3, 1), predictions=predictions, references=[GOLDEN] * 3)

    straight = build().score(predictions, [GOLDEN] * 3)
    assert {key: result[key] for key in KEYS} == pytest.approx({key: straight[key] for key in KEYS})
    assert len(result['details']) == 3
    for given, row in zip(straight['details'], result['details'], strict=True):
        assert {key: row[key] for key in given} == {key: [value] for key, value in given.items()}


def test_evaluate_with_two_replicas(build: Callable[..., Any]) -> None:
    right, wrong = json.dumps(steps('A', 'B', 'C', chain=True)), 'no plan'
    result = build().evaluate(1, 2, dataset(2, 2), predictions=[right, right, wrong, right], references=[GOLDEN] * 4)
    assert result['f1_score (2 runs average)'] == 75
    assert result['trajectory_score (2 runs average)'] == 75
    assert [row['f1_score'] for row in result['details']] == [[1.0, 0.0], [1.0, 1.0]]
    assert [row['example_abbr'] for row in result['details']] == ['all_0', 'all_1']


def test_arguments_are_handed_over_by_name(build: Callable[..., Any]) -> None:
    import inspect

    from opencompass.registry import ICL_EVALUATORS

    evaluator = build()
    assert list(inspect.signature(evaluator.score).parameters) == ['predictions', 'references']
    assert ICL_EVALUATORS.get('TrajectoryPlanningEvaluator') is type(evaluator)
    made = ICL_EVALUATORS.build({'type': 'opencompass_traj.evaluator.TrajectoryPlanningEvaluator', 'subset': 'plan'})
    assert type(made) is type(evaluator)


def test_a_postprocessor_for_replicas_is_applied(build: Callable[..., Any]) -> None:
    evaluator = build(pred_postprocessor={'type': 'teval'})
    result = evaluator.evaluate(
        1, 1, dataset(1, 1), predictions=[json.dumps(steps('A', 'B', 'C')) + '<eoa> [1]'], references=[GOLDEN]
    )
    assert result['parse_rate'] == 100


# ---------------------------------------------------------------- over a result file


def test_evaluate_over_a_file_gives_rates_in_0_to_1(build: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / 'result.json'
    rows = {'a': {'prediction': READABLE, **json.loads(GOLDEN)}, 'b': {'prediction': 'no plan', **json.loads(GOLDEN)}}
    path.write_text(json.dumps(rows), encoding='utf-8')

    result = build(dataset_path=str(path)).evaluate()

    assert result['parse_rate'] == 0.5
    assert result['redundant_steps'] == 0.5
    assert result['sequence_similarity'] == pytest.approx(0.375)
    assert [row['sample'] for row in result['details']] == ['a', 'b']


@pytest.mark.parametrize(
    ('content', 'expected'),
    [
        ('[]', 'expected a T-Eval result'),
        ('{"k": {"prediction": "x"}}', "sample 'k': expected a record with `prediction` and `ground_truth`"),
        ('{"k": []}', "sample 'k': expected a record"),
        ('{}', 'expected at least one prediction, got none'),
        ('{"k": {"prediction": "", "ground_truth": [{"id": 0, "name": 1}]}}', "sample 'k': step 0"),
        ('{', 'JSON|Expecting'),
    ],
)
def test_a_wrong_result_file_is_refused(build: Callable[..., Any], tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / 'result.json'
    path.write_text(content, encoding='utf-8')
    with pytest.raises(ValueError, match=expected):
        build(dataset_path=str(path)).evaluate()


def test_evaluate_without_a_file_is_refused(build: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match='expected `dataset_path`'):
        build().evaluate()
