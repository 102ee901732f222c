"""A server of HTTP: sockets, the life of an application, and an orderly end.

**The end** has three steps. After SIGTERM the server *gives notice*: it serves on, also new connections, but says that
it is not ready, and ends every connection with its next answer. So a proxy has time to notice, and sends nothing into a
door that closes. Then it listens no more, closes connections that wait, and lets requests in flight be answered. At
last the application ends: it commits what was acknowledged.

Ctrl-C, or a second signal, ends that time at once. One more does not wait for requests in flight either.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from functools import partial
from typing import Any

from starlette.applications import Starlette

from hush.collector.http.bounds import Bounds
from hush.collector.http.forwarded import Proxies
from hush.collector.http.protocol import Protocol

logger = logging.getLogger("hush.collector")

BACKLOG = 2048
HANDLED = (signal.SIGINT, signal.SIGTERM)
LAST_WORD = 5.0  # seconds for answers of requests that were cancelled


class Server:
    """A server of one application, on sockets that listen already.

    `app.state.collector` has the parts of it that connections call (`hush.collector.http.direct`), `lifespan`, and
    `give_notice` and `end_streams`, which are called when that time begins and when it is over. `notice`: how
    long that is, in seconds; `grace`: how long requests in flight have after it. `ready` is called with the address.
    """

    def __init__(
        self,
        app: Starlette,
        bounds: Bounds,
        proxies: Proxies,
        *,
        notice: float = 0.0,
        grace: float = 30.0,
        ready: Callable[[str], None] | None = None,
    ) -> None:
        self.app, self.bounds, self.proxies = app, bounds, proxies
        self.collector: Any = app.state.collector
        self.connections: set[Protocol] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.date: list[tuple[bytes, bytes]] = []  # the header, renewed once a second
        self.is_leaving = False
        self.is_shut = False  # it listens no more
        self.is_over = False  # no further request reaches the application
        self.loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = _fastest()
        self.ending: Callable[[], None] = lambda: None  # called when the time of notice is over
        self.ready = ready
        self._notice, self._grace = notice, grace
        self._steps: tuple[asyncio.Event, ...] | None = None
        self._asked = 0  # how many steps of the end were asked for before there was a loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._left = asyncio.Event()  # set when a connection or a task ends

    def leave(self, connection: Protocol) -> None:
        """Forget a connection that has ended."""
        self.connections.discard(connection)
        self._left.set()

    def done(self, task: asyncio.Task[None]) -> None:
        """Forget a task that has ended."""
        self.tasks.discard(task)
        self._left.set()

    def run(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until a signal, or `stop`."""
        with asyncio.Runner(loop_factory=self.loop_factory) as runner:
            runner.run(self.serve(sockets))

    def stop(self, steps: int = 2) -> None:
        """Begin to end, from any thread. `steps`: 1 gives notice, 2 does not wait, 3 skips all that is in flight."""
        self._asked = max(self._asked, steps)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._step, steps)

    def _step(self, steps: int) -> None:
        assert self._steps is not None
        for event in self._steps[:steps]:
            event.set()

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until a signal, or `stop`."""
        loop = asyncio.get_running_loop()
        self._steps = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = loop
        self._step(self._asked)
        with self._signals(loop):
            async with self.collector.lifespan(self.app):
                if self._steps[0].is_set():  # while it started: nobody has seen it yet
                    return
                dating = loop.create_task(self._tell_time())
                connection: Any = partial(Protocol, self)
                servers = [await loop.create_server(connection, sock=one, backlog=BACKLOG) for one in sockets]
                if self.ready is not None:
                    self.ready(_url(sockets[0]))
                try:
                    await self._until_the_end()
                    for server in servers:
                        server.close()
                    await self._let_go()
                finally:
                    dating.cancel()
            # As the application ended, reports that could not be committed got their answers.
            await _first(self._answered(), seconds=LAST_WORD)
            for connection in [*self.connections]:
                connection.reset()

    async def _until_the_end(self) -> None:
        """Serve, and then serve on after notice was given."""
        assert self._steps is not None
        begun, skipped, _ = self._steps
        await begun.wait()
        self.is_leaving = True
        self.collector.give_notice()
        if not skipped.is_set() and self._notice > 0:
            logger.info("stopping in %g seconds: a second signal does it now", self._notice)
            await _first(skipped.wait(), seconds=self._notice)

    async def _let_go(self) -> None:
        """Close connections that wait for a request, and let the others be answered."""
        assert self._steps is not None
        self.is_shut = True
        self.ending()
        self.collector.end_streams()
        for connection in [*self.connections]:
            connection.end()
        if not await _first(self._steps[2].wait(), self._answered(), seconds=self._grace):
            late = sum(not connection.is_answered() for connection in self.connections)
            logger.error("%d requests had no answer in %g seconds", late, self._grace)
        self.is_over = True
        for task in [*self.tasks]:
            task.cancel()

    async def _answered(self) -> None:
        """Return when nobody waits for an answer, and every answer was read."""
        while self.connections or self.tasks:
            self._left.clear()
            await self._left.wait()

    async def _tell_time(self) -> None:
        """Renew the date that answers have."""
        while True:
            self.date = [(b"date", formatdate(usegmt=True).encode())]
            await asyncio.sleep(1)

    @contextmanager
    def _signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """End at a signal, and put back what signals did before."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in HANDLED}
        steps = 0

        def heard(number: int, *_: Any) -> None:
            nonlocal steps
            steps = max(steps + 1, 2 if number == signal.SIGINT else 1)
            loop.call_soon_threadsafe(self._step, steps)

        for number in HANDLED:
            signal.signal(number, heard)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


async def _first(*waited: Any, seconds: float) -> bool:
    """Wait until one of these is over; return whether that was in time."""
    tasks = [asyncio.ensure_future(one) for one in waited]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    return bool(done)


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return how the fastest loop is made that is installed."""
    try:
        import uvloop
    except ImportError:  # on Windows
        return None
    return uvloop.new_event_loop


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
