"""Texts fit for the page: bounded, visible, and safe inside a script element."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.report.page_text import MAX_LEAVES, ascii_json, cut, leaves, number, visible
from opencompass_traj.scoring import rows

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('plain text, 中文 and é', 'plain text, 中文 and é'),
        ('tab\tand\nline', 'tab\tand\nline'),
        ('a\u202eb', 'a⟦U+202E⟧b'),
        ('\x00', '⟦U+0000⟧'),
        ('\ud800', '⟦U+D800⟧'),
        ('\u200b\ufeff\u2066', '⟦U+200B⟧⟦U+FEFF⟧⟦U+2066⟧'),
        ('\U000e0041', '⟦U+E0041⟧'),
        ('', ''),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, expected: str) -> None:
    assert visible(text) == expected


@given(ANY_TEXT)
def test_nothing_unseen_is_left_and_utf8_can_hold_it(text: str) -> None:
    shown = visible(text)
    shown.encode('utf-8')
    kept = [one for one in shown if one not in '\n\t\r']
    assert not any(unicodedata.category(one) in {'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'} for one in kept)


@pytest.mark.parametrize(
    ('text', 'limit', 'expected'),
    [
        ('', 1, ''),
        ('abc', 3, 'abc'),
        ('abcd', 3, ['abc', 4]),
        ('ab… (98 of 100 characters left out)', 99, ['ab', 100]),
        ('ab… (98 of 100 characters left out)', 1, ['a', 100]),
        ('ab… (98 of 100 characters left out) c', 99, 'ab… (98 of 100 characters left out) c'),
    ],
)
def test_a_cut_text_says_how_long_it_is(text: str, limit: int, expected: Any) -> None:
    assert cut(text, limit) == expected


def test_the_note_of_a_row_is_the_one_that_is_read() -> None:
    assert cut(rows.cut('x' * 123_456, 1_000), 5_000) == ['x' * 1_000, 123_456]


@pytest.mark.parametrize(
    ('args', 'expected'),
    [
        ({}, []),
        (None, []),
        ('', []),
        ([], []),
        ('free text', [['', 'free text', 1]]),
        ({'a': 1, 'b': 'x'}, [['a', '1', 0], ['b', 'x', 1]]),
        ({'a': {'b': [True, None]}}, [['a.b.0', 'true', 0], ['a.b.1', 'null', 0]]),
        ({'a': {}, 'b': []}, [['a', '{}', 0], ['b', '[]', 0]]),
        ({'a': 'long text'}, [['a', 'long', 1, 9]]),
    ],
)
def test_arguments_are_single_values_with_their_places(args: Any, expected: list[Any]) -> None:
    assert leaves(args, limit=4 if args == {'a': 'long text'} else 100) == expected


def test_arguments_are_bounded_in_number_and_depth() -> None:
    many = leaves({str(i): i for i in range(200)}, limit=10)
    assert len(many) == MAX_LEAVES + 1
    assert many[-1] == [None, 200 - MAX_LEAVES]
    deep: Any = 'end'
    for _ in range(60):
        deep = {'k': deep}
    [leaf] = leaves(deep, limit=20)
    assert leaf[0] == '.'.join('k' * 8)
    assert len(leaf[1]) == 20


@given(JSON, st.integers(1, 50))
def test_leaves_are_always_bounded_text(value: Any, limit: int) -> None:
    for path, text, kind, *whole in leaves(value, limit=limit):
        assert len(path) <= 200
        assert len(text) <= limit
        assert kind in {0, 1}
        assert not whole or whole[0] > limit


@pytest.mark.parametrize(
    ('value', 'expected'),
    [(0.5, 0.5), (1, 1), (3.0, 3), (-0.00001, 0), (1 / 3, 0.3333), (True, None), ('1', None), (None, None)],
)
def test_numbers_keep_four_decimals(value: Any, expected: Any) -> None:
    assert number(value) == expected
    assert type(number(value)) is type(expected)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf, 10**400])
def test_what_is_no_finite_number_is_none(value: Any) -> None:
    assert number(value) is None


@given(JSON)
def test_json_comes_back_and_cannot_end_its_element(value: Any) -> None:
    text = ascii_json([value])
    assert json.loads(text) == [value]
    assert text.isascii()
    assert not set('<>&') & set(text)
