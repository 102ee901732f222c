"""A pilot with a wide number, its people, and a collector that narrows it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hush
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Single
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins
from tests.collector.served import Served, anybody, serving

INCOME = hush.Numeric("income", 0, 1e7, scale="log")
REGION = hush.Categorical("region", ["north", "south"])
SCHEMA = hush.Schema([INCOME, REGION])
PILOT = hush.design(SCHEMA, 8.0, title="incomes", k=2)
FIRST, OTHERS = 60, 1000
TYPICAL, RICH = 10.5, 14.0  # logarithms of the median income


def record(income: float = 30_000.0) -> dict[str, Any]:
    return {"income": income, "region": "south"}


def answers(number: int, seed: int, typical: float = TYPICAL, plan: hush.Plan = PILOT) -> list[hush.Report]:
    """Return the reports of so many people, with words that are seeded: nothing here fails by chance."""
    coins, chance = SeededCoins(seed), random.Random(seed)
    incomes = [min(chance.lognormvariate(typical, 0.8), 1e7) for _ in range(number)]
    return [randomise_from(coins, plan, record(income)) for income in incomes]


def pilot_in(store: Store) -> None:
    store.add_plan(PILOT)
    store.add_narrowing(PILOT, FIRST, OTHERS)


def commit(store: Store, reports: list[hush.Report]) -> None:
    store.commit([Single(report.plan, report) for report in reports])


def tally_of(reports: list[hush.Report], plan: hush.Plan = PILOT) -> hush.Tally:
    tally = hush.Tally(plan)
    for report in reports:
        tally.add(report)
    return tally


@contextmanager
def narrowing(path: Path, settings: Settings | None = None, **options: Any) -> Iterator[Served]:
    """Run a collector that narrows the pilot."""
    with serving(path, settings or anybody(stream_interval=0.02), plans=[PILOT], trainings={}, **options) as served:
        served.store.add_narrowing(PILOT, FIRST, OTHERS)
        yield served


def until(found: Callable[[], Any], patience: float = 60.0) -> Any:
    """Return what is found, once it is."""
    end = time.monotonic() + patience
    while not (result := found()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return result


def second_of(served: Served) -> hush.Plan:
    """Return the second plan, once the collector names it."""

    def named() -> str | None:
        found = served.client.get(f"/plans/{PILOT.id}/current").json()["plan"]
        return None if found == PILOT.id else str(found)

    id_ = until(named)
    return hush.Plan.from_json(served.client.get(f"/plans/{id_}").content, id_)
