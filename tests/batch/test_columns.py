"""Columns in every shape that tables come in give what the scalar path makes of each record, and the same refusals."""

from __future__ import annotations

import decimal
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import Categorical, Numeric, RecordError, Schema
from hush.batch.columns import check_batches, encode, encode_batches
from hush.batch.outlines import outline
from tests.cases import MIXED

ROWS: dict[str, list[Any]] = {
    "age": [41, 0, 120, 17.5],
    "height": [0.25, -9, 9, 2.5],
    "income": [None, 0, 1e6, 3.0],
    "os": ["mac", "linux", "other", "mac"],
    "code": [13, 1, 34, 2],
    "smokes": [None, "yes", "no", "no"],
}


def encoded(schema: Schema, data: Any) -> list[list[Any]]:
    """The columns after encoding, with numbers on the scale [0, 1] and None for missing, as in `Schema.encode`."""
    found: list[list[Any]] = [[] for _ in schema.attributes]
    for columns in encode(schema, data).batches:
        for values, attribute, array in zip(found, schema.attributes, columns.arrays, strict=True):
            if isinstance(attribute, Numeric):
                low, span = attribute.low, attribute.high - attribute.low
                values += [None if math.isnan(x) else min(max((x - low) / span, 0.0), 1.0) for x in array.tolist()]
            else:
                values += array.tolist()
    return found


def expected(schema: Schema, rows: dict[str, list[Any]]) -> list[list[Any]]:
    records = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    return [list(column) for column in zip(*(schema.encode(record) for record in records), strict=True)]


SHAPES: dict[str, Any] = {
    "dict of lists": lambda: ROWS,
    "arrow": lambda: pa.table(ROWS),
    "arrow batch": lambda: pa.table(ROWS).to_batches()[0],
    "arrow chunks": lambda: pa.concat_tables([pa.table(ROWS).slice(0, 1), pa.table(ROWS).slice(1)]),
    "arrow dictionaries": lambda: _dictionaries(pa.table(ROWS)),
    "arrow views": lambda: pa.table(ROWS).set_column(3, "os", pa.array(ROWS["os"], pa.string_view())),
    "arrow large strings": lambda: pa.table(ROWS).set_column(3, "os", pa.array(ROWS["os"], pa.large_string())),
    "arrow sliced": lambda: pa.concat_tables([pa.table(ROWS)] * 3).combine_chunks().slice(4, 4),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas categories": lambda: pd.DataFrame(ROWS).astype({"os": "category", "code": "category"}),
    "polars": lambda: pl.DataFrame(ROWS, strict=False),
    "polars categories": lambda: pl.DataFrame(ROWS, strict=False).with_columns(pl.col("os").cast(pl.Categorical)),
    "polars, lazy": lambda: pl.LazyFrame(ROWS, strict=False).with_columns(pl.lit(1).alias("more")),
    "more columns": lambda: pa.table(ROWS | {"name": ["a", "b", "c", "d"]}),
    "another order": lambda: pa.table(ROWS).select(list(ROWS)[::-1]),
    "reader": lambda: pa.table(ROWS).to_reader(),
}


def _dictionaries(table: pa.Table) -> pa.Table:
    for index, name in enumerate(table.column_names):
        if name in ("os", "code", "smokes"):
            table = table.set_column(index, name, table.column(name).dictionary_encode())
    return table


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_table_is_read(shape: str) -> None:
    assert encoded(MIXED, SHAPES[shape]()) == expected(MIXED, ROWS)


@pytest.mark.parametrize(
    "name",
    ["int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "decimal"],
)
def test_every_type_of_number_is_read(name: str) -> None:
    kind = pa.decimal128(9, 2) if name == "decimal" else getattr(pa, name)()
    schema = Schema([Numeric("x", 0, 100), Categorical("c", [1, 2, 3])])
    values = [1, 2, 3]
    plain = values if not pa.types.is_decimal(kind) else [decimal.Decimal(x) for x in values]
    categories = pa.array(values, kind) if not pa.types.is_decimal(kind) else pa.array(values)
    data = {"x": pa.array(plain, kind), "c": categories}
    assert encoded(schema, data) == expected(schema, {"x": values, "c": values})


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1))
def test_large_integers_become_the_same_float(values: list[int]) -> None:
    schema = Schema([Numeric("x", -1e19, 1e19)])
    assert encoded(schema, {"x": np.array(values)}) == expected(schema, {"x": values})


