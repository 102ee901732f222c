"""The form's words in every language: the same keys with the same placeholders, and all of them used."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hush.collector import presentation
from hush.collector.http import pages
from hush.planning.strength import STRENGTHS, rule, strength

PAGES = Path(__file__).parents[2] / "web" / "pages"
CATALOGUES = {
    path.stem.removeprefix("words-"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(PAGES.glob("words-*.json"))
}
ENGLISH = CATALOGUES["en"]
EXPLAINED = {
    path.stem.removeprefix("explanation-"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(PAGES.glob("explanation-*.json"))
}


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def differences(words: dict[str, str], english: dict[str, str] = ENGLISH) -> list[str]:
    """Return the keys whose sentence is missing, empty, superfluous, or has other placeholders than the English one."""
    return [
        key
        for key in sorted(english.keys() | words.keys())
        if key not in english
        or not words.get(key, "").strip()
        or placeholders(words[key]) != placeholders(english[key])
        or words[key].count("{") != len(re.findall(r"\{\w+\}", words[key]))
    ]


def test_the_languages_are_those_of_presentations() -> None:
    assert set(CATALOGUES) == set(presentation.LANGUAGES)
    listed = re.findall(r"const LANGUAGES = \[(.*?)\]", (PAGES / "language.ts").read_text())
    assert json.loads(f"[{listed[0]}]") == list(presentation.LANGUAGES)


@pytest.mark.parametrize("language", CATALOGUES)
def test_every_catalogue_has_all_sentences(language: str) -> None:
    assert differences(CATALOGUES[language]) == []
    assert all(isinstance(text, str) for text in CATALOGUES[language].values())
    same = [key for key, text in CATALOGUES[language].items() if text == ENGLISH[key] and len(text) > 12]
    assert language == "en" or set(same) <= {"epsilon"}  # a sentence that nobody has translated


@pytest.mark.parametrize("language", CATALOGUES)
def test_every_language_has_the_whole_explanation(language: str) -> None:
    """Its emphasis and its power too; and the border above which a plan is weak is that of `hush plan`."""
    words, english = EXPLAINED[language], EXPLAINED["en"]
    assert differences(words, english) == []
    for key, sentence in words.items():
        assert sentence.count("*") == english[key].count("*"), key
        assert sentence.count("e^ε") == english[key].count("e^ε"), key
        assert language == "en" or sentence != english[key]
    (strong, _), (fair, _) = STRENGTHS
    assert re.findall(r"\d+", words["explainWeak"]) == [str(strong), str(fair), str(fair)]


def test_the_page_has_a_place_for_every_sentence_of_the_explanation() -> None:
    page, code = (PAGES / "explanation.html").read_text(), (PAGES / "explanation.entry.ts").read_text()
    places = set(re.findall(r'data-words="(\w+)"', page)) | set(re.findall(r'"(explain\w+)"', code))
    assert places == EXPLAINED["en"].keys()
    assert ENGLISH.keys().isdisjoint(places)  # one file of an operator has both
    served = pages.static()["explanation.html"].content.decode()
    pieces = [piece for key in places for piece in re.split(r"\*|\^ε|\{\w+\}", EXPLAINED["en"][key])]
    assert all(piece in served for piece in pieces)


def test_the_words_for_a_promise_are_one_table() -> None:
    """The commands, the form, and what people read about epsilon."""
    ends = [most for most, _ in STRENGTHS]
    assert re.findall(r"const STRENGTHS = \[(.*?)\] as const;", (PAGES / "words.ts").read_text()) == ["1, 2"]
    assert ends == [1, 2]
    text = " ".join((PAGES.parents[1] / "docs" / "what-it-promises.md").read_text(encoding="utf-8").split())
    assert f"epsilon {rule()}" in text
    assert rule() == "up to 1 is strong, up to 2 fair, above 2 weak"
    words = [strength(epsilon) for epsilon in (0.01, 1.0, 1.0000001, 2.0, 2.0000001, 16.0)]
    assert words == ["strong", "strong", "fair", "fair", "weak", "weak"]


def test_a_lost_placeholder_is_noticed() -> None:
    """The twin of the test above."""
    broken = CATALOGUES["de"] | {"progress": "Frage {nummer} von {count}", "check": " ", "extra": "mehr"}
    del broken["send"]
    assert differences(broken) == ["check", "extra", "progress", "send"]


def test_every_sentence_is_used() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.ts"))
    made = {f"{by}{what}" for by in ("drawn", "dealt") for what in ("One", "Some", "Things")}  # see telling.ts
    assert [key for key in ENGLISH if f'"{key}"' not in source and key not in made] == []


@pytest.mark.parametrize("language", [language for language in CATALOGUES if language != "en"])
def test_a_catalogue_is_served(language: str) -> None:
    file = pages.static()[f"words-{language}.json"]
    assert json.loads(file.content) == CATALOGUES[language]
    assert file.media_type == "application/json"
