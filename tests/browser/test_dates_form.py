"""The form asks for dates and times of day, and the dashboard shows them, on a phone and on a desk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, time, timedelta

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from tests.browser.phones import questions, small_phone
from tests.browser.surveys import CHECK, SEND, press_button, shown_bytes
from tests.browser.test_relations import count
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Date("birthday", "1920-01-01", "2020-12-31"),
        hush.Date("arrival", "2026-05-01", "2026-09-30", optional=True),
        hush.Time("bed_time", "18:00", "06:00", out_of_range="clip"),
        hush.Time("wake_up", step=900),
    ]
)
PLAN = hush.design(SCHEMA, 16.0, title="Dates", k=len(SCHEMA))
SHOWN = hush.design(
    hush.Schema([SCHEMA["birthday"], SCHEMA["wake_up"], hush.Categorical("group", ["a", "b"])]),
    8.0,
    title="Dates shown",
    ranges={"birthday": 16},
    relations=[("birthday", "group", "means")],
    singles=0.5,
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05)
    with serving(tmp_path_factory.mktemp("dates"), settings, plans=(PLAN, SHOWN), trainings={}) as found:
        first = date(1960, 1, 1)
        people = [
            {"birthday": first + timedelta(days=i * 9), "wake_up": time(6 + i % 3, 30), "group": "ab"[i % 2]}
            for i in range(1500)
        ]
        tally = hush.Tally(SHOWN)
        tally.update(hush.randomise(SHOWN, person) for person in people)
        count(found, tally, 1)
        assert found.client.get("/pages/vega.js", timeout=120).status_code == 200
        yield found


def fill(page: object, name: str) -> None:
    """Answer a question."""
    shown = page.locator(f"[data-attribute={name}]")  # type: ignore[attr-defined]
    if name == "birthday":
        shown.get_by_label("Day").fill("29")
        shown.get_by_label("Month").select_option("2")
        shown.get_by_label("Year").fill("1984")
    else:
        shown.locator("input").fill({"arrival": "2026-06-01", "bed_time": "23:30", "wake_up": "07:20"}[name])


TOLD = ["February 29, 1984", "June 1, 2026", "23:30", "07:15"]


def test_dates_at_a_desk(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang=en")
    page.get_by_test_id("form").wait_for()
    check_accessible(page)
    for name in SCHEMA.names:
        fill(page, name)
    press_button(page, CHECK)
    assert page.get_by_test_id("answers").locator("dd").all_text_contents() == TOLD
    check_accessible(page)
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    check_accessible(page)
    report = hush.Report.decode(PLAN, shown_bytes(page))
    assert len(report.answers) == len(SCHEMA)
    text = page.locator("main").inner_text()
    assert "1940" in text  # on the axis
    assert "5172" not in text  # the number of days


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_dates_on_a_phone(browser: Browser, served: Served, dark: bool) -> None:
    with small_phone(browser, f"{served.url}/?plan={PLAN.id}&lang=en", dark=dark) as page:
        for shown, name in zip(questions(page, len(SCHEMA), "input, select"), SCHEMA.names, strict=True):
            expect(shown).to_have_attribute("data-attribute", name)
            fill(page, name)
        assert page.get_by_test_id("answers").locator("dd").all_text_contents() == TOLD
        check_width(page)


@pytest.mark.parametrize(
    ("day", "month", "year"),
    [("30", "2", "1984"), ("29", "2", "1983"), ("1", "1", "1919"), ("1", "", "1984"), ("1", "1", "84")],
)
def test_what_is_no_date_is_refused(visit: Visit, served: Served, day: str, month: str, year: str) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang=en")
    shown = page.locator("[data-attribute=birthday]")
    shown.get_by_label("Day").fill(day)
    shown.get_by_label("Month").select_option(month)
    shown.get_by_label("Year").fill(year)
    page.get_by_role("button", name=CHECK).click()
    expect(page.get_by_test_id("problems")).to_contain_text(
        "birthday: must be a date from January 1, 1920 to December 31, 2020"
    )
    check_accessible(page)


@pytest.mark.parametrize(
    ("language", "order"),
    [("de", ["Tag", "Monat", "Jahr"]), ("zh", ["年", "月", "日"]), ("en", ["Month", "Day", "Year"])],
)
def test_the_parts_of_a_date_in_the_order_of_the_reader(
    visit: Visit, served: Served, language: str, order: list[str]
) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang={language}")
    expect(page.locator("[data-attribute=birthday] .parts .small")).to_have_text(order)


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_the_dashboard_shows_dates(browser: Browser, served: Served, phone: bool) -> None:
    visit = Visit(browser, dark=phone, phone=phone)
    page = visit.context.new_page()
    page.goto(f"{served.url}/dashboard?plan={SHOWN.id}")
    card = page.get_by_test_id("headline").filter(has_text="birthday").first
    expect(card).to_contain_text("between")
    text = card.inner_text()
    assert " 197" in text or " 196" in text or " 198" in text
    page.locator("details:not([open]) > summary").evaluate_all("all => all.forEach((one) => one.click())")
    section = page.locator("[data-testid=attribute][data-attribute=birthday]")
    expect(section).to_contain_text("A date from 1 January 1920 to 31 December 2020")
    scrolled(section.get_by_test_id("distribution"))
    expect(section.get_by_test_id("distribution").locator("svg").first).to_contain_text("1940")
    expect(section.get_by_test_id("distribution")).to_contain_text("1960 to 1964")
    check_accessible(page)
    check_width(page)
    visit.close()
