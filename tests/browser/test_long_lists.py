"""A long list in a real browser: the form finds a value among thousands, and the dashboard searches all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush import batch
from hush.collector import formats
from tests.browser.surveys import CHECK, SEND, press_button, shown_bytes
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import Served, anybody, serving

VALUES = [f"/page/{i}" for i in range(20_000)]
PAGES = hush.Listed(VALUES, name="pages.txt")
PLAN = hush.design(hush.Schema([hush.Categorical("page", PAGES, other=True)]), 4.0, title="Pages")
PEOPLE = 20_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05)
    with serving(tmp_path_factory.mktemp("lists"), settings, plans=(PLAN,), trainings={}) as found:
        visited = [VALUES[i % 3] for i in range(PEOPLE)]
        body = formats.pack(PLAN, batch.randomise(PLAN, {"page": visited}), bytes([1] * 16))
        found.post(PLAN, body, formats.COLUMNS).raise_for_status()
        yield found


def test_the_form_offers_what_matches(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang=en")
    page.get_by_test_id("form").wait_for()
    field = page.locator("[data-attribute=page] input")
    options = page.locator("[data-attribute=page] datalist option")
    expect(options).to_have_count(0)
    field.fill("PAGE/1999")
    expect(options).to_have_count(11)  # /page/1999 and ten longer ones
    field.fill("page/1")
    expect(options).to_have_count(30)
    check_accessible(page)
    field.fill("/page/no")
    press_button(page, CHECK)
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("/page/19999")
    press_button(page, CHECK)
    assert page.get_by_test_id("answers").locator("dd").all_text_contents() == ["/page/19999"]
    before = served.tally(PLAN).reports
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    hush.Report.decode(PLAN, shown_bytes(page))
    assert served.tally(PLAN).reports == before + 1


def look(page: Page) -> None:
    part = scrolled(page.get_by_test_id("attribute"))
    names, note = part.get_by_test_id("table").locator("tbody th"), part.get_by_test_id("note")
    expect(names).to_have_count(100)  # of 200; the table has more pages
    assert set(names.all_text_contents()[:3]) == set(VALUES[:3])
    expect(note).to_contain_text("The 200 largest of 20,001 shares: search to find others.")
    expect(note).to_contain_text("All 20,001 intervals hold at once with 95 % probability.")
    expect(note).to_contain_text("below the dashed line")
    check_accessible(page)
    check_width(page)
    part.get_by_test_id("search").fill("page/1777")
    expect(names).to_have_count(11)
    expect(names.filter(has_text="/page/17770 (cannot be told from none)")).to_have_count(1)
    part.get_by_test_id("search").fill("<b>nowhere")
    expect(note).to_have_text("No category has this name.")
    part.get_by_test_id("search").fill("")
    expect(names).to_have_count(100)


def test_the_dashboard_searches_all_values(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/dashboard?plan={PLAN.id}")
    look(page)


def test_the_dashboard_searches_on_a_phone(browser: Browser, served: Served) -> None:
    visit = Visit(browser, dark=True, phone=True)
    page = visit.open(f"{served.url}/dashboard?plan={PLAN.id}")
    page.set_viewport_size({"width": 360, "height": 640})
    look(page)
    visit.close()
