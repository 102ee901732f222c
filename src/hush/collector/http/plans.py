"""Handlers that show plans: the list, and the text of each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.documents import Current, PlanEntry, Plans, RelayPromise, Survey
from hush.collector.http.endpoints import endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.responses import IMMUTABLE, SECRET, encoded
from hush.collector.http.visible import Visible
from hush.collector.presentation import Presentation, of_plan
from hush.collector.stores.base import Store


class PlanHandlers:
    """The endpoints of plans."""

    def __init__(self, store: Store, find: Finder, visible: Visible, presentations: Mapping[str, Presentation]) -> None:
        self._store, self._find, self._visible, self._presentations = store, find, visible, presentations

    @endpoint("GET", "/plans", "All plans", role="read", answers=Plans)
    async def list_plans(self, request: Request) -> Response:
        """Answer with all plans."""
        return encoded(Plans(await asyncio.to_thread(self._entries)), headers=SECRET)

    def _entries(self) -> list[PlanEntry]:
        return [self._visible.entry(held) for held in self._store.plans()]

    @endpoint("GET", "/survey", "The only survey that is open", role="submit", answers=Survey)
    async def survey(self, request: Request) -> Response:
        """Answer with the id of the only open plan. Of several it names none: a link may be meant for a few."""
        held = await self._visible.shared.get("plans", self._visible.streams.moment(), self._store.plans)
        open_ = {one.plan.id: one.plan for one in held if one.open}
        first = [id_ for id_, plan in open_.items() if plan.after not in open_]  # a pilot leads to what follows it
        return encoded(Survey(first[0] if len(first) == 1 else None), headers=SECRET)

    @endpoint("GET", "/plans/{plan}", "A plan: its id is the SHA-256 of this text", role="submit", answers=dict)
    async def plan(self, request: Request) -> Response:
        """Answer with a plan, whose text never changes."""
        plan = await self._find.plan(request)
        headers = {"ETag": f'"{plan.id}"', "Cache-Control": IMMUTABLE}
        if requests.has_tag(request, plan.id):
            return Response(status_code=304, headers=headers)
        return Response(plan.to_json(), headers=headers, media_type="application/json")

    @endpoint(
        "GET",
        "/plans/{plan}/current",
        "The plan to answer now: this one, or the one that follows it",
        role="submit",
        answers=Current,
    )
    async def current(self, request: Request) -> Response:
        """Answer with the id of the plan that people are asked who have answered neither."""
        return encoded(Current(await self._find.current(request)), headers=SECRET)

    @endpoint(
        "GET",
        "/plans/{plan}/presentation",
        "How the form presents a plan: words, order and widgets",
        role="submit",
        answers=Presentation,
    )
    async def presentation(self, request: Request) -> Response:
        """Answer with the presentation of a plan; an empty one if it has none."""
        return encoded(of_plan(self._presentations, await self._find.plan(request)), headers=SECRET)

    @endpoint(
        "GET",
        "/plans/{plan}/relay",
        "Both promises of a plan whose reports come through a relay",
        role="submit",
        answers=RelayPromise,
    )
    async def relay(self, request: Request) -> Response:
        """Answer with the local and the central promise, for the form. A relay hears later that a plan is closed."""
        plan = await self._find.plan(request)
        found = await asyncio.to_thread(self._visible.relay, plan)
        if found is None:
            raise Refused("not-found", "this collector names no relay for this plan")
        if not any(held.open for held in await asyncio.to_thread(self._store.plans) if held.plan.id == plan.id):
            raise Refused("plan-closed")
        return encoded(found, headers=SECRET)
