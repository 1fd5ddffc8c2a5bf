import itertools
import random

import numpy as np
import pytest

from opencompass_traj.metrics._mapping import best_mapping
from opencompass_traj.metrics._mapping_heuristic import improve
from opencompass_traj.metrics._mapping_inputs import (
    adjacency,
    checked_weights,
    common_subsequence,
    label_blocks,
    precedence,
    weight_blocks,
)
from opencompass_traj.metrics._mapping_problem import build_problem, edge_count_bound, relax, useful_features
from opencompass_traj.metrics._mapping_program import build_program, count_edge_pairs
from opencompass_traj.metrics._mapping_search import search
from opencompass_traj.metrics._mapping_small import map_small
from opencompass_traj.plan import StepGraph
from tests.metrics.mapping_reference import brute_force, chain, random_graph

NO_PAIRS = np.empty(0, dtype=np.intp)


def matrix_of(graph):
    return adjacency(graph).matrix


def random_problem(rng, labels='AB', weighted=False):
    """A problem whose blocks are all left to the search, with the graphs that it is made of."""
    while True:
        pred, ref = random_graph(rng, 5, labels), random_graph(rng, 5, labels)
        weights = None
        if weighted:
            weights = np.array([[rng.choice([0, rng.random()]) for _ in ref.names] for _ in pred.names])
            weights = weights.reshape(len(pred.names), len(ref.names))
        blocks = label_blocks(pred.names, ref.names) if weights is None else weight_blocks(weights)
        if blocks:
            problem = build_problem(blocks, matrix_of(pred), matrix_of(ref), weights=weights, settled=[])
            return problem, brute_force(pred, ref, weights)


def block_permutations(problem):
    """Every permutation of the slots that stays inside the blocks."""
    for parts in itertools.product(*(itertools.permutations(range(p.start, p.stop)) for p in problem.slices)):
        yield np.array([slot for part in parts for slot in part], dtype=np.intp)


