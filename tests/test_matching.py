"""How alike two steps are, held against the formula written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.embedding import TextVectors
from opencompass_traj.matching import MatchOptions, step_similarity, step_texts, text_similarity
from opencompass_traj.plan import Plan, Step
from tests.conftest import ExactEncoder, HashedEncoder


class Table:
    """Vectors from a table."""

    name = 'table'

    def __init__(self, **rows: list[float]) -> None:
        self.rows = rows

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([self.rows[text] for text in texts], dtype=np.float32)


def known(encoder: object, *texts: str) -> TextVectors:
    vectors = TextVectors(encoder)  # type: ignore[arg-type]
    vectors.add(texts)
    return vectors


def cosine(a: list[float], b: list[float]) -> float:
    """The cosine, slowly."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ({'name_weight': -1}, 'expected `name_weight` of at least 0, got -1'),
        ({'name_weight': math.nan}, 'expected `name_weight` of at least 0, got nan'),
        ({'args_weight': math.inf}, 'expected `args_weight` of at least 0, got inf'),
        ({'match_threshold': 1.7}, r'expected `match_threshold` in \[0, 1\], got 1.7'),
        ({'match_threshold': math.nan}, r'expected `match_threshold` in \[0, 1\], got nan'),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        MatchOptions(**options)


def test_the_defaults_are_tevals() -> None:
    options = MatchOptions()
    assert (options.name_weight, options.args_weight, options.match_threshold) == (0.75, 0.25, 0.7)


def test_the_texts_of_a_step_are_its_name_and_the_text_of_its_arguments() -> None:
    plan = Plan((Step(0, 'search', {'q': '慕尼黑', 'n': 2}), Step(1, 'book', 'as text'), Step(2, 'end')))
    assert step_texts(plan) == (['search', 'book', 'end'], ["{'q': '慕尼黑', 'n': 2}", 'as text', '{}'])


def test_text_similarity_by_hand() -> None:
    table = Table(east=[2, 0], north=[0, 3], between=[1, 1], west=[-1, 0], null=[0, 0])
    vectors = known(table, *table.rows)
    found = text_similarity(['east', 'between'], ['east', 'north', 'between', 'west', 'null'], vectors)
    half = 1 / math.sqrt(2)
    assert found == pytest.approx(np.array([[1, 0, half, 0, 0], [half, half, 1, 0, 0]]), abs=1e-12)
    assert found[0, 0] == found[1, 2] == 1


def test_equal_texts_are_exactly_alike_whatever_their_vectors() -> None:
    vectors = known(HashedEncoder(), 'abc', 'abd', '')
    assert np.diag(text_similarity(['abc', 'abd', ''], ['abc', 'abd', ''], vectors)).tolist() == [1.0, 1.0, 1.0]
    assert known(Table(null=[0.0, 0.0]), 'null')[['null']].tolist() == [[0.0, 0.0]]
    assert text_similarity(['null'], ['null'], known(Table(null=[0.0, 0.0]), 'null'))[0, 0] == 1


def test_different_texts_with_the_same_vector_never_pass_1() -> None:
    table = Table(a=[0.1, 0.7, 0.3], b=[0.2, 1.4, 0.6])
    found = text_similarity(['a'], ['b'], known(table, 'a', 'b'))
    assert found[0, 0] <= 1
    assert found[0, 0] == pytest.approx(1)


@pytest.mark.parametrize(('rows', 'columns'), [(0, 0), (0, 2), (2, 0)])
def test_no_steps_make_an_empty_table(rows: int, columns: int) -> None:
    vectors = known(ExactEncoder(), 'a', '{}')
    pred, ref = Plan.of(*['a'] * rows), Plan.of(*['a'] * columns)
    assert step_similarity(pred, ref, vectors, MatchOptions()).shape == (rows, columns)


def test_step_similarity_by_hand() -> None:
    pred = Plan((Step(0, 'search', {'q': 1}), Step(1, 'book', {'q': 1})))
    ref = Plan((Step(0, 'search', {'q': 1}), Step(1, 'search', {'q': 2}), Step(2, 'pay', {'q': 1})))
    vectors = known(ExactEncoder(), 'search', 'book', 'pay', "{'q': 1}", "{'q': 2}")
    assert step_similarity(pred, ref, vectors, MatchOptions()).tolist() == [[1, 0.75, 0.25], [0.25, 0, 0.25]]
    other = MatchOptions(name_weight=0.5, args_weight=2)
    assert step_similarity(pred, ref, vectors, other).tolist() == [[2.5, 0.5, 2], [2, 0, 2]]


names = st.text(alphabet='abcd_', min_size=1, max_size=8)
plans = st.lists(st.tuples(names, st.dictionaries(names, st.integers(0, 9), max_size=2)), max_size=5).map(
    lambda drawn: Plan(tuple(Step(number, name, args) for number, (name, args) in enumerate(drawn)))
)


@settings(max_examples=60, deadline=None)
@given(plans, plans)
def test_step_similarity_is_the_formula(pred: Plan, ref: Plan) -> None:
    encoder = HashedEncoder(64)
    texts = [text for plan in (pred, ref) for column in step_texts(plan) for text in column]
    vectors = known(encoder, *texts)
    options = MatchOptions()
    found = step_similarity(pred, ref, vectors, options)
    assert found.shape == (len(pred), len(ref))
    for i, a in enumerate(pred.steps):
        for j, b in enumerate(ref.steps):
            parts = [
                1.0 if x == y else max(0.0, cosine(*(encoder.encode([text])[0].tolist() for text in (x, y))))
                for x, y in ((a.name, b.name), (str(a.args), str(b.args)))
            ]
            assert found[i, j] == pytest.approx(0.75 * parts[0] + 0.25 * parts[1], abs=1e-9)
    turned = step_similarity(ref, pred, vectors, options).T
    assert turned == pytest.approx(found, abs=1e-12)
