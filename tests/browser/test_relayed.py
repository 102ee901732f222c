"""The form through a relay, in a real browser: both promises are named, and the report goes to the relay, once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, Route, expect

import hush
from hush.collector import formats
from hush.collector.settings import RelayNamed
from hush.core.sealing import sealed_size
from hush.show.tables import up
from tests.browser import walks
from tests.browser.surveys import CHECK, SEND, kept_bytes, shown_bytes
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served
from tests.relay.relayed import (
    KEY,
    OPENER,
    PLAN,
    RECORD,
    Relayed,
    collecting,
    free_port,
    relaying,
    wait_until,
)

OWN = 40
BROWSERS_OWN = {"user-agent", "accept-language", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform"}
HOLDS = "The relay holds your report. Thank you."


@contextmanager
def both(path: Path, *, allowed: bool = True, least: int = 2) -> Iterator[tuple[Served, Relayed]]:
    """Run a collector that names a relay, and that relay."""
    port = free_port()
    named = RelayNamed(f"http://127.0.0.1:{port}", 1e-6, crowd=2000, own=OWN)
    with collecting(path, relay=named, stream_interval=0.05) as served:
        origins = {"*": frozenset([served.url if allowed else "https://elsewhere.example"])}
        with relaying(path, served.url, least=least, own=OWN, port=port, origins=origins) as relay:
            assert relay.url == named.url
            yield served, relay


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[tuple[Served, Relayed]]:
    with both(tmp_path) as found:
        yield found


def form(visit: Visit, served: Served, plan: hush.Plan = PLAN) -> Page:
    return visit.open(f"{served.url}/?plan={plan.id}")


def answer(page: Page) -> None:
    page.get_by_test_id("whole").get_by_role("checkbox").check()
    page.get_by_role("spinbutton", name="age").fill("41")
    page.get_by_role("radio", name="mac").check()
    page.get_by_role("button", name=CHECK).click()
    page.get_by_role("button", name=SEND).click()


def somebody(served: Served, relay: Relayed) -> None:
    """Let another person fill the batch."""
    report = hush.randomise(PLAN, RECORD)
    client = hush.Client(served.url, relay=relay.url, key=KEY, attempts=1)
    assert client.submit(report, sealed=hush.seal(report, KEY)).new


def ids(served: Served) -> list[bytes]:
    """The ids of all reports that the collector has counted."""
    return [report.id for stored in served.store.bodies(PLAN) for report in formats.split(PLAN, stored.body)]


def sealed(visit: Visit) -> list[bytes]:
    """The bodies of all requests that were to bring a report to the relay."""
    return [post.body or b"" for post in visit.posts if "/sealed/" in post.url]


def test_the_report_goes_to_the_relay_alone(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    served, relay = parts
    page = form(visit, served)
    page.get_by_test_id("form").wait_for()
    check_accessible(page)
    check_width(page)
    answer(page)
    expect(page.get_by_role("status")).to_have_text(HOLDS)
    check_accessible(page)
    (post,) = visit.posts
    assert post.url == f"{relay.url}/sealed/{PLAN.id}"
    assert post.body is not None
    assert len(post.body) == sealed_size(PLAN)
    sent = OPENER.open(PLAN, post.body)
    assert sent.encode() == shown_bytes(page)
    assert post.names <= {"accept", "content-type", "hush-key"} | BROWSERS_OWN
    assert post.said["hush-key"] == KEY.public.hex(), "the same for everybody"
    assert visit.hosts() == {urlsplit(served.url).netloc, urlsplit(relay.url).netloc}
    about = f"/plans/{PLAN.id}"
    asked = [request.path for request in visit.asked if not request.path.startswith("/pages/")]
    assert sorted(asked) == sorted(
        [
            f"/?plan={PLAN.id}",
            about,
            f"{about}/current",
            f"{about}/presentation",
            f"{about}/relay",
            f"/sealed/{PLAN.id}",
        ]
    )
    assert (relay.store.held(PLAN.id), served.tally(PLAN).reports) == (1, 0)
    somebody(served, relay)
    wait_until(lambda: served.tally(PLAN).people == 2)
    assert ids(served).count(sent.id) == 1
    assert served.store.tally(PLAN).own == OWN


def test_both_promises_are_named(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    """With the accountant's numbers, on the form and on the dashboard; the second never without the first."""
    served, relay = parts
    host = urlsplit(relay.url).hostname
    exact = hush.shuffle(PLAN, delta=1e-6, own=OWN), hush.shuffle(PLAN, delta=1e-6, crowd=2000)
    central = [up(one.epsilon, 4) for one in exact]
    page = form(visit, served)
    expect(page.get_by_test_id("local-promise")).to_contain_text("ε = 4, whatever anybody does.")
    said = page.get_by_test_id("central-promise").all_text_contents()
    assert len(said) == 2
    for text, epsilon, crowd in zip(said, central, (f"adds {OWN} reports", "2,000 people or more"), strict=True):
        assert text.startswith(f"If the relay {host} and the collector do not work together")
        assert f"ε = {epsilon} at most, except with a probability of 1 in 1,000,000." in text
        assert crowd in text
    expect(page.get_by_role("main")).to_contain_text("sees that you take part, but cannot read your report")
    board = visit.open(f"{served.url}/dashboard?plan={PLAN.id}")
    sentences = board.get_by_test_id("privacy-sentence")
    expect(sentences).to_have_count(4)
    told = sentences.all_text_contents()
    assert "Whatever anybody does, a report costs ε = 4 at most." in told[0]
    assert told[2:] == said
    check_accessible(board)
    board.close()  # its stream would complain of a collector that ends
    more = visit.open(f"{served.url}/explanation")
    expect(more.get_by_role("heading", name="If reports go through a relay")).to_be_visible()
    check_accessible(more)


