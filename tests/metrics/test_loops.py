import copy
import itertools
import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

from opencompass_traj.metrics._calls import MAX_NEAR_CHARS, MAX_VALUES, read_calls
from opencompass_traj.metrics.loops import MAX_PLACES, Loops, find_loops
from opencompass_traj.plan import Plan, Step
from tests.data import shared_data


def calls(*rows):
    """A plan from tool names, or tuples of a name, arguments and possibly whether the call failed."""
    steps = []
    for i, row in enumerate(rows):
        name, args, failed = (row, {}, None) if isinstance(row, str) else (*row, None)[:3]
        steps.append(Step(i, name, args, failed=failed))
    return Plan(tuple(steps))


def word(letters, failing=()):
    return Plan(tuple(Step(i, letter, failed=i in failing) for i, letter in enumerate(letters)))


# -- independent reference -------------------------------------------------------------------------------------------


def slow_equal(a, b):
    return a.name == b.name and json.dumps(a.args, sort_keys=True) == json.dumps(b.args, sort_keys=True)


def slow_near(a, b, near):
    """For flat arguments: keys equal, texts alike, all else equal."""
    if a.name != b.name or sorted(a.args) != sorted(b.args):
        return False
    for key, left in a.args.items():
        right = b.args[key]
        if type(left) is not type(right):
            return False
        if not isinstance(left, str):
            if left != right:
                return False
            continue
        plain = [' '.join(text.lower().split()) for text in (left, right)]
        same_digits = re.findall('[0-9]+', left) == re.findall('[0-9]+', right)
        if plain[0] != plain[1] and not (same_digits and fuzz.ratio(*plain) / 100 >= near - 1e-12):
            return False
    return True


def slow_repeats(steps, start, period, near):
    """How many times the block of calls at `start` is made in a row; 0 if it could start one call earlier."""
    n = len(steps)
    if start > 0 and start - 1 + period < n and slow_near(steps[start - 1], steps[start - 1 + period], near):
        return 0
    repeats = 1
    while True:
        block = steps[start + (repeats - 1) * period : start + repeats * period]
        following = steps[start + repeats * period : start + (repeats + 1) * period]
        if len(following) < period or not all(slow_near(a, b, near) for a, b in zip(block, following, strict=True)):
            return repeats
        repeats += 1


def slow_loops(steps, *, near=0.9, min_repeats=2, max_period=16, max_retries=3):
    """Every block at every place, written out; returns the kind of each call and the places."""
    kinds, places = [None] * len(steps), []
    for period, start in itertools.product(range(1, max_period + 1), range(len(steps))):
        repeats = slow_repeats(steps, start, period, near)
        counted = []
        for block, k in itertools.product(range(1, repeats if repeats >= min_repeats else 1), range(period)):
            here = start + block * period + k
            if kinds[here] is None:
                twin, last = steps[here - period], steps[start + block * period - 1]
                retry = (twin.failed or last.failed) and block <= max_retries
                counted.append(here)
                kinds[here] = 'retry' if retry else 'exact' if slow_equal(steps[here], twin) else 'near'
        if counted:
            places.append((start, period, repeats, any(kinds[i] != 'retry' for i in counted)))
    return kinds, places


def check_against_reference(plan, **options):
    found = find_loops(plan, **options)
    kinds, places = slow_loops(plan.steps, **options)
    assert found.exact_repeats == kinds.count('exact')
    assert found.near_repeats == kinds.count('near')
    assert found.retries == kinds.count('retry')
    assert [(p.start, p.period, p.repeats, p.repeated > 0) for p in found.places] == sorted(places)
    assert found.longest_loop == max((period * repeats for _, period, repeats, blind in places if blind), default=0)
    assert found.cycles == sum(period > 1 and blind for _, period, _, blind in places)
    recurring = [
        i
        for i, kind in enumerate(kinds)
        if kind is None and any(slow_equal(plan.steps[i], plan.steps[j]) for j in range(i))
    ]
    assert found.recurring_steps == len(recurring)
    return found


