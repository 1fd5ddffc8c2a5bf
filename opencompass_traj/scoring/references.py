"""Golden references from what the host hands over, all their faults reported at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from opencompass_traj.metrics.argument_rules import ArgumentRules
from opencompass_traj.parsing.golden import parse_golden, parse_golden_leniently
from opencompass_traj.parsing.golden_options import GoldenOptions, golden_options
from opencompass_traj.parsing.teval import PromptType
from opencompass_traj.plan import Plan
from opencompass_traj.scoring.comparison import Reference

PROMPT_TYPES = get_args(PromptType)
# Arguments of one sample that nothing could match; the rest is counted.
MAX_NAMED = 5
# Several golden plans of one sample, the best of which counts.
Alternatives = tuple[Reference, ...]


def read_references(
    references: Sequence[object], *, default_prompt_type: str = 'json', strict: bool = True
) -> list[Alternatives]:
    """Read and check golden references.

    Args:
        references: Each T-Eval's record (a mapping with `ground_truth` or a list of `ground_truths`, and `meta`,
            `forbidden`, `budget` where there are any), the JSON text of one, or the list of golden steps itself.
        default_prompt_type: For records whose `meta` names none: `json`, `str` or `ReWOO`.
        strict: Whether an unsound golden plan is an error. False drops what is unsound and scores the rest.

    Returns:
        For each, in order, its golden plans: one, or several of which the best counts.

    Raises:
        ValueError: If any is unsound; the message names every sample and step, and what was expected.
    """
    found, problems = _read_part(references, 0, default_prompt_type, ArgumentRules(), strict=strict)
    if problems:
        raise _unsound(problems, len(references))
    return found


@dataclass(frozen=True, slots=True)
class UnreadReferences:
    """References that are read a stretch at a time, so that memory does not grow with their number.

    Attributes:
        references: As for `read_references`.
        default_prompt_type: As for `read_references`.
        strict: As for `read_references`.
        first: The number of the first, which names those that have no id.
    """

    references: Sequence[object]
    default_prompt_type: str = 'json'
    strict: bool = True
    first: int = 0

    def __len__(self) -> int:
        return len(self.references)

    def part(self, start: int, stop: int) -> UnreadReferences:
        """Those from `start` up to, but not including, `stop`; both count from 0 in this part."""
        stretch = self.references[start:stop]
        return UnreadReferences(stretch, self.default_prompt_type, self.strict, self.first + start)

    def read(self, rules: ArgumentRules) -> list[Alternatives]:
        """Read and check them all; see `read_references`.

        Args:
            rules: How arguments will be compared; golden values that nothing could match by them are faults.
        """
        found, problems = _read_part(self.references, self.first, self.default_prompt_type, rules, strict=self.strict)
        if problems:
            raise _unsound(problems, len(self))
        return found

    def problems(self, rules: ArgumentRules, *, at_once: int = 1_000) -> ValueError | None:
        """What is unsound in all of them, as the error that `read` raises; None where nothing is.

        Args:
            rules: As for `read`.
            at_once: How many are held in memory at a time.
        """
        found: list[str] = []
        for start in range(0, len(self), at_once):
            part = self.part(start, start + at_once)
            found += _read_part(part.references, part.first, self.default_prompt_type, rules, strict=self.strict)[1]
        return _unsound(found, len(self)) if found else None


def _read_part(
    references: Sequence[object], first: int, default_prompt_type: str, rules: ArgumentRules, *, strict: bool
) -> tuple[list[Alternatives], list[str]]:
    """The references that can be read, and what is wrong with the others."""
    found: list[Alternatives] = []
    problems: list[str] = []
    for number, reference in enumerate(references, first):
        try:
            read = _read_one(reference, number, default_prompt_type, strict=strict)
            unmatchable = _unmatchable(read, rules) if strict else ()
            if unmatchable:
                more = f'; and {len(unmatchable) - MAX_NAMED} more' if len(unmatchable) > MAX_NAMED else ''
                problems.append(f'sample {read[0].name!r}: ' + '; '.join(unmatchable[:MAX_NAMED]) + more)
            found.append(read)
        except ValueError as error:  # noqa: PERF203 - one faulty plan must not hide the faults of the others
            problems.append(str(error))
    return found, problems


def _unsound(problems: Sequence[str], total: int) -> ValueError:
    return ValueError(
        '\n'.join([f'{len(problems)} of {total} golden plans cannot be used:', *problems])
        + '\n(`strict_golden=False` scores what is sound in them)'
    )


def _read_one(reference: object, number: int, default_prompt_type: str, *, strict: bool) -> Alternatives:
    record = _record(reference, f'sample {number}')
    name = str(record.get('id', number))
    where = f'sample {name!r}'
    meta = record.get('meta') or {}
    if not isinstance(meta, Mapping):
        raise ValueError(f'{where}: expected `meta` to be a mapping, got {type(meta).__name__}')
    prompt_type = meta.get('prompt_type', default_prompt_type)
    if prompt_type not in PROMPT_TYPES:
        raise ValueError(f'{where}: expected `prompt_type` to be one of {", ".join(PROMPT_TYPES)}, got {prompt_type!r}')
    tools = meta.get('API_list') or ()
    if not isinstance(tools, list | tuple):
        raise ValueError(f'{where}: expected `meta.API_list` to be a list of tools, got {tools!r:.80}')
    if prompt_type == 'str' and not tools:
        raise ValueError(f"{where}: expected `meta.API_list` to name the tools, as prompt type 'str' needs")
    alternatives = _alternatives(record, where)
    read = [_golden(steps, where, strict=strict) for steps in alternatives]
    return tuple(
        Reference(
            name=name,
            record={**record, 'ground_truth': steps},
            written=read[number][0],
            dropped=tuple(read[number][1]),
            prompt_type=prompt_type,
            api_list=tuple(str(tool) for tool in tools),
            options=_options(record, number, where),
        )
        for number, steps in enumerate(alternatives)
    )


def _unmatchable(alternatives: Alternatives, rules: ArgumentRules) -> list[str]:
    """What nothing could match in the golden plans of a sample, one text for each place."""
    return [
        (f'golden plan {number}: ' if len(alternatives) > 1 else '') + f'step {step.id}: {fault}'
        for number, reference in enumerate(alternatives)
        for step in reference.written.steps
        for fault in rules.golden_faults(step.args, tool=step.name)
    ]


def _record(reference: object, where: str) -> Mapping[str, Any]:
    value = reference
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f'{where}: expected the JSON text of a T-Eval record, got {reference!r:.80}') from error
    if isinstance(value, list):
        return {'ground_truth': value}
    if not isinstance(value, Mapping) or not {'ground_truth', 'ground_truths'} & set(value):
        raise ValueError(f'{where}: expected a record with `ground_truth`, got {value!r:.80}')
    return value


def _alternatives(record: Mapping[str, Any], where: str) -> list[object]:
    if record.get('ground_truths') is None:
        return [record['ground_truth']]
    several = record['ground_truths']
    if not isinstance(several, list) or not several:
        raise ValueError(f'{where}: expected `ground_truths` to be a list of golden plans, got {several!r:.80}')
    return several


def _golden(steps: object, where: str, *, strict: bool) -> tuple[Plan, list[str]]:
    return (parse_golden(steps, where=where), []) if strict else parse_golden_leniently(steps)


def _options(record: Mapping[str, Any], plan: int, where: str) -> GoldenOptions:
    options, problems = golden_options(record, plan=plan)
    if problems:
        raise ValueError(f'{where}: ' + '; '.join(problems))
    return options
