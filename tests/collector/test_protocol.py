"""A connection in each of its states, over real sockets: bytes and time are bounded, and nothing is read twice."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from hush.collector import formats
from hush.collector.http import bounds, protocol
from hush.collector.http.forwarded import Proxies
from tests.collector.bare import ready
from tests.collector.connections import CHUNKED, LAST, ONE, RESET, dial, ends, hear, pour, reports, until
from tests.collector.served import FEW, PLAN, Served, anybody, report_of, serving
from tests.collector.test_limits import answered

# -- one state after the other: what a client does that never goes on, does so slowly, or sends without end


SLOW = {
    "nothing": (b"", b""),
    "empty lines": (b"", b"\r\n"),
    "the method": (b"G", b""),
    "the address": (b"GET /", b"a"),
    "a header": (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X: y\r\n"),
    "after an answer": (ONE, b""),
    "empty lines after an answer": (ONE, b"\r\n"),
    "a body": (reports("Content-Length: 9999"), b"x"),
    "the size of a chunk": (reports(CHUNKED), b"0"),
    "an extension": (reports(CHUNKED) + b"1;", b"a"),
    "small chunks": (reports(CHUNKED), b"1\r\nx\r\n"),
    "a trailer": (reports(CHUNKED) + b"1\r\nx\r\n0\r\n", b"X: y\r\n"),
    "a field of a trailer": (reports(CHUNKED) + b"0\r\nX: ", b"y"),
    "a body that nobody reads": (b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b"x"),
    "a body without a plan": (b"POST /plans/x/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b"x"),
    "a body without a token": (b"POST /plans/x/close HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b"x"),
    "a body of another type": (reports("X: y", "Content-Length: 9999").replace(b"json", b"yaml"), b"x"),
    "a body for another method": (reports("Content-Length: 9999").replace(b"POST", b"PUT"), b"x"),
    "a body that is too large": (reports("Content-Length: 99999999"), b"x"),
    "chunks that nobody reads": (
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + CHUNKED.encode() + b"\r\n\r\n",
        b"1\r\nx\r\n",
    ),
    "a trailer that nobody reads": (
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + CHUNKED.encode() + b"\r\n\r\n0\r\n",
        b"X: y\r\n",
    ),
    "a body to a stream": (
        b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n" % PLAN.id.encode(),
        b"x",
    ),
    "a request behind a stream": (b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\nGET" % PLAN.id.encode(), b""),
}


@pytest.mark.parametrize("state", SLOW)
def test_no_state_lasts(quick: Served, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them has half a second, or one and a half for a body; a stream is cut with its request."""
    start, piece = SLOW[state]
    monkeypatch.setattr(protocol, "KEEP_SECONDS", 0.5)
    with dial(quick) as connection:
        connection.settimeout(0.05)
        connection.sendall(start)
        begun, found = time.monotonic(), b""
        while time.monotonic() - begun < 15:
            try:
                if not (data := connection.recv(1 << 16)):
                    break
                found += data
                continue
            except TimeoutError:
                pass
            except ConnectionResetError:
                break
            try:
                connection.sendall(piece)
            except OSError:
                break
        else:
            raise AssertionError("it goes on for ever")
    if start.startswith(b"POST /plans/%s/reports" % PLAN.id.encode()) and b"json" in start and b"99999999" not in start:
        answered(found, "too-slow")


ENDLESS = {
    "empty lines": (b"", b"\r\n" * 4096, "headers-too-large"),
    "a header": (b"GET / HTTP/1.1\r\nX: ", b"x" * 8192, "headers-too-large"),
    "the size of a chunk": (reports(CHUNKED), b"0" * 8192, "bad-request"),
    "an extension": (reports(CHUNKED) + b"1;", b"a" * 8192, "bad-request"),
    "extensions": (reports(CHUNKED), b"1;" + b"a" * 8000 + b"\r\nx\r\n", "bad-request"),
    "small chunks": (reports(CHUNKED), b"1\r\nx\r\n" * 1000, "bad-request"),
    "trailers": (reports(CHUNKED) + b"1\r\nx\r\n0\r\n", b"X: y\r\n" * 1000, "bad-request"),
    "a trailer": (reports(CHUNKED) + b"1\r\nx\r\n0\r\nX: ", b"y" * 8192, "bad-request"),
    "a body": (reports(CHUNKED), b"2000\r\n" + b" " * 8192 + b"\r\n", "too-large"),
}


