"""Engines that tally reports where they are stored: DuckDB on one machine, Spark on many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.engines import duckdb as duckdb
    from hush.engines import spark as spark


def __getattr__(name: str) -> object:
    # Each engine needs a library of its own, and is loaded when it is first used.
    if name == "duckdb":
        import hush.engines.duckdb as duckdb_engine

        return duckdb_engine
    if name == "spark":
        import hush.engines.spark as spark_engine

        return spark_engine
    raise AttributeError(f"module 'hush.engines' has no attribute {name!r}")
