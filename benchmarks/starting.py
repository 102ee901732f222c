"""How long a collector takes to start with a million ids: `python benchmarks/starting.py`.

`hush serve`, as a process of its own, until `/readyz` answers 200: with an empty store, with one whose ids came in
groups of 64 reports, and with one whose plan was being closed when it was killed, so that most ids are left. On SQLite
and on PostgreSQL. Each is the best of some starts, beside reading the store's files once: a ratio says more than
seconds on a machine that others use. The seconds of an empty store are those of the modules.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import ROOT, machine, progress, write

import hush
from hush.collector.stores.base import Store
from hush.collector.stores.opening import open_store
from hush.collector.submissions import Single
from hush.core.report import ID_SIZE, Report

sys.path.append(str(ROOT))

from tests.collector import postgres  # a neighbour, not a part of the package

GROUP = 64
LEFT = 0.75  # of the ids, when a kill came while their plan was being closed
PLAN = hush.design(hush.Schema([hush.Categorical("os", ["linux", "mac"])]), 1.0, title="starting")


def fill(store: Store, wanted: int) -> None:
    """Commit single reports in groups."""
    answers = hush.randomise(PLAN, {"os": "mac"}).answers
    store.add_plan(PLAN, "tallies")
    for _ in range(0, wanted, GROUP):
        store.commit([Single(PLAN, Report(PLAN, os.urandom(ID_SIZE), answers)) for _ in range(GROUP)])
    store.close()


def started(url: str) -> float:
    """Return the seconds until a collector is ready."""
    command = [sys.executable, "-m", "hush", "serve", "--store", url, "--port", "0", "--json"]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - itself
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        urllib.request.urlopen(f"{address}/readyz").read()  # noqa: S310 - of this machine
        return time.perf_counter() - began
    finally:
        process.kill()  # it forgets little of what was left
        process.wait()


def reading(folder: Path) -> float:
    """Return the seconds of reading all files of a folder once."""
    began = time.perf_counter()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass
    return time.perf_counter() - began


Case = tuple[str, str, Path, Callable[[], None]]


def cases(wanted: int, folder: Path) -> Iterator[Case]:
    """Prepare stores; yield the name of each, its URL, the folder of its files, and what is done before a start."""
    for name, number in (("empty", GROUP), ("ids", wanted)):
        place = folder / name
        place.mkdir()
        fill(open_store(f"sqlite://{place / 'hush.db'}"), number)
        yield f"SQLite, {name}", f"sqlite://{place / 'hush.db'}", place, lambda: None
    import sqlite3

    kept, place = folder / "kept.db", folder / "ids"
    database = sqlite3.connect(place / "hush.db")
    database.execute("update plans set open = 0")
    database.execute("delete from runs where number <= (select max(number) / 4 from runs)")
    database.commit()
    database.close()
    shutil.copy(place / "hush.db", kept)
    yield "SQLite, left", f"sqlite://{place / 'hush.db'}", place, lambda: restore(kept, place)
    with postgres.running() as server:
        if server is None:
            progress("no PostgreSQL here")
            return
        for name, number in (("empty", GROUP), ("ids", wanted)):
            url = server.database()
            fill(open_store(url), number)
            yield f"PostgreSQL, {name}", url, server.data / "base", lambda: None
        import psycopg

        def left() -> None:
            with psycopg.connect(url) as db:
                db.execute("update hush.plans set open = false")
                db.execute("delete from hush.seen")
                db.execute(
                    "insert into hush.seen select 1, decode(md5(i::text), 'hex') from generate_series(1, %s) as i",
                    (round(wanted * LEFT),),
                )

        yield "PostgreSQL, left", url, server.data / "base", left


def restore(kept: Path, place: Path) -> None:
    """Put a copy into the place of a store."""
    for path in place.iterdir():
        path.unlink()
    shutil.copy(kept, place / "hush.db")


def main() -> None:
    """Measure, print, and keep if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", type=int, default=1_000_000)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="into docs/measured/starting.json")
    options = parser.parse_args()
    where = machine()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, url, place, before in cases(options.ids, Path(folder)):
            best = float("inf")
            for _ in range(options.starts):
                before()
                best = min(best, started(url))
            read = min(reading(place) for _ in range(options.starts))
            rows.append({"store": name, "seconds": round(best, 2), "reading": round(read, 3)})
            progress(
                f"{name}: {best:.2f} s until it is ready; its files are read in {read:.3f} s ({best / read:.0f} times)"
            )
    write("starting", {"machine": where, "ids": options.ids, "rows": rows}, options.keep)


if __name__ == "__main__":
    main()
