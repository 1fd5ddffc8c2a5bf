"""Numbers of the whole corpus: TaskBench's F1 are no means, and answers that cannot be read are left out."""

import json

import pytest

from opencompass_traj.embedding import TextVectors
from opencompass_traj.scoring import Scorer, read_references
from opencompass_traj.scoring.peers import PEERS, PeerMetrics, ToolCallMatch
from opencompass_traj.shards import join_results, samples_of
from tests.conftest import ExactEncoder

GOLDEN = [['a', 'b', 'c'], ['a'], ['a', 'b'], ['b', 'c', 'd', 'e']]
ANSWERS = [['a', 'b', 'c'], ['b'], None, ['b', 'c', 'x']]


def answer(names):
    if names is None:
        return 'There is no plan.'
    return json.dumps([{'id': i, 'name': name, 'args': {'n': i}} for i, name in enumerate(names)])


def corpus(times=1):
    records = [[{'name': name, 'args': {'n': i}} for i, name in enumerate(names)] for names in GOLDEN]
    return [answer(names) for names in ANSWERS] * times, read_references(records * times)


def scorer(*metrics):
    return Scorer(metrics, vectors=lambda: TextVectors(ExactEncoder(512)))


def test_taskbench_s_numbers_by_hand():
    found = scorer(PeerMetrics('taskbench')).score(*corpus())
    # Read are the first, second and fourth: 3 + 0 + 2 of 3 + 1 + 3 predicted and 3 + 1 + 4 golden names.
    assert found.means['taskbench_node_micro_f1'] == 2 * 5 / (7 + 8)
    assert found.means['taskbench_edge_f1'] == 2 * (2 + 0 + 1) / (2 + 0 + 2 + 2 + 0 + 3)
    # Two nodes at other places of their plan have the argument, and another value of it.
    assert found.means['taskbench_t_f1'] == found.means['taskbench_v_f1'] == 2 * 5 / (7 + 8)
    assert found.means['taskbench_normalized_edit_distance'] == pytest.approx((0 + 1 + (1 - 4 / 7)) / 3)
    assert found.means['taskbench_supports'] == 0.75
    assert found.in_percent()['taskbench_node_micro_f1'] == pytest.approx(100 * 10 / 15)
    rows = [row['taskbench_node_micro_f1'] for row in found.details]
    assert found.means['taskbench_node_micro_f1'] != pytest.approx(sum(rows[i] for i in (0, 1, 3)) / 3)


def test_nothing_to_count_is_0():
    found = scorer(PeerMetrics('taskbench'), PeerMetrics('mnms')).score(['[]', '[]'], read_references([[], []]))
    assert found.means['taskbench_edge_f1'] == found.means['mnms_edge_f1'] == found.means['mnms_edge_known_rate'] == 0
    assert found.means['mnms_plan_accuracy'] == 1


@pytest.mark.parametrize('legacy', PEERS)
def test_shards_and_workers_give_the_numbers_of_the_whole(legacy):
    predictions, references = corpus(3)
    whole = scorer(PeerMetrics(legacy)).score(predictions, references)
    shares = [samples_of(len(predictions), shard, 5) for shard in range(5)]
    parts = [
        scorer(PeerMetrics(legacy)).score([predictions[i] for i in share], [references[i] for i in share])
        for share in shares
    ]
    joined = join_results([{**part.in_percent(), 'samples': part.counts} for part in parts])
    assert joined.pop('samples') == whole.counts
    assert joined == pytest.approx(whole.in_percent())


def test_our_own_matches_are_means():
    found = scorer(ToolCallMatch()).score(*corpus())
    for key in ToolCallMatch().rates:
        assert found.means[key] == pytest.approx(sum(row[key] for row in found.details) / 4)
    assert found.means['exact_match'] == 0.25
    assert found.means['tool_recall'] == (1 + 0 + 0 + 0.5) / 4
