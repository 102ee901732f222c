"""Work that many wait for is done once: a hundred who look at the same plan cost as much as one.

What is expensive is computed in another thread; whoever asks meanwhile waits for the same result.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

MOST = 64  # results
REST = 9.0  # times as long as it took: refreshing what is there takes a tenth of the time of one core at most


class Shared:
    """The latest result for each key. It is computed again when the version is another one."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, tuple[Hashable, asyncio.Task[Any]]] = OrderedDict()

    async def get(self, key: Hashable, version: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make` for this version, which runs in a thread if nobody has asked for it yet."""
        held = self._held.pop(key, None)
        if held is None or held[0] != version or _failed(held[1]):
            held = version, asyncio.create_task(asyncio.to_thread(make))
        self._held[key] = held
        self._forget()
        # One who goes away must not take the result from the others.
        result: T = await asyncio.shield(held[1])
        return result

    def _forget(self) -> None:
        """Forget the oldest results that are too many. Work that is under way stays: others would begin it again."""
        over = len(self._held) - self._most
        if over > 0:
            for key in [key for key, (_, task) in self._held.items() if task.done()][:over]:
                del self._held[key]


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


class _Kept(NamedTuple):
    version: Hashable
    result: Any


class Spaced:
    """Results that take long. One is computed at a time, of all keys, and an older one is shown for a while.

    What nobody has seen is computed at once. What is there already is computed again for another version, but not
    before a rest that is several times as long as the last computation took.
    """

    def __init__(self, most: int = MOST, rest: float = REST, clock: Callable[[], float] = time.monotonic) -> None:
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
                kept = _Kept(version, await asyncio.to_thread(make))
                self._again = self._clock() + self._rest * (self._clock() - start)
                self._held.pop(key, None)
                self._held[key] = kept
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
            return kept
