"""How the time of every regular expression in the package grows with its text: `python -m tests.fuzz.regexes [NAME]`.

Every pattern that a module compiles when it is imported is used in the ways in which the package uses it, on texts that
make patterns backtrack: its own characters and words, in units of one to five, again and again, with other beginnings
and ends. The texts that take longest at a small length are taken to growing lengths, and the exponent of the growth is
fitted; 1 is linear. The exit code is 1 if one is over 1.3 whose texts have no bound of their own.

Patterns made within functions are escaped texts of ours, and not looked at. Golden patterns are RE2's.
"""

from __future__ import annotations

import ast
import importlib
import math
import pkgutil
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = 'opencompass_traj'
SCREENED_LENGTH = 800
LENGTHS = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
SLOWEST_KEPT = 4
RANDOM_UNITS = 100
# A time below says nothing about growth; one above is enough to know it.
LEAST_SECONDS, MOST_SECONDS = 1e-3, 1.0
WORST_EXPONENT = 1.3
# What is given texts of at most so many characters may grow faster: by module and name.
BOUNDED = {'opencompass_traj.parsing.json_text:_LOOSE_STRING': 20_000}
WAYS: dict[str, Callable[[re.Pattern[str], str], object]] = {
    'match': lambda pattern, text: pattern.match(text),
    'fullmatch': lambda pattern, text: pattern.fullmatch(text),
    'search': lambda pattern, text: pattern.search(text),
    'finditer': lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    'findall': lambda pattern, text: len(pattern.findall(text)),
    'sub': lambda pattern, text: len(pattern.sub('', text)),
    'split': lambda pattern, text: len(pattern.split(text)),
}


@dataclass(frozen=True)
class Used:
    """A pattern of the package.

    Attributes:
        place: Its module and its name there; its line where it has no name of its own.
        pattern: The pattern.
        ways: In which ways it is used; all where that cannot be told.
    """

    place: str
    pattern: re.Pattern[str]
    ways: tuple[str, ...]


def patterns() -> list[Used]:
    """All patterns that the package's modules compile when they are imported, wherever they keep them."""
    if PACKAGE in sys.modules:
        raise RuntimeError(f'expected a process in which {PACKAGE} is not imported yet')
    compiled: dict[tuple[str, int], re.Pattern[str]] = {}
    compile_ = re.compile

    def recorded(pattern: str, flags: int = 0) -> re.Pattern[str]:
        frame = sys._getframe(1)
        found = compile_(pattern, flags)
        if frame.f_globals.get('__name__', '').startswith(PACKAGE) and isinstance(found.pattern, str):
            compiled[frame.f_globals['__name__'], frame.f_lineno] = found
        return found

    re.compile = recorded  # type: ignore[assignment]
    try:
        package = importlib.import_module(PACKAGE)
        for module in pkgutil.walk_packages(package.__path__, f'{PACKAGE}.'):
            if '.configs' not in module.name and '.data' not in module.name and '__main__' not in module.name:
                importlib.import_module(module.name)
    finally:
        re.compile = compile_
    folder = Path(package.__path__[0])
    source = {_module(folder, path): path.read_text('utf-8') for path in sorted(folder.rglob('*.py'))}
    names = _names(source)
    found = []
    for (module, line), pattern in sorted(compiled.items()):
        name = names.get((module, line), '')
        private = name.startswith('_')
        text = '\n'.join(text for known, text in source.items() if known == module or not private)
        found.append(Used(f'{module}:{name or line}', pattern, _ways(name, text)))
    return found


def _names(source: dict[str, str]) -> dict[tuple[str, int], str]:
    """The names that compiled patterns are given, by module and line."""
    names = {}
    for module, text in source.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if isinstance(target, ast.Name) and ast.unparse(node.value.func) == 're.compile':
                    names[module, node.value.lineno] = target.id
    return names


def _module(folder: Path, path: Path) -> str:
    return '.'.join(path.relative_to(folder.parent).with_suffix('').parts).removesuffix('.__init__')


