"""Relations on the dashboard, in a real browser: tables, means by group, associations and quantiles, as they change."""

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
from tests import relating
from tests.browser.dashboards import QUICK, downloaded
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import Served, anybody, serving
from tests.relating import PLAN

BANDED = hush.design(  # a number in bands alone, and names that could be read as HTML
    hush.Schema([hush.Numeric("<b>n</b>", 0, 10), hush.Categorical("c", ["<img src=x onerror=alert(1)>", "b"])]),
    4.0,
    title="bands alone",
    relations=[("<b>n</b>", "c", "table")],
    bands={"<b>n</b>": [2, 5]},
    singles=0,
)
MANY = hush.design(
    hush.Schema([hush.Categorical(f"c{i}", ["a", "b"]) for i in range(6)]), 4.0, title="many", relations="all"
)


def count(served: Served, tally: hush.Tally, number: int) -> None:
    head = {"content-type": formats.TALLY, "hush-batch": f"{number:032x}"}
    assert served.client.post(served.path("tally", tally.plan), content=tally.encode(), headers=head).status_code == 202


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("relations"), QUICK, plans=(PLAN, BANDED, MANY), trainings={}) as found:
        count(found, relating.tally(), 1)
        banded = hush.Tally(BANDED)
        banded.update(hush.randomise(BANDED, {"<b>n</b>": 4.0, "c": "b"}) for _ in range(400))
        count(found, banded, 2)
        assert found.client.get("/pages/vega.js", timeout=120).status_code == 200
        yield found


