"""Requests that can be read in two ways are refused, over real sockets; nothing that follows is taken for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.collector.connections import CHUNKED, LAST, ONE, dial, ends, hear, reports, until
from tests.collector.served import HASHES, PLAN, TOKENS, Served, anybody, report_of, serving
from tests.collector.test_limits import answered


def trailing(served: Served, field: str, *lines: str) -> bytes:
    """Send a report whose last field is in a trailer."""
    body = report_of(PLAN).to_json().encode()
    text = reports(CHUNKED, "Connection: close", *lines)
    return served.raw(text + b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(body), body, field.encode()))


def test_trailers_are_no_headers(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(tokens=HASHES, rate=0.001, burst=2), forwarded="127.0.0.1") as served:
        token = f"Authorization: Bearer {TOKENS['submit']}"
        address = "X-Forwarded-For: 198.51.100.1"
        answered(trailing(served, token, address), "no-token")
        assert trailing(served, "X: y", address, token).startswith(b"HTTP/1.1 202 ")
        for number in (2, 3):  # it is the proxy that asks, twice, whatever the trailer says
            assert trailing(served, f"X-Forwarded-For: 198.51.100.{number}", token).startswith(b"HTTP/1.1 202 ")
        answered(trailing(served, "X-Forwarded-For: 198.51.100.4", token), "too-many")


CASES = {
    "two lengths": ["Content-Length: 5", "Content-Length: 5"],
    "other lengths": ["Content-Length: 5", "Content-Length: 6"],
    "a list of lengths": ["Content-Length: 5, 5"],
    "a length with a sign": ["Content-Length: +5"],
    "a length and chunks": ["Content-Length: 5", CHUNKED],
    "chunks and a length": [CHUNKED, "Content-Length: 5"],
    "chunked twice": [CHUNKED, CHUNKED],
    "another coding": ["Transfer-Encoding: gzip, chunked"],
    "chunked is not last": ["Transfer-Encoding: chunked, gzip"],
    "not chunked": ["Transfer-Encoding: xchunked"],
    "identity": ["Transfer-Encoding: identity"],
    "no coding": ["Transfer-Encoding: "],
    "a folded line": ["Content-Length: 5", "X: y\r\n z"],
    "a bare line feed": ["Content-Length: 5\nX: y"],
    "a bare return": ["Content-Length: 5\rX: y"],
    "a space before the colon": ["Content-Length : 5"],
    "a NUL in a value": ["Content-Length: 5", "X: \0"],
    "a NUL in a name": ["Content-Length: 5", "X\0: y"],
    "no name": ["Content-Length: 5", ": y"],
    "another host": ["Content-Length: 5", "Host: y"],
    "two tokens": ["Content-Length: 5", "Authorization: Bearer x", "authorization: Bearer y"],
    "two ids": ["Content-Length: 5", "Hush-Batch: " + "0" * 32, "Hush-Batch: " + "1" * 32],
    "two tickets": ["Content-Length: 5", "Hush-Ticket: 0", "Hush-Ticket: 0"],
    "two types": ["Content-Length: 5", "Content-Type: text/plain"],
    "a protocol and a body": ["Connection: upgrade", "Upgrade: h2c", "Content-Length: 5"],
    "a protocol and chunks": ["Connection: upgrade", "Upgrade: websocket", CHUNKED],
}


@pytest.mark.parametrize("case", CASES)
def test_what_can_be_read_in_two_ways_is_refused(quick: Served, case: str) -> None:
    """With 400, and nothing that follows is taken for another request."""
    for more in ((), ("X: y",)):
        found = quick.raw(reports(*CASES[case], *more), b"hello" + ONE, b"0\r\n\r\n" + ONE)
        answered(found, "bad-request")
        assert found.count(b"HTTP/1.1 ") == 1


STARTS = {
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "HTTP/2.0": b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
    "HTTP/1.9": b"GET /healthz HTTP/1.9\r\nHost: x\r\n\r\n",
    "line feeds": b"GET /healthz HTTP/1.1\nHost: x\n\n",
    "HTTP/1.0 in chunks": reports(CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0") + b"0\r\n\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "another's address": b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a method in small letters": b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "a NUL in the path": b"GET /\0healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target of another host": b"GET http://elsewhere/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target with a name in it": b"GET http://x@elsewhere/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "a target of another port": b"GET http://x:81/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "another scheme": b"GET ftp://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("case", STARTS)
def test_lines_that_are_not_of_this_protocol(quick: Served, case: str) -> None:
    found = quick.raw(STARTS[case] + ONE)
    answered(found, "bad-request")
    assert found.count(b"HTTP/1.1 ") == 1


def test_what_is_odd_and_allowed(quick: Served) -> None:
    for start in (b"GET http://X/healthz HTTP/1.1\r\nHost: x\r\n", b"GET /healthz HTTP/1.0\r\n"):
        assert b" 200 OK" in quick.raw(start + b"Connection: close\r\n\r\n")
    for protocol_ in (b"h2c", b"websocket"):  # which is not spoken here; and what follows is not read
        found = quick.raw(ONE[:-2] + b"Connection: upgrade\r\nUpgrade: " + protocol_ + b"\r\n\r\n" + ONE, ONE)
        assert found.count(b"HTTP/1.1 200 OK") == found.count(b"connection: close") == 1
    # Names with underscores are other names.
    body = report_of(PLAN).to_json().encode()
    found = quick.raw(reports("Content_Length: 1", f"Content-Length: {len(body)}", "Connection: close") + body)
    assert found.startswith(b"HTTP/1.1 202 ")
    # Forwarded addresses are lists, to which each proxy may add a line.
    assert b" 200 OK" in quick.raw(LAST[:-2] + b"X-Forwarded-For: a\r\nX-Forwarded-For: b\r\n\r\n")


def test_whoever_waits_to_go_on_and_is_refused_is_not_misread(quick: Served) -> None:
    """The body that the client announced never comes: what does is not a body, nor may it be taken for one."""
    found = quick.raw(reports("Content-Length: 900000", "Expect: 100-continue"), ONE)
    answered(found, "too-large")
    assert b"connection: close" in found
    body = report_of(PLAN).to_json().encode()
    found = quick.raw(reports(f"Content-Length: {len(body)}", "Expect: 100-continue"), body)
    assert found.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 ")


def test_a_client_of_an_old_version_is_not_told_to_go_on(quick: Served) -> None:
    """It would take that for the answer. Nor is a client told so within an answer."""
    body = report_of(PLAN).to_json().encode()
    head = reports(f"Content-Length: {len(body)}", "Expect: 100-continue").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert quick.raw(head + body).startswith(b"HTTP/1.1 202 ")

    async def late(_: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await send({"type": "http.response.body", "body": b"late"})

    quick.server.app = late
    found = quick.raw(ONE[:-2] + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx")
    assert found.partition(b"\r\n\r\n")[2] == b"4\r\nlate\r\n0\r\n\r\n"


@pytest.mark.parametrize("header", [(b"a", b"b\nc: d"), (b"a: b\r\nc", b"d")])
def test_an_answer_has_no_line_end_in_a_header(
    quick: Served, caplog: pytest.LogCaptureFixture, header: tuple[bytes, bytes]
) -> None:
    """Not in one that comes twice either; and what is said instead is no part of the answer that was not made."""

    async def broken(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [header, (header[0], b"b")]})

    real, quick.server.app = quick.server.app, broken
    found = quick.raw(ONE)
    quick.server.app = real
    assert found.startswith(b"HTTP/1.1 500 ")
    assert found.endswith(b"\r\n\r\nInternal Server Error")
    assert "has a line end" in caplog.text
    caplog.clear()


def test_a_failure_that_was_answered_is_in_the_log(quick: Served, caplog: pytest.LogCaptureFixture) -> None:
    """Starlette answers what its handlers raise, and raises it again, for the log."""

    async def failing(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        raise ValueError("a mistake")

    real, quick.server.app = quick.server.app, failing
    with dial(quick) as connection:
        connection.sendall(ONE)
        assert hear(connection).startswith(b"HTTP/1.1 500 ")
        until(lambda: "a mistake" in caplog.text)
        caplog.clear()
        quick.server.app = real
        connection.sendall(LAST)
        assert ends(connection).startswith(b"HTTP/1.1 200 ")


def test_a_mistake_behind_good_requests(quick: Served) -> None:
    """They are answered; then the connection ends."""
    body = report_of(PLAN).to_json().encode()
    good = reports(f"Content-Length: {len(body)}") + body
    for bad in (b"\0\0\0\0", reports(CHUNKED) + b"zzz\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000):
        found = quick.raw(good + good + bad)
        assert found.count(b"HTTP/1.1 202 ") == 2
        assert found.count(b"HTTP/1.1 ") in (2, 3)  # the mistake is told if both were answered when it was read