@pytest.mark.parametrize('weighted', [False, True])
def test_the_best_permutation_of_slots_is_the_best_partial_mapping(weighted):
    rng = random.Random(1)
    for _ in range(60):
        problem, best = random_problem(rng, weighted=weighted)
        if problem.size > 6:
            continue
        assert max(problem.value(perm) for perm in block_permutations(problem)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize('weighted', [False, True])
def test_every_bound_is_above_the_best_value(weighted):
    rng = random.Random(2)
    for _ in range(300):
        problem, best = random_problem(rng, weighted=weighted)
        features = useful_features(problem)
        assert relax(problem, NO_PAIRS, NO_PAIRS, features).bound >= best - 1e-9
        assert edge_count_bound(problem) >= best - 1e-9
        if count_edge_pairs(problem):
            program = build_program(problem)
            found = program.relaxed({})
            assert found.bound >= best - 1e-9
            assert problem.value(found.perm) <= best + 1e-9


def test_a_partly_settled_relaxation_bounds_its_completions():
    rng = random.Random(3)
    for _ in range(60):
        problem, _ = random_problem(rng, weighted=rng.random() < 0.5)
        if problem.size > 6:
            continue
        features = useful_features(problem)
        for perm in itertools.islice(block_permutations(problem), 12):
            fixed = np.array(rng.sample(range(problem.size), rng.randint(0, problem.size)), dtype=np.intp)
            relaxation = relax(problem, fixed, perm[fixed], features)
            assert relaxation.bound >= problem.value(perm) - 1e-9
            assert (relaxation.perm[fixed] == perm[fixed]).all()
            if len(fixed) == problem.size:
                assert relaxation.bound == pytest.approx(problem.value(perm), abs=1e-9)


def test_gradient_is_what_one_more_pair_brings():
    rng = random.Random(4)
    for _ in range(100):
        problem, _ = random_problem(rng, weighted=True)
        perm = next(iter(block_permutations(problem)))
        worth = problem.weight[np.arange(problem.size), perm]
        pulled = (problem.gradient(perm)[np.arange(problem.size), perm]).sum()
        unary = problem.unary[np.arange(problem.size), perm].sum()
        # Every edge shows at both its ends.
        assert pulled - unary == pytest.approx(2 * (problem.value(perm) - unary), abs=1e-9)
        assert (worth >= 0).all()


@pytest.mark.parametrize('weighted', [False, True])
def test_improvement_keeps_to_the_blocks_and_never_loses(weighted):
    rng = random.Random(5)
    for _ in range(300):
        problem, best = random_problem(rng, weighted=weighted)
        start = np.concatenate([rng.sample(range(p.start, p.stop), p.stop - p.start) for p in problem.slices])
        before = start.copy()
        perm = improve(problem, start, float('inf'))
        assert problem.value(start) <= problem.value(perm) + 1e-9 <= best + 2e-9
        assert (start == before).all()
        assert all(sorted(perm[part]) == list(range(part.start, part.stop)) for part in problem.slices)


@pytest.mark.parametrize('budget', [0, 1, 3, 70, 10**6])
def test_search_is_honest_at_any_budget(budget):
    rng = random.Random(6)
    for _ in range(150):
        problem, best = random_problem(rng, labels='A', weighted=rng.random() < 0.5)
        outcome = search(problem, np.arange(problem.size), budget)
        assert outcome.value == pytest.approx(problem.value(outcome.perm), abs=1e-12)
        assert outcome.value <= best + 1e-9
        assert outcome.upper >= best - 1e-9
        if budget == 10**6:
            assert outcome.value == pytest.approx(outcome.upper, abs=1e-9)


def test_the_budget_is_kept_to():
    rng = random.Random(7)
    pred, ref = (StepGraph(('A',) * 20, random_edges(rng, 20, 60)) for _ in range(2))
    blocks = label_blocks(pred.names, ref.names)
    problem = build_problem(blocks, matrix_of(pred), matrix_of(ref), weights=None, settled=[])
    for budget in (0, 10, 100):
        assert search(problem, np.arange(20), budget).spent <= budget + 1
    cut, longer = (best_mapping(blocks, adjacency(pred), adjacency(ref), budget=budget) for budget in (10, 2000))
    assert cut.value <= longer.value <= longer.upper <= cut.upper


def random_edges(rng, size, count):
    pairs = list(itertools.permutations(range(size), 2))
    return frozenset(rng.sample(pairs, count))


def test_the_linear_program_closes_what_the_counts_leave_open():
    # Three like branches behind one root, one of them cut: counting degrees cannot tell the branches apart.
    names = ('root',) + ('look', 'read', 'write') * 6
    edges = {(3 * k + i, 3 * k + i + 1) for k in range(6) for i in (1, 2)} | {(0, 3 * k + 1) for k in range(6)}
    ref = StepGraph(names, frozenset(edges))
    order = random.Random(8).sample(range(1, 19), 18)
    pred = [names[node] for node in order]
    blocks = label_blocks(pred, ref.names)
    found = best_mapping(blocks, precedence(18, None), adjacency(ref))
    assert found.exact


def test_settled_blocks_need_no_search():
    pred, ref = chain('A', 'B', 'C'), chain('C', 'A', 'B')
    found = best_mapping(label_blocks(pred.names, ref.names), adjacency(pred), adjacency(ref), budget=0)
    assert found.pairs == ((0, 1), (1, 2), (2, 0))
    assert (found.value, found.upper, found.exact) == (4.0, 4.0, True)


def test_a_negative_budget_is_an_error():
    with pytest.raises(ValueError, match='expected budget >= 0'):
        best_mapping([], adjacency(chain('A')), adjacency(chain('B')), budget=-1)


@pytest.mark.parametrize('labels', ['A', 'AB', 'ABC'])
def test_depth_first_and_matrix_search_agree(labels):
    rng = random.Random(12)
    done = 0
    for _ in range(200):
        pred, ref = random_graph(rng, 7, labels), random_graph(rng, 7, labels)
        blocks = label_blocks(pred.names, ref.names)
        small = map_small(blocks, adjacency(pred), adjacency(ref), [])
        if not blocks or small is None:
            continue
        done += 1
        problem = build_problem(blocks, matrix_of(pred), matrix_of(ref), weights=None, settled=[])
        assert search(problem, np.arange(problem.size), 10**6).value == small[1]
        assert len(small[0]) == sum(min(map(len, block)) for block in blocks)
    assert done > 100


def test_depth_first_gives_up_on_many_nodes():
    pred, ref = (StepGraph(('A',) * 40, random_edges(random.Random(seed), 40, 60)) for seed in (1, 2))
    assert map_small(label_blocks(pred.names, ref.names), adjacency(pred), adjacency(ref), []) is None


def test_no_blocks_no_mapping():
    found = best_mapping([], adjacency(chain('A')), adjacency(chain('B')))
    assert (found.pairs, found.value, found.upper, found.exact) == ((), 0.0, 0.0, True)


def test_parts_that_share_no_edge_add_up():
    rng = random.Random(9)
    for _ in range(100):
        sides = []
        for _ in range(2):
            left, right = random_graph(rng, 5, 'A'), random_graph(rng, 5, 'B')
            shift = len(left.names)
            both = left.edges | {(i + shift, j + shift) for i, j in right.edges}
            sides.append((left, right, StepGraph(left.names + right.names, frozenset(both))))
        (pred_a, pred_b, pred), (ref_a, ref_b, ref) = sides
        found = best_mapping(label_blocks(pred.names, ref.names), adjacency(pred), adjacency(ref))
        assert found.value == brute_force(pred_a, ref_a) + brute_force(pred_b, ref_b)


def test_a_hint_changes_nothing_where_the_result_is_exact():
    rng = random.Random(10)
    for _ in range(100):
        pred, ref = random_graph(rng, 7, 'AB'), random_graph(rng, 7, 'AB')
        blocks = label_blocks(pred.names, ref.names)
        # A hint across labels and one to a node that does not exist are passed over.
        hint = [(i, rng.randrange(9)) for i in range(len(pred.names))]
        with_hint = best_mapping(blocks, adjacency(pred), adjacency(ref), hint=lambda hint=hint: hint)
        without = best_mapping(blocks, adjacency(pred), adjacency(ref))
        assert with_hint.exact
        assert without.exact
        assert with_hint.value == without.value


def test_label_blocks():
    assert label_blocks('ABAC', 'BAAD') == [([1], [0]), ([0, 2], [1, 2])]
    assert label_blocks('', 'A') == label_blocks('A', '') == []


def test_weight_blocks():
    weights = np.array([[0.5, 0.0, 0.0], [0.2, 0.0, 0.1], [0.0, 0.0, 0.0]])
    assert weight_blocks(weights) == [([0, 1], [0, 2])]
    assert weight_blocks(np.empty((0, 3))) == []


def test_precedence_follows_the_ranks():
    assert precedence(3, [2, 2, 1]).matrix.tolist() == [[False] * 3, [False] * 3, [True, True, False]]
    assert precedence(2, None).matrix.tolist() == [[False, True], [False, False]]


def test_common_subsequence_pairs_equal_labels_in_order():
    assert common_subsequence('AXBC', 'ABXC') in ([(0, 0), (2, 1), (3, 3)], [(0, 0), (1, 2), (3, 3)])
    assert common_subsequence('', 'A') == []


def test_weights_of_nothing_have_any_shape():
    assert checked_weights([], 0, 3).shape == (0, 3)
    assert checked_weights([[], []], 2, 0).shape == (2, 0)
    assert checked_weights(None, 2, 2) is None