def dashboard(visit: Visit, served: Served, plan: hush.Plan = PLAN) -> Page:
    page = visit.open(f"{served.url}/dashboard?plan={plan.id}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    return page


def relation(page: Page, kind: str, attribute: str, by: str = "") -> Locator:
    """Return the part of a relation, in sight."""
    found = page.locator(f'[data-relation="{kind}|{attribute}|{by}"]')
    scrolled(found)
    return found


def numbers(block: Locator) -> list[list[str]]:
    """Return the table that a reader can save."""
    found = downloaded(block.page, block.get_by_test_id("download-csv"))
    return list(csv.reader(io.StringIO(found)))[1:]


def test_a_table_is_a_heat_map(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = relation(page, "table", "education", "children")
    cells = block.locator("svg [aria-roledescription='rect mark']")
    expect(cells).to_have_count(9, timeout=30_000)
    rows = hush.crosstab(relating.tally(), "education", "children", simultaneous=True)
    assert [[float(cell) for cell in line[2:]] for line in numbers(block)] == [[r.point, r.low, r.high] for r in rows]
    texts = block.locator("svg text").all_text_contents()
    assert sum(text.startswith("±") for text in texts) == 9, "every cell has its margin"
    block.get_by_test_id("parts").select_option("rows")
    of_rows = hush.crosstab(relating.tally(), "education", "children", shares="rows", simultaneous=True)
    first = block.locator("tbody tr").first.locator("td").nth(1)
    expect(first).to_contain_text(f"{100 * of_rows[0].point:.0f}"[:1])
    expect(block.get_by_test_id("note")).to_contain_text("answers")
    assert [float(line[2]) for line in numbers(block)] == [row.point for row in of_rows]
    assert "±" in downloaded(page, block.get_by_test_id("download-svg"), "education-by-children-95.svg")


def test_means_by_group_and_their_differences(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = relation(page, "means", "hours", "age")
    dots = block.locator("svg [aria-roledescription=point]")
    expect(dots).to_have_count(4, timeout=30_000)
    rows = hush.means(relating.tally(), "hours", by="age", simultaneous=True)
    assert [(line[0], float(line[1])) for line in numbers(block)] == [(row.group, row.point) for row in rows]
    block.get_by_test_id("what").select_option("differences")
    expect(dots).to_have_count(6)
    expect(block.get_by_test_id("note")).to_contain_text("does not contain 0")
    found = [(line[0].removeprefix("'"), float(line[1])) for line in numbers(block)]
    assert found == [(row.group, row.point) for row in rows.differences()]


def test_associations_and_quantiles(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = relation(page, "association", "age", "hours")
    expect(block.locator("svg")).to_be_visible(timeout=30_000)
    (line,) = numbers(block)
    assert float(line[1]) == hush.association(relating.tally(), "age", "hours")[0].point
    block = relation(page, "range", "age")
    expect(block.locator("svg [aria-roledescription=point]")).to_have_count(5, timeout=30_000)
    rows = hush.quantiles(relating.tally(), "age")
    assert [[float(cell) for cell in line] for line in numbers(block)] == [
        [row.share, row.point, row.low, row.high] for row in rows
    ]


def test_another_level_and_new_reports_are_followed(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served)
    block = relation(page, "means", "hours", "education")
    block.locator("tbody tr").first.wait_for()
    page.get_by_test_id("level").select_option("0.99")
    expect(block.locator("caption")).to_contain_text("99 % intervals")
    tally = served.tally(PLAN)
    wide = hush.means(tally, "hours", by="education", level=0.99, simultaneous=True)
    assert [float(line[2]) for line in numbers(block)] == [row.low for row in wide]
    answers = wide[0].answers
    expect(block.get_by_test_id("note")).to_contain_text(f"From {answers:,} answers. All ")
    extra = relating.tally(400, seed=7)
    count(served, extra, 3)
    now = hush.means(tally + extra, "hours", by="education")[0].answers
    assert now > answers
    expect(block.get_by_test_id("note")).to_contain_text(f"From {now:,} answers. All ")


def test_nothing_is_shown_before_enough_have_answered(visit: Visit, tmp_path: Path) -> None:
    settings = anybody(stream_interval=0.1, reveal_least=20)
    with serving(tmp_path, settings, plans=(PLAN,), trainings={}) as served:
        count(served, relating.tally(19), 1)
        assert served.client.get("/pages/vega.js", timeout=120).status_code == 200
        page = dashboard(visit, served)
        for kind, attribute, by in relating.RELATIONS:
            block = relation(page, kind, attribute, by or "")
            expect(block.get_by_test_id("note")).to_have_text("Nobody has answered this yet.")
            expect(block.get_by_test_id("table")).to_be_hidden()
        page.close()  # before the collector, as it would try to connect again


def test_an_attribute_in_bands_alone_says_where_it_is(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, BANDED)
    part = page.locator('[data-testid="attribute"][data-attribute="<b>n</b>"]')
    scrolled(part)
    for name in ("mean", "distribution"):
        expect(part.get_by_test_id(name).get_by_test_id("note")).to_contain_text("see Relations")
    block = relation(page, "table", "<b>n</b>", "c")
    expect(block.locator("svg [aria-roledescription='rect mark']")).to_have_count(6, timeout=30_000)
    assert page.locator("main b, main img, main script").count() == 0


def test_a_plan_with_many_relations_is_shown_in_parts(visit: Visit, served: Served) -> None:
    page = dashboard(visit, served, MANY)
    blocks = page.locator("[data-relation]")
    expect(blocks).to_have_count(12)
    page.get_by_test_id("more-relations").click()
    expect(blocks).to_have_count(15)
    expect(page.get_by_test_id("more-relations")).to_be_hidden()


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_it_is_accessible(browser: Browser, served: Served, screens: Path, dark: bool, phone: bool) -> None:
    visit = Visit(browser, dark=dark, phone=phone)
    page = dashboard(visit, served)
    for kind, attribute, by in relating.RELATIONS:
        block = relation(page, kind, attribute, by or "")
        expect(block.locator("svg")).to_be_visible(timeout=30_000)
    check_accessible(page)
    check_width(page)
    expect(page.get_by_test_id("parts").get_by_role("link", name="Relations")).to_have_attribute("href", "#relations")
    relation(page, "table", "education", "children")
    page.screenshot(path=screens / f"relations-{'dark' if dark else 'light'}.png")
    visit.close()


def test_a_plan_without_relations_has_no_such_part(visit: Visit, tmp_path: Path) -> None:
    plain = hush.design(relating.SCHEMA, 1.0, title="plain")
    with serving(tmp_path, QUICK, plans=(plain,), trainings={}) as served:
        page = dashboard(visit, served, plain)
        expect(page.get_by_test_id("parts").get_by_role("link")).to_have_count(4)
        expect(page.get_by_test_id("relations")).to_have_count(0)
        page.close()
