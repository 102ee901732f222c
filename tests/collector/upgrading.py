"""Stores of older versions, and kills (SIGKILL) while they are upgraded.

A child opens a store of version 1. It is killed at one of its statements, by turns standing still before it or running
on for a moment. Then the store must have what it had, once, in tables that are all of version 1 or all of this one. The
next child goes on with it. In the end hush opens it, and everything is sent again.
"""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from hush.collector.stores import postgres_connections, postgres_tables, sqlite_file
from hush.collector.stores.opening import open_store
from hush.collector.submissions import Outcome
from tests.collector import places
from tests.collector.places import Place, plan

MOMENT = 0.004  # seconds that a child runs on at most before it is killed
OLDEST = 1
Rows = dict[str, list[tuple[Any, ...]]]


def known(place: Place) -> int:
    """Return the version of the tables that hush makes."""
    return len(sqlite_file.MIGRATIONS if place.kind == "sqlite" else postgres_tables.MIGRATIONS)


# -- older stores


def older(place: Place, version: int = OLDEST) -> None:
    """Turn a store into one that an older hush has written: tables of that version, with the same rows."""
    if place.kind == "sqlite":
        _older_file(_path(place), version)
        return
    with psycopg.connect(place.url) as db:
        db.execute("alter schema hush rename to newer")
        db.execute("create schema hush")
        db.execute("set local search_path = hush")
        for script in postgres_tables.MIGRATIONS[:version]:
            db.execute(script)
        for table, names in _columns(db).items():
            columns = sql.SQL(", ").join(map(sql.Identifier, names))
            into, out = sql.Identifier("hush", table), sql.Identifier("newer", table)
            copy = "insert into {} ({}) overriding system value select {} from {}"
            db.execute(sql.SQL(copy).format(into, columns, columns, out))
            for name in names:
                (counter,) = db.execute("select pg_get_serial_sequence(%s, %s)", (f"hush.{table}", name)).fetchall()[0]
                if counter is not None:
                    last = sql.SQL("select setval(%s, (select coalesce(max({}), 0) + 1 from {}), false)")
                    db.execute(last.format(sql.Identifier(name), into), (counter,))
        db.execute("create table version (number integer not null)")
        db.execute("insert into version values (%s)", (version,))
        db.execute("drop schema newer cascade")


def _older_file(path: Path, version: int) -> None:
    old = path.with_suffix(".older")
    old.unlink(missing_ok=True)
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        sqlite_file.migrate(db, sqlite_file.MIGRATIONS[:version])
        db.execute("attach ? as newer", (str(path),))
        for (table,) in db.execute("select name from main.sqlite_master where type = 'table'").fetchall():
            if table.startswith("sqlite_"):
                continue
            names = ", ".join(row[1] for row in db.execute(f"pragma main.table_info({table})"))
            db.execute(f"delete from main.{table}")  # noqa: S608 - names of our own tables, as in all of this file
            db.execute(f"insert into main.{table} ({names}) select {names} from newer.{table}")  # noqa: S608
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    old.chmod(0o600)
    old.rename(path)


def _path(place: Place) -> Path:
    return Path(place.url.removeprefix("sqlite://"))


