import copy
import itertools
import random
import re
from collections import Counter

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.edges import golden_graph
from opencompass_traj.metrics.alternatives import best_of, forbidden_hits, without_optional
from opencompass_traj.metrics.prf import precision_recall_f1
from opencompass_traj.metrics.sequence import sequence_similarity
from opencompass_traj.plan import Plan, Step


def plan(*rows):
    """Steps from (id, name, prev) or (id, name, prev, args)."""
    return Plan(tuple(Step(row[0], row[1], *row[3:], prev=row[2]) for row in rows))


def overlap_f1(pred, ref):
    matched = sum((Counter(pred.names) & Counter(ref.names)).values())
    return precision_recall_f1(matched, n_pred=len(pred), n_ref=len(ref)).f1


def precedence(of):
    graph = golden_graph(of)
    return nx.transitive_closure(nx.DiGraph(sorted(graph.edges) if graph else ()))


# -- the best of several ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('values', 'best'),
    [([0.5], 0), ([0.0, 0.0], 0), ([0.1, 0.9, 0.9], 1), ([-1, -2], 0), ([0.0, float('inf')], 1), ([-0.0, 0.0], 0)],
)
def test_the_first_of_the_best(values, best):
    assert best_of(values) == best
    assert type(best_of(values)) is int


@pytest.mark.parametrize('values', [[], (), [float('nan')], [1.0, float('nan')]])
def test_nothing_to_choose_from(values):
    with pytest.raises(ValueError, match='expected'):
        best_of(values)


@given(st.lists(st.floats(allow_nan=False) | st.integers(-3, 3), min_size=1))
def test_the_best_against_a_plain_search(values):
    assert best_of(values) == values.index(max(values))


# -- optional steps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('pred', 'ref', 'optional', 'removed'),
    [
        ('ABC', 'ABC', {1}, ()),
        ('AC', 'ABC', {1}, (1,)),
        ('AC', 'ABC', (), ()),
        ('', 'ABC', {0, 1, 2}, (0, 1, 2)),
        ('', 'ABC', {1}, (1,)),
        ('B', '', (), ()),
        # One call of A serves the step that must be there, and none is left for the optional one.
        ('A', 'AA', {0}, (0,)),
        ('AA', 'AA', {0}, ()),
        ('AAA', 'AA', {0, 1}, ()),
        # A step that must be there stays, whatever is missing.
        ('C', 'ABC', {1}, (1,)),
        # Where one of two can stay, the one that keeps the order.
        ('ABL', 'LABL', {0, 3}, (0,)),
        ('LAB', 'LABL', {0, 3}, (3,)),
    ],
)
def test_literal_choices(pred, ref, optional, removed):
    found = without_optional(Plan.of(*pred), Plan.of(*ref), optional=optional)
    assert found.removed == removed
    assert found.kept == tuple(i for i in range(len(ref)) if i not in removed)
    assert found.plan.names == tuple(ref[i] for i in found.kept)


def test_equal_arguments_say_which_step_was_taken():
    golden = plan((0, 'get', None, {'n': 1}), (1, 'get', None, {'n': 2}), (2, 'pay', None, {}))
    pred = plan((0, 'get', None, {'n': 2}), (1, 'pay', None, {}))
    assert without_optional(pred, golden, optional={0, 1}).kept == (1, 2)


def test_the_plan_itself_where_nothing_is_removed():
    golden = plan(('a', 'A', ()), ('b', 'B', ('a',)))
    assert without_optional(Plan.of('A', 'B'), golden, optional={0, 1}).plan is golden


