"""The file of the embedded store: how it is locked and opened, and how the tables come to be there."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from hush.errors import StoreError

# Each step takes a database from one version to the next. Steps are only ever added.
MIGRATIONS = (
    """
    create table plans (
      number integer primary key, id text not null unique, plan text not null, keep text not null,
      open integer not null default 1, tally blob not null
    ) strict;
    create table runs (number integer primary key, owner integer not null, ids blob not null) strict;
    create table bodies (
      place integer primary key autoincrement, plan integer not null, reports integer not null, form integer not null,
      body blob not null
    ) strict;
    create index bodies_of_plan on bodies (plan, place);
    create table segments (
      number integer primary key, plan integer not null, file text not null, reports integer not null,
      digest text not null
    ) strict;
    create table trainings (
      number integer primary key, name text not null unique, wanted integer not null, round text not null,
      gradients blob not null, losses blob not null
    ) strict;
    create table rounds (
      training integer not null, number integer not null, weights text not null, people integer not null,
      loss real, loss_error real, primary key (training, number)
    ) strict, without rowid;
    """,
    # What readers see: the counts of an earlier moment.
    """
    create table shown (plan integer primary key, tally blob not null) strict
    """,
)


def locked(path: Path) -> IO[str]:
    """Lock a file beside the database, until it is closed or the process ends."""
    try:
        file = path.with_name(f"{path.name}.lock").open("w")
    except OSError as error:
        raise StoreError(f"the store cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StoreError("another process has this store open; SQLite serves one collector, PostgreSQL many") from None
    return file


def connect(path: Path) -> sqlite3.Connection:
    """Open a database in which a commit waits for the disk. Transactions are begun and ended by whoever uses it."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("pragma cache_size = -65536")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def failing(what: str = "used") -> Iterator[None]:
    """Turn what SQLite complains about into a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the store cannot be {what}: {error}") from error


def place_of(path: Path) -> tuple[int, int]:
    """Return the device and number of a file: another file that has taken its name has others."""
    found = path.stat()
    return found.st_dev, found.st_ino


def check(path: Path, place: tuple[int, int]) -> None:
    """Read the file by its name, as the next start will: by a connection of its own, which waits for no commit."""
    try:
        if place_of(path) != place:
            raise StoreError("another file has taken the name of this store")
    except OSError as error:
        raise StoreError(f"the store cannot be used: {error.strerror}") from None
    with failing(), closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", isolation_level=None, uri=True)) as db:
        if _version(db) != len(MIGRATIONS):
            raise StoreError(f"this store has become one of version {_version(db)}")
        db.execute("select number from plans limit 1").fetchall()


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> None:
    """Bring the tables to the version that is known here: each step as a whole, or not."""
    version = _version(db)
    if version > len(MIGRATIONS):
        raise StoreError(f"this store is of version {version}; this hush knows versions up to {len(MIGRATIONS)}")
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        with db:  # commits, or rolls back
            db.execute("begin immediate")
            for statement in script.split(";"):
                db.execute(statement)
            db.execute(f"pragma user_version = {number}")
