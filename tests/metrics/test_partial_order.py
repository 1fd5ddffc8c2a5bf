"""The closest legal order: brute force over all orders, rapidfuzz on chains, bounds, laws, and real plans."""

import itertools
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, Levenshtein

from opencompass_traj.metrics._order_dp import FORBIDDEN, Costs, align_orders
from opencompass_traj.metrics.partial_order import partial_order_similarity
from opencompass_traj.metrics.poset import is_legal_order, transitive_closure, weak_order
from opencompass_traj.metrics.sequence import sequence_similarity
from opencompass_traj.plan import StepGraph
from tests.data import shared_data
from tests.metrics.order_reference import legal_orders, random_edges, random_legal_order, read_workflow

FOREIGN = {'levenshtein': Levenshtein, 'indel': Indel}
DIAMOND = StepGraph(('a', 'b', 'c', 'd'), frozenset({(0, 1), (0, 2), (1, 3), (2, 3)}))


def chain(names):
    return StepGraph(tuple(names), frozenset(itertools.pairwise(range(len(names)))))


def random_case(rng, largest=6):
    letters = rng.choice(['ab', 'abc', 'abcd'])
    pred = [rng.choice([*letters, 'only pred']) for _ in range(rng.randrange(largest))]
    names = tuple(rng.choice([*letters, 'only ref']) for _ in range(rng.randrange(largest)))
    return pred, StepGraph(names, random_edges(rng, len(names), rng.choice([0, 0.2, 0.5, 1])))


def brute_force(pred, ref, mode, rank=None):
    preds = transitive_closure(len(ref.names), ref.edges)
    return min(
        FOREIGN[mode].distance([pred[i] for i in mine], [ref.names[v] for v in theirs])
        for mine in legal_orders(weak_order(range(len(pred)) if rank is None else rank))
        for theirs in legal_orders(preds)
    )


def check_alignment(result, pred, ref, mode):
    """The orders are legal, the script reads both and costs the distance."""
    assert is_legal_order(result.order, transitive_closure(len(ref.names), ref.edges))
    assert sorted(result.pred_order) == list(range(len(pred)))
    assert tuple(op.ref for op in result.alignment if op.ref is not None) == result.order
    assert tuple(op.pred for op in result.alignment if op.pred is not None) == result.pred_order
    assert sum(op.op != 'keep' for op in result.alignment) == result.distance
    assert all(pred[op.pred] == ref.names[op.ref] for op in result.alignment if op.op == 'keep')
    assert result.lower == result.similarity <= result.upper
    assert result.exact == (result.lower == result.upper)
    assert type(result.similarity) is type(result.upper) is float
    assert type(result.distance) is int


@pytest.mark.parametrize(
    ('pred', 'ref', 'levenshtein', 'indel'),
    [
        ('abcd', DIAMOND, 1.0, 1.0),
        ('acbd', DIAMOND, 1.0, 1.0),
        ('bacd', DIAMOND, 0.5, 6 / 8),
        ('acd', DIAMOND, 0.75, 6 / 7),
        ('axbc', chain('abc'), 0.75, 6 / 7),
        ('cba', StepGraph(('a', 'b', 'c')), 1.0, 1.0),
        ('xyz', DIAMOND, 0.0, 0.0),
        ('', StepGraph(()), 1.0, 1.0),
        ('a', StepGraph(()), 0.0, 0.0),
        ('', DIAMOND, 0.0, 0.0),
        ('bb', StepGraph(('a', 'b', 'b'), frozenset({(0, 1)})), 2 / 3, 4 / 5),
        ('bxy', chain('ab'), 0.0, 2 / 5),
        ('zbxy', chain('ab'), 0.25, 2 / 6),
    ],
)
def test_literal_values(pred, ref, levenshtein, indel):
    for mode, expected in (('levenshtein', levenshtein), ('indel', indel)):
        result = partial_order_similarity(list(pred), ref, mode=mode)
        assert result.exact
        assert result.similarity == expected
        check_alignment(result, pred, ref, mode)


def test_counts_of_surplus_steps():
    result = partial_order_similarity(['a', 'x', 'b', 'c'], chain('abc'))
    assert (result.redundant, result.missing) == (1, 0)
    assert partial_order_similarity(['a'], DIAMOND).missing == 3


