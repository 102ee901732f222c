"""Finds the plan or training that a path names."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from hush.collector.http.problems import Refused
from hush.collector.stores.base import HeldPlan, Live, NotHeld, Store
from hush.core.plan import Plan


class Finder:
    """Finds plans and trainings. The store may wait for its disk, so it is asked outside the loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._plans: dict[str, HeldPlan] = {}

    def known(self, plan_id: str) -> Plan | None:
        """Return a plan that was asked for before."""
        held = self._plans.get(plan_id)
        return None if held is None else held.plan

    async def plan(self, request: Request) -> Plan:
        """Return the plan that the path names. A plan never changes, so it is asked for once."""
        plan_id = request.path_params["plan"]
        held = self._plans.get(plan_id)
        if held is None:
            self._plans = {found.plan.id: found for found in await asyncio.to_thread(self._store.plans)}
            held = self._plans.get(plan_id)
            if held is None:
                raise Refused("not-found", "this collector does not have this plan")
        return held.plan

    async def training(self, request: Request) -> tuple[str, Live]:
        """Return the training that the path names, as it stands."""
        name = str(request.path_params["training"])
        try:
            return name, await asyncio.to_thread(self._store.live, name)
        except NotHeld:
            raise Refused("not-found", "this collector does not have this training") from None
