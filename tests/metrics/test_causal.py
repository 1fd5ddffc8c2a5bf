import itertools
import random

import networkx as nx
import pytest

from opencompass_traj.metrics._causal_choices import Tool, most_kept
from opencompass_traj.metrics._mapping_inputs import label_blocks
from opencompass_traj.metrics.causal import causal_fidelity
from opencompass_traj.metrics.poset import transitive_closure, transpose
from opencompass_traj.plan import StepGraph
from tests.metrics.mapping_data import teval_graphs, with_faults, worfbench_graphs
from tests.metrics.mapping_reference import all_mappings, chain, legal_order, random_graph, shuffled

DIAMOND = StepGraph(('A', 'B', 'C', 'D'), frozenset({(0, 1), (0, 2), (1, 3), (2, 3)}))


def closure_pairs(graph):
    built = nx.DiGraph(sorted(graph.edges))
    return frozenset(nx.transitive_closure(built).edges)


@pytest.mark.parametrize(
    ('names', 'golden', 'kept', 'pairs'),
    [
        ('ABCD', DIAMOND, 5, 5),
        ('ACBD', DIAMOND, 5, 5),
        ('DCBA', DIAMOND, 0, 5),
        ('ABD', DIAMOND, 3, 5),
        ('BACD', DIAMOND, 4, 5),
        ('', DIAMOND, 0, 5),
        ('AXBXC', chain(*'ABC'), 3, 3),
        # The middle step is lost, yet A still comes before C.
        ('AC', chain(*'ABC'), 1, 3),
        # A repeated step counts once, where it serves best.
        ('BAB', chain(*'AB'), 1, 1),
        # No order demanded: the golden steps that occur.
        ('BA', StepGraph(('A', 'B')), 2, 2),
        ('AAX', StepGraph(('A', 'B', 'A')), 2, 3),
        ('X', StepGraph(('A',)), 0, 1),
    ],
)
def test_literal_values(names, golden, kept, pairs):
    result = causal_fidelity(tuple(names), golden)
    assert (result.kept, result.pairs, result.exact) == (kept, pairs, True)
    assert result.lower == result.fidelity == result.upper == kept / pairs
    assert type(result.fidelity) is float


def test_an_empty_golden_graph_is_kept_by_anything():
    assert causal_fidelity((), StepGraph(())).fidelity == 1.0
    assert causal_fidelity(('A',), StepGraph(())).fidelity == 1.0


def test_calls_made_together_are_not_in_order():
    golden = chain('A', 'B')
    assert causal_fidelity(('A', 'B'), golden, rank=(4, 7)).fidelity == 1.0
    assert causal_fidelity(('A', 'B'), golden, rank=(4, 4)).fidelity == 0.0
    with pytest.raises(ValueError, match='one rank for each'):
        causal_fidelity(('A', 'B'), golden, rank=(1, 2, 3))


@pytest.mark.parametrize('edges', [{(0, 1), (1, 0)}, {(0, 1), (1, 2), (2, 1)}])
def test_a_golden_cycle_is_an_error(edges):
    with pytest.raises(ValueError, match='depends on itself'):
        causal_fidelity(('A',), StepGraph(('A', 'B', 'C'), frozenset(edges)))


@pytest.mark.parametrize('edge', [(0, 3), (-1, 0), (2, 2)])
def test_a_wrong_edge_is_an_error(edge):
    with pytest.raises(ValueError, match=r'expected nodes in|without self-loops'):
        causal_fidelity(('A',), StepGraph(('A', 'B', 'C'), frozenset({edge})))


def test_pairs_are_those_of_networkx():
    rng = random.Random(1)
    for _ in range(200):
        graph = shuffled(rng, random_graph(rng, 12, 'A', acyclic=True))
        wanted = closure_pairs(graph)
        assert causal_fidelity(graph.names, graph).pairs == (len(wanted) or len(graph.names))


