"""Golden regular expressions: what they match, which are faults, and that none of them hangs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics._golden_patterns import MAX_PATTERN_CHARS, pattern_fault, pattern_matches
from opencompass_traj.metrics.argument_rules import ArgumentRules, argument_rules
from opencompass_traj.scoring import ArgumentMatch, Reading, Scorer
from opencompass_traj.scoring.references import UnreadReferences

RULES = argument_rules({'tools': {'*': {'code': 'regex', 'tags.*': 'regex'}}})

# Patterns whose meaning RE2 and `re` share.
ATOMS = st.sampled_from(
    ['a', 'b', '.', r'\.', '[ab]', '[^a]', '[a-c]', r'\d', r'\w', r'\s', r'[\w.]', '(?:)', '^', '$']
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(''.join),
        st.tuples(inner, inner).map('(?:{0[0]}|{0[1]})'.format),
        st.tuples(inner, st.sampled_from(['?', '*', '+', '{2}', '{1,3}', '*?', '+?'])).map('({0[0]}){0[1]}'.format),
    ),
    max_leaves=5,
)


@settings(max_examples=500)
@given(PATTERNS, st.text('ab c.1_', max_size=6))
def test_matches_what_python_matches(pattern, text):
    assert pattern_fault(pattern) == ''
    assert pattern_matches(pattern, text) is (re.compile(pattern).fullmatch(text) is not None)


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_a_pattern_or_has_a_fault(pattern, text):
    matches = pattern_matches(pattern, text)
    assert matches in {True, False}
    if pattern_fault(pattern):
        assert not matches


@given(st.text(max_size=40))
def test_an_escaped_text_matches_itself(text):
    assert pattern_matches(
        ''.join(f'\\x{{{ord(one):x}}}' for one in text if not '\ud800' <= one <= '\udfff'), text
    ) is (not any('\ud800' <= one <= '\udfff' for one in text))


@pytest.mark.parametrize(
    'pattern',
    [
        '(a+)+$',
        '(a*)*b',
        '(a|a)*b',
        '(a|aa)+$',
        '(.*a){25}b',
        'a*' * 400 + 'b',
        '(a?){200}a{200}b',
        r'([a-z]+)*\d',
        r'^(\w+\s?)*$',
    ],
)
@pytest.mark.parametrize('text', ['a' * 999 + '!', 'a ' * 499 + '!', 'a' * 1_000])
def test_no_pattern_backtracks(pattern, text):
    """Python's `re` does not come back from these."""
    assert pattern_fault(pattern) == ''
    assert pattern_matches(pattern, text) is (pattern in {'(a+)+$', '(a|aa)+$', r'^(\w+\s?)*$'} and '!' not in text)


@pytest.mark.parametrize(
    ('pattern', 'fault'),
    [
        (7, 'expected a pattern, got a value of the type int'),
        (None, 'of the type NoneType'),
        (['a'], 'of the type list'),
        (r'\p{L}{1000}', 'too large'),
        ('a' * (MAX_PATTERN_CHARS + 1), 'of at most 1,000 characters, got 1,001'),
        ('(', r"RE2's syntax, got '\(': missing \)"),
        ('a(?!b)', 'invalid perl operator'),
        ('a\ud800', r"lone surrogates, got 'a.ud800'"),
        (r'(a)\1', r'invalid escape sequence: \\1'),
        ('((a{30}){30}){30}', 'invalid repetition size'),
        ('\\' * 999, 'trailing'),
    ],
)
def test_what_is_no_pattern_matches_nothing_and_says_why(pattern, fault, capfd):
    assert re.search(fault, pattern_fault(pattern))
    assert not pattern_matches(pattern, 'a')
    assert capfd.readouterr() == ('', '')


def test_a_number_too_long_to_be_written_is_named():
    assert pattern_fault(10**5000) == pattern_fault(7)


def test_faults_say_where():
    args = {'code': '(', 'tags': ['a+', 7], 'free': '(', 'deep': {'code': '[a-z]'}}
    code, tag = RULES.golden_faults(args, tool='book')
    assert code.startswith("argument code: expected a pattern of RE2's syntax, got '('")
    assert tag == 'argument tags.1: expected a pattern, got a value of the type int'
    assert RULES.golden_faults('{"code": "("}', tool='book') == (code,)
    assert ArgumentRules().golden_faults(args, tool='book') == ()


def golden(*codes):
    return {'ground_truth': [{'name': 'book', 'args': {'code': code}, 'prev': []} for code in codes]}


def test_all_unusable_patterns_are_named_before_a_number_is_given():
    references = [golden('[A-Z]+'), golden('x', '('), golden('('), {'ground_truths': [golden('y')['ground_truth']] * 2}]
    answers = ['[{"name": "book", "args": {"code": "AB"}}]'] * len(references)
    scorer = Scorer([ArgumentMatch()], reading=Reading(rules=RULES))
    with pytest.raises(ValueError, match='2 of 4 golden plans cannot be used') as caught:
        scorer.score(answers, UnreadReferences(references))
    assert "sample '1': step 1: argument code: expected a pattern" in str(caught.value)
    assert "sample '2': step 0: argument code: expected a pattern" in str(caught.value)
    several = {'ground_truths': [golden('(', '(', '(', 'x')['ground_truth'], golden(*'(((((')['ground_truth']]}
    with pytest.raises(ValueError, match='1 of 1 golden plans cannot be used') as caught:
        scorer.score(answers[:1], UnreadReferences([several]))
    assert 'golden plan 1: step 1: argument code' in str(caught.value)
    assert '; and 3 more\n' in str(caught.value)
    # With the other rules they are texts.
    assert Scorer([ArgumentMatch()]).score(answers, UnreadReferences(references)).means['args_exact_rate'] == 0
    lenient = scorer.score(answers, UnreadReferences(references, strict=False))
    assert [row['args_exact_rate'] for row in lenient.details] == [1, 0, 0, 0]
