"""Endpoints are declared beside their handlers, and collected in order."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http.app import Collector
from hush.collector.http.endpoints import Endpoint, declared, endpoint
from hush.collector.settings import Settings


class Two:
    """Two endpoints, not in the order of the alphabet, and a method that is none."""

    @endpoint("POST", "/b/{plan}", "Send", role="submit", reads=("text/plain",), status=202)
    async def second(self, request: Request) -> Response:
        """Answer with an address."""
        return Response(request.url.path)

    def helper(self) -> None:
        """Help."""

    @endpoint("GET", "/a", "Show", role=None)
    async def first(self, request: Request) -> Response:
        """Answer with nothing."""
        return Response()


def test_endpoints_are_collected_in_the_order_of_declaration() -> None:
    two = Two()
    found = declared(two)
    assert [(one.method, one.path, one.role, one.status) for one in found] == [
        ("POST", "/b/{plan}", "submit", 202),
        ("GET", "/a", None, 200),
    ]
    assert found[0].handler == two.second  # of this object
    request = Request({"type": "http", "method": "POST", "path": "/b/x", "headers": [], "server": ("h", 80)})
    assert asyncio.run(cast(Any, found[0].handler(request))).body == b"/b/x"


@pytest.fixture
def endpoints() -> tuple[Endpoint, ...]:
    return Collector(cast(Any, None), Settings()).endpoints


def test_the_endpoints_of_a_collector_are_unique(endpoints: tuple[Endpoint, ...]) -> None:
    names = [one.name for one in endpoints]
    assert len(set(names)) == len(names) > 20
    assert names[0] == "get_plans"
    assert names[-1] == "get_openapi_json"
    assert len({(one.method, one.path) for one in endpoints}) == len(names)
