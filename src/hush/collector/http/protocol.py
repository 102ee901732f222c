"""HTTP on a socket: uvicorn's protocol, with a bound on bytes and time in every state of a connection.

| state | bytes | seconds | beyond |
|---|---|---|---|
| waiting for the first request | `MAX_HEADERS` of empty lines | `HEADER_SECONDS` | 431; closed |
| waiting for another | the same | `timeout_keep_alive` | 431; closed |
| address and headers | `MAX_HEADERS`, `MAX_ADDRESS` | `HEADER_SECONDS`, from the first byte on | 431; closed |
| a body | its handler's limit; `held_bytes` for all | `body_timeout`; `LEAST_RATE` after `GRACE` | 413, 503; 408 |
| sizes and extensions of chunks | `MAX_HEADERS`, plus the bytes of data | those of the body | 400 |
| trailers, which are dropped | `MAX_HEADERS` after the last data | those of the body | 400 |
| requests behind one that is being answered | `MAX_PIPELINED` of them | until it is answered | answered, then closed |
| an answer that is being written | `held_bytes` for all | `READ_LEAST` in `READ_SECONDS` | reset |
| the rest of a body after its answer | `LINGER_BYTES` | `LINGER_SECONDS` | closed |
| after an answer that ends the connection | `LINGER_BYTES` | `LINGER_SECONDS` | closed |

The parser handles data in pieces as they arrived, a quarter of a MiB at most; bounds hold after each piece.

A request may be refused before its body has arrived: for its token, say. If the connection ends after the answer,
closing it at once would reset it while the client still sends, and the client would see a broken pipe instead of the
refusal. So the collector closes its own side alone, and reads the rest, within bounds (RFC 9112, section 9.6).

Fields of a trailer are dropped, as RFC 9110 (section 6.5) asks for fields that nobody expects. Headers have decided
everything before them, so no trailer may change it; but clients whose libraries add a checksum there are served. A
request that a proxy could read in another way is refused: see `hush.collector.http.framing`.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httptools
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hush.collector.http import direct
from hush.collector.http.bounds import Bounds
from hush.collector.http.cycles import Cycle, Known
from hush.collector.http.framing import check_head, refusal
from hush.collector.http.problems import Refused

if TYPE_CHECKING:
    from hush.collector.http.app import Collector

MAX_HEADERS = 1 << 14  # bytes of address and headers together
MAX_ADDRESS = 1 << 12  # of these, of the address: splitting it, and reading its escapes, is done in the loop
HEADER_SECONDS = 20.0
MAX_PIPELINED = 128
GRACE = 5.0  # seconds before a body is measured by its rate
LEAST_RATE = 1 << 10  # bytes of a body per second
READ_SECONDS = 20.0
READ_LEAST = 1 << 16  # bytes of an answer that a client reads in that time, or all
LINGER_SECONDS = 5.0
LINGER_BYTES = 1 << 24

WAITING, HEAD, BODY, OVER = range(4)  # between two requests, within one, or nothing is read any more
LONG = "the sizes of chunks, or their extensions or trailers, are too long"
BOUNDED: dict[Any, Any] = {"hush.bounded": {}}  # an extension of ASGI: bodies come in time, or say that they do not


class Protocol(HttpToolsProtocol):
    """One connection."""

    cycle: Cycle | None  # type: ignore[assignment]  # the newest request

    def __init__(self, *arguments: Any, bounds: Bounds, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.deadline = math.inf  # for the next step of the client
        self.is_leaving = False  # the connection is closed once the rest has come
        self._bounds = bounds
        self._state = WAITING
        self._size = 0  # of address and headers, as far as the parser has handed them on
        self._pending = 0  # bytes of a request whose headers have not ended
        self._begun = 0  # requests whose headers have ended
        self._since = 0.0  # when the body began
        self._body = 0  # bytes of it
        self._wire = 0  # bytes that brought them, from the second piece on
        self._framing = 0  # bytes since the last that was data
        self._chunks = 0
        self._answering: Cycle | None = None  # the request that is being answered, or was last
        self._left: int | None = None  # bytes that may still come after an answer
        self._unsent: tuple[int, float] | None = None  # bytes that the client had not read, and when
        self._polite: Any = None
        app: Any = self.config.app
        self._collector: Collector = app.state.collector
        self._heads = self._collector.heads
        self._forwarded: Any = None
        if self.config.proxy_headers:
            self._forwarded = ProxyHeadersMiddleware(direct.nothing, self.config.forwarded_allow_ips or "")

    # -- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, if there is room."""
        super().connection_made(transport)
        self._polite = _Polite(self)
        self.deadline = self.loop.time() + HEADER_SECONDS
        if kind := self._bounds.admit(self, self.client[0] if self.client else ""):
            self._state = OVER
            transport.write(refusal(Refused(kind, "there are too many connections", self._retry())))
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End. Requests that wait for their turn are forgotten; one that is being answered hears of it."""
        self._bounds.leave(self)
        waiting = [cycle for cycle, _ in self.pipeline]
        self.pipeline.clear()
        for cycle in (self._answering, *waiting):
            if isinstance(cycle, Cycle) and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
                if cycle is not self._answering:
                    self._bounds.release(cycle)
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer whole requests of a client that has ended its side, then close."""
        if self.is_leaving or self._state in (HEAD, BODY) or self._answered():
            return False
        assert self.cycle is not None
        self.cycle.keep_alive = False
        return True

    def _answered(self) -> bool:
        return self._answering is None or (self._answering.response_complete and not self.pipeline)

    def _retry(self) -> dict[str, str]:
        return {"Retry-After": str(self._bounds.settings.retry_after)}

    # -- calls of the parser

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._state = HEAD
        self._size = 0
        self._bounds.idle.pop(self, None)
        self.deadline = self.loop.time() + HEADER_SECONDS
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self._count(len(url))
        super().on_url(url)
        if max(len(self.url), 3 * self.url.count(b"%")) > MAX_ADDRESS:  # an escape has three bytes, if it is one
            raise Refused("headers-too-large", f"an address has at most {MAX_ADDRESS} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and drop a field of a trailer."""
        if self._state == HEAD:
            self._count(len(name) + len(value) + 4)
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MAX_HEADERS:
            raise Refused("headers-too-large")

    def on_headers_complete(self) -> None:
        """Begin to answer, or let the request wait for its turn."""
        if self.is_leaving or len(self.pipeline) >= MAX_PIPELINED:
            raise Refused("bad-request", "too many requests wait here")
        version = self.parser.get_http_version()
        check_head(version, self.url, self.headers, upgrades=self.parser.should_upgrade())
        scope: Any = self.scope
        scope["method"] = self.parser.get_method().decode("ascii")
        if version != "1.1":
            scope["http_version"] = version
        target = httptools.parse_url(self.url)
        path = target.path or b"/"
        scope["raw_path"], scope["path"] = path, path.decode("ascii")
        if b"%" in path:
            scope["path"] = unquote(scope["path"])
        scope["query_string"] = target.query or b""
        scope["extensions"] = BOUNDED
        self.cycle = cycle = Cycle(
            scope=scope,
            transport=self._polite,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            # A client that is refused before it was told to go on does not send the body: nobody could say what the
            # next bytes are. Nor after a protocol that is not spoken here was asked for.
            keep_alive=version == "1.1"
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        cycle.bounds = self._bounds
        self._bounds.take(cycle, self._size)
        self._state = BODY
        self._begun += 1
        self._body = self._wire = self._framing = self._chunks = 0
        self._since = self.loop.time()
        self.deadline = self._since + self._bounds.settings.body_timeout
        if self._answered():
            self._begin(cycle)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    def _begin(self, cycle: Cycle) -> None:
        """Answer a request, on the short way if that is possible."""
        self._answering = cycle
        way = None if self.flow.write_paused else direct.found(self._collector, cycle.scope)
        if way is None:
            task = self.loop.create_task(cycle.run_asgi(self.app))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)
            return
        if self._forwarded is not None:
            direct.at_once(self._forwarded, cycle.scope)
        event: Any = direct.Direct(self._collector, cycle, *way)
        cycle.message_event = event
        event.set()  # a request that had to wait may be complete

    def on_chunk_header(self) -> None:
        """Count a chunk: each takes five bytes at least, and a call or two, also where very many come in one piece."""
        self._chunks += 1
        if 5 * self._chunks > MAX_HEADERS + self._body:
            raise Refused("bad-request", LONG)

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body; drop it if the request is answered or broken already."""
        cycle = self.cycle
        assert cycle is not None
        self._body += len(body)
        if cycle.response_complete or cycle.fault or cycle.disconnected:
            return
        cycle.body += body
        if not self._bounds.take(cycle, len(body)):
            self._bounds.make_room(self)
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """End a request; close the connection if it only waited for this."""
        cycle = self.cycle
        assert cycle is not None
        self._state = WAITING
        self._bounds.arriving.pop(self, None)
        if self.is_leaving:
            self.transport.close()
        elif cycle.response_complete:
            self._left = None
            self._rest()
        else:
            self.deadline = math.inf
            cycle.more_body = False
            cycle.message_event.set()

    def _rest(self) -> None:
        """Wait for another request."""
        self.deadline = self.loop.time() + self.timeout_keep_alive
        self._bounds.idle[self] = None

    # -- bytes

    def data_received(self, data: bytes) -> None:
        """Take bytes, within the bounds on headers and on the framing of a body."""
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                self.transport.abort()
                return
        if self._state == OVER:
            return
        state, begun, body = self._state, self._begun, self._body
        alone = state == WAITING and not self._pending and self._left is None and self._answered()
        if alone and not self.flow.write_paused and self._bounds.has_room(len(data)):
            found = self._heads.find(data)
            if found is not None:
                self._take_known(*found)
                return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # what follows is not HTTP
            self._state = OVER
            self._left = LINGER_BYTES
            return
        except httptools.HttpParserError as error:
            found = error.__context__
            self._refuse(found if isinstance(found, Refused) else Refused("bad-request"))
            return
        if state == BODY:
            if self._state == BODY and self._begun == begun:
                self._wire += len(data)
                self._framing = 0 if self._body > body else self._framing + len(data)
                if max(self._wire - 2 * self._body, self._framing) > MAX_HEADERS:
                    self._refuse(Refused("bad-request", LONG))
                    return
        elif self._begun == begun:
            self._pending += len(data)
            if self._pending > MAX_HEADERS:
                self._refuse(Refused("headers-too-large"))
            return
        self._pending = 0
        if self._state == BODY and self._left is None:
            self._bounds.arriving[self] = None
        if alone and self._state == WAITING and self._begun == begun + 1 and self.cycle is not None:
            way: Any = self.cycle.message_event
            if isinstance(way, direct.Direct) and way.accepted and self.cycle.keep_alive:
                self._heads.keep(data, self._body, self._size, way)

    def _take_known(self, head: direct.Head, id_: bytes, body: bytes) -> None:
        """Take a whole request with a head that was taken before. The parser is between two, and does not see it."""
        scope = {**head.scope, "server": self.server, "client": self.client, "scheme": self.scheme}
        scope["state"] = self.app_state.copy()
        if id_:
            scope["headers"] = [(name, id_ if name == direct.BATCH else value) for name, value in scope["headers"]]
        if self._forwarded is not None:
            direct.at_once(self._forwarded, scope)
        cycle = self.cycle = self._answering = Known(scope, self, self._polite)
        cycle.bounds = self._bounds
        way: Any = direct.Direct(self._collector, cycle, head.plan, head.kind, known=True)
        cycle.message_event = way
        self._begun += 1
        self._size, self._body = head.size, head.length
        self._bounds.idle.pop(self, None)
        self.deadline = math.inf
        self._bounds.take(cycle, head.size + head.length)
        way.take(body)

    def _refuse(self, refused: Refused) -> None:
        """Answer malformed input, unless earlier requests must be answered first; and read no more."""
        broken = self.cycle if self._state == BODY else None
        self._state = OVER
        self._bounds.arriving.pop(self, None)
        if self._left is not None:  # it was answered
            self.transport.close()
            return
        if broken is not None and broken is not self._answering:
            self.pipeline.popleft()
            self._bounds.release(broken)
            broken = None
        if broken is not None:
            broken.disconnected = True
            broken.message_event.set()
            if broken.response_started:
                self.transport.close()
                return
        elif not self._answered():
            last = self.pipeline[0][0] if self.pipeline else self._answering
            assert last is not None
            last.keep_alive = False
            self._left = LINGER_BYTES
            self.deadline = math.inf
            return
        self.transport.write(refusal(refused))
        self.leave()

    # -- answers

    def on_response_complete(self) -> None:
        """Turn to the next request, or wait for one, or for the rest of an unread body."""
        self.server_state.total_requests += 1
        if self.is_leaving or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, _ = self.pipeline.pop()
            assert isinstance(cycle, Cycle)
            self._begin(cycle)
        elif self._state == WAITING:
            self._rest()
        elif self._state == BODY:
            self._bounds.arriving.pop(self, None)
            self._left = LINGER_BYTES
            self.deadline = self.loop.time() + LINGER_SECONDS

    def leave(self) -> None:
        """Close the connection, once no more data is on its way that would cause a reset."""
        if self._state == WAITING or self.transport.is_closing():
            self.transport.close()
        elif not self.is_leaving:
            self.is_leaving = True
            self._bounds.arriving.pop(self, None)
            self._left = LINGER_BYTES
            self.deadline = self.loop.time() + LINGER_SECONDS
            with suppress(OSError):  # the client may be gone already
                self.transport.write_eof()
            self.flow.resume_reading()
            if self._state == HEAD:
                self._state = OVER

    # -- regular checks of all connections

    @property
    def held(self) -> int:
        """How many bytes of its newest request are held."""
        return self.cycle.held if self.cycle is not None else 0

    def too_slow(self, now: float) -> bool:
        """Return whether a body comes at less than the least rate. Time counts only while the collector reads."""
        if self.flow.read_paused:
            self._since = now
        return now - self._since > GRACE and self._body < LEAST_RATE * (now - self._since - GRACE)

    def fail(self, kind: str) -> None:
        """Refuse an unfinished body. Its handler gets the refusal when it reads on."""
        cycle = self.cycle
        assert cycle is not None
        self._bounds.arriving.pop(self, None)
        self._bounds.release(cycle)
        cycle.body = bytearray()
        cycle.fault = kind
        cycle.message_event.set()
        if cycle.response_started:  # a stream, say, and nothing can be said within it
            cycle.disconnected = True
            self.transport.close()
        self.deadline = self.loop.time() + LINGER_SECONDS
        self.flow.resume_reading()

    def expire(self, now: float) -> None:
        """Act on a deadline that has passed."""
        cycle = self.cycle
        if self.is_leaving or self.transport.is_closing():
            self.transport.abort()
        elif self._state != BODY or cycle is None or cycle.response_complete or cycle.fault:
            self.deadline = math.inf  # unread answers have a bound of their own
            self.transport.close()
        elif self.flow.read_paused:
            self.deadline = now + self._bounds.settings.body_timeout
        else:
            self.fail("too-slow")

    def unsent(self, now: float) -> int:
        """Return how many bytes the client has not read; end the connection if the client has stopped reading."""
        size = self.transport.get_write_buffer_size()
        if not size:
            self._unsent = None
        elif self._unsent is None or size <= self._unsent[0] - READ_LEAST:
            self._unsent = size, now
        elif now - self._unsent[1] > READ_SECONDS:
            self.transport.abort()
            return 0
        return size

    def resume_writing(self) -> None:
        """Go on writing: the client has read a good deal."""
        self._unsent = None
        super().resume_writing()


class _Polite:
    """A transport, for answers, that is not closed before their requests are whole."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol, self.write = protocol, protocol.transport.write

    def is_closing(self) -> bool:
        return self._protocol.is_leaving or self._protocol.transport.is_closing()

    def close(self) -> None:
        self._protocol.leave()
