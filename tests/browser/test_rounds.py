"""Two rounds in a real browser: the pilot's address leads everybody to one of its two plans, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from tests.browser import walks
from tests.browser.surveys import CHECK, SEND, shown_bytes
from tests.browser.visits import Visit, check_accessible
from tests.collector.pilots import FIRST, PILOT, answers, commit, narrowing, second_of
from tests.collector.served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with narrowing(tmp_path) as found:
        yield found


def end_pilot(served: Served) -> hush.Plan:
    """Let the people of the pilot answer, and return the plan that follows it."""
    commit(served.store, answers(FIRST, 1))
    return second_of(served)


def fill(page: Page, income: str = "30000") -> None:
    page.get_by_label("income").fill(income)
    page.get_by_label("south").check()
    page.get_by_role("button", name=CHECK).click()


def send(page: Page) -> None:
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("done").wait_for()


def thanked(page: Page, plan: hush.Plan) -> bytes:
    """Return the report that a page shows to a person who is not asked again, checked."""
    expect(page.get_by_role("heading", name="You have answered", exact=True)).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("This browser has sent its report to this survey already.")
    expect(page.get_by_test_id("form")).to_have_count(0)
    hush.Report.decode(plan, found := shown_bytes(page))
    return found


def counts(served: Served, *plans: hush.Plan) -> list[int]:
    return [served.tally(plan).reports for plan in plans]


def test_a_person_who_answered_the_pilot_is_thanked_and_never_asked_again(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PILOT.id}")
    expect(page.locator("#attribute-0-hint")).to_have_text("a number from 0 to 10,000,000")
    fill(page)
    send(page)
    sent = shown_bytes(page)
    second = end_pilot(served)
    for address in (f"/?plan={PILOT.id}", f"/?plan={second.id}", "/"):
        assert thanked(visit.open(served.url + address), PILOT) == sent
    assert len(visit.posts) == 1
    assert counts(served, PILOT, second) == [FIRST + 1, 0]


def test_a_person_who_has_not_answered_is_led_to_the_second_plan(visit: Visit, served: Served) -> None:
    second = end_pilot(served)
    income = second.schema["income"]
    assert isinstance(income, hush.Numeric)
    for address in ("/", f"/?plan={second.id}", f"/?plan={PILOT.id}"):  # the last one is filled in
        page = visit.open(served.url + address)
        hint = f"a number from 0 to {income.high:,.0f}; lower or higher numbers count as these"
        expect(page.locator("#attribute-0-hint")).to_have_text(hint)
        expect(page.get_by_role("link", name="Results")).to_have_attribute("href", f"/dashboard?plan={second.id}")
    fill(page, "9000000")
    send(page)
    sent = shown_bytes(page)
    assert [post.path for post in visit.posts] == [f"/plans/{second.id}/reports"]
    for address in (f"/?plan={PILOT.id}", f"/?plan={second.id}", "/"):
        assert thanked(visit.open(served.url + address), second) == sent
    assert counts(served, PILOT, second) == [FIRST, 1]


def test_a_page_that_was_open_at_the_end_of_the_pilot_still_counts(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PILOT.id}")
    fill(page)
    second = end_pilot(served)
    send(page)
    assert counts(served, PILOT, second) == [FIRST + 1, 0]
    thanked(visit.open(f"{served.url}/?plan={second.id}"), PILOT)


def test_a_browser_that_was_asked_by_the_pilot_answers_the_pilot(visit: Visit, served: Served) -> None:
    """Its question was drawn, so a tab that is opened after the end of the pilot shows the same; one of them draws."""
    early = visit.open(f"{served.url}/?plan={PILOT.id}")
    fill(early)
    second = end_pilot(served)
    late = visit.open(f"{served.url}/?plan={second.id}")
    fill(late)
    send(early)
    send(late)
    expect(late.get_by_role("status")).to_contain_text("The answers from this page were not used.")
    assert counts(served, PILOT, second) == [FIRST + 1, 0]


def test_a_report_that_was_drawn_in_the_pilot_and_did_not_arrive_is_sent_to_the_pilot(
    visit: Visit, served: Served
) -> None:
    visit.allowed = ("Failed to load resource",)
    page = visit.open(f"{served.url}/?plan={PILOT.id}")
    fill(page)
    visit.context.route("**/reports", lambda route: route.abort())
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("waiting").wait_for()
    second = end_pilot(served)
    visit.context.unroute("**/reports")
    page = visit.open(f"{served.url}/?plan={PILOT.id}")
    page.get_by_test_id("done").wait_for()
    assert counts(served, PILOT, second) == [FIRST + 1, 0]


def test_a_collector_that_names_a_stranger_is_not_believed(visit: Visit, served: Served) -> None:
    stranger = hush.design(hush.Schema([hush.Numeric("weight", 0, 200)]), 8.0, after=PILOT)
    answer = {"plan": stranger.id}
    visit.context.route("**/current", lambda route: route.fulfill(json=answer))
    visit.context.route(f"**/plans/{stranger.id}", lambda route: route.fulfill(body=stranger.to_json()))
    page = visit.open(f"{served.url}/?plan={PILOT.id}")
    told = "The questions cannot be shown: this plan must be the pilot's, narrowed."
    expect(page.get_by_role("status")).to_have_text(told)
    expect(page.get_by_test_id("form")).to_have_count(0)


def test_the_dashboard_leads_from_one_plan_to_the_other(visit: Visit, browser: Browser, served: Served) -> None:
    page = visit.open(f"{served.url}/dashboard?plan={PILOT.id}")
    expect(page.get_by_test_id("report-count")).to_have_text("0")
    expect(page.get_by_test_id("rounds")).to_be_hidden()
    second = end_pilot(served)
    expect(page.get_by_test_id("rounds")).to_contain_text("This pilot is over.")
    expect(page.get_by_test_id("report-count")).to_have_text(str(FIRST))
    check_accessible(page)
    page.get_by_role("link", name="the plan that follows").click()
    expect(page).to_have_url(f"{served.url}/dashboard?plan={second.id}")
    expect(page.get_by_test_id("rounds")).to_contain_text("This plan follows a pilot")
    check_accessible(page)
    page.get_by_text("All 2 collections").click()
    told = page.get_by_test_id("collections").locator("li").all_text_contents()
    assert told == [f"incomes {FIRST} reports, pilot", "incomes 0 reports, follows a pilot"]
    for way in ("dark", "phone"):
        with walks.walking(browser, way) as other:
            small = walks.opened(other, f"{served.url}/dashboard?plan={PILOT.id}")
            expect(small.get_by_test_id("rounds")).to_be_visible(timeout=60_000)
            walks.check_step(small)
            small.close()  # before the collector ends
    page.get_by_role("link", name="a pilot", exact=True).click()
    expect(page).to_have_url(f"{served.url}/dashboard?plan={PILOT.id}")
    page.close()  # before the collector ends


@pytest.mark.parametrize("way", walks.WAYS)
def test_by_keyboard_in_the_dark_and_on_a_phone(browser: Browser, served: Served, way: str) -> None:
    """Somebody answers the pilot, and is thanked at the address of the plan that follows."""
    with walks.walking(browser, way) as visit:
        page = walks.opened(visit, f"{served.url}/?plan={PILOT.id}")
        assert walks.fill(page, {"income": 30000, "region": 1}) == ["income", "region"]
        walks.send(page)
        sent = shown_bytes(page)
        second = end_pilot(served)
        later = walks.opened(visit, f"{served.url}/?plan={second.id}")
        assert thanked(later, PILOT) == sent
        walks.check_step(later)
