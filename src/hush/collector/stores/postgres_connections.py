"""Connections to PostgreSQL: how they are opened, and how threads share them.

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

from hush.collector.stores.postgres_errors import cut_warnings, failing
from hush.collector.stores.postgres_tables import VERSION, check_version
from hush.collector.stores.postgres_watchdog import Watch
from hush.errors import StoreError

# The first keys of further advisory locks.
PLAN, SHARD, COMPACTING, SWEEPING = range(VERSION + 1, VERSION + 5)

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


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A session. `patience`: seconds after which its server, by its own limits, must have answered."""

    patience = 30.0


def connect(url: str, watch: Watch) -> Connection:
    """Open a session in which a commit waits for the disk, whatever the server is set to."""
    cut_warnings()
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:  # its words quote the address, which has a password
        raise StoreError(
            "the address of the store cannot be read: postgresql://USER:PASSWORD@HOST/DATABASE has %25, %40, %3A "
            "and %2F in place of %, @, : and / of a password"
        ) from None
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
            # Values of a statement that failed are ids and reports, and must not be in the server's log.
            db.execute(
                "select set_config(name, '0', false) from pg_settings where name = 'log_parameter_max_length_on_error'"
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
            ((version,),) = db.execute("select number from version").fetchall()
            check_version(version)
            yield db

    def _drop(self) -> None:
        with suppress(IndexError):
            while True:
                self._free.pop().close()

    def close(self) -> None:
        """Close all sessions."""
        self._closed = True
        self._drop()