def _ways(name: str, text: str) -> tuple[str, ...]:
    used = set(re.findall(rf'\b{re.escape(name)}\.({"|".join(WAYS)})\b', text)) if name else set()
    # Handed on to other code, or kept under no name of its own.
    handed_on = not name or re.search(rf'[(,=] ?{re.escape(name)}[,)\]]', text) is not None
    return tuple(WAYS) if handed_on or not used else tuple(sorted(used))


def texts(pattern: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """Beginnings, units to repeat and ends that may make a pattern backtrack."""
    plain = re.sub(r'\\[a-zA-Z]', '', pattern.pattern)
    letters = sorted(set(plain) - set('?*+|^$') | set('"\'\\ \n\ta1.:,-'))
    words = sorted(set(re.findall(r'[A-Za-z]{3,}|\\[nt]', pattern.pattern)))[:10]
    dice = random.Random(0)
    made = (''.join(dice.choices([*letters, *words], k=dice.randint(2, 5))) for _ in range(RANDOM_UNITS))
    units = dict.fromkeys([*letters, *words, *(f'{word}: ' for word in words), *made])
    around = [('', ''), ('', '\0'), ('"', ''), ('[', '!'), (words[0] if words else 'a', '\n')]
    return [(before, unit, after) for unit in units for before, after in around]


def seconds(used: Used, text: str) -> float:
    """The time of the slowest way, the least of three."""
    return max(min(_once(WAYS[way], used.pattern, text) for _ in range(3)) for way in used.ways)


def _once(way: Callable[[re.Pattern[str], str], object], pattern: re.Pattern[str], text: str) -> float:
    started = time.perf_counter()
    way(pattern, text)
    return time.perf_counter() - started


def _text(parts: tuple[str, str, str], length: int) -> str:
    before, unit, after = parts
    return before + unit * (length // len(unit)) + after


def growth(used: Used) -> tuple[float, float, str]:
    """The worst exponent, the longest time, and what was repeated for the first."""
    slowest = sorted(texts(used.pattern), key=lambda parts: -seconds(used, _text(parts, SCREENED_LENGTH)))
    found = [(*_fitted(list(_times(used, parts))), repr(parts[1])) for parts in slowest[:SLOWEST_KEPT]]
    exponent, _, unit = max(found)
    return exponent, max(longest for _, longest, _ in found), unit


def _times(used: Used, parts: tuple[str, str, str]) -> Iterator[tuple[int, float]]:
    for length in (one for one in LENGTHS if one <= BOUNDED.get(used.place, one)):
        taken = seconds(used, _text(parts, length))
        yield length, taken
        if taken > MOST_SECONDS:
            return


def _fitted(times: list[tuple[int, float]]) -> tuple[float, float]:
    """The exponent over the lengths whose times say something, and the longest time.

    With fewer than three such times 0, or infinite where the time was over before.
    """
    points = [(math.log(length), math.log(taken)) for length, taken in times if taken >= LEAST_SECONDS]
    longest = max(taken for _, taken in times)
    if len(points) < 3:
        return (math.inf if longest > MOST_SECONDS else 0.0), longest
    mean = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    across = sum((x - mean[0]) ** 2 for x, _ in points)
    return sum((x - mean[0]) * (y - mean[1]) for x, y in points) / across, longest


def main(part: str = '') -> int:
    """Measure all patterns whose place has a part in it."""
    worst, longest, count = 0.0, 0.0, 0
    for used in patterns():
        if part not in used.place:
            continue
        exponent, taken, unit = growth(used)
        longest, count = max(longest, taken), count + 1
        worst = max(worst, exponent) if used.place not in BOUNDED else worst
        ways = 'all' if used.ways == tuple(WAYS) else ','.join(used.ways)
        sys.stdout.write(f'{exponent:5.2f} {taken:8.4f} s  {used.place}  {ways}  on {unit:.30}\n')
        sys.stdout.flush()
    for place, most in BOUNDED.items():
        sys.stdout.write(f'{place} is given at most {most:,} characters\n')
    sys.stdout.write(
        f'{count} patterns; the greatest exponent of the others is {worst:.2f}, the longest time {longest:.3f} s '
        f'at up to {LENGTHS[-1]:,} characters\n'
    )
    return int(worst > WORST_EXPONENT)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
