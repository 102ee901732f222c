"""The part of a collection that readers may see, and the results that they share.

Everything that readers see is made of the tally of `hush.collector.reveals`, never of the one that grows. Each result
is computed once for all readers (`hush.collector.http.single_flight`). Its key is the plan and the parameters, its
version the number of reports: tallies of one plan only grow, so no two of them have the same number.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from starlette.requests import Request

from hush.collector.http import statements
from hush.collector.http.documents import (
    PlanEntry,
    RelayPromise,
    Shown,
    TrainingEntry,
    plan_entry,
    training_entry,
)
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.single_flight import Shared, Spaced, Workers
from hush.collector.http.streams import Streams
from hush.collector.opening import Opener
from hush.collector.periods import Period
from hush.collector.reveals import Clock, Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import HeldPlan, Live, Store
from hush.collector.timeline import Timeline
from hush.core.lists import listed_in
from hush.core.plan import Plan
from hush.errors import HushError, InputError
from hush.server.changes import Counted
from hush.server.sources import long_lists
from hush.server.tally import Tally

logger = logging.getLogger("hush.collector")

LONG_PERIODS = 9  # of a plan with a very long list: reading one of them takes a second, and 8 bytes for each value


class Visible:
    """Revealed tallies, timelines, shared results and open streams."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        find: Finder,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        self._store, self._find = store, find
        self.reveals = Reveals(store, settings, self._note, clock, wall)
        self._looks: asyncio.Task[None] | None = None
        self._workers = Workers()
        self.shared, self.spaced = Shared(self._workers), Spaced(self._workers)
        self._timelines: dict[str, Timeline] = {}
        self.streams = Streams(settings)
        self._relay = settings.relay
        self._key = Opener(settings.sealed_key).key.public.hex() if settings.sealed_key else ""
        self._promises: dict[str, RelayPromise | None] = {}
        self._periods: dict[str, dict[Period, Counted]] = {}

    async def counted(self, tally: Tally) -> Counted:
        """Return a tally with the totals of its long lists. Reading them takes seconds: it may be slightly old."""
        if not _needs_reading(tally.plan):
            return Counted(tally)
        return await self.spaced.get(("totals", tally.plan.id), tally.people, lambda: Counted(tally).read())

    async def counted_periods(self, found: Sequence[tuple[Period, Tally]]) -> list[tuple[Period, Counted]]:
        """Return the tallies of periods in the same way. If there are long lists, only the latest periods are read."""
        if not found or not _needs_reading(found[-1][1].plan):
            return [(period, Counted(tally)) for period, tally in found]
        plan, latest = found[-1][1].plan, found[-LONG_PERIODS:]

        def read() -> list[tuple[Period, Counted]]:  # one at a time, so nobody else changes what is known
            known = self._periods.get(plan.id, {})
            self._periods[plan.id] = now = {}
            for period, tally in latest:
                before = known.get(period)
                same = before is not None and before.tally.people == tally.people
                now[period] = before if before is not None and same else Counted(tally).read()
            return list(now.items())

        version = tuple((period, tally.people) for period, tally in latest)
        return await self.spaced.get(("periods", plan.id), version, read)

    async def begin(self) -> None:
        """Learn which plans follow a pilot and how many reports were shown; look for more from time to time."""

        def counts() -> dict[str, int]:
            self._find.learn()
            for held in self._store.plans():
                if held.open:  # others are seldom looked at, and can wait
                    self.relay(held.plan)
                self.reveals.follow(held.plan)
            return {held.plan.id: self.reveals.tally(held.plan).people for held in self._store.plans()}

        every = self.reveals.every
        found = await asyncio.to_thread(counts)
        self._timelines = {plan_id: Timeline(n, width=every) for plan_id, n in found.items()}
        if not self.reveals.at_once or self.reveals.by is not None:
            self._looks = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """Reveal reports in time also without readers; otherwise all of them would appear when a reader comes."""
        while True:
            await asyncio.sleep(max(self.reveals.every / 4, 1.0))  # `reveals` asks the store only when it is time
            with suppress(HushError):
                for held in await asyncio.to_thread(self._store.plans):
                    await asyncio.to_thread(self.reveals.tally, held.plan)
                    await asyncio.to_thread(self.reveals.follow, held.plan)

    def close(self) -> None:
        """Begin nothing more."""
        if self._looks is not None:
            self._looks.cancel()
        self._workers.close()

    def note(self, plan_id: str, reports: int) -> None:
        """Count reports that have arrived, if readers see them at once."""
        if self.reveals.at_once:
            self._note(plan_id, reports)

    def _note(self, plan_id: str, reports: int) -> None:
        """Count reports that readers see from now on. The timeline of a plan of another process begins at 0."""
        self.timeline(plan_id).note(reports)

    def timeline(self, plan_id: str) -> Timeline:
        """Return the timeline of a plan."""
        return self._timelines.setdefault(plan_id, Timeline(0, width=self.reveals.every))

    async def tally(self, request: Request) -> Tally:
        """Return the revealed tally of the plan that the path names."""
        return await asyncio.to_thread(self.reveals.tally, await self._find.plan(request))

    async def statement(self, plan: Plan) -> bytes:
        """Return the promise of a plan to each person, encoded."""

        def make() -> bytes:
            return msgspec.json.encode(statements.statement(plan, self.relay(plan)))

        return await self.shared.get(("statement", plan.id), 0, make)

    def relay(self, plan: Plan) -> RelayPromise | None:
        """Return both promises of a plan through the relay, if there is one. The first time it takes seconds.

        `hush serve` refuses an open plan without a second promise at the start. Another process may add one later, and
        a closed one may lie in the store: both are shown with the local promise alone.
        """
        if self._relay is None:
            return None
        if plan.id not in self._promises:
            try:
                self._promises[plan.id] = statements.relayed(plan, self._relay, self._key)
            except InputError as error:
                logger.warning("only the local promise is shown: %s", error)
                self._promises[plan.id] = None
        return self._promises[plan.id]

    def refused(self, plan: Plan) -> int:
        """Return how many sealed reports that did not open readers see."""
        return self.reveals.refused(plan) if self._key else 0

    def entry(self, held: HeldPlan, reports: int | None = None, refused: int | None = None) -> PlanEntry:
        """Return a plan as a document: with the numbers that readers see, unless others are given."""
        tally, reveals = self.reveals.tally(held.plan), self.reveals
        seen = tally.people if reports is None else reports
        shown = Shown(reveals.every, reveals.least, reveals.next(held.plan))
        dropped = self.refused(held.plan) if refused is None else refused
        return plan_entry(held, seen, shown, self.second(held.plan), tally.own, dropped, self.relay(held.plan))

    def second(self, plan: Plan) -> str | None:
        """Return the id of the plan that follows a pilot. Readers may hear of it a little later than devices."""
        return self._find.second(plan.id)

    def training(self, name: str, live: Live) -> TrainingEntry:
        """Return a training as a document, with the number of people that readers see."""
        return training_entry(name, live, self.reveals.received(name, live))


def _needs_reading(plan: Plan) -> bool:
    """Return whether a plan has long lists, and refuse it if one of them is not here."""
    if not long_lists(plan):
        return False
    for listed in listed_in(plan.schema.attributes):
        if not listed.here:
            raise Refused("failed", f"the list {listed.name} is missing here: start the collector with --list")
    return True
