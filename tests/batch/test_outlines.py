"""First schemas: every kind of column, what is suggested, and that nothing is taken over undecided."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

import hush
from hush.batch.outlines import LARGEST, MARK, RARE, rounded
from hush.cli import schemas
from hush.errors import RecordError

PEOPLE: dict[str, Any] = {
    "age": [17 + i % 60 for i in range(120)],
    "income": [None if i % 5 == 0 else 1000.5 * i for i in range(120)],
    "system": ["mac" if i % 3 else "linux" for i in range(120)],
    "children": [i % 3 for i in range(120)],
}


def column(values: Any, **options: Any) -> Any:
    (found,) = hush.outline(pa.table({"x": values}), **options).columns
    return found


def test_every_kind_of_column() -> None:
    found = {one.name: one for one in hush.outline(PEOPLE).columns}
    assert [(one.kind, one.optional) for one in found.values()] == [
        ("integer", False),
        ("number", True),
        ("text", False),
        ("codes", False),
    ]
    assert (found["age"].low, found["age"].high) == (0, 100)
    assert (found["income"].low, found["income"].high) == (0, 200_000)
    assert found["system"].values == ("linux", "mac")
    assert found["children"].values == (0, 1, 2)


@pytest.mark.parametrize("form", ["parquet", "csv", "pandas", "dictionary"])
def test_all_forms_of_a_table_have_the_same_outline(form: str, tmp_path: Path) -> None:
    table, path = pa.table(PEOPLE), tmp_path / f"people.{form}"
    data: Any = str(path)
    if form == "parquet":
        parquet.write_table(table, path)
    elif form == "csv":
        pandas.DataFrame(PEOPLE).to_csv(path, index=False)
    elif form == "pandas":
        data = pandas.DataFrame(PEOPLE)
    else:
        data = table.set_column(2, "system", table["system"].dictionary_encode())
    assert hush.outline(data) == hush.outline(PEOPLE)


def test_integers_with_gaps_are_still_integers() -> None:
    assert column([1.0, None, 40.0, *map(float, range(30))]).kind == "integer"
    assert column([1.0, None, 40.5]).kind == "number"


def test_two_spellings_of_a_code_are_one(tmp_path: Path) -> None:
    """Each spelling alone is too rare to be listed."""
    path = tmp_path / "people.csv"
    path.write_text("x,y\n" + "1,a\n01,a\n" * (RARE - 1) + "2,a\n" * RARE)
    found = hush.outline(path).columns[0]
    assert (found.kind, found.values, found.distinct) == ("codes", (1, 2), 2)


def test_long_lists_say_so() -> None:
    many = [f"shop {i % 80}" for i in range(80 * RARE)]
    found = column(many, most=5)
    assert (len(found.values), found.distinct) == (5, 80)
    assert "75 rarer values are not listed" in found.entry()["values"][0]
    own = column([f"name {i}" for i in range(400)])
    assert (own.values, own.distinct) == ((), 400)
    assert own.entry()["values"] == [f"{MARK}: 400 different ones: name the categories, ask for a text, or strike it"]
    huge = column([f"name {i}" for i in range(5000)])
    assert "many different ones" in huge.suggestion


def test_a_category_of_a_few_people_is_not_named() -> None:
    """It might be the only thing in the file that points at somebody."""
    text = hush.outline({"town": ["north", "south"] * 50 + ["the lighthouse"] * (RARE - 1)}).to_json()
    assert "north" in text
    assert "lighthouse" not in text
    assert "a rarer value is not listed" in text
    assert "lighthouse" in hush.outline({"town": ["north"] * 50 + ["the lighthouse"] * RARE}).to_json()  # the twin


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([datetime.timedelta(1)], "durations"),
        ([[1], [2]], "neither numbers nor texts"),
        ([1.5, float("nan")], "NaN"),
        ([None, None], "no values"),
        ([1e301, 0.5], "too large"),
    ],
)
def test_other_columns_are_left_out_with_a_reason(values: list[Any], words: str) -> None:
    found = hush.outline(pa.table({"x": values, "y": pa.array([1.5] * len(values))}))
    assert words in found.columns[0].reason
    assert [one.name for one in found.used] == ["y"]
    assert words in str(found)
    with pytest.raises(hush.RecordError, match="no column"):
        hush.outline(pa.table({"x": values}))


def test_nobody_and_nonsense_are_refused() -> None:
    with pytest.raises(hush.RecordError, match="no people"):
        hush.outline({"x": pa.array([], pa.int64())})
    with pytest.raises(hush.RecordError, match="a table must be"):
        hush.outline(7)
    with pytest.raises(hush.SchemaError, match="most"):
        hush.outline(PEOPLE, most=0)


@pytest.mark.parametrize("values", [[1, "Ada"], ["Ada", 1], [1, 2**70], [1, {"Ada"}]], ids=str)
def test_a_column_of_several_types_is_named_and_not_quoted(values: list[Any]) -> None:
    with pytest.raises(RecordError, match=r"^column 'who': is not a list or array of values of one type$") as caught:
        hush.outline(pandas.DataFrame({"age": [1, 2], "who": pandas.Series(values, dtype=object)}))
    assert caught.value.__context__ is None


def test_columns_of_one_name_are_refused() -> None:
    """They would become one attribute, of the values of both."""
    twice = pa.table([pa.array([1, 2]), pa.array([300, 400])], names=["age", "age"])
    for data in (twice, pandas.DataFrame([[1, 300], [2, 400]], columns=["age", "age"])):
        with pytest.raises(RecordError, match=r"^column 'age': is there 2 times$"):
            hush.outline(data)


def test_unusual_types_of_arrow() -> None:
    halves = pa.array([1.5, 2.0] * RARE).cast(pa.float16())
    broken = pa.array([b"\xff"] * 2 * RARE, pa.binary()).view(pa.string())
    number, text = hush.outline(pa.table({"half": halves, "broken": broken})).columns
    assert (number.kind, number.low, number.high) == ("number", 1.5, 2.0)
    assert text.reason == "it has texts that are not UTF-8"


def test_files_of_one_kind(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": [1.5]}), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("x\n2.5\n")
    with pytest.raises(hush.RecordError, match="one kind"):
        hush.outline(tmp_path)
    (tmp_path / "c.csv").write_text("x\n7.5\n")
    found = hush.outline([tmp_path / "b.csv", tmp_path / "c.csv"])
    assert (found.rows, found.columns[0].high) == (2, 10)


def test_no_outline_becomes_a_plan_undecided() -> None:
    """Each mark alone is enough; without any the file is a schema."""
    value = json.loads(hush.outline(PEOPLE).to_json())
    decided = [
        {"name": "age", "low": 0, "high": 120},
        {"name": "income", "low": 0, "high": 1e6, "optional": True},
        {"name": "system", "values": ["linux", "mac", "other"]},
        {"name": "children", "values": [0, 1, 2]},
    ]
    for place, item in enumerate(value["attributes"]):
        half = {"note": value["note"], "attributes": [*decided[:place], item, *decided[place + 1 :]]}
        with pytest.raises(hush.SchemaError, match=f"attribute '{item['name']}'.*{MARK}"):
            schemas.friendly(half)
    assert schemas.friendly({"note": value["note"], "attributes": decided}).names == tuple(PEOPLE)
    with pytest.raises(hush.SchemaError, match="exactly the fields"):
        schemas.friendly({"note": 3, "attributes": decided})
    assert schemas.MARK == MARK


def test_its_schema_accepts_the_table() -> None:
    from hush import batch

    people = PEOPLE | {"name": [f"name {i}" for i in range(120)], "same": ["x"] * 120}
    schema = hush.outline(people).schema()
    assert schema.names == tuple(PEOPLE)  # neither names of people, nor a category that all share
    assert batch.collect(hush.design(schema, 1.0), people).reports == 120
    with pytest.raises(hush.RecordError, match="share"):
        hush.outline({"name": people["name"]}).schema()


@given(st.floats(-LARGEST, LARGEST), st.floats(-LARGEST, LARGEST))
@example(0.0, 5e-324)
@example(1e12, 1e12 + 1e-3)
@example(-LARGEST, LARGEST)
def test_suggested_bounds_hold_all_values(one: float, other: float) -> None:
    low, high = sorted((one, other))
    below, above = rounded(low, high)
    assert below <= low <= high <= above
    hush.Numeric("x", below, above)
    assert above - below <= max(5 * (high - low), 2 * high, 5 * abs(low), 1)


@pytest.mark.parametrize(
    ("values", "bounds"), [((17, 83), (0, 100)), ((1950, 2005), (1940, 2020)), ((-12, 35), (-20, 40)), ((5, 5), (4, 5))]
)
def test_suggested_bounds_are_round(values: tuple[float, float], bounds: tuple[float, float]) -> None:
    assert rounded(*values) == bounds
