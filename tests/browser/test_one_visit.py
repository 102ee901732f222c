"""One visit to the form, in a real browser: what is seen, and all that leaves. It is quick, and reads little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_plus

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from tests.browser import walks
from tests.browser.surveys import RECORD, SEND, SURVEY, fill, press_button, review, shown_bytes
from tests.browser.visits import Visit
from tests.collector.served import Served, anybody, serving

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
    with serving(tmp_path, anybody(stream_interval=0.05), plans=(SURVEY,), trainings={}) as found:
        yield found


def test_filled_by_keyboard_explained_and_sent_once(visit: Visit, served: Served) -> None:
    """Exactly one report leaves, which is then shown, and of the record nothing does."""
    page = visit.open(f"{served.url}/?plan={SURVEY.id}")
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


@pytest.mark.parametrize("way", walks.WAYS)
def test_by_keyboard_in_the_dark_and_on_a_phone(browser: Browser, served: Served, way: str) -> None:
    """All six questions: at once on a desk, one after the other on a phone. One report leaves."""
    record = RECORD | {"way to work": 1, "smoker": 2}
    with walks.walking(browser, way) as visit:
        page = walks.opened(visit, f"{served.url}/?plan={SURVEY.id}")
        page.get_by_test_id("whole").get_by_role("checkbox").check()
        page.locator("#main").focus()
        assert walks.fill(page, record) == list(RECORD)
        assert not visit.posts
        walks.send(page)
        assert [post.body for post in visit.posts] == [shown_bytes(page)]
    assert served.tally(SURVEY).reports == 1
