"""A site that shows the form in a frame sees the same of every visitor, whichever question was drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser

from tests.browser.conftest import launched
from tests.browser.framing import NAMES, PLAN, seeds, site, unlike, walked
from tests.browser.test_embedding import hosting
from tests.browser.visits import Visit
from tests.collector.served import Served, anybody, serving

Shown = tuple[Served, str, dict[str, int]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser as people have it: the list of features that Playwright turns off keeps frames from storage."""
    with launched("--disable-features=Translate") as found:
        yield found


@pytest.fixture(scope="module")
def shown(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A collector, the origin of a site with its form, and a seed for each question."""
    folder = tmp_path_factory.mktemp("framed")
    with hosting(folder) as origin:
        origin = origin.replace("127.0.0.1", "localhost")  # another site, not only another origin
        with serving(folder, anybody(embed=frozenset([origin])), plans=(PLAN,), trainings={}) as served:
            site(folder, served)
            visit = Visit(browser)
            found = seeds(visit, served)
            visit.close()
            yield served, origin, found


def traces(
    browser: Browser, shown: Shown, names: Sequence[str], *scripts: str, page: str = "index"
) -> list[list[dict[str, Any]]]:
    """What the site sees of visitors whose devices draw these questions."""
    _, origin, found = shown
    assert set(found) == set(NAMES)
    seen = []
    for name in names:
        asked, trace = walked(browser, f"{origin}/{page}.html", found[name], *scripts)
        assert asked == [name]
        seen.append(trace)
    return seen


@pytest.mark.parametrize(
    ("names", "page"),
    [(("member", "shop"), "index"), (NAMES, "index"), (NAMES, "narrow")],
    ids=["two", "all", "narrow"],
)
def test_the_site_sees_the_same_whichever_question_was_drawn(
    browser: Browser, shown: Shown, names: Sequence[str], page: str
) -> None:
    found = traces(browser, shown, names, page=page)
    assert not unlike(found), unlike(found)
    told = [event for step in found[0] for event in step["seen"]]
    assert "blur " in told, "it sees that somebody goes into the frame"
    assert not [event for event in told if event.startswith("message")]
    assert {step["length"] for step in found[0]} == {found[0][0]["length"]}, "nothing is added to the history"
    assert {step["style"] for step in found[0]} == {found[0][0]["style"]}, "nor is the frame changed"


# Forms that are less quiet, each by one thing.
TWINS = {
    "it tells its height": """
        addEventListener("DOMContentLoaded", () => new ResizeObserver(() =>
            parent.postMessage({ hushHeight: document.body.firstElementChild.parentElement.scrollHeight }, "*")
        ).observe(document.body));
    """,
    "it hands on scrolling": """
        addEventListener("DOMContentLoaded", () => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("html { overscroll-behavior: auto !important } body { min-height: 0 !important }");
            document.adoptedStyleSheets.push(sheet);
        });
    """,
    "it lets the browser scroll the page": """
        const add = window.addEventListener;
        window.addEventListener = (name, ...rest) => name === "keydown" || add.call(window, name, ...rest);
        const { focus } = HTMLElement.prototype;
        Object.defineProperty(HTMLElement.prototype, "focus", { get: () => focus, set() {} });
    """,
    "it adds to the history": """
        addEventListener("submit", () => History.prototype.pushState.call(history, null, ""), true);
    """,
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_form_that_is_less_quiet_is_caught(browser: Browser, shown: Shown, twin: str) -> None:
    found = traces(browser, shown, ("member", "shop"), TWINS[twin])
    grown = len({step["length"] for step in found[0]}) > 1
    assert unlike(found) or grown
    assert grown is (twin == "it adds to the history")
