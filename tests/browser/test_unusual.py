"""Legal but unusual plans in a real browser: the form in every language, and the dashboard with nobody, one and a few.

Nothing may be left empty, no page may complain, and no number may be written as NaN, -0 or with a power of ten.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Locator, Page, expect

import hush
from hush.collector import formats
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins
from tests.browser.visits import Visit, check_accessible, check_width
from tests.cli.test_surveys import answer
from tests.collector.served import Served, anybody, serving

KINDS = hush.Schema(
    [
        hush.Numeric("a number", -1, 1, "clip", optional=True),
        hush.Numeric("tiny", 0, 1e-7, optional=True),
        hush.Numeric("wide", 0, 1e12, scale="log"),
        hush.Integer("whole", -5, 5, optional=True),
        hush.Integer("large", 0, 10**6, optional=True),
        hush.Boolean("yes or no", optional=True),
        hush.Categorical("few", ["a", "b"], optional=True, other=True),
        hush.Categorical("codes", list(range(12)), optional=True),
        hush.Categorical("many", [f"value {i}" for i in range(60)], optional=True),
        hush.Choices("some", ["tv", "radio", "web"], 2, optional=True),
        hush.Date("born", "1920-01-01", "2020-12-31", "clip", optional=True),
        hush.Time("bed", "18:00", "06:00", optional=True),
        hush.Time("wake", step=900, optional=True),
    ]
)
TEXT = hush.Schema(
    [hush.Text("word", 6, "english", optional=True), hush.Text("code", 4, "0123456789"), hush.Integer("mood", 1, 5)]
)
PAIRS = hush.Schema(
    [
        hush.Numeric("x", -1, 1),
        hush.Integer("y", 0, 20, optional=True),
        hush.Date("day", "2024-01-01", "2024-12-31"),
        hush.Categorical("group", ["one", "two", "three"], optional=True),
        hush.Boolean("flag"),
    ]
)
PLANS = {
    "every kind": hush.design(KINDS, 1.0, title="every kind", choices="members"),
    "three answers": hush.design(KINDS, 8.0, title="three answers", k=3),
    "little privacy": hush.design(TEXT, 16.0, title="little privacy"),
    "much privacy": hush.design(hush.Schema(KINDS.attributes[:4]), 0.01, title="much privacy"),
    "relations": hush.design(
        PAIRS,
        2.0,
        title="relations",
        relations=[("x", "group"), ("group", "flag"), ("x", "y"), ("x", "y", "moments"), ("day", "group", "means")],
        bands={"y": [5, 10]},
        ranges=["y", "day"],
    ),
}
PEOPLE = {"nobody": 0, "one": 1, "a few": 40}
SEED = 23  # of the few people: the means of no group by "day" are known, some of those by "x"
LANGUAGES = ("en", "de", "fr", "es", "zh")
STRANGE = re.compile(
    r"NaN|Infinity|undefined|\[object|(?<![\d.,\w-])-0(?:[.,]0+)?(?![\d.,:-])|\d[.,]?\d*e[+-]?\d+|\{\w+\}"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("unusual")
    with serving(folder, anybody(stream_interval=0.1), plans=tuple(PLANS.values()), trainings={}) as found:
        assert found.client.get("/pages/vega.js", timeout=120).status_code == 200
        yield found


def check_words(page: Page, where: str) -> None:
    # The bytes of a report and the ids within it are letters and digits of any kind.
    text = page.evaluate(
        """() => {
            const copy = document.body.cloneNode(true);
            for (const part of copy.querySelectorAll("pre, code, [data-testid=bytes]")) part.remove();
            document.body.append(copy);
            const text = copy.innerText;
            copy.remove();
            return text;
        }"""
    )
    found = STRANGE.search(text)
    assert found is None, (where, text[max(0, found.start() - 60) : found.end() + 40])


def fill(field: Locator) -> None:
    """Answer a question in some way: the first choice, or a number in the middle; what may be empty stays so."""
    choices = field.locator("input[type=radio], input[type=checkbox]")
    if choices.count():
        choices.first.check(force=True)
    elif field.locator("select").count() == 1:
        field.locator("select").select_option(index=1)


@pytest.mark.parametrize("name", PLANS)
def test_the_form(name: str, browser: Browser, served: Served) -> None:
    plan = PLANS[name]
    for number, language in enumerate(LANGUAGES):
        visit = Visit(browser, phone=number % 2 == 1)
        page = visit.open(f"{served.url}/?plan={plan.id}&lang={language}&preview")
        page.get_by_test_id("form").wait_for()
        check_words(page, f"{name}, {language}: the questions")
        check_width(page)
        page.locator(".promise summary").first.click()
        check_words(page, f"{name}, {language}: the promise")
        for _ in range(20):
            for field in page.locator(".field:visible").all():
                fill(field)
            if page.locator(".field:visible input[aria-invalid]").count():
                break  # a number that is needed: what is said of it is enough
            page.locator("button[type=submit]").click()
            if page.get_by_test_id("answers").count():
                page.get_by_test_id("example").wait_for()
                for part in page.locator("main details").all():
                    part.evaluate("node => { node.open = true; }")
                check_words(page, f"{name}, {language}: the review")
                check_accessible(page)
                break
        assert not visit.posts
        visit.close()


@pytest.mark.parametrize("crowd", PEOPLE)
@pytest.mark.parametrize("name", PLANS)
def test_the_dashboard(name: str, crowd: str, visit: Visit, served: Served) -> None:
    plan, world, coins = PLANS[name], random.Random(SEED), SeededCoins(SEED)
    tally = hush.Tally(plan)
    for _ in range(PEOPLE[crowd]):
        record: dict[str, Any] = {field.name: answer(field, world) for field in plan.schema.attributes}
        tally.add(randomise_from(coins, plan, record))
    if (name, crowd) == ("relations", "a few"):  # what the seed is for
        assert all(math.isnan(row.point) for row in hush.means(tally, "day", by="group"))
        assert len({math.isnan(row.point) for row in hush.means(tally, "x", by="group")}) == 2
    if tally.reports:
        head = {"content-type": formats.TALLY, "hush-batch": f"{PEOPLE[crowd]:032x}"}
        sent = served.client.post(served.path("tally", plan), content=tally.encode(), headers=head)
        assert sent.status_code == 202
    page = visit.open(f"{served.url}/dashboard?plan={plan.id}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    page.evaluate("document.querySelectorAll('main details').forEach((part) => { part.open = true; })")
    for _ in range(2):
        for place in range(0, page.evaluate("document.body.scrollHeight"), 500):
            page.evaluate(f"scrollTo(0, {place})")
            page.wait_for_timeout(80)
    for note in page.get_by_test_id("note").all():
        note.scroll_into_view_if_needed() if note.is_visible() else None
        expect(note).not_to_have_text("Loading.", timeout=30_000)
    page.wait_for_timeout(300)
    check_words(page, f"{name}, {crowd}")
    for chart in page.locator(".vega svg").all():  # no picture is empty
        assert chart.locator("path, rect, text").count() > 3
    check_width(page)
    check_accessible(page)
