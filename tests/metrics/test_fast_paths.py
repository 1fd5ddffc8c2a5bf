"""Every short cut of the metrics against the long way that it saves."""

import random
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, Levenshtein

from opencompass_traj.metrics import _argument_values, _calls, _mapping, _mapping_ties, causal, loops, poset, sequence
from opencompass_traj.metrics._argument_values import largest_matching, read_value
from opencompass_traj.metrics._downsets import bits
from opencompass_traj.metrics._identical_arguments import count_identical
from opencompass_traj.metrics._mapping_inputs import Edges, adjacency, mask_of, precedence
from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.metrics.arguments import ArgumentTable, argument_match
from opencompass_traj.metrics.dag import graph_match, order_match
from opencompass_traj.metrics.effects import effects
from opencompass_traj.metrics.partial_order import partial_order_similarity
from opencompass_traj.plan import Plan, Step, StepGraph
from tests.metrics.mapping_reference import random_graph

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([1.0, 0.5, -0.0, float('nan'), float('inf'), 10**400, (1, 2), b'1', 1j]),
    st.sampled_from(['', ' ', '1', 'Lyon', ' Lyon', 'true', '[1, 2]', ' {"a": 1}', '[]', '{}', '[broken']),
)
KEYS = st.sampled_from(['a', 'b', '1', 1, 'x.y'])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
PLAIN_RULES = [argument_rules(), argument_rules('strict'), argument_rules({'dates': True, 'case': 'ignore'})]


def copied(value):
    if isinstance(value, dict):
        return {key: copied(one) for key, one in reversed(value.items())}
    return [copied(one) for one in value] if isinstance(value, list) else value


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ('pred', 'ref', 'count'),
    [
        ({}, {}, 0),
        ({'a': 1, 'b': [1, {'c': 'x'}]}, {'b': [1, {'c': 'x'}], 'a': 1}, 3),
        ({'a': {}, 'b': []}, {'a': {}, 'b': []}, 2),
        ([1, 2], [1, 2], 2),
        # Equal to Python, or equal under some rules: looked at more closely.
        ({'a': 1}, {'a': True}, None),
        ({'a': 1}, {'a': 1.0}, None),
        ({'a': '1'}, {'a': 1}, None),
        ({'a': (1,)}, {'a': (1,)}, None),
        ({1: 'x'}, {1: 'x'}, None),
        # A text may hold a list; no arguments may be written in several ways.
        ({'a': '[1, 2]'}, {'a': '[1, 2]'}, None),
        ('', '', None),
        ([], [], None),
        (None, None, None),
        ('Lyon', 'Lyon', None),
        ({'a': float('nan')}, {'a': float('nan')}, None),
    ],
)
def test_identical_arguments_are_counted(pred, ref, count):
    assert count_identical(pred, ref) == count


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {'a': value}
    return value


@pytest.mark.parametrize(('depth', 'count'), [(1, 1), (64, 1), (65, None), (500, None)])
def test_what_lies_too_deep_is_not_counted(depth, count):
    assert count_identical(nested(depth), nested(depth)) == count


@settings(max_examples=300)
@given(VALUES, VALUES, st.booleans(), st.sampled_from(PLAIN_RULES))
def test_identical_arguments_are_those_that_a_full_comparison_finds_equal(value, other, same, rules):
    other = copied(value) if same else other
    found = argument_match([value], [other], pairs=[(0, 0)], tools=['t'], rules=rules)
    table = ArgumentTable([value], [other], tools=['t'], rules=rules)
    table._identical_is_equal = False
    assert found == table.match([(0, 0)])
    if count_identical(value, other) is not None:
        assert rules.equal(value, other, tool='t')


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from('ab'), VALUES), max_size=4), st.randoms(use_true_random=False))
def test_effects_with_identical_arguments_are_those_of_a_full_comparison(calls, rng):
    ref = [Step(i, f'set_{tool}', args) for i, (tool, args) in enumerate(calls)]
    pred = [Step(i, step.name, copied(step.args)) for i, step in enumerate(rng.sample(ref, len(ref)))][:3]
    rules = argument_rules()
    # A pattern that fits no key makes every place have to be looked at.
    slow = argument_rules({'ignore_keys': ['no such key']})
    assert slow.has_places
    assert effects(pred, ref, rules) == effects(pred, ref, slow)


@settings(max_examples=300)
@given(VALUES, st.booleans())
def test_values_are_prepared_the_same_with_and_without_the_names_of_places(value, json_text):
    fast = argument_rules({'json_text': json_text})
    slow = argument_rules({'json_text': json_text, 'ignore_keys': ['no such key']})
    for path in ((), ('a',)):
        assert repr(fast.prepare(value, tool='t', path=path)) == repr(slow.prepare(value, tool='t', path=path))


