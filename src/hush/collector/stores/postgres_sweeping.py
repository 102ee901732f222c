"""Forgetting the ids of closed plans in PostgreSQL: a piece at a time, in the order of the ids, beside everything else.

Closing a plan forgets its ids before it returns. If the process is killed meanwhile, a part of them is left, and nobody
needs it: a closed plan takes no reports. So a store that opens does not wait for the rest to be deleted; a thread
does that, in short transactions that lock no other rows. One process at a time forgets the ids of a plan. The others
look again until none is left, as that process may be killed too.
"""

from __future__ import annotations

import logging
import threading

from hush.collector.stores.postgres_connections import SWEEPING, Pool
from hush.errors import StoreError

logger = logging.getLogger("hush.collector")

PIECE = 10_000  # ids that are forgotten in one transaction
AGAIN = 5.0  # seconds until the next look, if another process is at work or the database is away
CLOSING = 5.0  # seconds that a piece may still take when the store is closed
FIRST = b""  # it comes before every id

LEFT = "select number from plans where not open and exists (select from seen where plan = number) order by number"
# The next place is that of an id behind which all are left: going through deleted rows again would take ever longer.
FORGET = """
with found as (select id from seen where plan = %s and id > %s order by id limit %s),
  gone as (delete from seen using found where seen.plan = %s and seen.id = found.id)
select id from found order by id desc limit 1
"""


class Sweeper:
    """Forgets ids of closed plans."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._ending = pool, threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Forget in the background whatever is left of closed plans."""
        thread = threading.Thread(target=self._work, name="hush-sweep", daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Stop behind the current piece. The next start finds the rest."""
        self._ending.set()
        for thread in self._threads:
            thread.join(CLOSING)

    def _work(self) -> None:
        while not self._ending.is_set():
            try:
                done = [self.forget(number) for (number,) in self._pool.rows(LEFT)]
                if all(done):
                    return
            except StoreError as error:
                if not self._ending.is_set():
                    logger.warning("ids of closed plans are not forgotten yet: %s", error)
            self._ending.wait(AGAIN)

    def forget(self, number: int) -> bool:
        """Forget the ids of a closed plan; return whether none is left, as far as this process can say."""
        after: bytes | None = FIRST
        while after is not None and not self._ending.is_set():
            with self._pool.transaction() as db:
                if db.execute("select pg_try_advisory_xact_lock(%s, %s)", (SWEEPING, number)).fetchone() != (True,):
                    return False
                row = db.execute(FORGET, (number, after, PIECE, number)).fetchone()
            after = None if row is None else row[0]
        return after is None
