"""The browser's "back" leads to the step before, and leads out of the survey only from its first step, or its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from tests.browser.forms import EVERYTHING, PLANS
from tests.browser.surveys import AGE, CHECK, SEND
from tests.browser.test_embedding import hosting, own_icon, site_in
from tests.browser.visits import Visit
from tests.collector.served import Served, anybody, serving

FOUR = hush.design(hush.Schema([hush.Boolean(f"question {i}") for i in range(4)]), 4.0, title="Four", k=4)
BEFORE = "data:text/html,<title>Before</title>"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("steps"), anybody(), plans=(*PLANS, FOUR), trainings={}) as found:
        yield found


def entered(visit: Visit, served: Served, address: str) -> tuple[Page, int]:
    """Come from another page, and return how many entries the history then has."""
    page = visit.open(BEFORE)
    page.goto(f"{served.url}{address}")
    page.get_by_test_id("form").wait_for()
    length: int = page.evaluate("history.length")
    return page, length


def steps_back(page: Page, number: int = 1) -> None:
    for _ in range(number):
        page.evaluate("history.back()")


def test_back_goes_through_the_questions(browser: Browser, served: Served) -> None:
    """On a phone every question is a step."""
    visit = Visit(browser, phone=True)
    page, length = entered(visit, served, f"/?plan={EVERYTHING.id}")
    progress = page.get_by_test_id("progress")
    age = page.get_by_label("age", exact=True)
    age.fill("41")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(progress).to_contain_text("2 of 6")
    page.get_by_label("bicycle").check()
    page.get_by_role("button", name="Next", exact=True).click()
    expect(progress).to_contain_text("3 of 6")
    steps_back(page)
    expect(progress).to_contain_text("2 of 6")
    expect(page.get_by_label("bicycle")).to_be_checked()
    steps_back(page)
    expect(age).to_have_value("41")
    page.evaluate("history.forward()")
    expect(progress).to_contain_text("2 of 6")
    # The form's own button is the same step.
    page.get_by_role("button", name="Back", exact=True).click()
    expect(progress).to_contain_text("1 of 6")
    # Loaded again it begins anew, and one step leads out.
    page.get_by_role("button", name="Next", exact=True).click()
    page.reload()
    page.get_by_test_id("form").wait_for()
    expect(progress).to_contain_text("1 of 6")
    expect(age).to_have_value("")
    steps_back(page)
    expect(page).to_have_title("Before")
    assert page.evaluate("history.length") >= length
    assert not visit.posts
    visit.close()


def test_back_from_the_review_and_from_the_end(visit: Visit, served: Served) -> None:
    """At the end no way leads back to the answers, and the history has one entry more, whatever the steps were."""
    page, length = entered(visit, served, f"/?plan={AGE.id}")
    age = page.get_by_label("age", exact=True)
    for way in ("history.back()", "document.querySelectorAll('.actions button')[1].click()"):
        age.fill("41")
        page.get_by_role("button", name=CHECK).click()
        expect(page.get_by_test_id("answers")).to_be_visible()
        page.evaluate(way)
        expect(age).to_have_value("41")
        expect(page.get_by_test_id("answers")).to_have_count(0)
    # Forward again to the review, but not with an answer that is none.
    page.evaluate("history.forward()")
    expect(page.get_by_test_id("answers")).to_be_visible()
    steps_back(page)
    age.fill("4000")
    page.evaluate("history.forward()")
    expect(age).to_be_focused()
    age.fill("42")
    page.get_by_role("button", name=CHECK).click()
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("done").wait_for()
    assert page.evaluate("history.length") == length + 1
    steps_back(page)
    expect(page).to_have_title("Before")
    visit.close()


def test_the_end_of_many_steps_is_one_entry(browser: Browser, served: Served) -> None:
    """What follows in the tab does not learn how many questions there were."""
    visit = Visit(browser, phone=True)
    page, length = entered(visit, served, f"/?plan={FOUR.id}")
    for number in range(4):
        expect(page.get_by_test_id("progress")).to_contain_text(f"{number + 1} of 4")
        page.locator("input[type=radio]:visible").first.check()
        page.locator("button[type=submit]").click()
    expect(page.get_by_test_id("answers")).to_be_visible()
    assert page.evaluate("history.length") == length + 4
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("done").wait_for()
    page.wait_for_function(f"history.length === {length + 1}")
    steps_back(page)
    expect(page).to_have_title("Before")
    visit.close()


def test_a_link_within_the_page_is_no_step(visit: Visit, served: Served) -> None:
    page, _ = entered(visit, served, f"/?plan={AGE.id}")
    page.get_by_label("age", exact=True).fill("41")
    page.evaluate("location.hash = 'main'")
    expect(page.get_by_label("age", exact=True)).to_have_value("41")
    page.get_by_role("button", name=CHECK).click()
    expect(page.get_by_test_id("answers")).to_be_visible()
    steps_back(page)
    expect(page.get_by_label("age", exact=True)).to_have_value("41")


def test_in_a_frame_nothing_is_added(visit: Visit, tmp_path: Path) -> None:
    """The site around the form counts the entries of the tab."""
    site = site_in(tmp_path)
    with hosting(site) as origin:
        settings = anybody(embed=frozenset({origin}))
        with serving(tmp_path, settings, plans=(AGE,), trainings={}) as served:
            visit.missing = own_icon(origin)
            address = f"{served.url}/?plan={AGE.id}&amp;embedder={origin}"
            text = f"<!doctype html><title>Site</title><iframe src='{address}' width=600 height=900></iframe>"
            (site / "index.html").write_text(text, encoding="utf-8")
            page = visit.open(origin)
            frame = page.frame_locator("iframe")
            frame.get_by_label("age", exact=True).fill("41")
            length = page.evaluate("history.length")
            for _ in range(2):
                frame.get_by_role("button", name=CHECK).click()
                expect(frame.get_by_test_id("answers")).to_be_visible()
                frame.get_by_role("button", name="Change my answers").click()
                expect(frame.get_by_label("age", exact=True)).to_have_value("41")
            frame.get_by_role("button", name=CHECK).click()
            frame.get_by_role("button", name=SEND).click()
            frame.get_by_test_id("done").wait_for()
            assert page.evaluate("history.length") == length
