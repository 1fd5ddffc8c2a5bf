"""The comment for a pull request: what it says, and that nothing in it is markup but ours."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from opencompass_traj.plain_text import plain
from opencompass_traj.report.gate import Gate
from opencompass_traj.report.gate_result import Check, GateResult
from opencompass_traj.report.known import known_number, known_samples, worst_rows
from opencompass_traj.report.markdown import MAX_ROWS, as_comment, code, table
from opencompass_traj.report.names import chosen, hint, known_metrics
from opencompass_traj.report.runs import Run, TaskResult, read_run
from tests.report.made_runs import RIGHT, WRONG, failed, run, task, write_run

HOSTILE = (
    '<img src=x onerror=1> [a](http://b.c) **x** @user #1 | `y` ``z`` \\| </details> <!-- www.evil.com \x00\u202e\n# h'
)
METRICS = ['trajectory_score', 'redundant_steps']


@pytest.fixture(scope='module')
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    folder = tmp_path_factory.mktemp('runs')
    old = write_run(folder / 'old', {'a': RIGHT, 'b': WRONG}, repeat=3)
    new = write_run(folder / 'new', {'a': {**RIGHT, 'chain': WRONG['chain']}, 'b': RIGHT}, repeat=3)
    return read_run(old), read_run(new)


def rows_of(text: str) -> list[list[str]]:
    """The cells of all tables, as a markdown reader sees them."""
    tokens = MarkdownIt('commonmark').enable('table').parse(text)
    rows: list[list[str]] = []
    for before, token in itertools.pairwise(tokens):
        if before.type == 'tr_open':
            rows.append([])
        if before.type in {'td_open', 'th_open'}:
            rows[-1].append(''.join(child.content for child in token.children or ()))
    return rows


def kinds(text: str) -> set[str]:
    """The kinds of everything that a markdown reader, with links on sight, finds in a text."""
    tokens = MarkdownIt('gfm-like', {'linkify': False}).parse(text)
    return {child.type for token in tokens for child in [token, *(token.children or ())]}


# ---------------------------------------------------------------- what it says


def test_a_run_alone(runs: tuple[Run, Run]) -> None:
    text = as_comment(runs[1], METRICS)
    assert text.startswith('### Trajectories\n\n| model | samples | `trajectory_score` | `redundant_steps` (less is')
    rows = rows_of(text)
    assert [row[0] for row in rows[:3]] == ['model', 'b', 'a']
    assert rows[1][1] == '9'
    assert re.fullmatch(r'100\.0 \[\d+\.\d, 100\.0\]', rows[1][2])
    assert 'The worst samples, by trajectory_score' in text
    worst = rows[3:]
    assert worst[0] == ['model', 'sample', 'value', 'what went wrong']
    assert worst[1][:2] == ['a', 'chain-0']
    assert worst[1][3] == 'redundant find, redundant search, missing book'
    assert len(worst) == 1 + 5


def test_a_run_beside_a_baseline_with_a_gate(runs: tuple[Run, Run]) -> None:
    old, new = runs
    result = Gate(baseline=old, no_worse_than=1, min={'trajectory_score': 99}).check(new)
    text = as_comment(new, METRICS, baseline=old, result=result, worst=2)
    assert text.startswith('### Trajectories: ❌ gate failed: 1 failed, 1 not shown, 2 passed\n')
    rows = rows_of(text)
    by_model = {row[0]: row for row in rows[:3]}
    assert ' · +' in by_model['b'][2]
    assert '**+' in text
    assert by_model['a'][2].partition(' · ')[2].startswith('-')
    checks = [row for row in rows if row[0].startswith(('❌', '⚠'))]
    assert [(row[0], row[1], row[2]) for row in checks] == [
        ('❌ failed', 'a on trips', 'trajectory_score at least 99'),
        ('⚠️ not shown', 'a on trips', 'trajectory_score no more than 1 worse'),
    ]
    lost = [row for row in rows if row[1].startswith('chain')]
    assert [row[:2] for row in lost] == [['a', 'chain-0'], ['a', 'chain-1']]
    assert lost[0][2].endswith(' after 100.00')
    assert 'The samples that lost the most, by trajectory_score' in text


def test_nothing_lost_names_no_samples(runs: tuple[Run, Run]) -> None:
    old = runs[0]
    assert '<details>' not in as_comment(old, METRICS, baseline=old)
    assert '<details>' not in as_comment(old, METRICS, worst=0)
    good = replace(old, tasks=old.tasks[:1])
    assert as_comment(good, METRICS, baseline=good).count(' · no change |') == len(METRICS)
    passed = Gate(baseline=replace(good, work_dir=Path('elsewhere')), strict=True).check(good)
    text = as_comment(good, METRICS, baseline=good, result=passed)
    assert text.startswith('### Trajectories: ✅ gate passed: 1 passed')
    assert '❌' not in text


def test_tasks_without_a_result_and_several_datasets() -> None:
    made = run(
        task('m', 'x', trajectory_score=[0.5]), task('n', 'x', trajectory_score=[0.9]), task('m', 'y', other=[1.0]),
        failed('n', 'y', 'CUDA | out of `memory`'),
    )  # fmt: skip
    text = as_comment(made, ['trajectory_score'])
    rows = rows_of(text)
    assert rows[0] == ['model', 'dataset', 'samples', 'trajectory_score']
    assert [row[:2] for row in rows[1:4]] == [['n', 'x'], ['m', 'x'], ['m', 'y']]
    assert rows[3][3] == '–'
    assert '- `n` on `y`: `` CUDA \\x7c out of `memory` ``' in text


@pytest.mark.parametrize(
    ('row', 'said'),
    [
        ({'parse_status': 'unreadable', 'parse_reason': 'no calls'}, 'cannot be read: `no calls`'),
        ({'parse_status': 'unreadable'}, 'cannot be read: `no reason is known`'),
        ({}, 'the steps are right'),
        ({'alignment': [{'op': 'keep', 'pred_name': 'a', 'ref_name': 'a'}]}, 'the steps are right'),
        (
            {
                'alignment': [
                    {'op': 'insert', 'pred_name': 'a', 'ref_name': None},
                    {'op': 'replace', 'pred_name': 'x', 'ref_name': 'b'},
                    {'op': 'delete', 'pred_name': None, 'ref_name': 'a'},
                ]
            },
            'moved `a`, redundant `x`, missing `b`',
        ),
        (
            {'alignment': [{'op': 'insert', 'pred_name': 'a|b', 'ref_name': None}] * 3},
            'redundant `a\\x7cb` ×3',
        ),
        (
            {'alignment': [{'op': 'insert', 'pred_name': f't{i}', 'ref_name': None} for i in range(6)]},
            'redundant `t0`, redundant `t1`, redundant `t2`, redundant `t3` and 2 more',
        ),
    ],
)
def test_what_went_wrong_in_a_sample(row: dict[str, Any], said: str) -> None:
    one = task(trajectory_score=[0.5])
    one = replace(one, rows=[{**one.rows[0], **row}])
    assert rows_of(as_comment(run(one), ['trajectory_score']))[-1][-1] == said.replace('`', '')


@pytest.mark.parametrize(('metrics', 'worst'), [([], 5), (['a'], -1)])
def test_wrong_arguments(metrics: list[str], worst: int) -> None:
    with pytest.raises(ValueError, match='expected a metric, and `worst` of at least 0'):
        as_comment(run(), metrics, worst=worst)


def test_a_run_without_results_is_a_comment_too() -> None:
    assert as_comment(run(), ['f1_score']) == '### Trajectories'


# ---------------------------------------------------------------- hostile text


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('', '–'),
        ('  ', '–'),
        ('a', '`a`'),
        ('a|b', '`a\\x7cb`'),
        ('`', '`` ` ``'),
        ('a``b`c', '```a``b`c```'),
        ('x' * 99, f'`{"x" * 59}…`'),
        ('<b>&amp;', '`<b>&amp;`'),
        ('a\nb', '`a\\nb`'),
    ],
)
def test_code_spans(text: str, shown: str) -> None:
    assert code(text) == shown


@given(st.text(max_size=80))
def test_any_text_is_one_code_span_in_its_cell(text: str) -> None:
    made = table(['a', 'b'], [[code(text), 'end']])
    tokens = MarkdownIt('commonmark').enable('table').parse(made)
    cells = [token for token in tokens if token.type == 'inline']
    assert len(cells) == 4
    children = [(child.type, child.content) for child in cells[2].children or ()]
    shown = plain(text, limit=60).replace('|', '\\x7c').strip()
    assert children == ([('code_inline', shown)] if shown else [('text', '–')])
    assert cells[3].content == 'end'


def test_hostile_names_stay_text() -> None:
    row = {'alignment': [{'op': 'insert', 'pred_name': HOSTILE, 'ref_name': None}]}
    one = task(HOSTILE, HOSTILE, samples=[HOSTILE], trajectory_score=[0.5])
    one = replace(one, rows=[{**one.rows[0], **row}])
    made = run(one, failed(HOSTILE, 'x', HOSTILE))
    result = GateResult((Check(HOSTILE, HOSTILE, HOSTILE, 'failed', HOSTILE),))
    text = as_comment(made, ['trajectory_score'], result=result)
    assert not kinds(text) & {'link_open', 'image', 'html_inline', 'em_open', 's_open'}
    html = MarkdownIt('commonmark').enable('table').render(text)
    assert '<img' not in html
    assert html.count('<details>') == html.count('</details>') == 1
    assert html.count('<h') == 1
    assert all(one.isprintable() or one in '\n\ufe0f' for one in text)


def test_a_hostile_metric_stays_text() -> None:
    name = '<b>&"'
    one = TaskResult('m', 'd', {name: 1.0}, {}, [{'sample': 's', name: 1.0}])
    text = as_comment(run(one), [name])
    assert '<summary>The worst samples, by &lt;b&gt;&amp;&quot;</summary>' in text


def test_the_comment_keeps_within_githubs_limit() -> None:
    long = 'x`' * 400
    tasks = [task(f'{long}{i}', long, trajectory_score=[0.1] * 3, samples=[long * 2] * 3) for i in range(120)]
    broken = [failed(f'{long}{i}', 'e', long * 9) for i in range(120)]
    result = GateResult(tuple(Check(long, long, f'{long}{i}', 'failed', long * 9) for i in range(300)))
    text = as_comment(run(*tasks, *broken), ['trajectory_score'], result=result, worst=50)
    assert len(text) < 65_536
    assert f'{120 - MAX_ROWS} more results are left out.' in text
    assert '260 more checks are left out.' in text
    assert f'- and {120 - MAX_ROWS} more' in text


# ---------------------------------------------------------------- names and numbers


def test_names_that_were_asked_for() -> None:
    assert chosen('model', [], ['a', 'b']) == ['a', 'b']
    assert chosen('model', ['b', 'b'], ['a', 'b']) == ['b']
    with pytest.raises(ValueError, match="the run has no model 'planer'; did you mean 'planner'"):
        chosen('model', ['planer'], ['planner', 'x'])
    assert hint('zzz', [f'n{i}' for i in range(12)]).endswith('n9 and 2 more')
    assert hint('zzz', []) == ''


def test_a_hint_does_not_compare_books() -> None:
    """Near names are looked for among short ones: two of a megabyte would take hours."""
    found = hint('x' * 10**6, ['y' * 10**6, 'x' * 199])
    assert found == f'; did you mean {"x" * 199!r}?'
    assert len(hint('z', ['y' * 10**6])) < 300


def test_metrics_that_were_asked_for() -> None:
    made = run(task(redundant_steps=[1.0]), task('n', trajectory_score=[1.0]))
    assert known_metrics(made, []) == ['trajectory_score']
    assert known_metrics(run(task(redundant_steps=[1.0])), []) == ['redundant_steps']
    assert known_metrics(made, ['redundant_steps']) == ['redundant_steps']
    with pytest.raises(ValueError, match="the run has no metric 'redundant'"):
        known_metrics(made, ['redundant'])
    with pytest.raises(ValueError, match='the run has no results'):
        known_metrics(run(failed()), [])


def test_the_worst_rows_come_first_and_unknown_values_do_not() -> None:
    one = task(trajectory_score=[0.5, None, 0.1, 0.9, 0.1], redundant_steps=[1, 2, 3, 4, None])
    assert [row['sample'] for row in worst_rows(one, 'trajectory_score', 3)] == ['s2', 's4', 's0']
    assert [row['sample'] for row in worst_rows(one, 'redundant_steps', 2)] == ['s3', 's2']
    assert worst_rows(one, 'trajectory_score', 0) == []
    assert worst_rows(one, 'unknown', 5) == []


def test_known_numbers(tmp_path: Path) -> None:
    write_run(tmp_path, {'m': RIGHT})
    found = read_run(tmp_path).task('m', 'trips')
    assert found is not None
    assert known_number(found, 'trajectory_score') == pytest.approx(100)
    assert found.numbers['silent_degradation_rate'] == 0
    assert known_number(found, 'silent_degradation_rate') is None
    assert known_number(found, 'no_such') is None
    assert known_samples(found, 'step_ratio') == (3, 3)
    assert known_samples(TaskResult('m', 'd', {'cost_ratio': 0.0, 'cost_known_rate': 0.0}), 'cost_ratio') == (0, 1)
