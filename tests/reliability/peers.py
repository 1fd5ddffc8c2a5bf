"""What other evaluators do with the inputs of this folder: `python -m tests.reliability.peers`.

Prints a row for each input: what T-Eval (of the installed OpenCompass) does, and what this package does. T-Eval's
encoder is replaced by one that costs nothing; it plays no part in what is shown.

With `--peers-python PATH` a second table follows, of agentevals and deepeval beside this package. They run in a Python
of their own, since what they depend on clashes with OpenCompass:

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install agentevals deepeval
    python -m tests.reliability.peers --peers-python /tmp/peers/bin/python

A peer is given a recording in the form that it reads: agentevals the OpenAI messages, deepeval a `ToolCall` for each
call, whose arguments are the value of the JSON text, or the text where it is no JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from tests.fuzz.targets import DigestEncoder, check_scores, scorer
from tests.reliability.hostile import ODD, STEP, TEXTS, VALUES

GOLDEN = {
    'ground_truth': [{'id': 0, 'name': 'search', 'args': {'q': 'x'}, 'prev': []}],
    'meta': {'prompt_type': 'json'},
}
REWOO = {
    'ground_truth': [
        {'id': 0, 'name': 'search', 'args': '__import__("sys").stderr.write("golden text was run\\n") or {}'}
    ],
    'meta': {'prompt_type': 'ReWOO'},
}
DRIVER: Final = Path(__file__).with_name('peers_driver.py')
ANSWER = 'Plan 1: a\nDependency 1: []\nAction 1: #E1 = search(q="x")'
SHOWN = (
    'finish action alone', 'huge id', 'huge exponent', 'nan', 'duplicate keys', 'escaped lone surrogates',
    'unclosed think', 'a step without a name', 'import',
)  # fmt: skip
SHOWN_VALUES = ('none', 'number', 'empty object', 'list that holds itself', 'name of a list', 'id of nan')


_WITHOUT: Final = object()


def _call(arguments: Any = '{"q": "x"}', *, name: Any = 'search') -> dict[str, Any]:
    """A tool call of an OpenAI message; a part that is `_WITHOUT` is left out."""
    function = {'name': name, 'arguments': arguments}
    return {
        'id': 'c1',
        'type': 'function',
        'function': {key: value for key, value in function.items() if value is not _WITHOUT},
    }


def _messages(*calls: Any) -> list[dict[str, Any]]:
    return [{'role': 'assistant', 'content': '', 'tool_calls': list(calls)}]


@dataclass(frozen=True, slots=True)
class Case:
    """An input of the second table.

    Attributes:
        name: What is odd about it.
        outputs: The recording to be scored: OpenAI messages, or what came in their place.
        reference: The golden recording, in the same form.
    """

    name: str
    outputs: Any
    reference: Sequence[Any] = tuple(_messages(_call()))

    def asked(self) -> dict[str, Any]:
        """What each peer is called with; deepeval has no form for what is no call."""
        given: dict[str, Any] = {'agentevals': {'outputs': self.outputs, 'reference': list(self.reference)}}
        if self.outputs is None or isinstance(self.outputs, list):
            called = tool_calls(self.outputs)
            if all(isinstance(call, dict) for call in called or []):
                given['deepeval'] = {'called': called, 'expected': tool_calls(self.reference)}
        return given

    def golden(self) -> dict[str, Any]:
        """The golden record for this package."""
        calls = tool_calls(self.reference) or []
        return {'ground_truth': [{'name': call['name'], 'args': call.get('input_parameters') or {}} for call in calls]}


CASES: Final = (
    Case('a sound recording', _messages(_call())),
    Case('arguments that are broken JSON', _messages(_call('{"q": '))),
    Case('a sound call, and one with broken JSON', _messages(_call(), _call('{"q": '))),
    Case('arguments that are None', _messages(_call(None))),
    Case('a call without arguments', _messages(_call(_WITHOUT))),
    Case('arguments that are an empty text', _messages(_call(''))),
    Case('arguments that are a list', _messages(_call('["x"]'))),
    Case('a golden call without arguments', _messages(_call()), _messages(_call(_WITHOUT))),
    Case('a call without a name', _messages(_call(name=_WITHOUT))),
    Case('a name that is None', _messages(_call(name=None))),
    Case('a call that is None', _messages(None)),
    Case('a number of 5,000 digits in the arguments', _messages(_call('{"q": ' + '9' * 5_000 + '}'))),
    Case('100,000 brackets as arguments', _messages(_call('[' * 100_000))),
    Case('NaN in the arguments', _messages(_call('{"q": NaN}'))),
    Case('the same key twice in the arguments', _messages(_call('{"q": "y", "q": "x"}'))),
    Case('None', None),
    Case('no messages', []),
    Case('a text in place of messages', 'I called search.'),
)


def tool_calls(messages: Sequence[Any] | None) -> list[Any] | None:
    """The calls of messages as deepeval's `ToolCall` takes them; what is no call stays as it is."""
    if messages is None:
        return None
    return [_tool_call(call) for message in messages for call in message['tool_calls']]


