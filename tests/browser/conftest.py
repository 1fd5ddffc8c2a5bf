"""One headless Chromium for all browser tests, and the pages that they open."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.report.page import write_report
from tests.report.page_runs import demo_run, hostile_run

CHROMIUM = next(
    (found for name in ('chromium', 'chromium-browser', 'google-chrome') if (found := shutil.which(name))), None
)
# No sandbox: containers have none. The rest keeps the browser from calling anybody.
ARGUMENTS = [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--no-first-run',
]  # fmt: skip


class Watched:
    """A page, with everything that it complained about or asked the network for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on('console', lambda message: self.problems.append(f'{message.type}: {message.text}'))
        page.on('pageerror', lambda error: self.problems.append(f'error: {error}'))
        page.on('dialog', lambda dialog: (self.problems.append(f'dialog: {dialog.message}'), dialog.dismiss()))
        page.on('request', self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(('file:', 'data:')):
            self.problems.append(f'request: {request.url}')


@pytest.fixture(scope='session')
def browser() -> Iterator[Any]:
    """Debian's Chromium under Playwright; skipped, with a reason, where either is absent."""
    api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    if CHROMIUM is None:
        pytest.skip('no Chromium on this machine')
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope='session')
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(demo_run(), tmp_path_factory.mktemp('page') / 'report.html')


@pytest.fixture(scope='session')
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(hostile_run(), tmp_path_factory.mktemp('page') / 'report.html')


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file of the report; whatever the page complains about afterwards fails the test."""
    opened: list[tuple[Any, Watched]] = []

    def open_page(file: Path, address: str = '', **options: Any) -> Any:
        context = browser.new_context(**{'viewport': {'width': 1280, 'height': 800}, 'locale': 'en-US', **options})
        watched = Watched(context.new_page())
        context.set_default_timeout(20_000)
        opened.append((context, watched))
        watched.page.goto(file.as_uri() + address)
        watched.page.wait_for_selector('html[data-ready]')
        return watched.page

    yield open_page
    problems = [problem for _, watched in opened for problem in watched.problems]
    for context, _ in opened:
        context.close()
    assert problems == []
