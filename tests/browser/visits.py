"""A visitor of a page: what their browser asked for, what went wrong in it, and what axe says about the page."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Frame, Locator, Page, Request, expect

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
HARMLESS = 'Dropping "fit-y" because spec has discrete height'  # Vega-Lite, of charts whose height follows their bars
DESK, PHONE = {"width": 1120, "height": 820}, {"width": 375, "height": 740}


@dataclass(frozen=True)
class Asked:
    """A request that a browser made."""

    method: str
    url: str
    body: bytes | None
    headers: str

    @property
    def said(self) -> dict[str, str]:
        """Its headers."""
        return dict(ast.literal_eval(self.headers))

    @property
    def names(self) -> set[str]:
        """The names of its headers."""
        return {name for name, value in ast.literal_eval(self.headers) if value}

    @property
    def path(self) -> str:
        parts = urlsplit(self.url)
        return parts.path + (f"?{parts.query}" if parts.query else "")


@dataclass
class Visit:
    """A browser profile, with a log of all requests and complaints of its pages."""

    browser: Browser
    dark: bool = False
    phone: bool = False
    context: BrowserContext = field(init=False)
    asked: list[Asked] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """The addresses, in full, that may answer with 404. A part of an address would hide the 404 of another."""

    def __post_init__(self) -> None:
        self.context = self.browser.new_context(
            viewport=PHONE if self.phone else DESK,  # type: ignore[arg-type]
            color_scheme="dark" if self.dark else "light",
            device_scale_factor=2 if self.phone else 1,
            reduced_motion="reduce",
            locale="en-GB",
            accept_downloads=True,
        )
        self.context.set_default_timeout(15_000)
        self.context.on("request", self._note)
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))

    def _note(self, request: Request) -> None:
        self.asked.append(
            Asked(request.method, request.url, request.post_data_buffer, str(sorted(request.headers.items())))
        )

    def _console(self, message: ConsoleMessage) -> None:
        kind, text, url = message.type, message.text, message.location.get("url", "")
        expected = any(words in text for words in (HARMLESS, *self.allowed))
        if kind in ("error", "warning") and not expected and not ("status of 404" in text and url in self.missing):
            self.complaints.append(f"{kind}: {text} ({url})")

    def open(self, url: str) -> Page:
        """Open a page in a new tab."""
        page = self.context.new_page()
        page.goto(url)
        return page

    @property
    def posts(self) -> list[Asked]:
        return [request for request in self.asked if request.method == "POST"]

    def hosts(self) -> set[str]:
        return {
            urlsplit(request.url).netloc for request in self.asked if not request.url.startswith(("data:", "blob:"))
        }

    def close(self) -> None:
        """End the visit. Errors and warnings of a page, of its content policy for example, are failures."""
        self.context.close()
        assert not self.complaints, self.complaints


def check_accessible(page: Page | Frame) -> None:
    """Fail with what axe finds wrong with a page: every rule that it has, best practices included."""
    if not AXE.exists():
        pytest.skip("the checks of accessibility need axe-core: make web")
    # The policy of the page forbids scripts of others, and Playwright's own: it is run as an expression instead.
    page.evaluate(AXE.read_text() + ";0")
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)"
    )
    told = [f"{rule['id']}: {rule['help']}: {[node['html'][:160] for node in rule['nodes'][:3]]}" for rule in found]
    assert not told, told


def check_width(page: Page | Frame) -> None:
    """Fail if a page must be scrolled sideways."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def scrolled(found: Locator) -> Locator:
    """Return a part of the dashboard, in sight and filled. Parts above it may move it away while they are filled."""
    note = found.get_by_test_id("note").first
    for _ in range(300):
        found.scroll_into_view_if_needed()
        if note.count() == 0 or note.text_content() != "Loading.":
            break
        found.page.wait_for_timeout(100)
    return found


def drawn(chart: Locator) -> None:
    """Wait until a chart of the dashboard is drawn: it is when it comes into sight, and others may move it away."""
    for _ in range(300):
        chart.scroll_into_view_if_needed()
        if chart.locator("svg").count():
            break
        chart.page.wait_for_timeout(100)
    expect(chart.locator("svg")).to_be_visible()
