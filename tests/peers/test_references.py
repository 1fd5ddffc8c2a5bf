"""The presets beside each package's rule written out slowly, on many small runs.

`benchmarks/peers.py` compares with the packages themselves, where they are installed.
"""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics.prf import PrecisionRecallF1
from opencompass_traj.metrics.tool_calls import CallPairs
from opencompass_traj.scoring.peers.peer import Matches, zero_if_nothing
from opencompass_traj.scoring.ratio import Ratio
from tests.peers.compare import peer, plan

VALUES = st.sampled_from([1, '1', True, 'x', [1], {'k': 1}])
CALLS = st.lists(
    st.fixed_dictionaries(
        {'name': st.sampled_from('abc'), 'args': st.dictionaries(st.sampled_from('xy'), VALUES, max_size=2)}
    ),
    max_size=5,
)
MODES = st.sampled_from(['exact', 'ignore', 'subset', 'superset'])
several = settings(max_examples=50, deadline=None)


def names(calls):
    return [call['name'] for call in calls]


def in_order(pred, ref):
    rest = iter(pred)
    return all(call in rest for call in ref)


def any_order(pred, ref):
    left = list(pred)
    for call in ref:
        if call not in left:
            return False
        left.remove(call)
    return True


def f1(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def longest(pred, ref):
    table = [[0] * (len(ref) + 1) for _ in range(len(pred) + 1)]
    for i, one in enumerate(pred):
        for j, other in enumerate(ref):
            table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j], table[i][j] + (one == other))
    return table[-1][-1]


@several
@given(CALLS, CALLS)
def test_adk_vertex_and_bfcl(pred, ref):
    sides = plan(pred), plan(ref)
    matches = [float(pred == ref), float(in_order(pred, ref)), float(any_order(pred, ref))]
    assert list(peer('adk', *sides).values()) == matches
    without_args = [names(pred) == names(ref), in_order(names(pred), names(ref)), any_order(names(pred), names(ref))]
    assert list(peer('adk', *sides, ignore_args=True).values()) == without_args
    vertex = peer('vertex', *sides, tool='a')
    assert list(vertex.values())[:3] == matches
    assert vertex['trajectory_precision'] == (sum(call in ref for call in pred) / len(pred) if pred else 0)
    assert vertex['trajectory_recall'] == (sum(call in pred for call in ref) / len(ref) if ref else 0)
    assert vertex['trajectory_single_tool_use'] == ('a' in names(pred))
    assert peer('bfcl', *sides)['subsequence_unordered'] == matches[2]


@several
@given(CALLS, CALLS)
def test_azure(pred, ref):
    found = peer('azure', plan(pred), plan(ref))
    left, right = names(pred), names(ref)
    common = (Counter(left) & Counter(right)).total()
    precision, recall = (common / len(side) if side else 0 for side in (left, right))
    assert found['precision_score'] == precision
    assert found['recall_score'] == recall
    assert found['f1_score'] == pytest.approx(f1(precision, recall))
    assert found['task_navigation_efficiency'] == (left == right)


@several
@given(CALLS, CALLS)
def test_ragas(pred, ref):
    def share(one, other):
        if not other:
            return float(not one)
        return sum(key in one and str(one[key]) == str(value) for key, value in other.items()) / len(other)

    def accuracy(left, right):
        if names(left) != names(right):
            return 0.0
        shares = [share(one['args'], other['args']) for one, other in zip(left, right, strict=True)]
        return sum(shares) / len(shares) if shares else 1.0

    def order(call):
        return [call['name'], *(text for key in sorted(call['args']) for text in (key, str(call['args'][key])))]

    found = peer('ragas', plan(pred), plan(ref))
    assert found['tool_call_accuracy'] == pytest.approx(accuracy(pred, ref))
    assert found['tool_call_accuracy_flexible_order'] == pytest.approx(
        accuracy(sorted(pred, key=order), sorted(ref, key=order))
    )
    left, right = ([call for i, call in enumerate(side) if call not in side[:i]] for side in (pred, ref))
    common = sum(call in right for call in left)
    precision, recall = (common / len(side) if side else 0 for side in (left, right))
    assert found['tool_call_f1'] == round(f1(precision, recall), 4)


