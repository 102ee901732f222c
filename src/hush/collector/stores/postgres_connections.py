"""Connections to PostgreSQL: how they are opened, how threads share them, and how the tables come to be there.

Locks that are not on rows are advisory locks of two keys: a kind, and a number. They end with their
transaction or session, so a killed process leaves nothing behind. Sessions must be real: a proxy that
deals them out by transaction (PgBouncer in that mode) would lose the locks of sessions.

Nobody waits for ever. The server ends statements that wait for a lock, or run, for too long (`WAITS`); if the server
itself does not answer, `hush.collector.stores.postgres_watchdog` cuts the session. An operation that took long and
failed is not tried again here, and for a moment others that would wait as long are refused at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict

from hush.collector.stores.postgres_watchdog import Watch
from hush.errors import StoreError

# The first keys of advisory locks: "hush" in ASCII, and the numbers behind it.
VERSION, PLAN, SHARD, COMPACTING = range(0x68757368, 0x68757368 + 4)

# A server that cannot be reached must not hold up the thread that commits for longer than this. The URL may say else.
DEFAULTS = {
    "application_name": "hush",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}

# How long the server lets a statement wait for a lock, or run, and a transaction do nothing: unless the URL
# (`options`), the role, the database or the server sets something else. A transaction that its process has forgotten
# ends like this, and others go on.
WAITS = {"lock_timeout": "5s", "statement_timeout": "20s", "idle_in_transaction_session_timeout": "60s"}
MARGIN = 5.0  # seconds by which the server's own limits come first
QUICK = 1.0  # seconds: a session that ended with a restart of the server fails at once
BREAK = 1.0  # seconds for which others are refused at once, after somebody has waited in vain

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
    # The counts that readers see: those of an earlier moment.
    """
    create table shown (plan integer primary key, vector bytea not null);
    """,
    """
    create table pulse (shard integer primary key, beats bigint not null) with (fillfactor = 50);
    """,
    # Pilots: the reports and the later people that the operator named, the reports at the next try, the second plan.
    """
    create table narrowings (
      plan integer primary key, first bigint not null, people bigint not null, wanted bigint not null, second integer
    );
    """,
    # Counts by day or week, if the operator asks for them: the reports by which the shown counts moved.
    """
    create table periods (
      plan integer not null, start integer not null, days integer not null, vector bytea not null,
      primary key (plan, start, days)
    );
    """,
    # What was published of a training before its pilot; null if an operator began with a first round.
    """
    alter table trainings add column course text;
    """,
    # Counts that are still to be added to a tally: a wide one is not written anew for every report.
    """
    create table increments (plan integer not null, shard integer not null, counts bytea not null);
    create index increments_of_plan on increments (plan, shard);
    """,
    # The public keys that were given out for a plan, until it is closed; and sealed reports that did not open.
    """
    create table given (plan integer not null, key bytea not null, primary key (plan, key));
    create table refused (
      plan integer not null, shard integer not null, reports bigint not null, primary key (plan, shard)
    );
    """,
    # How many of the reports in a body or a segment are a relay's own; null where an older hush did not write it.
    """
    alter table bodies add column own bigint;
    alter table segments add column own bigint;
    """,
    # The names of this store, and what other stores have handed on under theirs; null if it was withdrawn.
    """
    create table names (number integer generated always as identity primary key, name bytea not null unique);
    insert into names (name) values (uuid_send(gen_random_uuid()));
    create table handed (plan integer not null, name bytea not null, vector bytea, primary key (plan, name));
    """,
)


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A session. `patience`: seconds after which its server, by its own limits, must have answered."""

    patience = 30.0


def connect(url: str, watch: Watch) -> Connection:
    """Open a session in which a commit waits for the disk, whatever the server is set to."""
    given = conninfo_to_dict(url)
    missing: dict[str, Any] = {name: value for name, value in DEFAULTS.items() if name not in given}
    db = Connection.connect(url, autocommit=True, **missing)
    try:
        with watch.over(db, db.patience):
            db.execute(
                """
                select set_config('search_path', 'hush', false),
                  set_config('default_transaction_isolation', 'read committed', false),
                  case when current_setting('synchronous_commit') = 'off'
                    then set_config('synchronous_commit', 'on', false) end
                """
            )
            db.execute(
                "select set_config(name, value, false) from unnest(%s::text[], %s::text[]) as w (name, value) "
                "where current_setting(name) = '0'",
                (list(WAITS), list(WAITS.values())),
            )
            limits = db.execute(
                "select sum(setting::bigint)::bigint from pg_settings "
                "where name in ('lock_timeout', 'statement_timeout')"
            ).fetchall()
        db.patience = limits[0][0] / 1000 + MARGIN
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: Connection) -> None:
    """Bring the tables to the version that is known here: one process at a time, all steps or none."""
    with db.transaction():
        db.execute("select pg_advisory_xact_lock(%s, 0)", (VERSION,))
        db.execute("set local statement_timeout = 0")  # a step may have much to change
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
    """Turn errors of PostgreSQL into a StoreError."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"the store cannot be {what}: {error}") from error


class Pool:
    """A few sessions for everything but commits. Threads wait for a free one, for a limited time."""

    def __init__(self, url: str, watch: Watch, most: int = 4) -> None:
        self._url, self._watch = url, watch
        self._free: list[Connection] = []
        self._slots = threading.BoundedSemaphore(most)
        self._closed = False
        self._break = 0.0  # until when nobody waits

    @contextmanager
    def session(self, what: str = "used") -> Iterator[Connection]:
        """Lend a session, for as long as it takes. One that broke is not lent again."""
        with failing(what), self._lent() as db:
            yield db

    @contextmanager
    def _lent(self, watched: bool = False) -> Iterator[Connection]:
        began = time.monotonic()
        if began < self._break or not self._slots.acquire(timeout=MARGIN):
            raise StoreError("the store did not answer others in time")
        try:
            db = self._take()
            try:
                with self._watch.over(db, db.patience) if watched else nullcontext():
                    yield db
            except BaseException:
                db.close()
                raise
            if self._closed:
                db.close()
            else:
                self._free.append(db)
        except psycopg.OperationalError:
            if time.monotonic() - began > QUICK:
                self._break = time.monotonic() + BREAK
            raise
        finally:
            self._slots.release()

    def _take(self) -> Connection:
        if self._closed:
            raise StoreError("this store is closed")
        with suppress(IndexError):
            return self._free.pop()
        return connect(self._url, self._watch)

    def rows(self, query: LiteralString, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query that changes nothing. The server may have been restarted since the last one."""
        began = time.monotonic()
        with failing():
            try:
                with self._lent(watched=True) as db:
                    return db.execute(query, values).fetchall()
            except psycopg.OperationalError:
                self._drop()
                if time.monotonic() - began > QUICK:
                    raise
            with self._lent(watched=True) as db:
                return db.execute(query, values).fetchall()

    @contextmanager
    def transaction(self, *, patient: bool = False) -> Iterator[Connection]:
        """Lend a session with a transaction in it, in tables of the version that is known here.

        `patient`: a statement may run for as long as it takes.
        """
        self.rows("select 1")  # sessions that ended with a restart of the server are found out before anything is done
        with failing(), self._lent(watched=not patient) as db, db.transaction():
            db.execute("select pg_advisory_xact_lock_shared(%s, 0)", (VERSION,))
            if patient:
                db.execute("set local statement_timeout = 0")
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
