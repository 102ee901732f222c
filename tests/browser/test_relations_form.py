"""Plans with relations, in a real browser: each attribute is asked once, and each question says what it looks at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush.collector import formats
from tests.browser import walks
from tests.browser.surveys import CHECK, OFTEN, SEND, shown_bytes
from tests.browser.visits import Visit, check_accessible, scrolled
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Numeric("income", 0, 200_000, out_of_range="clip", optional=True),
        hush.Categorical("smoker", ["yes", "no"]),
        hush.Categorical("town", ["north", "south", "west"]),
    ]
)
RELATED = hush.design(
    SCHEMA,
    1.0,
    relations=[("age", "income"), ("age", "income", "moments"), ("smoker", "income"), ("smoker", "town")],
    bands={"age": [30, 60]},
    ranges={"age": 64},
    title="Relations",
)
APART = hush.design(
    hush.Schema([hush.Numeric("height", 0, 1), hush.Numeric("weight", 0, 1)]),
    1.0,
    relations=[("height", "weight")],
    singles=0,
    title="Sides only",
)
RECORD: dict[str, Any] = {"age": 41, "income": 31415, "smoker": "yes", "town": "west"}


def mostly(words: str) -> hush.Plan:
    """Return the plan as one that asks nearly everybody one question."""
    (asked,) = [index for index, question in enumerate(RELATED.questions) if question.words == words]
    weights = tuple(OFTEN if index == asked else 1 for index in range(len(RELATED.questions)))
    return replace(RELATED, weights=weights, title=words)


ASKED = {
    words: mostly(words)
    for words in (
        "age in 16 bands",
        "age and income: same side of 60 and 100000?",
        "age × income",
        "smoker, income",
        "smoker, town",
    )
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    plans = (RELATED, APART, *ASKED.values())
    folder = tmp_path_factory.mktemp("relations")
    with serving(folder, anybody(stream_interval=0.05), plans=plans, trainings={}) as found:
        for plan, record in ((RELATED, RECORD), (APART, {"height": 0.3, "weight": 0.8})):
            for _ in range(40):
                answer = found.post(plan, hush.randomise(plan, record).encode(), formats.REPORT)
                assert answer.status_code == 202
        yield found


def fill(page: Page) -> None:
    page.get_by_test_id("whole").get_by_role("checkbox").check()
    page.get_by_role("spinbutton", name="age").fill("41")
    page.get_by_role("spinbutton", name="income").fill("31415")
    page.get_by_label("yes").check()
    page.get_by_label("west").check()
    page.get_by_role("button", name=CHECK).click()
    page.get_by_test_id("example").wait_for()


def chance(plan: hush.Plan, index: int, output: Any, record: dict[str, Any]) -> float:
    """Return the exact probability of an output for a record."""
    channel = plan.questions[index].channel
    states = channel.rounding(plan.seen(index, plan.schema.encode(record)))
    return float(sum((weight * channel.law(state)[output] for state, weight in states.items()), Fraction(0)))


@pytest.mark.parametrize("words", ASKED)
def test_each_attribute_is_asked_once_and_the_report_explained(visit: Visit, served: Served, words: str) -> None:
    plan = ASKED[words]
    before = served.tally(plan).reports
    page = visit.open(f"{served.url}/?plan={plan.id}")
    expect(page.get_by_test_id("form").locator(".field, fieldset")).to_have_count(len(SCHEMA))
    told = f"has chosen 1 of {len(plan.questions)} questions for you at random"
    expect(page.locator(".promise")).to_contain_text(told)
    (asked,) = [question.attributes for question in plan.questions if question.words == words]
    shown = page.locator(".field:visible").evaluate_all("all => all.map(one => one.dataset.attribute)")
    assert sorted(shown) == sorted(asked)
    fill(page)
    expect(page.get_by_test_id("answers").locator("dt")).to_have_text(list(SCHEMA.names))
    check_accessible(page)
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("done").wait_for()
    ((index, output),) = hush.Report.decode(plan, shown_bytes(page)).answers
    said = "sides of age and income" if "same side" in words else words
    expect(page.locator(".asked")).to_have_text(re.compile(f"^This report is about (the )?{re.escape(said)} only\\.$"))
    says = page.locator(".says").all_text_contents()
    assert len(says) == len(plan.questions[index].attributes)
    exact = chance(plan, index, output, RECORD)
    for sentence in says:
        (own,) = re.findall(r"by you with probability ([\d.,]+)\u00a0%", sentence)
        assert float(own) / 100 == pytest.approx(exact, rel=0.05)  # two digits
    for number in re.findall(r"someone who answers ([\d.,]+) with probability ([\d.,]+)\u00a0%", says[0]):
        if "age" in plan.questions[index].attributes:
            value = chance(plan, index, output, RECORD | {"age": float(number[0])})
            assert float(number[1]) / 100 == pytest.approx(value, rel=0.05)
    check_accessible(page)
    assert served.tally(plan).reports == before + 1


def test_the_dashboard_says_who_is_asked_what(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/dashboard?plan={RELATED.id}")
    expect(page.get_by_test_id("report-count")).to_have_text("40")
    shares = {
        name: sum(
            (
                share
                for share, asked in zip(RELATED.inclusions, RELATED.questions, strict=True)
                if name in asked.attributes
            ),
            Fraction(0),
        )
        for name in SCHEMA.names
    }
    for name, share in shares.items():
        count = sum(name in question.attributes for question in RELATED.questions)
        section = page.locator(f'[data-testid="attribute"][data-attribute="{name}"]')
        told = section.locator("p").first.text_content() or ""
        (percent,) = re.findall(r"([\d.]+)\s% of people are asked, each in one of (?:\d+) questions", told)
        assert float(percent) == pytest.approx(100 * float(share), rel=6e-3)
        assert f"each in one of {count} questions, and an answer costs ε = 1 at most." in told
    page.get_by_test_id("sure").locator("summary").first.click()  # exact costs are folded
    table = page.get_by_test_id("privacy")
    scrolled(table)
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(len(RELATED.questions) + 1)
    expect(table.locator("tbody th")).to_have_text(["each person", *(question.words for question in RELATED.questions)])
    assert len({question.words for question in RELATED.questions}) == len(RELATED.questions)


def test_an_attribute_that_is_never_asked_as_it_is(visit: Visit, served: Served) -> None:
    """It has no mean and no distribution, and the page does not say that nobody has answered."""
    page = visit.open(f"{served.url}/dashboard?plan={APART.id}")
    expect(page.get_by_test_id("report-count")).to_have_text("40")
    section = page.locator('[data-testid="attribute"][data-attribute="height"]')
    for part in ("mean", "distribution"):
        block = section.get_by_test_id(part)
        scrolled(block)
        expect(block).to_contain_text("in bands or with another attribute only")
    expect(section).not_to_contain_text("Nobody has answered")
    answer = served.client.get(f"/plans/{APART.id}/distribution?attribute=height")
    assert answer.status_code == 200
    assert answer.json()["why"] == (
        "attribute 'height': the questions look at it in bands or together with others only"
    )


@pytest.mark.parametrize("way", walks.WAYS)
def test_by_keyboard_in_the_dark_and_on_a_phone(browser: Browser, served: Served, way: str) -> None:
    """A question about two attributes asks for both: together on a desk, one after the other on a phone."""
    plan = ASKED["smoker, town"]
    before = served.tally(plan).reports
    with walks.walking(browser, way) as visit:
        page = walks.opened(visit, f"{served.url}/?plan={plan.id}")
        expect(page.locator(".field:visible")).to_have_count(1 if visit.phone else 2)
        assert walks.fill(page, {"smoker": 0, "town": 2}) == ["smoker", "town"]
        expect(page.get_by_test_id("answers").locator("dd")).to_have_text(["yes", "west"])
        walks.send(page)
        expect(page.locator(".asked")).to_have_text("This report is about smoker, town only.")
    assert served.tally(plan).reports == before + 1
