"""WorFBench's workflows."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.edges import golden_graph
from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.parsing.worfbench import NAME, parse, recognises
from opencompass_traj.plan import ParseFailure, Trajectory
from tests.data import shared_data


def workflow(nodes, edges):
    lines = [f'{number}: {text}' for number, text in nodes.items()]
    return 'Node:\n' + '\n'.join(lines) + '\nEdges: ' + ' '.join(f'({source},{target})' for source, target in edges)


NODES = {1: 'find a city', 2: 'get its weather', 3: 'book a train'}


@pytest.mark.parametrize(
    ('edges', 'prevs'),
    [
        ([], [(), (), ()]),
        ([('START', 1), (1, 2), (2, 3), (3, 'END')], [(), (1,), (2,)]),
        ([('START', 1), ('START', 2), (1, 3), (2, 3), (3, 'END')], [(), (), (1, 2)]),
        ([(1, 2), (1, 2)], [(), (1,), ()]),
        ([(3, 1)], [(3,), (), ()]),
        ([('START', 'END')], [(), (), ()]),
    ],
)
def test_edges(edges, prevs):
    reading = parse(workflow(NODES, edges))
    assert [(step.id, step.name) for step in reading.plan.steps] == list(NODES.items())
    assert [step.prev for step in reading.plan.steps] == prevs
    assert reading.dropped == ()
    assert reading.format == NAME == 'worfbench'


@pytest.mark.parametrize(
    'text',
    [
        'Node:\n1: a\n2: b\nEdges:\n(START,1)\n(1,2)\n(2,END)',
        'Node:\n1.a\n2.b\nGraph:\nEdge: (START,1) (1,2) (2,END)',
        '**Nodes:**\n1. a\n2. b\n\n**Edges:**\n(START, 1), (1, 2), (2, END)',
        '节点如下\nNode：\n1：a\n2：b\nEdges：（略）(start,1)(1，2)(2,end)',
        '<think>Node:\n1: x\nEdges: (1,2)</think>Node:\n1: a\n2: b\nEdges: (1,2)',
        'Node:\r\n1: a\r\n2: b\r\nEdges: (1,2)\r\n',
    ],
)
def test_ways_of_writing(text):
    reading = parse(text)
    assert [(step.id, step.name, step.prev) for step in reading.plan.steps] == [(1, 'a', ()), (2, 'b', (1,))]


def test_what_makes_no_sense_is_dropped_and_named():
    reading = parse('Node:\n1: a\n1: b\n2: c\nEdges: (1,2) (2,7) (x,1)')
    assert [(step.name, step.prev) for step in reading.plan.steps] == [('a', ()), ('c', (1,))]
    assert reading.dropped == ("node 1 occurs twice: 'b'", 'edge (2,7) names no node')


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        (None, 'no text, but a NoneType'),
        ([], 'no text, but a list'),
        ('', 'no lines Node: and Edges:'),
        ('Node:\n1: a', 'no lines Node: and Edges:'),
        ('Edges: (1,2)\nNode:\n1: a', 'no lines Node: and Edges:'),
        ('Node:\nEdges: (1,2)', 'expected 1 to 100000 numbered nodes, got 0'),
        ('<think>Node:\n1: a\nEdges: (1,2)', 'the answer ends inside its reasoning'),
        ('x' * (MAX_CHARS + 1), f'answer longer than {MAX_CHARS} characters'),
    ],
)
def test_failures_say_why(value, reason):
    assert parse(value) == ParseFailure(reason)


def test_recognises():
    assert recognises(workflow(NODES, []))
    assert not any(
        map(recognises, ['', 'Node: 1', 'Edges: 2', None, [], 'My node: x\nmy edges: y', 'x' * (MAX_CHARS + 1)])
    )


def test_the_benchmark_golden_workflows_are_read():
    samples = json.loads(shared_data('worfbench/toolbench.json').read_text('utf-8'))
    assert len(samples) == 114
    for sample in samples:
        text = sample['conversations'][-1]['content']
        assert recognises(text)
        reading = parse(text)
        assert isinstance(reading, Trajectory)
        assert reading.dropped == ()
        numbered = [line.split(':', 1) for line in text.split('Graph:')[0].splitlines() if ':' in line][1:]
        assert [(step.id, step.name) for step in reading.plan.steps] == [(int(n), t.strip()) for n, t in numbered]
        edges = golden_graph(reading.plan).edges
        stated = re.findall(r'\((\d+), ?(\d+)\)', text.split('Edge:', 1)[1])
        assert edges == {(int(source) - 1, int(target) - 1) for source, target in stated}


@given(
    st.dictionaries(st.integers(0, 20), st.text('abc :', min_size=1).map(str.strip).filter(bool), min_size=1), st.data()
)
@settings(max_examples=150, deadline=None)
def test_round_trip(nodes, data):
    ends = st.sampled_from([*nodes, 'START', 'END'])
    edges = data.draw(st.lists(st.tuples(ends, ends), max_size=8))
    reading = parse(workflow(nodes, edges))
    expected = {number: [s for s, t in dict.fromkeys(edges) if t == number and s in nodes] for number in nodes}
    assert {step.id: list(step.prev) for step in reading.plan.steps} == expected
    assert {step.id: step.name for step in reading.plan.steps} == nodes


@given(
    st.lists(
        st.sampled_from(['Node:', 'Edges:', '\n', '1: a', '2', '(1,2)', '(START,', ')', ' ', '9' * 30]), max_size=40
    )
)
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_value(parts):
    text = ''.join(parts)
    assert isinstance(parse(text), ParseFailure | Trajectory)
    recognises(text)
