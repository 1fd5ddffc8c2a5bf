"""`docs/peers.md` names every preset, key and option, and shows the figures that the cases and the packages gave."""

import inspect
import re

import pytest

from opencompass_traj.metrics.call_equality import MAX_CALL_PAIRS, MODES
from opencompass_traj.metrics.partial_credit import MAX_CREDIT_PAIRS
from opencompass_traj.metrics.threshold_matching import MAX_PAIRS
from opencompass_traj.scoring.peers import PEERS, PeerMetrics, SingleToolUse, ToolCallMatch
from opencompass_traj.scoring.peers.tool_call_match import MAX_RULE_PAIRS
from tests.peers.test_cases import NO_PRESET
from tests.test_docs import ROOT, blocks, documented, run

PAGE = ROOT / 'docs' / 'peers.md'
TEXT = PAGE.read_text('utf-8')


def options(kind):
    return [name for name in inspect.signature(kind).parameters if name not in {'args', 'kwargs'}]


def sections():
    """The text of each section by its heading."""
    parts = re.split(r'^## (.+)$', TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def section_of(legacy):
    (found,) = (text for heading, text in sections().items() if f'`{legacy}`' in heading)
    return found


def test_its_code_runs():
    run(PAGE, {'python'})


@pytest.mark.parametrize('legacy', PEERS)
def test_a_section_for_each_preset_with_its_keys_options_and_faults(legacy):
    kind, section = PEERS[legacy], section_of(legacy)
    named = set(re.findall(r'`([^`\n]+)`', section))
    assert {*kind.rates, *kind.sparse.values()} - named == set()
    assert [option for option in options(kind) if option not in section] == []
    assert '**Fault' in section
    assert '**Read instead**' in section
    assert f"assert peer('{legacy}'" in section or f"peer('{legacy}'" in section


@pytest.mark.parametrize('legacy', PEERS)
def test_the_table_of_presets_has_a_row_with_the_options(legacy):
    (row,) = re.findall(rf'^\| \[`{legacy}`\]\(#.+$', TEXT, re.MULTILINE)
    assert re.findall(r'`(\w+)`', row.split('|')[4]) == options(PEERS[legacy])


def test_what_to_read_instead_is_a_key_of_ours():
    ours = documented(ROOT / 'docs' / 'metrics.md') | {*ToolCallMatch().rates, *SingleToolUse('x').rates}
    for sentence in re.findall(r'\*\*Read instead\*\* ([^\n]+)', TEXT):
        keys = re.findall(r'`([a-z_0-9]+)`', sentence)
        assert keys
        assert [key for key in keys if key not in ours and key != 'argument_rules'] == []


def test_our_own_keys_modes_and_options():
    section = sections()['Our own form: `ToolCallMatch`, `SingleToolUse`']
    assert [key for key in (*ToolCallMatch().rates, *SingleToolUse('x').rates) if f'`{key}`' not in section] == []
    assert [mode for mode in ('rules', *MODES) if f'`{mode}`' not in section] == []
    assert [
        option for option in (*options(ToolCallMatch), *options(SingleToolUse)) if f'{option}=' not in section
    ] == []


def test_limits_and_what_has_no_preset():
    limits = sections()['Limits']
    assert f'{MAX_CALL_PAIRS:,}' in limits
    assert f'{MAX_CREDIT_PAIRS:,}' in limits
    assert f'{MAX_PAIRS:,}' in limits
    assert f'{MAX_RULE_PAIRS:,}' in limits
    rest = sections()['What has no preset']
    for metric in NO_PRESET:
        assert metric.split('.')[0].lower() in rest.lower()


def test_the_config_on_the_page_names_presets_that_there_are():
    configs = '\n'.join(code for info, code, _ in blocks(PAGE) if info == 'python config')
    names = re.findall(r"legacy=\['(\w+)', '(\w+)'\]", configs)[0] + tuple(re.findall(r"legacy='(\w+)'", configs))
    assert len(names) == 3
    assert set(names) <= set(PEERS)
    PeerMetrics('azure', match_params=True)
