import math
import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from opencompass_traj.metrics.dag import graph_match, order_match
from opencompass_traj.plan import StepGraph
from tests.metrics.mapping_data import teval_graphs, with_faults, worfbench_graphs
from tests.metrics.mapping_reference import brute_force, chain, integer_program, legal_order, random_graph, shuffled

EMPTY = StepGraph(())


def to_networkx(graph):
    built = nx.DiGraph()
    built.add_nodes_from((node, {'name': name}) for node, name in enumerate(graph.names))
    built.add_edges_from(sorted(graph.edges))
    return built


@pytest.mark.parametrize(
    ('pred', 'ref', 'distance', 'similarity'),
    [
        (EMPTY, EMPTY, 0, 1.0),
        (EMPTY, chain('A', 'B'), 3, 0.0),
        (chain('A', 'B'), EMPTY, 3, 0.0),
        (chain('A', 'B', 'C'), chain('A', 'B', 'C'), 0, 1.0),
        (chain('A', 'X', 'B', 'C'), chain('A', 'B', 'C'), 4, 8 / 12),
        (chain('X', 'Y'), chain('A', 'B'), 6, 0.0),
        (chain('B', 'A'), chain('A', 'B'), 2, 4 / 6),
        # All chains over one tool: as many nodes and edges as the shorter has.
        (chain(*'AAAA'), chain(*'AA'), 4, 6 / 10),
        # A cycle is a graph like any other.
        (StepGraph(('A', 'A'), frozenset({(0, 1), (1, 0)})), chain('A', 'A'), 1, 6 / 7),
    ],
)
def test_literal_values(pred, ref, distance, similarity):
    match = graph_match(pred, ref)
    assert match.exact
    assert match.distance == distance
    assert match.similarity == pytest.approx(similarity, abs=1e-15)
    assert match.similarity_lower == match.similarity == match.similarity_upper


def test_edges_are_named_by_side():
    match = graph_match(chain('A', 'X', 'B', 'C'), chain('A', 'B', 'C'))
    assert match.mapping == ((0, 0), (2, 1), (3, 2))
    assert match.redundant_edges == ((0, 1), (1, 2))
    assert match.missing_edges == ((0, 1),)
    assert (match.nodes.matched, match.nodes.n_pred, match.nodes.n_ref) == (3, 4, 3)
    assert (match.edges.matched, match.edges.n_pred, match.edges.n_ref) == (1, 3, 2)
    assert not match.isomorphic


def test_the_pair_that_networkx_gets_wrong_one_way_is_four_both_ways():
    edges = frozenset({(0, 1), (0, 2)})
    left, right = StepGraph(('A', 'A', 'A'), edges), StepGraph(('A', 'C', 'A'), edges)
    assert graph_match(left, right).distance == graph_match(right, left).distance == 4


def test_node_numbers_do_not_matter():
    # WorFBench's evaluation compares edges by raw index and gives such a pair 0.4.
    ref = StepGraph(('A', 'A', 'A', 'A'), frozenset({(0, 1), (1, 2), (2, 3)}))
    pred = StepGraph(('A', 'A', 'A', 'A'), frozenset({(3, 1), (1, 0), (0, 2)}))
    assert graph_match(pred, ref).isomorphic


def test_equals_brute_force_on_random_digraphs():
    rng = random.Random(1)
    for _ in range(1500):
        labels = 'ABC'[: rng.randint(1, 3)]
        pred, ref = random_graph(rng, 5, labels), random_graph(rng, 5, labels)
        match = graph_match(pred, ref)
        assert match.exact
        assert match.matched_nodes + match.matched_edges == brute_force(pred, ref), (pred, ref)
        assert match.matched_nodes == sum(min(pred.names.count(x), ref.names.count(x)) for x in labels)


def test_equals_brute_force_with_weights():
    rng = random.Random(2)
    for _ in range(500):
        pred, ref = random_graph(rng, 5, 'A'), random_graph(rng, 4, 'A')
        weights = [[rng.choice([0, 0, 0.5, 1, rng.random()]) for _ in ref.names] for _ in pred.names]
        match = graph_match(pred, ref, weights=weights)
        assert match.exact
        assert match.matched_nodes + match.matched_edges == pytest.approx(brute_force(pred, ref, weights), abs=1e-9)


def test_equals_the_integer_program_beyond_brute_force():
    rng = random.Random(17)
    for size, labels, density in [(9, 'A', 0.15), (10, 'AB', 0.2), (12, 'ABC', 0.2), (14, 'ABCD', 0.15)] * 4:
        pred, ref = random_graph(rng, size, labels, density), random_graph(rng, size, labels, density)
        match = graph_match(pred, ref, budget=10**6)
        assert match.exact
        assert match.matched_nodes + match.matched_edges == integer_program(pred, ref)


