"""How texts are best put into batches: seconds, and tokens with and without padding, for the encoder on this processor.

    python benchmarks/encoder_batches.py [--samples 369] [--every 4] [--data plan_json_v1.json] [--json FILE]

The texts are the different tool names and arguments of the plans and of their copies with a fault; every fourth is
enough. "By length in characters" is what sentence-transformers does with a batch size; the last rows fill batches with
tokens. The floor is what the model's matrix products alone take for the tokens without padding, at the speed of one
such product on this machine. Then the same model in lower precision, and by OpenVINO where it is installed. "Cosine
apart": the largest difference of the cosine of two texts from that of the first row.
"""

import argparse
import copy
import importlib.util
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
TOKENS = (256, 512, 768, 1_024, 1_536, 2_048, 4_096)
DEFAULT_TOKENS = sentence_encoder.CPU_BATCH_TOKENS


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


def in_bfloat16(model):
    return copy.deepcopy(model).to(torch.bfloat16)


def in_int8(model):
    """Weights of the matrix products as 8-bit numbers, activations rounded as they come."""
    return torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {torch.nn.Linear}, dtype=torch.qint8)


def by_openvino(model):
    """The transformer compiled by OpenVINO, in the place of torch's; float32 unless the processor has less to offer."""
    import openvino

    inner = model[0].auto_model
    names = ('input_ids', 'attention_mask', 'token_type_ids')
    example = {name: torch.ones((2, 8), dtype=torch.int64) for name in names}
    converted = openvino.convert_model(inner, example_input=example)
    compiled = openvino.compile_model(converted, 'CPU', {'INFERENCE_PRECISION_HINT': 'f32'})
    other = copy.deepcopy(model)
    kind = type(inner(**{name: one.to(inner.device) for name, one in example.items()}))

    def forward(**inputs):
        found = compiled({name: inputs[name].numpy() for name in names})
        return kind(last_hidden_state=torch.from_numpy(np.array(found[0])))

    other[0].auto_model.forward = forward
    return other


def cosines(rows):
    unit = rows.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return unit @ unit.T


OTHERS = {'bfloat16': in_bfloat16, 'int8': in_int8, 'OpenVINO': by_openvino}


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
    rows, first = [], []

    def add(name, batches, encode):
        padded = sum(max(lengths[i] for i in batch) * len(batch) for batch in batches)
        seconds, vectors = timed(encode, options.rounds)
        first.append(cosines(vectors))
        apart = float(np.abs(first[0] - first.pop()).max()) if rows else 0.0
        row = {'batches': name, 'calls': len(batches), 'tokens with padding': padded, 'seconds': seconds,
               'texts a second': len(texts) / seconds, 'cosine apart': f'{apart:.0e}'}  # fmt: skip
        rows.append(row)
        print(f'{name:28}{len(batches):6}{padded:9}{seconds:9.3f}{len(texts) / seconds:9.1f}{apart:10.0e}', flush=True)

    for size in SIZES:
        by_characters = [list(range(len(texts)))[at : at + size] for at in range(0, len(texts), size)]
        add(f'{size} texts, by characters', by_characters, lambda size=size: model.encode(texts, batch_size=size))
    for tokens in TOKENS:
        sentence_encoder.CPU_BATCH_TOKENS = tokens
        batches = list(sentence_encoder.batches(lengths, tokens=tokens))
        add(f'{tokens} tokens', batches, lambda: SentenceEncoder('', model).encode(texts))
    sentence_encoder.CPU_BATCH_TOKENS = DEFAULT_TOKENS
    batches = list(sentence_encoder.batches(lengths, tokens=DEFAULT_TOKENS))
    for name, made in OTHERS.items():
        if name != 'OpenVINO' or importlib.util.find_spec('openvino'):
            other = SentenceEncoder('', made(model))
            other.encode(texts[-20:])
            add(f'{DEFAULT_TOKENS} tokens, {name}', batches, lambda other=other: other.encode(texts))
    rows.append({'batches': 'floor', 'calls': None, 'tokens with padding': real, 'seconds': floor_seconds(model, real)})
    print(f'{"floor":28}{"":6}{real:9}{rows[-1]["seconds"]:9.3f}')
    write(options.json, found, rows, texts=len(texts), tokens=real)


if __name__ == '__main__':
    main()
