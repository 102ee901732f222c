"""Whether the store can be read: one look at a time, in a thread of its own, and nobody waits for it for ever.

A store that hangs must not take the threads that others need, nor one more with every question about its health. So
a question that comes while a look goes on waits for that look.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from hush.collector.stores import Store
from hush.errors import StoreError


class Pulse:
    """Looks at a store, for a time that is bounded."""

    def __init__(self, store: Store, timeout: float) -> None:
        self._store, self._timeout = store, timeout
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hush-pulse")
        self._look: asyncio.Future[None] | None = None

    async def check(self) -> None:
        """Return if the store can be read; otherwise raise a StoreError."""
        if self._look is None or self._look.done():
            self._look = asyncio.get_running_loop().run_in_executor(self._thread, self._store.check)
            self._look.add_done_callback(_seen)
        done, _ = await asyncio.wait([self._look], timeout=self._timeout)
        if not done:
            raise StoreError(f"the store did not answer within {self._timeout:g} seconds")
        await self._look

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _seen(look: asyncio.Future[None]) -> None:
    """Read the result of a look that everybody has given up, or asyncio complains that nobody did."""
    if not look.cancelled():
        look.exception()
