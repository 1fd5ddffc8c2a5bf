"""Calls written as code."""

import keyword

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing.call_text import NAME, parse, parse_call, parse_whole, recognises, whole_calls
from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.plan import ParseFailure, Trajectory


def steps(text):
    reading = parse(text)
    assert isinstance(reading, Trajectory), reading
    assert reading.format == NAME == 'calls'
    assert [step.id for step in reading.plan.steps] == list(range(len(reading.plan)))
    assert all(step.prev is None and step.turn is None for step in reading.plan.steps)
    return [(step.name, step.args) for step in reading.plan.steps]


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('f()', {}),
        ('f(a=1, b="x")', {'a': 1, 'b': 'x'}),
        ('f(1, "x")', [1, 'x']),
        ('f(1, b=2)', {'args': [1], 'b': 2}),
        ('f(a=true, b=false, c=null, d=None, e=True)', {'a': True, 'b': False, 'c': None, 'd': None, 'e': True}),
        ('f(a=[1, {"x": None}], b=(1, 2))', {'a': [1, {'x': None}], 'b': [1, 2]}),
        ('f(a=-1.5)', {'a': -1.5}),
        ('f(a=x, b=g(1), c=1 + 1)', {'a': 'x', 'b': 'g(1)', 'c': '1 + 1'}),
        ('f(a=b"x", c={1, 2}, d=1j)', {'a': 'b"x"', 'c': '{1, 2}', 'd': '1j'}),
        ('f(**{"a": 1})', {'**': {'a': 1}}),
        ('f(*xs)', ['*xs']),
        ('f(a=f"{x}")', {'a': 'f"{x}"'}),
        ('f(a=lambda: 1)', {'a': 'lambda: 1'}),
        ('f(a="""two\nlines""")', {'a': 'two\nlines'}),
        ('f(a="里昂")', {'a': '里昂'}),
        ('f(a=__import__("os").system("echo"))', {'a': '__import__("os").system("echo")'}),
    ],
)
def test_arguments(text, expected):
    assert steps(text) == [('f', expected)]


AB = [('a', {'x': 1}), ('m.b', ['y'])]


@pytest.mark.parametrize(
    'text',
    [
        '[a(x=1), m.b("y")]',
        '(a(x=1), m.b("y"))',
        'a(x=1), m.b("y")',
        'a(x=1); m.b("y")',
        'a(x=1)\nm.b("y")',
        'a(x=1)\n\n\nm.b("y")\n',
        '[a(x=1),\n m.b("y"),\n]',
        '```python\na(x=1)\nm.b("y")\n```',
        '```tool_code\n[a(x=1), m.b("y")]\n```',
        'r = a(x=1)\nother = m.b("y")',
        'r = await a(x=1)\nm.b("y")',
        'a(\n  x=1,\n)\nm.b(\n  "y"\n)',
        '# first\na(x=1)  # then\nm.b("y")',
        'Sure:\na(x=1)\nand\nm.b("y")\nDone.',
        '1. a(x=1)\n2. m.b("y")',
        '- a(x=1);\n- m.b("y").',
        'Step 1: a(x=1)\nStep 2: m.b("y")',
        'Action 1: #E1 = a(x=1)\nAction 2: #E2 = m.b("y")',
        '步骤1：a(x=1)\n步骤2：m.b("y")。',
        'Sure:\n[a(x=1), m.b("y")]\nDone.',
        '  `a(x=1)`\n  `m.b("y")`',
    ],
)
def test_ways_of_writing_two_calls(text):
    assert steps(text) == AB
    assert recognises(text) or text.startswith(('#', '('))


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('get-weather(city="Lyon")', [('get-weather', {'city': 'Lyon'})]),
        ('/v1/find(city="Lyon")', ParseFailure('no calls in the answer')),
        ('Maps/find(city="Lyon")', [('Maps/find', {'city': 'Lyon'})]),
        ('find(New York)', [('find', 'New York')]),
        ('find(city=New York)', [('find', 'city=New York')]),
        ('find(a)(b)', ParseFailure('no calls in the answer')),
        ('see (1)', ParseFailure('no calls in the answer')),
        ('Use find(1) now', ParseFailure('no calls in the answer')),
        ('[1, 2]', ParseFailure('no calls in the answer')),
        ('x = 1', ParseFailure('no calls in the answer')),
        ('', ParseFailure('no calls in the answer')),
        ('Done (finally)', ParseFailure('no calls in the answer')),
        ('find("里" , a)', [('find', ['里', 'a'])]),
        ('1(2)', ParseFailure('no calls in the answer')),
    ],
)
def test_lines_that_are_no_python(text, expected):
    assert (parse(text) if isinstance(expected, ParseFailure) else steps(text)) == expected


