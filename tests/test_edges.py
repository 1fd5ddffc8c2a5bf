"""Edges of golden and predicted plans: where they come from, and what is dropped."""

import json
import random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj import acyclic_edges, edges
from opencompass_traj.edges import PredictedEdges, chain_graph, drop_finish, golden_graph, predicted_edges
from opencompass_traj.parsing.golden import parse_golden
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.plan import Plan, Step, StepGraph, StepId
from tests.data import shared_data


def with_prev(*prevs: tuple[StepId, ...] | None, ids: tuple[StepId, ...] = ()) -> Plan:
    identifiers = ids or tuple(range(len(prevs)))
    return Plan(tuple(Step(i, f't{i}', {}, prev) for i, prev in zip(identifiers, prevs, strict=True)))


def with_args(*args: Any) -> Plan:
    return Plan(tuple(Step(i, f't{i}', a) for i, a in enumerate(args)))


def found(pred: Plan, *, golden_has_graph: bool = True) -> tuple[str, list[tuple[int, int]], tuple[str, ...]]:
    result = predicted_edges(pred, golden_has_graph=golden_has_graph)
    assert result.graph.names == pred.names
    return result.source, sorted(result.graph.edges), result.dropped


# --- golden ---------------------------------------------------------------------------------------------------------


def test_golden_graph() -> None:
    assert golden_graph(Plan.of('a', 'b')) is None
    assert golden_graph(Plan()) is None
    assert golden_graph(with_prev((), ())) == StepGraph(('t0', 't1'))
    assert golden_graph(with_prev((), ('x',), ('x', 'y'), ids=('x', 'y', 'z'))) == StepGraph(
        ('tx', 'ty', 'tz'), frozenset({(0, 1), (0, 2), (1, 2)})
    )


@pytest.mark.parametrize(
    ('plan', 'message'),
    [
        (with_prev((9,)), 'step 0: depends on unknown step 9'),
        (with_prev((0,)), 'step 0: depends on itself'),
        (with_prev((1,), (0,)), 'step 1: depends on step 0, which would close a cycle'),
        (with_prev((), (), ids=('a', 'a')), "the id 'a' is used twice"),
    ],
)
def test_an_unsound_golden_plan_is_refused(plan: Plan, message: str) -> None:
    with pytest.raises(ValueError, match='golden plan: ') as caught:
        golden_graph(plan)
    assert message in str(caught.value)


def test_chain() -> None:
    assert chain_graph(Plan()) == StepGraph(())
    assert chain_graph(Plan.of('a')).edges == frozenset()
    assert chain_graph(Plan.of('a', 'a', 'a')).edges == {(0, 1), (1, 2)}


def test_teval_graphs_are_the_same_on_both_sides() -> None:
    samples = json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8'))
    for key, sample in samples.items():
        golden = parse_golden(sample['ground_truth'], where=key)
        pred = parse_prediction(json.dumps(sample['ground_truth']), prompt_type='json')
        assert pred == golden
        golden = drop_finish(golden)
        graph = golden_graph(golden)
        assert graph is not None
        assert predicted_edges(golden, golden_has_graph=True) == PredictedEdges('prev', graph)
        at = {step['id']: position for position, step in enumerate(sample['ground_truth'])}
        last = len(golden)
        assert graph.edges == {
            (at[i], at[s['id']]) for s in sample['ground_truth'] for i in s['prev'] if max(at[i], at[s['id']]) < last
        }


# --- source ---------------------------------------------------------------------------------------------------------

REFERRING = with_args({}, {'a': '#E1'})


@pytest.mark.parametrize(
    ('pred', 'golden_has_graph', 'source', 'edges'),
    [
        (with_prev((), None), True, 'prev', []),
        (with_prev(None, (0,)), False, 'prev', [(0, 1)]),
        (Plan((Step(0, 'a', {}, ()), Step(1, 'b', {'x': '#E1'}))), True, 'prev', []),
        (REFERRING, True, 'references', [(0, 1)]),
        (REFERRING, False, 'references', [(0, 1)]),
        (Plan.of('a', 'b', 'c'), True, 'order', []),
        (Plan.of('a', 'b', 'c'), False, 'chain', [(0, 1), (1, 2)]),
        (Plan(), True, 'order', []),
        (Plan(), False, 'chain', []),
        (with_args({'a': '#E1'}, {'a': '#E3'}), True, 'order', []),
        (with_args({'a': '#E1'}, {'a': '#E3'}), False, 'chain', [(0, 1)]),
    ],
)
def test_where_edges_come_from(pred: Plan, golden_has_graph: bool, source: str, edges: list[tuple[int, int]]) -> None:
    assert found(pred, golden_has_graph=golden_has_graph)[:2] == (source, edges)


# --- prev -----------------------------------------------------------------------------------------------------------

CYCLE = 'which would close a cycle'


