"""A gate's result as JUnit XML, which CI systems show beside their own tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from opencompass_traj.plain_text import plain
from opencompass_traj.report.gate_result import MAX_LINE, MAX_NAME, Check, GateResult

_RUN: Final = 'run'


def as_junit(result: GateResult) -> str:
    r"""One suite per model and dataset, one case per check.

    A check that fails the gate is a `failure`; one that is `not shown`, or a warning, is `skipped` where the gate is
    not strict. There are no times in it, so that equal results are equal files. Characters that XML forbids, and all
    other invisible ones, stand as escapes.

    Example:
        >>> print(as_junit(GateResult((Check('m', 'd', 'f1_score at least 5', 'passed', '7.00'),))))
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="opencompass_traj gate" tests="1" failures="0" errors="0" skipped="0" time="0">
          <testsuite name="m on d" tests="1" failures="0" errors="0" skipped="0" time="0">
            <testcase classname="m.d" name="f1_score at least 5" time="0">
              <system-out>passed: 7.00</system-out>
            </testcase>
          </testsuite>
        </testsuites>
    """
    root = ElementTree.Element('testsuites', {'name': 'opencompass_traj gate', **_counts(result, result.checks)})
    suites: dict[tuple[str, str], list[Check]] = {}
    for check in result.checks:
        suites.setdefault((check.model, check.dataset), []).append(check)
    for checks in suites.values():
        name = plain(checks[0].place, limit=2 * MAX_NAME) or _RUN
        suite = ElementTree.SubElement(root, 'testsuite', {'name': name, **_counts(result, checks)})
        for check in checks:
            _case(suite, result, check)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding='unicode')


def _case(suite: ElementTree.Element, result: GateResult, check: Check) -> None:
    parts = (check.model or _RUN, check.dataset) if check.dataset else (check.model or _RUN,)
    # A dot divides a class name into packages.
    classname = '.'.join(plain(part, limit=MAX_NAME).replace('.', '_') for part in parts)
    case = ElementTree.SubElement(
        suite, 'testcase', classname=classname, name=plain(check.rule, limit=2 * MAX_NAME), time='0'
    )
    text = plain(check.text, limit=MAX_LINE)
    if result.fails(check):
        ElementTree.SubElement(case, 'failure', message=text, type=check.outcome).text = text
    elif check.outcome == 'passed':
        ElementTree.SubElement(case, 'system-out').text = f'passed: {text}'
    else:
        ElementTree.SubElement(case, 'skipped', message=f'{check.outcome}: {text}')


def _counts(result: GateResult, checks: Sequence[Check]) -> dict[str, str]:
    failures = sum(result.fails(check) for check in checks)
    skipped = sum(check.outcome != 'passed' and not result.fails(check) for check in checks)
    return {
        'tests': str(len(checks)),
        'failures': str(failures),
        'errors': '0',
        'skipped': str(skipped),
        'time': '0',
    }
