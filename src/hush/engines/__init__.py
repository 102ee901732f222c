"""Engines that tally reports where they lie: DuckDB on one machine, Spark on many."""
