"""The form asks for a text of one's own, and loads what it needs for that, at a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from tests.browser.surveys import CHECK, SEND, press_button, shown_bytes
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

PLAN = hush.design(hush.Schema([hush.Text("job", 16, "english")]), 16.0, title="Jobs")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05)
    with serving(tmp_path_factory.mktemp("texts"), settings, plans=(PLAN,), trainings={}) as found:
        yield found


def test_a_text_is_asked_and_sent_at_a_desk(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang=en")
    page.get_by_test_id("form").wait_for()
    check_accessible(page)
    field = page.locator("[data-attribute=job] input")
    press_button(page, CHECK)
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("<b>Nurse</b>")
    press_button(page, CHECK)
    assert page.get_by_test_id("answers").locator("dd").all_text_contents() == ["<b>Nurse</b>"]  # text, never markup
    check_accessible(page)
    before = served.tally(PLAN).reports
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    check_accessible(page)
    hush.Report.decode(PLAN, shown_bytes(page))
    assert served.tally(PLAN).reports == before + 1


def test_a_text_fits_on_a_phone(browser: Browser, served: Served) -> None:
    visit = Visit(browser, dark=True, phone=True)
    page = visit.context.new_page()
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto(f"{served.url}/?plan={PLAN.id}&lang=de")
    page.get_by_test_id("form").wait_for()
    check_accessible(page)
    check_width(page)
    visit.close()
