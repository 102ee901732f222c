"""The pages of `docs/browser.md`, `telemetry.md` and `train.md`, in a browser, from another origin."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Frame, Page, expect

import hush
from hush.cli.schemas import friendly
from hush.collector.http import pages
from hush.errors import InputError
from tests.browser import walks
from tests.browser.surveys import SEND
from tests.browser.visits import Visit
from tests.collector.served import anybody, serving
from tests.sessions import blocks_of

ROOT = Path(__file__).parents[2]
PLAN = hush.design(
    hush.Schema([hush.Numeric("age", 0, 120), hush.Categorical("os", ["linux", "mac", "other"])]),
    1.0,
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def hosting(folder: Path) -> Iterator[str]:
    """Serve a folder as a web site, and return its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def site_in(folder: Path) -> Path:
    """Make a folder for a page of one's own, with the client beside it."""
    site = folder / "site"
    site.mkdir()
    for name in ("hush.js", "training.js"):
        (site / name).write_bytes(pages.static()[name].content)
    return site


def own_icon(origin: str) -> tuple[str]:
    """Return the one address that is missing: browsers ask every site for an icon."""
    return (f"{origin}/favicon.ico",)


def block_of(page: str) -> str:
    """Return the one page that a document shows."""
    (found,) = re.findall(r"```html\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


def test_the_page_of_the_package(visit: Visit, tmp_path: Path) -> None:
    """It answers as soon as it is loaded."""
    site = site_in(tmp_path)
    with (
        hosting(site) as origin,
        serving(tmp_path, anybody(origins={"*": frozenset([origin])}), plans=(PLAN,), trainings={}) as served,
    ):
        visit.missing = own_icon(origin)
        text = block_of("web/README.md").replace("https://reports.example.org", served.url).replace("PLAN", PLAN.id)
        (site / "index.html").write_text(f"<!doctype html>{text}", encoding="utf-8")
        with visit.context.expect_event("response", lambda answer: answer.request.method == "POST") as waiting:
            visit.open(origin)
        assert waiting.value.status == 202
        assert served.tally(PLAN).reports == 1


@pytest.mark.parametrize("allowed", [True, False])
def test_a_page_of_another_origin(visit: Visit, tmp_path: Path, allowed: bool) -> None:
    """It answers where the collector allows the page; otherwise browsers keep it from the plan."""
    block = block_of("docs/browser.md")
    site = site_in(tmp_path)
    visit.allowed = ("CORS", "ERR_FAILED")
    with hosting(site) as origin:
        visit.missing = own_icon(origin)
        origins = {"*": frozenset([origin if allowed else "https://elsewhere.example"])}
        with serving(tmp_path, anybody(origins=origins), plans=(PLAN,), trainings={}) as served:
            text = block.replace("https://reports.example.org", served.url).replace("PLAN", PLAN.id)
            if not allowed:
                text = text.replace("{ ledger }", "{ ledger, attempts: 1 }")  # it need not be tried six times
            (site / "index.html").write_text(text, encoding="utf-8")
            page = visit.open(origin)
            if not allowed:
                page.get_by_role("button").click()
                expect(page.locator("output")).to_have_text(
                    re.compile(rf"or does not allow this page \(start it with --origin {re.escape(origin)}\)")
                )
                assert served.tally(PLAN).reports == 0
                return
            for words in ("counted", "was counted before"):
                page.get_by_role("button").click()
                expect(page.locator("output")).to_have_text(words)
            assert served.tally(PLAN).reports == 1
            assert len({post.body for post in visit.posts}) == 1


def test_the_page_that_takes_part_in_a_training(visit: Visit, tmp_path: Path) -> None:
    """It takes part as soon as it is loaded, and at a second visit sends nothing."""
    schema = hush.Schema([*PLAN.schema.attributes, hush.Numeric("visits", 0, 50)])
    label = hush.Categorical("bought", ["no", "yes"])
    course = hush.Training.design(schema, label, epsilon=4.0, people=20_000, title="who buys")
    site = site_in(tmp_path)
    (site / "course.json").write_text(course.to_json(), encoding="utf-8")
    with (
        hosting(site) as origin,
        serving(
            tmp_path, anybody(origins={"*": frozenset([origin])}), plans=(), trainings={}, courses=(course,)
        ) as served,
    ):
        visit.missing = own_icon(origin)
        text = block_of("docs/train.md").replace("https://reports.example.org", served.url)
        done = 'document.title = "done";\n</script>'
        (site / "index.html").write_text(f"<!doctype html>{text.replace('</script>', done)}", encoding="utf-8")
        for _ in range(2):
            expect(visit.open(f"{origin}/index.html")).to_have_title("done")
        (post,) = visit.posts
        assert post.path == "/trainings/who%20buys/pilot?stage=means"
        (entry,) = served.client.get("/trainings").json()["trainings"]
        assert entry["received"] == 1


def test_the_page_that_sends_telemetry(visit: Visit, tmp_path: Path) -> None:
    """It answers by itself, with what the browser says of the page; the second visit sends the same, which is known."""
    blocks = {block.file: block.text for block in blocks_of(ROOT / "docs" / "telemetry.md") if block.file}
    plan = hush.design(friendly(json.loads(blocks["schema.json"])), 1.0, title="how the page does, spring")
    site = site_in(tmp_path)
    with (
        hosting(site) as origin,
        serving(tmp_path, anybody(origins={"*": frozenset([origin])}), plans=(plan,), trainings={}) as served,
    ):
        visit.missing = own_icon(origin)
        text = blocks["page.html"].replace("https://reports.example.org", served.url).replace("PLAN", plan.id)
        (site / "index.html").write_text(text, encoding="utf-8")
        for words in ("counted", "counted before"):
            expect(visit.open(origin).locator("output")).to_have_text(words)
        assert served.tally(plan).reports == 1
        assert len({post.body for post in visit.posts}) == 1


def embedded(text: str, url: str, plan: hush.Plan) -> str:
    return text.replace("https://reports.example.org", url).replace("PLAN", plan.id)


@pytest.mark.parametrize("allowed", [True, False])
def test_the_form_in_a_page_of_another_site(visit: Visit, tmp_path: Path, allowed: bool) -> None:
    """It is filled in and sent there, and leads back; a site that the collector does not name shows nothing."""
    blocks = {block.file: block.text for block in blocks_of(ROOT / "docs" / "telemetry.md") if block.file}
    site = site_in(tmp_path)
    visit.allowed = ("frame-ancestors", "ERR_BLOCKED_BY_RESPONSE")
    plan = hush.design(PLAN.schema, 2.0, k=2, title="In a frame")
    with hosting(site) as origin:
        visit.missing = own_icon(origin)
        settings = anybody(embed=frozenset([origin if allowed else "https://elsewhere.example"]))
        with serving(tmp_path, settings, plans=(plan,), trainings={}) as served:
            (site / "index.html").write_text(embedded(blocks["embedded.html"], served.url, plan), encoding="utf-8")
            page = visit.open(origin)
            frame = page.frame_locator("iframe")
            if not allowed:
                page.wait_for_timeout(1000)
                expect(frame.get_by_test_id("form")).to_have_count(0)
                return
            frame.get_by_test_id("form").wait_for()
            expect(page.locator("iframe")).to_have_attribute("title", "One question")
            assert page.evaluate("document.querySelector('iframe').offsetHeight <= 0.85 * innerHeight")
            frame.get_by_label("age", exact=True).fill("41")
            frame.get_by_label("mac").check()
            before = page.evaluate("history.length")
            frame.get_by_role("button", name="Check my answers").click()
            frame.get_by_role("button", name="Change my answers").click()
            expect(frame.get_by_label("age", exact=True)).to_have_value("41")
            frame.get_by_role("button", name="Check my answers").click()
            frame.get_by_role("button", name="Yes, send my report").click()
            frame.get_by_test_id("done").wait_for()
            assert page.evaluate("history.length") == before
            assert served.tally(plan).reports == 1
            assert page.evaluate("document.querySelector('iframe').contentDocument") is None


@pytest.mark.parametrize("way", walks.WAYS)
def test_a_frame_by_keyboard_in_the_dark_and_on_a_phone(browser: Browser, tmp_path: Path, way: str) -> None:
    """The focus goes from the page into its frame; the form there has the colours and the width of the visitor."""
    blocks = {block.file: block.text for block in blocks_of(ROOT / "docs" / "telemetry.md") if block.file}
    site = site_in(tmp_path)
    plan = hush.design(PLAN.schema, 2.0, k=2, title="In a frame")
    head = '<!doctype html><meta name="viewport" content="width=device-width">'
    with hosting(site) as origin, serving(tmp_path, anybody(embed=frozenset([origin])), plans=(plan,)) as served:
        text = embedded(blocks["embedded.html"], served.url, plan).replace("<!doctype html>", head)
        (site / "index.html").write_text(text, encoding="utf-8")
        with walks.walking(browser, way) as visit:
            visit.missing = own_icon(origin)
            page = walks.opened(visit, origin)
            page.frame_locator("iframe").get_by_test_id("form").wait_for()
            frame = page.frames[1]
            assert walks.fill(page, {"age": 41, "os": 1}, frame) == ["age", "os"]
            walks.check_step(page, frame)
            reach(page, frame, SEND)
            page.keyboard.press("Enter")
            frame.get_by_test_id("done").wait_for()
            walks.check_step(page, frame)
        assert served.tally(plan).reports == 1


def reach(page: Page, frame: Frame, name: str) -> None:
    """Go forward to a button of a frame by keyboard."""
    wanted = frame.get_by_role("button", name=name, exact=True)
    for _ in range(20):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"the keyboard does not reach {name!r}")


