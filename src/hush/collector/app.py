"""The HTTP interface: a Starlette application around an intake and a store.

Every route is one `Endpoint`: its path, the role it needs, what it reads and what it answers. The application and
`/openapi.json` are made of the same list. Every refusal is a problem document; a 202 is sent when its reports are
durable.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hush.collector import formats, tickets
from hush.collector.documents import (
    EstimateRow,
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
)
from hush.collector.endpoints import Endpoint, Parameter, openapi
from hush.collector.intake import Full, Intake, Stopped
from hush.collector.metrics import Metrics
from hush.collector.problems import Refused
from hush.collector.security import RateLimit, check_role, cors_headers
from hush.collector.settings import Settings
from hush.collector.stores import HeldPlan, Store
from hush.collector.submissions import ID_SIZE, Gradient, Outcome, Submission
from hush.errors import HushError
from hush.estimates import Estimate, estimate
from hush.plan import Plan
from hush.postprocess import clip, project
from hush.report import Report
from hush.tickets import questions_of

POSTS: dict[str, Callable[[list[Estimate], Any], list[Estimate]]] = {
    "none": lambda rows, _: rows,
    "clip": clip,
    "project": project,
}
REFUSALS = {
    Outcome.CLOSED: "plan-closed",
    Outcome.OVERLAPPING: "overlapping",
    Outcome.LATE: "late",
    Outcome.UNKNOWN: "not-found",
}
MAX_LEVEL = 0.999999
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
            Route(endpoint.path, self._guarded(endpoint), methods=[endpoint.method]) for endpoint in self.endpoints
        ]
        handlers: Any = {HTTPException: self._unrouted}
        return Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)

    def _guarded(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of an endpoint, behind limits and roles; whatever is refused becomes a problem."""

        async def handle(request: Request) -> Response:
            try:
                self._limit.check(request.client.host if request.client else "")
                if endpoint.role is not None:
                    check_role(self.settings, request, endpoint.role)
                response = await endpoint.handler(request)
            except Refused as refused:
                response = refused.response()
            except ClientDisconnect:
                response = Response(status_code=400)
            except HushError as error:
                response = Refused("bad-report", str(error)).response()
            for name, value in cors_headers(self.settings, request, request.path_params.get("plan")).items():
                response.headers[name] = value
            self.metrics.responses[response.status_code] += 1
            return response

        return handle

    async def _unrouted(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        kind = {404: "not-found", 405: "bad-method"}.get(status, "bad-request")
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        self.metrics.responses[status] += 1
        if request.method == "OPTIONS" and "origin" in request.headers:
            return self._preflight(request)
        return Refused(kind, headers=headers).response()

    def _preflight(self, request: Request) -> Response:
        """Answer a browser that asks whether a page may send reports here."""
        parts = request.url.path.split("/")
        plan = parts[2] if len(parts) > 2 and parts[1] == "plans" else None
        return Response(status_code=204, headers=cors_headers(self.settings, request, plan))

    # -- what endpoints need

    def _held(self, request: Request) -> HeldPlan:
        """Return the plan that the path names."""
        plan_id = request.path_params["plan"]
        held = self._plans.get(plan_id)
        if held is None:
            self._plans = {found.plan.id: found for found in self.store.plans()}
            held = self._plans.get(plan_id)
            if held is None:
                raise Refused("not-found", "this collector does not have this plan")
        return held

    async def _body(self, request: Request, most: int) -> bytes:
        """Read a body that is not too large and does not take too long."""
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > most:
            raise Refused("too-large", f"at most {most} bytes are read here")
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self.settings.body_timeout):
                async for piece in request.stream():
                    size += len(piece)
                    if size > most:
                        raise Refused("too-large", f"at most {most} bytes are read here")
                    pieces.append(piece)
        except TimeoutError:
            raise Refused("too-slow") from None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _submit(self, submission: Submission, plan_id: str, kind: str, reports: int) -> Response:
        """Hand a submission to the intake, and answer when it is durable."""
        assert self._intake is not None
        retry = {"Retry-After": str(self.settings.retry_after)}
        try:
            outcome = await self._intake.submit(submission)
        except (Full, Stopped):
            raise Refused("busy", headers=retry) from None
        except Exception:
            raise Refused("failed", headers=retry) from None
        self.metrics.submissions[plan_id, kind, outcome.value] += 1
        if outcome in REFUSALS:
            raise Refused(REFUSALS[outcome])
        if outcome is Outcome.NEW:
            self.metrics.reports[plan_id] += reports
        return encoded(Receipt(submission.id.hex(), outcome is Outcome.NEW, reports), 202)

    # -- plans

    async def _list_plans(self, request: Request) -> Response:
        return encoded(Plans([self._entry(held) for held in await asyncio.to_thread(self.store.plans)]))

    def _entry(self, held: HeldPlan) -> PlanEntry:
        plan = held.plan
        return PlanEntry(plan.id, plan.title, plan.epsilon, held.open, held.keep, self.store.tally(plan).n)

    async def _plan(self, request: Request) -> Response:
        plan = self._held(request).plan
        headers = {"ETag": f'"{plan.id}"', "Cache-Control": IMMUTABLE}
        if plan.id in _tags(request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(plan.to_json(), headers=headers, media_type="application/json")

    # -- reports

    async def _reports(self, request: Request) -> Response:
        plan = self._held(request).plan
        kind = content_type(request)
        if kind in formats.SINGLES:
            body = await self._body(request, self.settings.max_single)
            one = formats.single(plan, kind, body)
            if self.settings.tickets:
                tickets.check(
                    plan, self.settings.ticket_key, one.report, _hexadecimal(request, "hush-ticket", tickets.MAC_SIZE)
                )
            return await self._submit(one, plan.id, "report", 1)
        if kind not in formats.BATCHES:
            raise Refused("wrong-type", f"reports come as {', '.join((*formats.SINGLES, *formats.BATCHES))}")
        if self.settings.tickets:
            raise Refused("wrong-type", "this collector deals questions by tickets, and takes single reports only")
        body = await self._body(request, self.settings.max_body)
        given = request.headers.get("hush-batch")
        id_ = None if given is None else _hexadecimal(request, "hush-batch", ID_SIZE)
        many = formats.batch(plan, kind, body, id_, self.settings.check_ids)
        return await self._submit(many, plan.id, "batch", int(many.vector[0]))

    async def _ticket(self, request: Request) -> Response:
        plan = self._held(request).plan
        if not self.settings.tickets:
            raise Refused("not-found", "this collector deals no tickets")
        id_, signature = tickets.issue(plan, self.settings.ticket_key)
        return encoded(
            TicketDocument(id_.hex(), questions_of(plan, id_), signature.hex()), headers={"Cache-Control": "no-store"}
        )

    # -- tallies and estimates

    async def _get_tally(self, request: Request) -> Response:
        tally = await asyncio.to_thread(self.store.tally, self._held(request).plan)
        if formats.TALLY in request.headers.get("accept", ""):
            return Response(tally.encode(), media_type=formats.TALLY)
        return Response(tally.to_json(), media_type="application/json")

    async def _post_tally(self, request: Request) -> Response:
        plan = self._held(request).plan
        kind = content_type(request)
        if kind not in (formats.JSON, formats.TALLY):
            raise Refused("wrong-type", f"tallies come as {formats.JSON} or {formats.TALLY}")
        id_ = _hexadecimal(request, "hush-batch", ID_SIZE)
        found = formats.tally(plan, kind, await self._body(request, self.settings.max_body), id_)
        return await self._submit(found, plan.id, "tally", int(found.vector[0]))

    async def _estimates(self, request: Request) -> Response:
        document = await asyncio.to_thread(self._estimated, self._held(request).plan, *_wanted(request))
        form = request.query_params.get("format", "json")
        if form not in ("json", "csv"):
            raise Refused("bad-request", "format must be json or csv")
        if form == "csv":
            return Response(as_csv(document.estimates), media_type="text/csv")
        return encoded(document, headers={"Cache-Control": "no-store"})

    def _estimated(self, plan: Plan, level: float, estimator: str, post: str) -> Estimates:
        tally = self.store.tally(plan)
        rows = POSTS[post](estimate(tally, level=level, estimator=estimator), plan.schema)  # type: ignore[arg-type]
        return Estimates(plan.id, tally.n, level, estimator, post, [_row(row) for row in rows])

    async def _stream(self, request: Request) -> Response:
        plan, wanted = self._held(request).plan, _wanted(request)

        async def events() -> AsyncIterator[bytes]:
            last = -1
            while True:
                document = await asyncio.to_thread(self._estimated, plan, *wanted)
                if document.reports != last:
                    last = document.reports
                    yield b"event: estimates\ndata: " + msgspec.json.encode(document) + b"\n\n"
                else:
                    yield b": still here\n\n"
                await asyncio.sleep(self.settings.stream_interval)

        return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _close_plan(self, request: Request) -> Response:
        plan = self._held(request).plan
        await asyncio.to_thread(self.store.close_plan, plan.id)
        self._plans = {}
        return encoded(self._entry(self._held(request)))

    # -- trainings

    async def _list_trainings(self, request: Request) -> Response:
        names = await asyncio.to_thread(self.store.trainings)
        return encoded(Trainings([self._training_entry(name) for name in names]))

    def _name(self, request: Request) -> str:
        name = str(request.path_params["training"])
        if name not in self.store.trainings():
            raise Refused("not-found", "this collector does not have this training")
        return name

    def _training_entry(self, name: str) -> TrainingEntry:
        live = self.store.live(name)
        rounds = live.round.training.rounds
        return TrainingEntry(name, live.round.number, rounds, live.round.done, live.wanted, live.received)

    async def _round(self, request: Request) -> Response:
        live = await asyncio.to_thread(self.store.live, self._name(request))
        return Response(live.round.to_json(), media_type="application/json", headers={"Cache-Control": "no-store"})

    async def _gradient(self, request: Request) -> Response:
        return await self._training_report(request, loss=False)

    async def _loss(self, request: Request) -> Response:
        return await self._training_report(request, loss=True)

    async def _training_report(self, request: Request, loss: bool) -> Response:
        name = self._name(request)
        kind = content_type(request)
        if kind not in formats.SINGLES:
            raise Refused("wrong-type", f"gradients come as {' or '.join(formats.SINGLES)}")
        body = await self._body(request, self.settings.max_single)
        round_ = self.store.live(name).round
        number = request.query_params.get("round", "")
        if not number.isdigit() or len(number) > 9:
            raise Refused("bad-request", "the round must be named: ?round=1")
        place, label = int(number), "loss" if loss else "gradient"
        if place != round_.number or round_.done:
            # It cannot be checked against a round that is gone, but its id tells whether it was counted then.
            return await self._submit(Gradient(name, place, formats.id_of(kind, body), None, loss), name, label, 1)
        plan = round_.training.loss_plan(round_.number) if loss else round_.plan
        report = Report.from_json(plan, body) if kind == formats.JSON else Report.decode(plan, body)
        return await self._submit(Gradient(name, place, report.id, report, loss), name, label, 1)

    async def _history(self, request: Request) -> Response:
        name = self._name(request)
        live = await asyncio.to_thread(self.store.live, name)
        past = await asyncio.to_thread(self.store.history, name)
        rounds = [PastRound(row.number, list(row.weights), row.people, row.loss, row.loss_error) for row in past]
        return encoded(TrainingHistory(name, live.round.done, list(live.round.result), rounds))

    # -- the rest

    async def _health(self, request: Request) -> Response:
        return encoded(Health("ok"))

    async def _metrics(self, request: Request) -> Response:
        waiting = self._intake.waiting if self._intake is not None else 0
        return Response(self.metrics.text(waiting), media_type="text/plain; version=0.0.4")

    async def _openapi_document(self, request: Request) -> Response:
        return Response(self._openapi, media_type="application/json")

    def _endpoints(self) -> Sequence[Endpoint]:
        level = Parameter("level", "number", "the probability that an interval covers the truth", 0.95)
        estimator = Parameter("estimator", "string", "how to estimate", "ratio", ("ratio", "paper"))
        post = Parameter("post", "string", "what is done to estimates afterwards", "none", tuple(POSTS))
        form = Parameter("format", "string", "the form of the answer", "json", ("json", "csv"))
        number = Parameter("round", "integer", "the number of the round", None)
        batch = Parameter(
            "Hush-Batch", "string", "the id of a batch or tally: 32 hexadecimal digits", None, place="header"
        )
        signed = Parameter("Hush-Ticket", "string", "the signature of a ticket", None, place="header")
        reports = (*formats.SINGLES, *formats.BATCHES)
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
                parameters=(batch,),
                status=202,
            ),
            Endpoint("POST", "/plans/{plan}/close", "Take no more reports", self._close_plan, "admin", PlanEntry),
            Endpoint("GET", "/trainings", "All trainings", self._list_trainings, "read", Trainings),
            Endpoint("GET", "/trainings/{training}/round", "The current round", self._round, "submit", dict),
            Endpoint(
                "POST",
                "/trainings/{training}/gradients",
                "Send a gradient",
                self._gradient,
                "submit",
                Receipt,
                reads=formats.SINGLES,
                parameters=(number,),
                status=202,
            ),
            Endpoint(
                "POST",
                "/trainings/{training}/losses",
                "Send the loss of a held-out person",
                self._loss,
                "submit",
                Receipt,
                reads=formats.SINGLES,
                parameters=(number,),
                status=202,
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


def content_type(request: Request) -> str:
    """Return the content type of a request, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def as_csv(rows: Sequence[EstimateRow]) -> str:
    """Return estimates as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = EstimateRow.__struct_fields__
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if (value := getattr(row, name)) is None else value for name in names])
    return out.getvalue()


