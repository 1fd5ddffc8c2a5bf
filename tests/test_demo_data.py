"""The demo data: sound golden graphs, complete recordings, and agents that are what the demo's README says."""

import json
import re
from collections import Counter
from itertools import pairwise

import networkx as nx
import pytest

from opencompass_traj.files import resolve_path

AGENTS = ('careless', 'exact', 'looping', 'planner', 'reordered', 'roundabout')
PROSE_OR_BROKEN = {'crm-006', 'crm-zh-002', 'office-005', 'office-zh-003'}


def demo_path(name):
    folder = '' if name == 'tasks' else 'agents/'
    return resolve_path(f'package:opencompass_traj/data/demo/{folder}{name}.jsonl')


def rows(name):
    with demo_path(name).open(encoding='utf-8') as file:
        return [json.loads(line) for line in file]


TASKS = {row['id']: row for row in rows('tasks')}
GOLDEN = {name: row['ground_truth'] for name, row in TASKS.items()}


def read(text):
    """The list between the first bracket and the last one, or None."""
    first, last = text.find('['), text.rfind(']')
    if first < 0 or last < first:
        return None
    try:
        return json.loads(text[first : last + 1])
    except json.JSONDecodeError:
        return None


def agent(name):
    return {row['id']: read(row['prediction']) for row in rows(name)}


def call(step):
    return step['name'], json.dumps(step['args'], ensure_ascii=False, sort_keys=True)


def calls(steps):
    return [call(step) for step in steps]


def graph(steps):
    result = nx.DiGraph()
    result.add_nodes_from(step['id'] for step in steps)
    result.add_edges_from((before, step['id']) for step in steps for before in step['prev'])
    return result


def other_orders(steps):
    """Whether some neighbours in the golden order may change places: then, and only then, another order is legal."""
    edges = set(graph(steps).edges)
    return any((i, i + 1) not in edges for i in range(len(steps) - 1))


def broken_edges(steps, golden):
    """Golden dependencies whose two tools both occur and stand the wrong way round (tools used once only)."""
    once = {n for n, k in Counter(s['name'] for s in golden).items() if k == 1}
    at = {s['name']: i for i, s in enumerate(steps)}
    pairs = [(golden[p]['name'], s['name']) for s in golden for p in s['prev']]
    return [(a, b) for a, b in pairs if {a, b} <= once & at.keys() and at[a] > at[b]]


# --- tasks


def test_tasks_have_the_stated_fields_and_unique_ids():
    assert len(rows('tasks')) == len(TASKS) == 30
    for task in TASKS.values():
        assert list(task) == ['id', 'query', 'tags', 'ground_truth']
        assert task['query'].strip()
        kind, language = task['tags']
        assert kind in {'customer-service', 'office', 'data'}
        assert language in {'en', 'zh'}
    assert len({task['query'] for task in TASKS.values()}) == 30


def test_languages_are_what_the_tags_say():
    assert Counter(task['tags'][1] for task in TASKS.values()) == {'en': 22, 'zh': 8}
    for task in TASKS.values():
        assert bool(re.search('[\u4e00-\u9fff]', task['query'])) == (task['tags'][1] == 'zh'), task['id']
    chinese = [task for task in TASKS.values() if task['tags'][1] == 'zh']
    assert all(re.search('[\u4e00-\u9fff]', json.dumps(t['ground_truth'], ensure_ascii=False)) for t in chinese)


@pytest.mark.parametrize('name', TASKS)
def test_golden_order_is_a_legal_order_of_an_acyclic_graph(name):
    steps = GOLDEN[name]
    assert [list(step) for step in steps] == [['id', 'prev', 'name', 'args']] * len(steps)
    assert [step['id'] for step in steps] == list(range(len(steps)))
    for step in steps:
        assert step['prev'] == sorted(set(step['prev']))
        assert all(0 <= before < step['id'] for before in step['prev'])
        assert isinstance(step['args'], dict)
        assert re.fullmatch(r'[a-z]+([._][a-z]+)*', step['name'])
    assert nx.is_directed_acyclic_graph(graph(steps))


