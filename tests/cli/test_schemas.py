"""Schemas as people write them: everything can be written and read again, and every error names attribute and rule."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.cli import files, schemas
from hush.cli.schemas import KINDS, TYPES, friendly
from hush.core.letters import LETTERS
from tests.cli.test_commands import refused, run
from tests.sessions import ROOT

FULL: dict[str, dict[str, Any]] = {
    "numeric": {"low": 0, "high": 1e6, "out_of_range": "clip", "optional": True, "scale": "log", "unit": 10},
    "categorical": {"values": ["a", "b"], "optional": True, "other": True},
    "choices": {"values": ["a", "b", "c"], "most": 2, "optional": True},
    "boolean": {"optional": True},
    "integer": {"low": -3, "high": 10, "out_of_range": "clip", "optional": True},
    "date": {"low": "1920-01-01", "high": "2020-12-31", "out_of_range": "clip", "optional": True},
    "time": {"low": "18:00", "high": "06:00", "step": 900, "out_of_range": "clip", "optional": True},
    "text": {"length": 8, "alphabet": "abc", "case": "keep", "optional": True},
}
"""An attribute of each kind with every field that it may have; the code of a text follows from its alphabet."""


def read(item: dict[str, Any]) -> Any:
    (found,) = friendly([{"name": "x", **item}]).attributes
    return found


def variants(kind: str) -> list[dict[str, Any]]:
    """An attribute with each of its fields that may be left out, or without it."""
    needed = {key: value for key, value in FULL[kind].items() if key in KINDS[kind].needs}
    others = [key for key in FULL[kind] if key not in needed]
    chosen = [set(some) for n in range(len(others) + 1) for some in itertools.combinations(others, n)]
    pairs = [one for one in chosen if kind != "time" or ("low" in one) == ("high" in one)]
    pairs = [one for one in pairs if "unit" not in one or "scale" in one]
    return [{"kind": kind} | needed | {key: FULL[kind][key] for key in one} for one in pairs]


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_can_be_written_is_read_again(kind: str) -> None:
    found = [read(item) for item in variants(kind)]
    assert len(found) > 1
    schema = hush.Schema([type(one)(**(fields_of(one) | {"name": f"x{i}"})) for i, one in enumerate(found)])
    assert friendly(json.loads(schemas.written(schema))) == schema
    assert friendly(schema.to_json()) == schema  # as it is in a plan


def fields_of(one: Any) -> dict[str, Any]:
    """The arguments of an attribute's constructor."""
    kept = {key: value for key, value in one.to_json().items() if key not in ("kind",)}
    return {key: value for key, value in kept.items() if not (key == "optional" and value is False)}


def test_texts_are_written_without_what_follows_from_the_rest() -> None:
    texts = [
        hush.Text("a"),
        hush.Text("b", 24, "english"),
        hush.Text("c", 24, "english", bits=60, optional=True),
        hush.Text("d", 9, "abc", case="keep"),
        hush.Text("e", 9, LETTERS),  # the letters of "english" in another code
        hush.Text("f", 9, bits=32),
    ]
    schema = hush.Schema(texts)
    text = schemas.written(schema)
    assert friendly(json.loads(text)) == schema
    assert '{"kind": "text", "name": "b", "length": 24, "alphabet": "english"}' in text
    assert "code" not in text
    own = hush.Schema([hush.Text("g", 4, "ab", code=["122"])])
    assert friendly(json.loads(schemas.written(own))) == own


def test_a_long_list_is_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "pages.txt").write_text("home\nnews\n")
    schema = hush.Schema([hush.Categorical("page", hush.Listed(tmp_path / "pages.txt"), optional=True)])
    text = schemas.written(schema)
    assert '{"name": "page", "list": "pages.txt", "optional": true}' in text
    (tmp_path / "schema.json").write_text(text)
    assert files.read_schema(str(tmp_path / "schema.json")) == schema
    assert friendly(schema.to_json()) == schema
    with pytest.raises(hush.SchemaError, match=r"attribute 'page': the list 'none\.txt' cannot"):
        friendly([{"name": "page", "list": "none.txt"}])
    with pytest.raises(hush.SchemaError, match="attribute 'page': list must be the name of a file"):
        friendly([{"name": "page", "list": ["a", "b"]}])
    with pytest.raises(hush.SchemaError, match="attribute 'page': give either values or list"):
        friendly([{"name": "page", "list": "pages.txt", "values": ["a", "b"]}])


