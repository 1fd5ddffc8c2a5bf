"""A sample's row of details: the two plans as they were compared, bounded, and fit for any JSON file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.metrics.dag import order_match
from opencompass_traj.plan import StepGraph
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    EffectMatch,
    ForbiddenTools,
    GraphSimilarity,
    LoopDetection,
    Recovery,
    Scorer,
    SequenceSimilarity,
    read_references,
)
from opencompass_traj.scoring.rows import (
    MAX_ARGUMENTS,
    MAX_DEPTH,
    MAX_NAME,
    MAX_PLAN,
    MAX_STEPS,
    MAX_TEXT,
    MAX_VALUE,
    cut,
)

OURS = {'query', 'tags', 'task', 'pred_steps', 'ref_steps', 'pred_edges', 'ref_edges', 'raw'}
# Longest text that `cut` makes of one of the limit's length.
NOTE = len('… ( of  characters left out)') + 2 * 10


def metrics() -> list[Any]:
    return [
        Recovery(), SequenceSimilarity(), GraphSimilarity(), CausalFidelity(), ForbiddenTools(), ArgumentMatch(),
        EffectMatch(), LoopDetection(),
    ]  # fmt: skip


def row_of(prediction: object, golden: dict[str, Any], chosen: list[Any] | None = None) -> dict[str, Any]:
    found = Scorer(metrics() if chosen is None else chosen).score([prediction], read_references([golden]))
    return found.details[0]


def step(number: int, name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    return {'id': number, 'name': name, 'args': {} if args is None else args, **more}


GOLDEN = {
    'id': 'q1',
    'query': 'Book a seat to Lyon.',
    'tags': ['travel', 'en'],
    'meta': {'tags': ['en', 'short', 7]},
    'ground_truth': [
        step(0, 'find', {'city': 'Lyon'}, prev=[]),
        step(1, 'weather', prev=[], optional=True),
        step(2, 'book', {'seat': '1A'}, prev=[0]),
        step(3, 'FinishAction', prev=[2]),
    ],
}


def test_a_row_holds_both_plans_as_they_were_compared() -> None:
    row = row_of(json.dumps([step(0, 'find', {'city': 'Lyon'}), step(1, 'book', {'seat': '2B'})]), GOLDEN)
    assert {key: row[key] for key in sorted(OURS)} == {
        'query': 'Book a seat to Lyon.',
        'tags': ['travel', 'en', 'short'],
        'task': 'q1',
        'pred_steps': [step(0, 'find', {'city': 'Lyon'}), step(1, 'book', {'seat': '2B'})],
        # The optional step is left out and so is not asked for; the finish marker is no step.
        'ref_steps': [step(0, 'find', {'city': 'Lyon'}), step(2, 'book', {'seat': '1A'})],
        'pred_edges': [[0, 1]],
        'ref_edges': [[0, 1]],
        'raw': '',
    }
    assert (row['sample'], row['n_pred'], row['n_ref']) == ('q1', 2, 2)


def test_the_indices_of_all_details_are_those_of_the_steps() -> None:
    pred = [step(0, 'look'), step(1, 'find', {'city': 'Paris'}), step(2, 'book', {'seat': '2B'}), step(3, 'look')]
    row = row_of(json.dumps(pred), GOLDEN)
    for one in row['alignment']:
        for side in ('pred', 'ref'):
            if one[side] is not None:
                assert row[f'{side}_steps'][one[side]]['name'] == one[f'{side}_name']
    for i, j in row['graph_pairs']:
        assert row['pred_steps'][i]['name'] == row['ref_steps'][j]['name']
    for difference in row['argument_differences']:
        assert row['ref_steps'][difference['ref']]['name'] == difference['tool']
    for edge in row['missing_edge_list']:
        source, target = (int(part.split()[0]) for part in edge.split(' -> '))
        assert [source, target] in row['ref_edges']


@pytest.mark.parametrize(
    ('pred', 'source', 'edges'),
    [
        ([step(0, 'find', prev=[]), step(1, 'book', prev=[0])], 'prev', [[0, 1]]),
        ([step(0, 'find'), step(1, 'book', {'seat': '#E1'})], 'references', [[0, 1]]),
        ([step(0, 'find'), step(1, 'look'), step(2, 'book')], 'order', [[0, 2]]),
        ([step(0, 'book'), step(1, 'find')], 'order', []),
        ([step(0, 'look')], 'order', []),
    ],
)
def test_predicted_edges_are_those_that_were_compared(pred: list[Any], source: str, edges: list[Any]) -> None:
    row = row_of(json.dumps(pred), GOLDEN)
    assert (row['edge_source'], row['pred_edges']) == (source, edges)
    assert row['redundant_edges'] == len(edges) - (row['edge_precision'] * len(edges) if edges else 0)


def test_without_a_golden_graph_both_are_chains() -> None:
    golden = {'ground_truth': [step(0, 'a'), step(1, 'b')]}
    row = row_of(json.dumps([step(0, 'a'), step(1, 'x'), step(2, 'b')]), golden)
    assert (row['edge_source'], row['pred_edges'], row['ref_edges']) == ('chain', [[0, 1], [1, 2]], [[0, 1]])


NAMES = st.lists(st.sampled_from(['a', 'b', 'c']), max_size=5)


@given(pred=NAMES, ref=NAMES, data=st.data())
@settings(max_examples=60, deadline=None)
def test_by_order_the_edges_are_as_many_as_the_graph_match_counts(pred: list[str], ref: list[str], data: Any) -> None:
    edges = [(i, j) for j in range(len(ref)) for i in range(j) if data.draw(st.booleans())]
    golden = {'ground_truth': [step(j, name, prev=[i for i, k in edges if k == j]) for j, name in enumerate(ref)]}
    row = row_of([step(i, name) for i, name in enumerate(pred)], golden)
    # With an empty golden plan nothing states that there is a graph.
    assert row['edge_source'] == ('order' if ref else 'chain')
    if ref:
        match = order_match(StepGraph(tuple(pred)), StepGraph(tuple(ref), frozenset(edges)))
        assert len(row['pred_edges']) == match.matched_edges
        assert row['ref_edges'] == sorted(map(list, edges))


def test_parallel_calls_and_failures_are_told_where_they_are_known() -> None:
    uses = [
        {'type': 'tool_use', 'id': f'c{i}', 'name': name, 'input': {}} for i, name in enumerate(('find', 'weather'))
    ]
    failed = {'type': 'tool_result', 'tool_use_id': 'c0', 'content': 'no such city', 'is_error': True}
    chat = [{'role': 'assistant', 'content': uses}, {'role': 'user', 'content': [failed]}]
    row = row_of(json.dumps(chat), GOLDEN)
    assert row['pred_steps'] == [
        {'id': 0, 'name': 'find', 'args': {}, 'turn': 0, 'failed': True},
        {'id': 1, 'name': 'weather', 'args': {}, 'turn': 0},
    ]
    assert [one.get('optional') for one in row['ref_steps']] == [None, True, None]
    assert row['ref_steps'][0].keys() == {'id', 'name', 'args'}


@pytest.mark.parametrize(
    ('record', 'query'),
    [
        ({}, ''),
        ({'query': 'x' * (MAX_TEXT + 6)}, 'x' * MAX_TEXT + f'… (6 of {MAX_TEXT + 6} characters left out)'),
        ({'query': 3, 'origin_prompt': [{'role': 'user', 'content': 'first'}, {'content': 'last'}]}, 'last'),
        ({'origin_prompt': '[{"role": "user", "content": "asked"}]'}, 'asked'),
        ({'origin_prompt': 'no json'}, ''),
        ({'origin_prompt': [{'content': ['x']}]}, ''),
        ({'origin_prompt': []}, ''),
        ({'origin_prompt': ['x']}, ''),
    ],
)
def test_the_query_is_the_records_or_the_last_message(record: dict[str, Any], query: str) -> None:
    assert row_of('[]', {'ground_truth': [step(0, 'a')], **record}, [Recovery()])['query'] == query


@pytest.mark.parametrize(
    ('prediction', 'raw'),
    [
        ('[]', ''),
        ('no plan at all', 'no plan at all'),
        ('Sure: ```json\n[{"name": "a", "args": {}}', 'Sure: ```json\n[{"name": "a", "args": {}}'),
        ('?' * (MAX_TEXT + 1), '?' * MAX_TEXT + f'… (1 of {MAX_TEXT + 1} characters left out)'),
        ({'x': 1}, '{"x": 1}'),
        (None, 'null'),
        ({1, 2}, '{1, 2}'),
    ],
)
def test_the_raw_prediction_stands_where_it_could_not_be_read_as_it_is(prediction: object, raw: str) -> None:
    row = row_of(prediction, {'ground_truth': [step(0, 'a')]}, [Recovery()])
    assert (row['raw'], row['parse_status'] == 'read') == (raw, raw == '')


@pytest.mark.parametrize(
    ('record', 'task'),
    [
        ({'id': 'q-1', 'task': 'q'}, 'q'),
        ({'id': '3-1', 'task_id': 3}, '3'),
        ({'id': '3-1', 'task': 'q', 'task_id': 3}, 'q'),
        ({'id': 'q'}, 'q'),
        ({}, '0'),
        ({'id': 'q', 'task': ''}, 'q'),
        ({'id': 'q', 'task': ['x']}, 'q'),
        ({'id': 'q', 'task_id': 't' * 9_000}, cut('t' * 9_000, MAX_NAME)),
        ({'id': 'q', 'task': 't\ud800'}, 't?'),
    ],
)
def test_trials_of_a_task_are_known_by_it(record: dict[str, Any], task: str) -> None:
    assert row_of('[]', {'ground_truth': [step(0, 'a')], **record}, [Recovery()])['task'] == task


@pytest.mark.parametrize('tags', ['travel', [1], {'a': 1}, [None]])
def test_tags_that_are_no_list_of_texts_are_named(tags: object) -> None:
    with pytest.raises(ValueError, match='expected `tags` to be a list of texts'):
        read_references([{'ground_truth': [step(0, 'a')], 'tags': tags}])


@pytest.mark.parametrize('tags', [None, 'x', [[]], {}, 3])
def test_foreign_tags_are_no_fault(tags: object) -> None:
    assert row_of('[]', {'ground_truth': [step(0, 'a')], 'meta': {'tags': tags}}, [Recovery()])['tags'] == []


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ('args', 'kept'),
    [
        ({}, {}),
        ('a text', 'a text'),
        ({'n': 1, 'f': 0.5, 'b': None, 'l': [1, {'x': 'ü'}]}, {'n': 1, 'f': 0.5, 'b': None, 'l': [1, {'x': 'ü'}]}),
        ({'long': 'y' * 5_000, 'short': 1}, {'long': cut('y' * 5_000, MAX_VALUE), 'short': 1}),
        ({'list': ['y' * 5_000]}, {'list': cut(json.dumps(['y' * 5_000]), MAX_VALUE)}),
        ('y' * 5_000, cut('y' * 5_000, MAX_VALUE)),
        ({'nan': float('nan'), 'inf': float('inf'), 'x': 1}, {'nan': 'nan', 'inf': 'inf', 'x': 1}),
        ({'set': {1}, 'x': 1}, {'set': '{1}', 'x': 1}),
        ({'deep': deep(MAX_DEPTH + 1)}, {'deep': json.dumps(deep(MAX_DEPTH + 1))}),
        ({'surrogate': '\ud800'}, {'surrogate': '?'}),
    ],
)
def test_arguments_are_bounded_and_can_be_written(args: Any, kept: Any) -> None:
    row = row_of([step(0, 'a', args)], {'ground_truth': [step(0, 'a')]}, [Recovery()])
    assert row['pred_steps'][0]['args'] == kept


def test_a_plan_of_any_length_makes_a_row_of_bounded_length() -> None:
    row = row_of([step(i, 'a') for i in range(MAX_STEPS + 50)], {'ground_truth': [step(0, 'a')]}, [Recovery()])
    assert (row['n_pred'], len(row['pred_steps']), len(row['pred_edges'])) == (MAX_STEPS + 50, MAX_STEPS, MAX_STEPS - 1)


def test_arguments_without_end_make_a_row_of_bounded_length() -> None:
    pred = [step(i, 'a', {f'k{j}': 'v' * 90 for j in range(150)}) for i in range(40)]
    row = row_of(pred, {'ground_truth': [step(0, 'a')]}, [Recovery()])
    first, last = row['pred_steps'][0], row['pred_steps'][-1]
    assert len(first['args']) == MAX_ARGUMENTS + 1
    assert first['args']['…'] == '(50 of 150 arguments left out)'
    assert 'the plan is too long' in last['args']
    assert len(json.dumps([one['args'] for one in row['pred_steps']])) < 1.2 * MAX_PLAN


def test_one_lone_surrogate_no_longer_loses_the_whole_result() -> None:
    """The host writes UTF-8: a tool's name with a lone surrogate stopped the task of all samples."""
    pred = [step(0, 'a\ud800', {'k\udfff': 1}), step(1, 'a\ud800')]
    golden = {'id': 'q\ud801', 'ground_truth': [step(0, 'b', prev=[])], 'forbidden': ['a*']}
    row = row_of(json.dumps(pred), golden)
    json.dumps(row, ensure_ascii=False).encode('utf-8')
    assert row['sample'] == 'q?'
    assert [one['pred_name'] for one in row['alignment']] == ['a?', 'a?']
    assert row['pred_steps'][0] == step(0, 'a?', {'k?': 1})


