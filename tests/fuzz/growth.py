"""How the time of every reader grows with a text: `python -m tests.fuzz.growth [SECONDS [SEED]]`.

A text is a beginning of a format and a unit of one to four of its tokens, again and again. Every format of
`read_trajectory` and every prompt type of T-Eval reads it at 16,000 characters, and at 64,000 where that took long. The
exit code is 1 if four times the text took more than nine times the time: linear is 4, quadratic is 16.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from opencompass_traj.parsing.teval import parse_prediction
from opencompass_traj.parsing.trajectories import FORMATS, read_trajectory

SHORT: Final = 4_000
# Less than this says nothing.
LEAST_SECONDS: Final = 0.02
WORST_GROWTH: Final = 9
TOKENS: Final = (
    *'"\'{}[](),:=\n \\1a;.#<>*-~é，：“”‘’\t', 'ab', 'search', 'Action: ', 'Action Input: ', 'Thought: ', 'Plan 1: a\n',
    'Dependency 1: []\n', 'Action 1: ', '#E1 = ', 'f(', 'name', '"name": ', '"args": ', 'tool', '```', '```json\n',
    '<think>', '</think>', '//', '/*', '1. ', '- ', 'Node:\n', 'Edges:\n', '(1,2)', 'START', 'FinishAction', 'None',
    'true', '0x', '1e9', '..', 'null', 'await ', 'x = ', '**', '"""', "'''", 'u"', 'f"', 'r"', 'b"', 'lambda', 'if ',
    'else', 'not ',
)  # fmt: skip
BEGINNINGS: Final = (
    '', '[', '{', '(', 'Plan 1: a\nDependency 1: []\nAction 1: ', 'Plan 1: a\nDependency 1: []\nAction 1: #E1 = f(',
    'search(', 'Action: search\nAction Input: ', '[{"name": "', '{"tool_calls": [{"name": "x", "arguments": "',
    'Node:\n1: a\n2: b\nEdges:\n', '```json\n', '"', 'search(q="', '<think>', '<tool_call>', '{"messages": [', '1. ',
)  # fmt: skip
ENDS: Final = ('', ')', '"', '}', ']', '\n')
TOOLS: Final = ('search', 'a', 'f')

READERS: Final[dict[str, Callable[[str], Any]]] = {
    **{f'format {name}': partial(read_trajectory, format=name) for name in FORMATS},
    'T-Eval json': partial(parse_prediction, prompt_type='json'),
    'T-Eval str': partial(parse_prediction, prompt_type='str', api_list=TOOLS),
    'T-Eval ReWOO': partial(parse_prediction, prompt_type='ReWOO'),
}


def growth(read: Callable[[str], Any], make: Callable[[int], str]) -> float:
    """How many times longer four times the text takes; 0 where nothing takes long."""
    if _seconds(read, make(4 * SHORT)) < LEAST_SECONDS:
        return 0.0
    short, long = (min(_seconds(read, make(length)) for _ in range(3)) for length in (4 * SHORT, 16 * SHORT))
    return long / short if short >= LEAST_SECONDS else 0.0


def _seconds(read: Callable[[str], Any], text: str) -> float:
    started = time.perf_counter()
    read(text)
    return time.perf_counter() - started


def main(seconds: str = '120', seed: str = '0') -> int:
    """Look for growth until the time is over."""
    dice = random.Random(int(seed))
    stop = time.monotonic() + float(seconds)
    tried, worst = 0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        while time.monotonic() < stop:
            before, after = dice.choice(BEGINNINGS), dice.choice(ENDS)
            unit = ''.join(dice.choices(TOKENS, k=dice.randint(1, 4)))
            for name, read in READERS.items():
                found = growth(read, lambda length: before + unit * (length // len(unit)) + after)  # noqa: B023
                tried, worst = tried + 1, max(worst, found)
                if found > WORST_GROWTH:
                    sys.stdout.write(f'{found:5.1f} times  {name}  {before!r} {unit!r} {after!r}\n')
    sys.stdout.write(f'{tried:,} readings; four times the text takes at most {worst:.1f} times the time\n')
    return int(worst > WORST_GROWTH)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
