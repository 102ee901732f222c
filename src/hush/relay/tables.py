"""The tables of a relay's file. Each step takes a file from one version to the next; steps are only ever added."""

from __future__ import annotations

APPLICATION = 1752132729  # SQLite's application_id: "hrly" in ASCII, 0x68726c79

MIGRATIONS = (
    """
    pragma application_id = 1752132729;
    create table reports (
      plan text not null, hash blob not null, sealed blob, primary key (plan, hash)
    ) strict, without rowid;
    create table batches (
      plan text not null primary key, id blob not null, body blob not null
    ) strict, without rowid;
    create table secret (key blob not null) strict;
    create table pulse (beats integer not null) strict;
    insert into pulse values (0)
    """,
    # Short rows apart from those of waiting reports: a page of the file has ten times as many, so that taking a report
    # writes less. Hashes that were kept before are of the first generation.
    """
    create table plans (number integer primary key, id text not null unique) strict;
    insert into plans (id) select distinct plan from reports order by plan;
    create table sent (
      plan integer not null, generation integer not null, hash blob not null, primary key (plan, generation, hash)
    ) strict, without rowid;
    insert into sent select plans.number, 1, hash from reports join plans on plans.id = plan where sealed is null;
    create table waiting (
      plan integer not null, hash blob not null, sealed blob not null, primary key (plan, hash)
    ) strict, without rowid;
    insert into waiting
      select plans.number, hash, sealed from reports join plans on plans.id = plan where sealed is not null;
    drop table reports
    """,
    # No generations: a hash stays until its plan is closed. A report waits under the key that it is sealed for. Those
    # of older files have no key (0) until a relay opens the file: it is that of this relay, as a relay has only one.
    """
    alter table plans add column closed integer not null default 0;
    create table keys (number integer primary key, key blob not null unique) strict;
    create table once (plan integer not null, hash blob not null, primary key (plan, hash)) strict, without rowid;
    insert or ignore into once select plan, hash from sent;
    drop table sent;
    alter table waiting rename to older;
    create table waiting (
      plan integer not null, hash blob not null, key integer not null, sealed blob not null, primary key (plan, hash)
    ) strict, without rowid;
    insert into waiting select plan, hash, 0, sealed from older;
    drop table older
    """,
    # The hush that has written here last, for errors about versions.
    """
    create table writer (hush text not null) strict
    """,
)
