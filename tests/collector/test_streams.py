"""Streams are counted when they are allowed, and let go however they end."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect, Request

from hush.collector.http.problems import Refused
from hush.collector.http.streams import Event, Streams
from tests.collector.served import anybody, serving


def request(method: str = "GET", address: str | None = None) -> Request:
    client = None if address is None else (address, 1)
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": "/",
        "headers": [],
        "query_string": b"",
        "client": client,
    }
    return Request(scope)


async def look(_: Hashable) -> tuple[Hashable, list[Event]]:
    return 1, [("news", b"{}")]


async def gone() -> Any:
    return {"type": "http.disconnect"}


def test_they_count_before_they_start() -> None:
    async def run() -> None:
        streams = Streams(anybody(streams=2))
        held = [streams.response(request(), look) for _ in range(2)]
        for method in ("GET", "HEAD"):
            with pytest.raises(Refused):
                streams.response(request(method), look)
        held.pop()
        gc.collect()
        assert len(streams) == 1, "one that never starts is let go"
        streams.response(request("HEAD"), look)
        assert len(streams) == 1, "who asks for the head alone gets no stream"

    asyncio.run(run())


def test_nobody_has_all_of_them() -> None:
    """Two of three for an address, or for the half of one of IPv6; this machine, where a proxy may be, has them all."""

    async def run() -> None:
        for one, same, other in (
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("2001:db8::1", "2001:db8::2", "2001:db9::1"),
            ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"),
            ("64:ff9b::192.0.2.1", "64:ff9b::c000:201", "64:ff9b::192.0.2.2"),  # behind a translator
            ("64:ff9b::127.0.0.1", "64:ff9b::7f00:1", "192.0.2.2"),  # elsewhere, whatever it says
            ("a socket", "a socket", "another"),
        ):
            streams = Streams(anybody(streams=3, streams_each=2))
            held = [streams.response(request(address=address), look) for address in (one, same)]
            with pytest.raises(Refused, match="this address") as refused:
                streams.response(request(address=same), look)
            assert (refused.value.kind, refused.value.headers) == ("too-many", {"Retry-After": "1"})
            held.append(streams.response(request(address=other), look))
            held.pop(0)
            gc.collect()
            held.append(streams.response(request(address=same), look))
            assert len(streams) == 3
        for here in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"):
            streams = Streams(anybody(streams=3, streams_each=2))
            held = [streams.response(request(address=here), look) for _ in range(3)]
            with pytest.raises(Refused, match="too many streams are open") as refused:
                streams.response(request(address=here), look)
            assert refused.value.kind == "busy"

    asyncio.run(run())


def test_they_are_let_go_when_they_end() -> None:
    async def run() -> None:
        streams = Streams(anybody(streams=1, stream_interval=0.01))
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def fail(_: Any) -> None:
            raise OSError("the connection is lost")

        async def stay() -> Any:
            await asyncio.Event().wait()

        stream = streams.response(request(), look)
        await stream(request().scope, gone, send)  # who went away
        assert len(streams) == 0
        stream = streams.response(request(), look)
        with pytest.raises((OSError, ClientDisconnect, BaseExceptionGroup)):  # which one is Starlette's choice
            await asyncio.wait_for(stream(request().scope, stay, fail), 10)
        assert len(streams) == 0
        stream = streams.response(request(), look)
        task = asyncio.create_task(stream(request().scope, stay, send))
        await asyncio.sleep(0.05)
        assert len(streams) == 1
        streams.end()
        await task
        assert len(streams) == 0
        assert b"event: news\ndata: {}\n\n" in [message.get("body") for message in sent]

    asyncio.run(run())


def test_requests_that_arrive_together_do_not_pass_the_limit(tmp_path: Path) -> None:
    together = threading.Barrier(12)
    with serving(tmp_path, anybody(streams=3, stream_interval=0.02)) as served:

        def ask(_: int) -> int:
            together.wait()
            with httpx.stream("GET", served.url + served.path("stream"), trust_env=False, timeout=20) as response:
                together.wait()  # until everybody has an answer
                return response.status_code

        with ThreadPoolExecutor(12) as people:
            found = sorted(people.map(ask, range(12)))
        assert found == [200] * 3 + [503] * 9
        deadline = time.monotonic() + 10
        while served.client.head(served.path("stream")).status_code != 200:
            assert time.monotonic() < deadline, "streams that nobody reads are still counted"
            time.sleep(0.02)
