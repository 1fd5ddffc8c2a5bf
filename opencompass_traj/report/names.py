"""Names that a user gives: which there are, and which was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

from opencompass_traj.report.runs import Run

DEFAULT_METRIC: Final = 'trajectory_score'
MAX_LISTED: Final = 10
MAX_COMPARED: Final = 5_000
MAX_NAME: Final = 200


def hint(name: str, known: Sequence[str]) -> str:
    """What to say behind a message that there is no such name.

    Example:
        >>> hint('trajectry_score', ['trajectory_score', 'plan_f1']), hint('x', ['a', 'b'])
        ("; did you mean 'trajectory_score'?", '; there are: a, b')
    """
    # Looking for what is near takes a time that grows with the square of a name's length.
    short = [one for one in known[:MAX_COMPARED] if len(one) <= MAX_NAME]
    near = difflib.get_close_matches(name[:MAX_NAME], short, n=1)
    if near:
        return f'; did you mean {near[0]!r}?'
    more = f' and {len(known) - MAX_LISTED} more' if len(known) > MAX_LISTED else ''
    return f'; there are: {", ".join(one[:MAX_NAME] for one in known[:MAX_LISTED])}{more}' if known else ''


def chosen(kind: str, names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The names that were asked for; all that are known where none were.

    Args:
        kind: What they name, for the message.
        names: What was asked for.
        known: What there is.

    Raises:
        ValueError: If there is none of a name.
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise ValueError(f'the run has no {kind} {name!r}{hint(name, known)}')
    return wanted or list(known)


def known_metrics(run: Run, names: Iterable[str]) -> list[str]:
    """The metrics that were asked for; where none were, `trajectory_score`, or the first that the run has.

    Raises:
        ValueError: If the run has no results, or no metric of a name.
    """
    known = list(dict.fromkeys(key for task in run.scored for key in task.numbers))
    if not known:
        raise ValueError('the run has no results')
    wanted = list(names)
    if wanted:
        return chosen('metric', wanted, known)
    return [DEFAULT_METRIC if DEFAULT_METRIC in known else known[0]]
