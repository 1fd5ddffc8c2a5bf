import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.metrics.outcome import DEFAULT_THRESHOLD, outcome


@pytest.mark.parametrize(
    ('solved', 'score', 'label', 'degraded', 'silent'),
    [
        (True, 1.0, 'solved', False, False),
        (True, 0.5, 'solved', False, False),  # at the threshold: in order
        (True, 0.49, 'silent degradation', True, True),
        (True, 0.0, 'silent degradation', True, True),
        (False, 1.0, 'unsolved', False, False),
        (False, 0.0, 'unsolved', True, False),
        (None, 1.0, 'unknown', False, False),
        (None, 0.0, 'unknown', True, False),
    ],
)
def test_literal_outcomes(solved, score, label, degraded, silent):
    found = outcome(solved, score, threshold=0.5)
    assert (found.solved, found.label, found.degraded, found.silent) == (solved, label, degraded, silent)
    assert (type(found.degraded), type(found.silent)) == (bool, bool)


def test_the_default_threshold_lets_one_redundant_step_in_three_pass():
    # Golden A, B, C as chains: 0.6 · sequence + 0.4 · graph, for A, X, B, C and for A, X, Y, B, C.
    one = 0.6 * 3 / 4 + 0.4 * 2 * (3 + 1) / 12
    two = 0.6 * 3 / 5 + 0.4 * 2 * (3 + 1) / 14
    assert two < DEFAULT_THRESHOLD < one
    assert not outcome(True, one).degraded
    assert outcome(True, two).degraded


def test_the_ends_of_the_threshold():
    assert not outcome(True, 0.0, threshold=0.0).degraded
    assert outcome(True, math.nextafter(1.0, 0.0), threshold=1.0).degraded
    assert not outcome(True, 1.0, threshold=1.0).degraded


@pytest.mark.parametrize('wrong', [-0.1, 1.1, math.nan, 70])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ValueError, match='`score` in'):
        outcome(True, wrong)
    with pytest.raises(ValueError, match='`threshold` in'):
        outcome(True, 0.5, threshold=wrong)


def test_a_rounding_error_is_no_wrong_number():
    assert not outcome(True, math.nextafter(1.0, 2.0), threshold=1.0).degraded
    assert outcome(True, -1e-17, threshold=0.5).degraded


@given(st.sampled_from([True, False, None]), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_degrades_no_fewer_runs(solved, score, low, high):
    low, high = min(low, high), max(low, high)
    assert outcome(solved, score, threshold=low).degraded <= outcome(solved, score, threshold=high).degraded
    assert outcome(solved, score, threshold=low).solved is solved
