"""A gate's result as text and as JUnit XML, with whatever stands in names and reasons."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.report.gate_result import MAX_CHECKS, OUTCOMES, Check, GateResult
from opencompass_traj.report.junit import as_junit

HOSTILE = '<b>&"\'\x00\x1b[31m\u202e\ud800\ufffe]]>\n\r|`$'
CHECKS = (
    Check('', '', 'model x', 'failed', 'the run has none of this name'),
    Check('a.b', 'd', 'f1_score at least 5', 'passed', '7.00'),
    Check('a.b', 'd', 'f1_score no worse', 'not shown', 'too few samples to tell'),
    Check('c', 'd', 'same settings', 'warning', 'batch: 1, baseline 2'),
)
TEXTS = st.text(max_size=40)
RESULTS = st.builds(
    GateResult,
    st.lists(st.builds(Check, TEXTS, TEXTS, TEXTS, st.sampled_from(OUTCOMES), TEXTS), max_size=6).map(tuple),
    st.booleans(),
)


def suites(text: str) -> ElementTree.Element:
    """The parsed file, held against what readers of JUnit files expect."""
    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    assert root.tag == 'testsuites'
    for suite in root:
        assert suite.tag == 'testsuite'
        assert suite.get('name')
        for case in suite:
            assert case.tag == 'testcase'
            assert {*case.keys()} >= {'classname', 'name', 'time'}
            assert [child.tag for child in case] in (['failure'], ['skipped'], ['system-out'])
        check_counts(suite, list(suite))
    check_counts(root, [case for suite in root for case in suite])
    return root


def check_counts(element: ElementTree.Element, cases: list[ElementTree.Element]) -> None:
    assert int(element.get('tests', -1)) == len(cases)
    assert int(element.get('errors', -1)) == 0
    assert int(element.get('failures', -1)) == sum(case.find('failure') is not None for case in cases)
    assert int(element.get('skipped', -1)) == sum(case.find('skipped') is not None for case in cases)


def test_the_text_says_the_verdict_first_and_every_check_by_place() -> None:
    assert GateResult(CHECKS).text.splitlines() == [
        'gate failed: 1 failed, 1 not shown, 1 warning, 1 passed',
        '',
        'the run',
        '  failed     model x: the run has none of this name',
        '',
        'a.b on d',
        '  passed     f1_score at least 5: 7.00',
        '  not shown  f1_score no worse: too few samples to tell',
        '',
        'c on d',
        '  warning    same settings: batch: 1, baseline 2',
    ]


@pytest.mark.parametrize(
    ('checks', 'strict', 'passed', 'verdict'),
    [
        (CHECKS[1:2], False, True, 'gate passed: 1 passed'),
        (CHECKS[1:], False, True, 'gate passed: 1 not shown, 1 warning, 1 passed'),
        (CHECKS[1:3], True, False, 'gate failed: 1 not shown, 1 passed (strict: only what is shown passes)'),
        (CHECKS[3:], True, False, 'gate failed: 1 warning (strict: only what is shown passes)'),
        (CHECKS[:1], False, False, 'gate failed: 1 failed'),
        ((), False, False, 'gate failed: nothing was checked'),
    ],
)
def test_the_verdict(checks: tuple[Check, ...], strict: bool, passed: bool, verdict: str) -> None:
    result = GateResult(checks, strict)
    assert (result.passed, result.verdict) == (passed, verdict)


def test_of_many_checks_those_that_passed_are_only_counted() -> None:
    many = tuple(Check('m', f'd{i % 3}', f'rule {i}', 'passed', '1.00') for i in range(MAX_CHECKS))
    lines = GateResult((*many, CHECKS[1], CHECKS[2])).text.splitlines()
    assert len(lines) < 20
    assert lines.count(f'  {MAX_CHECKS // 3} passed') == 3
    assert '  not shown  f1_score no worse: too few samples to tell' in lines
    assert GateResult(many).text.count('1.00') == MAX_CHECKS


def test_hostile_text_is_shown_as_escapes() -> None:
    text = GateResult((Check(HOSTILE, HOSTILE * 99, HOSTILE, 'failed', HOSTILE * 999),)).text
    assert all(one.isprintable() or one == '\n' for one in text)
    assert len(text.splitlines()) == 4
    assert len(text) < 12_000
    assert '<b>&"\'\\x00\\x1b[31m\\u202e\\ud800\\ufffe]]>\\n\\r|`$' in text


def test_junit_has_a_suite_per_place_and_a_case_per_check() -> None:
    root = suites(as_junit(GateResult(CHECKS)))
    assert [suite.get('name') for suite in root] == ['run', 'a.b on d', 'c on d']
    cases = [(case.get('classname'), case.get('name'), case[0].tag) for suite in root for case in suite]
    assert cases == [
        ('run', 'model x', 'failure'),
        ('a_b.d', 'f1_score at least 5', 'system-out'),
        ('a_b.d', 'f1_score no worse', 'skipped'),
        ('c.d', 'same settings', 'skipped'),
    ]
    assert root[0][0][0].get('message') == 'the run has none of this name'
    assert root[1][1][0].get('message') == 'not shown: too few samples to tell'


def test_a_strict_gate_has_failures_where_another_skips() -> None:
    root = suites(as_junit(GateResult(CHECKS, strict=True)))
    assert (root.get('failures'), root.get('skipped')) == ('3', '0')
    assert root[2][0][0].get('type') == 'warning'


def test_an_empty_result_is_a_file_too() -> None:
    root = suites(as_junit(GateResult(())))
    assert (root.get('tests'), len(root)) == ('0', 0)


def test_what_xml_forbids_is_written_as_escapes() -> None:
    text = as_junit(GateResult((Check(HOSTILE, HOSTILE, HOSTILE, 'failed', HOSTILE),)))
    text.encode('utf-8')
    root = suites(text)
    shown = '<b>&"\'\\x00\\x1b[31m\\u202e\\ud800\\ufffe]]>\\n\\r|`$'
    assert root[0][0].get('name') == shown
    assert root[0][0][0].text == shown


@settings(max_examples=80, deadline=None)
@given(RESULTS)
def test_any_result_is_text_and_well_formed_xml(result: GateResult) -> None:
    root = suites(as_junit(result))
    assert int(root.get('tests', -1)) == len(result.checks)
    assert (int(root.get('failures', -1)) == 0 and bool(result.checks)) == result.passed
    assert as_junit(result) == as_junit(result)
    assert all(one.isprintable() or one == '\n' for one in result.text)
    assert result.text.startswith('gate passed' if result.passed else 'gate failed')
