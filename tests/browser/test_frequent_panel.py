"""Frequent texts on the dashboard, in a real browser: text that people chose, shown as text, with what noise hides."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Locator, Page, expect

import hush
from hush.collector import formats
from tests import texting
from tests.browser.dashboards import QUICK, downloaded
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import PLAN as OTHER
from tests.collector.served import Served, serving
from tests.texting import EMOJI, FORMULA, HEBREW, JOBS, MARKUP, PLAN, SECOND, SIGN

BARS = "svg [aria-roledescription=bar]"


def count(served: Served, tally: hush.Tally, number: int) -> None:
    head = {"content-type": formats.TALLY, "hush-batch": f"{number:032x}"}
    assert served.client.post(served.path("tally", tally.plan), content=tally.encode(), headers=head).status_code == 202


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("texts"), QUICK, plans=(PLAN, OTHER), trainings={}) as found:
        count(found, texting.tally(), 1)
        assert found.client.get("/pages/vega.js", timeout=120).status_code == 200
        yield found


def dashboard(visit: Visit, served: Served, plan: hush.Plan = PLAN) -> Page:
    page = visit.open(f"{served.url}/dashboard?plan={plan.id}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    return page


def part(page: Page, name: str) -> Locator:
    """Return the part of a text, in sight and drawn."""
    found = page.get_by_test_id("attribute").filter(has=page.get_by_role("heading", name=name, exact=True, level=3))
    scrolled(found)
    expect(found.locator("tbody tr").first).to_be_attached(timeout=30_000)
    return found


def names(block: Locator) -> list[str]:
    return block.locator("tbody th").all_text_contents()


def test_texts_are_shown_with_shares_and_what_noise_hides(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = part(page, "word")
    told = hush.frequent(texting.tally(), "word", 100)
    assert names(block) == [row.category + "…" * row.cut for row in told]
    expect(block.locator(BARS).first).to_be_visible(timeout=30_000)
    assert block.locator(BARS).count() == len(told)
    assert block.locator("svg line[stroke-dasharray]").count() >= 1, "the floor is drawn"
    note = block.get_by_test_id("note")
    for words in (
        "of the people hold none of these texts, and ",
        "the dashed line, is likely missed.",
        f"About {told.liars:,} people who lie together can add a text of their choice.",
        "An ellipsis marks texts of which only the beginning is known.",
        "On average, 95 % of these intervals are right",
    ):
        expect(note).to_contain_text(words)
    card = page.get_by_test_id("headline").filter(has_text="Most frequent: <img")
    expect(card.locator("bdi").first).to_have_text(MARKUP)
    expect(card).to_contain_text("% (19")
    expect(card).to_contain_text(f", and {len(told) - 4} more.")
    lines = list(csv.reader(io.StringIO(downloaded(page, block.get_by_test_id("download-csv")))))[1:]
    assert [float(line[1]) for line in lines] == [row.share for row in told]
    assert "'" + FORMULA in [line[0] for line in lines]
    check_accessible(page)


def test_a_text_is_never_markup_and_never_turns_what_is_around_it(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    for name in ("word", SIGN.name):
        expect(part(page, name).locator(BARS).first).to_be_visible(timeout=30_000)
    assert page.locator("main img").count() == 0
    assert page.locator("main b").count() == 0
    block = part(page, SIGN.name)
    assert names(block)[:4] == ["ab\ufffddc", HEBREW, EMOJI, "(empty)"]
    assert "\u202e" not in page.locator("main").inner_text()
    expect(page.get_by_test_id("headline").filter(has_text="ab\ufffddc")).to_contain_text("Then ")
    block.locator(BARS).first.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("ab\ufffddc")
    part(page, "word").locator(BARS).first.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text(MARKUP)
    assert page.locator("img").count() == 0


def test_a_text_is_found_with_the_keyboard(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = part(page, "word")
    field = block.get_by_label("Find a text")
    field.focus()
    page.keyboard.type("IMG")
    expect(block.locator("tbody tr")).to_have_count(1)
    assert names(block) == [MARKUP]
    check_accessible(page)
    page.keyboard.type("no such text")
    expect(block.get_by_test_id("note")).to_have_text("No frequent text has this in it.")
    check_accessible(page)
    field.fill("")
    expect(block.locator("tbody tr")).not_to_have_count(0)
    expect(part(page, SIGN.name).get_by_label("Find a text")).to_be_hidden()  # there are few of them


def test_another_level_is_followed(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = part(page, "word")
    page.get_by_test_id("level").select_option("0.99")
    expect(block.locator("caption")).to_contain_text("99 % intervals")
    expect(block.get_by_test_id("note")).to_contain_text("On average, 99 % of these intervals are right")


def test_it_fits_on_a_phone_in_the_dark(browser: Browser, served: Served) -> None:
    visit = Visit(browser, dark=True, phone=True)
    page = visit.context.new_page()
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto(f"{served.url}/dashboard?plan={PLAN.id}")
    for name in ("word", SIGN.name):
        block = part(page, name)
        expect(block.locator(BARS).first).to_be_visible(timeout=30_000)
        block.get_by_text("In numbers").click()
        check_width(page)
    check_accessible(page)
    visit.close()


def test_nothing_is_shown_before_it_can_be_told_from_noise(visit: Visit, tmp_path: Path) -> None:
    with serving(tmp_path, QUICK, plans=(PLAN,), trainings={}) as served:
        assert served.client.get("/pages/vega.js", timeout=120).status_code == 200
        page = dashboard(visit, served)
        note = page.get_by_test_id("attribute").first.get_by_test_id("note")
        expect(note).to_have_text("Nobody has answered this yet.")
        expect(page.get_by_test_id("headline").first).to_contain_text("Nobody has answered this yet.")
        count(served, texting.nobody(), 1)
        expect(note).to_contain_text("No text can be told from noise yet. A text held by less than about ")
        expect(page.get_by_test_id("headline").first).to_contain_text("No text can be told from noise yet.")
        check_accessible(page)
        page.close()  # before the collector, as it would try to connect again


def test_two_rounds_are_shown_together(visit: Visit, tmp_path: Path) -> None:
    with serving(tmp_path, QUICK, plans=(PLAN, SECOND), trainings={}) as served:
        visit.allowed = ("404",)  # the other text has no second round, and is then asked for without one
        ranked = texting.ranked()
        count(served, texting.tally(), 1)
        count(served, ranked, 2)
        assert served.client.get("/pages/vega.js", timeout=120).status_code == 200
        page = dashboard(visit, served)
        block = part(page, "word")
        expect(block.get_by_test_id("note")).to_contain_text(
            f"From {texting.tally().reports:,} reports of this round and {ranked.reports:,} of the second."
        )
        assert set(names(block)) == {MARKUP, FORMULA, *JOBS}
        expect(part(page, SIGN.name).get_by_test_id("note")).not_to_contain_text("second")
        page.close()
        page = dashboard(visit, served, SECOND)
        expect(page.get_by_test_id("rounds")).to_have_text(
            "This plan follows a first round, whose reports chose its texts."
        )
        assert set(names(part(page, "word"))) <= {MARKUP, FORMULA, *JOBS}
        check_accessible(page)
        page.close()
