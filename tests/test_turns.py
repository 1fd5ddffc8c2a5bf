"""Parallel calls: what their order must not change, in every metric, on either side."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.edges import chain_graph
from opencompass_traj.embedding import TextVectors
from opencompass_traj.plan import Plan, Step
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    EffectMatch,
    GraphSimilarity,
    LoopDetection,
    Metric,
    PartialOrderSimilarity,
    PlanMatch,
    Reference,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)
from opencompass_traj.turns import turn_edges, turn_ranks
from tests.conftest import ExactEncoder, HashedEncoder

ORDERED = (
    'plan_precision', 'plan_recall', 'plan_f1', 'sequence_similarity', 'optimal_rate', 'redundant_steps',
    'missing_steps', 'partial_order_similarity', 'dag_similarity', 'node_f1', 'edge_precision', 'edge_recall',
    'edge_f1', 'isomorphic_rate', 'redundant_edges', 'missing_edges', 'causal_fidelity', 'trajectory_score',
    'argument_f1', 'args_exact_rate', 'effect_f1', 'loop_rate', 'repeated_steps', 'longest_loop',
)  # fmt: skip


def everything() -> list[Metric]:
    return [
        PlanMatch(), SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(),
        TrajectoryScore(), ArgumentMatch(), EffectMatch(ordered=True), LoopDetection(),
    ]  # fmt: skip


def plan(*turns: str) -> Plan:
    """Turns of one-letter tools: `plan('A', 'BC')` calls A, then B and C at once."""
    calls = [(name, turn) for turn, names in enumerate(turns) for name in names]
    return Plan(tuple(Step(i, name, turn=turn) for i, (name, turn) in enumerate(calls)))


def chat(*turns: str) -> str:
    """The same as OpenAI chat messages."""
    messages = []
    for turn, names in enumerate(turns):
        calls = [
            {'id': f'c{turn}_{i}', 'type': 'function', 'function': {'name': name, 'arguments': '{}'}}
            for i, name in enumerate(names)
        ]
        messages.append({'role': 'assistant', 'content': None, 'tool_calls': calls})
    return json.dumps({'messages': [{'role': 'user', 'content': 'Go.'}, *messages]})


def steps(names: str, prev: list[list[int]] | None = None) -> list[dict[str, Any]]:
    return [
        {'id': i, 'name': name, 'args': {}, **({} if prev is None else {'prev': prev[i]})}
        for i, name in enumerate(names)
    ]


CHAIN = steps('ABCD', [[], [0], [1], [2]])
DIAMOND = steps('ABCD', [[], [0], [0], [1, 2]])
PLAIN = steps('ABCD')


def score(prediction: object, golden: Any, metrics: list[Metric] | None = None, encoder: Any = None) -> dict[str, Any]:
    references = [(golden,)] if isinstance(golden, Reference) else read_references([golden])
    vectors = TextVectors(encoder or ExactEncoder())
    return Scorer(metrics or everything(), vectors=lambda: vectors).score([prediction], references).details[0]


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ORDERED}


# ---------------------------------------------------------------- ranks and edges


@pytest.mark.parametrize(
    ('turns', 'expected'),
    [
        ([], None),
        ([None, None], None),
        ([0, 1, 2], None),
        ([3, 3], (0, 0)),
        ([0, 0, 4, 4, 9], (0, 0, 1, 1, 2)),
        ([None, 1, 1, None, None], (0, 1, 1, 2, 3)),
        ([1, None, 1], None),
        ([1, 1, None, 1], (0, 0, 1, 2)),
    ],
)
def test_ranks(turns: list[int | None], expected: tuple[int, ...] | None) -> None:
    assert turn_ranks(Plan(tuple(Step(i, 'x', turn=turn) for i, turn in enumerate(turns)))) == expected


@pytest.mark.parametrize(
    ('turns', 'expected'),
    [
        (['A', 'B', 'C'], {(0, 1), (1, 2)}),
        (['ABC'], set()),
        (['A', 'BC', 'D'], {(0, 1), (0, 2), (1, 3), (2, 3)}),
        (['AB', 'CD'], {(0, 2), (0, 3), (1, 2), (1, 3)}),
    ],
)
def test_edges_go_from_turn_to_turn(turns: list[str], expected: set[tuple[int, int]]) -> None:
    assert turn_edges(plan(*turns)) == expected
    assert chain_graph(plan(*turns)).edges == expected


# ---------------------------------------------------------------- order within a turn


@pytest.mark.parametrize('golden', [CHAIN, DIAMOND, PLAIN], ids=['chain', 'graph', 'list'])
@pytest.mark.parametrize('turns', [['A', 'BC', 'D'], ['ABCD'], ['AB', 'CD'], ['DC', 'BA'], ['AXB', 'CC', 'D'], ['BC']])
def test_order_among_parallel_calls_changes_nothing(turns: list[str], golden: list[dict[str, Any]]) -> None:
    expected = numbers(score(chat(*turns), golden))
    for orders in itertools.product(*(itertools.permutations(names) for names in turns)):
        assert numbers(score(chat(*map(''.join, orders)), golden)) == pytest.approx(expected, abs=1e-12), orders


@pytest.mark.parametrize('compare', ['name', 'call', 'soft'])
def test_nor_for_any_way_to_compare_steps(compare: Any) -> None:
    metrics: list[Metric] = [GraphSimilarity(compare=compare)]
    if compare != 'soft':
        metrics += [
            SequenceSimilarity(compare=compare), PartialOrderSimilarity(compare=compare),
            CausalFidelity(compare=compare),
        ]  # fmt: skip
    keys = [key for metric in metrics for key in metric.rates]
    for golden in (CHAIN, DIAMOND, PLAIN):
        rows = [score(chat('A', middle, 'D'), golden, metrics, HashedEncoder()) for middle in ('BC', 'CB')]
        assert [rows[0][key] for key in keys] == [rows[1][key] for key in keys]


def test_the_soft_sequence_respects_turns_too() -> None:
    rows = [score(chat('A', middle, 'D'), PLAIN, [SequenceSimilarity(compare='soft')]) for middle in ('BC', 'CB')]
    assert [row['sequence_similarity'] for row in rows] == [1, 1]


@pytest.mark.parametrize('golden', [CHAIN, DIAMOND, PLAIN], ids=['chain', 'graph', 'list'])
def test_order_between_turns_does_change_something(golden: list[dict[str, Any]]) -> None:
    right, wrong = (numbers(score(chat(*turns), golden)) for turns in (['A', 'BC', 'D'], ['D', 'CB', 'A']))
    assert right['sequence_similarity'] == right['partial_order_similarity'] == right['plan_f1'] == 1
    for key in ('sequence_similarity', 'partial_order_similarity', 'plan_f1', 'causal_fidelity', 'edge_f1'):
        assert wrong[key] < right[key], key


# ---------------------------------------------------------------- literal values


@pytest.mark.parametrize(
    ('turns', 'golden', 'source', 'sequence', 'partial', 'dag', 'causal'),
    [
        # Every dependency of the diamond is kept, and none is made up.
        (['A', 'CB', 'D'], DIAMOND, 'order', 1, 1, 1, 1),
        # B and C at once miss the one edge B -> C of the chain: 4 nodes and 2 edges of 4 + 2 and 4 + 3.
        (['A', 'CB', 'D'], CHAIN, 'order', 1, 1, 2 * 6 / 13, 5 / 6),
        # As chains A -> {B, C} -> D has 4 edges of which A -> B and C -> D are golden: 4 + 2 of 8 and 7.
        (['A', 'CB', 'D'], PLAIN, 'chain', 1, 1, 2 * 6 / 15, 5 / 6),
        # All at once: each order is as good as another, and nothing depends on anything.
        (['DCBA'], CHAIN, 'order', 1, 1, 2 * 4 / 11, 0),
        (['DCBA'], PLAIN, 'chain', 1, 1, 2 * 4 / 11, 0),
        # One redundant call among the parallel ones.
        (['A', 'CXB', 'D'], DIAMOND, 'order', 4 / 5, 4 / 5, 2 * 8 / 17, 1),
        # The two halves the wrong way round: all four are replaced, and none of the 4 edges is one of the 3.
        (['DC', 'BA'], PLAIN, 'chain', 0, 0, 2 * 4 / 15, 0),
    ],
)
def test_values_of_parallel_calls(
    turns: list[str], golden: Any, source: str, sequence: float, partial: float, dag: float, causal: float
) -> None:
    row = score(chat(*turns), golden)
    assert row['edge_source'] == source
    assert row['sequence_similarity'] == pytest.approx(sequence)
    assert row['partial_order_similarity'] == pytest.approx(partial)
    assert row['dag_similarity'] == pytest.approx(dag)
    assert row['causal_fidelity'] == pytest.approx(causal)


# ---------------------------------------------------------------- an independent reference


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def orders(turns: list[str]) -> set[str]:
    return {''.join(map(''.join, one)) for one in itertools.product(*(set(itertools.permutations(t)) for t in turns))}


TURNS = st.lists(st.text('ABC', min_size=1, max_size=3), max_size=3)


@given(TURNS, TURNS)
@settings(max_examples=80, deadline=None)
def test_the_sequence_similarity_is_that_of_the_best_order_of_both_sides(pred: list[str], ref: list[str]) -> None:
    best = min(levenshtein(a, b) for a in orders(pred) for b in orders(ref))
    longest = max(len(''.join(pred)), len(''.join(ref)))
    golden = Reference('q', {'ground_truth': []}, plan(*ref))
    row = score(chat(*pred), golden, [SequenceSimilarity()])
    assert row['sequence_similarity'] == pytest.approx(1 - best / longest if longest else 1)
    assert row['sequence_exact'] is True


@given(TURNS)
@settings(max_examples=40, deadline=None)
def test_a_run_is_like_itself_in_every_order_of_its_turns(turns: list[str]) -> None:
    golden = Reference('q', {'ground_truth': []}, plan(*turns))
    rng = random.Random(len(turns))
    shuffled = [''.join(rng.sample(names, len(names))) for names in turns]
    row = score(chat(*shuffled), golden)
    for key in ('plan_f1', 'sequence_similarity', 'partial_order_similarity', 'dag_similarity', 'causal_fidelity'):
        assert row[key] == 1, (key, turns, shuffled)


@given(TURNS)
@settings(max_examples=40, deadline=None)
def test_parallel_golden_calls_may_be_made_one_by_one(turns: list[str]) -> None:
    golden = Reference('q', {'ground_truth': []}, plan(*turns))
    for order in sorted(orders(turns))[:4]:
        row = score(chat(*order), golden)
        for key in ('plan_f1', 'sequence_similarity', 'partial_order_similarity', 'causal_fidelity'):
            assert row[key] == 1, (key, turns, order)


def test_turns_of_one_call_each_are_a_plain_list() -> None:
    for golden in (CHAIN, DIAMOND, PLAIN):
        assert numbers(score(chat('A', 'C', 'X', 'B'), golden)) == numbers(score(steps('ACXB'), golden))


def same_tool(*args: dict[str, Any]) -> str:
    calls = [
        {'id': f'c{i}', 'type': 'function', 'function': {'name': 'find', 'arguments': json.dumps(one)}}
        for i, one in enumerate(args)
    ]
    return json.dumps({'messages': [{'role': 'assistant', 'content': None, 'tool_calls': calls}]})


@pytest.mark.parametrize('prev', [None, [[], []], [[], [0]]], ids=['list', 'free', 'chain'])
def test_parallel_calls_of_one_tool_go_to_the_golden_calls_that_they_are_most_like(prev: Any) -> None:
    golden = steps('ff', prev)
    golden[0].update(name='find', args={'city': 'Lyon', 'day': 1, 'seat': 'A'})
    golden[1].update(name='find', args={'city': 'Nice', 'day': 2, 'seat': 'A'})
    near = [{'city': 'Lyon', 'day': 9, 'seat': 'A'}, {'city': 'Nice', 'day': 8, 'seat': 'A'}]
    rows = [score(same_tool(*order), golden, [ArgumentMatch()]) for order in (near, near[::-1])]
    assert [row['argument_f1'] for row in rows] == pytest.approx([2 / 3, 2 / 3])
    exact = [golden[0]['args'], golden[1]['args']]
    rows = [score(same_tool(*order), golden, [ArgumentMatch()]) for order in (exact, exact[::-1])]
    assert [row['args_exact_rate'] for row in rows] == [1, 1]
