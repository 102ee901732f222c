"""The form, in a real browser: filled in by keyboard, explained, sent once, and nothing but the report leaves."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, Route, expect

import hush
from hush.collector.http.security import hashed
from tests.browser.surveys import (
    AGE,
    BLOCKS,
    CHECK,
    DEAR,
    EVERYTHING,
    RECORD,
    SEND,
    SURVEY,
    WAY,
    fill,
    kept_bytes,
    press_button,
    review,
    send,
    shown_bytes,
)
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = pytest.importorskip("scipy.stats")

HARDLY = hush.design(hush.Schema([hush.Categorical("smoker", ["yes", "no"])]), 12.0, title="Hardly hidden")
PLANS = (SURVEY, AGE, WAY, EVERYTHING, DEAR, BLOCKS, HARDLY)
BROWSERS_OWN = {"user-agent", "accept-language", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform"}
LOADED = {
    "/pages/style.css",
    "/pages/form.css",
    "/pages/theme.js",
    "/pages/form.js",
    "/pages/hush.js",
    "/pages/icon.svg",
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, anybody(stream_interval=0.05), plans=PLANS, trainings={}) as found:
        yield found


def form(visit: Visit, served: Served, plan: hush.Plan = SURVEY) -> Page:
    return visit.open(f"{served.url}/?plan={plan.id}")


def test_filled_by_keyboard_explained_and_sent_once(visit: Visit, served: Served) -> None:
    """Exactly one report leaves, which is then shown, and of the record nothing does."""
    page = form(visit, served)
    assert fill(page, whole=True) == list(RECORD)
    review(page)
    assert not visit.posts
    expect(page.get_by_role("main")).to_contain_text("They stay on this device.")
    told = page.get_by_test_id("answers").locator("dd").all_text_contents()
    assert told == ["41", "bicycle", "31,415.92", "(I would rather not say)", "region C", "town 47"]
    press_button(page, SEND)
    expect(page.get_by_role("status")).to_have_text("Your report has arrived. Thank you.")
    expect(page.get_by_text("This report is about")).to_have_count(1)
    says = page.locator(".says").first.text_content()
    assert says is not None
    assert says.startswith("This very answer would be sent by someone")
    assert "by you with probability" in says
    assert [post.path for post in visit.posts] == [f"/plans/{SURVEY.id}/reports"]
    sent = shown_bytes(page)
    assert visit.posts[0].body == sent
    report = hush.Report.decode(SURVEY, sent)
    counted = served.tally(SURVEY)
    expected = hush.Tally(SURVEY)
    expected.add(report)
    assert counted == expected

    paths = [request.path for request in visit.asked]
    about = f"/plans/{SURVEY.id}"
    assert set(paths) == LOADED | {
        f"/?plan={SURVEY.id}",
        about,
        f"{about}/current",
        f"{about}/presentation",
        f"{about}/reports",
    }
    assert len(paths) == len(set(paths))
    assert visit.hosts() == {served.url.removeprefix("http://")}
    everything = " ".join(f"{request.url} {request.headers} {request.body!r}" for request in visit.asked)
    everything = unquote_plus(everything).replace("%20", " ").lower()
    for value in ("bicycle", "31415", "region c", "town 47"):  # 41 is among the digits of any id
        assert value not in everything
    assert visit.posts[0].names <= {"accept", "content-type"} | BROWSERS_OWN
    assert visit.context.cookies() == []


@pytest.mark.parametrize("plan", [AGE, WAY], ids=["number", "category"])
def test_what_the_page_says_is_so(visit: Visit, served: Served, plan: hush.Plan) -> None:
    """The probabilities that it shows are those of the exact law, and bounds are rounded up."""
    page = form(visit, served, plan)
    check_bounds(page, plan)
    fill(page)
    review(page)
    check_told(page, plan, "example")
    send(page)
    check_told(page, plan, "report")


def check_told(page: Page, plan: hush.Plan, where: str) -> None:
    """Check what the page says about one report."""
    ((index, output),) = hush.Report.decode(plan, shown_bytes(page, where)).answers
    (name,) = plan.questions[index].attributes
    expect(page.locator(".asked em")).to_have_text(name)
    says = page.locator(".says").first.text_content() or ""
    chances = re.findall(r"probability ([\d.,]+)\u00a0%", says)
    people = re.findall(r"someone who answers “?([^”,;]+?)”? with", says)
    assert len(chances) == 3
    assert len(people) == 2
    for value, told in zip([*people, RECORD[name]], chances, strict=True):
        exact = plan.law(name, float(value) if name == "age" else value)[output]
        assert float(told) / 100 == pytest.approx(float(exact), rel=0.05)  # two digits


def check_bounds(page: Page, plan: hush.Plan) -> None:
    """Check what the page promises."""
    page.locator(".promise > summary").click()
    page.get_by_text("Checked on this device").click()
    told = page.locator(".promise li").nth(1).text_content() or ""
    bounds = [float(text) for text in re.findall(r"([\d.]+) times likelier|about ([\d.]+)\.$", told)[0] if text]
    bounds += [float(told.rpartition("about ")[2].rstrip("."))]
    assert plan.ratio <= Fraction(str(bounds[0])) <= plan.ratio + Fraction(1, 100)
    assert math.e <= bounds[-1] < math.e + 0.01
    promise = page.locator(".promise").text_content() or ""
    sure = float(re.findall(r"at most ([\d.]+)\u00a0% of the time", promise)[0])
    assert 0 <= sure - 100 * math.e / (1 + math.e) < 0.1


@pytest.mark.parametrize("plan", [SURVEY, BLOCKS, EVERYTHING, DEAR], ids=["1", "2", "6", "12"])
def test_a_weak_survey_says_so_first(visit: Visit, served: Served, plan: hush.Plan) -> None:
    """Above epsilon = 4 nothing reassures; and whatever is below 1 is not shown as 100 %."""
    page = form(visit, served, plan)
    promise = page.locator(".promise")
    expect(promise).to_be_visible()
    told = promise.text_content() or ""
    weak = plan.epsilon > 4
    expect(page.get_by_test_id("weak")).to_have_count(int(weak))
    assert ("stay here" in told) == ("are not sent" in told) == (not weak)
    if weak:
        words = "mostly gives the answer away" if plan.k == 1 else "gives away much about the answers together"
        expect(page.get_by_test_id("weak")).to_contain_text(
            f"This survey protects weakly: at epsilon {plan.epsilon:g} a report {words}."
        )
        check_accessible(page)
    (digits,) = re.findall(r"at most ([\d.]+)\u00a0% of the time", told)
    exact = 100 / (1 + math.exp(-plan.epsilon))
    assert exact <= float(digits) < min(100, exact + 10.0 ** -len(digits.partition(".")[2]))


def test_an_answer_that_is_not_certain_is_not_said_to_be(visit: Visit, served: Served) -> None:
    page = form(visit, served, HARDLY)
    page.get_by_label("yes").check()
    page.get_by_role("button", name=CHECK).click()
    page.get_by_test_id("example").wait_for()
    expect(page.get_by_role("main")).not_to_contain_text("stay on this device")  # nothing reassures where it is weak
    chances = re.findall(r"probability ([\d.]+)\u00a0%", page.locator(".says").text_content() or "")
    law = sorted(100 * float(chance) for chance in HARDLY.law("smoker", "yes").values())
    assert len(chances) == 3
    for told in map(float, chances):
        assert min(abs(told - exact) for exact in law) < 0.0005
        assert 0 < told < 100


def offline(visit: Visit, page: Page) -> bytes:
    """Commit the answers while the collector cannot be reached, and return the report that was drawn."""
    visit.context.set_offline(True)
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for()
    drawn = kept_bytes(page, SURVEY)
    assert len(drawn) > 20
    return drawn


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
            const { Collector, Ledger } = await import("/pages/hush.js");
            const collector = new Collector(location.origin, { ledger: await Ledger.open(), tickets: false });
            await collector.prepare(await collector.plan(id), record);
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


def test_bad_answers_are_named_and_nothing_is_drawn(visit: Visit, served: Served) -> None:
    page = form(visit, served)
    page.get_by_test_id("whole").get_by_role("checkbox").check()
    page.get_by_role("button", name=CHECK).click()
    problems = page.get_by_test_id("problems")
    expect(problems.get_by_role("listitem")).to_have_count(5)  # income may be left out
    expect(problems).to_be_focused()
    problems.get_by_role("link").first.click()
    expect(page.get_by_label("age", exact=True)).to_be_focused()
    expect(page.get_by_label("age", exact=True)).to_have_attribute("aria-invalid", "true")
    check_accessible(page)
    page.get_by_label("age", exact=True).fill("20")
    expect(page.get_by_label("age", exact=True)).not_to_have_attribute("aria-invalid", "true")  # mended
    page.get_by_label("age", exact=True).fill("17")
    page.get_by_label("town", exact=True).fill("Atlantis")
    page.keyboard.press("Enter")
    expect(problems).to_contain_text("age: must be a number from 18 to 100")
    expect(problems).not_to_contain_text("17")
    expect(problems).not_to_contain_text("Atlantis")
    assert [request.path for request in visit.asked if "ticket" in request.path] == []


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


def test_a_plan_that_is_not_what_it_claims_is_refused(visit: Visit, served: Served) -> None:
    """Another plan under this id; and one that leaks more than it says, under its own."""
    visit.context.route(f"**/plans/{SURVEY.id}", lambda route: route.fulfill(body=EVERYTHING.to_json()))
    page = form(visit, served)
    expect(page.get_by_role("status")).to_contain_text("cannot be shown")
    expect(page.get_by_test_id("form")).to_have_count(0)

    values = json.loads(SURVEY.to_json())
    values["epsilon"] = "0.5"
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    false = hashlib.sha256(text.encode()).hexdigest()
    visit.context.route(f"**/plans/{false}", lambda route: route.fulfill(body=text))
    page.goto(f"{served.url}/?plan={false}")
    expect(page.get_by_role("status")).to_contain_text("epsilon")
    expect(page.get_by_test_id("form")).to_have_count(0)


def test_a_browser_spends_no_more_than_its_cap(visit: Visit, served: Served) -> None:
    for plan, fine in ((EVERYTHING, True), (DEAR, False)):  # 6 + 12 > 16
        page = form(visit, served, plan)
        if fine:
            fill(page)
            review(page)
            send(page)
    expect(page.get_by_role("status")).to_contain_text("cannot be shown: this plan costs 12.0; of a cap of 16.0")
    expect(page.get_by_test_id("form")).to_have_count(0)  # nobody is asked for nothing
    assert served.tally(DEAR).reports == 0


def test_questions_about_several_attributes(visit: Visit, served: Served) -> None:
    page = form(visit, served, BLOCKS)
    page.get_by_test_id("whole").get_by_role("checkbox").check()
    page.get_by_label("morning").fill("1")
    page.get_by_label("noon").fill("5")
    page.get_by_label("evening").fill("9.5")
    page.get_by_label("good").check()
    page.get_by_role("button", name=CHECK).click()
    page.get_by_test_id("example").wait_for()
    check_accessible(page)
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("done").wait_for()
    check_accessible(page)
    assert served.tally(BLOCKS).reports == 1


def test_without_a_plan_the_open_ones_are_listed(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    expect(page.get_by_role("main").get_by_role("link")).to_have_count(len(PLANS))
    check_accessible(page)
    page.get_by_role("link", name=EVERYTHING.title).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(EVERYTHING.title)


def test_a_collector_that_deals_tickets(visit: Visit, tmp_path: Path) -> None:
    """One ticket, fetched before anything is asked; a reload and another tab fetch no other one."""
    visit.allowed = ("ERR_FAILED",)
    settings = anybody(tickets=True, ticket_key=b"k" * 32)
    with serving(tmp_path, settings, plans=(SURVEY,), trainings={}) as served:

        def tickets() -> int:
            return len([asked for asked in visit.asked if asked.path.endswith("/ticket")])

        early = visit.open(served.url)  # the only plan
        early.get_by_test_id("form").wait_for()
        page = visit.open(served.url)
        expect(page.locator(".promise")).to_contain_text("The collector has dealt this question of the 6 for you")
        asked = fill(page)
        review(page)
        page.get_by_role("button", name="Draw another example").click()
        assert tickets() == 1
        visit.context.route("**/reports", lambda route: route.abort())
        press_button(page, SEND)
        page.get_by_test_id("waiting").wait_for()
        drawn = kept_bytes(page, SURVEY)
        page.reload()
        page.get_by_test_id("waiting").wait_for()
        early.bring_to_front()
        assert fill(early) == asked
        review(early)
        press_button(early, SEND)
        early.get_by_test_id("waiting").wait_for()
        visit.context.unroute("**/reports")
        early.get_by_role("button", name="Send it again").click()
        early.get_by_test_id("done").wait_for()
        assert tickets() == 1
        assert served.tally(SURVEY).reports == 1
        assert {post.body for post in visit.posts} == {drawn}
        assert "hush-ticket" in visit.posts[0].names


COINS = hush.design(hush.Schema([hush.Categorical("c", ["a", "b", "c"])]), 1.0, title="coins", categorical="grr")
DRAWS = 60_000
FALSE_ALARM = 1e-6


def test_what_the_browser_draws_has_the_law(visit: Visit, served: Served) -> None:
    """Reports drawn by the page's own generator, against the exact law; the law of another epsilon is told apart."""
    page = visit.open(f"{served.url}/explanation")
    counts: dict[str, int] = page.evaluate(
        """async ([text, draws]) => {
            const hush = await import("/pages/hush.js");
            const plan = await hush.Plan.parse(text);
            const counts = {0: 0, 1: 0, 2: 0};
            for (let i = 0; i < draws; i++) counts[hush.randomise(plan, {c: "b"}).answers[0][1]]++;
            return counts;
        }""",
        [COINS.to_json(), DRAWS],
    )
    observed = Counter({int(name): count for name, count in counts.items()})
    for epsilon in (1.0, 0.9):
        law = hush.design(COINS.schema, epsilon, categorical="grr").law("c", "b")
        expected = [float(law[output]) * DRAWS for output in range(3)]
        distance = sum((observed[i] - expected[i]) ** 2 / expected[i] for i in range(3))
        caught = bool(stats.chi2.sf(distance, 2) < FALSE_ALARM)
        assert caught == (epsilon != 1.0)


