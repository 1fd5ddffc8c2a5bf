"""The preset `teval` at OpenCompass' threshold is OpenCompass' own number."""

import json
import random

import pytest

from opencompass_traj.embedding import TextVectors
from opencompass_traj.scoring import Scorer, read_references
from opencompass_traj.scoring.peers import PeerMetrics
from tests.conftest import HashedEncoder
from tests.data import shared_data

KEYS = ('precision', 'recall', 'f1_score')


def with_faults(steps, rng):
    """A golden plan as an agent might have written it: steps left out, put in, named otherwise; no two are equal."""
    steps = [{**step, 'args': rng.choice((step['args'], {'other': rng.random()}))} for step in steps]
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(steps) + 1)
        if rng.random() < 0.5 and len(steps) > 1:
            del steps[min(at, len(steps) - 1)]
        else:
            steps.insert(at, {'name': rng.choice(('Mail.send', 'Calendar.look')), 'args': {'n': rng.random()}})
    return [{**step, 'id': i} for i, step in enumerate(steps)]


def has_equal_steps(steps):
    texts = [(step['name'], str(step['args'])) for step in steps]
    return len(set(texts)) < len(texts)


@pytest.mark.host
@pytest.mark.parametrize('threshold', [0.7, 0.8])
def test_it_is_upstream_s_number_on_its_own_plans(threshold):
    pytest.importorskip('opencompass')
    from opencompass_traj.matching import MatchOptions
    from opencompass_traj.scoring import Reading
    from opencompass_traj.teval import TEvalPlanning

    content = json.loads(shared_data('teval/plan_json_v1.json').read_text('utf-8'))
    rng = random.Random(0)
    # Between equal steps T-Eval's own matching is decided by the last bits of its sums.
    sound = [record for record in content.values() if not has_equal_steps(record['ground_truth'])]
    records = [{'ground_truth': record['ground_truth'], 'meta': record['meta']} for record in rng.sample(sound, 60)]
    predictions = [json.dumps(with_faults(record['ground_truth'], rng)) for record in records[:-2]] + ['nothing', '[]']
    scorer = Scorer(
        [TEvalPlanning(), PeerMetrics('teval', match_threshold=threshold)],
        reading=Reading(match=MatchOptions(match_threshold=threshold)),
        vectors=lambda: TextVectors(HashedEncoder()),
    )
    rows = scorer.score(predictions, read_references(records, strict=False)).details
    assert [tuple(row[f'teval_{key}'] for key in KEYS) for row in rows] == [
        pytest.approx(tuple(row[key] for key in KEYS)) for row in rows
    ]
    assert len({row['f1_score'] for row in rows}) > 5
