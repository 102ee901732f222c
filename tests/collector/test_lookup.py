"""Plans that were found stay found, whatever the threads that look for others do meanwhile."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from hush.collector.http.lookup import Finder
from hush.collector.stores.base import HeldPlan
from tests.collector.served import FEW, PLAN
from tests.interleaving import Two, orders


class Store:
    """It has a plan, and the one that follows it; and another that was added a moment ago."""

    def narrowings(self) -> list[Any]:
        return [SimpleNamespace(pilot="0" * 64, second=PLAN.id)]

    def plans(self) -> list[HeldPlan]:
        return [HeldPlan(PLAN), HeldPlan(FEW)]


def test_a_thread_that_learns_of_second_plans_forgets_no_other() -> None:
    """In every order of their lines: the loop finds a new plan, and a thread looks whether there are second ones."""
    finders = []

    def make() -> Two:
        finder: Any = Finder(Store())  # type: ignore[arg-type]
        finder._plans = {PLAN.id: HeldPlan(PLAN)}
        finders.append(finder)
        return finder.learn, lambda: asyncio.run(finder.named(FEW.id))

    for learned, named in orders(make, "http/lookup.py"):
        assert ([plan.id for plan in learned], named.id) == ([PLAN.id], FEW.id)
        assert finders[-1].known(FEW.id) is not None
        assert finders[-1].known(PLAN.id) is not None
    assert len(finders) > 5
