"""Connections to a collector whose times are short, byte by byte."""

from __future__ import annotations

import asyncio
import logging
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hush.collector.http import bounds, protocol
from tests.collector.served import HASHES, PLAN, Served, anybody, serving
from tests.collector.test_limits import head

ONE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
RESET = struct.pack("ii", 1, 0)  # closing sends a reset
CHUNKED = "Transfer-Encoding: chunked"


@contextmanager
def watched(path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Served]:
    """A collector whose times are short. In the end nothing is left of any request, and nothing is in the log."""
    monkeypatch.setattr(bounds, "SWEEP", 0.05)
    for name in ("HEADER_SECONDS", "LINGER_SECONDS", "READ_SECONDS", "GRACE"):
        monkeypatch.setattr(protocol, name, 0.5)
    settings = anybody(
        stream_interval=0.05,
        max_body=1 << 18,
        body_timeout=1.5,
        held_bytes=1 << 20,
        tokens={"admin": HASHES["admin"]},
    )
    with caplog.at_level(logging.WARNING), serving(path, settings) as served:
        before = tasks(served)
        yield served
        served.client.close()
        server = served.server
        until(lambda: not server.connections and not server.tasks and tasks(served) <= before)
        found = served.server.bounds
        assert (found.held, found.open, found.idle, found.arriving) == (0, {}, {}, {})
        assert not found._households
    assert not caplog.records, caplog.text


def tasks(served: Served) -> int:
    """Return how many tasks the loop of a collector has."""
    return len(asyncio.all_tasks(served.server._loop))


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def dial(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), 20)


def ends(connection: socket.socket) -> bytes:
    """Read until the collector closes, and return everything."""
    found = b""
    try:
        while data := connection.recv(1 << 16):
            found += data
    except ConnectionResetError:
        pass
    return found


def hear(connection: socket.socket) -> bytes:
    """Read one answer."""
    found = b""
    while b"\r\n\r\n" not in found or len(found.partition(b"\r\n\r\n")[2]) < int(
        found.partition(b"content-length: ")[2].partition(b"\r\n")[0]
    ):
        data = connection.recv(1 << 16)
        assert data, found
        found += data
    return found


def pour(served: Served, start: bytes, piece: bytes, most: int = 64 << 20) -> tuple[bytes, int]:
    """Send as fast as possible; return the answer, and how many bytes were taken until it came."""
    sent = 0
    with dial(served) as connection:
        connection.sendall(start)
        while sent < most and not select.select([connection], [], [], 0)[0]:
            try:
                connection.sendall(piece)
            except OSError:
                break
            sent += len(piece)
        else:
            assert sent < most, "it goes on for ever"
        return ends(connection), sent


def reports(*lines: str) -> bytes:
    return head(f"/plans/{PLAN.id}/reports", *lines)
