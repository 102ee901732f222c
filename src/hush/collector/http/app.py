"""The HTTP interface: a Starlette application around an intake and a store.

Every endpoint is declared beside its handler (`endpoints.endpoint`). The application and `/openapi.json` are made of
these declarations. Handlers that accept data are in `reports` and `trainings`; the others only read.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hush.collector.http import logs, pages
from hush.collector.http.charts import ChartHandlers
from hush.collector.http.closed import ClosedHandlers
from hush.collector.http.desk import Desk
from hush.collector.http.direct import REPORTS, Heads
from hush.collector.http.endpoints import declared, endpoint
from hush.collector.http.frequent_views import FrequentViews
from hush.collector.http.gate import Gate
from hush.collector.http.health import HealthHandlers
from hush.collector.http.lists import ListHandlers
from hush.collector.http.lookup import Finder
from hush.collector.http.metrics import Metrics
from hush.collector.http.openapi import openapi
from hush.collector.http.operating import Operating
from hush.collector.http.period_views import PeriodViews
from hush.collector.http.pilots import Pilots
from hush.collector.http.plans import PlanHandlers
from hush.collector.http.preparing import Preparing
from hush.collector.http.relation_views import RelationViews
from hush.collector.http.reports import ReportHandlers
from hush.collector.http.sealed import SealedHandlers
from hush.collector.http.tallies import TallyHandlers
from hush.collector.http.training_views import TrainingViews
from hush.collector.http.trainings import TrainingHandlers
from hush.collector.http.views import Views
from hush.collector.http.visible import Visible
from hush.collector.reveals import Clock
from hush.collector.settings import Settings
from hush.collector.stores.base import Store


class Collector:
    """All handlers, and the parts that they share."""

    def __init__(
        self, store: Store, settings: Settings, clock: Clock = time.monotonic, wall: Clock = time.time
    ) -> None:
        self.store, self.settings = store, settings
        find = Finder(store)
        self._gate = Gate(settings, Metrics(settings.reveal_least), find.before)
        self._visible = Visible(store, settings, find, clock, wall)
        self.desk = Desk(settings, self._gate, self._visible)
        self._preparing = Preparing(store, settings)
        self.pilots = Pilots(store, settings, find, self._visible, self._preparing.plan)
        reports = ReportHandlers(store, settings, find, self._visible, self._gate, self.desk, self._preparing)
        handlers = (  # in the order of the OpenAPI document
            PlanHandlers(store, find, self._visible, settings.presentations),
            ListHandlers(store),
            reports,
            TallyHandlers(store, settings, find, self._visible, self.desk),
            SealedHandlers(settings, find, self.desk),
            ClosedHandlers(store, settings, find),
            TrainingHandlers(store, settings, find, self._visible, self.desk),
            Views(store, find, self._visible),
            PeriodViews(find, self._visible),
            RelationViews(find, self._visible),
            FrequentViews(find, self._visible),
            TrainingViews(store, find, self._visible),
            ChartHandlers(self._visible),
            Operating(store, self._visible, self.desk, settings),
            HealthHandlers(store, settings, self._gate, self.desk, self._visible),
            self,
        )
        self.endpoints = tuple(found for each in handlers for found in declared(each))
        self._openapi = b""  # made when somebody asks for it
        # The short way of reports (`hush.collector.http.direct`) calls these for every request.
        self.place, self.heads = REPORTS, Heads()
        self.known, self.is_prepared = find.known, self._preparing.is_prepared
        self.take, self.taken = reports.take, reports.taken
        self.note = self._gate.note

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Take submissions while the server runs; before it ends, commit those that wait."""
        logs.bound()
        self.desk.open(self.store)
        await self._visible.begin()
        await asyncio.to_thread(self._preparing.load)
        tasks = [asyncio.create_task(work) for work in (self._preparing.run(), self.pilots.run())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            self._visible.close()
            await self.desk.close()
            await asyncio.to_thread(self.store.close)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route(found.path, self._gate.guarded(found), methods=[found.method])
            for found in (*self.endpoints, *pages.endpoints(self.settings))
        ]
        handlers: Any = {HTTPException: self._gate.unrouted}
        app = Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False
        app.state.collector = self
        return app

    def give_notice(self) -> None:
        """Say that this collector is not ready, as it will end soon. Everything is served on."""
        self._gate.ending = True

    def end_streams(self) -> None:
        """Let streams of estimates end, as they would keep a server from stopping. Called within the loop."""
        self._visible.streams.end()

    @endpoint("GET", "/openapi.json", "This interface", role=None, answers=dict)
    async def openapi_document(self, request: Request) -> Response:
        """Answer with the description of this interface."""
        if not self._openapi:
            self._openapi = await asyncio.to_thread(self._described)
        return Response(self._openapi, media_type="application/json")

    def _described(self) -> bytes:
        return json.dumps(openapi(self.endpoints, self.settings.open)).encode()


def make_app(store: Store, settings: Settings | None = None) -> Starlette:
    """Return the application of a collector."""
    return Collector(store, settings or Settings()).app()
