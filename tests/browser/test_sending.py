"""A report of the form is drawn once and sent once, whatever happens to the network, the tab or the survey."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, Route, expect

import hush
from hush.collector.http.security import hashed
from tests.browser import walks
from tests.browser.forms import EVERYTHING, PLANS, form
from tests.browser.surveys import (
    AGE,
    CHECK,
    RECORD,
    SEND,
    SURVEY,
    fill,
    kept_bytes,
    press_button,
    review,
    send,
    shown_bytes,
)
from tests.browser.visits import Visit, check_accessible
from tests.collector.served import Served, anybody, serving
from tests.web.replaying import WEB


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, anybody(stream_interval=0.05), plans=PLANS, trainings={}) as found:
        yield found


def offline(visit: Visit, page: Page) -> bytes:
    """Commit the answers while the collector cannot be reached, and return the report that was drawn."""
    visit.context.set_offline(True)
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for()
    drawn = kept_bytes(page, SURVEY)
    assert len(drawn) > 20
    return drawn


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "zh"])
def test_without_a_network_the_page_says_so_in_its_language(language: str, visit: Visit, served: Served) -> None:
    """It ended in "TypeError", the name of an error of JavaScript."""
    visit.allowed = ("ERR_INTERNET_DISCONNECTED",)
    words = json.loads((WEB / "pages" / f"words-{language}.json").read_text(encoding="utf-8"))
    page = visit.open(f"{served.url}/?plan={AGE.id}&lang={language}")
    page.get_by_label("age", exact=True).fill("41")
    page.get_by_role("button", name=words["check"]).click()
    visit.context.set_offline(True)
    page.get_by_role("button", name=words["send"]).click()
    page.get_by_test_id("waiting").wait_for()
    expect(page.get_by_role("status")).to_have_text(words["notArrived"].replace("{reason}", words["unreachable"]))


def test_a_server_that_is_busy_is_said_in_the_language_of_the_page(visit: Visit, served: Served) -> None:
    visit.allowed = ("status of 503",)
    words = json.loads((WEB / "pages" / "words-de.json").read_text(encoding="utf-8"))
    page = visit.open(f"{served.url}/?plan={AGE.id}&lang=de")
    page.get_by_label("age", exact=True).fill("41")
    page.get_by_role("button", name=words["check"]).click()
    visit.context.route(
        "**/reports", lambda route: route.fulfill(status=503, body="<html>", headers={"retry-after": "0"})
    )
    page.get_by_role("button", name=words["send"]).click()
    page.get_by_test_id("waiting").wait_for()
    expect(page.get_by_role("status")).to_have_text(words["notArrived"].replace("{reason}", words["busy"]))


def test_nothing_is_drawn_before_the_answers_are_final(visit: Visit, served: Served) -> None:
    """They may be changed until then; there is no report that could be liked or not."""
    page = form(visit, served, AGE)
    assert fill(page) == ["age"]
    for age in ("50", "41"):
        page.get_by_label("age", exact=True).fill(age)
        page.get_by_role("button", name=CHECK).click()
        expect(page.get_by_test_id("answers").locator("dd").first).to_have_text(age)
        assert kept_bytes(page, AGE) == b""
        page.get_by_role("button", name="Change my answers").click()
        expect(page.get_by_label("age", exact=True)).to_have_value(age)
    assert kept_bytes(page, AGE) == b""
    assert not visit.posts


def about(report: bytes) -> list[str]:
    """Return the attributes that a report to the survey is about."""
    ((index, _),) = hush.Report.decode(SURVEY, report).answers
    return list(SURVEY.questions[index].attributes)


def test_only_the_drawn_question_is_asked_and_reported(visit: Visit, served: Served) -> None:
    """It stays that one in other tabs, after a reload, for the examples, and if all questions are answered.

    A page that draws anew would pass with probability 6^-10, about 1 in 60 million.
    """
    page = form(visit, served)
    asked = fill(page)
    assert len(asked) == 1
    expect(page.locator(".promise")).to_contain_text(
        "This device has drawn this question of the 6 for you by chance, before you answer."
    )
    for tab in (form(visit, served), page):
        tab.reload()
        tab.get_by_test_id("form").wait_for()
        expect(tab.locator(".field:visible")).to_have_count(1)
        expect(tab.locator(".field:visible")).to_have_attribute("data-attribute", asked[0])
    assert fill(page, whole=True) == list(RECORD)
    review(page)
    expect(page.get_by_test_id("answers").locator("dt")).to_have_text(list(RECORD))
    for _ in range(7):
        assert about(shown_bytes(page, "example")) == asked
        page.get_by_role("button", name="Draw another example").click()
    page.get_by_role("button", name="Change my answers").click()
    page.get_by_test_id("whole").get_by_role("checkbox").uncheck()
    expect(page.locator(".field:visible")).to_have_count(1)
    page.get_by_role("button", name=CHECK).click()
    expect(page.get_by_test_id("answers").locator("dt")).to_have_text(asked)
    send(page)
    assert about(shown_bytes(page)) == asked
    assert served.tally(SURVEY).reports == 1


def test_once_it_is_drawn_it_is_that_one_and_it_is_not_shown(visit: Visit, served: Served) -> None:
    """Reload, go away and back, answer in a tab that was open before, and in a new one: it is seen when it is sent."""
    visit.allowed = ("ERR_FAILED",)
    early, page = form(visit, served), form(visit, served)
    fill(page)
    review(page)
    visit.context.route("**/reports", lambda route: route.abort())
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for()
    drawn = kept_bytes(page, SURVEY)

    def check(tab: Page) -> None:
        tab.get_by_test_id("waiting").wait_for()
        expect(tab.get_by_test_id("bytes")).to_have_count(0)
        expect(tab.get_by_role("main").get_by_role("button")).to_have_text(["Send it again"])
        assert kept_bytes(tab, SURVEY) == drawn

    check(page)
    page.reload()
    check(page)
    page.goto(f"{served.url}/explanation")
    page.go_back()
    check(page)
    check(form(visit, served))
    early.bring_to_front()
    fill(early)
    review(early)
    press_button(early, SEND)
    expect(early.get_by_role("status")).to_contain_text("The answers from this page were not used.")
    check(early)
    visit.context.unroute("**/reports")
    page.bring_to_front()
    page.get_by_role("button", name="Send it again").click()
    page.get_by_test_id("done").wait_for()
    assert shown_bytes(page) == drawn
    assert {post.body for post in visit.posts} == {drawn}
    assert served.tally(SURVEY).reports == 1


def test_a_report_of_another_tab_is_not_explained_as_ones_own(visit: Visit, served: Served) -> None:
    page, other = form(visit, served), form(visit, served)
    other.bring_to_front()
    fill(other)
    review(other)
    send(other)
    page.bring_to_front()
    fill(page)
    review(page)
    send(page)
    expect(page.get_by_role("status")).to_contain_text("This browser has answered this survey before.")
    assert page.locator(".says").count() == 0
    assert shown_bytes(page) == shown_bytes(other)
    assert len({post.body for post in visit.posts}) == 1


def test_a_report_that_was_drawn_and_not_sent_can_only_be_sent(visit: Visit, served: Served) -> None:
    """The browser ended between two steps: the page offers to send, shows nothing, and asks nothing anew."""
    page = form(visit, served)
    page.get_by_test_id("form").wait_for()
    page.evaluate(
        """async ([id, record]) => {
            const { Client, Ledger } = await import("/pages/hush.js");
            const client = new Client(location.origin, { ledger: await Ledger.open(), tickets: false });
            await client.prepare(await client.plan(id), record);
        }""",
        [SURVEY.id, RECORD],
    )
    drawn = kept_bytes(page, SURVEY)
    page.reload()
    expect(page.get_by_role("heading", name="A report of yours is ready")).to_be_focused()
    check_accessible(page)
    expect(page.get_by_test_id("bytes")).to_have_count(0)
    expect(page.get_by_role("main").get_by_role("button")).to_have_text(["Send my report"])
    assert not visit.posts
    page.get_by_role("button", name="Send my report").click()
    page.get_by_test_id("done").wait_for()
    assert [post.body for post in visit.posts] == [drawn]


def test_nothing_about_the_answers_stays_once_it_is_sent(visit: Visit, served: Served) -> None:
    visit.allowed = ("ERR_INTERNET_DISCONNECTED",)
    page = form(visit, served)
    fill(page, whole=True)
    review(page)
    offline(visit, page)
    content = page.content()
    assert "bicycle" not in content
    assert "31415" not in content
    kept = page.evaluate(
        """async () => {
            const open = indexedDB.open("hush ledger");
            const db = await new Promise((done) => (open.onsuccess = () => done(open.result)));
            const all = [];
            for (const name of db.objectStoreNames) {
                const request = db.transaction(name).objectStore(name).getAll();
                all.push(await new Promise((done) => (request.onsuccess = () => done(request.result))));
            }
            return JSON.stringify([all, {...localStorage}, {...sessionStorage}]);
        }"""
    )
    assert SURVEY.id in kept
    for value in ("bicycle", "31415", "region C", "town 47"):
        assert value not in kept


def test_links_may_carry_more_and_tokens_do_not_stay(visit: Visit, tmp_path: Path) -> None:
    settings = anybody(tokens={"submit": frozenset([hashed("for people")])})
    with serving(tmp_path, settings, plans=(SURVEY,), trainings={}) as served:
        page = visit.open(f"{served.url}/?plan={SURVEY.id}&campaign=1#token=for%20people")
        fill(page)
        review(page)
        assert "people" not in page.url
        send(page)
        assert served.tally(SURVEY).reports == 1
        assert not any("people" in asked.url for asked in visit.asked)


def test_a_closed_survey_says_so(visit: Visit, served: Served) -> None:
    visit.allowed = ("status of 409",)
    page = form(visit, served)
    fill(page)
    review(page)
    served.store.close_plan(SURVEY.id)
    press_button(page, SEND)
    page.get_by_test_id("late").wait_for()
    assert served.tally(SURVEY).reports == 0
    expect(page.locator("[data-theme-toggle]")).to_be_enabled()
    check_accessible(page)


def test_a_closed_survey_does_not_deny_what_may_have_been_counted(visit: Visit, served: Served) -> None:
    """The report is counted, nobody hears of it, and the survey is closed: the page cannot know."""
    visit.allowed = ("status of 409", "ERR_FAILED")
    page = form(visit, served)
    fill(page)
    review(page)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/reports", lose)
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for(timeout=30_000)
    page.unroute("**/reports")
    served.store.close_plan(SURVEY.id)
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_test_id("late")).to_contain_text("if it arrived then, it was counted")
    assert served.tally(SURVEY).reports == 1


def test_drawing_for_show_draws_nothing_for_good_and_sends_nothing(visit: Visit, served: Served) -> None:
    page = form(visit, served, EVERYTHING)
    fill(page)
    review(page)
    examples = {shown_bytes(page, "example")}
    for _ in range(7):
        page.get_by_role("button", name="Draw another example").click()
        examples.add(shown_bytes(page, "example"))
    assert len(examples) == 8  # six answers with thousands of outcomes: two alike are a false alarm in 10^6 at most
    assert kept_bytes(page, EVERYTHING) == b""
    assert not visit.posts
    send(page)
    sent = shown_bytes(page)
    assert [post.body for post in visit.posts] == [sent]
    assert sent not in examples


def test_offline_then_online_the_same_report_counted_once(visit: Visit, served: Served) -> None:
    visit.allowed = ("ERR_INTERNET_DISCONNECTED",)
    page = form(visit, served)
    fill(page)
    review(page)
    drawn = offline(visit, page)
    expect(page.get_by_role("status")).to_contain_text("has not arrived")
    expect(page.get_by_test_id("bytes")).to_have_count(0)
    check_accessible(page)
    assert served.tally(SURVEY).reports == 0
    visit.context.set_offline(False)  # the page hears of it, and sends
    page.get_by_test_id("done").wait_for()
    assert served.tally(SURVEY).reports == 1
    assert {post.body for post in visit.posts} == {drawn}
    assert shown_bytes(page) == drawn


@pytest.mark.parametrize("refused", [False, True])
def test_a_report_that_waits_is_sent_by_itself(visit: Visit, served: Served, refused: bool) -> None:
    """Where the collector may be back after a while; a report that it refused is not sent again unasked."""
    visit.allowed = ("status of 503", "status of 403")
    page = visit.context.new_page()
    page.clock.install()
    page.goto(f"{served.url}/?plan={SURVEY.id}")
    fill(page)
    review(page)
    page.route("**/reports", lambda route: route.fulfill(status=403 if refused else 503))
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for()
    page.unroute("**/reports")
    page.clock.fast_forward(31_000)
    if refused:
        page.get_by_role("button", name="Send it again").click()
    page.get_by_test_id("done").wait_for()
    assert len(visit.posts) == (2 if refused else 4)
    assert {post.body for post in visit.posts} == {shown_bytes(page)}


def test_an_answer_that_is_lost_is_asked_for_again(visit: Visit, served: Served) -> None:
    """The collector counts the report, but the browser never hears of it: a later visit sends it again by itself."""
    visit.allowed = ("ERR_FAILED",)
    page = form(visit, served)
    fill(page)
    review(page)

    def lose(route: Route) -> None:
        route.fetch()  # it arrives
        route.abort()  # and nobody hears of it

    page.route("**/reports", lose)
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for(timeout=30_000)
    assert served.tally(SURVEY).reports == 1
    page.close()
    page = form(visit, served)
    page.get_by_test_id("done").wait_for()
    assert {post.body for post in visit.posts} == {shown_bytes(page)}
    assert served.tally(SURVEY).reports == 1


def test_who_has_answered_is_told_so(visit: Visit, served: Served) -> None:
    page = form(visit, served)
    fill(page)
    review(page)
    send(page)
    sent = shown_bytes(page)
    for tab in (page, form(visit, served)):
        tab.reload()
        tab.get_by_test_id("done").wait_for()
        expect(tab.get_by_role("status")).to_have_text("This browser has sent its report to this survey already.")
        expect(tab.get_by_role("main").get_by_role("button")).to_have_count(0)
        assert shown_bytes(tab) == sent
        assert tab.locator(".says").count() == 0  # the answers are gone
    assert [post.body for post in visit.posts] == [sent]
    assert served.tally(SURVEY).reports == 1


@pytest.mark.parametrize("way", walks.WAYS)
def test_by_keyboard_in_the_dark_and_on_a_phone(browser: Browser, served: Served, way: str) -> None:
    """Answers are changed, the line is cut, the report waits and is sent again: the button has the focus each time."""
    with walks.walking(browser, way, "ERR_FAILED") as visit:
        page = walks.opened(visit, f"{served.url}/?plan={AGE.id}")
        assert walks.fill(page, {"age": 50}) == ["age"]
        press_button(page, "Change my answers")
        expect(page.get_by_label("age", exact=True)).to_be_focused()
        page.keyboard.press("Control+A")
        assert walks.fill(page, {"age": 41}) == ["age"]
        expect(page.get_by_test_id("answers").locator("dd")).to_have_text("41")
        walks.check_step(page)
        visit.context.route("**/reports", lambda route: route.abort())
        press_button(page, SEND)
        page.get_by_test_id("waiting").wait_for()
        walks.check_step(page)
        visit.context.unroute("**/reports")
        expect(page.get_by_role("button", name="Send it again")).to_be_focused()
        page.keyboard.press("Enter")
        page.get_by_test_id("done").wait_for()
        walks.check_step(page)
        assert {post.body for post in visit.posts} == {shown_bytes(page)}
    assert served.tally(AGE).reports == 1
