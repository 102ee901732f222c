"""Connections to PostgreSQL: how they are opened, how threads share them, and how the tables come to be there.

Locks that are not on rows are advisory locks of two keys: what is locked, and its number. They end with their
transaction or session, so nothing is left behind by a process that was killed. Sessions must be real: a proxy that
deals them out by transaction (PgBouncer in that mode) would lose the locks of sessions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict

from hush.errors import StoreError

Connection = psycopg.Connection[tuple[Any, ...]]

# The first keys of advisory locks: "hush" in ASCII, and the numbers behind it.
VERSION, PLAN, SHARD, COMPACTING = range(0x68757368, 0x68757368 + 4)

# A server that cannot be reached must not hold up the thread that commits for longer than this.
DEFAULTS = {
    "application_name": "hush",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

# Each step takes a database from one version to the next. Steps are only ever added.
MIGRATIONS: tuple[LiteralString, ...] = (
    """
    create table plans (
      number integer generated always as identity primary key, id text not null unique, plan text not null,
      keep text not null, open boolean not null default true
    );
    create table tallies (
      plan integer not null, shard integer not null, vector bytea not null, primary key (plan, shard)
    ) with (fillfactor = 50);
    create table seen (plan bigint not null, id bytea not null, primary key (plan, id));
    create table bodies (
      place bigint generated always as identity primary key, plan integer not null, reports bigint not null,
      form integer not null, body bytea not null
    );
    create index bodies_of_plan on bodies (plan, place);
    alter table bodies alter column body set storage external;
    create table segments (
      number bigint generated always as identity primary key, plan integer not null, file text not null,
      reports bigint not null, digest text not null
    );
    create table trainings (
      number integer generated always as identity primary key, name text not null unique, wanted bigint not null,
      current integer not null, round text not null, gradients bytea not null, losses bytea not null
    );
    create table rounds (
      training integer not null, number integer not null, weights text not null, people bigint not null,
      loss double precision, loss_error double precision, primary key (training, number)
    );
    """,
    # What readers see: the counts of an earlier moment.
    """
    create table shown (plan integer primary key, vector bytea not null);
    """,
)


def connect(url: str) -> Connection:
    """Open a session in which a commit waits for the disk, whatever the server is set to."""
    given = conninfo_to_dict(url)
    missing: dict[str, Any] = {name: value for name, value in DEFAULTS.items() if name not in given}
    db = psycopg.connect(url, autocommit=True, **missing)
    try:
        # A transaction that its process has forgotten ends after a minute, and others go on.
        db.execute(
            """
            select set_config('search_path', 'hush', false),
              set_config('default_transaction_isolation', 'read committed', false),
              set_config('idle_in_transaction_session_timeout', '60s', false),
              case when current_setting('synchronous_commit') = 'off'
                then set_config('synchronous_commit', 'on', false) end
            """
        )
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: Connection) -> None:
    """Bring the tables to the version that is known here: one process at a time, all steps or none."""
    with db.transaction():
        db.execute("select pg_advisory_xact_lock(%s, 0)", (VERSION,))
        if not _value(db, "select count(*) from pg_namespace where nspname = 'hush'"):
            db.execute("create schema hush")
        if _value(db, "select to_regclass('hush.version') is null"):
            db.execute("create table version (number integer not null)")
            db.execute("insert into version values (0)")
        version = _value(db, "select number from version")
        check_version(version, upto=True)
        for script in MIGRATIONS[version:]:
            db.execute(script)
        db.execute("update version set number = %s", (len(MIGRATIONS),))


def check_version(version: int, upto: bool = False) -> None:
    """Refuse tables of a version that is not known here. `upto`: older ones are fine."""
    if version > len(MIGRATIONS) or (version < len(MIGRATIONS) and not upto):
        raise StoreError(f"this store is of version {version}; this hush knows versions up to {len(MIGRATIONS)}")


def _value(db: Connection, query: LiteralString) -> Any:
    row = db.execute(query).fetchone()
    assert row is not None
    return row[0]


@contextmanager
def failing(what: str = "used") -> Iterator[None]:
    """Turn what PostgreSQL complains about into a StoreError."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"the store cannot be {what}: {error}") from error


class Pool:
    """A few sessions for all that is not a commit. Threads wait for one that is free."""

    def __init__(self, url: str, most: int = 4) -> None:
        self._url = url
        self._free: list[Connection] = []
        self._slots = threading.BoundedSemaphore(most)
        self._closed = False

    @contextmanager
    def session(self, what: str = "used") -> Iterator[Connection]:
        """Lend a session. One that broke is not lent again."""
        with failing(what), self._lent() as db:
            yield db

    @contextmanager
    def _lent(self) -> Iterator[Connection]:
        with self._slots:
            db = self._take()
            try:
                yield db
            except BaseException:
                db.close()
                raise
            if self._closed:
                db.close()
            else:
                self._free.append(db)

    def _take(self) -> Connection:
        if self._closed:
            raise StoreError("this store is closed")
        with suppress(IndexError):
            return self._free.pop()
        return connect(self._url)

    def rows(self, query: LiteralString, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query that changes nothing. The server may have been restarted since the last one."""
        with failing():
            try:
                with self._lent() as db:
                    return db.execute(query, values).fetchall()
            except psycopg.OperationalError:
                self._drop()
            with self._lent() as db:
                return db.execute(query, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Lend a session with a transaction in it, in tables of the version that is known here."""
        self.rows("select 1")  # sessions that ended with a restart of the server are found out before anything is done
        with self.session() as db, db.transaction():
            db.execute("select pg_advisory_xact_lock_shared(%s, 0)", (VERSION,))
            check_version(_value(db, "select number from version"))
            yield db

    def _drop(self) -> None:
        with suppress(IndexError):
            while True:
                self._free.pop().close()

    def close(self) -> None:
        """Close all sessions."""
        self._closed = True
        self._drop()
