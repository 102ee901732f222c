"""The handler for those who operate a collector: plans, the budget of a person, the size of the store, and roles.

The page at `/desk` shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from fractions import Fraction

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http.desk import Desk
from hush.collector.http.documents import Access, Overview
from hush.collector.http.endpoints import endpoint
from hush.collector.http.responses import SECRET, encoded
from hush.collector.http.visible import Visible
from hush.collector.settings import ROLES, Settings
from hush.collector.stores.base import HeldPlan, Live, Store

STEP = 1 << 20  # bytes: the size of a store is rounded up to these, which hold hundreds of reports


class Operating:
    """The endpoint of the operator's page."""

    def __init__(self, store: Store, visible: Visible, desk: Desk, settings: Settings) -> None:
        self._store, self._visible, self._desk = store, visible, desk
        self._access = [Access(role, role in settings.open, len(settings.tokens.get(role, ()))) for role in ROLES]

    @endpoint(
        "GET",
        "/overview",
        "Plans, the budget of a person, the size of the store, and roles",
        role="admin",
        answers=Overview,
    )
    async def overview(self, request: Request) -> Response:
        """Answer with the state of the collection. What moves with reports is what readers see, also here."""
        return encoded(await asyncio.to_thread(self._made), headers=SECRET)

    def _made(self) -> Overview:
        held = self._store.plans()
        # The store grows with every report, and so does the queue for a moment.
        reveals = self._visible.reveals
        size, waiting = reveals.held("overview", lambda: (self._store.size(), self._desk.waiting))
        if size is not None and not reveals.at_once:
            size = -(-size // STEP) * STEP
        entries = [self._visible.entry(one) for one in held]
        rounds = [self._store.live(name) for name in self._store.trainings()]
        return Overview(entries, float(budget(held, rounds)), size, reveals.down(waiting), self._access)


def budget(held: Iterable[HeldPlan], rounds: Iterable[Live] = ()) -> Fraction:
    """Return the epsilon that one person can spend on all open plans and trainings together.

    Nobody answers both a pilot and the plan that follows it, so the dearer one counts. Nobody takes part in two rounds
    of one training, and all of them cost the same.
    """
    dearest: dict[str, Fraction] = {}
    for one in held:
        if one.open:
            first = one.plan.after or one.plan.id
            dearest[first] = max(dearest.get(first, Fraction(0)), one.plan.cost)
    # Of the trainings of several classes a person takes part in one: they have one family.
    trained = {live.round.training.family: live.round.plan.cost for live in rounds if not live.round.done}
    return sum((*dearest.values(), *trained.values()), Fraction(0))
