"""A few texts under names, as most arguments are: read and compared by short cuts, as the long ways would."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj import edges
from opencompass_traj.limits import Limits
from opencompass_traj.parsing import bounds, teval
from opencompass_traj.plan import Plan, Step, Trajectory

VALUES = st.one_of(
    st.text(alphabet='a1 é', max_size=4),
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1.5, float('nan'), 'HUGE', [1], {'b': 'x'}, {1, 2}, b'1', 2j, ()]),
)
KEYS = st.one_of(st.sampled_from(['a', 'b', 'c']), st.sampled_from([1, None, 'HUGE', (1, 'a')]))
ARGS = st.one_of(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from(['x', None, []]))


def with_huge_numbers(args):
    """Python writes no number of so many digits, so that no strategy can hold one."""
    if not isinstance(args, dict):
        return args
    return {10**5000 if key == 'HUGE' else key: 10**5000 if one == 'HUGE' else one for key, one in args.items()}


def text_of(value):
    """With types, so that 1 and True differ; numbers too long to be written come as their size."""
    if isinstance(value, dict):
        return [(text_of(key), text_of(one)) for key, one in value.items()]
    return f'{value.bit_length()} bits' if isinstance(value, int) and value > 10**100 else f'{type(value)} {value!r}'


@settings(max_examples=300, deadline=None)
@given(ARGS, st.integers(1, 4))
def test_bounds_are_the_same_by_the_short_cut(args, most):
    args = with_huge_numbers(args)
    found = Trajectory(Plan((Step(0, 'f', args),)), 'teval')
    limits = Limits(argument_values=most)
    short = bounds.bounded(found, limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, 'is_flat', lambda _: False)
        long = bounds.bounded(found, limits)
    assert text_of(short.plan.steps[0].args) == text_of(long.plan.steps[0].args)
    assert short.dropped == long.dropped
    assert (short is found) == (long is found)


@settings(max_examples=300, deadline=None)
@given(ARGS)
def test_records_are_read_the_same_by_the_short_cut(args):
    args = with_huge_numbers(args)
    record = {'id': 3, 'name': 'f', 'args': args, 'prev': [1, '2']}
    short = teval.parse_prediction([record], prompt_type='json')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(teval, 'is_flat', lambda _: False)
        long = teval.parse_prediction([record], prompt_type='json')
    assert type(short) is type(long)
    if isinstance(short, Plan):
        assert short.steps[0].args is long.steps[0].args is args
        assert (short.names, short.steps[0].prev) == (long.names, long.steps[0].prev) == (('f',), (1, 2))
    else:
        assert short == long


@pytest.mark.parametrize('doubled', [False, True])
def test_dependencies_on_earlier_steps_are_found_at_once(doubled, monkeypatch):
    rng = random.Random(4)
    plans = []
    for _ in range(300):
        size = rng.randrange(1, 7)
        ids = [rng.choice([i, str(i)]) if not doubled else rng.randrange(3) for i in range(size)]
        plans.append(
            Plan(
                tuple(
                    Step(one, 'f', prev=tuple(rng.choice([*ids, 7, '1']) for _ in range(rng.randrange(3))))
                    for one in ids
                )
            )
        )
    found = [edges.predicted_edges(plan, golden_has_graph=True) for plan in plans]
    at_once = [edges._edges_to_earlier(plan) is not None for plan in plans]
    monkeypatch.setattr(edges, '_edges_to_earlier', lambda _: None)
    assert found == [edges.predicted_edges(plan, golden_has_graph=True) for plan in plans]
    assert 10 < sum(at_once) < 290
