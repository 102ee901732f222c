"""Columns of dates and times of day, of every type that holds them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import hush
import hush.batch
from hush.batch.columns import encode
from hush.batch.csv_files import CsvSource

SCHEMA = hush.Schema(
    [
        hush.Date("birthday", "1920-01-01", "2020-12-31", optional=True),
        hush.Time("bed", "18:00", "06:00", out_of_range="clip", optional=True),
    ]
)
DAYS = [datetime.date(1969, 12, 31), None, datetime.date(2000, 2, 29)]
TIMES = [datetime.time(18, 0, 59, 999_999), None, datetime.time(5, 30)]
FORMS: dict[str, Any] = {
    "python": {"birthday": DAYS, "bed": TIMES},
    "texts": {"birthday": ["1969-12-31", None, "2000-02-29"], "bed": ["18:00", None, "05:30:30"]},
    "date64": {"birthday": pa.array(DAYS, pa.date64()), "bed": pa.array(TIMES, pa.time64("us"))},
    "timestamps": {
        "birthday": pa.array(DAYS, pa.date32()).cast(pa.timestamp("ns")),
        "bed": pa.array([64_800, None, 19_800], pa.time32("s")),
    },
    "pandas": pandas.DataFrame({"birthday": pandas.to_datetime(pandas.Series(DAYS)), "bed": pandas.Series(TIMES)}),
    "polars": polars.DataFrame({"birthday": DAYS, "bed": TIMES}),
    "dictionary": {
        "birthday": pa.array(["1969-12-31", None, "2000-02-29"]).dictionary_encode(),
        "bed": pa.array(["18:00", None, "05:30"]).dictionary_encode(),
    },
    "views": {"birthday": pa.array(["1969-12-31", None, "2000-02-29"], pa.string_view()), "bed": TIMES},
}


def inputs(data: Any) -> list[list[float]]:
    (batch,) = encode(SCHEMA, data).batches
    return [array.tolist() for array in batch.arrays]


@pytest.mark.parametrize("form", [*FORMS, "csv"])
def test_columns_of_dates_and_times(form: str, tmp_path: Path) -> None:
    data = FORMS.get(form)
    if form == "csv":
        (tmp_path / "people.csv").write_text("birthday,bed\n1969-12-31,18:00\n,\n2000-02-29,05:30:59\n")
        data = pa.Table.from_batches(CsvSource(tmp_path / "people.csv", SCHEMA, exact=True).batches(SCHEMA.names, 100))
    days, times = inputs(data)
    assert (days[0], days[2]) == (-1.0, 11016.0)
    assert (times[0], times[2]) == (18 * 60, 24 * 60 + 5 * 60 + 30)
    assert np.isnan(days[1])
    assert np.isnan(times[1])


def test_columns_agree_with_records() -> None:
    """A number that is clipped is clipped later, so positions are compared."""
    texts = [f"{hour:02d}:{minute:02d}" for hour in range(24) for minute in (0, 29, 59)]
    _, times = inputs({"birthday": ["2000-01-01"] * len(texts), "bed": texts})
    bed = SCHEMA["bed"]
    assert isinstance(bed, hush.Time)
    assert times == [bed.number(text) for text in texts]


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (["1999-02-29", "soon", "2000-01-01"], r"must be a date, .* \(2 of 3 rows\)$"),
        ([10957, 1, 2], r"must be a date, .* \(3 of 3 rows\)$"),
        (["1919-12-31", "2000-01-01", None], r"must be from 1920-01-01 to 2020-12-31 .* \(1 of 3 rows\)$"),
        (pa.array([1, 86_400, None], pa.timestamp("s")), r"must be a date, .* \(1 of 3 rows\)$"),
        (pa.array([0, 86_400, None], pa.timestamp("s", "UTC")), r"must be a date, .* \(2 of 3 rows\)$"),
        (pa.array([0, 1, 2], pa.time32("s")), r"must be a date, .* \(3 of 3 rows\)$"),
    ],
)
def test_other_columns_are_refused(column: Any, rule: str) -> None:
    with pytest.raises(hush.RecordError, match=rf"^column 'birthday': {rule}") as caught:
        encode(SCHEMA, {"birthday": column, "bed": [None] * 3}, exact=True)
    assert "soon" not in str(caught.value)


def test_a_table_gives_the_reports_of_its_records() -> None:
    plan = hush.design(hush.Schema([hush.Date("d", "1970-01-01", "1970-12-31")]), 8.0)
    people = [datetime.date(1970, 1, 1) + datetime.timedelta(days=i % 30) for i in range(4000)]
    found = hush.estimate(hush.batch.collect(plan, {"d": people}))[0]
    truth = sum(i % 30 for i in range(4000)) / 4000
    assert abs(found.point - truth) < 6 * found.stderr


def test_an_outline_suggests_dates_and_times() -> None:
    days = [datetime.date(1950, 5, 5) + datetime.timedelta(days=100 * i) for i in range(100)]
    data = {
        "birthday": days,
        "bed": [datetime.time(i % 24) for i in range(100)],
        "moment": [datetime.datetime(2000, 1, 1, i % 24) for i in range(100)],
    }
    found = hush.outline(data)
    entries = {column.name: column.entry() for column in found.columns if not column.reason}
    assert entries["birthday"]["kind"] == "date"
    assert entries["birthday"]["low"].endswith("perhaps 1950-01-01")
    assert entries["birthday"]["high"].endswith("perhaps 1977-12-31")
    assert entries["bed"] == {"name": "bed", "kind": "time"}
    assert [column.reason for column in found.columns if column.reason] == [
        "it has moments: split them into a date and a time of day first"
    ]
    assert found.schema()["birthday"] == hush.Date("birthday", "1950-01-01", "1977-12-31")


def test_an_outline_of_texts_suggests_dates_and_times(tmp_path: Path) -> None:
    lines = [f"19{50 + i % 40}-05-06,{i % 24:02d}:30,{'1999-02-30' if i == 7 else '1999-02-28'}" for i in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["birthday,bed,odd", *lines]) + "\n")
    found = hush.outline(tmp_path / "people.csv")
    assert [column.kind for column in found.columns] == ["date", "time", "text"]


def test_synthetic_people_have_dates() -> None:
    schema = hush.Schema([hush.Date("d", "1970-01-01", "1970-12-31"), hush.Time("t"), hush.Boolean("b")])
    plan = hush.design(
        schema,
        8.0,
        relations=[("d", "b", "table"), ("t", "b", "table")],
        bands={"d": ["1970-06-30"], "t": ["11:59"]},
    )
    rows = range(1500)
    people = {
        "d": [datetime.date(1970, 1 + i % 12, 5) for i in rows],
        "t": [datetime.time(i % 24, 1) for i in rows],
        "b": [i % 2 == 0 for i in rows],
    }
    made = hush.synthesise(hush.batch.collect(plan, people), people=300, seed=1)
    assert pa.types.is_date(made["d"].type)
    assert pa.types.is_time(made["t"].type)
    assert encode(schema, made).rows == 300
