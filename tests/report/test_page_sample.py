"""One sample as the page keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.report.page_faults import KINDS
from opencompass_traj.report.page_match import match_path
from opencompass_traj.report.page_sample import MAX_STEPS, golden_view, view_sample, with_steps
from tests.report.page_runs import row, steps

GOLDEN = steps('A', 'B', 'C', prev=[[], [0], [1]])


def view(pred: Any, golden: Any = GOLDEN, limit: int = 1_000) -> Any:
    return view_sample(row(pred, golden), limit=limit)


def kinds(found: Any) -> set[str]:
    return {kind for bit, kind in enumerate(KINDS) if found.kinds >> bit & 1}


@pytest.mark.parametrize(
    ('pred', 'strip', 'pred_looks', 'ref_looks', 'flags'),
    [
        ('ABC', 'kkk', 'kkk', 'kkk', '...'),
        ('AXBC', 'kikk', 'kikk', 'kkk', '....'),
        ('AC', 'kdk', 'kk', 'kdk', '..'),
        ('AXC', 'krk', 'krk', 'krk', '...'),
        ('CAB', 'okko', 'okk', 'kko', '...'),
        ('AAABC', 'kllkk', 'kiikk', 'kkk', '.ll..'),
        ('', 'ddd', '', 'ddd', ''),
    ],
)
def test_each_step_has_a_sign(pred: str, strip: str, pred_looks: str, ref_looks: str, flags: str) -> None:
    found = view(steps(*pred))
    assert found.strip == strip
    assert (found.detail['pred'], found.detail['ref'], found.detail['flags']) == (pred_looks, ref_looks, flags)


def test_a_swap_of_independent_steps_is_moved_and_no_fault() -> None:
    found = view(steps('B', 'A', 'C'), steps('A', 'B', 'C', prev=[[], [], [0, 1]]))
    assert set(found.strip) == {'m', 'k'}
    assert found.first is None
    assert kinds(found) == {'perfect', 'reordered'}


def test_the_first_fault_brings_the_names_that_its_sentence_needs() -> None:
    assert view(steps('A', 'X', 'C')).first == ['tool', 1, [1], [1], ['X'], ['B'], {}]
    assert view(steps('B', 'A', 'C')).first == ['order', 0, [0], [1], ['B'], ['B', 'A'], {'needs': 0}]
    golden = steps('A', args=[{'k': 1}])
    assert view(steps('A', args=[{'k': 2}]), golden).first == ['argument', 0, [0], [0], ['A'], ['A'], {'keys': ['k']}]


def test_different_arguments_are_marked_by_key() -> None:
    golden = steps('A', 'B', prev=[[], []], args=[{'k': 1, 'gone': 2}, {}])
    found = view(steps('A', 'B', args=[{'k': 3, 'new': 4}, {}]), golden)
    assert found.detail['marks'] == [[0, ['k'], ['gone'], ['new']]]
    assert found.detail['steps'][0][:2] == ['A', [['k', '3', 0], ['new', '4', 0]]]


def test_numbers_texts_and_the_raw_answer_are_kept() -> None:
    found = view('no plan ' * 200, limit=100)
    assert found.strip == 'u'
    assert found.detail['steps'] == []
    assert found.detail['raw'] == [('no plan ' * 200)[:1_000], 1_600]
    assert found.detail['about']['parse_status'] == 'unreadable'
    assert found.values['trajectory_score'] == 0
    assert 'raw' not in view(steps('A', 'B', 'C')).detail


def test_turns_count_from_one_and_errors_are_kept() -> None:
    call = [{'type': 'function', 'function': {'name': name, 'arguments': {}}} for name in 'AB']
    chat = [{'role': 'assistant', 'tool_calls': call}, {'role': 'tool', 'content': 'Error: no'}]
    written = view({'messages': chat}).detail['steps']
    assert [step[2] for step in written] == [1, 1]
    assert written[0][3] == 1


def test_long_plans_are_cut_with_their_whole_length() -> None:
    names = [f't{i}' for i in range(MAX_STEPS + 20)]
    found = view(steps(*names), steps(*names, prev=[[]] * len(names)))
    detail = found.detail
    assert detail['n'] == [MAX_STEPS + 20, MAX_STEPS + 20]
    assert len(detail['steps']) == len(detail['pred']) == len(detail['lines']) == MAX_STEPS
    assert found.strip.endswith('…')


def test_a_row_of_an_older_run_has_its_tools_by_the_alignment() -> None:
    new = row(steps('A', 'X', 'C'), GOLDEN)
    added = ('pred_steps', 'ref_steps', 'pred_edges', 'ref_edges', 'query', 'raw')
    old = {key: value for key, value in new.items() if key not in added}
    filled = with_steps(old)
    assert [step['name'] for step in filled['pred_steps']] == ['A', 'X', 'C']
    assert filled['ref_edges'] == [[0, 1], [1, 2]]
    found = view_sample(old, limit=100)
    assert found.strip == 'krk'
    assert golden_view(old, limit=100)['steps'] == [['A', []], ['B', []], ['C', []]]
    assert with_steps(new) is new
    assert 'older' in found.detail
    assert 'older' not in view_sample(new, limit=100).detail


def test_of_an_older_run_only_what_its_row_names_is_a_wrong_order() -> None:
    golden = steps('A', 'B', 'C', prev=[[], [], [0, 1]])
    added = ('pred_steps', 'ref_steps', 'pred_edges', 'ref_edges', 'query', 'raw')
    for order, expected in (('BAC', {'perfect', 'reordered'}), ('CAB', {'order'})):
        new = row(steps(*order), golden)
        old = {key: value for key, value in new.items() if key not in added}
        assert kinds(view_sample(old, limit=100)) == kinds(view_sample(new, limit=100)) == expected


def test_a_run_without_graph_numbers_is_drawn_by_its_alignment() -> None:
    one = {key: value for key, value in row(steps('A', 'C'), GOLDEN).items() if key != 'graph_pairs'}
    assert match_path(one).graph == {0: 0, 1: 2}


def test_a_row_whose_metrics_were_left_out_still_shows_both_paths() -> None:
    one = row(steps('A', 'C'), GOLDEN)
    bare = {key: one[key] for key in ('pred_steps', 'ref_steps', 'parse_status', 'sample')}
    found = view_sample(bare, limit=100)
    assert len(found.detail['lines']) == 5
    assert found.strip == 'iiddd'


@given(
    pred=st.lists(st.sampled_from('ABX'), max_size=6),
    golden=st.lists(st.sampled_from('ABC'), max_size=6),
)
@settings(max_examples=80, deadline=None)
def test_lines_looks_and_steps_fit_each_other(pred: list[str], golden: list[str]) -> None:
    one = row(steps(*pred), steps(*golden))
    detail = view_sample(one, limit=100).detail
    shown = golden_view(one, limit=100)
    assert len(detail['pred']) == len(detail['flags']) == len(detail['steps'])
    assert len(detail['ref']) == len(shown['steps'])
    assert sorted(p for p, _ in detail['lines'] if p >= 0) == list(range(len(detail['steps'])))
    assert sorted(r for _, r in detail['lines'] if r >= 0) == list(range(len(shown['steps'])))
    for place, other in detail['partner']:
        assert detail['pred'][place] == detail['ref'][other]
        assert detail['pred'][place] in 'kmo'
