"""A folder with a plan and its people, for the tests of `hush randomise`, `tally` and `estimate`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet as pq

import hush
from hush.cli import files
from tests.cli.test_commands import run

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Numeric("income", 0, 1e5, optional=True),
        hush.Categorical("os", ["linux", "mac", "other"]),
    ]
)
PLAN = hush.design(SCHEMA, 1.0, title="spring")
OTHER = hush.design(SCHEMA, 1.0, title="autumn")
PEOPLE = 3000


def lay_out() -> None:
    """Write a plan, another one, and people into the current folder."""
    Path("plan.json").write_text(PLAN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    columns = {"os": ["mac", "linux", "mac"] * 1000, "income": [3e4, 2e4, None] * 1000, "age": [40.0] * PEOPLE}
    pq.write_table(pa.table(columns), "people.parquet")


def reports(path: str = "reports.parquet") -> str:
    run("randomise", "plan.json", "people.parquet", "-o", path)
    return path


def collected(path: str = "tally.json") -> hush.Tally:
    run("tally", "plan.json", reports(), "-o", path)
    return files.read_tally(path)
