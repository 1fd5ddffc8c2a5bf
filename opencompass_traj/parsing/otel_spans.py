"""OpenTelemetry spans of generative AI: the `execute_tool` spans of an exported trace.

Checked against: OpenTelemetry, "Semantic conventions for generative AI" (execute tool, inference and MCP spans) and
"OTLP specification: JSON Protobuf encoding".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from opencompass_traj.parsing._figures import nanoseconds, run_record, seconds_between, total, usage_tokens
from opencompass_traj.parsing._messages import Recording, chosen, message_lists, says_error
from opencompass_traj.plan import ParseFailure, Trajectory

NAME: Final = 'otel'

_TOOL: Final = 'execute_tool'
_MODEL_OPERATIONS: Final = frozenset({'chat', 'generate_content', 'text_completion'})
_VALUES: Final = ('stringValue', 'boolValue', 'intValue', 'doubleValue')
_ERRORS: Final = frozenset({'ERROR', 'STATUS_CODE_ERROR', 'STATUSCODE.ERROR'})
_USAGE: Final = 'gen_ai.usage.'
_WHOLE_NUMBER: Final = re.compile(r'-?[0-9]{1,19}')


@dataclass(frozen=True, slots=True)
class _Span:
    id: object
    parent: object
    name: str
    start: int | None
    end: int | None
    error: bool
    attributes: dict[str, Any]

    @property
    def operation(self) -> str | None:
        stated = self.attributes.get('gen_ai.operation.name')
        return stated if isinstance(stated, str) else None

    @property
    def tool(self) -> str | None:
        """The tool that the span executes; None: it executes none. Empty: it does not say which."""
        named = self.name == _TOOL or self.name.startswith(_TOOL + ' ')
        if self.operation != _TOOL and not (named and self.operation is None):
            return None
        stated = self.attributes.get('gen_ai.tool.name')
        return stated if isinstance(stated, str) and stated else self.name[len(_TOOL) + 1 :] if named else ''


def recognises(value: object) -> bool:
    """Whether a value is an export of spans.

    Args:
        value: An object with `resourceSpans` or `spans`, a list of such objects (a file that a collector wrote), or a
            list of spans: those of OTLP's JSON (`spanId`) or of Python's console exporter (`context`).

    Returns:
        True if each entry is a span with a name and an id, or holds a list of `resourceSpans`.

    Complexity: linear in the number of entries.

    Example:
        >>> recognises({'resourceSpans': []}), recognises([{'name': 'execute_tool f', 'spanId': '1'}])
        (True, True)
        >>> recognises([{'name': 'f'}])
        False
    """
    return chosen(_lists(value), _are_entries)[1]


def parse(value: object) -> Trajectory | ParseFailure:
    """Read the tool calls of an exported trace.

    Args:
        value: As for `recognises`; all its spans are taken for one run.

    Returns:
        The trajectory, or a failure for a value without spans. A step is a span whose `gen_ai.operation.name` is
        `execute_tool`, or that has no operation and a name of that beginning; one within another of the same tool
        (an MCP client's) is the same call. `args` are `gen_ai.tool.call.arguments`. Steps stand by start time; a span
        with the same parent as the one before, started before all of that turn had ended, is of the same turn. Where
        a span has no times, the order is the file's and no turn is known. `failed` is True for the status error, an
        `error.type` or a result that says error (`says_error`), else False. Tokens are the sum over the model spans
        that did not fail, if each has them; latency is from the first start to the last end.

    Complexity: linear in the text, but for the sorting.

    Example:
        >>> parse([{'name': 'execute_tool f', 'spanId': '1', 'status': {'code': 2}}]).plan.steps[0].failed
        True
    """
    entries, recognised = chosen(_lists(value), _are_entries)
    recording = Recording()
    spans = [_span(raw) for entry in entries for raw in _flat(entry) if isinstance(raw, dict)]
    _read_tools(spans, recording)
    models = [span for span in spans if span.operation in _MODEL_OPERATIONS and not span.error]
    record = run_record(
        value,
        tokens=total(_tokens(span) for span in models),
        latency=seconds_between([time for span in spans for time in (span.start, span.end)]),
    )
    return recording.outcome(NAME, record=record, recognised=recognised)


def _lists(value: object) -> list[list[Any]]:
    if isinstance(value, dict) and _holds_resources(value):
        return [[value]]
    return message_lists(value, ('spans',))


def _are_entries(entries: list[Any]) -> bool:
    return bool(entries) and all(_holds_resources(entry) or _is_span(entry) for entry in entries)


def _holds_resources(entry: object) -> bool:
    return isinstance(entry, dict) and any(isinstance(entry.get(k), list) for k in ('resourceSpans', 'resource_spans'))


def _is_span(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get('name'), str) and _span_id(entry) is not None


def _span_id(raw: dict[str, Any]) -> object:
    context = raw.get('context')
    inner = context.get('span_id') if isinstance(context, dict) else None
    return next((x for x in (raw.get('spanId'), raw.get('span_id'), inner) if isinstance(x, str) and x), None)


def _flat(entry: object) -> Iterator[object]:
    """The spans of an entry: itself, or those within its resources and scopes."""
    if not _holds_resources(entry):
        yield entry
        return
    for resource in _items(entry, 'resourceSpans', 'resource_spans'):
        for scope in _items(resource, 'scopeSpans', 'scope_spans', 'instrumentationLibrarySpans'):
            yield from _items(scope, 'spans')


def _items(holder: object, *keys: str) -> list[Any]:
    if not isinstance(holder, dict):
        return []
    return next((holder[key] for key in keys if isinstance(holder.get(key), list)), [])


def _span(raw: dict[str, Any]) -> _Span:
    attributes = _attributes(raw.get('attributes'))
    status = raw.get('status')
    code = next((status[k] for k in ('code', 'status_code') if k in status), None) if isinstance(status, dict) else None
    parent = next((raw[k] for k in ('parentSpanId', 'parent_span_id', 'parent_id') if raw.get(k)), None)
    name = raw.get('name')
    return _Span(
        id=_span_id(raw),
        parent=parent if isinstance(parent, str) else None,
        name=name if isinstance(name, str) else '',
        start=nanoseconds(raw.get('startTimeUnixNano', raw.get('start_time_unix_nano', raw.get('start_time')))),
        end=nanoseconds(raw.get('endTimeUnixNano', raw.get('end_time_unix_nano', raw.get('end_time')))),
        error=_is_error(code) or bool(attributes.get('error.type')),
        attributes=attributes,
    )


def _is_error(code: object) -> bool:
    return code == 2 or (isinstance(code, str) and code.upper() in _ERRORS)


def _attributes(raw: object) -> dict[str, Any]:
    if isinstance(raw, dict):
        return raw
    pairs = (item for item in raw if isinstance(item, dict)) if isinstance(raw, list) else ()
    return {key: _plain(pair.get('value')) for pair in pairs if isinstance(key := pair.get('key'), str)}


def _plain(value: object, depth: int = 20) -> Any:
    """The JSON value of OTLP's tagged one; None where it is nested deeper than traces are."""
    if not isinstance(value, dict) or depth == 0:
        return value if depth else None
    array, pairs = value.get('arrayValue'), value.get('kvlistValue')
    if isinstance(array, dict):
        return [_plain(item, depth - 1) for item in _items(array, 'values')]
    if isinstance(pairs, dict):
        items = (item for item in _items(pairs, 'values') if isinstance(item, dict))
        return {key: _plain(item.get('value'), depth - 1) for item in items if isinstance(key := item.get('key'), str)}
    kind = next((kind for kind in _VALUES if kind in value), None)
    plain = None if kind is None else value[kind]
    # 64-bit integers are texts in OTLP's JSON.
    if kind == 'intValue' and isinstance(plain, str) and _WHOLE_NUMBER.fullmatch(plain):
        return int(plain)
    return plain


def _read_tools(spans: list[_Span], recording: Recording) -> None:
    owners = {span.id: span.tool for span in spans if span.id is not None}
    tools = [span for span in spans if span.tool is not None and not _repeats_parent(span, owners)]
    timed = all(span.start is not None and span.end is not None for span in tools)
    if timed:
        tools.sort(key=lambda span: span.start or 0)
    turn_end, parent = -1, None
    for index, span in enumerate(tools):
        start, end = span.start or 0, span.end or 0
        if not timed or span.parent != parent or start >= turn_end:
            recording.next_turn()
            turn_end, parent = end, span.parent
        turn_end = max(turn_end, end)
        args, result = (span.attributes.get(f'gen_ai.tool.call.{key}') for key in ('arguments', 'result'))
        recording.call(
            span.tool, args, failed=span.error or says_error(result), timed=timed, place=f'tool span {index}'
        )


def _repeats_parent(span: _Span, owners: dict[object, str | None]) -> bool:
    return span.parent is not None and span.parent != span.id and owners.get(span.parent) == span.tool


def _tokens(span: _Span) -> float | None:
    usage = {key.removeprefix(_USAGE): value for key, value in span.attributes.items() if key.startswith(_USAGE)}
    # Here the cache's tokens are within the input's.
    return usage_tokens({key: value for key, value in usage.items() if not key.startswith('cache')})
