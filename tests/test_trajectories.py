"""Reading any answer or recording: which format, strictly or leniently, and nothing that raises."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.parsing.trajectories import FORMATS, RECORDED, WRITTEN, check_format, read_trajectory
from opencompass_traj.plan import ParseFailure, Trajectory
from opencompass_traj.recordings import read_recording
from opencompass_traj.scoring import (
    ArgumentMatch,
    CausalFidelity,
    CorpusScore,
    EffectMatch,
    Efficiency,
    ForbiddenTools,
    GraphSimilarity,
    LoopDetection,
    Metric,
    Outcome,
    PartialOrderSimilarity,
    Reading,
    Recovery,
    Scorer,
    SequenceSimilarity,
    TrajectoryScore,
    read_references,
)
from opencompass_traj.tasks import read_tasks
from tests.conftest import ExactEncoder, HashedEncoder
from tests.data import shared_data
from tests.parsing.recordings import RUN, WRITERS

NAMES = ('search', 'weather', 'book', 'book')
ARGS = [{'city': 'Lyon'}, {'city': 'Lyon', 'days': [1, 2]}, {'id': 7}, {'id': 7}]
TEVAL = [{'id': i, 'name': name, 'args': args} for i, (name, args) in enumerate(zip(NAMES, ARGS, strict=True))]

WRITTEN_TEXTS: dict[str, Any] = {
    'taskbench': json.dumps(
        {
            'task_nodes': [
                {'task': name, 'arguments': [{'name': key, 'value': value} for key, value in args.items()]}
                for name, args in zip(NAMES, ARGS, strict=True)
            ],
            'task_links': [{'source': 'search', 'target': 'book'}],
        }
    ),
    'worfbench': 'Node:\n1: search\n2: weather\n3: book\n4: book\nEdges: (START,1) (1,2) (2,3) (3,4) (4,END)',
    'react': '\n'.join(
        f'Thought: go on.\nAction: {name}\nAction Input: {json.dumps(args)}\nObservation: done'
        for name, args in zip(NAMES, ARGS, strict=True)
    )
    + '\nThought: I know.\nFinal Answer: booked.',
    'steps': json.dumps([{'tool': name, 'tool_input': args} for name, args in zip(NAMES, ARGS, strict=True)]),
    'lenient': "Here you are:\n```json\n[{'tool': 'search', 'param': {'city': 'Lyon'}},\n"
    "{'tool': 'weather', 'param': {'city': 'Lyon', 'days': [1, 2,]}}, {'tool': 'book', 'param': {'id': 7}},\n"
    "{'tool': 'book', 'param': {'id': 7}}, // and that is it\n]\n```",
    'calls': 'search(city="Lyon")\nweather(city="Lyon", days=[1, 2])\nbook(id=7)\nbook(id=7)',
}


def steps(*names: str) -> list[dict[str, Any]]:
    return [{'id': i, 'name': name, 'args': {}} for i, name in enumerate(names)]


def everything() -> list[Metric]:
    return [
        Recovery(), SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(),
        TrajectoryScore(), ArgumentMatch(), EffectMatch(), LoopDetection(), ForbiddenTools(['book']), Efficiency(),
        Outcome(),
    ]  # fmt: skip


def scored(predictions: list[Any], golden: Any, metrics: list[Metric] | None = None, **reading: Any) -> CorpusScore:
    scorer = Scorer(metrics or everything(), reading=Reading(**reading))
    return scorer.score(predictions, read_references([golden] * len(predictions)))


def trajectory(value: object, **options: Any) -> Trajectory:
    found = read_trajectory(value, **options)
    assert isinstance(found, Trajectory), found
    return found


# ---------------------------------------------------------------- formats by name and by look


def test_the_formats_are_these() -> None:
    assert FORMATS[:2] == ('auto', 'teval')
    assert FORMATS[2:] == (*RECORDED, *WRITTEN)
    assert len(set(FORMATS)) == len(FORMATS) == 15
    assert set(RECORDED) == set(WRITERS)
    assert set(WRITTEN) == set(WRITTEN_TEXTS)


@pytest.mark.parametrize('name', WRITERS)
def test_each_recording_is_recognised_as_value_and_as_text(name: str) -> None:
    value = WRITERS[name](RUN)
    found = trajectory(value)
    assert (found.format, found.recovered, found.dropped) == (name, False, ())
    assert found.plan.names == NAMES
    assert [step.args for step in found.plan.steps] == ARGS
    assert [step.turn for step in found.plan.steps] == [0, 0, 1, 2]
    for text in (json.dumps(value), json.dumps(value, indent=2, ensure_ascii=False), f'\n {json.dumps(value)}\n'):
        assert trajectory(text) == trajectory(text, format=name) == trajectory(value, format=name) == found


@pytest.mark.parametrize('name', WRITTEN_TEXTS)
def test_each_written_format_is_read_by_its_name(name: str) -> None:
    found = trajectory(WRITTEN_TEXTS[name], format=name)
    assert found.recovered is True
    assert found.plan.names == NAMES
    if name != 'worfbench':
        assert [step.args for step in found.plan.steps] == ARGS


@pytest.mark.parametrize('name', WRITTEN_TEXTS)
def test_each_written_format_is_found_without_its_name(name: str) -> None:
    found = trajectory(WRITTEN_TEXTS[name])
    assert found.plan.names == NAMES
    assert found.recovered is True
    assert found.format == name


@pytest.mark.parametrize('name', WRITERS)
def test_a_format_that_is_named_and_is_not_there_is_a_failure(name: str) -> None:
    other = 'anthropic' if name == 'otel' else 'otel'
    assert isinstance(read_trajectory(WRITERS[name](RUN), format=other), ParseFailure)
    assert isinstance(read_trajectory('book(id=7)', format=name), ParseFailure)


@pytest.mark.parametrize(('name', 'near'), [('opnai', 'openai'), ('tevl', 'teval'), ('react_', 'react')])
def test_an_unknown_format_is_refused_with_what_is_near(name: str, near: str) -> None:
    with pytest.raises(ValueError, match=f'expected a format of auto, .*, got {name!r}; did you mean {near!r}'):
        check_format(name)
    with pytest.raises(ValueError, match=r"got 'xyz'$"):
        check_format('xyz')
    with pytest.raises(ValueError, match='expected a format'):
        read_trajectory('', format=name)
    with pytest.raises(ValueError, match='expected a format'):
        Scorer([Recovery()], reading=Reading(prediction_format=name)).score(['x'], read_references([steps('A')]))


def test_what_tevals_own_reading_finds_goes_first() -> None:
    text = json.dumps(TEVAL)
    strict = parse_prediction(text, prompt_type='json')
    for name in ('auto', 'teval'):
        found = trajectory(text, format=name, strict=strict)
        assert (found.plan, found.format, found.recovered) == (strict, 'teval', False)
    failure = ParseFailure('no')
    assert read_trajectory(text, format='teval', strict=failure) is failure
    assert trajectory(text, strict=failure).recovered is True


def test_an_answer_that_is_too_long_is_a_failure() -> None:
    found = read_trajectory('A()' + ' ' * MAX_CHARS)
    assert found == ParseFailure(f'answer longer than {MAX_CHARS} characters')


# ---------------------------------------------------------------- strict and lenient, through the scorer


@pytest.mark.parametrize('name', [*WRITERS, *WRITTEN_TEXTS])
def test_every_format_is_scored_like_the_plan_it_holds(name: str) -> None:
    prediction = WRITERS[name](RUN) if name in WRITERS else WRITTEN_TEXTS[name]
    row = scored([prediction], TEVAL).details[0]
    assert row['format'] == name
    assert row['parse_status'] == ('read' if name in WRITERS else 'recovered')
    assert row['recovered_rate'] == (name not in WRITERS)
    assert row['sequence_similarity'] == row['partial_order_similarity'] == row['node_f1'] == 1
    assert row['n_dropped'] == 0
    assert row['forbidden_hits'] == 2
    if name != 'worfbench':
        assert row['args_exact_rate'] == 1

    former = scored([prediction], TEVAL, prediction_format='teval').details[0]
    assert (former['parse_status'], former['recovered_rate']) == ('unreadable', 0)
    assert former['parse_reason']
    assert former['sequence_similarity'] == former['argument_f1'] == former['effect_f1'] == 0

    named = scored([prediction], TEVAL, prediction_format=name).details[0]
    assert {key: named[key] for key in row} == row


def test_a_plan_that_teval_reads_is_the_same_in_both_readings() -> None:
    golden = json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8'))
    plans = [record['ground_truth'] for record in golden.values()][::4]
    texts = [json.dumps(plan[1:] + plan[:1]) for plan in plans]
    references = read_references(plans)
    auto, teval = (
        Scorer(everything(), reading=Reading(prediction_format=name)).score(texts, references)
        for name in ('auto', 'teval')
    )
    assert auto.details == teval.details
    assert {row['format'] for row in auto.details} == {'teval'}


@pytest.mark.parametrize(
    ('prediction', 'n_pred', 'n_dropped'),
    [
        ('[{"name": "A", "args": {}}, {"name": "B", "args": {"x": ', 1, 1),
        ('[{"tool": "A"}, {"tool": ""}, 7, {"tool": "B"}]', 2, 2),
        ({'messages': [{'role': 'assistant', 'tool_calls': [
            {'id': '1', 'type': 'function', 'function': {'name': 'A', 'arguments': '{}'}},
            {'id': '2', 'type': 'function', 'function': {'arguments': '{}'}},
        ]}]}, 1, 1),
    ],
)  # fmt: skip
def test_what_is_dropped_is_named_and_counted_and_voids_nothing_else(
    prediction: Any, n_pred: int, n_dropped: int
) -> None:
    row = scored([prediction], steps('A', 'B')).details[0]
    assert (row['n_pred'], row['n_dropped'], len(row['dropped_steps'])) == (n_pred, n_dropped, n_dropped)
    assert all(type(text) is str and text for text in row['dropped_steps'])


def test_no_more_than_twenty_dropped_steps_are_named() -> None:
    row = scored([json.dumps([{'tool': 'A'}, *[{'tool': ''}] * 30])], steps('A')).details[0]
    assert (row['n_dropped'], len(row['dropped_steps'])) == (30, 20)


@pytest.mark.parametrize(
    'text',
    [
        '<think>[{"id": 0, "name": "A", "args": {}}]</think> I would rather not.',
        '<think>A() and then B()',
        'I cannot help with that.',
        '',
    ],
)
def test_a_draft_or_a_refusal_is_no_answer(text: str) -> None:
    reading = Reading(prediction_format='lenient')
    row = Scorer(everything(), reading=reading).score([text], read_references([steps('A')])).details[0]
    assert row['parse_status'] == 'unreadable'


DRAFT = '<think>[{"id": 0, "name": "A", "args": {}}]</think>'
ANSWER = '[{"id": 0, "name": "B", "args": {}}]'


@pytest.mark.parametrize(
    ('text', 'status', 'strict'),
    [
        (DRAFT, 'unreadable', 'read'),
        (DRAFT + ANSWER, 'recovered', 'unreadable'),
        (DRAFT + 'B()', 'recovered', 'read'),
        ('<think>hm</think>' + ANSWER, 'read', 'read'),
        ('<think>' + ANSWER, 'unreadable', 'read'),
    ],
)
def test_what_stands_in_a_reasoning_block_is_no_answer(text: str, status: str, strict: str) -> None:
    """T-Eval's reading takes the draft; its own numbers keep it, and `prediction_format='teval'` all numbers."""
    for name in ('auto', 'lenient'):
        row = scored([text], steps('B'), prediction_format=name).details[0]
        assert (row['parse_status'], row['sequence_similarity']) == (status, float(status != 'unreadable')), name
    assert scored([text], steps('B'), prediction_format='teval').details[0]['parse_status'] == strict