def test_dependencies_that_follow_from_others_are_stated_only_where_a_value_is_used_twice():
    extra = {name: set(g.edges) - set(nx.transitive_reduction(g).edges) for name, g in map(named_graph, TASKS)}
    assert {name: edges for name, edges in extra.items() if edges} == {'office-001': {(2, 4)}, 'data-005': {(4, 6)}}


def named_graph(name):
    return name, graph(GOLDEN[name])


@pytest.mark.parametrize('name', TASKS)
def test_golden_plans_have_no_equal_steps_and_no_references(name):
    assert len(set(calls(GOLDEN[name]))) == len(GOLDEN[name])
    # Such arguments would be read as references to earlier outputs; the demo states its graph in `prev` only.
    assert not re.search(r'<node|#E\d|\$\w', json.dumps(GOLDEN[name]))


def test_lengths_and_tools():
    lengths = Counter(len(steps) for steps in GOLDEN.values())
    assert lengths[1] == 1
    assert (min(lengths), max(lengths)) == (1, 9)
    assert len({step['name'] for steps in GOLDEN.values() for step in steps}) == 33


def test_another_order_is_legal_for_21_plans():
    brute = [name for name, steps in GOLDEN.items() if len(steps) < 7 and has_two_sorts(steps)]
    assert brute == [name for name, steps in GOLDEN.items() if len(steps) < 7 and other_orders(steps)]
    assert sum(other_orders(steps) for steps in GOLDEN.values()) == 21


def has_two_sorts(steps):
    sorts = nx.all_topological_sorts(graph(steps))
    next(sorts)
    return next(sorts, None) is not None


def test_every_shape_of_graph_occurs():
    shapes = Counter()
    for steps in GOLDEN.values():
        g = graph(steps)
        join = [n for n in g if g.in_degree(n) > 1]
        shapes['join'] += bool(join)
        shapes['fork'] += any(g.out_degree(n) > 1 for n in g)
        shapes['several roots'] += sum(g.in_degree(n) == 0 for n in g) > 1
        shapes['diamond'] += any(common_root(g, n) for n in join)
        shapes['chain of three or more'] += len(g) > 2 and nx.is_path(g, list(g)) and g.number_of_edges() == len(g) - 1
        shapes['no edge, two steps'] += len(g) > 1 and g.number_of_edges() == 0
        shapes['repeated tool'] += len({s['name'] for s in steps}) < len(steps)
    assert {shape for shape, count in shapes.items() if count} == set(shapes), shapes
    assert shapes['diamond'] >= 4
    assert shapes['repeated tool'] >= 8


def common_root(g, join):
    """Whether two predecessors of a join hang together further up."""
    ups = [nx.ancestors(g, p) | {p} for p in g.predecessors(join)]
    return any(a & b - {join} for i, a in enumerate(ups) for b in ups[i + 1 :])


def test_the_balance_task_is_one_call_and_the_roundabout_agent_makes_four():
    assert [step['name'] for step in GOLDEN['crm-001']] == ['crm.query_balance']
    roundabout = agent('roundabout')['crm-001']
    assert [s['name'] for s in roundabout] == ['web_search', 'crm.list_users', 'table_filter', 'crm.query_balance']


# --- recorded agents


@pytest.mark.parametrize('name', AGENTS)
def test_each_agent_has_every_task_once_in_the_tasks_order(name):
    recorded = rows(name)
    assert [row['id'] for row in recorded] == list(TASKS)
    assert all(list(row) == ['id', 'prediction'] and isinstance(row['prediction'], str) for row in recorded)


@pytest.mark.parametrize('name', AGENTS)
def test_which_predictions_are_json_lists(name):
    unreadable = {task for task, steps in agent(name).items() if steps is None}
    assert unreadable == (PROSE_OR_BROKEN if name == 'looping' else set())
    bare = [row['id'] for row in rows(name) if row['prediction'].startswith('[')]
    assert len(bare) == {'exact': 26, 'careless': 28, 'looping': 27}.get(name, 30)
    fenced = [row['id'] for row in rows(name) if row['prediction'].startswith('```json\n')]
    assert len(fenced) == (4 if name == 'exact' else 0)