@pytest.mark.parametrize(
    ('pred', 'edges', 'dropped'),
    [
        (with_prev((), (0,), (0, 1)), [(0, 1), (0, 2), (1, 2)], ()),
        (with_prev((2,), (), ()), [(2, 0)], ()),
        (with_prev((), ('0', 0)), [(0, 1)], ()),
        (with_prev((), (1,), ids=('1', 'x')), [(0, 1)], ()),
        (with_prev((), (), (9, 'x')), [], ('step 2: depends on unknown step 9', "step 2: depends on unknown step 'x'")),
        (with_prev((0,), (-1,)), [], ('step 0: depends on itself', 'step 1: depends on unknown step -1')),
        (with_prev((1,), (0,)), [(1, 0)], (f'step 1: depends on step 0, {CYCLE}',)),
        (with_prev((2,), (0,), (1,)), [(0, 1), (2, 0)], (f'step 2: depends on step 1, {CYCLE}',)),
        # A doubled id means the latest step before; nothing before: dropped.
        (with_prev((), (), (5,), ids=(5, 5, 6)), [(1, 2)], ()),
        (with_prev((), (5,), (5,), ids=(5, 5, 6)), [(0, 1), (1, 2)], ()),
        (
            with_prev((5,), (), (), ids=(6, 5, 5)),
            [],
            ('step 6: depends on step 5, an id of several steps, none of them earlier',),
        ),
        (with_prev((16**5000,)), [], ('step 0: depends on unknown step of a huge number',)),
    ],
)
def test_stated_edges(pred: Plan, edges: list[tuple[int, int]], dropped: tuple[str, ...]) -> None:
    assert found(pred) == ('prev', edges, dropped)


def one_by_one(pred: Plan) -> tuple[set[tuple[int, int]], int]:
    """The rule written slowly: add each edge that leaves the graph without a cycle."""
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(range(len(pred)))
    dropped = 0
    for target, step in enumerate(pred.steps):
        for source in dict.fromkeys(step.prev or ()):
            known = isinstance(source, int) and 0 <= source < len(pred)
            if not known or source == target or nx.has_path(graph, target, source):
                dropped += 1
            else:
                graph.add_edge(source, target)
    return set(graph.edges), dropped


def test_random_graphs_against_networkx() -> None:
    rng = random.Random(0)
    for _ in range(1500):
        size = rng.randint(1, 9)
        pred = with_prev(*(tuple(rng.choices(range(-1, size + 1), k=rng.randint(0, 4))) for _ in range(size)))
        result = predicted_edges(pred, golden_has_graph=True)
        assert (set(result.graph.edges), len(result.dropped)) == one_by_one(pred)
        assert predicted_edges(pred, golden_has_graph=True) == result


def test_large_plans_end() -> None:
    size = 500
    everything = tuple(range(size))
    result = predicted_edges(with_prev(*[everything] * size), golden_has_graph=True)
    assert len(result.graph.edges) == size * (size - 1) // 2
    assert len(result.dropped) == size * (size + 1) // 2
    backward = with_prev(*((i + 1,) for i in range(2000)))
    assert len(predicted_edges(backward, golden_has_graph=True).graph.edges) == 1999
    forward = with_prev(*(tuple(range(max(0, i - 3), i)) for i in range(20_000)))
    assert predicted_edges(forward, golden_has_graph=True).dropped == ()
    doubled = with_prev(*[(0,)] * 20_000, ids=(0,) * 20_000)
    assert len(predicted_edges(doubled, golden_has_graph=True).graph.edges) == 19_999


def test_past_the_budget_no_cycle_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acyclic_edges, 'MAX_CYCLE_STEPS', 20)
    rng = random.Random(3)
    pred = with_prev(*(tuple(rng.choices(range(12), k=4)) for _ in range(12)))
    result = predicted_edges(pred, golden_has_graph=True)
    assert any('too long' in text for text in result.dropped)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(sorted(result.graph.edges)))


# --- references -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('args', 'sources'),
    [
        ('<node-0>', [0]),
        ('<node-1> and <node-0>', [0, 1]),
        ('#E1', [0]),
        ('the result of #E2, then', [1]),
        ('根据#E1的结果', [0]),
        ('$var_1', [0]),
        ('$var1', [0]),
        ('$var_2.field$', [1]),
        ('$var2.items[0]$', [1]),
        ('x="#E1", y="#E2"', [0, 1]),
        ({'a': {'b': ['x', ('#E1',)]}, 'c': '<node-1>'}, [0, 1]),
        ({'a': {'#E2', 'x'}}, [1]),
        ({'#E1': 'x'}, []),
        (['#E1', '#E1'], [0]),
        ('#E1A2B3', []),
        ('#E', []),
        ('E1', []),
        ('$variable1', []),
        ('$var_1x', []),
        ('<node-x>', []),
        ('<node-1', []),
        ('#E' + '1' * 5000, []),
        (3, []),
        (None, []),
        ({'a': b'#E1'}, []),
    ],
    ids=lambda value: str(value)[:20],
)
def test_references(args: Any, sources: list[int]) -> None:
    source, edges, dropped = found(with_args({}, {}, args))
    assert edges == [(i, 2) for i in sources]
    assert source == ('references' if sources else 'order')
    assert dropped == ()


