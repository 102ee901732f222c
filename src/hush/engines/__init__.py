"""Engines that tally reports where they lie: DuckDB on one machine, Spark on many."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.engines import duckdb as duckdb
    from hush.engines import spark as spark


def __getattr__(name: str) -> object:
    if name in ("duckdb", "spark"):  # each needs a library of its own
        return import_module(f"hush.engines.{name}")
    raise AttributeError(f"module 'hush.engines' has no attribute {name!r}")
