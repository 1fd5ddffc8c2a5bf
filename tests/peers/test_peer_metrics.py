"""The presets: a small table for each, their options, and what they make of hostile input."""

import json
import pickle
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.plan import Plan
from opencompass_traj.scoring import Scorer, read_references
from opencompass_traj.scoring.peers import PEERS, PeerMetrics
from tests.peers.compare import peer, plan, scored


def call(name, **args):
    return {'name': name, 'args': args}


def values(legacy, pred, ref, **options):
    found = peer(legacy, plan(pred), plan(ref), **options)
    return tuple(found[key] for key in PEERS[legacy].rates)


@pytest.mark.parametrize(
    ('legacy', 'pred', 'ref', 'expected'),
    [
        ('adk', 'axb', 'ab', (0, 1, 1)),
        ('adk', 'ba', 'ab', (0, 0, 1)),
        ('adk', 'a', '', (0, 1, 1)),
        ('adk', '', '', (1, 1, 1)),
        ('vertex', 'aab', 'abc', (0, 0, 0, 1, 2 / 3, 0)),
        ('vertex', '', '', (1, 1, 1, 0, 0, 0)),
        ('azure', 'aab', 'ab', (0, 1, 1, 2 / 3, 1, 4 / 5)),
        ('azure', '', 'ab', (0, 0, 0, 0, 0, 0)),
        ('azure', '', '', (1, 1, 1, 0, 0, 0)),
        ('strands', 'abx', 'ab', (1, 1, 1)),
        ('strands', 'aa', 'aa', (1, 1, 1 / 2)),
        ('strands', 'bc', 'abc', (0, 0, 2 / 3)),
        ('strands', '', '', (1, 1, 1)),
        ('bfcl', 'bxa', 'ab', (1,)),
        ('bfcl', 'ab', 'aab', (0,)),
        ('acebench', 'ac', 'abc', (0.333,)),
        ('acebench', 'a', '', (1,)),
        ('ragas', 'ab', 'ba', (0, 1, 1)),
        ('ragas', 'aab', 'ab', (0, 0, 1)),
        ('ragas', '', '', (1, 1, 0)),
        ('deepeval', 'aa', 'aa', (1 / 2, 1, 1)),
        ('deepeval', 'cba', 'abc', (1, 1 / 3, 0)),
        ('deepeval', 'a', '', (0, 0, 0)),
        ('deepeval', '', '', (1, 1, 1)),
        ('agentevals', 'ab', 'ab', (1, 1, 1, 1)),
        ('agentevals', 'ba', 'ab', (0, 1, 1, 1)),
        ('agentevals', 'a', 'ab', (0, 0, 1, 0)),
        ('agentevals', 'a', '', (0, 0, 0, 1)),
        ('mnms', 'axbc', 'abc', (2 / 5, 0, 1 / 7)),
        ('mnms', 'a', 'a', (None, 1, 0)),
        ('taskbench', 'aab', 'ab', (1, 2 / 3, 0, 0, 1 / 5)),
        ('worfeval', 'ac', 'abc', (1, 2 / 3, 4 / 5, 1 / 2, 2 / 5, 4 / 9)),
        ('worfeval', 'z', 'a', (1, 1, 1, 1 / 3, 1 / 3, 1 / 3)),
        ('worfeval', '', '', (0, 0, 0, 1, 1, 1)),
        ('teval', 'ac', 'abc', (1, 2 / 3, 4 / 5)),
        ('teval', 'z', 'a', (1, 1, 1)),
        ('teval', '', 'a', (0, 0, 0)),
    ],
)
def test_each_preset_by_hand(legacy, pred, ref, expected):
    found = values(legacy, pred, ref)
    assert [None if value is None else pytest.approx(value) for value in found] == list(expected)


def test_each_preset_is_in_the_table():
    table = next(mark for mark in test_each_preset_by_hand.pytestmark if mark.name == 'parametrize').args[1]
    assert {row[0] for row in table} == set(PEERS)