def _columns(db: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Return the columns of every table but that of the version."""
    rows = db.execute(
        "select table_name, column_name from information_schema.columns "
        "where table_schema = 'hush' and table_name <> 'version' order by table_name, ordinal_position"
    ).fetchall()
    found: dict[str, list[str]] = {}
    for table, name in rows:
        found.setdefault(table, []).append(name)
    return found


# -- what a store has


def state(place: Place) -> tuple[int, dict[str, list[str]], Rows]:
    """Return the version of a store, its columns by table, and the rows of all tables, at one moment."""
    if place.kind == "sqlite":
        with closing(sqlite3.connect(_path(place), isolation_level=None)) as file:
            file.execute("begin")
            (version,) = file.execute("pragma user_version").fetchone()
            names = [
                name
                for (name,) in file.execute("select name from sqlite_master where type = 'table' order by name")
                if not name.startswith("sqlite_")
            ]
            columns = {name: [row[1] for row in file.execute(f"pragma table_info({name})")] for name in names}
            rows = {name: _sorted(file.execute(f"select * from {name}")) for name in names}  # noqa: S608
            return version, columns, rows
    with psycopg.connect(place.url) as db:
        db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        ((version,),) = db.execute("select number from hush.version").fetchall()
        columns = _columns(db)
        select = sql.SQL("select {} from {}")
        rows = {
            table: _sorted(
                db.execute(select.format(sql.SQL(", ").join(map(sql.Identifier, some)), sql.Identifier("hush", table)))
            )
            for table, some in columns.items()
        }
        return version, columns, rows


def _sorted(rows: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=repr)


def first_rows(place: Place) -> Rows:
    """Return what every version must have: the rows of the oldest tables, in their columns; ids one by one."""
    oldest = OLDEST_COLUMNS[place.kind]
    _, columns, rows = state(place)
    found = {
        table: _sorted([tuple(row[columns[table].index(name)] for name in names) for row in rows[table]])
        for table, names in oldest.items()
        if table != "runs"
    }
    if "runs" in rows:  # rows of ids may be put together
        ids = [(row[1], row[2][at : at + 16]) for row in rows["runs"] for at in range(0, len(row[2]), 16)]
        found["runs"] = sorted(ids)
    return found


OLDEST_COLUMNS = {
    "sqlite": {
        "plans": ["number", "id", "plan", "keep", "open", "tally"],
        "runs": ["number", "owner", "ids"],
        "bodies": ["place", "plan", "reports", "form", "body"],
        "trainings": ["number", "name", "wanted", "round", "gradients", "losses"],
    },
    "postgresql": {
        "plans": ["number", "id", "plan", "keep", "open"],
        "tallies": ["plan", "shard", "vector"],
        "seen": ["plan", "id"],
        "bodies": ["place", "plan", "reports", "form", "body"],
        "trainings": ["number", "name", "wanted", "current", "round", "gradients", "losses"],
    },
}


# -- kills


def open_until(url: str, stop: int, still: bool, line: Any) -> None:
    """Open a store; at statement `stop` say so, and stand still or go on. In the end say how many there were."""
    count = 0

    def note() -> None:
        nonlocal count
        count += 1
        if count == stop:
            line.send("here")
            if still:
                time.sleep(600)

    class File(sqlite3.Connection):
        def execute(self, *given: Any, **named: Any) -> Any:
            note()
            return super().execute(*given, **named)

    connect, execute = sqlite3.connect, postgres_connections.Connection.execute

    def noted(self: Any, *given: Any, **named: Any) -> Any:
        note()
        return execute(self, *given, **named)

    sqlite_file.sqlite3.connect = lambda path, **named: connect(path, factory=File, **named)  # type: ignore[attr-defined]
    postgres_connections.Connection.execute = noted  # type: ignore[method-assign]
    store = open_store(url)
    line.send(count)
    time.sleep(600 if stop else 0)
    store.close()


class Opening:
    """A process that opens a store."""

    def __init__(self, url: str, stop: int = 0, *, still: bool = False) -> None:
        spawn = multiprocessing.get_context("forkserver")
        spawn.set_forkserver_preload(["tests.collector.upgrading"])  # the children import nothing
        self._line, other = spawn.Pipe()
        self._process = spawn.Process(target=open_until, args=(url, stop, still, other), daemon=True)
        self._process.start()
        other.close()

    def said(self) -> str | int:
        """Wait for the next thing that it says."""
        assert self._line.poll(60), "the child says nothing"
        found: str | int = self._line.recv()
        return found

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.join()
        self._line.close()


def filled(place: Place) -> list[Any]:
    """Put reports, a closed plan and a training into a new store; return the submissions of reports."""
    with place.opened() as store:
        store.add_plan(plan())
        store.add_plan(plan("closed"))
        store.add_training("training", places.first_round(), 100)
        sent = [places.singles(places.reports(8)) for _ in range(6)]
        for group in [*sent, places.singles(places.reports(3, plan("closed")))]:
            store.commit(group)
        store.commit(places.gradients(places.first_round(), 2))
        store.close_plan(plan("closed").id)
    return [one for group in sent for one in group]


def kills(place: Place, number: int, seed: int = 1, after: Callable[[int], object] = lambda _: None) -> dict[str, int]:
    """Kill so many upgrades of a store that is empty now; return how many of them were undone, and how many done.

    `after` is called after each kill.
    """
    sent, draw = filled(place), random.Random(seed)
    older(place)
    before = first_rows(place)
    whole = Opening(place.url)
    statements = int(whole.said())
    whole.kill()
    assert state(place)[0] == known(place)
    current = state(place)[1]
    older(place)
    old = state(place)[1]
    found = {"statements": statements, "undone": 0, "done": 0}
    for turn in range(number):
        child = Opening(place.url, 1 + turn * 7919 % statements, still=turn % 2 == 0)
        child.said()
        time.sleep(0 if turn % 2 == 0 else draw.uniform(0, MOMENT))
        child.kill()
        after(turn)
        version, columns, _ = state(place)
        assert first_rows(place) == before, f"kill {turn}: the store has other rows than before"
        assert (version, columns) in ((OLDEST, old), (known(place), current)), f"kill {turn}: tables of {version}"
        found["undone" if version == OLDEST else "done"] += 1
        if version != OLDEST:
            older(place)
    with place.opened() as store:
        assert store.commit(sent) == [Outcome.REPEATED] * len(sent)
        assert store.commit(places.singles(places.reports(1))) == [Outcome.NEW]
        assert store.tally(plan()).reports == len(sent) + 1
        assert store.tally(plan("closed")).reports == 3
        assert store.live("training").received == 2
    return found
