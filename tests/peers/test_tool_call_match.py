"""`ToolCallMatch` and `SingleToolUse`."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.plan import Plan, Trajectory
from opencompass_traj.scoring import Comparison, Reading, Reference, Scorer, read_references
from opencompass_traj.scoring.peers import SingleToolUse, ToolCallMatch
from tests.peers.compare import peer, plan, scored

CALLS = st.lists(
    st.fixed_dictionaries(
        {'name': st.sampled_from('ab'), 'args': st.dictionaries(st.sampled_from('xy'), st.integers(0, 1), max_size=2)}
    ),
    max_size=5,
)
MATCHES = ('exact_match', 'in_order_match', 'any_order_match', 'subset_match', 'superset_match')


def match(pred, ref, *modes, **options):
    return scored(ToolCallMatch(*modes, **options), plan(pred), plan(ref))


def numbers(found, *keys):
    return tuple(found[key] for key in keys)


@pytest.mark.parametrize(
    ('pred', 'ref', 'true'),
    [
        ('', '', 'exact_match in_order_match any_order_match subset_match superset_match'),
        ('abc', 'abc', 'exact_match in_order_match any_order_match subset_match superset_match'),
        ('axbc', 'abc', 'in_order_match any_order_match superset_match'),
        ('cab', 'abc', 'any_order_match subset_match superset_match'),
        ('ac', 'abc', 'subset_match'),
        ('aab', 'ab', 'in_order_match any_order_match superset_match'),
        ('ab', 'aab', 'subset_match'),
        ('', 'a', 'subset_match'),
        ('a', '', 'in_order_match any_order_match superset_match'),
        ('x', 'a', ''),
    ],
)
def test_which_matches_hold(pred, ref, true):
    found = match(pred, ref)
    assert [key for key in MATCHES if found[key]] == true.split()
    assert all(found[key] in {0.0, 1.0} for key in MATCHES)


@pytest.mark.parametrize(
    ('pred', 'ref', 'multiset', 'as_sets', 'in_order'),
    [
        ('', '', (1, 1, 1), (1, 1, 1), 1),
        ('', 'a', (0, 0, 0), (0, 0, 0), 0),
        ('a', '', (0, 0, 0), (0, 0, 0), 0),
        ('abc', 'abc', (1, 1, 1), (1, 1, 1), 1),
        ('aab', 'ab', (2 / 3, 1, 4 / 5), (1, 1, 1), 1),
        ('ab', 'aab', (1, 2 / 3, 4 / 5), (1, 1, 1), 2 / 3),
        ('bcx', 'abc', (2 / 3, 2 / 3, 2 / 3), (2 / 3, 2 / 3, 2 / 3), 2 / 3),
        ('cba', 'abc', (1, 1, 1), (1, 1, 1), 1 / 3),
    ],
)
def test_shares_by_hand(pred, ref, multiset, as_sets, in_order):
    found = match(pred, ref)
    assert numbers(found, 'tool_precision', 'tool_recall', 'tool_f1') == pytest.approx(multiset)
    assert numbers(found, 'tool_set_precision', 'tool_set_recall', 'tool_set_f1') == pytest.approx(as_sets)
    assert found['in_order_recall'] == pytest.approx(in_order)


def call(name, **args):
    return {'name': name, 'args': args}


@pytest.mark.parametrize(
    ('mode', 'pred', 'ref', 'exact'),
    [
        ('exact', call('a', x=1), call('a', x='1'), 0),
        ('rules', call('a', x=1), call('a', x='1'), 1),
        ('ignore', call('a', x=1), call('a', x=2), 1),
        ('subset', call('a', x=1), call('a', x=1, y=2), 1),
        ('subset', call('a', x=1, y=2), call('a', x=1), 0),
        ('superset', call('a', x=1, y=2), call('a', x=1), 1),
        ('superset', call('a', x=1), call('a', x=1, y=2), 0),
    ],
)
def test_the_modes_of_arguments(mode, pred, ref, exact):
    found = match([pred], [ref], mode)
    assert set(found.values()) == {float(exact)}


def test_rules_are_those_of_the_evaluator():
    rules = argument_rules({'tools': {'a': {'x': {'numeric': 0.5}}}})
    one = Comparison('', Reference('x', {}, plan([call('a', x=1)])), Reading(rules=rules))
    one.trajectory = Trajectory(plan([call('a', x=1.4)]), 'openai')
    assert ToolCallMatch().score(one)['exact_match'] == 1
    assert ToolCallMatch('exact').score(one)['exact_match'] == 0


def test_past_the_bound_rules_give_way_to_exact_arguments(monkeypatch):
    pred, ref = [call('a', x='1'), call('a', x=2)], [call('a', x=1), call('a', x=2)]
    assert match(pred, ref)['tool_f1'] == 1
    monkeypatch.setattr('opencompass_traj.scoring.peers.tool_call_match.MAX_RULE_PAIRS', 7)
    assert match(pred, ref)['tool_f1'] == 0.5


def test_single_tools_have_their_own_rule():
    options = {'tools': {'a': ['x'], 'b': 'ignore'}}
    assert (
        match([call('a', x=1, y=1), call('b', x=1)], [call('a', x=1, y=2), call('b')], 'exact', **options)['tool_f1']
        == 1
    )
    assert (
        match([call('a', x=1), call('c', x=1)], [call('a', x=2), call('c', x=1)], 'exact', **options)['tool_f1'] == 0.5
    )


def test_a_matching_is_found_that_the_first_fit_misses():
    pred, ref = [call('a'), call('a', x=1)], [call('a', x=1), call('a', y=2)]
    found = match(pred, ref, 'subset')
    assert found['tool_f1'] == found['superset_match'] == 1
    assert found['exact_match'] == found['in_order_match'] == 0
    assert found['in_order_recall'] == 0.5
    assert match(pred[::-1], ref, 'subset')['exact_match'] == 1


def test_how_often_a_call_is_made_counts_for_the_multiset_alone():
    found = match([call('a', x=1), call('a', x=1), call('a', x=3)], [call('a', x=1, y=1), call('a', z=1)], 'subset')
    assert numbers(found, 'tool_precision', 'tool_recall') == pytest.approx((1 / 3, 1 / 2))
    assert numbers(found, 'tool_set_precision', 'tool_set_recall', 'tool_set_f1') == (1 / 2, 1 / 2, 1 / 2)


@pytest.mark.parametrize(
    ('pred_turns', 'ref_turns', 'exact', 'in_order'),
    [
        ((0, 0, 1), (0, 0, 1), 1, 1),
        ((0, 1, 2), (0, 0, 1), 1, 1),
        ((0, 0, 1), (0, 1, 2), 1, 1),
        ((0, 1, 2), (0, 1, 2), 0, 0),
        ((0, 1, 1), (0, 1, 1), 0, 0),
    ],
)
def test_calls_of_one_turn_come_in_any_order(pred_turns, ref_turns, exact, in_order):
    pred = [{'name': name, 'turn': turn} for name, turn in zip('bac', pred_turns, strict=True)]
    ref = [{'name': name, 'turn': turn} for name, turn in zip('abc', ref_turns, strict=True)]
    assert numbers(match(pred, ref), 'exact_match', 'in_order_match') == (exact, in_order)
    more = [{'name': 'x', 'turn': 0}, *({**one, 'turn': one['turn'] + 1} for one in pred)]
    assert numbers(match(more, ref), 'exact_match', 'in_order_match') == (0, in_order)


@settings(max_examples=60, deadline=None)
@given(CALLS, CALLS, st.sampled_from(['rules', 'exact', 'ignore', 'subset', 'superset']))
def test_laws(pred, ref, mode):
    found, same = match(pred, ref, mode), match(pred, pred, mode)
    assert set(same.values()) == {1.0}
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in found.values())
    assert found['exact_match'] <= found['in_order_match'] <= found['any_order_match'] == found['superset_match']
    assert found['exact_match'] <= found['subset_match']
    assert (found['subset_match'], found['superset_match']) == (
        float(found['tool_precision'] == 1 or not pred),
        float(found['tool_recall'] == 1 or not ref),
    )
    assert found['in_order_recall'] <= found['tool_recall'] or not ref
    # Neither recall bounds the other: of A, B, B the calls B, B are two of three, and one of two different ones.
    assert found['tool_recall'] < 1 or found['tool_set_recall'] == 1 or mode in {'subset', 'superset'}


@settings(max_examples=50, deadline=None)
@given(CALLS, CALLS)
def test_the_same_questions_have_the_peers_answers(pred, ref):
    sides = plan(pred), plan(ref)
    ours, adk, azure = match(pred, ref, 'exact'), peer('adk', *sides), peer('azure', *sides)
    names = match(pred, ref, 'ignore')
    assert numbers(ours, 'exact_match', 'in_order_match', 'any_order_match') == tuple(adk.values())
    assert names['exact_match'] == azure['task_navigation_efficiency']
    if pred or ref:
        assert names['tool_f1'] == azure['f1_score']
        assert round(ours['tool_set_f1'], 4) == peer('ragas', *sides)['tool_call_f1']


def test_unreadable_predictions_have_nothing():
    row = Scorer([ToolCallMatch()]).score(['no calls'], read_references([[{'name': 'a'}]])).details[0]
    assert {row[key] for key in ToolCallMatch().rates} == {0.0}


def test_two_forms_stand_beside_each_other():
    metrics = [
        ToolCallMatch(),
        ToolCallMatch('ignore', prefix='name_'),
        SingleToolUse('a'),
        SingleToolUse('b*', prefix='b_'),
    ]
    row = Scorer(metrics).score(['[{"name": "a", "args": {"x": 2}}]'], read_references([[call('a', x=1)]])).details[0]
    assert numbers(row, 'exact_match', 'name_exact_match', 'single_tool_use', 'b_single_tool_use') == (0, 1, 1, 0)


def test_settings_and_copies():
    metric = ToolCallMatch('subset', tools={'a': 'ignore'}, prefix='p_')
    assert metric.settings() == {
        'type': 'ToolCallMatch',
        'arguments': 'subset',
        'tools': {'a': 'ignore'},
        'prefix': 'p_',
    }
    copy = pickle.loads(pickle.dumps(metric))  # noqa: S301 - workers get the metrics so
    assert copy.rates == metric.rates
    assert SingleToolUse('a').settings() == {'type': 'SingleToolUse', 'tool': 'a', 'prefix': ''}


@pytest.mark.parametrize(
    ('arguments', 'options', 'message'),
    [
        (('fuzzy',), {}, 'one of rules, exact, ignore, subset, superset'),
        ((), {'tools': {'a': 'ignore'}}, "no `tools` with `arguments='rules'`"),
        (('exact',), {'tools': {'a': 'ignored'}}, "did you mean 'ignore'"),
    ],
)
def test_wrong_options(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ToolCallMatch(*arguments, **options)
    with pytest.raises(ValueError, match='a name or a pattern'):
        SingleToolUse('')


def test_a_tool_is_used_or_not():
    assert scored(SingleToolUse('search_*'), Plan.of('a', 'search_web'), Plan())['single_tool_use'] == 1
    assert scored(SingleToolUse('search'), Plan.of('a', 'search_web'), Plan())['single_tool_use'] == 0
    assert scored(SingleToolUse('a'), Plan(), Plan.of('a'))['single_tool_use'] == 0


@pytest.mark.parametrize('mode', ['rules', 'exact', 'subset'])
def test_thousands_of_calls(mode):
    calls = [call(f't{i % 20}', x=i % 50) for i in range(2_000)]
    found = match(calls, calls[::-1], mode)
    assert found['tool_f1'] == found['any_order_match'] == 1
    assert found['exact_match'] == 0
