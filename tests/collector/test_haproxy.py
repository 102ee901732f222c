"""Behind a real HAProxy, which passes trailers on, a collector believes no token and no address in a trailer.

HAProxy names the client in a header (`option forwardfor`), and the collector was started with `--forwarded`.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hush.collector.http.exchanges import Run
from hush.collector.http.protocol import Protocol
from tests.collector.connections import CHUNKED, reports
from tests.collector.served import HASHES, PLAN, TOKENS, anybody, report_of, serving
from tests.collector.storm import reads_trailers
from tests.collector.test_limits import answered

TOKEN = f"Authorization: Bearer {TOKENS['submit']}"
CONFIGURATION = """
global
  log stderr format raw local0
defaults
  mode http
  option forwardfor
  timeout connect 10s
  timeout client 30s
  timeout server 30s
frontend front
  bind 127.0.0.1:{front}
  default_backend back
backend back
  server collector 127.0.0.1:{back}
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def proxied(folder: Path, back: int) -> Iterator[int]:
    """Run a HAProxy in front of a port, and return its own."""
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        pytest.skip("this test needs HAProxy (Debian: apt-get install haproxy)")
    front = free_port()
    (folder / "haproxy.cfg").write_text(CONFIGURATION.format(front=front, back=back))
    process = subprocess.Popen([program, "-f", str(folder / "haproxy.cfg"), "-db"], stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        end = time.monotonic() + 30
        while True:
            assert process.poll() is None, "HAProxy has ended"
            try:
                socket.create_connection(("127.0.0.1", front), 1).close()
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)
        yield front
    finally:
        process.terminate()
        process.wait(30)


def sent(port: int, trailer: str, *lines: str) -> bytes:
    """Send a report with a field in a trailer, and return the answer."""
    body = report_of(PLAN).to_json().encode()
    text = reports(CHUNKED, "Connection: close", *lines)
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(text + b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(body), body, trailer.encode()))
        found = b""
        while data := connection.recv(65536):
            found += data
    return found


def test_haproxy_passes_trailers_on(tmp_path: Path) -> None:
    """Otherwise the other tests here would show nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found: list[bytes] = []

        def listen() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(30)
                data = b""
                while b"\r\n0\r\n" not in data or not data.endswith(b"\r\n\r\n"):
                    data += connection.recv(65536)
                found.append(data)
                connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=listen)
        thread.start()
        with proxied(tmp_path, listening.getsockname()[1]) as port:
            assert sent(port, f"{TOKEN}\r\nX-Forwarded-For: 198.51.100.1").startswith(b"HTTP/1.1 204 ")
        thread.join()
    head, _, body = found[0].partition(b"\r\n\r\n")
    trailer = body.rpartition(b"\r\n0\r\n")[2].lower()
    assert b"authorization" in trailer
    assert b"x-forwarded-for: 198.51.100.1" in trailer
    assert b"x-forwarded-for: 127.0.0.1" in head.lower()


def test_a_trailer_gives_neither_a_role_nor_another_address(tmp_path: Path) -> None:
    settings = anybody(tokens=HASHES, rate=0.001, burst=3)
    with serving(tmp_path, settings, forwarded="127.0.0.1") as served, proxied(tmp_path, served.port) as port:
        answered(sent(port, TOKEN), "no-token")  # which counts as the first of three
        for number in (2, 3):
            answer = sent(port, f"X-Forwarded-For: 198.51.100.{number}", TOKEN)
            assert answer.startswith(b"HTTP/1.1 202 "), answer
        answered(sent(port, "X-Forwarded-For: 198.51.100.4", TOKEN), "too-many")
        assert served.store.tally(PLAN).reports == 2


@pytest.mark.parametrize("lie", [TOKEN, "X-Forwarded-For: 198.51.100.4"], ids=["a token", "an address"])
def test_a_collector_that_reads_trailers_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    """The twin: as it was."""
    real = Run.run

    async def run(self: Run, app: Any) -> None:
        self.connection.server.proxies.read(self.scope)
        await real(self, app)

    monkeypatch.setattr(Protocol, "on_header", reads_trailers)
    monkeypatch.setattr(Protocol, "_trust", lambda *_: None)
    monkeypatch.setattr(Run, "run", run)
    settings = anybody(tokens=HASHES, rate=0.001, burst=1)
    with serving(tmp_path, settings, forwarded="127.0.0.1") as served, proxied(tmp_path, served.port) as port:
        if lie != TOKEN:
            assert sent(port, "X: y", TOKEN).startswith(b"HTTP/1.1 202 ")  # all that this address may
        answer = sent(port, lie, *([] if lie == TOKEN else [TOKEN]))
        assert answer.startswith(b"HTTP/1.1 202 "), answer
