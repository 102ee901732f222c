"""A billion reports on disk, counted by DuckDB and by Spark: `python benchmarks/billion.py`.

Reports are drawn by the batch engine, written as Parquet and deleted in the end. Every count runs in a process of its
own, on files that were dropped from the page cache before, and must give exactly the tally that the batch engine counts
while it draws. Kept for each: wall time, processor time of all threads, the most memory, what was written to disk
because memory did not suffice, and what Spark's stages send each other. Spark runs with one worker and with two,
each a process with one core.

With two workers there is hardly a core left for anybody else: measure on an idle machine. The load is kept too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from measure import MEASURED, machine, progress
from measure import write as keep

from hush import Categorical, Numeric, Plan, Schema, Tally, batch, design
from hush.batch.reports import report_schema

FILES, STEP, GROUP = 20, 1 << 21, 1 << 20
DISK = "4GB"  # the most memory that DuckDB may take before it writes to disk
MEMORY = "1g"  # of each worker of Spark
CASES = ("duckdb", "spark 1", "spark 2")


def plans() -> dict[str, Plan]:
    """Ten numbers, one of which each person reports as a symbol; four categories of 64, one of them as a set."""
    numbers = Schema([Numeric(f"x{i}", 0, 1) for i in range(10)])
    sets = Schema([Categorical(f"c{i}", list(range(64))) for i in range(4)])
    return {"symbols": design(numbers, 1.0, k=1), "sets of 64": design(sets, 1.0, k=1)}


def people(plan: Plan) -> batch.Encoded:
    """Make up people, who answer again and again: their reports are drawn anew each time."""
    made_up = np.random.default_rng(1)
    columns = {
        item.name: made_up.random(STEP) if isinstance(item, Numeric) else made_up.integers(0, 64, STEP)
        for item in plan.schema.attributes
    }
    return batch.encode(plan, columns)


def write(plan: Plan, rows: int, folder: Path) -> Tally:
    """Write reports into files of equal size, forget them in memory, and return their tally."""
    held, tally = people(plan), Tally(plan)
    for place in range(FILES):
        path, left = folder / f"{place:02}.parquet", rows // FILES
        with pq.ParquetWriter(path, report_schema(plan)) as writer:
            while left:
                reports = batch.randomise(plan, held)[:left]
                tally += batch.tally(plan, reports)
                writer.write_table(reports, row_group_size=GROUP)
                left -= len(reports)
        forget(path)
        progress(f"  {(place + 1) * (rows // FILES):,} of {rows:,} reports")
    return tally


def forget(path: Path) -> None:
    """Drop a file from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# -- what runs in a process of its own


class Most:
    """The most that something was while it was watched."""

    def __init__(self, of: Callable[[], int]) -> None:
        self._of, self._ended, self.found = of, threading.Event(), 0
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            self.found = max(self.found, self._of())

    def __enter__(self) -> Most:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def size_of(folder: Path) -> int:
    """Return how many bytes the files of a folder have, now."""
    sizes = 0
    for path in folder.glob("**/*"):
        try:
            sizes += path.stat().st_size
        except FileNotFoundError:
            continue
    return sizes


def with_duckdb(plan: Plan, files: list[str]) -> dict[str, Any]:
    """Count with DuckDB."""
    import duckdb

    from hush.engines.duckdb import tally

    with tempfile.TemporaryDirectory() as spilt:
        connection = duckdb.connect(config={"memory_limit": DISK, "temp_directory": spilt})
        start = time.process_time(), time.perf_counter()
        with Most(lambda: size_of(Path(spilt))) as spill:
            found = tally(plan, files, connection=connection)
        core, wall = time.process_time() - start[0], time.perf_counter() - start[1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"wall": wall, "core": core, "memory": memory, "spilt": spill.found, "shuffled": 0, "tally": found}