def test_deep_values_are_left_as_they_are():
    rules, slow = argument_rules(), argument_rules({'ignore_keys': ['no such key']})
    for depth in (63, 64, 65, 66, 70):
        value = {'a': nested(depth - 1)}
        assert rules.prepare(value, tool='t') == slow.prepare(value, tool='t')
        wrapped = {'a': ('[1]',)}
        assert read_value(wrapped, json_text=True, depth=depth) == slow.prepare(wrapped, tool='t', path=('p',) * depth)


@settings(max_examples=200)
@given(st.integers(0, 5), st.integers(0, 5), st.data())
def test_a_matching_without_competition_is_the_one_that_a_search_finds(rows, columns, data):
    allowed = [[data.draw(st.integers(0, 3)) == 0 for _ in range(columns)] for _ in range(rows)]
    chosen = []
    if rows and columns:
        graph = _argument_values.csr_array(np.asarray(allowed, dtype=np.int8))
        chosen = _argument_values.maximum_bipartite_matching(graph, perm_type='column')
    assert largest_matching(allowed) == tuple((row, int(col)) for row, col in enumerate(chosen) if col >= 0)


# ---------------------------------------------------------------- sequences and orders


@given(st.lists(st.sampled_from('abc'), max_size=6), st.sampled_from(['levenshtein', 'indel']))
def test_equal_sequences_are_kept_whole_as_rapidfuzz_says(names, mode):
    codes = (Levenshtein if mode == 'levenshtein' else Indel).opcodes(names, names)
    edit = sequence.sequence_edit(names, tuple(names), mode=mode)
    assert (edit.distance, edit.similarity, edit.n_pred, edit.n_ref) == (0, 1.0, len(names), len(names))
    assert [op.op for op in edit.alignment] == ['keep' for code in codes for _ in range(code.src_end - code.src_start)]
    assert all(op.pred == op.ref == i for i, op in enumerate(edit.alignment))


@pytest.mark.parametrize('mask', [0, 1, 5, 1023, 1024, 1025, (1 << 70) | 6])
def test_bits_of_small_and_large_masks(mask):
    assert bits(mask) == tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
    assert mask_of(bits(mask)) == mask


@pytest.mark.parametrize('seed', range(40))
def test_the_closure_in_order_is_the_closure(seed, monkeypatch):
    rng = random.Random(seed)
    graph = random_graph(rng, 9, 'A', acyclic=True)
    n = len(graph.names)
    new = rng.sample(range(n), n)
    renumbered = [(new[i], new[j]) for i, j in graph.edges]
    fast = poset.transitive_closure(n, graph.edges)
    slow = poset.transitive_closure(n, renumbered)
    assert {(new[u], new[v]) for v in range(n) for u in bits(fast[v])} == {
        (u, v) for v in range(n) for u in bits(slow[v])
    }


@pytest.mark.parametrize('seed', range(40))
def test_an_order_is_completed_step_by_step(seed):
    rng = random.Random(seed)
    graph = random_graph(rng, 8, 'A', acyclic=True)
    preds = poset.transitive_closure(len(graph.names), graph.edges)
    base = poset.topological_order(preds)
    part = [v for v in base if rng.random() < 0.5]
    done = []
    for v in [*part, *base]:
        for u in [*(u for u in base if preds[v] >> u & 1), v]:
            if u not in done:
                done.append(u)
    assert poset.extend_order(part, preds) == tuple(done)


# ---------------------------------------------------------------- mappings


def pairs_of_graphs(seed, most=8):
    rng = random.Random(seed)
    for _ in range(30):
        labels = 'ABCDEFGH'[: rng.randint(1, 8)]
        ref = random_graph(rng, most, labels, acyclic=True)
        pred = ref
        if rng.random() < 0.7:
            names = [rng.choice(labels) if rng.random() < 0.2 else name for name in ref.names]
            pred = StepGraph(tuple(names), frozenset(edge for edge in ref.edges if rng.random() < 0.8))
        rank = sorted(rng.randrange(5) for _ in pred.names) if rng.random() < 0.5 else None
        yield rng, pred, ref, rank


@pytest.mark.parametrize('seed', range(15))
def test_the_straight_mapping_is_the_one_that_the_search_finds(seed, monkeypatch):
    found, straight = [], []
    for way in (found, straight):
        if way is straight:
            monkeypatch.setattr(_mapping, '_straight', lambda *_: None)
        for _, pred, ref, rank in pairs_of_graphs(seed):
            way.append((
                graph_match(pred, ref),
                order_match(pred, ref, rank=rank),
                causal.causal_fidelity(pred.names, ref, rank=rank),
            ))  # fmt: skip
    assert found == straight


