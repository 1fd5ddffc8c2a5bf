"""The strict parser against T-Eval's own, step by step, on clean, faulty and random answers."""

import copy
import json
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing.literal import load_literal, shown
from opencompass_traj.parsing.teval import parse_prediction, rewoo_args_text
from opencompass_traj.plan import ParseFailure, Plan, Step
from tests.data import shared_data

Triples = list[tuple[int, str, str]] | None
GOLDEN = [{'id': 0, 'name': 'a', 'prev': [], 'args': {}}]
STEP = {'id': 0, 'name': 'search', 'args': {'q': 'x'}}


def ours(prediction: object, prompt_type: str = 'json', api_list: list[str] | None = None) -> Triples:
    plan = parse_prediction(prediction, prompt_type=prompt_type, api_list=api_list or [])  # type: ignore[arg-type]
    if isinstance(plan, ParseFailure):
        assert plan.reason
        return None
    text: Callable[[Any], str] = rewoo_args_text if prompt_type == 'ReWOO' else str
    # T-Eval does not tell an empty list from a failure.
    return [(int(step.id), step.name, text(step.args)) for step in plan.steps] or None


@pytest.fixture(scope='session')
def upstream() -> Callable[..., Triples]:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        from opencompass.datasets.teval.evaluators.planning_evaluator import PlanningEvaluator
    evaluator = PlanningEvaluator.__new__(PlanningEvaluator)
    evaluator.default_prompt_type = 'json'

    def parse(prediction: object, prompt_type: str = 'json', api_list: list[str] | None = None) -> Triples:
        datum = {
            'prediction': copy.deepcopy(prediction),
            'ground_truth': copy.deepcopy(GOLDEN),
            'meta': {'prompt_type': prompt_type, 'API_list': api_list or []},
        }
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            sample, _ = evaluator._process_response(datum)
        steps = sorted(sample.pred['planning'], key=lambda step: step['id'])
        return [(step['id'], step['name'], str(step['args'])) for step in steps] or None

    return parse


def samples(form: str) -> list[dict[str, Any]]:
    return list(json.loads(shared_data(f'teval/plan_{form}_v1.json').read_text(encoding='utf-8')).values())


# --- faults ---------------------------------------------------------------------------------------------------------


def faulty_answers(steps: list[dict[str, Any]], rng: random.Random) -> list[object]:
    """One plan, written in many good and bad ways."""
    text, python = json.dumps(steps, ensure_ascii=False), repr(steps)
    at = rng.randrange(len(steps))
    cut = rng.randrange(len(text))

    def changed(**fields: object) -> list[dict[str, Any]]:
        return [{**step, **fields} if i == at else step for i, step in enumerate(steps)]

    def without(key: str) -> list[dict[str, Any]]:
        return [{k: v for k, v in step.items() if i != at or k != key} for i, step in enumerate(steps)]

    ids: list[object] = ['x', str(at), f' {at} ', 1.9, True, None, [], '1_0', '', -3, 10**30, '１', '1.0', '0x1']
    return [
        text, python, steps, text[:cut], text[cut:], text[:cut] + '"' + text[cut:], text[:cut] + text[cut + 1 :],
        f'```json\n{text}\n```', f'```\n{text}\n```', f'Here:\n```json{python}```\nDone ```', f'```JSON\n{text}```',
        f'Plan [draft] is {text}', f'{text} see [1]', f'{text}{text}', f'{text}, {text}', f'[{text}]', text[1:-1],
        text.replace('"', "'"), python.replace("'", '"'), text.replace('{}', '{"ok": true, "no": null, "x": NaN}'),
        text.replace(' ', '\n'), text + '\n// end', text.replace(']', ',]'), text.replace('}', ',}'),
        text.replace('"q', r'"\d\/\ud83d q'), text.replace(':', '：'), '[]', '[ ]', '', ']', '[', ']x[', '[[]]', '[1]',
        'I cannot.', json.dumps({'plan': steps}), json.dumps(steps[at]), '\n'.join(map(json.dumps, steps)),
        *(json.dumps(without(key)) for key in ('id', 'name', 'args', 'prev')), without('prev'), without('args'),
        *(json.dumps(changed(id=i)) for i in ids), *(changed(id=i) for i in ids),
        *(json.dumps(changed(args=a)) for a in ('text', '{"a": 1}', [1], None, 3, {'a': {'b': [1, {'c': None}]}})),
        *(json.dumps(changed(name=n)) for n in ('', None, 3, ['x'], {'a': 1}, 'FinishAction')),
        changed(id=float('nan')), changed(id=float('inf')), changed(prev=3), changed(prev=['0', None, 1.5]),
        [*steps, 'oops'], [*steps, None], [*steps, *steps], steps[::-1], json.dumps(steps[::-1]),
        json.dumps(rng.sample(steps, len(steps))), json.dumps([*steps, steps[at]]), tuple(steps), {'plan': steps},
        None, 3, True, b'[]',
    ]  # fmt: skip


