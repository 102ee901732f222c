"""Change on the dashboard, in a real browser: by day in words and charts, against another plan, and as files."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush import batch
from hush.collector import formats
from hush.collector.periods import Period
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 100),
        hush.Categorical("smoker", ["yes", "no"]),
        hush.Categorical("town", ["Aal", "Bree", "Cul", "Dee", "Eem"]),
    ]
)
PLAN = hush.design(SCHEMA, 4.0, title="spring")
OTHER = hush.design(
    hush.Schema([*SCHEMA.attributes[:2], hush.Categorical("town", ["Aal", "Zoo"])]), 4.0, title="autumn"
)
DAYS = (20_400, 20_401, 20_402)
PEOPLE = 6000


def people(day: int) -> dict[str, Any]:
    """Return people who are older each day; on the last one many have begun to smoke."""
    smokers = PEOPLE // 5 + (PEOPLE // 5 if day == 2 else 0)
    return {
        "age": [20.0 + 15 * day] * PEOPLE,
        "smoker": ["yes"] * smokers + ["no"] * (PEOPLE - smokers),
        "town": ["Aal", "Bree"] * (PEOPLE // 2),
    }


def send(served: Served, plan: hush.Plan, answers: Any, number: int) -> None:
    rows = batch.randomise(plan, answers)
    answer = served.post(plan, formats.pack(plan, rows, number.to_bytes(16, "big")), formats.COLUMNS)
    assert answer.status_code == 202


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.1, reveal_every=3600.0, reveal_least=20, by="day")
    with serving(tmp_path_factory.mktemp("change"), settings, plans=(PLAN, OTHER), trainings={}) as found:
        known = 0
        for place, day in enumerate(DAYS):
            send(found, PLAN, people(place), place)
            known = found.store.reveal(PLAN, known, 20, Period(day, 1)).reports
        send(found, OTHER, people(0) | {"town": ["Aal"] * PEOPLE}, 9)
        found.store.reveal(OTHER, 0, 20)
        found.app.state.collector._visible.reveals._seen.clear()  # as after a restart: what is shown has moved
        assert found.client.get("/pages/vega.js").status_code == 200
        yield found


def dashboard(visit: Visit, served: Served, query: str = "") -> Page:
    page = visit.open(f"{served.url}/dashboard?plan={PLAN.id}{query}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    return page


def test_cards_say_what_has_changed(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    since = {
        name: page.locator(f'[data-testid="headline"][data-attribute="{name}"]').get_by_test_id("since")
        for name in SCHEMA.names
    }
    days = [Period(day, 1) for day in DAYS]
    assert [day.first for day in days] == ["2025-11-08", "2025-11-09", "2025-11-10"]
    expect(since["age"]).to_contain_text("10 Nov, against 9 Nov: up by 1")
    expect(since["smoker"]).to_contain_text("up by 1")
    expect(since["smoker"]).to_contain_text(" points.")
    expect(since["town"]).to_have_text("10 Nov, against 9 Nov: no change that can be told from noise.")
    found = served.client.get(f"/plans/{PLAN.id}/periods", params={"intervals": "together"}).json()
    (row,) = [one for one in found["periods"][2]["changes"] if one["category"] == "yes"]
    low, high = _numbers(since["smoker"].text_content() or "")
    assert low <= 100 * row["low"] <= 100 * row["high"] <= high, "rounded outwards"


def _numbers(text: str) -> tuple[float, float]:
    words = text.partition("up by ")[2].split()
    return float(words[0]), float(words[2])


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("dark", [False, True])
def test_a_chart_by_day_for_each_question(browser: Browser, served: Served, dark: bool, phone: bool) -> None:
    visit = Visit(browser, dark=dark, phone=phone)
    page = dashboard(visit, served, f"&against={OTHER.id}")
    part = page.get_by_test_id("change")
    expect(part).to_be_visible()
    charts = part.get_by_test_id("period-chart")
    expect(charts).to_have_count(3)
    smoker = part.locator('[data-attribute="smoker"]')
    scrolled(smoker)
    expect(smoker.locator(".vega svg")).to_be_visible()
    expect(smoker.get_by_test_id("table").locator("tbody tr")).to_have_count(3)
    expect(smoker.get_by_test_id("period-category")).to_have_value("yes")
    expect(smoker.get_by_test_id("table").locator("tbody tr").first).to_contain_text("10 Nov")
    town = part.locator('[data-attribute="town"]')
    scrolled(town)
    expect(town.locator(".vega svg")).to_be_visible()
    town.get_by_test_id("period-category").select_option("Dee")
    expect(town.get_by_test_id("table").locator("caption")).to_contain_text("town by period")
    scrolled(page.get_by_test_id("against"))
    expect(page.get_by_test_id("difference-chart")).to_have_count(2)
    check_accessible(page)
    check_width(page)
    visit.close()


def test_a_collector_without_periods_shows_no_change(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/dashboard?plan={OTHER.id}")
    expect(page.get_by_test_id("report-count")).to_have_text("6,000", timeout=30_000)
    expect(page.get_by_test_id("change")).to_be_hidden()
    expect(page.get_by_test_id("since").first).to_be_hidden()


def test_categories_in_the_order_of_the_plan(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    part = page.locator('[data-testid="attribute"][data-attribute="town"]')
    scrolled(part)
    first = part.get_by_test_id("shares").get_by_test_id("table").locator("tbody th")
    expect(first).to_have_count(5)
    by_size = [name.split(" ")[0] for name in first.all_text_contents()]
    assert set(by_size[:2]) == {"Aal", "Bree"}
    part.get_by_test_id("order").select_option("plan")
    expect(first.nth(4)).to_contain_text("Eem")
    assert [name.split(" ")[0] for name in first.all_text_contents()] == ["Aal", "Bree", "Cul", "Dee", "Eem"]
    part.get_by_test_id("order").select_option("size")
    expect(first.nth(4)).to_contain_text(by_size[4])
    smoker = page.locator('[data-testid="attribute"][data-attribute="smoker"]')
    assert smoker.get_by_test_id("order").count() == 0, "two categories have no order"


def test_two_plans_side_by_side(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    against = page.get_by_test_id("against")
    scrolled(against)
    expect(against).to_contain_text("Choose a plan to compare with.")
    page.get_by_test_id("against-plan").select_option(label="autumn")
    expect(against.get_by_test_id("table")).to_contain_text("age: mean")
    expect(against.get_by_test_id("table")).to_contain_text("smoker: share of yes")
    assert f"against={OTHER.id}" in page.url
    expect(page.get_by_test_id("against-note")).to_contain_text("attribute 'town': the plans do not ask the same")
    expect(page.get_by_test_id("difference-chart")).to_have_count(2)
    page.get_by_test_id("against-plan").select_option("")
    expect(page.get_by_test_id("difference-chart")).to_have_count(0)
    assert "against=" not in page.url


def test_every_chart_is_a_picture_to_keep(visit: Visit, served: Served) -> None:
    """PNG, made by the browser alone: as wide as the drawing, twice, and not of one colour."""
    page = dashboard(visit, served)
    chart = page.get_by_test_id("change").locator('[data-attribute="age"]')
    scrolled(chart)
    expect(chart.locator(".vega svg")).to_be_visible()
    with page.expect_download() as waiting:
        chart.get_by_test_id("download-png").click()
    assert waiting.value.suggested_filename == "age-periods-95.png"
    picture = Path(waiting.value.path()).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", picture[16:24])
    assert width >= 2 * 640
    assert height >= 2 * 130
    assert len(picture) > 5000
    assert visit.hosts() == {served.url.removeprefix("http://")}
    drawn = page.get_by_test_id("chart").count()
    assert page.get_by_test_id("download-png").count() == drawn, "every chart has a button"


def test_paper_has_everything(visit: Visit, served: Served, tmp_path: Path) -> None:
    """The page as PDF: folded parts are open, and the tables of all charts are filled."""
    page = dashboard(visit, served, f"&against={OTHER.id}")
    page.evaluate("window.print = () => { document.body.dataset.printed = 'yes'; }")
    page.get_by_test_id("print").click()
    expect(page.locator("body")).to_have_attribute("data-printed", "yes", timeout=30_000)
    page.emulate_media(media="print")
    assert page.locator("main details:not([open])").count() == 0
    for name in ("period-chart", "difference-chart", "margins", "privacy", "manipulation"):
        expect(page.get_by_test_id(name).first).to_be_attached(timeout=30_000)  # also where the collector is slow
        tables = page.get_by_test_id(name).get_by_test_id("table")
        assert tables.count() >= 1
        for place in range(tables.count()):
            expect(tables.nth(place)).to_be_visible()
            assert tables.nth(place).locator("tbody tr").count() >= 1
    expect(page.get_by_test_id("download-png").first).to_be_hidden()
    paper = page.pdf(path=str(tmp_path / "page.pdf"))
    assert paper.startswith(b"%PDF-")
    assert paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") + paper.count(b"/Type/Page/") >= 3