# -- literal tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('letters', 'repeated', 'longest', 'cycles', 'recurring', 'places'),
    [
        ('', 0, 0, 0, 0, []),
        ('A', 0, 0, 0, 0, []),
        ('ABC', 0, 0, 0, 0, []),
        ('AA', 1, 2, 0, 0, [(0, 1, 2)]),
        ('AAAA', 3, 4, 0, 0, [(0, 1, 4)]),
        ('XAAAY', 2, 3, 0, 0, [(1, 1, 3)]),
        ('ABAB', 2, 4, 1, 0, [(0, 2, 2)]),
        ('ABABAB', 4, 6, 1, 0, [(0, 2, 3)]),
        # Half a block more is no repetition of the block; the call itself has been made before.
        ('ABABA', 2, 4, 1, 1, [(0, 2, 2)]),
        ('XABCABCY', 3, 6, 1, 0, [(1, 3, 2)]),
        # Made again after other work: no loop, and said apart.
        ('ABA', 0, 0, 0, 1, []),
        ('ABCA', 0, 0, 0, 1, []),
        ('ABCBDA', 0, 0, 0, 2, []),
        ('AABB', 2, 2, 0, 0, [(0, 1, 2), (2, 1, 2)]),
        # Two repeats of A inside a longer block that is made twice: each call counts once.
        ('AABAAB', 4, 6, 1, 0, [(0, 1, 2), (0, 3, 2), (3, 1, 2)]),
    ],
)
def test_literal_values(letters, repeated, longest, cycles, recurring, places):
    found = find_loops(word(letters))
    assert found.n_calls == len(letters)
    assert (found.repeated_steps, found.exact_repeats, found.near_repeats) == (repeated, repeated, 0)
    assert (found.longest_loop, found.cycles, found.recurring_steps) == (longest, cycles, recurring)
    assert [(place.start, place.period, place.repeats) for place in found.places] == places
    assert found.has_loop is (repeated > 0)
    assert found.repeated_share == (repeated / len(letters) if letters else 0.0)
    assert found.n_places == len(places)


def test_a_place_names_its_tools():
    (place,) = find_loops(word('XABAB')).places
    assert (place.names, place.calls, place.exact, place.repeated, place.retries) == (('A', 'B'), 4, True, 2, 0)


@pytest.mark.parametrize(
    ('left', 'right', 'kind'),
    [
        ({'q': 'weather'}, {'q': 'weather'}, 'exact'),
        ({'a': 1, 'b': 2}, {'b': 2, 'a': 1}, 'exact'),
        ({'n': 1}, {'n': 1.0}, 'exact'),
        ({'n': 0.0}, {'n': -0.0}, 'exact'),
        ({'n': (1, 2)}, {'n': [1, 2]}, 'exact'),
        ({'n': {1, 2}}, {'n': {2, 1}}, 'exact'),
        ('free text', 'free text', 'exact'),
        (None, None, 'exact'),
        ({'n': float('nan')}, {'n': float('nan')}, 'exact'),
        ({'n': 10**6000}, {'n': 10**6000}, 'exact'),
        ({'q': 'the weather in Lyon'}, {'q': 'the weather in  lyon '}, 'near'),
        ({'q': 'the weather in Lyon today'}, {'q': 'the weather in Lyon, today'}, 'near'),
        ('the weather in Lyon today', 'weather in Lyon today', 'near'),
        ({'a': {'b': ['hotels in Berlin']}}, {'a': {'b': ['hotels in Berlin?']}}, 'near'),
        # Another number, date, order or page is another question, however alike the texts are.
        ({'q': 'a long list of fine hotels', 'page': 1}, {'q': 'a long list of fine hotels', 'page': 2}, None),
        ({'q': 'a long list of fine hotels, page 1'}, {'q': 'a long list of fine hotels, page 2'}, None),
        ({'date': '2024-05-20', 'city': 'Lyon'}, {'date': '2024-05-21', 'city': 'Lyon'}, None),
        # One short value differs; all of the text would hide it.
        ({'from': 'JFK', 'note': 'x' * 200}, {'from': 'LAX', 'note': 'x' * 200}, None),
        ({'q': 'weather'}, {'q': 'weather', 'unit': None}, None),
        ({'q': 'weather'}, {'query': 'weather'}, None),
        ({'n': 1}, {'n': True}, None),
        ({'n': 1}, {'n': '1'}, None),
        ({'n': None}, {'n': False}, None),
        ({'n': [1, 2]}, {'n': [2, 1]}, None),
        ({'n': 10**6000}, {'n': 10**6000 + 1}, None),
        ({'q': 'cats'}, {'q': 'dogs'}, None),
        ({}, None, None),
    ],
)
def test_when_two_calls_are_equal(left, right, kind):
    found = find_loops(calls(('T', left), ('T', right)))
    assert (found.exact_repeats, found.near_repeats) == {'exact': (1, 0), 'near': (0, 1), None: (0, 0)}[kind]
    assert find_loops(calls(('T', right), ('T', left))) == found
    assert not find_loops(calls(('T', left), ('U', right))).has_loop
    assert [place.exact for place in found.places] == ([kind == 'exact'] if kind else [])


