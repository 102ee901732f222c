"""Requests as bytes on a socket: what the tests of the short way send, and how they read the answer."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import hush
from hush.collector import formats
from hush.collector.settings import Settings
from tests.collector.served import ALL, FEW, HASHES, PLAN, WIDE, Served, anybody, packed, report_of, rows, stream_of

ID = b"i" * 16


def request(
    body: bytes, kind: str = formats.JSON, plan: hush.Plan | str = PLAN, line: str = "", *more: str, host: str = "x"
) -> bytes:
    """Return a request, as it is sent."""
    path = line or f"POST /plans/{plan if isinstance(plan, str) else plan.id}/reports HTTP/1.1"
    head = [path, f"Host: {host}", f"Content-Type: {kind}", *more]
    if not any(name.lower().startswith("transfer-encoding") for name in more):
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def report(plan: hush.Plan = PLAN, number: int = 0) -> hush.Report:
    """Return a report with an id of its own, the same whenever it is asked for."""
    return hush.Report(plan, number.to_bytes(16, "big"), REPORTS[plan.id].answers)


REPORTS = {plan.id: report_of(plan) for plan in (PLAN, ALL, WIDE, FEW)}
BATCHES = {
    formats.COLUMNS: packed(PLAN, 50, ID),
    formats.ARROW: stream_of(rows(PLAN, 50)),
    formats.REPORTS: b"r" * 16 + b"".join(report(PLAN, number).encode() for number in range(100, 150)),
}
TEXT = report().to_json().encode()
NAMED = f"Hush-Batch: {(b'a' * 16).hex()}"
SETTINGS: dict[str, Callable[[], Settings]] = {
    "open": lambda: anybody(tokens={"admin": HASHES["admin"]}),
    "tokens": lambda: anybody(tokens=HASHES),
    "pages": lambda: anybody(origins={PLAN.id: frozenset(["https://a.example"]), "*": frozenset(["*"])}),
    "a rate": lambda: anybody(rate=1e-9, burst=12),
    "tickets": lambda: anybody(tickets=True, ticket_key=b"k" * 32),
    "ids": lambda: anybody(check_ids=True),
    "closed": lambda: Settings(hosts=frozenset(["x", "127.0.0.1"])),
}


def ready(served: Served) -> None:
    """Wait until a collector knows its plans and reads batches in the loop."""
    collector = served.server.app.state.collector
    for plan in (PLAN, ALL, WIDE, FEW):
        served.client.post(served.path("reports", plan), content=b"{", headers={"content-type": formats.JSON})
    until(lambda: all(map(collector.is_prepared, (PLAN, ALL, WIDE, FEW))))


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def said(served: Served, data: bytes) -> bytes:
    """Send a request on a connection of its own; return the answer without its date."""
    with socket.create_connection(("127.0.0.1", served.port), 20) as connection:
        connection.sendall(data)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        fields = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"date:")]
        (length,) = [int(line[15:]) for line in fields if line.lower().startswith(b"content-length:")]
        while len(body) < length:
            body += connection.recv(65536)
        return b"\r\n".join(sorted(fields)) + b"\r\n\r\n" + body
