"""Every case of the peers' own tests, and of their executed code, that a preset stands for: the same value.

`NO_PRESET` lists the metrics, and `NOT_AS_RUN` (by their notes) the cases, that no preset reproduces, with the reason;
`CRASHES` what a preset gives where the peer stops with an error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from opencompass_traj.plan import Plan
from opencompass_traj.scoring.peers import ToolCallMatch
from tests.data import shared_data
from tests.peers.compare import peer, plan, scored

TOLERANCE = 6e-4  # The cases are written with three to six digits.
MNMS_KEYS = ('normalized_edit_distance', 'edge_f1', 'plan_accuracy')
Case = Mapping[str, Any]


def calls(case: Case) -> tuple[Plan, Plan]:
    return plan(case['pred']), plan(case['gold'])


def one_key(legacy: str, key: str, **fixed: Any) -> Callable[[Case], Any]:
    return lambda case: peer(legacy, *calls(case), **fixed, **case.get('params', {}))[key]


def azure_counts(case: Case) -> dict[str, float]:
    found = peer('azure', *calls(case))
    return {key: found[f'{key}_score'] for key in ('precision', 'recall', 'f1')}


def taskbench(case: Case) -> dict[str, float]:
    sides = []
    for side in (case['pred'], case['gold']):
        names = [node['name'] for node in side['nodes']]
        # The links of these cases are those of neighbouring nodes.
        assert side['links'] == [list(pair) for pair in pairwise(names)]
        sides.append(plan(side['nodes'], [(i, i + 1) for i in range(len(names) - 1)]))
    return dict(peer('taskbench', *sides, tools=list('abcdefghxyz')))


def mnms(case: Case) -> dict[str, float]:
    found = peer('mnms', *calls(case))
    return {key: found[key] if found[key] is None else round(100 * found[key], 2) for key in found if key in MNMS_KEYS}


def worfeval(kind: str) -> Callable[[Case], Any]:
    def compute(case: Case) -> dict[str, float]:
        sides = []
        for side in (case['pred'], case['gold']):
            inner = [(i - 1, j - 1) for i, j in side['edges'] if i > 0 and j < len(side['nodes']) - 1]
            sides.append(plan(side['nodes'][1:-1], inner))
        found = peer('worfeval', *sides)
        return {key: found[f'{key.removesuffix("_score")}_{kind}'] for key in ('precision', 'recall', 'f1_score')}

    return compute


def teval(case: Case) -> dict[str, float]:
    return dict(peer('teval', *calls(case), match_threshold=0.7))


def parallel(case: Case) -> float:
    return scored(ToolCallMatch(), *calls(case))['exact_match']


BY_METRIC: dict[str, Callable[[Case], Any]] = {
    '(requested) parallel calls': parallel,
    'ToolCallAccuracy.flexible_order': one_key('ragas', 'tool_call_accuracy_flexible_order'),
    'ToolCallAccuracy.strict_order': one_key('ragas', 'tool_call_accuracy'),
    'ToolCallF1': one_key('ragas', 'tool_call_f1'),
    'ToolCorrectness.consider_ordering': one_key('deepeval', 'tool_correctness_ordered'),
    'ToolCorrectness.default': one_key('deepeval', 'tool_correctness'),
    'ToolCorrectness.default+INPUT_PARAMETERS': one_key('deepeval', 'tool_correctness', input_parameters=True),
    'ToolCorrectness.exact_match': one_key('deepeval', 'tool_correctness_exact'),
    'WorFEval.f1_chain': worfeval('chain'),
    'WorFEval.f1_graph': worfeval('graph'),
    'acebench.process_accuracy': one_key('acebench', 'process_accuracy'),
    'bfcl._is_subsequence_unordered': one_key('bfcl', 'subsequence_unordered'),
    'mnms.ned_edge_planacc': mnms,
    'strands.any_order_match_scorer': one_key('strands', 'any_order_match_scorer'),
    'strands.exact_match_scorer': one_key('strands', 'exact_match_scorer'),
    'strands.in_order_match_scorer': one_key('strands', 'in_order_match_scorer'),
    'task_navigation_efficiency.any_order_match': one_key('azure', 'task_navigation_efficiency_any_order_match'),
    'task_navigation_efficiency.exact_match': one_key('azure', 'task_navigation_efficiency'),
    'task_navigation_efficiency.in_order_match': one_key('azure', 'task_navigation_efficiency_in_order_match'),
    'task_navigation_efficiency.precision_recall_f1': azure_counts,
    'taskbench.node_edge_ned_arg': taskbench,
    'teval.plan.bertscore_match': teval,
    'tool_trajectory_avg_score.ANY_ORDER': one_key('adk', 'tool_trajectory_avg_score_any_order'),
    'tool_trajectory_avg_score.EXACT': one_key('adk', 'tool_trajectory_avg_score'),
    'tool_trajectory_avg_score.IN_ORDER': one_key('adk', 'tool_trajectory_avg_score_in_order'),
    'trajectory_strict_match': one_key('agentevals', 'trajectory_strict_match'),
    'trajectory_subset_match': one_key('agentevals', 'trajectory_subset_match'),
    'trajectory_superset_match': one_key('agentevals', 'trajectory_superset_match'),
    'trajectory_unordered_match': one_key('agentevals', 'trajectory_unordered_match'),
}

NO_PRESET = {
    'gta.tool_precision_per_category': 'by category of tools, and above 1 where a tool is asked for more than once',
    'tool_parameter_match': 'a proposal that Google ADK has not released; `argument_recall` is that number',
}
NOT_AS_RUN = {
    'INTENDED value': 'what a change of deepeval that is not merged would give; other cases have what 4.3.1 gives',
    'cyclic_gold': 'a golden plan with a cycle: our reader refuses it, and names the steps',
}
# Where the peer crashes: what its documentation, or its code for the next smaller case, implies.
ZERO = {'precision': 0.0, 'recall': 0.0, 'f1_score': 0.0}
CRASHES = {
    'WorFEval.f1_chain': ZERO,
    'WorFEval.f1_graph': ZERO,
    'acebench.process_accuracy': 1.0,
    'strands.exact_match_scorer': 1.0,
    'teval.plan.bertscore_match': ZERO,
}


def value_in_place_of_a_crash(case: Case) -> Any:
    """What we give where the peer stops with an error."""
    gold, pred, metric = case['gold'], case['pred'], case['metric']
    if metric.startswith('task_navigation_efficiency'):
        # Its three checks would say this of an empty golden list, which it refuses.
        return float(not pred) if metric.endswith('exact_match') else 1.0
    if metric.startswith('taskbench'):
        # scikit-learn's 0 for 0/0: no edge, or no node, is on either side.
        lengths = len(gold['nodes']), len(pred['nodes'])
        return {'node_micro_f1': 0.0, 'edge_f1': 0.0, 'normalized_edit_distance': float(max(lengths) > 0)}
    return CRASHES[metric]


def all_cases() -> list[Case]:
    return json.loads(shared_data('peers/cases.json').read_text('utf-8'))


def check(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert {key: found[key] for key in expected} == {
            key: value if value is None else pytest.approx(value, abs=TOLERANCE) for key, value in expected.items()
        }
    else:
        assert found == pytest.approx(float(expected), abs=TOLERANCE)


def test_every_case_is_reproduced_or_listed():
    done = Counter()
    for case in all_cases():
        metric, expected = case['metric'], case['expected']
        if metric in NO_PRESET or case['note'].startswith(tuple(NOT_AS_RUN)):
            done['not applicable'] += 1
            continue
        crashed = isinstance(expected, str) and expected.startswith('error:')
        done['crash' if crashed else 'value'] += 1
        try:
            check(BY_METRIC[metric](case), value_in_place_of_a_crash(case) if crashed else expected)
        except AssertionError as error:
            raise AssertionError(f'case {case["id"]} of {metric} ({case["note"]}): {error}') from error
    # A rule that no case meets would hide one.
    assert set(done) == {'value', 'crash', 'not applicable'}
    assert done['not applicable'] <= len(NOT_AS_RUN) + 8
    assert done['value'] > 9 * done['crash']


def test_no_exception_to_the_rule_is_out_of_use():
    cases = all_cases()
    metrics = {case['metric'] for case in cases}
    assert all(any(case['note'].startswith(note) for case in cases) for note in NOT_AS_RUN)
    assert set(NO_PRESET) <= metrics
    assert not set(NO_PRESET) & set(BY_METRIC)


def test_a_cyclic_golden_plan_is_refused_with_its_step():
    with pytest.raises(ValueError, match='close a cycle'):
        peer('worfeval', plan('ab'), plan('ab', [(0, 1), (1, 0)]))
