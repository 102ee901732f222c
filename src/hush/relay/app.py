"""The HTTP interface of a relay: devices send sealed reports, and fetch plans.

The limits on sizes, rates and connections, and the answers to bad requests, are those of the collector. Addresses are
used for limits alone, in memory. They are neither stored nor logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hush.collector.http import logs, requests
from hush.collector.http.direct import Heads, Place
from hush.collector.http.documents import Health
from hush.collector.http.endpoints import Parameter, declared, endpoint
from hush.collector.http.gate import Gate
from hush.collector.http.metrics import Metrics
from hush.collector.http.problems import Refused
from hush.collector.http.responses import IMMUTABLE, SECRET, Ready, encoded
from hush.collector.pulse import Pulse
from hush.collector.queues import Full, Queue, Stopped
from hush.collector.settings import Settings
from hush.core.plan import Plan
from hush.core.sealing import KEY_SIZE, CollectorKey, split
from hush.relay.asking import FIRST, Asker
from hush.relay.forwarding import Forwarder
from hush.relay.store import Answer, Refusal, RelayStore, Taken

OCTETS = "application/octet-stream"
KEY = Parameter(
    "Hush-Key",
    "string",
    "the public key of the collector for which the reports are sealed",
    None,
    place="header",
    required=True,
    limits={"pattern": "^[0-9a-f]{64}$"},
)
Done = Callable[[Taken, Answer | Exception], None]


class Held(msgspec.Struct):
    """A receipt of sealed reports: they are durable, and will be in a batch. `new`: how many by this request."""

    reports: int
    new: int


class Readiness(msgspec.Struct, omit_defaults=True):
    """Whether reports would be taken now. `closed`: the plans of which none is, and never will be."""

    status: str
    closed: list[str] = []


class Relay:
    """All handlers, and the parts that they share."""

    def __init__(
        self,
        store: RelayStore,
        plans: Sequence[Plan],
        key: CollectorKey,
        settings: Settings,
        forwarder: Forwarder,
        asker: Asker,
    ) -> None:
        self.settings, self._store, self._key = settings, store, key
        self._forwarder, self._asker = forwarder, asker
        self._plans = {plan.id: plan for plan in plans}
        self._gate = Gate(settings, Metrics(), lambda _: None)
        self._pulse = Pulse(store, settings.health_timeout, settings.health_every)
        self._intake: Queue[Taken, Answer] | None = None
        self._endpoints = declared(self)
        self._sealed = next(found for found in self._endpoints if found.status == 202)
        # The short way of sealed reports (`hush.collector.http.direct`): `known`, `take` and `taken` belong to it.
        self.place, self.heads = Place("/sealed/", "", {OCTETS.encode(): OCTETS}), Heads()
        self.known, self.note = self._plans.get, self._gate.note

    def give_notice(self) -> None:
        """Say that this relay is not ready, as it will end soon."""
        self._gate.ending = True

    def end_streams(self) -> None:
        """Do nothing: there are no streams."""

    def _plan(self, request: Request) -> Plan:
        plan = self._plans.get(request.path_params["plan"])
        if plan is None:
            raise Refused("not-found", "this relay does not serve this plan")
        return plan

    @endpoint(
        "POST",
        "/sealed/{plan}",
        "Send sealed reports",
        role=None,
        answers=Held,
        reads=(OCTETS,),
        parameters=(KEY,),
        status=202,
    )
    async def sealed(self, request: Request) -> Response:
        """Take sealed reports, one or several after each other."""
        plan = self._plan(request)
        if requests.content_type(request) != OCTETS:
            raise Refused("wrong-type", f"sealed reports come as {OCTETS}")
        self._check_key(request)
        body = await requests.body(request, self.settings.max_body, self.settings)
        found = await requests.decoded(len(body) <= requests.LARGE, split, plan, body)
        taken = self._charged(request, plan, found)
        assert self._intake is not None
        try:
            new = await self._intake.submit(taken)
        except (Full, Stopped):
            raise self._gate.busy() from None
        if isinstance(new, Refusal):
            raise _refusal(new)
        return encoded(Held(len(taken[1]), new), 202)

    def _check_key(self, request: Request) -> None:
        """Refuse reports for another key before anything is stored.

        All of a batch are sealed for one key, as those for another would be a smaller crowd.
        """
        if requests.hexadecimal(request, KEY.name.lower(), KEY_SIZE) != self._key.public:
            raise Refused("other-key", "this relay takes reports that are sealed for the key of its collector")

    def _charged(self, request: Request, plan: Plan, found: Sequence[bytes]) -> Taken:
        """Return the sealed reports of a request, if the plan is open. The sender pays for each."""
        if self._store.is_closed(plan.id):
            raise _refusal(Refusal.CLOSED)
        self._gate.limit.charge(requests.address(request), len(found))
        return plan.id, found

    # -- the short way

    def is_prepared(self, plan: Plan) -> bool:
        """Return whether requests about a plan are quick to read: sealed ones are only cut into pieces."""
        return True

    def take(
        self, request: Request, plan: Plan, kind: str, body: bytes, fault: str, done: Done, *, known: bool = False
    ) -> Response | None:
        """Take sealed reports. Return a refusal; or None, and `done` will be called and `taken` writes the answer."""
        assert self._intake is not None
        try:
            if known:
                self._gate.limit.check(requests.address(request))
            else:
                self._gate.allow(self._sealed, request)
                self._check_key(request)
            if fault:
                raise requests.broken_off(fault, self.settings)
            self._intake.put(self._charged(request, plan, split(plan, body)), done)
        except Exception as error:  # noqa: BLE001 - `_refused` answers it
            return self._refused(request, error, plan.id)
        return None

    def taken(self, request: Request, taken: Taken, new: Answer | Exception) -> Ready | Response:
        """Answer sealed reports that were taken, now that they are durable."""
        plan_id, sealed = taken
        if isinstance(new, Refusal):
            new = _refusal(new)
        if isinstance(new, Exception):
            return self._refused(request, new, plan_id)
        held = Held(len(sealed), new)
        if self.settings.origins:  # more headers are needed
            return self._gate.finished(request, encoded(held, 202), plan_id)
        return Ready(202, msgspec.json.encode(held))

    def _refused(self, request: Request, error: Exception, plan_id: str) -> Response:
        """Return the answer to a request that was refused."""
        if isinstance(error, Full | Stopped):
            error = self._gate.busy()
        refused = error if isinstance(error, Refused) else self._gate.refusal(self._sealed, error)
        return self._gate.finished(request, refused.response(), plan_id)

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
        """Answer that the process is alive, and not about to end: a proxy goes by this, not by `/readyz`."""
        if self._gate.ending:
            raise self._gate.busy("this relay is shutting down")
        return encoded(Health("ok"), headers=SECRET)

    @endpoint("GET", "/readyz", "Whether reports would be taken now", role=None, answers=Readiness)
    async def ready(self, request: Request) -> Response:
        """Answer that reports of all plans but the closed ones, which it names, would be taken now.

        It makes a trial commit. If no plan is open, nothing would be taken. It says nothing about the collector.
        """
        if self._gate.ending:
            raise self._gate.busy("this relay is shutting down")
        closed = [plan_id for plan_id in self._plans if self._store.is_closed(plan_id)]
        if len(closed) == len(self._plans):
            raise Refused("plan-closed", "every plan of this relay is closed: end it, or start it with another plan")
        for plan_id in self._plans:
            if self._store.is_full(plan_id):
                raise Refused("full", f"plan {plan_id[:12]}: raise --most, or close it")
        await self._pulse.check()
        return encoded(Readiness("ok", closed), headers=SECRET)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take and forward reports while the server runs; before it ends, commit those that wait."""
        logs.bound()
        # Many requests, one commit: a request is answered when its reports are durable.
        self._intake = Queue(self._store, _size, most=self.settings.queue, most_bytes=self.settings.queue_bytes)
        begun = asyncio.Event()
        tasks = [asyncio.create_task(work) for work in (self._asker.run(begun), self._forwarder.run())]
        with suppress(TimeoutError):  # nobody is thanked for a report of a plan that was closed before this start
            async with asyncio.timeout(FIRST):
                await begun.wait()
        try:
            yield
        finally:
            await self._intake.stop(self.settings.stop_timeout)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(self._asker.close)
            await asyncio.to_thread(self._forwarder.close)
            await asyncio.to_thread(self._store.close)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [Route(found.path, self._gate.guarded(found), methods=[found.method]) for found in self._endpoints]
        handlers: Any = {HTTPException: self._gate.unrouted}
        app = Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False
        app.state.collector = self  # the name by which the protocol finds it
        return app


def _refusal(why: Refusal) -> Refused:
    """Return the problem of reports that the store did not take."""
    return Refused(why.value, {Refusal.FULL: "this relay takes no more rather than forget one"}.get(why, ""))


def _size(taken: Taken) -> int:
    """Return about how many bytes sealed reports take while they wait."""
    return 512 + sum(map(len, taken[1]))
