"""Edit distances: literal values, a textbook reference, rapidfuzz, and the laws of direction."""

import functools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, LCSseq, Levenshtein

from opencompass_traj.metrics.sequence import (
    EditOp,
    sequence_distance,
    sequence_edit,
    sequence_similarity,
    similarity_matrix,
    soft_levenshtein,
)

MODES = ['levenshtein', 'indel']
names = st.lists(st.sampled_from(['a', 'b', 'c', 'search']), max_size=8)


def textbook(pred, ref, cost):
    """Levenshtein's recursion as it is written down."""

    @functools.cache
    def distance(i, j):
        if not i or not j:
            return i + j
        pair = distance(i - 1, j - 1) + cost(i - 1, j - 1)
        return min(pair, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(pred), len(ref))


def replay(edit, pred, ref):
    """Follow the script: it must read both sequences from start to end, and cost what it says."""
    assert [op.pred for op in edit.alignment if op.pred is not None] == list(range(len(pred)))
    assert [op.ref for op in edit.alignment if op.ref is not None] == list(range(len(ref)))
    for op, i, j in edit.alignment:
        assert (op == 'insert') == (j is None)
        assert (op == 'delete') == (i is None)
        if i is not None and j is not None:
            assert (op == 'keep') == (pred[i] == ref[j])
    return sum(op.op != 'keep' for op in edit.alignment)


@pytest.mark.parametrize(
    ('pred', 'ref', 'levenshtein', 'indel', 'redundant', 'missing'),
    [
        ('AXBC', 'ABC', 0.75, 6 / 7, 1, 0),
        ('', '', 1.0, 1.0, 0, 0),
        ('', 'AB', 0.0, 0.0, 0, 2),
        ('AB', '', 0.0, 0.0, 2, 0),
        ('ABC', 'ABC', 1.0, 1.0, 0, 0),
        ('XYZ', 'ABC', 0.0, 0.0, 0, 0),
        ('BA', 'AB', 0.0, 0.5, 0, 0),
        ('A', 'ABCD', 0.25, 0.4, 0, 3),
        ('AAAA', 'AA', 0.5, 4 / 6, 2, 0),
    ],
)
def test_values_to_hold(pred, ref, levenshtein, indel, redundant, missing):
    edit = sequence_edit(pred, ref)
    assert (edit.similarity, edit.redundant, edit.missing) == (levenshtein, redundant, missing)
    assert sequence_similarity(pred, ref, mode='indel') == indel


def test_a_roundabout_plan():
    pred = ['search_google', 'query_all_users', 'python_filter', 'query_crm_balance']
    edit = sequence_edit(pred, ['query_crm_balance'])
    assert (edit.similarity, edit.redundant, edit.distance) == (0.25, 3, 3)
    assert [op.op for op in edit.alignment] == ['insert', 'insert', 'insert', 'keep']


def test_the_script_names_what_was_done():
    assert sequence_edit('AXC', 'ABCD').alignment == (
        EditOp('keep', 0, 0),
        EditOp('replace', 1, 1),
        EditOp('keep', 2, 2),
        EditOp('delete', None, 3),
    )


def test_the_levenshtein_form_breaks_the_law_of_the_redundant_step_and_the_indel_form_keeps_it():
    golden = ['A', 'B']
    assert sequence_similarity(['B', 'X', 'Y'], golden) == 0
    assert sequence_similarity(['Z', 'B', 'X', 'Y'], golden) == 0.25
    shorter, longer = (sequence_similarity(p, golden, mode='indel') for p in (['B', 'X', 'Y'], ['Z', 'B', 'X', 'Y']))
    assert longer < shorter


@settings(deadline=None, max_examples=150)
@given(names, names)
def test_levenshtein_against_the_textbook(pred, ref):
    edit = sequence_edit(pred, ref)
    assert edit.distance == textbook(pred, ref, lambda i, j: pred[i] != ref[j]) == Levenshtein.distance(pred, ref)
    assert replay(edit, pred, ref) == edit.distance == sequence_distance(pred, ref)
    assert edit.similarity == sequence_similarity(pred, ref) == sequence_similarity(ref, pred)
    assert 0 <= edit.similarity <= 1
    assert type(edit.similarity) is float