def test_cycles_may_be_near():
    found = find_loops(
        calls(
            ('search', {'q': 'cheap hotels in Lyon'}),
            ('open', {'n': 1}),
            ('search', {'q': 'cheap hotels in Lyon!'}),
            ('open', {'n': 1}),
        )
    )
    assert (found.exact_repeats, found.near_repeats, found.cycles) == (1, 1, 1)
    assert not found.places[0].exact


def test_paging_through_a_list_is_no_loop():
    found = find_loops(calls(*[('list_orders', {'user': 'mia', 'page': page}) for page in range(30)]))
    assert (found.repeated_steps, found.recurring_steps) == (0, 0)


def test_near_is_an_option():
    plan = calls(('T', {'q': 'abcdefghij'}), ('T', {'q': 'abcdefghxy'}))  # 16 of 20 letters
    assert find_loops(plan, near=0.8).near_repeats == 1
    assert find_loops(plan, near=0.81).near_repeats == 0
    assert find_loops(plan, near=0).near_repeats == 1
    assert find_loops(calls(('T', {'q': 'A b'}), ('T', {'q': 'a  b'})), near=1).near_repeats == 1


def test_long_texts_are_compared_but_for_case_and_space_alone():
    long = 'x' * MAX_NEAR_CHARS
    assert find_loops(calls(('T', long), ('T', long + 'y'))).repeated_steps == 0
    assert find_loops(calls(('T', long + 'y'), ('T', long + ' Y'))).repeated_steps == 0
    assert find_loops(calls(('T', long + ' y'), ('T', long + '  Y'))).near_repeats == 1


def test_what_lies_beyond_the_bound_of_values_is_not_compared():
    many = list(range(MAX_VALUES + 5))
    assert find_loops(calls(('T', many), ('T', [*many[:-1], 'other']))).exact_repeats == 1
    assert find_loops(calls(('T', many), ('T', ['other', *many[1:]]))).repeated_steps == 0
    endless = []
    endless.append(endless)
    assert find_loops(calls(('T', endless), ('T', endless))).exact_repeats == 1


def test_arguments_of_any_depth():
    deep = 1
    for _ in range(5_000):
        deep = [deep]
    assert find_loops(calls(('T', deep), ('T', deep))).exact_repeats == 1


# -- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('letters', 'failing', 'repeated', 'retries', 'longest'),
    [
        ('AA', (), 1, 0, 2),
        ('AA', (0,), 0, 1, 0),
        ('AA', (1,), 1, 0, 2),
        ('AA', (0, 1), 0, 1, 0),
        # The retry went well, and still it is made again.
        ('AAA', (0,), 1, 1, 3),
        # Three tries again may be patience; then it is a loop, errors or not.
        ('AAAA', (0, 1, 2, 3), 0, 3, 0),
        ('AAAAAA', (0, 1, 2, 3, 4, 5), 2, 3, 6),
        # The block ended in an error, so all of it is done again.
        ('ABAB', (1,), 0, 2, 0),
        # Its first call failed, and yet the second, which did not, is made again.
        ('ABAB', (0,), 1, 1, 4),
        ('ABAB', (2, 3), 2, 0, 4),
        ('ABA', (0,), 0, 0, 0),
    ],
)
def test_retries_are_no_blind_repeats(letters, failing, repeated, retries, longest):
    found = check_against_reference(word(letters, failing))
    assert (found.repeated_steps, found.retries, found.longest_loop) == (repeated, retries, longest)
    assert found.has_loop is (repeated > 0)
    assert sum(place.retries for place in found.places) == retries
    assert sum(place.repeated for place in found.places) == repeated


