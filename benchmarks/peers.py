"""Compare our presets with the peers' own packages on random trajectories.

Make an environment for the peers, and give its Python (ragas 0.4.3 imports what langchain-community 0.4 dropped):

    python3 -m venv /tmp/peers
    /tmp/peers/bin/pip install agentevals google-adk ragas 'langchain-community<0.4' deepeval azure-ai-evaluation
    python benchmarks/peers.py --python /tmp/peers/bin/python --samples 2000

`--source NAME=FILE` adds a peer that is a file of a repository and no package; it may want numpy, networkx,
Levenshtein, scikit-learn or click there: `worfeval` (WorFBench's `evaluator/graph_evaluator.py`), `strands` (Strands
Evals' `tools/evaluation_tools.py`), `taskbench` (TaskBench's `evaluate.py`) and `mnms` (m&m's
`evaluation/metrics.py`). Of the last two the numbers of corpora of 50 samples are compared.
"""

import argparse
import json
import random
import subprocess
import time
from collections import Counter
from math import fsum
from pathlib import Path

from opencompass_traj.embedding import TextVectors
from opencompass_traj.plan import Plan, Step, Trajectory
from opencompass_traj.scoring import Comparison, Reference
from opencompass_traj.scoring.peers import PeerMetrics

CORPUS = 50
# m&m's rounds percentages to two digits.
TOLERANCES = {'mnms': 5.1e-5}
FILES_WITHOUT_TURNS = ('worfeval',)
OPTIONS_OF_CORPUS = {'taskbench': {'tools': list('abcd')}, 'mnms': {}}
VALUES = (1, '1', 1.0, True, None, 'x', '', [1, 'a'], ['a', 1], {'z': 1}, {'z': 1, 'k': 2}, {'z': '1'}, 0.5, '0.5')
# Which of our options belong to the peers' keys, by what stands before the dot.
OPTIONS = {
    'agentevals': {
        **{mode: {'tool_args_match_mode': mode} for mode in ('exact', 'ignore', 'subset', 'superset')},
        'overrides': {'tool_args_match_overrides': {'a': 'subset', 'b': ['x', 'y.z']}},
    },
    'adk': {str(flag): {'ignore_args': flag} for flag in (False, True)},
    'azure': {str(flag): {'match_params': flag} for flag in (False, True)},
    'deepeval': {str(flag): {'input_parameters': flag} for flag in (False, True)},
}


