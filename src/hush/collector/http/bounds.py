"""Limits on all connections of a process together: their number, the bytes that they hold, and how slow they may be.

Times are plain numbers on each connection, and one timer for the process looks at all of them, so that a request costs
no timer. A connection may thus live up to `SWEEP` seconds longer than it should.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

from hush.collector.http.security import household, is_here
from hush.collector.settings import Settings

if TYPE_CHECKING:
    from hush.collector.http.exchanges import Exchange
    from hush.collector.http.protocol import Protocol

logger = logging.getLogger("hush.collector")

SWEEP = 0.5  # seconds between two looks at all connections
PART = 16  # when there is no room, at least this part of the bytes of unfinished bodies is dropped
LOOK = 256  # connections that are checked before the loop turns to other work
TRIED = 16  # waiting connections of which one makes room that has read all its answers
SPARE_FILES = 64  # descriptors for everything that is not a connection


class Bounds:
    """The connections of a process, and the bytes that they hold.

    `held` counts the bytes of requests from their headers until the handler ends, whether or not the client is still
    there. If it passes `settings.held_bytes`, the household that holds most of the unfinished bodies loses the oldest
    of them. So slow or greedy senders make room for the others.
    """

    def __init__(self, settings: Settings, trusted: Callable[[str], bool] = lambda _: False, files: int = 0) -> None:
        self.settings = settings
        self.most = max(1, min(settings.connections, files - SPARE_FILES)) if files else settings.connections
        self.held = 0
        self.open: dict[Protocol, str] = {}  # and the household of each
        self.idle: dict[Protocol, None] = {}  # those that wait for a request, longest first
        self.arriving: dict[Protocol, None] = {}  # those with an unfinished body, oldest first
        self._trusted = trusted
        self._households: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def admit(self, connection: Protocol, address: str) -> str:
        """Count a connection, or return the kind of problem that refuses it.

        Connections that wait for a request make room for new ones, those first that read no answer: their clients know
        how to open another.
        """
        sender = household(address)
        excepted = is_here(address) or self._trusted(address)
        if not excepted and self._households[sender] >= self.settings.connections_each:
            return "too-many"
        if len(self.open) >= self.most:
            if not self.idle:
                return "busy"
            oldest = next((one for one in islice(self.idle, TRIED) if not one.unread()), next(iter(self.idle)))
            self.leave(oldest)
            oldest.make_way()
        self._households[sender] += 1
        self.open[connection] = sender
        self.idle[connection] = None
        if self._timer is None:
            self._timer = connection.loop.call_later(SWEEP, self._sweep, connection.loop)
        return ""

    def leave(self, connection: Protocol) -> None:
        """Forget a connection."""
        self.idle.pop(connection, None)
        self.arriving.pop(connection, None)
        sender = self.open.pop(connection, None)
        if sender is not None:
            self._households[sender] -= 1
            if not self._households[sender]:
                del self._households[sender]

    def has_room(self, size: int) -> bool:
        """Return whether this many bytes more fit."""
        return self.held + size <= self.settings.held_bytes

    def take(self, exchange: Exchange, size: int) -> bool:
        """Count bytes of a request; return whether there is room for them."""
        exchange.held += size
        self.held += size
        return self.held <= self.settings.held_bytes

    def release(self, exchange: Exchange) -> None:
        """Let the bytes of a request go."""
        self.held -= exchange.held
        exchange.held = 0

    def make_room(self, newest: Protocol) -> None:
        """Refuse unfinished bodies until the rest fits, that of `newest` last.

        Each is looked at once, however many are refused. A part of their bytes is dropped in one go, so that the next
        piece of a body does not start this again. If complete requests hold too much already, refusing all unfinished
        ones would not help, and `newest` alone is refused.
        """
        self.arriving.setdefault(newest)
        bodies: dict[str, deque[Protocol]] = {}  # of each household, oldest first
        holds: Counter[str] = Counter()
        for connection in self.arriving:
            sender = self.open.get(connection, "")
            bodies.setdefault(sender, deque()).append(connection)
            holds[sender] += connection.held
        total, most = holds.total(), self.settings.held_bytes
        if self.held - total > most:
            newest.fail("busy")
            return
        most = min(most, self.held - total // PART)
        greedy = [(-size, place, sender) for place, (sender, size) in enumerate(holds.items())]
        heapify(greedy)
        while self.held > most and greedy:
            less, place, sender = heappop(greedy)
            oldest = bodies[sender].popleft()
            less += oldest.held
            oldest.fail("busy")
            if bodies[sender]:
                heappush(greedy, (less, place, sender))

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to check all connections, some at a time: the loop serves others in between."""
        self._look(loop, [*self.open], 0, [])

    def _look(
        self, loop: asyncio.AbstractEventLoop, found: list[Protocol], start: int, unsent: list[tuple[int, Protocol]]
    ) -> None:
        now, end = loop.time(), start + LOOK
        for connection in found[start:end]:
            try:
                self._look_at(connection, now, unsent)
            except Exception:  # one connection must not stop the clock of all others
                logger.exception("a connection could not be checked")
                connection.reset()
        if end < len(found):
            loop.call_soon(self._look, loop, found, end, unsent)
            return
        self._timer = loop.call_later(SWEEP, self._sweep, loop) if self.open else None
        total = sum(size for size, _ in unsent)
        for size, connection in sorted(unsent, key=lambda pair: -pair[0]):
            if total <= self.settings.held_bytes:
                break
            connection.reset()
            total -= size

    def _look_at(self, connection: Protocol, now: float, unsent: list[tuple[int, Protocol]]) -> None:
        if connection in self.arriving and connection.too_slow(now):
            connection.fail("too-slow")
        if connection.deadline <= now and connection in self.open:
            connection.expire(now)
        if size := connection.unsent(now):
            unsent.append((size, connection))