@pytest.mark.parametrize(
    ('text', 'name', 'status'),
    [
        ('There is nothing to do.', 'auto', 'recovered'),
        ('There is nothing to do.', 'lenient', 'recovered'),
        ('There is nothing to do.', 'teval', 'unreadable'),
        ('There is nothing to do.', 'openai', 'unreadable'),
        ('[]', 'auto', 'read'),
        ({'messages': [{'role': 'assistant', 'content': 'Nothing to do.'}]}, 'auto', 'read'),
        ('[{"name": "A", "args":', 'auto', 'unreadable'),
        ('<think>hm', 'auto', 'unreadable'),
        (None, 'auto', 'unreadable'),
    ],
)
def test_an_answer_without_a_call_is_right_where_nothing_was_to_be_called(text: Any, name: str, status: str) -> None:
    row = scored([text], steps('FinishAction'), prediction_format=name).details[0]
    assert row['parse_status'] == status
    assert row['sequence_similarity'] == row['effect_f1'] == float(status != 'unreadable')
    if type(text) is str and text != '[]':
        assert scored([text], steps('A'), prediction_format=name).details[0]['parse_status'] == 'unreadable'


@pytest.mark.parametrize('text', ['', ' \n'])
def test_no_answer_at_all_is_unreadable_even_where_nothing_was_to_be_called(text: str) -> None:
    assert scored([text], steps('FinishAction')).details[0]['parse_status'] == 'unreadable'


