"""Takes the pictures of the report in README and docs: `python -m tests.browser.screenshots docs/figures`."""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from opencompass_traj.report.page import write_report
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.report.page_runs import demo_run

SAMPLE = '#view=samples&kind=order&sample=crm-004&of=careless&in=trajectory-demo&dataset=trajectory-demo'
CHINESE = '#view=samples&sample=crm-zh-002&of=careless&in=trajectory-demo'
LAPTOP = {'width': 1280, 'height': 800}
PHONE = {'width': 360, 'height': 740}
# Name, address, window, scheme, language, and what is scrolled to the top.
PICTURES: tuple[tuple[str, str, dict[str, int], str, str, str], ...] = (
    ('report_overview', '', LAPTOP, 'light', 'en', ''),
    ('report_sample', SAMPLE, {'width': 1280, 'height': 1130}, 'light', 'en', '.verdict'),
    ('report_faults', '#dataset=trajectory-demo', {'width': 1280, 'height': 620}, 'dark', 'en', '#faults'),
    ('report_phone', SAMPLE, PHONE, 'dark', 'en', '#paths'),
    ('report_chinese', CHINESE, LAPTOP, 'light', 'zh', ''),
)


def take(browser: Any, report: Path, folder: Path) -> None:
    for name, address, size, scheme, language, top in PICTURES:
        context = browser.new_context(viewport=size, color_scheme=scheme)
        page = context.new_page()
        page.goto(report.as_uri() + address)
        page.wait_for_selector('html[data-ready]')
        page.select_option('#language', language)
        if 'sample=' in address:
            page.wait_for_selector('#graphs')
        page.evaluate('document.activeElement.blur()')
        if top:
            page.evaluate('(where) => document.querySelector(where).scrollIntoView()', top)
        page.wait_for_timeout(300)
        picture = Image.open(BytesIO(page.screenshot()))
        picture.convert('RGB').save(folder / f'{name}.webp', lossless=True, method=6)
        context.close()


def main() -> None:
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as where, sync_playwright() as playwright:
        report = write_report(demo_run(), Path(where) / 'report.html')
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        take(browser, report, folder)
        browser.close()


if __name__ == '__main__':
    main()