def rewoo_answer(steps: list[dict[str, Any]]) -> str:
    lines = []
    for number, step in enumerate(steps, start=1):
        call = ', '.join(f'{key}="{value}"' for key, value in step['args'].items())
        lines += [
            f'Plan {number}: use {step["name"]}',
            f'Dependency {number}: {[p + 1 for p in step["prev"]] or "None"}',
            f'Action {number}: #E{number} = {step["name"]}({call})',
        ]
    return '\n'.join(lines)


@pytest.mark.host
def test_json_like_upstream_on_real_plans_with_faults(upstream: Callable[..., Triples]) -> None:
    rng = random.Random(0)
    read = 0
    for sample in samples('json')[::4]:
        for answer in faulty_answers(sample['ground_truth'], rng):
            expected = upstream(answer)
            assert ours(answer) == expected, answer
            read += expected is not None
    assert read > 2000


@pytest.mark.host
def test_rewoo_like_upstream_on_real_plans_with_faults(upstream: Callable[..., Triples]) -> None:
    rng = random.Random(1)
    for sample in samples('json'):
        good = rewoo_answer(sample['ground_truth'])
        lines = good.split('\n')
        at, cut = rng.randrange(len(lines)), rng.randrange(len(good))
        answers = [
            good, good[:cut], good[cut:], good[:cut] + '(' + good[cut:], good[:cut] + ')' + good[cut:],
            '\n'.join(lines[:at] + lines[at + 1 :]), '\n'.join([*lines, lines[at]]), re.sub(r'#E\d+ = ', '', good),
            good.replace('#E', '# E'), good.replace('="', '=').replace('"', ''), good.replace('\n', ' '),
            good.replace('(', '((').replace(')', '))'), good.replace('"', '\\"'), good.replace(': #E', ': x #E'),
            good.replace('\n', '\r\n'), good + '\nPlan 9: Plan 9: x', good.replace('= ', '= #E1 = '),
        ]  # fmt: skip
        for answer in answers:
            assert ours(answer, 'ReWOO') == upstream(answer, 'ReWOO'), answer


@pytest.mark.host
def test_str_like_upstream_on_real_plans_with_faults(upstream: Callable[..., Triples]) -> None:
    rng = random.Random(2)
    for sample in samples('str'):
        tools = sample['meta']['API_list']
        lines = [f'{i}. Call {s["name"]} with {s["args"]}' for i, s in enumerate(sample['ground_truth'], start=1)]
        text = '\n'.join(lines)
        cut = rng.randrange(len(text))
        answers = [text, text[:cut], text[cut:], ' '.join(lines), '\n'.join(rng.sample(lines, len(lines))), 'nothing']
        for answer in answers:
            for api_list in (tools, tools[::-1], [*tools, tools[0][:5]], ['', *tools], [*tools, ''], []):
                assert ours(answer, 'str', api_list) == upstream(answer, 'str', api_list), (answer, api_list)


@pytest.mark.host
def test_like_upstream_on_reported_faults(upstream: Callable[..., Triples]) -> None:
    for case in json.loads(shared_data('bug_cases.json').read_text(encoding='utf-8')):
        given_ = case['input']
        if 'prediction' not in given_:
            continue
        prompt_type, api_list = given_.get('prompt_type', 'json'), given_.get('API_list', [])
        if prompt_type not in ('json', 'ReWOO', 'str'):
            with pytest.raises(ValueError, match='prompt_type'):
                ours(given_['prediction'], prompt_type)
            continue
        if prompt_type != 'json' and not isinstance(given_['prediction'], str):
            assert ours(given_['prediction'], prompt_type, api_list) is None
            continue
        expected = upstream(given_['prediction'], prompt_type, api_list)
        assert ours(given_['prediction'], prompt_type, api_list) == expected, case['id']


