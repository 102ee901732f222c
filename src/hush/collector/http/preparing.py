"""Work done at the start, so that no request waits for it, nor for others that do.

Loading a module or a compiled kernel holds Python's global lock for tens of milliseconds, and compiling a kernel takes
seconds. So both are done before the collector listens (`load`). What only computes, in turns with the loop, follows
while it listens (`run`): the end of a round.
"""

from __future__ import annotations

import asyncio
import logging

from hush.collector import formats
from hush.collector.settings import ROLES, Settings
from hush.collector.stores import bookkeeping
from hush.collector.stores.base import Store
from hush.core.plan import Plan
from hush.core.training.stages import Phase

logger = logging.getLogger("hush.collector")


class Preparing:
    """Prepares rounds and plans. Until a plan is prepared, its batches are read beside the loop."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._plans: set[str] = set()  # their batches need no compiling
        self._rounds: list[Phase] = []

    def is_prepared(self, plan: Plan) -> bool:
        """Return whether small batches of a plan are read within the loop."""
        return plan.id in self._plans

    def load(self) -> None:
        """Load everything that a first batch or a first reader needs: seconds, and once on a machine some more."""
        try:
            from hush.planning.audits import words  # noqa: F401  # which other commands load only when they need it

            for held in self._store.plans():
                self.plan(held.plan)
        except Exception:
            logger.exception("the first readers and batches will take longer")

    async def run(self) -> None:
        """Prepare the current rounds."""
        try:
            for name in await asyncio.to_thread(self._store.trainings):
                live = await asyncio.to_thread(self._store.live, name)
                self._rounds.append(live.round)
                await asyncio.to_thread(bookkeeping.prepare, live.round, live.course)
        except Exception:
            logger.exception("the first rounds will take longer")

    def plan(self, plan: Plan) -> None:
        """Prepare a plan, if anybody may send batches. The first of its kind takes seconds."""
        roles = {role for role in ROLES if self._settings.tokens.get(role)} | set(self._settings.open)
        if {"submit-batch", "admin"} & roles and not self._settings.tickets and plan.id not in self._plans:
            formats.prepare(plan, ids=self._settings.check_ids)
            self._plans.add(plan.id)
