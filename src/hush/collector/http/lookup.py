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
        self._seconds: dict[str, str] = {}

    def known(self, plan_id: str) -> Plan | None:
        """Return a plan that was asked for before."""
        held = self._plans.get(plan_id)
        return None if held is None else held.plan

    def learn(self) -> list[Plan]:
        """Read which plans follow a pilot, and return them. It waits for the store."""
        seconds = {found.pilot: found.second for found in self._store.narrowings() if found.second is not None}
        if not self._plans.keys() >= {*seconds.values()}:
            self._learn()
        self._seconds = seconds
        return [self._plans[plan_id].plan for plan_id in seconds.values()]

    def _learn(self) -> None:
        """Read all plans. They are added where they are, as the loop and a thread may do this at once."""
        self._plans.update((found.plan.id, found) for found in self._store.plans())

    def second(self, plan_id: str) -> str | None:
        """Return the id of the plan that follows a pilot, as far as it was learned."""
        return self._seconds.get(plan_id)

    async def current(self, request: Request) -> str:
        """Return the id of the plan to answer now: that which the path names, or the one that follows it."""
        plan = await self.plan(request)
        if plan.id not in self._seconds:  # a second plan never changes, so it is asked for once
            await asyncio.to_thread(self.learn)
        return self._seconds.get(plan.id, plan.id)

    def before(self, plan_id: str) -> str | None:
        """Return the id of the pilot that a plan follows, if the plan was asked for before."""
        plan = self.known(plan_id)
        return None if plan is None else plan.after

    async def plan(self, request: Request) -> Plan:
        """Return the plan that the path names."""
        return await self.named(request.path_params["plan"])

    async def named(self, plan_id: str) -> Plan:
        """Return the plan with this id. A plan never changes, so it is asked for once."""
        held = self._plans.get(plan_id)
        if held is None:
            await asyncio.to_thread(self._learn)
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