HOSTILE = [
    '[' * 300 + ']' * 300,
    '[' * 100_000,
    '[' + '-' * 100_000 + '1]',
    '[' + 'not ' * 50_000 + '1]',
    '[' + '+'.join(['1'] * 50_000) + ']',
    '[a' + '.a' * 50_000 + ']',
    '[' + '1' * 5000 + ']',
    '[{"id": ' + '1' * 5000 + ', "name": "a", "args": {}}]',
    '[{"id": 0, "name": "a", "args": 0x' + 'f' * 5000 + '}]',
    '[{"id": [0x' + 'f' * 5000 + '], "name": "a", "args": 1}]',
    '[{"id": 0x' + 'f' * 5000 + ', "name": "a", "args": 1}]',
    '[1' + '0' * 400 + '+1j]',
    '[{"id": 1e999, "name": "a", "args": 1e999}]',
    '[{"id": 1, "id": 2, "name": "a", "name": "b", "args": NaN}]',
    '[{"id": 1, "name": "a", "args": {1, 1}}]',
    '[{"id": 1, "name": "a", "args": {[1]: 2}}]',
    '[{"id": 1, "name": "\ud800", "args": "\ud83d"}]',
    '[{"id": 1, "name": "\\ud800", "args": "\\d"}]',
    '[{"id": 1, "name": "a", "args": "\x00"}]',
    '[{"id": b"1", "name": b"a", "args": (1 is 1)}]',
    '[{"id": b"1", "name": b"a", "args": (1, ...)}]',
    '[1 is 1]',
    '["\\',
    "['''",
    '[f"{x}"]',
    '[lambda: 0]',
    "[__import__('os').getcwd()]",
]


@pytest.mark.parametrize('text', HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.host
def test_json_like_upstream_on_hostile_text(upstream: Callable[..., Triples], text: str) -> None:
    assert ours(text) == upstream(text)


# --- random text ----------------------------------------------------------------------------------------------------

PIECES = st.sampled_from([
    '[', ']', '{', '}', '(', ')', ',', ':', '"', "'", '\\', '\n', ' ', '```json', '```', '`', '"id"', '"name"',
    "'args'", '"prev"', '0', '1', '-', '1.5', 'true', 'None', 'NaN', '"a"', '{"id": 0, "name": "a", "args": {}}',
    '#', '#E1 = ',
    'Plan 1: x\n', 'Dependency 1: [1]\n', 'Action 1: ', 'tool', 'x="y"', '. ', '#E', '= ', 'Action 2: #E2 = f(a="b")\n',
])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=14).map(''.join))
ids = st.one_of(st.integers(-2, 5), st.text('01a _.', max_size=3), st.floats(-2, 2), st.booleans(), st.none())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
records = st.fixed_dictionaries({}, optional={'id': ids, 'name': json_values, 'args': json_values, 'prev': json_values})
FEW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.host
@FEW
@given(text=TEXTS)
def test_like_upstream_on_any_text(upstream: Callable[..., Triples], text: str) -> None:
    for prompt_type in ('json', 'ReWOO', 'str'):
        tools = ['tool', 'a', 'tool x']
        assert ours(text, prompt_type, tools) == upstream(text, prompt_type, tools)


@pytest.mark.host
@FEW
@given(
    call=st.lists(st.sampled_from(['(', ')', '#E1 = ', '#E12 = ', 'f', ' ', '"', 'a="b"', ', ', '.', '#']), max_size=9)
)
def test_rewoo_calls_like_upstream(upstream: Callable[..., Triples], call: list[str]) -> None:
    text = f'Plan 1: x\nDependency 1: none\nAction 1: {"".join(call)}'
    assert ours(text, 'ReWOO') == upstream(text, 'ReWOO')


