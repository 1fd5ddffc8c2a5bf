"""The shipped configs, and all of OpenCompass' configs that use T-Eval's evaluator with our class in its place."""

from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.host

REPOSITORY = Path(__file__).resolve().parents[1]
UPSTREAM = Path(find_spec('opencompass').submodule_search_locations[0]) / 'configs' / 'datasets'
# Found by searching OpenCompass' configs for the class.
USERS = sorted(
    str(path.relative_to(UPSTREAM)) for path in UPSTREAM.rglob('*.py') if 'TEvalEvaluator' in path.read_text('utf-8')
)
OLD = 'from opencompass.openicl.icl_evaluator import TEvalEvaluator'
NEW = 'from opencompass_traj.evaluator import TrajectoryPlanningEvaluator as TEvalEvaluator'


@pytest.fixture(scope='module')
def host():
    from mmengine.config import Config
    from opencompass.registry import ICL_EVALUATORS

    from opencompass_traj import evaluator

    return Config, ICL_EVALUATORS, evaluator


def reloaded(config, folder, config_class):
    """The config as a task sees it: dumped by the command and read again."""
    config.dump(str(folder / 'dumped.py'))
    return config_class.fromfile(str(folder / 'dumped.py'), format_python_code=False)


def test_there_are_upstream_configs_to_swap():
    assert len(USERS) >= 4
    assert any('compassbench' in name for name in USERS)


@pytest.mark.parametrize('name', USERS)
def test_upstream_configs_load_and_build_with_the_class_swapped(name, host, tmp_path, monkeypatch):
    config_class, registry, module = host
    built = []
    # T-Eval's other evaluators load models of their own; that they are asked for is what counts here.
    monkeypatch.setattr(module, 'TEvalEvaluator', built.append)
    text = (UPSTREAM / name).read_text('utf-8')
    assert OLD in text
    (tmp_path / 'swapped.py').write_text(text.replace(OLD, NEW), encoding='utf-8')
    config = reloaded(config_class.fromfile(str(tmp_path / 'swapped.py')), tmp_path, config_class)
    datasets = next(value for key, value in config.items() if key.endswith('_datasets'))
    assert datasets
    for dataset in datasets:
        options = dict(dataset['eval_cfg']['evaluator'])
        assert options['type'] == 'opencompass_traj.evaluator.TrajectoryPlanningEvaluator'
        evaluator = registry.get(options.pop('type'))(**options)
        assert evaluator.subset == options['subset']
        assert (evaluator.subset in built) == (evaluator.subset not in ('plan', 'plan_zh'))


@pytest.mark.parametrize('name', ['eval_traj', 'eval_traj_sharded', 'eval_teval'])
def test_shipped_configs_survive_the_dump(name, host, tmp_path):
    config_class, registry, _ = host
    config = reloaded(config_class.fromfile(str(REPOSITORY / 'configs' / f'{name}.py')), tmp_path, config_class)
    assert len({dataset['abbr'] for dataset in config.datasets}) == len(config.datasets)
    assert config.summarizer['type'] == 'opencompass_traj.summarizer.TrajectorySummarizer'
    for dataset in config.datasets:
        assert dataset['eval_cfg'].get('num_gpus', 0) == 0
        assert registry.get(dataset['eval_cfg']['evaluator']['type']).__name__ == 'TrajectoryPlanningEvaluator'


def test_the_teval_config_keeps_upstreams_groups_and_rows(host):
    from opencompass.configs.summarizers.teval import summarizer as upstream

    from opencompass_traj.summarizer import TrajectorySummarizer

    config = host[0].fromfile(str(REPOSITORY / 'configs' / 'eval_teval.py'))
    config.work_dir = '.'
    options = {key: value for key, value in config.summarizer.items() if key != 'type'}
    ours = TrajectorySummarizer(config=config, **options)
    assert ours.summary_groups == upstream['summary_groups']
    assert ours.further_rows == upstream['dataset_abbrs']


def test_a_summarizer_base_that_does_not_exist_is_named(host):
    from opencompass_traj.summarizer import TrajectorySummarizer

    with pytest.raises(ValueError, match='no_such_module'):
        TrajectorySummarizer(config={'models': [], 'datasets': [], 'work_dir': '.'}, based_on='no_such_module')


def test_an_evaluator_built_from_a_config_takes_every_option(host):
    _, registry, module = host
    evaluator = registry.build(
        {
            'type': 'opencompass_traj.evaluator.TrajectoryPlanningEvaluator',
            'name_weight': 0.5,
            'args_weight': 0.5,
            'match_threshold': 0.8,
            'finish_names': ['Done'],
            'metrics': [
                {'type': 'opencompass_traj.scoring.SequenceSimilarity', 'mode': 'indel'},
                {'type': 'GraphSimilarity', 'budget': 10},
                {'type': 'TrajectoryScore', 'weights': {'dag_similarity': 1.0}},
            ],
        }
    )
    assert isinstance(evaluator, module.TrajectoryPlanningEvaluator)
    settings = evaluator.settings()
    assert settings['match_threshold'] == 0.8
    assert settings['bert_score_model'] is None
    assert [metric['type'] for metric in settings['metrics']] == [
        'SequenceSimilarity',
        'GraphSimilarity',
        'TrajectoryScore',
    ]
    assert settings['metrics'][0]['mode'] == 'indel'
    assert settings['metrics'][2]['weights'] == {'dag_similarity': 1.0}