def test_a_site_may_give_the_frame_a_height(visit: Visit, tmp_path: Path) -> None:
    site = site_in(tmp_path)
    with hosting(site) as origin, serving(tmp_path, anybody(embed=frozenset([origin])), plans=(PLAN,)) as served:
        visit.missing = own_icon(origin)
        text = '<!doctype html><p>x<script src="URL/pages/embed.js" data-plan="PLAN" data-height="HEIGHT"></script>'
        for height, wanted in (("300px", 300), ("50vh", 410), ("no height", 640)):
            page = text.replace("URL", served.url).replace("PLAN", PLAN.id).replace("HEIGHT", height)
            (site / f"{wanted}.html").write_text(page, encoding="utf-8")
            shown = visit.open(f"{origin}/{wanted}.html")
            shown.frame_locator("iframe").get_by_test_id("form").wait_for()
            assert shown.evaluate("document.querySelector('iframe').offsetHeight") == wanted


def test_only_the_form_may_be_framed_and_only_by_the_named_site(tmp_path: Path) -> None:
    policy = "content-security-policy"
    site = "https://www.example.org"
    with serving(tmp_path, anybody(embed=frozenset([site])), plans=(PLAN,), trainings={}) as served:
        answer = served.client.get("/")
        assert answer.headers[policy].endswith(f"; frame-ancestors {site}")
        assert "x-frame-options" not in answer.headers
        for other in ("/dashboard", "/explanation", "/pages/embed.js"):
            assert served.client.get(other).headers[policy].endswith("frame-ancestors 'none'")
    (tmp_path / "other").mkdir()
    with serving(tmp_path / "other", anybody(), plans=(PLAN,), trainings={}) as served:
        assert served.client.get("/").headers[policy].endswith("frame-ancestors 'none'")


@pytest.mark.parametrize("site", ["*", "https://a.example/path", "https://a.example; script-src *", 'https://a"b', "a"])
def test_a_site_is_named_by_its_origin(site: str) -> None:
    with pytest.raises(InputError, match="named by its origin"):
        anybody(embed=frozenset([site]))
