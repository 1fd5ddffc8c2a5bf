"""The strict parser: what T-Eval's planning evaluator accepts as a plan, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias, get_args

from opencompass_traj.parsing.bounds import is_flat
from opencompass_traj.parsing.literal import MAX_CHARS, MAX_DEPTH, load_literal, shown
from opencompass_traj.plan import ParseFailure, Plan, Step, StepId

PromptType: TypeAlias = Literal['json', 'str', 'ReWOO']

_PROMPT_TYPES: Final = get_args(PromptType)
_WHOLE: Final = frozenset({int})
_NO_VALUE: Final = (ValueError, TypeError, OverflowError, RecursionError)
_PLAN_LINE: Final = re.compile(r'Plan [0-9]+: .+')
_DEPENDENCY_LINE: Final = re.compile(r'Dependency [0-9]+: (.+)')
_ACTION_LINE: Final = re.compile(r'Action [0-9]+: (.+)')
_RETURN_VARIABLE: Final = re.compile(r'#E[0-9]+ = ')
# No step has a number of more digits; `int` itself refuses more than 4300.
_NUMBER: Final = re.compile(r'(?<![0-9])[0-9]{1,18}(?![0-9])')
# From the beginning of a word on: a long word that no value follows is not tried from each of its letters.
_KEY_VALUE: Final = re.compile(r'(?<!\w)(\w+)="([^"]*)"(?:, |\Z)')


def parse_prediction(
    prediction: object,
    *,
    prompt_type: PromptType,
    api_list: Sequence[str] = (),
    max_chars: int = MAX_CHARS,
    max_depth: int = MAX_DEPTH,
) -> Plan | ParseFailure:
    """Read a plan from an agent's answer exactly where T-Eval reads one.

    Names, ids and `str(args)` of the steps are upstream's. Beyond those, a step keeps its `prev` and the structure
    of its arguments. A `FinishAction` stays.

    Args:
        prediction: The answer's text; for 'json' also the list itself, which is not changed.
        prompt_type: The answer's form. 'json': a list of objects with `name`, `id` and `args`, from the first '['
            to the last ']'; one bad step voids the plan; steps are put in the order of their ids. 'ReWOO': as many
            `Plan k:` as `Dependency k:` and `Action k: #Ek = tool(args)` lines. 'str': lines or sentences, each a
            step if it names a tool of `api_list`; its arguments are the line.
        api_list: The tools' names, for 'str'. Where two start at one place in a line, the one listed first wins.
        max_chars: Longest text that is read, in characters.
        max_depth: Deepest nesting of brackets that is read.

    Returns:
        The plan, or why there is none. A readable empty JSON list is an empty plan. The steps of 'ReWOO' and 'str'
        have the ids 0, 1, …; their `prev` are ids too, upstream's step numbers less 1 (ReWOO), or unknown (str).

    Raises:
        ValueError: For an unknown `prompt_type`.

    Complexity: linear in the text but for the sorting, and for 'str' times the number of tools.

    Source: `PlanningEvaluator._process_response` of `opencompass/datasets/teval`. Differs in its limits, in what it
    does with an answer that is no text in ReWOO or str form (upstream raises TypeError), in the empty list, and in
    JSON of more than `max_depth` brackets.

    Example:
        >>> plan = parse_prediction('My plan: [{"id": 0, "name": "search", "args": {"q": "x"}}]', prompt_type='json')
        >>> plan.steps[0]
        Step(id=0, name='search', args={'q': 'x'}, prev=None)
        >>> parse_prediction('[{"id": 0, "args": {}}]', prompt_type='json')
        ParseFailure(reason='step 1 of 1 has no name')
    """
    if prompt_type not in _PROMPT_TYPES:
        raise ValueError(f"expected `prompt_type` 'json', 'str' or 'ReWOO', got {prompt_type!r}")
    if prompt_type == 'json' and isinstance(prediction, list):
        return _plan_of_records(prediction)
    if not isinstance(prediction, str):
        return ParseFailure(f'the answer is of type {type(prediction).__name__}, not text')
    if len(prediction) > max_chars:
        return ParseFailure(f'answer longer than {max_chars} characters')
    if prompt_type == 'json':
        return _parse_json(prediction, max_chars=max_chars, max_depth=max_depth)
    return _parse_rewoo(prediction) if prompt_type == 'ReWOO' else _parse_lines(prediction, api_list)


def rewoo_args_text(args: object) -> str:
    """Write arguments as T-Eval compares them for ReWOO answers, on the golden side as on the other.

    Args:
        args: A dict, or the text between the parentheses of a call.

    Returns:
        `{k="v", …}` for a dict; the text in braces otherwise.

    Example:
        >>> rewoo_args_text({'city': 'Lyon', 'n': 2})
        '{city="Lyon", n="2"}'
    """
    inner = _key_value_text(args) if isinstance(args, dict) else str(args)
    return '{' + inner + '}'


def _parse_json(text: str, *, max_chars: int, max_depth: int) -> Plan | ParseFailure:
    value = load_literal(text, start='[', end=']', max_chars=max_chars, max_depth=max_depth)
    if isinstance(value, ParseFailure):
        return value if '[' in text else ParseFailure('no list in the answer')
    if not isinstance(value, list):
        return ParseFailure(f'the answer holds a {type(value).__name__}, not one list')
    return _plan_of_records(value)


def _plan_of_records(records: list[Any]) -> Plan | ParseFailure:
    steps: list[tuple[int, Step]] = []
    for number, record in enumerate(records, start=1):
        step = _step_of_record(record)
        if isinstance(step, str):
            return ParseFailure(f'step {number} of {len(records)} {step}')
        steps.append(step)
    return Plan(tuple([step for _, step in sorted(steps, key=itemgetter(0))]))


def _step_of_record(record: object) -> tuple[int, Step] | str:
    """The step with the id that it is sorted by, or what is wrong with it."""
    if not isinstance(record, dict):
        return f'is a {type(record).__name__}, not an object'
    if not ('name' in record and 'id' in record and 'args' in record):
        missing = [key for key in ('name', 'id', 'args') if key not in record]
        return f'has no {" and no ".join(missing)}'
    try:
        identifier = int(record['id'])
    except _NO_VALUE:
        return f'has the id {shown(record["id"])}, which is no whole number'
    args = record['args']
    if type(record['name']) is str and is_flat(args):
        return identifier, Step(identifier, record['name'], args, _prev_ids(record.get('prev')))
    try:
        # Upstream compares `str(args)`; where that cannot be written (a number of 5000 digits) the plan is void.
        name, _ = str(record['name']), str(args)
    except _NO_VALUE:
        return 'has a name or args that cannot be written as text'
    return identifier, Step(identifier, name, args, _prev_ids(record.get('prev')))


def _prev_ids(value: object) -> tuple[StepId, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    if _WHOLE.issuperset(map(type, value)):
        return tuple(value)
    return tuple(identifier for item in value if (identifier := _prev_id(item)) is not None)


def _prev_id(item: object) -> StepId | None:
    if not isinstance(item, int | float | str):
        return None
    try:
        return int(item)
    except _NO_VALUE:
        return item if isinstance(item, str) else None


def _parse_rewoo(text: str) -> Plan | ParseFailure:
    plans = len(_PLAN_LINE.findall(text))
    dependencies = _DEPENDENCY_LINE.findall(text)
    actions = _ACTION_LINE.findall(text)
    if not plans == len(dependencies) == len(actions):
        return ParseFailure(
            f'{plans} Plan, {len(dependencies)} Dependency and {len(actions)} Action lines, expected as many of each'
        )
    if not actions:
        return ParseFailure('no Plan, Dependency and Action lines')
    pairs = zip(actions, dependencies, strict=True)
    return Plan(tuple(_rewoo_step(i, action, dependency) for i, (action, dependency) in enumerate(pairs)))


def _rewoo_step(index: int, action: str, dependency: str) -> Step:
    name, inner = _split_call(action)
    prev = dict.fromkeys(int(number) - 1 for number in _NUMBER.findall(dependency))
    return Step(id=index, name=name, args=_rewoo_args(inner), prev=tuple(prev))


def _split_call(action: str) -> tuple[str, str]:
    r"""The name and the text of the arguments, as upstream's greedy `(.+)\(` and `.+\((.+)\)` find them.

    The name runs to the last '('. The arguments start at the last '(' that has something between itself and the last
    ')'. The two differ for nested parentheses: `f(a, g())` is the tool `f(a, g` with the arguments `)`. Found without
    regular expressions, which take cubic time on a line of many '('.
    """
    begin = 0
    if action.startswith('#'):
        variable = _RETURN_VARIABLE.search(action)
        if variable is None:
            return '', ''
        begin = variable.end()
    name_end = action.rfind('(', begin + 1)
    close = action.rfind(')')
    open_ = action.rfind('(', begin + 1, max(close - 1, 0))
    return action[begin : max(name_end, begin)], action[open_ + 1 : close] if open_ >= 0 else ''


def _rewoo_args(inner: str) -> Any:
    """A dict where writing it back gives the same text, else the text."""
    args = dict(_KEY_VALUE.findall(inner))
    return args if _key_value_text(args) == inner else inner


def _key_value_text(args: dict[Any, Any]) -> str:
    return ', '.join(f'{key}="{value}"' for key, value in args.items())


def _parse_lines(text: str, api_list: Sequence[str]) -> Plan | ParseFailure:
    steps: list[Step] = []
    for line in text.replace('. ', '\n').split('\n'):
        name = _first_tool(line, api_list)
        if name:
            steps.append(Step(id=len(steps), name=name, args=line))
    return Plan(tuple(steps)) if steps else ParseFailure('no tool of the list is named')


def _first_tool(line: str, api_list: Sequence[str]) -> str:
    found = [(at, rank) for rank, name in enumerate(api_list) if (at := line.find(name)) >= 0]
    return api_list[min(found)[1]] if found else ''
