"""HTTP on a socket: one connection, with a bound on bytes and time in every state.

| state | bytes | seconds | beyond |
|---|---|---|---|
| waiting for the first request | `MAX_HEADERS` of empty lines | `HEADER_SECONDS` | 431; closed |
| waiting for another | the same | `KEEP_SECONDS` | 431; closed |
| address and headers | `MAX_HEADERS`, `MAX_ADDRESS` | `HEADER_SECONDS`, from the first byte on | 431; closed |
| a body | its handler's limit; `held_bytes` for all | `body_timeout`; `LEAST_RATE` after `GRACE` | 413, 503; 408 |
| sizes and extensions of chunks | `MAX_HEADERS`, plus the bytes of data | those of the body | 400 |
| trailers, which are dropped | `MAX_HEADERS` after the last data | those of the body | 400 |
| until the answer begins | what the request holds | `body_timeout` and `answer_timeout` together | 503; closed |
| requests behind one that is being answered | `MAX_PIPELINED` of them | until it is answered | answered, then closed |
| an answer that the client reads | `held_bytes` for all | `READ_LEAST`, or all of it, in `READ_SECONDS` | reset |
| the rest of a body after its answer | `LINGER_BYTES` | `LINGER_SECONDS` | closed |
| after an answer that ends the connection | `LINGER_BYTES` | `LINGER_SECONDS`, once the answer is read | closed |

The parser handles data in pieces as they arrived, a quarter of a MiB at most; bounds hold after each piece.

A request may be refused before its body has arrived: for its token, say. If the connection ends after the answer,
closing it at once would reset it while the client still sends, and the client would see a broken pipe instead of the
refusal. So the collector closes its own side alone, and reads the rest, within bounds (RFC 9112, section 9.6).

An answer that was written may still be in the kernel, in megabytes that no limit of a process counts. Closing would
leave them there for minutes if the client reads nothing. So they are counted with what waits here, a connection is
closed when the client's side has acknowledged everything, and one whose client has stopped reading is reset: then the
kernel forgets them at once.

Fields of a trailer are dropped, as RFC 9110 (section 6.5) asks for fields that nobody expects. Headers have decided
everything before them, so no trailer may change it; but clients whose libraries add a checksum there are served. A
trailer with fields of the connection or the framing, which the parser would follow, is refused, and so is a request
that a proxy could read in another way: see `hush.collector.http.framing`.

Requests wait for their turn. Each has its own time from then on, a body too, as nothing is read before; and what comes
behind them, half a head or garbage, ends the connection with the last answer and cuts none.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import struct
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httptools

from hush.collector.http import direct
from hush.collector.http.exchanges import Exchange, Run
from hush.collector.http.framing import check_head, refusal
from hush.collector.http.kernel import unacknowledged
from hush.collector.http.problems import Refused

if TYPE_CHECKING:
    from hush.collector.http.server import Server

logger = logging.getLogger("hush.collector")

MAX_HEADERS = 1 << 14  # bytes of address and headers together
MAX_ADDRESS = 1 << 12  # of these, of the address: splitting it, and reading its escapes, is done in the loop
HEADER_SECONDS = 20.0
KEEP_SECONDS = 30.0
MAX_PIPELINED = 128
HIGH_WATER = 1 << 16  # bytes of a body that wait for its handler; then no more are read
GRACE = 5.0  # seconds before a body is measured by its rate
LEAST_RATE = 1 << 10  # bytes of a body per second
READ_SECONDS = 20.0
READ_LEAST = 1 << 16  # bytes of an answer that a client reads in that time, or all that was written before it
LINGER_SECONDS = 5.0
LINGER_BYTES = 1 << 24

WAITING, HEAD, BODY, OVER = range(4)  # between two requests, within one, or nothing is read any more
FRAMING = frozenset((b"connection", b"proxy-connection", b"upgrade", b"content-length", b"transfer-encoding"))
FAULTS = (Refused, httptools.HttpParserError, UnicodeError)  # of a client: what it sends is not for the log
LONG = "the sizes of chunks, or their extensions or trailers, are too long"
BOUNDED: dict[Any, Any] = {"hush.bounded": {}}  # an extension of ASGI: bodies come in time, or say that they do not
VERSION = {"version": "3.0", "spec_version": "2.3"}
RESET = struct.pack("ii", 1, 0)  # closing a socket with this option of SO_LINGER resets it


class Protocol(asyncio.Protocol):
    """One connection. Its first half is what asyncio and the parser call, its second what answers and bounds do."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self.server, self.bounds, self.loop = server, server.bounds, asyncio.get_running_loop()
        self.exchange: Exchange | None = None  # the newest request
        self.pipeline: deque[Exchange] = deque()  # those that wait for their turn, oldest first
        self.drained: asyncio.Event | None = None  # while writing is paused: set when it may go on
        self.deadline = math.inf  # for the next step of the client, or of the answer
        self.is_leaving = False  # this side has ended: the connection is closed once the rest has come
        self.url, self.headers = b"", list[tuple[bytes, bytes]]()
        # Requests that wait behind one that ends the connection are parsed, and refused.
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._collector = server.collector
        self._heads = self._collector.heads
        self._state = WAITING
        self._closed = False  # by this side: the descriptor may be another's by now
        self._paused = False  # reading
        self._waits = False  # the client sends a body when it is told to
        self._size = 0  # of address and headers, as far as the parser has handed them on
        self._pending = 0  # bytes of a request whose headers have not ended
        self._begun = 0  # requests whose headers have ended
        self._since = 0.0  # when the body began
        self._body = 0  # bytes of it
        self._wire = 0  # bytes that brought them, from the second piece on
        self._framing = 0  # bytes since the last that was data
        self._chunks = 0
        self._answering: Exchange | None = None  # the request that is being answered, or was last
        self._turns = False  # within `_turn`
        self._left: int | None = None  # bytes that may still come after an answer
        self._has_ended = False  # the client's side, while requests of it were to be answered
        self._nothing_follows = False  # the connection is closed as soon as everything is read
        self._written = 0  # bytes, since the connection began
        self._taken = 0  # bytes of these that the client's side is known to have
        self._mark: tuple[int, int, float] | None = None  # what was written and taken when somebody looked, and when

    # -- the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, if there is room."""
        self.transport = transport
        self._socket: Any = transport.get_extra_info("socket")
        self._server = _address(transport.get_extra_info("sockname"))
        self.client = _address(transport.get_extra_info("peername"))
        self.server.connections.add(self)
        # One that was accepted just before the door closed is told so with its answer, and nobody waits long for it.
        self.deadline = self.loop.time() + (LINGER_SECONDS if self.server.is_shut else HEADER_SECONDS)
        if kind := self.bounds.admit(self, self.client[0] if self.client else ""):
            self._state = OVER
            self._turn_away(Refused(kind, "there are too many connections", self._retry()))
            self._shut()

    def connection_lost(self, exc: Exception | None) -> None:
        """End. Requests that wait for their turn are forgotten; one that is being answered hears of it."""
        self._closed = True
        self.server.leave(self)
        self.bounds.leave(self)
        waiting = [*self.pipeline]
        self.pipeline.clear()
        for exchange in waiting:
            exchange.gone = True
            self.bounds.release(exchange)
        if self._answering is not None:
            self._answering.gone = self._answering.gone or not self._answering.complete
            self._answering.hear()
        if self.drained is not None:
            self.drained.set()
            self.drained = None

    def eof_received(self) -> bool:
        """Answer whole requests of a client that has ended its side, then close. What is not whole is forgotten."""
        if self._state == BODY and self.exchange is not self._answering and not self.is_leaving:
            self.bounds.release(self.pipeline.pop())
            self._state = HEAD
        if self.is_leaving or self._state == BODY or self.is_answered():
            if not self.unread():
                self._closed = True
                return False
            self.leave()
            self._nothing_follows = True
            return True
        self._has_ended = True
        self._hear_no_more()
        return True

    def _last(self) -> Exchange:
        """Return the last request that has no answer yet."""
        last = self.pipeline[-1] if self.pipeline else self._answering
        assert last is not None
        return last

    def pause_writing(self) -> None:
        """Read nothing more from a client that does not read."""
        self.drained = asyncio.Event()
        self.pause_reading()

    def resume_writing(self) -> None:
        """Go on: the client has read a good deal."""
        drained, self.drained = self.drained, None
        if drained is not None:
            drained.set()
        self.resume_reading()

    def pause_reading(self) -> None:
        """Read no more for now."""
        if not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on, unless the client does not read."""
        if self._paused and self.drained is None:
            self._paused = False
            if self._state == HEAD and not self.is_leaving:  # the rest may be there already
                self.deadline = max(self.deadline, self.loop.time() + HEADER_SECONDS)
            if not self._closed:
                self.transport.resume_reading()

    def is_answered(self) -> bool:
        """Return whether nobody waits for an answer here."""
        return self._answering is None or (self._answering.complete and not self.pipeline)

    def _retry(self) -> dict[str, str]:
        return {"Retry-After": str(self.bounds.settings.retry_after)}

    # -- calls of the parser

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._state = HEAD
        self._size = 0
        self.bounds.idle.pop(self, None)
        self.deadline = self.loop.time() + HEADER_SECONDS
        self.url, self.headers, self._waits = b"", [], False

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self._count(len(url))
        self.url += url
        if max(len(self.url), 3 * self.url.count(b"%")) > MAX_ADDRESS:  # an escape has three bytes, if it is one
            raise Refused("headers-too-large", f"an address has at most {MAX_ADDRESS} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and drop a field of a trailer."""
        if self._state == HEAD:
            self._count(len(name) + len(value) + 4)
            name = name.lower()
            if name == b"expect" and value.strip().lower() == b"100-continue":
                self._waits = True
            self.headers.append((name, value))
        elif name.lower() in FRAMING:  # the parser listens to them, and would hear nothing more of a connection
            raise Refused("bad-request", "a trailer says nothing about the connection or the message")

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MAX_HEADERS:
            raise Refused("headers-too-large")

    def on_headers_complete(self) -> None:
        """Begin to answer, or let the request wait for its turn."""
        if self.is_closing() or len(self.pipeline) >= MAX_PIPELINED:
            raise Refused("bad-request", "too many requests wait here")
        parser = self._parser
        version = parser.get_http_version()
        check_head(version, self.url, self.headers, upgrades=parser.should_upgrade())
        target = httptools.parse_url(self.url)
        raw = target.path or b"/"
        path = raw.decode("ascii")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": VERSION,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": unquote(path) if b"%" in raw else path,
            "raw_path": raw,
            "query_string": target.query or b"",
            "root_path": "",
            "headers": self.headers,
            "client": self.client,
            "server": self._server,
            "extensions": BOUNDED,
        }
        self._trust(scope)
        # A client that is refused before it was told to go on does not send the body: nobody could say what the next
        # bytes are. Nor after a protocol that is not spoken here was asked for.
        keep_alive = (
            version == "1.1" and not self._waits and not parser.should_upgrade() and bool(parser.should_keep_alive())
        )
        way = direct.found(self._collector, scope)
        exchange: Exchange
        if way is None:  # HTTP/1.0 has no 100 Continue (RFC 9110, section 10.1.1)
            exchange = Run(self, scope, keep_alive, self._waits and version == "1.1")
        else:
            exchange = direct.Direct(self, scope, keep_alive, *way)
        self.exchange = exchange
        self.bounds.take(exchange, self._size)
        self._state = BODY
        self._begun += 1
        self._body = self._wire = self._framing = self._chunks = 0
        self._since = self.loop.time()
        self.deadline = self._since + self.bounds.settings.body_timeout
        if self.is_answered():
            self._begin(exchange)
        else:
            self.pause_reading()
            self.pipeline.append(exchange)

    def _trust(self, scope: dict[str, Any]) -> None:
        """Believe a proxy that is trusted about who the client is."""
        if self.server.proxies:
            self.server.proxies.read(scope)

    def _begin(self, exchange: Exchange) -> None:
        """Answer a request."""
        self._answering = exchange
        settings = self.bounds.settings
        now = self.loop.time()
        exchange.latest = now + settings.body_timeout + settings.answer_timeout
        if self._state in (WAITING, OVER):
            self.deadline = exchange.latest
        elif exchange.fault:  # it was refused before its turn
            self.deadline = now + LINGER_SECONDS
        elif self._state == BODY:  # none of it was read while it waited for its turn
            self.deadline = now + settings.body_timeout
        exchange.begin()

    def on_chunk_header(self) -> None:
        """Count a chunk: each takes five bytes at least, and a call or two, also where very many come in one piece."""
        self._chunks += 1
        if 5 * self._chunks > MAX_HEADERS + self._body:
            raise Refused("bad-request", LONG)

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body; drop it if the request is answered or broken already."""
        exchange = self.exchange
        assert exchange is not None
        self._body += len(body)
        if exchange.complete or exchange.fault or exchange.gone:
            return
        exchange.body += body
        if not self.bounds.take(exchange, len(body)):
            self.bounds.make_room(self)
        if len(exchange.body) > HIGH_WATER:
            self.pause_reading()
        exchange.hear()

    def on_message_complete(self) -> None:
        """End a request; close the connection if it only waited for this."""
        exchange = self.exchange
        assert exchange is not None
        self._state = WAITING
        self.bounds.arriving.pop(self, None)
        if self.is_leaving:
            self._finish()
        elif exchange.complete:
            self._left = None
            self._rest()
        else:
            assert self._answering is not None
            self.deadline = self._answering.latest
            exchange.more_body = False
            exchange.hear()

    def _rest(self) -> None:
        """Wait for another request."""
        self.deadline = self.loop.time() + KEEP_SECONDS
        self.bounds.idle[self] = None

    # -- bytes

    def data_received(self, data: bytes) -> None:
        """Take bytes, within the bounds on headers and on the framing of a body."""
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                self.reset()
                return
        if self._state == OVER:
            return
        state, begun, body = self._state, self._begun, self._body
        alone = state == WAITING and not self._pending and self._left is None and self.is_answered()
        if alone and self.drained is None and self.bounds.has_room(len(data)):
            known = self._heads.find(data)
            if known is not None:
                self._take_known(*known)
                return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # what follows is not HTTP
            self._state = OVER
            self._left = LINGER_BYTES
            return
        except httptools.HttpParserError as error:
            found = error.__context__
            if isinstance(error, httptools.HttpParserCallbackError) and not isinstance(found, FAULTS):
                logger.error("a request could not be read", exc_info=found)
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
        if self._state == BODY and self._left is None and self.exchange is not None and not self.exchange.fault:
            self.bounds.arriving[self] = None
        if alone and self._state == WAITING and self._begun == begun + 1:
            exchange = self.exchange
            if isinstance(exchange, direct.Direct) and exchange.accepted and exchange.keep_alive:
                self._heads.keep(data, self._body, self._size, exchange)

    def _take_known(self, head: direct.Head, id_: bytes, body: bytes) -> None:
        """Take a whole request with a head that was taken before. The parser is between two, and does not see it."""
        scope = {**head.scope, "server": self._server, "client": self.client, "scheme": "http"}
        if id_:
            scope["headers"] = [(name, id_ if name == direct.BATCH else value) for name, value in scope["headers"]]
        self._trust(scope)
        exchange = direct.Direct(self, scope, True, head.plan, head.kind, known=True)
        exchange.more_body = False
        self.exchange = self._answering = exchange
        self._begun += 1
        self._size, self._body = head.size, head.length
        self.bounds.idle.pop(self, None)
        settings = self.bounds.settings
        exchange.latest = self.deadline = self.loop.time() + settings.body_timeout + settings.answer_timeout
        self.bounds.take(exchange, head.size + head.length)
        exchange.take(body)

    def _refuse(self, refused: Refused) -> None:
        """Answer malformed input, unless earlier requests must be answered first; and read no more."""
        broken = self.exchange if self._state == BODY else None
        self._state = OVER
        self.bounds.arriving.pop(self, None)
        if self._closed:  # with the answer before, from within the parser
            return
        if self._left is not None:  # it was answered
            self._finish()
            return
        if broken is not None and broken is not self._answering:
            self.pipeline.pop()
            self.bounds.release(broken)
            broken = None
        if broken is not None:
            if broken.started:
                self.leave()
                return
            broken.gone = True
            broken.hear()
        elif not self.is_answered():
            self._hear_no_more()
            return
        self._turn_away(refused)
        self.leave()

    def _hear_no_more(self) -> None:
        """Read no more requests, and end the connection with the last answer."""
        self._state = OVER
        self._last().keep_alive = False
        self._left = LINGER_BYTES
        assert self._answering is not None
        self.deadline = self._answering.latest

    # -- answers

    def _turn_away(self, refused: Refused) -> None:
        """Write an answer that no handler has seen, and count it."""
        self.server.collector.note(refused.status)
        self.write(refusal(refused))

    def write(self, data: bytes) -> None:
        """Write a part of an answer."""
        self._written += len(data)
        self.transport.write(data)

    def answered(self) -> None:
        """Turn to the next request, or wait for one, or for the rest of an unread body."""
        if self._turns or self.is_closing():
            return
        self.resume_reading()
        if self.pipeline and not self._turn():
            return
        if self._state == WAITING:
            self._rest()
        elif self._state == BODY:
            self.bounds.arriving.pop(self, None)
            self._left = LINGER_BYTES
            self.deadline = self.loop.time() + LINGER_SECONDS

    def _turn(self) -> bool:
        """Begin one request after the other, while each is answered at once. Return whether all were.

        Such an answer calls `answered` from within. If that began the next, very many would use up the stack.
        """
        self._turns = True
        try:
            while self.pipeline:
                exchange = self.pipeline.popleft()
                self._begin(exchange)
                if not exchange.complete or self.is_closing():
                    return False
        finally:
            self._turns = False
        return True

    def end(self) -> None:
        """Take no more requests, as the server ends: close, once those that came are answered."""
        if self.is_answered():
            self.leave()
        else:
            self._last().keep_alive = False

    def is_closing(self) -> bool:
        """Return whether nothing more can be answered."""
        return self.is_leaving or self._closed or self.transport.is_closing()

    def leave(self) -> None:
        """End this side. Close when the client has everything, and nothing is on its way that would cause a reset."""
        if self.is_closing():
            return
        nothing_follows = self._state == WAITING or self._has_ended
        if nothing_follows and not self.unread():
            self._shut()
            return
        self.is_leaving = True
        self._nothing_follows = nothing_follows
        if self._answering is not None and not self._answering.complete:  # which is cut, as nobody may write any more
            self._answering.gone = True
            self._answering.hear()
        self.bounds.arriving.pop(self, None)
        self.bounds.idle.pop(self, None)
        self._left = LINGER_BYTES
        self.deadline = self.loop.time() + LINGER_SECONDS
        with suppress(OSError, RuntimeError):  # the client may be gone already
            self.transport.write_eof()
        self.resume_reading()
        if self._state in (HEAD, WAITING):
            self._state = OVER

    def _finish(self) -> None:
        """The rest of a request has come, after the answer that ends the connection: close once that is read."""
        self._nothing_follows = True
        if not self.is_leaving:
            self._state = WAITING
            self.leave()
        elif not self.unread():
            self._shut()

    def _shut(self) -> None:
        """Close. Everything was read, or is little and on its way."""
        self._closed = True
        self.transport.close()

    def make_way(self) -> None:
        """Close a connection that waits for a request, so that another finds room."""
        if self.unread():
            self.reset()
        else:
            self._shut()

    def reset(self) -> None:
        """Close at once, and let the kernel forget what the client has not read."""
        if not self._closed and self._socket is not None:
            with suppress(OSError):  # the client may be gone already
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._closed = True
        self.transport.abort()

    # -- regular checks of all connections

    @property
    def held(self) -> int:
        """How many bytes of its newest request are held."""
        return self.exchange.held if self.exchange is not None else 0

    def too_slow(self, now: float) -> bool:
        """Return whether a body comes at less than the least rate. Time counts only while the collector reads."""
        if self._paused:
            self._since = now
        return now - self._since > GRACE and self._body < LEAST_RATE * (now - self._since - GRACE)

    def fail(self, kind: str) -> None:
        """Refuse an unfinished body. Its handler gets the refusal when it reads on."""
        exchange = self.exchange
        assert exchange is not None
        self.bounds.arriving.pop(self, None)
        self.bounds.release(exchange)
        exchange.body = bytearray()
        exchange.fault = kind
        exchange.hear()
        if exchange.started and not exchange.complete:  # a stream, say, and nothing can be said within it
            self.leave()
        if exchange is self._answering or self._answering is None or self.is_leaving:
            self.deadline = self.loop.time() + LINGER_SECONDS
            self.resume_reading()
        else:  # the refusal waits for its turn, and so does the rest of the body
            self.deadline = self._answering.latest
            self.pause_reading()

    def expire(self, now: float) -> None:
        """Act on a deadline that has passed."""
        exchange, answering = self.exchange, self._answering
        refused = self._state == BODY and exchange is not None and exchange is not answering and exchange.fault
        self.deadline = math.inf  # unread answers have a bound of their own
        if self.is_leaving:
            self._nothing_follows = True
            if not self.unread():
                self._shut()
        elif self.is_closing():
            return
        elif answering is not None and not (answering.complete or answering.started) and now >= answering.latest:
            if self.drained is None:
                self.give_up(answering, "there was no answer in time")
            else:  # it may be there: the client reads the one before, as fast as it must
                answering.latest = self.deadline = now + READ_SECONDS
        elif (self._state in (WAITING, OVER) or refused) and answering is not None and not answering.complete:
            if not answering.started:  # a stream may go on
                self.deadline = answering.latest
        elif self._state == HEAD and self._paused:  # by this side
            self.deadline = now + HEADER_SECONDS
        elif self._state == HEAD and answering is not None and not (answering.complete or answering.started):
            self._hear_no_more()
        elif self._state == BODY and exchange is not None and not exchange.complete and not exchange.fault:
            if self._paused:
                self.deadline = now + self.bounds.settings.body_timeout
            else:
                self.fail("too-slow")
        else:
            self.leave()

    def give_up(self, late: Exchange, why: str) -> None:
        """Refuse a request whose answer does not begin; and those behind it with the connection."""
        late.gone = True
        late.abandon()
        for waiting in self.pipeline:
            waiting.gone = True
            self.bounds.release(waiting)
        self.pipeline.clear()
        if not self.is_closing():
            self._turn_away(Refused("busy", why, self._retry()))
            self.leave()

    def unread(self) -> int:
        """Return how many bytes were written that the client's side has not acknowledged."""
        size = self.transport.get_write_buffer_size()
        if not self._closed and self._written > self._taken and self._socket is not None:
            size += unacknowledged(self._socket.fileno())
        self._taken = self._written - size
        return size

    def unsent(self, now: float) -> int:
        """Return how many bytes the client has not read; reset the connection if the client has stopped reading.

        It has to read all that was written when somebody looked, or a good deal of it, before the time is over.
        """
        size = self.unread() if self._written > self._taken or self._nothing_follows else 0
        if not size:
            self._mark = None
            if self._nothing_follows and not self._closed:
                self._shut()
        elif self._mark is None or self._taken >= min(self._mark[0], self._mark[1] + READ_LEAST):
            self._mark = self._written, self._taken, now
        elif now - self._mark[2] > READ_SECONDS:
            self.reset()
            return 0
        return size


def _address(found: Any) -> tuple[str, int] | None:
    """Return an address and a port, of a socket that has them."""
    return (str(found[0]), int(found[1])) if isinstance(found, tuple | list) else None