@pytest.mark.parametrize(
    ('legacy', 'options', 'pred', 'ref', 'key', 'expected'),
    [
        ('adk', {}, call('a', x=1), call('a', x=2), 'tool_trajectory_avg_score', 0),
        ('adk', {'ignore_args': True}, call('a', x=1), call('a', x=2), 'tool_trajectory_avg_score', 1),
        ('vertex', {'tool': 'a'}, call('a'), call('b'), 'trajectory_single_tool_use', 1),
        ('azure', {}, call('a', x=1), call(' a ', x=2), 'f1_score', 1),
        ('azure', {'match_params': True}, call('a', x=1), call('a', x='1'), 'f1_score', 1),
        ('azure', {'match_params': True}, call('a', x=[1, 2]), call('a', x='[1, 2]'), 'f1_score', 1),
        ('azure', {'match_params': True}, call('a', x=1.0), call('a', x=1), 'f1_score', 0),
        ('ragas', {}, call('a', x='1', y=2), call('a', x=1), 'tool_call_accuracy', 1),
        ('ragas', {}, call('a', x=1), call('a', x=1, y=2), 'tool_call_accuracy', 1 / 2),
        ('ragas', {}, call('a', x=1), call('a'), 'tool_call_accuracy', 0),
        ('ragas', {}, call('a', x='1'), call('a', x=1), 'tool_call_f1', 0),
        ('deepeval', {}, call('a', x=1), call('a', x=2), 'tool_correctness', 1),
        ('deepeval', {'input_parameters': True}, call('a', x=1, y=1), call('a', x=1), 'tool_correctness', 1 / 2),
        ('deepeval', {'input_parameters': True}, call('a', x=1, y=1), call('a', x=1), 'tool_correctness_exact', 0),
        ('agentevals', {'tool_args_match_mode': 'ignore'}, call('a', x=1), call('a'), 'trajectory_strict_match', 1),
        ('agentevals', {'tool_args_match_mode': 'subset'}, call('a'), call('a', x=1), 'trajectory_strict_match', 1),
        # The peer swaps the sides of its subset match, and with them those of the arguments.
        ('agentevals', {'tool_args_match_mode': 'subset'}, call('a'), call('a', x=1), 'trajectory_subset_match', 0),
        ('agentevals', {'tool_args_match_mode': 'subset'}, call('a'), call('a', x=1), 'trajectory_superset_match', 1),
        (
            'agentevals',
            {'tool_args_match_overrides': {'a': ['x.y']}},
            call('a', x={'y': 1, 'z': 2}),
            call('a', x={'y': 1}),
            'trajectory_strict_match',
            1,
        ),
        ('taskbench', {'tools': ['a']}, call('s'), call('t'), 'normalized_edit_distance', 0),
        ('taskbench', {'tools': ['a']}, call('s'), call('s'), 'node_micro_f1', 0),
        ('taskbench', {}, call('a', x=1), call('a', x=2), 't_f1', 1),
        ('taskbench', {}, call('a', x=1), call('a', x=2), 'v_f1', 0),
        ('teval', {'match_threshold': 0.7}, call('a', x=1), call('a', x=2), 'f1_score', 1),
    ],
)
def test_each_option(legacy, options, pred, ref, key, expected):
    assert peer(legacy, plan([pred]), plan([ref]), **options)[key] == pytest.approx(expected)


def test_wrong_arguments_cost_nothing_at_the_threshold_of_opencompass_and_all_at_t_eval_s():
    pred, ref = (
        plan([call('a', x=1), call('b', x=1), call('c', x=1)]),
        plan([call('a', x=2), call('b', x=2), call('c', x=2)]),
    )
    assert peer('teval', pred, ref, match_threshold=0.7)['f1_score'] == 1
    assert peer('teval', pred, ref)['f1_score'] == pytest.approx(1 / 3)


def test_t_eval_leaves_out_one_last_finish_marker():
    ended, twice = Plan.of('a', 'FinishAction'), Plan.of('a', 'FinishAction', 'FinishAction')
    assert peer('teval', twice, ended)['precision'] == 0.5
    assert peer('teval', ended, ended)['precision'] == 1
    assert peer('teval', Plan.of('FinishAction'), ended)['f1_score'] == 0


@pytest.mark.parametrize('turns', [((0, 0), (0, 0), 1), ((0, 1), (0, 0), 0), ((0, 0), (0, 1), 0), ((0, 1), (0, 1), 0)])
def test_agentevals_takes_turns_for_messages(turns):
    pred, ref = (
        plan([{'name': name, 'turn': turn} for name, turn in zip(names, side, strict=True)])
        for names, side in (('ba', turns[0]), ('ab', turns[1]))
    )
    found = peer('agentevals', pred, ref)
    assert found['trajectory_strict_match'] == turns[2]
    assert found['trajectory_unordered_match'] == 1


@settings(max_examples=30, deadline=None)
@given(st.permutations('abcd'), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5))
def test_worfeval_s_chain_is_the_best_of_the_legal_orders(names, pairs):
    edges = {(i, j) for i, j in pairs if i < j}
    legal = [one for one in permutations(range(4)) if all(one.index(i) < one.index(j) for i, j in edges)]
    found = peer('worfeval', plan(names), plan('abcd', edges))['f1_chain']

    def longest(order):
        places = [order.index('abcd'.index(name)) for name in names]
        best = [1] * 4
        for i in range(4):
            best[i] = 1 + max((best[j] for j in range(i) if places[j] < places[i]), default=0)
        return max(best)

    most = max(map(longest, legal)) / 4
    assert found == most if len(legal) <= 20 else found <= most


def test_worfeval_takes_eight_golden_steps_in_their_listed_order():
    names = 'abcdefgh'
    found = peer('worfeval', plan(names), plan(names))
    assert (found['precision_chain'], found['recall_chain']) == (1, 0.8)
    assert peer('worfeval', plan(names[:7]), plan(names[:7]))['f1_chain'] == 1


def test_acebench_gives_a_solved_task_everything():
    call_of_b = {
        'role': 'assistant',
        'tool_calls': [{'type': 'function', 'function': {'name': 'b', 'arguments': '{}'}}],
    }
    runs = [{'messages': [call_of_b], 'solved': solved} for solved in (True, False)] + [{'messages': [call_of_b]}]
    scores = Scorer([PeerMetrics('acebench')]).score(runs, read_references([[{'name': 'a'}]] * 3))
    assert [row['acebench_process_accuracy'] for row in scores.details] == [1, 0, 0]