@pytest.mark.parametrize("state", ENDLESS)
def test_no_state_takes_bytes_without_end(quick: Served, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LINGER_BYTES", 1 << 20)
    start, piece, kind = ENDLESS[state]
    found, sent = pour(quick, start, piece)
    answered(found, kind)
    assert sent < 16 << 20  # most of it lies in buffers of the system


def test_trailers_do_not_delay_others(quick: Served) -> None:
    """The parser copies a field with every piece: without a bound a few MiB of them took seconds."""
    running = threading.Event()

    def attack() -> None:
        while not running.is_set():
            with dial(quick) as connection:
                connection.sendall(reports(CHUNKED) + b"1\r\nx\r\n0\r\nX: ")
                try:
                    for _ in range(2000):
                        connection.sendall(b"y" * 4096)
                except OSError:
                    pass

    def median() -> float:
        took = []
        for _ in range(40):
            begun = time.perf_counter()
            quick.client.get("/healthz")
            took.append(time.perf_counter() - begun)
        return sorted(took)[20]

    idle = median()
    thread = threading.Thread(target=attack)
    thread.start()
    try:
        assert median() < 100 * idle + 0.1
    finally:
        running.set()
        thread.join()


def test_small_chunks_are_read_if_they_are_few(quick: Served) -> None:
    body = report_of(PLAN).to_json().encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\nX-Sum: 1\r\n\r\n"
    assert quick.raw(reports(CHUNKED, "Connection: close") + chunks).startswith(b"HTTP/1.1 202 ")
    pieces = [reports(CHUNKED, "Connection: close"), *(b"1\r\n%c\r\n" % byte for byte in body), b"0\r\n\r\n"]
    assert b" 202 " in quick.raw(*pieces)[:20] or b"repeated" in quick.raw(*pieces)


def test_requests_that_wait_are_bounded(quick: Served) -> None:
    """Behind a stream, which never ends, no more than so many are taken; before that, all are answered in turn."""
    found = quick.raw(ONE * 100 + LAST)
    assert found.count(b"HTTP/1.1 200 OK") == 101
    found = quick.raw(ONE * 5000)
    assert 100 < found.count(b"HTTP/1.1 200 OK") < 500
    assert found.count(b"connection: close") == 1
    stream = b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\n" % PLAN.id.encode()
    with dial(quick) as connection:
        connection.sendall(stream)
        until(lambda: any(found._answering for found in quick.server.bounds.open))
        (mine,) = [found for found in quick.server.bounds.open if found._answering]
        connection.setblocking(False)
        sent = 0
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and sent < 30 << 20:
            try:
                sent += connection.send(ONE * 1000)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                break
        assert len(mine.pipeline) <= protocol.MAX_PIPELINED


def test_a_stream_with_requests_behind_it_ends_with_its_client(quick: Served) -> None:
    """The one that is answered must hear that its client has gone, not the newest."""
    stream = b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\n" % PLAN.id.encode()
    with dial(quick) as connection:
        connection.sendall(stream + ONE)
        assert connection.recv(1 << 16)
    until(lambda: not quick.server.tasks)


def test_half_a_head_that_is_not_read_on_has_its_time(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """While two requests wait for a slow commit, nothing is read: the rest of the third may be there already."""
    ready(quick)
    go, real = threading.Event(), quick.store.commit

    def slowly(*arguments: Any) -> Any:
        go.wait(20)
        return real(*arguments)

    monkeypatch.setattr(quick.store, "commit", slowly)
    body = report_of(PLAN).to_json().encode()
    with dial(quick) as connection:
        connection.sendall(reports(f"Content-Length: {len(body)}") + body + ONE + LAST[:20])
        time.sleep(0.1)
        connection.sendall(LAST[20:])
        time.sleep(3 * protocol.HEADER_SECONDS)
        go.set()
        found = ends(connection)
    assert found.startswith(b"HTTP/1.1 202 ")
    assert found.count(b"HTTP/1.1 200 OK") == 2


def test_answers_that_nobody_reads(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks and asks and reads nothing is cut; so is one that does so after the last answer."""
    monkeypatch.setattr(protocol, "READ_LEAST", 1 << 12)
    page = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    for last in (page, page.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(20)
            connection.connect(("127.0.0.1", quick.port))
            try:
                for _ in range(100):
                    connection.sendall(page * 20)
                connection.sendall(last)
            except OSError:
                pass
            until(lambda: not quick.server.bounds.open)


# -- how much is held


def test_unfinished_bodies_share_a_budget(quick: Served) -> None:
    """48 of 250 KiB each in a MiB: most are told to come back. In the end nothing is held."""
    size = 250 << 10
    with ExitStack() as stack:
        connections = [stack.enter_context(dial(quick)) for _ in range(48)]
        for connection in connections:
            text = reports(f"Content-Length: {size + 10}").replace(formats.JSON.encode(), formats.COLUMNS.encode())
            connection.sendall(text + bytes(size))
        until(lambda: sum(bool(select.select([one], [], [], 0)[0]) for one in connections) >= 44)
        assert quick.server.bounds.held <= 1 << 20
        told = [one for one in connections if select.select([one], [], [], 0)[0]]
        for connection in told:
            found = hear(connection)
            answered(found, "busy")
            assert b"retry-after: 1" in found
            assert b"connection: close" in found
        for connection in set(connections) - set(told):
            answered(ends(connection), "too-slow")
    assert quick.server.bounds.held == 0


def test_a_refused_body_does_not_end_what_was_before_it(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that is counted has its receipt, however long that takes; the refusal has its turn behind it."""
    ready(quick)
    go, real, size = threading.Event(), quick.store.commit, 250 << 10

    def slowly(*arguments: Any) -> Any:
        go.wait(20)
        return real(*arguments)

    monkeypatch.setattr(quick.store, "commit", slowly)
    body = report_of(PLAN).to_json().encode()
    text = reports(f"Content-Length: {size + 10}").replace(formats.JSON.encode(), formats.COLUMNS.encode())
    with dial(quick) as connection, ExitStack() as stack:
        connection.sendall(reports(f"Content-Length: {len(body)}") + body + text + bytes(1000))
        until(lambda: any(found.pipeline for found in quick.server.bounds.arriving))
        (mine,) = quick.server.bounds.arriving
        for _ in range(6):
            stack.enter_context(dial(quick)).sendall(text + bytes(size))
        until(lambda: bool(mine.exchange.fault))
        time.sleep(3 * protocol.LINGER_SECONDS)
        go.set()
        found = ends(connection)
    assert found.startswith(b"HTTP/1.1 202 ")
    assert found.count(b"HTTP/1.1 503 ") == 1


def test_whoever_holds_most_makes_room(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that fills the budget with slow bodies does not keep others out."""
    size = 250 << 10
    text = reports(f"Content-Length: {size + 10}").replace(formats.JSON.encode(), formats.COLUMNS.encode())
    with ExitStack() as stack:
        greedy = [stack.enter_context(dial(quick)) for _ in range(4)]
        for connection in greedy:
            connection.sendall(text + bytes(size))
        until(lambda: quick.server.bounds.held > 4 * size)
        monkeypatch.setattr(bounds, "household", lambda _: "another")
        with dial(quick) as other:
            other.sendall(text + bytes(size))
            answered(hear(greedy[0]), "busy")  # the oldest
            other.sendall(bytes(10))
            answered(hear(other), "bad-report")  # it was read


def test_bodies_are_held_until_their_answer(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the client has gone: what it sent is still being read."""
    go, batch = threading.Event(), formats.batch

    def slowly(*arguments: Any) -> Any:
        go.wait(20)
        return batch(*arguments)

    monkeypatch.setattr(formats, "batch", slowly)
    size = 200 << 10
    text = reports(f"Content-Length: {size}").replace(formats.JSON.encode(), formats.COLUMNS.encode())
    try:
        for number in range(1, 5):
            with dial(quick) as connection:
                connection.sendall(text + bytes(size))
                until(lambda most=number * size: quick.server.bounds.held >= most)  # type: ignore[misc]
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        assert quick.server.bounds.held > 4 * size
        with dial(quick) as connection:
            connection.sendall(text.replace(b"204800", b"262144") + bytes(1 << 18))
            answered(hear(connection), "busy")
    finally:
        go.set()
    until(lambda: quick.server.bounds.held == 0)


def test_a_body_in_tiny_pieces_is_one_body(quick: Served) -> None:
    body = report_of(FEW).to_json().encode()
    text = reports(f"Content-Length: {len(body)}").replace(PLAN.id.encode(), FEW.id.encode())
    with dial(quick) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in text + body:
            connection.sendall(bytes([byte]))
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 202 ")


# -- how many there are


def test_connections_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait make room; those that are within a request do not."""
    with serving(tmp_path, anybody(connections=20, connections_each=5)) as served, ExitStack() as stack:
        waiting = [stack.enter_context(dial(served)) for _ in range(20)]
        until(lambda: len(served.server.bounds.open) == 20)
        within = []
        for _ in range(20):
            within.append(stack.enter_context(dial(served)))
            within[-1].sendall(b"GET /healthz HTTP/1.1\r\n")
            until(lambda: len(served.server.bounds.idle) == 20 - len(within))
        assert all(ends(one) == b"" for one in waiting)
        with dial(served) as one:
            answered(ends(one), "busy")
        for one in within:
            one.sendall(b"Host: x\r\n\r\n")
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert served.client.get("/healthz").status_code == 200
    monkeypatch.setattr(bounds, "is_here", lambda _: False)  # as if these came from elsewhere
    (tmp_path / "each").mkdir()
    with serving(tmp_path / "each", anybody(connections=20, connections_each=5)) as served, ExitStack() as stack:
        served.client.close()
        some = [stack.enter_context(dial(served)) for _ in range(5)]
        until(lambda: len(served.server.bounds.open) == 5)
        with dial(served) as one:
            answered(ends(one), "too-many")
        some[0].close()
        until(lambda: len(served.server.bounds.open) == 4)
        assert served.raw(LAST).startswith(b"HTTP/1.1 200 ")


def test_proxies_have_as_many_connections_as_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "is_here", lambda _: False)
    settings = anybody(connections=20, connections_each=2)
    with serving(tmp_path, settings, forwarded="127.0.0.0/8") as served, ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(dial(served))
        until(lambda: len(served.server.bounds.open) == 10)
    assert Proxies("192.0.2.1,198.51.100.0/24,::1").trusts("198.51.100.7")
    assert not Proxies("192.0.2.1,198.51.100.0/24").trusts("192.0.2.2")
    assert not Proxies("").trusts("192.0.2.2")


# -- clients that go away


def test_a_client_that_ends_its_side_is_answered(quick: Served) -> None:
    body = report_of(PLAN).to_json().encode()
    for text in (ONE, ONE * 3, reports(f"Content-Length: {len(body)}") + body):
        with dial(quick) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            found = ends(connection)
            assert found.count(b"HTTP/1.1 20") == text.count(b"HTTP/1.1")
    for rest in (b"GET", reports("Content-Length: 9") + b"x", reports(CHUNKED) + b"1\r\n"):
        with dial(quick) as connection:  # what is whole is answered; what is not is forgotten
            connection.sendall(reports(f"Content-Length: {len(body)}") + body + ONE + rest)
            connection.shutdown(socket.SHUT_WR)
            assert ends(connection).count(b"HTTP/1.1 20") == 2
    for text in (b"", b"GET", reports("Content-Length: 9"), reports(CHUNKED) + b"1\r\n"):
        with dial(quick) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            assert ends(connection) == b""


@pytest.mark.parametrize("how", ["reset", "close", "half"])
def test_a_client_may_go_at_each_byte(quick: Served, how: str) -> None:
    """Nothing is in the log, no task and no byte is left: see `watched`. Reports that were sent are counted once."""
    body = report_of(PLAN).to_json().encode()
    whole = reports(f"Content-Length: {len(body)}") + body
    chunks = reports(CHUNKED) + b"%x;a=b\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(body), body)
    stream = b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\n" % PLAN.id.encode()
    for text in (whole, chunks, stream + ONE, ONE + whole):
        for size in range(0, len(text) + 1, 3):
            with closing(dial(quick)) as connection:
                connection.sendall(text[:size])
                if size % 2:
                    time.sleep(0.001)  # so that it has been read
                if how == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                elif how == "half":
                    connection.shutdown(socket.SHUT_WR)
                    if b"/stream" not in text:  # which would go on
                        ends(connection)
    until(lambda: not quick.server.tasks)
    assert quick.tally(PLAN).reports <= 1
    assert json.loads(quick.client.get("/healthz").content) == {"status": "ok"}
