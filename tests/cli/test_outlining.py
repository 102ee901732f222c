"""`hush schema`: a file that `hush plan` reads once somebody has decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from tests.cli.test_commands import refused, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{18 + i % 70},{'' if i % 4 else 100 * i},{('mac', 'linux')[i % 2]}" for i in range(100)]
    Path("people.csv").write_text("\n".join(["age,income,system", *rows]) + "\n")


def test_the_way_from_a_file_to_a_plan() -> None:
    said = run("schema", "people.csv", "-o", "schema.json").output
    assert "not private" in said
    assert "Written to schema.json" in said
    line = refused("plan", "schema.json", "--epsilon", "1")
    assert "attribute 'age': low is still TO BE DECIDED" in line
    text = Path("schema.json").read_text()
    for bound in ("0", "100", "10000"):
        text = text.replace(f'"TO BE DECIDED: perhaps {bound}"', bound)
    Path("schema.json").write_text(text)
    assert "attribute 'system': values" in refused("plan", "schema.json", "--epsilon", "1")
    value = json.loads(text)
    value["attributes"][2]["values"].pop(0)
    Path("schema.json").write_text(json.dumps(value))
    plan = hush.Plan.from_json(run("plan", "schema.json", "--epsilon", "1", "--json").stdout)
    assert plan.schema == hush.Schema(
        [
            hush.Integer("age", 0, 100),
            hush.Integer("income", 0, 10_000, optional=True),
            hush.Categorical("system", ["linux", "mac"]),
        ]
    )


def test_without_an_output_the_file_is_printed_and_the_warning_stands_aside() -> None:
    found = run("schema", "people.csv")
    assert [item["name"] for item in json.loads(found.stdout)["attributes"]] == ["age", "income", "system"]
    assert "not private" in found.stderr


def test_for_machines() -> None:
    found = json.loads(run("schema", "people.csv", "-o", "s.json", "--json").stdout)
    assert found == {"people": 100, "attributes": ["age", "income", "system"], "left_out": [], "output": "s.json"}


def test_nothing_is_overwritten_unless_asked() -> None:
    Path("s.json").write_text("mine")
    assert "exists already" in refused("schema", "people.csv", "-o", "s.json")
    assert Path("s.json").read_text() == "mine"
    run("schema", "people.csv", "-o", "s.json", "--overwrite")
    assert "people.csv" in refused("schema", "people.csv", "-o", "people.csv", "--overwrite")


def test_other_files_are_refused() -> None:
    Path("people.txt").write_text("age\n1\n")
    assert "a file of people ends in one of" in refused("schema", "people.txt")
    assert "no such file" in refused("schema", "absent.csv")


def test_a_schema_with_marks_is_known_as_a_schema() -> None:
    run("schema", "people.csv", "-o", "schema.json")
    assert "this is a schema, not a plan" in refused("predict", "schema.json", "--people", "10")