def test_one_name_of_a_megabyte_makes_no_row_of_megabytes() -> None:
    row = row_of(json.dumps([step(i, 'a' * 200_000) for i in range(3)]), GOLDEN)
    assert len(json.dumps(row)) < 12 * MAX_TEXT
    assert len(row['pred_steps'][0]['name']) <= MAX_TEXT + NOTE


@pytest.mark.parametrize(
    ('identifier', 'kept'),
    [(7, 7), ('x', 'x'), ('y' * 5_000, cut('y' * 5_000, MAX_NAME))],
)
def test_ids_are_bounded(identifier: Any, kept: Any) -> None:
    row = row_of([{'id': identifier, 'name': 'a', 'args': {}}], {'ground_truth': [step(0, 'a')]}, [Recovery()])
    assert row['pred_steps'][0]['id'] == kept


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just('\ud800'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
CALLS = st.builds(lambda name, args: {'name': name, 'args': args}, st.text(max_size=4), VALUES)


@given(prediction=st.lists(CALLS, max_size=4) | VALUES, query=VALUES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_prediction_makes_a_row_that_any_json_reader_takes(prediction: Any, query: Any) -> None:
    row = row_of(prediction, {**GOLDEN, 'query': query})
    text = json.dumps(row, ensure_ascii=False, indent=4, allow_nan=False)
    assert json.loads(text.encode('utf-8')).keys() == row.keys()
    plain = row_of('[]', GOLDEN)
    assert list(row) == list(plain)


@given(st.text(max_size=60), st.integers(0, 60))
def test_cut_keeps_the_beginning_and_says_how_much_is_gone(text: str, limit: int) -> None:
    found = cut(text, limit)
    assert found == text if len(text) <= limit else found.startswith(text[:limit] + '… (')
    assert len(found) <= max(len(text), limit + NOTE)


def test_the_best_of_several_golden_plans_is_the_one_in_the_row() -> None:
    golden = {'ground_truths': [[step(0, 'x')], [step(0, 'a'), step(1, 'b')]]}
    row = row_of([step(0, 'a'), step(1, 'b')], golden, [SequenceSimilarity()])
    assert row['golden_index'] == 1
    assert [one['name'] for one in row['ref_steps']] == ['a', 'b']


def test_a_long_text_is_cut_once_and_says_how_much_is_missing() -> None:
    row = row_of(f'no plan \ud800 {"x" * 9_000}', {**GOLDEN, 'query': 'q' * 1_000_000})
    assert row['query'].endswith(' of 1000000 characters left out)')
    assert row['query'].count('left out') == 1
