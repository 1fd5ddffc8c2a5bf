"""The laws that every metric must pass, or break where it says so.

Each key of the default metrics is held to every law below, on thousands of random pairs of plans and graphs. Where a
key does not obey a law, a set says so, and a literal counterexample shows it.
"""

import dataclasses
import random
from collections import Counter

import numpy as np
import pytest

from opencompass_traj.edges import chain_graph, golden_graph
from opencompass_traj.embedding import TextVectors
from opencompass_traj.metrics.plan_match import plan_match
from opencompass_traj.plan import Plan, Step, Trajectory
from opencompass_traj.scoring import (
    CausalFidelity,
    Comparison,
    GraphSimilarity,
    PartialOrderSimilarity,
    PlanMatch,
    Reference,
    SequenceSimilarity,
    TrajectoryScore,
)

TOOLS = 'ABCD'
CASES = 400


class ExactEncoder:
    """Equal texts have cosine 1, different ones exactly 0."""

    name = 'exact'

    def __init__(self):
        self.known = {}

    def encode(self, texts):
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[self.known.setdefault(text, len(self.known))] = 1
        return rows


VECTORS = TextVectors(ExactEncoder())
FAMILIES = {
    'default': [
        PlanMatch(),
        SequenceSimilarity(),
        PartialOrderSimilarity(),
        GraphSimilarity(),
        CausalFidelity(),
        TrajectoryScore(),
    ],
    'indel': [SequenceSimilarity('indel'), PartialOrderSimilarity('indel')],
    'soft': [SequenceSimilarity(compare='soft'), GraphSimilarity(compare='soft')],
}
KEYS = [f'{family}:{key}' for family, metrics in FAMILIES.items() for metric in metrics for key in metric.rates]
COUNTS = ('redundant_steps', 'missing_steps', 'redundant_edges', 'missing_edges')


def numbers(pred, ref):
    """All rates and counts of all families, by `family:key`."""
    found = {}
    for family, metrics in FAMILIES.items():
        one = Comparison([], Reference('x', {}, ref), vectors=VECTORS)
        one.trajectory = Trajectory(pred, 'test')
        for metric in metrics:
            VECTORS.add(metric.texts(one))
            scored = metric.score(one)
            one.values.update({key: scored[key] for key in (*metric.rates, *metric.counts)})
        found.update({f'{family}:{key}': value for key, value in one.values.items()})
    return found


def plan(names, prev=None):
    steps = [Step(i, name, {}, None if prev is None else tuple(sorted(prev[i]))) for i, name in enumerate(names)]
    return Plan(tuple(steps))


def random_golden(rng, size=None):
    size = rng.randint(1, 5) if size is None else size
    density = rng.choice([0.0, 0.3, 0.7, 1.0])
    prev = [[j for j in range(i) if rng.random() < density] for i in range(size)]
    return plan([rng.choice(TOOLS) for _ in range(size)], prev)


def random_prediction(rng, golden):
    names = list(golden.names)
    for _ in range(rng.randint(0, 4)):
        change = rng.choice(['drop', 'insert', 'swap', 'replace'])
        at = rng.randrange(len(names)) if names else 0
        if change == 'insert' or not names:
            names.insert(at, rng.choice(TOOLS))
        elif change == 'drop':
            del names[at]
        elif change == 'swap':
            other = rng.randrange(len(names))
            names[at], names[other] = names[other], names[at]
        else:
            names[at] = rng.choice(TOOLS)
    if rng.random() < 0.5:
        return plan(names)
    return plan(names, [[j for j in range(i) if rng.random() < 0.4] for i in range(len(names))])


def pairs(count=CASES):
    rng = random.Random(7)
    for _ in range(count):
        golden = random_golden(rng)
        yield rng, random_prediction(rng, golden), golden


def legal_order(rng, golden):
    left, done, order = {step.id: set(step.prev) for step in golden.steps}, set(), []
    while left:
        chosen = rng.choice(sorted(key for key, before in left.items() if before <= done))
        done.add(chosen)
        order.append(chosen)
        del left[chosen]
    return order


def without_edges(golden):
    return Plan(tuple(dataclasses.replace(step, prev=None) for step in golden.steps))


# --- laws without exception


def test_identity_is_one():
    for _rng, pred, golden in pairs():
        for one in (pred, golden):
            found = numbers(one, one)
            assert {key: found[key] for key in KEYS if found[key] != 1} == {}, one
            assert not any(found.get(f'default:{key}', 0) for key in COUNTS)


