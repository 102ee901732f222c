"""Two rounds without an operator: the second plan, the decision, and what its range may show."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.http.app import Collector
from hush.collector.narrowing import Narrower, check, second_plan, wide
from hush.collector.reveals import Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.stores.opening import open_store
from hush.collector.stores.sqlite import SqliteStore
from hush.core.plan import Plan
from hush.errors import InputError
from hush.server.tally import Tally
from tests.collector.pilots import (
    FIRST,
    INCOME,
    OTHERS,
    PILOT,
    REGION,
    RICH,
    SCHEMA,
    answers,
    commit,
    pilot_in,
    record,
    tally_of,
)
from tests.collector.places import Place
from tests.collector.served import EVERYBODY
from tests.collector.watching import Clock

# -- the second plan


def test_the_second_plan_is_the_pilot_narrowed() -> None:
    tally = tally_of(answers(FIRST, 1))
    found = second_plan(tally, OTHERS)
    income = hush.narrow(tally, "income", people=OTHERS)
    assert found == hush.design(hush.Schema([income, REGION]), 8.0, title="incomes", k=2, after=PILOT)
    assert income.high < 1e7 / 4


def test_a_number_of_which_the_pilot_saw_too_little_stays_wide() -> None:
    rare = hush.Numeric("gain", 0, 1e6, scale="log")
    pilot = hush.design(hush.Schema([INCOME, REGION, rare]), 12.0, k=3)
    tally = Tally(pilot)
    for report in answers(FIRST, 1, plan=hush.design(SCHEMA, 8.0, k=2)):  # incomes as usual, and no gain at all
        tally.add(hush.Report(pilot, report.id, (*report.answers, (2, 0))))
    found = second_plan(tally, OTHERS)
    assert found is not None
    assert found.schema["gain"] == rare
    assert found.schema["income"] == hush.narrow(tally, "income", people=OTHERS)
    assert second_plan(Tally(pilot), OTHERS) is None, "nobody was seen at all"


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (hush.design(SCHEMA, 1.0, after="0" * 64), "follows another is no pilot"),
        (hush.design(hush.Schema([REGION]), 1.0), "nothing to narrow"),
        (hush.design(SCHEMA, 1.0, joint=[["income", "region"]]), "nothing to narrow"),
        (hush.design(SCHEMA, 1.0, relations=[("income", "region")]), "by hand"),
        (hush.design(SCHEMA, 1.0, k="weighted", importance={"income": 5}), "importance.*by hand"),
        (
            hush.design(hush.Schema([replace(INCOME, optional=True), hush.Numeric("age", 0, 9)]), 1.0, numeric="scdf"),
            "scdf cannot report a missing value",
        ),
    ],
)
def test_a_plan_that_cannot_be_a_pilot_is_refused(plan: Plan, why: str) -> None:
    with pytest.raises(InputError, match=why):
        check(plan)


def test_a_pilot_is_accepted() -> None:
    check(PILOT)
    assert wide(PILOT) == [INCOME]


# -- the decision


def test_it_waits_for_the_pilot_then_decides_once(place: Place) -> None:
    made = answers(FIRST + 40, 1)
    with place.opened() as store:
        pilot_in(store)
        narrower = Narrower(store, store.tally)
        commit(store, made[: FIRST - 1])
        narrower.look()
        assert store.narrowings()[0].second is None
        commit(store, made[FIRST - 1 : FIRST])
        narrower.look()
        second = second_plan(tally_of(made[:FIRST]), OTHERS)
        assert second is not None
        assert store.narrowings()[0].second == second.id
        commit(store, made[FIRST:])  # those that were on their way: they count, and change nothing
        narrower.look()
        assert store.tally(PILOT) == tally_of(made)
        assert [held.plan for held in store.plans()] == [PILOT, second]


def test_if_the_pilot_saw_too_little_the_next_try_is_at_twice_as_many(place: Place) -> None:
    """Also after a restart: the number of reports at the next try is in the store."""
    nothing = answers(4 * FIRST, 3, typical=-20.0)  # incomes of about 0: the lowest rung is empty
    tried: list[int] = []

    def seen(store: Store) -> Callable[[Plan], Tally]:
        def tally(plan: Plan) -> Tally:
            found = store.tally(plan)
            tried.append(found.reports)
            return found

        return tally

    with place.opened() as store:
        pilot_in(store)
        commit(store, nothing[: FIRST + 5])
        Narrower(store, seen(store)).look()
        assert store.narrowings() == [(PILOT.id, FIRST, OTHERS, 2 * (FIRST + 5), None)]
    with place.opened() as store:
        assert store.narrowings()[0].wanted == 2 * (FIRST + 5)
        commit(store, nothing[FIRST + 5 : 2 * FIRST + 9])
        Narrower(store, seen(store)).look()
        assert store.narrowings()[0].wanted == 2 * (FIRST + 5), "one report is missing"
        commit(store, nothing[2 * FIRST + 9 : 2 * FIRST + 10])
        Narrower(store, seen(store)).look()
        assert store.narrowings()[0].wanted == 4 * (FIRST + 5)
        commit(store, answers(4 * FIRST, 4))
        Narrower(store, seen(store)).look()
        assert store.narrowings()[0].second is not None
    assert tried == [FIRST + 5, 2 * FIRST + 9, 2 * FIRST + 10, 6 * FIRST + 10]


def test_a_design_that_fails_is_logged_and_tried_again_later(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise InputError("another version of hush")

    with place.opened() as store:
        pilot_in(store)
        commit(store, answers(FIRST, 1))
        with monkeypatch.context() as patch:
            patch.setattr("hush.collector.narrowing.second_plan", fail)
            Narrower(store, store.tally).look()
        assert "could not be designed" in caplog.text
        assert store.narrowings()[0] == (PILOT.id, FIRST, OTHERS, 2 * FIRST, None)


def test_several_collectors_end_with_one_second_plan(postgres_place: Place) -> None:
    """They look at different moments, at different tallies, and decide at once."""
    stores = [open_store(postgres_place.url) for _ in range(4)]
    try:
        pilot_in(stores[0])
        commit(stores[0], answers(FIRST, 1))
        barrier = threading.Barrier(len(stores))
        designed = []

        def work(number: int) -> None:
            tally = tally_of(answers(FIRST + 20 * number, 1 + number))

            def revealed(_: Plan) -> Tally:
                barrier.wait(30)
                return tally

            designed.append(second_plan(tally, OTHERS))
            Narrower(stores[number], revealed).look()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(stores))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len({plan.id for plan in designed if plan is not None}) > 1, "they would have decided differently"
        (second,) = {store.narrowings()[0].second for store in stores}
        assert [[held.plan.id for held in store.plans()] for store in stores] == [[PILOT.id, second]] * len(stores)
    finally:
        for store in stores:
            store.close()


# -- what the range may show


def test_the_range_is_that_of_the_tally_that_readers_see(tmp_path: Path) -> None:
    """What has come since the last reveal does not move it. The twin narrows by the tally that grows."""
    clock = Clock()
    settings = Settings(reveal_every=60.0, reveal_least=20)
    seen, unseen = answers(FIRST, 1), answers(19, 2, typical=RICH)  # too few for readers to see them
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        pilot_in(store)
        reveals = Reveals(store, settings, lambda *_: None, clock)
        narrower = Narrower(store, reveals.tally)
        narrower.look()
        commit(store, seen)
        narrower.look()
        assert store.narrowings()[0].second is None, "readers see nothing yet, however many there are"
        clock.now += 60
        assert reveals.tally(PILOT) == tally_of(seen)
        commit(store, unseen)
        clock.now += 60
        narrower.look()
        expected, twin = (second_plan(tally_of(reports), OTHERS) for reports in (seen, [*seen, *unseen]))
        assert expected is not None
        assert store.narrowings()[0].second == expected.id
        assert twin != expected, "the reports that readers do not see would have moved the range"


@pytest.mark.parametrize("honest", [True, False])
def test_a_reader_can_compute_the_range(tmp_path: Path, honest: bool) -> None:
    """So it shows readers nothing. Whoever asks after every report sees the range of a tally that readers saw."""

    async def play() -> bool:
        clock = Clock()
        store = SqliteStore(tmp_path / "hush.db")
        pilot_in(store)
        collector = Collector(store, Settings(open=EVERYBODY, stream_interval=600.0), clock)
        if not honest:
            collector.pilots._narrower = Narrower(store, store.tally)
        app = collector.app()
        tallies: list[Tally] = []
        transport = httpx.ASGITransport(app)
        async with (
            collector.lifespan(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as web,
        ):
            await asyncio.sleep(0.1)  # the first look of its own
            for report in answers(2 * FIRST, 6):
                head = {"content-type": formats.REPORT}
                assert (await web.post(f"/plans/{PILOT.id}/reports", content=report.encode(), headers=head)).is_success
                clock.now += 7.0
                collector.pilots.look()
                shown = Tally.from_json((await web.get(f"/plans/{PILOT.id}/tally")).content, PILOT)
                tallies.append(shown)
                current = (await web.get(f"/plans/{PILOT.id}/current")).json()["plan"]
                if current != PILOT.id:
                    return any(
                        (found := second_plan(tally, OTHERS)) is not None and found.id == current
                        for tally in tallies
                        if tally.reports >= FIRST
                    )
        raise AssertionError("there is no second plan")

    assert asyncio.run(play()) is honest


def test_a_flood_can_choose_the_range_but_not_leave_the_public_one(tmp_path: Path) -> None:
    """Whoever sends most of the pilot's reports chooses where the others are clipped (docs/threat-model.md)."""
    honest = answers(20, 1)
    flood = [*answers(FIRST, 7, typical=16.2), *honest]
    found, fair = second_plan(tally_of(flood), OTHERS), second_plan(tally_of(answers(80, 1)), OTHERS)
    assert found is not None
    assert fair is not None
    few, many = fair.schema["income"], found.schema["income"]
    assert isinstance(few, hush.Numeric)
    assert isinstance(many, hush.Numeric)
    assert record()["income"] < few.high < many.high / 4
    assert many.high <= INCOME.high
