"""The dashboard and the pictures of a report on a small phone: results first, and labels that can be read."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush.collector import formats
from tests.browser.phones import SMALL, labels_that_collide
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import Served, anybody, serving

WAYS = [
    "I do not go out to work",
    "bus, train, tram or ferry",
    "by bicycle",
    "by car, alone",
    "by car, with others",
    "on foot",
]
SCHOOLS = ["primary school or less", "lower secondary", "upper secondary", "bachelor or equal", "master", "doctorate"]
SCHEMA = hush.Schema(
    [
        hush.Boolean("smoker"),
        hush.Categorical("way to work", WAYS),
        hush.Categorical("education", SCHOOLS),
        hush.Date("born", "1930-01-01", "2009-12-31"),
        hush.Time("up", "04:00", "12:00"),
        hush.Numeric("income", 0, 2_000_000),
    ]
)
PLAN = hush.design(
    SCHEMA,
    6.0,
    title="Life in a town with a long name, and what people do there",
    relations=[("way to work", "education", "table"), ("born", "way to work", "means")],
    ranges=["born"],
)
ALL = hush.design(SCHEMA, 6.0, title="All at once", k=6)
OTHER = hush.design(SCHEMA, 1.0, title="Another one")


def people(number: int) -> Iterator[dict[str, Any]]:
    world = random.Random(7)
    for _ in range(number):
        yield {
            "smoker": world.random() < 0.3,
            "way to work": world.choice(WAYS),
            "education": world.choice(SCHOOLS),
            "born": date(1950, 1, 1) + timedelta(days=world.randrange(20_000)),
            "up": time(world.randrange(5, 9), world.randrange(60)),
            "income": 1e5 * world.random(),
        }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The operator's usual settings: a sentence says when numbers move."""
    settings = anybody(stream_interval=0.1, reveal_every=1.0, reveal_least=20)
    with serving(tmp_path_factory.mktemp("small"), settings, plans=(PLAN, ALL, OTHER), trainings={}) as found:
        tally = hush.Tally(PLAN)
        tally.update(hush.randomise(PLAN, record) for record in people(2500))
        head = {"content-type": formats.TALLY, "hush-batch": f"{1:032x}"}
        sent = found.client.post(found.path("tally", PLAN), content=tally.encode(), headers=head)
        assert sent.status_code == 202
        assert found.client.get("/pages/vega.js", timeout=120).status_code == 200
        yield found


