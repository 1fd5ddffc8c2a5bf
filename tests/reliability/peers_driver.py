"""The peers' half of `peers.py`: runs in a Python that has them, and imports nothing of this package.

Reads one JSON object from standard input: `cases`, each with what every peer is called with. Writes one JSON line with
the `versions` of the peers that are there, then one for each case, by peer: the score with two digits, or
`stops: ` and the error. A peer without an input in a case is not asked.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final, TextIO

Peer = Callable[[Any], float]

# What an error says, cut to what fits into a cell.
LONGEST: Final = 80
# Set before a peer is loaded: nothing is sent anywhere, and no keys are read from a file.
ENVIRONMENT: Final = {
    'DEEPEVAL_TELEMETRY_OPT_OUT': 'YES',
    'DEEPEVAL_DISABLE_DOTENV': '1',
    'LANGSMITH_TRACING': 'false',
}


def agentevals() -> Peer:
    """The strict trajectory match, arguments exact: the defaults."""
    match = import_module('agentevals.trajectory.match')
    evaluate = match.create_trajectory_match_evaluator()
    return lambda given: float(evaluate(outputs=given['outputs'], reference_outputs=given['reference'])['score'])


def deepeval() -> Peer:
    """Tool correctness with the arguments; its constructor wants a language model, which the score never asks."""
    metrics, cases = import_module('deepeval.metrics'), import_module('deepeval.test_case')
    base = import_module('deepeval.models').DeepEvalBaseLLM
    methods = {name: lambda *_, **__: None for name in ('load_model', 'generate', 'a_generate')}
    silent = type('Silent', (base,), {**methods, 'get_model_name': lambda *_: 'none'})

    def score(given: Any) -> float:
        called, expected = (
            None if side is None else [cases.ToolCall(**call) for call in side]
            for side in (given['called'], given['expected'])
        )
        metric = metrics.ToolCorrectnessMetric(
            model=silent(), async_mode=False, evaluation_params=[cases.ToolCallParams.INPUT_PARAMETERS]
        )
        case = cases.LLMTestCase(input='x', actual_output='x', tools_called=called, expected_tools=expected)
        return float(metric.measure(case, _show_indicator=False))

    return score


PEERS: Final[Mapping[str, Callable[[], Peer]]] = {'agentevals': agentevals, 'deepeval': deepeval}


def loaded(peers: Mapping[str, Callable[[], Peer]] = PEERS) -> dict[str, Peer]:
    """The peers that this Python has; the others are named on standard error."""
    found = {}
    for name, load in peers.items():
        try:
            found[name] = load()
        except ImportError as error:  # noqa: PERF203 - two peers
            sys.stderr.write(f'{name} is left out: {error}\n')
    return found


def answer(peer: Peer, given: Any) -> str:
    """The peer's score for one input, or the error that it stops with, in one line."""
    try:
        return f'{peer(given):.2f}'
    except Exception as error:
        said = ' '.join(f'{error}'.split())
        said = said if len(said) <= LONGEST else said[: LONGEST - 1].rstrip() + '…'
        return f'stops: {type(error).__name__}{": " if said else ""}{said}'


def run(source: TextIO, out: TextIO) -> None:
    """Answer the cases of `source`; each line is written at once, so that a crash leaves the lines before it."""
    cases = json.load(source)['cases']
    peers = loaded()
    _write(out, {'versions': {name: version(name) for name in peers}})
    for case in cases:
        _write(out, {name: answer(peer, case[name]) for name, peer in peers.items() if case.get(name) is not None})


def _write(out: TextIO, line: Mapping[str, Any]) -> None:
    out.write(json.dumps(line) + '\n')
    out.flush()


if __name__ == '__main__':
    os.environ.update(ENVIRONMENT)
    warnings.simplefilter('ignore')
    answers, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is no answer
    run(sys.stdin, answers)
