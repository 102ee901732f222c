"""The ids of the embedded store: the rows that have them, which are few and long, and the indices in memory.

**Joined.** The ids of one commit are one row, a run. Commits of single reports make as many rows as reports, and a
start that reads a million rows takes seconds, where the same ids in long rows take a tenth of one. So when the newest
ids leave the set in memory that has them (`hush.collector.stores.ids`), the commit puts their runs together. Each id is
written twice at most.

**Forgotten in pieces.** The ids of a closed plan are deleted some megabytes at a time, and commits go on in between. A
start does not read them. If a kill has left some, a thread deletes them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hush.collector.stores.ids import NEWEST, IdIndex, packed
from hush.core.report import ID_SIZE

LOADED = 1 << 25  # bytes of runs that are read at once
PIECE = 1 << 22  # bytes of ids that are forgotten in one transaction
ROWS = 1000  # runs that are forgotten in one transaction
SHORT = ID_SIZE * NEWEST  # bytes of a run that is not joined any more


class Written(NamedTuple):
    """Ids that a transaction has written: their row, and the row that now has those before."""

    owner: int
    number: int
    run: bytes
    joined: tuple[int, bytes] | None


class Runs:
    """All ids of a store. The caller holds its lock."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._indices: dict[int, IdIndex] = {}

    def load(self) -> None:
        """Read the runs of all owners but closed plans into memory."""
        self._indices = {}
        held: list[tuple[int, bytes]] = []
        size, last = 0, -1
        for owner, number, run in self._db.execute(
            "select owner, number, ids from runs where owner not in (select number from plans where not open) "
            "order by owner, number"
        ):
            if owner != last or size > LOADED:
                self._load(last, held, whole=owner != last)
                held, size = [], 0
            last = owner
            held.append((number, run))
            size += len(run)
        self._load(last, held, whole=True)

    def _load(self, owner: int, held: list[tuple[int, bytes]], *, whole: bool) -> None:
        """Take in runs. The last ones, if they are short, are among the newest ids, and will be joined."""
        newest: list[tuple[int, bytes]] = []
        room = SHORT
        while whole and held and len(held[-1][1]) <= room:
            room -= len(held[-1][1])
            newest.append(held.pop())
        if held:
            self._index(owner).load(held)
        for number, run in reversed(newest):
            self._index(owner).add(number, run)

    def _index(self, owner: int) -> IdIndex:
        if owner not in self._indices:
            self._indices[owner] = IdIndex(self._run)
        return self._indices[owner]

    def _run(self, number: int) -> bytes:
        """Return the ids of one row."""
        found: bytes = self._db.execute("select ids from runs where number = ?", (number,)).fetchone()[0]
        return found

    def fresh(self, asked: Mapping[int, set[bytes]]) -> dict[int, set[bytes]]:
        """Return those of some ids that are new, by owner."""
        return {owner: some - self._index(owner).known(list(some)) for owner, some in asked.items()}

    def write(self, taken: Iterable[tuple[int, set[bytes]]]) -> list[Written]:
        """Write new ids, within a transaction."""
        return [self._write(owner, packed(some)) for owner, some in taken]

    def _write(self, owner: int, run: bytes) -> Written:
        joined, due = None, self._index(owner).due(len(run) // ID_SIZE)
        if len(due) > 1:
            together = packed(_split(b"".join(one for _, one in due)))
            self._db.executemany("delete from runs where number = ?", [(number,) for number, _ in due])
            joined = self._insert(owner, together), together
        return Written(owner, self._insert(owner, run), run, joined)

    def _insert(self, owner: int, run: bytes) -> int:
        return self._db.execute("insert into runs (owner, ids) values (?, ?)", (owner, run)).lastrowid or 0

    def take(self, written: Iterable[Written]) -> None:
        """Take in ids that are committed."""
        for owner, number, run, joined in written:
            if joined is not None:
                self._index(owner).join(*joined)
            self._index(owner).add(number, run)

    def join(self) -> None:
        """Put short runs together, within a transaction: an older hush has written them by the million."""
        owners = [owner for (owner,) in self._db.execute("select distinct owner from runs").fetchall()]
        for owner in owners:
            after = 0
            while rows := self._short(owner, after):
                after = rows[-1][0]
                if len(rows) > 1:
                    self._db.executemany("delete from runs where number = ?", [(number,) for number, _ in rows])
                    values = (after, owner, packed(_split(b"".join(run for _, run in rows))))
                    self._db.execute("insert into runs (number, owner, ids) values (?, ?, ?)", values)

    def _short(self, owner: int, after: int) -> list[tuple[int, bytes]]:
        """Return the next short runs behind one, together no longer than `SHORT`: looking an id up reads its run."""
        found: list[tuple[int, bytes]] = []
        size = 0
        for number, run in self._db.execute(
            "select number, ids from runs where owner = ? and number > ? and length(ids) < ? order by number",
            (owner, after, SHORT),
        ):
            size += len(run)
            if found and size > SHORT:
                break
            found.append((number, run))
        return found

    # -- closed plans

    def drop(self, owner: int) -> None:
        """Forget the ids of a closed plan in memory."""
        self._indices.pop(owner, None)

    def left(self) -> list[int]:
        """Return the closed plans whose ids are still on disk."""
        rows = self._db.execute(
            "select distinct owner from runs where owner in (select number from plans where not open)"
        )
        return [owner for (owner,) in rows.fetchall()]

    def forget(self, owner: int, after: int) -> int | None:
        """Delete some runs of a closed plan behind a row, within a transaction; return the last of them, if any."""
        size, last = 0, None
        for number, length in self._db.execute(
            "select number, length(ids) from runs where owner = ? and number > ? order by number limit ?",
            (owner, after, ROWS),
        ):
            if size and size + length > PIECE:
                break
            size, last = size + length, number
        if last is not None:
            self._db.execute("delete from runs where owner = ? and number > ? and number <= ?", (owner, after, last))
        return last


def _split(data: bytes) -> list[bytes]:
    return [data[at : at + ID_SIZE] for at in range(0, len(data), ID_SIZE)]
