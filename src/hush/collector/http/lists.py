"""The handler for long lists of values, which plans name by their hash (`hush.core.lists`)."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hush.collector.http import requests
from hush.collector.http.endpoints import endpoint
from hush.collector.http.problems import Refused
from hush.collector.http.responses import IMMUTABLE
from hush.collector.http.single_flight import failed
from hush.collector.stores.base import Store
from hush.core.lists import Listed, listed_in
from hush.core.plan import Plan

PIECE = 1 << 16  # bytes that are written at once: a slow reader holds no more of a list than that


class _Text(NamedTuple):
    plain: bytes
    packed: bytes


class ListHandlers:
    """The endpoint of lists."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts: dict[str, asyncio.Task[_Text]] = {}

    @endpoint(
        "GET",
        "/lists/{list}",
        "A long list of values that a plan names: its name here is the SHA-256 of this text",
        role="submit",
        also=("text/plain",),
    )
    async def listed(self, request: Request) -> Response:
        """Answer with a list of an own plan, whose text never changes."""
        sha256 = str(request.path_params["list"])
        made = self._texts.get(sha256)
        if made is None or failed(made):
            found = await asyncio.to_thread(self._find, sha256)
            if found is None:
                raise Refused("not-found", "no plan of this collector names this list")
            if not found.here:
                raise Refused("not-found", f"the list {found.name} is missing here: start the collector with --list")
            made = self._texts.get(sha256)  # another request may have begun it meanwhile
            if made is None or failed(made):
                made = self._texts[sha256] = asyncio.create_task(asyncio.to_thread(_text, found))
        headers = {"ETag": f'W/"{sha256}"', "Cache-Control": IMMUTABLE, "Vary": "Accept-Encoding"}
        if requests.has_tag(request, sha256):
            return Response(status_code=304, headers=headers)
        text = await asyncio.shield(made)
        data = text.plain
        if requests.accepts_gzip(request):
            headers["Content-Encoding"], data = "gzip", text.packed
        headers["Content-Length"] = str(len(data))
        return StreamingResponse(_pieces(data), headers=headers, media_type="text/plain; charset=utf-8")

    def _find(self, sha256: str) -> Listed | None:
        plans = [held.plan for held in self._store.plans()]
        return next((found for found in named_by(plans) if found.sha256 == sha256), None)


def named_by(plans: Iterable[Plan]) -> list[Listed]:
    """Return the long lists that plans name."""
    return [found for plan in plans for found in listed_in(plan.schema.attributes)]


def _text(listed: Listed) -> _Text:
    plain = listed.text()
    return _Text(plain, gzip.compress(plain, 1, mtime=0))


async def _pieces(data: bytes) -> AsyncIterator[memoryview]:
    for at in range(0, len(data), PIECE):
        yield memoryview(data)[at : at + PIECE]
