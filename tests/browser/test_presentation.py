"""The form with a presentation: words, widgets, colours and languages, on a phone and on a desk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush.collector import presentation
from hush.collector.http import pages
from tests.browser.phones import SMALL, check_touch
from tests.browser.presented import CHECK_DE, GERMAN, SCRIPT, SEND_DE
from tests.browser.surveys import CHECK, SEND, press_button, shown_bytes
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Numeric("mood", 1, 10),
        hush.Numeric("rating", 1, 5, optional=True),
        hush.Numeric("commute", 0, 180),
        hush.Numeric("visits", 0, 50),
        hush.Categorical("way", ["foot", "bike", "car"]),
    ]
)
ALL = hush.design(SCHEMA, 2.0, title="Life in town", k=5)
OTHERS = {
    accent: replace(ALL, title=f"Life in {accent}")
    for accent in ("#ffff00", "#000000", "#ffffff", "#777777", "#e8590c")
}
MARKUP = "<img src=x onerror=alert(1)><b>How</b> do you get to work?"
SHOWN: dict[str, Any] = GERMAN | {
    "title": "Ein Tag in der Stadt",
    "introduction": f"Drei Minuten.\n{SCRIPT}",
    "order": ["way", "mood"],
    "attributes": {
        "way": {
            "question": MARKUP,
            "help": "Meistens.",
            "labels": {"foot": "Zu Fuß", "bike": "<i>Rad</i>"},
            "order": ["car", "bike", "foot"],
        },
        "mood": {"question": "Wie geht es Ihnen?", "widget": "buttons"},
        "rating": {"question": "Und die Stadt?", "widget": "stars"},
        "commute": {"question": "Wie lange fahren Sie?", "unit": "Minuten", "widget": "slider"},
        "visits": {"unit": "Mal", "widget": "number"},
    },
}


def read(values: dict[str, Any], plan: hush.Plan = ALL) -> presentation.Presentation:
    return presentation.read(json.dumps(values).encode(), plan)


PLAIN = hush.design(SCHEMA, 4.0, title="Plain", k=5)
PRESENTED = {ALL.id: read(SHOWN)} | {
    plan.id: read({"accent": accent, "attributes": {"mood": {"widget": "buttons"}, "rating": {"widget": "stars"}}})
    for accent, plan in OTHERS.items()
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05, presentations=PRESENTED)
    with serving(
        tmp_path_factory.mktemp("presented"), settings, plans=(ALL, PLAIN, *OTHERS.values()), trainings={}
    ) as found:
        yield found


def answer(page: Page) -> None:
    """Fill in all questions of the presented plan, at desk width, by keyboard alone."""
    press = page.keyboard.press
    for name in ("way", "mood", "rating", "commute", "visits"):
        for _ in range(20):
            press("Tab")
            if page.evaluate("document.activeElement.closest('[data-attribute]')?.dataset.attribute") == name:
                break
        if name == "visits":
            page.keyboard.type("7")
        else:  # from the first category to the second, one step of a scale up
            press("Space")
            press("ArrowRight")


def test_the_words_are_the_presentations_and_the_values_the_plans(visit: Visit, served: Served) -> None:
    """Nothing is read as markup, and the record has the values of the schema."""
    page = visit.open(f"{served.url}/?plan={ALL.id}")
    page.get_by_test_id("form").wait_for()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ein Tag in der Stadt")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#introduction")).to_contain_text("<script>alert(1)</script>")
    assert page.locator(".field").evaluate_all("all => all.map(one => one.dataset.attribute)") == [
        "way",
        "mood",
        "rating",
        "commute",
        "visits",
    ]
    expect(page.locator("[data-attribute=way] legend")).to_have_text(MARKUP)
    expect(page.locator("[data-attribute=way] .choice")).to_have_text(["car", "<i>Rad</i>", "Zu Fuß"])
    assert page.locator("main img, main b, main i, main script").count() == 0
    check_accessible(page)
    answer(page)
    expect(page.get_by_test_id("progress")).to_have_text("5 von 5 beantwortet")
    check_accessible(page)
    press_button(page, CHECK_DE)
    answers = page.get_by_test_id("answers")
    assert answers.locator("dt").all_text_contents()[:2] == [MARKUP, "Wie geht es Ihnen?"]
    assert answers.locator("dd").all_text_contents() == ["<i>Rad</i>", "2", "2", "91", "7"]
    check_accessible(page)
    press_button(page, SEND_DE)
    page.get_by_test_id("done").wait_for()
    expect(page.get_by_test_id("thanks")).to_have_text("Danke & bis <b>bald</b>!")
    expect(page.get_by_role("status")).to_have_text("Ihr Bericht ist angekommen. Vielen Dank.")
    check_accessible(page)
    hush.Report.decode(ALL, shown_bytes(page))
    assert served.tally(ALL).reports == 1


def test_a_slider_has_no_answer_until_it_is_moved(visit: Visit, served: Served) -> None:
    """Nor does a scale of integers take anything else."""
    page = visit.open(f"{served.url}/?plan={ALL.id}&lang=en")
    page.get_by_role("button", name=CHECK).click()
    problems = page.get_by_test_id("problems")
    expect(problems).to_contain_text("Wie lange fahren Sie?: move the slider")
    page.get_by_label("visits").fill("1.5")
    page.get_by_label("Wie lange fahren Sie?").press("ArrowRight")
    page.get_by_role("button", name=CHECK).click()
    expect(problems).not_to_contain_text("slider")
    expect(problems).to_contain_text("visits: must be a whole number from 0 to 50")
    expect(page.locator("output")).to_have_text("91 Minuten")
    check_accessible(page)


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "zh"])
def test_the_form_speaks_the_language_of_the_reader(browser: Browser, served: Served, language: str) -> None:
    """A browser's language, or that of the address; only the catalogue that is needed is loaded."""
    visit = Visit(browser, phone=True)
    words = json.loads((Path(__file__).parents[2] / "web" / "pages" / f"words-{language}.json").read_text())
    page = visit.open(f"{served.url}/?plan={PLAIN.id}&lang={language}")
    page.get_by_test_id("form").wait_for()
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.get_by_role("button", name=words["next"])).to_be_visible()
    expect(page.get_by_test_id("progress")).to_have_text(
        words["progress"].replace("{number}", "1").replace("{count}", "5")
    )
    check_accessible(page)
    check_width(page)
    loaded = {asked.path for asked in visit.asked if "words-" in asked.path}
    assert loaded == ({f"/pages/words-{language}.json"} if language != "en" else set())
    page.locator(".promise > summary").click()
    assert "{" not in (page.get_by_role("main").text_content() or "")
    check_accessible(page)
    check_width(page)
    visit.close()