def test_a_corrected_call_after_an_error_is_a_retry():
    plan = calls(('book', {'city': 'Berlin, Germny'}, True), ('book', {'city': 'Berlin, Germany'}, False))
    assert (find_loops(plan).retries, find_loops(plan).repeated_steps) == (1, 0)


def test_an_error_is_only_what_was_recorded():
    assert find_loops(calls(('A', {}, None), ('A', {}, None))).repeated_steps == 1
    assert find_loops(calls(('A', {}, False), ('A', {}, False))).repeated_steps == 1


def test_how_many_retries_pass_is_an_option():
    plan = word('AAAAA', range(5))
    assert [find_loops(plan, max_retries=most).repeated_steps for most in range(6)] == [4, 3, 2, 1, 0, 0]


# -- options ---------------------------------------------------------------------------------------------------------


def test_how_many_times_make_a_loop_is_an_option():
    assert find_loops(word('AAXBBB'), min_repeats=3).places[0].start == 3
    assert find_loops(word('ABAB'), min_repeats=3).repeated_steps == 0
    # What is no loop then is still a call made before.
    assert find_loops(word('ABAB'), min_repeats=3).recurring_steps == 2


def test_the_longest_block_is_an_option():
    letters = 'ABCDE' * 2
    assert find_loops(word(letters), max_period=5).longest_loop == 10
    assert find_loops(word(letters), max_period=4).longest_loop == 0


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('near', -0.1),
        ('near', 1.1),
        ('near', float('nan')),
        ('min_repeats', 1),
        ('max_period', 0),
        ('max_retries', -1),
    ],
)
def test_options_out_of_range(option, value):
    with pytest.raises(ValueError, match=option):
        find_loops(word('AA'), **{option: value})


# -- parallel calls --------------------------------------------------------------------------------------------------


def turns(*groups):
    return [Step(0, name, args, turn=turn) for turn, group in enumerate(groups) for name, args in group]


def test_calls_of_one_turn_have_no_order():
    a, b = ('A', {'q': 'x'}), ('B', {})
    for groups in ([(a, b), (b, a)], [(a, b), (a, b)], [(b, a), (a, b)]):
        found = find_loops(Plan(tuple(turns(*groups))))
        assert (found.repeated_steps, found.cycles, found.longest_loop) == (2, 1, 4)
    one_by_one = Plan(tuple(turns((a,), (b,), (b,), (a,))))
    assert (find_loops(one_by_one).repeated_steps, find_loops(one_by_one).recurring_steps) == (1, 1)


def test_the_order_within_a_turn_changes_no_count():
    rng = random.Random(3)
    for _ in range(300):
        groups = [
            [
                Step(0, rng.choice('AB'), {'q': rng.choice(['hello world', 'hello  world', 1])}, None, turn, failed)
                for failed in rng.choices([True, False, None], k=rng.randint(1, 3))
            ]
            for turn in range(rng.randint(1, 5))
        ]
        plan = Plan(tuple(itertools.chain(*groups)))
        for group in groups:
            rng.shuffle(group)
        counts = [
            (f.exact_repeats, f.near_repeats, f.retries, f.recurring_steps, f.longest_loop, f.n_places)
            for f in (find_loops(plan), find_loops(Plan(tuple(itertools.chain(*groups)))))
        ]
        assert counts[0] == counts[1]


def test_places_point_into_the_plan():
    steps = turns((('B', {}), ('A', {})), (('A', {}), ('B', {})))
    (place,) = find_loops(Plan(tuple(steps))).places
    assert (place.start, place.names) == (1, ('A', 'B'))
    assert read_calls(Plan(tuple(steps))).origin == (1, 0, 2, 3)


# -- properties ------------------------------------------------------------------------------------------------------


def test_words_without_a_loop_are_the_square_free_words():
    # The number of ternary square-free words of each length is known (OEIS A006156).
    counts = [
        sum(not find_loops(word(letters)).has_loop for letters in itertools.product('ABC', repeat=n)) for n in range(8)
    ]
    assert counts == [1, 3, 6, 12, 18, 30, 42, 60]


