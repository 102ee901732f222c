"""The dashboard while reports arrive: it follows them, says when it cannot, and asks nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Route, expect

from hush.collector.http.security import hashed
from tests.browser.dashboards import QUICK, count, dashboard, headline, population, send
from tests.browser.surveys import SURVEY, fill, review
from tests.browser.surveys import send as send_report
from tests.browser.visits import Visit, check_accessible
from tests.collector.served import Served, anybody, serving


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
