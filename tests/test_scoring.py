"""Scoring without the host: corpora, metrics in a list, golden references, and the values that must hold."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from opencompass_traj import scoring
from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions
from opencompass_traj.plan import Plan
from opencompass_traj.scoring import (
    CausalFidelity,
    Comparison,
    GraphSimilarity,
    Metric,
    PartialOrderSimilarity,
    PlanMatch,
    Reading,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    comparison,
    corpus,
    read_references,
)
from tests.conftest import ExactEncoder, HashedEncoder
from tests.data import shared_data

SIMILARITIES = (
    'sequence_similarity', 'optimal_rate', 'partial_order_similarity', 'dag_similarity', 'node_f1', 'edge_precision',
    'edge_recall', 'edge_f1', 'isomorphic_rate', 'causal_fidelity', 'trajectory_score',
)  # fmt: skip
ORDER_FAIR = ('plan_f1', 'partial_order_similarity', 'dag_similarity', 'causal_fidelity', 'isomorphic_rate')
COUNTS = ('redundant_steps', 'missing_steps', 'redundant_edges', 'missing_edges')


def symbolic() -> list[Metric]:
    return [SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(), TrajectoryScore()]


def everything() -> list[Metric]:
    return [PlanMatch(), *symbolic()]


def scorer(metrics: list[Metric] | None = None, encoder: Any = None, **options: Any) -> Scorer:
    chosen = ExactEncoder() if encoder is None else encoder
    return Scorer(everything() if metrics is None else metrics, vectors=lambda: TextVectors(chosen), **options)


def steps(*names: str, chain: bool = False) -> list[dict[str, Any]]:
    return [
        {'id': i, 'name': name, 'args': {}, **({'prev': [i - 1] if i else []} if chain else {})}
        for i, name in enumerate(names)
    ]


def golden_plans() -> list[list[dict[str, Any]]]:
    content = json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8'))
    return [record['ground_truth'] for record in content.values()]


# ---------------------------------------------------------------- golden plans against themselves


def test_every_golden_plan_against_itself_is_1() -> None:
    plans = golden_plans()
    assert len(plans) == 369
    found = scorer().score(plans, read_references(plans))

    for row in found.details:
        assert {row[key] for key in (*SIMILARITIES, 'plan_precision', 'plan_recall', 'plan_f1')} == {1.0}, row
        assert {row[key] for key in COUNTS} == {0.0}
        assert row['graph_exact'] is row['partial_order_exact'] is row['plan_exact'] is row['causal_exact'] is True
        assert row['edge_source'] == 'prev'
        assert {step['op'] for step in row['alignment']} <= {'keep', 'equal', 'match'}
    assert {found.means[key] for key in SIMILARITIES} == {1.0}


def legal_order(plan: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """A random topological order, with ids that follow it."""
    left, done, order = list(plan), set(), []
    while left:
        # The finish marker stays at the end: it is what it marks.
        ready = [step for step in left if set(step['prev']) <= done and step['name'] != 'FinishAction'] or left[:1]
        step = rng.choice(ready)
        order.append(step)
        left.remove(step)
        done.add(step['id'])
    number = {step['id']: at for at, step in enumerate(order)}
    return [{**step, 'id': number[step['id']], 'prev': [number[one] for one in step['prev']]} for step in order]


@pytest.mark.parametrize('stated', [True, False])
def test_every_golden_plan_in_another_legal_order_is_1_where_order_is_fair(stated: bool) -> None:
    rng = random.Random(20)
    plans = golden_plans()
    others = [legal_order(plan, rng) for plan in plans]
    if not stated:
        others = [[{key: step[key] for key in ('id', 'name', 'args')} for step in plan] for plan in others]
    found = scorer().score(others, read_references(plans))

    assert sum(a != b for a, b in zip(plans, others, strict=True)) > 50
    for row, plan in zip(found.details, others, strict=True):
        assert {row[key] for key in ORDER_FAIR} == {1.0}, (row, plan)
        assert (row['edge_source'] == 'prev') is stated
        assert row['graph_exact'] is True
    assert min(row['sequence_similarity'] for row in found.details) < 1


def test_a_plan_of_other_tools_is_0(exact: ExactEncoder) -> None:
    plans = [plan for plan in golden_plans() if len(plan) > 2][::6]
    others = [steps(*(f'Other.tool_{number}' for number in range(len(plan))), chain=True) for plan in plans]
    found = scorer(encoder=exact).score(others, read_references(plans))
    for key in (*SIMILARITIES, 'plan_f1'):
        if key not in {'edge_precision', 'edge_recall', 'edge_f1', 'causal_fidelity'}:
            assert found.means[key] == 0, key


def test_faults_keep_every_result_exact_and_in_range() -> None:
    rng = random.Random(5)
    plans = golden_plans()[::3]
    faulty = []
    for plan in plans:
        kept = [step for step in plan if rng.random() > 0.2]
        rng.shuffle(kept)
        extra = rng.sample(plan, k=min(2, len(plan)))
        faulty.append([{**step, 'id': number} for number, step in enumerate([*kept, *extra])])
    found = scorer(encoder=HashedEncoder()).score(faulty, read_references(plans))
    for row in found.details:
        assert row['graph_exact'] is True
        assert row['partial_order_exact'] is True
        low, high = row['graph_bounds']
        assert low == high == row['dag_similarity']
        assert all(0 <= row[key] <= 1 for key in found.rates)


# ---------------------------------------------------------------- values to hold


def one(prediction: object, golden: object, metrics: list[Metric] | None = None, **options: Any) -> dict[str, Any]:
    return scorer(metrics, **options).score([prediction], read_references([golden])).details[0]


def test_values_of_a_redundant_step() -> None:
    row = one(steps('A', 'X', 'B', 'C'), steps('A', 'B', 'C'))
    assert row['sequence_similarity'] == 0.75
    assert (row['redundant_steps'], row['missing_steps'], row['optimal_rate']) == (1, 0, 0)
    assert row['dag_similarity'] == pytest.approx(8 / 12)
    assert row['trajectory_score'] == pytest.approx(0.6 * 0.75 + 0.4 * 8 / 12)
    assert (row['edge_source'], row['redundant_edges'], row['missing_edges']) == ('chain', 2, 1)
    assert row['missing_edge_list'] == ['0 A -> 1 B']
    assert sorted(row['redundant_edge_list']) == ['0 A -> 1 X', '1 X -> 2 B']

    row = one(steps('A', 'X', 'B', 'C'), steps('A', 'B', 'C', chain=True))
    assert row['edge_source'] == 'order'
    assert row['dag_similarity'] == pytest.approx(10 / 11)
    assert row['edge_f1'] == 1


def test_values_of_a_roundabout_way() -> None:
    row = one(
        steps('search_google', 'query_all_users', 'python_filter', 'query_crm_balance'), steps('query_crm_balance')
    )
    assert (row['sequence_similarity'], row['redundant_steps']) == (0.25, 3)


def test_plan_f1_gives_nothing_for_nothing_and_loses_nothing_to_repeats() -> None:
    assert one(steps('x', 'y'), steps('a', 'b'))['plan_f1'] == 0
    assert one(steps('a', 'a', 'a'), steps('a', 'a', 'a'))['plan_f1'] == 1


def test_each_source_of_edges() -> None:
    golden = [
        {'id': 0, 'name': 'A', 'args': {}, 'prev': []},
        {'id': 1, 'name': 'B', 'args': {}, 'prev': []},
        {'id': 2, 'name': 'C', 'args': {}, 'prev': [0, 1]},
    ]
    assert one(steps('B', 'A', 'C'), golden)['dag_similarity'] == 1
    assert one(steps('B', 'A', 'C', chain=True), golden)['edge_source'] == 'prev'
    referring = [{**step, 'args': {'x': '#E1 #E2'} if step['name'] == 'C' else {}} for step in steps('B', 'A', 'C')]
    row = one(referring, golden)
    assert (row['edge_source'], row['dag_similarity']) == ('references', 1)


def test_nonsense_in_the_prediction_is_dropped_and_counted() -> None:
    prediction = [
        {'id': 0, 'name': 'A', 'args': {}, 'prev': [0]},
        {'id': 1, 'name': 'B', 'args': {}, 'prev': [7, 0]},
    ]
    row = one(prediction, steps('A', 'B', chain=True))
    assert row['dropped_edges'] == ['step 0: depends on itself', 'step 1: depends on unknown step 7']
    assert row['dag_similarity'] == 1


def test_options_reach_the_metrics() -> None:
    pred, golden = steps('Z', 'B', 'X', 'Y'), steps('A', 'B')
    assert one(pred, golden, [SequenceSimilarity()])['sequence_similarity'] == 0.25
    assert one(pred, golden, [SequenceSimilarity('indel')])['sequence_similarity'] == pytest.approx(2 / 6)
    assert one(pred, golden, [PartialOrderSimilarity('indel')])['partial_order_similarity'] == pytest.approx(2 / 6)
    weighted = [SequenceSimilarity(), GraphSimilarity(), TrajectoryScore({'sequence_similarity': 2})]
    assert one(pred, golden, weighted)['trajectory_score'] == 0.25
    near = one(
        steps('search_flights'), steps('search_flight'), [GraphSimilarity(compare='soft')], encoder=HashedEncoder()
    )
    assert 0 < near['dag_similarity'] < 1
    assert one(steps('search_flights'), steps('search_flight'), [GraphSimilarity()])['dag_similarity'] == 0


def test_small_budgets_are_said_to_be_bounds() -> None:
    names = ['A', 'B'] * 6
    golden = [{'id': i, 'name': name, 'args': {}, 'prev': []} for i, name in enumerate(names)]
    row = one(steps(*reversed(names)), golden, [PartialOrderSimilarity(budget=1)])
    low, high = row['partial_order_bounds']
    assert row['partial_order_exact'] is False or low == high
    assert 0 <= low <= row['partial_order_similarity'] <= high <= 1


@pytest.mark.parametrize('weights', [{'sequence_similarity': -1.0}, {'sequence_similarity': 0.0}])
def test_weights_that_make_no_mean_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match='expected `weights` of at least 0 with a sum above 0'):
        TrajectoryScore(weights)


# ---------------------------------------------------------------- the corpus


class Recorder(Metric):
    counts = ('seen',)

    def __init__(self) -> None:
        self.values: list[dict[str, float]] = []

    def score(self, comparison: Comparison) -> dict[str, float]:
        self.values.append(dict(comparison.values))
        return {'seen': 1.0}


def test_a_metric_sees_the_numbers_of_those_before_it() -> None:
    recorder = Recorder()
    one(steps('A'), steps('A'), [SequenceSimilarity(), recorder, CausalFidelity()])
    assert set(recorder.values[0]) == {'sequence_similarity', 'optimal_rate', 'redundant_steps', 'missing_steps'}


def test_an_unreadable_prediction_is_0_for_the_metrics_after_it_too() -> None:
    recorder = Recorder()
    row = one('[{"name": ', steps('FinishAction'), [SequenceSimilarity(), recorder])
    assert row['sequence_similarity'] == row['optimal_rate'] == 0
    assert recorder.values[0]['sequence_similarity'] == 0


class Bare(Metric):
    uses_embeddings = True
    rates = ('bare',)

    def score(self, comparison: Comparison) -> dict[str, float]:
        return {'bare': float(comparison.similarity[0, 0])}


class Silent(Bare):
    uses_embeddings = False


def test_embeddings_must_be_declared() -> None:
    assert one(steps('A'), steps('A'), [Bare()])['bare'] == 1
    with pytest.raises(RuntimeError, match='must set `uses_embeddings = True`'):
        one(steps('A'), steps('A'), [Silent()])


def test_texts_are_encoded_once_and_the_result_does_not_depend_on_the_order(hashed: HashedEncoder) -> None:
    plans = golden_plans()[:40]
    predictions = plans[1:] + plans[:1]
    forward = scorer(encoder=hashed).score(predictions, read_references(plans))
    encoded = [text for call in hashed.calls for text in call]
    assert len(hashed.calls) == 1
    assert len(encoded) == len(set(encoded))

    backward = scorer(encoder=HashedEncoder()).score(predictions[::-1], read_references(plans[::-1]))
    assert [row['plan_f1'] for row in backward.details[::-1]] == [row['plan_f1'] for row in forward.details]
    assert backward.means == pytest.approx(forward.means, abs=1e-12)


def test_a_corpus_in_pieces_is_the_same_corpus(hashed: HashedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = golden_plans()[:25]
    whole = scorer().score(plans[::-1], read_references(plans))
    monkeypatch.setattr('opencompass_traj.scoring.streaming.EMBEDDED_SAMPLES', 4)
    pieces = scorer(encoder=hashed)
    parts = pieces.score(plans[::-1], read_references(plans))
    assert 1 < len(hashed.calls) <= 7
    encoded = [text for call in hashed.calls for text in call]
    assert len(encoded) == len(set(encoded))
    assert [row['dag_similarity'] for row in parts.details] == [row['dag_similarity'] for row in whole.details]


def test_progress_wraps_the_samples() -> None:
    totals: list[int] = []

    def progress(comparisons: Any, total: int) -> Any:
        totals.append(total)
        yield from comparisons

    Scorer([SequenceSimilarity()], progress=progress).score([steps('A')] * 3, read_references([steps('A')] * 3))
    assert totals == [3]


@pytest.mark.parametrize('entry', ['GraphSimilarity', {'type': 'GraphSimilarity'}, None, GraphSimilarity])
def test_what_is_no_metric_is_refused(entry: Any) -> None:
    with pytest.raises(TypeError, match='to be a Metric'):
        Scorer([SequenceSimilarity(), entry])


def test_lists_of_metrics_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="SequenceSimilarity and SequenceSimilarity both give 'sequence_similarity'"):
        Scorer([SequenceSimilarity(), SequenceSimilarity('indel')])
    with pytest.raises(ValueError, match="TrajectoryScore needs 'dag_similarity'"):
        Scorer([SequenceSimilarity(), TrajectoryScore(), GraphSimilarity()])
    with pytest.raises(TypeError):
        Metric()  # type: ignore[abstract]


def test_samples_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ValueError, match='got 1 and 2'):
        scorer().score(['x'], read_references([steps('A')] * 2))
    with pytest.raises(ValueError, match='at least one'):
        scorer().score([], [])


def test_percent_touches_rates_alone() -> None:
    found = scorer([SequenceSimilarity()]).score([steps('A', 'B')], read_references([steps('A')]))
    assert found.in_percent() == {
        'sequence_similarity': 50.0, 'optimal_rate': 0.0, 'redundant_steps': 1.0, 'missing_steps': 0.0,
    }  # fmt: skip
    assert found.means['sequence_similarity'] == 0.5


def test_settings_name_the_class_and_its_options_alone() -> None:
    settings = SequenceSimilarity('indel').settings()
    assert (settings['type'], settings['mode']) == ('SequenceSimilarity', 'indel')
    assert not set(settings) & {'rates', 'counts', 'sparse', 'uses_embeddings', 'reads_prediction', 'requires'}
    assert PlanMatch(0.5).settings()['match_threshold'] == 0.5
    for metric in everything():
        json.dumps(metric.settings(), allow_nan=False)
    assert set(TrajectoryScore().settings()) == {'type', 'weights', 'zero_if_forbidden'}
    assert set(GraphSimilarity(compare='soft').settings()) == {'type', 'compare', 'match_threshold', 'budget'}


# ---------------------------------------------------------------- references


def test_references_come_in_three_shapes() -> None:
    record = {'id': 'q1', 'meta': {'prompt_type': 'str', 'API_list': ['A', 'B']}, 'ground_truth': steps('A', 'B')}
    found = read_references([record, json.dumps(record), steps('A')], default_prompt_type='ReWOO')
    assert {len(alternatives) for alternatives in found} == {1}
    read = [alternatives[0] for alternatives in found]
    assert [one.name for one in read] == ['q1', 'q1', '2']
    assert [one.prompt_type for one in read] == ['str', 'str', 'ReWOO']
    assert read[0].api_list == ('A', 'B')
    assert read[1].written.names == ('A', 'B')


@pytest.mark.parametrize(
    ('reference', 'expected'),
    [
        ('{', 'sample 0: expected the JSON text of a T-Eval record'),
        (3, 'sample 0: expected a record with `ground_truth`, got 3'),
        ({'meta': {}}, 'sample 0: expected a record with `ground_truth`'),
        ({'id': 'q', 'ground_truth': [], 'meta': 'json'}, "sample 'q': expected `meta` to be a mapping, got str"),
        ({'ground_truth': [], 'meta': {'prompt_type': 'xml'}}, "to be one of json, str, ReWOO, got 'xml'"),
        ({'ground_truth': [], 'meta': {'prompt_type': 'str'}}, 'expected `meta.API_list` to name the tools'),
        ({'ground_truth': 'x'}, "sample '0': expected the JSON text of a list of steps"),
        ({'ground_truth': [{'name': 'A', 'prev': [4]}]}, "sample '0': step 0: `prev` names the unknown step 4"),
    ],
)
def test_wrong_references_are_refused(reference: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected) as caught:
        read_references([reference])
    assert '1 of 1 golden plans cannot be used' in str(caught.value)


def test_lenient_references_keep_what_is_sound() -> None:
    broken = [{'id': 0, 'name': 'A', 'prev': [1]}, {'id': 1, 'name': 'B', 'prev': []}, {'id': 2, 'name': ''}]
    (read,) = read_references([{'ground_truth': broken}], strict=False)[0]
    assert read.written.names == ('A', 'B')
    assert [step.prev for step in read.written.steps] == [(), ()]
    found = scorer().score([steps('A', 'B')], [(read,)])
    assert found.details[0]['sequence_similarity'] == 1


# ---------------------------------------------------------------- one comparison


def test_a_comparison_reads_each_side_without_its_finish_marker() -> None:
    (reference,) = read_references([steps('A', 'End', 'FinishAction')])[0]
    both = Comparison(json.dumps(steps('A', 'End')), reference, Reading(finish_names=('FinishAction', 'End')))
    assert both.pred.names == both.ref.names == ('A',)
    assert both.failure is None
    assert isinstance(both.strict, Plan)
    assert both.strict.names == ('A', 'End')
    assert both.ref_graph.edges == frozenset()


def test_a_comparison_that_cannot_be_read_is_an_empty_plan_with_a_reason() -> None:
    both = Comparison('nothing', read_references([steps('A')])[0][0], Reading(prediction_format='teval'))
    assert both.failure is not None
    assert both.failure.reason == 'no list in the answer'
    assert len(both.pred) == 0


def test_the_threshold_of_the_match_options_is_the_default() -> None:
    pred, golden = steps('search_flights'), steps('search_flight')
    strict = one(
        pred, golden, [PlanMatch()], encoder=HashedEncoder(), reading=Reading(match=MatchOptions(match_threshold=0.99))
    )
    loose = one(
        pred, golden, [PlanMatch()], encoder=HashedEncoder(), reading=Reading(match=MatchOptions(match_threshold=0.5))
    )
    assert (strict['plan_f1'], loose['plan_f1']) == (0, 1)
    own = one(
        pred,
        golden,
        [PlanMatch(0.5)],
        encoder=HashedEncoder(),
        reading=Reading(match=MatchOptions(match_threshold=0.99)),
    )
    assert own['plan_f1'] == 1


def test_the_prompt_types_are_tevals() -> None:
    assert scoring.PROMPT_TYPES == ('json', 'str', 'ReWOO')


def checked(metric: Metric, value: Any) -> str:
    try:
        corpus._check_numbers(metric, {'a': value})
    except (TypeError, ValueError) as error:
        return f'{type(error).__name__}: {error}'
    return ''


@pytest.mark.parametrize(
    'value',
    [0.5, 0.0, 1.0, 1, 0, True, None, float('nan'), float('inf'), 1 + 1e-10, -1e-12, 1.5, -3.0, np.float64(0.5), 'x'],
)  # fmt: skip
@pytest.mark.parametrize('kind', ['rates', 'counts'])
@pytest.mark.parametrize('sparse', [False, True])
def test_plain_numbers_pass_by_the_short_way_and_no_others(
    value: Any, kind: str, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = SequenceSimilarity()
    metric.rates, metric.counts = (('a',), ()) if kind == 'rates' else ((), ('a',))
    metric.sparse = {'a': 'a_known_rate'} if sparse else {}
    short = checked(metric, value)
    monkeypatch.setattr(corpus, '_are_plain', lambda *_: False)
    assert short == checked(metric, value)


def test_two_metrics_that_ask_for_the_same_closest_order_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    compute = comparison.partial_order_similarity

    def counted(*args: Any, **options: Any) -> Any:
        asked.append(args)
        return compute(*args, **options)

    monkeypatch.setattr(comparison, 'partial_order_similarity', counted)
    golden = [{'name': name, 'args': {}, 'turn': turn} for name, turn in zip('abcd', (0, 0, 1, 1), strict=True)]
    prediction = json.dumps({'plan': [[{'name': 'b'}, {'name': 'a'}], [{'name': 'c'}]]})
    rows = scorer(symbolic()).score([prediction], read_references([golden])).details
    assert len(asked) == 1
    assert rows[0]['sequence_similarity'] == rows[0]['partial_order_similarity'] == 0.75
    other = [PartialOrderSimilarity('indel'), SequenceSimilarity()]
    scorer(other, best_by='sequence_similarity').score([prediction], read_references([golden]))
    assert len(asked) == 3
