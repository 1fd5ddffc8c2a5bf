"""Shards: which samples, under which name, and joined again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencompass_traj.report.runs import TaskResult, read_run
from opencompass_traj.report.shards import join_tasks
from opencompass_traj.scoring import Scorer, UnreadReferences
from opencompass_traj.shards import (
    Shard,
    check_shard,
    join_results,
    sample_counts,
    samples_of,
    shard_groups,
    shard_of,
)
from tests.scale.corpora import corpus, symbolic

# ---------------------------------------------------------------- which samples


@given(total=st.integers(1, 300), shards=st.integers(1, 40))
def test_every_sample_is_in_one_shard_and_they_are_even(total: int, shards: int) -> None:
    if shards > total:
        with pytest.raises(ValueError, match=f'got {shards} shards of {total} samples'):
            samples_of(total, 0, shards)
        return
    parts = [samples_of(total, shard, shards) for shard in range(shards)]
    assert [sample for part in parts for sample in part] == list(range(total))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(('shard', 'shards'), [(-1, 4), (4, 4), (0, 0), (1, 1)])
def test_shards_that_there_are_not_are_refused(shard: int, shards: int) -> None:
    with pytest.raises(ValueError, match=f'expected `shard` from 0 to `shards` - 1, got shard {shard} of {shards}'):
        check_shard(shard, shards)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('demo-shard-0-of-4', Shard('demo', 0, 4)),
        ('a-shard-0-of-2-shard-1-of-2', Shard('a-shard-0-of-2', 1, 2)),
        ('v1.5 测试-shard-10-of-11', Shard('v1.5 测试', 10, 11)),
        ('demo', None),
        ('-shard-0-of-4', None),
        ('demo-shard-4-of-4', None),
        ('demo-shard-0-of-0', None),
        ('demo-shard-00-of-4', None),
        ('demo-shard-٣-of-٤', None),
        ('demo-shard-0-of-4_0', None),
        ('demo-shard-1-of-' + '9' * 5_000, None),
    ],
)
def test_names(name: str, expected: Shard | None) -> None:
    assert shard_of(name) == expected
    if expected is not None:
        assert expected.name == name


def test_groups_name_all_shards_that_there_must_be() -> None:
    names = ['other', 'b-shard-1-of-3', 'a-shard-0-of-2', 'a-shard-1-of-2', 'a-shard-0-of-2']
    assert shard_groups(names) == {
        'b': ('b-shard-0-of-3', 'b-shard-1-of-3', 'b-shard-2-of-3'),
        'a': ('a-shard-0-of-2', 'a-shard-1-of-2'),
    }


@pytest.mark.parametrize('names', [['a-shard-0-of-2', 'a'], ['a-shard-0-of-2', 'a-shard-0-of-3'], [], ['a_0', 'a_1']])
def test_what_is_ambiguous_is_not_joined(names: list[str]) -> None:
    assert shard_groups(names) == {}


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({'all': 3, 'token_ratio': 0}, {'all': 3, 'token_ratio': 0}),
        ([{'all': 3, 'token_ratio': 1}, {'all': 3, 'token_ratio': 2}], {'all': 6, 'token_ratio': 3}),
        (None, None),
        ([], None),
        ({'token_ratio': 1}, None),
        ({'all': -1}, None),
        ({'all': True}, None),
        ({'all': '3'}, None),
        ([{'all': 3}, 'x'], None),
        (17, None),
    ],
)
def test_counts_of_a_result(given: object, expected: dict[str, int] | None) -> None:
    assert sample_counts({'samples': given}) == expected


# ---------------------------------------------------------------- joined numbers


def result(predictions: list[str], references: list[str]) -> dict[str, Any]:
    found = Scorer(symbolic()).score(predictions, UnreadReferences(references))
    return {**found.in_percent(), 'samples': found.counts, 'settings': {'x': 1}}


@pytest.mark.parametrize('shards', [1, 2, 3, 7, 40])
def test_joined_shards_are_the_whole(shards: int) -> None:
    predictions, references = corpus(40, seed=shards)
    whole = result(predictions, references)
    parts = []
    for shard in range(shards):
        chosen = samples_of(40, shard, shards)
        parts.append(result([predictions[i] for i in chosen], [references[i] for i in chosen]))
    joined = join_results(parts)
    assert list(joined) == list(whole)
    assert joined['samples'] == whole['samples']
    # Some of the samples have a recorded outcome and tokens, and by no means all.
    assert 0 < whole['samples']['token_ratio'] < 40
    assert 0 < whole['samples']['solved_rate'] < 40
    for key in whole.keys() - {'samples', 'settings'}:
        assert math.isclose(joined[key], whole[key], rel_tol=1e-9, abs_tol=1e-9), key


@settings(max_examples=100)
@given(
    st.lists(
        st.lists(st.tuples(st.floats(0, 1e6), st.none() | st.floats(0, 1e6)), min_size=1, max_size=5),
        min_size=1,
        max_size=6,
    )
)
def test_joined_means_are_those_of_all_samples(parts: list[list[tuple[float, float | None]]]) -> None:
    """Against the plain means of all samples put together."""

    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else 0.0

    def numbers(rows: list[tuple[float, float | None]]) -> dict[str, Any]:
        known = [value for _, value in rows if value is not None]
        return {
            'dense': mean([value for value, _ in rows]),
            'sparse': mean(known),
            'known_rate': 100 * len(known) / len(rows),
            'samples': {'all': len(rows), 'sparse': len(known)},
        }

    joined, whole = join_results([numbers(rows) for rows in parts]), numbers([row for rows in parts for row in rows])
    assert joined.pop('samples') == whole.pop('samples')
    assert joined == pytest.approx(whole, rel=1e-9, abs=1e-9)


def test_replicas_are_weighed_by_their_metric() -> None:
    one = {'t (2 runs average)': 10.0, 'samples': [{'all': 3, 't': 1}, {'all': 3, 't': 1}]}
    two = {'t (2 runs average)': 40.0, 'samples': [{'all': 3, 't': 2}, {'all': 3, 't': 2}]}
    assert join_results([one, two])['t (2 runs average)'] == pytest.approx(30)


def test_keys_that_hold_the_name_of_a_shard_are_left_out() -> None:
    """OpenCompass gives G-Pass@k for each subdivision, which is the dataset's own name, beside that of all."""
    parts = [{'g': 1.0, f'd-shard-{i}-of-2_test/g': 1.0, 'samples': {'all': 1}} for i in range(2)]
    assert join_results(parts) == {'g': 1.0, 'samples': {'all': 2}}