@pytest.mark.parametrize('name', AGENTS)
def test_steps_have_ascending_ids_and_only_the_planner_states_prev(name):
    keys = ['id', 'name', 'args', 'prev'] if name == 'planner' else ['id', 'name', 'args']
    for steps in filter(None, agent(name).values()):
        assert [step['id'] for step in steps] == list(range(len(steps)))
        assert all(list(step) == keys for step in steps)


def test_exact_differs_from_the_golden_plans_in_a_few_arguments_only():
    changed = []
    for name, steps in agent('exact').items():
        assert [s['name'] for s in steps] == [s['name'] for s in GOLDEN[name]]
        changed += [name for a, b in zip(steps, GOLDEN[name], strict=True) if call(a) != call(b)]
    assert len(changed) == len(set(changed)) == 6


def test_reordered_is_another_legal_order_wherever_there_is_one():
    for name, steps in agent('reordered').items():
        golden = calls(GOLDEN[name])
        order = [golden.index(c) for c in calls(steps)]
        assert sorted(order) == list(range(len(golden)))
        assert all(order.index(a) < order.index(b) for a, b in graph(GOLDEN[name]).edges), name
        assert (order != sorted(order)) == other_orders(GOLDEN[name]), name


def test_roundabout_keeps_the_golden_steps_in_order_and_ends_with_the_last_one():
    for name, steps in agent('roundabout').items():
        rest = iter(calls(steps))
        assert all(c in rest for c in calls(GOLDEN[name])), name
        assert call(steps[-1]) == call(GOLDEN[name][-1])
        assert 2 <= len(steps) - len(GOLDEN[name]) <= 6


def test_careless_makes_every_kind_of_mistake():
    plans = agent('careless')
    tools = {step['name'] for steps in GOLDEN.values() for step in steps}
    assert all(calls(steps) != calls(GOLDEN[name]) for name, steps in plans.items())
    assert sum(len(steps) < len(GOLDEN[name]) for name, steps in plans.items()) >= 10
    assert sum(bool({s['name'] for s in p} - {s['name'] for s in GOLDEN[n]}) for n, p in plans.items()) >= 5
    assert {s['name'] for steps in plans.values() for s in steps} <= tools
    assert sum(bool(broken_edges(steps, GOLDEN[name])) for name, steps in plans.items()) >= 10


def test_looping_repeats_itself_and_once_says_nothing():
    plans = agent('looping')
    assert [name for name, steps in plans.items() if steps == []] == ['data-003']
    for name, steps in plans.items():
        if steps:
            made = Counter(calls(steps))
            assert max(made.values()) >= 2, name
            assert max(made.values()) <= 6, name
            assert set(made) == set(calls(GOLDEN[name])), name
    twice_running = [n for n, p in plans.items() if p and any(a == b for a, b in pairwise(calls(p)))]
    assert 8 <= len(twice_running) <= 20, 'the others go round in circles'


def test_planner_states_mostly_right_graphs():
    right = extra = missing = 0
    for name, steps in agent('planner').items():
        assert calls(steps) == calls(GOLDEN[name])
        assert all(before < step['id'] for step in steps for before in step['prev'])
        stated, golden = set(graph(steps).edges), set(graph(GOLDEN[name]).edges)
        right += len(stated & golden)
        extra += len(stated - golden)
        missing += len(golden - stated)
    assert right > 3 * missing
    assert extra >= 10
    assert missing >= 10


# --- files


def test_files_are_where_the_configs_say():
    assert demo_path('tasks').is_absolute()
    assert sorted(path.stem for path in (demo_path('tasks').parent / 'agents').iterdir()) == list(AGENTS)


def test_files_are_small_and_hold_readable_chinese():
    files = [demo_path(name) for name in ('tasks', *AGENTS)]
    assert sum(path.stat().st_size for path in files) < 200_000
    assert all('\\u' not in path.read_text(encoding='utf-8') for path in files)
    assert all('青禾文具店' in path.read_text(encoding='utf-8') for path in files if path.stem != 'careless')


def test_readme_counts():
    text = (demo_path('tasks').parent / 'README.md').read_text(encoding='utf-8')
    assert 'invented' in text
    assert 'Apache-2.0' in text
    assert all(f'| `{name}` |' in text for name in AGENTS)