def test_exact_labels_are_the_weights_0_and_1():
    rng = random.Random(3)
    for _ in range(200):
        pred, ref = random_graph(rng, 7, 'AB'), random_graph(rng, 7, 'AB')
        weights = np.array([[float(a == b) for b in ref.names] for a in pred.names]).reshape(
            len(pred.names), len(ref.names)
        )
        assert graph_match(pred, ref, weights=weights).distance == graph_match(pred, ref).distance


def test_is_never_above_networkx():
    rng = random.Random(4)
    equal = 0
    for _ in range(150):
        pred, ref = random_graph(rng, 4, 'AB'), random_graph(rng, 4, 'AB')
        theirs = nx.graph_edit_distance(
            to_networkx(pred),
            to_networkx(ref),
            node_subst_cost=lambda a, b: 0 if a['name'] == b['name'] else math.inf,
        )
        ours = graph_match(pred, ref).distance
        assert ours <= theirs
        equal += ours == theirs
    assert equal >= 140


def test_is_symmetric_and_blind_to_numbering():
    rng = random.Random(5)
    for _ in range(300):
        pred, ref = random_graph(rng, 8, 'ABC'), random_graph(rng, 8, 'ABC')
        match = graph_match(pred, ref)
        assert match.exact
        assert graph_match(ref, pred).similarity == match.similarity
        assert graph_match(shuffled(rng, pred), shuffled(rng, ref)).similarity == match.similarity


def test_a_graph_is_isomorphic_to_itself_renumbered():
    rng = random.Random(6)
    for _ in range(200):
        graph = random_graph(rng, 9, 'AB')
        match = graph_match(shuffled(rng, graph), graph)
        assert match.exact
        assert match.isomorphic
        assert match.similarity == 1.0
        assert match.redundant_edges == match.missing_edges == ()


def test_counts_fit_together():
    rng = random.Random(7)
    for _ in range(300):
        pred, ref = random_graph(rng, 7, 'AB'), random_graph(rng, 7, 'AB')
        match = graph_match(pred, ref)
        assert len({i for i, _ in match.mapping}) == len({j for _, j in match.mapping}) == match.matched_nodes
        assert all(pred.names[i] == ref.names[j] for i, j in match.mapping)
        assert len(pred.edges) - len(match.redundant_edges) == match.matched_edges
        assert len(ref.edges) - len(match.missing_edges) == match.matched_edges
        assert 0 <= match.similarity <= 1
        assert type(match.similarity) is float
        assert type(match.edges.f1) is float
        assert {type(node) for pair in match.mapping for node in pair} <= {int}


@pytest.mark.parametrize('budget', [0, 1, 5, 20])
def test_bounds_bracket_the_exact_value(budget):
    rng = random.Random(8)
    bounded = 0
    for _ in range(150):
        pred, ref = random_graph(rng, 8, 'A', 0.3), random_graph(rng, 8, 'A', 0.3)
        weights = [[rng.random() for _ in ref.names] for _ in pred.names]
        for table in (None, weights):
            exact = graph_match(pred, ref, weights=table, budget=10**6)
            cut = graph_match(pred, ref, weights=table, budget=budget)
            assert exact.exact
            assert cut.similarity == cut.similarity_lower
            assert cut.similarity_lower - 1e-12 <= exact.similarity <= cut.similarity_upper + 1e-12
            assert not cut.exact or cut.similarity == pytest.approx(exact.similarity, abs=1e-12)
            bounded += not cut.exact
    assert bounded


def test_the_same_input_gives_the_same_output():
    rng = random.Random(9)
    pred, ref = random_graph(rng, 14, 'A', 0.2), random_graph(rng, 14, 'A', 0.2)
    assert graph_match(pred, ref, budget=50) == graph_match(pred, ref, budget=50)


@pytest.mark.parametrize('edge', [(0, 2), (-1, 0), (1, 1)])
def test_a_wrong_edge_is_an_error(edge):
    wrong = StepGraph(('A', 'B'), frozenset({(0, 1), edge}))
    for pair in ((wrong, EMPTY), (EMPTY, wrong)):
        with pytest.raises(ValueError, match='expected edges between two different nodes'):
            graph_match(*pair)


