"""Randomise people in files to reports in files, and tally reports in files: of any size, in little memory.

Files of people are read twice. The first time, every row is checked, and one error lists all faults. Only then are
reports drawn and written. The second time, rows are checked again, because a file may change. Reports appear under
their name when all of them are on disk, or never. Until then their file has no name, where the system allows it. So
nothing of a killed run can be read, and its people can be randomised again (`hush.files.atomic`).

Randomising the same people twice and publishing both results spends their epsilon twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import ipc
from pyarrow import parquet as pq

from hush.batch.csv_files import CSV, CsvSource
from hush.batch.reports import check_schema, notes_of, report_schema
from hush.batch.sources import ArrowSource, ParquetSource, Stored, recut, refuse, together
from hush.core.owned import Owned, stated
from hush.core.plan import Plan
from hush.core.schema import Categorical, Schema
from hush.errors import RecordError, ReportError
from hush.files.atomic import PRIVATE, check_remainders, check_target, replacing
from hush.files.paths import ARROW, PARQUET, Paths, ends, find
from hush.server.tally import Tally, with_own

BATCH = 1 << 17
_WIDE = 64  # with more columns than this a batch is half as long
_ROW_GROUP = 1 << 20

Progress = Callable[[int, int | None, str], None]
"""A function that is called with the number of rows done, the total if it is known, and the name of the stage."""


class People:
    """The columns of a schema from files of people: Parquet, Arrow IPC (.arrow, .feather) or CSV (.csv, .csv.gz).

    `path` is a file, a folder, a pattern, or a list of those; all files together are one population. Columns may be in
    any order, and others are never read. In CSV an empty field is a missing value; in a file of one column so is an
    empty line. With `count_bad_rows` an error about CSV has exact numbers, which are private.
    """

    def __init__(self, schema: Schema, path: Paths, *, count_bad_rows: bool = False) -> None:
        self.schema = schema
        files = find(path, (*PARQUET, *ARROW, *CSV))
        self._sources = [_people_source(file, schema, count_bad_rows) for file in files]
        self._types = together(self._sources, schema.names)
        self._size = BATCH if len(schema) <= _WIDE else BATCH // 2

    @property
    def files(self) -> list[Path]:
        """The files that were found."""
        return [source.path for source in self._sources]

    @property
    def rows(self) -> int | None:
        """How many people there are, or None if that is known only after reading them."""
        return _total(self._sources)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all rows, as often as you like. Batches have 131072 rows (65536 if there are many columns).

        Only the last is shorter, so the cuts do not depend on the files. Values are not checked, except that numbers
        and codes in CSV files must be readable.
        """
        names = self.schema.names
        pieces = (batch for source in self._sources for batch in source.batches(names, self._size))
        return recut(pieces, self._types, self._size)


class Reports:
    """The columns of reports, as `spec/reports.md` defines them, from Parquet and Arrow IPC files of one plan.

    `own`: how many are a relay's own, among the reports of files that do not say it; without it, those are refused.
    """

    def __init__(self, plan: Plan, path: Paths, *, own: int | None = None) -> None:
        self._names = list(report_schema(plan).names)
        self._sources = [_report_source(file, plan) for file in find(path, (*PARQUET, *ARROW))]
        self.owned = Owned(own)  # of all Parquet files, whose number of rows is known before they are read
        for source in self._sources:
            if source.rows is None:
                self.owned.check(notes_of(source.columns), str(source.path))
            else:
                self.owned.add(notes_of(source.columns), source.rows, str(source.path))

    @property
    def rows(self) -> int | None:
        """How many rows there are, or None if that is known only after reading them."""
        return _total(self._sources)

    def batches(self, owned: Owned | None = None) -> Iterator[pa.RecordBatch]:
        """Read all rows, as often as you like. `owned` learns how many of the reports are a relay's own."""
        for source in self._sources:
            rows = 0
            for batch in source.batches(self._names, _ROW_GROUP):
                rows += batch.num_rows
                yield batch
            if owned is not None:
                owned.add(notes_of(source.columns), rows, str(source.path))


def _people_source(path: Path, schema: Schema, exact: bool) -> Stored:
    if ends(path, PARQUET):
        return ParquetSource(path, RecordError, [one.name for one in schema.attributes if isinstance(one, Categorical)])
    if ends(path, ARROW):
        return ArrowSource(path, RecordError)
    if ends(path, CSV):
        return CsvSource(path, schema, exact)
    raise RecordError(f"{path}: a file of people ends in one of: {', '.join((*PARQUET, *ARROW, *CSV))}")


