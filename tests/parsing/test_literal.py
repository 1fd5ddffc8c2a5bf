"""JSON read before Python's literals only where it makes no difference."""

import ast
import json
import math
import random
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing.literal import UNREADABLE, load_literal
from opencompass_traj.plan import ParseFailure
from tests.data import shared_data

NEITHER = ParseFailure('neither a Python literal nor JSON')

# Pieces on which JSON and Python are of two minds, or nearly.
PIECES = (
    '\\/', '\\u00e9', '\\ud83d\\ude00', '\\ud83d', '\\uD83D', '\\uDE00', '\\u0000', '\\\\', '\\\\u d83d', '\\\\/',
    '\\"', "\\'", '\\n', '\\b\\f\\r\\t', '\\x41', '\\101', '\\N{DASH}', '\\d', '\n', '\t', '\x00', '\x0c', '\x1a',
    '\ufeff', '\u2028', '\u00a0', '\x85', '\ud800', 'é', 'true', 'false', 'null', 'None', 'True', 'NaN',
    'Infinity', '-Infinity', '-0', '-0.0', '0', '01', '1_0', '1.', '.5', '1e5', '1E400', '-1e999', '1e-999',
    '0x1f', '1j', '1+2j', '9' * 4299, '9' * 4301, '12345678901234567890', '""', '"a" "b"', "'a'", 'b"x"', 'r"x"',
    '"""', '#', '//', ',', ':', '[', ']', '{', '}', '(', ')', '{1: 2}', '{"a", "b"}', '{"k": 1, "k": 2}', ' ',
    '\\\n', '*', '-', '- 1', '--1', '1if 1else 2',
)  # fmt: skip


def slowly(text):
    """T-Eval's order, written out."""
    for read in (ast.literal_eval, json.loads, lambda text: json.loads(text.replace("'", '"'))):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                return read(text)
        except UNREADABLE:  # noqa: PERF203 - one reader after another
            continue
    return NEITHER


def same(one, other):
    """The same values of the same types, in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return one == other


@pytest.mark.parametrize('piece', PIECES)
@pytest.mark.parametrize('frame', ['{}', '[{}]', '["{}"]', '{{"a{}": 1}}', '[1, {}]', ' [\n {} ]', '["{}", "\\\\{}"]'])
def test_every_odd_piece_is_read_as_before(piece, frame):
    text = frame.replace('{{', '{').replace('}}', '}').replace('{}', piece)
    assert same(load_literal(text), slowly(text)), text


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=300)
@given(JSON, st.booleans(), st.lists(st.tuples(st.integers(0, 200), st.sampled_from(PIECES)), max_size=2))
def test_any_json_with_odd_pieces_is_read_as_before(value, ascii_only, pieces):
    text = json.dumps(value, ensure_ascii=ascii_only)
    for at, piece in pieces:
        text = text[:at] + piece + text[at:]
    assert same(load_literal(text), slowly(text)), text


def test_real_plans_are_read_as_before():
    plans = json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8')).values()
    rng = random.Random(0)
    for plan in plans:
        text = json.dumps(plan['ground_truth'], ensure_ascii=rng.random() < 0.5)
        for one in (text, text[: rng.randrange(len(text))], text.replace('"', "'"), text.replace('/', '\\/')):
            assert same(load_literal(one), slowly(one))


def test_python_goes_before_json_where_they_differ():
    assert load_literal('["\\/"]') == ['\\/']
    assert load_literal('["\\ud83d\\ude00"]') == ['\ud83d\ude00']
    assert load_literal('["\\\\/ \\\\ud83d"]') == ['\\/ \\ud83d']
    assert load_literal('["\\ud83d\\ude00", true]') == ['😀', True]
