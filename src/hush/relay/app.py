"""The HTTP interface of a relay: devices send sealed reports, and fetch plans.

The limits on sizes, rates and connections, and the answers to bad requests, are those of the collector. Addresses are
used for limits alone, in memory. They are neither stored nor logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hush.collector.http import logs, requests
from hush.collector.http.direct import Heads
from hush.collector.http.documents import Health
from hush.collector.http.endpoints import declared, endpoint
from hush.collector.http.gate import Gate
from hush.collector.http.metrics import Metrics
from hush.collector.http.problems import Refused
from hush.collector.http.responses import IMMUTABLE, SECRET, encoded
from hush.collector.settings import Settings
from hush.core.plan import Plan
from hush.core.sealing import split
from hush.errors import StoreError
from hush.relay.forwarding import Forwarder
from hush.relay.intake import Full, Intake
from hush.relay.store import RelayStore

OCTETS = "application/octet-stream"
MOST_HELD = 10_000_000  # reports of a plan that wait for a batch


class Held(msgspec.Struct):
    """A receipt of sealed reports: they are durable, and will be in a batch. `new`: how many by this request."""

    reports: int
    new: int


class Relay:
    """All handlers, and the parts that they share."""

    def __init__(self, store: RelayStore, plans: Sequence[Plan], settings: Settings, forwarder: Forwarder) -> None:
        self.settings, self._store, self._forwarder = settings, store, forwarder
        self._plans = {plan.id: plan for plan in plans}
        self._gate = Gate(settings, Metrics(), self.known)
        self._intake: Intake | None = None
        self.heads = Heads()  # of the collector's short way, which a relay does not have

    def known(self, plan_id: str) -> None:
        """Return nothing: no request goes the short way."""

    def end_streams(self) -> None:
        """Begin to end. There are no streams."""
        self._gate.ending = True

    def _plan(self, request: Request) -> Plan:
        plan = self._plans.get(request.path_params["plan"])
        if plan is None:
            raise Refused("not-found", "this relay does not serve this plan")
        return plan

    @endpoint("POST", "/sealed/{plan}", "Send sealed reports", role=None, answers=Held, reads=(OCTETS,), status=202)
    async def sealed(self, request: Request) -> Response:
        """Take sealed reports, one or several after each other."""
        plan = self._plan(request)
        if requests.content_type(request) != OCTETS:
            raise Refused("wrong-type", f"sealed reports come as {OCTETS}")
        found = split(plan, await requests.body(request, self.settings.max_body, self.settings))
        assert self._intake is not None
        if self._store.held(plan.id) > MOST_HELD:
            raise self._gate.busy("too many reports wait for the collector")
        self._gate.limit.charge(requests.address(request), len(found))
        try:
            new = await self._intake.take(plan.id, found)
        except Full:
            raise self._gate.busy() from None
        return encoded(Held(len(found), new), 202)

    @endpoint("GET", "/plans/{plan}", "A plan: its id is the SHA-256 of this text", role=None, answers=dict)
    async def plan(self, request: Request) -> Response:
        """Answer with a plan, so that a device need not ask the collector."""
        plan = self._plan(request)
        headers = {"ETag": f'"{plan.id}"', "Cache-Control": IMMUTABLE}
        if requests.has_tag(request, plan.id):
            return Response(status_code=304, headers=headers)
        return Response(plan.to_json(), headers=headers, media_type="application/json")

    @endpoint("GET", "/healthz", "Whether the process is alive", role=None, answers=Health)
    async def health(self, request: Request) -> Response:
        """Answer that the process is alive."""
        return encoded(Health("ok"), headers=SECRET)

    @endpoint("GET", "/readyz", "Whether reports would be taken now", role=None, answers=Health)
    async def ready(self, request: Request) -> Response:
        """Answer that reports would be taken now, after a trial commit. It says nothing about the collector."""
        if self._gate.ending:
            raise self._gate.busy("this relay is shutting down")
        try:
            async with asyncio.timeout(self.settings.health_timeout):
                await asyncio.to_thread(self._store.check)
        except TimeoutError:
            raise StoreError("the store did not commit in time") from None
        return encoded(Health("ok"), headers=SECRET)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take and forward reports while the server runs; before it ends, commit those that wait."""
        logs.bound()
        self._intake = Intake(self._store, self.settings.queue_bytes)
        forwarding = asyncio.create_task(self._forwarder.run())
        try:
            yield
        finally:
            await self._intake.stop()
            forwarding.cancel()
            with suppress(asyncio.CancelledError):
                await forwarding
            await asyncio.to_thread(self._forwarder.close)
            await asyncio.to_thread(self._store.close)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [Route(found.path, self._gate.guarded(found), methods=[found.method]) for found in declared(self)]
        handlers: Any = {HTTPException: self._gate.unrouted}
        app = Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False
        app.state.collector = self  # the name by which the protocol finds it
        return app
