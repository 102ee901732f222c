"""Handlers for devices that take part in a training, and the list of trainings. `training_views` shows progress."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hush.collector import formats
from hush.collector.http import requests
from hush.collector.http.desk import Desk
from hush.collector.http.documents import Receipt, TrainingEntry, Trainings
from hush.collector.http.endpoints import Parameter, endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.responses import SECRET, as_json, encoded
from hush.collector.http.visible import Visible
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Gradient
from hush.core.design.rounds import loss_plan
from hush.core.report import Report

ROUND = Parameter(
    "round",
    "integer",
    "the number of the round",
    None,
    required=True,
    limits={"minimum": 0, "maximum": 999999999},
)


class TrainingHandlers:
    """The endpoints of devices in a training."""

    def __init__(self, store: Store, settings: Settings, find: Finder, visible: Visible, desk: Desk) -> None:
        self._store, self._settings, self._find, self._visible, self._desk = store, settings, find, visible, desk

    @endpoint("GET", "/trainings", "All trainings", role="read", answers=Trainings)
    async def list_trainings(self, request: Request) -> Response:
        """Answer with all trainings."""
        return encoded(Trainings(await asyncio.to_thread(self._entries)), headers=SECRET)

    def _entries(self) -> list[TrainingEntry]:
        return [self._visible.training(name, self._store.live(name)) for name in self._store.trainings()]

    @endpoint("GET", "/trainings/{training}/round", "The current round", role="submit", answers=dict)
    async def round(self, request: Request) -> Response:
        """Answer with the current round of a training."""
        name, live = await self._find.training(request)
        now = live.round
        text = await self._visible.shared.get(("round", name), now.number, lambda: now.to_json().encode())
        return as_json(text, headers=SECRET)

    @endpoint(
        "POST",
        "/trainings/{training}/gradients",
        "Send a gradient",
        role="submit",
        answers=Receipt,
        reads=formats.SINGLES,
        parameters=(ROUND,),
        status=202,
    )
    async def gradient(self, request: Request) -> Response:
        """Count a gradient."""
        return await self._count(request, loss=False)

    @endpoint(
        "POST",
        "/trainings/{training}/losses",
        "Send the loss of a held-out person",
        role="submit",
        answers=Receipt,
        reads=formats.SINGLES,
        parameters=(ROUND,),
        status=202,
    )
    async def loss(self, request: Request) -> Response:
        """Count a loss."""
        return await self._count(request, loss=True)

    async def _count(self, request: Request, loss: bool) -> Response:
        requests.check_plain(self._settings)
        kind = requests.content_type(request)
        if kind not in formats.SINGLES:
            raise Refused("wrong-type", f"gradients come as {' or '.join(formats.SINGLES)}")
        number = requests.natural(request.query_params.get("round", ""), "the round, as in ?round=1,")
        body = await requests.body(request, self._settings.max_single, self._settings)
        quick = len(body) <= requests.LARGE
        name, live = await self._find.training(request)
        round_ = live.round
        label = "loss" if loss else "gradient"
        if number > round_.number:
            raise Refused("bad-request", "this round has not begun")
        if number != round_.number or round_.done:
            # The round is gone, so the report cannot be checked against it; its id shows whether it was counted then.
            id_ = await requests.decoded(quick, formats.id_of, kind, body)
            gone = Gradient(name, number, id_, None, loss)
            return await self._desk.submit(request, gone, name, label)
        plan = loss_plan(round_.training, round_.number) if loss else round_.plan
        read = Report.from_json if kind == formats.JSON else Report.decode
        report = await requests.decoded(quick, read, plan, body)
        return await self._desk.submit(request, Gradient(name, number, report.id, report, loss), name, label)
