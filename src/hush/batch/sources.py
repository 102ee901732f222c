"""Files as streams of record batches: Parquet and Arrow IPC, of any size, in little memory.

A source is one file. It is opened anew for each reading, so it can be read twice. The underlying libraries may quote
private contents in their messages, so no message of theirs is passed on or kept in an error.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Protocol

import pyarrow as pa
from pyarrow import ipc
from pyarrow import parquet as pq

from hush.batch.arrow import present
from hush.errors import HushError, RecordError

_BUFFER = 1 << 16  # bytes that are read at once, for each column: a row group is never in memory as a whole
_MAGIC = b"ARROW1"
_ENDS = (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0")  # of a stream; the second is from before Arrow 0.15


class Stored(Protocol):
    """A file of rows."""

    path: Path
    columns: pa.Schema
    """All columns of the file, including those that will not be read."""
    rows: int | None
    """How many rows there are, if that is known before reading them."""

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read these columns, in this order, in batches of at most this many rows."""
        ...


def refuse(error: HushError) -> NoReturn:
    """Raise an error that does not remember the one being handled.

    `raise ... from None` only hides it: a collector of errors may still show `__context__`, which may quote a value.
    """
    try:
        raise error
    finally:
        error.__context__ = None


@contextmanager
def reading(path: Path, form: str, error: type[HushError]) -> Iterator[None]:
    """Replace an error of a library by a sentence without contents of the file."""
    try:
        yield
    except HushError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error, KeyError):
        # A KeyError means that a column has disappeared: the file has changed.
        refuse(error(f"{path}: cannot be read as {form}"))


class ParquetSource:
    """A Parquet file. Memory is bounded by the size of pages, not of row groups.

    Columns in `coded` have few different values. If they are texts, they are read as dictionaries, which takes a third
    of the time.
    """

    def __init__(self, path: Path, error: type[HushError], coded: Sequence[str] = ()) -> None:
        self.path = path
        self._error = error
        self._coded: list[str] = []
        with reading(path, "Parquet", error):
            with self._file() as file:
                self._coded = [
                    field.name for field in file.schema_arrow if field.name in coded and _is_text(field.type)
                ]
                self.rows: int | None = file.metadata.num_rows
            with self._file() as file:
                # The metadata of the file has what was known only when all rows were written.
                notes = {**(file.schema_arrow.metadata or {}), **(file.metadata.metadata or {})}
                self.columns = file.schema_arrow.with_metadata(notes)

    def _file(self) -> pq.ParquetFile:
        return pq.ParquetFile(
            self.path,
            buffer_size=_BUFFER,
            pre_buffer=False,
            read_dictionary=self._coded,
            page_checksum_verification=True,
        )

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        with reading(self.path, "Parquet", self._error), self._file() as file:
            for batch in file.iter_batches(rows, columns=list(names)):
                yield _checked(batch.select(names))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class ArrowSource:
    """An Arrow IPC file or stream. Its first bytes decide which.

    The file is mapped into memory, so batches of any size need no further memory, unless they are compressed. Nobody
    may write into it meanwhile: bytes could change after their check, and if the file gets shorter, the process
    ends. Putting another file in its place, as `hush` does, is safe.

    A stream must have its end mark, and nothing behind it. Without the mark it may have been cut between two batches.
    Data behind the mark, as in two concatenated streams, would not be read.
    """

    def __init__(self, path: Path, error: type[HushError]) -> None:
        self.path = path
        self._error = error
        self.rows: int | None = None
        with reading(path, "Arrow IPC", error), pa.memory_map(str(path)) as file, self._open(file, None) as reader:
            self.columns = reader.schema

    def _open(self, file: pa.MemoryMappedFile, fields: list[int] | None) -> ipc.RecordBatchStreamReader:
        framed = file.read(len(_MAGIC)) == _MAGIC
        file.seek(0)
        options = ipc.IpcReadOptions(included_fields=fields)
        if framed:
            return ipc.open_file(file, options=options)
        if _behind_messages(file) not in _ENDS:
            raise self._error(
                f"{self.path}: cannot be read as an Arrow stream: it is cut short, or something follows it"
            )
        file.seek(0)
        return ipc.open_stream(file, options=options)

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        fields = [self.columns.get_field_index(name) for name in names]
        with (
            reading(self.path, "Arrow IPC", self._error),
            pa.memory_map(str(self.path)) as file,
            self._open(file, fields) as reader,
        ):
            framed = isinstance(reader, ipc.RecordBatchFileReader)
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if framed else reader:
                for start in range(0, batch.num_rows, rows):
                    yield _checked(batch.select(names).slice(start, rows))


def _behind_messages(file: pa.MemoryMappedFile) -> bytes:
    """Return the first bytes behind the last message of a stream. It reads only the heads of messages."""
    messages = ipc.MessageReader.open_stream(file)
    end = 0
    try:
        while messages.read_next_message():
            end = file.tell()
    except StopIteration:
        pass
    file.seek(end)
    return bytes(file.read(max(map(len, _ENDS)) + 1))


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch if its buffers are valid, including texts in UTF-8: compiled code will trust them."""
    batch.validate(full=True)
    return batch


def together(sources: Sequence[Stored], names: Sequence[str]) -> pa.Schema:
    """Return types that fit these columns in all sources. Refuse a column that is missing or repeated."""
    for source in sources:
        for name in names:
            if (count := source.columns.names.count(name)) > 1:
                raise RecordError(f"{source.path}: column {name!r}: is there more than once")
            if not count:
                problem = "is not there (an optional attribute needs a column too)"
                raise RecordError(f"{source.path}: column {name!r}: {problem}; {present(names, source.columns.names)}")
    fields = []
    for name in names:
        types = list(dict.fromkeys(source.columns.field(name).type for source in sources))
        if len(types) > 1:
            types = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types]
        try:
            same = pa.unify_schemas([pa.schema([(name, kind)]) for kind in types], promote_options="permissive")
            fields.append(same.field(0))
        except pa.ArrowException:
            refuse(RecordError(f"column {name!r}: its types in the files do not fit together"))
    return pa.schema(fields)


def recut(batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """Cut batches anew, so that each but the last has this many rows."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, rows - count)
            start += piece.num_rows
            count += piece.num_rows
            held.append(_cast(piece, schema))
            if count == rows:
                yield from _joined(held, schema)
                held, count = [], 0
    yield from _joined(held, schema)


def _joined(held: list[pa.RecordBatch], schema: pa.Schema) -> list[pa.RecordBatch]:
    if len(held) <= 1:
        return held
    joined: list[pa.RecordBatch] = pa.Table.from_batches(held, schema).combine_chunks().to_batches()
    return joined


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowException:
            refuse(RecordError(f"column {field.name!r}: values of a file do not fit the type in others"))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
