"""A person who wishes that one outcome is sent, whatever their answer is, and tries every way to get there.

The person is patient and knows the page, but has no tools for developers: they see what the page shows, press what it
offers, reload, open tabs, go back, cut the line before they send, and leave without sending.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Locator, Page

import hush
from tests.browser.visits import Visit

QUESTION = hush.design(
    hush.Schema([hush.Categorical("smoker", ["yes", "no"])]), 2.0, title="Do you smoke?", categorical="grr"
)
TRUTH, WISHED = "no", 0
"""The answer of the person, and the outcome that they wish for: the less likely one."""

PATIENCE = 150
FOR_SHOW = re.compile("for show|another example")
LOOK = """() => {
    const bytes = (where) => document.querySelector(where)?.textContent ?? null;
    return {
        own: bytes("[data-testid=bytes]:not([data-testid=example] *)"),
        example: bytes("[data-testid=example] [data-testid=bytes]"),
        asks: document.querySelector("main input") !== null,
        drawn: document.querySelector("[data-testid=waiting], [data-testid=kept]") !== null,
        done: document.querySelector("[data-testid=done]") !== null,
    };
}"""
STEP = '(document.getElementById("content") ?? document.querySelector("main")).firstElementChild'
MARK = f"() => {{ window.before = {STEP}; }}"
SETTLED = f"""() => {STEP} !== null && {STEP} !== window.before && !document.querySelector("main button:disabled")
    && document.querySelector("main button.primary, [data-testid=done]") !== null"""


def outcome(text: str | None) -> int | None:
    """Return what a report says that a page shows; None if it shows none."""
    if text is None:
        return None
    ((_, found),) = hush.Report.decode(QUESTION, bytes.fromhex(text)).answers
    assert isinstance(found, int)
    return found


@dataclass
class Chooser:
    """One visit. `again` is what they do about a report that they do not like, or that they do not see."""

    visit: Visit
    url: str
    again: Callable[[Chooser], None]
    unplugged: bool = True
    choosy: bool = False
    tabs: int = 1
    keyboard: bool = False
    page: Page = field(init=False)
    left: bool = False

    def __post_init__(self) -> None:
        for _ in range(self.tabs):
            self.page = self.visit.open(self.url)

    def settle(self) -> None:
        self.page.wait_for_function(SETTLED)

    def plug(self, pulled: bool) -> None:
        """Let no report through, or all again. It is refused: a lost one would be tried again for a while."""
        self.visit.context.unroute("**/reports")
        if pulled:
            self.visit.context.route("**/reports", lambda route: route.fulfill(status=403))

    def look(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(LOOK)
        return found | {name: outcome(found[name]) for name in ("own", "example")}

    def click(self, button: Locator) -> None:
        """Press a button, and wait until the page shows something else."""
        self.page.evaluate(MARK)
        if self.keyboard:
            button.press("Enter")
        else:
            button.click()
        self.settle()

    def forward(self, asks: bool) -> None:
        """Do what the page asks for next: fill in the form, or press its main button."""
        if asks:
            answer = self.page.get_by_label(TRUTH, exact=True)
            if self.keyboard:
                answer.press("Space")
            else:
                answer.check()
        self.click(self.page.locator("main button.primary"))

    def press_others(self) -> None:
        """Press a button that is not the main one, if there is one: to change the answers, or to answer again."""
        others = self.page.locator("main button:not(.primary)").filter(has_not_text=FOR_SHOW)
        if others.count():
            self.click(others.first)

    def run(self) -> None:
        """Go on until a report was sent, or leave without sending one."""
        self.settle()
        self.plug(self.unplugged)
        looked = False
        for _ in range(PATIENCE):
            if self.left or (seen := self.look())["done"]:
                break
            if seen["own"] not in (None, WISHED):
                self.again(self)
            elif self.choosy and seen["example"] not in (None, WISHED):
                self.page.get_by_role("button", name=FOR_SHOW).click()
            elif seen["drawn"] and seen["own"] is None and not looked:
                looked = True  # it is drawn, and shown nowhere: perhaps it is after this
                self.again(self)
            else:
                if seen["own"] == WISHED or seen["drawn"]:
                    self.plug(False)
                self.forward(seen["asks"])
        self.plug(False)


def press(chooser: Chooser) -> None:
    """Press whatever else there is."""
    chooser.press_others()


def reload(chooser: Chooser) -> None:
    """Load the page again."""
    chooser.page.reload()
    chooser.settle()
    chooser.press_others()


def later_tab(chooser: Chooser) -> None:
    """Open the form in another tab."""
    chooser.page = chooser.visit.open(chooser.url)
    chooser.settle()
    chooser.press_others()


def earlier_tab(chooser: Chooser) -> None:
    """Go to a tab that was opened before anything was drawn, and so still shows the questions."""
    chooser.page = chooser.visit.context.pages[0]
    chooser.page.bring_to_front()
    chooser.press_others()


def back(chooser: Chooser) -> None:
    """Follow a link, and come back."""
    chooser.page.get_by_role("link", name="How this protects you").first.click()
    chooser.page.wait_for_url("**/explanation?*")
    chooser.page.go_back()
    chooser.settle()
    chooser.press_others()


def close(chooser: Chooser) -> None:
    """Close the page: for good if it shows what they do not like."""
    chooser.left = chooser.look()["own"] is not None
    chooser.page.close()
    if not chooser.left:
        chooser.page = chooser.visit.open(chooser.url)
        chooser.settle()


TRICKS: tuple[tuple[Callable[[Chooser], None], dict[str, Any]], ...] = (
    (press, {}),
    (reload, {}),
    (later_tab, {}),
    (earlier_tab, {"tabs": 2}),
    (back, {}),
    (close, {}),
    (press, {"choosy": True, "unplugged": False}),  # send when the example is as they wish
)
