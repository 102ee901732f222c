"""People in CSV files.

Every field is read as text and converted here. The reader's own conversions would quote a value in their errors, guess
types from the first rows, and take `0x10`, `NA` or `true` for something.

What cannot be converted becomes something that no schema accepts (NaN, or an integer beyond every code), so it is
refused wherever the rows go. It is also counted, and at the end of the file an error names the attribute, the rule and
the number of rows.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from pyarrow import compute, csv

from hush.batch.sources import ends, reading
from hush.errors import RecordError
from hush.schema import NOT_AN_INTEGER, Categorical, Schema

CSV = (".csv", ".csv.gz")
_BLOCK = 1 << 20  # bytes that are parsed at once; a row must fit
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"([+-]?\d{1,18})(\.0*)?", re.ASCII)  # pandas writes 3.0 where others are missing
_NO_CODE = -(1 << 63)  # codes are below 2^53 in size
_FORM = f"CSV in UTF-8 with a header (is a quote open, or a row longer than {_BLOCK >> 20} MiB?)"


class CsvSource:
    """A CSV file: UTF-8 with a header, perhaps compressed with gzip. An empty field is missing, quoted or not."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self.path = path
        self.rows: int | None = None
        self._schema = schema
        types = {attribute.name: _type(attribute) for attribute in schema.attributes}
        with reading(path, _FORM, RecordError), self._file() as file:
            names = self._reader(file, [], Counter()).schema.names
        self.columns = pa.schema([(name, types.get(name, pa.string())) for name in names])

    def _file(self) -> _Quotes:
        if ends(self.path, [".gz"]):
            return _Quotes(gzip.open(self.path))
        return _Quotes(self.path.open("rb"))

    def _reader(self, file: _Quotes, names: Sequence[str], faults: Counter[str]) -> csv.CSVStreamingReader:
        def ragged(_: object) -> str:
            faults["must have as many fields as the header"] += 1
            return "skip"

        return csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=csv.ReadOptions(block_size=_BLOCK),
            parse_options=csv.ParseOptions(newlines_in_values=True, invalid_row_handler=ragged),
            convert_options=csv.ConvertOptions(
                include_columns=list(names),
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns. If anything is wrong, the error comes after the last row, and counts all of it."""
        ragged, faults, seen = Counter[str](), Counter[str](), 0
        schema = pa.schema([self.columns.field(name) for name in names])
        with reading(self.path, _FORM, RecordError), self._file() as file:
            for batch in self._reader(file, names, ragged):
                columns = [self._convert(name, batch.column(name), faults) for name in names]
                seen += batch.num_rows
                whole = pa.RecordBatch.from_arrays(columns, schema=schema)
                for start in range(0, whole.num_rows, rows):
                    yield whole.slice(start, rows)
            if file.quotes % 2:  # the rows after it were swallowed
                raise RecordError(f"{self.path}: a quote is not closed")
        found = [f"{rule} ({count} of {seen + ragged.total()} rows)" for rule, count in (ragged + faults).items()]
        if found:
            raise RecordError(f"{self.path}: {'; '.join(found)}")

    def _convert(self, name: str, texts: pa.Array, faults: Counter[str]) -> pa.Array:
        attribute = self._schema[name]
        if not isinstance(attribute, Categorical):
            values = _numbers(texts)
            bad, rule = compute.invert(compute.is_finite(values)), "must be a finite number"
        elif isinstance(attribute.values[0], int):
            values = _integers(texts)
            bad, rule = compute.equal(values, _NO_CODE), NOT_AN_INTEGER
        else:
            return texts
        faults[f"column {name!r}: {rule}"] += compute.sum(bad).as_py() or 0
        return values


def _type(attribute: object) -> pa.DataType:
    if not isinstance(attribute, Categorical):
        return pa.float64()
    return pa.int64() if isinstance(attribute.values[0], int) else pa.string()


def _numbers(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:  # it would quote the first text that is no number; which ones are not is found slowly
        return pa.array(map(_number, texts.to_pylist()), pa.float64(), size=len(texts))


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    return float(text) if _NUMBER.fullmatch(text) else float("nan")


def _integers(texts: pa.Array) -> pa.Array:
    distinct = texts.dictionary_encode()
    codes = [
        int(found[1]) if (found := _INTEGER.fullmatch(text)) else _NO_CODE for text in distinct.dictionary.to_pylist()
    ]
    return pa.array(codes, pa.int64(), size=len(distinct.dictionary)).take(distinct.indices)


def _code(text: str) -> int:
    found = _INTEGER.fullmatch(text)
    return int(found[1]) if found else _NO_CODE


class _Quotes:
    """A file that counts the quotes in it. The parser ends a file in which one is open as if all were well."""

    def __init__(self, file: BinaryIO | gzip.GzipFile) -> None:
        self._file = file
        self.quotes = 0

    def __enter__(self) -> _Quotes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.quotes += data.count(b'"')
        return data

    def close(self) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed
