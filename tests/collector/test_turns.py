"""Requests behind others on one connection: each has a time of its own and an answer, whatever comes behind it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hush.collector import formats
from hush.collector.http import bounds, protocol
from tests.collector.connections import LAST, ONE, dial, ends, hear, until
from tests.collector.served import PLAN, Served, anybody, report_of, serving
from tests.collector.test_notice import leaving, post

PAGE = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
STREAM = b"GET /plans/%s/stream HTTP/1.1\r\nHost: x\r\n\r\n" % PLAN.id.encode()


def chunked(trailer: bytes = b"") -> bytes:
    """Return a report in a chunk, which goes the long way."""
    body = report_of(PLAN).encode()
    head = f"POST /plans/{PLAN.id}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {formats.REPORT}\r\n"
    return head.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailer)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SWEEP", 0.05)


@pytest.fixture
def served(tmp_path: Path, brief: None) -> Iterator[Served]:
    """An answer must begin within two seconds."""
    settings = anybody(body_timeout=1, answer_timeout=1, stream_interval=0.05)
    with serving(tmp_path, settings) as found:
        yield found
        found.client.close()
        until(lambda: found.server.bounds.held == 0 and not found.server.connections)


class Gate:
    """Lets commits go on when it is opened, and then holds each for a while."""

    def __init__(self, served: Served, seconds: float = 0.0) -> None:
        self.seconds, self._open, self._real = seconds, threading.Event(), served.store.commit
        served.store.commit = self._commit  # type: ignore[method-assign]

    def open(self) -> None:
        self._open.set()

    def _commit(self, submissions: Any) -> Any:
        assert self._open.wait(60)
        time.sleep(self.seconds)
        return self._real(submissions)


def statuses(data: bytes) -> list[bytes]:
    return [answer[:3] for answer in data.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "name", [b"Connection", b"Proxy-Connection", b"Upgrade", b"Content-Length", b"Transfer-Encoding"]
)
def test_a_trailer_says_nothing_about_the_connection(served: Served, name: bytes) -> None:
    """The parser listens to it: it fell silent, and whoever came next on the connection had no answer."""
    with dial(served) as connection:
        connection.sendall(chunked(name + b": close\r\n"))
        assert statuses(ends(connection)) == [b"400"]
    assert served.store.tally(PLAN).reports == 0
    with dial(served) as connection:
        connection.sendall(chunked(b"X-Checksum: close\r\n"))
        assert statuses(hear(connection)) == [b"202"]
        connection.sendall(LAST)
        assert statuses(ends(connection)) == [b"200"]


def test_nothing_is_counted_behind_a_refusal_that_ends_the_connection(tmp_path: Path) -> None:
    head, blank, body = post().partition(b"\r\n\r\n")
    bad = head + blank + bytes(len(body))
    with leaving(tmp_path) as served:
        assert statuses(served.raw(post())) == [b"202"]  # from now on reports go the short way
        for _ in range(20):
            assert statuses(served.raw(bad + post())) == [b"422"]
        assert served.store.tally(PLAN).reports == 1


@pytest.mark.parametrize("rest", [b"GET /heal", b"POST /plans/"])
def test_half_a_request_that_stalls_cuts_no_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.3)
    gate = Gate(served)
    with dial(served) as connection:
        connection.sendall(post() + rest)
        time.sleep(0.8)
        gate.open()
        assert statuses(ends(connection)) == [b"202"]


@pytest.mark.parametrize("tail", ["half closed", "garbage", "another protocol"])
def test_each_has_its_own_time_whatever_comes_behind(served: Served, tail: str) -> None:
    """Both reports together take longer than one answer may."""
    gate = Gate(served, 1.2)
    gate.open()
    with dial(served) as connection:
        more = {
            "garbage": b"garbage\r\n\r\n",
            "another protocol": ONE[:-2] + b"Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        }
        connection.sendall(post() + post() + more.get(tail, b""))
        if tail == "half closed":
            connection.shutdown(socket.SHUT_WR)
        assert statuses(ends(connection))[:2] == [b"202", b"202"]


def test_a_body_has_its_time_from_when_it_is_read(tmp_path: Path, brief: None) -> None:
    """While the request before it was answered, nothing was read."""
    with serving(tmp_path, anybody(body_timeout=2, answer_timeout=60)) as served:
        gate = Gate(served)
        later = chunked()
        with dial(served) as connection:
            connection.sendall(post() + later[:-20])
            time.sleep(1.5)
            gate.open()
            assert statuses(hear(connection)) == [b"202"]
            time.sleep(1)
            connection.sendall(later[-20:])
            assert statuses(hear(connection)) == [b"202"]


def test_a_task_that_ends_before_it_begins_is_answered(served: Served) -> None:
    """The end cancels it in the turn of the loop in which it was made."""
    server = served.server
    with dial(served) as connection:
        until(lambda: any(one.client[1] == connection.getsockname()[1] for one in server.connections))
        (mine,) = (one for one in server.connections if one.client[1] == connection.getsockname()[1])

        def turn() -> None:
            mine.data_received(ONE)
            for task in [*server.tasks]:
                task.cancel()

        server._loop.call_soon_threadsafe(turn)
        assert statuses(ends(connection)) == [b"503"]
    until(lambda: server.bounds.held == 0)


def test_nothing_begins_when_the_application_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of many requests behind one that is cancelled, none reaches what is being taken down."""
    with serving(tmp_path) as served:
        gate = Gate(served)
        several = [dial(served) for _ in range(6)]
        for connection in several:
            connection.sendall(chunked() + STREAM.replace(b"stream", b"estimates") * 4 + PAGE * 4)
        until(lambda: len(served.server.tasks) >= 6)
        served.server.stop(3)
        until(lambda: served.server.is_over)
        gate.open()
        for connection in several:
            assert not {b"500", b"400"} & set(statuses(ends(connection)))
            connection.close()
    assert not caplog.records, caplog.text