def bad(column: str, values: Any) -> dict[str, Any]:
    return ROWS | {column: values}


def test_a_lazy_frame_that_cannot_be_computed_shows_no_value() -> None:
    """And of a whole one only the columns of the schema are computed."""
    secret = pl.LazyFrame(ROWS, strict=False).with_columns(pl.col("os").cast(pl.Int64))
    with pytest.raises(RecordError, match=r"^the lazy frame cannot be computed: call its collect\(\)") as caught:
        encode(MIXED, secret)
    assert caught.value.__context__ is None
    with pytest.raises(RecordError, match="column 'smokes': is not there"):
        encode(MIXED, pl.LazyFrame({name: values for name, values in ROWS.items() if name != "smokes"}, strict=False))
    never = pl.LazyFrame(ROWS, strict=False).with_columns(pl.col("os").cast(pl.Int64).alias("other"))
    assert encode(MIXED, never) is not None
    assert [column.name for column in outline(pl.LazyFrame({"age": [1.5] * 40})).columns] == ["age"]


REFUSALS = [
    (bad("age", [41, 121, -1, 17.5]), "column 'age': must be from 0.0 to 120.0 .* (2 of 4 rows)"),
    (bad("age", [41, None, 1, 17.5]), "column 'age': is missing, and not declared optional (1 of 4 rows)"),
    (bad("age", np.array([41, np.nan, 1, np.nan])), "column 'age': must not be NaN (2 of 4 rows)"),
    (bad("age", np.array([41, np.inf, -np.inf, 1])), "column 'age': must be finite (2 of 4 rows)"),
    (bad("height", np.array([41, np.inf, -np.inf, 1])), "column 'height': must be finite (2 of 4 rows)"),
    (bad("income", pa.array([None, 2e6, float("nan"), 1.0])), "column 'income': must not be NaN (1 of 4 rows)"),
    (bad("age", ["41", "2", "3", "4"]), "column 'age': must be a number (int or float).* (4 of 4 rows)"),
    (bad("age", [True, False, True, False]), "column 'age': must be a number (int or float).* (4 of 4 rows)"),
    (bad("os", ["mac", "hurd", "plan9", "mac"]), "column 'os': must be one of the 3 values declared: .* (2 of 4 rows)"),
    (bad("os", [1, 2, 3, 4]), "column 'os': must be a string, one of those declared.* (4 of 4 rows)"),
    (bad("os", ["mac", None, None, "mac"]), "column 'os': is missing, and not declared optional (2 of 4 rows)"),
    (bad("code", [13, 4, 5, 2]), "column 'code': must be one of the 8 values declared: .* (1 of 4 rows)"),
    (bad("code", ["13", "1", "2", "3"]), "column 'code': must be an integer, one of those declared.* (4 of 4 rows)"),
    (bad("code", [True] * 4), "column 'code': must be an integer, one of those declared.* (4 of 4 rows)"),
    (bad("code", [13.5, 1.0, 2.0, 3.0]), "column 'code': must be an integer, one of those declared (1 of 4 rows)"),
    (bad("code", np.array([2**63 + 1] * 4, np.uint64)), "column 'code': must be one of the 8 values"),
    (bad("code", np.array([-(2**63)] * 4)), "column 'code': must be one of the 8 values declared: .* (4 of 4 rows)"),
    (bad("code", [[1], [2], [3], [4]]), "column 'code': must be an integer"),
    (bad("age", [1, "x", 2, 3]), "column 'age': is not a list or array of values of one type"),
    ({name: values for name, values in ROWS.items() if name != "smokes"}, "column 'smokes': is not there"),
    ([1, 2], "a table must be an Arrow table, a pandas or polars frame (a lazy one too), or a dict of arrays"),
]


@pytest.mark.parametrize(("data", "message"), REFUSALS, ids=[str(i) for i in range(len(REFUSALS))])
def test_bad_values_are_not_shown_and_counted_only_if_asked(data: Any, message: str) -> None:
    with pytest.raises(RecordError) as caught:
        encode(MIXED, data, exact=True)
    start, _, end = message.partition(".*")
    assert str(caught.value).startswith(start)
    assert end.strip() in str(caught.value)
    assert "hurd" not in str(caught.value)
    with pytest.raises(RecordError) as plain:
        encode(MIXED, data)
    assert str(plain.value) == uncounted(str(caught.value))