def test_the_dashboard_says_what_was_dropped(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    """At once, as this collector shows everything at once; also if nothing else of a batch is a report."""
    served, relay = parts
    page = visit.open(f"{served.url}/dashboard?plan={PLAN.id}")
    page.get_by_test_id("report-count").wait_for()
    expect(page.get_by_test_id("refused")).to_be_hidden()
    for number, words in ((2, "2 sealed reports were dropped: sealed for another key"), (5, "5 sealed reports were")):
        junk = [bytes([number, i]) * (sealed_size(PLAN) // 2) for i in range(2 if number == 2 else 3)]
        relay.post(b"".join(one.ljust(sealed_size(PLAN), b"x") for one in junk))
        expect(page.get_by_test_id("refused")).to_contain_text(words)
    check_accessible(page)
    page.close()


@pytest.mark.parametrize(("language", "words"), [("de", "höchstens ε = "), ("zh", "ε 最多为 ")])
def test_the_second_promise_speaks_the_language_of_the_reader(
    visit: Visit, parts: tuple[Served, Relayed], language: str, words: str
) -> None:
    served, _ = parts
    exact = hush.shuffle(PLAN, delta=1e-6, own=OWN), hush.shuffle(PLAN, delta=1e-6, crowd=2000)
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang={language}")
    page.get_by_test_id("form").wait_for()
    said = page.get_by_test_id("central-promise").all_text_contents()
    assert len(said) == 2
    for text, one in zip(said, exact, strict=True):
        told = _number(text, words)
        assert float(one.epsilon) <= told <= float(one.epsilon) + 2e-4, "rounded up"
        assert "{" not in text
        assert text.replace(".", ",").count("1,000,000") == 1
    assert page.locator('[data-testid="central-promise"][lang]').count() == 0
    check_accessible(page)


def _number(text: str, words: str) -> float:
    """Return the number behind some words, with a decimal comma or point."""
    found = re.match(r"[0-9]+[.,][0-9]{4}", text.partition(words)[2])
    assert found is not None
    return float(found.group().replace(",", "."))


def test_the_policy_allows_the_relay_and_nobody_else(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    served, relay = parts
    name = "content-security-policy"
    policy = served.client.get("/").headers[name]
    assert f"connect-src 'self' {relay.url};" in policy
    for other in ("/dashboard", "/explanation", "/pages/hush.js"):
        assert "connect-src 'self';" in served.client.get(other).headers[name]
    page = form(visit, served)
    page.get_by_test_id("form").wait_for()
    visit.allowed = ("Content Security Policy", "violates the document", "Fetch API cannot load")
    ask = "url => fetch(url, {mode: 'no-cors'}).then(() => 'sent', () => 'kept back')"
    assert page.evaluate(ask, f"{relay.url}/healthz") == "sent"
    assert page.evaluate(ask, f"http://127.0.0.1:{free_port()}/") == "kept back"


@pytest.mark.parametrize("careless", [False, True])
def test_a_reload_and_two_tabs_send_the_same(visit: Visit, parts: tuple[Served, Relayed], careless: bool) -> None:
    """A page that seals anew (the twin) stands twice at the relay: the collector would see one id in two batches."""
    served, relay = parts
    visit.allowed = ("net::ERR_FAILED", "CORS")
    away: list[str] = []

    def lose(route: Route) -> None:
        """Deliver the request, and lose the answer."""
        away.append(str(route.fetch().status))
        route.abort()

    page = form(visit, served)
    visit.context.route(re.compile("/sealed/"), lose)
    answer(page)
    page.get_by_test_id("waiting").wait_for()
    assert set(away) == {"202"}
    assert relay.store.held(PLAN.id) == 1
    report = hush.Report.decode(PLAN, kept_bytes(page, PLAN))
    if careless:
        page.evaluate(FORGET)
    visit.context.unroute_all()
    other = form(visit, served)
    page.reload()
    for tab in (page, other):
        if careless:
            tab.get_by_test_id("kept").get_by_role("button").click()
        tab.get_by_test_id("done").wait_for()
    bodies = set(sealed(visit))
    assert {OPENER.open(PLAN, body).id for body in bodies} == {report.id}
    assert len(bodies) == (2 if careless else 1)
    if not careless:
        assert relay.store.held(PLAN.id) == 1, "one person, whatever they do"
        somebody(served, relay)
    wait_until(lambda: served.tally(PLAN).people == (1 if careless else 2))
    assert ids(served).count(report.id) == 1


FORGET = """async () => {
    const open = indexedDB.open("hush ledger");
    const db = await new Promise((done) => (open.onsuccess = () => done(open.result)));
    const table = db.transaction("book", "readwrite").objectStore("book");
    const request = table.get(0);
    const book = await new Promise((done) => (request.onsuccess = () => done(request.result)));
    for (const entry of book.entries) {
        delete entry.sealed;
        entry.state = "drawn";
    }
    const put = table.put(book, 0);
    await new Promise((done) => (put.onsuccess = done));
    db.close();
}"""


def test_two_tabs_that_answer_at_once(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    served, relay = parts
    tabs = [form(visit, served) for _ in range(2)]
    for tab in tabs:
        answer(tab)
    for tab in tabs:
        tab.get_by_test_id("done").wait_for()
    assert len(set(sealed(visit))) == 1
    assert relay.store.held(PLAN.id) == 1
    again = form(visit, served)
    expect(again.get_by_role("status")).to_have_text("This browser has sent its report to this survey already.")
    assert len(set(sealed(visit))) == 1


def test_a_relay_that_does_not_allow_the_page(visit: Visit, tmp_path: Path) -> None:
    visit.allowed = ("CORS", "net::ERR_FAILED")
    with both(tmp_path, allowed=False) as (served, _):
        page = form(visit, served)
        answer(page)
        expect(page.get_by_role("status")).to_have_text(
            "Your report has not arrived: the relay cannot be reached, or does not allow this page."
        )
        check_accessible(page)


def test_a_relay_with_another_key_and_one_that_has_closed_the_plan(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    """The page says that the report was not delivered. It seals it once: later tabs send the same bytes."""
    served, relay = parts
    visit.allowed = ("status of 409",)
    page = form(visit, served)

    def refuse(route: Route) -> None:
        allow = {"access-control-allow-origin": served.url, "access-control-allow-headers": "content-type, hush-key"}
        body = '{"type": "urn:hush:problem:other-key", "title": "no", "status": 409}'
        route.fulfill(status=409, content_type="application/problem+json", body=body, headers=allow)

    visit.context.route(re.compile("/sealed/"), refuse)
    answer(page)
    expect(page.get_by_role("status")).to_have_text(
        "Your report has not arrived: the relay has another key than this report is sealed for: it was not delivered, "
        "and is not sealed again."
    )
    visit.context.unroute_all()
    relay.store.close_plan(PLAN.id)
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_role("status")).to_have_text("This survey has ended.")
    expect(page.get_by_test_id("late")).to_contain_text("Yours was sent to the relay before")
    assert len(set(sealed(visit))) == 1


def test_a_closed_plan_asks_nobody(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    """A relay hears a little later that a plan is closed, so its form asks the collector first."""
    served, _ = parts
    served.store.close_plan(PLAN.id)
    visit.allowed = ("status of 409",)
    page = form(visit, served)
    expect(page.get_by_test_id("late")).to_contain_text("takes no more reports")
    expect(page.get_by_role("status")).to_have_text("This survey has ended.")
    check_accessible(page)
    assert not visit.posts


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "Diese Umfrage ist beendet."),
        ("es", "Esta encuesta ha terminado."),
        ("fr", "Cette enquête est terminée."),
        ("zh", "这份问卷已结束。"),
    ],
)
def test_the_form_says_in_the_language_of_the_reader_that_a_survey_has_ended(
    visit: Visit, parts: tuple[Served, Relayed], language: str, said: str
) -> None:
    served, _ = parts
    served.store.close_plan(PLAN.id)
    visit.allowed = ("status of 409",)
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang={language}")
    expect(page.get_by_role("status")).to_have_text(said)
    check_accessible(page)


def test_a_page_of_before_a_restart_is_loaded_again(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    """It would seal for a key that is no longer given out."""
    served, _ = parts
    key = KEY.public.hex()

    def other(route: Route) -> None:
        text = route.fetch().text()
        assert key in text
        route.fulfill(status=200, content_type="application/json", body=text.replace(key, "0" * 64))

    visit.context.route(re.compile(r"/relay$"), other)
    expect(form(visit, served).get_by_role("status")).to_have_text(
        "The questions cannot be shown: this page is out of date: load it again."
    )


def test_a_browser_that_cannot_seal_is_not_asked(visit: Visit, parts: tuple[Served, Relayed]) -> None:
    served, _ = parts
    visit.context.add_init_script(
        "if (crypto.subtle) crypto.subtle.generateKey = () => Promise.reject(new Error('old'))"
    )
    page = form(visit, served)
    expect(page.get_by_role("status")).to_contain_text("this browser cannot seal reports for a relay")
    expect(page.get_by_test_id("form")).to_have_count(0)


@pytest.mark.parametrize("way", walks.WAYS)
def test_by_keyboard_in_the_dark_and_on_a_phone(browser: Browser, parts: tuple[Served, Relayed], way: str) -> None:
    """Both promises can be unfolded and read, and one sealed report leaves."""
    served, relay = parts
    with walks.walking(browser, way) as visit:
        page = walks.opened(visit, f"{served.url}/?plan={PLAN.id}")
        page.get_by_test_id("form").wait_for()
        page.locator(".promise > summary").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("central-promise").first).to_be_visible()
        walks.check_step(page)
        page.keyboard.press("Enter")
        assert len(walks.fill(page, {"age": 41, "os": 1})) == 1
        walks.send(page)
        expect(page.get_by_role("status")).to_have_text(HOLDS)
        (post,) = visit.posts
        assert post.url == f"{relay.url}/sealed/{PLAN.id}"