@several
@given(CALLS, CALLS)
def test_deepeval_by_names(pred, ref):
    found = peer('deepeval', plan(pred), plan(ref))
    left = [call for i, call in enumerate(pred) if call not in pred[:i]]
    taken = (Counter(names(left)) & Counter(names(ref))).total()
    empty = float(not pred)
    assert found['tool_correctness'] == (taken / len(ref) if ref else empty)
    assert found['tool_correctness_ordered'] == (longest(names(pred), names(ref)) / len(ref) if ref else empty)
    assert found['tool_correctness_exact'] == (names(pred) == names(ref))


@several
@given(CALLS, CALLS, MODES)
def test_agentevals(pred, ref, mode):
    def fits(one, other):
        """Whether a call that was made (or stands for one) fits a golden one."""
        made, golden = one['args'], other['args']
        few, many = (made, golden) if mode == 'subset' else (golden, made)
        contained = all(key in many and many[key] == value for key, value in few.items())
        return one['name'] == other['name'] and {'exact': made == golden, 'ignore': True}.get(mode, contained)

    def covers(made, golden):
        left = list(made)
        for call in golden:
            at = next((i for i, one in enumerate(left) if fits(one, call)), None)
            if at is None:
                return False
            del left[at]
        return True

    found = peer('agentevals', plan(pred), plan(ref), tool_args_match_mode=mode)
    assert found['trajectory_superset_match'] == covers(pred, ref)
    assert found['trajectory_subset_match'] == covers(ref, pred)
    assert found['trajectory_unordered_match'] == (covers(pred, ref) and covers(ref, pred))
    strict = len(pred) == len(ref) and all(map(fits, pred, ref))
    assert found['trajectory_strict_match'] == strict


@several
@given(CALLS, CALLS)
def test_taskbench_and_mnms(pred, ref):
    def both(left, right):
        counts = len(left & right), len(left), len(right)
        return 2 * counts[0] / (counts[1] + counts[2]) if left or right else 0.0

    left, right = names(pred), names(ref)
    arguments = [{f'{call["name"]}-{key}' for call in side for key in call['args']} for side in (pred, ref)]
    values = [
        {f'{call["name"]}-{key}-{value}' for call in side for key, value in call['args'].items()}
        for side in (pred, ref)
    ]
    edges = [set(pairwise(side)) for side in (left, right)]
    total = len(left) + len(right)
    distance = 1 - 2 * longest(left, right) / total if total else 0.0
    found = peer('taskbench', plan(pred), plan(ref))
    expected = (both(set(left), set(right)), both(*edges), both(*arguments), both(*values), distance)
    assert [found[key] for key in ('node_micro_f1', 'edge_f1', 't_f1', 'v_f1', 'normalized_edit_distance')] == [
        pytest.approx(value) for value in expected
    ]
    other = peer('mnms', plan(pred), plan(ref))
    assert other['edge_f1'] == (pytest.approx(both(*edges)) if any(edges) else None)
    assert other['normalized_edit_distance'] == pytest.approx(distance)
    assert other['plan_accuracy'] == (left == right)


@several
@given(CALLS, CALLS)
def test_strands_and_acebench(pred, ref):
    def found_in_order(made, golden):
        most = 0
        for n in range(len(golden) + 1):
            most = n if in_order(made, golden[:n]) else most
        return most

    left, right, n = names(pred), names(ref), len(ref)
    strands = peer('strands', plan(pred), plan(ref))
    assert strands['exact_match_scorer'] == (sum(map(str.__eq__, left, right)) / n if n else 1)
    assert strands['in_order_match_scorer'] == (found_in_order(left, right) / n if n else 1)
    assert strands['any_order_match_scorer'] == (len(set(left) & set(right)) / n if n else 1)
    process = peer('acebench', plan(pred), plan(ref))['process_accuracy']
    assert process == (round(found_in_order(pred, ref) / n, 3) if n else 1)


def test_small_parts():
    ratio = Ratio(('hit', 'hit'), ('pred', 'ref'))
    assert ratio.keys == ('hit', 'pred', 'ref')
    assert ratio.of({'hit': 0.0, 'pred': 0.0, 'ref': 0.0}.__getitem__) == 0
    assert zero_if_nothing(PrecisionRecallF1(1, 2, 2)).f1 == 0.5
    assert (zero_if_nothing(PrecisionRecallF1(0, 0, 0)).recall, PrecisionRecallF1(0, 0, 0).recall) == (0, 1)
    assert Matches.of(CallPairs((), ())) == Matches(1, 1, 1)
