"""Tally Parquet files with DuckDB: on one machine, with all of its cores, and memory for the totals only.

    from hush.engines import duckdb
    tally = duckdb.tally(plan, "reports/*.parquet")

Nothing is downloaded: the wheel can read Parquet, and a connection made here loads no extensions. For object storage,
pass a connection that has the extension.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from hush.core.columnar import SPARK, check_marks, notes_in
from hush.core.owned import OWN, ROWS, Owned
from hush.core.plan import Plan
from hush.engines.sql import Layout, check_columns, masked
from hush.engines.totals import tally_of
from hush.errors import ReportError
from hush.server.tally import Tally, with_own

Place = str | os.PathLike[str]


def tally(
    plan: Plan,
    reports: Place | Sequence[Place] | duckdb.DuckDBPyRelation,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    threads: int | None = None,
    own: int | None = None,
) -> Tally:
    """Count reports in columns: Parquet files (a path, a folder, a glob, a list of these) or a relation of DuckDB.

    All rows count, or none: a row that breaks a rule of `spec/reports.md` raises ReportError. Files that name another
    plan are refused; a relation cannot name its plan. Report ids are ignored: duplicate rows count twice.

    `own`: how many are a relay's own, among the reports that do not say it. A relation cannot say it, so it needs
    this: 0 if no relay added any.
    """
    owned = Owned(own)
    if isinstance(reports, duckdb.DuckDBPyRelation):
        if connection is not None or threads is not None:
            raise ReportError("a relation belongs to a connection already: give it neither connection nor threads")
        owned.check({})
        found = _count(plan, reports)
        owned.add({}, sum(found.answered))
        return with_own(found, owned.total(found.reports))
    if connection is not None:
        if threads is not None:
            raise ReportError("threads is for a connection made here: SET threads on the one you bring")
        return _count_files(plan, reports, connection, owned)
    with tempfile.TemporaryDirectory(prefix="hush-") as folder:
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "temp_directory": folder,
        }
        if threads is not None:
            config["threads"] = threads
        with duckdb.connect(config=config) as made:
            return _count_files(plan, reports, made, owned)


def _count_files(plan: Plan, reports: Place | Sequence[Place], connection: Any, owned: Owned) -> Tally:
    places = [reports] if isinstance(reports, str | os.PathLike) else list(reports)
    patterns = [str(Path(place) / "*.parquet") if Path(place).is_dir() else os.fspath(place) for place in places]
    if not patterns:
        raise ReportError("there are no files of reports")
    try:
        files = [file for (file,) in connection.execute("SELECT file FROM glob(?)", [patterns]).fetchall()]
        if not files:
            raise ReportError("there are no files of reports")
        if len(set(files)) < len(files):
            raise ReportError(f"a file must not be counted twice: {len(files) - len(set(files))} of the files are")
        _check_metadata(plan, connection, files, owned)
        # Files may differ in the widths of their columns: take the widest, not that of the first file.
        found = _count(plan, connection.read_parquet(files, union_by_name=True, hive_partitioning=False))
        return with_own(found, owned.total(found.reports))
    except (duckdb.ConnectionException, duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise  # these errors do not concern the files
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:  # damaged files were seen to cause these
        raise ReportError("the reports cannot be read as Parquet files") from error


def _check_metadata(plan: Plan, connection: Any, files: list[str], owned: Owned) -> None:
    """Check the key-value metadata of every file, also in the form that Spark writes."""
    # Compare keys and values as bytes: they need not be text.
    found = connection.execute(
        "SELECT file_name, key, value FROM parquet_kv_metadata(?) WHERE key IN (?, ?, ?, ?, ?)",
        [files, *(key.encode() for key in ("hush", "hush.core.plan", OWN, ROWS, SPARK))],
    ).fetchall()
    rows = connection.execute("SELECT file_name, num_rows FROM parquet_file_metadata(?)", [files]).fetchall()
    metadata: dict[str, dict[str, str]] = {file: {} for file, _ in rows}
    for file, key, value in found:
        metadata[file][key.decode()] = value.decode(errors="replace")
    for file, number in rows:
        notes = notes_in(metadata[file])
        try:
            check_marks(plan, notes.get("hush"), notes.get("hush.core.plan"))
            owned.add(notes, number)
        except ReportError as error:
            raise ReportError(f"{Path(file).name!r}: {error}") from None


def _count(plan: Plan, relation: Any) -> Tally:
    layout = Layout(plan)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    has_part = check_columns(layout, types)
    text = layout.query("hush_reports", has_part=has_part, ones=masked())
    return tally_of(layout, relation.query("hush_reports", text).fetchall())
