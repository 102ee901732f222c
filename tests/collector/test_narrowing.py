"""Two rounds without an operator: one decision, by what readers see, that survives kills and other writers."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

import hush
from hush.collector import formats
from hush.collector.http.app import Collector
from hush.collector.narrowing import Narrower, check, second_plan, wide
from hush.collector.reveals import Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import NotHeld, Store
from hush.collector.stores.opening import open_store
from hush.collector.stores.sqlite import SqliteStore
from hush.core.plan import Plan
from hush.errors import InputError, StoreError
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
    narrowing,
    record,
    second_of,
    tally_of,
    until,
)
from tests.collector.places import Place
from tests.collector.served import ADMIN, EVERYBODY, HASHES, anybody, problem
from tests.collector.watching import Clock

ONE, OTHER = (second_plan(tally_of(answers(200, seed, typical)), OTHERS) for seed, typical in ((1, 10.5), (2, 13.0)))
assert ONE is not None
assert OTHER is not None
assert ONE.id != OTHER.id


def pilot_in(store: Store) -> None:
    store.add_plan(PILOT)
    store.add_narrowing(PILOT, FIRST, OTHERS)


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


# -- the store: one decision


def test_a_pilot_keeps_its_numbers(place: Place) -> None:
    with place.opened() as store:
        with pytest.raises(NotHeld):
            store.add_narrowing(PILOT, FIRST, OTHERS)
        store.add_plan(PILOT)
        for _ in range(2):
            store.add_narrowing(PILOT, FIRST, OTHERS)
        for numbers in ((FIRST, OTHERS + 1), (FIRST + 1, OTHERS)):
            with pytest.raises(InputError, match=f"of {FIRST} people, and of {OTHERS} who come later"):
                store.add_narrowing(PILOT, *numbers)
        assert store.narrowings() == [(PILOT.id, FIRST, OTHERS, FIRST, None)]
    with place.opened() as store:
        assert store.narrowings() == [(PILOT.id, FIRST, OTHERS, FIRST, None)]


def test_the_first_second_plan_stays(place: Place) -> None:
    """A second writer, slow or hostile, finds the plan of the first, and changes nothing."""
    assert ONE is not None
    with place.opened() as store:
        store.add_plan(PILOT, "tallies")
        store.add_narrowing(PILOT, FIRST, OTHERS)
        for tried, second in ((FIRST, ONE), (FIRST, OTHER), (FIRST, None), (7, OTHER)):
            assert store.narrowed(PILOT, tried, second, 999) == (PILOT.id, FIRST, OTHERS, FIRST, ONE.id)
        assert [(held.plan, held.keep, held.open) for held in store.plans()] == [
            (PILOT, "tallies", True),
            (ONE, "tallies", True),
        ]
        commit(store, answers(3, 5, plan=ONE))
        assert store.tally(ONE).reports == 3
    with place.opened() as store:
        assert store.narrowed(PILOT, FIRST, OTHER, 999).second == ONE.id
        assert store.tally(ONE).reports == 3


def test_a_plan_of_the_operator_may_be_the_second(place: Place) -> None:
    assert ONE is not None
    with place.opened() as store:
        pilot_in(store)
        store.add_plan(ONE, "tallies")
        commit(store, answers(2, 5, plan=ONE))
        assert store.narrowed(PILOT, FIRST, ONE, 0).second == ONE.id
        assert store.tally(ONE).reports == 2


def test_a_plan_that_does_not_follow_is_never_stored(place: Place) -> None:
    assert ONE is not None
    wrong = [
        replace(ONE, after=None),
        replace(ONE, after="0" * 64),
        hush.design(ONE.schema, 4.0, after=PILOT),
        hush.design(hush.Schema([replace(INCOME, high=5e6), REGION]), 8.0, after=PILOT),
    ]
    with place.opened() as store:
        pilot_in(store)
        for plan in wrong:
            with pytest.raises(InputError, match="not its pilot's"):
                store.narrowed(PILOT, FIRST, plan, 0)
        assert [held.plan for held in store.plans()] == [PILOT]
        with pytest.raises(NotHeld):
            store.narrowed(hush.design(SCHEMA, 1.0), FIRST, None, 0)


def edit(place: Place, statement: str) -> None:
    """Change the tables as an intruder would, or a failing disk."""
    if place.kind == "sqlite":
        with closing(sqlite3.connect(place.url.removeprefix("sqlite://"))) as db, db:
            db.execute(statement)
    else:
        with psycopg.connect(place.url, autocommit=True) as server:
            server.execute("set search_path to hush")
            server.execute(statement)


def test_a_second_plan_that_somebody_wrote_into_the_tables_is_noticed(place: Place) -> None:
    other = hush.design(hush.Schema([replace(INCOME, high=1.0), REGION]), 8.0, after=PILOT)
    with place.opened() as store:
        pilot_in(store)
        store.add_plan(other)
    edit(place, "update narrowings set second = 2")
    with pytest.raises(StoreError, match="unreadable data: a second plan is not its pilot's"), place.opened() as store:
        store.narrowings()


def test_a_closed_pilot_gets_no_second_plan(place: Place) -> None:
    with place.opened() as store:
        pilot_in(store)
        commit(store, answers(FIRST, 1))
        store.close_plan(PILOT.id)
        Narrower(store, store.tally).look()
        assert store.narrowed(PILOT, FIRST, ONE, 0).second is None
        assert [held.plan for held in store.plans()] == [PILOT]


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


# -- kills


BREAK = {
    "sqlite": "create trigger broken before update on narrowings begin select raise(abort, 'the disk is full'); end",
    "postgresql": "alter table narrowings add constraint broken check (second is null)",
}
MEND = {
    "sqlite": "drop trigger broken",
    "postgresql": "alter table narrowings drop constraint broken",
}


def test_a_decision_that_fails_half_way_leaves_nothing(place: Place) -> None:
    """The plan is written before it becomes the pilot's: one transaction has both, or none."""
    made = answers(FIRST + 30, 1)
    with place.opened() as store:
        pilot_in(store)
        commit(store, made[:FIRST])
    edit(place, BREAK[place.kind])
    with place.opened() as store:
        with pytest.raises(StoreError):
            Narrower(store, store.tally).look()
        assert [held.plan for held in store.plans()] == [PILOT]
        assert store.narrowings()[0].second is None
    edit(place, MEND[place.kind])
    with place.opened() as store:
        assert [held.plan for held in store.plans()] == [PILOT]
        commit(store, made[FIRST:])  # the tally has moved on: nobody has seen a second plan yet
        Narrower(store, store.tally).look()
        (state,) = store.narrowings()
        assert [held.plan.id for held in store.plans()] == [PILOT.id, state.second]


