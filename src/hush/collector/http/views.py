"""Handlers that show a plan's results: estimates, streams of them, and the rest of the dashboard. They only read."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests, statements
from hush.collector.http.documents import (
    DistributionDocument,
    Estimates,
    Manipulations,
    Margins,
    Statement,
    TimelineDocument,
    as_csv,
    estimate_row,
)
from hush.collector.http.endpoints import endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.requests import ATTRIBUTE, ESTIMATOR, FORMAT, INTERVALS, LEVEL, POST, SEARCH, SHARE, TOP, VIEW
from hush.collector.http.responses import EVENTS, SECRET, as_json, encoded
from hush.collector.http.streams import Event
from hush.collector.http.visible import Visible
from hush.collector.stores.base import Store
from hush.errors import SchemaError
from hush.planning.predictions import prospects
from hush.server.changes import Counted
from hush.server.estimates import Estimates as Rows
from hush.server.estimates import Wanted, chosen
from hush.server.sources import too_long
from hush.server.tally import Tally


class Views:
    """The endpoints that show a plan."""

    def __init__(self, store: Store, find: Finder, visible: Visible) -> None:
        self._store, self._find, self._visible = store, find, visible
        self._shared = visible.shared

    # -- estimates

    @endpoint(
        "GET",
        "/plans/{plan}/estimates",
        "Estimates with intervals",
        role="read",
        answers=Estimates,
        parameters=(LEVEL, ESTIMATOR, POST, INTERVALS, TOP, SEARCH, FORMAT),
        also=("text/csv",),
    )
    async def estimates(self, request: Request) -> Response:
        """Answer with estimates, as JSON or CSV."""
        format_ = requests.choice(request, FORMAT)
        requests.wanted(request)  # what cannot be asked is refused before anything is computed
        post = requests.choice(request, POST)
        counted = await self._visible.counted(await self._visible.tally(request))
        tally = counted.tally
        wanted = requests.wanted(request, tally.plan)
        if post == "project" and (wanted.top or wanted.search or too_long(tally.plan)):
            raise Refused("bad-request", "post=project needs all shares of each attribute, and these are some of them")
        document, text = await self._estimated(counted, wanted, post)
        headers = SECRET | _linked(document)
        if format_ == "csv":
            key = ("csv", tally.plan.id, post, *wanted)
            table = await self._shared.get(
                key, tally.people, lambda: as_csv(document.estimates, tally.plan.schema).encode()
            )
            return Response(table, headers=headers, media_type="text/csv")
        return as_json(text, headers=headers)

    async def _rows(self, counted: Counted, wanted: Wanted) -> Rows:
        tally = counted.tally
        return await self._shared.get(
            ("rows", tally.plan.id, *wanted), tally.people, lambda: chosen(tally, wanted, counted.totals)
        )

    async def _estimated(self, counted: Counted, wanted: Wanted, post: str) -> tuple[Estimates, bytes]:
        tally, rows = counted.tally, await self._rows(counted, wanted)
        plan = tally.plan
        second = self._visible.second(plan)
        intervals = "together" if wanted.simultaneous else "each"

        def make() -> tuple[Estimates, bytes]:
            found = [estimate_row(row) for row in requests.POSTS[post](rows)]
            head = plan.id, tally.people, wanted.level, wanted.estimator, post
            document = Estimates(*head, found, plan.after, second, intervals)
            return document, msgspec.json.encode(document)

        key = ("estimates", plan.id, post, *wanted)
        return await self._shared.get(key, (tally.people, second), make)

    @endpoint(
        "GET",
        "/plans/{plan}/stream",
        "Estimates as they change, and the rest of the dashboard",
        role="read",
        parameters=(LEVEL, ESTIMATOR, POST, INTERVALS, VIEW, SHARE),
        also=(EVENTS,),
    )
    async def stream(self, request: Request) -> Response:
        """Answer with estimates as they change; for the dashboard, with everything else that it shows."""
        plan, share = await self._find.plan(request), requests.share(request)
        wanted = requests.wanted(request, plan)
        view, post = requests.choice(request, VIEW), requests.choice(request, POST)
        if post == "project" and too_long(plan):
            raise Refused("bad-request", "post=project needs all shares of each attribute, and these are some of them")
        visible, moment = self._visible, self._visible.streams.moment

        async def seen() -> Tally:
            return await self._shared.get(("tally", plan.id), moment(), lambda: visible.reveals.tally(plan))

        await seen()  # if the store is away, refuse here instead of opening a stream without events
        await asyncio.to_thread(visible.relay, plan)  # so that `look`, within the loop, need not wait for it

        async def look(last: Hashable) -> tuple[Hashable, list[Event]]:
            counted = await visible.counted(await seen())
            tally = counted.tally
            if view == "estimates":
                now: Hashable = tally.people, visible.second(plan)
                if now == last:
                    return now, []
                return now, [("estimates", (await self._estimated(counted, wanted, post))[1])]
            held = await self._shared.get("plans", moment(), self._store.plans)
            found = next(one for one in held if one.plan.id == plan.id)
            dropped = await self._shared.get(("refused", plan.id), moment(), lambda: visible.refused(plan))
            now = tally.people, found.open, visible.second(plan), dropped
            if now == last:
                return now, []
            return now, [
                ("plan", msgspec.json.encode(visible.entry(found, tally.people, dropped))),
                ("estimates", (await self._estimated(counted, wanted, post))[1]),
                ("margins", await self._margins(counted, wanted.level)),
                ("manipulation", await self._manipulation(tally, share)),
                ("timeline", msgspec.json.encode(self._timed(tally))),
            ]

        return visible.streams.response(request, look)

    # -- promises, margins and manipulation

    @endpoint(
        "GET", "/plans/{plan}/statement", "The promise of the plan to each person", role="read", answers=Statement
    )
    async def statement(self, request: Request) -> Response:
        """Answer with the promise of a plan to each person."""
        return as_json(await self._visible.statement(await self._find.plan(request)), headers=SECRET)

    @endpoint(
        "GET",
        "/plans/{plan}/margins",
        "Margins, predicted and achieved",
        role="read",
        answers=Margins,
        parameters=(LEVEL,),
    )
    async def margins(self, request: Request) -> Response:
        """Answer with predicted and achieved margins."""
        level = requests.level(request)
        counted = await self._visible.counted(await self._visible.tally(request))
        return as_json(await self._margins(counted, level), headers=SECRET)

    async def _margins(self, counted: Counted, level: float) -> bytes:
        tally, rows = counted.tally, await self._rows(counted, Wanted(level, most=requests.SHOWN))
        plan = tally.plan
        known = await self._shared.get(("prospects", plan.id), 0, lambda: prospects(plan))
        return await self._shared.get(
            ("margins", plan.id, level),
            tally.people,
            lambda: msgspec.json.encode(statements.margins(tally, level, rows, known)),
        )

    @endpoint(
        "GET",
        "/plans/{plan}/manipulation",
        "How far liars can have moved the estimates",
        role="read",
        answers=Manipulations,
        parameters=(SHARE,),
    )
    async def manipulation(self, request: Request) -> Response:
        """Answer with how far liars can have moved estimates."""
        share = requests.share(request)
        return as_json(await self._manipulation(await self._visible.tally(request), share), headers=SECRET)

    async def _manipulation(self, tally: Tally, share: float) -> bytes:
        return await self._shared.get(
            ("manipulation", tally.plan.id, share),
            tally.people,
            lambda: msgspec.json.encode(statements.manipulations(tally, share)),
        )

    # -- distributions and time

    @endpoint(
        "GET",
        "/plans/{plan}/distribution",
        "The distribution of a number",
        role="read",
        answers=DistributionDocument,
        parameters=(ATTRIBUTE,),
    )
    async def distribution(self, request: Request) -> Response:
        """Answer with the distribution of a number. It may be slightly old, and gives its number of answers."""
        name = requests.named(request, ATTRIBUTE)
        tally = await self._visible.tally(request)
        try:
            tally.plan.schema[name]
        except SchemaError as error:
            raise Refused("not-found", str(error)) from None
        text = await self._visible.spaced.get(
            (tally.plan.id, name), tally.people, lambda: msgspec.json.encode(statements.spread(tally, name))
        )
        return as_json(text, headers=SECRET)

    @endpoint(
        "GET",
        "/plans/{plan}/timeline",
        "Reports over time, since the start",
        role="read",
        answers=TimelineDocument,
    )
    async def timeline(self, request: Request) -> Response:
        """Answer with the number of reports over time."""
        return encoded(self._timed(await self._visible.tally(request)), headers=SECRET)

    def _timed(self, tally: Tally) -> TimelineDocument:
        line = self._visible.timeline(tally.plan.id)
        width, counts = line.spans()
        elsewhere = max(0, tally.people - line.before - sum(counts))
        return TimelineDocument(tally.plan.id, line.before, elsewhere, line.start, width, counts)


def _linked(document: Estimates) -> dict[str, str]:
    """Return the header that links the estimates of a pilot and of the plan that follows it, also from CSV."""
    others = (("prev", document.after), ("next", document.next))
    links = [f'</plans/{plan}/estimates>; rel="{relation}"' for relation, plan in others if plan is not None]
    return {"Link": ", ".join(links)} if links else {}
