"""Comparison rules for arguments as plain data: presets, options, and rules for the keys of single tools."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opencompass_traj.metrics._argument_comparison import ENTRY, ArgumentRules, Path, Rule, path_name
from opencompass_traj.metrics._argument_values import Tolerance, is_bound

__all__ = ['ENTRY', 'PRESETS', 'ArgumentRules', 'Path', 'Rule', 'argument_rules', 'path_name', 'rules_as_options']

_Call = Callable[[Any, Any], object]

# What each preset changes of the defaults.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    'lenient': {},
    'strict': {
        'numbers_as_text': False,
        'constants_as_text': False,
        'space': 'keep',
        'unicode': 'keep',
        'json_text': False,
    },
}

_CHOICES = {'case': ('keep', 'ignore'), 'space': ('keep', 'strip', 'collapse'), 'unicode': ('keep', 'nfkc')}
_FLAGS = ('numbers_as_text', 'constants_as_text', 'dates', 'unordered_lists', 'json_text')
_PLAIN_RULES = ('exact', 'ignore', 'contains', 'regex', 'semantic')
_RULES_WITH_VALUE = ('numeric', 'semantic', 'call')
_OPTIONS = ('preset', *_FLAGS, *_CHOICES, 'tolerance', 'ignore_keys', 'tools')


def argument_rules(
    options: Mapping[str, Any] | str | None = None,
    *,
    similar: Callable[[str, str], float] | None = None,
) -> ArgumentRules:
    """Build comparison rules from a config.

    Args:
        options: The name of a preset, or a mapping with any of

            - `preset`: `lenient` (default: numbers, booleans and null as text, outer white space, full-width
              characters and JSON text do not count; case does) or `strict` (typed: `7` is not `"7"`, `True` is not `1`,
              but `1` is `1.0`); the other options change it;
            - `numbers_as_text`, `constants_as_text`, `dates`, `unordered_lists`, `json_text`: true or false;
            - `case`: `keep` or `ignore`; `space`: `keep`, `strip` or `collapse`; `unicode`: `keep` or `nfkc`;
            - `tolerance`: an absolute one, at least 0, or `{'absolute': …, 'relative': …}`: the greater counts;
            - `ignore_keys`: patterns of keys that do not count on either side;
            - `tools`: `{tool pattern: {key pattern: rule}}`; the first that fits counts. A rule is `exact` (typed),
              `ignore`, `contains` (the golden text in the predicted one), `regex` (the golden value is a pattern
              of RE2 for the whole predicted text, both up to 1,000 characters), `semantic` or
              `{'semantic': threshold}` (0.7),
              `{'numeric': tolerance}` (texts read as numbers), or `{'call': 'package.module.function'}`, a function
              `(pred_value, ref_value) -> bool`.

            Patterns are those of `fnmatch`, with case. A key pattern fits the whole dotted path or the last key.
        similar: The similarity of two texts in [0, 1], which `semantic` needs. Equal texts are not asked about.

    Returns:
        The rules; `rules_as_options` gives them back as data.

    Raises:
        ValueError: If an option is unknown or out of range, a function cannot be imported, or there is a rule
            `semantic` without `similar`.
        TypeError: If an option is of the wrong type.

    Example:
        >>> rules = argument_rules({'case': 'ignore', 'tools': {'book_*': {'price': {'numeric': 0.01}}}})
        >>> rules.equal(' LYON ', 'Lyon', tool='find', key='city')
        True
        >>> rules.equal('9.99', 10, tool='book_seat', key='price')
        True
    """
    given = {'preset': options} if isinstance(options, str) else _mapping('options', options or {})
    preset = given.get('preset', 'lenient')
    _one_of('preset', preset, PRESETS)
    for name in given:
        _one_of('an option of the argument rules', name, _OPTIONS)
    values = {**PRESETS[preset], **{name: _value(name, given[name]) for name in given if name != 'preset'}}
    rules = (rule for _, keys in values.get('tools', ()) for _, rule in keys)
    if similar is None and any(rule.kind == 'semantic' for rule in rules):
        raise ValueError("expected a similarity of texts for rule 'semantic', got none: give `similar`")
    return ArgumentRules(**values, similar=similar)


def rules_as_options(rules: ArgumentRules) -> dict[str, Any]:
    """The options that a set of rules was built from, all of them, as plain data for a result or a log.

    Example:
        >>> rules_as_options(argument_rules('strict'))['numbers_as_text']
        False
    """
    options: dict[str, Any] = {name: getattr(rules, name) for name in (*_FLAGS, *_CHOICES)}
    options['tolerance'] = {'absolute': rules.tolerance.absolute, 'relative': rules.tolerance.relative}
    options['ignore_keys'] = list(rules.ignore_keys)
    options['tools'] = {tool: {key: rule.written for key, rule in keys} for tool, keys in rules.tools}
    return options


def _value(name: str, written: object) -> Any:
    if name in _FLAGS:
        if not isinstance(written, bool):
            raise TypeError(f'expected `{name}` to be true or false, got {written!r:.80}')
        return written
    if name in _CHOICES:
        _one_of(name, written, _CHOICES[name])
        return written
    readers: Mapping[str, Callable[[str, object], Any]] = {'tolerance': _tolerance, 'ignore_keys': _patterns}
    return readers.get(name, _tools)(name, written)


def _tools(name: str, written: object) -> tuple[tuple[str, tuple[tuple[str, Rule], ...]], ...]:
    tools = _mapping(name, written)
    return tuple(
        (tool, tuple((key, _rule(f'tools[{tool!r}][{key!r}]', rule)) for key, rule in keys.items()))
        for tool, keys in ((tool, _mapping(f'tools[{tool!r}]', keys)) for tool, keys in tools.items())
    )


def _rule(where: str, written: object) -> Rule:
    if not isinstance(written, Mapping):
        if written in _RULES_WITH_VALUE and written != 'semantic':
            raise ValueError(f'expected rule {written!r} at `{where}` with its value: {{{written!r}: …}}')
        _one_of(where, written, _PLAIN_RULES)
        return Rule(str(written), written=written)
    if len(written) != 1:
        raise ValueError(f'expected one rule at `{where}`, got {dict(written)!r:.80}')
    ((kind, value),) = written.items()
    _one_of(where, kind, _RULES_WITH_VALUE)
    kept = {kind: dict(value) if isinstance(value, Mapping) else value}
    if kind == 'numeric':
        return Rule(kind, written=kept, tolerance=_tolerance(where, value))
    if kind == 'call':
        return Rule(kind, written=kept, call=_imported(where, value))
    if not is_bound(value) or value > 1:
        raise ValueError(f'expected the threshold at `{where}` in [0, 1], got {value!r:.80}')
    return Rule(kind, written=kept, threshold=float(value))


def _imported(where: str, name: object) -> _Call:
    module, _, function = name.rpartition('.') if isinstance(name, str) else ('', '', '')
    if not module or not all(part.isidentifier() for part in (*module.split('.'), function)):
        raise ValueError(f"expected `{where}` to name a function as 'package.module.function', got {name!r:.80}")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise ValueError(f'`{where}`: {module!r} cannot be imported: {error}') from error
    if not callable(found):
        raise ValueError(f'`{where}`: expected a function, {module!r} has none that is called {function!r}')
    called: _Call = found
    return called


def _tolerance(where: str, value: object) -> Tolerance:
    bounds: Mapping[str, Any] = _mapping(where, value) if isinstance(value, Mapping) else {'absolute': value}
    for name, bound in bounds.items():
        _one_of(where, name, ('absolute', 'relative'))
        if not is_bound(bound):
            raise ValueError(f'expected the {name} tolerance at `{where}` to be at least 0, got {bound!r:.80}')
    return Tolerance(**{name: float(bound) for name, bound in bounds.items()})


def _patterns(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f'expected `{name}` to be a list of patterns, got {value!r:.80}')
    patterns = tuple(value)
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise TypeError(f'expected `{name}` to hold texts alone, got {patterns!r:.80}')
    return patterns


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f'expected `{name}` to be a mapping with texts as keys, got {value!r:.80}')
    return value


def _one_of(name: str, value: object, known: Iterable[str]) -> None:
    names = list(known)
    if value not in names:
        near = difflib.get_close_matches(str(value), names)
        hint = f'; did you mean {near[0]!r}?' if near else ''
        raise ValueError(f'expected {name!r} to be one of {", ".join(names)}, got {value!r:.80}{hint}')
