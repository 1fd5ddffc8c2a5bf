"""Golden plans: sound ones are read, and every fault of the others is named."""

import copy
import json
import random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing.golden import golden_problems, parse_golden, parse_golden_leniently
from opencompass_traj.plan import Plan, Step
from tests.data import shared_data


def step(identifier: object, *prev: object, name: object = 'tool') -> dict[str, Any]:
    return {'id': identifier, 'name': name, 'prev': list(prev), 'args': {}}


# --- sound plans ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('form', ['json', 'str'])
def test_every_teval_plan_is_sound(form: str) -> None:
    samples = json.loads(shared_data(f'teval/plan_{form}_v1.json').read_text(encoding='utf-8'))
    assert len(samples) == 369
    for key, sample in samples.items():
        golden = sample['ground_truth']
        plan = parse_golden(golden, where=key)
        assert parse_golden(json.dumps(golden), where=key) == plan
        assert plan.steps == tuple(
            Step(s['id'], s['name'], s['args'], tuple(s['prev'])) for s in sorted(golden, key=lambda s: int(s['id']))
        )


def test_what_is_missing() -> None:
    plan = parse_golden([{'name': 'a'}, {'name': 'b', 'id': None, 'args': None, 'prev': None}], where='x')
    assert plan == Plan((Step(0, 'a'), Step(1, 'b')))
    assert not plan.states_dependencies
    plan = parse_golden([{'name': 'a'}, {'name': 'b', 'prev': []}], where='x')
    assert [s.prev for s in plan.steps] == [(), ()]


def test_order_of_ids() -> None:
    assert [s.id for s in parse_golden([step('10', '9'), step('9')], where='x').steps] == [9, 10]
    assert parse_golden([step('10', 9), step(9)], where='x').steps[1].prev == (9,)
    assert [s.id for s in parse_golden([step('b'), step('a', 'b'), step(3)], where='x').steps] == ['b', 'a', 3]


def test_kinds_of_arguments_are_kept() -> None:
    args: list[Any] = [{'a': {'b': 1}}, [1, 2], 'text']
    plan = parse_golden([{'name': 'a', 'args': a} for a in args], where='x')
    assert [s.args for s in plan.steps] == args


def test_a_dependency_listed_twice_counts_once() -> None:
    assert parse_golden([step(0), step(1, 0, 0, '0')], where='x').steps[1].prev == (0,)


def test_an_empty_plan_is_sound() -> None:
    assert parse_golden([], where='x') == parse_golden('[]', where='x') == Plan()


# --- faults ---------------------------------------------------------------------------------------------------------

FAULTS: list[tuple[object, list[str]]] = [
    (None, ['expected a list of steps, got NoneType']),
    ({'plan': []}, ['expected a list of steps, got dict']),
    ('{"a": 1}', ['expected a list of steps, got dict']),
    ([3], ['step at position 0: expected an object, got int']),
    ([{'id': 4}], ['step 4: expected a name that is not empty']),
    ([step('a', name=' ')], ["step 'a': expected a name that is not empty"]),
    ([step(0, name=['x'])], ["step 0: expected a name that is not empty and a text, got ['x']"]),
    ([step(1.5)], ['step at position 0: expected an id that is an integer or a text, got 1.5']),
    ([step(True)], ['step at position 0: expected an id that is an integer or a text, got True']),
    ([step('')], ["step at position 0: expected an id that is an integer or a text, got ''"]),
    ([step(1, name='a'), step('1', name='b')], ["step 1: the id is used twice, for 'a' and for 'b'"]),
    ([{'name': 'a', 'args': 3}], ['step 0: expected `args` to be an object, a list or a text, got 3']),
    ([{'name': 'a', 'prev': 3}], ['step 0: expected `prev` to be a list of ids, got 3']),
    ([step(0, [1])], ['step 0: expected ids that are integers or texts in `prev`, got [1]']),
    ([step(0, 7)], ['step 0: `prev` names the unknown step 7']),
    ([step('a'), step('b', 1)], ["step 'b': `prev` names the unknown step 1"]),
    ([step(0), step(1, 1)], ['step 1: depends on itself']),
    ([step('b', 'a'), step('a')], ["step 'b' comes before step 'a' that it depends on"]),
    ([step(0, 1), step(1, 0)], ['cycle of dependencies: step 0 needs step 1 needs step 0']),
    (
        [step('a', 'c'), step('b', 'a'), step('c', 'b')],
        ["cycle of dependencies: step 'a' needs step 'c' needs step 'b' needs step 'a'"],
    ),
    (
        [step(0, name=''), step(1, 0, 9), 'x', step(3, 3)],
        [
            'step 0: expected a name that is not empty',
            'step at position 2: expected an object, got str',
            'step 1: `prev` names the faulty step 0',
            'step 1: `prev` names the unknown step 9',
            'step 3: depends on itself',
        ],
    ),
]


