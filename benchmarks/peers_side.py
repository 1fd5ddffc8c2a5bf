"""The peers' half of `benchmarks/peers.py`: runs in an environment that has them, and needs nothing of ours.

Reads JSON from standard input (`samples`: pairs of predicted and golden turns of calls; `packages`: which to use;
`sources`: files of peers without a package) and writes each peer's numbers, for each sample (null where it stops with
an error) or for every 50 of them.
"""

import asyncio
import importlib.util
import json
import sys
import tempfile
import types
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path


def agentevals():
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    def messages(turns):
        calls = [
            [{'type': 'function', 'function': {'name': n, 'arguments': json.dumps(a)}} for n, a in turn]
            for turn in turns
        ]
        return [{'role': 'assistant', 'content': '', 'tool_calls': turn} for turn in calls]

    modes = ('exact', 'ignore', 'subset', 'superset', 'overrides')
    matches = ('strict', 'unordered', 'subset', 'superset')
    options = {mode: {'tool_args_match_mode': mode} for mode in modes}
    options['overrides'] = {'tool_args_match_overrides': {'a': 'subset', 'b': ['x', 'y.z']}}
    checks = {
        (mode, match): create_trajectory_match_evaluator(trajectory_match_mode=match, **options[mode])
        for mode in modes
        for match in matches
    }

    def values(pred, ref):
        return {
            f'{mode}.trajectory_{match}_match': float(
                check(outputs=messages(pred), reference_outputs=messages(ref))['score']
            )
            for (mode, match), check in checks.items()
        }

    return values


def adk():
    from google.adk.evaluation.eval_case import IntermediateData, Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
    from google.genai import types as genai

    keys = {'EXACT': '', 'IN_ORDER': '_in_order', 'ANY_ORDER': '_any_order'}
    checks = {}
    for kind, key in keys.items():
        for ignore in (False, True):
            criterion = ToolTrajectoryCriterion(
                threshold=1.0, match_type=getattr(ToolTrajectoryCriterion.MatchType, kind), ignore_args=ignore
            )
            metric = EvalMetric(metric_name='tool_trajectory_avg_score', threshold=1.0, criterion=criterion)
            checks[f'{ignore}.tool_trajectory_avg_score{key}'] = TrajectoryEvaluator(eval_metric=metric)

    def invocation(turns):
        calls = [genai.FunctionCall(name=name, args=args) for turn in turns for name, args in turn]
        return Invocation(
            user_content=genai.Content(parts=[genai.Part(text='x')]),
            intermediate_data=IntermediateData(tool_uses=calls),
        )

    return lambda pred, ref: {
        key: check.evaluate_invocations([invocation(pred)], [invocation(ref)]).overall_score
        for key, check in checks.items()
    }


def azure():
    from azure.ai.evaluation._evaluators._task_navigation_efficiency import _TaskNavigationEfficiencyEvaluator

    modes = {'exact_match': '', 'in_order_match': '_in_order_match', 'any_order_match': '_any_order_match'}
    checks = {key: _TaskNavigationEfficiencyEvaluator(matching_mode=mode) for mode, key in modes.items()}

    def values(pred, ref):
        calls = [
            {'type': 'tool_call', 'tool_call_id': str(i), 'name': name, 'arguments': args}
            for i, (name, args) in enumerate(call for turn in pred for call in turn)
        ]
        response = [{'role': 'assistant', 'content': [call]} for call in calls]
        golden = [call for turn in ref for call in turn]
        names, by_name = [name for name, _ in golden], dict(golden)
        found = {}
        for with_args, truth in ((False, names), (True, (names, by_name))):
            # As texts: 1 and 1.0 are not the same there.
            if with_args and any(json.dumps(args) != json.dumps(by_name[name]) for name, args in golden):
                continue  # Azure takes one set of arguments for each tool.
            for key, check in checks.items():
                result = check(response=response, ground_truth=truth)
                found[f'{with_args}.task_navigation_efficiency{key}'] = result['task_navigation_efficiency']
                found.update(
                    {f'{with_args}.{one}': x for one, x in result['task_navigation_efficiency_properties'].items()}
                )
        return found

    return values


