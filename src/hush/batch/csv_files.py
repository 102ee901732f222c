"""People in CSV files.

Every field is read as text and converted here. The reader's own conversions would quote a value in their errors, guess
types from the first rows, and give `0x10`, `NA` or `true` a meaning.

A field that cannot be converted becomes a value that no schema accepts (NaN, or an integer beyond every code), so it is
refused wherever the rows go. There is no third boolean, so no rows go anywhere from the first wrong one on. Each such
field is also counted. At the end of the file an error names the attribute and the rule, and
on request the number of rows (`hush.batch.columns` explains why only then).
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import compute, csv

from hush.batch.columns import extent
from hush.batch.csv_lines import Lines
from hush.batch.sources import reading
from hush.core.calendar import Counted
from hush.core.kinds import Boolean
from hush.core.schema import NOT_AN_INTEGER, NOT_JSON, Categorical, Choices, Schema
from hush.errors import RecordError
from hush.files.paths import ends

CSV = (".csv", ".csv.gz")
_BLOCK = 1 << 20  # bytes that are parsed at once; a row must fit
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
INTEGER = re.compile(r"([+-]?\d{1,18})(\.0*)?", re.ASCII)  # pandas writes 3.0 where others are missing
BOOLEAN = {"true": True, "false": False}
"""The texts of booleans, in small letters; capital ones are taken too, as pandas writes True."""
NOT_WRITTEN = (
    "must be a finite number, without separators between thousands and with a point before decimals: 1000000 or 0.5"
)
_NO_CODE = -(1 << 63)  # codes are below 2^53 in size
_UNSOUND = ""  # among the faults: how often a value has no place in its column
_FORM = f"CSV in UTF-8 with a header (is a quote open, or a row longer than {_BLOCK >> 20} MiB?)"


class CsvSource:
    """A CSV file: UTF-8 with a header, perhaps compressed with gzip. An empty field is missing, quoted or not.

    So the empty string as a category would look like a missing value, and is refused. An empty line is skipped, but in
    a file of one column it is a record like any other, with a missing value. `Choices.split` reads lists.
    """

    def __init__(self, path: Path, schema: Schema, exact: bool = False) -> None:
        self.path = path
        self._exact = exact
        self.rows: int | None = None
        self._schema = schema
        for attribute in schema.attributes:
            if isinstance(attribute, Categorical) and "" in attribute.values:
                raise RecordError(
                    f"{path}: column {attribute.name!r}: one of its values is the empty string, which CSV cannot "
                    "distinguish from a missing value: use Parquet or Arrow"
                )
        types = {attribute.name: _type(attribute) for attribute in schema.attributes}
        with reading(path, _FORM, RecordError), self._file() as file:
            names = self._reader(file, [], Counter(), alone=False).schema.names
        self.columns = pa.schema([(name, types.get(name, pa.string())) for name in names])

    def _file(self) -> Lines:
        if ends(self.path, [".gz"]):
            return Lines(gzip.open(self.path))
        return Lines(self.path.open("rb"))

    def _reader(self, file: Lines, names: Sequence[str], faults: Counter[str], alone: bool) -> csv.CSVStreamingReader:
        def ragged(_: object) -> str:
            faults["must have as many fields as the header"] += 1
            return "skip"

        return csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=csv.ReadOptions(block_size=_BLOCK),
            parse_options=csv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=not alone, invalid_row_handler=ragged
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(names),
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns. If anything is wrong, one error about the whole file comes after the last row."""
        ragged, faults, seen = Counter[str](), Counter[str](), 0
        schema = pa.schema([self.columns.field(name) for name in names])
        alone = len(self.columns) == 1
        with reading(self.path, _FORM, RecordError), self._file() as file:
            for batch in self._reader(file, names, ragged, alone):
                columns = [self._convert(name, batch.column(name), faults) for name in names]
                seen += batch.num_rows
                if faults[_UNSOUND]:
                    continue
                whole = pa.RecordBatch.from_arrays(columns, schema=schema)
                for start in range(0, whole.num_rows, rows):
                    yield whole.slice(start, rows)
            self._check_lines(file, seen + ragged.total(), alone)
        del faults[_UNSOUND]
        rows = seen + ragged.total()
        found = [f"{rule} {extent(count, rows, self._exact)}" for rule, count in (ragged + faults).items()]
        if found:
            raise RecordError(f"{self.path}: {'; '.join(found)}")

    def _check_lines(self, file: Lines, rows: int, alone: bool) -> None:
        """Refuse the file if a quote may have swallowed people, or people were lost in any other way."""
        if file.open:
            raise RecordError(f"{self.path}: a quote is not closed")
        if file.odd:
            fields = f"{file.odd} fields" if self._exact else "some fields"
            raise RecordError(
                f"{self.path}: a quoted field must end with its quote, and a quote in it is written twice ({fields})"
            )
        if rows != file.records - 1 + alone * file.empty:
            raise RecordError(f"{self.path}: the number of rows read differs from the number of rows in the file")

    def _convert(self, name: str, texts: pa.Array, faults: Counter[str]) -> pa.Array:
        attribute = self._schema[name]
        if isinstance(attribute, Choices):
            return _lists(texts, attribute, faults)
        if isinstance(attribute, Counted):
            return texts
        if not isinstance(attribute, Categorical):
            values = _numbers(texts)
            bad, rule = compute.invert(compute.is_finite(values)), NOT_WRITTEN
        elif isinstance(attribute, Boolean):
            values = _booleans(texts)
            bad, rule = compute.and_(values.is_null(), texts.is_valid()), "must be true or false"
            faults[_UNSOUND] += bool(compute.any(bad).as_py())
        elif isinstance(attribute.values[0], int):
            values = _integers(texts)
            bad, rule = compute.equal(values, _NO_CODE), NOT_AN_INTEGER
        else:
            return texts
        faults[f"column {name!r}: {rule}"] += compute.sum(bad).as_py() or 0
        return values


