"""What is fuzzed: functions that take any bytes and fail only where a promise of `docs/reliability.md` is broken.

The fuzzer (`run.py`) and the test that replays the kept inputs (`test_corpus.py`) share them.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from opencompass_traj import scoring
from opencompass_traj.embedding import TextVectors
from opencompass_traj.parsing.golden import parse_golden_leniently
from opencompass_traj.parsing.literal import UNREADABLE, load_literal
from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.parsing.trajectories import FORMATS, read_trajectory
from opencompass_traj.plan import ParseFailure, Trajectory
from opencompass_traj.scoring import Reading, Scorer, read_references

PROMPT_TYPES: Final = ('json', 'ReWOO', 'str')
TOOLS: Final = ('search', 'search_hotel', 'book', '搜索')

# Every kind of golden record: no graph, a chain, branches, optional steps, turns, several plans, options, forms.
RECORDS: Final[tuple[Mapping[str, Any], ...]] = (
    {'ground_truth': [{'name': 'search', 'args': {'q': 'x'}}, {'name': 'book', 'args': {'id': 7}}]},
    {
        'ground_truth': [
            {'id': 0, 'name': 'search', 'args': {'q': 'x'}, 'prev': []},
            {'id': 1, 'name': 'search', 'args': {'q': 'y'}, 'prev': []},
            {'id': 2, 'name': 'book', 'args': {'of': [1, 2.5, None, True]}, 'prev': [0, 1]},
        ]
    },
    {
        'ground_truth': [
            {'id': 'a', 'name': 'search', 'optional': True},
            {'id': 'b', 'name': 'book', 'turn': 0},
            {'id': 'c', 'name': 'book', 'turn': 0, 'args': {'n': '7'}},
        ],
        'forbidden': ['drop_*'],
        'budget': {'steps': 2, 'tokens': 100, 'latency': 1.5, 'cost': 0.01},
        'effects': ['book*'],
        'lookups': ['search'],
    },
    {'ground_truths': [[], [{'name': 'search'}], [{'name': 'book'}, {'name': 'FinishAction'}]]},
    {'ground_truth': [{'name': 'search', 'args': {}}], 'meta': {'prompt_type': 'str', 'API_list': list(TOOLS)}},
    {'ground_truth': [{'name': 'search', 'args': {'q': 'x'}}], 'meta': {'prompt_type': 'ReWOO'}},
    {'ground_truth': [{'name': 'FinishAction', 'args': {}}]},
    {'ground_truth': []},
)

_HOST_FREE: Final = (
    'Recovery', 'PlanMatch', 'SequenceSimilarity', 'PartialOrderSimilarity', 'GraphSimilarity', 'CausalFidelity',
    'ForbiddenTools', 'TrajectoryScore', 'ArgumentMatch', 'EffectMatch', 'LoopDetection', 'Efficiency', 'Outcome',
)  # fmt: skip


class DigestEncoder:
    """Equal texts are alike, others more or less, at next to no cost for however long a text."""

    name = 'digest'

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Encode texts; see `Encoder.encode`."""
        digests = [zlib.crc32(text.encode('utf-8', 'replace')) for text in texts]
        return np.array([[digest >> shift & 255 for shift in (0, 8, 16, 24)] for digest in digests], dtype=np.float32)


class BrokenPromiseError(Exception):
    """A promise is broken by an input."""


def read_any(data: bytes) -> None:
    """Any text, in any format, gives a trajectory or a reason."""
    kind, text = _split(data)
    found = read_trajectory(text, format=FORMATS[kind % len(FORMATS)])
    if isinstance(found, ParseFailure):
        _require(bool(found.reason) and len(found.reason) < 1_000, f'a reason fit to be shown: {found.reason!r:.200}')
    else:
        _check_trajectory(found)
    _require(_same(load_literal(text), _literal_by_hand(text)), 'the value that Python, then JSON reads')
    for prompt_type in PROMPT_TYPES:
        parse_prediction(text, prompt_type=prompt_type, api_list=TOOLS)  # type: ignore[arg-type]