@pytest.mark.parametrize('legacy', PEERS)
def test_keys_settings_and_copies(legacy):
    metric, bare = PeerMetrics(legacy), PeerMetrics(legacy, prefix='')
    assert bare.rates == PEERS[legacy].rates
    assert metric.rates == tuple(f'{legacy}_{key}' for key in bare.rates)
    assert all(key.isidentifier() for key in metric.rates)
    assert '_' not in legacy, 'what stands before the first _ of a key says whose it is'
    assert {'type': 'PeerMetrics', 'legacy': legacy, 'prefix': f'{legacy}_'}.items() <= metric.settings().items()
    json.dumps(metric.settings())
    copy = pickle.loads(pickle.dumps(metric))  # noqa: S301 - workers get the metrics so
    assert (copy.rates, copy.settings()) == (metric.rates, metric.settings())
    found = scored(metric, plan('ab'), plan('abc'))
    assert set(metric.rates) <= set(found)
    counts = {key for ratio in metric.ratios.values() for key in ratio.keys}
    assert set(found) == {*metric.rates, *counts}
    assert all(type(found[key]) is int for key in counts)


def test_all_presets_stand_beside_each_other():
    metrics = [PeerMetrics(legacy) for legacy in PEERS if not PEERS[legacy].uses_embeddings]
    answer = '[{"id": 0, "name": "a", "args": {}}, {"id": 1, "name": "c", "args": {}}]'
    scores = Scorer(metrics).score([answer, 'no calls at all'], read_references([[{'name': 'a'}, {'name': 'b'}]] * 2))
    row, nothing = scores.details
    assert row['azure_precision_score'] == row['vertex_trajectory_precision'] == 0.5
    assert row['ragas_tool_call_f1'] == row['adk_tool_trajectory_avg_score'] + 0.5
    rates = [key for metric in metrics for key in metric.rates]
    assert {nothing[key] for key in rates} <= {0.0, None}
    assert nothing['taskbench_normalized_edit_distance'] is None
    assert scores.means['taskbench_supports'] == 0.5


@pytest.mark.parametrize(
    ('arguments', 'options', 'error', 'message'),
    [
        (('ragass',), {}, ValueError, "did you mean 'ragas'"),
        (('Adk',), {}, ValueError, "did you mean 'adk'"),
        (('nobody',), {}, ValueError, 'one of acebench, adk'),
        (
            ('adk',),
            {'ignore_arguments': True},
            ValueError,
            "'adk' has no option 'ignore_arguments'; did you mean 'ignore_args'",
        ),
        (('vertex',), {'tools': 1}, ValueError, "the peer 'vertex' has no option"),
        (('bfcl',), {'strict': True}, ValueError, "the peer 'bfcl' has no option 'strict'; it has none"),
        (('agentevals',), {'tool_args_match_mode': 'exactly'}, ValueError, "did you mean 'exact'"),
        (('teval',), {'match_threshold': 8}, ValueError, r'`match_threshold` in \[0, 1\], got 8'),
        (('worfeval',), {'match_threshold': -1}, ValueError, 'match_threshold'),
    ],
)
def test_wrong_options_say_what_is_expected(arguments, options, error, message):
    with pytest.raises(error, match=message):
        PeerMetrics(*arguments, **options)


HOSTILE = (
    None,
    '',
    'text',
    7,
    [],
    [[1], {'k': {2, 3}}],
    {'x': 10**5000},
    {'x': float('nan'), 'y': float('inf')},
    {'x': '\ud800', 'y': b'\xff'},
    {1: 2, None: 3, (1, 2): 4},
)


@pytest.mark.parametrize('legacy', PEERS)
def test_hostile_arguments_are_scored(legacy):
    # No reader lets a number of 5,000 digits through to the texts that are embedded.
    kept = [args for args in HOSTILE if not (legacy == 'teval' and args == {'x': 10**5000})]
    calls = [{'name': 'a', 'args': args} for args in kept]
    for ref in (calls, calls[::-1], [call('a', x=1)], []):
        found = values(legacy, calls, ref)
        assert all(value is None or 0 <= value <= 1 for value in found)


@pytest.mark.parametrize('legacy', [name for name in PEERS if not PEERS[name].uses_embeddings])
def test_thousands_of_calls(legacy):
    calls = [call(f't{i % 20}', x=i % 50, y={'z': i}) for i in range(1_000)]
    assert all(0 <= value <= 1 for value in values(legacy, calls, calls[::-1]))


def test_thousands_of_calls_by_arguments():
    calls = [call('a', x=i % 50, y={'z': i}) for i in range(2_000)]
    for legacy, options in (
        ('deepeval', {'input_parameters': True}),
        ('agentevals', {'tool_args_match_mode': 'superset'}),
        ('azure', {'match_params': True}),
    ):
        assert values(legacy, calls, calls, **options)[0] == 1