def test_equals_brute_force():
    rng = random.Random(2)
    for _ in range(600):
        labels = 'ABC'[: rng.randint(1, 3)]
        golden = shuffled(rng, random_graph(rng, 5, labels, acyclic=True))
        names = tuple(rng.choice('ABC') for _ in range(rng.randint(0, 5)))
        rank = [rng.randint(0, 4) for _ in names]
        result = causal_fidelity(names, golden, rank=rank)
        wanted = closure_pairs(golden)
        if not wanted:
            continue
        allowed = [[j for j, name in enumerate(golden.names) if name == step] for step in names]
        best = max(
            sum(rank[a] < rank[b] and (mapping[a], mapping[b]) in wanted for a, b in itertools.permutations(mapping, 2))
            for mapping in all_mappings(allowed, len(names))
        )
        assert (result.kept, result.pairs, result.exact) == (best, len(wanted), True)


def test_steps_of_a_tool_that_stand_in_order_are_mapped_in_order():
    """As many predicted as golden steps of each tool, or one more or less; in any order, and calls made together."""
    rng = random.Random(8)
    settled = 0
    for _ in range(600):
        golden = random_graph(rng, 6, 'AB', rng.choice([0.3, 0.7, 1.0]), acyclic=True)
        wanted = closure_pairs(golden)
        names = tuple(rng.sample(golden.names, len(golden.names)))
        names = rng.choice([names, names[1:], (*names, rng.choice('AB'))])
        rank = tuple(rng.randrange(5) for _ in names)
        if not wanted:
            continue
        preds = transitive_closure(len(golden.names), golden.edges)
        blocks = label_blocks(names, golden.names)
        settled += any(Tool.of(block, preds, transpose(preds), rank).settled for block in blocks)
        allowed = [[j for j, name in enumerate(golden.names) if name == step] for step in names]
        best = max(
            sum(rank[a] < rank[b] and (mapping[a], mapping[b]) in wanted for a, b in itertools.permutations(mapping, 2))
            for mapping in all_mappings(allowed, len(names))
        )
        result = causal_fidelity(names, golden, rank=rank)
        assert (result.kept, result.exact) == (best, True)
    assert settled > 100


@pytest.mark.parametrize('mostly', ['AB', 'ABCDEF'])
def test_what_the_choices_find_is_what_the_search_finds(mostly, monkeypatch):
    """Longer plans, where all mappings are too many to try: the search of `best_mapping` beside the choices."""
    rng = random.Random(9)
    pairs = []
    for _ in range(60):
        golden = random_graph(rng, 10, mostly, rng.choice([0.2, 0.5]), acyclic=True)
        names = tuple(name for name in golden.names if rng.random() > 0.1) + tuple(rng.sample(mostly, 1))
        pairs.append((golden, tuple(rng.sample(names, len(names))) if rng.random() < 0.3 else names))
    found = [causal_fidelity(names, golden, budget=10**6) for golden, names in pairs]
    monkeypatch.setattr('opencompass_traj.metrics.causal.surely_most', lambda *_, **__: None)
    assert found == [causal_fidelity(names, golden, budget=10**6) for golden, names in pairs]
    monkeypatch.setattr('opencompass_traj.metrics.causal.most_kept', lambda *_: None)
    monkeypatch.setattr('opencompass_traj.metrics.causal._settled', lambda tools: [(t.pred, t.golden) for t in tools])
    assert found == [causal_fidelity(names, golden, budget=10**6) for golden, names in pairs]


@pytest.mark.parametrize('size', [8, 60])
def test_steps_of_one_tool_without_any_order_are_left_to_the_search(size):
    """Each needed by a step of its own, so that no two are alike and none goes before another."""
    golden = StepGraph(('A',) * size + ('B',) * size, frozenset((i, size + i) for i in range(size)))
    preds = transitive_closure(2 * size, golden.edges)
    for block in label_blocks(golden.names, golden.names):
        tool = Tool.of(block, preds, transpose(preds), None)
        assert (tool.settled, tool.choices()) == (False, None)
    result = causal_fidelity(golden.names, golden)
    assert (result.kept, result.exact) == (size, True)