@pytest.mark.parametrize(
    ('steps', 'removed', 'expected'),
    [
        ([(0, 'A', ()), (1, 'B', (0,)), (2, 'C', (1,))], 'B', [(), (0,)]),
        ([(0, 'A', ()), (1, 'B', (0,)), (2, 'C', (1,))], 'A', [(), (1,)]),
        ([(0, 'A', ()), (1, 'B', (0,)), (2, 'C', (1,))], 'C', [(), (0,)]),
        # Through a chain of removed steps.
        ([(0, 'A', ()), (1, 'B', (0,)), (2, 'D', (1,)), (3, 'C', (2,))], 'BD', [(), (0,)]),
        # Several ways to one step are one dependency.
        ([(0, 'A', ()), (1, 'B', (0,)), (2, 'D', (0,)), (3, 'C', (1, 2, 0))], 'BD', [(), (0,)]),
        # In the order in which they stood.
        (
            [(0, 'A', ()), (1, 'E', ()), (2, 'F', ()), (3, 'B', (1, 0)), (4, 'C', (2, 3))],
            'B',
            [(), (), (), (2, 1, 0)],
        ),
        # Ids in words, and ids that are numbers here and texts there.
        ([('x', 'A', ()), (1, 'B', ('x',)), (2, 'C', ('1',))], 'B', [(), ('x',)]),
        # Where nobody said what the removed step depends on, nothing is passed on.
        ([(0, 'A', None), (1, 'B', None), (2, 'C', (1,))], 'B', [None, ()]),
        ([(0, 'A', None), (1, 'B', None), (2, 'C', None)], 'B', [None, None]),
        # A golden plan that is unsound keeps its other faults, and ends.
        ([(0, 'A', (2,)), (1, 'B', (0, 1)), (2, 'C', (1, 7))], 'B', [(2,), (0, 7)]),
        ([(0, 'A', ()), (1, 'B', (2,)), (2, 'D', (1, 0)), (3, 'C', (1,))], 'BD', [(), (0,)]),
    ],
)
def test_edges_are_bridged(steps, removed, expected):
    golden = plan(*steps)
    pred = Plan.of(*[name for name in golden.names if name not in removed])
    optional = {i for i, name in enumerate(golden.names) if name in removed}
    found = without_optional(pred, golden, optional=optional)
    assert [step.prev for step in found.plan.steps] == expected
    assert [step.id for step in found.plan.steps] == [golden.steps[i].id for i in found.kept]


@pytest.mark.parametrize('optional', [{3}, {-1}, {0, 7}])
def test_indices_that_the_plan_does_not_have(optional):
    with pytest.raises(ValueError, match='indices from 0 to 2'):
        without_optional(Plan.of('A'), Plan.of(*'ABC'), optional=optional)


LETTERS = st.lists(st.sampled_from('ABC'), max_size=7)


@st.composite
def cases(draw):
    names = draw(LETTERS)
    prev = [tuple(j for j in range(i) if draw(st.booleans())) for i in range(len(names))]
    golden = Plan(tuple(Step(i, name, {'n': draw(st.integers(0, 1))}, prev[i]) for i, name in enumerate(names)))
    pred = Plan(tuple(Step(i, name, {'n': draw(st.integers(0, 1))}) for i, name in enumerate(draw(LETTERS))))
    return pred, golden, frozenset(i for i in range(len(names)) if draw(st.booleans()))


@settings(max_examples=300, deadline=None)
@given(cases())
def test_no_choice_of_optional_steps_overlaps_more(case):
    pred, golden, optional = case
    best = 0.0
    for size in range(len(optional) + 1):
        for gone in itertools.combinations(sorted(optional), size):
            rest = Plan(tuple(step for i, step in enumerate(golden.steps) if i not in gone))
            best = max(best, overlap_f1(pred, rest))
    found = without_optional(pred, golden, optional=optional)
    assert overlap_f1(pred, found.plan) == best


@settings(max_examples=300, deadline=None)
@given(cases())
def test_laws_of_optional_steps(case):
    pred, golden, optional = case
    before = copy.deepcopy((pred, golden))
    found = without_optional(pred, golden, optional=optional)
    assert (pred, golden) == before
    assert set(found.removed) <= optional
    assert sorted(found.kept + found.removed) == list(range(len(golden)))
    assert found.plan.names == tuple(golden.names[i] for i in found.kept)
    assert found == without_optional(pred, golden, optional=sorted(optional, reverse=True))
    # Against the golden plan itself nothing is removed, and what is left is asked for in full.
    assert without_optional(golden, golden, optional=optional).removed == ()
    left = frozenset(at for at, i in enumerate(found.kept) if i in optional)
    assert without_optional(pred, found.plan, optional=left).removed == ()


