"""Files of people: what is read, in which pieces, and that no message shows a value."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, ipc
from pyarrow import parquet as pq

import hush
from hush.batch import files
from hush.batch.csv_files import NOT_WRITTEN
from hush.batch.files import People
from hush.errors import RecordError

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Categorical("os", ["linux", "mac"], optional=True),
        hush.Categorical("code", [3, 70], optional=True),
    ]
)
TABLE = pa.table(
    {
        "code": pa.array([3, None, 70, 3, 70]),
        "unread": ["private"] * 5,
        "os": ["mac", "linux", None, "mac", "linux"],
        "age": [1.0, 2.5, 3.0, 4.0, 120.0],
    }
)
PRIVATE = "hunter2"


def write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=2)


def write_arrow(table: pa.Table, path: Path) -> None:
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def write_stream(table: pa.Table, path: Path) -> None:
    with ipc.new_stream(str(path), table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


def write_csv(table: pa.Table, path: Path) -> None:
    csv.write_csv(table, path)


def write_gzip(table: pa.Table, path: Path) -> None:
    write_csv(table, path)
    path.write_bytes(gzip.compress(path.read_bytes()))


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "people.parquet": write_parquet,
    "people.pq": write_parquet,
    "people.arrow": write_arrow,
    "people.feather": write_arrow,
    "people.arrows": write_stream,
    "people.csv": write_csv,
    "people.CSV.gz": write_gzip,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(people: People) -> list[dict[str, Any]]:
    return [row for batch in people.batches() for row in batch.to_pylist()]


def refused(path: Any, schema: hush.Schema = SCHEMA, **options: Any) -> str:
    with pytest.raises(RecordError) as caught:
        rows(People(schema, path, **options))
    message = str(caught.value)
    assert PRIVATE not in message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None  # what collects errors may show it
    return message


def as_csv(text: str | bytes) -> Path:
    path = Path("people.csv")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# -- every form


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_gives_the_same_columns_twice(name: str) -> None:
    WRITERS[name](TABLE, Path(name))
    people = People(SCHEMA, name)
    wanted = TABLE.select(["age", "os", "code"]).to_pylist()
    assert rows(people) == wanted
    assert rows(people) == wanted
    assert people.rows in (5, None)
    assert (people.rows == 5) == name.endswith(("parquet", "pq"))


@pytest.mark.parametrize("name", WRITERS)
def test_batches_do_not_depend_on_the_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH", 4)
    big = pa.concat_tables([TABLE] * 3)
    WRITERS[name](big, Path(name))
    batches = list(People(SCHEMA, name).batches())
    assert [batch.num_rows for batch in batches] == [4, 4, 4, 3]
    assert pa.Table.from_batches(batches).to_pylist() == big.select(["age", "os", "code"]).to_pylist()


@pytest.mark.parametrize("name", WRITERS)
def test_nobody_is_a_population_too(name: str) -> None:
    WRITERS[name](TABLE.slice(0, 0), Path(name))
    assert rows(People(SCHEMA, name)) == []


@pytest.mark.parametrize("name", WRITERS)
def test_columns_must_be_there_once(name: str) -> None:
    WRITERS[name](TABLE.drop_columns("os"), Path(name))
    assert f"{name}: column 'os': is not there" in refused(name)
    WRITERS[name](TABLE.append_column("age", TABLE["age"]), Path(name))
    assert f"{name}: column 'age': is there more than once" in refused(name)
    WRITERS[name](TABLE.append_column("unread", TABLE["unread"]), Path(name))
    assert len(rows(People(SCHEMA, name))) == 5


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files_are_refused(name: str) -> None:
    WRITERS[name](TABLE, Path(name))
    data = Path(name).read_bytes()
    if name != "people.csv":  # the end of a text may be missing without a trace
        Path(name).write_bytes(data[: len(data) // 2])
        assert f"{name}: cannot be read as" in refused(name)
    Path(name).write_bytes(b"")
    assert f"{name}: cannot be read as" in refused(name)
    Path(name).write_bytes(PRIVATE.encode() * 100)
    assert name in refused(name)


def test_texts_must_be_utf8_in_every_form() -> None:
    broken = pa.array([PRIVATE.encode() + b"\xff"] * 5).view(pa.string())
    table = TABLE.set_column(2, "os", broken)
    for name in ("people.parquet", "people.arrow"):
        WRITERS[name](table, Path(name))
        assert f"{name}: cannot be read as" in refused(name)


def test_a_row_group_is_never_in_memory_as_a_whole() -> None:
    n = 1 << 22
    pq.write_table(pa.table({"age": pa.array(range(n), pa.float64())}), "people.parquet", row_group_size=n)
    assert pq.ParquetFile("people.parquet").metadata.row_group(0).total_byte_size > 8 * n
    before = pa.total_allocated_bytes()
    largest = 0
    for _ in People(hush.Schema([hush.Numeric("age", 0, 1)]), "people.parquet").batches():
        largest = max(largest, pa.total_allocated_bytes() - before)
    assert largest < n


def test_a_stream_must_be_complete_and_alone() -> None:
    """It is read to its end mark, or as far as it goes: what is missing or comes later would never be missed."""
    table = pa.table({"age": [1.0, 2.0], "os": ["mac", "mac"], "code": pa.array([-1, 0], pa.int32())})
    for options in (ipc.IpcWriteOptions(), ipc.IpcWriteOptions(use_legacy_format=True)):
        with ipc.new_stream("people.arrows", table.schema, options=options) as writer:
            for _ in range(3):
                writer.write_table(table)
        data = Path("people.arrows").read_bytes()
        schema = hush.Schema([hush.Numeric("age", 0, 120)])
        assert len(rows(People(schema, "people.arrows"))) == 6
        mark = 4 if options.use_legacy_format else 8
        assert data[:-mark].endswith(b"\xff\xff\xff\xff\0\0\0\0")  # values that look like the mark are none
        for cut in (data[:-mark], data + data, data + b"\0", data[:-1]):
            Path("people.arrows").write_bytes(cut)
            assert "people.arrows: cannot be read as" in refused("people.arrows", schema)


# -- several files


def test_a_folder_is_one_population(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH", 4)
    inside = Path("people.parquet", "year=2024")
    inside.mkdir(parents=True)
    write_parquet(TABLE, inside / "part-1.parquet")
    write_parquet(TABLE.slice(0, 2), inside / "part-0.parquet")
    (inside / "_SUCCESS").touch()
    (inside / "_metadata.parquet").write_text(PRIVATE)
    (inside / ".part-0.parquet.crc").write_text(PRIVATE)
    (inside / "notes.txt").write_text(PRIVATE)
    people = People(SCHEMA, "people.parquet")
    assert people.rows == 7
    assert [batch.num_rows for batch in people.batches()] == [4, 3]
    assert [row["age"] for row in rows(people)] == [1.0, 2.5, 1.0, 2.5, 3.0, 4.0, 120.0]
    assert rows(People(SCHEMA, inside)) == rows(people)
    assert rows(People(SCHEMA, [inside / "part-0.parquet", inside / "part-1.parquet"])) == rows(people)
    assert rows(People(SCHEMA, "people.parquet/*/part-?.parquet")) == rows(people)


def test_types_of_several_files_are_brought_together() -> None:
    write_parquet(TABLE, Path("a.parquet"))
    write_parquet(TABLE.set_column(3, "age", pa.array([1, 2, 3, 4, 5], pa.int32())), Path("b.parquet"))
    write_parquet(TABLE.set_column(0, "code", pa.nulls(5)), Path("c.parquet"))
    write_arrow(TABLE.set_column(2, "os", TABLE["os"].cast(pa.large_string())), Path("d.arrow"))
    write_csv(TABLE, Path("e.csv"))
    people = People(SCHEMA, ".")
    assert people.rows is None
    (batch,) = people.batches()
    assert batch.num_rows == 25
    assert batch.schema.field("age").type == pa.float64()
    write_parquet(TABLE.set_column(3, "age", pa.array([PRIVATE] * 5)), Path("f.parquet"))
    assert "column 'age'" in refused(".")


def test_dictionaries_may_differ_between_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH", 4)
    for number, names in enumerate((["mac", "linux"], ["linux", "mac"], ["linux"])):
        texts = pa.array([names[i % len(names)] for i in range(3)]).dictionary_encode()
        table = pa.table({"age": [1.0] * 3, "os": texts, "code": [3, 3, 3]})
        write_parquet(table, Path(f"{number}.parquet"))
    found = [row["os"] for row in rows(People(SCHEMA, "*.parquet"))]
    assert found == ["mac", "linux", "mac", "linux", "mac", "linux", "linux", "linux", "linux"]


def test_what_is_not_there_or_there_twice_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        People(SCHEMA, "absent.parquet")
    with pytest.raises(FileNotFoundError, match="no files"):
        People(SCHEMA, "*.parquet")
    Path("empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no files"):
        People(SCHEMA, "empty")
    write_parquet(TABLE, Path("a.parquet"))
    with pytest.raises(FileExistsError, match="more than once"):
        People(SCHEMA, ["a.parquet", "./*.parquet"])
    Path("people.xlsx").touch()
    assert "people.xlsx: a file of people ends in one of: .parquet" in refused("people.xlsx")


# -- CSV


def test_csv_is_read_as_people_write_it() -> None:
    text = 'os,age,code,"no, thing"\r\nmac,41,+3,x\r\n\r\n"linux",4.1e1,70.0,"a ""b""\nc"\r\n,.5,003,\r\n"",+5,,y'
    for start in (b"", b"\xef\xbb\xbf"):
        assert rows(People(SCHEMA, as_csv(start + text.encode()))) == [
            {"age": 41.0, "os": "mac", "code": 3},
            {"age": 41.0, "os": "linux", "code": 70},
            {"age": 0.5, "os": None, "code": 3},
            {"age": 5.0, "os": None, "code": None},
        ]


@pytest.mark.parametrize(
    "text", ["x", "nan", "inf", "-Infinity", "1e999", "1_0", "0x10", " 1", "1,5", "١", "1e", "NaN(7)"]
)
def test_what_is_no_number_is_counted(text: str) -> None:
    cell = f'"{text}"'
    path, rule = as_csv("age,os,code\n" + f"1,mac,3\n{cell},mac,3\n" * 4), NOT_WRITTEN
    assert refused(path) == f"people.csv: column 'age': {rule} (some rows)"
    assert refused(path, count_bad_rows=True) == f"people.csv: column 'age': {rule} (4 of 8 rows)"


@pytest.mark.parametrize("text", ["x", "1.5", "0x3", " 3", "1e0", "9" * 19, "٣"])
def test_what_is_no_integer_is_counted(text: str) -> None:
    path, rule = (
        as_csv("age,os,code\n" + f'1,mac,70\n1,mac,"{text}"\n' * 3),
        "must be an integer, one of those declared",
    )
    assert refused(path) == f"people.csv: column 'code': {rule} (some rows)"
    assert refused(path, count_bad_rows=True) == f"people.csv: column 'code': {rule} (3 of 6 rows)"


def test_a_cell_that_was_not_converted_is_no_value_of_any_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops reading before the end, where the error is, has nothing that could be taken for an answer."""
    monkeypatch.setattr(files, "BATCH", 1)
    batches = People(SCHEMA, as_csv(f"age,os,code\n{PRIVATE},mac,{PRIVATE}\n")).batches()
    (row,) = next(batches).to_pylist()
    for name in ("age", "code"):
        with pytest.raises(RecordError):
            SCHEMA[name].encode(row[name])
    with pytest.raises(RecordError, match=r"'age'.*; column 'code'"):
        next(batches)