@pytest.mark.parametrize('size', [400, 1_500])
def test_very_many_steps_of_one_tool_are_no_deep_recursion(size):
    names = ('A',) * size
    assert causal_fidelity(names, chain(*names)).fidelity == 1.0
    missing = causal_fidelity(names[1:], chain(*names))
    assert (missing.kept, missing.exact) == ((size - 1) * (size - 2) // 2, True)


def test_very_many_tools_with_a_choice_are_left_to_the_search():
    tools = [Tool((number,), (2 * number, 2 * number + 1), (0, 1)) for number in range(200)]
    later = [(1 << 200) - 1 & ~((2 << i) - 1) for i in range(200)]
    after = [(1 << 400) - 1 & ~((2 << v) - 1) for v in range(400)]
    assert most_kept(tools[:100], later, after) == 100 * 99 // 2
    assert most_kept(tools, later, after) is None


@pytest.mark.parametrize('budget', [0, 2, 10])
def test_bounds_bracket_the_exact_value(budget):
    rng = random.Random(3)
    for _ in range(150):
        golden = random_graph(rng, 9, 'AB', 0.4, acyclic=True)
        names = tuple(rng.choice('AB') for _ in range(8))
        exact = causal_fidelity(names, golden, budget=10**6)
        cut = causal_fidelity(names, golden, budget=budget)
        assert exact.exact
        assert cut.lower == cut.fidelity
        assert cut.lower <= exact.fidelity <= cut.upper <= 1


def test_every_legal_order_keeps_everything():
    rng = random.Random(4)
    for _ in range(200):
        golden = shuffled(rng, random_graph(rng, 10, 'ABC', acyclic=True))
        names = tuple(golden.names[node] for node in legal_order(rng, golden))
        assert causal_fidelity(names, golden).fidelity == 1.0


@pytest.mark.parametrize('graphs', [teval_graphs, worfbench_graphs])
def test_every_legal_order_of_a_real_graph_keeps_everything(graphs):
    rng = random.Random(7)
    for golden in graphs():
        result = causal_fidelity(tuple(golden.names[node] for node in legal_order(rng, golden)), golden)
        assert (result.fidelity, result.exact) == (1.0, True)


def test_a_step_more_never_loses_a_pair_and_a_foreign_one_wins_none():
    rng = random.Random(8)
    for _ in range(200):
        golden = random_graph(rng, 6, 'ABC', acyclic=True)
        names = [rng.choice('ABC') for _ in range(rng.randint(0, 6))]
        before = causal_fidelity(names, golden)
        at = rng.randint(0, len(names))
        assert causal_fidelity([*names[:at], 'foreign', *names[at:]], golden) == before
        assert causal_fidelity([*names[:at], rng.choice('ABC'), *names[at:]], golden).kept >= before.kept
        assert causal_fidelity(names[:-1], golden).kept <= before.kept


def test_only_the_order_of_the_ranks_counts():
    rng = random.Random(9)
    for _ in range(100):
        golden = random_graph(rng, 6, 'AB', acyclic=True)
        names = [rng.choice('AB') for _ in range(6)]
        rank = [rng.randint(0, 3) for _ in names]
        stretched = [7 * when - 100 for when in rank]
        assert causal_fidelity(names, golden, rank=rank) == causal_fidelity(names, golden, rank=stretched)
        # Steps given in another order with their ranks are the same prediction.
        order = rng.sample(range(6), 6)
        other = causal_fidelity([names[i] for i in order], golden, rank=[rank[i] for i in order])
        assert other == causal_fidelity(names, golden, rank=rank)


def test_redundant_golden_edges_change_nothing():
    rng = random.Random(10)
    for _ in range(100):
        golden = random_graph(rng, 7, 'AB', 0.3, acyclic=True)
        closed = StepGraph(golden.names, closure_pairs(golden))
        names = [rng.choice('AB') for _ in range(6)]
        assert causal_fidelity(names, golden) == causal_fidelity(names, closed)


@pytest.mark.parametrize('graphs', [teval_graphs, worfbench_graphs])
def test_real_plans_are_exact(graphs):
    rng = random.Random(5)
    for golden in graphs():
        if any(i > j for i, j in golden.edges):
            continue
        itself = causal_fidelity(golden.names, golden)
        assert (itself.fidelity, itself.exact) == (1.0, True)
        assert causal_fidelity(with_faults(rng, golden, 3).names, golden).exact


def test_a_long_chain_with_all_its_pairs():
    rng = random.Random(6)
    tools = [f'tool {number}' for number in range(20)]
    names = [rng.choice(tools) for _ in range(500)]
    golden = chain(*names)
    assert causal_fidelity(names, golden).fidelity == 1.0
    other = causal_fidelity([rng.choice(tools) for _ in range(500)], golden)
    assert other.pairs == 500 * 499 // 2
    assert 0 < other.lower <= other.fidelity <= other.upper <= 1
