"""The bounds on the kept precedence pairs, and what is found without a search of all mappings, by brute force."""

import random
from functools import partial
from itertools import product

from opencompass_traj.metrics import causal
from opencompass_traj.metrics._causal_bounds import (
    first_partners,
    improve_partners,
    kept_by,
    most_possible,
    surely_most,
)
from opencompass_traj.metrics._mapping_inputs import common_subsequence, label_blocks, precedence
from opencompass_traj.metrics.poset import transitive_closure, transpose
from opencompass_traj.plan import StepGraph
from tests.metrics.mapping_reference import all_mappings, random_graph


def cases(seed, count, size=7):
    rng = random.Random(seed)
    for letters, density in product(('A', 'AB', 'ABC'), (0.15, 0.4)):
        for _ in range(count):
            golden = random_graph(rng, size, letters, density, acyclic=True)
            names = tuple(rng.choice(letters) for _ in range(rng.randrange(size)))
            rank = None if rng.random() < 0.5 else tuple(rng.randrange(4) for _ in names)
            yield golden, names, rank


def parts(golden, names, rank):
    preds = transitive_closure(len(golden.names), golden.edges)
    later = precedence(len(names), rank)
    ranks = range(len(names)) if rank is None else rank
    earlier = precedence(len(names), [-when for when in ranks])
    return label_blocks(names, golden.names), preds, transpose(preds), later, earlier, ranks


def kept(mapping, after, ranks):
    """Straight from the definition."""
    pairs = list(mapping.items())
    return sum(after[v] >> w & 1 and ranks[i] < ranks[j] for i, v in pairs for j, w in pairs)


def most(golden, names, after, ranks):
    allowed = [[v for v, name in enumerate(golden.names) if name == one] for one in names]
    return max(kept(mapping, after, ranks) for mapping in all_mappings(allowed, len(names)))


def test_bounds_enclose_the_best_mapping():
    met = 0
    for golden, names, rank in cases(1, 40, size=6):
        blocks, preds, after, later, earlier, ranks = parts(golden, names, rank)
        best = most(golden, names, after, ranks)
        first = first_partners(blocks, preds, after, rank, lambda n=names, g=golden: common_subsequence(n, g.names))
        better = improve_partners(first, blocks, (after, preds), ranks)
        low, high = kept_by(first, after, rank), kept_by(better, after, rank)
        at_most = sum(map(sum, most_possible(blocks, (later.rows, earlier.rows), (after, preds))))
        assert (low, high) == (kept(first, after, ranks), kept(better, after, ranks))
        assert low <= high <= best <= at_most
        met += high == at_most
        for partners in (first, better):
            assert len(set(partners.values())) == len(partners)
            assert len(partners) == sum(min(len(ours), len(nodes)) for ours, nodes in blocks)
            assert all(names[i] == golden.names[v] for i, v in partners.items())
    assert met > 180


def test_what_is_surely_the_most_is_the_most():
    sure = 0
    for golden, names, rank in cases(2, 40, size=6):
        blocks, preds, after, later, _, ranks = parts(golden, names, rank)
        hint = partial(common_subsequence, names, golden.names)
        found = surely_most(blocks, later.rows, (after, preds), rank=rank, hint=hint)
        assert found in (most(golden, names, after, ranks), None)
        sure += found is not None
    assert sure > 180


def test_many_steps_of_one_tool_are_not_exchanged(monkeypatch):
    """Each needed by a step of its own, the first by the last: the exchanges would take the square of their number."""
    golden = StepGraph(tuple('A' * 150 + 'B' * 150), frozenset((i, 299 - i) for i in range(150)))
    names = tuple('AB' * 150)
    blocks, preds, after, later, _, _ = parts(golden, names, None)
    monkeypatch.setattr('opencompass_traj.metrics._causal_bounds.improve_partners', None)
    assert surely_most(blocks, later.rows, (after, preds), rank=None, hint=None) is None
    blocks, preds, after, later, _, _ = parts(golden, golden.names, None)
    assert surely_most(blocks, later.rows, (after, preds), rank=None, hint=None) == 150


def test_pairs_of_steps_are_matched_at_most_as_the_order_allows():
    """Five pairs A before B, of which the order leaves four; the numbers alone would allow five."""
    golden = StepGraph(tuple('AB' * 5), frozenset((i, i + 1) for i in range(0, 10, 2)))
    names = tuple('ABBAABABAB')
    blocks, preds, after, later, earlier, _ = parts(golden, names, None)
    assert most_possible(blocks, (later.rows, earlier.rows), (after, preds)) == [[0, 4], [0, 0]]
    assert causal.causal_fidelity(names, golden).kept == 4
