"""How the dashboard is laid out: on a desk, a phone and paper, with few parts or many."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from hush.demo import people
from tests.browser.dashboards import QUICK, WIDE, dashboard, headline, in_sight, section, send
from tests.browser.surveys import SURVEY
from tests.browser.visits import Visit, check_accessible, check_width, drawn, scrolled
from tests.collector.served import Served, serving


def test_without_charts_the_tables_remain(visit: Visit, served: Served) -> None:
    visit.allowed = ("status of 404", "vega.js")
    visit.context.route("**/pages/vega.js", lambda route: route.fulfill(status=404, body="{}"))
    page = dashboard(visit, served)
    expect(page.get_by_test_id("no-charts")).to_be_visible()
    expect(section(page, "way to work").locator("tbody tr")).to_have_count(5)
    check_accessible(page)


def test_a_large_plan_is_shown_in_parts(visit: Visit, served: Served) -> None:
    """401 attributes, one of 4096 categories: two dozen of them at once, few charts, and a filter."""
    page = dashboard(visit, served, f"?plan={WIDE.id}")
    expect(page.get_by_test_id("attribute")).to_have_count(24)
    expect(page.get_by_test_id("headline")).to_have_count(24)
    page.get_by_test_id("filter").fill("n399")
    expect(page.get_by_test_id("attribute")).to_have_count(1)
    expect(page.get_by_test_id("headline")).to_have_text("n399Nobody has answered this yet.")
    expect(page.get_by_test_id("no-attribute")).to_be_empty()
    page.get_by_test_id("filter").fill("nobody")
    expect(page.get_by_test_id("attribute")).to_have_count(0)
    expect(page.get_by_role("status").get_by_text("No attribute has this name.")).to_be_visible()
    check_accessible(page)


def test_its_parts_are_near(visit: Visit, served: Served) -> None:
    """A jump to a part does not load the page again, and an address may name one."""
    page = dashboard(visit, served)
    links = page.get_by_test_id("parts").get_by_role("link")
    expect(links).to_have_count(5)
    before = len(visit.asked)
    for link in links.all():
        page.evaluate("scrollTo(0, 0)")
        link.click()
        part = page.locator((link.get_attribute("href") or "").strip())
        expect(part).to_be_in_viewport()
    assert not any("/plans?" in asked.path or asked.path == "/plans" for asked in visit.asked[before:])
    expect(page.get_by_role("link", name="Answer", exact=True)).to_have_attribute("href", f"/?plan={SURVEY.id}")
    other = dashboard(visit, served, f"?plan={SURVEY.id}#manipulation")
    expect(other.get_by_test_id("manipulation")).to_be_in_viewport()


def test_tables_are_folded_on_phones(browser: Browser, served: Served) -> None:
    visit = Visit(browser, phone=True)
    page = dashboard(visit, served)
    block = section(page, "age").get_by_test_id("mean")
    expect(block.locator("svg")).to_be_visible(timeout=30_000)
    expect(block.get_by_test_id("table")).to_be_hidden()
    block.locator("summary").click()
    expect(block.get_by_test_id("table")).to_be_visible()
    other = section(page, "way to work").get_by_test_id("table")
    expect(other).to_be_hidden()
    page.set_viewport_size({"width": 1120, "height": 820})
    expect(other).to_be_visible()
    visit.close()


@pytest.mark.parametrize("width", [900, 1000, 1120])
def test_no_column_of_the_margins_is_cut_off(visit: Visit, served: Served, width: int) -> None:
    page = dashboard(visit, served)
    page.set_viewport_size({"width": width, "height": 820})
    scroll = in_sight(page, "margins").locator(".scroll")
    expect(scroll.locator("thead th")).to_have_text(["estimate", "predicted", "achieved", "of predicted"])
    assert scroll.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_decimals_line_up(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    for part in (
        section(page, "way to work").get_by_test_id("shares"),
        section(page, "age").get_by_test_id("distribution"),
    ):
        scrolled(part)
        part.locator("tbody tr").first.wait_for()
        rows = [row.locator("td").all_text_contents() for row in part.locator("tbody tr").all()]
        for column in zip(*rows, strict=True):
            assert len({len(text.removesuffix(" %").partition(".")[2]) for text in column}) == 1, column
    answers = hush.estimate(served.tally(SURVEY))[0].answers
    expect(section(page, "age").get_by_test_id("distribution").get_by_test_id("note")).to_contain_text(
        f"{answers:,} answers"
    )


@pytest.mark.parametrize("kind", ["light", "dark", "phone"])
def test_accessible_and_drawn(browser: Browser, served: Served, screens: Path, kind: str) -> None:
    visit = Visit(browser, dark=kind == "dark", phone=kind == "phone")
    page = dashboard(visit, served)
    expect(section(page, "age").get_by_test_id("mean").locator("svg")).to_be_visible()
    in_sight(page, "margins")
    for block in page.get_by_test_id("chart").all():  # charts are drawn when they come into sight
        drawn(block)
    page.evaluate("scrollTo(0, 0)")
    check_accessible(page)
    check_width(page)
    width, height = (375, 1500) if kind == "phone" else (1120, 1500)
    page.screenshot(
        path=screens / f"dashboard-{kind}.png",
        full_page=True,
        clip={"x": 0, "y": 0, "width": width, "height": height},
    )
    if kind == "light":
        page.get_by_test_id("theme-toggle").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        check_accessible(page)
        page.goto(f"{served.url}/dashboard")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        check_accessible(page)
    visit.close()


@pytest.mark.parametrize(("width", "height", "pages"), [(1280, 800, 2), (360, 740, 6)])
def test_the_demos_headlines_fit_on_two_screens(
    browser: Browser, tmp_path: Path, width: int, height: int, pages: int
) -> None:
    """The first is in sight at once, and the others soon: in two screens of a desk, in six of a phone."""
    visit = Visit(browser)
    plan = hush.design(people.SCHEMA, 4.0, title="Life in one country")
    with serving(tmp_path, QUICK, plans=(plan,), trainings={}) as served:
        send(served, plan, people.people(50_000, 2019), 1)
        page = visit.context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{served.url}/dashboard?plan={plan.id}")
        cards = page.get_by_test_id("headline")
        expect(cards).to_have_count(len(plan.schema.names))
        expect(headline(page, "age")).to_contain_text("between")
        boxes = [card.bounding_box() for card in cards.all()]
        bottoms = [box["y"] + box["height"] for box in boxes if box is not None]
        assert len(bottoms) == len(boxes)
        assert bottoms[0] <= height, "the first is in sight"
        assert max(bottoms) <= pages * height
        check_width(page)
        check_accessible(page)
        page.close()
    visit.close()


def test_paper_has_everything(visit: Visit, served: Served) -> None:
    """The button loads and draws all parts first; the browser's own command opens folded ones. Both fold them again."""
    page = dashboard(visit, served)
    expect(headline(page, "age")).to_contain_text("between")
    fold = page.get_by_test_id("sure")
    assert fold.get_attribute("open") is None
    page.evaluate("window.print = () => { document.title = 'on paper'; }")
    page.get_by_test_id("print").click()
    expect(page).to_have_title("on paper", timeout=30_000)
    page.emulate_media(media="print")
    assert page.locator("main details:not([open])").count() == 0
    assert "Loading." not in page.get_by_role("main").inner_text()
    for chart in page.get_by_test_id("chart").all():
        expect(chart.locator("svg")).to_be_visible()
    for part in ("margins", "privacy", "manipulation", "timeline"):
        expect(page.get_by_test_id(part).locator("tbody tr").first).to_be_visible()
    expect(page.get_by_test_id("print")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert fold.get_attribute("open") is None
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.get_by_test_id("privacy").locator("tbody tr").first).to_be_visible()


def test_a_training_is_drawn_before_anybody_scrolls(visit: Visit, served: Served) -> None:
    page = visit.context.new_page()
    page.set_viewport_size({"width": 1120, "height": 200})
    page.goto(f"{served.url}/dashboard?training=tiny")
    expect(page.get_by_test_id("weights").locator("svg")).to_be_attached(timeout=30_000)