def _row(row: Estimate) -> EstimateRow:
    point, stderr, low, high = (
        value if math.isfinite(value) else None for value in (row.point, row.stderr, row.low, row.high)
    )
    return EstimateRow(row.attribute, row.category, point, stderr, low, high, row.n)


def _wanted(request: Request) -> tuple[float, str, str]:
    """Return level, estimator and post-processing that a request asks for."""
    query = request.query_params
    try:
        level = float(query.get("level", "0.95"))
    except ValueError:
        level = math.nan
    if not 0 < level <= MAX_LEVEL:
        raise Refused("bad-request", f"level must be a number above 0 and at most {MAX_LEVEL}")
    estimator, post = query.get("estimator", "ratio"), query.get("post", "none")
    if estimator not in ("ratio", "paper"):
        raise Refused("bad-request", "estimator must be ratio or paper")
    if post not in POSTS:
        raise Refused("bad-request", f"post must be one of: {', '.join(POSTS)}")
    return level, estimator, post


def _hexadecimal(request: Request, header: str, size: int) -> bytes:
    text = request.headers.get(header, "")
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != size or data.hex() != text.lower():
        raise Refused("bad-request", f"the header {header} must be {2 * size} hexadecimal digits")
    return data


def _tags(text: str) -> set[str]:
    return {part.strip().removeprefix("W/").strip('"') for part in text.split(",")}


def make_app(store: Store, settings: Settings | None = None) -> Starlette:
    """Return the application of a collector."""
    return Collector(store, settings or Settings()).app()
