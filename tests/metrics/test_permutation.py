import copy
import itertools
import random

import pytest

from opencompass_traj.metrics.permutation import permutation_match
from opencompass_traj.plan import StepGraph
from tests.metrics.mapping_data import teval_graphs, with_faults
from tests.metrics.mapping_reference import brute_force, chain, random_graph, shuffled

FINISH = 'FinishAction'


@pytest.mark.parametrize(
    ('pred', 'ref', 'matched', 'n_pred', 'n_ref'),
    [
        (StepGraph(()), StepGraph(()), 0, 0, 0),
        (StepGraph(()), chain('A'), 0, 0, 2),
        (chain('A'), StepGraph(()), 0, 2, 0),
        # The marker is one node more on each side, and is not added twice.
        (chain('A'), chain('B'), 2, 2, 2),
        (chain('A', FINISH), StepGraph(('B', FINISH)), 2, 3, 2),
        (chain(FINISH), chain('A'), 1, 1, 2),
        # Labels do not count: a chain is a chain.
        (chain('A', 'B', 'C'), chain('X', 'Y', 'Z'), 6, 6, 6),
        (chain('A', 'B', 'C'), StepGraph(('X', 'Y')), 3, 6, 3),
    ],
)
def test_literal_values(pred, ref, matched, n_pred, n_ref):
    match = permutation_match(pred, ref)
    assert (match.matched, match.n_pred, match.n_ref, match.exact) == (matched, n_pred, n_ref, True)
    assert match.matched_upper == matched
    assert match.upper == match.scores


def test_empty_plans_follow_the_convention_for_nothing():
    empty, full = StepGraph(()), chain('A', 'B')
    assert permutation_match(empty, empty).f1 == 1.0
    assert permutation_match(empty, full).f1 == permutation_match(full, empty).f1 == 0.0


def test_the_marker_may_have_another_name():
    assert permutation_match(chain('A', 'stop'), chain('A', 'stop'), finish='stop').n_pred == 3


def test_equals_brute_force_over_all_mappings():
    rng = random.Random(1)
    for _ in range(300):
        pred, ref = random_graph(rng, 4, 'AB'), random_graph(rng, 4, 'AB')
        if not pred.names or not ref.names:
            continue
        left, right = (StepGraph(('',) * (len(side.names) + 1), side.edges) for side in (pred, ref))
        match = permutation_match(pred, ref)
        assert match.exact
        assert match.matched == brute_force(left, right)


def test_never_above_one_and_symmetric():
    rng = random.Random(2)
    for _ in range(200):
        pred, ref = random_graph(rng, 6, 'AB'), random_graph(rng, 6, 'AB')
        forth, back = permutation_match(pred, ref), permutation_match(ref, pred)
        assert 0 <= forth.precision <= 1
        assert 0 <= forth.recall <= 1
        assert (forth.precision, forth.recall) == (back.recall, back.precision)
        assert type(forth.f1) is float


@pytest.mark.parametrize('budget', [0, 4])
def test_bounds_bracket_the_exact_value(budget):
    rng = random.Random(3)
    for _ in range(100):
        pred, ref = random_graph(rng, 7, 'A', 0.4), random_graph(rng, 7, 'A', 0.4)
        exact, cut = permutation_match(pred, ref, budget=10**6), permutation_match(pred, ref, budget=budget)
        assert cut.matched <= exact.matched <= cut.matched_upper
        assert cut.f1 <= exact.f1 <= cut.upper.f1 <= 1


def test_a_plan_against_itself_is_perfect_at_any_length():
    rng = random.Random(4)
    for golden in teval_graphs():
        for pred in (golden, shuffled(rng, golden)):
            match = permutation_match(pred, golden)
            assert (match.precision, match.recall, match.exact) == (1.0, 1.0, True)


def test_real_plans_with_faults_stay_within_their_bounds():
    rng = random.Random(5)
    for golden in teval_graphs():
        match = permutation_match(with_faults(rng, golden, 2), golden)
        assert match.matched <= match.matched_upper
        assert match.exact or len(golden.names) > 12


def test_inputs_stay_as_they_are():
    pred, ref = chain('A', 'B'), chain('A', 'B', 'C')
    permutation_match(pred, ref)
    assert (pred, ref) == (chain('A', 'B'), chain('A', 'B', 'C'))


def test_labels_do_not_count_only_the_last_one_does():
    rng = random.Random(7)
    for _ in range(100):
        pred, ref = random_graph(rng, 6, 'AB'), random_graph(rng, 6, 'AB')
        renamed = StepGraph(tuple(f'tool {node}' for node in range(len(pred.names))), pred.edges)
        assert permutation_match(renamed, ref) == permutation_match(pred, ref)


def test_plans_beyond_nine_steps_are_not_cut():
    # Upstream cuts both to 9 and then scores the prediction against itself.
    pred, ref = chain(*'ABCDEFGHIJKL'), StepGraph(tuple('ABCDEFGHIJKL'))
    match = permutation_match(pred, ref)
    assert (match.matched, match.n_pred, match.n_ref, match.exact) == (13, 24, 13, True)


def test_long_plans_return_with_honest_bounds():
    rng = random.Random(8)
    pred, ref = (StepGraph(('A',) * 120, chain_with_shortcuts(rng, 120)) for _ in range(2))
    match = permutation_match(pred, ref)
    assert 0 < match.f1 <= match.upper.f1 <= 1
    assert permutation_match(chain(*['A'] * 200), chain(*['B'] * 200)).f1 == 1.0


def chain_with_shortcuts(rng, size):
    steps = {(node, node + 1) for node in range(size - 1)}
    return frozenset(steps | {tuple(sorted(rng.sample(range(size), 2))) for _ in range(size // 4)})


def as_teval(graph):
    """The graph as upstream's list of steps, `prev` as positions."""
    parents = [[i for i, j in sorted(graph.edges) if j == node] for node in range(len(graph.names))]
    return [
        {'id': node, 'prev': prev, 'name': name, 'args': '{}'}
        for node, (name, prev) in enumerate(zip(graph.names, parents, strict=True))
    ]


@pytest.mark.host
def test_equals_upstream_where_upstream_is_sound():
    from opencompass.datasets.teval.evaluators.planning_evaluator import PlanningEvaluator

    rng = random.Random(6)
    sizes = itertools.cycle([*itertools.product(range(1, 6), repeat=2), (6, 6), (6, 3), (2, 6)])
    for n_pred, n_ref in itertools.islice(sizes, 150):
        pred, ref = (random_graph(rng, 0, 'A') if not size else sized_graph(rng, size) for size in (n_pred, n_ref))
        theirs = PlanningEvaluator.permutation_match(None, copy.deepcopy(as_teval(pred)), copy.deepcopy(as_teval(ref)))
        ours = permutation_match(pred, ref)
        assert ours.exact
        assert ours.precision == pytest.approx(theirs['precision'], abs=1e-12)
        assert ours.recall == pytest.approx(theirs['recall'], abs=1e-12)
        assert ours.f1 == pytest.approx(theirs['f1_score'], abs=1e-12)


def sized_graph(rng, size):
    density = rng.random()
    edges = frozenset(pair for pair in itertools.permutations(range(size), 2) if rng.random() < density)
    names = ['A'] * (size - 1) + [rng.choice(['A', FINISH])]
    return StepGraph(tuple(names), edges)
