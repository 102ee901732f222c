"""Handlers for devices that take part in a training, and the list of trainings. `training_views` shows progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from hush.collector import formats
from hush.collector.http import requests
from hush.collector.http.desk import Desk
from hush.collector.http.documents import Receipt, TrainingEntry, Trainings
from hush.collector.http.endpoints import Method, Parameter, endpoint, of_training
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.responses import SECRET, as_json, encoded
from hush.collector.http.security import check_role
from hush.collector.http.visible import Visible
from hush.collector.presentation import Presentation
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Gradient
from hush.collector.vectors import layout_of
from hush.core.design.rounds import check_of, loss_plan
from hush.core.plan import Plan
from hush.core.report import ID_SIZE
from hush.core.training.stages import MEANS, SHARES, SPREADS, Stage, stage_names

Array = np.ndarray[Any, Any]

ROUND = Parameter(
    "round",
    "integer",
    "the number of the round",
    None,
    required=True,
    limits={"minimum": 0, "maximum": 999999999},
)
STAGE = Parameter("stage", "string", "the stage of the pilot", None, required=True, choices=(MEANS, SPREADS, SHARES))
DIGITS = {"pattern": "^[0-9a-fA-F]{32}$"}
BATCH = Parameter("Hush-Batch", "string", "the id of a batch", None, place="header", limits=DIGITS)


def counted(path: str, summary: str, when: Parameter) -> Callable[[Method], Method]:
    """Declare a method as the handler that counts what people send to a training."""
    return endpoint(
        "POST",
        f"/trainings/{{training}}/{path}",
        summary,
        role="submit",
        answers=Receipt,
        reads=(*formats.SINGLES, *formats.BATCHES),
        parameters=(when, BATCH),
        status=202,
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

    @of_training("round", "The current round, or stage of the pilot", role="submit", answers=dict)
    async def round(self, request: Request) -> Response:
        """Answer with the current round of a training, or with the stage of its pilot."""
        name, live = await self._find.training(request)
        now = live.round
        text = await self._visible.shared.get(("round", name), now.number, lambda: now.to_json().encode())
        return as_json(text, headers=SECRET)

    @of_training("check", "What held-out people are asked: the loss of the model so far", role="submit", answers=dict)
    async def check(self, request: Request) -> Response:
        """Answer with the weights so far, and the plan by which people report their loss."""
        name, live = await self._find.training(request)
        now = live.round
        if isinstance(now, Stage):
            raise Refused("bad-request", "the pilot of this training goes on: there is no model to check yet")
        text = await self._visible.shared.get(("check", name), now.number, lambda: check_of(now).to_json().encode())
        return as_json(text, headers=SECRET)

    @of_training(
        "presentation",
        "How the form presents a training: words, order and widgets",
        role="submit",
        answers=Presentation,
    )
    async def presentation(self, request: Request) -> Response:
        """Answer with the presentation of a training; an empty one if it has none."""
        name, _ = await self._find.training(request)
        return encoded(self._settings.presented_trainings.get(name, Presentation()), headers=SECRET)

    @counted("gradients", "Send a gradient, or with the role submit-batch a batch", ROUND)
    async def gradient(self, request: Request) -> Response:
        """Count gradients."""
        return await self._count(request, "gradient")

    @counted("losses", "Send the loss of a held-out person, or with the role submit-batch a batch", ROUND)
    async def loss(self, request: Request) -> Response:
        """Count losses."""
        return await self._count(request, "loss")

    @counted("pilot", "Send an answer of the pilot, or with the role submit-batch a batch", STAGE)
    async def pilot(self, request: Request) -> Response:
        """Count answers of the pilot."""
        return await self._count(request, "pilot")

    async def _count(self, request: Request, what: str) -> Response:
        requests.check_plain(self._settings)
        kind = requests.content_type(request)
        single = kind in formats.SINGLES
        if not single and kind not in formats.BATCHES:
            raise Refused("wrong-type", f"gradients come as {', '.join((*formats.SINGLES, *formats.BATCHES))}")
        if not single:
            check_role(self._settings, request, "submit-batch")
        asked = request.query_params
        number = 0 if what == "pilot" else requests.natural(asked.get("round", ""), "the round, as in ?round=1,")
        most = self._settings.max_single if single else self._settings.max_body
        body = await requests.body(request, most, self._settings)
        quick = single and len(body) <= requests.LARGE
        name, live = await self._find.training(request)
        now = live.round
        if what == "pilot":
            names = stage_names(now.training) if live.course is not None and live.course.pilot else ()
            if asked.get("stage", "") not in names:
                raise Refused("bad-request", "the pilot of this training has no such stage, as in ?stage=means")
            number = names.index(asked["stage"]) + 1 - len(names)
        if number > now.number or (isinstance(now, Stage) and what != "pilot"):
            raise Refused("bad-request", "this round has not begun")
        given = request.headers.get("hush-batch")
        id_ = None if single or given is None else requests.hexadecimal(request, "hush-batch", ID_SIZE)
        if number != now.number or now.done:
            # The round is gone, so the report cannot be checked against it; its id shows whether it was counted then.
            id_ = await requests.decoded(quick, formats.id_of if single else formats.batch_id_of, kind, body, id_)
            gone = Gradient(name, number, id_, None, what == "loss")
            return await self._desk.submit(request, gone, name, what)
        plan = loss_plan(now.training, now.number) if what == "loss" else now.plan
        found = await requests.decoded(quick, self._read, plan, kind, body, id_)
        return await self._desk.submit(
            request, Gradient(name, number, found[0], found[1], what == "loss", found[2]), name, what
        )

    def _read(self, plan: Plan, kind: str, body: bytes, id_: bytes | None) -> tuple[bytes, Array, Sequence[bytes]]:
        """Return the id and the counts of a report or a batch, checked, and the ids of the reports within a batch."""
        if kind in formats.BATCHES:
            found = formats.batch(plan, kind, body, id_, self._settings.check_ids)
            return found.id, found.vector, found.ids
        report = formats.single(plan, kind, body).report
        vector = layout_of(plan).zero()
        layout_of(plan).add(vector, report)
        return report.id, vector, ()
