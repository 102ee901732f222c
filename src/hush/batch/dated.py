"""Columns of dates and times of day: as Arrow has them, or as ISO texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush.core.calendar import Counted, Date, Time

Array = np.ndarray[Any, Any]

_NANOSECONDS = 10**9


def counted(attribute: Counted, column: pa.Array) -> Array | None:
    """Return the numbers of a column: NaN for null and for values that are none. None: the type does not fit at all."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _of_texts(attribute, column)
    if isinstance(attribute, Date):
        if pa.types.is_timestamp(kind) and kind.tz is None:
            days = pc.floor_temporal(column, unit="day")
            bad = np.asarray(pc.fill_null(pc.not_equal(days, column), False))
            return np.where(bad, np.nan, _floats(days.cast(pa.date32()).cast(pa.int32())))
        if pa.types.is_date(kind):
            return _floats(column.cast(pa.date32(), safe=False).cast(pa.int32()))
    if isinstance(attribute, Time) and pa.types.is_time(kind):
        count = column.cast(pa.time64("ns")).cast(pa.int64())
        seconds = np.asarray(count.fill_null(0)) // _NANOSECONDS
        return np.where(np.asarray(count.is_null()), np.nan, attribute.count(seconds).astype(np.float64))
    return None


def values(attribute: Counted, numbers: Array, missing: Array) -> pa.Array:
    """Return numbers as the dates or times of day that they stand for."""
    whole = np.where(missing, 0, numbers).astype(np.int64)
    if isinstance(attribute, Time):
        seconds = whole * attribute.step % 86_400
        return pa.array(seconds.astype(np.int32), mask=missing).cast(pa.time32("s"))
    return pa.array(whole.astype(np.int32), mask=missing).cast(pa.date32())


def _of_texts(attribute: Counted, column: pa.Array) -> Array:
    distinct = column.cast(pa.large_string()).dictionary_encode()
    known = np.array([*map(attribute.number, distinct.dictionary.to_pylist()), np.nan], dtype=np.float64)
    found: Array = known[np.asarray(distinct.indices.fill_null(len(known) - 1))]
    return found


def _floats(column: pa.Array) -> Array:
    found = np.asarray(column.fill_null(0)).astype(np.float64)
    found[np.asarray(column.is_null())] = np.nan
    return found
