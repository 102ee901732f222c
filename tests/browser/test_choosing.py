"""Nobody can choose by outcome: the reports of a person who prefers one outcome have the law of the plan all the same.

Otherwise neither the promise nor the estimates would hold, as both are about this law. A page that draws again, or lets
people keep back what they have seen, is caught by the same person.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser

import hush
from tests.browser import choosing
from tests.browser.choosing import QUESTION, TRICKS, TRUTH, WISHED, Chooser
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = pytest.importorskip("scipy.stats")

FALSE_ALARM = 1e-6
WAYS = [("dark keys", "phone"), ("dark", "keys")]
"""How people visit each of the two collectors; the second pair has the link at the top, which small phones do not."""
LAW = float(QUESTION.law("smoker", TRUTH)[WISHED])
"""The share of people with this answer who send what they wish for, if chance decides: 12 %."""

REDRAWING = """<!doctype html><html lang="en"><title>It draws again</title><link rel="icon" href="data:,"><main></main>
<script type="module">
  import { Client, randomise } from "/pages/hush.js";
  const main = document.querySelector("main");
  const client = new Client(location.origin);
  const plan = await client.plan(new URLSearchParams(location.search).get("plan"));
  const ask = () => {
    main.innerHTML = `<label><input type="radio" name="a">yes</label><label><input type="radio" name="a">no</label>
      <button class="primary">See what would be sent</button>`;
    main.querySelector("button").onclick = review;
  };
  const review = () => {
    const report = randomise(plan, { smoker: "no" });
    const hex = [...report.encode()].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    main.innerHTML = `<pre data-testid="bytes">${hex}</pre><button class="primary">Send my report</button>
      <button>Change my answers</button>`;
    const [send, change] = main.querySelectorAll("button");
    change.onclick = ask;
    send.onclick = async () => {
      send.disabled = true;
      await client.submit(report);
      main.innerHTML = `<p data-testid="done">Thank you.</p>`;
    };
  };
  ask();
