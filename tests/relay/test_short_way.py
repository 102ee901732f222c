"""Sealed reports go a short way from the parser to the queue, and are answered as on the long way."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hush.collector.http import direct
from hush.core.sealing import sealed_size
from hush.errors import StoreError
from hush.relay import app
from hush.relay.store import Answer, RelayStore, Taken
from tests.relay.relayed import KEY, OTHER, PLAN, Relayed, relaying, sealed_reports

SIZE = sealed_size(PLAN)
REPORTS = sealed_reports(4)[1]
KIND = "Content-Type: application/octet-stream"
NAMED = f"Hush-Key: {KEY.public.hex()}"


def request(body: bytes, *headers: str, path: str = f"/sealed/{PLAN.id}", host: str = "localhost") -> bytes:
    named = [] if any(header.startswith("Hush-Key") for header in headers) else [NAMED]
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", *named, *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


REQUESTS = {
    "a report": request(REPORTS[0], KIND),
    "another with the same head": request(REPORTS[1], KIND),
    "the same": request(REPORTS[0], KIND),
    "two": request(b"".join(REPORTS[2:]), KIND),
    "two again": request(b"".join(REPORTS[1:3]), KIND),
    "another plan": request(REPORTS[0], KIND, path=f"/sealed/{OTHER.id}"),
    "a plan that is not there": request(REPORTS[0], KIND, path=f"/sealed/{'0' * 64}"),
    "nothing": request(b"", KIND),
    "too short": request(REPORTS[0][:-1], KIND),
    "too long": request(REPORTS[0] + b"\0", KIND),
    "no type": request(REPORTS[0]),
    "another type": request(REPORTS[0], "Content-Type: application/json"),
    "a parameter": request(REPORTS[0], KIND + "; a=b"),
    "an encoding": request(REPORTS[0], KIND, "Content-Encoding: gzip"),
    "a query": request(REPORTS[0], KIND, path=f"/sealed/{PLAN.id}?x=1"),
    "another host": request(REPORTS[0], KIND, host="evil.example"),
    "an origin": request(REPORTS[0], KIND, "Origin: https://a.example"),
    "another origin": request(REPORTS[0], KIND, "Origin: https://b.example"),
    "another key": request(REPORTS[0], KIND, f"Hush-Key: {'0' * 64}"),
    "a key that is none": request(REPORTS[0], KIND, "Hush-Key: 12"),
    "the last": request(REPORTS[0], KIND, "Connection: close"),
}


def answer(relay: Relayed, sent: bytes, connection: socket.socket) -> bytes:
    """The bytes of one answer, without the date."""
    connection.sendall(sent)
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(1 << 16)
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
    while len(body) < length:
        body += connection.recv(1 << 16)
    return b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"date")) + b"\r\n\r\n" + body


def answers(path: Path, **named: Any) -> dict[str, bytes]:
    """All requests on one connection, twice."""
    path.mkdir()
    found = {}
    with relaying(path, "http://127.0.0.1:9", least=100, **named) as relay:
        for turn in ("first", "second"):
            with socket.create_connection(("127.0.0.1", int(relay.url.rsplit(":", 1)[1])), 20) as connection:
                for name, sent in REQUESTS.items():
                    found[f"{name}, {turn}"] = answer(relay, sent, connection)
        found["held"] = b"%d %d" % (relay.store.held(PLAN.id), relay.store.held(OTHER.id))
    return found


def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which requests go the short way, and which of these have a known head."""
    noted: list[str] = []
    real = app.Relay.take

    def take(self: app.Relay, *given: Any, known: bool = False) -> Any:
        noted.append("known" if known else "short")
        return real(self, *given, known=known)

    monkeypatch.setattr(app.Relay, "take", take)
    return noted


@pytest.mark.parametrize("named", [{}, {"origins": {"*": frozenset({"https://a.example"})}}], ids=["plain", "origins"])
def test_both_ways_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: dict[str, Any]) -> None:
    noted = ways(monkeypatch)
    short = answers(tmp_path / "short", **named)
    assert {"known", "short"} <= set(noted)
    noted.clear()
    monkeypatch.setattr(direct, "found", lambda *_: None)
    long = answers(tmp_path / "long", **named)
    assert not noted
    assert short == long
    assert short["held"] == b"4 1"
    assert short["a report, first"].endswith(b'{"reports":1,"new":1}')
    assert short["two again, first"].endswith(b'{"reports":2,"new":0}')


def test_a_way_that_takes_other_sizes_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a short way that reads bodies more generously."""
    real = app.Relay.take

    def careless(self: app.Relay, request: Any, plan: Any, kind: str, body: bytes, *given: Any, **named: Any) -> Any:
        return real(self, request, plan, kind, body[: len(body) - len(body) % SIZE] or body, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app.Relay, "take", careless)
        short = answers(tmp_path / "short")
    monkeypatch.setattr(direct, "found", lambda *_: None)
    assert short != answers(tmp_path / "long")


def failing(error: Exception) -> Callable[..., Any]:
    def commit(self: RelayStore, groups: list[Taken]) -> list[Answer]:
        raise error

    return commit


@pytest.mark.parametrize("error", [StoreError("the disk is full"), ValueError("a mistake")], ids=["store", "mistake"])
def test_a_store_that_fails_is_answered_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(RelayStore, "commit", failing(error))
    short = answers(tmp_path / "short")
    monkeypatch.setattr(direct, "found", lambda *_: None)
    assert short == answers(tmp_path / "long")
    assert short["held"] == b"0 0"
    assert short["a report, first"].startswith((b"HTTP/1.1 500", b"HTTP/1.1 503"))


def test_rates_hold_on_the_short_way(tmp_path: Path) -> None:
    with relaying(tmp_path, "http://127.0.0.1:9", rate=0.001, burst=3) as relay:
        found = [relay.post(one).status_code for one in sealed_reports(5)[1]]
    assert found == [202, 202, 202, 429, 429]