def test_lines_name_the_longest_tool_that_fits() -> None:
    """T-Eval's reading of the `str` form takes `search` for `search_hotel`, as the shorter one is listed first."""
    meta = {'prompt_type': 'str', 'API_list': ['search', 'search_hotel', 'book']}
    golden = {'ground_truth': steps('search_hotel', 'book'), 'meta': meta}
    text = '1. search_hotel in Lyon\n2. book it'
    ours, theirs = (scored([text], golden, prediction_format=name).details[0] for name in ('auto', 'teval'))
    assert (ours['sequence_similarity'], ours['parse_status'], ours['format']) == (1, 'recovered', 'mentions')
    assert (theirs['sequence_similarity'], theirs['parse_status']) == (0.5, 'read')
    agreed = scored(['1. book it'], golden).details[0]
    assert (agreed['parse_status'], agreed['format']) == ('read', 'teval')


# ---------------------------------------------------------------- T-Eval's numbers on recordings

KEYS = ('precision', 'recall', 'f1_score', 'parse_rate')


@pytest.mark.host
@pytest.mark.parametrize('name', WRITERS)
def test_tevals_numbers_of_a_recording_are_those_of_its_calls_written_well(build: Any, name: str) -> None:
    golden = json.dumps({'ground_truth': [*TEVAL[:2], {'id': 2, 'name': 'pay', 'args': {}}]})
    evaluator = build(HashedEncoder(), metrics=[{'type': 'TEvalPlanning'}])
    value = WRITERS[name](RUN)
    recorded, text, written = evaluator.score([value, json.dumps(value), json.dumps(TEVAL)], [golden] * 3)['details']
    assert [recorded[key] for key in KEYS] == [text[key] for key in KEYS] == [written[key] for key in KEYS]
    assert 0 < recorded['f1_score'] < 1
    assert recorded['parse_rate'] == 1


