"""Any answer or recording to a trajectory: by the format that is named, or by the first that recognises it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from opencompass_traj.limits import DEFAULT_LIMITS, Limits
from opencompass_traj.parsing import (
    anthropic_messages,
    atif,
    call_text,
    google_contents,
    langchain_messages,
    lenient,
    openai_chat,
    openai_responses,
    otel_spans,
    react,
    step_lists,
    taskbench,
    worfbench,
)
from opencompass_traj.parsing.bounds import MOST_VALUES, bounded, holds_more
from opencompass_traj.parsing.literal import UNREADABLE, nests_deeper
from opencompass_traj.parsing.mentions import parse_mentions
from opencompass_traj.parsing.reasoning import without_reasoning
from opencompass_traj.parsing.sealed import unseal
from opencompass_traj.parsing.values import read_json
from opencompass_traj.plan import ParseFailure, Plan, Trajectory


class Format(NamedTuple):
    """A format's two functions."""

    recognises: Callable[[object], bool]
    parse: Callable[[object], Trajectory | ParseFailure]


def _formats(*modules: Any) -> dict[str, Format]:
    return {module.NAME: Format(module.recognises, module.parse) for module in modules}


RECORDED: Final = _formats(
    otel_spans, atif, google_contents, langchain_messages, anthropic_messages, openai_responses, openai_chat
)
"""Recordings that a framework writes: decoded JSON, asked in this order."""

WRITTEN: Final = _formats(taskbench, step_lists, lenient, worfbench, react, call_text)
"""What a model writes as an answer, asked in this order; `lenient` takes any text, and knows those behind it."""

FORMATS: Final = ('auto', 'teval', *RECORDED, *WRITTEN)


_NOT_READ: Final = ParseFailure('not read')


def check_format(name: str) -> None:
    """Raise `ValueError` for an unknown format, with the names that are near."""
    if name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS)
        hint = f'; did you mean {near[0]!r}?' if near else ''
        raise ValueError(f'expected a format of {", ".join(FORMATS)}, got {name!r}{hint}')


def read_trajectory(
    prediction: object,
    *,
    format: str = 'auto',  # noqa: A002 - the word that users and configs have for it
    strict: Plan | ParseFailure | None = None,
    tools: Sequence[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Trajectory | ParseFailure:
    """Read a prediction.

    Args:
        prediction: An answer's text, or decoded JSON; the text of JSON is decoded where the format wants that. Of an
            answer from a recording, what `recordings.read_recording` wrote around it is passed over.
        format: One of `FORMATS`. `teval` is `strict` and nothing else. `auto`: what T-Eval's own reading finds
            (but where a reasoning block is in the text, whose drafts it would take), else the first format that
            recognises the value and reads it.
        strict: What T-Eval's own reading made of it, where that was tried.
        tools: The tools that a text in T-Eval's `str` form may name: `auto` then takes the longest name in each line,
            where T-Eval's reading takes the first that fits (`search` for `search_hotel`).
        limits: How much is read.

    Returns:
        The trajectory, or why there is none. `recovered` says that it is an answer on which T-Eval's reading fails.
        What passes a limit is the reason of a failure, or named in `dropped` (arguments).

    Raises:
        ValueError: For an unknown format.
    """
    check_format(format)
    found = _NOT_READ if strict is None else strict
    return bounded(_read(unseal(prediction).prediction, format, found, tools, limits), limits)


def _read(
    prediction: object, name: str, strict: Plan | ParseFailure, tools: Sequence[str], limits: Limits
) -> Trajectory | ParseFailure:
    if isinstance(prediction, str):
        if not prediction.strip():
            return ParseFailure('no answer')
        if len(prediction) > limits.answer_chars:
            return _long_recording(prediction, name, limits)
        if name == 'auto' and tools:
            return _named_or_recorded(prediction, tools, strict, limits)
        if name == 'auto' and without_reasoning(prediction) != prediction:
            # T-Eval's reading would take the drafts in the reasoning for the answer.
            strict = _NOT_READ
    elif holds_more(prediction):
        return ParseFailure(f'more than {MOST_VALUES} values')
    if name == 'teval' or (name == 'auto' and isinstance(strict, Plan)):
        return Trajectory(strict, 'teval') if isinstance(strict, Plan) else strict
    decoded = _decoded(prediction, limits)
    return _recognised(prediction, decoded) if name == 'auto' else _read_as(name, prediction, decoded)


def _named_or_recorded(
    text: str, tools: Sequence[str], strict: Plan | ParseFailure, limits: Limits
) -> Trajectory | ParseFailure:
    decoded = _decoded(text, limits)
    recording = any(recorded.recognises(decoded) for recorded in RECORDED.values())
    return _recognised(text, decoded) if recording else _mentioned(text, tools, strict)


def _long_recording(text: str, name: str, limits: Limits) -> Trajectory | ParseFailure:
    """A text longer than any answer: a recorded run in JSON, or too long."""
    failure = ParseFailure(f'answer longer than {limits.answer_chars} characters')
    if len(text) > limits.recording_chars or (name != 'auto' and name not in RECORDED):
        return failure
    decoded = read_json(text) if text.lstrip()[:1] in {'{', '['} else failure
    if name != 'auto':
        return failure if isinstance(decoded, ParseFailure) else RECORDED[name].parse(decoded)
    return next((recorded.parse(decoded) for recorded in RECORDED.values() if recorded.recognises(decoded)), failure)


def _mentioned(text: str, tools: Sequence[str], strict: Plan | ParseFailure) -> Trajectory | ParseFailure:
    found = parse_mentions(text, tools)
    if isinstance(found, ParseFailure):
        return Trajectory(strict, 'teval') if isinstance(strict, Plan) else found
    as_upstream = isinstance(strict, Plan) and strict.names == found.plan.names
    return Trajectory(strict, 'teval') if as_upstream else replace(found, recovered=True)  # type: ignore[arg-type]


def _read_as(name: str, prediction: object, decoded: object) -> Trajectory | ParseFailure:
    if name in RECORDED:
        return RECORDED[name].parse(decoded)
    written = WRITTEN[name]
    return _recovered(name, written.parse(decoded if written.recognises(decoded) else prediction))


def _recognised(prediction: object, decoded: object) -> Trajectory | ParseFailure:
    for recorded in RECORDED.values():
        if recorded.recognises(decoded):
            return recorded.parse(decoded)
    failure = ParseFailure('no format that is known')
    for name, written in WRITTEN.items():
        for value in (decoded, prediction) if decoded is not prediction else (prediction,):
            if written.recognises(value):
                found = _recovered(name, written.parse(value))
                if isinstance(found, Trajectory):
                    return found
                failure = found
    return failure


def _recovered(name: str, found: Trajectory | ParseFailure) -> Trajectory | ParseFailure:
    """Mark an answer on which T-Eval's reading fails; the lenient reader finds that out itself."""
    if name == lenient.NAME or isinstance(found, ParseFailure):
        return found
    return replace(found, recovered=True)


def _decoded(prediction: object, limits: Limits) -> object:
    """The JSON value that a whole text is, or the text itself."""
    if not isinstance(prediction, str) or nests_deeper(prediction, limits.depth):
        return prediction
    try:
        return json.loads(prediction)
    except UNREADABLE:
        return prediction