@pytest.mark.parametrize('weights', [[[1.0]], [[0.5, 1.5]], [[0.5, -0.1]], [[0.5, math.nan]]])
def test_wrong_weights_are_an_error(weights):
    with pytest.raises(ValueError, match='expected weights'):
        graph_match(chain('A'), chain('A', 'B'), weights=weights)


def test_order_chain_against_a_list_with_one_step_more():
    match = order_match(StepGraph(('A', 'X', 'B', 'C')), chain('A', 'B', 'C'))
    assert match.similarity == 10 / 11
    assert match.missing_edges == match.redundant_edges == ()
    assert match.n_pred_edges == match.matched_edges == 2


def test_order_names_the_missing_dependency():
    match = order_match(StepGraph(('B', 'A', 'C')), chain('A', 'B', 'C'))
    assert match.missing_edges == ((0, 1),)
    assert match.similarity == 2 * (3 + 1) / (3 + 3 + 1 + 2)


def test_order_of_calls_made_together():
    ref = StepGraph(('A', 'B'), frozenset({(0, 1)}))
    pred = StepGraph(('A', 'B'))
    assert order_match(pred, ref, rank=[0, 1]).matched_edges == 1
    assert order_match(pred, ref, rank=[0, 0]).matched_edges == 0
    with pytest.raises(ValueError, match='one rank for each'):
        order_match(pred, ref, rank=[0])


def test_order_equals_brute_force():
    rng = random.Random(10)
    for _ in range(800):
        labels = 'ABC'[: rng.randint(1, 3)]
        pred, ref = random_graph(rng, 5, labels, 0.0), random_graph(rng, 5, labels)
        rank = [rng.randint(0, 4) for _ in pred.names]
        match = order_match(pred, ref, rank=rank)
        best = brute_force(pred, ref, has_edge=lambda i, j, rank=rank: rank[i] < rank[j])
        assert match.exact
        assert match.matched_nodes + match.matched_edges == best
        assert match.similarity_lower == match.similarity == match.similarity_upper


def test_a_legal_order_of_the_golden_graph_is_perfect():
    rng = random.Random(11)
    for _ in range(200):
        ref = shuffled(rng, random_graph(rng, 10, 'ABC', acyclic=True))
        match = order_match(StepGraph(tuple(ref.names[node] for node in legal_order(rng, ref))), ref)
        assert (match.similarity, match.exact) == (1.0, True)


@pytest.mark.parametrize('graphs', [teval_graphs, worfbench_graphs])
def test_a_legal_order_of_a_real_graph_is_perfect(graphs):
    rng = random.Random(16)
    for ref in graphs():
        match = order_match(StepGraph(tuple(ref.names[node] for node in legal_order(rng, ref))), ref)
        assert (match.similarity, match.edges.f1, match.exact) == (1.0, 1.0, True)


@pytest.mark.parametrize('budget', [0, 3])
def test_order_bounds_bracket_the_exact_value(budget):
    rng = random.Random(12)
    for _ in range(100):
        pred, ref = random_graph(rng, 7, 'AB', 0.0), random_graph(rng, 7, 'AB', 0.4)
        weights = [[rng.random() for _ in ref.names] for _ in pred.names]
        for table in (None, weights):
            exact = order_match(pred, ref, weights=table, budget=10**6)
            cut = order_match(pred, ref, weights=table, budget=budget)
            assert cut.similarity_lower - 1e-12 <= cut.similarity <= cut.similarity_upper + 1e-12
            assert cut.similarity_lower - 1e-12 <= exact.similarity <= cut.similarity_upper + 1e-12


@pytest.mark.parametrize('graphs', [teval_graphs, worfbench_graphs])
def test_real_golden_graphs_are_perfect_and_exact(graphs):
    rng = random.Random(13)
    for graph in graphs():
        for pred in (graph, shuffled(rng, graph)):
            match = graph_match(pred, graph)
            assert (match.similarity, match.exact, match.isomorphic) == (1.0, True, True)
        by_order = order_match(graph, graph)
        assert by_order.exact
        assert by_order.similarity == 1.0 or any(i > j for i, j in graph.edges)


@pytest.mark.parametrize('graphs', [teval_graphs, worfbench_graphs])
def test_real_graphs_with_faults_are_exact(graphs):
    rng = random.Random(14)
    for graph in graphs():
        pred = with_faults(rng, graph, rng.randint(1, 4))
        forth, back = graph_match(pred, graph), graph_match(graph, pred)
        assert forth.exact
        assert back.exact
        assert forth.similarity == back.similarity
        assert order_match(pred, graph).exact