def _lists(texts: pa.Array, attribute: Choices, faults: Counter[str]) -> pa.Array:
    """Read a column of choices. An empty field is a missing list if the attribute is optional, else an empty one."""
    distinct = texts.dictionary_encode()
    split = [attribute.split(text) for text in distinct.dictionary.to_pylist()]
    bad = compute.is_in(distinct.indices, pa.array([i for i, found in enumerate(split) if found is None], pa.int32()))
    faults[f"column {attribute.name!r}: {NOT_JSON}"] += compute.sum(bad).as_py() or 0
    lists = pa.array([*(found or [] for found in split), None if attribute.optional else []], pa.list_(pa.string()))
    return lists.take(distinct.indices.fill_null(len(split)))


def _type(attribute: object) -> pa.DataType:
    if isinstance(attribute, Choices):
        return pa.list_(pa.string())
    if not isinstance(attribute, Categorical):
        return pa.string() if isinstance(attribute, Counted) else pa.float64()
    if isinstance(attribute, Boolean):
        return pa.bool_()
    return pa.int64() if isinstance(attribute.values[0], int) else pa.string()


def _numbers(texts: pa.Array) -> pa.Array:
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        pass  # its message quotes the first text that is no number; the slow way below finds all of them
    return pa.array(map(_number, texts.to_pylist()), pa.float64(), size=len(texts))


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    return float(text) if NUMBER.fullmatch(text) else float("nan")


def _booleans(texts: pa.Array) -> pa.Array:
    """Return the booleans, and null for all other texts."""
    distinct = texts.dictionary_encode()
    found = [BOOLEAN.get(text.lower()) for text in distinct.dictionary.to_pylist()]
    return pa.array(found, pa.bool_(), size=len(distinct.dictionary)).take(distinct.indices)


def _integers(texts: pa.Array) -> pa.Array:
    distinct = texts.dictionary_encode()
    codes = [
        int(found[1]) if (found := INTEGER.fullmatch(text)) else _NO_CODE for text in distinct.dictionary.to_pylist()
    ]
    return pa.array(codes, pa.int64(), size=len(distinct.dictionary)).take(distinct.indices)
