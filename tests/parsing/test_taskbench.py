"""TaskBench's plans."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.edges import predicted_edges
from opencompass_traj.parsing.taskbench import NAME, parse, recognises
from opencompass_traj.parsing.values import MAX_STEPS
from opencompass_traj.plan import ParseFailure, Trajectory


def record(tasks, links=None, **more):
    value = {'task_nodes': [{'task': task, 'arguments': []} for task in tasks], **more}
    if links is not None:
        value['task_links'] = [{'source': source, 'target': target} for source, target in links]
    return value


def prevs(tasks, links):
    reading = parse(record(tasks, links))
    assert isinstance(reading, Trajectory)
    assert reading.plan.names == tuple(tasks)
    return [step.prev for step in reading.plan.steps]


@pytest.mark.parametrize(
    ('tasks', 'links', 'expected'),
    [
        ('a', [], [()]),
        ('ab', [('a', 'b')], [(), (0,)]),
        ('abc', [('a', 'c'), ('b', 'c')], [(), (), (0, 1)]),
        ('ab', [('a', 'b'), ('a', 'b')], [(), (0,)]),
        # A task that occurs twice: the first link is to its first node, the repetition to its second.
        ('abb', [('a', 'b'), ('a', 'b')], [(), (0,), (0,)]),
        ('abb', [('a', 'b')], [(), (0,), ()]),
        # The first node of the source's name.
        ('aab', [('a', 'b')], [(), (), (0,)]),
        ('aa', [('a', 'a')], [(), (0,)]),
        ('aaa', [('a', 'a'), ('a', 'a')], [(), (0,), (0,)]),
        # Links by tag name the node itself.
        ('aab', [('node-1', 'node-2')], [(), (), (1,)]),
        ('aab', [('<node-1>', 'b')], [(), (), (1,)]),
        # A link against the order is kept: a statement to be judged, not to be mended.
        ('ba', [('a', 'b')], [(1,), ()]),
    ],
)
def test_links(tasks, links, expected):
    assert prevs(tasks, links) == expected


@pytest.mark.parametrize('link', [('a', 'x'), ('x', 'a'), ('a', ''), ('node-7', 'a'), ('b', 'b')])
def test_a_link_that_names_no_node_is_dropped(link):
    reading = parse(record('ab', [link, ('a', 'b')]))
    assert [step.prev for step in reading.plan.steps] == [(), (0,)]
    assert len(reading.dropped) == 1
    assert reading.dropped[0].startswith('link between unknown nodes: ')


@pytest.mark.parametrize('link', [None, 'a', [], {'source': 'a'}, {'source': 1, 'target': 'b'}])
def test_a_link_that_is_none_is_dropped(link):
    reading = parse({**record('ab'), 'task_links': [link]})
    assert [step.prev for step in reading.plan.steps] == [(), ()]
    assert len(reading.dropped) == 1


def test_without_links_no_dependency_is_known():
    assert [step.prev for step in parse(record('ab')).plan.steps] == [None, None]
    assert [step.prev for step in parse(record('ab', [])).plan.steps] == [(), ()]


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['a.txt', '<node-0>'], ['a.txt', '<node-0>']),
        ([{'name': 'city', 'value': 'Lyon'}, {'name': 'n', 'value': 2}], {'city': 'Lyon', 'n': 2}),
        (
            [{'name': 'x', 'value': 1}, {'name': 'x', 'value': 2}],
            [{'name': 'x', 'value': 1}, {'name': 'x', 'value': 2}],
        ),
        ([{'name': 'x', 'value': 1}, 'y'], [{'name': 'x', 'value': 1}, 'y']),
        ({'city': 'Lyon'}, {'city': 'Lyon'}),
        ([], []),
        (None, {}),
        ('{"a": 1}', {'a': 1}),
    ],
)
def test_arguments(arguments, expected):
    reading = parse({'task_nodes': [{'task': 'a', 'arguments': arguments}]})
    assert reading.plan.steps[0].args == expected


def test_references_in_arguments_are_found_by_the_tags():
    value = {'task_nodes': [{'task': 'a', 'arguments': ['x']}, {'task': 'b', 'arguments': ['<node-0>']}]}
    edges = predicted_edges(parse(value).plan, golden_has_graph=True)
    assert (edges.source, edges.graph.edges) == ('references', frozenset({(0, 1)}))


def test_the_benchmark_data_files_have_json_text_and_other_keys():
    plain = record('ab', [('a', 'b')])
    data = {
        'id': '1', 'instruction': 'x',
        'tool_nodes': json.dumps(plain['task_nodes']), 'tool_links': json.dumps(plain['task_links']),
    }  # fmt: skip
    assert parse(data) == parse(json.dumps(plain)) == parse(plain) == parse({'id': '1', 'result': plain})


def test_one_bad_node_does_not_void_the_others_nor_shift_the_tags():
    value = {'task_nodes': [{'task': 'a'}, 'oops', {'task': 'c', 'arguments': ['<node-0>']}], 'task_links': []}
    reading = parse(value)
    assert [(step.id, step.name) for step in reading.plan.steps] == [(0, 'a'), (2, 'c')]
    assert reading.dropped == ("node 1: no task in 'oops'",)


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        (None, 'no object with task_nodes'),
        ([], 'no object with task_nodes'),
        ({'task_nodes': 'x'}, 'task_nodes is no list'),
        ({'task_nodes': None}, 'task_nodes is no list'),
        ({'task_nodes': ['x']}, "no node could be read: node 0: no task in 'x'"),
        ({'task_nodes': [{'task': 'a'}] * (MAX_STEPS + 1)}, f'more than {MAX_STEPS} nodes or links'),
    ],
)
def test_failures_say_why(value, reason):
    assert parse(value) == ParseFailure(reason)


def test_recognises_and_name():
    assert NAME == 'taskbench'
    assert parse(record('a')).format == NAME
    assert [recognises(value) for value in (record('a'), {'result': record('')}, {'result': []}, 'task_nodes', [])] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert len(parse(record('')).plan) == 0


@given(st.lists(st.sampled_from('abc'), max_size=6), st.lists(st.tuples(*[st.sampled_from('abcx')] * 2), max_size=8))
@settings(max_examples=300, deadline=None)
def test_every_link_is_a_dependency_or_dropped(tasks, links):
    reading = parse(record(tasks, links))
    pairs = {(tasks[source], step.name) for step in reading.plan.steps for source in step.prev}
    possible = {(s, t) for s, t in links if s in tasks and t in tasks and (s != t or tasks.count(s) > 1)}
    assert pairs == possible
    assert len(reading.dropped) == sum(link not in possible for link in links)
    assert all(step.id not in step.prev for step in reading.plan.steps)