def test_references_that_make_no_sense() -> None:
    pred = with_args({}, {'a': '#E1 #E2 #E3 #E4 #E0', 'b': '<node-1> <node-7>'}, {})
    assert found(pred) == (
        'references',
        [(0, 1)],
        (
            'step 1: refers to an unknown step, number 0',
            'step 1: refers to itself',
            'step 1: refers to later step 2',
            'step 1: refers to an unknown step, number 4',
            'step 1: refers to an unknown step, number 8',
        ),
    )


def test_the_search_for_references_is_bounded() -> None:
    deep: Any = '#E1'
    for _ in range(10_000):
        deep = [deep]
    ring: list[Any] = ['#E1']
    ring.append(ring)
    wide = ['x'] * 20_000 + ['#E1']
    assert found(with_args({}, deep))[:2] == ('order', [])
    assert found(with_args({}, ring))[:2] == ('references', [(0, 1)])
    assert found(with_args({}, wide))[:2] == ('order', [])
    assert found(with_args({}, '#E1' * 100_000 + '$var_' * 100_000 + '<node-' * 100_000))[0] == 'references'


# --- finish markers -------------------------------------------------------------------------------------------------


def test_finish_markers_at_the_end() -> None:
    assert drop_finish(Plan.of('a', 'FinishAction', 'FinishAction')).names == ('a',)
    assert drop_finish(Plan.of('FinishAction', 'a')).names == ('FinishAction', 'a')
    assert drop_finish(Plan.of('FinishAction')) == Plan()
    assert drop_finish(Plan()) == Plan()
    assert drop_finish(Plan.of('a', 'done'), ('done', 'stop')).names == ('a',)
    assert drop_finish(Plan.of('a', 'FinishAction'), ()).names == ('a', 'FinishAction')
    plan = Plan.of('a', 'b')
    assert drop_finish(plan) is plan


def test_dependencies_on_finish_markers_go_with_them() -> None:
    plan = Plan((Step(0, 'a', {}, ('2', 1)), Step(1, 'b'), Step(2, 'FinishAction', {}, (1,))))
    assert drop_finish(plan) == Plan((Step(0, 'a', {}, (1,)), Step(1, 'b')))
    doubled = Plan((Step(0, 'a', {}, ()), Step(1, 'b', {}, (0,)), Step(0, 'FinishAction')))
    assert drop_finish(doubled).steps[1].prev == (0,)


# --- any plan -------------------------------------------------------------------------------------------------------

identifiers = st.integers(-1, 5) | st.sampled_from(['0', '1', 'x', ''])
texts = st.lists(st.sampled_from(['#E1', '#E', '<node-0>', '$var_2', '$var', '3', ' ', '>']), max_size=5).map(''.join)
steps = st.builds(
    Step,
    id=identifiers,
    name=st.sampled_from(['a', 'b', 'FinishAction']),
    args=st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=2),
    prev=st.none() | st.lists(identifiers, max_size=3).map(tuple),
)


@settings(max_examples=300, deadline=None)
@given(pred=st.lists(steps, max_size=6).map(lambda s: Plan(tuple(s))), golden_has_graph=st.booleans())
def test_any_prediction_gives_a_graph(pred: Plan, golden_has_graph: bool) -> None:
    before = repr(pred)
    pred_end = drop_finish(pred)
    assert pred_end.names == pred.names[: len(pred_end)]
    result = predicted_edges(pred_end, golden_has_graph=golden_has_graph)
    assert all(0 <= i < len(pred_end) and 0 <= j < len(pred_end) and i != j for i, j in result.graph.edges)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(sorted(result.graph.edges)))
    stated = sum(len(dict.fromkeys(step.prev or ())) for step in pred_end.steps)
    assert len(result.graph.edges) + len(result.dropped) <= stated or result.source != 'prev'
    assert repr(pred) == before


# ---------------------------------------------------------------- the short way for edges to earlier steps

KEYS = st.sampled_from([0, 1, 2, 3, '1', 'a', 9])


@given(st.lists(st.tuples(KEYS, st.lists(KEYS, max_size=3)), max_size=6))
def test_edges_to_earlier_steps_are_those_of_the_full_search(steps: list[tuple[StepId, list[StepId]]]) -> None:
    plan = Plan(tuple(Step(key, 'tool', prev=tuple(prev)) for key, prev in steps))
    short = predicted_edges(plan, golden_has_graph=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, '_edges_to_earlier', lambda *_: None)
        assert short == predicted_edges(plan, golden_has_graph=True)


@given(st.lists(st.tuples(KEYS, st.lists(KEYS, max_size=3)), max_size=4), st.lists(KEYS, max_size=2))
def test_only_dependencies_on_the_markers_are_dropped_with_them(
    steps: list[tuple[StepId, list[StepId]]], markers: list[StepId]
) -> None:
    kept = [Step(key, 'tool', prev=tuple(prev)) for key, prev in steps]
    plan = Plan((*kept, *(Step(key, 'FinishAction') for key in markers)))
    gone = {str(key) for key in markers} - {str(key) for key, _ in steps}
    expected = [tuple(key for key in prev if str(key) not in gone) for _, prev in steps]
    assert [step.prev for step in drop_finish(plan).steps] == expected
