"""Where a relay keeps sealed reports until the collector has them: one SQLite file, written by one process.

**No time, no order, no address.** A row is the hash of a sealed report and its bytes, in a table ordered by the hash.
Nothing says when it came, or whether another came before. SQLite's log has the order of the last commits; it is
emptied whenever a batch is made, and deleted content is overwritten.

**No way to jump the queue.** The hash has a secret key of the file. If more reports wait than fit into a batch, the
lowest hashes go first: without the key somebody could send reports with low ones, and keep others waiting for ever.

**Once.** The hash of a report that was sent stays a while. If a device sends the report again, the relay answers that
it is safe, and does nothing. The bytes are deleted as they go into a batch.

**Not for ever.** Hashes of sent reports come in generations of `KEPT` for each plan. When a new one begins, the last
but one is forgotten. If a device sends a report even later, it goes into another batch, and the collector drops it by
its id. It then counts towards `least` without hiding anybody, as any fake does. Hashes of plans that a relay no longer
serves are forgotten when it starts (`serve`).

**None lost, none doubled.** A batch is written, and its reports are deleted, in one transaction. It is sent, with the
same bytes each time, until the collector acknowledges it, and then deleted. The collector counts it once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple

from hush.collector.stores import sqlite_file
from hush.core.sealing import BATCH_ID_SIZE, batch_id
from hush.errors import StoreError

APPLICATION = 1752132729  # SQLite's application_id: "hrly" in ASCII, 0x68726c79
HASH_SIZE = 16
KEY_SIZE = 32
KEPT = 1_000_000  # hashes of a generation: from this number to twice as many are kept for a plan
STEP = 4096  # old hashes that are forgotten with each batch, besides as many as it has

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
)

FIRST = (1, 0)  # the first generation of a plan, and no hash in it

Taken = tuple[str, Sequence[bytes]]
"""Sealed reports of one request: the id of their plan, and their bytes."""


class Batch(NamedTuple):
    """A batch that the collector does not have yet."""

    id: bytes
    body: bytes


class RelayStore:
    """The file of a relay. All methods are safe from any thread, and raise a StoreError if the file fails."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self._lock = threading.RLock()
        with ExitStack() as undo:
            self._files = sqlite_file.Locked(self.path)
            undo.callback(self._files.close)
            with sqlite_file.failing("opened"):
                self._db = sqlite_file.connect(self.path, APPLICATION)
                undo.callback(self._db.close)
                self._db.execute("pragma secure_delete = on")
                sqlite_file.migrate(self._db, MIGRATIONS)
                self._key = self._secret()
                self._count()
            self._files.settle()
            undo.pop_all()

    def _secret(self) -> bytes:
        """Return the key of the hashes, which is made with the file."""
        row = self._db.execute("select key from secret").fetchone()
        if row is None:
            row = (token_bytes(KEY_SIZE),)
            self._db.execute("insert into secret values (?)", row)
        return bytes(row[0])

    def _hash(self, sealed: bytes) -> bytes:
        return hashlib.blake2b(sealed, digest_size=HASH_SIZE, key=self._key).digest()

    def _count(self) -> None:
        """Count the reports that wait: at the start, and after a failure that leaves it open what was written."""
        self._numbers: dict[str, int] = dict(self._db.execute("select id, number from plans"))
        counted = self._db.execute("select plan, count(*) from waiting group by plan")
        self._held: dict[int, int] = dict(counted)
        self._sent: dict[int, tuple[int, int]] = {}  # the newest generation of each plan, and how many hashes it has
        for plan, generation, number in self._db.execute(
            "select plan, generation, count(*) from sent group by plan, generation order by plan, generation"
        ):
            self._sent[plan] = generation, number
        self._doubtful = False

    def _number(self, plan_id: str) -> int:
        """Return the number of a plan in this file. It is called within a transaction."""
        found = self._numbers.get(plan_id)
        if found is None:
            (found,) = self._db.execute("insert into plans (id) values (?) returning number", (plan_id,)).fetchone()
            self._numbers[plan_id] = found
        return int(found)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, sqlite_file.failing():
            self._files.check()
            if self._doubtful:
                self._count()
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
                self._files.check()
            except BaseException:
                self._doubtful = True
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    def serve(self, plan_ids: Collection[str]) -> None:
        """Forget the hashes of sent reports of all other plans. Their reports and batches that wait stay."""
        with self._lock:
            gone = [number for id_, number in self._numbers.items() if id_ not in plan_ids and number in self._sent]
            if not gone:
                return
            with self._transaction():
                self._db.executemany("delete from sent where plan = ?", ((number,) for number in gone))
            for number in gone:
                del self._sent[number]
            self._forget()

    def held(self, plan_id: str) -> int:
        """Return how many reports of a plan wait for a batch."""
        return self._held.get(self._numbers.get(plan_id, 0), 0)

    def commit(self, groups: Sequence[Taken]) -> list[int]:
        """Take the reports of many requests, durably; return how many of each were new."""
        with self._lock:
            with self._transaction():
                found = [self._take(self._number(plan), some) for plan, some in groups]
            for (plan, _), new in zip(groups, found, strict=True):
                number = self._numbers[plan]
                self._held[number] = self._held.get(number, 0) + new
        return found

    def _take(self, plan: int, sealed: Sequence[bytes]) -> int:
        """Insert reports that neither wait nor were sent; return how many."""
        newest, _ = self._sent.get(plan, FIRST)
        return self._db.executemany(
            "insert into waiting select ?1, ?2, ?3 where not exists (select 1 from sent where plan = ?1 and "
            "generation in (?4, ?4 - 1) and hash = ?2) on conflict do nothing",
            ((plan, self._hash(one), one, newest) for one in sealed),
        ).rowcount

    def batch(self, plan_id: str) -> Batch | None:
        """Return the batch that the collector does not have yet, if there is one."""
        with self._lock, sqlite_file.failing():
            row = self._db.execute("select id, body from batches where plan = ?", (plan_id,)).fetchone()
        return None if row is None else Batch(*row)

    def make(self, plan_id: str, least: int, most: int, mix: Callable[[Sequence[bytes]], bytes]) -> Batch | None:
        """Make a batch of at most `most` reports if at least `least` wait; return the batch that is to be sent.

        There is one batch of a plan at a time. `mix` makes its bytes.
        """
        with self._lock:
            if self._doubtful:
                with sqlite_file.failing():
                    self._count()
            found = self.batch(plan_id)
            if found is not None or self.held(plan_id) < least:
                return found
            with self._transaction():
                number = self._numbers[plan_id]
                rows = self._db.execute(
                    "select hash, sealed from waiting where plan = ? order by hash limit ?", (number, most)
                ).fetchall()
                body = mix([sealed for _, sealed in rows])
                found = Batch(batch_id(body), body)
                self._db.execute("insert into batches values (?, ?, ?)", (plan_id, *found))
                self._db.executemany(
                    "delete from waiting where plan = ? and hash = ?", ((number, hash_) for hash_, _ in rows)
                )
                sent = self._remember(number, [hash_ for hash_, _ in rows])
            self._held[number] -= len(rows)
            self._sent[number] = sent
            self._forget()
        return found

    def _remember(self, plan: int, hashes: Sequence[bytes]) -> tuple[int, int]:
        """Keep the hashes of reports that are sent, and forget old ones; return the newest generation and its size.

        They are forgotten a few at a time, so that nobody waits long for a commit.
        """
        newest, number = self._sent.get(plan, FIRST)
        if number >= KEPT:
            newest, number = newest + 1, 0
        self._db.executemany("insert into sent values (?, ?, ?)", ((plan, newest, hash_) for hash_ in hashes))
        self._db.execute(
            "delete from sent where (plan, generation, hash) in "
            "(select plan, generation, hash from sent where plan = ? and generation < ? limit ?)",
            (plan, newest - 1, len(hashes) + STEP),
        )
        return newest, number + len(hashes)

    def acknowledged(self, plan_id: str, id_: bytes) -> None:
        """Delete a batch that the collector has."""
        if len(id_) != BATCH_ID_SIZE:
            raise StoreError("this is not the id of a batch")
        with self._lock:
            with self._transaction():
                self._db.execute("delete from batches where plan = ? and id = ?", (plan_id, id_))
            self._forget()

    def _forget(self) -> None:
        """Empty the log, which has the order of commits. If a reader of the file prevents it, the next batch does."""
        with sqlite_file.failing():
            self._db.execute("pragma wal_checkpoint(truncate)")

    def check(self) -> None:
        """Make a test commit."""
        with self._transaction():
            self._db.execute("update pulse set beats = 1 - beats")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()
            self._files.close()
