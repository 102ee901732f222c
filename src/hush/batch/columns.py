"""Columns in: every value checked, numbers as float64 and categories as int16, in any shape that tables come in.

The scalar path checks a record before it draws; here whole columns are checked before anything is drawn of them. The
rules and their words are those of `hush.schema`. An error says which column, which rule and how many rows, never a
value.

Tables come as pyarrow tables and record batches, pandas and polars frames (anything with Arrow's C stream), or a dict
of arrays. Columns that the schema does not name are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush import schema as rules
from hush.batch.native import compiled
from hush.errors import RecordError
from hush.schema import Categorical, Numeric, Schema

Array = np.ndarray[Any, Any]

MAX_LOOKUP = 1 << 16  # integer categories within such a range are looked up in a table


@dataclass(frozen=True)
class Columns:
    """Checked columns of one batch of people: float64 values (NaN if missing) and int16 indices of categories."""

    schema: Schema
    rows: int
    arrays: tuple[Array, ...]

    def addresses(self, columns: slice, row: int) -> Array:
        """Return where some columns lie in memory, from a row on."""
        starts = [array.ctypes.data + row * array.itemsize for array in self.arrays[columns]]
        return np.array(starts, dtype=np.uint64)


@dataclass(frozen=True)
class Encoded:
    """A whole table, checked: what `randomise` reads any number of times without checking it again."""

    schema: Schema
    batches: tuple[Columns, ...]

    @property
    def rows(self) -> int:
        """How many people there are."""
        return sum(batch.rows for batch in self.batches)


class Faults:
    """How many rows of which column break which rule."""

    def __init__(self) -> None:
        self.rows = 0
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, column: str, rule: str, count: int) -> None:
        """Count rows, if there are any."""
        if count:
            self._counts[column, rule] += count

    def check(self) -> None:
        """Raise an error that lists everything that was found."""
        if not self._counts:
            return
        found = [
            f"column {column!r}: {rule} ({count} of {self.rows} rows)" for (column, rule), count in self._counts.items()
        ]
        raise RecordError("; ".join(found))


def encode(schema: Schema, data: Any) -> Encoded:
    """Check a whole table. All of its bad rows are counted before the error is raised."""
    if isinstance(data, Encoded):
        if data.schema != schema:
            raise RecordError("these columns were encoded for another schema")
        return data
    faults = Faults()
    encoded = tuple(encode_batch(schema, batch, faults) for batch in batches_of(schema, data))
    faults.check()
    return Encoded(schema, encoded)


def encode_batches(schema: Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
    """Check batches one by one, each before it is given out: for sources that can be read only once."""
    for batch in batches:
        faults = Faults()
        columns = encode_batch(schema, batch, faults)
        faults.check()
        yield columns


def check_batches(schema: Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Check all batches and keep none. Return the number of people, or raise an error about all bad rows."""
    faults = Faults()
    for batch in batches:
        encode_batch(schema, batch, faults)
    faults.check()
    return faults.rows


def encode_batch(schema: Schema, batch: pa.RecordBatch, faults: Faults) -> Columns:
    """Return the columns of a batch; what is wrong with them is counted in `faults`."""
    _check_names(schema, batch.schema.names)
    faults.rows += batch.num_rows
    arrays = []
    for attribute in schema.attributes:
        column = batch.column(attribute.name)
        encode_column = _numbers if isinstance(attribute, Numeric) else _categories
        arrays.append(encode_column(attribute, column, faults))  # type: ignore[arg-type]
    return Columns(schema, batch.num_rows, tuple(arrays))


def _check_names(schema: Schema, names: list[str]) -> None:
    for name in schema.names:
        if names.count(name) != 1:
            raise RecordError(f"column {name!r}: {'is not there' if name not in names else 'is there more than once'}")


# -- numbers


def _numbers(attribute: Numeric, column: pa.Array, faults: Faults) -> Array:
    """Return float64 values, NaN for those that are missing."""
    name, kind = attribute.name, column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        faults.add(name, rules.NOT_A_NUMBER, len(column) - column.null_count)
        return np.zeros(len(column))
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    missing = None
    if column.null_count:
        if not attribute.optional:
            faults.add(name, rules.ABSENT, column.null_count)
        missing = np.asarray(column.is_null())
        values = np.asarray(column.fill_null(0)).astype(np.float64)
        values[missing] = attribute.low  # breaks no rule
    else:
        values = np.ascontiguousarray(column, dtype=np.float64)
    nans, infinite, outside = number_faults(values, attribute.low, attribute.high)
    faults.add(name, rules.NAN, nans)
    faults.add(name, rules.INFINITE, infinite)
    if attribute.out_of_range == "error":
        faults.add(name, attribute.outside, outside)
    if missing is not None:
        values[missing] = np.nan
    return values


@compiled
def number_faults(values: Array, low: float, high: float) -> Any:
    """Return how many values are NaN, infinite, or finite and outside the bounds."""
    nans = infinite = outside = 0
    for value in values:
        good = low <= value <= high
        if not good:
            if value != value:
                nans += 1
            elif np.isinf(value):
                infinite += 1
            else:
                outside += 1
    return nans, infinite, outside


# -- categories


