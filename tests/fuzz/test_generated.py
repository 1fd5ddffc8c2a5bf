"""Generated predictions: nearly plans, nearly recordings, and texts of both with a piece cut out or put in."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencompass_traj.parsing.trajectories import FORMATS, read_trajectory
from opencompass_traj.plan import ParseFailure
from tests.fuzz.targets import RECORDS, TOOLS, check_scores, golden_any, references, scorer
from tests.parsing.recordings import RUN, WRITERS

ODD = st.builds(pow, st.just(10), st.just(5000)) | st.sampled_from(
    [0, -1, 0.5, float('nan'), float('inf'), '', '0', '1e999', '\ud800', True, None]
)
VALUE = st.recursive(
    ODD | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAME = st.sampled_from([*TOOLS, 'FinishAction', 'a.b', ''])
ID = st.integers(0, 3) | st.sampled_from(['0', 'a']) | VALUE
STEP = st.fixed_dictionaries(
    {},
    optional={
        'name': NAME | VALUE, 'id': ID, 'args': st.dictionaries(NAME, VALUE, max_size=3) | VALUE,
        'prev': st.lists(ID, max_size=3) | VALUE, 'tool': NAME, 'function': st.fixed_dictionaries({'name': NAME}),
        'turn': VALUE, 'optional': VALUE, 'failed': VALUE,
    },
)  # fmt: skip
PLAN = st.lists(STEP | VALUE, max_size=6) | st.lists(st.lists(STEP, max_size=3), max_size=3)
RUNS = st.sampled_from([writer(RUN) for writer in WRITERS.values()])
PREDICTION = PLAN | RUNS | VALUE | st.fixed_dictionaries({'plan': PLAN, 'reward': VALUE, 'usage': VALUE})
BOUNDED = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except ValueError:
        return '[]'


@st.composite
def broken_texts(draw: st.DrawFn) -> str:
    """The text of a prediction with a piece cut out, and something put in."""
    text = written(draw(PREDICTION))
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 20)))
    piece = draw(st.sampled_from(['', '"', "'", '{', ']', '}', ',', '```', '//', '<think>', '\\', 'Action: search\n']))
    return text[:start] + piece + text[end:]


@given(PREDICTION, st.integers(0, len(RECORDS) - 1))
@BOUNDED
def test_any_value_is_scored(prediction: Any, number: int) -> None:
    check_scores(scorer(), [prediction], [references()[number]])


@given(broken_texts(), st.integers(0, len(RECORDS) - 1))
@BOUNDED
def test_any_broken_text_is_scored(text: str, number: int) -> None:
    check_scores(scorer(), [text], [references()[number]])


@given(broken_texts() | PREDICTION, st.sampled_from(FORMATS))
@BOUNDED
def test_any_format_reads_or_says_why(prediction: Any, name: str) -> None:
    found = read_trajectory(prediction, format=name)
    assert found == read_trajectory(prediction, format=name)
    if isinstance(found, ParseFailure):
        assert found.reason
    else:
        assert all(isinstance(step.name, str) for step in found.plan.steps)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            'id': VALUE, 'ground_truth': PLAN, 'ground_truths': st.lists(PLAN, max_size=2) | VALUE, 'budget': VALUE,
            'meta': VALUE | st.fixed_dictionaries({'prompt_type': NAME | VALUE, 'API_list': VALUE}), 'forbidden': VALUE,
        },
    )
)  # fmt: skip
@BOUNDED
def test_any_golden_record_is_read_or_its_faults_are_named(record: dict[str, Any]) -> None:
    golden_any(b'\0' + written(record).encode('utf-8', 'surrogatepass'))
