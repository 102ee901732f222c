"""The dashboard, in a real browser: it follows what arrives, shows what the interface says, and asks nobody else."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Locator, Page, Route, expect

import hush
from hush import batch
from hush.collector import formats
from hush.collector.http.security import hashed
from hush.core.training.training import Training
from hush.demo import people
from hush.device.client import Client
from tests.browser.surveys import RECORD, SCHEMA, SURVEY, fill, review
from tests.browser.surveys import send as send_report
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import BOUGHT, POINT, Served, anybody, serving

PEOPLE = 40_000
HOSTILE = hush.design(
    hush.Schema(
        [hush.Categorical("<b>c</b>", ["<img src=x onerror=alert(1)>", "b", "=1+1", "+65"]), hush.Numeric("x", 0, 1)]
    ),
    1.0,
    title="<script>alert(1)</script>",
)
WIDE = hush.design(
    hush.Schema(
        [
            hush.Categorical("town", [f"town {i}" for i in range(4096)]),
            *(hush.Numeric(f"n{i}", 0, 1) for i in range(400)),
        ]
    ),
    1.0,
    title="wide",
    categorical="oue",
)
TRAINING = Training("tiny", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)
QUICK = anybody(stream_interval=0.1)


def population(n: int) -> dict[str, Any]:
    """Return people for the survey, whose answers are worth a picture."""
    world = np.random.default_rng(2019)
    age = np.clip(world.normal(44, 16, n), 18, 100)
    ways, towns = SCHEMA["way to work"], SCHEMA["town"]
    assert isinstance(ways, hush.Categorical)
    assert isinstance(towns, hush.Categorical)
    return {
        "age": age,
        "way to work": world.choice(ways.values, n, p=[0.12, 0.22, 0.31, 0.27, 0.08]),
        "income": [None if i % 10 == 3 else income for i, income in enumerate(world.lognormal(10.5, 0.5, n).tolist())],
        "smoker": [("yes", "no", None)[i] for i in world.choice(3, n, p=[0.2, 0.7, 0.1])],
        "region": [f"region {'ABCDEFGHIJKL'[i]}" for i in world.binomial(11, 0.35, n)],
        "town": world.choice(towns.values, n),
    }


def send(served: Served, plan: hush.Plan, answers: Any, number: int) -> None:
    """Send people to a collector, as one batch."""
    rows = batch.randomise(plan, answers)
    answer = served.post(plan, formats.pack(plan, rows, number.to_bytes(16, "big")), formats.COLUMNS)
    assert answer.status_code == 202


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    everybody = population(PEOPLE)
    plans = (SURVEY, HOSTILE, WIDE)
    with serving(tmp_path_factory.mktemp("dashboard"), QUICK, plans=plans, trainings={TRAINING: 3}) as found:
        for part in range(8):
            size = PEOPLE // 8
            send(found, SURVEY, {name: column[part * size :][:size] for name, column in everybody.items()}, part)
        assert found.client.get("/pages/vega.js").status_code == 200  # made once; charts need not wait for it then
        client = Client(found.url)
        for i in range(6):  # two rounds of three
            client.train("tiny", {"a": 0.5, "b": -0.25 * (i % 3)}, BOUGHT.values[i % 2], epsilon=4.0, person=str(i))
        yield found


def dashboard(visit: Visit, served: Served, query: str = f"?plan={SURVEY.id}") -> Page:
    page = visit.open(f"{served.url}/dashboard{query}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    return page


def section(page: Page, attribute: str) -> Locator:
    """Return the part of an attribute, in sight: tables and charts are filled when they are."""
    found = page.locator(f'[data-testid="attribute"][data-attribute="{attribute}"]')
    found.scroll_into_view_if_needed()
    return found


def in_sight(page: Page, name: str) -> Locator:
    found = page.get_by_test_id(name)
    fold = page.get_by_test_id("sure")
    if fold.get_by_test_id(name).count() and fold.get_attribute("open") is None:
        fold.locator("summary").first.click()
    found.scroll_into_view_if_needed()
    return found


def headline(page: Page, attribute: str) -> Locator:
    return page.locator(f'[data-testid="headline"][data-attribute="{attribute}"]')


def by_size(rows: list[hush.Estimate]) -> list[hush.Estimate]:
    """Return shares as the dashboard orders them: those that cannot be told from none last."""
    return sorted(rows, key=lambda row: (row.low <= 0, -row.point))


def count(page: Page) -> int:
    return int((page.get_by_test_id("report-count").text_content() or "").replace(",", ""))


def downloaded(page: Page, button: Locator, name: str = "") -> str:
    with page.expect_download() as waiting:
        button.click()
    assert waiting.value.suggested_filename.endswith(name)
    return Path(waiting.value.path()).read_bytes().decode()


def test_it_follows_an_answer_given_in_the_form(visit: Visit, served: Served) -> None:
    """One person, two tabs: the answer is sent in one, and the count rises in the other, which is not loaded again."""
    page = dashboard(visit, served)
    expect(page.get_by_test_id("report-count")).not_to_have_text("…")
    before = count(page)
    assert before == served.tally(SURVEY).reports
    expect(page.get_by_test_id("moves")).to_be_hidden()
    with visit.context.expect_page() as waiting:
        page.get_by_test_id("form-link").click(modifiers=["ControlOrMeta"])
    form = waiting.value
    fill(form)
    review(form)
    send_report(form)
    expect(page.get_by_test_id("report-count")).to_have_text(f"{before + 1:,}")
    assert visit.hosts() == {served.url.removeprefix("http://")}
    assert len([asked for asked in visit.asked if asked.path.startswith("/dashboard")]) == 1


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
    spread.scroll_into_view_if_needed()
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
        block.scroll_into_view_if_needed()
    rows = list(
        csv.reader(io.StringIO(downloaded(page, page.get_by_test_id("weights").get_by_test_id("download-csv"))))
    )
    history = served.client.get("/trainings/tiny/history").json()
    numbers = {float(cell) for row in rows[1:] for cell in row[1:] if cell}
    for past in history["rounds"]:
        for weight in past["weights"]:
            assert any(number == pytest.approx(weight, rel=1e-9, abs=1e-12) for number in numbers)
    check_accessible(page)


def test_without_charts_the_tables_remain(visit: Visit, served: Served) -> None:
    visit.allowed = ("status of 404", "vega.js")
    visit.context.route("**/pages/vega.js", lambda route: route.fulfill(status=404, body="{}"))
    page = dashboard(visit, served)
    expect(page.get_by_test_id("no-charts")).to_be_visible()
    expect(section(page, "way to work").locator("tbody tr")).to_have_count(5)
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
    expect(links).to_have_count(4)
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
        part.scroll_into_view_if_needed()
        part.locator("tbody tr").first.wait_for()
        rows = [row.locator("td").all_text_contents() for row in part.locator("tbody tr").all()]
        for column in zip(*rows, strict=True):
            assert len({len(text.removesuffix(" %").partition(".")[2]) for text in column}) == 1, column
    answers = hush.estimate(served.tally(SURVEY))[0].answers
    expect(section(page, "age").get_by_test_id("distribution").get_by_test_id("note")).to_contain_text(
        f"{answers:,} answers"
    )


def test_it_says_when_the_numbers_move(visit: Visit, tmp_path: Path) -> None:
    settings = anybody(stream_interval=0.1, reveal_every=1.0, reveal_least=200)
    with serving(tmp_path, settings, plans=(SURVEY,), trainings={}) as served:
        page = dashboard(visit, served)
        moves = page.get_by_test_id("moves")
        rule = "These numbers move at most every 1 seconds, and by 200 reports or more."
        expect(moves).to_have_text(f"Shown from 200 reports on. {rule}")
        send(served, SURVEY, population(199), 1)
        page.wait_for_timeout(2500)
        expect(page.get_by_test_id("report-count")).to_have_text("0")
        send(served, SURVEY, population(50), 2)
        expect(page.get_by_test_id("report-count")).to_have_text("249", timeout=20_000)
        expect(moves).to_have_text(rule)
        check_accessible(page)


def test_readers_need_their_token(visit: Visit, tmp_path: Path) -> None:
    visit.allowed = ("status of 401",)
    settings = anybody(stream_interval=0.1, tokens={"read": frozenset([hashed("open sesame")])})
    with serving(tmp_path, settings, plans=(SURVEY,), trainings={}) as served:
        page = visit.open(f"{served.url}/dashboard")
        page.get_by_test_id("token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("signin")).to_contain_text("token")
        check_accessible(page)
        page.get_by_test_id("token").fill("open sesame")
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
        assert not any("sesame" in asked.url for asked in visit.asked)
        other = visit.open(f"{served.url}/dashboard#token=open%20sesame")
        expect(other.get_by_test_id("connection")).to_have_attribute("data-state", "live")
        assert "sesame" not in other.url  # it does not stay where others might see it
        for opened in (page, other):
            opened.close()  # before the collector ends: pages would ask again, and browsers note that as an error


def test_one_page_listens_once_and_only_while_somebody_looks(visit: Visit, served: Served) -> None:
    """Browsers allow six connections to a host: links within the page take none, and hidden pages give theirs back."""

    def streams() -> int:
        return len([asked for asked in visit.asked if "/stream?" in asked.url])

    page = dashboard(visit, served)
    assert streams() == 1
    for place in ("#main", "#margins", "#nowhere"):
        page.evaluate("place => { location.hash = place; }", place)
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live")
    assert streams() == 1
    hide = """hidden => {
        Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    before = count(page)
    page.evaluate(hide, True)
    send(served, SURVEY, {name: column[:10] for name, column in population(10).items()}, 1000)
    page.wait_for_timeout(1500)
    assert count(page) == before
    page.evaluate(hide, False)
    expect(page.get_by_test_id("report-count")).to_have_text(f"{served.tally(SURVEY).reports:,}")
    assert streams() == 2


def test_it_says_when_it_is_not_live(visit: Visit, tmp_path: Path) -> None:
    """A stream that breaks off is opened again; a collector that is gone is waited for."""
    visit.allowed = ("ERR_",)
    broken: list[str] = []

    def once(route: Route) -> None:
        if not broken:
            broken.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    visit.context.route("**/stream?*", once)
    with serving(tmp_path, QUICK, plans=(SURVEY,), trainings={}) as served:
        page = visit.open(f"{served.url}/dashboard")
        state = page.get_by_test_id("connection")
        expect(state).to_have_attribute("data-state", "lost")
        expect(state).to_have_attribute("data-state", "live", timeout=20_000)
        assert broken
    expect(state).to_have_attribute("data-state", "lost", timeout=20_000)
    check_accessible(page)


@pytest.mark.parametrize("kind", ["light", "dark", "phone"])
def test_accessible_and_drawn(browser: Browser, served: Served, screens: Path, kind: str) -> None:
    visit = Visit(browser, dark=kind == "dark", phone=kind == "phone")
    page = dashboard(visit, served)
    expect(section(page, "age").get_by_test_id("mean").locator("svg")).to_be_visible()
    in_sight(page, "margins")
    for block in page.get_by_test_id("chart").all():  # charts are drawn when they come into sight
        block.scroll_into_view_if_needed()
        expect(block.locator("svg")).to_be_visible()
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
    part.get_by_test_id("chart").scroll_into_view_if_needed()
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


def test_it_says_that_it_loads(visit: Visit, served: Served) -> None:
    held: list[Route] = []
    visit.context.route("**/statement", lambda route: held.append(route))
    page = visit.open(f"{served.url}/dashboard?plan={SURVEY.id}")
    expect(page.get_by_test_id("loading")).to_have_text("Loading the results.")
    for _ in range(300):
        if held:
            break
        page.wait_for_timeout(50)
    expect(page.get_by_test_id("loading")).to_be_visible()
    held.pop().continue_()
    expect(headline(page, "age")).to_contain_text("between")
    expect(page.get_by_test_id("loading")).to_have_count(0)


def test_a_training_is_drawn_before_anybody_scrolls(visit: Visit, served: Served) -> None:
    page = visit.context.new_page()
    page.set_viewport_size({"width": 1120, "height": 200})
    page.goto(f"{served.url}/dashboard?training=tiny")
    expect(page.get_by_test_id("weights").locator("svg")).to_be_attached(timeout=30_000)
