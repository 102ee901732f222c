"""Kinds of questions at the command line: schema files, values, completion, and the files of a new survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hush
from hush.cli import files, folders
from hush.cli.commands import program

TRUTHS = hush.Schema([hush.Boolean("smokes"), hush.Boolean("drinks", optional=True)])
OPEN = hush.Schema([hush.Categorical("browser", ["firefox"], other=True)])
WHOLE = hush.Schema([hush.Integer("scale", 1, 10), hush.Integer("age", 0, 120, "clip", optional=True)])


@pytest.mark.parametrize("schema", [TRUTHS, WHOLE, OPEN], ids=["boolean", "integer", "other"])
def test_schema_files_of_every_kind(schema: hush.Schema) -> None:
    plan = hush.design(schema, 1.0)
    assert files.friendly(json.loads(folders.schema_of(plan))) == schema
    assert files.friendly(schema.to_json()) == schema  # as it is in a plan


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        ({"name": "a", "kind": "boolean", "values": [True, False]}, "attribute 'a': a boolean one may have optional"),
        ({"name": "a", "kind": "bool"}, "other kinds are: boolean"),
        (
            {"name": "a", "kind": "integer", "low": 1},
            "an integer one needs low and high, and may have optional, out_of_range",
        ),
        ({"name": "a", "kind": ["boolean"]}, "other kinds are: boolean"),
    ],
)
def test_wrong_fields_are_named(item: dict[str, Any], rule: str) -> None:
    with pytest.raises(hush.SchemaError, match=rule):
        files.friendly([item])


def test_values_are_written_as_labels(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(hush.design(TRUTHS, 1.0).to_json(), encoding="utf-8")
    done = CliRunner().invoke(program, ["law", str(path), "drinks", "--value", "yes", "--value", "(missing)"])
    assert done.exit_code == 0, done.output
    assert "yes" in done.output
    assert files.value_of(TRUTHS["smokes"], "yes") is True
    assert OPEN["browser"].encode(files.value_of(OPEN["browser"], "(other)")) == 1
    assert CliRunner().invoke(program, ["law", str(path), "smokes", "--value", "maybe"]).exit_code != 0