@pytest.mark.host
@FEW
@given(plan=st.lists(records, max_size=4))
def test_like_upstream_on_any_records(upstream: Callable[..., Triples], plan: list[dict[str, Any]]) -> None:
    before = repr(plan)
    for answer in (plan, json.dumps(plan), repr(plan)):
        assert ours(answer) == upstream(answer)
    assert repr(plan) == before


# --- what upstream does not have ------------------------------------------------------------------------------------


def test_steps_keep_structure_and_dependencies() -> None:
    text = json.dumps(
        [
            {'id': '2', 'name': 'b', 'args': {'x': {'y': [1]}}, 'prev': ['1', 1.0, 'call_1', None, {}]},
            {'id': 1, 'name': 'a', 'args': 'text', 'prev': 'no list'},
            {'id': 3, 'name': 'FinishAction', 'args': {}, 'prev': []},
        ]
    )
    assert parse_prediction(text, prompt_type='json') == Plan(
        (
            Step(1, 'a', 'text', None),
            Step(2, 'b', {'x': {'y': [1]}}, (1, 1, 'call_1')),
            Step(3, 'FinishAction', {}, ()),
        )
    )


def test_equal_ids_keep_their_order() -> None:
    plan = parse_prediction(
        [{**STEP, 'id': i, 'name': n} for i, n in ((1, 'b'), (0, 'a'), (1, 'c'))], prompt_type='json'
    )
    assert isinstance(plan, Plan)
    assert plan.names == ('a', 'b', 'c')


def test_an_empty_list_is_an_empty_plan() -> None:
    assert parse_prediction('[]', prompt_type='json') == Plan()
    assert parse_prediction([], prompt_type='json') == Plan()


def test_a_list_is_not_changed() -> None:
    given_ = [{**STEP, 'id': '1'}, STEP]
    before = copy.deepcopy(given_)
    parse_prediction(given_, prompt_type='json')
    assert given_ == before


def test_rewoo_dependencies_and_arguments() -> None:
    text = (
        'Plan 1: look\nDependency 1: None\nAction 1: #E1 = find(city="Lyon", day="3")\n'
        'Plan 2: both\nDependency 2: [1, 1, 0]\nAction 2: book(train=#E1, seat="12A")\n'
        'Plan 3: bare\nDependency 3: 1 and 2\nAction 3: #E3 = done()'
    )
    assert parse_prediction(text, prompt_type='ReWOO') == Plan(
        (
            Step(0, 'find', {'city': 'Lyon', 'day': '3'}, ()),
            Step(1, 'book', 'train=#E1, seat="12A"', (0, -1)),
            Step(2, 'done', {}, (0, 1)),
        )
    )


def test_lines_name_tools() -> None:
    plan = parse_prediction('First find it. Then book via find\nstop', prompt_type='str', api_list=['find', 'book'])
    assert plan == Plan((Step(0, 'find', 'First find it'), Step(1, 'book', 'Then book via find')))


REASONS: list[tuple[object, str, str]] = [
    (None, 'json', 'NoneType'),
    ({'plan': []}, 'json', 'dict'),
    ([STEP], 'ReWOO', 'list'),
    ([STEP], 'str', 'list'),
    ('I cannot', 'json', 'no list in the answer'),
    ('[1], [2]', 'json', 'tuple'),
    ('[{]', 'json', 'neither a Python literal nor JSON'),
    ('[1]', 'json', 'step 1 of 1 is a int, not an object'),
    ([STEP, {'id': 1}], 'json', 'step 2 of 2 has no name and no args'),
    ([STEP, {**STEP, 'id': 'call_1'}], 'json', "step 2 of 2 has the id 'call_1', which is no whole number"),
    ([{**STEP, 'args': 16**5000}], 'json', 'step 1 of 1 has a name or args that cannot be written'),
    ('x' * 1_000_001, 'json', 'answer longer than 1000000 characters'),
    ('x' * 1_000_001, 'str', 'answer longer than 1000000 characters'),
    ('[' * 201 + ']' * 201, 'json', 'brackets nested more than 200 deep'),
    ('Plan 1: x\nAction 1: f()', 'ReWOO', '1 Plan, 0 Dependency and 1 Action lines'),
    ('', 'ReWOO', 'no Plan, Dependency and Action lines'),
    ('nothing', 'str', 'no tool of the list is named'),
]


