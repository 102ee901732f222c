"""Streams of events: how many may be open, for which readers, how often they look, and when they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from hush.collector.http import requests
from hush.collector.http.problems import Refused
from hush.collector.http.responses import EVENTS, SECRET
from hush.collector.http.security import household, is_here
from hush.collector.settings import Settings
from hush.errors import StoreError

Event = tuple[str, bytes]
Look = Callable[[Any], Awaitable[tuple[Hashable, list[Event]]]]
"""Given the state that was seen last, return the state now, and the events to send."""


class Streams:
    """The streams that are open.

    A stream counts from the moment that it is allowed, so that requests that arrive together cannot pass the limit
    together. It leaves the count when it ends. One that never starts leaves it with its response, as nothing else
    refers to that.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: WeakKeyDictionary[Response, str] = WeakKeyDictionary()  # with the household that reads it
        self._ending = asyncio.Event()

    def __len__(self) -> int:
        return len(self._open)

    def end(self) -> None:
        """Let all streams end. Called within the loop."""
        self._ending.set()

    def moment(self) -> int:
        """Return a number that changes as often as streams look, so that all of them share one look."""
        return int(asyncio.get_running_loop().time() / self._settings.stream_interval)

    def response(self, request: Request, look: Look) -> Response:
        """Return a stream of events, or refuse it if too many are open."""
        settings, address = self._settings, requests.address(request)
        reader, retry = household(address), {"Retry-After": str(settings.retry_after)}
        if len(self._open) >= settings.streams:
            raise Refused("busy", "too many streams are open", retry)
        if list(self._open.values()).count(reader) >= settings.streams_each and not is_here(address):
            raise Refused("too-many", "this address has too many streams open", retry)
        if request.method == "HEAD":
            return Response(media_type=EVENTS, headers=SECRET)
        stream = _Stream(self._events(look), self._open)
        self._open[stream] = reader
        return stream

    async def _events(self, look: Look) -> AsyncIterator[bytes]:
        last: Hashable = None
        while not self._ending.is_set():
            try:
                last, found = await look(last)
            except (Refused, StoreError):  # the workers are busy, or the store is away: look again later
                found = []
            for name, text in found:
                yield b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"
            if not found:
                yield b": still here\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), self._settings.stream_interval)


class _Stream(StreamingResponse):
    """A stream that leaves the set of open ones when it ends, in whatever way."""

    def __init__(self, events: AsyncIterator[bytes], among: WeakKeyDictionary[Response, str]) -> None:
        super().__init__(events, media_type=EVENTS, headers=SECRET)
        self._among = among

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._among.pop(self, None)
