"""Handlers that show how a training goes. They only read."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http.documents import PastRound, PastStage, Statement, TrainingHistory
from hush.collector.http.endpoints import of_training
from hush.collector.http.lookup import Finder
from hush.collector.http.responses import EVENTS, SECRET, as_json
from hush.collector.http.streams import Event
from hush.collector.http.visible import Visible
from hush.collector.stores.base import Live, Store
from hush.core.training.stages import stage_names


class TrainingViews:
    """The endpoints that show a training."""

    def __init__(self, store: Store, find: Finder, visible: Visible) -> None:
        self._store, self._find, self._visible = store, find, visible

    @of_training("history", "Weights and losses by round", role="read", answers=TrainingHistory)
    async def history(self, request: Request) -> Response:
        """Answer with the rounds of a training that are over."""
        name, live = await self._find.training(request)
        return as_json(await asyncio.to_thread(self._past, name, live), headers=SECRET)

    def _past(self, name: str, live: Live) -> bytes:
        past, training = self._store.history(name), live.round.training
        rounds = [
            PastRound(row.number, list(row.weights), row.people, row.loss, row.loss_error)
            for row in past
            if row.number > 0
        ]
        names = stage_names(training)
        stages = [PastStage(names[row.number - 1], row.people, list(row.weights)) for row in past if row.number <= 0]
        coefficients, intercept = training.model(live.round.result)
        features = list(training.names)
        found = live.round.done, list(live.round.result), rounds, stages, features, coefficients, intercept
        return msgspec.json.encode(TrainingHistory(name, *found))

    @of_training("stream", "How the training stands, as it changes", role="read", also=(EVENTS,))
    async def stream(self, request: Request) -> Response:
        """Answer with the state of a training as it changes, and with its rounds whenever one is over."""
        name, _ = await self._find.training(request)
        streams, shared = self._visible.streams, self._visible.shared

        async def look(last: tuple[Hashable, Hashable] | None) -> tuple[Hashable, list[Event]]:
            live = await shared.get(("live", name), streams.moment(), lambda: self._store.live(name))
            round_ = live.round
            over = (round_.number, round_.done)
            entry = self._visible.training(name, live)
            now = over, entry.received
            events: list[Event] = []
            if now != last:
                events.append(("training", msgspec.json.encode(entry)))
            if last is None or last[0] != over:
                text = await shared.get(("history", name), over, lambda: self._past(name, live))
                events.append(("history", text))
            return now, events

        return streams.response(request, look)

    @of_training("statement", "The promise of the current round to each person", role="read", answers=Statement)
    async def statement(self, request: Request) -> Response:
        """Answer with the promise of the current round to each person."""
        _, live = await self._find.training(request)
        return as_json(await self._visible.statement(live.round.plan), headers=SECRET)
