"""Where a relay keeps sealed reports until the collector has them: one SQLite file, written by one process.

**No time, no order, no address.** A row is the hash of a sealed report and its bytes, in a table ordered by the hash.
The hash has a secret key of the file. If more reports wait than fit into a batch, the lowest hashes go first: without
the key somebody could send reports with low ones, and keep those of others waiting for ever.
Nothing says when it came, or whether another came before. SQLite's log has the order of the last commits; it is
emptied whenever a batch is made, and deleted content is overwritten.

**Once.** The hash of a report that was sent stays, so a device that sends it again is told that it is safe, and nothing
happens. The bytes are deleted as they go into a batch.

**None lost, none doubled.** A batch is written, and its reports are deleted, in one transaction. It is sent, with the
same bytes each time, until the collector acknowledges it, and then deleted. The collector counts it once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
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
)

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
        rows = self._db.execute("select plan, count(*) from reports where sealed is not null group by plan")
        self._held: dict[str, int] = dict(rows)
        self._doubtful = False

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

    def held(self, plan_id: str) -> int:
        """Return how many reports of a plan wait for a batch."""
        return self._held.get(plan_id, 0)

    def commit(self, groups: Sequence[Taken]) -> list[int]:
        """Take the reports of many requests, durably; return how many of each were new."""
        with self._lock:
            with self._transaction():
                found = [
                    sum(
                        self._db.execute(
                            "insert into reports values (?, ?, ?) on conflict do nothing",
                            (plan, self._hash(sealed), sealed),
                        ).rowcount
                        for sealed in some
                    )
                    for plan, some in groups
                ]
            for (plan, _), new in zip(groups, found, strict=True):
                self._held[plan] = self.held(plan) + new
        return found

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
                rows = self._db.execute(
                    "select hash, sealed from reports where plan = ? and sealed is not null limit ?", (plan_id, most)
                ).fetchall()
                body = mix([sealed for _, sealed in rows])
                found = Batch(batch_id(body), body)
                self._db.execute("insert into batches values (?, ?, ?)", (plan_id, *found))
                self._db.executemany(
                    "update reports set sealed = null where plan = ? and hash = ?",
                    ((plan_id, hash_) for hash_, _ in rows),
                )
            self._held[plan_id] -= len(rows)
            self._forget()
        return found

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