def uncounted(message: str) -> str:
    return re.sub(r"\(\d+ of \d+ rows\)", "(some rows)", message)


def faulty(column: str, good: Any, wrong: Any, places: tuple[int, ...]) -> dict[str, Any]:
    return bad(column, [wrong if place in places else good for place in range(4)])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("column", "good", "wrong"),
    [
        ("age", 41.0, 121.0),
        ("age", 41.0, None),
        ("age", 41.0, float("nan")),
        ("age", 41.0, float("inf")),
        ("os", "mac", "hurd"),
        ("os", "mac", None),
        ("code", 13, 4),
        ("code", 13.0, 1.5),
    ],
)
def test_errors_depend_on_neither_how_many_rows_are_bad_nor_which(
    column: str, good: Any, wrong: Any, exact: bool
) -> None:
    """The twin, which counts, is caught."""
    said = set()
    for places in ((0,), (3,), (1, 2), (0, 1, 3)):
        table = pa.table(faulty(column, good, wrong, places))
        for check in (encode, check_batches, lambda *given: list(encode_batches(*given))):
            with pytest.raises(RecordError) as caught:
                check(MIXED, table if check is encode else table.to_batches(), exact)
            said.add(str(caught.value))
    assert len(said) == (3 if exact else 1)


def test_unused_and_null_entries_of_a_dictionary_do_no_harm() -> None:
    schema = Schema([Categorical("c", ["a", "b"], optional=True)])
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 3, None], pa.int8()), pa.array(["a", None, "no", "b"]))
    assert encoded(schema, {"c": array}) == [[0, 2, 1, 2]]
    with pytest.raises(RecordError, match=r"column 'c': must be one of .* \(1 of 2 rows\)"):
        encode(schema, {"c": array.slice(0, 2).take(pa.array([0, 0])).from_arrays([0, 2], ["a", "b", "no"])}, True)


def test_all_bad_columns_are_listed_and_rows_of_all_batches_counted() -> None:
    table = pa.table(bad("age", [121, 2, 121, 4]) | {"os": ["x", "mac", "mac", "y"]})
    with pytest.raises(RecordError) as caught:
        check_batches(MIXED, table.to_batches(max_chunksize=1), exact=True)
    assert "column 'age'" in str(caught.value)
    assert "column 'os'" in str(caught.value)
    assert str(caught.value).count("(2 of 4 rows)") == 2
    assert check_batches(MIXED, pa.table(ROWS).to_batches(max_chunksize=3)) == 4


def test_a_stream_is_checked_batch_by_batch() -> None:
    good, wrong = pa.table(ROWS).to_batches()[0], pa.table(bad("age", [121] * 4)).to_batches()[0]
    stream = encode_batches(MIXED, [good, wrong, good], exact=True)
    assert next(stream).rows == 4
    with pytest.raises(RecordError, match="4 of 4 rows"):
        next(stream)


def test_integer_categories_far_apart_are_found() -> None:
    values = [-(1 << 52), 0, 7, 1 << 52]
    schema = Schema([Categorical("c", values)])
    assert encoded(schema, {"c": np.array(values[::-1])}) == [[3, 2, 1, 0]]
    with pytest.raises(RecordError, match="2 of 3 rows"):
        encode(schema, {"c": np.array([7, 8, -9])}, exact=True)


def test_a_table_that_is_checked_for_another_schema_is_refused() -> None:
    held = encode(MIXED, ROWS)
    assert encode(MIXED, held) is held
    with pytest.raises(RecordError, match="another schema"):
        encode(Schema([Numeric("x", 0, 1)]), held)


def test_duplicate_columns_are_refused() -> None:
    table = pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    with pytest.raises(RecordError, match="column 'x': is there more than once"):
        encode(Schema([Numeric("x", 0, 1)]), table)


def test_an_empty_table_has_nobody() -> None:
    assert encode(MIXED, pa.table({name: pa.array([], pa.null()) for name in ROWS})).rows == 0


NOTHING = [
    pa.nulls(3),
    pa.array([None] * 3, pa.string()),
    pa.array([None] * 3, pa.float64()),
    pa.array([None] * 3, pa.int8()),
    pa.array([None] * 3, pa.bool_()),
    pa.array([None] * 3, pa.list_(pa.int8())),
    pa.DictionaryArray.from_arrays(pa.array([None] * 3, pa.int8()), pa.array(["a"])),
    pa.DictionaryArray.from_arrays(pa.array([0, 0, None], pa.int8()), pa.array([None], pa.string())),
]


