"""Many requests, one commit: the way from requests to the relay's store.

A commit waits for the disk, and costs nearly the same for one report as for a thousand. So requests that arrive during
a commit go into the next one together. A request is answered when its reports are durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hush.relay.store import RelayStore, Taken

GROUP = 4096  # requests of one commit at most


class Full(Exception):
    """Too many bytes wait for a commit: try again a little later."""


class Intake:
    """A queue in front of a store. Made within the event loop that it serves."""

    def __init__(self, store: RelayStore, most_bytes: int) -> None:
        self._store, self._most_bytes, self._bytes = store, most_bytes, 0
        self._waiting: list[tuple[Taken, asyncio.Future[int]]] = []
        self._task: asyncio.Task[None] | None = None

    async def take(self, plan_id: str, sealed: Sequence[bytes]) -> int:
        """Return how many of these reports were new, once all of them are durable."""
        size = sum(map(len, sealed))
        if self._bytes + size > self._most_bytes:
            raise Full
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(((plan_id, sealed), future))
        self._bytes += size
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
            try:
                found = await asyncio.to_thread(self._store.take, [taken for taken, _ in group])
            except Exception as error:  # noqa: BLE001 - every request of the group is told
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, future), new in zip(group, found, strict=True):
                    if not future.done():  # otherwise the client has gone
                        future.set_result(new)
            self._bytes -= sum(len(one) for (_, sealed), _ in group for one in sealed)

    async def stop(self) -> None:
        """Commit all that wait."""
        if self._task is not None:
            await self._task
