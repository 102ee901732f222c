"""Tally Parquet files with DuckDB: on one machine, with all of its cores, and memory for the totals only.

    from hush.engines import duckdb
    tally = duckdb.tally(plan, "reports/*.parquet")

Nothing is downloaded: the wheel can read Parquet, and a connection made here loads no extensions. For object storage,
pass a connection that has the extension.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from hush.core.columnar import check_marks
from hush.core.plan import Plan
from hush.engines.sql import Layout, check_columns, masked
from hush.engines.totals import tally_of
from hush.errors import ReportError
from hush.server.tally import Tally

SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"

Place = str | os.PathLike[str]


def tally(
    plan: Plan,
    reports: Place | Sequence[Place] | duckdb.DuckDBPyRelation,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    threads: int | None = None,
) -> Tally:
    """Count reports in columns: Parquet files (a path, a folder, a glob, a list of these) or a relation of DuckDB.

    All rows count, or none: a row that breaks a rule of `spec/reports.md` raises ReportError. Files that name another
    plan are refused; a relation cannot name its plan. Report ids are ignored: duplicate rows count twice.
    """
    if isinstance(reports, duckdb.DuckDBPyRelation):
        if connection is not None or threads is not None:
            raise ReportError("a relation belongs to a connection already: give it neither connection nor threads")
        return _count(plan, reports)
    if connection is not None:
        if threads is not None:
            raise ReportError("threads is for a connection made here: SET threads on the one you bring")
        return _count_files(plan, reports, connection)
    with tempfile.TemporaryDirectory(prefix="hush-") as folder:
        config: dict[str, Any] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "temp_directory": folder,
        }
        if threads is not None:
            config["threads"] = threads
        with duckdb.connect(config=config) as own:
            return _count_files(plan, reports, own)


def _count_files(plan: Plan, reports: Place | Sequence[Place], connection: Any) -> Tally:
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
        _check_metadata(plan, connection, files)
        # Files may differ in the widths of their columns: take the widest, not that of the first file.
        return _count(plan, connection.read_parquet(files, union_by_name=True, hive_partitioning=False))
    except (duckdb.ConnectionException, duckdb.InterruptException, duckdb.OutOfMemoryException):
        raise  # these errors do not concern the files
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:  # damaged files were seen to cause these
        raise ReportError("the reports cannot be read as Parquet files") from error


def _check_metadata(plan: Plan, connection: Any, files: list[str]) -> None:
    """Check the key-value metadata of every file, also in the form that Spark writes."""
    # Compare keys and values as bytes: they need not be text.
    rows = connection.execute(
        "SELECT file_name, key, value FROM parquet_kv_metadata(?) WHERE key IN (?, ?, ?)",
        [files, b"hush", b"hush.core.plan", SPARK_SCHEMA],
    ).fetchall()
    for file, key, value in rows:
        text = value.decode(errors="replace")
        marks = _spark_marks(text) if key == SPARK_SCHEMA else {key.decode(): text}
        try:
            check_marks(plan, marks.get("hush"), marks.get("hush.core.plan"))
        except ReportError as error:
            raise ReportError(f"{Path(file).name!r}: {error}") from None


def _spark_marks(text: str) -> dict[str, str]:
    """Return the metadata of the column `attribute`, where Spark can keep it. Other text has none."""
    try:
        fields = {field["name"]: field["metadata"] for field in json.loads(text)["fields"]}
        return dict(fields.get("attribute", {}))
    except (ValueError, LookupError, TypeError):
        return {}


def _count(plan: Plan, relation: Any) -> Tally:
    layout = Layout(plan)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    has_part = check_columns(layout, types)
    text = layout.query("hush_reports", has_part=has_part, ones=masked())
    return tally_of(layout, relation.query("hush_reports", text).fetchall())