@pytest.mark.host
def test_tevals_numbers_count_parallel_calls_as_listed(build: Any, upstream: Any) -> None:
    """T-Eval knows no turns: its numbers stay upstream's on the order in which the calls are listed."""
    run = [[('A', {}, None), ('B', {}, None), ('C', {}, None)]]
    evaluator, theirs = build(ExactEncoder(), metrics=[{'type': 'TEvalPlanning'}]), upstream(ExactEncoder())
    golden = steps('A', 'B', 'C')
    seen = set()
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        calls = [[run[0][i] for i in order]]
        row = evaluator.score([WRITERS['openai'](calls)], [json.dumps({'ground_truth': golden})])['details'][0]
        listed = json.dumps(steps(*(name for name, _, _ in calls[0])))
        wanted = theirs.score([listed], [json.dumps({'ground_truth': golden, 'meta': {}})])
        assert {key: 100 * row[key] for key in KEYS} == pytest.approx(wanted)
        seen.add(row['f1_score'])
    assert len(seen) > 1


@pytest.mark.host
def test_parse_rate_stays_tevals_and_recovered_says_what_else_was_read(build: Any) -> None:
    predictions = [json.dumps(TEVAL), WRITTEN_TEXTS['react'], 'no plan', WRITERS['anthropic'](RUN)]
    result = build().score(predictions, [json.dumps({'ground_truth': TEVAL})] * 4)
    assert [row['parse_rate'] for row in result['details']] == [1, 0, 0, 1]
    assert [row['recovered_rate'] for row in result['details']] == [0, 1, 0, 0]
    assert [row['parse_status'] for row in result['details']] == ['read', 'recovered', 'unreadable', 'read']
    assert (result['parse_rate'], result['recovered_rate']) == (50, 25)
    assert [row['f1_score'] for row in result['details']] == [1, 0, 0, 1]
    former = build(prediction_format='teval').score(predictions, [json.dumps({'ground_truth': TEVAL})] * 4)
    assert [row['parse_rate'] for row in former['details']] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    'prompt_type',
    ['str', 'ReWOO'],
)
def test_a_recording_is_a_recording_whatever_the_prompt_type(prompt_type: str) -> None:
    golden = {'ground_truth': TEVAL, 'meta': {'prompt_type': prompt_type, 'API_list': list(NAMES)}}
    for value in (WRITERS['openai'](RUN), json.dumps(WRITERS['openai'](RUN), indent=1)):
        row = scored([value], golden).details[0]
        assert (row['format'], row['n_pred'], row['args_exact_rate']) == ('openai', 4, 1)


