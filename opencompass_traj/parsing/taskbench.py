"""TaskBench's plans: `task_nodes`, `task_links` and `<node-0>`, after the benchmark's README and data files."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Final

from opencompass_traj.parsing.literal import MAX_CHARS, MAX_DEPTH, shown
from opencompass_traj.parsing.values import MAX_STEPS, decoded_args, nests_deeper, read_json
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory

NAME: Final = 'taskbench'

_NODES: Final = ('task_nodes', 'tool_nodes')
_LINKS: Final = ('task_links', 'tool_links')
_NODE_TAG: Final = re.compile(r'<?node-([0-9]{1,9})>?')


def recognises(value: object) -> bool:
    """Whether decoded JSON is an object with `task_nodes` (in the data files: `tool_nodes`), or a `result` of one.

    Example:
        >>> recognises({'task_nodes': []}), recognises({'result': {'task_nodes': []}}), recognises([])
        (True, True, False)
    """
    return _record(value) is not None


def parse(value: object) -> Trajectory | ParseFailure:
    """Read a TaskBench plan.

    A link names tasks, not nodes. Where a task occurs more than once, the first link from one task to another is to
    the first node of the target's name, its repetition to the second, and so on (the last, if there are too few); it
    comes from the first node of the source's name, which stands before the target in a sound plan. A tag such as
    `<node-0>` in a link names the node itself.

    Args:
        value: Decoded JSON, or its text: `task_nodes`, each with `task` and `arguments` (a list of values, a list of
            objects with `name` and `value`, or an object); `task_links`, each with `source` and `target`. Either may
            be JSON text of its own, as in the benchmark's data files.

    Returns:
        The nodes as listed, with ids from 0, so that `<node-0>` is step 0. Objects with `name` and `value` become one
        object; other arguments stay as they are. With `task_links`, even empty, `prev` is known for every step. What
        is no node, or a link between unknown tasks, is dropped and named.

    Complexity: linear in nodes and links.

    Example:
        >>> plan = parse(
        ...     {
        ...         'task_nodes': [{'task': 'Get', 'arguments': ['a.txt']}, {'task': 'Sum', 'arguments': ['<node-0>']}],
        ...         'task_links': [{'source': 'Get', 'target': 'Sum'}],
        ...     }
        ... ).plan
        >>> plan.steps[1]
        Step(id=1, name='Sum', args=['<node-0>'], prev=(0,))
    """
    if isinstance(value, str) and len(value) <= MAX_CHARS:
        value = read_json(value)
    record = _record(value)
    if record is None:
        return ParseFailure('no object with task_nodes')
    if nests_deeper(record):
        return ParseFailure(f'nested more than {MAX_DEPTH} deep')
    nodes = _listed(record, _NODES)
    links = _listed(record, _LINKS)
    if nodes is None:
        return ParseFailure('task_nodes is no list')
    if max(len(nodes), len(links or ())) > MAX_STEPS:
        return ParseFailure(f'more than {MAX_STEPS} nodes or links')
    dropped: list[str] = []
    names = [_task(node, index, dropped) for index, node in enumerate(nodes)]
    if nodes and not any(names):
        return ParseFailure(f'no node could be read: {dropped[0]}')
    prevs = None if links is None else _prevs(names, links, dropped)
    steps = (
        Step(index, name, _args(nodes[index].get('arguments')), None if prevs is None else tuple(prevs[index]))
        for index, name in enumerate(names)
        if name
    )
    return Trajectory(Plan(tuple(steps)), NAME, dropped=tuple(dropped))


def _record(value: object) -> dict[Any, Any] | None:
    if isinstance(value, dict) and isinstance(value.get('result'), dict):
        value = value['result']
    return value if isinstance(value, dict) and any(key in value for key in _NODES) else None


def _listed(record: dict[Any, Any], keys: tuple[str, ...]) -> list[Any] | None:
    value = next((record[key] for key in keys if record.get(key) is not None), None)
    if isinstance(value, str):
        value = read_json(value)
    return value if isinstance(value, list) and not nests_deeper(value) else None


def _task(node: object, index: int, dropped: list[str]) -> str:
    name = next((node[key] for key in ('task', 'name') if key in node), None) if isinstance(node, dict) else None
    if isinstance(name, str) and name.strip():
        return name.strip()
    dropped.append(f'node {index}: no task in {shown(node)}')
    return ''


def _args(value: object) -> Any:
    if isinstance(value, list) and value and all(isinstance(item, dict) and 'name' in item for item in value):
        named = {str(item['name']): item.get('value') for item in value}
        return named if len(named) == len(value) else value
    return decoded_args(value)


def _prevs(names: list[str], links: list[Any], dropped: list[str]) -> list[list[int]]:
    prevs: list[list[int]] = [[] for _ in names]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        places[name].append(index)
    seen: defaultdict[tuple[str, str], int] = defaultdict(int)
    for link in links:
        source, target = (str(link.get(end, '')).strip() if isinstance(link, dict) else '' for end in _ENDS)
        sources, targets = _places(source, places, len(names)), _places(target, places, len(names))
        nth = seen[source, target] + (source == target)
        seen[source, target] += 1
        if not sources or not targets or (source == target and len(targets) < 2):
            dropped.append(f'link between unknown nodes: {shown(link)}')
        elif sources[0] not in (known := prevs[targets[min(nth, len(targets) - 1)]]):
            known.append(sources[0])
    return prevs


def _places(task: str, places: dict[str, list[int]], count: int) -> list[int]:
    tag = _NODE_TAG.fullmatch(task)
    if tag is not None and int(tag[1]) < count:
        return [int(tag[1])]
    return places.get(task, []) if task else []


_ENDS: Final = ('source', 'target')