@pytest.mark.parametrize('seed', range(20))
@pytest.mark.parametrize('mode', FOREIGN)
def test_against_all_topological_orders(seed, mode):
    rng = random.Random(seed)
    for _ in range(60):
        pred, ref = random_case(rng)
        result = partial_order_similarity(pred, ref, mode=mode)
        assert result.exact
        assert result.distance == brute_force(pred, ref, mode)
        check_alignment(result, pred, ref, mode)
        assert result.pred_order == tuple(range(len(pred)))


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize('mode', FOREIGN)
def test_ties_of_rank_against_all_orders_of_both_sides(seed, mode):
    rng = random.Random(seed)
    for _ in range(40):
        pred, ref = random_case(rng, 5)
        rank = [rng.randrange(3) for _ in pred]
        result = partial_order_similarity(pred, ref, mode=mode, rank=rank)
        assert result.exact
        assert result.distance == brute_force(pred, ref, mode, rank)
        check_alignment(result, pred, ref, mode)
        assert [rank[i] for i in result.pred_order] == sorted(rank)


@pytest.mark.parametrize('seed', range(10))
def test_bounds_bracket_the_exact_value_under_any_budget(seed):
    rng = random.Random(seed)
    for _ in range(60):
        pred, ref = random_case(rng, 9)
        rank = rng.choice([None, [rng.randrange(4) for _ in pred]])
        mode = rng.choice(list(FOREIGN))
        exact = partial_order_similarity(pred, ref, mode=mode, rank=rank)
        assert exact.exact
        tight = partial_order_similarity(pred, ref, mode=mode, rank=rank, budget=rng.choice([1, 10, 40, 100]))
        assert tight.lower <= exact.similarity <= tight.upper
        check_alignment(tight, pred, ref, mode)


def test_a_tiny_budget_gives_a_bound_and_says_so():
    rng = random.Random(2)
    outcomes = set()
    for _ in range(60):
        pred, names = ([rng.choice('abcd') for _ in range(12)] for _ in range(2))
        ref = StepGraph(tuple(names), random_edges(rng, 12, 0.3))
        outcomes.add(partial_order_similarity(pred, ref, budget=1).exact)
    assert outcomes == {True, False}


@pytest.mark.parametrize('seed', range(10))
def test_chains_are_plain_edit_distance(seed):
    rng = random.Random(seed)
    pred, names = ([rng.choice('abcd') for _ in range(rng.randrange(30))] for _ in range(2))
    for mode, foreign in FOREIGN.items():
        result = partial_order_similarity(pred, chain(names), mode=mode)
        assert result.distance == foreign.distance(pred, names)
        assert result.similarity == sequence_similarity(pred, names, mode=mode)
        assert result.order == tuple(range(len(names)))


@pytest.mark.parametrize('seed', range(20))
def test_renumbering_golden_steps_changes_nothing(seed):
    rng = random.Random(seed)
    for _ in range(20):
        pred, ref = random_case(rng, 8)
        new = rng.sample(range(len(ref.names)), len(ref.names))
        names = [''] * len(new)
        for old, name in enumerate(ref.names):
            names[new[old]] = name
        renumbered = StepGraph(tuple(names), frozenset((new[u], new[v]) for u, v in ref.edges))
        for mode in FOREIGN:
            expected = partial_order_similarity(pred, ref, mode=mode).similarity
            assert partial_order_similarity(pred, renumbered, mode=mode).similarity == expected


@pytest.mark.parametrize('seed', range(20))
def test_indel_laws_of_direction(seed):
    rng = random.Random(seed)
    for _ in range(20):
        pred, ref = random_case(rng, 8)
        result = partial_order_similarity(pred, ref, mode='indel')
        place = rng.randrange(len(pred) + 1)
        longer = [*pred[:place], 'redundant', *pred[place:]]
        assert partial_order_similarity(longer, ref, mode='indel').similarity <= result.similarity
        kept = [op.pred for op in result.alignment if op.op == 'keep']
        if kept:
            lost = rng.choice(kept)
            blurred = [*pred[:lost], 'wrong tool', *pred[lost + 1 :]]
            assert partial_order_similarity(blurred, ref, mode='indel').similarity <= result.similarity
            fewer = partial_order_similarity(pred[:lost] + pred[lost + 1 :], ref, mode='indel')
            # Where another step takes its place, what was lost was in truth a redundant step.
            taken_over = sum(op.op == 'keep' for op in fewer.alignment) == len(kept)
            assert fewer.similarity <= result.similarity or taken_over


def test_the_levenshtein_form_is_declared_to_break_the_first_law():
    shorter, longer = (partial_order_similarity(list(p), chain('ab')).similarity for p in ('bxy', 'zbxy'))
    assert (shorter, longer) == (0.0, 0.25)


