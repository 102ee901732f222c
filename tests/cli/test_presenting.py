"""`hush serve --presentation`: read and checked before the store and the port are opened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hush
from hush.cli.program import Refused
from hush.cli.rounds import presentations, words
from hush.collector.http.pages import english
from hush.collector.stores.opening import open_store
from tests.cli.test_commands import refused

PLAN = hush.design(hush.Schema([hush.Numeric("mood", 1, 10)]), 1.0)
AGES = hush.Schema([hush.Numeric("age", 18, 90)])
WAYS = hush.Categorical("way", ["foot", "bike", "car"])
COURSE = hush.Training.design(AGES, WAYS, epsilon=4.0, people=3_000_000, title="ways", seed="s")
BY_HAND = hush.Training("by hand", "logistic", AGES, hush.Categorical("way", ["foot", "bike"]), 1.0, 3, 0.5, seed="s")
OTHER = hush.design(hush.Schema([hush.Numeric("mood", 1, 10)]), 2.0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text(PLAN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    Path("course.json").write_text(COURSE.to_json())
    Path("round.json").write_text(hush.first_round(BY_HAND).to_json())
    Path("form.json").write_text(json.dumps({"attributes": {"mood": {"question": "How are you?"}}}))
    Path("empty.json").write_text("{}")
    Path("bad.json").write_text(json.dumps({"attributes": {"mood": {"widget": "dial"}}}))


def test_it_is_read_for_its_plan() -> None:
    found = presentations(("plan.json=form.json",))
    assert found.plans[PLAN.id].attributes["mood"].question == "How are you?"
    assert not found.trainings
    assert presentations(()) == ({}, {}, {}, {})


def test_it_is_read_for_a_training_and_all_its_classes() -> None:
    whole = {"attributes": {"age": {"unit": "years"}, "way": {"labels": {"foot": "on foot"}}}, "order": ["way"]}
    Path("shown.json").write_text(json.dumps(whole))
    found = presentations(("course.json=shown.json", "plan.json=form.json", "round.json=shown.json"))
    assert list(found.trainings) == ["ways (class 1)", "ways (class 2)", "ways (class 3)", "by hand"]
    assert {one.attributes["way"].labels["foot"] for one in found.trainings.values()} == {"on foot"}
    assert [*found.plans] == [PLAN.id]


@pytest.mark.parametrize(
    ("specs", "rule"),
    [
        (["form.json"], "--presentation is the file of a plan or training and that of its presentation"),
        (["plan.json="], "--presentation is the file of a plan or training and that of its presentation"),
        (["course.json=form.json"], "attribute 'mood': is not in the training; there are: 'age', 'way'"),
        (["course.json=empty.json"] * 2, "a training has one, and this one has two"),
        (["plan.json=none.json"], "--presentation: the file cannot be read"),
        (["plan.json=bad.json"], "--presentation: attribute 'mood': Invalid enum value 'dial'"),
        (["plan.json=form.json", "plan.json=form.json"], "a plan has one, and this one has two"),
    ],
)
def test_a_bad_one_is_refused(specs: list[str], rule: str) -> None:
    with pytest.raises(Refused, match=rule):
        presentations(tuple(specs))


def test_a_plan_that_is_not_served_is_refused() -> None:
    told = refused("serve", "other.json", "--presentation", "plan.json=form.json", "--store", "hush.db", "--port", "0")
    assert "--presentation: its plan is not served" in told
    told = refused(
        "serve", "other.json", "--presentation", "course.json=empty.json", "--store", "hush.db", "--port", "0"
    )
    assert "--presentation: its training is not served" in told


def test_a_training_in_the_store_with_other_features_is_refused() -> None:
    """The file names a training of the same title, which the form would present by words that do not fit."""
    served = replace(BY_HAND, schema=hush.Schema([hush.Numeric("age", 18, 100)]))
    store = open_store("hush.db")
    store.add_training(served.name, hush.first_round(served), 10)
    store.close()
    told = refused("serve", "--presentation", "round.json=empty.json", "--store", "hush.db", "--port", "0")
    assert "has other features or classes" in told


@pytest.mark.parametrize(
    ("site", "rule"),
    [("https://a.example/path", "--embed is scheme://host"), ("*", "named by its origin"), ("a.example", "--embed is")],
)
def test_a_site_that_shows_the_form_is_an_origin(site: str, rule: str) -> None:
    assert rule in refused("serve", "plan.json", "--embed", site, "--store", "hush.db", "--port", "0")


# -- further languages


def test_words_of_a_further_language_are_read() -> None:
    Path("it.json").write_text(json.dumps(english() | {"next": "Avanti"}))
    found = words(("it=it.json",))
    assert found["it"]["next"] == "Avanti"
    assert words(()) == {}


def test_a_presentation_may_name_an_added_language() -> None:
    Path("shown.json").write_text(json.dumps({"language": "it"}))
    assert "--words adds another one" in refused("serve", "plan.json", "--presentation", "plan.json=shown.json")
    (found,) = presentations(("plan.json=shown.json",), ["it"]).plans.values()
    assert found.language == "it"


def test_words_of_the_explanation_are_there_as_a_whole_or_not_at_all() -> None:
    explained = english("explanation")
    Path("it.json").write_text(json.dumps(english() | explained))
    assert words(("it=it.json",))["it"].keys() == english().keys() | explained.keys()
    Path("it.json").write_text(json.dumps(english() | explained | {"explainWeak": " "}))
    with pytest.raises(Refused, match="words are missing: 'explainWeak'"):
        words(("it=it.json",))


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"next": None}, "--words: words are missing: 'next'"),
        ({"next": " "}, "--words: words are missing: 'next'"),
        ({"nexxt": "Avanti"}, "--words: the form has no such words: 'nexxt'"),
        ({"progress": "Domanda {number}"}, "--words: 'progress': must have the same placeholders as in English"),
        ({"next": "Avanti\u202e"}, "--words: 'next': must have 4,000 characters at most, and no control characters"),
        ({"next": 1}, "--words: words are a JSON object of sentences"),
    ],
)
def test_words_that_do_not_fit_are_refused(changed: dict[str, object], rule: str) -> None:
    made = {key: text for key, text in (english() | changed).items() if text is not None}
    Path("it.json").write_text(json.dumps(made))
    with pytest.raises(Refused) as why:
        words(("it=it.json",))
    assert why.value.message.startswith(rule)


@pytest.mark.parametrize("spec", ["it.json", "it=", "en=it.json", "IT=it.json", 'i"=it.json', "it=none.json"])
def test_other_values_of_words_are_refused(spec: str) -> None:
    with pytest.raises(Refused, match="--words"):
        words((spec,))
    Path("it.json").write_text(json.dumps(english()))
    with pytest.raises(Refused, match="has two"):
        words(("it=it.json", "it=it.json"))
