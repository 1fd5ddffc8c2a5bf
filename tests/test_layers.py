"""The layers: what each module may import, and what an import loads."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import opencompass_traj

PACKAGE = Path(opencompass_traj.__file__).parent
OURS = 'opencompass_traj'
NUMERIC = {'numpy', 'scipy', 'rapidfuzz', 'networkx', 're2'}

# For each layer: whose modules it may import besides its own and the standard library, from us and from others.
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    'values': (set(), set()),
    'metrics': ({'values'}, NUMERIC),
    'parsing': ({'values'}, {'json_repair'}),
    'similarity': (
        {'values'},
        {
            'numpy',
            'scipy',
            'networkx',
            'sentence_transformers',
            'transformers',
            'safetensors',
            'huggingface_hub',
            'tqdm',
        },
    ),
    'edges': ({'values', 'metrics', 'parsing'}, NUMERIC),
    'files': ({'values', 'parsing', 'similarity'}, set()),
    'scoring': ({'values', 'metrics', 'parsing', 'similarity', 'edges'}, {'numpy'}),
    'report': (
        {'values', 'metrics', 'parsing', 'similarity', 'edges', 'files', 'scoring'},
        {'numpy', 'scipy', 'pandas', 'tabulate', 'matplotlib', 'networkx', 'jinja2', 'markupsafe'},
    ),
    'console': ({'values'}, {'tqdm'}),
    'shell': (
        {'values', 'metrics', 'parsing', 'similarity', 'edges', 'files', 'scoring', 'report', 'console'},
        {'numpy', 'scipy', 'networkx', 'opencompass', 'mmengine', 'datasets', 'torch', 'tqdm'},
    ),
    'commands': ({'values', 'parsing', 'files', 'report', 'console', 'shell'}, set()),
}
MODULES = {
    'plan': 'values', 'metrics': 'metrics', 'parsing': 'parsing', 'encoder': 'similarity',
    'embedding': 'similarity', 'sentence_encoder': 'similarity', 'model_files': 'similarity', 'matching': 'similarity',
    'limits': 'values', 'turns': 'values', 'edges': 'edges', 'acyclic_edges': 'edges', 'files': 'files',
    'tasks': 'files',
    'recordings': 'files', 'validation': 'files', 'inspection': 'files',
    '__main__': 'commands', 'command_line': 'commands', 'plain_text': 'values',
    'details': 'files', 'run_inputs': 'files', 'whole_files': 'values', 'hashing': 'values',
    'shards': 'values', 'embedding_cache': 'similarity', 'entry_store': 'similarity',
    'scoring': 'scoring', 'report': 'report', 'evaluator': 'shell', 'dataset': 'shell', 'model': 'shell',
    'evaluator_io': 'shell', 'summarizer': 'shell', 'teval': 'shell', 'teval_matching': 'shell', 'resume': 'shell',
    'golden_check': 'shell', 'exit_codes': 'console', 'terminal': 'console',
    'stopped_answers': 'shell',
}  # fmt: skip
# Loaded only inside the one function that needs them, if at all.
HEAVY = {'sentence_transformers', 'transformers'}
HOST = ('torch', 'opencompass', 'mmengine', 'datasets', 'transformers', 'sentence_transformers')


def sources() -> list[Path]:
    # configs/ is for OpenCompass to read, and imports what it composes.
    return [
        path for path in sorted(PACKAGE.rglob('*.py')) if path.relative_to(PACKAGE).parts[0] not in {'configs', 'data'}
    ]


def imports(path: Path, *, executed: bool = False) -> set[str]:
    """The dotted names that a module imports; `executed`: only those that run when it is imported."""
    found: set[str] = set()
    nodes = _executed(ast.parse(path.read_text(encoding='utf-8'))) if executed else ast.walk(_tree(path))
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}: imports are absolute'
            module = node.module or ''
            found.update(f'{module}.{alias.name}' if module == OURS else module for alias in node.names)
    return found


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding='utf-8'))


def _executed(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    if isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING':
        return []
    return [node, *(inner for child in ast.iter_child_nodes(node) for inner in _executed(child))]


def layer_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0].removesuffix('.py')
    return MODULES[first]


def own_sources() -> list[Path]:
    return [path for path in sources() if path != PACKAGE / '__init__.py']


@pytest.mark.parametrize('path', own_sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_up_the_list_only(path: Path) -> None:
    layer = layer_of(path)
    ours, others = LAYERS[layer]
    for name in imports(path):
        top, *rest = name.split('.')
        if top == OURS:
            assert rest, f'{path}: imports the package itself'
            assert MODULES.get(rest[0]) in ours | {layer}, f'{path} ({layer}) imports {name}'
        elif top not in sys.stdlib_module_names:
            assert top in others, f'{path} ({layer}) imports {name}'


def test_every_layer_of_the_table_exists() -> None:
    assert {layer_of(path) for path in own_sources()} >= set(LAYERS) - {'report'}


@pytest.mark.parametrize('path', sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_are_imported_inside_functions(path: Path) -> None:
    tops = {name.split('.')[0] for name in imports(path, executed=True)}
    assert not tops & HEAVY
    if path == PACKAGE / '__init__.py' or layer_of(path) != 'shell':
        assert not tops & set(HOST)


@pytest.mark.parametrize('path', sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_does_what_none_should(path: Path) -> None:
    """No `eval`, no pickle, no print, no assert, no catch-all."""
    assert 'pickle' not in imports(path)
    for node in ast.walk(_tree(path)):
        assert not isinstance(node, ast.Assert), f'{path}:{node.lineno}'
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {'eval', 'exec', 'print', 'compile', '__import__'}, f'{path}:{node.lineno}'
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else ''
            assert caught not in {'', 'Exception', 'BaseException'}, f'{path}:{node.lineno}'


def loaded_by(statements: str) -> list[str]:
    """The modules of the host that a fresh process has loaded after some statements."""
    script = f'{statements}\nimport json, sys\nprint(json.dumps(sorted({HOST!r} & sys.modules.keys())))'
    script = script.replace(repr(HOST), repr(set(HOST)))
    found = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=False, timeout=120, cwd=PACKAGE.parent
    )
    assert found.returncode == 0, found.stderr[-2000:]
    loaded: list[str] = json.loads(found.stdout.splitlines()[-1])
    return loaded


@pytest.mark.parametrize(
    'statements',
    [
        'import opencompass_traj; opencompass_traj.__version__; dir(opencompass_traj)',
        'import opencompass_traj.scoring',
        'import opencompass_traj.files, opencompass_traj.tasks, opencompass_traj.recordings, opencompass_traj.turns',
        'import opencompass_traj.embedding, opencompass_traj.matching, opencompass_traj.edges',
        'from opencompass_traj.metrics import sequence, dag, causal, plan_match, partial_order, permutation, poset',
        'from opencompass_traj.metrics import alternatives, arguments, effects, efficiency, loops, outcome',
        'from opencompass_traj.parsing import golden, literal, teval, trajectories',
    ],
)
def test_what_is_below_the_shell_loads_nothing_of_the_host(statements: str) -> None:
    assert loaded_by(statements) == []


def test_scoring_without_an_encoder_loads_nothing_of_the_host() -> None:
    statements = (
        'from opencompass_traj.scoring import *\n'
        'from opencompass_traj.tasks import read_tasks\n'
        'tasks = read_tasks("package:opencompass_traj/data/demo/tasks.jsonl")\n'
        'golden = read_references([task.record for task in tasks])\n'
        'metrics = [Recovery(), SequenceSimilarity(), PartialOrderSimilarity(), GraphSimilarity(), CausalFidelity(), '
        'TrajectoryScore(), ArgumentMatch(), EffectMatch(), LoopDetection(), ForbiddenTools(), Efficiency(), '
        'Outcome()]\n'
        'Scorer(metrics).score([task.record["ground_truth"] for task in tasks], golden)\n'
    )
    assert loaded_by(statements) == []


def test_unknown_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="module 'opencompass_traj' has no attribute 'TrajectoryEvaluator'"):
        opencompass_traj.TrajectoryEvaluator  # noqa: B018 - reading it is the test


@pytest.mark.host
def test_the_names_of_the_shell_are_loaded_on_first_use() -> None:
    """One process: before the name is used nothing is loaded, and after it the evaluator is the registered one."""
    statements = (
        'import sys, opencompass_traj\n'
        'if "opencompass" in sys.modules: raise SystemExit(3)\n'
        'kind = opencompass_traj.TrajectoryPlanningEvaluator\n'
        'from opencompass_traj import RecordedAgent, TrajectoryDataset\n'
        'from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET, MODELS\n'
        'assert kind.__module__ == "opencompass_traj.evaluator"\n'
        'assert ICL_EVALUATORS.get("TrajectoryPlanningEvaluator") is kind\n'
        'assert MODELS.get("RecordedAgent") is RecordedAgent\n'
        'assert LOAD_DATASET.get("TrajectoryDataset") is TrajectoryDataset\n'
    )
    assert {'opencompass', 'torch'} <= set(loaded_by(statements))


def test_all_public_names_are_listed() -> None:
    assert set(opencompass_traj.__all__) == {
        'RecordedAgent', 'TrajectoryDataset', 'TrajectoryPlanningEvaluator', '__version__', 'load_results',
    }  # fmt: skip
