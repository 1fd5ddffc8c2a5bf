import dataclasses
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj.metrics.efficiency import (
    MAX_RATIO,
    Efficiency,
    Figures,
    KnownMean,
    efficiency,
    mean_of_known,
    ratio,
)
from opencompass_traj.plan import RunRecord

AMOUNTS = st.integers(0, 10**9) | st.floats(0, 1e300, allow_nan=False)
MAYBE = st.none() | AMOUNTS
FIGURES = st.builds(Figures, MAYBE, MAYBE, MAYBE, MAYBE)
NAMES = {'step_ratio': 'steps', 'token_ratio': 'tokens', 'latency_ratio': 'latency', 'cost_ratio': 'cost'}


@pytest.mark.parametrize(
    ('value', 'budget', 'expected'),
    [
        (4, 4, 1.0),
        (6, 4, 1.5),
        (1, 4, 0.25),
        (0, 4, 0.0),
        (0.5, 0.25, 2.0),
        (None, 4, None),
        (4, None, None),
        (None, None, None),
        # A budget of nothing gives no scale, not even to who used nothing.
        (4, 0, None),
        (0, 0, None),
        (0, 0.0, None),
        (1e308, 1e-308, MAX_RATIO),
        (1e308, 1e308, 1.0),
        (5e-324, 5e-324, 1.0),
        (2 * MAX_RATIO, 1, MAX_RATIO),
    ],
)
def test_literal_ratios(value, budget, expected):
    found = ratio(value, budget)
    assert found == expected
    assert expected is None or type(found) is float


@pytest.mark.parametrize('wrong', [-1, -0.5, math.nan, math.inf, -math.inf])
def test_figures_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match='finite `value` of at least 0'):
        ratio(wrong, 1)
    with pytest.raises(ValueError, match='finite `budget` of at least 0'):
        ratio(1, wrong)
    # Also where the other figure is missing: a wrong figure is never passed over.
    with pytest.raises(ValueError, match='budget'):
        ratio(None, wrong)


def test_efficiency_against_the_golden_figures():
    pred = Figures(steps=6, tokens=900, latency=1.5, cost=0.02)
    ref = Figures(steps=4, tokens=600, latency=3.0, cost=0.01)
    assert efficiency(pred, ref) == Efficiency(1.5, 1.5, 0.5, 2.0)


def test_missing_figures_are_missing():
    assert efficiency(Figures(steps=6), Figures(steps=4, tokens=600)) == Efficiency(1.5, None, None, None)
    assert efficiency(Figures(steps=6, tokens=9), Figures(steps=4)) == Efficiency(1.5, None, None, None)
    assert efficiency(Figures(), Figures()) == Efficiency(None, None, None, None)


def test_a_stated_budget_goes_before_the_golden_figure():
    pred, ref = Figures(steps=6, tokens=900), Figures(steps=4, tokens=600)
    assert efficiency(pred, ref, budget=Figures(tokens=1800)) == Efficiency(1.5, 0.5, None, None)
    assert efficiency(pred, ref, budget=Figures()) == efficiency(pred, ref)
    # A stated 0 is a statement, and no gap that the golden figure fills.
    assert efficiency(pred, ref, budget=Figures(tokens=0)).token_ratio is None


def test_figures_of_a_recorded_run():
    record = RunRecord(solved=True, tokens=1200, latency=4.5, cost=0.5)
    assert Figures.of(3, record) == Figures(3, 1200, 4.5, 0.5)
    assert Figures.of(None, RunRecord()) == Figures()


@pytest.mark.parametrize(
    ('values', 'mean', 'known', 'total', 'share'),
    [
        ([], 0.0, 0, 0, 0.0),
        ([None, None], 0.0, 0, 2, 0.0),
        ([0.0, None], 0.0, 1, 2, 0.5),
        ([1, 2, None, 3], 2.0, 3, 4, 0.75),
        ([0.1] * 10, 0.1, 10, 10, 1.0),
    ],
)
def test_means_of_what_is_known(values, mean, known, total, share):
    found = mean_of_known(iter(values))
    assert found == KnownMean(mean, known, total)
    assert found.known_share == share
    assert (type(found.mean), type(found.known), type(found.known_share)) == (float, int, float)


@pytest.mark.parametrize('wrong', [math.nan, math.inf])
def test_a_mean_is_always_finite(wrong):
    with pytest.raises(ValueError, match='finite'):
        mean_of_known([1.0, wrong])


@given(AMOUNTS, AMOUNTS)
def test_a_ratio_is_finite_and_grows_with_what_was_used(value, budget):
    found = ratio(value, budget)
    if budget == 0:
        assert found is None
        return
    assert type(found) is float
    assert 0.0 <= found <= MAX_RATIO
    more, less = ratio(value * 2, budget), ratio(value / 2, budget)
    assert less <= found <= more
    assert found == pytest.approx(min(value / budget, MAX_RATIO))


@given(AMOUNTS.filter(bool))
def test_what_was_allowed_is_one(value):
    assert ratio(value, value) == 1.0


@given(FIGURES, FIGURES, FIGURES)
def test_each_ratio_looks_at_its_own_figure_alone(pred, ref, budget):
    found = dataclasses.asdict(efficiency(pred, ref, budget=budget))
    assert set(found) == set(NAMES)
    for key, name in NAMES.items():
        used, golden, stated = (getattr(figures, name) for figures in (pred, ref, budget))
        assert found[key] == ratio(used, golden if stated is None else stated)


@given(FIGURES, FIGURES)
def test_figures_fill_each_others_gaps(first, second):
    both = first.or_else(second)
    for name in NAMES.values():
        stated = [getattr(figures, name) for figures in (first, second) if getattr(figures, name) is not None]
        assert getattr(both, name) == (stated[0] if stated else None)
    assert first.or_else(first) == first
    assert Figures().or_else(first) == first.or_else(Figures()) == first


@given(st.lists(st.none() | st.floats(0, MAX_RATIO), max_size=20))
def test_a_mean_is_over_the_known_values_in_any_order(values):
    found = mean_of_known(values)
    known = [value for value in values if value is not None]
    assert (found.known, found.total) == (len(known), len(values))
    assert found.mean == pytest.approx(statistics.fmean(known) if known else 0.0)
    assert found == mean_of_known(values[::-1])
    # A sample that lacks the number moves no mean.
    assert mean_of_known([*values, None]).mean == found.mean
    assert 0.0 <= found.known_share <= 1.0