def test_numbers_are_plain_floats_in_range_and_counts_are_whole():
    for _rng, pred, golden in pairs():
        found = numbers(pred, golden)
        assert all(type(value) is float for value in found.values())
        assert all(0 <= found[key] <= 1 for key in KEYS)
        assert all(found[f'default:{key}'] == int(found[f'default:{key}']) >= 0 for key in COUNTS)


def test_disjoint_plans_score_zero():
    vacuous = {'edge_precision', 'edge_recall', 'edge_f1'}
    for _rng, pred, golden in pairs():
        other = Plan(tuple(Step(i, 'Z', {'z': i}) for i in range(max(1, len(pred)))))
        found = numbers(other, golden)
        # Where neither side has an edge, no edge is wrong; by order, a prediction has no edge of its own.
        zero = [key for key in KEYS if key.split(':')[1] not in vacuous]
        assert {key: found[key] for key in zero if found[key]} == {}, golden


@pytest.mark.parametrize('side', ['pred', 'ref', 'both'])
def test_empty_plans(side):
    empty, some = Plan(), plan('AB', [[], [0]])
    found = numbers(empty if side != 'ref' else some, empty if side != 'pred' else some)
    similarities = [key for key in KEYS if key.endswith(('similarity', 'f1', 'score')) and 'edge' not in key]
    assert {found[key] for key in similarities} == {1.0 if side == 'both' else 0.0}


def test_relabelling_changes_nothing():
    for rng, pred, golden in pairs():
        ids = rng.sample(range(100), len(golden))
        names = [f's{i}' for i in rng.sample(range(100), len(pred))]
        assert numbers(relabelled(pred, names), relabelled(golden, ids)) == numbers(pred, golden)


def relabelled(one, ids):
    known = {step.id: new for step, new in zip(one.steps, ids, strict=True)}
    return Plan(
        tuple(
            dataclasses.replace(
                step, id=known[step.id], prev=None if step.prev is None else tuple(known[i] for i in step.prev)
            )
            for step in one.steps
        )
    )


def test_every_legal_order_is_as_good_to_the_order_fair_ones():
    fair = ('plan_precision', 'plan_recall', 'plan_f1', 'partial_order_similarity', 'dag_similarity', 'causal_fidelity')
    fair += ('node_f1', 'edge_f1', 'isomorphic_rate')
    for rng, _pred, golden in pairs():
        order = legal_order(rng, golden)
        found = numbers(plan([golden.names[i] for i in order]), golden)
        assert {key: found[f'default:{key}'] for key in fair if found[f'default:{key}'] != 1} == {}, (golden, order)


def test_declared_symmetry():
    """Between plans with stated graphs, exchanging the sides exchanges precision and recall, missing and extra."""
    same = ('sequence_similarity', 'dag_similarity', 'node_f1', 'edge_f1', 'isomorphic_rate', 'trajectory_score')
    for rng, _pred, golden in pairs():
        other = random_golden(rng)
        one, two = numbers(other, golden), numbers(golden, other)
        assert [one[f'default:{key}'] for key in same] == [two[f'default:{key}'] for key in same]
        assert one['default:edge_precision'] == two['default:edge_recall']
        for unit in ('steps', 'edges'):
            assert one[f'default:redundant_{unit}'] == two[f'default:missing_{unit}']


# --- the two laws of direction, each with its exceptions

NOT_HELD_BY_A_REDUNDANT_STEP = {
    'default:sequence_similarity',
    'default:partial_order_similarity',
    'default:trajectory_score',
    'soft:sequence_similarity',
}
# The Levenshtein formula divides by the longer side, and a step takes its wrong dependencies with it.
NOT_HELD_BY_A_LOST_STEP = {
    'default:sequence_similarity',
    'default:partial_order_similarity',
    'soft:sequence_similarity',
} | {
    f'{family}:{key}'
    for family in ('default', 'soft')
    for key in ('dag_similarity', 'edge_precision', 'edge_recall', 'edge_f1', 'trajectory_score')
}


def test_a_redundant_step_never_raises_a_score():
    """A step of a tool that the golden plan does not have, put in anywhere."""
    kept = [key for key in KEYS if key not in NOT_HELD_BY_A_REDUNDANT_STEP]
    for rng, pred, golden in pairs():
        at = rng.randint(0, len(pred))
        more = inserted(pred, at, 'Z')
        before, after = numbers(pred, golden), numbers(more, golden)
        assert {key: (before[key], after[key]) for key in kept if after[key] > before[key] + 1e-12} == {}, (
            pred,
            golden,
        )