@pytest.mark.parametrize(('alphabet', 'length'), [('AB', 9), ('ABC', 6)])
def test_every_short_word_against_brute_force(alphabet, length):
    for n in range(length + 1):
        for letters in itertools.product(alphabet, repeat=n):
            check_against_reference(word(letters))


ARGS = st.sampled_from(
    [
        {},
        {'q': 'cheap hotels'},
        {'q': 'cheap hotel'},
        {'q': 'Cheap  hotels'},
        {'q': 'hotel 1'},
        {'q': 'hotel 2'},
        {'n': 1},
    ]
)
PLANS = st.lists(st.tuples(st.sampled_from('AB'), ARGS, st.sampled_from([True, False, None])), max_size=14)


@settings(max_examples=300, deadline=None)
@given(PLANS, st.sampled_from([0.5, 0.9, 1.0]), st.integers(2, 3), st.integers(1, 5), st.integers(0, 3))
def test_random_plans_against_brute_force(rows, near, min_repeats, max_period, max_retries):
    options = {'near': near, 'min_repeats': min_repeats, 'max_period': max_period, 'max_retries': max_retries}
    check_against_reference(calls(*rows), **options)


@settings(max_examples=200, deadline=None)
@given(PLANS)
def test_laws(rows):
    plan = calls(*rows)
    before = copy.deepcopy(plan)
    found = find_loops(plan)
    assert plan == before
    assert find_loops(plan) == found
    assert 0 <= found.repeated_steps + found.retries + found.recurring_steps <= max(0, len(plan) - 1)
    assert 0.0 <= found.repeated_share < 1.0
    assert type(found.repeated_share) is float
    assert all(type(getattr(found, key)) is int for key in Loops.__slots__ if key != 'places')
    for place in found.places:
        assert 0 <= place.start < len(plan)
        assert (type(place.start), type(place.exact)) == (int, bool)
        assert place.repeated + place.retries <= place.calls - place.period
    # Errors excuse calls, and do nothing else.
    blind = find_loops(calls(*[(name, args) for name, args, _ in rows]))
    assert blind.repeated_steps == found.repeated_steps + found.retries
    assert (blind.recurring_steps, blind.n_places) == (found.recurring_steps, found.n_places)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from('ABC'), min_size=1, max_size=6), st.integers(2, 5))
def test_a_block_made_several_times_is_a_loop_of_all_its_calls(block, times):
    found = find_loops(word(block * times))
    assert found.longest_loop >= len(block) * times
    assert found.repeated_steps >= len(block) * (times - 1)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_arguments_equal_their_copy(args):
    assert find_loops(calls(('T', args), ('T', copy.deepcopy(args)))).exact_repeats == 1


# -- bounds ----------------------------------------------------------------------------------------------------------


def test_long_plans_and_bounded_output():
    rng = random.Random(1)
    n = 20_000
    found = find_loops(Plan(tuple(Step(i, rng.choice('AB')) for i in range(n))))
    assert found.n_calls == n
    assert found.n_places > len(found.places) == MAX_PLACES
    assert max(place.calls for place in found.places) == found.longest_loop
    assert list(found.places) == sorted(found.places, key=lambda place: (place.start, place.period))
    assert find_loops(Plan(tuple(Step(i, 'A') for i in range(n)))).longest_loop == n


# -- real runs -------------------------------------------------------------------------------------------------------


def test_real_runs_hold_no_false_loop():
    """In tau-bench's airline runs GPT-4o looks at one flight after another; it never repeats a call at once."""
    total = recurring = 0
    for line in shared_data('tau_bench/gpt_4o_airline.jsonl').read_text(encoding='utf-8').splitlines():
        functions = [call['function'] for m in json.loads(line)['messages'] for call in m.get('tool_calls') or ()]
        steps = [Step(i, f['name'], json.loads(f['arguments'])) for i, f in enumerate(functions)]
        found = find_loops(Plan(tuple(steps)))
        assert not found.has_loop
        total += found.n_calls
        recurring += found.recurring_steps
    assert (total, recurring) == (577, 6)