def with_spark(plan: Plan, files: list[str], workers: int) -> dict[str, Any]:
    """Count with Spark: so many workers, each a process with one core."""
    with spark_session(workers) as session:
        from hush.engines.spark import tally

        frame = session.read.parquet(*files)
        frame.limit(1).collect()  # starts the workers
        children = [pid for pid in below(os.getpid()) if "java" in command(pid)]
        start = seconds(children), time.perf_counter()
        found = tally(plan, frame, own=0)
        wall, core = time.perf_counter() - start[1], seconds(children) - start[0]
        stages = stages_of(session)
        memory = sum(most_memory(pid) for pid in children)
    return {
        "wall": wall,
        "core": core,
        "memory": memory,
        "spilt": sum(stage["diskBytesSpilled"] for stage in stages),
        "shuffled": sum(stage["shuffleWriteBytes"] for stage in stages),
        "tally": found,
    }


@contextmanager
def spark_session(workers: int) -> Iterator[Any]:
    """Lend a session."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": MEMORY,
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(workers),
    }
    master = f"local-cluster[{workers},1,1024]"
    session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def stages_of(session: Any) -> list[dict[str, Any]]:
    """Return what Spark says about its stages."""
    context = session.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url) as answer:  # noqa: S310 - Spark's own address
        stages: list[dict[str, Any]] = json.load(answer)
    return stages


def below(pid: int) -> list[int]:
    """Return all processes that descend from one."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = [int(child) for task in children.parents[1].glob("*/children") for child in task.read_text().split()]
    return found + [grandchild for child in found for grandchild in below(child)]


def command(pid: int) -> str:
    """Return the program of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]


def seconds(pids: list[int]) -> float:
    """Return the processor time of other processes."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def most_memory(pid: int) -> int:
    """Return the most memory that another process had."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def count(kind: str, case: str, folder: Path) -> None:
    """Count in this process, and leave figures and tally in the folder."""
    plan = plans()[kind]
    files = sorted(map(str, folder.glob("*.parquet")))
    row = with_duckdb(plan, files) if case == "duckdb" else with_spark(plan, files, int(case.split()[1]))
    tally = row.pop("tally")
    (folder / "tally").write_bytes(tally.encode())
    (folder / "row.json").write_text(json.dumps(row))


# -- all of it


def measured(kind: str, case: str, folder: Path, tally: Tally) -> dict[str, Any]:
    """Count in a process of its own, and compare."""
    files = sorted(folder.glob("*.parquet"))
    for path in files:
        forget(path)
    load = os.getloadavg()[0]
    subprocess.run([sys.executable, __file__, "--count", kind, case, str(folder)], check=True)  # noqa: S603 - itself
    assert Tally.decode(plans()[kind], (folder / "tally").read_bytes()) == tally, "it counted something else"
    size = sum(path.stat().st_size for path in files)
    row: dict[str, Any] = {"kind": kind, "case": case, "rows": tally.reports, "bytes": size, "load": load}
    row |= json.loads((folder / "row.json").read_text())
    return row


def _others(only: str | None) -> list[dict[str, Any]]:
    """Return the kept rows of reports that are not measured now."""
    path = MEASURED / "billion.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if only and path.exists() else []
    return [row for row in kept if row["kind"] != only]


def main() -> None:
    """Draw, write, count, delete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--folder", type=Path, help="where there is room: some 10 GB for a billion rows")
    parser.add_argument(
        "--only", choices=list(plans()), help="these reports alone; the rows of the others stay as they are"
    )
    parser.add_argument("--keep", action="store_true", help="for docs/scale.md")
    parser.add_argument("--count", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        kind, case, folder = options.count
        count(kind, case, Path(folder))
        return
    found: dict[str, Any] = {"machine": machine(), "rows": _others(options.only)}
    for kind, plan in plans().items():
        if options.only not in (None, kind):
            continue
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            start = time.perf_counter()
            tally = write(plan, options.rows, Path(name))
            progress(f"{kind}: drawn, counted and written in {time.perf_counter() - start:.0f} s")
            for case in CASES:
                row = measured(kind, case, Path(name), tally)
                found["rows"].append(row)
                progress(", ".join(f"{key} {value}" for key, value in row.items()))
    keep("billion", found, options.keep)


if __name__ == "__main__":
    main()
