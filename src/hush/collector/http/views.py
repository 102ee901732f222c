"""What people look at: estimates, streams of them, and all that the dashboard shows. Everything here only reads.

All of it is made of the tally that readers see (`hush.collector.reveals`), never of the one that grows. It is computed
once for all who look (`hush.collector.http.single_flight`): it depends on a plan, on what was asked for, and on the
number of reports, which tells tallies of one plan apart, as they only grow.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests, statements
from hush.collector.http.documents import (
    Charts,
    Estimates,
    PastRound,
    PlanEntry,
    Shown,
    TimelineDocument,
    TrainingEntry,
    TrainingHistory,
    as_csv,
    estimate_row,
    plan_entry,
    training_entry,
)
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.responses import SECRET, as_json, encoded
from hush.collector.http.single_flight import Shared, Spaced, Workers
from hush.collector.http.streams import Event, Streams
from hush.collector.reveals import Clock, Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import HeldPlan, Live, Store
from hush.collector.timeline import Timeline
from hush.core.plan import Plan
from hush.core.training.rounds import Round
from hush.errors import HushError, SchemaError
from hush.planning.predictions import prospects
from hush.server.estimates import Estimates as Rows
from hush.server.estimates import estimate
from hush.server.tally import Tally


class Views:
    """The endpoints that show something, and what they share."""

    def __init__(self, store: Store, settings: Settings, find: Finder, clock: Clock = time.monotonic) -> None:
        self._store, self._find = store, find
        self.reveals = Reveals(store, settings, self._note, clock)
        self._looks: asyncio.Task[None] | None = None
        self._workers = Workers()
        self._shared, self._spaced = Shared(self._workers), Spaced(self._workers)
        self._timelines: dict[str, Timeline] = {}
        self.streams = Streams(settings)

    async def begin(self) -> None:
        """Note how many reports were shown before the first arrives, and look for more from time to time."""

        def counts() -> dict[str, int]:
            return {held.plan.id: self.reveals.tally(held.plan).reports for held in self._store.plans()}

        every = self.reveals.every
        found = await asyncio.to_thread(counts)
        self._timelines = {plan_id: Timeline(n, width=every) for plan_id, n in found.items()}
        if not self.reveals.at_once:
            self._looks = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Let what is seen move also while nobody looks: otherwise all of it would have come when somebody does."""
        while True:
            await asyncio.sleep(max(self.reveals.every / 4, 1.0))  # which asks the store when it is time, not before
            with suppress(HushError):
                for held in await asyncio.to_thread(self._store.plans):
                    await asyncio.to_thread(self.reveals.tally, held.plan)

    def close(self) -> None:
        """Begin nothing more."""
        if self._looks is not None:
            self._looks.cancel()
        self._workers.close()

    def note(self, plan_id: str, reports: int) -> None:
        """Count reports of a plan that have arrived, if that is when they are seen."""
        if self.reveals.at_once:
            self._note(plan_id, reports)

    def _note(self, plan_id: str, reports: int) -> None:
        """Count reports of a plan that are seen now. A plan that another process has added begins with nothing."""
        self._timeline_of(plan_id).note(reports)

    def _timeline_of(self, plan_id: str) -> Timeline:
        return self._timelines.setdefault(plan_id, Timeline(0, width=self.reveals.every))

    # -- what there is

    def entry(self, held: HeldPlan, reports: int | None = None) -> PlanEntry:
        """Return a plan as a document: with the reports that readers see, unless others are given."""
        seen = self.reveals.tally(held.plan).reports if reports is None else reports
        reveals = self.reveals
        return plan_entry(held, seen, Shown(reveals.every, reveals.least, reveals.next(held.plan)))

    def training(self, name: str, live: Live) -> TrainingEntry:
        """Return a training as a document, with the people that readers see."""
        return training_entry(name, live, self.reveals.received(name, live))

    async def tally(self, request: Request, binary: bool) -> bytes:
        """Return a tally as it is sent: as JSON, or in its binary form."""
        tally = await self._tally(request)
        make = tally.encode if binary else lambda: tally.to_json().encode()
        return await self._shared.get(("tally text", tally.plan.id, binary), tally.reports, make)

    async def round(self, name: str, round_: Round) -> bytes:
        """Return the current round of a training, as it is sent."""
        return await self._shared.get(("round", name), round_.number, lambda: round_.to_json().encode())

    # -- estimates

    async def estimates(self, request: Request) -> Response:
        """Answer with estimates, as JSON or CSV."""
        format_ = requests.choice(request, requests.FORMAT)
        wanted = requests.wanted(request)
        tally = await self._tally(request)
        document, text = await self._estimated(tally, *wanted)
        if format_ == "csv":
            key = ("csv", tally.plan.id, *wanted)
            table = await self._shared.get(key, tally.reports, lambda: as_csv(document.estimates).encode())
            return Response(table, headers=SECRET, media_type="text/csv")
        return as_json(text, headers=SECRET)

    async def _tally(self, request: Request) -> Tally:
        return await asyncio.to_thread(self.reveals.tally, await self._find.plan(request))

    async def _rows(self, tally: Tally, level: float, estimator: Any) -> Rows:
        key = ("rows", tally.plan.id, level, estimator)
        return await self._shared.get(key, tally.reports, lambda: estimate(tally, level=level, estimator=estimator))

    async def _estimated(self, tally: Tally, level: float, estimator: str, post: str) -> tuple[Estimates, bytes]:
        plan, rows = tally.plan, await self._rows(tally, level, estimator)

        def make() -> tuple[Estimates, bytes]:
            found = [estimate_row(row) for row in requests.POSTS[post](rows)]
            document = Estimates(plan.id, tally.reports, level, estimator, post, found)
            return document, msgspec.json.encode(document)

        return await self._shared.get(("estimates", plan.id, level, estimator, post), tally.reports, make)

    # -- what else there is to see of a plan

    async def statement(self, request: Request) -> Response:
        """Answer what a plan promises to each person."""
        plan = await self._find.plan(request)
        return as_json(await self._stated(plan), headers=SECRET)

    async def _stated(self, plan: Plan) -> bytes:
        return await self._shared.get(
            ("statement", plan.id), 0, lambda: msgspec.json.encode(statements.statement(plan))
        )

    async def margins(self, request: Request) -> Response:
        """Answer with predicted and achieved margins."""
        level = requests.level(request)
        return as_json(await self._margins(await self._tally(request), level), headers=SECRET)

    async def _margins(self, tally: Tally, level: float) -> bytes:
        plan, rows = tally.plan, await self._rows(tally, level, "ratio")
        known = await self._shared.get(("prospects", plan.id), 0, lambda: prospects(plan))
        return await self._shared.get(
            ("margins", plan.id, level),
            tally.reports,
            lambda: msgspec.json.encode(statements.margins(tally, level, rows, known)),
        )

    async def manipulation(self, request: Request) -> Response:
        """Answer how far liars can have moved estimates."""
        share = requests.share(request)
        return as_json(await self._manipulation(await self._tally(request), share), headers=SECRET)

    async def _manipulation(self, tally: Tally, share: float) -> bytes:
        return await self._shared.get(
            ("manipulation", tally.plan.id, share),
            tally.reports,
            lambda: msgspec.json.encode(statements.manipulations(tally, share)),
        )

    async def distribution(self, request: Request) -> Response:
        """Answer with the distribution of a number, perhaps of a moment ago: it says from how many answers."""
        name = request.query_params.get("attribute")
        if name is None:
            raise Refused("bad-request", "name an attribute, as in ?attribute=age")
        tally = await self._tally(request)
        try:
            tally.plan.schema[name]
        except SchemaError as error:
            raise Refused("not-found", str(error)) from None
        text = await self._spaced.get(
            (tally.plan.id, name), tally.reports, lambda: msgspec.json.encode(statements.spread(tally, name))
        )
        return as_json(text, headers=SECRET)

    async def timeline(self, request: Request) -> Response:
        """Answer how many reports there were at which time."""
        return encoded(self._timed(await self._tally(request)), headers=SECRET)

    def _timed(self, tally: Tally) -> TimelineDocument:
        line = self._timeline_of(tally.plan.id)
        width, counts = line.spans()
        elsewhere = max(0, tally.reports - line.before - sum(counts))
        return TimelineDocument(tally.plan.id, line.before, elsewhere, line.start, width, counts)

    async def charts(self, request: Request) -> Response:
        """Answer with the specifications of all charts."""

        def make() -> bytes:
            from hush.plots import panels  # with Altair, which takes a second to load

            return msgspec.json.encode(
                Charts(panels.named(), {"light": panels.theme("light"), "dark": panels.theme("dark")})
            )

        try:
            text = await self._shared.get("charts", 0, make)
        except ModuleNotFoundError:
            raise Refused("not-found", "charts need: pip install 'hush-ldp[plot]'") from None
        return as_json(text, headers={"Cache-Control": "no-cache"})

    # -- trainings

    async def history(self, request: Request) -> Response:
        """Answer with the rounds of a training that are over."""
        name, live = await self._find.training(request)
        return as_json(await asyncio.to_thread(self._past, name, live), headers=SECRET)

    def _past(self, name: str, live: Live) -> bytes:
        past = self._store.history(name)
        rounds = [PastRound(row.number, list(row.weights), row.people, row.loss, row.loss_error) for row in past]
        return msgspec.json.encode(TrainingHistory(name, live.round.done, list(live.round.result), rounds))

    async def training_statement(self, request: Request) -> Response:
        """Answer what the current round promises to each person."""
        _, live = await self._find.training(request)
        return as_json(await self._stated(live.round.plan), headers=SECRET)

    # -- streams

    async def stream(self, request: Request) -> Response:
        """Answer with estimates as they change, and with all else that the dashboard shows if it is asked for."""
        plan, wanted, share = await self._find.plan(request), requests.wanted(request), requests.share(request)
        view = requests.choice(request, requests.VIEW)

        async def counted() -> Tally:
            return await self._shared.get(("tally", plan.id), self.streams.moment(), lambda: self.reveals.tally(plan))

        await counted()  # a store that is away is a refusal here, and no stream that says nothing

        async def look(last: Hashable) -> tuple[Hashable, list[Event]]:
            tally = await counted()
            if view == "estimates":
                now: Hashable = tally.reports
                return now, [] if now == last else [("estimates", (await self._estimated(tally, *wanted))[1])]
            held = await self._shared.get("plans", self.streams.moment(), self._store.plans)
            found = next(one for one in held if one.plan.id == plan.id)
            now = tally.reports, found.open
            if now == last:
                return now, []
            return now, [
                ("plan", msgspec.json.encode(self.entry(found, tally.reports))),
                ("estimates", (await self._estimated(tally, *wanted))[1]),
                ("margins", await self._margins(tally, wanted[0])),
                ("manipulation", await self._manipulation(tally, share)),
                ("timeline", msgspec.json.encode(self._timed(tally))),
            ]

        return self.streams.response(request, look)

    async def training_stream(self, request: Request) -> Response:
        """Answer how a training stands, and with its rounds when one is over."""
        name, _ = await self._find.training(request)

        async def look(last: tuple[Hashable, Hashable] | None) -> tuple[Hashable, list[Event]]:
            live = await self._shared.get(("live", name), self.streams.moment(), lambda: self._store.live(name))
            round_ = live.round
            over = (round_.number, round_.done)
            entry = self.training(name, live)
            now = over, entry.received
            events: list[Event] = []
            if now != last:
                events.append(("training", msgspec.json.encode(entry)))
            if last is None or last[0] != over:
                text = await self._shared.get(("history", name), over, lambda: self._past(name, live))
                events.append(("history", text))
            return now, events

        return self.streams.response(request, look)
