"""Steps matched in a legal order: brute force over all matchings, LIS and rapidfuzz on chains, laws, and real plans."""

import bisect
import itertools
import json
import random

import networkx as nx
import numpy as np
import pytest
from rapidfuzz.distance import LCSseq

from opencompass_traj.metrics.plan_match import plan_match
from opencompass_traj.metrics.poset import transitive_closure
from tests.data import shared_data
from tests.metrics.order_reference import legal_matchings, random_edges, random_legal_order, read_workflow


def equality(pred, ref):
    return np.array([[float(a == b) for b in ref] for a in pred]).reshape(len(pred), len(ref))


def chain(n):
    return list(itertools.pairwise(range(n)))


def random_case(rng, largest=6):
    n_pred, n_ref = rng.randrange(largest), rng.randrange(largest)
    values = rng.choice([[0, 1.0], [0, 0.3, 0.71, 0.9], [rng.random() for _ in range(9)]])
    similarity = np.array([[rng.choice(values) for _ in range(n_ref)] for _ in range(n_pred)]).reshape(n_pred, n_ref)
    return similarity, random_edges(rng, n_ref, rng.choice([0, 0.2, 0.5, 1])), rng.choice([0.0, 0.5, 0.7])


def clashes(edges, rank, n_ref):
    preds = transitive_closure(n_ref, edges)
    return lambda i, u, k, v: rank[i] < rank[k] and bool(preds[u] >> v & 1)


def brute_force(similarity, edges, threshold, rank=None):
    """The most pairs without a conflict, and among those the greatest total similarity."""
    n_pred, n_ref = similarity.shape
    clash = clashes(edges, range(n_pred) if rank is None else rank, n_ref)
    matchings = legal_matchings(n_pred, n_ref, lambda i, v: similarity[i, v] > threshold, clash)
    return max((len(pairs), round(float(sum(similarity[p] for p in pairs)), 8)) for pairs in matchings)


def check_legal(match, similarity, edges, threshold, rank=None):
    n_pred, n_ref = similarity.shape
    clash = clashes(edges, range(n_pred) if rank is None else rank, n_ref)
    rows, columns = zip(*match.pairs, strict=True) if match.pairs else ((), ())
    assert len(set(rows)) == len(set(columns)) == len(match.pairs) == match.count == match.lower
    assert all(similarity[pair] > threshold for pair in match.pairs)
    assert not any(clash(*a, *b) for a in match.pairs for b in match.pairs)
    preds = transitive_closure(n_ref, edges)
    assert not any(preds[u] >> v & 1 for u, v in itertools.combinations(columns, 2)), 'listed in a legal order'
    assert match.lower <= match.upper
    assert match.exact == (match.lower == match.upper)
    assert (match.score.matched, match.score.n_pred, match.score.n_ref) == (match.count, n_pred, n_ref)
    assert all(type(index) is int for pair in match.pairs for index in pair)
    assert type(match.score.f1) is float


@pytest.mark.parametrize(
    ('pred', 'ref', 'edges', 'f1'),
    [
        ('abc', 'abc', chain(3), 1.0),
        ('acb', 'abc', [(0, 1), (0, 2)], 1.0),
        ('acb', 'abc', chain(3), 4 / 6),
        ('cba', 'abc', [], 1.0),
        ('xyz', 'abc', chain(3), 0.0),
        ('aaaa', 'aaaa', chain(4), 1.0),
        ('abab', 'abab', chain(4), 1.0),
        ('axbc', 'abc', chain(3), 6 / 7),
        ('', '', [], 1.0),
        ('a', '', [], 0.0),
        ('', 'a', [], 0.0),
    ],
)
def test_literal_values(pred, ref, edges, f1):
    similarity = equality(pred, ref)
    match = plan_match(similarity, edges, threshold=0.7)
    assert match.exact
    assert match.score.f1 == f1
    check_legal(match, similarity, edges, 0.7)