def test_parallel_calls_have_no_order_among_themselves():
    golden, pred = chain(['look', 'book', 'pay']), ['pay', 'book', 'look']
    assert partial_order_similarity(pred, golden).similarity < 1
    tied = partial_order_similarity(pred, golden, rank=[0, 0, 0])
    assert (tied.similarity, tied.pred_order) == (1.0, (2, 1, 0))
    assert partial_order_similarity(pred, golden, rank=[2, 1, 0]).similarity == 1
    many = [f'call {i}' for i in range(60)]
    late = partial_order_similarity([*many, 'x'], chain(['x', *reversed(many)]), rank=[0] * 60 + [1])
    assert (late.distance, late.exact) == (2, True)


def test_wide_graphs_are_exact_within_the_default_budget():
    rng = random.Random(3)
    ref = StepGraph(tuple(f't{i}' for i in range(18)), frozenset((i, i + 1) for i in range(0, 18, 2)))
    pred = [f't{rng.randrange(20)}' for _ in range(20)]
    result = partial_order_similarity(pred, ref)
    assert result.exact
    check_alignment(result, pred, ref, 'levenshtein')


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'mode': 'lcs'}, "got 'lcs'"),
        ({'budget': 0}, 'at least 1, got 0'),
        ({'rank': [1]}, 'one rank for each of 2 predicted steps, got 1'),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        partial_order_similarity(['a', 'b'], DIAMOND, **options)


def test_a_golden_cycle_is_an_error_that_names_the_step():
    with pytest.raises(ValueError, match=r'node [01] depends on itself'):
        partial_order_similarity(['a'], StepGraph(('a', 'b'), frozenset({(0, 1), (1, 0)})))