def test_a_slow_reader_costs_what_waits_behind_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of some megabytes, read in three seconds, and a report behind them on the long way."""
    monkeypatch.setattr(protocol, "READ_LEAST", 1 << 14)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(PAGE * 60 + chunked() + LAST)
        found, start = b"", time.monotonic()
        while data := connection.recv(1 << 15):
            found += data
            time.sleep(0.03 if time.monotonic() < start + 3 else 0)
    assert statuses(found) == [b"200"] * 60 + [b"202", b"200"]


def test_a_stream_goes_on_for_a_client_that_has_ended_its_side(served: Served) -> None:
    with dial(served) as connection:
        connection.sendall(STREAM)
        connection.shutdown(socket.SHUT_WR)
        long = time.monotonic() + 3
        while time.monotonic() < long:
            assert connection.recv(1 << 16), "it was cut"


def test_who_reads_an_answer_does_not_make_way_for_others(tmp_path: Path, brief: None) -> None:
    with serving(tmp_path, anybody(connections=2)) as served, socket.socket() as reader:
        served.client.close()
        until(lambda: not served.server.connections)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(20)
        reader.connect(("127.0.0.1", served.port))
        reader.sendall(PAGE)
        until(lambda: any(one.unread() for one in [*served.server.connections]))
        with dial(served) as waiting, dial(served) as third:
            third.sendall(LAST)
            assert statuses(ends(third)) == [b"200"]
            assert ends(waiting) == b""
        assert statuses(hear(reader)) == [b"200"]


@pytest.mark.parametrize("place", [b"[::1", b"secret:99999999", b"@", b"x#y", b"\xff\xfe"])
def test_what_a_client_sends_is_not_in_the_log(served: Served, place: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Else anybody could fill it, and it would have their texts."""
    served.raw(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (place, place))
    served.raw(b"GET http://%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (place, place))
    assert not caplog.records, caplog.text


def test_a_fault_of_the_parser_is_logged(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("a mistake of hush")

    monkeypatch.setattr(protocol, "check_head", broken)
    assert statuses(served.raw(ONE)) == [b"400"]
    assert "a mistake of hush" in caplog.text
