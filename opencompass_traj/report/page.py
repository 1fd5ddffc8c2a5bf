"""The HTML report: one file that needs nothing else, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from opencompass_traj.report.page_index import build_index
from opencompass_traj.report.page_overview import Findings, build_overview
from opencompass_traj.report.page_text import ascii_json, visible
from opencompass_traj.report.runs import Run
from opencompass_traj.whole_files import whole_file

LANGUAGES: Final = ('en', 'zh')
_SCRIPTS: Final = (
    'core', 'data', 'words', 'charts', 'overview', 'leaderboard', 'spread', 'breakdown', 'filters', 'samples', 'graph',
    'paths', 'steps', 'detail', 'main',
)  # fmt: skip


def write_report(
    run: Run, path: str | Path, *, language: str = 'en', title: str = '', findings: Findings | None = None
) -> Path:
    """Write a run's report.

    Args:
        run: The run, as `read_run` gives it.
        path: The file to write; its folder is made where there is none.
        language: The language that the page opens in, `en` or `zh`; readers can switch.
        title: The page's title; by default the name of the run's folder.
        findings: Intervals and comparisons where they are computed already; what is missing is computed here.

    Returns:
        The file that was written.

    Raises:
        ValueError: If the language is not one of the two.
        OSError: If the file cannot be written; one that was there before is left as it was.
    """
    target = Path(path)
    text = render_report(run, language=language, title=title, findings=findings)
    with whole_file(target) as file:
        file.write_text(text, 'utf-8', newline='\n')
    return target


def render_report(run: Run, *, language: str = 'en', title: str = '', findings: Findings | None = None) -> str:
    """The report as text; see `write_report`."""
    if language not in LANGUAGES:
        raise ValueError(f'expected `language` to be one of {", ".join(LANGUAGES)}, got {language!r}')
    data = build_index(run)
    name = title or _name(run)
    index = data.index | {'title': name, 'overview': build_overview(run, findings)}
    script = _script()
    style = _text('page.css')
    words = strings()
    return (
        _environment()
        .get_template('page.html')
        .render(
            language=language,
            title=visible(name),
            words={key: entry[language] for key, entry in words.items()},
            policy=_policy([_text('vendor/dagre.min.js'), script], style),
            library=Markup(_text('vendor/dagre.min.js')),  # noqa: S704 - our own file, as it was vendored
            script=Markup(script),  # noqa: S704 - our own file
            style=Markup(style),  # noqa: S704 - our own file
            setup=Markup(ascii_json({'language': language, 'strings': words})),  # noqa: S704 - has no `<`
            index=_packed(index),
            chunks=[_packed(chunk) for chunk in data.chunks],
            scores=index['overview']['plain'],
            failed=[(visible(task.model), visible(task.dataset), visible(task.failure)) for task in run.failed],
        )
    )


def strings() -> dict[str, dict[str, str]]:
    """All words of the page: for each key its text in both languages, `{…}` where something is put in."""
    found: dict[str, dict[str, str]] = json.loads(_text('strings.json'))
    return found


def _name(run: Run) -> str:
    folder = Path(run.work_dir)
    return folder.name or str(folder)


def _text(name: str) -> str:
    return files('opencompass_traj.report').joinpath('templates', *name.split('/')).read_text(encoding='utf-8')


def _script() -> str:
    parts = ''.join(_text(f'{name}.js') for name in _SCRIPTS)
    return f"'use strict';\n(() => {{\n{parts}}})();\n"


def _packed(value: Mapping[str, Any] | list[Any]) -> str:
    return base64.b64encode(zlib.compress(ascii_json(value).encode('ascii'), 6)).decode('ascii')


def _policy(scripts: list[str], style: str) -> str:
    """A content policy under which the page's own scripts run, nothing else does, and nothing is fetched."""
    allowed = ' '.join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
