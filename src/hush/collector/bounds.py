"""What one process allows all connections together: how many there are, how many bytes they hold, how slow they may be.

Times are plain numbers on each connection, and one timer for the process looks at all of them, so that a request costs
no timer. A connection may thus live up to `SWEEP` seconds longer than it should.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from hush.collector.security import household, is_here
from hush.collector.settings import Settings

if TYPE_CHECKING:
    from hush.collector.protocol import Cycle, Protocol

SWEEP = 0.5  # seconds between two looks at all connections
SPARE_FILES = 64  # descriptors for everything that is not a connection


class Bounds:
    """The connections of a process, and what they hold.

    `held` counts the bytes of requests from their headers until the handler ends, whether or not the client is still
    there. If it passes `settings.held_bytes`, the household that holds most of the unfinished bodies loses the oldest
    of them. So a sender that is slow or greedy makes room for others, and not the other way round.
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

        Connections that wait for a request make room for new ones: their clients know how to open another.
        """
        sender = household(address)
        excepted = is_here(address) or self._trusted(address)
        if not excepted and self._households[sender] >= self.settings.connections_each:
            return "too-many"
        if len(self.open) >= self.most:
            if not self.idle:
                return "busy"
            oldest = next(iter(self.idle))
            self.leave(oldest)
            (oldest.transport.abort if oldest.transport.get_write_buffer_size() else oldest.transport.close)()
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

    def take(self, cycle: Cycle, size: int) -> bool:
        """Count bytes of a request; return whether there is room for them."""
        cycle.held += size
        self.held += size
        return self.held <= self.settings.held_bytes

    def release(self, cycle: Cycle) -> None:
        """Let the bytes of a request go."""
        self.held -= cycle.held
        cycle.held = 0

    def make_room(self, newest: Protocol) -> None:
        """Refuse unfinished bodies until what is held fits, that of `newest` last."""
        self.arriving.setdefault(newest)
        while self.held > self.settings.held_bytes and self.arriving:
            holds: Counter[str] = Counter()
            for connection in self.arriving:
                holds[self.open.get(connection, "")] += connection.held
            ((greedy, _),) = holds.most_common(1)
            next(found for found in self.arriving if self.open.get(found, "") == greedy).fail("busy")

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at all connections once."""
        self._timer = loop.call_later(SWEEP, self._sweep, loop) if self.open else None
        now = loop.time()
        for slow in [found for found in self.arriving if found.too_slow(now)]:
            slow.fail("too-slow")
        unsent: list[tuple[int, Protocol]] = []
        for connection in [*self.open]:
            if connection.deadline <= now:
                connection.expire(now)
            if size := connection.unsent(now):
                unsent.append((size, connection))
        total = sum(size for size, _ in unsent)
        for size, connection in sorted(unsent, key=lambda pair: -pair[0]):
            if total <= self.settings.held_bytes:
                break
            connection.transport.abort()
            total -= size
