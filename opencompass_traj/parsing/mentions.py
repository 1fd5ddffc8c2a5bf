"""Plans in plain words: the tools that the lines of a text name, as T-Eval's `str` form has them, read with care."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opencompass_traj.parsing.literal import MAX_CHARS
from opencompass_traj.parsing.reasoning import without_reasoning
from opencompass_traj.parsing.values import MAX_STEPS
from opencompass_traj.plan import ParseFailure, Plan, Step, Trajectory

NAME: Final = 'mentions'


def parse_mentions(text: object, api_list: Sequence[str]) -> Trajectory | ParseFailure:
    """Read the lines and sentences of a text that name a tool.

    Args:
        text: The answer. Reasoning blocks are cut out.
        api_list: The tools' names.

    Returns:
        One step per line or sentence that names a tool: the first one named, whole words only, and where several
        begin at one place the longest (T-Eval takes the one listed first). The arguments are the line. A line that
        names a tool only to rule it out is a step all the same: that cannot be told in general.

    Complexity: the length of the text times the number of tools.

    Example:
        >>> plan = parse_mentions('Call Geo.find_all to list the cities', ['Geo.find', 'Geo.find_all']).plan
        >>> plan.names
        ('Geo.find_all',)
    """
    if not isinstance(text, str):
        return ParseFailure(f'no text, but a {type(text).__name__}')
    if len(text) > MAX_CHARS:
        return ParseFailure(f'answer longer than {MAX_CHARS} characters')
    answer = without_reasoning(text)
    if isinstance(answer, ParseFailure):
        return answer
    names = sorted({name for name in api_list if name}, key=lambda name: (-len(name), name))
    if not names:
        return ParseFailure('no tools to look for')
    tool = re.compile(r'(?<![A-Za-z0-9_])(?:' + '|'.join(map(re.escape, names)) + r')(?![A-Za-z0-9_])')
    lines = answer.replace('. ', '\n').split('\n')
    named = [(match[0], line) for line in lines if (match := tool.search(line)) is not None]
    if not named or len(named) > MAX_STEPS:
        return ParseFailure(f'expected 1 to {MAX_STEPS} lines that name a tool of the list, got {len(named)}')
    return Trajectory(Plan(tuple(Step(i, *step) for i, step in enumerate(named))), NAME)
