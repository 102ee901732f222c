"""HTTP on a socket: uvicorn's protocol, with a bound on headers, a time within which they must arrive, and problems as
documents where no application is reached.

A request may be refused before its body is there: by its token, say. If the client wants the connection closed after
the answer, as Python's own does, closing it at once would meet the rest of the body with a reset, and the client would
hear of a broken pipe and not of the refusal. So the connection stays for what is left of the body, within bounds (RFC
9112, section 9.6).
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hush.collector import direct
from hush.collector.problems import Refused

MAX_HEADERS = 1 << 14  # bytes of address and headers together
HEADER_SECONDS = 20.0
LINGER_SECONDS = 2.0
LINGER_BYTES = 1 << 20


class Protocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._size = 0  # of address and headers, as far as the parser has handed them on
        self._pending = 0  # bytes of a request whose headers have not ended
        self._begun = 0  # requests whose headers have ended
        self._timer: asyncio.TimerHandle | None = None
        self._whole = True  # nothing of the last request is missing
        self._forwarded: Any = None
        if self.config.proxy_headers:
            self._forwarded = ProxyHeadersMiddleware(direct.nothing, self.config.forwarded_allow_ips or "")
        self._lingering: int | None = None  # bytes that may still come before the connection is closed

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- what the parser finds

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._size = 0
        self._whole = False
        self._wait()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._stop_waiting()
        self._begun += 1
        super().on_headers_complete()
        if self.cycle is not None and not self.cycle.keep_alive:
            self.cycle.transport = _Polite(self)  # type: ignore[assignment]

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Answer a request: on the short way if it may go it."""
        collector = self.config.app.state.collector  # type: ignore[union-attr]
        way = None if self.flow.write_paused else direct.found(collector, cycle.scope)
        if way is None:
            super()._start_asgi_task(cycle, app)
            return
        if self._forwarded is not None:
            direct.at_once(self._forwarded, cycle.scope)
        cycle.message_event = direct.Direct(collector, cycle, *way)
        cycle.message_event.set()  # the body of a request that had to wait may be there

    def on_message_complete(self) -> None:
        """End a request; close the connection if that is all it waited for."""
        self._whole = True
        super().on_message_complete()
        if self._lingering is not None:
            self.transport.close()

    def leave(self) -> None:
        """Close the connection, once nothing is on the way that would be met with a reset."""
        if self._whole:
            self.transport.close()
        elif self._lingering is None:
            self._lingering = LINGER_BYTES
            self.loop.call_later(LINGER_SECONDS, self.transport.close)  # which does nothing if it is closed

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MAX_HEADERS:
            raise ValueError("headers too large")

    def data_received(self, data: bytes) -> None:
        """Take bytes; refuse those of a header that never ends, which the parser would collect."""
        if self._lingering is not None:
            self._lingering -= len(data)
            if self._lingering < 0:
                self.transport.close()
                return
        waiting, begun = self._timer is not None, self._begun
        super().data_received(data)
        self._pending = self._pending + len(data) if waiting and self._begun == begun else 0
        if self._pending > MAX_HEADERS and not self.transport.is_closing():
            self._size = self._pending
            self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or has too large headers, with a problem."""
        refused = Refused("headers-too-large" if self._size > MAX_HEADERS else "bad-request")
        response = refused.response()
        status = {400: b"400 Bad Request", 431: b"431 Request Header Fields Too Large"}[response.status_code]
        head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\n"
        for name, value in response.raw_headers:
            head += name + b": " + value + b"\r\n"
        self.transport.write(head + b"\r\n" + bytes(response.body))
        self.transport.close()


class _Polite:
    """A transport, for one answer, that is not closed before its request is whole."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol, self.write = protocol, protocol.transport.write

    def is_closing(self) -> bool:
        return self._protocol.transport.is_closing()

    def close(self) -> None:
        self._protocol.leave()