@pytest.mark.parametrize(('record', 'problems'), FAULTS, ids=range(len(FAULTS)))
def test_every_fault_is_named(record: object, problems: list[str]) -> None:
    before = copy.deepcopy(record)
    assert golden_problems(record) == problems
    with pytest.raises(ValueError, match=r"^plans\.json: sample 'q1': ") as caught:
        parse_golden(record, where="plans.json: sample 'q1'")
    assert all(problem in str(caught.value) for problem in problems)
    assert parse_golden_leniently(record)[1] == problems
    assert record == before


@pytest.mark.parametrize('text', ['', '[', '[' * 100_000, '[{"id": ' + '1' * 5000 + '}]'])
def test_text_that_is_no_json(text: str) -> None:
    (problem,) = golden_problems(text)
    assert problem.startswith('expected the JSON text of a list of steps, got ')
    assert len(problem) < 300


def test_what_the_lenient_reading_leaves_out() -> None:
    plan, problems = parse_golden_leniently(
        [
            step(0, 2, name='a'),
            step(1, 0, 1, 9, name='b'),
            step(1, name='doubled'),
            step(2, 1, 3, name='c'),
            step(3, name=''),
            'no step',
        ]
    )
    assert plan == Plan((Step(0, 'a', {}, ()), Step(1, 'b', {}, (0,)), Step(2, 'c', {}, (1,))))
    assert len(problems) == 7


# --- random plans ---------------------------------------------------------------------------------------------------


def test_random_graphs_against_networkx() -> None:
    rng = random.Random(0)
    for _ in range(1500):
        size = rng.randint(1, 7)
        wanted = {(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randint(0, 9))}
        edges = {(i, j) for i, j in wanted if i < j or rng.random() < 0.3}
        record = [step(j, *(i for i in range(size) if (i, j) in edges)) for j in range(size)]
        plan, problems = parse_golden_leniently(record)
        assert bool(problems) == any(i >= j for i, j in edges)
        graph = nx.DiGraph(sorted((i, j) for i, j in edges if i != j))
        assert any('cycle' in problem for problem in problems) == (not nx.is_directed_acyclic_graph(graph))
        for i, j in edges:
            if i > j and not nx.has_path(graph, j, i):
                assert f'step {j} comes before step {i} that it depends on' in problems
        kept = {(i, s.id) for s in plan.steps for i in s.prev or ()}
        assert kept == {(i, j) for i, j in edges if i < j}


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 4) | st.floats() | st.text('ab1', max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.fixed_dictionaries({}, optional={'id': inner, 'name': inner, 'prev': inner, 'args': inner})
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(record=anything)
def test_the_lenient_reading_is_sound(record: object) -> None:
    plan, problems = parse_golden_leniently(record)
    again = [
        {'id': s.id, 'name': s.name, 'args': s.args, 'prev': None if s.prev is None else [*s.prev]} for s in plan.steps
    ]
    assert golden_problems(again) == []
    if not problems:
        assert parse_golden(record, where='x') == plan


# --- real plans, changed --------------------------------------------------------------------------------------------


def teval_plans() -> list[list[dict[str, Any]]]:
    samples = json.loads(shared_data('teval/plan_json_v1.json').read_text(encoding='utf-8'))
    return [sample['ground_truth'] for sample in samples.values()]


def with_text_ids(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**s, 'id': f'n{s["id"]}', 'prev': [f'n{i}' for i in s['prev']]} for s in plan]


def test_text_ids_change_nothing_else() -> None:
    for golden in teval_plans():
        plain = parse_golden(golden, where='x')
        named = parse_golden(with_text_ids(golden), where='x')
        assert named.names == plain.names
        assert [s.prev for s in named.steps] == [tuple(f'n{i}' for i in s.prev or ()) for s in plain.steps]


def test_the_order_of_listing_matters_only_without_numbers() -> None:
    rng = random.Random(5)
    refused = 0
    for golden in teval_plans():
        mixed = rng.sample(golden, len(golden))
        assert parse_golden(mixed, where='x') == parse_golden(golden, where='x')
        position = {s['id']: i for i, s in enumerate(mixed)}
        wrong = {(i, s['id']) for s in mixed for i in s['prev'] if position[i] > position[s['id']]}
        problems = golden_problems(with_text_ids(mixed))
        assert set(problems) == {f"step 'n{j}' comes before step 'n{i}' that it depends on" for i, j in wrong}
        refused += bool(wrong)
    assert refused > 200


def test_one_fault_in_a_real_plan_is_the_one_reported() -> None:
    rng = random.Random(6)
    for golden in teval_plans():
        at = rng.randrange(len(golden))
        for field, value, text in (
            ('name', '', 'expected a name that is not empty'),
            ('prev', [*golden[at]['prev'], 999], '`prev` names the unknown step 999'),
            ('prev', [*golden[at]['prev'], golden[at]['id']], 'depends on itself'),
            ('args', 3.5, 'expected `args` to be an object, a list or a text, got 3.5'),
        ):
            faulty = [{**s, field: value} if i == at else s for i, s in enumerate(golden)]
            assert golden_problems(faulty)[0] == f'step {golden[at]["id"]}: {text}'