@settings(deadline=None, max_examples=150)
@given(names, names)
def test_indel_against_rapidfuzz(pred, ref):
    edit = sequence_edit(pred, ref, mode='indel')
    assert edit.distance == Indel.distance(pred, ref) == replay(edit, pred, ref)
    assert not any(op.op == 'replace' for op in edit.alignment)
    common = LCSseq.similarity(pred, ref)
    assert edit.similarity == (2 * common / (len(pred) + len(ref)) if pred or ref else 1.0)


@settings(deadline=None, max_examples=150)
@given(names, names, st.data())
def test_indel_laws_of_direction(pred, ref, data):
    before = sequence_similarity(pred, ref, mode='indel')
    place = data.draw(st.integers(0, len(pred)))
    assert sequence_similarity([*pred[:place], 'redundant', *pred[place:]], ref, mode='indel') <= before
    kept = [op.pred for op in sequence_edit(pred, ref, mode='indel').alignment if op.op == 'keep']
    if len(kept) == len(pred) > 0:
        assert sequence_similarity(pred[1:], ref, mode='indel') < before


def test_items_are_compared_by_equality_not_by_hash():
    assert hash(-1) == hash(-2)
    assert sequence_edit([-1], [-2]).similarity == 0
    assert sequence_edit(['a'], [ord('a')]).similarity == 0


def test_long_sequences():
    rng = random.Random(5)
    pred, ref = ([f'tool{rng.randrange(20)}' for _ in range(500)] for _ in range(2))
    for mode in MODES:
        edit = sequence_edit(pred, ref, mode=mode)
        assert replay(edit, pred, ref) == edit.distance


def test_unknown_mode():
    for function in (sequence_edit, sequence_distance, sequence_similarity):
        with pytest.raises(ValueError, match="'levenshtein' or 'indel', got 'hamming'"):
            function('a', 'b', mode='hamming')


@settings(deadline=None, max_examples=80)
@given(names, names)
def test_soft_with_zeros_and_ones_is_hard(pred, ref):
    matrix = np.array([[float(a == b) for b in ref] for a in pred]).reshape(len(pred), len(ref))
    soft, hard = soft_levenshtein(matrix), sequence_edit(pred, ref)
    assert (soft.distance, soft.similarity) == (hard.distance, hard.similarity)
    assert (soft.redundant, soft.missing) == (hard.redundant, hard.missing)
    assert replay(soft, pred, ref) == soft.distance


@pytest.mark.parametrize('seed', range(60))
def test_soft_against_the_textbook(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((rng.integers(0, 7), rng.integers(0, 7)))
    soft = soft_levenshtein(matrix)
    expected = textbook(range(len(matrix)), range(matrix.shape[1]), lambda i, j: 1 - matrix[i, j])
    assert soft.distance == pytest.approx(expected, abs=1e-12)
    spent = sum(1 - matrix[op.pred, op.ref] if op.op in ('keep', 'replace') else 1 for op in soft.alignment)
    assert spent == pytest.approx(expected, abs=1e-12)
    assert type(soft.distance) is type(soft.similarity) is float
    assert 0 <= soft.similarity <= 1


def test_soft_degenerate_cases_and_identity():
    assert soft_levenshtein(np.zeros((0, 0))).similarity == 1
    assert soft_levenshtein(np.zeros((0, 3))).similarity == soft_levenshtein(np.zeros((3, 0))).similarity == 0
    matrix = np.random.default_rng(0).random((40, 40)) * 0.999
    np.fill_diagonal(matrix, 1)
    assert soft_levenshtein(matrix).similarity == 1
    assert {op.op for op in soft_levenshtein(matrix).alignment} == {'keep'}


def test_matrices_are_checked_and_not_changed():
    given_matrix = np.array([[1 + 1e-9, -1e-9]])
    assert similarity_matrix(given_matrix).tolist() == [[1.0, 0.0]]
    assert given_matrix[0, 0] > 1
    for bad in ([[1.1]], [[-0.1]], [[float('nan')]]):
        with pytest.raises(ValueError, match='similarities in'):
            soft_levenshtein(bad)
    with pytest.raises(ValueError, match='two dimensions'):
        soft_levenshtein([1.0])
