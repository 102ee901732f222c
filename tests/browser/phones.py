"""A form on a small phone: one question after the other, with inputs that are large enough for a thumb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser.visits import Visit, check_accessible, check_width

SMALL: ViewportSize = {"width": 360, "height": 640}
THUMB = 44  # pixels


@contextmanager
def small_phone(browser: Browser, url: str, *, dark: bool) -> Iterator[Page]:
    """Open a form."""
    visit = Visit(browser, dark=dark, phone=True)
    page = visit.context.new_page()
    page.set_viewport_size(SMALL)
    page.goto(url)
    page.get_by_test_id("form").wait_for()
    yield page
    visit.close()


def check_touch(parts: Locator) -> None:
    """Fail if one of these is too small for a thumb."""
    for part in parts.all():
        size = part.bounding_box()
        assert size is not None
        assert min(size["width"], size["height"]) >= THUMB


LABELS = """() => [...document.querySelectorAll('.vega svg, svg.profile')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const seen = (text) => text.textContent.trim() && text.getAttribute('opacity') !== '0';
  const shown = [...svg.querySelectorAll('text')].filter(seen);
  const boxes = shown.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], i) => [
    ...(a.left < frame.left - 1 || a.right > frame.right + 1 ? [`${one} is cut off`] : []),
    ...boxes.slice(i + 1).filter(([_, b]) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3
    ).map(([other]) => `${one} and ${other}`),
  ]);
})"""


def labels_that_collide(page: Page) -> list[str]:
    """Return the labels of charts that lie over each other, or leave their chart."""
    found: list[str] = page.evaluate(LABELS)
    return found


def questions(page: Page, number: int, parts: str) -> Iterator[Locator]:
    """Check and yield one question after the other. The caller answers each; then the next one is asked for."""
    for _ in range(number):
        shown = page.locator(".field:visible")
        expect(shown).to_have_count(1)
        check_touch(shown.locator(parts))
        check_accessible(page)
        check_width(page)
        yield shown
        page.locator("button[type=submit]").click()