def test_the_longest_increasing_run_of_a_fixed_matching():
    similarity = np.zeros((5, 6))
    for i, v in {0: 0, 1: 2, 2: 3, 3: 1, 4: 5}.items():
        similarity[i, v] = 0.9
    match = plan_match(similarity, chain(6), threshold=0.7)
    assert match.pairs == ((0, 0), (1, 2), (2, 3), (4, 5))
    assert match.score.precision == 0.8


def test_the_threshold_is_strict():
    assert plan_match([[0.7]], [], threshold=0.7).count == 0
    assert plan_match([[0.7000001]], [], threshold=0.7).count == 1
    assert plan_match([[0.0, 1.0]], [], threshold=0.0).pairs == ((0, 1),)


def test_more_pairs_come_before_more_similarity():
    similarity = [[1.0, 0.71], [0.71, 0.0]]
    assert plan_match(similarity, [], threshold=0.7).pairs == ((0, 1), (1, 0))
    assert plan_match(similarity, [(0, 1)], threshold=0.7).pairs == ((0, 0),)


def test_the_matching_is_chosen_together_with_the_order():
    # The heaviest matching crosses and loses a step to the order; another one with as many pairs does not.
    similarity = [[0.8, 0.9], [0.9, 0.8]]
    assert plan_match(similarity, chain(2), threshold=0.7).pairs == ((0, 0), (1, 1))


@pytest.mark.parametrize('seed', range(20))
def test_against_all_matchings(seed):
    rng = random.Random(seed)
    for _ in range(40):
        similarity, edges, threshold = random_case(rng)
        match = plan_match(similarity, edges, threshold=threshold)
        total = round(float(sum(similarity[pair] for pair in match.pairs)), 8)
        assert match.exact
        assert (match.count, total) == pytest.approx(brute_force(similarity, edges, threshold), abs=1e-7)
        check_legal(match, similarity, edges, threshold)


@pytest.mark.parametrize('seed', range(12))
def test_ties_of_rank_against_all_matchings(seed):
    rng = random.Random(seed)
    for _ in range(40):
        similarity, edges, threshold = random_case(rng)
        rank = [rng.randrange(3) for _ in range(len(similarity))]
        match = plan_match(similarity, edges, threshold=threshold, rank=rank)
        assert match.exact
        assert match.count == brute_force(similarity, edges, threshold, rank)[0]
        check_legal(match, similarity, edges, threshold, rank)


@pytest.mark.parametrize('seed', range(12))
def test_bounds_bracket_the_exact_count_under_any_budget(seed):
    rng = random.Random(seed)
    for _ in range(40):
        similarity, edges, threshold = random_case(rng, 9)
        rank = rng.choice([None, [rng.randrange(4) for _ in range(len(similarity))]])
        exact = plan_match(similarity, edges, threshold=threshold, rank=rank)
        assert exact.exact
        tight = plan_match(similarity, edges, threshold=threshold, rank=rank, budget=rng.choice([1, 10, 40]))
        assert tight.lower <= exact.count <= tight.upper
        check_legal(tight, similarity, edges, threshold, rank)


def test_a_tiny_budget_gives_a_bound_and_says_so():
    rng = random.Random(2)
    outcomes = set()
    for _ in range(60):
        pred = [rng.choice('abc') for _ in range(12)]
        ref = [rng.choice('abc') for _ in range(12)]
        edges = random_edges(rng, 12, 0.3)
        outcomes.add(plan_match(equality(pred, ref), edges, threshold=0.5, budget=1).exact)
    assert outcomes == {True, False}


@pytest.mark.parametrize('seed', range(30))
def test_a_permutation_on_a_chain_is_its_longest_increasing_subsequence(seed):
    order = random.Random(seed).sample(range(40), 40)
    tails = []
    for value in order:
        place = bisect.bisect_left(tails, value)
        tails[place : place + 1] = [value]
    assert plan_match(equality(order, range(40)), chain(40), threshold=0.5).count == len(tails)


@pytest.mark.parametrize('seed', range(30))
def test_equality_on_a_chain_is_the_longest_common_subsequence(seed):
    rng = random.Random(seed)
    pred, ref = ([rng.choice('abcd') for _ in range(rng.randrange(30))] for _ in range(2))
    match = plan_match(equality(pred, ref), chain(len(ref)), threshold=0.5)
    assert match.count == LCSseq.similarity(pred, ref)


