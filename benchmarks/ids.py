"""The memory that stored ids take: `python benchmarks/ids.py --keep`, beside 12 bytes for each of them.

No HTTP: first a store on SQLite takes single reports in groups of 64, with everything that belongs to a commit; then an
index of ids takes ids alone, in runs of 200. The memory of this process is compared with 12 bytes for an id, after
every twentieth part of them; and so is its peak since the last look, as merging takes more for a moment. SQLite may
hold 64 MiB of its file in memory besides. The longest step (a commit, or a run that is added) is measured in processor
time, as others may use the machine: waiting for the disk is not part of it. `--keep` writes docs/measured/ids.json.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import machine, progress, write

RUN, GROUP = 200, 64
LOOKS = 20
EACH = 12  # bytes of memory
MIB = 1 << 20


def memory() -> tuple[float, float]:
    """Return the MiB that this process has in memory, and the most since the last call."""
    status = Path("/proc/self/status").read_text()
    now, peak = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return now, peak


def watched(steps: Iterator[int], wanted: int) -> list[dict[str, float]]:
    """Return rows of how much memory was taken beside the ids, as their number grows."""
    before, _ = memory()
    rows: list[dict[str, float]] = []
    longest, began = 0.0, time.thread_time()
    for ids in steps:
        longest = max(longest, time.thread_time() - began)
        if ids * LOOKS >= wanted * (len(rows) + 1):
            now, peak = memory()
            taken = EACH * ids / MIB
            rows.append(
                {
                    "ids": ids,
                    "formula": round(taken, 1),
                    "taken": round(now - before, 1),
                    "peak": round(peak - before, 1),
                    "longest_ms": round(1e3 * longest, 1),
                }
            )
            longest = 0.0
            progress(f"{ids:,} ids, {taken:.0f} MiB: {now - before:.0f} taken, at most {peak - before:.0f}")
        began = time.thread_time()
    return rows


def alone(wanted: int) -> Iterator[int]:
    """Fill an index of ids."""
    from hush.collector.stores.ids import IdIndex

    index = IdIndex(lambda _: b"")
    yield 0
    for number in range(1, wanted // RUN + 1):
        index.add(number, os.urandom(16 * RUN))
        yield index.size


def stored(wanted: int, folder: Path) -> Iterator[int]:
    """Commit single reports with ever new ids."""
    import hush
    from hush.collector.stores.sqlite import SqliteStore
    from hush.collector.submissions import Single

    plan = hush.design(hush.Schema([hush.Categorical("os", ["linux", "mac"])]), 1.0, title="memory")
    report = hush.randomise(plan, {"os": "mac"}).encode()
    store = SqliteStore(folder / "store.db")
    store.add_plan(plan, "tallies")
    for ids in range(0, wanted, GROUP):
        reports = [hush.Report.decode(plan, report[:9] + os.urandom(16) + report[25:]) for _ in range(GROUP)]
        store.commit([Single(plan, one) for one in reports])
        yield ids + GROUP
    store.close()


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return what was taken beside the ids, and at most for an id."""
    return {
        "ids": rows[-1]["ids"],
        "taken": rows[-1]["taken"],
        "beside": max(round(row["taken"] - row["formula"], 1) for row in rows),
        "beside_last": round(rows[-1]["taken"] - rows[-1]["formula"], 1),
        "peak_each": max(round(row["peak"] * MIB / row["ids"], 1) for row in rows[LOOKS // 4 :]),
        "longest_ms": max(row["longest_ms"] for row in rows[1:]),  # modules are loaded in the first
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--ids", type=int, default=10_000_000, help="how many the index takes")
    parser.add_argument("--reports", type=int, default=1_000_000, help="how many single reports a store takes")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/ids.json")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory() as name:
        ways = [
            ("store", stored(options.reports, Path(name)), options.reports),
            ("index", alone(options.ids), options.ids),
        ]
        for way, steps, wanted in ways:
            if wanted:
                rows = watched(steps, wanted)
                results[way] = {**summary(rows), "rows": rows}
                print(way, summary(rows))
    write("ids", results, options.keep)


if __name__ == "__main__":
    main()
