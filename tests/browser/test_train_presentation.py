"""The form of a training with a presentation: as that of a survey, on a phone and on a desk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush.collector import presentation
from tests.browser.phones import questions, small_phone
from tests.browser.presented import CHECK_DE, GERMAN, SCRIPT, SEND_DE
from tests.browser.surveys import press_button
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 18, 90),
        hush.Categorical("os", ["linux", "mac", "other"]),
        hush.Integer("mood", 1, 5),
    ]
)
LABEL = hush.Categorical("bought", ["no", "yes"])
OWN = hush.Training("Who buys?", "logistic", SCHEMA, LABEL, 1.0, 3, 0.5)
PLAIN = hush.Training("Plain", "logistic", SCHEMA, LABEL, 1.0, 3, 0.5)
MARKUP = "<img src=x onerror=alert(1)>Haben Sie <b>gekauft</b>?"
SHOWN: dict[str, Any] = GERMAN | {
    "title": "Wer kauft?",
    "introduction": f"Vier Fragen.\n{SCRIPT}",
    "order": ["bought", "mood"],
    "attributes": {
        "bought": {"question": MARKUP, "labels": {"no": "Nein", "yes": "Ja, <i>gern</i>"}, "order": ["yes", "no"]},
        "mood": {"question": "Wie geht es Ihnen?", "widget": "buttons"},
        "age": {"question": "Wie alt sind Sie?", "unit": "Jahre", "help": "In ganzen Jahren."},
        "os": {"labels": {"mac": "Apple"}},
    },
}
ORDER = ["bought", "mood", "age", "os"]


def read(values: dict[str, Any]) -> presentation.Presentation:
    return presentation.read_training(json.dumps(values).encode(), OWN)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05, presented_trainings={OWN.name: read(SHOWN)})
    folder = tmp_path_factory.mktemp("presented")
    with serving(folder, settings, plans=(), trainings={OWN: 100, PLAIN: 100}) as found:
        yield found


def address(url: str, name: str) -> str:
    return f"{url}/train?training={quote(name)}"


def answer(page: Page) -> list[str]:
    """Fill in the form by keyboard alone; return the attributes in the order of the keyboard."""
    names: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.closest('[data-attribute]')?.dataset.attribute")
        if name is None and names:
            break
        if name is not None:
            names.append(name)
            if name == "age":
                page.keyboard.type("41")
            else:
                page.keyboard.press("Space")
                page.keyboard.press("ArrowRight")
    return names


def test_by_keyboard_with_the_words_of_the_presentation(visit: Visit, served: Served) -> None:
    """Nothing is read as markup, and the report is one of the round's plan: the values are the training's."""
    page = visit.open(address(served.url, "Who buys?"))
    page.get_by_test_id("form").wait_for()
    expect(page.get_by_role("heading", level=1)).to_have_text("Wer kauft?")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page).to_have_title(re.compile("Wer kauft"))
    expect(page.locator("#introduction")).to_contain_text("<script>alert(1)</script>")
    expect(page.get_by_test_id("about")).to_contain_text(MARKUP)
    expect(page.locator("[data-attribute=bought] .choice")).to_have_text(["Ja, <i>gern</i>", "Nein"])
    expect(page.locator("[data-attribute=age]")).to_contain_text("Jahre")
    expect(page.locator("[data-attribute=age]")).to_contain_text("In ganzen Jahren.")
    assert page.locator("main img, main b, main i, main script").count() == 0
    painted = page.evaluate("getComputedStyle(document.querySelector('button.primary')).backgroundColor")
    assert painted not in ("rgb(29, 95, 168)", "rgb(140, 193, 255)")  # the page's own
    check_accessible(page)
    assert answer(page) == ORDER
    press_button(page, CHECK_DE)
    given = page.get_by_test_id("answers")
    assert given.locator("dt").all_text_contents() == [MARKUP, "Wie geht es Ihnen?", "Wie alt sind Sie?", "os"]
    assert given.locator("dd").all_text_contents() == ["Nein", "2", "41", "Apple"]
    check_accessible(page)
    press_button(page, SEND_DE)
    expect(page.get_by_test_id("thanks")).to_have_text("Danke & bis <b>bald</b>!")
    check_accessible(page)
    (post,) = visit.posts
    assert post.path == "/trainings/Who%20buys%3F/gradients?round=1"
    now = hush.Round.from_json(served.client.get("/trainings/Who%20buys%3F/round").content)
    assert post.body is not None
    hush.Report.decode(now.plan, post.body)


def test_the_language_of_the_address_comes_first(visit: Visit, served: Served) -> None:
    page = visit.open(f"{address(served.url, 'Who buys?')}&lang=fr")
    expect(page.get_by_role("button", name="Vérifier mes réponses")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Wer kauft?")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_one_question_after_the_other_on_a_phone(browser: Browser, served: Served, dark: bool) -> None:
    with small_phone(browser, address(served.url, "Who buys?"), dark=dark) as page:
        names = []
        for shown in questions(page, 4, "label.choice, input[type=number]"):
            names.append(shown.get_attribute("data-attribute"))
            if names[-1] == "age":
                shown.locator("input").fill("41")
            else:
                shown.locator("label").nth(1).click()
        assert names == ORDER
        page.get_by_role("button", name=SEND_DE).click()
        page.get_by_test_id("thanks").wait_for()
        check_accessible(page)
        check_width(page)


def test_without_a_presentation_the_training_speaks(visit: Visit, served: Served) -> None:
    page = visit.open(address(served.url, "Plain"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Plain")
    assert served.client.get("/trainings/Plain/presentation").json()["attributes"] == {}
    names = page.locator(".field").evaluate_all("all => all.map(one => one.dataset.attribute)")
    assert names == ["age", "os", "mood", "bought"]


def test_the_command_reads_it(tmp_path: Path) -> None:
    """`hush serve --training ... --presentation ...`: see tests/cli/test_presenting.py for what it refuses."""
    from hush.cli.rounds import presentations

    (tmp_path / "round.json").write_text(hush.first_round(OWN).to_json())
    (tmp_path / "form.json").write_text(json.dumps(SHOWN))
    assert presentations((f"{tmp_path}/round.json={tmp_path}/form.json",)).trainings == {OWN.name: read(SHOWN)}