def test_rows_of_another_length_are_counted_over_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hush.batch.csv_files._BLOCK", 200)
    text = "age,os,code\n" + "1,mac,3\n" * 300
    assert len(rows(People(SCHEMA, as_csv(text)))) == 300
    text += f"1,mac\n{PRIVATE},mac,3,4\n" + "1,mac,3\n" * 300 + "1\n"
    rule = "people.csv: must have as many fields as the header"
    assert refused(as_csv(text)) == f"{rule} (some rows)"
    assert refused("people.csv", count_bad_rows=True) == f"{rule} (3 of 603 rows)"


def test_odd_quotes_are_counted_only_if_asked() -> None:
    path = as_csv('age,os,code\n1,"mac"x,3\n1,"mac"x,3\n')
    assert refused(path).endswith("is written twice (some fields)")
    assert refused(path, count_bad_rows=True).endswith("is written twice (2 fields)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "header"),
        (b"\n", "header"),
        (f"{PRIVATE},mac,3\n1,mac,3\n".encode(), "'age': is not there"),
        (b"age,os,code\n1,\xff" + PRIVATE.encode() + b",3\n", "UTF-8"),
        (b"\xff\xfe" + "age,os,code\n".encode("utf-16-le"), "people.csv"),
        (f'age,os,code\n1,mac,3\n1,"{PRIVATE},3\n1,mac,3\n'.encode(), "quote"),
        (b'age,os,code\n1,"' + PRIVATE.encode() * 200_000, "quote"),
        (b"age,os,code\n1," + PRIVATE.encode() * 500_000 + b",3\n1,mac,3\n", "longer than 1 MiB"),
    ],
)
def test_texts_that_are_no_csv_are_refused(text: bytes, why: str) -> None:
    assert why in refused(as_csv(text))


def test_an_open_quote_in_a_column_that_is_not_read_swallows_nobody() -> None:
    assert "a quote is not closed" in refused(as_csv('age,os,code,note\n1,mac,3,fine\n1,mac,3,"oh\n2,mac,3,fine\n'))


def test_gzip_that_is_cut_short_is_refused() -> None:
    write_gzip(pa.concat_tables([TABLE] * 5000), Path("people.csv.gz"))
    data = Path("people.csv.gz").read_bytes()
    Path("people.csv.gz").write_bytes(data[:-9])
    assert "people.csv.gz: cannot be read" in refused("people.csv.gz")
    Path("people.csv.gz").write_bytes(data + gzip.compress(b"1,private,mac,3\n"))
    assert len(rows(People(SCHEMA, "people.csv.gz"))) == 25_001  # the second member is read too