@pytest.mark.parametrize(
    ('text', 'expected', 'dropped'),
    [
        ('[a(x=1), m.b("y"), c(', AB, ("cut off: 'c('",)),
        ('[a(x=1), m.b("y"), c(z="(), ', AB, ("cut off: 'c(z=\"()'",)),
        ('[a(x=1), m.b("y")', AB, ("cut off: ''",)),
        ('[a(x=1), m.b(g(2), ', AB[:1], ("cut off: 'm.b(g(2)'",)),
    ],
)
def test_a_list_that_is_cut_off(text, expected, dropped):
    assert steps(text) == expected
    assert parse(text).dropped == dropped


def test_nothing_is_evaluated(tmp_path):
    target = tmp_path / 'made'
    text = f'open({str(target)!r}, "w"); f(x=open({str(target)!r}, "w"))'
    assert [name for name, _ in steps(text)] == ['open', 'f']
    assert not target.exists()


@pytest.mark.parametrize('value', [None, 3, [], {}, 'x' * (MAX_CHARS + 1)])
def test_what_is_no_text_or_too_long(value):
    assert isinstance(parse(value), ParseFailure)
    assert not recognises(value)


@pytest.mark.parametrize(
    'text', ['(' * 5000, 'f(' * 5000, '-' * 5000 + '1', 'f' + '.a' * 50_000 + '()', 'f(' + '[' * 3000 + '])']
)
def test_deep_text_is_no_error(text):
    assert isinstance(parse(text), ParseFailure | Trajectory)


def test_many_lines():
    assert len(parse('f()\n' * 1000 + 'so be it').plan) == 1000


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('f(1); g()', [('f', [1]), ('g', {})]),
        ('f', None),
        ('f() + g()', None),
        ('if x: f()', None),
        ('f()()', None),
        ('', []),
    ],
)
def test_whole_calls(text, expected):
    assert whole_calls(text) == expected
    assert isinstance(parse_whole(text), Trajectory) == bool(expected)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('f(1)', ('f', [1])),
        (' - f(a=1);', ('f', {'a': 1})),
        ('f(1) or g(2)', None),
        ('f (1)', None),
        ('f(1), g(2)', None),
        ('f', None),
        ('x' * 30_000 + '()', None),
    ],
)
def test_parse_call(text, expected):
    assert parse_call(text) == expected


identifiers = st.from_regex(r'[a-z][a-z0-9_]{0,8}', fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
calls = st.tuples(
    st.lists(identifiers, min_size=1, max_size=3).map('.'.join),
    st.dictionaries(identifiers, literals, max_size=3) | st.lists(literals, min_size=1, max_size=3),
)


def written(call):
    name, args = call
    inner = ', '.join(f'{key}={value!r}' for key, value in args.items()) if isinstance(args, dict) else repr(args)[1:-1]
    return f'{name}({inner})'


@given(st.lists(calls, min_size=1, max_size=4), st.sampled_from(['\n', '; ', ', ', 'list']))
@settings(max_examples=200, deadline=None)
def test_round_trip(given_calls, between):
    texts = list(map(written, given_calls))
    text = '[' + ', '.join(texts) + ']' if between == 'list' else between.join(texts)
    assert steps(text) == given_calls


parts = st.sampled_from([*'f()[]=,"\'\n\r 1.*;`#\\\x00\ud800里', 'x y', 'f(', 'lambda: '])


@given(st.lists(parts, max_size=30).map(''.join))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_value(text):
    reading = parse(text)
    recognises(text)
    if isinstance(reading, Trajectory):
        assert 0 < len(reading.plan) <= text.count('(')
