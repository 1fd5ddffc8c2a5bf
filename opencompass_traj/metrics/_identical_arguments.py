"""Arguments that are the same as they stand: most of a good run's, and found at a fraction of a comparison's cost."""

from __future__ import annotations

from typing import Any

from opencompass_traj.metrics._argument_values import MAX_DEPTH

_UNLIKE = -1
_SCALARS = (int, float, bool, type(None))
# A text that begins so may be the JSON of an object or list, which is compared by what is in it.
_OPENERS = ('{', '[')


def count_identical(pred: object, ref: object) -> int | None:
    """Count the values of two calls' arguments, where both hold the same values of the same types.

    Args:
        pred: Arguments as a prediction has them.
        ref: Arguments as the golden step has them.

    Returns:
        How many values there are, as `arguments.argument_match` counts them under rules that treat all places alike:
        they are then all matched. None where anything differs, or is of a kind that has to be looked at more closely.

    Complexity: linear in the arguments; stops at the first difference.

    Example:
        >>> count_identical({'to': {'city': 'Lyon'}, 'n': 1}, {'n': 1, 'to': {'city': 'Lyon'}})
        2
        >>> count_identical({'n': 1}, {'n': '1'}) is None
        True
    """
    if type(pred) is dict and type(ref) is dict and not pred and not ref:
        return 0
    # No arguments may be written in other ways too, and a text may hold them as JSON.
    if type(pred) is not dict and (type(pred) is not list or not pred):
        return None
    found = _count(pred, ref, MAX_DEPTH)
    return None if found == _UNLIKE else found


def _count(pred: Any, ref: Any, depth: int) -> int:
    kind = type(pred)
    if kind is not type(ref):
        return _UNLIKE
    if kind is str:
        return 1 if pred == ref and not pred.lstrip().startswith(_OPENERS) else _UNLIKE
    if kind in _SCALARS:
        return 1 if pred == ref else _UNLIKE
    if (kind is not dict and kind is not list) or len(pred) != len(ref) or not depth:
        return _UNLIKE
    if not pred:
        return 1
    return _count_entries(pred, ref, depth) if kind is dict else _count_items(pred, ref, depth)


def _count_entries(pred: dict[Any, Any], ref: dict[Any, Any], depth: int) -> int:
    total = 0
    for key, value in pred.items():
        if type(key) is not str or key not in ref:
            return _UNLIKE
        count = _count(value, ref[key], depth - 1)
        if count == _UNLIKE:
            return _UNLIKE
        total += count
    return total


def _count_items(pred: list[Any], ref: list[Any], depth: int) -> int:
    total = 0
    for one, other in zip(pred, ref, strict=True):
        count = _count(one, other, depth - 1)
        if count == _UNLIKE:
            return _UNLIKE
        total += count
    return total
