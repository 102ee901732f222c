"""How fast DuckDB and Spark tally Parquet files, beside a copy in memory. Run it as `python benchmarks/engines.py`.

The unit is the core-second, the processor time of all threads together: it is what a machine is paid for, and it
suffers less than the clock from others who use the machine. Each case runs on a file and on one of a tenth of its
rows: the difference gives the rate, the rest is what a query costs before it reads anything. Ratios come first: the
core-seconds of a row over those of copying it once in memory, in the same run. Files lie in the page cache, so storage
is not measured.

`--docs` also writes the figures that docs/scale.md shows.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import machine

from hush import Categorical, Numeric, Plan, Schema, Tally, design
from hush.batch.reports import report_schema
from hush.core.design.categorical import oue
from hush.core.plan import Question
from hush.engines import duckdb as duck
from hush.engines import sql, totals
from hush.engines.sql import Ones

REPEATS = 3
CHUNK = 1 << 20
COPIED = 1 << 28
MEMORY_LIMIT = "150MB"
FOLDER = Path(__file__).parent
Clock = Callable[[], float]
Run = Callable[[Path], Tally]


def symbol_plan() -> Plan:
    """Ten numbers, one of which each person reports as one of 32 symbols."""
    return design(Schema([Numeric(f"x{i}", 0, 1) for i in range(10)]), 1.0, k=1)


def set_plan() -> Plan:
    """Four categories of 64 values, one of which each person reports as a set: a word of 64 bits."""
    schema = Schema([Categorical(f"c{i}", list(range(64))) for i in range(4)])
    return Plan(schema, Fraction(1), 1, tuple(Question((name,), oue(Fraction(1), 64)) for name in schema.names))


def write(plan: Plan, n: int, path: Path) -> None:
    """Write rows with outputs that are uniform: what is counted does not change how long it takes."""
    words = np.random.default_rng(1)
    schema = report_schema(plan)
    limits = np.iinfo(np.int64)
    size = plan.questions[0].channel.alphabet.size
    low, high = (limits.min, limits.max) if schema.field("output").type == pa.int64() else (0, size - 1)
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, CHUNK):
            rows = min(CHUNK, n - start)
            columns = [
                words.integers(0, len(plan.questions), rows, dtype=np.int16),
                words.integers(low, high, rows, dtype=schema.field("output").type.to_pandas_dtype(), endpoint=True),
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=CHUNK)


def best(action: Callable[[], object], clock: Clock) -> tuple[float, float]:
    """Return the least core-seconds and the least seconds of a few runs, after one that warms up."""
    action()
    taken = []
    for _ in range(REPEATS):
        start = clock(), time.perf_counter()
        action()
        taken.append((clock() - start[0], time.perf_counter() - start[1]))
    return min(core for core, _ in taken), min(wall for _, wall in taken)


def copy_rate() -> float:
    """Return how many bytes a core copies in a second."""
    source = np.ones(COPIED // 8)
    target = np.empty_like(source)
    return COPIED / best(lambda: np.copyto(target, source), time.process_time)[0]


def summed() -> Ones:
    """The plain way to count ones, for comparison."""
    return Ones(
        lambda bits: [f"sum((word >> {i}) & 1) AS ones{i}" for i in range(bits)],
        lambda bits: [f"sum(ones{i})" for i in range(bits)],
    )


def variants(plan: Plan) -> dict[str, Ones]:
    """The ways to count the ones of a bit that any engine has, if there are sets."""
    return {"sums": summed(), "masks": sql.masked()} if sql.Layout(plan).bits else {}


def duckdb_runs(plan: Plan) -> dict[str, Run]:
    """What is measured with DuckDB."""
    import duckdb

    small = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "preserve_insertion_order": False})
    layout = sql.Layout(plan)

    def with_ones(ones: Ones, path: Path) -> Tally:
        text = layout.query("hush_reports", has_part=False, ones=ones)
        return totals.tally_of(layout, small.read_parquet(str(path)).query("hush_reports", text).fetchall())

    runs: dict[str, Run] = {
        "": lambda path: duck.tally(plan, path),
        f"within {MEMORY_LIMIT}": lambda path: duck.tally(plan, path, connection=small),
    }
    return runs | {name: partial(with_ones, ones) for name, ones in variants(plan).items()}


def spark_runs(plan: Plan, session: Any) -> dict[str, Run]:
    """What is measured with Spark."""
    from hush.engines import spark

    layout = sql.Layout(plan)

    def with_ones(ones: Ones, path: Path) -> Tally:
        text = layout.query("{reports}", has_part=False, ones=ones)
        return totals.tally_of(layout, session.sql(text, reports=session.read.parquet(str(path))).collect())

    runs: dict[str, Run] = {"": lambda path: spark.tally(plan, session.read.parquet(str(path)), own=0)}
    return runs | {name: partial(with_ones, ones) for name, ones in variants(plan).items()}


def cases(plan: Plan, spark: tuple[Any, Clock] | None) -> list[tuple[str, str, Run, Clock]]:
    """Return engine, variant, what to run and its clock."""
    result = [("DuckDB", name, run, time.process_time) for name, run in duckdb_runs(plan).items()]
    if spark:
        result += [("Spark", name, run, spark[1]) for name, run in spark_runs(plan, spark[0]).items()]
    return result


def spark_session() -> tuple[Any, Clock] | None:
    """Return a session in this machine's Java and the processor time of that, or None without PySpark."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(os.cpu_count()),
    }
    session = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    pid = session.sparkContext._gateway.proc.pid  # noqa: SLF001 - PySpark offers nothing public
    return session, lambda: process_seconds(pid)


