"""ATIF, the Agent Trajectory Interchange Format of the Harbor framework.

Checked against: Harbor, "RFC 0001: Agent Trajectory Interchange Format (ATIF) Specification", v1.4.
"""

from __future__ import annotations

from typing import Any, Final

from opencompass_traj.parsing._figures import amount, nanoseconds, run_record, seconds_between, total, usage_tokens
from opencompass_traj.parsing._messages import Recording, result_failed
from opencompass_traj.plan import ParseFailure, RunRecord, Trajectory

NAME: Final = 'atif'


def recognises(value: object) -> bool:
    """Whether a value is an ATIF trajectory: an object with `steps` and a `schema_version` that begins with `ATIF`.

    Example:
        >>> recognises({'schema_version': 'ATIF-v1.4', 'steps': []}), recognises({'steps': []})
        (True, False)
    """
    if not isinstance(value, dict) or not isinstance(value.get('steps'), list):
        return False
    version = value.get('schema_version')
    return isinstance(version, str) and version.startswith('ATIF')


def parse(value: object) -> Trajectory | ParseFailure:
    """Read an ATIF trajectory.

    Args:
        value: The root object; a missing `schema_version` is let pass if there are tool calls.

    Returns:
        The trajectory, or a failure for a value without such steps. The tool calls of one agent step are one turn.
        `failed` is None without an observation that names the call, else what its content says (`says_error`): the
        format has no flag for it. A step that is copied from an earlier trajectory (`is_copied_context`) is left out
        and noted in `dropped` if it has calls; subagents' trajectories are other runs and not read. Tokens and cost
        are those of `final_metrics`, else the sums over the agent steps if each states them; latency is from the
        first to the last `timestamp` if each step has one.

    Complexity: linear in the text.

    Example:
        >>> call = {'tool_call_id': 'c1', 'function_name': 'f', 'arguments': {'a': 1}}
        >>> parse({'schema_version': 'ATIF-v1.4', 'steps': [{'source': 'agent', 'tool_calls': [call]}]}).plan.names
        ('f',)
    """
    steps = value.get('steps') if isinstance(value, dict) else None
    recording = Recording()
    own: list[dict[str, Any]] = []
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if not isinstance(step, dict):
            recording.drop(f'step {index}: no object')
        elif step.get('is_copied_context') is True:
            if step.get('tool_calls'):
                recording.drop(f'step {index}: copied from an earlier trajectory')
        else:
            own.append(step)
            _read_calls(step, f'step {index}', recording)
            _read_results(step, recording)
    return recording.outcome(NAME, record=_record(value, own), recognised=recognises(value))


def _read_calls(step: dict[str, Any], place: str, recording: Recording) -> None:
    calls = step.get('tool_calls')
    recording.next_turn()
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            name = call.get('function_name')
            recording.call(name, call.get('arguments'), call_id=call.get('tool_call_id'), place=place)
        else:
            recording.drop(f'{place}: a call that is no object')


def _read_results(step: dict[str, Any], recording: Recording) -> None:
    observation = step.get('observation')
    results = observation.get('results') if isinstance(observation, dict) else None
    for result in results if isinstance(results, list) else ():
        # Without the id of a call it is the result of something that is no tool call.
        if isinstance(result, dict) and result.get('source_call_id') is not None:
            failed = result_failed(result, result.get('content'))
            recording.result(call_id=result.get('source_call_id'), failed=failed)


def _record(value: object, steps: list[dict[str, Any]]) -> RunRecord:
    final = value.get('final_metrics') if isinstance(value, dict) else None
    whole = final if isinstance(final, dict) else {}
    metrics = [_metrics(step) for step in steps if step.get('source') == 'agent']
    tokens = usage_tokens(whole)
    cost = amount(whole.get('total_cost_usd'))
    return run_record(
        value,
        tokens=total(usage_tokens(metric) for metric in metrics) if tokens is None else tokens,
        latency=seconds_between([nanoseconds(step.get('timestamp')) for step in steps]),
        cost=total(amount(metric.get('cost_usd')) for metric in metrics) if cost is None else cost,
    )


def _metrics(step: dict[str, Any]) -> dict[str, Any]:
    metrics = step.get('metrics')
    return metrics if isinstance(metrics, dict) else {}