@pytest.mark.parametrize('seed', range(10))
def test_without_precedence_it_is_the_matching_of_networkx(seed):
    rng = np.random.default_rng(seed)
    similarity = rng.random((12, 9))
    graph = nx.Graph()
    for i, v in zip(*np.nonzero(similarity > 0.7), strict=True):
        graph.add_edge(('pred', int(i)), ('ref', int(v)), weight=float(similarity[i, v]))
    best = nx.max_weight_matching(graph, maxcardinality=True)
    match = plan_match(similarity, [], threshold=0.7)
    assert match.count == len(best)
    total = sum(similarity[pair] for pair in match.pairs)
    assert total == pytest.approx(sum(graph.edges[edge]['weight'] for edge in best), abs=1e-7)


@pytest.mark.parametrize('seed', range(20))
def test_renumbering_golden_steps_changes_nothing(seed):
    rng = random.Random(seed)
    for _ in range(20):
        similarity, edges, threshold = random_case(rng, 8)
        new = rng.sample(range(similarity.shape[1]), similarity.shape[1])
        moved = np.empty_like(similarity)
        moved[:, new] = similarity
        renumbered = [(new[u], new[v]) for u, v in edges]
        expected = plan_match(similarity, edges, threshold=threshold)
        assert plan_match(moved, renumbered, threshold=threshold).score == expected.score


@pytest.mark.parametrize('seed', range(20))
def test_laws_of_direction(seed):
    rng = random.Random(seed)
    for _ in range(20):
        similarity, edges, threshold = random_case(rng, 8)
        match = plan_match(similarity, edges, threshold=threshold)
        longer = np.insert(similarity, rng.randrange(len(similarity) + 1), 0, axis=0)
        assert plan_match(longer, edges, threshold=threshold).score.f1 <= match.score.f1
        if match.pairs:
            lost = rng.choice(match.pairs)[0]
            blurred = similarity.copy()
            blurred[lost] = 0
            assert plan_match(blurred, edges, threshold=threshold).score.f1 <= match.score.f1
            fewer = plan_match(np.delete(similarity, lost, axis=0), edges, threshold=threshold)
            # Where another step takes its place, what was lost was in truth a redundant step.
            assert fewer.score.f1 <= match.score.f1 or fewer.count == match.count


def test_parallel_calls_have_no_order_among_themselves():
    similarity = equality('cba', 'abc')
    assert plan_match(similarity, chain(3), threshold=0.5).count == 1
    assert plan_match(similarity, chain(3), threshold=0.5, rank=[0, 0, 0]).pairs == ((2, 0), (1, 1), (0, 2))
    assert plan_match(similarity, chain(3), threshold=0.5, rank=[1, 1, 0]).score.f1 == 1


def test_nothing_is_changed_and_the_answer_is_always_the_same():
    similarity = np.full((4, 4), 0.9)
    before = similarity.copy()
    first = plan_match(similarity, chain(4), threshold=0.5)
    assert (similarity == before).all()
    assert plan_match(similarity, chain(4), threshold=0.5) == first


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'threshold': 1.7}, r'`threshold` in \[0, 1\], got 1.7'),
        ({'threshold': 0.5, 'budget': 0}, 'at least 1, got 0'),
        ({'threshold': 0.5, 'rank': [0, 1]}, 'each of 1 predicted steps, got 2'),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        plan_match([[1.0]], [], **options)


def test_wrong_edges_and_matrices():
    with pytest.raises(ValueError, match='node 1'):
        plan_match([[1.0]], [(0, 1)], threshold=0.5)
    with pytest.raises(ValueError, match=r'got 1\.5'):
        plan_match([[1.5]], [], threshold=0.5)