# ---------------------------------------------------------------- hostile values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
    | st.sampled_from(['assistant', 'ai', 'model', 'tool', 'function', 'tool_use', 'A', '[{"name": "A"}]', '{}']),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.text(max_size=3)
        | st.sampled_from(
            [
                'messages', 'role', 'type', 'content', 'tool_calls', 'function', 'function_call', 'name', 'arguments',
                'args', 'input', 'output', 'choices', 'message', 'contents', 'parts', 'functionCall', 'resourceSpans',
                'scopeSpans', 'spans', 'attributes', 'key', 'value', 'stringValue', 'schema_version', 'steps',
                'task_nodes', 'task_links', 'task', 'tool', 'param', 'id', 'prev', 'reward', 'usage', 'tokens',
                'call_id', 'status', 'is_error', 'traceId', 'spanId', 'kwargs', 'data', 'source', 'target',
            ]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=14,
)  # fmt: skip
TEXT = st.text(max_size=80) | st.lists(
    st.sampled_from(
        [
            '[', ']', '{', '}', '"', "'", ',', ':', '\\', '\n', '(', ')', '```', '```json', '<think>', '</think>',
            '"name"', '"args"', '"id": 0', 'Action:', 'Action Input:', 'Observation:', 'Node:', 'Edges:', '(1,2)',
            '1: A', 'A(x=1)', '<node-0>', '#E1', 'Plan 1:', 'null', 'NaN', '1e999', '//', '/*', '思考：', '行动：',
            '\ud800',
        ]
    ),
    max_size=30,
).map(''.join)  # fmt: skip
ANYTHING = JSON | TEXT | JSON.map(json.dumps)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def in_bounds(found: object) -> bool:
    if isinstance(found, ParseFailure):
        return bool(found.reason) and len(found.reason) < 1_000
    assert isinstance(found, Trajectory)
    figures = (found.record.tokens, found.record.latency, found.record.cost)
    return (
        all(type(step.name) is str and step.name for step in found.plan.steps)
        and all(type(text) is str and 0 < len(text) < 1_000 for text in found.dropped)
        and all(figure is None or (math.isfinite(figure) and figure >= 0) for figure in figures)
        and found.record.solved in {None, True, False}
    )