def test_the_browsers_language_counts_where_nothing_else_is_said(browser: Browser, served: Served) -> None:
    context = browser.new_context(locale="fr-CA")
    page = context.new_page()
    page.goto(f"{served.url}/?plan={PLAIN.id}")
    expect(page.get_by_role("button", name="Vérifier mes réponses")).to_be_visible()
    page.goto(f"{served.url}/?plan={ALL.id}")  # which is presented in German
    expect(page.get_by_role("button", name=CHECK_DE)).to_be_visible()
    context.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_one_question_after_the_other_on_a_phone(browser: Browser, served: Served, dark: bool) -> None:
    """The first is in sight without scrolling, and everything can be pressed by a thumb and by keyboard."""
    visit = Visit(browser, dark=dark, phone=True)
    page = visit.context.new_page()
    page.set_viewport_size(SMALL)
    page.goto(f"{served.url}/?plan={ALL.id}")
    page.get_by_test_id("form").wait_for()
    names = []
    for number in range(1, 6):
        shown = page.locator(".field:visible")
        expect(shown).to_have_count(1)
        expect(page.get_by_test_id("progress")).to_have_text(f"Frage {number} von 5")
        names.append(shown.get_attribute("data-attribute"))
        box = shown.bounding_box()
        assert box is not None
        if number == 1:
            assert page.evaluate("scrollY") == 0
            assert box["y"] + box["height"] <= SMALL["height"]
        check_touch(shown.locator("label.choice, input[type=number], input[type=range]"))
        check_accessible(page)
        check_width(page)
        page.keyboard.press("Tab") if number == 1 else None
        if number == 1:
            page.get_by_role("button", name="Weiter").click()  # nothing is chosen yet
            expect(shown.locator(".error")).to_be_visible()
            check_accessible(page)
        if names[-1] == "visits":
            page.keyboard.type("3")
        else:
            page.keyboard.press("Space")
            page.keyboard.press("ArrowRight")
        if number == 3:
            page.get_by_role("button", name="Zurück").click()
            expect(page.get_by_test_id("progress")).to_have_text("Frage 2 von 5")
            page.get_by_role("button", name="Weiter").click()
            page.get_by_role("button", name="Weiter").click()
        elif number == 5:
            page.keyboard.press("Enter")
        else:
            page.get_by_role("button", name="Weiter").click()
    assert names == ["way", "mood", "rating", "commute", "visits"]
    expect(page.get_by_test_id("answers").locator("dd")).to_have_count(5)
    check_accessible(page)
    check_width(page)
    visit.close()


