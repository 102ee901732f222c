"""Clients of collectors that tests run, and of servers that misbehave."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx

from hush.device.client import Client
from hush.device.network import Server
from tests.collector.served import Served


def quick(url: str, **options: Any) -> Client:
    """Return a client that soon tries again, but has patience: a busy disk takes seconds for one commit.

    A client that gives up too early sends the report again, and hears truly that it was counted before.
    """
    return Client(url, **({"pause": 0.01, "timeout": 60.0} | options))


def hang(request: BaseHTTPRequestHandler, _: bytes = b"") -> None:
    """Answer nothing until the client has gone."""
    request.connection.recv(1)
    request.close_connection = True


def forwarded(served: Served, request: BaseHTTPRequestHandler, body: bytes) -> httpx.Response:
    return served.client.request(
        request.command, request.path, content=body, headers={"content-type": request.headers.get("content-type", "")}
    )


class Scripted(Server):
    """A server without a network: it gives answers in their order, and remembers what it was asked."""

    def __init__(self, *answers: bytes | Exception) -> None:
        super().__init__("collector", "http://127.0.0.1:9", None, 1.0, 1, 0.0)
        self.answers, self.calls = list(answers), list[tuple[Any, ...]]()

    def _answer(self) -> bytes:
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def get(self, path: str, most: int | None = None, timeout: float | None = None) -> bytes:
        self.calls.append((path, most, timeout))
        return self._answer()

    def send(self, path: str, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> bytes:
        self.calls.append((path, body, content_type, headers))
        return self._answer()


def receipt_of(id_: bytes, new: bool = True) -> bytes:
    """Return the answer of a collector to a report or batch."""
    return json.dumps({"id": id_.hex(), "new": new, "reports": 1}).encode()