@given(ANYTHING)
@settings(max_examples=250, deadline=None, suppress_health_check=SLOW)
def test_reading_never_raises(value: Any) -> None:
    assert in_bounds(read_trajectory(value))


@pytest.mark.parametrize('name', [*RECORDED, *WRITTEN])
@given(value=ANYTHING)
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_reading_by_a_name_never_raises(name: str, value: Any) -> None:
    assert in_bounds(read_trajectory(value, format=name))


@given(ANYTHING)
@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
def test_any_prediction_gets_finite_numbers(value: Any) -> None:
    golden = {'ground_truth': TEVAL, 'budget': {'tokens': 3, 'latency': 1e-300}, 'forbidden': ['*']}
    check_numbers(scored([value], golden))


def check_numbers(found: CorpusScore) -> None:
    assert {type(value) for value in found.means.values()} == {float}
    assert all(math.isfinite(value) for value in found.means.values())
    assert all(-1e-9 <= found.means[key] <= 1 + 1e-9 for key in found.rates)


DEEP = 5_000


@pytest.mark.parametrize(
    'value',
    [
        '[' * 100_000, '{"a":' * 50_000, '(' * 100_000, '[{"name": "A", "args": ' * 20_000, '"' * 99_999,
        '```json\n' * 20_000, '<think>' * 20_000, 'A(' * 30_000, 'Action: ' * 30_000, '\\' * 99_999, '\x00' * 1_000,
        'Node:\n' + '\n'.join(f'{i}: t' for i in range(5_000)) + '\nEdges: ' + '(1,2) ' * 5_000,
        'A()\n' * 5_000, '[' + '{"name": "A", "args": {}},' * 5_000, '9' * 5_000, '-' * 50_000, ',' * 50_000,
        {'messages': [{'role': 'assistant', 'tool_calls': [{}] * 5_000}]}, {'messages': [None] * 1_000},
        b'bytes', object(), 3, float('nan'), {1: 2}, ({'name': 'A'},), {'A'}, [[[[[]]]]],
        {'messages': [{'role': 'assistant', 'tool_calls': 'x', 'content': {'a': 1}}], 'reward': 10**400, 'usage': 7},
        {'task_nodes': [{'task': 'A', 'arguments': ['<node-99999>']}], 'task_links': [{'source': 'A', 'target': 'A'}]},
    ],
    ids=lambda value: f'{str(value)[:12]!r}',
)  # fmt: skip
def test_hostile_values_are_bounded(value: Any) -> None:
    assert in_bounds(read_trajectory(value))
    metrics: list[Metric] = [Recovery(), ForbiddenTools(['*']), Efficiency()]
    check_numbers(scored([value], {'ground_truth': TEVAL, 'budget': {'tokens': 1}}, metrics))


def test_values_that_nest_deeply_are_bounded() -> None:
    nested: Any = {}
    for _ in range(DEEP):
        nested = {'messages': [nested]}
    assert in_bounds(read_trajectory(nested))
    args: Any = 1
    for _ in range(DEEP):
        args = [args]
    prediction = {'messages': [{'role': 'assistant', 'tool_calls': [{'function': {'name': 'A', 'arguments': args}}]}]}
    check_numbers(scored([prediction], steps('A')))


# ---------------------------------------------------------------- real files

FIELDS = {'id': ['task_id', 'trial'], 'ground_truth': 'gold_actions', 'query': 'instruction'}


