"""The file of the embedded store: how it is locked and opened, and how the tables come to be there.

**The lock** is on the database itself: one byte of it, far behind its end, by an open file description (OFD) lock. It
belongs to the file and not to a name, so a hard link leads to the same lock, and no file beside the database can be
removed to get around it. It is apart from the bytes that SQLite locks, so other programs read, and copy, meanwhile.
`flock` would lock the whole file, which collides with SQLite's own locks on macOS and NFS; SQLite's own
`locking_mode = exclusive` would keep readers out.

**One handle.** A process that closes any handle of a file loses all POSIX locks that it has on it, and SQLite uses
those: another program could then remove the log in use. So this module opens the file once, keeps the handle until
SQLite has closed, and refuses a second store on the same file before it opens anything.

**Names.** The next start finds a database by its name, and SQLite finds the log by the name of the database. So a
commit counts only if all three names still lead to the files that are written, before it and after it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import stat
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hush.collector.stores.versions import HERE, Version
from hush.errors import StoreError

logger = logging.getLogger("hush.collector")

APPLICATION = 1752527720  # SQLite's application_id: "hush" in ASCII, 0x68757368
BYTE = 1 << 62  # the byte that is locked: SQLite's are at 2^30

# Each step takes a database from one version to the next. Steps are only ever added.
MIGRATIONS = (
    """
    pragma application_id = 1752527720;
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
    create table pulse (beats integer not null) strict;
    insert into pulse values (0);
    """,
    # The counts that readers see: those of an earlier moment.
    """
    create table shown (plan integer primary key, tally blob not null) strict
    """,
    # Pilots: the reports and the later people that the operator named, the reports at the next try, the second plan.
    """
    create table narrowings (
      plan integer primary key, first integer not null, people integer not null, wanted integer not null, second integer
    ) strict
    """,
    # Counts by day or week, if the operator asks for them: the reports by which the shown counts moved.
    """
    create table periods (
      plan integer not null, start integer not null, days integer not null, tally blob not null,
      primary key (plan, start, days)
    ) strict, without rowid
    """,
    # What was published of a training before its pilot; null if an operator began with a first round.
    """
    alter table trainings add column course text
    """,
    # Counts that are still to be added to a tally: a wide one is not written anew for every report.
    """
    create table increments (plan integer not null, counts blob not null) strict
    """,
    # The public keys that were given out for a plan, until it is closed; and sealed reports that did not open.
    """
    create table given (plan integer not null, key blob not null, primary key (plan, key)) strict, without rowid;
    create table refused (plan integer primary key, reports integer not null) strict
    """,
    # How many of the reports in a body or a segment are a relay's own; null where an older hush did not write it.
    """
    alter table bodies add column own integer;
    alter table segments add column own integer
    """,
    # The names of this store, and what other stores have handed on under theirs; null if it was withdrawn, or if
    # a later name came in its place.
    """
    create table names (number integer primary key, name blob not null unique) strict;
    insert into names (name) values (randomblob(16));
    create table handed (
      plan integer not null, name blob not null, tally blob, later blob, primary key (plan, name)
    ) strict, without rowid
    """,
    # The hush that has written here last, for errors about versions.
    """
    create table writer (hush text not null) strict
    """,
)

_held: set[tuple[int, int]] = set()  # the files that this process has locked
_holding = threading.Lock()


class Locked:
    """The file of a store, made if it is missing, and locked until it is closed or the process ends."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._path, self._handle = path, -1
        with _holding:
            self._refuse_again()
            try:
                # Nobody else may read it, whatever the umask. SQLite gives the files beside it the same permissions.
                self._handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
            except FileNotFoundError:
                missing = path.parent.is_dir()
                raise StoreError(f"the store cannot be opened: no such {'file' if missing else 'folder'}") from None
            except OSError as error:
                raise StoreError(f"the store cannot be opened: {error.strerror}") from None
            try:
                _lock(self._handle)
                self._found = os.fstat(self._handle)
                self._check_file()
                _held.add(_place(self._found))
            except BaseException:
                if _place(os.fstat(self._handle)) not in _held:  # its name was changed a moment ago: see "One handle"
                    os.close(self._handle)
                raise
        self._places: dict[Path, tuple[int, int]] = {}

    def _refuse_again(self) -> None:
        try:
            if _place(self._path.stat()) in _held:
                raise StoreError("this process has this store open already")
        except OSError:
            return  # it is made, or opening names the error

    def _check_file(self) -> None:
        """Refuse files that would lose reports."""
        found, log = self._found, self._path.with_name(f"{self._path.name}-wal")
        if not stat.S_ISREG(found.st_mode):
            raise StoreError("the store cannot be opened: it is no file")
        if found.st_nlink != 1:
            raise StoreError(
                f"the file of the store has {found.st_nlink} names (hard links), and its log lies beside one of them: "
                "remove the others, or make a copy"
            )
        if not found.st_size and log.exists() and log.stat().st_size:
            raise StoreError(
                f"the log {log.name} lies here without its database: bring that back, or move the log away"
            )

    def settle(self) -> None:
        """Note which files are written, once SQLite has opened them all. Warn if others may read them."""
        beside = [self._path.with_name(self._path.name + end) for end in ("-wal", "-shm")]
        self._places = {self._path: _place(self._found)}
        self.check()
        try:
            self._places |= {path: _place(path.stat()) for path in beside}
        except OSError as error:
            raise StoreError(f"the log of the store cannot be found: {error.strerror}") from None
        if self._found.st_mode & 0o077:  # this may be intended: for a group that makes copies
            logger.warning("others on this machine may read the file of the store: chmod 600 %s*", self._path.name)

    def check(self) -> None:
        """Refuse to go on if the next start would not find new reports."""
        for path, place in self._places.items():
            try:
                if _place(path.stat()) != place:
                    raise StoreError(
                        f"another file has taken the name of {path.name}: nothing is counted until it is back"
                    )
            except OSError as error:
                raise StoreError(f"{path.name} cannot be found ({error.strerror}): nothing is counted") from None

    def close(self) -> None:
        """Let go of the file. SQLite must have closed it before."""
        with _holding:
            if self._handle >= 0:
                os.close(self._handle)
                _held.discard(_place(self._found))
                self._handle = -1


