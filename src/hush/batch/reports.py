"""Reports in columns: `spec/reports.md` as an Arrow schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hush.core.channels.alphabet import Subsets
from hush.core.columnar import check_marks, joined, marks, notes_in, parts
from hush.core.owned import Owned, stated
from hush.core.plan import Plan
from hush.errors import ReportError

Array = np.ndarray[Any, Any]


@lru_cache(maxsize=64)
def report_schema(plan: Plan, *, ids: bool = False) -> pa.Schema:
    """Return the Arrow schema of the reports of people: it says that no relay's own reports are among them."""
    alphabets = [question.channel.alphabet for question in plan.questions]
    if any(isinstance(alphabet, Subsets) for alphabet in alphabets):
        output = pa.int64()
    else:
        output = pa.int16() if max(alphabet.size for alphabet in alphabets) <= 1 << 15 else pa.int32()
    fields = [pa.field("attribute", pa.int16(), nullable=False)]
    if max(parts(plan)) > 1:
        fields.append(pa.field("part", pa.int16(), nullable=False))
    fields.append(pa.field("output", output, nullable=False))
    if ids:
        fields.append(pa.field("report", pa.binary(16), nullable=False))
    return pa.schema(fields, metadata=marks(plan) | stated(0))


def check_schema(plan: Plan, schema: pa.Schema) -> None:
    """Refuse reports of another plan or version, and columns that do not fit the format."""
    notes = notes_of(schema)
    check_marks(plan, notes.get("hush"), notes.get("hush.core.plan"))
    for field in report_schema(plan):
        if schema.names.count(field.name) != 1:
            raise ReportError(f"reports must have one column {field.name!r}")
        if not pa.types.is_signed_integer(schema.field(field.name).type):
            raise ReportError(f"reports must have signed integers in the column {field.name!r}")


def notes_of(schema: pa.Schema) -> dict[str, str]:
    """Return what reports say of themselves: the metadata of the schema, and of the column where Spark keeps them."""
    places = schema.get_all_field_indices("attribute")
    column = schema.field(places[0]).metadata if places else None
    return joined(_texts(column), notes_in(_texts(schema.metadata)))


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    # Bytes that are not text match no mark, and are no numbers.
    return {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (metadata or {}).items()
        if not key.startswith(b"PARQUET:")
    }


def report_batches(plan: Plan, reports: Any, owned: Owned) -> Iterator[pa.RecordBatch]:
    """Return reports as record batches of the plan's format: from a table, a batch, or any number of batches.

    `owned` learns how many of them are a relay's own when all batches were taken.
    """
    if isinstance(reports, pa.RecordBatch):
        reports = [reports]
    elif isinstance(reports, pa.Table):
        check_schema(plan, reports.schema)
        owned.add(notes_of(reports.schema), reports.num_rows)
        yield from reports.to_batches()
        return
    elif not isinstance(reports, Iterable):
        raise ReportError("reports must be an Arrow table, a record batch, or any number of record batches")
    rows: dict[tuple[tuple[str, str], ...], int] = {}  # batches that say the same are taken for those of one table
    for batch in reports:
        if not isinstance(batch, pa.RecordBatch):
            raise ReportError("reports must be an Arrow table, a record batch, or any number of record batches")
        check_schema(plan, batch.schema)
        notes = notes_of(batch.schema)
        owned.check(notes)
        said = tuple(sorted(notes.items()))
        rows[said] = rows.get(said, 0) + batch.num_rows
        yield batch
    for said, number in rows.items():
        owned.add(dict(said), number)


def row_arrays(plan: Plan, batch: pa.RecordBatch) -> tuple[Array, Array, Array]:
    """Return the columns attribute, part (empty if there is none) and output of a batch as arrays."""
    wide = "part" in report_schema(plan).names
    found = []
    for name in ("attribute", "part", "output"):
        if name == "part" and not wide:
            if name in batch.schema.names and np.any(np.asarray(batch.column(name).fill_null(1))):
                raise ReportError("the column 'part' of reports must be 0, as no set of this plan has several parts")
            found.append(np.empty(0, dtype=np.int16))
            continue
        column = batch.column(name)
        if column.null_count:
            raise ReportError(f"the column {name!r} of reports must not have null ({column.null_count} rows)")
        array = np.asarray(column)
        if name != "output" and array.dtype != np.int16:
            array = np.where((array >= 0) & (array < 1 << 15), array, -1).astype(np.int16)
        found.append(array.astype(np.int16) if array.dtype == np.int8 else array)
    return found[0], found[1], found[2]