def process_seconds(pid: int) -> float:
    """Return the processor time of another process, as Linux tells it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(symbols: int, sets: int, folder: Path) -> dict[str, Any]:
    """Generate, measure, return the figures."""
    spark = spark_session()
    rows: list[dict[str, Any]] = []
    rate = copy_rate()
    for kind, plan, n in (("symbols", symbol_plan(), symbols), ("sets of 64", set_plan(), sets)):
        large, small = folder / f"{kind}.parquet", folder / f"{kind}-small.parquet"
        write(plan, n, large)
        write(plan, n // 10, small)
        width = sum(field.type.bit_width // 8 for field in report_schema(plan))
        expected = duck.tally(plan, large)
        for engine, variant, run, clock in cases(plan, spark):
            assert run(large) == expected
            core, wall = best(partial(run, large), clock)
            fixed, _ = best(partial(run, small), clock)
            per_row = (core - fixed) / (n - n // 10)
            row = {
                "engine": engine,
                "variant": variant,
                "kind": kind,
                "rows": n,
                "ratio": per_row * rate / width,
                "rows_per_core_second": 1 / per_row,
                "fixed_core_seconds": max(0.0, core - n * per_row),
                "rows_per_second": n / wall,
                "bytes_per_row": large.stat().st_size / n,
            }
            rows.append(row)
            print(
                f"{engine:7} {kind:11} {variant:14} " + " ".join(f"{x:12.1f}" for x in list(row.values())[4:]),
                flush=True,
            )
    return {"python": sys.version.split()[0], "cores": os.cpu_count(), "copy_bytes_per_core_second": rate, "rows": rows}


def main() -> None:
    """Measure, and write the figures to benchmarks/results, and to the documents if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--symbols", type=int, default=40_000_000, help="rows with one symbol")
    parser.add_argument("--sets", type=int, default=10_000_000, help="rows with a set")
    parser.add_argument("--docs", action="store_true", help="also write what docs/scale.md shows")
    options = parser.parse_args()
    start, where = time.monotonic(), machine()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(options.symbols, options.sets, Path(folder))
    results |= {"machine": where, "wall_s": round(time.monotonic() - start, 1)}
    text = json.dumps(results, indent=1) + "\n"
    (FOLDER / "results").mkdir(exist_ok=True)
    (FOLDER / "results" / "engines.json").write_text(text)
    if options.docs:
        (FOLDER / "engines.json").write_text(text)


if __name__ == "__main__":
    main()
