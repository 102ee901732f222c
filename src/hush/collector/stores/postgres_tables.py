"""The tables in PostgreSQL: how they come to be there, and to be of this version.

**One at a time.** An upgrade takes a lock for all upgrades first, and waits for it as long as another one takes. Only
then it takes the lock that commits share, for which nobody waits long: a collector that starts does not hold up others
for the sake of an upgrade that is under way. A store of this version takes neither.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg

from hush.collector.stores.postgres_errors import told
from hush.collector.stores.versions import HERE, Version, here
from hush.errors import StoreError

if TYPE_CHECKING:
    from hush.collector.stores.postgres_connections import Connection

logger = logging.getLogger("hush.collector")

VERSION = 0x68757368  # the first of the two keys of the lock on all tables: "hush" in ASCII

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
    # The names of this store, and what other stores have handed on under theirs; null if it was withdrawn, or if
    # a later name came in its place.
    """
    create table names (number integer generated always as identity primary key, name bytea not null unique);
    insert into names (name) values (uuid_send(gen_random_uuid()));
    create table handed (
      plan integer not null, name bytea not null, vector bytea, later bytea, primary key (plan, name)
    );
    """,
    # The hush that has written here last, for errors about versions.
    """
    create table writer (hush text not null);
    """,
)


@contextmanager
def upgrading(db: Connection) -> Iterator[Version]:
    """Bring the tables to the version that is known here, and let the block read them: everything, or nothing.

    It yields the version before. A store of this version is not written at all.
    """
    known, found = len(MIGRATIONS), version_of(db)
    found.check(known)
    if not found.differs(known):
        yield found
        return
    try:
        with db.transaction():
            if found.tables < known:
                found = _migrated(db)
            if not db.execute("update writer set hush = %s", (HERE,)).rowcount:
                db.execute("insert into writer values (%s)", (HERE,))
            yield found
    except psycopg.Error as error:
        raise found.failed(known, told(error)) from None
    except StoreError as error:
        raise (found.failed(known, error) if found.tables <= known else error) from None


def _migrated(db: Connection) -> Version:
    """Bring the tables to the version that is known here, within a transaction; return the one before."""
    known = len(MIGRATIONS)
    _alone(db)
    found = version_of(db)  # another process may have been faster
    found.check(known)
    if not _row(db, "select count(*) from pg_namespace where nspname = 'hush'")[0]:
        db.execute("create schema hush")
    if not found.tables:
        db.execute("create table if not exists version (number integer not null)")
        db.execute("insert into version select 0 where not exists (select from version)")
    for script in MIGRATIONS[found.tables :]:
        db.execute(script)
    db.execute("update version set number = %s", (known,))
    return found


def _alone(db: Connection) -> None:
    """Keep all others from the tables until the transaction ends."""
    (patience,) = _row(db, "select current_setting('lock_timeout')")
    db.execute("set local statement_timeout = 0")  # a step may have much to change
    db.execute("set local lock_timeout = 0")
    if db.execute("select pg_try_advisory_xact_lock(%s, 1)", (VERSION,)).fetchone() != (True,):
        logger.warning("another hush is upgrading the store: this one waits for it")
        db.execute("select pg_advisory_xact_lock(%s, 1)", (VERSION,))
    db.execute("select set_config('lock_timeout', %s, true)", (patience,))
    db.execute("select pg_advisory_xact_lock(%s, 0)", (VERSION,))


def version_of(db: Connection) -> Version:
    """Return the version of a store, as far as it says so; 0 if there is none."""
    if _row(db, "select to_regclass('hush.version') is null") == (True,):
        return Version(0)
    noted = _row(db, "select to_regclass('hush.writer') is not null") == (True,)
    writer = db.execute("select hush from hush.writer").fetchone() if noted else None
    return Version(_row(db, "select number from hush.version")[0], writer[0] if writer else None)


def check_version(version: int) -> None:
    """Refuse to write to tables that have become those of another version while this hush was running."""
    known = len(MIGRATIONS)
    Version(version).check(known)
    if version < known:
        raise StoreError(f"the tables of this store have become those of version {version}; this is {here(known)}")


def _row(db: Connection, query: LiteralString) -> tuple[Any, ...]:
    row = db.execute(query).fetchone()
    assert row is not None
    return row
