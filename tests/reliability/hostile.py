"""Predictions that have broken evaluators, or could: a name for each, and a function that builds it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final

STEP: Final = {'id': 0, 'name': 'search', 'args': {'q': 'x'}}


def nested(depth: int, *, kind: str = 'list') -> Any:
    """A value in a value in a value."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == 'list' else {'a': value}
    return value


def steps(count: int, *, names: int = 3, args: int = 1) -> list[dict[str, Any]]:
    """A plan of many steps, of which `names` differ in tool and `args` in arguments, each with an id of its own."""
    return [{'id': i, 'name': f'tool{i % names}', 'args': {'n': i % args}} for i in range(count)]


def same_steps(count: int, *, names: int = 3) -> list[dict[str, Any]]:
    """Very many steps at little cost: a few, again and again."""
    few = steps(names, names=names)
    return (few * (count // names + 1))[:count]


def chat(count: int, content: Any = '') -> list[dict[str, Any]]:
    """A chat in the OpenAI format with a call and its result for each turn; every third turn is the same."""
    turns: list[list[dict[str, Any]]] = []
    for i in range(3):
        function = {'name': f'tool{i}', 'arguments': '{"n": 1}'}
        call = {'id': f'c{i}', 'type': 'function', 'function': function}
        result = {'role': 'tool', 'tool_call_id': f'c{i}', 'content': content}
        turns.append([{'role': 'assistant', 'tool_calls': [call]}, result])
    return [message for i in range(count) for message in turns[i % 3]]


def recursive_list() -> list[Any]:
    """A list that holds itself."""
    value: list[Any] = [dict(STEP)]
    value.append(value)
    return value


def recursive_args() -> list[Any]:
    """A step whose arguments hold themselves."""
    args: dict[str, Any] = {}
    args['self'] = args
    return [{**STEP, 'args': args}]


def with_args(args: Any) -> list[Any]:
    """A plan of one step."""
    return [{**STEP, 'args': args}]


class Opaque:
    """An object whose text cannot be had."""

    def __repr__(self) -> str:
        raise ValueError('no text')


VALUES: Final[dict[str, Callable[[], Any]]] = {
    'none': lambda: None,
    'true': lambda: True,
    'number': lambda: 7,
    'nan': lambda: math.nan,
    'infinity': lambda: math.inf,
    'huge integer': lambda: 10**5000,
    'complex': lambda: 1j,
    'bytes': lambda: b'[{"id": 0, "name": "search", "args": {}}]',
    'empty list': list,
    'empty object': dict,
    'tuple of steps': lambda: (dict(STEP),),
    'set': lambda: {1, 2},
    'object': object,
    'opaque': Opaque,
    'list of opaque': lambda: [Opaque()],
    'opaque args': lambda: with_args(Opaque()),
    'list of none': lambda: [None] * 3,
    'list of texts': lambda: [json.dumps([STEP])] * 2,
    'step with integer keys': lambda: [{1: 2, None: 3, 'name': 'search', 'id': 0, 'args': {4: 5, (1, 2): 3}}],
    'args with mixed keys': lambda: with_args({1: 'a', '1': 'b', None: 'c', False: 'd'}),
    'args of nan': lambda: with_args({'q': math.nan, 'r': -math.inf}),
    'args of a huge integer': lambda: with_args({'q': 10**5000}),
    'args of bytes': lambda: with_args({'q': b'x'}),
    'args of a set': lambda: with_args({'q': {1, 2}}),
    'args nested 100,000 deep': lambda: with_args(nested(100_000)),
    'args nested 150 deep': lambda: with_args(nested(150)),
    'args nested 1,000 deep as text': lambda: with_args('[' * 1000 + ']' * 1000),
    'args with 200,000 keys': lambda: with_args({str(i): i for i in range(200_000)}),
    'args of a million characters': lambda: with_args({'q': 'x' * 1_000_000}),
    'args that hold themselves': recursive_args,
    'list that holds itself': recursive_list,
    'list nested 100,000 deep': lambda: nested(100_000),
    'object nested 100,000 deep': lambda: nested(100_000, kind='dict'),
    'name of a million characters': lambda: [{**STEP, 'name': 'n' * 1_000_000}],
    'name of lone surrogates': lambda: [{**STEP, 'name': '\ud800\udfff\ud800'}],
    'name of null characters': lambda: [{**STEP, 'name': '\0'}],
    'name of a number': lambda: [{**STEP, 'name': 10**5000}],
    'name of a list': lambda: [{**STEP, 'name': ['search']}],
    'name of nan': lambda: [{**STEP, 'name': math.nan}],
    'id of nan': lambda: [{**STEP, 'id': math.nan}],
    'id of infinity': lambda: [{**STEP, 'id': math.inf}],
    'huge ids': lambda: [{**STEP, 'id': 10**5000}, {**STEP, 'id': -(10**5000)}],
    'id as a huge text': lambda: [{**STEP, 'id': '9' * 100_000}],
    'doubled ids': lambda: [dict(STEP), dict(STEP)],
    'prev of itself': lambda: [{**STEP, 'prev': [0]}],
    'prev in a cycle': lambda: [{**STEP, 'id': i, 'prev': [(i + 1) % 50]} for i in range(50)],
    'prev of a million ids': lambda: [{**STEP, 'prev': list(range(1_000_000))}],
    'prev of huge ids': lambda: [{**STEP, 'prev': [10**5000, math.nan, math.inf, '9' * 5000]}],
    'every step needs every other': lambda: [{**STEP, 'id': i, 'prev': list(range(i))} for i in range(400)],
    '1,000 steps': lambda: steps(1_000),
    '1,000 different tools': lambda: steps(1_000, names=1_000),
    '3,000 steps': lambda: steps(3_000, names=10, args=7),
    '10,000 steps': lambda: same_steps(10_000, names=10),
    '100,000 steps': lambda: same_steps(100_000),
    '100,001 steps': lambda: same_steps(100_001),
    '100,000 equal steps': lambda: same_steps(100_000, names=1),
    'one turn of 2,000 calls': lambda: [steps(2_000), steps(1)],
    'two turns of 2,000 calls': lambda: [steps(2_000), steps(2_000)],
    'chat of 20,000 calls': lambda: chat(20_000),
    'chat of 60,000 calls': lambda: chat(60_000),
    'chat whose results are nested 100,000 deep': lambda: chat(2, nested(100_000)),
    'chat whose results are a nested text': lambda: chat(2, '{"a":' * 100_000),
    'chat of one message with 50,000 calls': lambda: [
        {'role': 'assistant', 'tool_calls': [{'type': 'function', 'function': {'name': 'a', 'arguments': ''}}] * 50_000}
    ],
    'chat with arguments nested 100,000 deep': lambda: [
        {'role': 'assistant', 'tool_calls': [{'function': {'name': 'a', 'arguments': nested(100_000)}}]}
    ],
    'chat with integer roles': lambda: [{'role': 7, 'content': []}, {'role': 'assistant', 'tool_calls': 8}],
    'spans of a huge time': lambda: {'spans': [{'name': 'x', 'start_time': 10**5000, 'attributes': {'a': 1}}]},
    'usage of infinity': lambda: {'messages': chat(1), 'usage': {'total_tokens': math.inf}, 'cost': -1, 'latency': '1'},
    'usage of a huge integer': lambda: {'messages': chat(1), 'usage': {'total_tokens': 10**5000}, 'reward': 10**5000},
}
"""Predictions that are no text, as a caller in Python could hand them over."""


def fill(unit: str, length: int, *, before: str = '', after: str = '') -> str:
    """A text of about a length: something said again and again."""
    return before + unit * ((length - len(before) - len(after)) // len(unit)) + after


def _numbered(line: str, length: int, *, before: str = '', after: str = '') -> str:
    count = length // (len(line) + 4)
    return before + ''.join(line.replace('#', str(i)) for i in range(count)) + after


TEXTS: Final[dict[str, Callable[[int], str]]] = {
    'brackets': lambda n: '[' * n,
    'closed brackets': lambda n: '[' * (n // 2) + ']' * (n // 2),
    'braces': lambda n: '{' * n,
    'bracket pairs': lambda n: fill('[]', n),
    'a list of numbers': lambda n: fill('0,', n, before='[', after='0]'),
    'parentheses': lambda n: '(' * n,
    'nested calls': lambda n: fill('f(', n),
    'quotes': lambda n: '"' * n,
    'a bracket and quotes': lambda n: '["' + '"' * (n - 2),
    'single quotes in a list': lambda n: fill("',", n, before="['"),
    'backslashes': lambda n: '["' + '\\' * (n - 2),
    'escaped backslashes': lambda n: fill('\\\\', n, before='["', after='"]'),
    'hashes': lambda n: '[' + '#' * (n - 1),
    'slashes': lambda n: fill('/', n, before='[{"a": 1}'),
    'comment openings': lambda n: fill('/*', n, before='[{"a": 1}'),
    'stars': lambda n: fill('*', n, before='[/'),
    'colons': lambda n: '{' + ':' * (n - 1),
    'commas': lambda n: fill(',', n, before='[', after=']'),
    'blanks in a list': lambda n: fill(' ', n, before='[', after=']'),
    'new lines in a list': lambda n: fill('\n', n, before='[{"name": "search"}', after=']'),
    'curly quotes': lambda n: fill('[{“', n),
    'backticks': lambda n: '`' * n,
    'fences': lambda n: fill('```json\n[{"name": "search", "args": {}}]\n', n),
    'unclosed objects': lambda n: fill('[{"name": "search", "args": ', n),
    'broken objects': lambda n: fill('{"name": "search", "args": {"q": x y}} ', n),
    'broken objects in a list': lambda n: fill('{"name": "search", "args": {"q": "a" "b"}}, ', n, before='['),
    'names without a value': lambda n: fill('{"name": ', n),
    'unescaped quotes': lambda n: fill('{"name": "search", "args": {"q": "say "hi" now"}}, ', n, before='[', after=']'),
    'one object of unescaped quotes': lambda n: fill('a" b', n, before='[{"name": "s", "args": {"q": "', after='"}}]'),
    'single steps with words between': lambda n: fill('{"tool": "search", "args": {}} then ', n),
    'lists with words between': lambda n: fill('[{"tool": "search", "args": {}}] then ', n),
    'lists beside each other': lambda n: fill('[{"tool": "search", "args": {}}]', n),
    'steps without arguments': lambda n: fill('{"name":"a"}, ', n, before='[', after='{"name":"a"}]'),
    'steps with everything': lambda n: _numbered(
        '{"id": #, "name": "t#", "args": {"a": #, "b": [#, "#"]}, "prev": [0]}, ', n, before='[', after='{"name":"a"}]'
    ),
    'think tags': lambda n: fill('<think>', n),
    'closed think tags': lambda n: fill('<think></think>', n),
    'closing think tags': lambda n: fill('</think>', n),
    'actions': lambda n: fill('Action: search\n', n),
    'unclosed action inputs': lambda n: fill('Action: search\nAction Input: {"q": \n', n),
    'an action of brackets': lambda n: fill('[', n, before='Action: search'),
    'an action of parentheses': lambda n: fill('search(', n, before='Action: '),
    'labels': lambda n: fill('Thought:', n),
    'labels with blanks': lambda n: fill('Thought' + ' ' * 999 + '\n', n),
    'plan lines': lambda n: fill('Plan 1: a\nDependency 1: []\nAction 1: #E1 = f(x="y")\n', n),
    'a plan line of one long word': lambda n: fill(
        '1', n, before='Plan 1: a\nDependency 1: []\nAction 1: #E1 = f(', after=')'
    ),
    'a plan line of parentheses': lambda n: fill('f(', n, before='Plan 1: a\nDependency 1: []\nAction 1: #E1 = '),
    'a workflow': lambda n: _numbered('#: a\n', n // 2, before='Node:\n') + fill('(1,2) ', n // 2, before='\nEdges:'),
    'edges': lambda n: fill('(1,2) ', n, before='Node:\n1: a\n2: b\nEdges:\n'),
    'an edge of blanks': lambda n: fill(' ', n, before='Node:\n1: a\nEdges:\n('),
    'call lines': lambda n: fill('search(q="x")\n', n),
    'a call line': lambda n: fill('a,', n, before='search(', after=')'),
    'a call of many arguments': lambda n: _numbered('a#=#, ', n, before='search(', after='b=1)'),
    'a call of a dotted name': lambda n: fill('a.', n, after='('),
    'calls cut off': lambda n: fill('search(q="x"), ', n, before='['),
    'nested recorded predictions': lambda n: fill('{"recorded_prediction": ', n),
    'a long recorded prediction': lambda n: fill('x', n, before='{"recorded_prediction": "', after='", "reward": 1}'),
    'emoji': lambda n: '🤖' * n,
    'lone surrogates': lambda n: '\ud800' * n,
    'a chat': lambda n: json.dumps(chat(n // 190)),
    'task nodes': lambda n: fill('{"task": "a"}, ', n, before='{"task_nodes": [', after='{"task": "a"}]}'),
    'task links': lambda n: fill(
        '{"source": "a", "target": "b"}, ', n, before='{"task_nodes": [{"task": "a"}, {"task": "b"}], "task_links": [',
        after='{}]}',
    ),
    'percent signs': lambda n: fill('%s%n%x', n),
    'sentences': lambda n: fill('. ', n),
    'names and colons': lambda n: fill('"name" ', n),
    'a name and blanks': lambda n: fill(' ', n, before='"name"'),
    'full-width brackets': lambda n: fill('［｛', n),
    'html': lambda n: fill('<script>alert(1)</script>', n),
    'digits': lambda n: fill('9', n, before='[{"id": 0, "name": "search", "args": {"q": ', after='}}]'),
    'hexadecimal digits': lambda n: fill('f', n, before='[{"id": 0, "name": "search", "args": {"q": 0x', after='}}]'),
    'a call with hexadecimal digits': lambda n: fill('f', n, before='search(q=0x', after=')'),
    'one long name': lambda n: fill('n', n, before='[{"id": 0, "name": "', after='", "args": {}}]'),
    'one long argument': lambda n: fill('x', n, before='[{"id": 0, "name": "search", "args": {"q": "', after='"}}]'),
    'many arguments': lambda n: _numbered('"#": #, ', n, before='[{"id": 0, "name": "a", "args": {', after='"b": 1}}]'),
    'many dependencies': lambda n: fill('1, ', n, before='[{"id": 0, "name": "a", "args": {}, "prev": [', after='2]}]'),
}  # fmt: skip
"""Predictions that are text, each of about a given length."""

ODD: Final[dict[str, str]] = {
    'empty': '',
    'blanks': ' \t\n\u3000',
    'null character': '\0',
    'byte order mark': '\ufeff[{"id": 0, "name": "search", "args": {}}]',
    'lone surrogates': '[{"id": 0, "name": "\ud800", "args": {"q": "\udfff\ud800"}}]',
    'escaped lone surrogates': r'[{"id": 0, "name": "\ud800", "args": {"\udfff": "\udfff\ud800"}}]',
    'bytes as text': str(json.dumps([STEP]).encode()),
    'infinite number': '[{"id": 1e999, "name": "search", "args": {"q": 1e999}}]',
    'nan': '[{"id": NaN, "name": "search", "args": {"q": NaN, "r": -Infinity}}]',
    'duplicate keys': '[{"id": 0, "id": 1, "name": "a", "name": "search", "args": {"q": 1, "q": 2}}]',
    'huge id': f'[{{"id": {"9" * 5000}, "name": "search", "args": {{}}}}]',
    'huge exponent': '[{"id": 0, "name": "search", "args": {"q": 1E400, "r": 1e-400, "s": "1e999999999"}}]',
    'power tower': '[{"id": 0, "name": "search", "args": {"q": 9**9**9**9}}]',
    'import': '__import__("os").system("false")',
    'lambda': '[(lambda: 1/0)()]',
    'a set': "[{'id': 0, 'name': 'search', 'args': {'b', 'a', 'c'}}]",
    'a set of sets': "search(of=[{'b', 'a'}, {1, 2}])",
    'complex numbers': "[{'id': 0, 'name': 'search', 'args': {1j: 2+3j, b'x': ..., (1, 2): None}}]",
    'finish action alone': '[{"id": 0, "name": "FinishAction", "args": {}}]',
    'a step without a name': '[{"id": 0, "args": {}}]',
    'unclosed think': '<think>[{"id": 0, "name": "search", "args": {}}]',
    'step of strings in strings': json.dumps(json.dumps(json.dumps(json.dumps([STEP])))),
    'a recorded prediction in another': json.dumps(
        {'recorded_prediction': json.dumps({'recorded_prediction': '[]', 'reward': 1}), 'reward': 0}
    ),
    'a recorded prediction of null': '{"recorded_prediction": null, "reward": 1e999}',
    'mending asserts': '{a:,"```json{```"}',
}
"""Short texts that have broken readers."""
