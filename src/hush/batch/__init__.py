"""Whole tables at once: compiled kernels make the same reports as the scalar path, word for word.

`randomise` turns a table of people into a table of reports, `tally` counts reports, and `collect` does both without
keeping reports. `randomise_batches` and `check_batches` are for streams of record batches. Tables may be Arrow, pandas,
polars, or dicts of arrays; `spec/reports.md` describes the reports.

The words come from an AES-256 keystream with a fresh key from the operating system for every call.

If a table breaks a rule, the error names the column and the rule. With `count_bad_rows` it also has the exact number of
bad rows. That number is private, so keep such an error out of logs and bug reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

try:
    import pyarrow as pa

    from hush.batch import columns as _columns
    from hush.batch.arrow import batches_in
    from hush.batch.columns import Columns, Encoded
    from hush.batch.counting import Counts, total
    from hush.batch.engine import (
        Chunk,
        chunks_of,
        in_order,
        joined,
        randomise_chunks,
        record_batch,
        side_by_side,
        thread_count,
    )
    from hush.batch.keystream import Keystream, Source
    from hush.batch.reports import report_batches, report_schema, row_arrays
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] == "hush":
        raise
    raise ModuleNotFoundError(
        f"hush.batch needs {error.name}: pip install 'hush-ldp[batch]'", name=error.name
    ) from None
from hush.core.columnar import parts
from hush.core.owned import Owned
from hush.core.plan import Plan
from hush.errors import PlanError
from hush.server.tally import Tally, with_own

if TYPE_CHECKING:
    from hush.batch import files as files

__all__ = [
    "Encoded",
    "check_batches",
    "collect",
    "encode",
    "randomise",
    "randomise_batches",
    "report_schema",
    "tally",
]

MAX_SHARE = 1 << 17  # rows of a table that a thread counts in one piece of work: with larger ones, one thread ends late
LEAST_SHARE = 1 << 15


def __getattr__(name: str) -> object:
    if name == "files":  # loaded when it is first used: most tables are in memory
        import hush.batch.files as module

        return module
    raise AttributeError(f"module 'hush.batch' has no attribute {name!r}")


def _checked(plan: Plan) -> Plan:
    if not isinstance(plan, Plan):
        raise PlanError("hush.batch needs a Plan first")
    return plan


def encode(plan: Plan, data: Any, *, count_bad_rows: bool = False) -> Encoded:
    """Check a table and keep it in the form that `randomise` and `collect` read, for tables that you use again."""
    return _columns.encode(_checked(plan).schema, data, count_bad_rows)


def check_batches(plan: Plan, batches: Iterable[pa.RecordBatch], *, count_bad_rows: bool = False) -> int:
    """Check all batches and keep none. Return the number of people, or raise one error about all of them."""
    return _columns.check_batches(_checked(plan).schema, batches_in(batches), count_bad_rows)


def randomise(
    plan: Plan, data: Any, *, threads: int | None = None, ids: bool = False, count_bad_rows: bool = False
) -> pa.Table:
    """Return a fresh random report of everybody in a table, as private as the plan claims.

    The whole table is checked first: a RecordError names the columns and the rules that they break, and nothing is
    drawn. Two calls with the same table cost everybody twice the epsilon. With `ids` every report has a random id.
    """
    held = encode(plan, data, count_bad_rows=count_bad_rows)
    return _randomise_from(Keystream(), plan, held, thread_count(threads), ids)


def _randomise_from(source: Source, plan: Plan, data: Encoded, threads: int, ids: bool) -> pa.Table:
    """Return reports that are a function of these words. All code but tests calls `randomise`."""
    batches = _batches_from(source, plan, data.batches, threads, ids)
    return pa.Table.from_batches(list(batches), schema=report_schema(plan, ids=ids))


def randomise_batches(
    plan: Plan,
    batches: Iterable[pa.RecordBatch],
    *,
    threads: int | None = None,
    ids: bool = False,
    count_bad_rows: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Randomise a stream of record batches. Each batch is checked as a whole before any of its reports is drawn."""
    checked = _columns.encode_batches(_checked(plan).schema, batches_in(batches), count_bad_rows)
    return _batches_from(Keystream(), plan, checked, thread_count(threads), ids)


