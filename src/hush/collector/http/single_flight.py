"""Work that many wait for is done once: a hundred who look at the same plan cost as much as one.

What is expensive is computed in another thread; whoever asks meanwhile waits for the same result. The threads are few,
and apart from those that read the store: those who ask for a hundred different things hold up each other, not the rest.
"""

from __future__ import annotations

import asyncio
import time
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
REST = 9.0  # times as long as it took: refreshing what is there takes a tenth of the time of one core at most


class Workers:
    """A few threads. So many may wait for one; others are told to come back later."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="hush-views")
        self._most, self._now = threads + waiting, 0

    async def run(self, make: Callable[[], T]) -> T:
        """Return what `make` returns, in a thread."""
        if self._now >= self._most:
            raise Refused("busy", "too much is asked for at once", {"Retry-After": "1"})
        self._now += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, make)
        finally:
            self._now -= 1

    def close(self) -> None:
        """Begin nothing more, and forget what waits."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Shared:
    """The latest result for each key. It is computed again when the version is another one."""

    def __init__(self, workers: Workers | None = None, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._workers = workers or Workers()
        self._most, self._most_bytes = most, most_bytes
        self._held: OrderedDict[Hashable, tuple[Hashable, asyncio.Task[Any]]] = OrderedDict()

    async def get(self, key: Hashable, version: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make` for this version, which runs in a thread if nobody has asked for it yet."""
        held = self._held.pop(key, None)
        if held is None or held[0] != version or _failed(held[1]):
            held = version, asyncio.create_task(self._workers.run(make))
        self._held[key] = held
        # One who goes away must not take the result from the others.
        try:
            result: T = await asyncio.shield(held[1])
        finally:
            self._forget()
        return result

    def _forget(self) -> None:
        """Forget the oldest results that are too many. Work that is under way stays: others would begin it again."""
        for key in [key for key, (_, task) in self._held.items() if _failed(task)]:
            del self._held[key]
        done = {key: _size(task.result()) for key, (_, task) in self._held.items() if task.done()}
        over, size = len(self._held) - self._most, sum(done.values())
        for key in list(done)[:-1]:  # what was asked for last stays, however large
            if over <= 0 and size <= self._most_bytes:
                return
            del self._held[key]
            over, size = over - 1, size - done[key]


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def _size(result: Any) -> int:
    """Return about how many bytes a result takes."""
    if isinstance(result, bytes):
        return len(result)
    if isinstance(result, tuple):
        return sum(map(_size, result))
    return ROW * len(result if isinstance(result, list) else getattr(result, "estimates", ()))


class _Kept(NamedTuple):
    version: Hashable
    result: Any


class Spaced:
    """Results that take long. One is computed at a time, of all keys, and an older one is shown for a while.

    What nobody has seen is computed at once. What is there already is computed again for another version, but not
    before a rest that is several times as long as the last computation took.
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
            kept = self._fresh(key, version)  # somebody may have made it while this one waited
            if kept is None:
                start = self._clock()
                kept = _Kept(version, await self._workers.run(make))
                self._again = self._clock() + self._rest * (self._clock() - start)
                self._held.pop(key, None)
                self._held[key] = kept
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return kept
