"""How the time of every regular expression in the package grows with its text: `python -m tests.fuzz.regexes`.

Every compiled pattern of every module is searched for, matched and found again and again in texts that make patterns
backtrack, made of the pattern's own characters, at growing lengths. The exponent of the growth is fitted over the
lengths; 1 is linear. A pattern over 1.5 is listed, with the text that slows it; one over 2.3 is a fault. Searching for
a pattern is quadratic where it begins with a repetition: the package only matches such ones, at one place.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
import sys
import time
from collections.abc import Iterator

import opencompass_traj

LENGTHS = (1_500, 3_000, 6_000)
# Shorter times say nothing about growth.
LEAST_SECONDS = 0.005
LISTED_EXPONENT = 1.5
WORST_EXPONENT = 2.3
SHELL = ('evaluator', 'teval', 'dataset', 'model', 'summarizer', 'resume', 'configs')


def patterns() -> dict[str, re.Pattern[str]]:
    """All compiled patterns in the modules that need no host, by module and name."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(opencompass_traj.__path__, 'opencompass_traj.'):
        if any(part in SHELL or part == '__main__' for part in module.name.split('.')):
            continue
        try:
            content = vars(importlib.import_module(module.name))
        except ImportError:
            continue
        for name, value in content.items():
            found |= {f'{module.name}.{key}': one for key, one in _patterns_in(name, value)}
    return {name: one for name, one in found.items() if isinstance(one.pattern, str)}


def _patterns_in(name: str, value: object) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _patterns_in(f'{name}[{key!r}]', one)


def texts(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Texts that may make a pattern backtrack: its own characters and pairs of them, repeated, with another end."""
    literals = sorted(
        set(re.sub(r'\\[a-zA-Z]', '', pattern.pattern)) - set('()[]{}?*+|\\^$') | set('[]{}()"\'\\ \n\ta1.:,-')
    )
    units = [*literals, *(one + other for one in literals[:12] for other in ' \n"a1(')]
    words = sorted(set(re.findall(r'[A-Za-z]{3,}', pattern.pattern)))[:8]
    for unit in [*units, *words, *(f'{word}: ' for word in words), *(f'{word}\n' for word in words)]:
        body = unit * (length // len(unit))
        yield body
        yield body + '\0'
        yield '"' + body
        yield '[' + body + '!'


def seconds(pattern: re.Pattern[str], text: str) -> float:
    """The time of all that the package does with patterns."""
    started = time.process_time()
    pattern.match(text)
    pattern.fullmatch(text)
    for count, _ in enumerate(pattern.finditer(text)):
        if count > 100_000:
            break
    return time.process_time() - started


def exponent(pattern: re.Pattern[str]) -> tuple[float, str]:
    """The worst growth that was found, and the beginning of the text."""
    worst = (0.0, '')
    for number, short in enumerate(texts(pattern, LENGTHS[0] * 2)):
        if seconds(pattern, short) < LEAST_SECONDS:
            continue
        taken = [seconds(pattern, next(_nth(pattern, length, number))) for length in LENGTHS]
        if min(taken) > 0:
            slope = math.log(taken[-1] / taken[0]) / math.log(LENGTHS[-1] / LENGTHS[0])
            worst = max(worst, (slope, short[:20]))
    return worst


def _nth(pattern: re.Pattern[str], length: int, number: int) -> Iterator[str]:
    for at, text in enumerate(texts(pattern, length)):
        if at == number:
            yield text


def main() -> int:
    """Measure all patterns; the exit code is the number of those over `WORST_EXPONENT`."""
    found = {name: (*exponent(pattern), pattern.pattern) for name, pattern in sorted(patterns().items())}
    slow = {name: one for name, one in found.items() if one[0] > LISTED_EXPONENT}
    for name, (slope, text, pattern) in slow.items():
        sys.stdout.write(f'{slope:5.2f}  {name}  {pattern!r:.80}  on {text!r} …\n')
    worst = max(found.values(), default=(0.0, '', ''))[0]
    sys.stdout.write(
        f'{len(found)} patterns, {len(slow)} over {LISTED_EXPONENT}; the greatest exponent is {worst:.2f}\n'
    )
    return sum(one[0] > WORST_EXPONENT for one in slow.values())


if __name__ == '__main__':
    sys.exit(main())
