"""The report in a real browser: what a reader does with it, and what hostile answers must not do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_traj.report.page import write_report
from tests.report.page_runs import BIDI, HOSTILE, demo_run, older_run

Visit = Callable[..., Any]
CHECKS = Path(__file__).with_name('checks.js').read_text(encoding='utf-8').strip()
RUNS = 6 * 30 + 2 * 8
CARELESS = '#view=samples&sample=crm-004&of=careless&in=trajectory-demo'
MEETING = '#view=samples&sample=meeting&of=detour&in=recorded-demo'
# Each view, and what is there once it is drawn.
VIEWS = {
    '#view=overview': '#groups',
    '#view=samples': '#list',
    CARELESS: '#graphs',
    MEETING: '#graphs',
    '#view=numbers': '#help',
}


def counted(page: Any) -> tuple[int, int]:
    """How many runs the filters leave, of how many."""
    shown, _, total, _ = page.inner_text('#count').replace(',', '').split()
    return int(shown), int(total)


def check(page: Any, name: str) -> Any:
    return page.evaluate(f'{CHECKS}.{name}()')


def expect(page: Any, selector: str, text: str) -> None:
    page.locator(selector, has_text=text).first.wait_for(timeout=10_000)


# --- the overview ----------------------------------------------------------------------------------------------------


def test_the_overview_shows_every_section(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page)
    titles = page.locator('main section h2').all_inner_texts()
    assert titles[:3] == ['Tasks without a result', 'Solved, but by a degraded path', 'Leaderboard']
    assert {
        'Where paths go wrong',
        'At which step they go wrong first',
        'Where models differ most',
        'Distribution',
    } <= set(titles)
    assert {'Model against model', 'Tools', 'By group'} <= set(titles)
    assert page.locator('.leaderboard tbody tr').count() == 8
    assert page.locator('.leaderboard .whisker').count() == 8
    assert 'detour' in page.inner_text('#silent')
    assert page.locator('#silent a.run').count() == 6
    assert '"endpoint" did not answer' in page.inner_text('#failed')


def test_a_number_of_the_fault_table_leads_to_its_runs(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page)
    cell = page.locator('#faults a[aria-label="looping, loop: 25"]')
    cell.click()
    page.wait_for_selector('#list')
    assert counted(page) == (25, RUNS)
    assert page.locator('#kind-loop').get_attribute('aria-pressed') == 'true'
    page.go_back()
    page.wait_for_selector('#leaderboard')


def test_a_group_and_a_tool_lead_to_their_runs(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page)
    page.select_option('#group-kind', 'tag')
    page.click('#groups tbody a:has-text("data")')
    page.wait_for_selector('#list')
    assert page.locator('#filter-tag').evaluate('(node) => node.selectedOptions[0].textContent') == 'data'
    assert 0 < counted(page)[0] < RUNS
    page.go_back()
    page.click('#tools-faults a:has-text("kb.search")')
    page.wait_for_selector('#list')
    assert page.input_value('#search') == 'kb.search'


def test_the_leaderboard_sorts_by_keyboard(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#dataset=trajectory-demo')
    first = page.locator('.leaderboard tbody th').first
    assert first.inner_text() == 'exact'
    page.focus('[data-column="0"]')
    page.keyboard.press('Enter')
    assert first.inner_text() == 'looping'
    assert page.locator('.leaderboard th[aria-sort]').get_attribute('aria-sort') == 'ascending'


# --- the samples -----------------------------------------------------------------------------------------------------


def test_filters_narrow_and_clear(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#view=samples')
    assert counted(page) == (RUNS, RUNS)
    page.select_option('#filter-model', label='looping')
    assert counted(page) == (30, RUNS)
    page.click('#kind-unreadable')
    assert counted(page) == (2, RUNS)
    page.click('#kind-mended')
    assert counted(page) == (4, RUNS)
    page.click('#reset')
    assert counted(page) == (RUNS, RUNS)
    page.select_option('#filter-dataset', label='recorded-demo')
    assert counted(page) == (16, RUNS)
    page.fill('#range-to', '50')
    page.keyboard.press('Tab')
    scores = [float(text) for text in page.locator('.list .points').all_inner_texts()]
    assert scores
    assert max(scores) <= 50
    assert scores == sorted(scores)
    page.select_option('#sort', 'high')
    scores = [float(text) for text in page.locator('.list .points').all_inner_texts()]
    assert scores == sorted(scores, reverse=True)


def test_the_search_reads_the_whole_text(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#view=samples')
    page.fill('#search', 'LMP-41')  # an argument that one agent alone gives
    expect(page, '#count', '1 of')
    assert page.locator('.list a.run').count() == 1
    page.fill('#search', 'no such text anywhere')
    expect(page, '#count', '0 of')
    assert page.inner_text('#list') == 'No run fits these filters.'


def test_the_list_is_paged(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#view=samples')
    assert page.locator('.list a.run').count() == 50
    page.click('.pager button >> nth=1')
    assert 'Page 2 of 4' in page.inner_text('.pager')
    page.reload()
    page.wait_for_selector('html[data-ready]')
    assert 'Page 2 of 4' in page.inner_text('.pager')


def test_a_link_to_one_run_shows_where_it_went_wrong(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, CARELESS)
    page.wait_for_selector('#paths')
    verdict = page.inner_text('.first-fault')
    assert 'Went wrong at step 1' in verdict
    assert 'called email.send before order.get_status' in verdict
    assert page.locator('.paths .line').count() == 5
    assert page.locator('.line.wrong .flag').inner_text() == 'first fault'
    assert page.locator('.ringed .step').get_attribute('id') == 'pred-0'
    assert page.locator('.wires path').count() == 3
    assert page.locator('.arg.different').count() == 2
    assert page.locator('.arg.different mark').all_inner_texts() == ['14', '41']
    assert page.locator('.graph').count() == 2
    assert page.locator('.graph >> nth=0').locator('.node.missing').count() == 1
    assert page.locator('.edge.missing').count() == 3
    assert page.locator('.siblings a').count() == 6
    page.click('.later button.jump >> nth=0')
    assert page.evaluate('document.activeElement.id') == 'ref-1'


def test_a_link_survives_filters_that_hide_its_run(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, CARELESS + '&model=exact')
    page.wait_for_selector('#paths')
    assert counted(page) == (30, RUNS)
    assert 'crm-004 · careless' in page.inner_text('#detail-title')
    assert page.locator('#outside').count() == 1


def test_an_unknown_run_is_said_to_be_unknown(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#view=samples&sample=nope&of=careless&in=trajectory-demo')
    assert 'There is no such run: nope' in page.inner_text('#detail')


def test_a_broken_address_shows_something(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page)
    for address in ('#view=nothing', '#page=-3&view=samples', '#from=x&to=NaN&kind=zz&view=samples', '#%E0%A4%A'):
        page.goto('about:blank')
        page.goto(demo_page.as_uri() + address)
        page.wait_for_selector('html[data-ready]')
        assert page.locator('main h1').count() == 1


def test_unreadable_answers_show_their_text(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#view=samples&sample=crm-006&of=looping&in=trajectory-demo')
    page.wait_for_selector('#raw')
    assert 'The answer cannot be read: no calls in the answer' in page.inner_text('.first-fault')
    assert 'I would first look for the caller' in page.inner_text('#raw')


def test_loops_outcome_time_and_tokens_are_shown(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, MEETING)
    page.wait_for_selector('#paths')
    assert 'The task was not solved.' in page.inner_text('.verdict')
    assert 'Loop: steps 2 to 6, 5 times in a row' in page.inner_text('.loops')
    figures = page.inner_text('.run-figures')
    assert '9,700' in figures
    assert '21.60 s' in figures
    assert page.locator('.step.look-l').count() == 4


def test_only_the_differences(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, CARELESS)
    page.wait_for_selector('#paths')
    page.check('#only-differences')
    assert page.locator('.paths .line:visible').count() == 4


# --- keys, focus, language, theme ------------------------------------------------------------------------------------


def test_the_keyboard_is_enough(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page)
    page.keyboard.press('Tab')
    assert page.evaluate('document.activeElement.id') == 'skip'
    page.keyboard.press('s')
    page.wait_for_selector('#paths')
    before = page.inner_text('#detail-title')
    page.keyboard.press('j')
    page.locator('.list li:nth-child(2) a[aria-current]').wait_for()
    assert page.inner_text('#detail-title') != before
    page.keyboard.press('k')
    page.locator('.list li:nth-child(1) a[aria-current]').wait_for()
    page.keyboard.press('/')
    page.locator('#search:focus').wait_for()
    page.keyboard.type('jk')  # letters in the search are letters
    assert page.input_value('#search') == 'jk'
    page.keyboard.press('Escape')
    page.keyboard.press('o')
    page.wait_for_selector('#leaderboard')
    page.keyboard.press('?')
    page.wait_for_selector('#kinds')


def test_every_control_has_a_name(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page)
    for address, drawn in VIEWS.items():
        page.goto(demo_page.as_uri() + address)
        page.wait_for_selector(drawn)
        assert check(page, 'nameless') == [], address
        assert check(page, 'doubled') == [], address
        assert page.locator('h1').count() == 1, address


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_all_text_has_the_contrast_of_wcag_aa(visit: Visit, demo_page: Path, scheme: str) -> None:
    page = visit(demo_page, color_scheme=scheme)
    for address, drawn in VIEWS.items():
        page.goto(demo_page.as_uri() + address)
        page.wait_for_selector(drawn)
        assert check(page, 'contrast') == [], address


def test_the_language_switch_changes_every_word_of_ours(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, CARELESS)
    page.wait_for_selector('#paths')
    page.select_option('#language', 'zh')
    expect(page, '.first-fault', '第 1 步出错')
    assert page.locator('html').get_attribute('lang') == 'zh-Hans'
    assert page.evaluate('document.activeElement.id') == 'language'
    assert page.title().endswith('轨迹报告')
    page.reload()
    page.wait_for_selector('html[data-ready]')
    assert page.locator('html').get_attribute('lang') == 'zh-Hans'
    page.select_option('#language', 'en')
    expect(page, '.first-fault', 'Went wrong')


def test_the_theme_switch_goes_before_the_system(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, color_scheme='dark')
    ground = 'getComputedStyle(document.body).backgroundColor'
    dark = page.evaluate(ground)
    page.select_option('#theme', 'light')
    light = page.evaluate(ground)
    assert light != dark
    page.emulate_media(color_scheme='light')
    page.select_option('#theme', 'dark')
    assert page.evaluate(ground) == dark
    page.select_option('#theme', 'auto')
    assert page.evaluate(ground) == light


# --- phone, print ----------------------------------------------------------------------------------------------------


def test_a_phone_shows_everything_without_scrolling_sideways(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, viewport={'width': 360, 'height': 720}, is_mobile=True, has_touch=True)
    for address, drawn in VIEWS.items():
        page.goto(demo_page.as_uri() + address)
        page.wait_for_selector(drawn)
        assert page.evaluate('document.documentElement.scrollWidth') <= 360, address


def test_a_phone_goes_from_the_list_to_a_run_and_back(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, '#view=samples', viewport={'width': 360, 'height': 720})
    assert page.locator('#detail').is_hidden()
    page.click('#filter-toggle')
    page.click('#kind-loop')
    page.click('.list a.run >> nth=0')
    page.wait_for_selector('#paths')
    assert page.locator('#list').is_hidden()
    page.click('.back')
    page.locator('#list').wait_for()
    assert page.locator('#detail').is_hidden()


def test_print_leaves_out_the_controls(visit: Visit, demo_page: Path) -> None:
    page = visit(demo_page, CARELESS)
    page.wait_for_selector('#paths')
    page.emulate_media(media='print', color_scheme='dark')
    for selector in ('#views', '#tools', '#filters', '#list', '.detail-tools'):
        assert page.locator(selector).is_hidden(), selector
    assert page.locator('#paths').is_visible()
    assert page.evaluate('getComputedStyle(document.body).backgroundColor') == 'rgb(255, 255, 255)'


def test_without_scripts_the_means_are_there(browser: Any, demo_page: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(demo_page.as_uri())
    text = page.inner_text('noscript')
    assert all(model in text for model in demo_run().models)
    context.close()


def test_a_run_of_an_older_version_has_its_paths_and_says_what_is_missing(visit: Visit, tmp_path: Path) -> None:
    page = visit(write_report(older_run(), tmp_path / 'report.html'), '#view=samples')
    page.wait_for_selector('#paths')
    assert page.locator('#graphs').count() == 0
    assert 'scored by an older version' in page.inner_text('#detail')
    assert page.locator('.paths .line').count() > 0


# --- hostile answers -------------------------------------------------------------------------------------------------


def test_hostile_texts_are_text_in_every_view(visit: Visit, hostile_page: Path) -> None:
    page = visit(hostile_page)
    assert '<script>window.hacked = 1</script>' in page.inner_text('#failed')
    page.keyboard.press('s')
    page.wait_for_selector('#paths')
    for place in range(len(HOSTILE) + 2):
        page.locator('.list a.run').nth(place).click()
        page.locator(f'.list li:nth-child({place + 1}) a[aria-current]').wait_for()
        page.wait_for_selector('#graphs')
    assert page.evaluate('window.hacked') is None
    assert page.locator('main script, main img, main iframe, main b[onclick]').count() == 0
    page.keyboard.press('?')
    page.wait_for_selector('#kinds')
    assert page.evaluate('window.hacked') is None


def test_unseen_characters_are_marked(visit: Visit, hostile_page: Path) -> None:
    page = visit(hostile_page, '#view=samples')
    page.fill('#search', 'txt.exe')
    page.wait_for_selector('#paths')
    page.locator('.list a.run', has_text=str(HOSTILE.index(BIDI))).first.click()
    page.locator('#detail-title', has_text='txt.exe').wait_for()
    marks = set(page.locator('#detail .unseen-char').all_inner_texts())
    assert {'U+202E', 'U+2066', 'U+200B'} <= marks
    assert check(page, 'turned') is False


def test_long_texts_are_cut_and_say_how_much(visit: Visit, hostile_page: Path) -> None:
    page = visit(hostile_page, '#view=samples')
    page.locator('.list a.run', has_text='long').last.click()
    page.locator('#detail-title', has_text='long').wait_for()
    text = page.inner_text('#detail')
    assert 'of 1,000,000 characters are in this page' in text
    assert len(text) < 60_000
    button = page.locator('.task button.link')
    before = len(page.inner_text('.task'))
    button.click()
    assert len(page.inner_text('.task')) > before