@settings(max_examples=200, deadline=None)
@given(cases())
def test_what_must_come_before_what_stays_as_it_was(case):
    pred, golden, optional = case
    found = without_optional(pred, golden, optional=optional)
    whole, left = precedence(golden), precedence(found.plan)
    expected = {
        (a, b) for a, b in itertools.permutations(range(len(found.kept)), 2)
        if whole.has_edge(found.kept[a], found.kept[b])
    }  # fmt: skip
    assert set(left.edges) == expected


@pytest.mark.parametrize('length', range(5))
def test_leaving_out_any_optional_steps_is_free(length):
    """The golden plan without some of its optional steps scores 1, whatever names recur in it."""
    for names in itertools.product('AB', repeat=length):
        for optional in itertools.product([False, True], repeat=length):
            chosen = {i for i, is_optional in enumerate(optional) if is_optional}
            for taken in itertools.product([False, True], repeat=len(chosen)):
                gone = {i for i, stays in zip(sorted(chosen), taken, strict=True) if not stays}
                pred = Plan.of(*[name for i, name in enumerate(names) if i not in gone])
                found = without_optional(pred, Plan.of(*names), optional=chosen)
                assert overlap_f1(pred, found.plan) == 1.0


def test_where_tools_do_not_recur_leaving_out_is_free_in_any_metric():
    rng = random.Random(5)
    for _ in range(200):
        names = rng.sample('ABCDEFGH', rng.randint(0, 8))
        optional = {i for i in range(len(names)) if rng.random() < 0.5}
        taken = [name for i, name in enumerate(names) if i not in optional or rng.random() < 0.5]
        found = without_optional(Plan.of(*taken), Plan.of(*names), optional=optional)
        assert sequence_similarity(taken, found.plan.names) == 1.0


# -- forbidden tools -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('names', 'patterns', 'hits'),
    [
        ([], ['*'], []),
        (['search'], [], []),
        (['search', 'pay', 'search'], ['search'], [0, 2]),
        (['delete_user', 'undelete'], ['delete*'], [0]),
        (['Pay', 'pay'], ['pay'], [1]),
        (['a1', 'ab', 'a'], ['a?'], [0, 1]),
        (['a1', 'ab'], ['a[0-9]'], [0]),
        (['a1', 'ab'], ['a[!0-9]'], [1]),
        (['a.b', 'axb'], ['a.b'], [0]),
        (['x', 'y'], ['x', '*'], [0, 1]),
        (['', 'x'], [''], [0]),
        (['a\nb'], ['a*b'], [0]),
        (['支付', 'pay'], ['支*'], [0]),
    ],
)
def test_forbidden_tools(names, patterns, hits):
    found = forbidden_hits(names, iter(patterns))
    assert found == hits
    assert all(type(i) is int for i in found)


def test_a_single_text_is_no_list_of_patterns():
    with pytest.raises(TypeError, match='list of texts'):
        forbidden_hits(['pay'], 'pay')


@given(
    st.lists(st.text('ab.', max_size=4), max_size=8),
    st.lists(st.text('ab.*?', max_size=4), max_size=3),
)
def test_forbidden_tools_against_regular_expressions(names, patterns):
    def matches(name, pattern):
        expression = ''.join({'*': '.*', '?': '.'}.get(sign, re.escape(sign)) for sign in pattern)
        return re.fullmatch(expression, name, re.DOTALL) is not None

    expected = [i for i, name in enumerate(names) if any(matches(name, pattern) for pattern in patterns)]
    assert forbidden_hits(names, patterns) == expected


def test_many_stars_take_no_time():
    assert forbidden_hits(['a' * 5_000], ['*a' * 20 + '*b']) == []
