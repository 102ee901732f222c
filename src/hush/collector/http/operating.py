"""The handler for those who operate a collector: its plans, the budget of a person, and the size of its store.

The page at `/desk` shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from fractions import Fraction

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http.desk import Desk
from hush.collector.http.documents import Overview
from hush.collector.http.endpoints import endpoint
from hush.collector.http.responses import SECRET, encoded
from hush.collector.http.visible import Visible
from hush.collector.stores.base import HeldPlan, Store


class Operating:
    """The endpoint of the operator's page."""

    def __init__(self, store: Store, visible: Visible, desk: Desk) -> None:
        self._store, self._visible, self._desk = store, visible, desk

    @endpoint(
        "GET", "/overview", "Plans, the budget of a person, and the size of the store", role="admin", answers=Overview
    )
    async def overview(self, request: Request) -> Response:
        """Answer with the state of the collection. Reports are those that readers see, also here."""
        return encoded(await asyncio.to_thread(self._made), headers=SECRET)

    def _made(self) -> Overview:
        held = self._store.plans()
        waiting = self._desk.intake.waiting if self._desk.intake is not None else 0
        entries = [self._visible.entry(one) for one in held]
        return Overview(entries, float(budget(held)), self._store.size(), waiting)


def budget(held: Iterable[HeldPlan]) -> Fraction:
    """Return the epsilon that one person can spend on all open plans together.

    Nobody answers both a pilot and the plan that follows it, so the dearer one counts.
    """
    dearest: dict[str, Fraction] = {}
    for one in held:
        if one.open:
            first = one.plan.after or one.plan.id
            dearest[first] = max(dearest.get(first, Fraction(0)), one.plan.cost)
    return sum(dearest.values(), Fraction(0))