</script>"""
"""A form that shows the report before it is sent, and draws again when answers are changed."""

DRIVEN = """async ([text, visits, forgets]) => {
    const hush = await import("/pages/hush.js");
    const plan = await hush.Plan.parse(text);
    const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const says = (bytes) => hush.Report.decode(plan, bytes).answers[0][1];
    class Store extends hush.MemoryStore {
        forget() {
            return this.update((book) => ({...book, entries: book.entries.filter(({state}) => state !== "drawn")}));
        }
    }
    let wished = 0;
    for (let i = 0; i < visits; i++) {
        let cut = true, sent, tickets = 0;
        const fetch = async (url, {body}) => {
            if (url.endsWith("/ticket")) {
                const id = hex(crypto.getRandomValues(new Uint8Array(16)));
                tickets++;
                return Response.json({id, questions: hush.questionsOf(plan, id), signature: "f".repeat(32)});
            }
            if (cut) throw new TypeError("the line is cut");
            sent = body;
            return Response.json({id: hex(body.slice(9, 25)), new: true, reports: 1});
        };
        const store = new Store();
        const ledger = await hush.Ledger.open({cap: 4, store});
        const tab = () => new hush.Client(location.origin, {ledger, fetch, attempts: 1, tickets: i % 2 === 0});
        for (let attempt = 0; attempt < (forgets ? 100 : 2); attempt++) {
            await tab().prepare(plan, {smoker: "no"});
            if (says((await ledger.entry(plan)).report) === WISHED) break; // they look into the ledger
            if (forgets) await store.forget();
            else for (const object of [ledger, tab()]) { // all that there is, with other answers
                for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(object))) {
                    try {
                        if (name !== "constructor") await object[name](plan, {smoker: "yes"});
                    } catch (error) {
                        if (!(error instanceof hush.HushError || error instanceof TypeError)) throw error;
                    }
                }
            }
        }
        cut = false;
        await tab().prepare(plan, {smoker: "no"});
        await tab().send(plan);
        if (!forgets && tickets > 1) throw new Error("another ticket was fetched");
        wished += says(sent) === WISHED;
    }
    return wished;
}""".replace("WISHED", str(WISHED))
"""Many visits, by the client that the form uses, in one page."""


@pytest.fixture(scope="module")
def collectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """Return two collectors: with one the devices draw the questions, the other deals them."""
    dealing = anybody(stream_interval=0.05, tickets=True, ticket_key=b"k" * 32)
    with (
        serving(tmp_path_factory.mktemp("drawn"), plans=(QUESTION,), trainings={}) as drawn,
        serving(tmp_path_factory.mktemp("dealt"), dealing, plans=(QUESTION,), trainings={}) as dealt,
    ):
        yield drawn, dealt


def critical(visits: int) -> int:
    """Return how many wished outcomes are too many: an exact binomial test, wrong once in 10^6 at most."""
    return next(k for k in range(visits + 2) if stats.binom.sf(k - 1, visits, LAW) <= FALSE_ALARM)


def power(visits: int, share: float) -> float:
    """Return how likely a page is caught on which people get their wish with this probability."""
    return float(stats.binom.sf(critical(visits) - 1, visits, share))


def sent_by(visit: Visit) -> set[bytes]:
    return {post.body for post in visit.posts if post.body is not None}


def wished_in(reports: list[bytes]) -> int:
    """Return how many reports say what was wished for."""
    return sum(hush.Report.decode(QUESTION, report).answers[0][1] == WISHED for report in reports)


def test_a_person_who_prefers_one_outcome(browser: Browser, collectors: tuple[Served, Served]) -> None:
    """Every visit sends one report, and chance decides which: with this power against getting one's wish at 90 %."""
    reports: list[bytes] = []
    for trick, options in TRICKS:
        for served, way in zip(collectors, WAYS[trick is choosing.back], strict=True):
            visit = Visit(browser, dark="dark" in way, phone="phone" in way, allowed=("status of 403",))
            Chooser(visit, f"{served.url}/?plan={QUESTION.id}", trick, keyboard="keys" in way, **options).run()
            check_accessible(visit.context.pages[-1])
            check_width(visit.context.pages[-1])
            tickets = [asked for asked in visit.asked if asked.path.endswith("/ticket")]
            visit.close()
            assert len(tickets) <= 1, "another ticket was fetched"
            assert len(sent_by(visit)) == 1, "somebody left without sending, or sent two reports"
            reports += sent_by(visit)
    assert power(len(reports), 0.9) > 0.99
    assert wished_in(reports) < critical(len(reports))
    assert sum(served.tally(QUESTION).reports for served in collectors) == len(reports)


def test_a_page_that_draws_again_is_caught(browser: Browser, collectors: tuple[Served, Served]) -> None:
    reports: list[bytes] = []
    for _ in range(10):
        visit = Visit(browser)
        address = f"{collectors[0].url}/?plan={QUESTION.id}"
        visit.context.route(address, lambda route: route.fulfill(body=REDRAWING, content_type="text/html"))
        Chooser(visit, address, choosing.press, unplugged=False).run()
        visit.close()
        reports += sent_by(visit)
    assert wished_in(reports) >= critical(len(reports))


@pytest.mark.parametrize("forgets", [False, True])
def test_no_use_of_the_client_changes_the_law(visit: Visit, collectors: tuple[Served, Served], forgets: bool) -> None:
    """The same, without the page and many times, by somebody who looks into the ledger; one that forgets is caught."""
    page = visit.open(f"{collectors[0].url}/explanation")
    visits = 100 if forgets else 1000
    wished: int = page.evaluate(DRIVEN, [QUESTION.to_json(), visits, forgets])
    caught = bool(stats.binomtest(wished, visits, LAW).pvalue < FALSE_ALARM)
    assert caught == forgets
