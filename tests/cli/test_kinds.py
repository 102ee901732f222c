"""Kinds of questions at the command line: schema files, values, completion, and the files of a new survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hush
from hush.cli import files, schemas
from hush.cli.commands import program

TRUTHS = hush.Schema([hush.Boolean("smokes"), hush.Boolean("drinks", optional=True)])
OPEN = hush.Schema([hush.Categorical("browser", ["firefox"], other=True)])
WHOLE = hush.Schema([hush.Integer("scale", 1, 10), hush.Integer("age", 0, 120, "clip", optional=True)])


@pytest.mark.parametrize("schema", [TRUTHS, WHOLE, OPEN], ids=["boolean", "integer", "other"])
def test_schema_files_of_every_kind(schema: hush.Schema) -> None:
    assert schemas.friendly(json.loads(schemas.written(schema))) == schema
    assert schemas.friendly(schema.to_json()) == schema  # as it is in a plan


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (
            {"name": "a", "kind": "boolean", "values": [True, False]},
            "attribute 'a': there is no field 'values': a boolean attribute may have optional",
        ),
        ({"name": "a", "kind": "bool"}, "attribute 'a': kind must be one of: numeric"),
        (
            {"name": "a", "kind": "integer", "low": 1},
            "high is missing: an integer attribute needs low and high, and may have out_of_range, optional",
        ),
        ({"name": "a", "kind": ["boolean"]}, "attribute 'a': kind must be one of: numeric"),
    ],
)
def test_wrong_fields_are_named(item: dict[str, Any], rule: str) -> None:
    with pytest.raises(hush.SchemaError, match=rule):
        schemas.friendly([item])


def test_values_are_written_as_labels(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(hush.design(TRUTHS, 1.0).to_json(), encoding="utf-8")
    done = CliRunner().invoke(program, ["law", str(path), "drinks", "--value", "yes", "--value", "(missing)"])
    assert done.exit_code == 0, done.output
    assert "yes" in done.output
    assert files.value_of(TRUTHS["smokes"], "yes") is True
    assert files.value_of(TRUTHS["smokes"], "True") is True
    assert files.value_of(TRUTHS["smokes"], "False") is False
    assert OPEN["browser"].encode(files.value_of(OPEN["browser"], "(other)")) == 1
    assert CliRunner().invoke(program, ["law", str(path), "smokes", "--value", "maybe"]).exit_code != 0
