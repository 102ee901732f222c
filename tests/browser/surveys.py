"""Plans that visitors answer, and how they fill in the form: by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from playwright.sync_api import Page, expect

import hush

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 18, 100),
        hush.Categorical("way to work", ["on foot", "bicycle", "bus or train", "car", "I do not go out to work"]),
        hush.Numeric("income", 0, 200_000, out_of_range="clip", optional=True),
        hush.Categorical("smoker", ["yes", "no"], optional=True),
        hush.Categorical("region", [f"region {letter}" for letter in "ABCDEFGHIJKL"]),
        hush.Categorical("town", [f"town {i}" for i in range(60)]),
    ]
)
# k is the best one, which would take a second to find.
SURVEY = hush.design(SCHEMA, 1.0, title="Life in town", k=1)
OFTEN = 1 << 32
CHECK, SEND = "Check my answers", "Yes, send my report"


def mostly(attribute: str) -> hush.Plan:
    """Return the survey as one that asks nearly everybody about one attribute: all others together one in 10^9."""
    weights = tuple(OFTEN if attribute in question.attributes else 1 for question in SURVEY.questions)
    return replace(SURVEY, weights=weights)


AGE, WAY = mostly("age"), mostly("way to work")
BLOCKS = hush.design(  # questions about several attributes: a corner of a cube, and cells of a table
    hush.Schema(
        [
            hush.Numeric("morning", 0, 10),
            hush.Numeric("noon", 0, 10),
            hush.Numeric("evening", 0, 10),
            hush.Categorical("mood", ["good", "bad"]),
        ]
    ),
    2.0,
    title="Three at once",
    numeric="cube",
    k=1,
)
RECORD: dict[str, Any] = {
    "age": 41,
    "way to work": "bicycle",
    "income": 31415.92,
    "smoker": None,
    "region": "region C",
    "town": "town 47",
}


def answer_focused(page: Page, name: str) -> None:
    """Answer the question that has the focus, as `RECORD` does."""
    press = page.keyboard.press
    if name == "way to work":
        press("ArrowDown")  # the first was focused; the second is chosen
    elif name == "smoker":
        press("Space")
        for _ in range(2):  # the last choice: rather not say
            press("ArrowDown")
    else:
        page.keyboard.type(str(RECORD[name]))


def fill(page: Page, *, whole: bool = False) -> list[str]:
    """Fill in the form of `SCHEMA` with `RECORD`, by keyboard alone, from wherever the focus is to its button.

    With `whole`, ask for all questions first. Return the names of the questions that were answered.
    """
    page.get_by_test_id("form").wait_for()
    if whole:
        page.get_by_test_id("whole").get_by_role("checkbox").check()
        page.locator("#main").focus()
    return by_keyboard(page, answer_focused)


def by_keyboard(page: Page, answer: Callable[[Page, str], None]) -> list[str]:
    """Go past the links, answer question by question, and stop on the button. Return the names of the questions."""
    names = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.closest('[data-attribute]')?.dataset.attribute")
        if name is not None:
            names.append(name)
            answer(page, name)
        elif names:
            break
    expect(page.locator("button[type=submit]")).to_be_focused()
    return names


def review(page: Page) -> None:
    """Go on to the step before the report is drawn."""
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Are these your answers?", exact=True)).to_be_focused()


def send(page: Page) -> None:
    """Send the report, and wait until it has arrived."""
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()


def press_button(page: Page, name: str) -> None:
    """Go forward to a button by keyboard, and press it."""
    wanted = page.get_by_role("button", name=name, exact=True)
    for _ in range(40):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the keyboard does not reach {name!r}")


def shown_bytes(page: Page, where: str = "report") -> bytes:
    """Return a report that a page shows: the one that was sent, or an example."""
    text = page.get_by_test_id(where).get_by_test_id("bytes").text_content()
    assert text is not None
    return bytes.fromhex(text)


def kept_bytes(page: Page, plan: hush.Plan) -> bytes:
    """Return the report that the ledger of a browser keeps, which no page shows before it has arrived."""
    found: list[int] = page.evaluate(
        """async (id) => {
            const open = indexedDB.open("hush ledger");
            const db = await new Promise((done) => (open.onsuccess = () => done(open.result)));
            const request = db.transaction("book").objectStore("book").get(0);
            const book = await new Promise((done) => (request.onsuccess = () => done(request.result)));
            db.close();
            return book.entries.filter((entry) => entry.plan === id).flatMap((entry) => [...entry.report]);
        }""",
        plan.id,
    )
    return bytes(found)
