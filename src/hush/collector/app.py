"""The HTTP interface: a Starlette application around an intake and a store.

Every route is one `Endpoint`: its path, the role it needs, what it reads and what it answers. The application and
`/openapi.json` are made of the same list. Every refusal is a problem document; a 202 is sent when its reports are
durable.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hush.collector import asked, formats, pages, tickets
from hush.collector.documents import (
    Estimates,
    Health,
    PastRound,
    PlanEntry,
    Plans,
    Receipt,
    TicketDocument,
    TrainingEntry,
    TrainingHistory,
    Trainings,
    as_csv,
    estimate_row,
)
from hush.collector.endpoints import TALLY_SCHEMA, Endpoint, Parameter, openapi
from hush.collector.intake import Full, Intake, Stopped
from hush.collector.metrics import Metrics
from hush.collector.problems import Refused
from hush.collector.security import RateLimit, check_role, cors_headers
from hush.collector.settings import Settings
from hush.collector.stores import HeldPlan, Live, Store, StoreError
from hush.collector.submissions import ID_SIZE, Batch, Gradient, Outcome, Submission
from hush.errors import HushError
from hush.estimates import estimate
from hush.plan import Plan
from hush.report import Report
from hush.tickets import questions_of

logger = logging.getLogger("hush.collector")

LARGE = 1 << 14  # bytes: larger bodies are read beside the loop
EVENTS = "text/event-stream"
SECRET = {"Cache-Control": "no-store"}
REFUSALS = {
    Outcome.CLOSED: "plan-closed",
    Outcome.OVERLAPPING: "overlapping",
    Outcome.LATE: "late",
    Outcome.UNKNOWN: "not-found",
}
IMMUTABLE = "public, max-age=31536000, immutable"


def encoded(document: msgspec.Struct, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a document as a response."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")


class Collector:
    """The endpoints, and what they share."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.metrics = Metrics()
        self._limit = RateLimit(settings.rate, settings.burst)
        self._intake: Intake | None = None
        self._plans: dict[str, HeldPlan] = {}
        self.ending = asyncio.Event()
        self._streams = 0
        self.endpoints = self._endpoints()
        self._openapi = json.dumps(openapi(self.endpoints)).encode()

    # -- life

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take submissions while the server runs; commit what waits before it ends."""
        settings = self.settings
        self._intake = Intake(
            self.store, most=settings.queue, most_bytes=settings.queue_bytes, watch=self.metrics.note_commit
        )
        try:
            yield
        finally:
            await self._intake.stop()
            await asyncio.to_thread(self.store.close)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route(endpoint.path, self._guarded(endpoint), methods=[endpoint.method])
            for endpoint in (*self.endpoints, *pages.endpoints())
        ]
        handlers: Any = {HTTPException: self._unrouted}
        app = Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False
        app.state.collector = self
        return app

    def end_streams(self) -> None:
        """Let streams of estimates end, as they would keep a server from stopping. Called within the loop."""
        self.ending.set()

    def _guarded(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of an endpoint, behind limits and roles; whatever is refused becomes a problem."""
        known = tuple(parameter.name for parameter in endpoint.parameters if parameter.place == "query")

        async def handle(request: Request) -> Response:
            try:
                self._limit.check(request.client.host if request.client else "")
                if endpoint.role is not None:
                    check_role(self.settings, request, endpoint.role)
                asked.check_query(request, known)
                response = await endpoint.handler(request)
            except Refused as refused:
                response = refused.response()
            except ClientDisconnect:
                response = Response(status_code=400)
            except HushError as error:
                response = Refused("bad-report", str(error)).response()
            except Exception:
                logger.exception("%s %s failed", endpoint.method, endpoint.path)
                response = Refused("broken").response()
            return self._finished(request, response, request.path_params.get("plan"))

        return handle

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

    # -- what endpoints need

    async def _plan_of(self, request: Request) -> Plan:
        """Return the plan that the path names. The store may wait for its disk, and is not asked in the loop."""
        plan_id = request.path_params["plan"]
        held = self._plans.get(plan_id)
        if held is None:
            self._plans = {found.plan.id: found for found in await asyncio.to_thread(self.store.plans)}
            held = self._plans.get(plan_id)
            if held is None:
                raise Refused("not-found", "this collector does not have this plan")
        return held.plan

    async def _submit(self, submission: Submission, plan_id: str, kind: str, reports: int) -> Response:
        """Hand a submission to the intake, and answer when it is durable."""
        assert self._intake is not None
        retry = {"Retry-After": str(self.settings.retry_after)}
        try:
            outcome = await self._intake.submit(submission)
        except (Full, Stopped):
            raise Refused("busy", headers=retry) from None
        except Exception:  # the intake has logged it
            raise Refused("failed", headers=retry) from None
        self.metrics.submissions[plan_id, kind, outcome.value] += 1
        if outcome in REFUSALS:
            raise Refused(REFUSALS[outcome])
        if outcome is Outcome.NEW:
            self.metrics.reports[plan_id] += reports
        return encoded(Receipt(submission.id.hex(), outcome is Outcome.NEW, reports), 202)

    # -- plans

    async def _list_plans(self, request: Request) -> Response:
        return encoded(Plans(await asyncio.to_thread(self._entries)), headers=SECRET)

    def _entries(self) -> list[PlanEntry]:
        return [
            PlanEntry(plan.id, plan.title, plan.epsilon, held.open, held.keep, self.store.tally(plan).n)
            for held in self.store.plans()
            for plan in (held.plan,)
        ]

    async def _plan(self, request: Request) -> Response:
        plan = await self._plan_of(request)
        headers = {"ETag": f'"{plan.id}"', "Cache-Control": IMMUTABLE}
        if asked.has_tag(request, plan.id):
            return Response(status_code=304, headers=headers)
        return Response(plan.to_json(), headers=headers, media_type="application/json")

    # -- reports

    async def _reports(self, request: Request) -> Response:
        plan = await self._plan_of(request)
        kind = asked.content_type(request)
        if kind in formats.SINGLES:
            most = max(self.settings.max_single, formats.longest(plan, kind))
            one = formats.single(plan, kind, await asked.body(request, most, self.settings))
            if self.settings.tickets:
                tickets.check(
                    plan,
                    self.settings.ticket_key,
                    one.report,
                    asked.hexadecimal(request, "hush-ticket", tickets.MAC_SIZE),
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

    async def _ticket(self, request: Request) -> Response:
        plan = await self._plan_of(request)
        if not self.settings.tickets:
            raise Refused("not-found", "this collector deals no tickets")
        id_, signature = tickets.issue(plan, self.settings.ticket_key)
        return encoded(TicketDocument(id_.hex(), questions_of(plan, id_), signature.hex()), headers=SECRET)

    # -- tallies and estimates

    async def _get_tally(self, request: Request) -> Response:
        tally = await asyncio.to_thread(self.store.tally, await self._plan_of(request))
        headers = SECRET | {"Vary": "Accept"}
        if formats.TALLY in request.headers.get("accept", ""):
            return Response(tally.encode(), headers=headers, media_type=formats.TALLY)
        return Response(tally.to_json(), headers=headers, media_type="application/json")

    async def _post_tally(self, request: Request) -> Response:
        plan = await self._plan_of(request)
        kind = asked.content_type(request)
        if kind not in (formats.JSON, formats.TALLY):
            raise Refused("wrong-type", f"tallies come as {formats.JSON} or {formats.TALLY}")
        id_ = asked.hexadecimal(request, "hush-batch", ID_SIZE)
        body = await asked.body(request, self.settings.max_body, self.settings)
        found = await beside(len(body), formats.tally, plan, kind, body, id_)
        return await self._submit(found, plan.id, "tally", int(found.vector[0]))

    async def _estimates(self, request: Request) -> Response:
        form = request.query_params.get("format", "json")
        if form not in ("json", "csv"):
            raise Refused("bad-request", "format must be json or csv")
        document = await asyncio.to_thread(self._estimated, await self._plan_of(request), *asked.wanted(request))
        if form == "csv":
            return Response(as_csv(document.estimates), headers=SECRET, media_type="text/csv")
        return encoded(document, headers=SECRET)

    def _estimated(self, plan: Plan, level: float, estimator: str, post: str) -> Estimates:
        tally = self.store.tally(plan)
        rows = asked.POSTS[post](estimate(tally, level=level, estimator=estimator), plan.schema)  # type: ignore[arg-type]
        return Estimates(plan.id, tally.n, level, estimator, post, [estimate_row(row) for row in rows])

    async def _stream(self, request: Request) -> Response:
        plan, wanted = await self._plan_of(request), asked.wanted(request)

        if self._streams >= self.settings.streams:
            raise Refused("busy", "too many streams are open", {"Retry-After": str(self.settings.retry_after)})
        if request.method == "HEAD":
            return Response(media_type=EVENTS, headers=SECRET)

        async def events() -> AsyncIterator[bytes]:
            self._streams += 1
            try:
                last = -1
                while not self.ending.is_set():
                    document = await asyncio.to_thread(self._estimated, plan, *wanted)
                    if document.reports != last:
                        last = document.reports
                        yield b"event: estimates\ndata: " + msgspec.json.encode(document) + b"\n\n"
                    else:
                        yield b": still here\n\n"
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.ending.wait(), self.settings.stream_interval)
            finally:
                self._streams -= 1

        return StreamingResponse(events(), media_type=EVENTS, headers=SECRET)

    async def _close_plan(self, request: Request) -> Response:
        plan = await self._plan_of(request)
        await asyncio.to_thread(self.store.close_plan, plan.id)
        self._plans = {}
        entries = await asyncio.to_thread(self._entries)
        return encoded(next(entry for entry in entries if entry.id == plan.id))

    # -- trainings

    async def _list_trainings(self, request: Request) -> Response:
        return encoded(Trainings(await asyncio.to_thread(self._training_entries)), headers=SECRET)

    def _training_entries(self) -> list[TrainingEntry]:
        found = []
        for name in self.store.trainings():
            live = self.store.live(name)
            rounds = live.round.training.rounds
            found.append(TrainingEntry(name, live.round.number, rounds, live.round.done, live.wanted, live.received))
        return found

    async def _live(self, request: Request) -> tuple[str, Live]:
        """Return the training that the path names, as it stands."""
        name = str(request.path_params["training"])
        try:
            return name, await asyncio.to_thread(self.store.live, name)
        except StoreError:
            raise Refused("not-found", "this collector does not have this training") from None

    async def _round(self, request: Request) -> Response:
        _, live = await self._live(request)
        return Response(live.round.to_json(), media_type="application/json", headers=SECRET)

    async def _gradient(self, request: Request) -> Response:
        return await self._training_report(request, loss=False)

    async def _loss(self, request: Request) -> Response:
        return await self._training_report(request, loss=True)

    async def _training_report(self, request: Request, loss: bool) -> Response:
        kind = asked.content_type(request)
        if kind not in formats.SINGLES:
            raise Refused("wrong-type", f"gradients come as {' or '.join(formats.SINGLES)}")
        number = asked.natural(request.query_params.get("round", ""), "the round, as in ?round=1,")
        body = await asked.body(request, self.settings.max_single, self.settings)
        name, live = await self._live(request)
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

    async def _history(self, request: Request) -> Response:
        name, live = await self._live(request)
        past = await asyncio.to_thread(self.store.history, name)
        rounds = [PastRound(row.number, list(row.weights), row.people, row.loss, row.loss_error) for row in past]
        return encoded(TrainingHistory(name, live.round.done, list(live.round.result), rounds), headers=SECRET)

    # -- the rest

    async def _health(self, request: Request) -> Response:
        return encoded(Health("ok"))

    async def _metrics(self, request: Request) -> Response:
        waiting = self._intake.waiting if self._intake is not None else 0
        return Response(self.metrics.text(waiting), media_type="text/plain; version=0.0.4")

    async def _openapi_document(self, request: Request) -> Response:
        return Response(self._openapi, media_type="application/json")

    def _endpoints(self) -> Sequence[Endpoint]:
        level = Parameter(
            "level",
            "number",
            "the probability that an interval covers the truth",
            0.95,
            limits={"exclusiveMinimum": 0, "maximum": asked.MAX_LEVEL},
        )
        estimator = Parameter("estimator", "string", "how to estimate", "ratio", asked.ESTIMATORS)
        post = Parameter("post", "string", "what is done to estimates afterwards", "none", tuple(asked.POSTS))
        form = Parameter("format", "string", "the form of the answer", "json", ("json", "csv"))
        number = Parameter(
            "round",
            "integer",
            "the number of the round",
            None,
            required=True,
            limits={"minimum": 0, "maximum": 999999999},
        )
        digits = {"pattern": "^[0-9a-fA-F]{32}$"}
        batch = Parameter("Hush-Batch", "string", "the id of a batch", None, place="header", limits=digits)
        named = Parameter(
            "Hush-Batch", "string", "the id of the tally", None, place="header", required=True, limits=digits
        )
        signed = Parameter("Hush-Ticket", "string", "the signature of a ticket", None, place="header", limits=digits)
        reports = (*formats.SINGLES, *formats.BATCHES)
        sent = partial(Endpoint, "POST", role="submit", answers=Receipt, reads=formats.SINGLES, status=202)
        return (
            Endpoint("GET", "/plans", "All plans", self._list_plans, "read", Plans),
            Endpoint("GET", "/plans/{plan}", "A plan: its id is the SHA-256 of this text", self._plan, "submit", dict),
            Endpoint(
                "POST",
                "/plans/{plan}/reports",
                "Send a report or a batch",
                self._reports,
                "submit",
                Receipt,
                reads=reports,
                parameters=(batch, signed),
                status=202,
            ),
            Endpoint(
                "GET",
                "/plans/{plan}/ticket",
                "The questions of one report, dealt",
                self._ticket,
                "submit",
                TicketDocument,
            ),
            Endpoint(
                "GET",
                "/plans/{plan}/estimates",
                "Estimates with intervals",
                self._estimates,
                "read",
                Estimates,
                parameters=(level, estimator, post, form),
                also=("text/csv",),
            ),
            Endpoint(
                "GET",
                "/plans/{plan}/stream",
                "Estimates as they change",
                self._stream,
                "read",
                None,
                parameters=(level, estimator, post),
                also=("text/event-stream",),
            ),
            Endpoint("GET", "/plans/{plan}/tally", "The tally", self._get_tally, "read", dict, also=(formats.TALLY,)),
            Endpoint(
                "POST",
                "/plans/{plan}/tally",
                "Merge the tally of another collector",
                self._post_tally,
                "admin",
                Receipt,
                reads=(formats.JSON, formats.TALLY),
                parameters=(named,),
                status=202,
                body=TALLY_SCHEMA,
            ),
            Endpoint("POST", "/plans/{plan}/close", "Take no more reports", self._close_plan, "admin", PlanEntry),
            Endpoint("GET", "/trainings", "All trainings", self._list_trainings, "read", Trainings),
            Endpoint("GET", "/trainings/{training}/round", "The current round", self._round, "submit", dict),
            sent("/trainings/{training}/gradients", "Send a gradient", self._gradient, parameters=(number,)),
            sent(
                "/trainings/{training}/losses", "Send the loss of a held-out person", self._loss, parameters=(number,)
            ),
            Endpoint(
                "GET",
                "/trainings/{training}/history",
                "Weights and losses by round",
                self._history,
                "read",
                TrainingHistory,
            ),
            Endpoint("GET", "/healthz", "Whether the collector is alive", self._health, None, Health),
            Endpoint("GET", "/metrics", "Numbers for Prometheus", self._metrics, "read", None, also=("text/plain",)),
            Endpoint("GET", "/openapi.json", "This interface", self._openapi_document, None, dict),
        )


async def beside(size: int, read: Callable[..., Batch], *arguments: Any) -> Batch:
    """Read a body; a large one in another thread, so that others need not wait."""
    return await asyncio.to_thread(read, *arguments) if size > LARGE else read(*arguments)


def make_app(store: Store, settings: Settings | None = None) -> Starlette:
    """Return the application of a collector."""
    return Collector(store, settings or Settings()).app()
