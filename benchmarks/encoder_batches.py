"""How texts are best put into batches: seconds, and tokens with and without padding, for the encoder on this processor.

    python benchmarks/encoder_batches.py [--samples 369] [--every 4] [--data plan_json_v1.json] [--json FILE]

The texts are the different tool names and arguments of the plans and of their copies with a fault; every fourth is
enough. "By length in characters" is what sentence-transformers does with a batch size; the last rows fill batches with
tokens. The floor is what the model's matrix products alone take for the tokens without padding, at the speed of one
such product on this machine.
"""

import argparse
import time

import numpy as np
import torch
from machine import describe, machine, write
from teval_speed import ENCODER, load

from opencompass_traj import sentence_encoder
from opencompass_traj.embedding import load_encoder
from opencompass_traj.scoring import Comparison, read_references
from opencompass_traj.sentence_encoder import SentenceEncoder
from opencompass_traj.teval import TEvalPlanning

SIZES = (8, 16, 32, 64, 128, 256)
TOKENS = (256, 512, 768, 1_024, 2_048, 4_096)


def texts_of(path, samples):
    predictions, references = load(path, samples)
    metric = TEvalPlanning()
    pairs = zip(predictions, read_references(references), strict=True)
    found = {
        text: None
        for prediction, golden in pairs
        for one in golden
        for text in metric.texts(Comparison(prediction, one))
    }
    return sorted(found, key=lambda text: (-len(text), text))


def timed(encode, rounds):
    best = float('inf')
    for _ in range(rounds):
        begin = time.perf_counter()
        rows = encode()
        best = min(best, time.perf_counter() - begin)
    return best, rows


def flops_a_second(width=384, inner=1_536, rows=768):
    """What this machine multiplies in a second, in matrices as the model's."""
    left, right = torch.randn(rows, width), torch.randn(width, inner)
    left @ right
    seconds, _ = timed(lambda: [left @ right for _ in range(20)], 5)
    return 20 * 2 * rows * width * inner / seconds


def floor_seconds(model, tokens):
    """The seconds of the matrix products with weights alone; attention and all else are left out."""
    weights = sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, torch.nn.Linear))
    return 2 * weights * tokens / flops_a_second()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--samples', type=int, default=369)
    parser.add_argument('--every', type=int, default=4)
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--data')
    parser.add_argument('--json', help='a file for the figures')
    options = parser.parse_args()
    texts = texts_of(options.data, options.samples)[:: options.every]
    encoder = load_encoder(ENCODER, device='cpu')
    model = encoder.model
    encoder.encode(texts[-20:])
    lengths = encoder._token_counts(texts)
    real = sum(lengths)
    found = machine('sentence-transformers', 'transformers', 'torch')
    print(f'{describe(found)}; {len(texts)} texts, {real} tokens', flush=True)
    rows, vectors = [], {}

    def add(name, batches, encode):
        padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)
        seconds, vectors[name] = timed(encode, options.rounds)
        row = {'batches': name, 'calls': len(batches), 'tokens with padding': padded, 'seconds': seconds,
               'texts a second': len(texts) / seconds}  # fmt: skip
        rows.append(row)
        print(f'{name:28}{len(batches):6}{padded:9}{seconds:9.3f}{len(texts) / seconds:9.1f}', flush=True)

    for size in SIZES:
        by_characters = [list(range(len(texts)))[at : at + size] for at in range(0, len(texts), size)]
        add(f'{size} texts, by characters', by_characters, lambda size=size: model.encode(texts, batch_size=size))
    for tokens in TOKENS:
        sentence_encoder.CPU_BATCH_TOKENS = tokens
        batches = list(sentence_encoder.batches(lengths, tokens=tokens))
        add(f'{tokens} tokens', batches, lambda: SentenceEncoder('', model).encode(texts))
    rows.append({'batches': 'floor', 'calls': None, 'tokens with padding': real, 'seconds': floor_seconds(model, real)})
    print(f'{"floor":28}{"":6}{real:9}{rows[-1]["seconds"]:9.3f}')
    first = next(iter(vectors.values()))
    apart = max(float(np.abs(first - other).max()) for other in vectors.values())
    print(f'largest difference between two numbers of a vector: {apart:.1e}')
    write(options.json, found, rows, texts=len(texts), tokens=real, largest_difference=apart)


if __name__ == '__main__':
    main()
