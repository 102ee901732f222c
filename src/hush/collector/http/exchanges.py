"""One request on a connection, and its answer: what an ASGI application sees of them.

The connection hands on pieces of the body, and says when it is complete, broken off, or when the client has gone
(`hear`). An application waits for that in `receive`; a request on the short way (`hush.collector.http.direct`) is a
subclass that waits for nothing.
"""

from __future__ import annotations

import asyncio
import http
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hush.collector.http.protocol import Protocol

logger = logging.getLogger("hush.collector")

STATUS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in http.HTTPStatus}
EMPTY = frozenset((204, 304))  # answers without a body, whose length is not said either
BROKEN = b"Internal Server Error"


class Exchange:
    """One request and its answer. `keep_alive`: the connection may go on after it."""

    body: bytearray
    held = 0  # bytes of the request in memory
    fault = ""  # the kind of problem with its body
    more_body = True
    gone = False  # the client has gone, or must not be answered any more
    started = False  # the answer has begun
    complete = False  # and is whole
    latest = 0.0  # when the answer must have begun

    def __init__(self, connection: Protocol, scope: Any, keep_alive: bool) -> None:
        self.connection, self.scope, self.keep_alive = connection, scope, keep_alive
        self.body = bytearray()

    def begin(self) -> None:
        """Answer: it is the turn of this request."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Stop answering: it has taken too long, and the client was told."""

    def hear(self) -> None:
        """Look again: a piece of the body has come, the body is complete or broken off, or the client has gone."""

    def head(self, status: int, headers: list[tuple[bytes, bytes]]) -> list[bytes]:
        """Return the parts of an answer's head, without the empty line. The first header is the date."""
        parts = [STATUS[status]]
        said = False
        for name, value in (*self.connection.server.date, *headers):
            parts += (name, b": ", value, b"\r\n")
            said = said or name == b"connection"
        if said or (self.connection.server.is_leaving and not self.connection.pipeline):
            self.keep_alive = False  # no other value than "close" is ever sent
        if not (self.keep_alive or said):
            parts.append(b"connection: close\r\n")
        return parts

    def end(self) -> None:
        """The answer is whole."""
        self.complete = True
        if not self.keep_alive:
            self.connection.leave()
        self.connection.answered()


class Run(Exchange):
    """A request that an application answers. `waits`: the client sends the body when it is told to."""

    def __init__(self, connection: Protocol, scope: Any, keep_alive: bool, waits: bool) -> None:
        super().__init__(connection, scope, keep_alive)
        self._heard = asyncio.Event()
        self._waits = waits
        self._task: asyncio.Task[None] | None = None
        self._has_begun = False
        self._chunked = False
        self._left: int | None = None  # bytes of the answer that are still to come, if their number was said
        self._silent = False  # the answer has no body

    def begin(self) -> None:
        """Let the application answer, in a task of its own; unless it is ending."""
        server = self.connection.server
        if server.is_over:
            self._end_unanswered()
            return
        self._task = self.connection.loop.create_task(self.run(server.app))
        server.tasks.add(self._task)
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Forget the task. If it was cancelled before its first step, nothing of it has run."""
        self.connection.server.done(task)
        if not self._has_begun:
            self._end_unanswered()

    def _end_unanswered(self) -> None:
        self.connection.bounds.release(self)
        if not self.gone:
            self.connection.give_up(self, "this server is shutting down")

    def abandon(self) -> None:
        """Cancel the task."""
        if self._task is not None:
            self._task.cancel()

    def hear(self) -> None:
        """Wake the application."""
        self._heard.set()

    async def run(self, app: Any) -> None:
        """Answer. The bytes of a request count until its handler ends, even if the client has gone."""
        self._has_begun = True
        try:
            await app(self.scope, self.receive, self.send)
            if not self.complete and not self.gone:
                raise RuntimeError("the application did not answer")
        except BaseException as error:
            if not self.gone and not self.complete:
                if not isinstance(error, asyncio.CancelledError):  # whoever cancels it says so
                    logger.error("a request was not answered", exc_info=error)
                await self._broken()
            elif self.complete and isinstance(error, Exception):  # Starlette answers its own failures, and raises them
                logger.error("a request failed", exc_info=error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        finally:
            self.connection.bounds.release(self)

    async def _broken(self) -> None:
        """Say that there is no answer; or end the connection, if one has begun."""
        if self.started:
            self.connection.leave()
            return
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(BROKEN))]
        await self.send(
            {"type": "http.response.start", "status": 500, "headers": [*headers, (b"connection", b"close")]}
        )
        await self.send({"type": "http.response.body", "body": BROKEN})

    async def receive(self) -> Any:
        """Return a piece of the body; or a disconnect, with the reason."""
        connection = self.connection
        if self._waits and not self.started and not connection.is_closing():
            self._waits = False
            connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.gone and not self.complete:
            connection.resume_reading()
            await self._heard.wait()
            self._heard.clear()
        if self.fault:
            return {"type": "http.disconnect", "refused": self.fault}
        if self.gone or self.complete:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: Any) -> None:
        """Write the head of the answer, or a piece of its body."""
        if self.connection.drained is not None and not self.gone:
            await self.connection.drained.wait()
        if self.gone:
            return
        if message["type"] == "http.response.start" and not self.started:
            self._begin(message["status"], message.get("headers", ()))
        elif message["type"] == "http.response.body" and self.started and not self.complete:
            self._go_on(message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"{message['type']} was not expected now")

    def _begin(self, status: int, headers: Any) -> None:
        found = [(bytes(name).lower(), bytes(value)) for name, value in headers]
        # A line end within a header would begin one of its own.
        if any(b"\n" in part or b"\r" in part for header in found for part in header):
            raise RuntimeError("a header of an answer has a line end")
        said = dict(found)
        self._silent = status in EMPTY or self.scope["method"] == "HEAD"
        if b"content-length" in said:
            self._left, self._chunked = int(said[b"content-length"]), False  # also where another answer failed
        elif not self._silent:
            self._chunked = self.scope["http_version"] == "1.1"
            if self._chunked:
                found.append((b"transfer-encoding", b"chunked"))
        parts = self.head(status, found)
        head = b"".join((*parts, b"\r\n"))
        self.started = True
        self.connection.write(head)

    def _go_on(self, body: bytes, more: bool) -> None:
        if self._left is not None and not self._silent:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("an answer has another length than it says")
        if self._silent:
            body = b""
        elif self._chunked:
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + (b"" if more else b"0\r\n\r\n")
        if body:
            self.connection.write(body)
        if not more:
            self.hear()  # whoever waits for the client to go need not wait any longer
            self.end()
