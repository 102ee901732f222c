"""Files that a process may open: a collector asks for what it needs, and survives if they run out."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hush.collector import serve
from hush.collector.http.bounds import SPARE_FILES, Bounds
from hush.collector.settings import Settings
from tests.collector.siege import Service

if not hasattr(resource, "prlimit"):  # on other systems than Linux
    pytest.skip("the limits of another process cannot be set here", allow_module_level=True)

ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(f"sqlite://{tmp_path / 'hush.db'}", tmp_path)
    yield made
    made.close()


def dial(service: Service, stack: ExitStack, text: bytes) -> socket.socket:
    assert service.address is not None
    connection = stack.enter_context(socket.create_connection(service.address, 20))
    connection.sendall(text)
    return connection


def well(service: Service) -> bool:
    with ExitStack() as stack:
        connection = dial(service, stack, ASK + b"Connection: close\r\n\r\n")
        try:
            return connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        except OSError:
            return False


def seconds(pid: int) -> float:
    """Return how much time a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_collector_asks_for_the_files_it_needs(service: Service) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
        service.start()  # which inherits that
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert service.process is not None
    wanted = min(Settings.connections + SPARE_FILES, before[1])
    assert resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)[0] == wanted


def test_files_bound_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(300, 400)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.append(new))
    assert serve.files() == 300
    assert serve.files(350) == 350
    assert serve.files(1000) == limits[-1][0] == 400
    assert Bounds(Settings(), files=serve.files()).most == 400 - SPARE_FILES
    assert Bounds(Settings(connections=10), files=serve.files()).most == 10
    assert Bounds(Settings()).most == Settings.connections
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert serve.files(1000) == 0
    limits.append((300, 400))

    def refuse(_: int, __: tuple[int, int]) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert serve.files(1000) == 300
    monkeypatch.setitem(sys.modules, "resource", None)
    assert serve.files(1000) == 0


def test_a_collector_survives_without_files(service: Service, tmp_path: Path) -> None:
    """Those that cannot be opened are closed or wait; the loop does not spin, and afterwards all is as before."""
    service.start()
    assert service.process is not None
    pid = service.process.pid
    assert well(service)
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
    with ExitStack() as stack:
        for _ in range(60):
            try:
                dial(service, stack, ASK)
            except OSError:  # it was closed at once
                continue
        time.sleep(0.5)
        begun, computed = time.monotonic(), seconds(pid)
        time.sleep(1)
        assert seconds(pid) - computed < 0.5 * (time.monotonic() - begun)
        assert service.process.poll() is None
    deadline = time.monotonic() + 20
    while not well(service):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert service.stop(signal.SIGTERM) == 0
    assert "Traceback" not in (tmp_path / "errors.txt").read_text()