@pytest.mark.parametrize('seed', range(15))
def test_a_bound_on_the_preference_changes_nothing_and_saves_asking(seed):
    asked = [0, 0]
    for rng, pred, ref, rank in pairs_of_graphs(seed):
        table = {(i, j): rng.choice([0, 0.5, 1]) for i in range(len(pred.names)) for j in range(len(ref.names))}

        def prefer(i, j, table=table, way=0):
            asked[way] += 1
            return table[i, j] - abs(i - j) / 1e6

        def bounded(i, j, prefer=prefer):
            return prefer(i, j, way=1)

        def at_most(i, j):
            return 1 - abs(i - j) / 1e6

        assert graph_match(pred, ref, prefer=prefer) == graph_match(pred, ref, prefer=bounded, prefer_at_most=at_most)
        assert order_match(pred, ref, rank=rank, prefer=prefer) == order_match(
            pred, ref, rank=rank, prefer=bounded, prefer_at_most=at_most
        )
    assert asked[1] < asked[0]


@pytest.mark.parametrize('seed', range(10))
def test_few_matched_edges_are_counted_as_many_are(seed, monkeypatch):
    def values():
        for _, pred, ref, _ in pairs_of_graphs(seed):
            pairs = [(i, i) for i in range(min(len(pred.names), len(ref.names)))]
            yield _mapping._value(pairs, adjacency(pred), adjacency(ref), None)

    counted = list(values())
    monkeypatch.setattr(_mapping, '_MOST_COUNTED', -1)
    assert counted == list(values())


@pytest.mark.parametrize('size', [0, 1, 7, 8, 9, 40])
def test_masks_and_matrix_say_the_same(size):
    rng = random.Random(size)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j and rng.random() < 0.3]
    graph = StepGraph(('A',) * size, frozenset(pairs))
    edges = adjacency(graph)
    assert edges.matrix.shape == (size, size)
    assert {(int(i), int(j)) for i, j in np.argwhere(edges.matrix)} == graph.edges
    assert all(((i, j) in edges) == ((i, j) in graph.edges) for i in range(size) for j in range(size))
    assert Edges(edges.columns).matrix.tolist() == edges.matrix.T.tolist()
    rank = [rng.randrange(4) for _ in range(size)]
    for ranks in (None, rank):
        when = list(range(size)) if ranks is None else ranks
        assert precedence(size, ranks).matrix.tolist() == [[one < other for other in when] for one in when]


def test_a_wrong_number_of_ranks_is_refused():
    with pytest.raises(ValueError, match='one rank for each of the 2 steps, got 1'):
        precedence(2, [0])


# ---------------------------------------------------------------- loops


def calls(rng, size):
    return tuple(
        Step(
            i,
            rng.choice('abcdefgh'),
            rng.choice([{}, {'q': 'Lyon'}, {'q': 'lyon '}, {'q': 'Paris', 'n': 1}, 'text', None]),
            turn=rng.choice([None, i // 2]),
            failed=rng.choice([None, True]),
        )
        for i in range(size)
    )


@pytest.mark.parametrize('seed', range(30))
def test_tools_called_once_make_no_difference(seed, monkeypatch):
    rng = random.Random(seed)
    plans = [Plan(calls(rng, rng.randint(0, 9))) for _ in range(20)]
    found = [(loops.find_loops(plan), _calls.read_calls(plan).origin) for plan in plans]
    monkeypatch.setattr(_calls, 'Counter', lambda names: dict.fromkeys(names, 2))
    monkeypatch.setattr(loops, '_all_tools_differ', lambda _: False)
    assert found == [(loops.find_loops(plan), _calls.read_calls(plan).origin) for plan in plans]


@given(st.lists(st.booleans(), max_size=12))
def test_runs_of_ones(flags):
    expected, at = [], 0
    for one, group in groupby(flags):
        length = len(list(group))
        if one:
            expected.append((at, length))
        at += length
    assert list(loops._runs(bytearray(flags))) == expected


# ---------------------------------------------------------------- the closest order


@pytest.mark.parametrize('mode', ['levenshtein', 'indel'])
@pytest.mark.parametrize('seed', range(10))
def test_the_only_legal_order_is_a_sequence(seed, mode):
    rng = random.Random(seed)
    names = [rng.choice('ABC') for _ in range(rng.randint(0, 7))]
    pred = [rng.choice('ABC') for _ in range(rng.randint(0, 7))]
    golden = StepGraph(tuple(names), frozenset((i, i + 1) for i in range(len(names) - 1)))
    found = partial_order_similarity(pred, golden, mode=mode)
    edit = sequence.sequence_edit(pred, names, mode=mode)
    assert (found.distance, found.alignment, found.exact) == (edit.distance, edit.alignment, True)
    assert (found.order, found.pred_order) == (tuple(range(len(names))), tuple(range(len(pred))))


def test_the_module_of_ties_keeps_what_it_was_asked(monkeypatch):
    asked = []
    pairs = [(0, 0), (1, 1)]
    edges = Edges([0, 0])

    def prefer(i, j):
        asked.append((i, j))
        return float(i != j)

    found = _mapping_ties.prefer_pairs(pairs, [([0, 1], [0, 1])], edges, edges, prefer)
    assert found == ((0, 1), (1, 0))
    assert len(asked) == len(set(asked))