def _report_source(path: Path, plan: Plan) -> Stored:
    if ends(path, PARQUET):
        source: Stored = ParquetSource(path, ReportError)
    elif ends(path, ARROW):
        source = ArrowSource(path, ReportError)
    else:
        raise ReportError(f"{path}: a file of reports ends in one of: {', '.join((*PARQUET, *ARROW))}")
    try:
        check_schema(plan, source.columns)
    except ReportError as error:
        refuse(ReportError(f"{path}: {error}"))
    return source


def _total(sources: Sequence[Stored]) -> int | None:
    counts = [source.rows for source in sources]
    return None if None in counts else sum(count for count in counts if count is not None)


class _Told:
    """Batches that report their progress while they are read."""

    def __init__(self, batches: Iterable[pa.RecordBatch], total: int | None, stage: str, tell: Progress | None) -> None:
        self._batches = batches
        self._total = total
        self._stage = stage
        self._tell = tell
        self.rows = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            yield batch
            self.rows += batch.num_rows
            if self._tell is not None:
                self._tell(self.rows, self._total, self._stage)


def randomise_file(
    plan: Plan,
    source: Paths,
    destination: str | os.PathLike[str],
    *,
    threads: int | None = None,
    ids: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    count_bad_rows: bool = False,
) -> int:
    """Randomise the people in files (see `People`) into a file of reports. Return the number of people.

    The reports are written as Parquet, or as an Arrow IPC file (.arrow) or stream (.arrows), by the suffix. If any row
    does not fit the schema, nothing is drawn or written. The call also fails if an earlier run for this file was killed
    and left its reports, because its people have been randomised once. (That happens only on systems where every file
    needs a name.) With `count_bad_rows` an error has the number of bad rows, which is exact and private.
    """
    from hush.batch import check_batches, randomise_batches

    target = Path(destination)
    if not ends(target, (*PARQUET, *ARROW)):
        raise ReportError(f"{target}: a file of reports ends in one of: {', '.join((*PARQUET, *ARROW))}")
    check_target(target, overwrite=overwrite)
    check_remainders(target)
    people = People(plan.schema, source, count_bad_rows=count_bad_rows)
    check_target(target, overwrite=overwrite, inputs=people.files, what="the reports")
    checked = _Told(people.batches(), people.rows, "checking", progress)
    count = check_batches(plan, checked, count_bad_rows=count_bad_rows)
    told = _Told(people.batches(), count, "randomising", progress)
    with replacing(target, overwrite=overwrite, drawn=True, mode=PRIVATE) as file:
        with _writing(file, target, report_schema(plan, ids=ids)) as write:
            for batch in randomise_batches(plan, told, threads=threads, ids=ids, count_bad_rows=count_bad_rows):
                write(batch)
        if told.rows != count:
            raise RecordError("the people changed while they were read")
    return count


def tally_files(
    plan: Plan,
    paths: Paths,
    *,
    own: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Tally the reports in files, folders or patterns: Parquet and Arrow IPC.

    Every file says how many of its reports a relay has added of its own; estimates take them out.
    `own`: that number, for files that do not say it. They are refused without it.
    """
    from hush.batch import tally_batches

    reports, owned = Reports(plan, paths, own=own), Owned(own)
    batches = _Told(reports.batches(owned), reports.rows, "tallying", progress)
    found = tally_batches(plan, batches, threads)
    return with_own(found, owned.total(found.reports))


# -- writing


@contextmanager
def _writing(file: IO[bytes], path: Path, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    if ends(path, ARROW):
        make = ipc.new_stream if ends(path, [".arrows"]) else ipc.new_file
        with make(file, schema) as writer:
            yield writer.write_batch
        return
    # Every engine reads dictionaries and zstd. On noise, level 1 is the fastest and gives the smallest files. All ids
    # differ, so a dictionary of them would be useless.
    options = {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [name for name in schema.names if name != "report"],
        "write_page_checksum": True,  # a damaged page of small integers may otherwise still look like reports
        "store_schema": False,  # it would be read for the metadata of the file, which are known at its end
    }
    held: list[pa.RecordBatch] = []
    rows = 0

    with pq.ParquetWriter(file, schema, **options) as writer:

        def flush() -> None:
            writer.write_table(pa.Table.from_batches(held, schema), row_group_size=_ROW_GROUP)
            held.clear()

        def write(batch: pa.RecordBatch) -> None:
            nonlocal rows
            rows += batch.num_rows
            held.append(batch)
            if sum(one.num_rows for one in held) >= _ROW_GROUP:
                flush()

        yield write
        if held:
            flush()
        notes = {key.decode(): value.decode() for key, value in schema.metadata.items()}
        writer.add_key_value_metadata(notes | stated(0, rows))
