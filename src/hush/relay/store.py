"""Where a relay keeps sealed reports until the collector has them: one SQLite file, written by one process.

**No time, no order, no address.** A row is the hash of a sealed report and its bytes, in a table ordered by the hash.
Nothing says when it came, or whether another came before. SQLite's log has the order of the last commits; it is
emptied whenever a batch is made, and deleted content is overwritten.

**No way to jump the queue.** The hash has a secret key of the file. If more reports wait than fit into a batch, the
lowest hashes go first: without the key somebody could send reports with low ones, and keep others waiting for ever.

**Once.** The hash of a report that was sent stays, however often and with whichever plans the relay is started. If a
device sends the report again, the relay answers that it is safe, and does nothing. If it forgot the hash, the report
would be in two batches, and the collector would see one id in both: it would know whose report it is. The bytes are
deleted as they go into a batch.

**Full, and never forgetful.** A relay cannot tell reports from random bytes, so anybody can fill the file. There is
room for `most` hashes of a plan. Then it takes no more of them.

**Closed for ever.** Hashes of a plan go when the plan is closed (`close_plan`). No report of it is taken from then on,
whatever the collector says later: it is the one who would gain.

**One key in a batch.** Reports wait under the key that they are sealed for. Otherwise the collector could tell those
that are sealed for an older key from all others of the batch, and from the relay's own.

**None lost, none doubled.** A batch is written, and its reports are deleted, in one transaction. It is sent, with the
same bytes each time, until the collector acknowledges it, and then deleted. The collector counts it once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from secrets import token_bytes
from typing import NamedTuple

from hush.collector.stores import sqlite_file
from hush.core.sealing import BATCH_ID_SIZE, CollectorKey, batch_id
from hush.errors import StoreError
from hush.relay.tables import APPLICATION, MIGRATIONS

HASH_SIZE = 16
KEY_SIZE = 32
MOST = 10_000_000  # reports of a plan: 250 MB
STEP = 20_000  # hashes that are deleted at a time

Taken = tuple[str, Sequence[bytes]]
"""Sealed reports of one request: the id of their plan, and their bytes."""


class Refusal(Enum):
    """Why a relay takes nothing of a request."""

    CLOSED = "plan-closed"
    FULL = "full"


Answer = int | Refusal
"""How many reports of a request were new, or why none was taken."""


class Batch(NamedTuple):
    """A batch that the collector does not have yet."""

    id: bytes
    body: bytes


class RelayStore:
    """The file of a relay that takes reports for one key. All methods are safe from any thread.

    They raise a StoreError if the file fails.
    """

    def __init__(self, path: str | os.PathLike[str], key: CollectorKey, most: int = MOST) -> None:
        self.path, self.most = Path(path).resolve(), most
        self._lock = threading.RLock()
        with ExitStack() as undo:
            self._files = sqlite_file.Locked(self.path)
            undo.callback(self._files.close)
            with sqlite_file.failing("opened"):
                self._db = sqlite_file.connect(self.path, APPLICATION)
                undo.callback(self._db.close)
                self._db.execute("pragma secure_delete = on")
                with sqlite_file.upgrading(self._db, MIGRATIONS):
                    self._secret = self._hashing()
                    self._key = self._numbered(key)
                    self._count()
            self._files.settle()
            undo.pop_all()

    def _hashing(self) -> bytes:
        """Return the secret key of the hashes, which is made with the file."""
        row = self._db.execute("select key from secret").fetchone()
        if row is None:
            row = (token_bytes(KEY_SIZE),)
            self._db.execute("insert into secret values (?)", row)
        return bytes(row[0])

    def _numbered(self, key: CollectorKey) -> int:
        """Return the number of a collector's key in this file."""
        self._db.execute("insert or ignore into keys (key) values (?)", (key.public,))
        (number,) = self._db.execute("select number from keys where key = ?", (key.public,)).fetchone()
        self._db.execute("update waiting set key = ? where key = 0", (number,))
        return int(number)

    def _hash(self, sealed: bytes) -> bytes:
        return hashlib.blake2b(sealed, digest_size=HASH_SIZE, key=self._secret).digest()

    def _count(self) -> None:
        """Count reports: at the start, and after a failure that leaves it open what was written."""
        self._numbers: dict[str, int] = dict(self._db.execute("select id, number from plans"))
        self._closed = {number for (number,) in self._db.execute("select number from plans where closed")}
        waiting = self._db.execute("select plan, key, count(*) from waiting group by plan, key").fetchall()
        self._held = Counter({plan: count for plan, key, count in waiting if key == self._key})
        self._kept = Counter(dict(self._db.execute("select plan, count(*) from once group by plan").fetchall()))
        for plan, _, count in waiting:
            self._kept[plan] += count
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

    # -- what is known

    def held(self, plan_id: str) -> int:
        """Return how many reports of a plan wait for a batch, sealed for the key of this relay."""
        return self._held[self._numbers.get(plan_id, 0)]

    def strange(self, plan_id: str) -> int:
        """Return how many reports of a plan wait for a relay with another key."""
        with self._lock, sqlite_file.failing():
            found = self._db.execute(
                "select count(*) from waiting join plans on number = plan where id = ? and key != ?",
                (plan_id, self._key),
            ).fetchone()
        return int(found[0])

    def is_closed(self, plan_id: str) -> bool:
        """Return whether a plan was closed in this file: then nothing of it is taken any more."""
        return self._numbers.get(plan_id, 0) in self._closed

    def is_full(self, plan_id: str) -> bool:
        """Return whether there is no room for a new report of a plan."""
        return self._kept[self._numbers.get(plan_id, 0)] >= self.most and not self.is_closed(plan_id)

    # -- taking

    def commit(self, groups: Sequence[Taken]) -> list[Answer]:
        """Take the reports of many requests, durably; return for each how many were new, or why it was refused."""
        with self._lock:
            added: Counter[int] = Counter()
            with self._transaction():
                found = [self._take(self._number(plan), some, added) for plan, some in groups]
            self._held += added
            self._kept += added
        return found

    def _take(self, plan: int, sealed: Sequence[bytes], added: Counter[int]) -> Answer:
        """Insert reports that neither wait nor were sent, if there is room for all of them."""
        if plan in self._closed:
            return Refusal.CLOSED
        room = self.most - self._kept[plan] - added[plan]
        rows = [(plan, self._hash(one), self._key, one) for one in sealed]
        if len(rows) > room and len({row[1] for row in rows if not self._is_known(plan, row[1])}) > room:
            return Refusal.FULL
        new = self._db.executemany(
            "insert into waiting select ?1, ?2, ?3, ?4 where not exists "
            "(select 1 from once where plan = ?1 and hash = ?2) on conflict do nothing",
            rows,
        ).rowcount
        added[plan] += new
        return new

    def _is_known(self, plan: int, hash_: bytes) -> bool:
        found = self._db.execute(
            "select exists (select 1 from once where plan = ?1 and hash = ?2) "
            "or exists (select 1 from waiting where plan = ?1 and hash = ?2)",
            (plan, hash_),
        ).fetchone()
        return bool(found[0])

    # -- sending

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
                    "select hash, sealed from waiting where plan = ? and key = ? order by hash limit ?",
                    (number, self._key, most),
                ).fetchall()
                body = mix([sealed for _, sealed in rows])
                found = Batch(batch_id(body), body)
                self._db.execute("insert into batches values (?, ?, ?)", (plan_id, *found))
                hashes = [(number, hash_) for hash_, _ in rows]
                self._db.executemany("delete from waiting where plan = ? and hash = ?", hashes)
                self._db.executemany("insert into once values (?, ?)", hashes)
            self._held[number] -= len(rows)
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

    # -- the end of a plan

    def close_plan(self, plan_id: str) -> int:
        """Take nothing of a plan any more, for ever. What waits, and then the hashes of the plan, are deleted.

        Return how many reports waited for a batch. Called again it deletes what a kill has left.
        """
        with self._lock:
            with self._transaction():
                number = self._number(plan_id)
                self._db.execute("update plans set closed = 1 where number = ?", (number,))
                self._db.execute("delete from batches where plan = ?", (plan_id,))
                waiting = self._db.execute("delete from waiting where plan = ?", (number,)).rowcount
            self._closed.add(number)
            del self._held[number], self._kept[number]
            self._forget()
        while self._sweep(number):  # a few at a time, so that nobody waits long for a commit
            pass
        return waiting

    def _sweep(self, number: int) -> bool:
        """Delete some hashes of a plan that is closed; return whether there may be more."""
        with self._transaction():
            found = self._db.execute(
                "delete from once where plan = ?1 and hash in (select hash from once where plan = ?1 limit ?2)",
                (number, STEP),
            )
        return found.rowcount == STEP

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
