"""What a reader of the dashboard chooses to see, in a real browser: some questions, one period, kept in the address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Locator, Page, expect

import hush
from hush.collector.periods import Period
from tests.browser.dashboards import WIDE, headline, send
from tests.browser.phones import SMALL, check_touch
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 100),
        hush.Boolean("smoker"),
        hush.Categorical("town & region", ["Aal", "Bree", "Cul", "Dee", "Eem"]),
        hush.Numeric("height", 0, 250),
    ]
)
PLAN = hush.design(SCHEMA, 4.0, title="spring", relations=[("smoker", "town & region", "table")], ranges=["age"])
DAYS = (20_400, 20_401, 20_402)
FIRST = [Period(day, 1).first for day in DAYS]
PEOPLE = 6000


def people(day: int) -> dict[str, Any]:
    """Return people who are older each day."""
    return {
        "age": [20.0 + 15 * day] * PEOPLE,
        "smoker": [True, False] * (PEOPLE // 2),
        "town & region": ["Aal", "Bree"] * (PEOPLE // 2),
        "height": [170.0] * PEOPLE,
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.1, reveal_every=3600.0, reveal_least=20, by="day")
    with serving(tmp_path_factory.mktemp("filter"), settings, plans=(PLAN, WIDE), trainings={}) as found:
        known = 0
        for place, day in enumerate(DAYS):
            send(found, PLAN, people(place), place)
            known = found.store.reveal(PLAN, known, 20, Period(day, 1)).reports
        found.app.state.collector._visible.reveals._seen.clear()  # as after a restart: what is shown has moved
        assert found.client.get("/pages/vega.js").status_code == 200
        yield found


def dashboard(visit: Visit, served: Served, fragment: str = "", plan: hush.Plan = PLAN) -> Page:
    page = visit.context.new_page()
    if visit.phone:
        page.set_viewport_size(SMALL)
    page.goto(f"{served.url}/dashboard?plan={plan.id}{fragment}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    return page


def names(found: Locator) -> list[str | None]:
    return [one.get_attribute("data-attribute") for one in found.all()]


def check_shown(page: Page, wanted: list[str]) -> None:
    """Check the cards, the parts below, the charts of change and the relations."""
    expect(page.get_by_test_id("headline")).to_have_count(len(wanted))
    assert names(page.get_by_test_id("headline")) == wanted
    assert names(page.get_by_test_id("attribute")) == wanted
    expect(page.get_by_test_id("period-chart").first).to_be_attached()
    shown = [chart for chart in page.get_by_test_id("period-chart").all() if chart.is_visible()]
    assert [chart.get_attribute("data-attribute") for chart in shown] == wanted
    both = {"smoker", "town & region"} <= set(wanted)
    expect(page.locator('[data-relation^="table"]')).to_be_visible(visible=both)
    expect(page.locator('[data-relation^="range|age"]')).to_be_visible(visible="age" in wanted)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_questions_are_chosen_by_keyboard_and_kept_in_the_address(browser: Browser, served: Served, dark: bool) -> None:
    visit = Visit(browser, dark=dark)
    page = dashboard(visit, served)
    check_shown(page, list(SCHEMA.names))
    expect(page.get_by_test_id("shown")).to_be_hidden()
    fold = page.get_by_test_id("questions")
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(fold.locator("summary")).to_have_text("Questions: all 4")
    check_accessible(page)
    fold.get_by_label("smoker").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(fold.get_by_label("town & region")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    check_shown(page, ["age", "town & region"])
    expect(page.get_by_test_id("shown")).to_have_text("2 of 4 questions are shown.")
    check_accessible(page)
    assert page.url.endswith("#show=age&show=town+%26+region")

    other = dashboard(visit, served, page.url.partition(PLAN.id)[2])  # as somebody to whom it was sent
    check_shown(other, ["age", "town & region"])
    other.get_by_test_id("parts").get_by_role("link", name="Reports over time").click()
    check_shown(other, ["age", "town & region"])
    other.wait_for_url("**#timeline&show=age&show=town+%26+region")
    other.emulate_media(media="print")
    expect(other.get_by_test_id("shown")).to_be_visible()
    expect(other.get_by_test_id("questions")).to_be_hidden()
    visit.close()


def test_questions_of_one_kind(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, "#show=smoker&show=nobody")
    check_shown(page, ["smoker"])
    expect(page.get_by_test_id("shown")).to_have_text("1 of 4 questions is shown.")
    fold = page.get_by_test_id("questions")
    fold.locator("summary").click()
    fold.get_by_role("button", name="Numbers").click()
    check_shown(page, ["age", "height"])
    fold.get_by_role("button", name="All").click()
    check_shown(page, list(SCHEMA.names))
    assert "#" not in page.url
    for box in fold.get_by_role("checkbox").all():
        box.uncheck()
    expect(page.get_by_test_id("no-attribute")).to_have_text("No question is ticked under Options.")
    expect(page.get_by_test_id("headline")).to_have_count(0)
    check_accessible(page)
    page.goto(f"{page.url.partition('#')[0]}#show=height")  # another address of the same page
    check_shown(page, ["height"])


def test_an_address_that_names_nothing_shows_all(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, "#show=nobody&period=1999-01-01")
    check_shown(page, list(SCHEMA.names))
    expect(page.get_by_test_id("only")).to_be_hidden()
    expect(page.get_by_test_id("period")).to_have_value("all")


def test_very_many_questions_are_searched_and_not_ticked(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, plan=WIDE)
    expect(page.get_by_test_id("headline")).to_have_count(24)
    expect(page.get_by_test_id("questions")).to_have_count(0)
    expect(page.get_by_test_id("filter")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_period_is_chosen_on_a_phone(browser: Browser, served: Served, dark: bool) -> None:
    """The cards show its estimates, as the interface has them, and say so; what follows stays about all."""
    visit = Visit(browser, phone=True, dark=dark)
    page = dashboard(visit, served)
    options = page.get_by_test_id("options")
    options.locator("summary").first.click()
    picker = page.get_by_test_id("period")
    assert [one.text_content() for one in picker.locator("option").all()] == ["all periods", "10 Nov", "9 Nov", "8 Nov"]
    fold = page.get_by_test_id("questions")
    fold.locator("summary").click()
    check_touch(fold.locator("label"))
    check_width(page)
    expect(headline(page, "age").get_by_test_id("since")).to_contain_text("10 Nov, against 9 Nov")
    for day, place in ((FIRST[1], 1), (FIRST[0], 0)):
        picker.select_option(day)
        expect(page.get_by_test_id("only")).to_contain_text(
            f"These cards show {9 - (1 - place)} Nov alone: 6,000 reports."
        )
        found = served.client.get(f"/plans/{PLAN.id}/periods", params={"intervals": "together"}).json()["periods"]
        (row,) = [one for one in found[place]["estimates"] if one["attribute"] == "age" and one["category"] is None]
        told = (headline(page, "age").locator(".main").text_content() or "").split()
        low, high = float(told[3]), float(told[5])
        assert low <= row["low"] <= row["high"] <= high
        assert abs(low - row["low"]) < 2
        assert page.url.endswith(f"#period={day}")
        check_accessible(page)
        check_width(page)
    expect(headline(page, "age").get_by_test_id("since")).to_be_hidden()  # there is none before the first
    expect(page.get_by_test_id("report-count")).to_have_text("18,000")
    page.reload()
    expect(page.get_by_test_id("only")).to_contain_text("8 Nov alone")
    expect(headline(page, "age").locator(".main")).to_contain_text("between")
    page.get_by_test_id("options").locator("summary").first.click()
    page.get_by_test_id("period").select_option("all")
    expect(page.get_by_test_id("only")).to_be_hidden()
    visit.close()
