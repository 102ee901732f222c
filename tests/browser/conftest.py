"""A real browser, Debian's Chromium, driven by Playwright; skipped with the reason where one of them is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.visits import Visit
    from tests.collector.served import Served

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def launched(*more: str) -> Iterator[Browser]:
    """Run a browser, with further flags."""
    api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("the browser tests need Chromium (Debian: apt-get install chromium)")
    api.expect.set_options(timeout=15_000)  # machines are shared
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *more])
        try:
            yield found
        finally:
            found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser. It ends with the module: while Playwright runs, other tests could not start an event loop."""
    with launched() as found:
        yield found


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Return a visitor with a browser profile of their own."""
    from tests.browser.visits import Visit

    visitor = Visit(browser)
    try:
        yield visitor
    finally:
        visitor.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a collector of all that a dashboard shows. Files about something else have their own."""
    from tests.browser.dashboards import everything

    with everything(tmp_path_factory.mktemp("dashboard")) as found:
        yield found


@pytest.fixture(scope="session")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where screenshots go: into the documents if HUSH_SCREENSHOTS names them, as `make screenshots` does."""
    named = os.environ.get("HUSH_SCREENSHOTS")
    path = Path(named) if named else tmp_path_factory.mktemp("screens")
    path.mkdir(parents=True, exist_ok=True)
    return path