WRONG: tuple[Any, ...] = (
    None,
    "x",
    "1.000.000",
    7.5,
    1,
    -1,
    10**400,
    True,
    [],
    ["a", 1],
    {},
    {"a": 1},
    float("nan"),
    "\ud800",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_field_is_named(kind: str) -> None:
    """Whatever stands in a field, the schema is read, or one error names the attribute. No other exception."""
    item = {"kind": kind} | FULL[kind]
    for field, value in itertools.product([*item, *KINDS[kind].may, "code", "bits", "name"], WRONG):
        try:
            friendly([{"name": "x", **item, field: value}])
        except hush.SchemaError as error:
            text = str(error)
            assert text.startswith(("attribute 'x': ", "attribute 1: ", f"attribute {value!r}: ")), (field, value, text)
            known = field in (*KINDS[kind].needs, *KINDS[kind].may)
            if known and type(value) not in TYPES[field][0]:
                assert field in text, (field, value, text)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_and_unknown_fields_are_named(kind: str) -> None:
    with pytest.raises(hush.SchemaError, match=f"^attribute 'x': there is no field 'uniit': an? {kind} attribute"):
        read({"kind": kind, **FULL[kind], "uniit": 3})
    for field in KINDS[kind].needs:
        rest = {key: value for key, value in FULL[kind].items() if key != field}
        with pytest.raises(hush.SchemaError, match=f"^attribute 'x': {field} is missing: an? {kind} attribute needs"):
            read({"kind": kind, **rest})


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (5, r'attribute 2: must be an object, such as {"name": "age"'),
        ({"low": 0, "high": 1}, "attribute 2: needs a name, a text in quotes"),
        ({"name": 3}, "attribute 2: needs a name"),
        ({"name": "y"}, "attribute 'y': needs low and high, if it is a number; values, if it is a category"),
        ({"name": "y", "low": "1.000.000", "high": 2}, "attribute 'y': low must be a number, without quotes"),
        ({"name": "y", "kind": "date", "low": 1920, "high": "2020-12-31"}, "attribute 'y': low must be a text in quot"),
        ({"name": "x", "low": 0, "high": 1}, "attribute 'x': declared more than once"),
        ({"name": "y", "values": "a,b"}, "attribute 'y': values must be a list in square brackets"),
    ],
)
def test_what_is_no_attribute_is_named_by_its_place(item: Any, rule: str) -> None:
    with pytest.raises(hush.SchemaError, match=f"^{rule}"):
        friendly([{"name": "x", "low": 0, "high": 1}, item])


def test_the_command_line_names_the_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.json").write_text('[{"name": "age", "low": 0}]')
    said = refused("plan", "schema.json", "--epsilon", "1")
    assert said.startswith(
        "hush: schema.json: attribute 'age': high is missing: a numeric attribute needs low and high"
    )


def test_the_page_has_every_kind_and_every_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the options of `hush init` in its table make just these attributes."""
    monkeypatch.chdir(tmp_path)
    Path("pages.txt").write_text("home\nnews\n")
    page = (ROOT / "docs" / "kinds.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    fields = [field for item in json.loads(text)["attributes"] for field in item]
    known = {field for kind in KINDS.values() for field in (*kind.needs, *kind.may)}
    assert known - {"code"} == set(fields) - {"name", "kind", "list"}
    schema = friendly(json.loads(text))
    assert {attribute.kind for attribute in schema.attributes} == set(KINDS)
    table = page[page.index("| option | asks for |") :]
    words = re.findall(r"`(--[a-z-]+ [^`]+)`", table)
    named = [*words, "--clip age", "--optional income"]
    left: tuple[str, ...] = (
        "--clip income",
        "--clip mood",
        "--other page",
        "--clip birthday",
        "--clip bed_time",
        "--optional NAME",
    )
    left += ("--alphabet job=abc",)
    run("init", "survey", *(word for text in named if text not in left for word in text.split(" ", 1)))
    made = hush.Plan.from_json(Path("survey/plan.json").read_bytes()).schema
    assert {item.name: item for item in made.attributes} == {item.name: item for item in schema.attributes}
    run("init", "other", "--text", "job=24,keep", "--alphabet", "job=abc")
    other = hush.Plan.from_json(Path("other/plan.json").read_bytes()).schema
    assert other == hush.Schema([hush.Text("job", 24, "abc", case="keep")])