def ragas():
    from ragas.messages import AIMessage, ToolCall
    from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1

    strict, flexible, f1 = ToolCallAccuracy(), ToolCallAccuracy(strict_order=False), ToolCallF1()

    async def all_of(said, golden):
        checks = {'tool_call_accuracy': strict, 'tool_call_accuracy_flexible_order': flexible, 'tool_call_f1': f1}
        return {
            key: (await check.ascore(user_input=said, reference_tool_calls=golden)).value
            for key, check in checks.items()
        }

    def values(pred, ref):
        said = [AIMessage(content='', tool_calls=[ToolCall(name=n, args=a) for n, a in turn]) for turn in pred]
        return asyncio.run(all_of(said, [ToolCall(name=n, args=a) for turn in ref for n, a in turn]))

    return values


def deepeval():
    from deepeval.metrics import ToolCorrectnessMetric
    from deepeval.test_case import ToolCall, ToolCallParams

    keys = {'': (False, False), '_ordered': (False, True), '_exact': (True, False)}

    def values(pred, ref):
        called, expected = (
            [ToolCall(name=n, input_parameters=a) for turn in side for n, a in turn] for side in (pred, ref)
        )
        found = {}
        for with_args in (False, True):
            for key, (exact, ordered) in keys.items():
                # Its constructor asks for a language model, which the score does not need.
                metric = ToolCorrectnessMetric.__new__(ToolCorrectnessMetric)
                metric.tools_called, metric.expected_tools = called, expected
                metric.evaluation_params = [ToolCallParams.INPUT_PARAMETERS] if with_args else []
                metric.should_exact_match, metric.should_consider_ordering = exact, ordered
                metric.strict_mode, metric.threshold = False, 0.5
                found[f'{with_args}.tool_correctness{key}'] = metric._calculate_score()
        return found

    return values


def module(path, **stubs):
    """A file of a peer as a module; `stubs` stand for what it imports and the score does not need."""
    known = {name: sys.modules.get(name) for name in stubs}
    sys.modules.update(stubs)
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    sys.modules.update({name: value for name, value in known.items() if value is not None})
    return found


def names_of(turns):
    return [name for turn in turns for name, _ in turn]


def strands(path):
    scorers = module(path, strands=types.SimpleNamespace(tool=lambda function: function))
    keys = ('exact_match_scorer', 'in_order_match_scorer', 'any_order_match_scorer')
    return lambda pred, ref: {key: getattr(scorers, key)(names_of(pred), names_of(ref)) for key in keys}


def worfeval(path):
    """WorFEval over chains, with an encoder to which texts are equal or have nothing in common."""
    import numpy as np

    class Scores:
        def __init__(self, table):
            self.table = table

        def cpu(self):
            return self

        def numpy(self):
            return self.table

    class Encoder:
        def encode(self, texts, **_):
            return list(texts)

    util = types.SimpleNamespace(
        cos_sim=lambda left, right: Scores(np.array([[float(x == y) for y in right] for x in left]))
    )
    stub = types.SimpleNamespace(SentenceTransformer=None, util=util)
    evaluator = module(path, sentence_transformers=stub, tqdm=types.SimpleNamespace(tqdm=None))

    def graph(turns):
        nodes = ['START', *names_of(turns), 'END']
        return {'nodes': nodes, 'edges': [(i, i + 1) for i in range(len(nodes) - 1)]}

    def values(pred, ref):
        sides = graph(pred), graph(ref)
        chain = evaluator.t_eval_nodes(*sides, Encoder())
        whole = evaluator.t_eval_graph(*sides, Encoder())
        return {
            f'{key.removesuffix("_score")}_{kind}': found[key]
            for kind, found in (('chain', chain), ('graph', whole))
            for key in ('precision', 'recall', 'f1_score')
        }

    return values


