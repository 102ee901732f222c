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
from starlette.requests import Request

from hush.collector.problems import Refused
from hush.collector.settings import Settings
from hush.collector.streams import Event, Streams
from tests.collector.served import serving


def request(method: str = "GET") -> Request:
    return Request({"type": "http", "method": method, "path": "/", "headers": [], "query_string": b""})


async def look(_: Hashable) -> tuple[Hashable, list[Event]]:
    return 1, [("news", b"{}")]


async def gone() -> Any:
    return {"type": "http.disconnect"}


def test_they_count_before_they_start() -> None:
    async def run() -> None:
        streams = Streams(Settings(streams=2))
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


def test_they_are_let_go_when_they_end() -> None:
    async def run() -> None:
        streams = Streams(Settings(streams=1, stream_interval=0.01))
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
        with pytest.raises(BaseException):  # noqa: B017, PT011 - of what kind is Starlette's choice
            await stream(request().scope, stay, fail)
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
    with serving(tmp_path, Settings(streams=3, stream_interval=0.02)) as served:

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
