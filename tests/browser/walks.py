"""A form that is filled in by keyboard alone, in the dark or on a small phone, with axe at every step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Frame, Page, expect

from tests.browser.phones import SMALL
from tests.browser.surveys import SEND, press_button
from tests.browser.visits import Visit, check_accessible, check_width

WAYS = ["dark", "phone", "dark-phone"]
FOCUSED = """() => {
    const { activeElement: now } = document;
    const name = now.closest("[data-attribute]")?.dataset.attribute ?? "";
    return [name, now.type ?? "", now.type === "submit"];
}"""

BRIGHT = """() => {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
    return red + green + blue > 382;
}"""


@contextmanager
def walking(browser: Browser, way: str, *allowed: str) -> Iterator[Visit]:
    """Visit in one of the ways; errors of pages are failures."""
    visit = Visit(browser, dark="dark" in way, phone="phone" in way, allowed=allowed)
    try:
        yield visit
    finally:
        visit.close()


def opened(visit: Visit, url: str) -> Page:
    """Open an address, on a phone in a small window."""
    page = visit.context.new_page()
    if visit.phone:
        page.set_viewport_size(SMALL)
    page.goto(url)
    return page


def check_step(page: Page, part: Page | Frame | None = None) -> None:
    """Check a step: its accessibility, its width, and that it has the colours that the visitor asked for."""
    part = page if part is None else part
    check_accessible(part)
    check_width(part)
    assert part.evaluate(BRIGHT) != part.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


def fill(page: Page, record: dict[str, Any], part: Frame | None = None) -> list[str]:
    """Answer all that is asked, and stop at the answers. Return the names in the order in which they were asked.

    Of buttons the first is chosen, or one below it: the record says how often the arrow is pressed. A form in a frame
    is `part`.
    """
    where = page if part is None else part
    where.get_by_test_id("form").wait_for()
    names: list[str] = []
    ready = where.get_by_role("heading", name="Are these your answers?", exact=True)
    for _ in range(80):
        name, kind, submits = where.evaluate(FOCUSED)
        if name and name not in names:
            names.append(name)
            _answer(page, kind, record[name])
        elif submits and names:
            check_step(page, part)
            page.keyboard.press("Enter")
            page.wait_for_timeout(100)
            if ready.count():
                expect(ready).to_be_focused()
                return names
            continue
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not get past {names}")


def _answer(page: Page, kind: str, value: Any) -> None:
    if kind in ("radio", "checkbox"):
        page.keyboard.press("Space")
        for _ in range(value):
            page.keyboard.press("ArrowDown")
    else:
        page.keyboard.type(str(value))


def send(page: Page) -> None:
    """Send the report by keyboard, and check what the page says then."""
    check_step(page)
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    check_step(page)