@pytest.mark.parametrize("accent", OTHERS)
def test_every_accent_can_be_read(browser: Browser, served: Served, accent: str) -> None:
    """On light and dark pages; axe computes the contrast of what is painted."""
    for dark in (False, True):
        visit = Visit(browser, dark=dark)
        page = visit.open(f"{served.url}/?plan={OTHERS[accent].id}")
        page.get_by_test_id("form").wait_for()
        check_accessible(page)
        page.get_by_role("button", name=CHECK).click()  # links on the surface of a problem
        page.get_by_test_id("problems").wait_for()
        check_accessible(page)
        painted = page.evaluate("getComputedStyle(document.querySelector('button.primary')).backgroundColor")
        assert painted not in ("rgb(29, 95, 168)", "rgb(140, 193, 255)")  # the page's own
        visit.close()


def test_without_a_presentation_the_plan_speaks(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/?plan={PLAIN.id}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Plain")
    expect(page.locator("[data-attribute=mood] label")).to_have_text("mood")
    page.get_by_label("mood").fill("7.25")  # numbers stay numbers
    page.get_by_label("commute").fill("30")
    page.get_by_label("visits").fill("2")
    page.get_by_label("bike").check()
    page.get_by_role("button", name=CHECK).click()
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("done").wait_for()
    assert served.tally(PLAIN).reports == 1


def test_a_language_that_the_operator_has_added(visit: Visit, tmp_path: Path) -> None:
    """By a file: chosen as any other language, and read as text alone."""
    words = pages.english() | {"check": "Avanti <b>", "progressAll": "{number} di {count} risposte"}
    with serving(tmp_path, anybody(words={"it": words}), plans=(PLAIN,), trainings={}) as served:
        assert served.client.get("/pages/words-it.json").json() == words
        page = visit.open(f"{served.url}/?plan={PLAIN.id}&lang=it")
        page.get_by_test_id("form").wait_for()
        expect(page.locator("html")).to_have_attribute("lang", "it")
        expect(page.get_by_test_id("progress")).to_have_text("0 di 5 risposte")
        expect(page.get_by_role("button", name="Avanti <b>")).to_be_visible()
        check_accessible(page)
    (tmp_path / "other").mkdir()
    with serving(tmp_path / "other", anybody(), plans=(PLAIN,), trainings={}) as served:
        assert served.client.get("/pages/words-it.json").status_code == 404