class Ended(BaseException):
    """The process was killed."""


@pytest.mark.parametrize("step", ["before the design", "before the decision", "after the decision"])
def test_a_kill_between_the_steps(place: Place, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: object, **__: object) -> None:
        raise Ended

    def decide(*given: Any) -> None:
        real(*given)
        raise Ended

    made = answers(FIRST, 1)
    with place.opened() as store:
        pilot_in(store)
        commit(store, made)
        real = store.narrowed
        with monkeypatch.context() as patch:
            if step == "before the design":
                patch.setattr("hush.collector.narrowing.narrow", end)
            elif step == "before the decision":
                patch.setattr(store, "narrowed", end)
            else:
                patch.setattr(store, "narrowed", decide)
            with pytest.raises(Ended):
                Narrower(store, store.tally).look()
    for _ in range(2):
        with place.opened() as store:
            Narrower(store, store.tally).look()
            expected = second_plan(tally_of(made), OTHERS)
            assert [held.plan for held in store.plans()] == [PILOT, expected]


def others(web: httpx.Client) -> Callable[[], set[str]]:
    """Return a function that asks a collector for the second plan."""
    return lambda: {web.get(f"/plans/{PILOT.id}/current").json()["plan"]} - {PILOT.id}


def test_killed_processes_end_with_one_second_plan(place: Place, tmp_path: Path) -> None:
    """Real processes, killed at once after the last report of the pilot, and again after the decision."""
    (tmp_path / "plan.json").write_text(PILOT.to_json())
    options = ["--store", place.url, "--port", "0", "--reveal-every", "0s", "--reveal-least", "0"]
    named: set[str] = set()
    made = answers(FIRST, 1)
    for life in range(4):
        narrow = ["--narrow", f"{tmp_path}/plan.json={FIRST}+{OTHERS}"] if life != 2 else []  # it is in the store
        command = [sys.executable, "-m", "hush", "serve", *narrow, *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)  # noqa: S603
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=address, trust_env=False, timeout=30) as web:
                for report in made if life == 0 else ():
                    head = {"content-type": formats.REPORT}
                    sent = web.post(f"/plans/{PILOT.id}/reports", content=report.encode(), headers=head)
                    assert sent.json()["new"]
                if life > 0:
                    named |= until(others(web))
        finally:
            process.kill()
            process.communicate()
    assert len(named) == 1
    with place.opened() as store:
        assert len(store.plans()) == 2
        assert store.tally(PILOT).reports == FIRST


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


# -- over HTTP


