"""What the tree of ids in memory earns against the database's own index: `python benchmarks/id_ways.py --keep`.

Two stores on SQLite take the same single reports in turns, in the same groups, with everything that belongs to a
commit: hush's own, and one that differs in its ids alone, which are rows of a table without rowids (`insert or
ignore`). Each has so many ids before. `rate` is reports per second by the clock, as a commit waits for the disk, and
`processor` by processor time; the best of several rounds counts. `start` is how long opening takes, in seconds,
`memory` the MiB that it takes, and `file` those of the ids on disk. PostgreSQL has such an index in any case, as
several processes share it: with the `--postgres` URL of an empty database its rate is measured with as many ids.
`--keep` writes docs/measured/id-ways.json.
"""

# ruff: noqa: SLF001  # it fills stores in ways that they have no use for

from __future__ import annotations

import argparse
import gc
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from measure import machine, progress, write

import hush
from hush.collector.stores.base import Store
from hush.collector.stores.bookkeeping import Group, IdBook, ids_of
from hush.collector.stores.postgres import PostgresStore
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Result, Single, Submission
from hush.collector.vectors import plus

RUN = 64  # ids of one commit before
COMMITS, ROUNDS = 200, 5
MIB = 1 << 20
SCHEMA = hush.Schema([hush.Categorical("os", ["linux", "mac"])])


