"""What the page says went wrong, and in which order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.report.page_faults import KINDS, Fault, find_faults, kinds_of, wrong_orders
from opencompass_traj.report.page_match import PathMatch, match_path
from tests.report.page_runs import row, steps


def chain(*names: str) -> list[Any]:
    return steps(*names, prev=[[i - 1] if i else [] for i in range(len(names))])


def faults_of(one: dict[str, Any]) -> list[Fault]:
    match = match_path(one)
    return find_faults(one, match, late=wrong_orders(one, match))


def faults(pred: Any, golden: Any) -> list[tuple[Any, ...]]:
    one = row(pred, golden)
    return [(fault.kind, fault.pred, fault.ref) for fault in faults_of(one)]


def kinds(pred: Any, golden: Any) -> frozenset[str]:
    one = row(pred, golden)
    match = match_path(one)
    return kinds_of(one, match, find_faults(one, match, late=wrong_orders(one, match)))


@pytest.mark.parametrize(
    ('pred', 'golden', 'expected'),
    [
        ('A', 'A', []),
        ('ABC', 'ABC', []),
        ('AXBC', 'ABC', [('redundant', (1,), ())]),
        ('AXYBC', 'ABC', [('redundant', (1, 2), ())]),
        ('AXBYC', 'ABC', [('redundant', (1,), ()), ('redundant', (3,), ())]),
        ('AC', 'ABC', [('missing', (), (1,))]),
        ('A', 'ABC', [('missing', (), (1, 2))]),
        ('ABX', 'ABC', [('tool', (2,), (2,))]),
        ('XBC', 'ABC', [('tool', (0,), (0,))]),
        ('BAC', 'ABC', [('order', (0,), (1,))]),
        ('CAB', 'ABC', [('order', (0,), (2,))]),
        ('AAABC', 'ABC', [('loop', (1, 2), ())]),
        ('AXAXBC', 'ABC', [('redundant', (1,), ()), ('loop', (2, 3), ())]),
        ('XYZ', 'A', [('redundant', (0, 1), ()), ('tool', (2,), (0,))]),
    ],
)
def test_faults_of_plain_lists_against_a_chain(pred: str, golden: str, expected: list[Any]) -> None:
    assert faults(steps(*pred), chain(*golden)) == expected


def test_a_step_left_out_says_before_which_step_and_whether_the_path_stopped() -> None:
    one = row(steps('A', 'C'), chain('A', 'B', 'C', 'D'))
    between, end = faults_of(one)
    assert (between.ref, between.more) == ((1,), {'after': 0, 'end': False})
    assert (end.ref, end.more) == ((3,), {'after': 1, 'end': True})
    none = row('[]', chain('A', 'B'))
    [fault] = faults_of(none)
    assert fault.kind == 'missing'
    assert fault.more == {'after': -1, 'end': True}


def test_an_unreadable_answer_has_that_fault_alone() -> None:
    one = row('no plan here', chain('A', 'B'))
    [fault] = faults_of(one)
    assert (fault.kind, fault.more['reason']) == ('unreadable', one['parse_reason'])
    assert one['parse_reason']
    assert kinds('no plan here', chain('A', 'B')) == {'unreadable'}


def test_another_order_that_the_golden_graph_allows_is_no_fault() -> None:
    golden = steps('A', 'B', 'C', prev=[[], [], [0, 1]])
    assert faults(steps('B', 'A', 'C'), golden) == []
    assert kinds(steps('B', 'A', 'C'), golden) == {'reordered', 'perfect'}
    assert kinds(steps('A', 'B', 'C'), golden) == {'perfect'}
    assert kinds(steps('C', 'A', 'B'), golden) == {'order'}


def test_two_calls_of_one_tool_in_the_other_legal_order_are_told_apart_by_their_arguments() -> None:
    golden = steps('get', 'get', 'buy', prev=[[], [], [0, 1]], args=[{'of': 'A'}, {'of': 'B'}, {}])
    pred = steps('get', 'get', 'buy', args=[{'of': 'B'}, {'of': 'A'}, {}])
    one = row(pred, golden)
    assert match_path(one).partner == {0: 1, 1: 0, 2: 2}
    assert faults(pred, golden) == []
    assert 'reordered' in kinds(pred, golden)


def test_of_calls_of_one_tool_the_redundant_one_is_named() -> None:
    golden = steps('get', 'get', 'buy', prev=[[], [], [0, 1]], args=[{'of': 'A'}, {'of': 'B'}, {}])
    pred = steps('find', 'get', 'get', 'get', 'buy', args=[{}, {'of': 'A'}, {'of': 'B'}, {'of': 'A'}, {}])
    assert faults(pred, golden) == [('redundant', (0,), ()), ('redundant', (3,), ())]
    assert match_path(row(pred, golden)).moved == frozenset()
    assert 'reordered' not in kinds(pred, golden)


def test_of_calls_of_one_tool_the_missing_one_is_named() -> None:
    golden = chain('get', 'get', 'get', 'sum')
    for step, currency in zip(golden, ('EUR', 'GBP', 'DKK'), strict=False):
        step['args'] = {'of': currency}
    pred = steps('get', 'get', 'sum', args=[{'of': 'EUR'}, {'of': 'DKK'}, {}])
    assert faults(pred, golden) == [('missing', (), (1,))]


def test_arguments_are_named_where_they_differ() -> None:
    golden = steps('book', args=[{'city': 'Lyon', 'nights': 2}])
    one = row(steps('book', args=[{'city': 'Nice', 'seat': '1A'}]), golden)
    [fault] = faults_of(one)
    assert (fault.kind, fault.pred, fault.ref) == ('argument', (0,), (0,))
    assert fault.more == {'different': ['city'], 'missing': ['nights'], 'extra': ['seat']}


def test_stated_dependencies_between_steps_that_are_both_there() -> None:
    golden = steps('A', 'B', 'C', prev=[[], [0], [1]])
    pred = steps('A', 'B', 'C', prev=[[], [], [0, 1]])
    one = row(pred, golden)
    lacking, surplus = faults_of(one)
    assert (lacking.kind, lacking.pred, dict(lacking.more)) == ('dependency', (1,), {'lacking': [0], 'surplus': []})
    assert (surplus.kind, surplus.pred, dict(surplus.more)) == ('dependency', (2,), {'lacking': [], 'surplus': [0]})
    # The same steps in the same order, but nothing stated: there is nothing to hold against it.
    assert faults(steps('A', 'B', 'C'), golden) == []


def test_a_forbidden_call_goes_before_other_faults_of_its_step() -> None:
    golden = {'id': 't', 'ground_truth': chain('A', 'B'), 'forbidden': ['delete_*']}
    found = faults(steps('A', 'delete_user', 'B'), golden)
    assert found == [('forbidden', (1,), ()), ('redundant', (1,), ())]


def test_outcome_errors_and_mending_are_kinds_and_no_faults() -> None:
    call = [{'type': 'function', 'function': {'name': 'A', 'arguments': {}}}]
    message = {'role': 'assistant', 'tool_calls': call}
    failed = {'role': 'tool', 'content': 'Error: timeout'}
    golden = chain('A')
    assert kinds({'messages': [message], 'reward': 0.0}, golden) == {'unsolved', 'perfect'}
    assert {'error'} <= kinds({'messages': [message, failed], 'reward': 1.0}, golden)
    detour = {'messages': [message, {'role': 'tool', 'content': 'ok'}, message, message], 'reward': 1.0}
    assert {'silent', 'loop'} <= kinds(detour, chain('A'))
    assert {'mended', 'perfect'} <= kinds('[{"id": 0, "name": "A", "args": {}}', golden)


def test_every_kind_has_a_bit_of_its_own() -> None:
    assert len(set(KINDS)) == len(KINDS) <= 30  # JavaScript's bit operations take 31


# --- properties ------------------------------------------------------------------------------------------------------

NAMES = st.lists(st.sampled_from('ABCX'), max_size=7)


@st.composite
def graphs(draw: st.DrawFn) -> list[Any]:
    names = draw(st.lists(st.sampled_from('ABC'), max_size=6))
    prev = [sorted(draw(st.sets(st.integers(0, i - 1), max_size=2))) if i else [] for i in range(len(names))]
    return steps(*names, prev=prev)


def matched(pred: list[Any], golden: list[Any]) -> tuple[dict[str, Any], PathMatch]:
    one = row(pred, golden)
    return one, match_path(one)


@given(pred=NAMES, golden=graphs())
@settings(max_examples=150, deadline=None)
def test_every_step_has_exactly_one_state(pred: list[str], golden: list[Any]) -> None:
    one, match = matched(steps(*pred), golden)
    if one['parse_status'] == 'unreadable':
        return
    states = [match.partner.keys(), match.replaced.keys(), match.redundant]
    assert sorted(index for state in states for index in state) == list(range(len(one['pred_steps'])))
    states = [match.partner.values(), match.replaced.values(), match.missing]
    assert sorted(index for state in states for index in state) == list(range(len(one['ref_steps'])))
    assert all(one['pred_steps'][a]['name'] == one['ref_steps'][b]['name'] for a, b in match.partner.items())
    assert match.moved <= match.partner.keys()


@given(pred=NAMES, golden=graphs())
@settings(max_examples=150, deadline=None)
def test_wrong_orders_are_the_golden_precedences_that_are_turned_round(pred: list[str], golden: list[Any]) -> None:
    one, match = matched(steps(*pred), golden)
    graph: Any = nx.DiGraph(one['ref_edges'])
    graph.add_nodes_from(range(len(one['ref_steps'])))
    closure = nx.transitive_closure(graph)
    back = {ref: place for place, ref in match.partner.items()}
    turned = {back[b] for a, b in closure.edges if a in back and b in back and back[a] > back[b]}
    assert wrong_orders(one, match).keys() == turned


@given(pred=NAMES, golden=graphs())
@settings(max_examples=100, deadline=None)
def test_faults_come_in_the_order_of_the_alignment(pred: list[str], golden: list[Any]) -> None:
    one, match = matched(steps(*pred), golden)
    found = find_faults(one, match, late=wrong_orders(one, match))
    assert all(a.line <= b.line for a, b in pairwise(found))
    assert ('perfect' in kinds_of(one, match, found)) == (not found)
    assert all(0 <= fault.line < max(1, len(match.rows)) for fault in found)


@given(golden=graphs())
@settings(max_examples=50, deadline=None)
def test_a_golden_plan_has_no_fault_against_itself(golden: list[Any]) -> None:
    one, match = matched(golden, golden)
    repeated = {'loop'} if one.get('loop_rate') else set()
    assert {fault.kind for fault in find_faults(one, match, late=wrong_orders(one, match))} <= repeated
