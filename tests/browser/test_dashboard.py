"""What the dashboard shows, in a real browser: what the interface says, in words, tables and charts."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import expect

import hush
from hush import batch
from tests.browser.dashboards import (
    HOSTILE,
    by_size,
    dashboard,
    downloaded,
    headline,
    in_sight,
    population,
    section,
    send,
)
from tests.browser.surveys import RECORD, SURVEY
from tests.browser.visits import Visit, check_accessible, scrolled
from tests.collector.served import Served


def test_it_shows_what_the_interface_says(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    expected = hush.estimate(served.tally(SURVEY), simultaneous=True)
    section(page, "way to work").get_by_test_id("table").wait_for()
    saved = downloaded(page, page.get_by_test_id("download-all"))
    asked = {"format": "csv", "level": "0.95", "intervals": "together"}
    assert saved == served.client.get(served.path("estimates", SURVEY), params=asked).text
    rows = list(csv.DictReader(io.StringIO(saved)))
    assert [(row["attribute"], row["category"]) for row in rows] == [
        (row.attribute, "" if row.category is None else str(row.category)) for row in expected
    ]
    for found, row in zip(rows, expected, strict=True):
        told = [float(found[name]) for name in ("point", "stderr", "low", "high", "answers")]
        assert told == pytest.approx([row.point, row.stderr, row.low, row.high, row.answers], rel=1e-12)

    table = section(page, "way to work").get_by_test_id("table")
    shares = by_size([row for row in expected if row.attribute == "way to work"])
    expect(table.locator("tbody tr")).to_have_count(len(shares))
    first = table.locator("tbody tr").first
    assert first.locator("th").text_content() == shares[0].category
    shown = float((first.locator("td").first.text_content() or "").removesuffix(" %"))
    assert shown == pytest.approx(100 * shares[0].point, abs=0.06)

    level = float((first.locator("td").nth(2).text_content() or "").removesuffix(" %"))
    page.get_by_test_id("level").select_option("0.99")
    expect(first.locator("td").nth(2)).not_to_have_text(f"{level} %")
    wider = {str(row.category): row for row in hush.estimate(served.tally(SURVEY), level=0.99, simultaneous=True)}
    now = float((first.locator("td").nth(2).text_content() or "").removesuffix(" %"))
    assert now == pytest.approx(100 * wider[str(shares[0].category)].high, abs=0.06)


def test_bars_of_cards_reach_from_0_to_100_per_cent(visit: Visit, served: Served) -> None:
    """The largest one does not fill its line: two cards can be compared."""
    page = dashboard(visit, served)
    row = by_size([one for one in hush.estimate(served.tally(SURVEY), simultaneous=True) if one.attribute == "region"])[
        0
    ]
    line = headline(page, "region").locator("li").first
    expect(line).to_contain_text(str(row.category))
    ends = line.evaluate("node => ['--from', '--to'].map((name) => Number(node.style.getPropertyValue(name)))")
    assert ends == pytest.approx([row.low, row.high], abs=1e-6)
    assert row.high < 0.9


def test_charts_have_what_the_tables_have_and_can_be_saved(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = section(page, "way to work").get_by_test_id("shares")
    bars = block.locator("svg [aria-roledescription=bar]")
    expect(bars).to_have_count(5)
    drawn = ET.fromstring(downloaded(page, block.get_by_test_id("download-svg"), "shares-95.svg"))  # noqa: S314
    assert drawn.tag.endswith("svg")
    assert "bicycle" in "".join(drawn.itertext())
    assert "with 95 % intervals" in "".join(drawn.itertext())
    rows = list(csv.reader(io.StringIO(downloaded(page, block.get_by_test_id("download-csv")))))
    assert [row[0] for row in rows[1:]] == [
        row.category for row in by_size([*hush.estimate(served.tally(SURVEY))[1:6]])
    ]
    spread = section(page, "age").get_by_test_id("distribution")
    scrolled(spread)
    expect(spread.locator("svg")).to_be_visible()
    assert spread.locator("tbody tr").count() > 5


def test_privacy_margins_and_liars(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    privacy = in_sight(page, "privacy")
    told = privacy.locator("tbody tr")
    expect(told).to_have_count(len(SURVEY.questions) + 1)
    assert str(SURVEY.ratio) in (told.first.text_content() or ""), "the whole person comes first"
    for index, question in enumerate(SURVEY.questions, 1):
        assert told.nth(index).locator("th").text_content() == question.attributes[0]
        assert str(question.channel.ratio) in (told.nth(index).text_content() or "")

    margins = in_sight(page, "margins")
    expect(margins.locator("svg")).to_be_visible()
    rows = list(csv.reader(io.StringIO(downloaded(page, margins.get_by_test_id("download-csv")))))
    (age,) = [row for row in rows if row[0] == "age, mean"]
    predicted = hush.predict(SURVEY, people=served.tally(SURVEY).reports)[0]
    achieved = hush.estimate(served.tally(SURVEY))[0]
    assert float(age[1]) == pytest.approx(predicted.margin, rel=0.01)
    assert float(age[2]) == pytest.approx((achieved.high - achieved.low) / 2, rel=0.01)

    liars = in_sight(page, "manipulation")
    rows = list(csv.reader(io.StringIO(downloaded(page, liars.get_by_test_id("download-csv")))))
    tally = served.tally(SURVEY)
    worst = hush.manipulation(tally, round(tally.reports / 100))[0]
    assert any(
        float(cell) == pytest.approx(worst.shift, rel=0.05)
        for row in rows
        if row[0].startswith("age")
        for cell in row[1:]
    )


def test_a_training_by_rounds(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, "?training=tiny")
    for name in ("weights", "loss"):
        block = page.get_by_test_id(name)
        scrolled(block)
    rows = list(
        csv.reader(io.StringIO(downloaded(page, page.get_by_test_id("weights").get_by_test_id("download-csv"))))
    )
    history = served.client.get("/trainings/tiny/history").json()
    numbers = {float(cell) for row in rows[1:] for cell in row[1:] if cell}
    for past in history["rounds"]:
        for weight in past["weights"]:
            assert any(number == pytest.approx(weight, rel=1e-9, abs=1e-12) for number in numbers)
    check_accessible(page)


def test_what_plans_say_is_neither_html_nor_a_formula(visit: Visit, served: Served) -> None:
    send(served, HOSTILE, {"<b>c</b>": ["b"] * 1000, "x": np.full(1000, 0.5)}, 99)
    for place in (f"/dashboard?plan={HOSTILE.id}", f"/?plan={HOSTILE.id}", "/dashboard", "/"):
        page = visit.open(f"{served.url}{place}")
        page.locator("main").get_by_text(HOSTILE.title).locator("visible=true").first.wait_for()
        if place.startswith("/dashboard?"):
            section(page, "<b>c</b>").locator("tbody tr").first.wait_for()
            section(page, "<b>c</b>").locator("svg").first.wait_for()
            button = section(page, "<b>c</b>").get_by_test_id("download-csv")
            rows = list(csv.reader(io.StringIO(downloaded(page, button))))
            whole = downloaded(page, page.get_by_test_id("download-all"))
            names = ["<img src=x onerror=alert(1)>", "b", "'=1+1", "+65"]
            assert {row[0] for row in rows[1:]} == {*names}, "the largest first"
            assert [row["category"] for row in csv.DictReader(io.StringIO(whole))] == [*names, ""]
        assert page.locator("main b, main img, main script").count() == 0
    assert visit.hosts() == {served.url.removeprefix("http://")}


def test_records_are_as_the_survey_asks() -> None:
    """The people of these tests are people of the survey, and so is the visitor."""
    assert batch.randomise(SURVEY, population(100)).num_rows == 100
    hush.randomise(SURVEY, RECORD)


def test_results_come_first_in_words(visit: Visit, served: Served) -> None:
    """Every number in a card lies on the safe side of the interval that the interface gives."""
    page = dashboard(visit, served)
    rows = hush.estimate(served.tally(SURVEY), simultaneous=True)
    age = rows[0]
    said = headline(page, "age").locator(".main")
    expect(said).to_have_text(re.compile(r"^about [\d.]+, between [\d.]+ and [\d.]+$"))
    point, low, high = (float(number) for number in re.findall(r"[\d.]+", said.text_content() or ""))
    assert low <= age.low <= point <= age.high <= high
    assert high - low <= 2 * (age.high - age.low)
    smoker = next(row for row in rows if row.attribute == "smoker" and row.category == "yes")
    said = headline(page, "smoker").locator(".main")
    expect(said).to_have_text(re.compile(r"^Yes: between [\d.]+ and [\d.]+\s%$"))
    low, high = (float(number) for number in re.findall(r"[\d.]+", said.text_content() or ""))
    assert low <= 100 * smoker.low <= 100 * smoker.high <= high
    ways = by_size([row for row in rows if row.attribute == "way to work"])
    lines = headline(page, "way to work").locator("li").all_text_contents()
    assert [line.partition(": ")[0] for line in lines] == [row.category for row in ways if row.low > 0][:4]
    towns = [row for row in rows if row.attribute == "town"]
    none = sum(row.low <= 0 for row in towns)
    assert none > 30, "sixty towns of equal size, and few answers about each"
    expect(headline(page, "town")).to_contain_text(re.compile(rf"\b{none}( categories)? cannot be told from none"))


def test_shares_that_noise_explains_come_last_and_can_be_searched(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    rows = by_size([row for row in hush.estimate(served.tally(SURVEY), simultaneous=True) if row.attribute == "town"])
    part = section(page, "town")
    names = part.get_by_test_id("table").locator("tbody th")
    expect(names).to_have_count(60)
    shown = names.all_text_contents()
    assert [name.partition(" (")[0] for name in shown] == [row.category for row in rows]
    assert [name.endswith("(cannot be told from none)") for name in shown] == [row.low <= 0 for row in rows]
    expect(part.get_by_test_id("note")).to_contain_text("All 60 intervals hold at once with 95 % probability.")
    scrolled(part.get_by_test_id("chart"))
    line = part.locator("svg [aria-roledescription='rule mark']").last
    expect(line).to_be_attached()
    expect(part.get_by_test_id("note")).to_contain_text("below the dashed line")
    part.get_by_test_id("search").fill("town 47")
    expect(names).to_have_count(1)
    expect(part.locator("svg [aria-roledescription=bar]")).to_have_count(1)
    part.get_by_test_id("search").fill("nowhere")
    expect(part.get_by_test_id("note")).to_have_text("No category has this name.")
    part.get_by_test_id("search").fill("")
    expect(names).to_have_count(60)
