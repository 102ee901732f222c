"""Checking the columns of tables of any kind: numbers become float64, categories int16 (those of long lists
int32), and choices rows of int16.

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
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush.batch.arrow import batches_of, check_names
from hush.batch.dated import counted
from hush.batch.native import compiled
from hush.batch.picks import listed
from hush.batch.plainly import few
from hush.batch.points import MAX_SHORT
from hush.batch.texts import coded
from hush.core import kinds
from hush.core import schema as rules
from hush.core.calendar import Counted
from hush.core.kinds import Boolean
from hush.core.lists import Listed
from hush.core.schema import Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.errors import RecordError

Array = np.ndarray[Any, Any]

UNDECLARED, REFUSED = -1, -2  # in place of the index of a category; both are counted as faults, so nothing is drawn
MAX_LOOKUP = 1 << 16  # integer categories within such a range are looked up in a table


@dataclass(frozen=True)
class Columns:
    """Checked columns of one batch of people: float64 values (NaN if missing) and int16 indices of categories.

    A column of choices has a row of int16 for each person (`hush.batch.picks`), one of texts a row of three words
    (`hush.batch.texts`).
    """

    schema: Schema
    rows: int
    arrays: tuple[Array, ...]

    def addresses(self, columns: Iterable[int], row: int) -> Array:
        """Return the addresses of some columns in memory, from a row on."""
        held = (self.arrays[column] for column in columns)
        starts = [array.ctypes.data + row * array.strides[0] for array in held]
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
        if isinstance(attribute, Choices | Text):
            arrays.append(_rows(attribute, column, faults))
        else:
            encode_column = _numbers if isinstance(attribute, Numeric) else _categories
            arrays.append(encode_column(attribute, column, faults))  # type: ignore[arg-type]
    return Columns(schema, batch.num_rows, tuple(arrays))


def _rows(attribute: Choices | Text, column: pa.Array, faults: Faults) -> Array:
    """Return the marks of a column of lists, or the codes of a column of texts."""
    marks, counts = coded(attribute, column) if isinstance(attribute, Text) else listed(attribute, column)
    for rule, count in counts.items():
        faults.add(attribute.name, rule, count)
    return marks


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
    if isinstance(attribute, Counted):
        found = counted(attribute, column)
        if found is None:
            faults.add(name, attribute.rule, len(column) - nulls)
            return np.zeros(len(column))
        wrong = np.isnan(found) & np.asarray(column.is_valid())
        faults.add(name, attribute.rule, int(np.count_nonzero(wrong)))
        column = pa.array(np.where(wrong, attribute.low, found), from_pandas=True)  # which breaks no other rule
    elif pa.types.is_decimal(kind):
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
    if attribute.whole:
        with np.errstate(invalid="ignore"):
            faults.add(name, kinds.NOT_WHOLE, int(np.count_nonzero(np.isfinite(values) & (values != np.floor(values)))))
    if missing is not None:
        values[missing] = np.nan
    return values


def _missing(column: pa.Array) -> Array | None:
    """Return a mask of null values, or None if there are none, as in most columns."""
    return np.asarray(column.is_null()) if column.null_count else None


def _among(mask: Array, missing: Array | None) -> int:
    """Return how many values of a mask are true and not missing."""
    return int(np.count_nonzero(mask if missing is None else mask & ~missing))


def number_faults(values: Array, low: float, high: float) -> tuple[int, int, int]:
    """Return how many values are NaN, infinite, or finite and outside the bounds."""
    with np.errstate(invalid="ignore"):
        if values.min(initial=low) >= low and values.max(initial=high) <= high:  # neither holds if there is a NaN
            return 0, 0, 0
        nans, infinite = int(np.count_nonzero(np.isnan(values))), int(np.count_nonzero(np.isinf(values)))
        return nans, infinite, int(np.count_nonzero((values < low) | (values > high))) - infinite


# -- categories


def _categories(attribute: Categorical, column: pa.Array, faults: Faults) -> Array:
    """Return the indices of categories; null has the index of "missing"."""
    coded = pa.types.is_dictionary(column.type)
    plain = not coded or pa.types.is_integer(column.type.value_type) or _is_text(column.type.value_type)
    if coded and (column.dictionary.null_count or not plain):
        column, coded = column.dictionary_decode(), False
    nulls = column.null_count
    if not attribute.optional:
        faults.add(attribute.name, rules.ABSENT, nulls)
    if nulls == len(column):  # the type of an empty column does not matter
        return np.full(len(column), len(attribute.labels) - 1, dtype=_type_of(attribute))
    missing = _missing(column)
    found = _coded(attribute, column, missing, faults) if coded else _lookup(attribute, column, missing, faults)
    if attribute.other:
        found[found == UNDECLARED] = len(attribute.values)
    if found.min(initial=0) < 0:
        faults.add(attribute.name, attribute.undeclared, _among(found == UNDECLARED, missing))
    if missing is not None:
        found[missing] = len(attribute.labels) - 1
    return found


def _type_of(attribute: Categorical) -> type[np.signedinteger[Any]]:
    """Return the type of the indices of categories."""
    return np.int16 if len(attribute.labels) - 1 <= MAX_SHORT else np.int32


@lru_cache(maxsize=4)
def _declared(values: tuple[str, ...] | Listed, kind: pa.DataType) -> pa.Array:
    """Return the values of an attribute as an array, kept for the next batch."""
    return pa.array(list(values), type=kind)


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
    return known[places] if len(known) else np.full(len(column), REFUSED, dtype=_type_of(attribute))


def _type_rule(attribute: Categorical, kind: pa.DataType) -> str:
    if isinstance(attribute, Boolean):
        return kinds.NOT_A_BOOLEAN + _hint(kind, "booleans")
    if isinstance(attribute.values[0], str):
        return rules.NOT_A_STRING + _hint(kind, "the declared values")
    # A text column may hold integers as digits.
    return rules.NOT_AN_INTEGER + _hint(kind, "numbers" if _is_text(kind) else "the declared values")


def _hint(kind: pa.DataType, target: str) -> str:
    """Name the wrong type of a column, and the remedy. A type is no private value."""
    if pa.types.is_boolean(kind):
        return f", but the column is boolean: map it to {target} first, or declare it as Boolean"
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
    if isinstance(attribute, Boolean):
        if pa.types.is_boolean(column.type):
            return np.asarray(column.fill_null(False)).astype(np.int16)
        faults.add(attribute.name, _type_rule(attribute, column.type), len(column) - column.null_count)
        return np.full(len(column), REFUSED, dtype=_type_of(attribute))
    if isinstance(attribute.values[0], str) and _is_text(column.type):
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        declared = _declared(attribute.values, column.type)
        return np.asarray(pc.index_in(column, value_set=declared).fill_null(UNDECLARED)).astype(_type_of(attribute))
    if isinstance(attribute.values[0], int) and pa.types.is_integer(column.type):
        integers = np.asarray(column.fill_null(0) if column.null_count else column)
        if integers.dtype == np.uint64:  # values beyond int64 are no category, whatever they are converted to
            integers = np.minimum(integers, np.uint64(1 << 62))
        return _integer_indices(attribute, integers.astype(np.int64, copy=False))
    if isinstance(attribute.values[0], int) and pa.types.is_floating(column.type):
        return _whole_indices(attribute, column, missing, faults)
    faults.add(attribute.name, _type_rule(attribute, column.type), len(column) - column.null_count)
    return np.full(len(column), REFUSED, dtype=_type_of(attribute))


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
        if few(len(integers), _from_table):
            inside = (low <= integers) & (integers <= high)
            return np.where(inside, table[np.where(inside, integers - low, 0)], np.int16(UNDECLARED))
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
