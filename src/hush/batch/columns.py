"""Checking the columns of tables of any kind: numbers become float64, and categories int16.

The scalar path checks a record before it draws; this module checks whole columns before anything is drawn from them.
The rules and their words are those of `hush.core.schema`. An error names the column and the rule, never a value. The
number of bad rows is an exact number about private values, and an error may end up in a log, so an error has it only on
request. No error says which rows are bad: a row is a person, and the broken rule reveals something about this person's
answer.

Tables may be pyarrow tables and record batches, pandas and polars frames (anything with Arrow's C stream), or a dict
of arrays. Columns that the schema does not name are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush.batch.arrow import batches_of, check_names
from hush.batch.native import compiled
from hush.core import schema as rules
from hush.core.schema import Categorical, Numeric, Schema
from hush.errors import RecordError

Array = np.ndarray[Any, Any]

UNDECLARED, REFUSED = -1, -2  # in place of the index of a category; both are counted as faults, so nothing is drawn
MAX_LOOKUP = 1 << 16  # integer categories within such a range are looked up in a table


@dataclass(frozen=True)
class Columns:
    """Checked columns of one batch of people: float64 values (NaN if missing) and int16 indices of categories."""

    schema: Schema
    rows: int
    arrays: tuple[Array, ...]

    def addresses(self, columns: Iterable[int], row: int) -> Array:
        """Return the addresses of some columns in memory, from a row on."""
        held = (self.arrays[column] for column in columns)
        starts = [array.ctypes.data + row * array.itemsize for array in held]
        return np.array(starts, dtype=np.uint64)


@dataclass(frozen=True)
class Encoded:
    """A whole table, checked. `randomise` can read it any number of times without checking it again."""

    schema: Schema
    batches: tuple[Columns, ...]

    @classmethod
    def of(cls, schema: Schema, arrays: Iterable[Array]) -> Encoded:
        """Return columns that are known to be valid and have the types of `Columns`, such as those of simulations."""
        held = tuple(np.ascontiguousarray(array) for array in arrays)
        return cls(schema, (Columns(schema, len(held[0]), held),))

    @property
    def rows(self) -> int:
        """How many people there are."""
        return sum(batch.rows for batch in self.batches)


def extent(count: int, rows: int, exact: bool) -> str:
    """Describe the number of rows that break a rule, exactly or not."""
    return f"({count} of {rows} rows)" if exact else "(some rows)"


class Faults:
    """The number of rows that break each rule, by column. The error has these numbers only if `exact`."""

    def __init__(self, exact: bool = False) -> None:
        self.rows = 0
        self._exact = exact
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, column: str, rule: str, count: int) -> None:
        """Count rows, if there are any."""
        if count:
            self._counts[column, rule] += count

    def check(self) -> None:
        """Raise an error that lists all faults."""
        if not self._counts:
            return
        found = [
            f"column {column!r}: {rule} {extent(count, self.rows, self._exact)}"
            for (column, rule), count in self._counts.items()
        ]
        raise RecordError("; ".join(found))


def encode(schema: Schema, data: Any, exact: bool = False) -> Encoded:
    """Check a whole table. An error covers all of it; with `exact`, it has the number of bad rows."""
    if isinstance(data, Encoded):
        if data.schema != schema:
            raise RecordError("these columns were encoded for another schema")
        return data
    faults = Faults(exact)
    encoded = tuple(encode_batch(schema, batch, faults) for batch in batches_of(schema, data))
    faults.check()
    return Encoded(schema, encoded)


def encode_batches(schema: Schema, batches: Iterable[pa.RecordBatch], exact: bool = False) -> Iterator[Columns]:
    """Check batches one by one, and yield each after its check. Use it for sources that can be read only once."""
    for batch in batches:
        faults = Faults(exact)
        columns = encode_batch(schema, batch, faults)
        faults.check()
        yield columns


def check_batches(schema: Schema, batches: Iterable[pa.RecordBatch], exact: bool = False) -> int:
    """Check all batches and keep none. Return the number of people, or raise one error about all of them."""
    faults = Faults(exact)
    for batch in batches:
        encode_batch(schema, batch, faults)
    faults.check()
    return faults.rows


def encode_batch(schema: Schema, batch: pa.RecordBatch, faults: Faults) -> Columns:
    """Return the columns of a batch, and count their faults in `faults`."""
    check_names(schema, batch.schema.names)
    faults.rows += batch.num_rows
    arrays = []
    for attribute in schema.attributes:
        column = batch.column(attribute.name)
        encode_column = _numbers if isinstance(attribute, Numeric) else _categories
        arrays.append(encode_column(attribute, column, faults))  # type: ignore[arg-type]
    return Columns(schema, batch.num_rows, tuple(arrays))


# -- numbers


def _numbers(attribute: Numeric, column: pa.Array, faults: Faults) -> Array:
    """Return float64 values, with NaN for missing ones."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    name, kind, nulls = attribute.name, column.type, column.null_count
    if not attribute.optional:
        faults.add(name, rules.ABSENT, nulls)
    if nulls == len(column):  # the type of an empty column does not matter
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string()).cast(pa.float64())  # rounds once; a direct cast may be off by one
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        faults.add(name, rules.NOT_A_NUMBER + _hint(kind, "numbers"), len(column) - nulls)
        return np.zeros(len(column))
    missing = _missing(column)
    if missing is not None:
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


def _missing(column: pa.Array) -> Array | None:
    """Return a mask of null values, or None if there are none, as in most columns."""
    return np.asarray(column.is_null()) if column.null_count else None


