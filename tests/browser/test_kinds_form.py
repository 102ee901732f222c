"""The form asks each kind of question with an input of its own, on a phone and on a desk, by keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush.collector import presentation
from tests.browser.phones import questions, small_phone
from tests.browser.surveys import CHECK, SEND, press_button, shown_bytes
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Boolean("smokes"),
        hush.Boolean("drinks", optional=True),
        hush.Integer("mood", 1, 10),
        hush.Integer("visits", 0, 50),
        hush.Categorical("browser", ["firefox"], other=True),
    ]
)
PLAN = hush.design(SCHEMA, 16.0, title="Kinds", k=len(SCHEMA))
WORDED = hush.design(SCHEMA, 16.0, title="Kinds, in words", k=len(SCHEMA))
SHOWN: dict[str, Any] = {
    "attributes": {
        "smokes": {"labels": {"yes": "I do"}, "order": ["no", "yes"]},
        "browser": {"labels": {"(other)": "Something else"}, "order": ["(other)", "firefox"]},
    }
}
TYPED = {"visits": "7"}
"""What is typed, by attribute; elsewhere the second choice is taken."""
TOLD = ["No", "No", "2", "7", "Other"]
"""The answers, as the form repeats them."""
CHOICES = {
    "smokes": ["Yes", "No"],
    "drinks": ["Yes", "No", "(I would rather not say)"],
    "browser": ["firefox", "Other"],
    "mood": [str(number) for number in range(1, 11)],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    shown = {WORDED.id: presentation.read(json.dumps(SHOWN).encode(), WORDED)}
    settings = anybody(stream_interval=0.05, presentations=shown)
    with serving(tmp_path_factory.mktemp("kinds"), settings, plans=(PLAN, WORDED), trainings={}) as found:
        yield found


def reach(page: Page, name: str) -> None:
    """Go to a question by keyboard."""
    for _ in range(20):
        if page.evaluate("document.activeElement.closest('[data-attribute]')?.dataset.attribute") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached")


def answer(page: Page, name: str) -> None:
    """Answer the question that has the focus."""
    if name in TYPED:
        page.keyboard.type(TYPED[name])
        return
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")


def test_every_kind_at_a_desk(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang=en")
    page.get_by_test_id("form").wait_for()
    for name, choices in CHOICES.items():
        expect(page.locator(f"[data-attribute={name}] .choice")).to_have_text(choices)
    check_accessible(page)
    for name in SCHEMA.names:
        reach(page, name)
        answer(page, name)
    check_accessible(page)
    press_button(page, CHECK)
    assert page.get_by_test_id("answers").locator("dd").all_text_contents() == TOLD
    check_accessible(page)
    before = served.tally(PLAN).reports
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    check_accessible(page)
    hush.Report.decode(PLAN, shown_bytes(page))
    assert served.tally(PLAN).reports == before + 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_kind_on_a_phone(browser: Browser, served: Served, dark: bool) -> None:
    parts = "label.choice, input:not([type=radio])"
    with small_phone(browser, f"{served.url}/?plan={PLAN.id}&lang=en", dark=dark) as page:
        for shown, name in zip(questions(page, len(SCHEMA), parts), SCHEMA.names, strict=True):
            expect(shown).to_have_attribute("data-attribute", name)
            reach(page, name)
            answer(page, name)
        assert page.get_by_test_id("answers").locator("dd").all_text_contents() == TOLD
        check_accessible(page)
        check_width(page)


@pytest.mark.parametrize(("language", "words"), [("de", ["Ja", "Nein"]), ("zh", ["是", "否"])])
def test_yes_and_no_in_the_language_of_the_reader(
    visit: Visit, served: Served, language: str, words: list[str]
) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang={language}")
    expect(page.locator("[data-attribute=smokes] .choice")).to_have_text(words)


def test_a_fraction_is_no_whole_number(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang=en")
    page.get_by_label("visits").fill("1.5")
    page.get_by_role("button", name=CHECK).click()
    expect(page.get_by_test_id("problems")).to_contain_text("visits: must be a whole number from 0 to 50")


def test_words_of_the_presentation(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={WORDED.id}&lang=en")
    expect(page.locator("[data-attribute=smokes] .choice")).to_have_text(["No", "I do"])
    expect(page.locator("[data-attribute=browser] .choice")).to_have_text(["Something else", "firefox"])