@pytest.mark.parametrize('density', [0, 0.002, 0.05, 1])
def test_long_plans(density):
    rng = random.Random(13)
    n = 500
    ref = [f'tool{rng.randrange(20)}' for _ in range(n)]
    edges = chain(n) if density == 1 else [p for p in itertools.combinations(range(n), 2) if rng.random() < density]
    pred = [name for name in ref if rng.random() < 0.9] + [f'tool{rng.randrange(22)}' for _ in range(50)]
    similarity = equality(pred, ref)
    match = plan_match(similarity, edges, threshold=0.5, budget=500_000)
    assert match.exact or density in (0.002, 0.05)
    assert match.count >= 300
    check_legal(match, similarity, edges, 0.5)


def load_teval():
    for key, sample in json.loads(shared_data('teval/plan_json_v1.json').read_text()).items():
        steps = [s for s in sample['ground_truth'] if s['name'] != 'FinishAction']
        place = {s['id']: k for k, s in enumerate(steps)}
        edges = {(place[u], place[s['id']]) for s in steps for u in s['prev'] if u in place}
        yield key, [json.dumps([s['name'], s['args']], sort_keys=True) for s in steps], frozenset(edges)


def load_worfbench():
    for sample in json.loads(shared_data('worfbench/toolbench.json').read_text()):
        names, edges = read_workflow(sample['conversations'][-1]['content'])
        yield sample['id'], names, edges


@pytest.mark.parametrize('load', [load_teval, load_worfbench])
def test_real_golden_plans_score_1_in_every_legal_order(load):
    rng = random.Random(29)
    for key, steps, edges in load():
        for _ in range(4):
            order = random_legal_order(rng, len(steps), edges)
            match = plan_match(equality([steps[v] for v in order], steps), edges, threshold=0.7)
            assert (match.score.f1, match.exact) == (1.0, True), key
        own_order = plan_match(equality(steps, steps), edges, threshold=0.7)
        assert own_order.exact, key


@pytest.mark.parametrize('load', [load_teval, load_worfbench])
def test_real_golden_plans_with_faults_are_exact(load):
    rng = random.Random(31)
    for key, steps, edges in load():
        pred = [steps[v] for v in random_legal_order(rng, len(steps), edges) if rng.random() < 0.8]
        rng.shuffle(pred)
        similarity = equality([*pred, 'another step'], steps)
        match = plan_match(similarity, edges, threshold=0.7)
        assert match.exact, key
        check_legal(match, similarity, edges, 0.7)


@pytest.mark.parametrize('seed', range(15))
def test_more_dependencies_never_raise_the_count(seed):
    rng = random.Random(seed)
    for _ in range(20):
        similarity, edges, threshold = random_case(rng, 8)
        fewer = sorted(edges)[::2]
        free, loose, tight = (plan_match(similarity, e, threshold=threshold).count for e in ([], fewer, edges))
        assert free >= loose >= tight


@pytest.mark.parametrize('seed', range(15))
def test_a_higher_threshold_never_raises_the_count(seed):
    rng = random.Random(seed)
    for _ in range(20):
        similarity, edges, _ = random_case(rng, 8)
        counts = [plan_match(similarity, edges, threshold=t).count for t in (0.0, 0.3, 0.7, 0.9, 1.0)]
        assert counts == sorted(counts, reverse=True)
        assert counts[-1] == 0


@pytest.mark.parametrize('seed', range(15))
def test_any_plan_of_repeated_steps_matches_itself_and_its_legal_orders(seed):
    rng = random.Random(seed)
    for _ in range(20):
        n = rng.randrange(1, 12)
        steps = [rng.choice('ab') for _ in range(n)]
        edges = random_edges(rng, n, rng.choice([0, 0.2, 1]))
        order = random_legal_order(rng, n, edges)
        match = plan_match(equality([steps[v] for v in order], steps), edges, threshold=0.7)
        assert (match.score.f1, match.exact) == (1.0, True)
        # Noise far below the threshold's reach, as an encoder makes it for equal texts, costs nothing either.
        noise = np.array([[rng.random() * 1e-6 for _ in range(n)] for _ in range(n)])
        noisy = plan_match(equality([steps[v] for v in order], steps) * (1 - noise), edges, threshold=0.7)
        assert noisy.score.f1 == 1.0
