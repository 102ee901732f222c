"""Stored reports as Parquet: compaction into segments, and export.

A segment is written beside the database under its final name, made durable, and then recorded in the transaction that
drops the bodies it replaces. A crash in between leaves a file that no record names; the next compaction
removes it. Reports that were sent one by one keep their ids in a column `report`; a segment has either all ids or none,
so there are two at most for each compaction. Tallies that other collectors handed on have no rows, and stay in the
database.

Every file says how many of its reports are a relay's own (`hush.core.owned`). A store of an older hush may not know
that of what it kept then: if it has counted own reports, files with such reports say nothing, and `hush tally` asks.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from hush.batch.reports import report_schema
from hush.collector import formats
from hush.collector.stores.base import Segment, Store, Stored
from hush.collector.submissions import Form
from hush.core.columnar import WORD_BITS, marks, parts
from hush.core.owned import stated
from hush.core.plan import Plan
from hush.core.report import Report
from hush.files import atomic

logger = logging.getLogger("hush.collector")

ROW_GROUP = 1 << 20


class Written(NamedTuple):
    """How many reports were written; how many of them are a relay's own, or None if nobody knows."""

    reports: int = 0
    own: int | None = 0

    def plus(self, reports: int, own: int | None) -> Written:
        """Return the sum."""
        return Written(self.reports + reports, None if self.own is None or own is None else self.own + own)


def table_of(plan: Plan, stored: Stored) -> pa.Table | None:
    """Return a stored body as rows of `spec/reports.md`, or None for a tally."""
    if stored.form is Form.TALLY:
        return None
    if stored.form is Form.REPORTS:
        return rows_of(plan, formats.split(plan, stored.body))
    if stored.form is Form.COLUMNS:
        return formats.unpack(plan, stored.body)
    with pa.ipc.open_stream(stored.body) as stream:
        table = stream.read_all()
    schema = report_schema(plan, ids="report" in table.schema.names)
    return table.select(schema.names).cast(schema)


def rows_of(plan: Plan, reports: list[Report]) -> pa.Table:
    """Return reports as rows, with their ids."""
    sizes = parts(plan)
    attribute, part, output, ids = [], [], [], []
    for report in reports:
        for index, value in report.answers:
            if isinstance(value, int):
                words = [value]
            else:
                words = [0] * sizes[index]
                for member in value:
                    words[member // WORD_BITS] |= 1 << member % WORD_BITS
            for place, word in enumerate(words):
                attribute.append(index)
                part.append(place)
                output.append(word - (1 << 64) if word >> 63 else word)  # two's complement
                ids.append(report.id)
    schema = report_schema(plan, ids=True)
    columns = {"attribute": attribute, "part": part, "output": output, "report": ids}
    return pa.table([pa.array(columns[field.name], type=field.type) for field in schema], schema=schema)


def stored_tables(store: Store, plan: Plan, upto: int | None = None) -> Iterator[tuple[Stored, pa.Table]]:
    """Return all stored bodies of a plan, as rows."""
    for stored in store.bodies(plan):
        if upto is not None and stored.place > upto:
            return
        table = table_of(plan, stored)
        if table is not None:
            yield stored, table


def compact(store: Store, plan: Plan, folder: Path, *, tidy: bool = True) -> list[Segment]:
    """Move the stored bodies of a plan into Parquet segments; return the new segments.

    `tidy` removes segments of this plan that the store does not know, which a crash may have left: only for a folder
    that no other store uses.
    """
    _make(folder)
    with store.compacting(plan):
        known = {segment.file for segment in store.segments(plan)}
        if any(path.stat().st_mode & 0o077 for name in known if (path := folder / name).exists()):
            logger.warning("others on this machine may read segments: chmod 600 %s/*", folder)
        for path in folder.glob(f"{plan.id[:16]}-*.parquet*"):
            if path.name not in known and (tidy or path.suffix == ".new"):
                path.unlink()
        last = max((stored.place for stored in store.bodies(plan)), default=0)
        made = []
        for ids in (True, False):
            name = f"{plan.id[:16]}-{last:012}-{'ids' if ids else 'rows'}.parquet"
            written = _write(store, plan, folder / name, ids, last)
            if written.reports:
                digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
                made.append(Segment(name, written.reports, digest, written.own))
        if made:
            store.replace(plan, last, made)
    return made


def _write(store: Store, plan: Plan, path: Path, ids: bool, last: int) -> Written:
    """Write the rows with ids, or those without."""
    draft = path.with_name(path.name + ".new")
    schema = report_schema(plan, ids=ids)
    found, rows = Written(), 0
    # The schema of Arrow would be read for the metadata, which are known when all rows are written.
    options = {"compression": "zstd", "write_page_checksum": True, "store_schema": False}
    with _private(draft) as file:
        with pq.ParquetWriter(file, schema, **options) as writer:
            for stored, table in stored_tables(store, plan, last):
                if ("report" in table.schema.names) == ids:
                    writer.write_table(table, row_group_size=ROW_GROUP)
                    found, rows = found.plus(stored.reports, stored.own), rows + table.num_rows
            if found.own is None and store.tally(plan).own == 0:  # whatever was not written down
                found = found._replace(own=0)
            writer.add_key_value_metadata(marks(plan) | ({} if found.own is None else stated(found.own, rows)))
        file.flush()
        os.fsync(file.fileno())
    if not found.reports:
        draft.unlink()
        return found
    draft.replace(path)
    atomic.sync(path.parent)
    return found


def _private(path: Path) -> IO[bytes]:
    """Open a new file for its owner alone, whatever the umask. What a kill has left under its name is removed."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, atomic.PRIVATE)
    os.fchmod(handle, atomic.PRIVATE)
    return os.fdopen(handle, "wb")


def _make(folder: Path) -> None:
    """Make a folder for its owner alone, unless it is there; its name is on disk."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.sync(folder.parent)


def export(store: Store, plan: Plan, folder: Path, out: Path) -> Written:
    """Write all stored reports of a plan as Parquet files into a folder."""
    _make(out)
    if any(out.glob(f"{plan.id[:16]}-*.parquet")):
        raise FileExistsError(errno.EEXIST, "the folder has an export of this plan, and both would be counted")
    total = Written()
    with store.compacting(plan):
        for segment in store.segments(plan):
            data = (folder / segment.file).read_bytes()
            if hashlib.sha256(data).hexdigest() != segment.digest:
                raise OSError(f"the segment {segment.file} is damaged")
            with atomic.replacing(out / segment.file, overwrite=False, mode=atomic.PRIVATE) as file:
                file.write(data)
            total = total.plus(segment.reports, segment.own)
        last = max((stored.place for stored in store.bodies(plan)), default=0)
        for ids in (True, False):
            total = total.plus(
                *_write(store, plan, out / f"{plan.id[:16]}-{'ids' if ids else 'rows'}.parquet", ids, last)
            )
    return total
