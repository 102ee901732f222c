"""Shares expensive results: a hundred readers of the same plan cost as much as one.

An expensive result is computed in a thread; requests that come meanwhile wait for the same result. These threads are
few, and not those that read the store. So readers who ask for a hundred different results slow down each other alone.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from hush.collector.http.problems import Refused

T = TypeVar("T")

THREADS, WAITING = 2, 24
MOST = 64  # results
MOST_BYTES = 128 << 20  # of all results, about
ROW = 300  # bytes of an estimate, about
REST = 9.0  # times as long as it took: refreshing results takes at most a tenth of the time of one core


class Workers:
    """A few threads. At most `waiting` jobs wait for one; others are refused for now."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hush-views")
        self._most, self._now = threads + waiting, 0

    async def run(self, make: Callable[[], T]) -> T:
        """Call `make` in a thread, and return its result."""
        if self._now >= self._most:
            raise Refused("busy", "too much is asked for at once", {"Retry-After": "1"})
        self._now += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, make)
        finally:
            self._now -= 1

    def close(self) -> None:
        """Begin nothing more, and drop the jobs that wait."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Shared:
    """The latest result for each key. A new version is computed anew."""

    def __init__(self, workers: Workers | None = None, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._workers = workers or Workers()
        self._most, self._most_bytes = most, most_bytes
        self._held: OrderedDict[Hashable, tuple[Hashable, asyncio.Task[Any]]] = OrderedDict()

    async def get(self, key: Hashable, version: Hashable, make: Callable[[], T]) -> T:
        """Return the result for this version. The first to ask for it runs `make`, in a thread."""
        held = self._held.pop(key, None)
        if held is None or held[0] != version or failed(held[1]):
            held = version, asyncio.create_task(self._workers.run(make))
        self._held[key] = held
        # A reader who goes away must not cancel the work for the others.
        try:
            result: T = await asyncio.shield(held[1])
        finally:
            self._forget()
        return result

    def _forget(self) -> None:
        """Forget the oldest results that are too many. Work that is under way stays: others would begin it again."""
        for key in [key for key, (_, task) in self._held.items() if failed(task)]:
            del self._held[key]
        done = {key: _size(task.result()) for key, (_, task) in self._held.items() if task.done()}
        over, size = len(self._held) - self._most, sum(done.values())
        for key in list(done)[:-1]:  # the result that was asked for last stays, however large
            if over <= 0 and size <= self._most_bytes:
                return
            del self._held[key]
            over, size = over - 1, size - done[key]


def failed(task: asyncio.Task[Any]) -> bool:
    """Return whether a task has ended without a result."""
    return task.done() and (task.cancelled() or task.exception() is not None)


def _size(result: Any) -> int:
    """Return about how many bytes a result takes."""
    if isinstance(result, bytes):
        return len(result)
    if isinstance(result, tuple):
        return sum(map(_size, result))
    if isinstance(result, array):
        return len(result) * result.itemsize
    return ROW * len(result if isinstance(result, list) else getattr(result, "estimates", ()))


class _Kept(NamedTuple):
    version: Hashable
    result: Any


class Spaced:
    """Results that take long: only one of them is computed at a time, and an older one is shown for a while.

    A result for a new key is computed at once. For a known key, a new version is computed only after a rest, several
    times as long as the last computation.
    """

    def __init__(
        self,
        workers: Workers | None = None,
        most: int = MOST,
        rest: float = REST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workers = workers or Workers()
        self._most, self._rest, self._clock = most, rest, clock
        self._held: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._turn = asyncio.Lock()
        self._again = 0.0

    async def get(self, key: Hashable, version: Hashable, make: Callable[[], T]) -> T:
        """Return a result for this key, of this version or of an earlier one."""
        kept = self._fresh(key, version)
        if kept is None:
            kept = await asyncio.shield(asyncio.create_task(self._made(key, version, make)))
        result: T = kept.result
        return result

    def _fresh(self, key: Hashable, version: Hashable) -> _Kept | None:
        kept = self._held.get(key)
        return kept if kept is not None and (kept.version == version or self._clock() < self._again) else None

    async def _made(self, key: Hashable, version: Hashable, make: Callable[[], Any]) -> _Kept:
        async with self._turn:
            kept = self._fresh(key, version)  # another request may have made it meanwhile
            if kept is None:
                start = self._clock()
                kept = _Kept(version, await self._workers.run(make))
                self._again = self._clock() + self._rest * (self._clock() - start)
                self._held.pop(key, None)
                self._held[key] = kept
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return kept