class Indexed(SqliteStore):
    """Keeps ids as rows, and asks the database which are new."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._db.execute(
            "create table if not exists seen (owner integer not null, id blob not null, primary key (owner, id)) "
            "strict, without rowid"
        )

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        """Commit as `SqliteStore` does, but for the ids."""
        with self._lock, self._transaction():
            fresh: dict[int, set[bytes]] = {}
            for owner, ids in ids_of(submissions, self._plans, self._trainings).items():
                fresh[owner] = {
                    id_
                    for id_ in sorted(ids)
                    if self._db.execute("insert or ignore into seen values (?, ?)", (owner, id_)).rowcount
                }
            group = Group(self._plans, self._trainings, IdBook(fresh))
            outcomes = [group.take(submission) for submission in submissions]
            for number, book in group.plans.items():
                self._vectors[number] = plus(self._vectors[number], book.added)
                self._write_plan(number, book, self._vectors[number])
            self._db.executemany("delete from seen where owner = ? and id = ?", group.ids.left())
            return outcomes


def ids_in_runs(wanted: int) -> Iterator[bytes]:
    """Yield random ids, a run at a time."""
    for _ in range(wanted // RUN):
        run = os.urandom(16 * RUN)
        yield b"".join(sorted(run[at : at + 16] for at in range(0, len(run), 16)))


def fill_tree(store: SqliteStore, wanted: int) -> None:
    """Write runs, as earlier commits have left them."""
    store._db.execute("begin")
    store._db.executemany("insert into runs (owner, ids) values (1, ?)", ((run,) for run in ids_in_runs(wanted)))
    store._db.execute("commit")


def fill_index(store: SqliteStore, wanted: int) -> None:
    """Write rows, in order: in the order of arrival it would take very long."""
    ids = sorted(run[at : at + 16] for run in ids_in_runs(wanted) for at in range(0, len(run), 16))
    store._db.execute("begin")
    store._db.executemany("insert into seen values (1, ?)", ((id_,) for id_ in ids))
    store._db.execute("commit")


def fill_postgres(store: PostgresStore, wanted: int) -> None:
    """Write rows, in the order of arrival."""
    with store._pool.transaction(patient=True) as db:
        db.execute("insert into seen select 1, uuid_send(gen_random_uuid()) from generate_series(1, %s)", (wanted,))
    with store._pool.session() as db:
        db.execute("set statement_timeout = 0")
        db.execute("vacuum analyze seen")
        db.execute("reset statement_timeout")


def memory() -> float:
    """Return the MiB that this process has in memory."""
    gc.collect()
    return int(re.findall(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024


def reports(plan: hush.Plan, number: int) -> list[Single]:
    """Return reports with ever new ids."""
    body = hush.randomise(plan, {"os": "mac"}).encode()
    made = (hush.Report.decode(plan, body[:9] + os.urandom(16) + body[25:]) for _ in range(number))
    return [Single(plan, one) for one in made]


def rates(stores: dict[str, Store], plan: hush.Plan, group: int) -> dict[str, dict[str, float]]:
    """Return the best rates of stores that take groups in turns."""
    best: dict[str, list[float]] = {name: [float("inf")] * 2 for name in stores}
    for _ in range(ROUNDS):
        for name, store in stores.items():
            sent = [reports(plan, group) for _ in range(COMMITS)]
            wall, used = time.perf_counter(), time.process_time()
            for some in sent:
                store.commit(some)
            spent = time.perf_counter() - wall, time.process_time() - used
            best[name] = [min(pair) for pair in zip(best[name], spent, strict=True)]
    total = COMMITS * group
    return {
        name: {"rate": round(total / wall), "processor": round(total / used)} for name, (wall, used) in best.items()
    }


Fill = Callable[[Any, int], None]
WAYS: dict[str, tuple[type[SqliteStore], Fill]] = {"tree": (SqliteStore, fill_tree), "index": (Indexed, fill_index)}


def on_sqlite(wanted: int, groups: Sequence[int], folder: Path) -> dict[str, Any]:
    """Fill both stores, open them again, and let them take reports in turns."""
    plan, stores, found = hush.design(SCHEMA, 1.0, title="ids"), {}, {}
    for name, (kind, fill) in WAYS.items():
        path = folder / f"{name}-{wanted}.db"
        store = kind(path)
        store.add_plan(plan, "tallies")
        empty = path.stat().st_size
        fill(store, wanted)
        store.close()
        size = path.stat().st_size - empty
        before, began, used = memory(), time.perf_counter(), time.process_time()
        stores[name] = kind(path)
        row = {"start": round(time.perf_counter() - began, 2), "start_processor": round(time.process_time() - used, 2)}
        found[name] = row | {"memory": round(memory() - before, 1), "file": round(size / MIB, 1)}
        progress(f"{wanted:,} ids, {name}: {found[name]}")
    for group in groups:
        for name, row in rates({**stores}, plan, group).items():
            found[name] |= {f"{key}_{group}": value for key, value in row.items()}
            progress(f"{wanted:,} ids, {name}, groups of {group}: {row}")
    for name, store in stores.items():
        before = memory()
        store.close()
        progress(f"{name} closed: {memory() - before:.0f} MiB")
        (folder / f"{name}-{wanted}.db").unlink()
    return found


def on_postgres(url: str, wanted: int, groups: Sequence[int]) -> dict[str, Any]:
    """Fill a store, and let it take reports."""
    plan = hush.design(SCHEMA, 1.0, title="ids")
    store = PostgresStore(url)
    store.add_plan(plan, "tallies")
    with store._pool.session() as db:
        db.execute("truncate seen")
    fill_postgres(store, wanted)
    found: dict[str, Any] = {}
    for group in groups:
        row = rates({"postgres": store}, plan, group)["postgres"]
        found |= {f"{key}_{group}": value for key, value in row.items()}
    progress(f"{wanted:,} ids, PostgreSQL: {found}")
    store.close()
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--ids", type=int, nargs="+", default=[0, 1_000_000, 10_000_000], help="ids before")
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 16, 256], help="reports of one commit")
    parser.add_argument("--postgres", metavar="URL", help="an empty database")
    parser.add_argument("--keep", action="store_true", help="write docs/measured/id-ways.json")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(), "groups": options.groups, "rows": []}
    with tempfile.TemporaryDirectory() as name:
        for wanted in options.ids:
            row = {"ids": wanted, **on_sqlite(wanted, options.groups, Path(name))}
            if options.postgres:
                row["postgres"] = on_postgres(options.postgres, wanted, options.groups)
            results["rows"].append(row)
            print(row)
    write("id-ways", results, options.keep)


if __name__ == "__main__":
    main()
