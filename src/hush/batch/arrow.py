"""Tables of any kind become Arrow record batches: pyarrow, pandas and polars, dicts of arrays, Arrow's C stream.

Errors name the column, never a value. Messages of the underlying libraries may show values, so they are not passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from hush.core.schema import MAX_NAME, Schema
from hush.errors import RecordError

NO_TABLE = "a table must be an Arrow table, a pandas or polars frame (a lazy one too), or a dict of arrays"
_SHOWN = 10  # how many columns a message lists
_SEMICOLONS = "there is only one column: is it separated by semicolons?"
_NONE = "nor is any other attribute of the schema: are the columns named?"


def check_names(schema: Schema, names: list[str]) -> None:
    """Refuse a table in which a column of the schema is missing or repeated."""
    for name in schema.names:
        if names.count(name) > 1:
            raise RecordError(f"column {name!r}: is there more than once")
        if name not in names:
            raise RecordError(f"column {name!r}: is not there; {present(schema.names, names)}")


def present(wanted: Sequence[str], names: Sequence[object]) -> str:
    """List the columns of a table that lacks a wanted one, for an error message.

    Names are public, but without a header the first person's values stand in their place, and one of them may happen to
    be the name of an attribute. So names are shown only if half of the wanted ones are among them.
    """
    if 2 * len(set(wanted) & set(names)) < len(wanted):
        return _SEMICOLONS if len(names) == 1 and ";" in str(names[0]) else _NONE
    shown = ", ".join(repr(str(name)[:MAX_NAME]) for name in names[:_SHOWN])
    return f"there are: {shown}{', ...' if len(names) > _SHOWN else ''}"


def batches_of(schema: Schema, data: Any) -> Iterator[pa.RecordBatch]:
    """Return a table as record batches with only the columns of the schema, without copying where possible."""
    if isinstance(data, pa.RecordBatch):
        yield data
        return
    yield from _table(schema, data).to_batches()


def batches_in(data: Any) -> Iterator[pa.RecordBatch]:
    """Return the record batches of a stream or a table."""
    if isinstance(data, pa.RecordBatch):
        data = [data]
    elif isinstance(data, pa.Table):
        data = data.to_batches()
    if not isinstance(data, Iterable) or isinstance(data, (str, bytes, Mapping)):
        raise RecordError("people must be Arrow record batches, any number of them")
    for batch in data:
        if not isinstance(batch, pa.RecordBatch):
            raise RecordError("people must be Arrow record batches, any number of them")
        yield batch


def collected(data: Any, names: Sequence[str] | None = None) -> Any:
    """Return a table that is computed when it is asked for, as a lazy frame of polars, and others as they are.

    Of a lazy frame only the columns of these names are computed, if it has them.
    """
    if type(data).__module__.partition(".")[0] != "polars" or type(data).__name__ != "LazyFrame":
        return data
    found = None
    # The message of a query that fails may show a value.
    with suppress(Exception):
        known = data.collect_schema().names()
        found = (data if names is None else data.select([name for name in names if name in known])).collect()
    if found is None:
        raise RecordError("the lazy frame cannot be computed: call its collect() to see why")
    return found


def _table(schema: Schema, data: Any) -> pa.Table:
    names = list(schema.names)
    data = collected(data, names)
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        check_names(schema, [name for name in data.columns if isinstance(name, str)])
        return _joined({name: _array(name, data[name], pandas=True) for name in names})
    if isinstance(data, Mapping):
        check_names(schema, list(data))
        return _joined({name: _array(name, data[name]) for name in names})
    if not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise RecordError(NO_TABLE)
        found = None
        with suppress(pa.ArrowException, TypeError, ValueError):
            found = pa.table(data)
        if found is None:
            raise RecordError(NO_TABLE)
        data = found
    check_names(schema, data.schema.names)
    return data.select(names)


def _joined(columns: dict[str, Any]) -> pa.Table:
    """Return columns as a table, if they are equally long."""
    first = next(iter(columns.values()))
    for name, column in columns.items():
        if len(column) != len(first):
            raise RecordError(f"column {name!r}: has {len(column)} rows, and the first column {len(first)}")
    return pa.table(columns)


def _array(name: str, values: Any, pandas: bool = False) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, np.ndarray) and not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    array = None
    if not isinstance(values, (str, bytes, Mapping)) and not _mixes_truth(values):
        # The library's own message would show the value, so the error is raised below, outside this block.
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            array = pa.array(values, from_pandas=pandas)
    if array is None:
        raise RecordError(f"column {name!r}: is not a list or array of values of one type")
    return array


def _mixes_truth(values: Any) -> bool:
    """Return whether a list has True or False among its numbers. Arrow would take them for 1 and 0."""
    if not isinstance(values, (list, tuple)):
        return False
    kinds = set(map(type, values)) - {type(None)}
    return bool in kinds and len(kinds) > 1
