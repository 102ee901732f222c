"""The HTTP interface: a Starlette application around an intake and a store.

Every route is one `Endpoint`: its path, the role it needs, what it reads and what it answers; `routes` lists them, and
the application and `/openapi.json` are made of that list. What takes something in is here; what only shows something is
in `views`. Every refusal is a problem document; a 202 is sent when its reports are durable.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from hush.collector import formats, tickets
from hush.collector.http import logs, pages, requests, routes
from hush.collector.http.direct import Heads
from hush.collector.http.documents import Health, PlanEntry, Plans, Receipt, TicketDocument, TrainingEntry, Trainings
from hush.collector.http.endpoints import Endpoint, openapi
from hush.collector.http.lookup import Finder
from hush.collector.http.metrics import Metrics
from hush.collector.http.problems import Refused
from hush.collector.http.responses import IMMUTABLE, SECRET, Ready, as_json, confined, encoded
from hush.collector.http.security import RateLimit, check_host, check_role, cors_headers
from hush.collector.http.views import Views
from hush.collector.intake import Done, Full, Intake, Stopped
from hush.collector.pulse import Pulse
from hush.collector.reveals import Clock
from hush.collector.settings import ROLES, Settings
from hush.collector.stores import bookkeeping
from hush.collector.stores.base import NotHeld, Store
from hush.collector.submissions import Batch, Gradient, Outcome, Single, Submission
from hush.core.dealing import SIGNATURE_SIZE, questions_of
from hush.core.design.rounds import loss_plan
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, Report
from hush.core.training.rounds import Round
from hush.errors import InputError, StoreError

logger = logging.getLogger("hush.collector")

T = TypeVar("T")
LARGE = 1 << 14  # bytes: larger bodies are read beside the loop
REFUSALS = {
    Outcome.CLOSED: "plan-closed",
    Outcome.OVERLAPPING: "overlapping",
    Outcome.LATE: "late",
    Outcome.UNKNOWN: "not-found",
}


class Collector:
    """The endpoints, and what they share."""

    def __init__(self, store: Store, settings: Settings, clock: Clock = time.monotonic) -> None:
        self.store, self.settings = store, settings
        self.metrics = Metrics(settings.reveal_least)
        self._limit = RateLimit(settings.rate, settings.burst)
        self._intake: Intake | None = None
        self._prepared: set[str] = set()  # plans whose batches need no compiling
        self._rounds: list[Round] = []  # that were prepared
        self._find = Finder(store)
        self.heads = Heads()
        self._pulse = Pulse(store, settings.health_timeout, settings.health_every)
        self._ending = False
        self.views = Views(store, settings, self._find, clock)
        self.endpoints = routes.endpoints(self)
        self._reports = next(endpoint for endpoint in self.endpoints if endpoint.name == "post_plans_plan_reports")
        self._openapi = json.dumps(openapi(self.endpoints, settings.open)).encode()

    # -- life

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take submissions while the server runs; commit what waits before it ends."""
        logs.bound()
        settings = self.settings
        self._intake = Intake(
            self.store, most=settings.queue, most_bytes=settings.queue_bytes, watch=self.metrics.note_commit
        )
        await self.views.begin()
        warming = asyncio.create_task(self._warm_up())
        try:
            yield
        finally:
            warming.cancel()
            self.views.close()
            await self._intake.stop(settings.stop_timeout)
            await asyncio.to_thread(self.store.close)

    async def _warm_up(self) -> None:
        """Prepare what others would wait for: the end of a round, and the first batch, which needs compiled code.

        Until then batches of a plan are read beside the loop.
        """
        roles = {role for role in ROLES if self.settings.tokens.get(role)} | set(self.settings.open)
        try:
            for name in await asyncio.to_thread(self.store.trainings):
                self._rounds.append((await asyncio.to_thread(self.store.live, name)).round)
                await asyncio.to_thread(bookkeeping.prepare, self._rounds[-1])
            if {"submit-batch", "admin"} & roles and not self.settings.tickets:
                for held in await asyncio.to_thread(self.store.plans):
                    await asyncio.to_thread(formats.prepare, held.plan)
                    self._prepared.add(held.plan.id)
        except Exception:
            logger.exception("the first rounds and batches will take longer")

    def is_prepared(self, plan: Plan) -> bool:
        """Return whether small batches of a plan are read within the loop."""
        return plan.id in self._prepared

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route(endpoint.path, self._guarded(endpoint), methods=[endpoint.method])
            for endpoint in (*self.endpoints, *pages.endpoints(self.settings.tickets))
        ]
        handlers: Any = {HTTPException: self._unrouted}
        app = Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False
        app.state.collector = self
        return app

    def end_streams(self) -> None:
        """Let streams of estimates end, as they would keep a server from stopping. Called within the loop."""
        self._ending = True
        self.views.streams.end()

    def _guarded(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of an endpoint, behind limits and roles; whatever is refused becomes a problem."""

        async def handle(request: Request) -> Response:
            try:
                self._allow(endpoint, request)
                response = await endpoint.handler(request)
                response = self._confined(endpoint, response)
            except Refused as refused:
                response = refused.response()
            except asyncio.CancelledError:
                if not self._ending:
                    raise
                response = self._busy("this collector is shutting down").response()  # requests have no more time
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:  # noqa: BLE001 - every failure gets an answer, and is logged
                response = self._refusal(endpoint, error).response()
            return self._finished(request, response, request.path_params.get("plan"))

        return handle

    def _admit(self, request: Request) -> None:
        """Refuse whoever asks too often, or somebody else."""
        self._limit.check(_address(request))
        check_host(self.settings, request)

    def _allow(self, endpoint: Endpoint, request: Request) -> None:
        """Refuse also who lacks a role, and a query that nobody reads."""
        self._admit(request)
        if endpoint.role is not None:
            check_role(self.settings, request, endpoint.role)
        if not endpoint.any_query and request.scope["query_string"]:
            known = (parameter.name for parameter in endpoint.parameters if parameter.place == "query")
            requests.check_query(request, tuple(known))

    def _confined(self, endpoint: Endpoint, response: Response) -> Response:
        """Return an answer that no cache hands on, if it needed a token."""
        return response if endpoint.role is None or endpoint.role in self.settings.open else confined(response)

    def _refusal(self, endpoint: Endpoint, error: Exception) -> Refused:
        """Return the problem for an error: the body is wrong, or the store fails, or the collector made a mistake."""
        if isinstance(error, NotHeld):
            return Refused("not-found", str(error))
        if isinstance(error, InputError) and endpoint.reads:
            return Refused("bad-report", str(error))
        if isinstance(error, StoreError):  # a database may quote its address, which is for the log alone
            logger.error("%s %s: %s", endpoint.method, endpoint.path, " ".join(str(error).split()))
            return Refused("failed", headers={"Retry-After": str(self.settings.retry_after)})
        logger.error("%s %s failed", endpoint.method, endpoint.path, exc_info=error)
        return Refused("broken")

    def _busy(self, why: str = "") -> Refused:
        return Refused("busy", why, {"Retry-After": str(self.settings.retry_after)})

    def _finished(self, request: Request, response: Response, plan_id: str | None) -> Response:
        """Return a response with what web pages need, counted."""
        for name, value in cors_headers(self.settings, request, plan_id).items():
            if name == "Vary":
                response.headers.add_vary_header(value)
            else:
                response.headers[name] = value
        self.metrics.responses[response.status_code] += 1
        return response

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        """Answer what no endpoint takes: another path or method, or a browser that asks what a page may do."""
        assert isinstance(error, HTTPException)
        parts = request.scope["path"].split("/")
        plan_id = parts[2] if len(parts) > 2 and parts[1] == "plans" else None
        try:
            self._admit(request)
        except Refused as refused:
            return self._finished(request, refused.response(), plan_id)
        if request.method == "OPTIONS" and error.status_code == 405:
            response = Response(status_code=204, headers={"Allow": _methods(request)})
        elif error.status_code == 405:
            response = Refused("bad-method", headers={"Allow": _methods(request)}).response()
        else:
            kind = {404: "not-found"}.get(error.status_code, "bad-request")
            response = Refused(kind, headers=dict(error.headers or {})).response()
        return self._finished(request, response, plan_id)

    async def _submit(self, request: Request, submission: Submission, name: str, kind: str) -> Response:
        """Hand a submission to the intake, and answer when it is durable. `name`: of its plan, or its training."""
        assert self._intake is not None
        self._limit.charge(_address(request), submission.reports)
        outcome: Outcome | Exception
        try:
            outcome = await self._intake.submit(submission)
        except Exception as error:  # noqa: BLE001 - it is answered where the others are
            outcome = error
        return encoded(self._receipt(request, submission, outcome, name, kind), 202)

    def _receipt(
        self, request: Request, submission: Submission, outcome: Outcome | Exception, name: str, kind: str
    ) -> Receipt:
        """Return the receipt of a submission. The sender pays for every report that was counted."""
        if outcome is not Outcome.NEW and submission.reports > 1:
            self._limit.give_back(_address(request), submission.reports)
        if isinstance(outcome, Exception):  # the intake has logged it, if it is not simply full
            if isinstance(outcome, Full | Stopped):
                raise self._busy()
            raise Refused("failed", headers={"Retry-After": str(self.settings.retry_after)})
        self.metrics.submissions[name, kind, outcome.value] += 1
        if outcome in REFUSALS:
            raise Refused(REFUSALS[outcome])
        if outcome is Outcome.NEW:
            self.metrics.reports[name] += submission.reports
            if not isinstance(submission, Gradient):
                self.views.note(name, submission.reports)
        return Receipt(submission.id.hex(), outcome is Outcome.NEW, submission.reports)

    # -- the short way (`hush.collector.http.direct`)

    def known(self, plan_id: str) -> Plan | None:
        """Return a plan, if the store need not be asked for it."""
        return self._find.known(plan_id)

    def take(
        self, request: Request, plan: Plan, kind: str, body: bytes, fault: str, done: Done, *, known: bool = False
    ) -> Response | None:
        """Take reports; return why not, or None: then `done` is called, and `taken` is the answer.

        `fault`: the kind of problem for which the protocol has broken off the body. `known`: a request with the same
        head was taken before, so that its host, role and kind are right.
        """
        assert self._intake is not None
        try:
            if known:
                self._limit.check(_address(request))
            else:
                self._allow(self._reports, request)
                self._check_kind(request, kind)
            if fault:
                raise requests.broken_off(fault, self.settings)
            found = self._read(request, plan, kind, body)
            if found.reports > 1:
                self._limit.charge(_address(request), found.reports)
            try:
                self._intake.put(found, done)
            except (Full, Stopped) as error:
                self._receipt(request, found, error, plan.id, _kind(found))
        except Exception as error:  # noqa: BLE001 - it is answered where the others are
            return self._refused(request, error)
        return None

    def taken(self, request: Request, submission: Submission, outcome: Outcome | Exception) -> Ready | Response:
        """Answer reports that were taken, now that they are durable."""
        try:
            receipt = self._receipt(request, submission, outcome, request.path_params["plan"], _kind(submission))
        except Exception as error:  # noqa: BLE001 - it is answered where the others are
            return self._refused(request, error)
        if self.settings.origins or self._reports.role not in self.settings.open:  # more headers are needed
            response = self._confined(self._reports, encoded(receipt, 202))
            return self._finished(request, response, request.path_params["plan"])
        self.metrics.responses[202] += 1
        return Ready(202, msgspec.json.encode(receipt))

    def _refused(self, request: Request, error: Exception) -> Response:
        """Return the answer to a request that was refused."""
        refused = error if isinstance(error, Refused) else self._refusal(self._reports, error)
        return self._finished(request, refused.response(), request.path_params["plan"])

    # -- plans

    async def list_plans(self, request: Request) -> Response:
        """Answer with all plans."""
        return encoded(Plans(await asyncio.to_thread(self._entries)), headers=SECRET)

    def _entries(self) -> list[PlanEntry]:
        return [self.views.entry(held) for held in self.store.plans()]

    async def plan(self, request: Request) -> Response:
        """Answer with a plan, whose text never changes."""
        plan = await self._find.plan(request)
        headers = {"ETag": f'"{plan.id}"', "Cache-Control": IMMUTABLE}
        if requests.has_tag(request, plan.id):
            return Response(status_code=304, headers=headers)
        return Response(plan.to_json(), headers=headers, media_type="application/json")

    # -- reports

    async def reports(self, request: Request) -> Response:
        """Count a report or a batch."""
        plan = await self._find.plan(request)
        kind = requests.content_type(request)
        self._check_kind(request, kind)
        most = self.settings.max_body
        if kind in formats.SINGLES:
            most = max(self.settings.max_single, formats.longest(plan, kind))
        body = await requests.body(request, most, self.settings)
        quick = len(body) <= LARGE and (kind in formats.SINGLES or self.is_prepared(plan))
        found = await _done(quick, self._read, request, plan, kind, body)
        return await self._submit(request, found, plan.id, _kind(found))

    def _check_kind(self, request: Request, kind: str) -> None:
        """Refuse what is not read here, and batches of those who may not send any."""
        if kind in formats.SINGLES:
            return
        if kind not in formats.BATCHES:
            raise Refused("wrong-type", f"reports come as {', '.join((*formats.SINGLES, *formats.BATCHES))}")
        if self.settings.tickets:
            raise Refused("wrong-type", "this collector deals questions by tickets, and takes single reports only")
        check_role(self.settings, request, "submit-batch")

    def _read(self, request: Request, plan: Plan, kind: str, body: bytes) -> Single | Batch:
        """Read one report, with its ticket if there are tickets here, or a batch."""
        if kind in formats.SINGLES:
            one = formats.single(plan, kind, body)
            if self.settings.tickets:
                signature = requests.hexadecimal(request, "hush-ticket", SIGNATURE_SIZE)
                tickets.check(plan, self.settings.ticket_key, one.report, signature)
            return one
        given = request.headers.get("hush-batch")
        id_ = None if given is None else requests.hexadecimal(request, "hush-batch", ID_SIZE)
        return formats.batch(plan, kind, body, id_, self.settings.check_ids)

    async def ticket(self, request: Request) -> Response:
        """Deal the questions of one report."""
        plan = await self._find.plan(request)
        if not self.settings.tickets:
            raise Refused("not-found", "this collector deals no tickets")
        id_, signature = tickets.issue(plan, self.settings.ticket_key)
        return encoded(TicketDocument(id_.hex(), questions_of(plan, id_), signature.hex()), headers=SECRET)

    # -- tallies and estimates

    async def get_tally(self, request: Request) -> Response:
        """Answer with a tally."""
        binary = formats.TALLY in request.headers.get("accept", "")
        text = await self.views.tally(request, binary)
        kind = formats.TALLY if binary else formats.JSON
        return Response(text, headers=SECRET | {"Vary": "Accept"}, media_type=kind)

    async def post_tally(self, request: Request) -> Response:
        """Count the tally of another collector."""
        plan = await self._find.plan(request)
        kind = requests.content_type(request)
        if kind not in (formats.JSON, formats.TALLY):
            raise Refused("wrong-type", f"tallies come as {formats.JSON} or {formats.TALLY}")
        id_ = requests.hexadecimal(request, "hush-batch", ID_SIZE)
        body = await requests.body(request, self.settings.max_body, self.settings)
        found = await _done(len(body) <= LARGE, formats.tally, plan, kind, body, id_)
        return await self._submit(request, found, plan.id, "tally")

    async def close_plan(self, request: Request) -> Response:
        """Take no more reports of a plan."""
        plan = await self._find.plan(request)
        await asyncio.to_thread(self.store.close_plan, plan.id)
        # An admin may know how many there are; readers go on to see what they saw.
        reports = (await asyncio.to_thread(self.store.tally, plan)).reports
        held = await asyncio.to_thread(self.store.plans)
        return encoded(self.views.entry(next(one for one in held if one.plan.id == plan.id), reports))

    # -- trainings

    async def list_trainings(self, request: Request) -> Response:
        """Answer with all trainings."""
        return encoded(Trainings(await asyncio.to_thread(self._training_entries)), headers=SECRET)

    def _training_entries(self) -> list[TrainingEntry]:
        return [self.views.training(name, self.store.live(name)) for name in self.store.trainings()]

    async def round(self, request: Request) -> Response:
        """Answer with the current round of a training."""
        name, live = await self._find.training(request)
        return as_json(await self.views.round(name, live.round), headers=SECRET)

    async def gradient(self, request: Request) -> Response:
        """Count a gradient."""
        return await self._training_report(request, loss=False)

    async def loss(self, request: Request) -> Response:
        """Count a loss."""
        return await self._training_report(request, loss=True)

    async def _training_report(self, request: Request, loss: bool) -> Response:
        kind = requests.content_type(request)
        if kind not in formats.SINGLES:
            raise Refused("wrong-type", f"gradients come as {' or '.join(formats.SINGLES)}")
        number = requests.natural(request.query_params.get("round", ""), "the round, as in ?round=1,")
        body = await requests.body(request, self.settings.max_single, self.settings)
        name, live = await self._find.training(request)
        round_ = live.round
        label = "loss" if loss else "gradient"
        if number > round_.number:
            raise Refused("bad-request", "this round has not begun")
        if number != round_.number or round_.done:
            # It cannot be checked against a round that is gone, but its id tells whether it was counted then.
            id_ = await _done(len(body) <= LARGE, formats.id_of, kind, body)
            gone = Gradient(name, number, id_, None, loss)
            return await self._submit(request, gone, name, label)
        plan = loss_plan(round_.training, round_.number) if loss else round_.plan
        read = Report.from_json if kind == formats.JSON else Report.decode
        report = await _done(len(body) <= LARGE, read, plan, body)
        return await self._submit(request, Gradient(name, number, report.id, report, loss), name, label)

    # -- the rest

    async def health(self, request: Request) -> Response:
        """Answer that the process is alive: its loop, and the thread that commits. A restart mends nothing else."""
        if self._intake is not None and not self._intake.alive:
            raise StoreError("the thread that commits has ended")
        return encoded(Health("ok"), headers=SECRET)

    async def ready(self, request: Request) -> Response:
        """Answer that reports would be taken now: it is tried.

        Also if a commit has just shown it: an answer without a try comes sooner, and would say to anybody who asks
        often when a report came.
        """
        intake, settings = self._intake, self.settings
        if self._ending:
            raise self._busy("this collector is shutting down")
        if intake is not None and intake.full:
            raise self._busy("the queue is full")
        if intake is not None and intake.taking > settings.health_timeout:
            raise StoreError(f"a commit takes longer than {settings.health_timeout:g} seconds")
        await self._pulse.check()
        return encoded(Health("ok"), headers=SECRET)

    async def show_metrics(self, request: Request) -> Response:
        """Answer with numbers for Prometheus."""
        waiting = self._intake.waiting if self._intake is not None else 0
        text = self.views.reveals.text(lambda: self.metrics.text(waiting))
        return Response(text, headers=SECRET, media_type="text/plain; version=0.0.4")

    async def openapi_document(self, request: Request) -> Response:
        """Answer with the description of this interface."""
        return Response(self._openapi, media_type="application/json")


def _kind(submission: Submission) -> str:
    """Return what metrics call reports of a plan."""
    return "report" if isinstance(submission, Single) else "batch"


def _methods(request: Request) -> str:
    """Return all methods that a path takes: each is a route of its own."""
    found = (route for route in request.app.routes if isinstance(route, Route))
    path = request.scope["path"]
    return ", ".join(sorted({name for route in found if route.path_regex.match(path) for name in route.methods or ()}))


def _address(request: Request) -> str:
    client = request.scope.get("client")
    return str(client[0]) if client else ""


async def _done(quick: bool, read: Callable[..., T], *arguments: Any) -> T:
    """Read a body; beside the loop if it may take long, so that others need not wait."""
    return read(*arguments) if quick else await asyncio.to_thread(read, *arguments)


def make_app(store: Store, settings: Settings | None = None) -> Starlette:
    """Return the application of a collector."""
    return Collector(store, settings or Settings()).app()
