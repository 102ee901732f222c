"""`hush training`: a course that `hush serve --training` takes, and how many people it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hush import Categorical, Course, Numeric
from tests.cli.test_commands import refused, run

SCHEMA = {
    "attributes": [
        {"name": "age", "low": 18, "high": 90},
        {"name": "os", "values": ["linux", "mac", "other"]},
        {"name": "bought", "values": ["no", "yes"]},
    ]
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text(json.dumps(SCHEMA))


def test_a_course_is_designed_shown_and_kept() -> None:
    given = ("training", "schema.json", "--label", "bought", "--epsilon", "4", "--people", "20000", "-o", "course.json")
    said = run(*given, "--title", "who buys").output
    assert "who buys" in said
    assert "2,664" in said  # people needed
    assert "That is enough" in said
    course = Course.from_json(Path("course.json").read_text())
    assert course.training.label == Categorical("bought", ["no", "yes"])
    assert course.training.schema.names == ("age", "os")
    assert (course.people, course.training.title, course.training.epsilon) == (20_000, "who buys", 4.0)
    assert "exists already" in refused(*given)


def test_the_rule_is_printed_if_too_much_is_asked() -> None:
    said = run("training", "schema.json", "--label", "bought", "--epsilon", "1", "--people", "5000").output
    assert "Too much is asked: 5000 people are few for 4 weights at epsilon 1" in said
    assert "(1500 C d)" in said


def test_options_become_settings() -> None:
    given = ("training", "schema.json", "--label", "age", "--epsilon", "2", "--people", "90000", "--json")
    more = ("--ordered", "os", "--waves", "12", "--pilot", "0.2")
    course = Course.from_json(run(*given, *more).stdout)
    assert course.training.label == Numeric("age", 18, 90)
    assert course.training.loss == "squared"
    assert course.training.ordered == ("os",)
    assert course.training.unit_count == 12
    assert course.pilot == 18_000
    classes = Course.from_json(run(*given[:2], "--label", "os", *given[4:], "--loss", "hinge").stdout)
    assert classes.classes == 3
    assert classes.people == 30_000


def test_bad_requests_are_refused_in_one_line() -> None:
    given = ("--epsilon", "1", "--people", "5000")
    assert "no attribute is called 'weather'" in refused("training", "schema.json", "--label", "weather", *given)
    assert "the loss must be one of" in refused("training", "schema.json", "--label", "os", *given, "--loss", "l2")
    assert "units of a map" in refused("training", "schema.json", "--label", "os", *given, "--waves", "9999")
    Path("one.json").write_text(json.dumps(SCHEMA["attributes"][:1]))
    assert "needs features" in refused("training", "one.json", "--label", "age", *given)
