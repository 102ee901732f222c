"""The pages of a life in a real browser: the form, its promises, the dashboard, and the print of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from playwright.sync_api import Browser, Error, Page

from tests.browser.conftest import launched
from tests.browser.visits import Visit
from tests.collector.served import Served
from tests.everything.surfaces.lives import Life
from tests.everything.surfaces.saying import amiss

TIMES = 5
PAGES = ("/?plan={plan}", "/explanation?plan={plan}", "/dashboard?plan={plan}")


def screens(life: Life, served: Served) -> Iterator[str]:
    """Open every page, and yield what is wrong with it."""
    served.store.add_plan(life.plan)
    with launched() as browser:
        for path in PAGES:
            yield from _page(browser, served, path.format(plan=life.plan.id))


def _page(browser: Browser, served: Served, path: str) -> Iterator[str]:
    visit = Visit(browser)
    try:
        page = visit.open(served.url + path)
        for _ in range(TIMES):
            _scrolled(page)
            text = page.locator("body").inner_text()
            if "Loading" not in text:
                break
            page.wait_for_timeout(1000)  # a busy machine: its first answer may come after all was looked at
        if len(text) < 80:
            yield f"{path}: an empty page"
        if "Loading" in text:
            yield f"{path}: something is still loading"
        yield from (f"{path}: {wrong}" for wrong in amiss(text))
        for picture in page.locator("svg").all():
            inner = picture.inner_html()
            yield from (f"{path}: {bad} in a picture" for bad in ("NaN", "Infinity", "undefined") if bad in inner)
        page.emulate_media(media="print")
        if len(page.pdf()) < 1000:
            yield f"{path}: an empty print"
    finally:
        complaints, visit.complaints = visit.complaints, []
        visit.close()
        yield from (f"{path}: {complaint}" for complaint in complaints)


def _scrolled(page: Page) -> None:
    """Go through the page once: its parts are filled and drawn as they come into sight."""
    for _ in range(200):
        if page.evaluate("document.body.innerText.length > 80"):
            break
        page.wait_for_timeout(50)
    for _ in range(60):
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(60)
        if page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2"):
            break
    for _ in range(100):
        left = page.get_by_text("Loading.", exact=True).filter(visible=True)
        if left.count() == 0:
            return
        with suppress(Error):  # it may be filled, and so be gone, in the meantime
            left.first.scroll_into_view_if_needed(timeout=1000)
        page.wait_for_timeout(100)