@pytest.mark.parametrize("kind", ["light", "dark", "phone"])
def test_accessible_at_every_step(browser: Browser, served: Served, screens: Path, kind: str) -> None:
    visit = Visit(browser, dark=kind == "dark", phone=kind == "phone")
    page = form(visit, served, AGE)  # a picture of a report about a number
    page.get_by_test_id("form").wait_for()
    check_accessible(page)
    check_width(page)
    page.screenshot(path=screens / f"form-{kind}.png", full_page=True)
    fill(page)
    review(page)
    check_accessible(page)
    check_width(page)
    page.get_by_role("button", name="Draw another example").click()
    check_accessible(page)
    send(page)
    check_accessible(page)
    check_width(page)
    page.screenshot(path=screens / f"report-{kind}.png", full_page=True)
    page.goto(f"{served.url}/explanation")
    check_accessible(page)
    check_width(page)
    visit.close()


def test_the_explanation_is_right(visit: Visit, served: Served) -> None:
    """Its table is static: every number in it is computed again here."""
    page = visit.open(f"{served.url}/explanation")
    rows: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert len(rows) >= 5
    for epsilon, times, sure in rows:
        factor = math.exp(float(Fraction(epsilon)))
        told = float(times.removesuffix(" times").replace(",", ""))
        assert factor <= told <= factor * 1.005  # bounds are rounded up
        digits = sure.split(" %")[0]
        share = 100 * factor / (1 + factor)
        assert 0 <= float(digits) - share <= 10.0 ** -len(digits.partition(".")[2])


def test_pages_keep_a_strict_policy(served: Served) -> None:
    for path in ("/", "/explanation", "/pages/form.js"):
        answer = served.client.get(path)
        policy: Any = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        again = served.client.get(path, headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304
    for path in ("/pages/nothing.js", "/pages/..%2fapp.py", "/pages/%2e%2e%2fapp.py"):
        assert served.client.get(path).status_code == 404