def taskbench(path):
    """TaskBench's whole evaluation of a corpus, from its files on."""
    evaluation = module(path, datasets=types.SimpleNamespace(load_metric=None))
    tools = ['a', 'b', 'c', 'd']
    keys = {
        'node_micro_f1_no_matching': 'node_micro_f1',
        'link_binary_f1': 'edge_f1',
        'argument_task_argname_binary_f1_no_matching': 't_f1',
        'argument_task_argname_value_binary_f1_no_matching': 'v_f1',
        'edit_distance': 'normalized_edit_distance',
    }

    def graph(turns):
        calls = [call for turn in turns for call in turn]
        nodes = [
            {'task': name, 'arguments': [{'name': key, 'value': value} for key, value in args.items()]}
            for name, args in calls
        ]
        links = [{'source': one, 'target': other} for (one, _), (other, _) in pairwise(calls)]
        return {'task_nodes': nodes, 'task_links': links}

    def write(path, records):
        path.write_text(
            ''.join(json.dumps({'id': str(i), **record}) + '\n' for i, record in enumerate(records)), 'utf-8'
        )

    def corpus(pairs):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / 'predictions').mkdir()
            write(Path(folder) / 'data.json', [{'type': 'chain', **graph(ref)} for _, ref in pairs])
            write(Path(folder) / 'predictions' / 'x.json', [{'result': graph(pred)} for pred, _ in pairs])
            found = {}
            evaluation.evaluate(
                folder,
                'predictions',
                'x',
                'overall',
                'overall',
                ['f1', 'ed', 'link', 'argument'],
                {'nodes': [{'id': tool} for tool in tools]},
                {tool: i + 1 for i, tool in enumerate(tools)},
                None,
                {i + 1: tool for i, tool in enumerate(tools)},
                found,
                dependency_type='temporal',
            )
        return {key: float(found['overall_overall'][name]) for name, key in keys.items()}

    return corpus


def mnms(path):
    """The corpus metrics of m&m's, in percent with two digits there."""
    metrics = module(path)

    def corpus(pairs):
        distance = metrics.EditDistMetrics(['a', 'b', 'c', 'd', 'x'])
        accuracy, edges = metrics.PlanAccMetrics(), metrics.PRFMetrics(None, 'binary')
        for pred, ref in pairs:
            names = names_of(ref), names_of(pred)
            distance.update(*names)
            accuracy.update(*names)
            edges.update(*(list(pairwise(side)) for side in names))
        return {
            'normalized_edit_distance': distance.compute()['normalized_edit_distance'] / 100,
            'plan_accuracy': accuracy.compute()['accuracy'] / 100,
            'edge_f1': edges.compute()['f1'] / 100,
        }

    return corpus


# Samples of one corpus, for the peers that score no sample alone.
CORPUS = 50
PACKAGES = {'agentevals': agentevals, 'adk': adk, 'azure': azure, 'ragas': ragas, 'deepeval': deepeval}
FILES = {'strands': strands, 'worfeval': worfeval}
WHOLE = {'taskbench': taskbench, 'mnms': mnms}


def of_all(values, samples):
    found, errors = [], Counter()
    for pred, ref in samples:
        try:
            found.append(values(pred, ref))
        except Exception as error:  # noqa: PERF203 - whatever a peer stops with is what is asked about
            errors[type(error).__name__] += 1
            found.append(None)
    return {'values': found, 'errors': errors}


def of_corpora(values, samples):
    return {'corpora': [values(samples[i : i + CORPUS]) for i in range(0, len(samples), CORPUS)]}


def main():
    warnings.simplefilter('ignore')
    out, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is no result
    asked = json.load(sys.stdin)
    samples, sources = asked['samples'], asked['sources']
    found = {name: of_all(load(), samples) for name, load in PACKAGES.items() if name in asked['packages']}
    found.update({name: of_all(load(sources[name]), samples) for name, load in FILES.items() if name in sources})
    found.update({name: of_corpora(load(sources[name]), samples) for name, load in WHOLE.items() if name in sources})
    json.dump(found, out)


if __name__ == '__main__':
    main()
