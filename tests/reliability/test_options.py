"""Options of metrics that do not exist are named."""

from __future__ import annotations

import pytest

from opencompass_traj.scoring import GraphSimilarity, Recovery
from opencompass_traj.scoring.metric import Metric, check_options


class Anything(Metric):
    def __init__(self, **options: object) -> None:
        self.options = options

    def score(self, comparison: object) -> dict[str, float]:
        return {}


@pytest.mark.parametrize(
    ('kind', 'options', 'expected'),
    [
        (GraphSimilarity, {'type': 'GraphSimilarity', 'bugdet': 3}, "no option 'bugdet'; did you mean 'budget'?"),
        (GraphSimilarity, {'zzz': 3}, "no option 'zzz'; there are: compare, match_threshold, budget"),
        (Recovery, {'zzz': 3}, "Recovery has no option 'zzz'; it has none"),
    ],
)
def test_an_unknown_option_is_named(kind: type[Metric], options: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match='has no option') as caught:
        check_options(kind, options)
    assert expected in str(caught.value)


def test_known_options_and_any_options_pass() -> None:
    check_options(GraphSimilarity, {'type': GraphSimilarity, 'budget': 3, 'compare': 'call'})
    check_options(Recovery, {'type': 'Recovery'})
    check_options(Anything, {'type': 'Anything', 'whatever': 1})