def _categories(attribute: Categorical, column: pa.Array, faults: Faults) -> Array:
    """Return the int16 indices of categories, that of "missing" for null."""
    name, absent = attribute.name, len(attribute.values)
    if not attribute.optional:
        faults.add(name, rules.ABSENT, column.null_count)
    if pa.types.is_null(column.type):
        return np.full(len(column), absent, dtype=np.int16)
    if pa.types.is_dictionary(column.type):
        known = _lookup(attribute, column.dictionary, Faults())
        if column.dictionary.null_count:  # a missing value may also be written as an entry that is null
            column = column.dictionary_decode()
            return _categories(attribute, column, faults)
        if known is None:
            return _refused(attribute, column, faults)
        table = np.append(known, np.int16(absent))
        indices = np.asarray(column.indices.fill_null(len(known)))
        found: Array = table[indices]
        faults.add(name, attribute.undeclared, int((found < 0).sum()))
        return found
    looked_up = _lookup(attribute, column, faults)
    if looked_up is None:
        return _refused(attribute, column, faults)
    faults.add(name, attribute.undeclared, int((looked_up < 0).sum()))
    return looked_up


def _refused(attribute: Categorical, column: pa.Array, faults: Faults) -> Array:
    rule = rules.NOT_A_STRING if isinstance(attribute.values[0], str) else rules.NOT_AN_INTEGER
    faults.add(attribute.name, rule, len(column) - column.null_count)
    return np.zeros(len(column), dtype=np.int16)


def _lookup(attribute: Categorical, column: pa.Array, faults: Faults) -> Array | None:
    """Return the indices of values, -1 for those not declared, that of "missing" for null; None for another type."""
    absent, kind = len(attribute.values), column.type
    if isinstance(attribute.values[0], str):
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            return None
        if pa.types.is_string_view(kind):
            column = column.cast(pa.large_string())
        declared = pa.array(attribute.values, type=column.type)
        found = pc.index_in(column, value_set=declared).fill_null(-1)
        indices = np.asarray(found).astype(np.int16)
    else:
        integers = _integers(attribute, column, faults)
        if integers is None:
            return None
        indices = _integer_indices(attribute, integers)
    if column.null_count:
        indices[np.asarray(column.is_null())] = absent
    return indices


def _integers(attribute: Categorical, column: pa.Array, faults: Faults) -> Array | None:
    """Return integers, 0 for null. Whole numbers in a column of floats count: pandas makes such columns."""
    if pa.types.is_integer(column.type):
        values = np.asarray(column.fill_null(0) if column.null_count else column)
        if values.dtype == np.uint64:  # those beyond int64 are no category, whatever they turn into
            return np.asarray(np.minimum(values, np.uint64(1 << 62)), dtype=np.int64)
        return np.asarray(values, dtype=np.int64)
    if not pa.types.is_floating(column.type):
        return None
    floats: Array = np.asarray(column.fill_null(0) if column.null_count else column).astype(np.float64)
    whole = (floats == np.floor(floats)) & (np.abs(floats) < 1 << 53)  # false for NaN and infinities
    if not whole.all():
        faults.add(attribute.name, rules.NOT_AN_INTEGER, int((~whole).sum()))
        floats[~whole] = attribute.values[0]  # counted already, once
    return np.asarray(floats, dtype=np.int64)


def _integer_indices(attribute: Categorical, integers: Array) -> Array:
    values = np.array(attribute.values, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < MAX_LOOKUP:
        table = np.full(high - low + 1, -1, dtype=np.int16)
        table[values - low] = np.arange(len(values), dtype=np.int16)
        return np.asarray(_from_table(integers, low, table))
    order = np.argsort(values)
    place = np.minimum(np.searchsorted(values[order], integers), len(values) - 1)
    return np.where(values[order][place] == integers, order[place], -1).astype(np.int16)


@compiled
def _from_table(values: Array, low: int, table: Array) -> Any:
    """Return table[value - low], or -1 for values outside the table."""
    found = np.empty(len(values), dtype=np.int16)
    for i in range(len(values)):
        place = values[i] - low
        inside = values[i] >= low and 0 <= place < len(table)
        found[i] = table[place] if inside else -1
    return found


# -- tables


def batches_of(schema: Schema, data: Any) -> Iterator[pa.RecordBatch]:
    """Return a table as record batches that have only the columns of the schema, without copying where possible."""
    if isinstance(data, pa.RecordBatch):
        yield data
        return
    yield from _table(schema, data).to_batches()


def _table(schema: Schema, data: Any) -> pa.Table:
    names = list(schema.names)
    if isinstance(data, Mapping):
        _check_names(schema, list(data))
        return pa.table({name: _array(name, data[name]) for name in names})
    if type(data).__module__.partition(".")[0] == "pandas":
        _check_names(schema, [str(name) for name in data.columns])
        return pa.table({name: _array(name, data[name], pandas=True) for name in names})
    if not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise RecordError("a table must be an Arrow table, a pandas or polars frame, or a dict of arrays")
        data = pa.table(data)
    _check_names(schema, data.schema.names)
    return data.select(names)


def _array(name: str, values: Any, pandas: bool = False) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        return pa.array(values, from_pandas=pandas)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # The library's own message would show the value.
        raise RecordError(f"column {name!r}: its values are not all of one type, or not one-dimensional") from None
