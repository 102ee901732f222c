"""The HTTP interface: a Starlette application around an intake and a store.

Every route is one `Endpoint`: its path, the role it needs, what it reads and what it answers; `routes` lists them, and
the application and `/openapi.json` are made of that list. What takes something in is here; what only shows something is
in `views`. Every refusal is a problem document; a 202 is sent when its reports are durable.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from hush.collector import asked, formats, pages, routes, tickets
from hush.collector.documents import (
    Health,
    PlanEntry,
    Plans,
    Receipt,
    TicketDocument,
    TrainingEntry,
    Trainings,
    plan_entry,
    training_entry,
)
from hush.collector.endpoints import Endpoint, openapi
from hush.collector.finding import Finder
from hush.collector.intake import Full, Intake, Stopped
from hush.collector.metrics import Metrics
from hush.collector.problems import Refused
from hush.collector.pulse import Pulse
from hush.collector.responses import IMMUTABLE, SECRET, encoded
from hush.collector.security import RateLimit, check_role, cors_headers
from hush.collector.settings import Settings
from hush.collector.stores import NotHeld, Store
from hush.collector.submissions import Batch, Gradient, Outcome, Submission
from hush.collector.views import Views
from hush.errors import InputError, StoreError
from hush.report import ID_SIZE, Report
from hush.tickets import SIGNATURE_SIZE, questions_of

logger = logging.getLogger("hush.collector")

LARGE = 1 << 14  # bytes: larger bodies are read beside the loop
REFUSALS = {
    Outcome.CLOSED: "plan-closed",
    Outcome.OVERLAPPING: "overlapping",
    Outcome.LATE: "late",
    Outcome.UNKNOWN: "not-found",
}


class Collector:
    """The endpoints, and what they share."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.metrics = Metrics()
        self._limit = RateLimit(settings.rate, settings.burst)
        self._intake: Intake | None = None
        self._find = Finder(store)
        self._pulse = Pulse(store, settings.health_timeout, settings.health_every)
        self._ending = False
        self.views = Views(store, settings, self._find)
        self.endpoints = routes.endpoints(self)
        self._openapi = json.dumps(openapi(self.endpoints)).encode()

    # -- life

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take submissions while the server runs; commit what waits before it ends."""
        settings = self.settings
        self._intake = Intake(
            self.store, most=settings.queue, most_bytes=settings.queue_bytes, watch=self.metrics.note_commit
        )
        await self.views.begin()
        try:
            yield
        finally:
            self.views.close()
            await self._intake.stop(settings.stop_timeout)
            await asyncio.to_thread(self.store.close)

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
        known = tuple(parameter.name for parameter in endpoint.parameters if parameter.place == "query")

        async def handle(request: Request) -> Response:
            try:
                self._limit.check(request.client.host if request.client else "")
                if endpoint.role is not None:
                    check_role(self.settings, request, endpoint.role)
                if not endpoint.any_query:
                    asked.check_query(request, known)
                response = await endpoint.handler(request)
            except Refused as refused:
                response = refused.response()
            except asyncio.CancelledError:
                if not self._ending:
                    raise
                response = self._busy("this collector is shutting down").response()  # requests have no more time
            except ClientDisconnect:
                response = Response(status_code=400)
            except Exception as error:
                response = self._refusal(endpoint, error).response()
            return self._finished(request, response, request.path_params.get("plan"))

        return handle

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
        if request.method == "OPTIONS" and error.status_code == 405:
            response = Response(status_code=204, headers={"Allow": (error.headers or {}).get("Allow", "")})
        else:
            kind = {404: "not-found", 405: "bad-method"}.get(error.status_code, "bad-request")
            response = Refused(kind, headers=dict(error.headers or {})).response()
        return self._finished(request, response, plan_id)

    async def _submit(self, submission: Submission, plan_id: str, kind: str, reports: int) -> Response:
        """Hand a submission to the intake, and answer when it is durable."""
        assert self._intake is not None
        try:
            outcome = await self._intake.submit(submission)
        except (Full, Stopped):
            raise self._busy() from None
        except Exception:  # the intake has logged it
            raise Refused("failed", headers={"Retry-After": str(self.settings.retry_after)}) from None
        self.metrics.submissions[plan_id, kind, outcome.value] += 1
        if outcome in REFUSALS:
            raise Refused(REFUSALS[outcome])
        if outcome is Outcome.NEW:
            self.metrics.reports[plan_id] += reports
            if not isinstance(submission, Gradient):
                self.views.note(plan_id, reports)
        return encoded(Receipt(submission.id.hex(), outcome is Outcome.NEW, reports), 202)

    # -- plans

    async def list_plans(self, request: Request) -> Response:
        """Answer with all plans."""
        return encoded(Plans(await asyncio.to_thread(self._entries)), headers=SECRET)

    def _entries(self) -> list[PlanEntry]:
        return [plan_entry(held, self.store.tally(held.plan).n) for held in self.store.plans()]

    async def plan(self, request: Request) -> Response:
        """Answer with a plan, whose text never changes."""
        plan = await self._find.plan(request)
        headers = {"ETag": f'"{plan.id}"', "Cache-Control": IMMUTABLE}
        if asked.has_tag(request, plan.id):
            return Response(status_code=304, headers=headers)
        return Response(plan.to_json(), headers=headers, media_type="application/json")

    # -- reports

    async def reports(self, request: Request) -> Response:
        """Count a report or a batch."""
        plan = await self._find.plan(request)
        kind = asked.content_type(request)
        if kind in formats.SINGLES:
            most = max(self.settings.max_single, formats.longest(plan, kind))
            one = formats.single(plan, kind, await asked.body(request, most, self.settings))
            if self.settings.tickets:
                tickets.check(
                    plan,
                    self.settings.ticket_key,
                    one.report,
                    asked.hexadecimal(request, "hush-ticket", SIGNATURE_SIZE),
                )
            return await self._submit(one, plan.id, "report", 1)
        if kind not in formats.BATCHES:
            raise Refused("wrong-type", f"reports come as {', '.join((*formats.SINGLES, *formats.BATCHES))}")
        if self.settings.tickets:
            raise Refused("wrong-type", "this collector deals questions by tickets, and takes single reports only")
        body = await asked.body(request, self.settings.max_body, self.settings)
        given = request.headers.get("hush-batch")
        id_ = None if given is None else asked.hexadecimal(request, "hush-batch", ID_SIZE)
        many = await beside(len(body), formats.batch, plan, kind, body, id_, self.settings.check_ids)
        return await self._submit(many, plan.id, "batch", int(many.vector[0]))

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
        tally = await asyncio.to_thread(self.store.tally, await self._find.plan(request))
        headers = SECRET | {"Vary": "Accept"}
        if formats.TALLY in request.headers.get("accept", ""):
            return Response(tally.encode(), headers=headers, media_type=formats.TALLY)
        return Response(tally.to_json(), headers=headers, media_type="application/json")

    async def post_tally(self, request: Request) -> Response:
        """Count the tally of another collector."""
        plan = await self._find.plan(request)
        kind = asked.content_type(request)
        if kind not in (formats.JSON, formats.TALLY):
            raise Refused("wrong-type", f"tallies come as {formats.JSON} or {formats.TALLY}")
        id_ = asked.hexadecimal(request, "hush-batch", ID_SIZE)
        body = await asked.body(request, self.settings.max_body, self.settings)
        found = await beside(len(body), formats.tally, plan, kind, body, id_)
        return await self._submit(found, plan.id, "tally", int(found.vector[0]))

    async def close_plan(self, request: Request) -> Response:
        """Take no more reports of a plan."""
        plan = await self._find.plan(request)
        await asyncio.to_thread(self.store.close_plan, plan.id)
        entries = await asyncio.to_thread(self._entries)
        return encoded(next(entry for entry in entries if entry.id == plan.id))

    # -- trainings

    async def list_trainings(self, request: Request) -> Response:
        """Answer with all trainings."""
        return encoded(Trainings(await asyncio.to_thread(self._training_entries)), headers=SECRET)

    def _training_entries(self) -> list[TrainingEntry]:
        return [training_entry(name, self.store.live(name)) for name in self.store.trainings()]

    async def round(self, request: Request) -> Response:
        """Answer with the current round of a training."""
        _, live = await self._find.training(request)
        return Response(live.round.to_json(), media_type="application/json", headers=SECRET)

    async def gradient(self, request: Request) -> Response:
        """Count a gradient."""
        return await self._training_report(request, loss=False)

    async def loss(self, request: Request) -> Response:
        """Count a loss."""
        return await self._training_report(request, loss=True)

    async def _training_report(self, request: Request, loss: bool) -> Response:
        kind = asked.content_type(request)
        if kind not in formats.SINGLES:
            raise Refused("wrong-type", f"gradients come as {' or '.join(formats.SINGLES)}")
        number = asked.natural(request.query_params.get("round", ""), "the round, as in ?round=1,")
        body = await asked.body(request, self.settings.max_single, self.settings)
        name, live = await self._find.training(request)
        round_ = live.round
        label = "loss" if loss else "gradient"
        if number > round_.number:
            raise Refused("bad-request", "this round has not begun")
        if number != round_.number or round_.done:
            # It cannot be checked against a round that is gone, but its id tells whether it was counted then.
            return await self._submit(Gradient(name, number, formats.id_of(kind, body), None, loss), name, label, 1)
        plan = round_.training.loss_plan(round_.number) if loss else round_.plan
        report = Report.from_json(plan, body) if kind == formats.JSON else Report.decode(plan, body)
        return await self._submit(Gradient(name, number, report.id, report, loss), name, label, 1)

    # -- the rest

    async def health(self, request: Request) -> Response:
        """Answer that the process is alive: its loop, and the thread that commits. A restart mends nothing else."""
        if self._intake is not None and not self._intake.alive:
            raise StoreError("the thread that commits has ended")
        return encoded(Health("ok"), headers=SECRET)

    async def ready(self, request: Request) -> Response:
        """Answer that reports would be taken now. Unless a commit has just shown that the store can, it is tried."""
        intake, settings = self._intake, self.settings
        if self._ending:
            raise self._busy("this collector is shutting down")
        if intake is not None and intake.full:
            raise self._busy("the queue is full")
        if intake is not None and intake.taking > settings.health_timeout:
            raise StoreError(f"a commit takes longer than {settings.health_timeout:g} seconds")
        if intake is None or asyncio.get_running_loop().time() - intake.committed >= settings.health_every:
            await self._pulse.check()
        return encoded(Health("ok"), headers=SECRET)

    async def show_metrics(self, request: Request) -> Response:
        """Answer with numbers for Prometheus."""
        waiting = self._intake.waiting if self._intake is not None else 0
        return Response(self.metrics.text(waiting), media_type="text/plain; version=0.0.4")

    async def openapi_document(self, request: Request) -> Response:
        """Answer with the description of this interface."""
        return Response(self._openapi, media_type="application/json")


async def beside(size: int, read: Callable[..., Batch], *arguments: Any) -> Batch:
    """Read a body; a large one in another thread, so that others need not wait."""
    return await asyncio.to_thread(read, *arguments) if size > LARGE else read(*arguments)


def make_app(store: Store, settings: Settings | None = None) -> Starlette:
    """Return the application of a collector."""
    return Collector(store, settings or Settings()).app()