@pytest.mark.parametrize('match', [graph_match, order_match])
def test_long_plans_return_with_honest_bounds(match):
    rng = random.Random(15)
    tools = [f'tool {number}' for number in range(20)]
    ref = chain(*(rng.choice(tools) for _ in range(500)))
    pred = with_faults(rng, ref, 60)
    for side in (ref, pred, chain(*(rng.choice(tools) for _ in range(500)))):
        result = match(side, ref)
        assert 0 <= result.similarity_lower <= result.similarity <= result.similarity_upper <= 1
        assert result.exact == (result.similarity_lower == result.similarity_upper)
    assert match(ref, ref).similarity == 1.0


def test_a_step_of_a_foreign_tool_only_costs():
    rng = random.Random(18)
    for _ in range(200):
        pred, ref = random_graph(rng, 6, 'AB'), random_graph(rng, 6, 'AB')
        longer = StepGraph((*pred.names, 'foreign'), pred.edges)
        before, after = graph_match(pred, ref), graph_match(longer, ref)
        assert after.distance == before.distance + 1
        assert after.similarity <= before.similarity
        by_order = order_match(longer, ref)
        assert by_order.similarity <= order_match(pred, ref).similarity
        assert by_order.matched_edges == order_match(pred, ref).matched_edges


def test_losing_a_matched_step_can_raise_the_similarity_where_it_takes_wrong_edges_along():
    ref = StepGraph(('A', 'B', 'C', 'D'))
    wrong = StepGraph(('A', 'B', 'C', 'D'), frozenset({(0, 1), (0, 2), (0, 3)}))
    assert graph_match(wrong, ref).similarity == 8 / 11
    assert graph_match(StepGraph(('B', 'C', 'D')), ref).similarity == 6 / 7


def test_a_perfect_prediction_that_loses_its_last_step_pays_for_it_and_its_edges():
    rng = random.Random(19)
    for _ in range(200):
        ref = random_graph(rng, 7, 'ABC', acyclic=True)
        if not ref.names:
            continue
        # From a perfect prediction, every lost step costs itself and its edges, and nothing else.
        last = len(ref.names) - 1
        kept = frozenset(edge for edge in ref.edges if last not in edge)
        match = graph_match(StepGraph(ref.names[:-1], kept), ref)
        assert match.distance == 1 + len(ref.edges) - len(kept)


def test_inputs_stay_as_they_are():
    weights = [[0.5, 1.0], [0.0, 0.25]]
    table = np.array(weights)
    rank = [1, 0]
    pred, ref = chain('A', 'B'), chain('A', 'C')
    graph_match(pred, ref, weights=table)
    order_match(pred, ref, weights=weights, rank=rank)
    assert (table == np.array([[0.5, 1.0], [0.0, 0.25]])).all()
    assert (weights, rank) == ([[0.5, 1.0], [0.0, 0.25]], [1, 0])
    assert (pred, ref) == (chain('A', 'B'), chain('A', 'C'))


def test_weights_may_pair_different_tools():
    match = graph_match(chain('look', 'book'), chain('search', 'reserve'), weights=[[0.8, 0.0], [0.0, 0.5]])
    assert match.mapping == ((0, 0), (1, 1))
    assert match.matched_nodes == pytest.approx(1.3)
    assert match.matched_edges == pytest.approx(0.4)
    assert match.redundant_edges == match.missing_edges == ()
    assert not match.isomorphic


def test_a_cut_search_does_not_depend_on_the_hash_seed():
    code = (
        'import random\n'
        'from opencompass_traj.metrics.dag import graph_match\n'
        'from tests.metrics.mapping_reference import random_graph\n'
        'rng = random.Random(3)\n'
        "names = ('alpha', 'beta')\n"
        'pred, ref = random_graph(rng, 20, names, 0.2), random_graph(rng, 20, names, 0.2)\n'
        'print(graph_match(pred, ref, budget=30))'
    )
    root = Path(__file__).resolve().parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, '-c', code],
            cwd=root,
            env={**os.environ, 'PYTHONHASHSEED': seed, 'PYTHONPATH': str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ('1', '2')
    }
    assert len(outputs) == 1
    assert 'exact=' in outputs.pop()


def test_long_plans_stay_within_a_few_hundred_megabytes():
    rng = random.Random(20)
    names = [f'tool {rng.randrange(20)}' for _ in range(500)]
    ref = StepGraph(tuple(names), frozenset((rng.randrange(node), node) for node in range(1, 500) for _ in range(3)))
    pred = StepGraph(tuple(rng.sample(names, 500)))
    tracemalloc.start()
    order_match(pred, ref)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 * 2**20
