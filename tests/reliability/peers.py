"""What T-Eval's own evaluator does with the inputs of this folder: `python -m tests.reliability.peers`.

Prints a row for each input: what T-Eval (of the installed OpenCompass) does, and what this package does. T-Eval's
encoder is replaced by one that costs nothing; it plays no part in what is shown.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import torch

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
ANSWER = 'Plan 1: a\nDependency 1: []\nAction 1: #E1 = search(q="x")'
SHOWN = (
    'finish action alone', 'huge id', 'huge exponent', 'nan', 'duplicate keys', 'escaped lone surrogates',
    'unclosed think', 'a step without a name', 'import',
)  # fmt: skip
SHOWN_VALUES = ('none', 'number', 'empty object', 'list that holds itself', 'name of a list', 'id of nan')


def main() -> None:
    """Print the table."""
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
    for name, (prediction, golden) in cases.items():
        sys.stdout.write(f'| {name} | {_theirs(theirs, prediction, golden)} | {_ours(prediction, golden)} |\n')


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
    return f'{row["parse_status"]}{": " if row["parse_reason"] else ""}{row["parse_reason"]:.60}'


if __name__ == '__main__':
    main()