def test_a_collector_narrows_and_says_so(tmp_path: Path) -> None:
    made = answers(FIRST + 1, 1)
    with narrowing(tmp_path) as served:
        web = served.client
        assert web.get(f"/plans/{PILOT.id}/current").json() == {"plan": PILOT.id}
        for report in made[:FIRST]:
            assert served.post(PILOT, report.encode(), formats.REPORT).status_code == 202
        second = second_of(served)
        assert second == second_plan(tally_of(made[:FIRST]), OTHERS)
        answer = web.get(f"/plans/{PILOT.id}/current")
        assert answer.headers["cache-control"] == "no-store"
        assert web.get(f"/plans/{second.id}/current").json() == {"plan": second.id}
        entries = until(lambda: (found := web.get("/plans").json()["plans"])[0]["next"] and found)
        told = [(entry["id"], entry["after"], entry["next"], entry["open"]) for entry in entries]
        assert told == [(PILOT.id, None, second.id, True), (second.id, PILOT.id, None, True)]
        # A report that was on its way counts, and changes nothing.
        late = served.post(PILOT, made[FIRST].encode(), formats.REPORT)
        assert (late.status_code, late.json()["new"]) == (202, True)
        assert served.tally(PILOT) == tally_of(made)
        assert second_of(served) == second
        assert served.post(second, answers(1, 9, plan=second)[0].encode(), formats.REPORT).json()["new"]
        for plan, after, following, link in (
            (PILOT, None, second.id, f'</plans/{second.id}/estimates>; rel="next"'),
            (second, PILOT.id, None, f'</plans/{PILOT.id}/estimates>; rel="prev"'),
        ):
            found = web.get(served.path("estimates", plan))
            assert (found.json()["after"], found.json()["next"]) == (after, following)
            assert found.headers["link"] == link
            assert web.get(served.path("estimates", plan), params={"format": "csv"}).headers["link"] == link


def test_a_plan_without_a_pilot_says_nothing_of_one(tmp_path: Path) -> None:
    with narrowing(tmp_path) as served:
        found = served.client.get(served.path("estimates", PILOT))
        assert (found.json()["after"], found.json()["next"], "link" in found.headers) == (None, None, False)
        problem(served.client.get(f"/plans/{'0' * 64}/current"), "not-found")


def test_the_stream_of_a_dashboard_hears_of_the_second_plan(tmp_path: Path) -> None:
    """No report need come after it."""
    made = answers(FIRST, 1)
    with narrowing(tmp_path) as served:
        commit(served.store, made)
        with served.client.stream("GET", served.path("stream", PILOT), params={"view": "dashboard"}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and (found := json.loads(line[6:]).get("next")):
                    break
        assert found == second_of(served).id


def test_closing_the_pilot_early_ends_the_waiting(tmp_path: Path) -> None:
    with narrowing(tmp_path, anybody(stream_interval=0.02, tokens={"admin": HASHES["admin"]})) as served:
        closed = served.client.post(served.path("close", PILOT), headers=ADMIN)
        assert (closed.json()["open"], closed.json()["next"]) == (False, None)
        problem(served.post(PILOT, answers(1, 1)[0].encode(), formats.REPORT), "plan-closed")
        assert served.client.get(f"/plans/{PILOT.id}/current").json() == {"plan": PILOT.id}


def test_pages_that_may_ask_the_pilot_may_ask_the_second_plan(tmp_path: Path) -> None:
    page, stranger = "https://example.org", "https://example.net"
    settings = anybody(stream_interval=0.02, origins={PILOT.id: frozenset([page])})
    with narrowing(tmp_path, settings) as served:
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        for path in (served.path("", second), served.path("current", PILOT)):
            allowed = served.client.get(path, headers={"origin": page})
            assert allowed.headers["access-control-allow-origin"] == page
            refused = served.client.get(path, headers={"origin": stranger})
            assert "access-control-allow-origin" not in refused.headers
        preflight = served.client.options(served.path("reports", second), headers={"origin": page})
        assert preflight.headers["access-control-allow-origin"] == page


def test_naming_the_current_plan_needs_the_role_to_submit(tmp_path: Path) -> None:
    settings = Settings(tokens={"submit": HASHES["submit"], "read": HASHES["read"]})
    with narrowing(tmp_path, settings) as served:
        path = f"/plans/{PILOT.id}/current"
        problem(served.client.get(path), "no-token")
        problem(served.client.get(path, headers={"authorization": "Bearer " + "r" * 20}), "not-allowed")
        assert served.client.get(path, headers={"authorization": "Bearer " + "s" * 20}).is_success


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


def test_the_second_plan_is_prepared_for_batches(tmp_path: Path) -> None:
    with narrowing(tmp_path) as served:
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        until(lambda: served.app.state.collector.is_prepared(second))
