"""The command line about who is asked what, and plans of every kind: what each question will be worth, and margins."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import Categorical, Choices, Guess, Numeric, Schema, Text
from tests.cli.test_commands import refused, run

SCHEMA = Schema(
    [
        Categorical("recommends", ["no", "yes"]),
        Numeric("sat", 1, 7),
        Categorical("team, place", [f"t{i}" for i in range(6)]),
        Choices("uses", list("abcdefgh"), most=4),
        Text("word", 8, "english"),
        Numeric("pay", 0, 100, optional=True),
    ]
)
RELATION = ["--relation", "sat,recommends"]
PLAN = hush.design(SCHEMA, 2.0, relations=[("sat", "recommends")])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps(SCHEMA.to_json()))
    Path("plan.json").write_text(PLAN.to_json())


def made(*options: str) -> hush.Plan:
    return hush.Plan.from_json(run("plan", "schema.json", "--epsilon", "2", *options, "--json").stdout)


# -- plans


def test_a_plan_with_choices_a_text_and_a_relation_is_made_and_shown() -> None:
    """Once the file was written, and then the command failed."""
    text = run("plan", "schema.json", "--epsilon", "2", *RELATION, "-o", "made.json").output
    assert "1 relation with means by group: margins of 5 % of the domain need about " in text
    assert " typical people, " in text
    assert "Written to made.json." in text
    assert hush.Plan.from_json(Path("made.json").read_text()) == PLAN


def test_people_are_told_what_each_question_will_be_worth() -> None:
    text = run("plan", "schema.json", "--epsilon", "2", *RELATION, "--people", "40000").output
    for row in hush.worth(PLAN, 40_000).table().rows:
        assert any(all(cell in line for cell in row) for line in text.splitlines()), row
    assert "If 40,000 people answer." in text
    without = run("plan", "schema.json", "--epsilon", "2", "--people", "30").output
    assert "nothing: intervals hold all that is possible" in without, "plans without relations too"


def test_relations_of_which_too_few_learn_are_left_out_and_named() -> None:
    few = ["--relation", "team, place,recommends", *RELATION, "--people", "60"]
    result = run("plan", "schema.json", "--epsilon", "2", *few)
    assert "Left out, as 60 people would learn nothing of it: " in result.output
    assert "Insist to ask all the same." in result.output
    result = run("plan", "schema.json", "--epsilon", "2", *few, "--json")
    assert "Left out, as 60 people" in result.stderr, "the plan alone is on standard output"
    assert hush.Plan.from_json(result.stdout) == PLAN
    both = hush.design(SCHEMA, 2.0, relations=[("team, place", "recommends"), ("sat", "recommends")])
    assert made(*few, "--insist") == both


def test_margins_are_named_for_attributes_and_relations() -> None:
    asked = [*RELATION, "--people", "20000", "--margin", "recommends=0.04", "--margin", "sat,recommends=0.8"]
    margins = {"recommends": 0.04, ("sat", "recommends"): 0.8}
    assert made(*asked) == hush.design(SCHEMA, 2.0, relations=[("sat", "recommends")], people=20_000, margins=margins)
    assert made("--people", "9000", "--margin", "team, place=0.1") == hush.design(
        SCHEMA, 2.0, people=9000, margins={"team, place": 0.1}
    )
    short = run("plan", "schema.json", "--epsilon", "2", "--people", "500", "--margin", "recommends=0.01").output
    assert "The margins take " in short
    assert "people: with 500 they are " in short


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--insist"], "--insist is for plans with --relation or --range"),
        ([*RELATION, "--insist"], "--insist is for --people"),
        (["--margin", "recommends=0.1"], "give --people too"),
        (["--people", "9", "--margin", "recommends=x"], "--margin"),
        (["--people", "9", "--margin", "recommends=1", "--margin", "recommends=2"], "once"),
        (["--people", "9", "--margin", "recommends=0.1", "--margin", "0.1"], "NAME=MARGIN for each"),
        (["--people", "9", "--margin", "word=0.1"], "a text has no margin"),
        (["--people", "9", "--margin", "shoe=0.1"], "'shoe'"),
        (["--people", "9", "--margin", "recommends=nan"], "--margin: 'nan' is not a finite number"),
        (["--people", "9", "--margin", "recommends=-1"], "margins: that of 'recommends' must be a number above 0"),
        (["--people", "0"], "people must be a whole number, 1 or more"),
    ],
)
def test_wishes_that_do_not_go_together_are_refused(options: list[str], why: str) -> None:
    assert why in refused("plan", "schema.json", "--epsilon", "2", *options)


# -- predictions


def test_plans_with_choices_texts_and_relations_are_predicted() -> None:
    """It ended with an AssertionError on every plan with choices or a text."""
    text = run("predict", "plan.json", "--people", "5000").output
    for part in (
        "uses",
        "each of 8 shares",
        "sat by recommends",
        "found in every second collection",
        "half of the people",
    ):
        assert part in text
    found = json.loads(run("predict", "plan.json", "--people", "5000", "--json").output)
    assert found["rows"] == [vars(row) for row in hush.predict(PLAN, 5000)]
    assert found["relations"] == [vars(row) for row in hush.foresee(PLAN, 5000)]
    assert found["texts"] == [vars(row) for row in hush.floors(PLAN, 5000)]
    for name in SCHEMA.names:
        assert name in run("predict", "plan.json", "--people", "5000", "--attribute", name).output
    for schema in (Schema([SCHEMA["uses"]]), Schema([SCHEMA["word"]])):
        Path("one.json").write_text(hush.design(schema, 1.0).to_json())
        assert schema.names[0] in run("predict", "one.json", "--people", "5000").output


def test_few_people_are_predicted_in_json_that_all_can_read() -> None:
    """Infinite errors are no JSON."""

    def no(constant: str) -> None:
        raise AssertionError(constant)

    plan = hush.design(Schema([Numeric("x", 0, 1), Numeric("y", 0, 1)]), 1.0, relations=[("x", "y")])
    Path("few.json").write_text(plan.to_json())
    assert math.isinf(hush.foresee(plan, 3)[0].stderr)
    found = json.loads(run("predict", "few.json", "--people", "3", "--json").output, parse_constant=no)
    assert found["relations"][0]["stderr"] is None
    assert "unknown" in run("predict", "few.json", "--people", "3").output


def test_a_margin_of_a_text_is_refused_in_words() -> None:
    assert "hush.floors" in refused("predict", "plan.json", "--margin", "0.1", "--attribute", "word")


def test_an_attribute_that_is_asked_in_a_relation_alone_has_no_margin() -> None:
    schema = Schema([Numeric("x", 0, 1), Numeric("y", 0, 1), Categorical("c", ["a", "b"])])
    plan = hush.design(schema, 2.0, relations=[("x", "y"), ("x", "c")], singles=0)
    Path("one.json").write_text(plan.to_json())
    assert "alone" in refused("predict", "one.json", "--margin", "0.1", "--attribute", "y")
    assert "x by y" in run("predict", "one.json", "--people", "99", "--attribute", "y").output


def test_guesses_of_the_missing_and_of_associations() -> None:
    written: dict[str, Any] = {"pay": {"missing": 0.79}, "sat": {"mean": 5, "spread": 1}}
    Path("guesses.json").write_text(json.dumps(written))
    needed = run("predict", "plan.json", "--margin", "10", "--attribute", "pay", "--guesses", "guesses.json", "--json")
    guesses = {"pay": Guess(missing=0.79), "sat": Guess(5, 1)}
    people = json.loads(needed.output)["people"]
    assert people == hush.people_needed(PLAN, 10, attribute="pay", guesses=guesses)
    assert people > 3 * hush.people_needed(PLAN, 10, attribute="pay")
    numbers = Schema([Numeric("a, b", 0, 1), Numeric("c", 0, 1)])
    plan = hush.design(numbers, 2.0, relations=[("a, b", "c")])
    Path("numbers.json").write_text(plan.to_json())
    for key in ("a, b,c", "a, b, c", "c,a, b"):
        Path("guesses.json").write_text(json.dumps({key: {"association": 0.8}}))
        found = run("predict", "numbers.json", "--people", "20000", "--guesses", "guesses.json", "--json").output
        (row,) = hush.foresee(plan, 20_000, guesses={("a, b", "c"): 0.8})
        assert json.loads(found)["relations"] == [vars(row)]
    wrong: list[dict[str, Any]] = [
        {"word": {"a": 0.1}},
        {"c,d": {"association": 0.3}},
        {"a, b,c": {"association": 2}},
        {"c": {}},
    ]
    for bad in wrong:
        Path("guesses.json").write_text(json.dumps(bad))
        plan_file = "plan.json" if "word" in bad else "numbers.json"
        refused("predict", plan_file, "--people", "99", "--guesses", "guesses.json")


def test_the_other_way_round_says_for_which_people() -> None:
    text = run("predict", "plan.json", "--margin", "20", "--attribute", "pay").output
    assert (
        "typical: half of the people leave out pay. If more do, the margin of the mean is wider: give a guess." in text
    )
    text = run("predict", "plan.json", "--margin", "0.2", "--attribute", "recommends").output
    assert "worst: half of the people" in text
