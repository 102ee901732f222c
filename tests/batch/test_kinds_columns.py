"""Kinds of questions in whole tables: every form of a column gives the inputs of the single record, or its refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

import hush
from hush.batch.columns import encode
from hush.batch.csv_files import CsvSource
from hush.cli import schemas

TRUTHS = hush.Schema([hush.Boolean("smokes"), hush.Boolean("drinks", optional=True)])
PEOPLE: dict[str, list[Any]] = {"smokes": [True, False, True, False], "drinks": [None, True, False, True]}


def inputs(schema: hush.Schema, data: Any) -> list[list[Any]]:
    """Return the columns of a table as the engine reads them."""
    found = encode(schema, data).batches
    return [np.concatenate([batch.arrays[place] for batch in found]).tolist() for place in range(len(schema))]


def singly(schema: hush.Schema, data: dict[str, list[Any]]) -> list[list[Any]]:
    """Return the same, record by record."""
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    return [list(column) for column in zip(*map(schema.encode, rows), strict=True)]


def read(path: Path, schema: hush.Schema, text: str) -> pa.Table:
    """Return a CSV file as the engine reads it."""
    path.write_text(text, encoding="utf-8")
    return pa.Table.from_batches(CsvSource(path, schema, exact=True).batches(schema.names, 2))


@pytest.mark.parametrize("form", ["dict", "arrow", "pandas", "nullable", "dictionary", "numpy"])
def test_columns_of_booleans(form: str) -> None:
    table = pa.table(PEOPLE)
    data: Any = {
        "dict": PEOPLE,
        "arrow": table,
        "pandas": pandas.DataFrame(PEOPLE),
        "nullable": pandas.DataFrame(PEOPLE).astype("boolean"),
        "dictionary": table.set_column(
            0, "smokes", pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0]), pa.array([False, True]))
        ),
        "numpy": {"smokes": np.array(PEOPLE["smokes"]), "drinks": pa.array(PEOPLE["drinks"])},
    }[form]
    assert inputs(TRUTHS, data) == singly(TRUTHS, PEOPLE) == [[1, 0, 1, 0], [2, 1, 0, 1]]


@pytest.mark.parametrize("values", [[0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], ["true", "false", "true", "false"]])
def test_columns_that_are_not_boolean_are_refused(values: list[Any]) -> None:
    with pytest.raises(hush.RecordError, match=r"column 'smokes': must be True or False .* \(4 of 4 rows\)"):
        encode(TRUTHS, PEOPLE | {"smokes": values}, exact=True)


def test_booleans_in_csv_files(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    found = read(path, TRUTHS, "smokes,drinks\ntrue,\nFalse,TRUE\ntrue,false\nFALSE,true\n")
    assert found.to_pydict() == PEOPLE
    assert inputs(TRUTHS, found) == singly(TRUTHS, PEOPLE)
    pandas.DataFrame(PEOPLE).to_csv(path, index=False)
    assert read(path, TRUTHS, path.read_text()).to_pydict() == PEOPLE


@pytest.mark.parametrize("wrong", ["1", "yes", "t", "truE ", "nan"])
def test_other_texts_are_no_booleans(tmp_path: Path, wrong: str) -> None:
    """No row goes anywhere from the wrong one on, also where a missing value would be allowed."""
    path = tmp_path / "people.csv"
    path.write_text(f"smokes,drinks\ntrue,true\nfalse,{wrong}\ntrue,{wrong}\n", encoding="utf-8")
    rows = []
    with pytest.raises(hush.RecordError, match=r"column 'drinks': must be true or false \(2 of 3 rows\)$"):
        rows += list(CsvSource(path, TRUTHS, exact=True).batches(TRUTHS.names, 100))
    assert rows == []


def test_an_outline_suggests_booleans(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,b,c\ntrue,1,x\nFALSE,true,true\n,0,false\n", encoding="utf-8")
    found = {one.name: one for one in hush.outline(path).columns}
    assert (found["a"].kind, found["a"].optional, found["a"].suggestion) == ("boolean", True, "yes or no")
    assert (found["b"].kind, found["c"].kind) == ("text", "text")
    assert found["a"].entry() == {"name": "a", "kind": "boolean", "optional": True}
    outlined = hush.outline(PEOPLE)
    assert outlined.schema() == schemas.friendly({"attributes": [one.entry() for one in outlined.columns]}) == TRUTHS


def test_whole_tables_of_booleans_are_randomised(tmp_path: Path) -> None:
    plan = hush.design(TRUTHS, 6.0, k="all")
    table = {name: values * 200 for name, values in PEOPLE.items()}
    found = hush.estimate(hush.batch.tally(plan, hush.batch.randomise(plan, table)))
    shares = {(row.attribute, row.category): row.point for row in found}
    assert shares["smokes", "yes"] == pytest.approx(0.5, abs=0.12)  # over six standard errors
    assert shares["drinks", hush.MISSING] == pytest.approx(0.25, abs=0.12)


# -- integers

WHOLE = hush.Schema([hush.Integer("scale", 1, 10), hush.Integer("age", 0, 120, "clip", optional=True)])
COUNTS: dict[str, list[Any]] = {"scale": [1, 10, 4], "age": [None, 41, 500]}


@pytest.mark.parametrize("form", ["dict", "pandas", "floats", "csv"])
def test_columns_of_whole_numbers(form: str, tmp_path: Path) -> None:
    data: Any = {
        "dict": COUNTS,
        "pandas": pandas.DataFrame(COUNTS),
        "floats": {"scale": np.array([1.0, 10.0, 4.0]), "age": COUNTS["age"]},
        "csv": None,
    }[form]
    if form == "csv":
        data = read(tmp_path / "people.csv", WHOLE, "scale,age\n1,\n10.0,41\n4,5e2\n")
    scale, age = inputs(WHOLE, data)
    assert scale == [1.0, 10.0, 4.0]
    assert np.isnan(age[0])
    assert age[1:] == [41.0, 500.0]


def test_fractions_are_refused_and_counted(tmp_path: Path) -> None:
    with pytest.raises(hush.RecordError, match=r"^column 'scale': must be a whole number \(2 of 3 rows\)$"):
        encode(WHOLE, COUNTS | {"scale": [1.5, 2.25, 3]}, exact=True)
    with pytest.raises(hush.RecordError, match=r"column 'age': must be a whole number \(1 of 3 rows\)$"):
        encode(WHOLE, COUNTS | {"age": [None, 0.5, 500]}, exact=True)
    with pytest.raises(hush.RecordError, match=r"column 'scale': must be a whole number"):
        encode(WHOLE, read(tmp_path / "people.csv", WHOLE, "scale,age\n1.5,\n"))


def test_an_outline_suggests_whole_numbers() -> None:
    found = hush.outline({"age": [17 + i % 60 for i in range(120)], "height": [1.5 + i / 200 for i in range(120)]})
    assert found.columns[0].entry()["kind"] == "integer"
    assert "kind" not in found.columns[1].entry()
    assert found.schema()["age"] == hush.Integer("age", 0, 100)


def test_synthetic_people_have_whole_numbers() -> None:
    schema = hush.Schema([hush.Integer("scale", 1, 10), hush.Boolean("smokes")])
    plan = hush.design(schema, 8.0, relations=[("scale", "smokes", "table")], bands={"scale": [3, 7]})
    people = {"scale": [1 + i % 10 for i in range(2000)], "smokes": [i % 2 == 0 for i in range(2000)]}
    made = hush.synthesise(hush.batch.collect(plan, people), people=300, seed=1)
    assert encode(schema, made).rows == 300
    assert set(made["smokes"].to_pylist()) == {True, False}


# -- other

OPEN = hush.Schema([hush.Categorical("a", ["x", "y"], other=True), hush.Categorical("b", ["x"], True, True)])
TEXTS: dict[str, list[Any]] = {"a": ["x", "z", "y", "(other)"], "b": [None, "x", "long" * 1000, ""]}


@pytest.mark.parametrize("form", ["dict", "pandas", "dictionary", "view", "numpy"])
def test_columns_with_texts_that_are_not_listed(form: str) -> None:
    table = pa.table(TEXTS)
    data: Any = {
        "dict": TEXTS,
        "pandas": pandas.DataFrame(TEXTS),
        "dictionary": pa.table({name: table[name].combine_chunks().dictionary_encode() for name in TEXTS}),
        "view": pa.table({name: table[name].cast(pa.string_view()) for name in TEXTS}),
        "numpy": {"a": np.array(TEXTS["a"]), "b": TEXTS["b"]},
    }[form]
    assert inputs(OPEN, data) == singly(OPEN, TEXTS) == [[0, 2, 1, 2], [2, 0, 1, 1]]


def test_numbers_are_no_other_texts() -> None:
    with pytest.raises(hush.RecordError, match=r"column 'a': must be a string.* \(4 of 4 rows\)"):
        encode(OPEN, TEXTS | {"a": [1, 2, 3, 4]}, exact=True)


def test_others_in_csv_files(tmp_path: Path) -> None:
    found = read(tmp_path / "people.csv", OPEN, "a,b\nx,\nz,x\n1,true\n")
    assert inputs(OPEN, found) == [[0, 2, 2], [2, 0, 1]]


def test_whole_tables_with_others_are_counted() -> None:
    plan = hush.design(OPEN, 8.0, k="all")
    found = hush.estimate(hush.batch.collect(plan, {name: values * 200 for name, values in TEXTS.items()}))
    shares = {(row.attribute, row.category): row.point for row in found}
    assert shares["a", hush.OTHER] == pytest.approx(0.5, abs=0.12)  # over six standard errors
    assert shares["b", hush.OTHER] == pytest.approx(0.5, abs=0.12)


# -- choices


@pytest.mark.parametrize("optional", [False, True])
def test_a_list_that_is_null_in_a_dictionary_is_missing(optional: bool) -> None:
    """It is not an empty list: that would be a false answer."""
    schema = hush.Schema([hush.Choices("uses", ["tv", "web"], optional=optional)])
    lists = pa.array([None, ["web"]], pa.list_(pa.string()))
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), lists)
    if optional:
        assert inputs(schema, {"uses": column}) == [[[2, 2], [0, 1], [2, 2]]]
        return
    with pytest.raises(hush.RecordError, match=r"column 'uses': is missing, and not declared optional \(2 of 3 rows\)"):
        encode(schema, {"uses": column}, exact=True)