@cache
def tau_bench() -> tuple[CorpusScore, list[dict[str, Any]]]:
    file = shared_data('tau_bench/gpt_4o_airline.jsonl')
    path = str(file)
    tasks = read_tasks(path, fields=FIELDS)
    recorded = read_recording(path, fields={'id': ['task_id', 'trial']}, tasks=tasks)
    assert list(recorded) == [task.id for task in tasks]
    metrics = [*everything()[:-5], EffectMatch(lookups=['transfer_to_human_agents']), *everything()[-4:]]
    references = read_references([task.record for task in tasks])
    rows = [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()]
    return Scorer(metrics).score([recorded[task.id] for task in tasks], references), rows


def test_tau_bench_is_read_whole() -> None:
    found, rows = tau_bench()
    assert len(found.details) == len(rows) == 100
    assert Counter(row['format'] for row in found.details) == {'openai': 100}
    assert Counter(row['parse_status'] for row in found.details) == {'read': 100}
    assert sum(row['n_dropped'] for row in found.details) == 0
    for row, source in zip(found.details, rows, strict=True):
        calls = [call for message in source['messages'] for call in message.get('tool_calls') or []]
        assert row['sample'] == f'{source["task_id"]}-{source["trial"]}'
        assert row['n_pred'] == len(calls)
        assert row['n_ref'] == len(source['gold_actions'])
    assert sum(row['n_pred'] for row in found.details) == 577
    assert sum(row['n_ref'] for row in found.details) == 336


def test_tau_benchs_solved_rate_is_its_mean_reward() -> None:
    found, rows = tau_bench()
    assert found.means['solved_rate'] == sum(row['reward'] for row in rows) / len(rows) == 0.49
    assert found.means['outcome_known_rate'] == 1
    assert [row['solved_rate'] for row in found.details] == [row['reward'] for row in rows]
    silent = [row['reward'] == 1 and score['degraded_rate'] for row, score in zip(rows, found.details, strict=True)]
    assert found.means['silent_degradation_rate'] == sum(silent) / 100
    assert found.means['token_known_rate'] == found.means['cost_known_rate'] == 0


def test_tau_benchs_changes_tell_solved_from_unsolved_runs() -> None:
    """The benchmark judges by the state of its database; with its one tool that leaves it alone declared, so do we."""
    found, rows = tau_bench()
    agreed = sum(score['effect_exact_rate'] == row['reward'] for row, score in zip(rows, found.details, strict=True))
    assert agreed >= 95
    check_numbers(found)


# For each file: T-Eval's own reading, what the lenient one adds, neither; and the formats.
ULTRATOOL = {
    'en_gpt-4': (0, 250, 0, {'steps': 231, 'lenient': 19}),
    'en_gpt-3.5': (0, 250, 0, {'steps': 60, 'lenient': 190}),
    'zh_gpt-4': (0, 250, 0, {'steps': 29, 'lenient': 221}),
    'zh_gpt-3.5': (0, 250, 0, {'steps': 5, 'lenient': 245}),
}


@pytest.mark.parametrize('name', ULTRATOOL)
def test_ultratool_is_read_whole(name: str) -> None:
    path = str(shared_data(f'ultratool/{name}.jsonl'))
    tasks = read_tasks(path, fields={'id': None, 'ground_truth': 'data.reference', 'query': 'data.question'})
    recorded = read_recording(path, fields={'id': None, 'prediction': 'init output'})
    assert [task.id for task in tasks] == list(recorded) == [str(number) for number in range(250)]
    found = Scorer(everything()).score(
        [recorded[task.id] for task in tasks], read_references([task.record for task in tasks])
    )
    status = Counter(row['parse_status'] for row in found.details)
    strict, lenient, neither, formats = ULTRATOOL[name]
    assert [status[key] for key in ('read', 'recovered', 'unreadable')] == [strict, lenient, neither]
    assert Counter(row['format'] for row in found.details) == formats
    assert found.means['recovered_rate'] == lenient / 250
    assert found.means['sequence_similarity'] > 0.9
    assert found.means['outcome_known_rate'] == 0
    check_numbers(found)
