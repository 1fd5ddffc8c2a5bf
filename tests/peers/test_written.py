"""Links and edges as TaskBench's and WorFBench's own formats write them."""

import json

import pytest

from opencompass_traj.embedding import TextVectors
from opencompass_traj.scoring import Scorer, read_references
from opencompass_traj.scoring.peers import PeerMetrics
from tests.conftest import ExactEncoder

GOLDEN = [{'id': 0, 'name': 'a', 'prev': []}, {'id': 1, 'name': 'b', 'prev': [0]}]


def score(legacy, prediction, golden=GOLDEN):
    scorer = Scorer([PeerMetrics(legacy, prefix='')], vectors=lambda: TextVectors(ExactEncoder(512)))
    return scorer.score([prediction], read_references([golden])).details[0]


def taskbench(*links, key='task_links'):
    nodes = [{'task': name, 'arguments': []} for name in 'ab']
    return {'task_nodes': nodes, key: [{'source': source, 'target': target} for source, target in links]}


@pytest.mark.parametrize(
    ('prediction', 'edge_f1'),
    [
        (taskbench('ab'), 1),
        (taskbench('ab', 'ax'), 2 / 3),  # x is no node: a wrong link all the same
        (taskbench('ab', 'xy', 'yz'), 2 / 4),
        (taskbench('ab', 'ab'), 1),
        (taskbench('aa', 'ab'), 2 / 3),
        (taskbench('ba'), 0),
        (taskbench(), 0),
        ({'result': taskbench('ab', 'ax')}, 2 / 3),
        ({**taskbench(), 'task_links': json.dumps([{'source': ' a', 'target': 'b'}])}, 1),
        ({'tool_nodes': taskbench()['task_nodes'], 'tool_links': [{'source': 'a', 'target': 'x'}]}, 0),
        ({**taskbench(), 'task_links': [{'source': 'a', 'target': 'b'}, 7, {}, {'source': 1, 'target': 'b'}]}, 1),
        ({'task_nodes': taskbench()['task_nodes']}, 1),  # no links are stated: a chain
    ],
)
def test_taskbench_s_links_are_taken_as_written(prediction, edge_f1):
    for written in (prediction, json.dumps(prediction)):
        row = score('taskbench', written)
        assert row['format'] == 'taskbench'
        assert row['edge_f1'] == pytest.approx(edge_f1)


def workflow(edges, nodes='ab'):
    return 'Node:\n' + '\n'.join(f'{i}: {name}' for i, name in enumerate(nodes, start=1)) + f'\nEdges:\n{edges}'


@pytest.mark.parametrize(
    ('edges', 'f1_graph'),
    [
        ('(START,1) (1,2) (2,END)', 1),
        ('( START , 1 )( 1, 2 )(2 ,END)', 1),
        ('(START,1) (1,2)', 3 / 4),
        ('(1,2)', 2 / 4),
        ('(START,1) (1,2) (2,END) (1,END)', 1),
        ('(START,2) (2,1) (1,END)', 1 / 4),
        ('(1,7) (9,END)', 1 / 4),
        ('none', 0),
    ],
)
def test_worfbench_s_edges_are_taken_as_written(edges, f1_graph):
    row = score('worfeval', workflow(edges))
    assert row['format'] == 'worfbench'
    assert row['f1_graph'] == pytest.approx(f1_graph)
    assert row['f1_chain'] == (0 if edges == 'none' else 1)


def test_another_format_has_the_edges_of_its_plan():
    calls = json.dumps([{'id': i, 'name': name, 'args': {}} for i, name in enumerate('ab')])
    assert score('worfeval', calls)['f1_graph'] == 1
    assert score('taskbench', calls)['edge_f1'] == 1


def test_hostile_texts_take_no_time():
    row = score('worfeval', workflow('(START,1)' + '(' * 50_000 + '1 ' * 50_000 + '(1,2' + ' ' * 50_000))
    assert 0 < row['f1_graph'] < 1
    deep = '[' * 5_000 + ']' * 5_000
    assert score('taskbench', {**taskbench(), 'task_links': deep})['edge_f1'] in {0, 1}
