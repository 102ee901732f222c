"""Records are counted as Arrow's parser counts them, and quotes lose nobody."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

import hush
from hush.batch.csv_lines import Lines
from hush.batch.files import People
from hush.errors import RecordError

X = hush.Schema([hush.Numeric("x", 0, 10)])
OPTIONAL = hush.Schema([hush.Numeric("x", 0, 10, optional=True)])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def column(text: str | bytes, schema: hush.Schema = X) -> list[Any]:
    Path("people.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return [value for batch in People(schema, "people.csv").batches() for value in batch["x"].to_pylist()]


def refused(text: str | bytes, schema: hush.Schema = X) -> str:
    with pytest.raises(RecordError) as caught:
        column(text, schema)
    assert caught.value.__context__ is None
    return str(caught.value)


def parsed(data: bytes, block: int, alone: bool) -> int:
    """Return how many records Arrow sees behind the header."""
    ragged = 0

    def skip(_: object) -> str:
        nonlocal ragged
        ragged += 1
        return "skip"

    reader = csv.open_csv(
        io.BytesIO(data),
        read_options=csv.ReadOptions(block_size=block),
        parse_options=csv.ParseOptions(
            newlines_in_values=True,
            ignore_empty_lines=not alone,
            invalid_row_handler=skip,
        ),
        convert_options=csv.ConvertOptions(column_types={name: pa.string() for name in ("x", "y", "x\n", 'a"b')}),
    )
    rows = sum(int(batch.num_rows) for batch in reader)
    return rows + ragged


@settings(max_examples=200, deadline=None)
@given(
    body=st.text('"\n\r,ab', max_size=60),
    header=st.sampled_from([b"x\n", b"x,y\n", b"x,y\r\n", b'\xef\xbb\xbf"x\n",y\n', b'a"b,y\r']),
    block=st.sampled_from([64, 70, 1 << 20]),
    step=st.integers(3, 80),
)
def test_records_are_those_of_the_parser(body: str, header: bytes, block: int, step: int) -> None:
    alone = header == b"x\n"
    data = header + body.encode()
    lines = Lines(io.BytesIO(data))
    read = b"".join(iter(lambda: lines.read(step), b""))
    assert read == data + b"\n" * (data[-1:] not in b"\r\n")
    if not lines.open:
        assert lines.records - 1 + alone * lines.empty == parsed(read, block, alone)


def test_an_open_quote_is_found_among_others() -> None:
    """Their number is even here: what counts is where they are."""
    assert "a quote is not closed" in refused('x,note\n1,5" disk\n2,"open\n3,4\n4,5\n')
    assert "a quote is not closed" in refused('x,note\n1,a\n2,"open\n3,4\n4,""\n')
    assert "a quote is not closed" in refused('x,note\n1,a\n2,"')


def test_a_quote_that_opens_nothing_is_text() -> None:
    assert column('x,note\n1,5" disk\n2,a\n') == [1.0, 2.0]
    assert column('x,note\n1,5" and 3" disks\n2,"an open\nline, ""quoted"""\n3,""\n') == [1.0, 2.0, 3.0]


def test_a_quoted_field_ends_with_its_quote() -> None:
    """Else a quote that was not doubled, or not closed, hides people: here 2 is closed by the opening quote of 4."""
    message = refused('x,note\n1,a\n2,"open\n3,b\n4,"c"\n')
    assert message.endswith("a quoted field must end with its quote, and a quote in it is written twice (some fields)")


def test_rows_that_are_lost_in_another_way_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lines, "records", 4)
    assert "the number of rows read differs" in refused("x,y\n1,\n2,\n")


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n"])
def test_the_last_line_may_have_no_end(end: str) -> None:
    assert column("x" + end) == []
    assert column("x,y" + end) == []
    assert column("x\n1\n2" + end) == [1.0, 2.0]
    assert column("x,y\n1,\n2," + end) == [1.0, 2.0]
    assert column('x,y\n1,\n2,""' + end) == [1.0, 2.0]


def test_an_empty_line_is_somebody_where_there_is_one_column() -> None:
    assert column("x\n1\n\n3\n", OPTIONAL) == [1.0, None, 3.0]
    assert column('x\n1\n""\n3\n\n', OPTIONAL) == [1.0, None, 3.0, None]
    assert column("x\r\n1\r\n\r\n3", OPTIONAL) == [1.0, None, 3.0]
    assert column("x,y\n1,\n\n3,\n\n", OPTIONAL) == [1.0, 3.0]
    assert "header" in refused("\nx\n1\n", OPTIONAL)


def test_an_empty_string_cannot_be_a_category() -> None:
    schema = hush.Schema([hush.Categorical("x", ["", "a"])])
    assert "column 'x': one of its values is the empty string" in refused("x\na\n", schema)