def _among(mask: Array, missing: Array | None) -> int:
    """Return how many values of a mask are true and not missing."""
    return int(np.count_nonzero(mask if missing is None else mask & ~missing))


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
    """Return the int16 indices of categories; null has the index of "missing"."""
    coded = pa.types.is_dictionary(column.type)
    plain = not coded or pa.types.is_integer(column.type.value_type) or _is_text(column.type.value_type)
    if coded and (column.dictionary.null_count or not plain):
        column, coded = column.dictionary_decode(), False
    nulls = column.null_count
    if not attribute.optional:
        faults.add(attribute.name, rules.ABSENT, nulls)
    if nulls == len(column):  # the type of an empty column does not matter
        return np.full(len(column), len(attribute.values), dtype=np.int16)
    missing = _missing(column)
    found = _coded(attribute, column, missing, faults) if coded else _lookup(attribute, column, missing, faults)
    if lowest_of(found) < 0:
        faults.add(attribute.name, attribute.undeclared, _among(found == UNDECLARED, missing))
    if missing is not None:
        found[missing] = len(attribute.values)
    return found


@compiled
def lowest_of(values: Array) -> int:
    """Return the lowest of some small integers, or 0."""
    lowest = 0
    for value in values:
        if value < lowest:
            lowest = value
    return lowest


def _coded(attribute: Categorical, column: pa.Array, missing: Array | None, faults: Faults) -> Array:
    """Return the indices of a dictionary column: its entries are looked up once."""
    known = _lookup(attribute, column.dictionary, None, Faults())
    places = np.asarray(column.indices.fill_null(0) if column.null_count else column.indices)
    wild = (places < 0) | (places >= len(known))
    if wild.any():
        faults.add(attribute.name, "must be an entry of the column's dictionary", _among(wild, missing))
        places = np.where(wild, 0, places)
    if (known == REFUSED).any():  # all entries are of a wrong type
        faults.add(attribute.name, _type_rule(attribute, column.type.value_type), len(column) - column.null_count)
    return known[places] if len(known) else np.full(len(column), REFUSED, dtype=np.int16)


def _type_rule(attribute: Categorical, kind: pa.DataType) -> str:
    if isinstance(attribute.values[0], str):
        return rules.NOT_A_STRING + _hint(kind, "the declared values")
    # A text column may hold integers as digits.
    return rules.NOT_AN_INTEGER + _hint(kind, "numbers" if _is_text(kind) else "the declared values")


def _hint(kind: pa.DataType, target: str) -> str:
    """Name the wrong type of a column, and the remedy. A type is no private value."""
    if pa.types.is_boolean(kind):
        return f", but the column is boolean: map it to {target} first"
    if pa.types.is_temporal(kind):
        return f", but the column has dates or times: turn them into {target} first"
    if _is_text(kind) and target == "numbers":
        return ", but the column is text: convert it with pandas.to_numeric"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return f", but the column has numbers: map them to {target} first"
    return ""


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _lookup(attribute: Categorical, column: pa.Array, missing: Array | None, faults: Faults) -> Array:
    """Return the indices of values, and negative numbers for refused values; the result for null is arbitrary."""
    if isinstance(attribute.values[0], str) and _is_text(column.type):
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        declared = pa.array(attribute.values, type=column.type)
        return np.asarray(pc.index_in(column, value_set=declared).fill_null(UNDECLARED)).astype(np.int16)
    if isinstance(attribute.values[0], int) and pa.types.is_integer(column.type):
        integers = np.asarray(column.fill_null(0) if column.null_count else column)
        if integers.dtype == np.uint64:  # values beyond int64 are no category, whatever they are converted to
            integers = np.minimum(integers, np.uint64(1 << 62))
        return _integer_indices(attribute, integers.astype(np.int64, copy=False))
    if isinstance(attribute.values[0], int) and pa.types.is_floating(column.type):
        return _whole_indices(attribute, column, missing, faults)
    faults.add(attribute.name, _type_rule(attribute, column.type), len(column) - column.null_count)
    return np.full(len(column), REFUSED, dtype=np.int16)


def _whole_indices(attribute: Categorical, column: pa.Array, missing: Array | None, faults: Faults) -> Array:
    """Return the indices of whole numbers in a column of floats. pandas turns integers with gaps into such columns."""
    floats = np.asarray(column.fill_null(0) if column.null_count else column).astype(np.float64)
    whole = (floats == np.floor(floats)) & (np.abs(floats) < 1 << 53)  # false for NaN and infinities
    faults.add(attribute.name, rules.NOT_AN_INTEGER, _among(~whole, missing))
    found = _integer_indices(attribute, np.where(whole, floats, 0).astype(np.int64))
    found[~whole] = REFUSED
    return found


def _integer_indices(attribute: Categorical, integers: Array) -> Array:
    values = np.array(attribute.values, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < MAX_LOOKUP:
        table = np.full(high - low + 1, UNDECLARED, dtype=np.int16)
        table[values - low] = np.arange(len(values), dtype=np.int16)
        return np.asarray(_from_table(integers, low, table))
    order = np.argsort(values)
    place = np.minimum(np.searchsorted(values[order], integers), len(values) - 1)
    return np.where(values[order][place] == integers, order[place], UNDECLARED).astype(np.int16)


@compiled
def _from_table(values: Array, low: int, table: Array) -> Any:
    """Return table[value - low], or UNDECLARED for values outside the table."""
    found = np.empty(len(values), dtype=np.int16)
    for i in range(len(values)):
        place = values[i] - low
        inside = values[i] >= low and 0 <= place < len(table)
        found[i] = table[place] if inside else UNDECLARED
    return found