def _batches_from(
    source: Source, plan: Plan, batches: Iterable[Columns], threads: int, ids: bool
) -> Iterator[pa.RecordBatch]:
    schema = report_schema(plan, ids=ids)

    def work(chunks: list[Chunk]) -> pa.RecordBatch:
        return record_batch(schema, randomise_chunks(plan, chunks, source, ids))

    return in_order(work, joined(plan, chunks_of(plan, batches), threads, ids), threads)


def tally(plan: Plan, reports: Any, *, threads: int | None = None, own: int | None = None) -> Tally:
    """Count reports: a table, a record batch, or any number of record batches. Every row is checked.

    Their metadata says how many of them a relay has added of its own; estimates take them out.
    `own`: that number, for reports that do not say it. They are refused without it.
    """
    owned = Owned(own)
    batches = report_batches(_checked(plan), reports, owned)
    rows = reports.num_rows if isinstance(reports, pa.Table | pa.RecordBatch) else None
    found = tally_batches(plan, batches, threads, rows)
    return with_own(found, owned.total(found.reports))


def tally_batches(plan: Plan, batches: Iterable[pa.RecordBatch], threads: int | None, rows: int | None = None) -> Tally:
    """Count batches, a relay's own reports too. `rows`: how many there are, if all of them are there already."""
    # The parts of a wide set may continue in the next batch, so one thread reads such batches, in order.
    workers = 1 if max(parts(plan)) > 1 else thread_count(threads)
    if workers > 1 and rows is not None:
        size = min(max(rows // (8 * workers), LEAST_SHARE), MAX_SHARE)
        return total(side_by_side(partial(_counted, plan), list(_shared(batches, size)), workers))
    idle = [Counts(plan) for _ in range(workers)]

    def work(some: list[pa.RecordBatch]) -> None:
        arrays = [row_arrays(plan, batch) for batch in some]
        counts = idle.pop()
        for found in arrays:
            counts.add(*found)
        idle.append(counts)

    for _ in in_order(work, _shared(batches, MAX_SHARE) if workers > 1 else ([batch] for batch in batches), workers):
        pass
    return total(idle)


def _counted(plan: Plan, pieces: Iterable[list[pa.RecordBatch]]) -> Counts:
    """Count some pieces of a table. Each thread has counts of its own, in memory of its own."""
    counts = Counts(plan)
    for some in pieces:
        for batch in some:
            counts.add(*row_arrays(plan, batch))
    counts.read_out()
    return counts


def _shared(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[list[pa.RecordBatch]]:
    """Cut large batches and join small ones, so that there is work for every thread, in pieces worth a thread."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            piece = batch.slice(start, size)
            if held and rows + piece.num_rows > size:
                yield held
                held, rows = [], 0
            held.append(piece)
            rows += piece.num_rows
    if held:
        yield held


def collect(plan: Plan, data: Any, *, threads: int | None = None, count_bad_rows: bool = False) -> Tally:
    """Randomise everybody in a table and count the reports at once. Use it for simulations, which keep no reports."""
    held = encode(plan, data, count_bad_rows=count_bad_rows)
    return _collect_from(Keystream(), plan, held, thread_count(threads))


def _collect_from(source: Source, plan: Plan, data: Encoded, threads: int) -> Tally:
    """Return a tally that is a function of these words. All code but tests calls `collect`."""
    idle = [Counts(plan) for _ in range(threads)]

    def work(chunks: list[Chunk]) -> None:
        rows = randomise_chunks(plan, chunks, source, False)
        counts = idle.pop()
        counts.add(rows.attribute, rows.part, rows.output)
        idle.append(counts)

    for _ in in_order(work, joined(plan, chunks_of(plan, data.batches), threads, False), threads):
        pass
    return total(idle)