@pytest.mark.parametrize(
    ('change', 'expected'),
    [({'samples': None}, 'does not say how many samples'), ({'settings': {'x': 2}}, 'different settings')],
)
def test_what_cannot_be_joined_is_refused(change: dict[str, Any], expected: str) -> None:
    part = {'f1': 1.0, 'samples': {'all': 1}, 'settings': {'x': 1}}
    with pytest.raises(ValueError, match=expected):
        join_results([part, {**part, **change}])


# ---------------------------------------------------------------- joined tasks


def task(model: str, dataset: str, f1: float = 0.0, *, n: int = 1, failure: str = '', **more: Any) -> TaskResult:
    if failure:
        return TaskResult(model, dataset, failure=failure)
    rows = [{'sample': f'{dataset} {i}'} for i in range(n)]
    return TaskResult(model, dataset, {'f1': f1}, {'x': 1}, rows, frozenset({'f1'}), **{'counts': {'all': n}, **more})


def absent(model: str, dataset: str) -> TaskResult:
    return task(model, dataset, failure='nothing found')


def test_tasks_are_joined_by_model_in_the_place_of_the_first_shard() -> None:
    tasks = [task('m', 'z'), task('m', 'd-shard-1-of-2', 100, n=3), task('m', 'd-shard-0-of-2', 0, n=1), task('k', 'z')]
    joined = join_tasks(tasks, absent=absent)
    assert [(one.model, one.dataset) for one in joined] == [('m', 'z'), ('m', 'd'), ('k', 'z')]
    whole = joined[1]
    assert (whole.numbers, whole.counts, whole.settings, whole.rates) == ({'f1': 75}, {'all': 4}, {'x': 1}, {'f1'})
    assert [row['sample'] for row in whole.rows] == [
        'd-shard-0-of-2 0', 'd-shard-1-of-2 0', 'd-shard-1-of-2 1', 'd-shard-1-of-2 2',
    ]  # fmt: skip


def test_a_dataset_without_all_of_its_shards_has_failed() -> None:
    tasks = [task('m', 'd-shard-0-of-3'), task('m', 'd-shard-1-of-3', failure='out of memory')]
    (joined,) = join_tasks(tasks, absent=absent)
    assert (joined.dataset, joined.numbers, joined.rows) == ('d', {}, ())
    assert joined.failure == (
        '2 of 3 shards have no result: d-shard-1-of-3: out of memory; d-shard-2-of-3: nothing found'
    )


def test_the_reasons_of_many_shards_are_counted() -> None:
    (joined,) = join_tasks([task('m', 'd-shard-0-of-9', failure='x' * 10)], absent=absent)
    assert joined.failure.startswith('9 of 9 shards have no result: d-shard-0-of-9: xxxxxxxxxx; d-shard-1-of-9: ')
    assert joined.failure.endswith('; and 6 more')


@pytest.mark.parametrize('more', [{'counts': {}}, {'settings': {'x': 2}}])
def test_shards_that_cannot_be_joined_stay(more: dict[str, Any]) -> None:
    tasks = [task('m', 'd-shard-0-of-2'), task('m', 'd-shard-1-of-2')]
    tasks[1] = TaskResult(
        'm', 'd-shard-1-of-2', {'f1': 1.0}, more.get('settings', {'x': 1}), counts=more.get('counts', {'all': 1})
    )
    assert join_tasks(tasks, absent=absent) == tasks


def test_a_run_with_shards_is_read_as_one_with_datasets(tmp_path: Path) -> None:
    folder = tmp_path / 'results' / 'agent'
    folder.mkdir(parents=True)
    for shard, f1 in enumerate((50.0, 80.0)):
        content = {'f1_score': f1, 'samples': [{'all': shard + 1}], 'settings': [{'x': 1}], 'details': []}
        (folder / f'demo-shard-{shard}-of-2.json').write_text(json.dumps(content), encoding='utf-8')
    run = read_run(tmp_path)
    assert run.datasets == ('demo',)
    assert run.tasks[0].numbers == pytest.approx({'f1_score': 70})
    (folder / 'demo-shard-1-of-2.json').unlink()
    assert '1 of 2 shards have no result: demo-shard-1-of-2: ' in read_run(tmp_path).tasks[0].failure
