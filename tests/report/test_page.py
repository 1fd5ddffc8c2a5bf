"""The report as a file: whole, self-contained, the same for the same run, and in both languages."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.report import page
from opencompass_traj.report.analysis import compare_models, intervals
from opencompass_traj.report.page import render_report, strings, write_report
from opencompass_traj.report.page_faults import KINDS
from opencompass_traj.report.page_index import LISTED, ROWS_IN_CHUNK, build_index
from opencompass_traj.report.page_overview import LEADING, Findings, build_overview
from opencompass_traj.report.runs import TaskResult
from tests.report.page_runs import demo_run, hostile_run, run_of, steps, task

TEMPLATES = files('opencompass_traj.report') / 'templates'


class Elements(HTMLParser):
    """The elements of a page, as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.style = ''
        self._open: tuple[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {'script', 'style'}:
            self._open = (tag, dict(attrs).get('id') or f'code-{len(self.scripts)}')

    def handle_endtag(self, tag: str) -> None:
        if tag in {'script', 'style'}:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open and self._open[0] == 'script':
            self.scripts[self._open[1]] = self.scripts.get(self._open[1], '') + data
        elif self._open:
            self.style += data


@pytest.fixture(scope='module')
def demo() -> str:
    return render_report(demo_run())


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_the_page_asks_for_nothing_and_runs_only_its_own_scripts(demo: str) -> None:
    found = Elements(demo)
    assert not any(name in attributes for _, attributes in found.tags for name in ('src', 'style', 'onclick', 'onload'))
    assert not any(tag in {'link', 'iframe', 'img', 'object', 'embed', 'base', 'form'} for tag, _ in found.tags)
    [policy] = [a['content'] or '' for _, a in found.tags if a.get('http-equiv') == 'Content-Security-Policy']
    assert policy.startswith("default-src 'none';")
    assert 'unsafe' not in policy
    assert 'http' not in policy
    code = [text for name, text in found.scripts.items() if name.startswith('code-')]
    assert len(code) == 2
    for text in (*code, found.style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    own = next(text for text in code if 'dagre=' not in text)
    assert set(re.findall(r'https?://[^\s\'"]+', own)) == {'http://www.w3.org/2000/svg'}


def test_the_pages_scripts_never_write_markup() -> None:
    for name in page._SCRIPTS:
        text = TEMPLATES.joinpath(f'{name}.js').read_text(encoding='utf-8')
        for word in ('innerHTML', 'outerHTML', 'insertAdjacentHTML', 'document.write', 'eval(', 'Function(', 'fetch('):
            assert word not in text, f'{name}.js: {word}'
        assert '</script' not in text
        assert len(text.splitlines()) <= 320


def test_the_data_can_be_read_back(demo: str) -> None:
    found = Elements(demo)
    index = unpacked(found.scripts['index'])
    assert index['models'] == [*demo_run().models]
    assert index['failed'] == [['absent', 'trajectory-demo', demo_run().failed[0].failure]]
    chunks = [unpacked(found.scripts[f'chunk-{number}']) for number in range(len(index['chunks']))]
    assert [len(chunk) for chunk in chunks] == index['chunks']
    assert sum(index['chunks']) == len(index['samples']) == 38
    assert sum(len(sample['rows']) for chunk in chunks for sample in chunk) == len(index['rows']['m']) == 196
    assert all(len(column) == 196 for column in index['rows']['v'].values())


def test_the_same_run_gives_the_same_bytes(demo: str) -> None:
    assert render_report(demo_run()) == demo


def test_the_page_opens_in_the_language_asked_for(demo: str) -> None:
    assert '<html lang="en">' in demo
    chinese = render_report(demo_run(), language='zh', title='报告')
    assert '<html lang="zh-Hans">' in chinese
    assert '<title>报告 · 轨迹报告</title>' in chinese
    with pytest.raises(ValueError, match='expected `language` to be one of en, zh'):
        render_report(demo_run(), language='fr')


def test_hostile_texts_stay_inside_their_elements() -> None:
    found = Elements(render_report(hostile_run(long=10_000)))
    assert [tag for tag, _ in found.tags].count('script') == 5
    assert [tag for tag, _ in found.tags].count('title') == 1
    assert 'hacked' not in ''.join(found.scripts[name] for name in found.scripts if name.startswith('code-'))


def test_a_million_characters_do_not_fill_the_page() -> None:
    assert len(render_report(hostile_run())) < 600_000


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = run_of(task('m', [steps('A')], [{'id': 't', 'ground_truth': steps('A')}]))
    target = write_report(small, tmp_path / 'new' / 'report.html')
    before = target.read_bytes()
    assert before.endswith(b'</html>\n')

    def fails(*_: object, **__: object) -> None:
        raise OSError('disk full')

    monkeypatch.setattr(Path, 'replace', fails)
    with pytest.raises(OSError, match='disk full'):
        write_report(small, target, title='other')
    assert target.read_bytes() == before
    assert [file.name for file in target.parent.iterdir()] == ['report.html']


def test_others_may_read_the_file(tmp_path: Path) -> None:
    target = write_report(run_of(), tmp_path / 'report.html')
    plain = tmp_path / 'plain'
    plain.write_text('', encoding='utf-8')
    assert target.stat().st_mode == plain.stat().st_mode


def test_a_run_without_any_result_is_a_page_too() -> None:
    found = Elements(render_report(run_of(TaskResult('m', 'd', failure='no result'))))
    index = unpacked(found.scripts['index'])
    assert (index['samples'], index['chunks'], index['failed']) == ([], [], [['m', 'd', 'no result']])
    assert unpacked(Elements(render_report(run_of())).scripts['index'])['models'] == []


# --- words -----------------------------------------------------------------------------------------------------------


def test_both_languages_have_the_same_words_with_the_same_gaps() -> None:
    for key, entry in strings().items():
        assert entry.keys() == {'en', 'zh'}, key
        assert all(entry.values()), key
        gaps = [sorted(re.findall(r'\{(\w+)\}', entry[language])) for language in ('en', 'zh')]
        assert gaps[0] == gaps[1] or key.endswith('_one'), key
        assert entry['zh'] != entry['en'] or key in {'say_unreadable', 'metric_f1_score'}, key


def test_every_word_that_the_page_uses_is_there_and_no_other() -> None:
    code = ''.join(TEMPLATES.joinpath(f'{name}.js').read_text(encoding='utf-8') for name in page._SCRIPTS)
    quoted = set(re.findall(r"""['"`]([a-z][a-z0-9_]*)['"`]""", code))
    quoted |= set(re.findall(r"words\['(\w+)'\]", TEMPLATES.joinpath('page.html').read_text(encoding='utf-8')))
    built = [
        re.compile(re.sub(r'\$\{[^}]*\}', r'\\w+', text))
        for text in re.findall(r'`([a-z_]+_\$\{[^}]+\}(?:_one)?)`', code)
    ]
    known = strings().keys()
    direct = set(re.findall(r"""\bt[xn]?\(\s*['"]([a-z0-9_]+)['"]""", code))
    plural = set(re.findall(r"""\btn\(\s*['"]([a-z0-9_]+)['"]""", code))
    assert direct <= known
    assert {f'{key}_one' for key in plural} <= known
    unused = {
        key
        for key in known
        if not {key, key.removesuffix('_one')} & quoted and not any(one.fullmatch(key) for one in built)
    }
    assert unused == set()


def test_kinds_and_metrics_have_names_and_explanations() -> None:
    known = strings()
    for kind in KINDS:
        assert {f'kind_{kind}', f'about_kind_{kind}'} <= known.keys()
    for key in (*LEADING, *LISTED):
        assert {f'metric_{key}', f'about_{key}'} <= known.keys() or key == 'forbidden_hits'


# --- index and overview ----------------------------------------------------------------------------------------------


def test_samples_are_arranged_with_their_models_side_by_side() -> None:
    golden = [
        {'id': name, 'query': f'do  {name}', 'tags': ['x'], 'ground_truth': steps('A', 'B')} for name in ('s1', 's2')
    ]
    one = task('one', [steps('A', 'B'), steps('A')], golden)
    two = task('two', [steps('B'), steps('A', 'B')], golden)
    found = build_index(run_of(one, two))
    assert [head[:3] for head in found.index['samples']] == [[0, 's1', 'do s1'], [0, 's2', 'do s2']]
    assert (found.index['rows']['m'], found.index['rows']['s']) == ([0, 1, 0, 1], [0, 0, 1, 1])
    assert [len(sample['goldens']) for chunk in found.chunks for sample in chunk] == [1, 1]
    assert found.index['tags'] == ['x']


def test_replicas_of_a_sample_have_lines_of_their_own() -> None:
    result = task('m', [steps('A'), steps('B')], [{'id': 't', 'ground_truth': steps('A')}] * 2)
    found = build_index(run_of(result))
    assert [head[1] for head in found.index['samples']] == ['t', 't (2)']


def test_chunks_are_small() -> None:
    golden = [{'id': str(i), 'ground_truth': steps('A')} for i in range(250)]
    found = build_index(run_of(task('m', [steps('A')] * 250, golden)))
    assert found.index['chunks'] == [ROWS_IN_CHUNK, ROWS_IN_CHUNK, 50]


def test_a_metric_of_somebody_elses_can_be_sorted_by() -> None:
    made = task('m', [steps('A')], [{'id': 't', 'ground_truth': steps('A')}])
    rows = [{**row, 'my_rate': 0.25} for row in made.rows]
    own = TaskResult('m', 'made', {**made.numbers, 'my_rate': 25.0}, {}, rows, made.rates | {'my_rate'})
    found = build_index(run_of(own)).index
    assert ['my_rate', 1, 0] in found['metrics']
    assert found['rows']['v']['my_rate'] == [0.25]


def test_the_overview_says_what_was_computed_already() -> None:
    run = demo_run()
    metrics = ['trajectory_score']
    known = Findings(intervals(run), compare_models(run, metrics))
    assert build_overview(run, known) == build_overview(run)


def test_the_overview_has_intervals_comparisons_groups_and_tools() -> None:
    found = build_overview(demo_run())
    assert found['columns'][0] == ['trajectory_score', 1, 0]
    by_model = {model: (means[0], ends[0]) for _, model, means, _, ends in found['scores']}
    mean, (low, high) = by_model['looping']
    assert low < mean < high
    pairs = {(one, other): shown for _, one, other, *_, shown in found['comparisons']}
    assert pairs['exact', 'looping'] == 'model'
    assert pairs['careless', 'looping'] == 'none'
    assert {kind for kind, *_ in found['groups']} == {'dataset', 'tag', 'length', 'language'}
    assert any(missed for _, _, _, _, missed, *_ in found['tools'])
    assert found['level'] == 95


def test_numbers_that_no_sample_has_are_no_column() -> None:
    result = task('m', [steps('A')], [{'id': 't', 'ground_truth': steps('A')}])
    keys = [key for key, _, _ in build_overview(run_of(result))['columns']]
    assert 'step_ratio' in keys
    assert not {'token_ratio', 'solved_rate', 'silent_degradation_rate'} & set(keys)


def test_a_result_without_rows_keeps_its_means() -> None:
    found = build_overview(run_of(TaskResult('m', 'd', {'accuracy': 50.0})))
    assert [key for key, _, _ in found['columns']] == ['accuracy']
    assert found['scores'] == [['d', 'm', [50], 0, None]]