def inserted(one, at, name):
    """The plan with a step that nothing depends on and, where dependencies are stated, that depends on nothing."""
    new = Step('new', name, {}, () if one.states_dependencies else None)
    return Plan((*one.steps[:at], new, *one.steps[at:]))


@pytest.mark.parametrize(
    ('key', 'before', 'after'),
    [
        ('default:sequence_similarity', ('BXY', 0.0), ('ZBXY', 0.25)),
        ('default:partial_order_similarity', ('BXY', 0.0), ('ZBXY', 0.25)),
    ],
)
def test_the_levenshtein_formula_breaks_this_law(key, before, after):
    golden = plan('AB', [[], [0]])
    assert [numbers(plan(names), golden)[key] for names in (before[0], after[0])] == [before[1], after[1]]
    indel = [numbers(plan(names), golden)[key.replace('default', 'indel')] for names in (before[0], after[0])]
    assert indel[0] > indel[1]


def test_losing_a_matched_step_never_raises_a_score():
    """A step taken away that every best matching needs: fewer steps can be matched without it, in order or not.

    (Golden `[A, B]`, prediction `[B, A]`: either step alone is matched in order, and losing the other one is no loss.)
    """
    kept = [key for key in KEYS if key not in NOT_HELD_BY_A_LOST_STEP]
    tried = 0
    for rng, pred, golden in pairs():
        have, want = Counter(pred.names), Counter(golden.names)
        needed = [i for i, name in enumerate(pred.names) if have[name] <= want[name]]
        if not needed:
            continue
        gone = pred.steps[rng.choice(needed)].id
        less = Plan(
            tuple(
                dataclasses.replace(step, prev=None if step.prev is None else tuple(i for i in step.prev if i != gone))
                for step in pred.steps
                if step.id != gone
            )
        )
        orders = (golden_graph(golden).edges, chain_graph(golden).edges)
        if any(matched(less, golden, order) == matched(pred, golden, order) for order in orders):
            continue
        tried += 1
        before, after = numbers(pred, golden), numbers(less, golden)
        assert {key: (before[key], after[key]) for key in kept if after[key] > before[key] + 1e-12} == {}, (
            pred,
            golden,
        )
    assert tried > CASES / 4


def test_the_levenshtein_formula_breaks_this_law_too():
    golden, pred = plan('AAD', [[], [], []]), plan('DACA')
    less = plan('DAC')
    assert matched(less, golden, chain_graph(golden).edges) < matched(pred, golden, chain_graph(golden).edges)
    sequence = [numbers(one, golden)['default:sequence_similarity'] for one in (pred, less)]
    assert sequence == [1 / 4, 1 / 3]
    indel = [numbers(one, golden)['indel:sequence_similarity'] for one in (pred, less)]
    assert indel == [4 / 7, 2 / 6]
    ordered = plan('BDA', [[], [], [0, 1]])
    partial = [numbers(plan(names), ordered)['default:partial_order_similarity'] for names in ('ABCD', 'ABC')]
    assert partial == [1 / 4, 1 / 3]


@pytest.mark.parametrize(
    ('key', 'before', 'after'),
    [
        ('default:dag_similarity', 8 / 11, 6 / 7),
        ('default:edge_precision', 0.0, 1.0),
        ('default:edge_recall', 0.0, 1.0),
        ('default:edge_f1', 0.0, 1.0),
        ('default:trajectory_score', 0.6 + 0.4 * 8 / 11, 0.6 * 0.75 + 0.4 * 6 / 7),
    ],
)
def test_a_lost_step_takes_its_wrong_dependencies_along(key, before, after):
    """Four independent golden steps, of which the prediction lets the last depend on the other three."""
    golden, wrong = plan('ABCD', [[], [], [], []]), plan('ABCD', [[], [], [], [0, 1, 2]])
    less = plan('ABC', [[], [], []])
    assert [numbers(one, golden)[key] for one in (wrong, less)] == pytest.approx([before, after])


def matched(pred, golden, order):
    equal = np.array([[float(a == b) for b in golden.names] for a in pred.names]).reshape(len(pred), len(golden))
    return plan_match(equal, order, threshold=0.5).count
