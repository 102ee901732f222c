"""The explanation of the promise, and the warning of a weak plan, in every language that the form speaks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from hush.collector import presentation
from hush.collector.http import pages
from hush.planning.strength import STRENGTHS
from tests.browser.phones import SMALL
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

LANGUAGES = presentation.LANGUAGES
WEAK = STRENGTHS[-1][0]  # above it
SCHEMA = hush.Schema([hush.Boolean("smoker"), hush.Boolean("driver")])
PLAN = hush.design(SCHEMA, 1.0, title="Strict")
BORDER = hush.design(SCHEMA, float(WEAK), title="At the border", k=1)
ONE = hush.design(SCHEMA, WEAK + 0.25, title="Weak, one question", k=1)
BOTH = hush.design(SCHEMA, 9.0, title="Weak, both questions", k=2)
GERMAN = hush.design(SCHEMA, 1.5, title="Streng")
MARKS = {"en": ".", "de": ",", "fr": ",", "es": ",", "zh": "."}  # before the digits of a fraction
PAGES = Path(__file__).parents[2] / "web" / "pages"


def catalogue(what: str, language: str) -> dict[str, str]:
    words: dict[str, str] = json.loads((PAGES / f"{what}-{language}.json").read_text(encoding="utf-8"))
    return words


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    italian = pages.english() | pages.english("explanation") | {"explainNot": "Da che cosa <b>non</b> protegge"}
    half = pages.english() | {"check": "Controleer"}
    shown = {
        GERMAN.id: presentation.Presentation(language="de"),
        BORDER.id: presentation.Presentation(language="it"),
    }
    settings = anybody(presentations=shown, words={"it": italian, "nl": half})
    plans = (PLAN, BORDER, ONE, BOTH, GERMAN)
    with serving(tmp_path_factory.mktemp("explained"), settings, plans=plans, trainings={}) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_form_leads_to_the_explanation_in_its_language(
    browser: Browser, served: Served, language: str, dark: bool
) -> None:
    """Every sentence is there, on a phone and on a desk, and the way back leads to the same form."""
    visit = Visit(browser, dark=dark, phone=not dark)
    page = visit.open(f"{served.url}/?plan={PLAN.id}&lang={language}")
    if not dark:
        page.set_viewport_size(SMALL)
    words, form = catalogue("explanation", language), catalogue("words", language)
    page.locator(".promise > summary").click()
    page.get_by_role("link", name=form["explanation"]).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(words["explainTitle"])
    expect(page.locator("html")).to_have_attribute("lang", language)
    told = page.evaluate("document.body.innerText.replaceAll('\\u00a0', ' ')")
    for key, sentence in words.items():
        if key not in ("explainTimes", "explainSure", "explainTable"):
            assert sentence.replace("*", "").replace("e^", "e") in told.replace("e\nε", "eε"), key
    assert "{" not in told
    expect(page.locator("em")).to_have_count(sum(sentence.count("*") // 2 for sentence in words.values()))
    expect(page.locator("sup")).to_have_text(["ε"])
    expect(page.get_by_role("region", name=words["explainTable"])).to_be_visible()
    check_accessible(page)
    check_width(page)
    page.get_by_role("link", name=words["explainAnswer"], exact=True).click()
    page.get_by_test_id("form").wait_for()
    expect(page.locator("html")).to_have_attribute("lang", language)
    assert PLAN.id in page.url
    visit.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_is_right_in_every_language(visit: Visit, served: Served, language: str) -> None:
    page = visit.open(f"{served.url}/explanation?lang={language}")
    expect(page.locator("html")).to_have_attribute("lang", language)
    words = catalogue("explanation", language)
    expect(page.get_by_role("heading", level=1)).to_have_text(words["explainTitle"])
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        shown = f"{epsilon:g}".replace(".", MARKS[language])
        cells = page.locator(f"tbody tr:has(th:text-is('{shown}')) td").all_text_contents()
        factor = math.exp(epsilon)
        digits = (words["explainTimes"], words["explainSure"])
        for cell, sentence, exact in zip(cells, digits, (factor, 100 * factor / (1 + factor)), strict=True):
            before, _, after = sentence.replace("{times}", "|").replace("{sure}", "|%").partition("|")
            number = cell.removeprefix(before).replace("\u00a0", " ").replace("\u202f", "")
            number = number.removesuffix(after.replace("%", " %")).strip()
            thousands = "," if MARKS[language] == "." else "."
            found = float(number.replace(thousands, "").replace(" ", "").replace(MARKS[language], "."))
            assert exact <= found <= exact * 1.005


def test_the_presentation_decides_the_language_if_the_address_does_not(visit: Visit, served: Served) -> None:
    page = visit.open(f"{served.url}/explanation?plan={GERMAN.id}")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.goto(f"{served.url}/explanation?plan={GERMAN.id}&lang=fr")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    page.goto(f"{served.url}/explanation?plan={GERMAN.id}&lang=xx")  # which nobody speaks here
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.goto(f"{served.url}/explanation?plan=nothing")
    expect(page.get_by_role("heading", level=1)).to_have_text("How this protects you")


def test_the_browsers_language_counts_else(browser: Browser, served: Served) -> None:
    context = browser.new_context(locale="es-MX")
    page = context.new_page()
    page.goto(f"{served.url}/explanation")
    expect(page.locator("html")).to_have_attribute("lang", "es")
    context.close()


def test_a_language_of_the_operators_file(visit: Visit, served: Served) -> None:
    """Named by the presentation; all of it is text. A file without the explanation leaves it in English."""
    page = visit.open(f"{served.url}/explanation?plan={BORDER.id}")
    expect(page.locator("html")).to_have_attribute("lang", "it")
    expect(page.get_by_role("heading", name="Da che cosa <b>non</b> protegge")).to_be_visible()
    check_accessible(page)
    page.goto(f"{served.url}/explanation?lang=nl")
    expect(page.get_by_role("heading", level=1)).to_have_text("How this protects you")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert not [asked.path for asked in visit.asked if "nl.json" in asked.path]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_weak_plan_warns_plainly_in_every_language(browser: Browser, served: Served, language: str) -> None:
    """Above the border of `hush plan`, not at it: unfolded, in the first screen of a small phone."""
    visit = Visit(browser, phone=True)
    words = catalogue("words", language)
    for plan, key in ((PLAN, ""), (BORDER, ""), (ONE, "weakOne"), (BOTH, "weakSome")):
        page = visit.open(f"{served.url}/?plan={plan.id}&lang={language}")
        page.set_viewport_size(SMALL)
        page.get_by_test_id("form").wait_for()
        notice = page.get_by_test_id("weak")
        expect(notice).to_have_count(int(key != ""))
        if key:
            mark = MARKS[language]
            expect(notice).to_have_text(words[key].replace("{epsilon}", f"{plan.epsilon:g}".replace(".", mark)))
            box = notice.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= SMALL["height"]
            expect(page.get_by_role("main")).not_to_contain_text(words["promiseLine"])
            check_accessible(page)
        page.close()
    visit.close()


def test_without_scripts_the_explanation_is_in_english(browser: Browser, served: Served) -> None:
    context = browser.new_context(java_script_enabled=False, locale="de")
    page = context.new_page()
    page.goto(f"{served.url}/explanation")
    expect(page.get_by_role("heading", name="What ε (epsilon) means")).to_be_visible()
    page.goto(f"{served.url}/?plan={PLAN.id}")
    expect(page.locator("p[lang=de]")).to_contain_text("JavaScript")
    context.close()
