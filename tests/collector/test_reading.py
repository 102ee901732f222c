"""Clients that do not read their answers, and answers that do not come: nothing of them stays, not in the kernel."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hush.collector import formats
from hush.collector.http import protocol
from hush.collector.http.protocol import Protocol
from tests.collector.connections import LAST, ONE, RESET, dial, ends, reports, until
from tests.collector.served import PLAN, Served, anybody, report_of, serving
from tests.collector.test_limits import answered

PAGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
FIN_WAIT_1, LAST_ACK, CLOSING = "04", "09", "0B"

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what its sockets hold")


def left(served: Served) -> int:
    """Return the bytes that the kernel holds for connections that the collector has closed."""
    mine, total = f":{served.port:04X}", 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if local.endswith(mine) and state in (FIN_WAIT_1, LAST_ACK, CLOSING):
            total += int(queues.partition(":")[0], 16)
    return total


@contextmanager
def deaf(served: Served, *requests: bytes) -> Iterator[socket.socket]:
    """A client that asks and reads nothing."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", served.port))
        for request in requests:
            connection.sendall(request)
        yield connection


def read_all(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def half_closed(connection: socket.socket) -> None:
    with suppress(OSError):  # it may be reset already
        connection.shutdown(socket.SHUT_WR)


def nothing(_: socket.socket) -> None:
    """Leave a connection as it is."""


HOW: dict[str, tuple[list[bytes], Callable[[socket.socket], None]]] = {
    "many answers": ([PAGE] * 60, nothing),
    "one answer": ([PAGE], nothing),
    "the last answer": ([PAGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")], nothing),
    "an answer after the end": ([PAGE] * 20, half_closed),
    "a refusal": ([PAGE] * 20 + [b"\0\0\0\0"], nothing),
    "an answer and half a request": ([PAGE, b"GET /"], nothing),
}


@needs_linux
@pytest.mark.parametrize("how", HOW)
def test_nothing_stays_of_answers_that_nobody_reads(quick: Served, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is reset. `watched` looks at what the collector holds."""
    requests, then = HOW[how]
    resets, real = [], Protocol.reset

    def reset(self: Protocol) -> None:
        resets.append(self)
        real(self)

    monkeypatch.setattr(Protocol, "reset", reset)
    with ExitStack() as stack:
        several = [stack.enter_context(deaf(quick, *requests)) for _ in range(4)]
        for connection in several:
            then(connection)
        until(lambda: len(set(resets)) == 4 and not quick.server.bounds.open)
        assert left(quick) == 0
        for connection in several:
            with pytest.raises(ConnectionResetError):
                read_all(connection)


@needs_linux
def test_a_connection_that_is_only_closed_is_caught(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: as it was."""
    monkeypatch.setattr(Protocol, "reset", lambda self: self.transport.abort())
    with deaf(quick, PAGE):  # of more requests some may be unread, and then the kernel resets by itself
        until(lambda: bool(quick.server.bounds.open))
        until(lambda: not quick.server.bounds.open)
        until(lambda: left(quick) > 0)


def test_what_the_kernel_holds_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was written and not read has one bound; whoever has most goes first."""
    resets, real = [], Protocol.reset

    def reset(self: Protocol) -> None:
        resets.append(self)
        real(self)

    monkeypatch.setattr(Protocol, "reset", reset)
    with serving(tmp_path, anybody(held_bytes=1 << 20, max_body=1 << 18)) as served, ExitStack() as stack:
        page = len(hear_all(served))
        each = (1 << 18) // page
        few = [stack.enter_context(deaf(served, PAGE * each)) for _ in range(3)]
        stack.enter_context(deaf(served, PAGE * each * 8))
        until(lambda: len(resets) == 1)
        for connection in few:
            assert connection.recv(1)


def hear_all(served: Served) -> bytes:
    return served.raw(PAGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))


def test_a_slow_reader_is_served(quick: Served) -> None:
    """It reads something within every span of time, if little: the last bytes too."""
    with deaf(quick, PAGE * 3 + LAST) as connection:
        found = b""
        while data := connection.recv(1 << 14):
            found += data
            threading.Event().wait(0.02)
    assert found.count(b"HTTP/1.1 200 OK") == 4


def test_a_connection_that_is_busy_for_long_is_not_reset() -> None:
    """Something is always on its way, and never the same."""
    found = Protocol.__new__(Protocol)
    resets: list[bool] = []
    found._written, found._taken, found._mark, found._nothing_follows, found._closed = 0, 0, None, False, False
    found.unread = lambda: 100  # type: ignore[method-assign]
    found.reset = lambda: resets.append(True)  # type: ignore[method-assign]
    for moment in range(1000):
        found._written += 200
        found._taken = found._written - 100
        assert found.unsent(float(moment)) == 100
    assert not resets
    for moment in range(1000, 1000 + 2 + int(protocol.READ_SECONDS) + 1):
        found.unsent(float(moment))
    assert resets


# -- answers that do not come


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A collector that gives its handlers a moment."""
    monkeypatch.setattr(protocol, "LINGER_SECONDS", 0.5)
    with serving(tmp_path, anybody(body_timeout=0.5, answer_timeout=0.5)) as served:
        yield served


@pytest.mark.parametrize("way", ["short", "long"])
def test_an_answer_that_does_not_begin(patient: Served, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """The client hears it, and so do those behind it, with the connection; the report may be counted later."""
    go, real = threading.Event(), patient.store.commit

    def slowly(*arguments: Any) -> Any:
        go.wait(20)
        return real(*arguments)

    monkeypatch.setattr(patient.store, "commit", slowly)
    body = report_of(PLAN).encode()
    head = reports(f"Content-Length: {len(body)}").replace(formats.JSON.encode(), formats.REPORT.encode())
    head = head if way == "short" else head.replace(b"/reports ", b"/reports? ")
    try:
        with dial(patient) as connection:
            connection.sendall(head + body + ONE)
            found = ends(connection)
            answered(found, "busy")
            assert b"no answer in time" in found
            assert found.count(b"HTTP/1.1 ") == 1
        assert patient.app.state.collector.desk._metrics.responses[503] == 1
    finally:
        go.set()
    until(lambda: patient.store.tally(PLAN).reports == 1)
    until(lambda: patient.server.bounds.held == 0)
    assert patient.raw(LAST).startswith(b"HTTP/1.1 200 ")


def test_a_stream_may_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the beginning of an answer has a limit."""
    monkeypatch.setattr(protocol, "READ_SECONDS", 0.3)
    settings = anybody(body_timeout=1, answer_timeout=1, stream_interval=0.05)
    with serving(tmp_path, settings) as served, dial(served) as connection:
        connection.sendall(b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\n" % PLAN.id.encode())
        found, long = b"", time.monotonic() + 3
        while found.count(b"still here") < 30 or time.monotonic() < long:
            data = connection.recv(1 << 16)
            assert data, "it was cut"
            found += data
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