def score_any(data: bytes) -> None:
    """Any text, or any JSON value, beside any kind of golden plan: one row of details, all numbers sound."""
    kind, text = _split(data)
    record = kind % len(RECORDS)
    prediction: object = text
    if kind >= 128:
        try:
            prediction = json.loads(text)
        except UNREADABLE:
            prediction = text
    check_scores(scorer(), [prediction], [references()[record]])


def golden_any(data: bytes) -> None:
    """Any JSON as a golden record gives a sound plan, or names its faults; never anything else."""
    _, text = _split(data)
    try:
        read_references([text], strict=bool(len(data) % 2))
    except ValueError as error:
        _require('sample' in str(error), f'a fault that names its sample: {error}')
    plan, _ = parse_golden_leniently(text)
    ids = {step.id for step in plan.steps}
    _require(len(ids) == len(plan), 'ids that occur once')
    _require(all(set(step.prev or ()) <= ids for step in plan.steps), 'dependencies on steps that exist')


TARGETS: Final[Mapping[str, Callable[[bytes], None]]] = {'read': read_any, 'score': score_any, 'golden': golden_any}


def check_scores(scorer_: Scorer, predictions: list[Any], golden: list[Any]) -> scoring.CorpusScore:
    """Score, and hold the promise: one row each, under the same keys, finite, in range, fit for JSON."""
    found = scorer_.score(predictions, golden)
    _require(len(found.details) == len(predictions), 'one row of details per prediction')
    _require(len({tuple(row) for row in found.details}) <= 1, 'the same keys in every row')
    for key, mean in found.means.items():
        _require(math.isfinite(mean) and mean >= 0, f'a finite mean of at least 0 for {key}: {mean}')
        _require(key not in found.rates or mean <= 1 + 1e-9, f'a rate in [0, 1] for {key}: {mean}')
    for row in found.details:
        _require(row['parse_status'] in {'read', 'recovered', 'unreadable'}, f'a known status: {row["parse_status"]}')
        _require((row['parse_status'] == 'unreadable') == bool(row['parse_reason']), 'a reason where unreadable')
    json.dumps(found.details, allow_nan=False).encode()
    return found


@cache
def references() -> list[Any]:
    """The golden records, read."""
    return read_references(RECORDS)


@cache
def scorer(prediction_format: str = 'auto') -> Scorer:
    """All metrics that need no host."""
    vectors = TextVectors(DigestEncoder())
    return Scorer(
        [getattr(scoring, name)() for name in _HOST_FREE],
        reading=Reading(prediction_format=prediction_format),
        vectors=lambda: vectors,
    )


def _check_trajectory(found: Trajectory) -> None:
    for step in found.plan.steps:
        _require(isinstance(step.name, str) and isinstance(step.id, int | str), f'a sound step: {step!r:.200}')
    record = found.record
    for figure in (record.tokens, record.latency, record.cost):
        _require(figure is None or (math.isfinite(figure) and figure >= 0), f'a sound figure: {figure}')


def _literal_by_hand(text: str) -> Any:
    """What `load_literal` promises, by the three readers in their order and nothing else."""
    fence = text.find('```json')
    body = text[fence + 7 :].strip('`') if fence >= 0 else text
    readers = (ast.literal_eval, json.loads, lambda one: json.loads(one.replace("'", '"')))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for read in readers:
            try:
                return read(body)
            except UNREADABLE:  # noqa: PERF203 - three readers
                continue
    return None


def _same(found: object, expected: object) -> bool:
    if isinstance(found, ParseFailure):
        return expected is None or found.reason.startswith('brackets nested')
    # NaN is not itself, and 1 equals True; the text tells them apart.
    try:
        return repr(found) == repr(expected)
    except ValueError:
        return type(found) is type(expected)


def _split(data: bytes) -> tuple[int, str]:
    return (data[0] if data else 0), data[1:].decode('utf-8', 'surrogateescape')


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise BrokenPromiseError(f'expected {what}')