@pytest.mark.parametrize('kind', ['chain', 'sparse', 'dense', 'none'])
def test_long_plans(kind):
    rng = random.Random(11)
    n = 500
    density = {'sparse': 0.002, 'dense': 0.05}.get(kind, 0)
    edges = frozenset((a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < density)
    names = tuple(f'tool{rng.randrange(20)}' for _ in range(n))
    ref = chain(names) if kind == 'chain' else StepGraph(names, edges)
    pred = [name for name in names if rng.random() < 0.9] + [f'tool{rng.randrange(22)}' for _ in range(50)]
    result = partial_order_similarity(pred, ref, budget=500_000)
    check_alignment(result, pred, ref, 'levenshtein')
    assert result.exact or kind in ('sparse', 'dense')
    assert result.similarity >= 0.5


def load_teval():
    for key, sample in json.loads(shared_data('teval/plan_json_v1.json').read_text()).items():
        steps = [s for s in sample['ground_truth'] if s['name'] != 'FinishAction']
        place = {s['id']: k for k, s in enumerate(steps)}
        edges = {(place[u], place[s['id']]) for s in steps for u in s['prev'] if u in place}
        yield key, StepGraph(tuple(s['name'] for s in steps), frozenset(edges))


def load_worfbench():
    for sample in json.loads(shared_data('worfbench/toolbench.json').read_text()):
        yield sample['id'], StepGraph(*read_workflow(sample['conversations'][-1]['content']))


@pytest.mark.parametrize('load', [load_teval, load_worfbench])
def test_real_golden_plans_against_themselves_and_their_legal_orders(load):
    rng = random.Random(17)
    count = 0
    for key, ref in load():
        n = len(ref.names)
        assert n, key
        for _ in range(4):
            order = random_legal_order(rng, n, ref.edges)
            for mode in FOREIGN:
                result = partial_order_similarity([ref.names[v] for v in order], ref, mode=mode)
                assert (result.similarity, result.exact) == (1.0, True), key
        count += 1
    assert count in (369, 114)


@pytest.mark.parametrize('load', [load_teval, load_worfbench])
def test_real_golden_plans_with_faults_are_exact(load):
    rng = random.Random(23)
    for key, ref in load():
        pred = [ref.names[v] for v in random_legal_order(rng, len(ref.names), ref.edges) if rng.random() < 0.8]
        rng.shuffle(pred)
        pred += ['another tool'] * rng.randrange(3)
        result = partial_order_similarity(pred, ref)
        assert result.exact, key
        check_alignment(result, pred, ref, 'levenshtein')


def brute_alignment(pred_preds, ref_preds, costs):
    """The least cost over all pairs of legal orders, each pair aligned by the plain recursion."""
    best = None
    for mine in legal_orders(pred_preds):
        for theirs in legal_orders(ref_preds):
            row = [j * costs.ref_gap for j in range(len(theirs) + 1)]
            for i in mine:
                above, row = row, [row[0] + costs.pred_gap]
                for j, v in enumerate(theirs):
                    pair = above[j] + int(costs.pair[i, v])
                    row.append(min(pair, above[j + 1] + costs.pred_gap, row[j] + costs.ref_gap))
            best = row[-1] if best is None else min(best, row[-1])
    return best


def cost_of(links, costs):
    total = 0
    for i, v in links:
        if i is None or v is None:
            total += costs.ref_gap if i is None else costs.pred_gap
        else:
            total += int(costs.pair[i, v])
    return total


def random_alignment_case(rng, largest):
    n_pred, n_ref = rng.randrange(largest), rng.randrange(largest)
    pred_preds = transitive_closure(n_pred, random_edges(rng, n_pred, rng.choice([0, 0.4, 1])))
    ref_preds = transitive_closure(n_ref, random_edges(rng, n_ref, rng.choice([0, 0.4, 1])))
    values = [0, 1, 3, 7, -5, FORBIDDEN]
    pair = np.array([[rng.choice(values) for _ in range(n_ref)] for _ in range(n_pred)], dtype=np.int64)
    return pred_preds, ref_preds, Costs(pair.reshape(n_pred, n_ref), rng.choice([0, 1, 2]), rng.choice([0, 1, 2]))


@pytest.mark.parametrize('seed', range(12))
def test_alignment_of_two_partial_orders_under_any_costs(seed):
    rng = random.Random(seed)
    for _ in range(25):
        pred_preds, ref_preds, costs = random_alignment_case(rng, 5)
        links, exact = align_orders(pred_preds, ref_preds, costs, budget=10_000)
        assert exact
        assert cost_of(links, costs) == brute_alignment(pred_preds, ref_preds, costs)
        assert is_legal_order([i for i, _ in links if i is not None], pred_preds)
        assert is_legal_order([v for _, v in links if v is not None], ref_preds)


@pytest.mark.parametrize('seed', range(12))
def test_a_beam_gives_legal_orders_that_cost_no_less_than_the_best(seed):
    rng = random.Random(seed)
    for _ in range(25):
        pred_preds, ref_preds, costs = random_alignment_case(rng, 9)
        best, exact = align_orders(pred_preds, ref_preds, costs, budget=1_000_000)
        assert exact
        links, complete = align_orders(pred_preds, ref_preds, costs, budget=rng.choice([1, 15, 60, 200]))
        assert cost_of(links, costs) >= cost_of(best, costs)
        assert not complete or cost_of(links, costs) == cost_of(best, costs)
        assert is_legal_order([i for i, _ in links if i is not None], pred_preds)
        assert is_legal_order([v for _, v in links if v is not None], ref_preds)


def test_the_budget_is_the_number_of_cells():
    # Three free steps: 8 down-sets; four predicted steps: 5 columns.
    costs = Costs(np.ones((4, 3), dtype=np.int64), 1, 1)
    chained = transitive_closure(4, [(0, 1), (1, 2), (2, 3)])
    assert align_orders(chained, (0, 0, 0), costs, budget=40).exact
    assert not align_orders(chained, (0, 0, 0), costs, budget=39).exact


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from('abcx'), max_size=7), st.lists(st.sampled_from('abcy'), max_size=7), st.data())
def test_more_dependencies_never_raise_the_similarity(pred, names, data):
    n = len(names)
    pairs = [(u, v) for v in range(n) for u in range(v)]
    edges = frozenset(data.draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else ())
    fewer = frozenset(sorted(edges)[::2])
    for mode in FOREIGN:
        free, loose, tight, whole = (
            partial_order_similarity(pred, StepGraph(tuple(names), e), mode=mode).similarity
            for e in (frozenset(), fewer, edges, frozenset(pairs))
        )
        assert free >= loose >= tight >= whole == sequence_similarity(pred, names, mode=mode)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from('abcx'), max_size=9), st.lists(st.sampled_from('abcy'), max_size=9))
def test_without_dependencies_only_the_multiset_counts(pred, names):
    ref = StepGraph(tuple(names))
    common = sum(min(pred.count(c), names.count(c)) for c in 'abc')
    longest, both = max(len(pred), len(names)), len(pred) + len(names)
    assert partial_order_similarity(pred, ref).distance == longest - common
    assert partial_order_similarity(pred, ref, mode='indel').distance == both - 2 * common


def test_the_answer_is_always_the_same_and_the_input_is_left_alone():
    rng = random.Random(41)
    for _ in range(30):
        pred, ref = random_case(rng, 9)
        before = list(pred)
        for budget in (20, 2_000_000):
            first = partial_order_similarity(pred, ref, budget=budget)
            assert partial_order_similarity(pred, ref, budget=budget) == first
        assert pred == before
