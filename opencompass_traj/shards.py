"""One dataset as several tasks: which samples a shard has, what it is called, and the shards' results as one.

A shard's name says all that is needed to join it: `demo-shard-0-of-4` to `demo-shard-3-of-4` are the dataset `demo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, Final, NamedTuple

SAMPLES: Final = 'samples'
"""The key of a result that says how many samples its numbers are means of: `all`, and those with a sparse number."""

ALL: Final = 'all'
_NAME: Final = re.compile(r'(?P<dataset>.+)-shard-(?P<shard>[0-9]{1,9})-of-(?P<shards>[0-9]{1,9})')
_REPLICAS: Final = re.compile(r' \([0-9]+ runs average\)')


class Shard(NamedTuple):
    """Which part of which dataset.

    Attributes:
        dataset: The dataset's name.
        shard: The part's number, from 0.
        shards: How many parts there are, at least 1.
    """

    dataset: str
    shard: int
    shards: int

    @property
    def name(self) -> str:
        """The part's own name.

        Example:
            >>> Shard('demo', 0, 4).name
            'demo-shard-0-of-4'
        """
        return f'{self.dataset}-shard-{self.shard}-of-{self.shards}'


def check_shard(shard: int, shards: int) -> None:
    """Raise `ValueError` unless `0 <= shard < shards`."""
    if not 0 <= shard < shards:
        raise ValueError(f'expected `shard` from 0 to `shards` - 1, got shard {shard} of {shards}')


def shard_of(name: str) -> Shard | None:
    """Read a shard's name; None for a dataset that is none.

    Example:
        >>> shard_of('demo-shard-3-of-4'), shard_of('demo-shard-4-of-4'), shard_of('demo')
        (Shard(dataset='demo', shard=3, shards=4), None, None)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    found = Shard(match['dataset'], int(match['shard']), int(match['shards']))
    # Written in another way, such as `00-of-4`, it would be a second name for the same shard.
    return found if found.shard < found.shards and found.name == name else None


def samples_of(total: int, shard: int, shards: int) -> range:
    """The samples of a shard: consecutive ones, so that the shards in order are the dataset in order.

    Args:
        total: Samples of the dataset, at least `shards`.
        shard: The part's number, from 0.
        shards: How many parts there are. The first `total % shards` of them have one sample more than the others.

    Raises:
        ValueError: If there is no such part, or it would be empty, which OpenCompass cannot score.

    Example:
        >>> [list(samples_of(5, shard, 2)) for shard in range(2)]
        [[0, 1, 2], [3, 4]]
    """
    check_shard(shard, shards)
    if total < shards:
        raise ValueError(f'expected at most as many shards as samples, got {shards} shards of {total} samples')
    least, more = divmod(total, shards)
    start = shard * least + min(shard, more)
    return range(start, start + least + (shard < more))


def shard_groups(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Which of the names are shards of one dataset.

    Args:
        names: Names of datasets.

    Returns:
        For each dataset of which there is a shard, the names of all its shards in order, whether they are among `names`
        or not. A dataset that is itself among `names`, or has two numbers of shards, is not joined.

    Example:
        >>> shard_groups(['a', 'b-shard-1-of-2', 'c-shard-0-of-1', 'c'])
        {'b': ('b-shard-0-of-2', 'b-shard-1-of-2')}
    """
    known = list(dict.fromkeys(names))
    shards = [shard for shard in map(shard_of, known) if shard is not None]
    counts: dict[str, set[int]] = {}
    for shard in shards:
        counts.setdefault(shard.dataset, set()).add(shard.shards)
    return {
        dataset: tuple(Shard(dataset, number, count).name for number in range(count))
        for dataset, (count, *others) in ((dataset, list(found)) for dataset, found in counts.items())
        if not others and dataset not in known
    }


def sample_counts(result: Mapping[str, Any]) -> dict[str, int] | None:
    """How many samples a result's numbers are means of; None for a result that does not say.

    Args:
        result: The content of a result file. With replicas, their samples are added up.

    Example:
        >>> sample_counts({'f1': 50.0, 'samples': [{'all': 30, 'step_ratio': 28}]})
        {'all': 30, 'step_ratio': 28}
    """
    given = result.get(SAMPLES)
    total: dict[str, int] = {}
    for counts in given if isinstance(given, list) else [given]:
        if not isinstance(counts, Mapping) or not all(_is_count(value) for value in counts.values()):
            return None
        for key, value in counts.items():
            total[str(key)] = total.get(str(key), 0) + value
    return total if ALL in total else None


def join_results(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result that the whole dataset would have.

    Args:
        results: The contents of its shards' result files, at least one, in order.

    Returns:
        The numbers that all of them have, as means over all samples (of a sparse number: over those that have it), the
        samples' counts under `samples`, and `settings`.

    Raises:
        ValueError: If one does not say how many samples it has, or they were made with different settings.

    Example:
        >>> join_results([{'f1': 50.0, 'samples': {'all': 1}}, {'f1': 80.0, 'samples': {'all': 2}}])
        {'f1': 70.0, 'samples': {'all': 3}}
    """
    counts = [sample_counts(result) for result in results]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        raise ValueError('a shard does not say how many samples its numbers are means of')
    settings = [result.get('settings') for result in results]
    if any(one != settings[0] for one in settings):
        raise ValueError('the shards were scored with different settings')
    keys = [key for key in results[0] if all(_is_number(result.get(key)) for result in results)]
    total = {
        key: sum(count.get(key, 0) for count in known) for key in dict.fromkeys(key for one in known for key in one)
    }
    joined: dict[str, Any] = {key: _mean([result[key] for result in results], _weights(key, known)) for key in keys}
    return {**joined, SAMPLES: total, **({'settings': settings[0]} if settings[0] is not None else {})}


def _weights(key: str, counts: Sequence[Mapping[str, int]]) -> list[int]:
    plain = _REPLICAS.sub('', key)
    return [count.get(plain, count[ALL]) for count in counts]


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    total = sum(weights)
    return fsum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else 0.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
