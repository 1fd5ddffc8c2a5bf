"""One config line: `legacy` and `extra_metrics` of the evaluator, and the config that shows them."""

import json

import pytest

from opencompass_traj.scoring.peers import PEERS, PeerMetrics, ToolCallMatch
from tests.test_docs import ROOT

pytestmark = pytest.mark.host

GOLDEN = json.dumps({'ground_truth': [{'id': 0, 'name': 'a', 'args': {}}, {'id': 1, 'name': 'b', 'args': {}}]})
ANSWER = json.dumps(
    [{'id': 0, 'name': 'a', 'args': {}}, {'id': 1, 'name': 'x', 'args': {}}, {'id': 2, 'name': 'b', 'args': {}}]
)


def test_one_line_puts_a_peer_s_numbers_behind_all_others(build):
    plain, with_peers = build(), build(legacy=['adk', 'ragas'])
    usual, found = plain.score([ANSWER], [GOLDEN]), with_peers.score([ANSWER], [GOLDEN])
    added = [key for key in found if key not in usual]
    assert added == [*PeerMetrics('adk').rates, *PeerMetrics('ragas').rates]
    assert found['adk_tool_trajectory_avg_score_in_order'] == 100
    assert found['ragas_tool_call_f1'] == 80
    assert {key: found[key] for key in usual if isinstance(usual[key], float)} == {
        key: value for key, value in usual.items() if isinstance(value, float)
    }
    assert found['settings']['metrics'][-2:] == [
        {'type': 'PeerMetrics', 'legacy': 'adk', 'prefix': 'adk_', 'ignore_args': False},
        {'type': 'PeerMetrics', 'legacy': 'ragas', 'prefix': 'ragas_'},
    ]


def test_every_preset_at_once(build):
    found = build(legacy=list(PEERS)).score([ANSWER, 'no plan'], [GOLDEN, GOLDEN])
    for legacy in PEERS:
        assert [key for key in PeerMetrics(legacy).rates if not 0 <= found[key] <= 100] == []
    json.dumps(found, allow_nan=False)


def test_further_metrics_by_name_and_with_options(build):
    extra = [
        {'type': 'PeerMetrics', 'legacy': 'azure', 'match_params': True},
        {'type': 'ToolCallMatch', 'arguments': 'ignore'},
        {'type': 'SingleToolUse', 'tool': 'x'},
        ToolCallMatch(prefix='call_'),
    ]
    found = build(metrics=[{'type': 'Recovery'}], extra_metrics=extra).score([ANSWER], [GOLDEN])
    assert found['single_tool_use'] == found['tool_recall'] == found['call_superset_match'] == 100
    assert 'trajectory_score' not in found
    assert [entry['type'] for entry in found['settings']['metrics']] == [
        'Recovery',
        'PeerMetrics',
        'ToolCallMatch',
        'SingleToolUse',
        'ToolCallMatch',
    ]


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        ({'legacy': 'adk'}, TypeError, r"write legacy=\['adk'\]"),
        ({'legacy': ['agenteval']}, ValueError, "did you mean 'agentevals'"),
        ({'legacy': ['adk', 'adk']}, ValueError, 'both give'),
        ({'extra_metrics': [{'type': 'PeerMetric'}]}, ValueError, 'did you mean PeerMetrics'),
        ({'extra_metrics': [{'type': 'Recovery'}]}, ValueError, 'both give'),
    ],
)
def test_wrong_options_say_what_is_expected(build, options, error, message):
    with pytest.raises(error, match=message):
        build(**options)


def test_the_config_loads_and_its_evaluator_needs_no_encoder():
    pytest.importorskip('opencompass')
    from mmengine.config import Config
    from opencompass.registry import ICL_EVALUATORS

    config = Config.fromfile(str(ROOT / 'configs' / 'eval_peers.py'))
    evaluator = ICL_EVALUATORS.build(config.datasets[0].eval_cfg.evaluator)
    assert not evaluator.scorer.uses_embeddings
    found = evaluator.score([ANSWER], [GOLDEN])
    assert found['vertex_trajectory_recall'] == found['azure_recall_score'] == 100
