"""A server that ends: it gives notice to proxies, answers what came, and loses nothing of it."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.collector import formats, serve
from hush.collector.http import protocol
from hush.collector.http import server as servers
from hush.collector.stores.sqlite import SqliteStore
from tests.collector.connections import ONE, dial, ends, hear, until
from tests.collector.served import PLAN, Served, anybody, report_of, serving

ROOT = Path(__file__).parent.parent.parent
READY = ONE.replace(b"healthz", b"readyz")


def post(plan: hush.Plan = PLAN, *lines: str) -> bytes:
    body = report_of(plan).encode()
    head = [f"POST /plans/{plan.id}/reports HTTP/1.1", "Host: x", f"Content-Type: {formats.REPORT}"]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", *lines, "", ""]).encode() + body


@contextmanager
def leaving(path: Path, notice: float = 1e6) -> Iterator[Served]:
    """A collector that has given notice, and would serve on for ever."""
    with serving(path, notice=notice) as served:
        served.server.stop(1)
        until(lambda: served.server.is_leaving)
        yield served


def test_it_serves_on_and_says_that_it_is_not_ready(tmp_path: Path) -> None:
    with serving(tmp_path, notice=1e6) as served, dial(served) as before:
        before.sendall(ONE)
        assert b"connection: close" not in hear(before)
        served.server.stop(1)
        until(lambda: served.server.is_leaving)
        before.sendall(post())  # on a connection that was open
        answer = ends(before)
        assert answer.startswith(b"HTTP/1.1 202 ")
        assert b"\r\nconnection: close\r\n" in answer
        for request, status in ((READY, b"503"), (ONE, b"200"), (post(), b"202")):
            with dial(served) as fresh:
                fresh.sendall(request)
                answer = ends(fresh)
                assert answer.startswith(b"HTTP/1.1 " + status), answer
                assert answer.count(b"\r\nconnection: close\r\n") == 1
        assert served.store.tally(PLAN).reports == 2


def test_without_notice_the_door_closes_at_once(tmp_path: Path) -> None:
    """The twin: a proxy that has not noticed sends into a door that is closed."""
    with serving(tmp_path) as served:
        served.server.stop(1)
        until(lambda: not served.server.connections and _is_shut(served))


def _is_shut(served: Served) -> bool:
    try:
        dial(served).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it was closed at this very moment
        return False
    return False


def test_requests_in_a_row_are_answered_before_the_connection_ends(tmp_path: Path) -> None:
    with leaving(tmp_path) as served:
        found = served.raw(ONE * 20)
        assert found.count(b"HTTP/1.1 200 ") == 20
        assert found.count(b"connection: close") == 1


def test_what_is_in_flight_is_answered_behind_a_closed_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go = threading.Event(), threading.Event()
    with serving(tmp_path, notice=1e6) as served:
        real = served.store.commit

        def slowly(*arguments: Any) -> Any:
            inside.set()
            go.wait(20)
            return real(*arguments)

        monkeypatch.setattr(served.store, "commit", slowly)
        with dial(served) as one, dial(served) as idle:
            idle.sendall(ONE)
            hear(idle)
            one.sendall(post())
            assert inside.wait(20)
            served.server.stop()
            assert ends(idle) == b""  # nothing is lost by closing it
            until(lambda: _is_shut(served))
            go.set()
            assert ends(one).startswith(b"HTTP/1.1 202 ")


def test_the_end_does_not_wait_for_whoever_came_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection may be accepted before the door closes, and begin after all others were told."""
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 1e6)
    monkeypatch.setattr(protocol, "LINGER_SECONDS", 1.0)
    go = threading.Event()
    with serving(tmp_path) as served, dial(served) as one, socket.create_server(("127.0.0.1", 0)) as door:
        real, loop = served.store.commit, served.server._loop

        def slowly(*arguments: Any) -> Any:
            go.wait(20)
            return real(*arguments)

        def late() -> socket.socket:
            client = socket.create_connection(door.getsockname(), 10)
            begun = loop.connect_accepted_socket(partial(protocol.Protocol, served.server), door.accept()[0])
            asyncio.run_coroutine_threadsafe(begun, loop).result(20)
            return client

        monkeypatch.setattr(served.store, "commit", slowly)
        one.sendall(post())
        until(lambda: bool(served.server.bounds.held))
        served.server.stop()
        until(lambda: _is_shut(served))
        try:
            with late() as asking, late() as idle:
                asking.sendall(ONE)
                assert b"\r\nconnection: close\r\n" in ends(asking)
                assert ends(idle) == b""
        finally:
            go.set()
        assert ends(one).startswith(b"HTTP/1.1 202 ")


def test_nobody_waits_for_a_client_that_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not longer than a request has in the end."""
    monkeypatch.setattr(serve, "GRACE", 0.3)
    page = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with serving(tmp_path) as served, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(page * 100)
        until(lambda: any(one.unread() for one in served.server.connections))
        served.server.stop()
        until(lambda: not served.server.connections)


def test_the_documented_times_fit_together() -> None:
    """A container that is stopped has its whole time: notice, requests in flight, and the rest."""
    for file in ("deploy/compose.yaml", "src/hush/cli/templates/compose.yaml"):
        (found,) = re.findall(r"stop_grace_period: (\d+)s", (ROOT / file).read_text())
        assert int(found) > serve.NOTICE + serve.GRACE + serve.LAST
    assert serve.NOTICE == 3 * 2 + 1  # HAProxy asks every 2 seconds, and believes the third answer


@pytest.mark.parametrize(
    ("signals", "steps"),
    [
        ([signal.SIGTERM], [1]),
        ([signal.SIGINT], [2]),
        ([signal.SIGTERM, signal.SIGTERM], [1, 2]),
        ([signal.SIGTERM, signal.SIGINT], [1, 2]),
        ([signal.SIGINT, signal.SIGINT], [2, 3]),
        ([signal.SIGTERM, signal.SIGTERM, signal.SIGTERM], [1, 2, 3]),
    ],
)
def test_each_signal_is_a_step(signals: list[signal.Signals], steps: list[int]) -> None:
    """And afterwards signals do what they did before."""
    found: list[int] = []

    class Loop:
        def call_soon_threadsafe(self, _: Any, step: int) -> None:
            found.append(step)

    before = [signal.getsignal(number) for number in servers.HANDLED]
    server = servers.Server.__new__(servers.Server)
    with server._signals(Loop()):  # type: ignore[arg-type]
        for number in signals:
            signal.raise_signal(number)
    assert found == steps
    assert [signal.getsignal(number) for number in servers.HANDLED] == before


def test_a_server_that_is_stopped_while_it_starts_never_listens(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "hush.db")
    store.add_plan(PLAN)
    said: list[str] = []
    server = serve.make_server(store, anybody(), notice=1e6, ready=said.append)
    server.stop(1)
    listening = serve.listen("127.0.0.1", 0)
    server.run([listening])
    listening.close()
    assert said == []