def dashboard(visit: Visit, served: Served, *, small: bool) -> Page:
    page = visit.context.new_page()
    if small:
        page.set_viewport_size(SMALL)
    page.goto(f"{served.url}/dashboard?plan={PLAN.id}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    expect(page.get_by_test_id("headline").first).to_contain_text("between", timeout=30_000)
    return page


def drawn(page: Page) -> int:
    """Go through the page until all charts are drawn, and return how many there are."""
    for _ in range(2):
        for place in range(0, page.evaluate("document.body.scrollHeight"), 400):
            page.evaluate(f"scrollTo(0, {place})")
            page.wait_for_timeout(150)
    page.wait_for_timeout(500)
    return page.locator(".vega svg").count()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_first_result_is_in_the_first_screen_of_a_phone(browser: Browser, served: Served, dark: bool) -> None:
    """With other plans, and a sentence about when numbers move: the whole first card is in the upper three quarters."""
    visit = Visit(browser, phone=True, dark=dark)
    page = dashboard(visit, served, small=True)
    box = page.get_by_test_id("headline").first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= SMALL["height"] * 3 / 4
    assert page.evaluate("scrollY") == 0
    check_accessible(page)
    check_width(page)
    options = page.get_by_test_id("options")
    expect(page.get_by_test_id("level")).to_be_hidden()
    options.locator("summary").first.click()
    page.get_by_test_id("level").select_option("0.99")
    expect(page.get_by_test_id("meaning")).to_contain_text("99\u00a0%")
    check_accessible(page)
    check_width(page)
    visit.close()


def test_the_options_lie_open_on_a_desk(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, small=False)
    expect(page.get_by_test_id("level")).to_be_visible()
    expect(page.get_by_test_id("options").locator("summary").first).to_be_hidden()
    box = page.get_by_test_id("headline").first.bounding_box()
    assert box is not None
    assert box["y"] <= 400
    page.set_viewport_size(SMALL)  # what was open stays so
    expect(page.get_by_test_id("level")).to_be_visible()


@pytest.mark.parametrize("small", [True, False], ids=["phone", "desk"])
def test_no_label_of_a_chart_covers_another(browser: Browser, served: Served, small: bool) -> None:
    visit = Visit(browser, phone=small)
    page = dashboard(visit, served, small=small)
    page.get_by_test_id("sure").locator("summary").first.click()
    assert drawn(page) >= 9
    assert labels_that_collide(page) == []
    check_width(page)
    visit.close()


def test_a_collision_would_be_noticed(visit: Visit, served: Served) -> None:
    """The twin of the test above: one label is moved onto another, one out of its chart."""
    page = dashboard(visit, served, small=False)
    drawn(page)
    page.evaluate("""() => {
        const axes = [...document.querySelectorAll('.vega svg .role-axis-label')];
        const [one, two, three] = axes.find((axis) => axis.children.length > 2).querySelectorAll('text');
        two.setAttribute('transform', one.getAttribute('transform'));
        three.setAttribute('transform', 'translate(-900, 0)');
    }""")
    found = labels_that_collide(page)
    assert any(" and " in one for one in found)
    assert any("is cut off" in one for one in found)


def test_tooltips_of_dates_and_times_have_dates_and_times(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, small=False)
    estimates = served.client.get(f"/plans/{PLAN.id}/estimates").json()["estimates"]
    tip = page.locator("#vg-tooltip-element")
    for name, form, epoch in (("born", r"\d{4}-\d{2}-\d{2}", True), ("up", r"\d{2}:\d{2}", False)):
        section = page.locator(f'[data-testid="attribute"][data-attribute="{name}"]')
        scrolled(section)
        dot = section.get_by_test_id("mean").locator("svg [aria-roledescription=point]")
        expect(dot).to_have_count(1, timeout=30_000)
        dot.hover(force=True)
        expect(tip).to_contain_text("estimate")
        told = re.findall(form, tip.text_content() or "")
        assert len(told) == 3, tip.text_content()
        (mean,) = [row for row in estimates if row["attribute"] == name and row["category"] is None]
        if epoch:
            days = [(date.fromisoformat(text) - date(1970, 1, 1)).days for text in told]
        else:
            days = [60 * int(text[:2]) + int(text[3:]) for text in told]
        assert all(abs(found - mean[key]) <= 1 for found, key in zip(days, ("point", "low", "high"), strict=True))
    relation = page.locator('[data-relation="means|born|way to work"]')
    scrolled(relation)
    dots = relation.locator("svg [aria-roledescription=point]")
    expect(dots).to_have_count(len(WAYS), timeout=30_000)
    dots.first.hover(force=True)
    expect(tip).to_contain_text(re.compile(r"\d{4}-\d{2}-\d{2}"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pictures_of_a_report_can_be_read_on_a_phone(browser: Browser, served: Served, language: str) -> None:
    """Long names of categories, dates and large numbers, on a phone and on a desk."""
    parts = ("1971", "5", "6") if language == "zh" else ("6", "5", "1971")
    for small in (True, False):
        visit = Visit(browser, phone=small)
        page = visit.context.new_page()
        if small:
            page.set_viewport_size(SMALL)
        page.goto(f"{served.url}/?plan={ALL.id}&lang={language}")
        page.get_by_test_id("form").wait_for()
        for _ in range(len(SCHEMA.names) if small else 1):
            for field in page.locator(".field:visible").all():
                name = field.get_attribute("data-attribute")
                if name in ("smoker", "way to work", "education"):
                    field.locator("input").last.check()
                elif name == "up":
                    field.locator("input[type=time]").fill("07:30")
                elif name == "income":
                    field.locator("input").fill("1999000")
                elif field.locator("input[type=date]").count():
                    field.locator("input[type=date]").fill("1971-05-06")
                else:
                    for part, value in zip(field.locator("input, select").all(), parts, strict=True):
                        part.select_option(value) if part.evaluate("one => one.tagName") == "SELECT" else part.fill(
                            value
                        )
            page.locator("button[type=submit]").click()
        page.get_by_test_id("example").wait_for()
        expect(page.locator("svg.profile")).to_have_count(len(SCHEMA.names))
        assert labels_that_collide(page) == []
        assert page.locator("svg.profile text", has_text="…").count() <= 4
        check_accessible(page)
        check_width(page)
        visit.close()