@pytest.mark.parametrize("column", NOTHING, ids=[str(column.type) + str(i) for i, column in enumerate(NOTHING)])
@pytest.mark.parametrize("kind", ["number", "text", "code"])
def test_a_column_of_nothing_is_missing_whatever_its_type(kind: str, column: pa.Array) -> None:
    def attribute(optional: bool) -> Any:
        if kind == "number":
            return Numeric("x", 5, 10, optional=optional)
        return Categorical("x", ["a", "b"] if kind == "text" else [1, 2], optional)

    missing = None if kind == "number" else 2
    assert encoded(Schema([attribute(True)]), {"x": column}) == [[missing] * 3]
    with pytest.raises(RecordError, match=r"column 'x': is missing, and not declared optional \(3 of 3 rows\)$"):
        encode(Schema([attribute(False)]), {"x": column}, exact=True)


def test_dictionaries_are_as_strict_as_plain_columns() -> None:
    schema = Schema([Categorical("c", [1, 2, 3])])
    for values in ([1.0, 2.5, 3.0, float("inf")], [1.0, 2.5, None, 9.5]):
        with pytest.raises(RecordError, match=r"must be an integer, one of those declared \(2 of 4 rows\)"):
            encode(schema, {"c": pa.array(values).dictionary_encode()}, exact=True)
    assert encoded(schema, {"c": pd.Series([1.0, 3.0]).astype("category")}) == [[0, 2]]
    with pytest.raises(RecordError, match=r"must be an integer, one of those declared.* \(2 of 2 rows\)"):
        encode(schema, {"c": pa.array(["1", "2"]).dictionary_encode()}, exact=True)


@pytest.mark.parametrize("places", [[-1, 0], [-2, 0], [0, 77]])
def test_wild_places_in_a_dictionary_are_refused(places: list[int]) -> None:
    """Arrow does not check them unless asked, and a kernel must not see them."""
    column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(range(64)), safe=False)
    with pytest.raises(RecordError, match=r"must be an entry of the column's dictionary \(1 of 2 rows\)"):
        encode(Schema([Categorical("c", list(range(64)))]), {"c": column}, exact=True)


def test_a_dictionary_may_fill_its_type() -> None:
    schema = Schema([Categorical("c", list(range(128)), optional=True)])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 127, None], pa.int8()), pa.array(range(128)))
    assert encoded(schema, {"c": column}) == [[0, 127, 128]]


def test_decimals_are_rounded_once() -> None:
    schema = Schema([Numeric("x", 0, 0.3)])
    column = pa.array([decimal.Decimal("0.3"), decimal.Decimal("0.1")], pa.decimal128(38, 30))
    assert encoded(schema, {"x": column}) == expected(schema, {"x": [0.3, 0.1]})


ODD = [
    ({"x": [1.5, True]}, "column 'x': is not a list or array of values of one type"),
    ({"x": "ab"}, "column 'x': is not a list or array of values of one type"),
    ({"x": {1: 2}}, "column 'x': is not a list or array of values of one type"),
    ({"x": np.zeros((2, 2))}, "column 'x': is not a list or array of values of one type"),
    (pd.Series([1.0]), "a table must be an Arrow table"),
    (pd.DataFrame({1: [2.0]}), "column 'x': is not there"),
]


@pytest.mark.parametrize(("data", "message"), ODD, ids=[str(i) for i in range(len(ODD))])
def test_odd_tables_are_refused(data: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        encode(Schema([Numeric("x", 0, 10)]), data)


def test_columns_must_be_equally_long() -> None:
    with pytest.raises(RecordError, match="column 'y': has 3 rows, and the first column 2"):
        encode(Schema([Numeric("x", 0, 10), Numeric("y", 0, 10)]), {"x": [1, 2], "y": [1, 2, 3]})


def test_arrays_of_the_other_byte_order_are_read() -> None:
    assert encoded(Schema([Numeric("x", 0, 10)]), {"x": np.array([1.0, 2.5], ">f8")}) == [[0.1, 0.25]]


def test_no_error_carries_a_value_along() -> None:
    """Collectors of errors also show what an error was raised from."""
    with pytest.raises(RecordError) as caught:
        encode(Schema([Numeric("x", 0, 10)]), {"x": [0.5, "SECRET-4711"]})
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
