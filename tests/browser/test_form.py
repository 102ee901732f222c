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

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush.planning.strength import WEAK, strength
from tests.browser.forms import DEAR, EVERYTHING, HARDLY, PLANS, form
from tests.browser.surveys import (
    AGE,
    BLOCKS,
    CHECK,
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
from tests.collector.served import HASHES, Served, anybody, serving

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = pytest.importorskip("scipy.stats")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, anybody(stream_interval=0.05), plans=PLANS, trainings={}) as found:
        yield found


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
    """Above epsilon = 2 nothing reassures; and whatever is below 1 is not shown as 100 %."""
    page = form(visit, served, plan)
    promise = page.locator(".promise")
    expect(promise).to_be_visible()
    told = promise.text_content() or ""
    weak = strength(plan.epsilon) == WEAK
    expect(page.get_by_test_id("weak")).to_have_count(int(weak))
    assert ("leaves this device" in told) == ("are not sent" in told) == (not weak)
    if weak:
        words = f"says much about the answer{'' if plan.k == 1 else 's together'}"
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


def test_an_address_without_a_plan_leads_to_the_only_survey(visit: Visit, tmp_path: Path) -> None:
    """Also where nobody but holders of a token may read: people who answer have none."""
    settings = anybody(tokens={"read": HASHES["read"]})
    with serving(tmp_path, settings, plans=(SURVEY,), trainings={}) as served:
        page = visit.open(served.url)
        page.get_by_test_id("form").wait_for()
        expect(page.get_by_role("heading", level=1)).to_have_text(SURVEY.title)
        assert "/plans" not in {asked.path for asked in visit.asked}


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