@pytest.mark.parametrize(('answer', 'prompt_type', 'reason'), REASONS)
def test_a_failure_says_why(answer: object, prompt_type: str, reason: str) -> None:
    failure = parse_prediction(answer, prompt_type=prompt_type, api_list=['find'])  # type: ignore[arg-type]
    assert isinstance(failure, ParseFailure)
    assert reason in failure.reason
    assert len(failure.reason) < 200


def test_an_unknown_prompt_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'json', 'str' or 'ReWOO', got 'xml'"):
        parse_prediction('[]', prompt_type='xml')  # type: ignore[arg-type]


@pytest.mark.parametrize('text', HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize('prompt_type', ['json', 'ReWOO', 'str'])
def test_hostile_text_raises_nothing(text: str, prompt_type: str) -> None:
    ours(text, prompt_type, ['a'])


@pytest.mark.parametrize('filler', ['(', ')', '#E1 = ', '1', '(a)', 'f(', 'a="', 'Action 1: '])
def test_long_rewoo_lines_end(filler: str) -> None:
    body = filler * (200_000 // len(filler))
    ours(f'Plan 1: {body}\nDependency 1: {body}\nAction 1: {body}', 'ReWOO')


@pytest.mark.parametrize('filler', ['"', '\\"', "'", '["', '[\\', '{"a":', "[['"])
def test_long_strings_and_brackets_end(filler: str) -> None:
    load_literal('[' * 201 + filler * (400_000 // len(filler)), start='[')


def test_brackets_in_strings_do_not_count() -> None:
    text = json.dumps([{**STEP, 'args': {'q': '[' * 5000}}])
    assert isinstance(parse_prediction(text, prompt_type='json'), Plan)
    assert parse_prediction(text, prompt_type='json', max_chars=100) == ParseFailure(
        'answer longer than 100 characters'
    )


def test_odd_escapes_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert load_literal(r"['\d\.']") == [r'\d\.']


def test_literal_before_json_before_requoted_json() -> None:
    assert load_literal(r'"\/"') == r'\/'
    assert load_literal('[true, null]') == [True, None]
    assert load_literal("{'a': true}") == {'a': True}
    assert load_literal('see 7', start='s') == ParseFailure('neither a Python literal nor JSON')
    assert load_literal('x7', start='[') == 7


def test_no_text_is_run(tmp_path: Path) -> None:
    mark = tmp_path / 'ran'
    for prompt_type in ('json', 'ReWOO', 'str'):
        ours(f"[__import__('pathlib').Path({str(mark)!r}).touch()]", prompt_type, ['Path'])
    assert not mark.exists()


@given(st.dictionaries(st.from_regex(r'\A[a-z]{1,3}\Z'), st.text(max_size=8), max_size=4))
def test_rewoo_text_survives_reading(args: dict[str, str]) -> None:
    inner = rewoo_args_text(args)[1:-1]
    plan = parse_prediction(f'Plan 1: x\nDependency 1: 0\nAction 1: #E1 = f({inner})', prompt_type='ReWOO')
    assert isinstance(plan, Plan)
    if not set(inner) & set('()\n'):
        assert rewoo_args_text(plan.steps[0].args)[1:-1] == inner


@given(st.text('ab_="\', é', max_size=30))
def test_rewoo_arguments_are_those_of_every_beginning_of_a_word(inner: str) -> None:
    """The pattern that looks for words from their beginning alone finds what one finds that tries every letter."""
    pairs = dict(re.findall(r'(\w+)="([^"]*)"(?:, |\Z)', inner))
    plan = parse_prediction(f'Plan 1: x\nDependency 1: 0\nAction 1: #E1 = f({inner})', prompt_type='ReWOO')
    assert isinstance(plan, Plan)
    assert plan.steps[0].args == (pairs if rewoo_args_text(pairs)[1:-1] == inner else inner)


def test_shown_never_fails() -> None:
    assert shown([16**5000]) == 'a value that cannot be written'
    assert len(shown('x' * 10_000)) < 60