class ExactEncoder:
    """Equal texts have the cosine 1, different ones 0."""

    name = 'exact'

    def __init__(self):
        self.known = {}

    def encode(self, texts):
        import numpy as np

        rows = np.zeros((len(texts), 16), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[self.known.setdefault(text, len(self.known))] = 1
        return rows


def random_turns(rng, tools='abcd', longest=6):
    """A run: turns of one to three calls, few tools and few values, so that much is nearly equal."""
    calls = [(rng.choice(tools), random_args(rng)) for _ in range(rng.randrange(longest + 1))]
    turns = []
    for call in calls:
        if turns and rng.random() < 0.3:
            turns[-1].append(call)
        else:
            turns.append([call])
    return turns


def random_args(rng):
    return {key: rng.choice(VALUES) for key in 'xy' if rng.random() < 0.5}


def altered(rng, turns):
    """A golden run with a few faults: calls left out, put in, made twice, put elsewhere, other arguments."""
    calls = [(name, dict(args)) for turn in turns for name, args in turn]
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(calls) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            calls.insert(at, (rng.choice('abcdx'), random_args(rng)))
        elif calls and kind == 1:
            calls.insert(at, calls.pop(rng.randrange(len(calls))))
        elif calls and kind == 2:
            calls.insert(at, calls[rng.randrange(len(calls))])
        elif calls:
            name, _args = calls.pop(rng.randrange(len(calls)))
            calls.insert(at, (name, random_args(rng)))
    return [[call] for call in calls] if rng.random() < 0.5 else [calls[i : i + 2] for i in range(0, len(calls), 2)]


def samples(count, seed):
    rng = random.Random(seed)
    found = [([], [])]
    while len(found) < count:
        golden = random_turns(rng)
        found.append((altered(rng, golden) if rng.random() < 0.7 else random_turns(rng), golden))
    return found


def plan(turns):
    calls = [(turn, call) for turn, calls in enumerate(turns) for call in calls]
    return Plan(tuple(Step(i, name, args, turn=turn) for i, (turn, (name, args)) in enumerate(calls)))


def scored(metric, pairs, vectors):
    """Our numbers for each sample."""
    for pred, ref in pairs:
        one = Comparison('', Reference('x', {'ground_truth': []}, plan(ref)), vectors=vectors)
        one.trajectory = Trajectory(plan(pred), 'openai')
        vectors.add(metric.texts(one))
        yield metric.score(one)


def without_turns(pairs):
    """Peers with graphs know no turns: one call after the other."""
    return [tuple([[call] for turn in side for call in turn] for side in pair) for pair in pairs]


def of_each(name, pairs):
    """Our numbers for each sample, under the peer's keys as the other half writes them."""
    found = [{} for _ in pairs]
    for key, options in OPTIONS.get(name, {'': {}}).items():
        metric = PeerMetrics(name, prefix='', **options)
        for row, values in zip(found, scored(metric, pairs, TextVectors(ExactEncoder())), strict=True):
            row.update({f'{key}.{rate}' if key else rate: values[rate] for rate in metric.rates})
    return found


def of_corpus(name, pairs):
    """Our numbers for the whole corpus."""
    metric = PeerMetrics(name, prefix='', **OPTIONS_OF_CORPUS[name])
    rows = list(scored(metric, pairs, TextVectors(ExactEncoder())))
    means = {key: fsum(row[key] or 0.0 for row in rows) / len(rows) for key in metric.rates}
    return {
        **means,
        **{key: ratio.of(lambda one: sum(row[one] for row in rows)) for key, ratio in metric.ratios.items()},
    }


def compare(name, theirs, pairs):
    """Print how many numbers differ, and the first that do."""
    start = time.perf_counter()
    whole, tolerance = 'corpora' in theirs, TOLERANCES.get(name, 1e-9)
    pairs = without_turns(pairs) if whole or name in FILES_WITHOUT_TURNS else pairs
    corpora = (pairs[i : i + CORPUS] for i in range(0, len(pairs), CORPUS))
    own = [of_corpus(name, one) for one in corpora] if whole else of_each(name, pairs)
    seconds = time.perf_counter() - start
    compared = differing = 0
    for place, (mine, other) in enumerate(zip(own, theirs['corpora' if whole else 'values'], strict=True)):
        for key, value in (other or {}).items():
            compared += 1
            differing += abs(mine[key] - value) > tolerance
            if abs(mine[key] - value) > tolerance and differing <= 3:
                print(f'  {name}.{key}: ours {mine[key]}, theirs {value}' + ('' if whole else f' for {pairs[place]}'))
    errors = ', '.join(f'{count} {error}' for error, count in theirs.get('errors', {}).items()) or 'none'
    print(f'| {name} | {compared} | {differing} | {errors} | {seconds:.1f} s |')
    return Counter(compared=compared, differing=differing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--python', required=True, help='of the environment that has the peers')
    parser.add_argument('--samples', type=int, default=1_000)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--packages', nargs='*', default=['agentevals', 'adk', 'azure', 'ragas', 'deepeval'])
    parser.add_argument('--source', action='append', default=[], metavar='NAME=FILE')
    options = parser.parse_args()
    pairs = samples(options.samples, options.seed)
    # WorFEval knows no turns: its runs have one call each.
    asked = {
        'samples': pairs,
        'packages': options.packages,
        'sources': dict(source.split('=', 1) for source in options.source),
    }
    side = Path(__file__).with_name('peers_side.py')
    done = subprocess.run(  # noqa: S603 - the user's own Python
        [options.python, str(side)], input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    print('| peer | numbers compared | differing | its errors | our time |\n| --- | --- | --- | --- | --- |')
    total = sum((compare(name, found, pairs) for name, found in theirs.items()), Counter())
    print(f'{total["differing"]} of {total["compared"]} numbers differ')


if __name__ == '__main__':
    main()