def _tool_call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    keys = {'name': 'name', 'arguments': 'input_parameters'}
    found = {keys[key]: value for key, value in call['function'].items()}
    if isinstance(found.get('input_parameters'), str):
        with suppress(ValueError, RecursionError):
            found['input_parameters'] = json.loads(found['input_parameters'])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description='Print what other evaluators do with hostile inputs.')
    parser.add_argument('--peers-python', metavar='PATH', help='the Python that has agentevals and deepeval')
    options = parser.parse_args(arguments)
    sys.stdout.writelines(f'{line}\n' for line in teval_table())
    if options.peers_python is None:
        sys.stderr.write('agentevals and deepeval are left out: no --peers-python\n')
        return
    versions, rows = ask(options.peers_python, CASES)
    if versions:
        sys.stdout.writelines(f'{line}\n' for line in ['', *peers_table(versions, rows, CASES)])


def ask(
    python: str, cases: Sequence[Case], *, driver: Path = DRIVER
) -> tuple[dict[str, str], list[dict[str, str] | None]]:
    """The peers' versions, and their answers to each case by peer: None from where the process ended by itself."""
    asked = json.dumps({'cases': [case.asked() for case in cases]})
    try:
        done = subprocess.run([python, str(driver)], input=asked, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise SystemExit(f'the peers could not be asked: {error}') from error
    if not done.stdout:
        raise SystemExit(f'the peers could not be asked: {python} ended with {done.returncode}')
    head, *rows = map(json.loads, done.stdout.splitlines())
    return head['versions'], [*rows, *repeat(None, len(cases) - len(rows))]


def peers_table(
    versions: Mapping[str, str], rows: Sequence[Mapping[str, str] | None], cases: Sequence[Case]
) -> list[str]:
    """The second table's lines; a peer that is absent has no column."""
    peers = list(versions)
    lines = [
        _row('recording', *(f'{name} {versions[name]}' for name in peers), 'here'),
        _row(*['---'] * (len(peers) + 2)),
    ]
    for case, row in zip(cases, rows, strict=True):
        theirs = ('ends the process' if row is None else row.get(name, 'not asked') for name in peers)
        lines.append(_row(case.name, *theirs, ours(case)))
    return lines


def ours(case: Case) -> str:
    """What this package says of the case: the numbers of its presets of both peers, and how it read the recording."""
    from opencompass_traj.embedding import TextVectors
    from opencompass_traj.scoring import Reading, Scorer, read_references
    from opencompass_traj.scoring.peers import PeerMetrics

    metrics = [PeerMetrics('agentevals', prefix=''), PeerMetrics('deepeval', prefix='', input_parameters=True)]
    vectors = TextVectors(DigestEncoder())
    scorer_ = Scorer(metrics, reading=Reading(prediction_format='openai'), vectors=lambda: vectors)
    (row,) = check_scores(scorer_, [case.outputs], read_references([case.golden()])).details
    numbers = f'{row["trajectory_strict_match"]:.2f} and {row["tool_correctness"]:.2f}'
    return f'{numbers}; {_status(row)}'


def _row(*cells: str) -> str:
    return '| ' + ' | '.join(' '.join(cell.replace('|', '\\|').split()) for cell in cells) + ' |'


def _status(row: Mapping[str, Any]) -> str:
    return f'{row["parse_status"]}{": " if row["parse_reason"] else ""}{row["parse_reason"]:.60}'


def teval_table() -> Iterator[str]:
    """The first table's lines."""
    import torch
    from opencompass.datasets.teval.evaluators.planning_evaluator import PlanningEvaluator

    theirs = PlanningEvaluator.__new__(PlanningEvaluator)
    encoder = DigestEncoder()
    options = {
        'name_weight': 0.75, 'args_weight': 0.25, 'match_threshold': 0.7, 'match_strategy': 'bertscore',
        'default_prompt_type': 'json',
        'sentence_model': SimpleNamespace(encode=lambda texts, **_: torch.from_numpy(encoder.encode(texts))),
    }  # fmt: skip
    for name, value in options.items():
        setattr(theirs, name, value)
    cases: dict[str, tuple[Any, dict[str, Any]]] = {name: (ODD[name], GOLDEN) for name in SHOWN}
    cases |= {name: (VALUES[name](), GOLDEN) for name in SHOWN_VALUES}
    cases['1,000 brackets'] = (TEXTS['brackets'](1_000), GOLDEN)
    cases['golden arguments that are code (ReWOO)'] = (ANSWER, REWOO)
    cases['an answer of text for a golden str plan'] = (
        None,
        {**GOLDEN, 'meta': {'prompt_type': 'str', 'API_list': ['a']}},
    )
    cases['a sound answer'] = (json.dumps([STEP]), GOLDEN)
    yield _row('prediction', 'T-Eval', 'here')
    yield _row('---', '---', '---')
    for name, (prediction, golden) in cases.items():
        yield f'| {name} | {_theirs(theirs, prediction, golden)} | {_ours(prediction, golden)} |'


def _theirs(evaluator: Any, prediction: Any, golden: dict[str, Any]) -> str:
    record = {'prediction': prediction, **json.loads(json.dumps(golden))}
    try:
        sample = evaluator._process_response(record)
        pred, gold = sample[0].pred['planning'], sample[0].gt['planning']
        found = evaluator.bertscore_match(pred, gold) if pred and gold else {'f1_score': 0.0}
    except Exception as error:
        return f'stops: {type(error).__name__}: {error!s:.60}'
    return f'f1_score {float(found["f1_score"]):.2f}'


def _ours(prediction: Any, golden: dict[str, Any]) -> str:
    from opencompass_traj.scoring import read_references

    (row,) = check_scores(scorer(), [prediction], read_references([golden])).details
    return _status(row)


if __name__ == '__main__':
    main()