def _place(found: os.stat_result) -> tuple[int, int]:
    """Return the device and number of a file: another file that has taken its name has others."""
    return found.st_dev, found.st_ino


def _lock(handle: int) -> None:
    if not hasattr(fcntl, "F_OFD_SETLK"):
        raise StoreError("this system cannot lock the file of a store: use PostgreSQL")
    kind, start = fcntl.F_WRLCK, BYTE
    if sys.platform == "darwin":
        wanted = struct.pack("qqihh", start, 1, 0, kind, os.SEEK_SET)
    else:
        wanted = struct.pack("hhqqi0q", kind, os.SEEK_SET, start, 1, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        raise StoreError(
            "another process has this store open; SQLite serves one collector, PostgreSQL many. Stop it first, or use "
            "a copy (sqlite3 FILE \"VACUUM INTO 'COPY'\")"
        ) from None
    except OSError as error:
        raise StoreError(f"the file of the store cannot be locked: {error.strerror}") from None


def connect(path: Path, application: int = APPLICATION) -> sqlite3.Connection:
    """Open a database in which a commit waits for the disk. The caller begins and ends transactions.

    The database of another program is refused before anything is written.
    """
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    try:
        _check_owner(db, application)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("pragma cache_size = -65536")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def failing(what: str = "used") -> Iterator[None]:
    """Turn errors of SQLite into a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the store cannot be {what}: {error}") from error


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"pragma {pragma}").fetchone()[0])


def _check_owner(db: sqlite3.Connection, application: int = APPLICATION) -> None:
    """Refuse a database that hush has not made. An empty one is taken."""
    owner = _number(db, "application_id")
    (things,) = db.execute("select count(*) from sqlite_master").fetchone()
    if owner != application and (owner or things):
        raise StoreError("the store cannot be opened: this is a SQLite database of another program; name another file")


def writes_of_others(db: sqlite3.Connection) -> int:
    """Return a number that changes when another connection has committed, and only then."""
    return _number(db, "data_version")


def check_kind(db: sqlite3.Connection) -> None:
    """Refuse a database that has become another: of another program, or of another version."""
    _check_owner(db)
    version = _number(db, "user_version")
    if version != len(MIGRATIONS):
        raise StoreError(f"this store has become one with tables of version {version}: stop what upgraded it")


def version_of(db: sqlite3.Connection) -> Version:
    """Return the version of a store, as far as it says so."""
    (noted,) = db.execute("select count(*) from sqlite_master where name = 'writer'").fetchone()
    row = db.execute("select hush from writer").fetchone() if noted else None
    return Version(_number(db, "user_version"), None if row is None else str(row[0]))


@contextmanager
def upgrading(db: sqlite3.Connection, steps: Sequence[str] | None = None) -> Iterator[Version]:
    """Bring the tables to the version that is known here, and let the block read them: everything, or nothing.

    It yields the version before. A store of this version is not written at all.
    """
    known = MIGRATIONS if steps is None else steps
    found = version_of(db)
    found.check(len(known))
    if not found.differs(len(known)):
        yield found
        return
    try:
        db.execute("begin immediate")
        migrate(db, known)
        db.execute("delete from writer")
        db.execute("insert into writer values (?)", (HERE,))
        yield found
        db.execute("commit")
    except BaseException as error:
        if db.in_transaction:  # some errors have rolled back already
            db.execute("rollback")
        if isinstance(error, (StoreError, sqlite3.Error)):
            raise found.failed(len(known), error) from None
        raise


def migrate(db: sqlite3.Connection, steps: Sequence[str]) -> None:
    """Take all steps that a database has not taken yet, within the caller's transaction."""
    for script in steps[_number(db, "user_version") :]:
        for statement in script.split(";"):
            db.execute(statement)
    db.execute(f"pragma user_version = {len(steps)}")
