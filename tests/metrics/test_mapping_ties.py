"""Which of several equally good mappings is shown."""

import random
from itertools import permutations

import pytest

from opencompass_traj.metrics.dag import graph_match, order_match
from opencompass_traj.plan import StepGraph


def graph(names, *edges):
    return StepGraph(tuple(names), frozenset(edges))


def same_args(pred_args, ref_args):
    return lambda i, j: float(pred_args[i] == ref_args[j])


def test_equal_arguments_decide_between_equal_steps():
    """Two tables are loaded and joined; the prediction forgets that the join needs the first."""
    golden = graph('LLJ', (0, 2), (1, 2))
    pred = graph('LLJ', (1, 2))
    straight = graph_match(pred, golden, prefer=same_args(['sales', 'stores', ''], ['sales', 'stores', '']))
    crossed = graph_match(pred, golden, prefer=same_args(['stores', 'sales', ''], ['sales', 'stores', '']))
    assert straight.mapping == ((0, 0), (1, 1), (2, 2))
    assert straight.missing_edges == ((0, 2),)
    assert crossed.mapping == ((0, 1), (1, 0), (2, 2))
    assert crossed.missing_edges == ((1, 2),)
    assert straight.similarity == crossed.similarity == 8 / 9


def test_a_matched_edge_is_never_given_up_for_the_arguments():
    golden = graph('LLJ', (0, 2))
    pred = graph('LLJ', (1, 2))
    match = graph_match(pred, golden, prefer=same_args(['a', 'b', ''], ['a', 'b', '']))
    assert match.mapping == ((0, 1), (1, 0), (2, 2))
    assert match.similarity == 1


def test_a_step_left_over_may_take_the_place_of_a_mapped_one():
    golden, pred = graph('A'), graph('AAA')
    match = graph_match(pred, golden, prefer=same_args(['x', 'y', 'z'], ['z']))
    assert match.mapping == ((2, 0),)
    match = graph_match(golden, pred, prefer=same_args(['z'], ['x', 'y', 'z']))
    assert match.mapping == ((0, 2),)


def test_by_order_too():
    golden = graph('AABB', (0, 2))
    pred = graph('AABB')
    match = order_match(pred, golden, prefer=same_args('qpsr', 'pqrs'))
    assert match.mapping == ((0, 1), (1, 0), (2, 3), (3, 2))
    assert match.similarity == 1


@pytest.mark.parametrize('match', [graph_match, order_match])
def test_numbers_never_change_and_one_repeated_tool_is_resolved_as_by_trying_all(match):
    rng = random.Random(3)
    for _ in range(300):
        sizes = rng.randint(1, 4), rng.randint(1, 4)
        pred, golden = (random_graph(rng, size) for size in sizes)
        pred_args, ref_args = ([rng.choice('xyz') for _ in range(size)] for size in sizes)
        plain = match(pred, golden)
        chosen = match(pred, golden, prefer=same_args(pred_args, ref_args))
        same = ('matched_nodes', 'matched_edges', 'similarity', 'exact', 'n_pred_edges')
        assert [getattr(plain, key) for key in same] == [getattr(chosen, key) for key in same]
        assert len(chosen.missing_edges) == len(plain.missing_edges)
        assert agreed(chosen.mapping, pred_args, ref_args) >= agreed(plain.mapping, pred_args, ref_args)
        if not golden.edges or not (match is order_match or pred.edges):
            best = max(agreed(pairs, pred_args, ref_args) for pairs in all_mappings(pred.names, golden.names))
            assert agreed(chosen.mapping, pred_args, ref_args) == best


def random_graph(rng, size):
    edges = [(i, j) for j in range(size) for i in range(j) if rng.random() < 0.3]
    return graph([rng.choice('AB') for _ in range(size)], *edges)


def agreed(pairs, pred_args, ref_args):
    return sum(pred_args[i] == ref_args[j] for i, j in pairs)


def all_mappings(pred, ref):
    """All largest mappings that keep the tools."""
    small, large, swap = (pred, ref, False) if len(pred) <= len(ref) else (ref, pred, True)
    found = []
    for targets in permutations(range(len(large)), len(small)):
        pairs = [(i, j) for i, j in enumerate(targets) if small[i] == large[j]]
        found.append([(j, i) for i, j in pairs] if swap else pairs)
    most = max(map(len, found))
    return [pairs for pairs in found if len(pairs) == most]
