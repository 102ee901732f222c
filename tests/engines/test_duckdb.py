"""DuckDB gives the tally of the scalar path, exactly, and refuses what the format refuses."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hush import Plan, Tally, batch
from hush.errors import ReportError
from tests.columnar import HELD, LARGE, columnar_plans, sample
from tests.engines.bad import BAD, Bad, changed

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")

from hush.engines.duckdb import tally  # noqa: E402

PLANS = columnar_plans()
PEOPLE = 60


@pytest.mark.parametrize("name", PLANS)
def test_the_tally_is_that_of_the_scalar_path(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    table, expected = sample(plan, PEOPLE)
    # Several row groups, and the last rows in another file: nothing may depend on where a row lies.
    pq.write_table(table[:-7], tmp_path / "a.parquet", row_group_size=50)
    pq.write_table(table[-7:], tmp_path / "b.parquet")
    assert tally(plan, tmp_path / "*.parquet") == expected


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_rows_are_refused(case: Bad, tmp_path: Path) -> None:
    plan = PLANS[case.plan]
    pq.write_table(changed(sample(plan, PEOPLE)[0], case.change), tmp_path / "bad.parquet")
    with pytest.raises(ReportError, match=case.message):
        tally(plan, tmp_path / "bad.parquet")


@pytest.mark.parametrize("plan", LARGE.values(), ids=LARGE)
def test_points_of_long_lists_and_texts_are_counted(plan: Plan, tmp_path: Path) -> None:
    name = plan.schema.names[0]
    reports = batch.randomise(plan, {name: HELD[name]})
    pq.write_table(reports, tmp_path / "a.parquet")
    assert tally(plan, tmp_path / "a.parquet") == batch.tally(plan, reports)


def test_a_file_a_folder_a_list_and_a_relation(tmp_path: Path) -> None:
    plan = PLANS["default"]
    table, expected = sample(plan, PEOPLE)
    pq.write_table(table[:20], tmp_path / "a.parquet")
    pq.write_table(table[20:], tmp_path / "b.parquet")
    files = [tmp_path / "a.parquet", str(tmp_path / "b.parquet")]
    assert tally(plan, files) == expected
    assert tally(plan, tmp_path, threads=1) == expected
    assert tally(plan, files[0]) + tally(plan, files[1]) == expected
    with duckdb.connect() as connection:
        assert tally(plan, files, connection=connection) == expected
        assert tally(plan, connection.from_arrow(table), own=0) == expected
        connection.read_parquet(list(map(str, files))).project("output, attribute, 'x' AS note").create("kept")
        assert tally(plan, connection.table("kept"), own=0) == expected


def test_no_rows_are_the_empty_tally(tmp_path: Path) -> None:
    for name in ("default", "unary-200"):
        plan = PLANS[name]
        pq.write_table(sample(plan, 0)[0], tmp_path / "none.parquet")
        assert tally(plan, tmp_path / "none.parquet") == Tally(plan)


def test_columns_may_be_wider_and_differ_between_files(tmp_path: Path) -> None:
    plan = PLANS["grr"]
    table, expected = sample(plan, PEOPLE)
    pq.write_table(table[:30], tmp_path / "a.parquet")
    pq.write_table(
        table[30:].cast(pa.schema([("attribute", pa.int8()), ("output", pa.int64())])), tmp_path / "b.parquet"
    )
    assert tally(plan, tmp_path, own=0) == expected


def test_the_folder_of_a_file_is_no_column(tmp_path: Path) -> None:
    plan = PLANS["grr"]
    table, expected = sample(plan, PEOPLE)
    (tmp_path / "output=1").mkdir()
    pq.write_table(table, tmp_path / "output=1" / "a.parquet")
    assert tally(plan, tmp_path / "*" / "*.parquet") == expected


def written(plan: Plan, folder: Path, metadata: dict[bytes, bytes] | None) -> Path:
    table, _ = sample(plan, PEOPLE)
    path = folder / "some.parquet"
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({b"hush": b"3"}, "'some.parquet': these are not reports of version 2"),
        ({b"hush": b"1"}, "'some.parquet': these are reports of version 1; this hush reads version 2"),
        ({b"hush": b"2", b"hush.core.plan": b"0" * 64}, "'some.parquet': these reports belong to another plan"),
        (
            {
                b"org.apache.spark.sql.parquet.row.metadata": b'{"fields": [{"name": "attribute", "metadata": '
                b'{"hush.core.plan": "another"}}]}'
            },
            "belong to another plan",
        ),
    ],
)
def test_every_file_must_be_of_the_plan(metadata: dict[bytes, bytes], message: str, tmp_path: Path) -> None:
    plan = PLANS["grr"]
    pq.write_table(sample(plan, PEOPLE)[0], tmp_path / "good.parquet")
    written(plan, tmp_path, metadata)
    with pytest.raises(ReportError, match=message):
        tally(plan, tmp_path)


def test_files_without_metadata_are_accepted_if_somebody_says_the_own_reports(tmp_path: Path) -> None:
    plan = PLANS["grr"]
    file = written(plan, tmp_path, None)
    assert tally(plan, file, own=0).reports == PEOPLE
    assert (tally(plan, file, own=9).people, tally(plan, file, own=9).own) == (PEOPLE - 9, 9)
    with pytest.raises(
        ReportError, match=r"'some\.parquet': these reports do not say how many of them are a relay's own"
    ):
        tally(plan, file)
    with pytest.raises(ReportError, match="do not say"):
        tally(plan, duckdb.from_parquet(str(file)))
    with pytest.raises(ReportError, match=f"there are {PEOPLE} reports, and 61 of them are said"):
        tally(plan, file, own=PEOPLE + 1)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    plan, wide = PLANS["grr"], PLANS["unary-200"]
    table, _ = sample(plan, PEOPLE)
    path = tmp_path / "bad.parquet"
    pq.write_table(table.drop_columns(["output"]), path)
    with pytest.raises(ReportError, match="need a column 'output'"):
        tally(plan, path)
    pq.write_table(sample(wide, PEOPLE)[0].drop_columns(["part"]), path)
    with pytest.raises(ReportError, match="need a column 'part'"):
        tally(wide, path)
    for other in (pa.float64(), pa.uint16(), pa.string(), pa.decimal128(20)):
        pq.write_table(table.set_column(1, "output", table["output"].cast(other)), path)
        with pytest.raises(ReportError, match="'output' must hold signed integers"):
            tally(plan, path)


def test_what_are_no_files_of_reports(tmp_path: Path) -> None:
    plan = PLANS["grr"]
    nowhere: list[list[str] | Path] = [[], tmp_path / "*.parquet", tmp_path]
    for nothing in nowhere:
        with pytest.raises(ReportError, match="there are no files"):
            tally(plan, nothing)
    path = tmp_path / "text.parquet"
    path.write_text("attribute,output\n0,1\n")
    with pytest.raises(ReportError, match="cannot be read as Parquet"):
        tally(plan, path)
    pq.write_table(sample(plan, PEOPLE)[0], path)
    with pytest.raises(ReportError, match="must not be counted twice: 1 of"):
        tally(plan, [path, tmp_path / "*.parquet"])


def test_damaged_files_are_refused_or_read(tmp_path: Path) -> None:
    """Whatever a file holds, there is a tally or a ReportError. Parquet has no checksum, so some damage goes unseen."""
    plan, chance = PLANS["unary-65"], random.Random(1)
    path = tmp_path / "damaged.parquet"
    pq.write_table(sample(plan, PEOPLE)[0], path)
    whole = path.read_bytes()
    refused = 0
    for _ in range(50):
        data = bytearray(whole)
        for _ in range(3):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        try:
            tally(plan, path)
        except ReportError:
            refused += 1
    assert refused > 15


def test_a_connection_keeps_its_settings(tmp_path: Path) -> None:
    plan = PLANS["grr"]
    with duckdb.connect() as connection:
        with pytest.raises(ReportError, match="threads is for a connection made here"):
            tally(plan, tmp_path, connection=connection, threads=1)
        with pytest.raises(ReportError, match="belongs to a connection already"):
            tally(plan, connection.sql("SELECT 1 AS attribute, 1 AS output"), threads=1)


def test_garbage_does_not_fill_the_memory() -> None:
    """A million different outputs outside the alphabet are one row of the result."""
    plan = PLANS["grr"]
    with duckdb.connect() as connection:
        garbage = connection.sql("SELECT range % 1000 AS attribute, 1000 + range AS output FROM range(1000000)")
        with pytest.raises(ReportError, match=r"a row must answer a question of the plan.*: 996000 rows$"):
            tally(plan, garbage, own=0)
        with pytest.raises(ReportError, match=r"'x': an output must be from 0 to 31: 1000 rows$"):
            tally(plan, garbage.filter("attribute < 4"), own=0)
