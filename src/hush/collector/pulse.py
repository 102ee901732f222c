"""Checks whether the store can commit: one check at a time, in its own thread, with a time limit.

A store that hangs must not use up the threads that others need, nor take another one with every health request. So a
request that comes during a check waits for its result. Nor may many requests load the database: a result holds for a
moment. The thread is a daemon, so that a check that hangs does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Protocol

from hush.errors import StoreError


class Committing(Protocol):
    """A store, of a collector or of a relay."""

    def check(self) -> None:
        """Make a test commit."""


class Pulse:
    """Checks a store: within `timeout` seconds, and at most once in `every` seconds."""

    def __init__(self, store: Committing, timeout: float, every: float) -> None:
        self._store, self._timeout, self._every = store, timeout, every
        self._look: asyncio.Future[None] | None = None
        self._seen = 0.0

    async def check(self) -> None:
        """Return if the store can commit; otherwise raise a StoreError."""
        look = self._latest(asyncio.get_running_loop())  # another request may begin a later one while this one waits
        done, _ = await asyncio.wait([look], timeout=self._timeout)
        if not done:
            raise StoreError(f"the store did not commit within {self._timeout:g} seconds")
        if (failure := look.exception()) is not None:
            raise failure

    def _latest(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """Return the latest check. If it ended too long ago, a new one begins."""
        look = self._look
        if look is None or (look.done() and loop.time() - self._seen >= self._every):
            look = self._look = loop.create_future()
            look.add_done_callback(self._note)
            threading.Thread(target=self._work, args=(loop, look), name="hush-pulse", daemon=True).start()
        return look

    def _work(self, loop: asyncio.AbstractEventLoop, look: asyncio.Future[None]) -> None:
        try:
            self._store.check()
        except Exception as error:  # noqa: BLE001 - it is handed to the waiting requests
            failure: Exception | None = error
        else:
            failure = None
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(_resolve, look, failure)

    def _note(self, look: asyncio.Future[None]) -> None:
        """Note when a check ended, and read its result, as asyncio warns about results that nobody reads."""
        self._seen = look.get_loop().time()
        if not look.cancelled():
            look.exception()


def _resolve(look: asyncio.Future[None], failure: Exception | None) -> None:
    if look.done():
        return
    if failure is None:
        look.set_result(None)
    else:
        look.set_exception(failure)
