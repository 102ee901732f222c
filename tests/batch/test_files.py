"""People in files become reports in files, whole or not at all; reports in files become the tally of all of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

import hush
from hush import batch
from hush.batch import files
from hush.batch.csv_files import NOT_WRITTEN
from hush.batch.files import People, Reports, randomise_file, tally_files
from hush.batch.reports import report_schema
from hush.errors import RecordError, ReportError

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Numeric("income", 0, 1e5, out_of_range="clip", optional=True),
        hush.Categorical("os", ["linux", "mac", "other"]),
    ]
)
PLAN = hush.design(SCHEMA, 1.0)
WIDE = hush.design(
    hush.Schema([hush.Categorical("c", list(range(200))), hush.Numeric("x", 0, 1)]), 2.0, categorical="oue", k=2
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def people(n: int, **columns: Any) -> pa.Table:
    table = {"age": [float(i % 100) for i in range(n)], "income": [None] * n, "os": ["mac", "linux"] * (n // 2)}
    return pa.table({**table, **columns})


def write(n: int = 1000, path: str = "people.parquet", **columns: Any) -> str:
    pq.write_table(people(n, **columns), path, row_group_size=100)
    return path


def inside() -> set[str]:
    return {path.name for path in Path().iterdir()}


# -- randomise_file


@pytest.mark.parametrize("name", ["reports.parquet", "reports.arrow", "reports.arrows", "reports.feather"])
@pytest.mark.parametrize("ids", [False, True])
def test_reports_are_what_the_format_says(name: str, ids: bool) -> None:
    assert randomise_file(PLAN, write(), name, ids=ids) == 1000
    assert inside() == {"people.parquet", name}
    if name.endswith("parquet"):
        table = pq.read_table(name)
    else:
        table = (ipc.open_stream if name.endswith("arrows") else ipc.open_file)(name).read_all()
    assert table.num_rows == 1000 * PLAN.k
    schema = report_schema(PLAN, ids=ids)
    if name.endswith("parquet"):  # it also says how many rows there are, which is known at its end
        schema = schema.with_metadata({**schema.metadata, b"hush.core.rows": b"%d" % (1000 * PLAN.k)})
    assert table.schema.equals(schema, check_metadata=True)
    assert tally_files(PLAN, name) == batch.tally(PLAN, table)
    if ids:
        assert len(set(table["report"].to_pylist())) == 1000


@pytest.mark.parametrize("plan", [PLAN, WIDE], ids=["narrow", "wide"])
def test_row_groups_and_batches_of_any_size_give_the_same_tally(
    plan: hush.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_ROW_GROUP", 7)  # parts of a set lie in several groups, and batches
    table = people(100, c=list(range(100)), x=[0.5] * 100)
    pq.write_table(table, "people.parquet")
    assert randomise_file(plan, "people.parquet", "reports.parquet") == 100
    assert pq.ParquetFile("reports.parquet").metadata.row_group(0).num_rows == 7
    found = tally_files(plan, "reports.parquet")
    assert found.reports == 100
    assert found == batch.tally(plan, pq.read_table("reports.parquet"))


def test_nobody_sends_no_reports() -> None:
    assert randomise_file(PLAN, write(0), "reports.parquet") == 0
    assert tally_files(PLAN, "reports.parquet") == hush.Tally(PLAN)


def test_people_in_csv_are_the_same_people() -> None:
    Path("people.csv").write_text("os,age,income\n" + "mac,7,\nother,9,200000\n" * 50)
    assert randomise_file(PLAN, ["people.csv", write(10)], "reports.parquet") == 110
    assert tally_files(PLAN, "reports.parquet").reports == 110


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"age": [1.0] * 998 + [777.0] * 2}, r"'age': must be from 0\.0 to 120\.0.*2 of 1000 rows"),
        ({"age": [float("nan")] + [1.0] * 999}, "'age': must not be NaN.*1 of 1000 rows"),
        ({"os": ["mac"] * 700 + [None] * 300}, "'os': is missing.*300 of 1000 rows"),
        ({"os": ["mac"] * 990 + ["secret"] * 10}, "'os': must be one of the 3.*10 of 1000 rows"),
    ],
)
def test_bad_rows_are_counted_and_nothing_is_drawn(
    columns: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BATCH", 64)
    monkeypatch.setattr(batch, "randomise_batches", None)  # not called
    write(1000, **columns)
    with pytest.raises(RecordError, match=why) as caught:
        randomise_file(PLAN, "people.parquet", "reports.parquet", count_bad_rows=True)
    with pytest.raises(RecordError) as plain:
        randomise_file(PLAN, "people.parquet", "reports.parquet")
    assert str(plain.value) == re.sub(r"\(\d+ of 1000 rows\)$", "(some rows)", str(caught.value))
    assert "777" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert inside() == {"people.parquet"}


def test_bad_fields_of_csv_are_counted_and_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "randomise_batches", None)  # not called
    Path("people.csv").write_text("os,age,income\n" + "mac,7,\nmac,secret,\n" * 50)
    rule = re.escape(f"people.csv: column 'age': {NOT_WRITTEN}")
    for count_bad_rows, said in ((False, "some rows"), (True, "50 of 100 rows")):
        with pytest.raises(RecordError, match=rf"^{rule} \({said}\)$"):
            randomise_file(PLAN, "people.csv", "reports.parquet", count_bad_rows=count_bad_rows)
    assert inside() == {"people.csv"}


def test_files_that_change_between_the_two_readings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def after_checking(change: Callable[[], Any]) -> None:
        check = batch.check_batches

        def checked(plan: hush.Plan, batches: Iterator[pa.RecordBatch], **options: Any) -> int:
            count = check(plan, batches, **options)
            change()
            return count

        with monkeypatch.context() as patch:
            patch.setattr(batch, "check_batches", checked)
            with pytest.raises(RecordError):
                randomise_file(PLAN, write(), "reports.parquet")
        assert inside() == {"people.parquet"}

    after_checking(lambda: write(998))
    after_checking(lambda: write(1000, age=[121.0] * 1000))
    after_checking(lambda: write(1000, age=["121"] * 1000))
    after_checking(lambda: pq.write_table(pa.table({"age": [1.0]}), "people.parquet"))
    after_checking(lambda: Path("people.parquet").write_bytes(b"PAR1"))


@pytest.mark.parametrize("way", ["nameless", "beside"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_of_a_failure_nothing_stays(error: type[BaseException], way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = batch.randomise_batches

    def interrupted(*arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        yield from draw(*arguments, **options)
        assert len(inside()) == 1 + (way == "beside") + Path("reports.parquet").exists()
        raise error

    if way == "beside":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("files here always have a name")
    write()
    monkeypatch.setattr(batch, "randomise_batches", interrupted)
    with pytest.raises(error):
        randomise_file(PLAN, "people.parquet", "reports.parquet")
    assert inside() == {"people.parquet"}
    Path("reports.parquet").write_text("older")
    with pytest.raises(error):
        randomise_file(PLAN, "people.parquet", "reports.parquet", overwrite=True)
    assert inside() == {"people.parquet", "reports.parquet"}
    assert Path("reports.parquet").read_text() == "older"


def test_what_a_killed_run_left_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    Path(".reports.parquet.0123abcd.part").write_text("drawn")
    monkeypatch.setattr(files, "People", None)  # not called
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match=r"was killed.*epsilon twice"):
            randomise_file(PLAN, "people.parquet", "reports.parquet", overwrite=overwrite)


def test_files_are_not_overwritten_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    Path("reports.parquet").write_text("older")
    with pytest.raises(FileExistsError, match="exists already"):
        randomise_file(PLAN, "people.parquet", "reports.parquet")
    assert Path("reports.parquet").read_text() == "older"
    randomise_file(PLAN, "people.parquet", "reports.parquet", overwrite=True)
    assert tally_files(PLAN, "reports.parquet").reports == 1000
    with pytest.raises(ReportError, match="ends in one of"):
        randomise_file(PLAN, "people.parquet", "reports.csv")
    Path("folder.parquet").mkdir()
    with pytest.raises(IsADirectoryError):
        randomise_file(PLAN, "people.parquet", "folder.parquet", overwrite=True)


def test_people_are_not_replaced_by_their_reports() -> None:
    write()
    before = Path("people.parquet").read_bytes()
    for source in ("people.parquet", ".", "*.parquet"):
        with pytest.raises(FileExistsError, match="the reports must go to another file"):
            randomise_file(PLAN, source, "./people.parquet", overwrite=True)
    assert Path("people.parquet").read_bytes() == before


def test_a_missing_folder_is_named_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "People", None)  # not called
    with pytest.raises(FileNotFoundError, match="no such folder") as caught:
        randomise_file(PLAN, write(), "nowhere/reports.parquet")
    assert caught.value.filename == "nowhere"


def test_files_of_nothing_are_not_passed_over() -> None:
    randomise_file(PLAN, write(), "reports.parquet")
    Path("empty").mkdir()
    for nothing in ("south*.parquet", "empty"):
        with pytest.raises(FileNotFoundError, match="no files found") as caught:
            tally_files(PLAN, ["reports.parquet", nothing])
        assert caught.value.filename == nothing
        with pytest.raises(FileNotFoundError, match="no files found"):
            randomise_file(PLAN, ["people.parquet", nothing], "more.parquet")


def test_a_file_that_appears_meanwhile_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (sync(handle), Path("reports.parquet").write_text("newer")))
    with pytest.raises(FileExistsError):
        randomise_file(PLAN, write(), "reports.parquet")
    assert Path("reports.parquet").read_text() == "newer"
    assert inside() == {"people.parquet", "reports.parquet"}


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH", 400)
    monkeypatch.setattr(files, "_ROW_GROUP", 800)
    told: list[tuple[int, int | None, str]] = []

    def tell(done: int, total: int | None, stage: str) -> None:
        told.append((done, total, stage))

    randomise_file(PLAN, write(), "reports.parquet", progress=tell)
    tally_files(PLAN, "reports.parquet", progress=tell)
    assert told == [
        *((done, 1000, stage) for stage in ("checking", "randomising") for done in (400, 800, 1000)),
        *((done, 1000, "tallying") for done in (800, 1000)),
    ]
    told.clear()
    Path("people.csv").write_text("os,age,income\nmac,7,\n")
    randomise_file(PLAN, "people.csv", "more.parquet", progress=tell)
    assert told == [(1, None, "checking"), (1, 1, "randomising")]


def test_many_columns_make_shorter_batches() -> None:
    names = [f"x{i}" for i in range(65)]
    schema = hush.Schema([hush.Numeric(name, 0, 1) for name in names])
    pq.write_table(pa.table({name: pa.array([0.5] * 70_000, pa.float32()) for name in names}), "people.parquet")
    assert [batch.num_rows for batch in People(schema, "people.parquet").batches()] == [65536, 70_000 - 65536]


# -- tally_files


def test_files_and_folders_of_reports_are_one_tally() -> None:
    write(100)
    Path("reports").mkdir()
    for name in ("a.parquet", "b.arrow", "c.arrows"):
        randomise_file(PLAN, "people.parquet", Path("reports", name))
    whole = tally_files(PLAN, "reports")
    assert whole.reports == 300
    assert whole == sum((tally_files(PLAN, path) for path in Path("reports").iterdir()), hush.Tally(PLAN))
    assert whole == tally_files(PLAN, ["reports/a.parquet", "reports/*.arrow*"])
    assert Reports(PLAN, "reports/a.parquet").rows == 100
    with pytest.raises(FileExistsError, match="more than once"):
        tally_files(PLAN, ["reports", "reports/a.parquet"])


def test_metadata_is_checked_where_there_is_any() -> None:
    randomise_file(PLAN, write(100), "reports.parquet")
    table = pq.read_table("reports.parquet")
    pq.write_table(table.replace_schema_metadata(None), "plain.parquet")
    assert tally_files(PLAN, "plain.parquet", own=0) == tally_files(PLAN, "reports.parquet")
    for notes in ({b"hush": b"1"}, {b"hush": b"3"}, {b"hush": b"2", b"hush.core.plan": WIDE.id.encode()}):
        pq.write_table(table.replace_schema_metadata(notes), "other.parquet")
        with pytest.raises(ReportError, match=r"other\.parquet: these") as caught:
            tally_files(PLAN, ["reports.parquet", "other.parquet"])
        assert caught.value.__context__ is None


def test_what_are_no_reports_is_refused() -> None:
    write(100)
    with pytest.raises(ReportError, match=r"people\.parquet: reports must have one column 'attribute'"):
        tally_files(PLAN, "people.parquet")
    Path("reports.csv").touch()
    with pytest.raises(ReportError, match="ends in one of"):
        tally_files(PLAN, "reports.csv")
    Path("reports.parquet").write_text("nonsense")
    with pytest.raises(ReportError, match="cannot be read as Parquet"):
        tally_files(PLAN, "reports.parquet")
    columns = {"attribute": pa.array([0, 1], pa.int16()), "output": pa.array([0, 30_000], pa.int16())}
    pq.write_table(pa.table(columns), "reports.parquet")
    with pytest.raises(ReportError):
        tally_files(PLAN, "reports.parquet")
    columns["output"] = pa.array(["0", "1"])
    pq.write_table(pa.table(columns), "reports.parquet")
    with pytest.raises(ReportError, match="signed integers"):
        tally_files(PLAN, "reports.parquet")


def test_a_damaged_page_is_noticed() -> None:
    """Small integers with a bit turned may still be reports; the checksum of the page tells."""
    randomise_file(PLAN, write(), "reports.parquet")
    data = bytearray(Path("reports.parquet").read_bytes())
    for index in range(2):
        chunk = pq.read_metadata("reports.parquet").row_group(0).column(index)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        data[start + chunk.total_compressed_size - 5] ^= 1  # in the last page, behind its header
        Path("bad.parquet").write_bytes(data)
        data[start + chunk.total_compressed_size - 5] ^= 1
        with pytest.raises(ReportError):
            tally_files(PLAN, ["bad.parquet"])
