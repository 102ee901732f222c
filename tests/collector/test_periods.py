"""By day and week: periods are differences of tallies that readers saw, so they add up, and show nothing more."""

from __future__ import annotations

import random
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hush import Categorical, Plan, Schema, Tally, change, design
from hush.collector import formats
from hush.collector.periods import DAY, Period, joined, period_at
from hush.collector.reveals import Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Opened
from hush.collector.vectors import layout_of
from hush.device.randomise import randomise
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import Place, plan, tally_of
from tests.collector.served import FEW, PLAN, anybody, report_of, serving
from tests.collector.watching import Clock

EVERY, LEAST = 60.0, 20
MONDAY = 20_000 - (20_000 - 4) % 7
BY_DAY = Settings(reveal_every=EVERY, reveal_least=LEAST, by="day")


def total(store: Store, of: Plan | None = None) -> Tally:
    return sum((tally for _, tally in store.periods(of or plan())), Tally(of or plan()))


# -- days and weeks


def test_days_and_weeks_are_those_of_utc() -> None:
    assert period_at("day", 0.0).first == period_at("day", DAY - 0.5).last == "1970-01-01"
    assert period_at("day", DAY).first == "1970-01-02"
    week = period_at("week", 1_774_828_800.0)  # Monday, 30 March 2026
    assert (week.first, week.last) == ("2026-03-30", "2026-04-05")
    assert period_at("week", 1_774_828_799.0).last == "2026-03-29"
    assert (Period(MONDAY, 7) == period_at("week", MONDAY * DAY)) is True


def test_a_gap_belongs_to_the_next_and_what_overlaps_is_one() -> None:
    rows = [
        (Period(10, 1), "a"),
        (Period(13, 1), "b"),
        (Period(14, 1), "c"),
        (Period(11, 7), "d"),
        (Period(18, 7), "e"),
    ]
    assert joined(rows) == [(Period(10, 1), ["a"]), (Period(11, 7), ["b", "c", "d"]), (Period(18, 7), ["e"])]
    assert joined(rows[:3]) == [(Period(10, 1), ["a"]), (Period(11, 3), ["b"]), (Period(14, 1), ["c"])]
    assert joined([]) == []


# -- stores


def test_periods_add_up_to_what_is_shown_and_survive_a_restart(place: Place) -> None:
    """Single reports, batches of gateways and tallies count alike: when readers first see them."""
    made = places.reports(90)
    with place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(made[:30]))
        store.reveal(plan(), 0, LEAST, Period(MONDAY, 1))
        store.commit([places.binary_batch(made[30:50])])
    handed = formats.tally_batch(plan(), tally_of(plan(), made[50:]), bytes(16))
    with place.opened() as store:
        store.commit([handed])
        assert store.periods(plan()) == [(Period(MONDAY, 1), tally_of(plan(), made[:30]))]
        assert store.reveal(plan(), 30, LEAST, Period(MONDAY + 1, 1)).reports == 90
        assert store.reveal(plan(), 30, LEAST, Period(MONDAY + 1, 1)).reports == 90, "it has moved already"
        assert store.periods(plan()) == [
            (Period(MONDAY, 1), tally_of(plan(), made[:30])),
            (Period(MONDAY + 1, 1), tally_of(plan(), made[30:])),
        ]
        assert total(store) == store.tally(plan()) == store.reveal(plan(), None, LEAST)
        store.close_plan(plan().id)
        assert total(store) == tally_of(plan(), made)


def test_a_clock_that_was_set_back_changes_no_earlier_period(place: Place) -> None:
    made = places.reports(60)
    with place.opened() as store:
        store.add_plan(plan())
        known = 0
        for day, some in ((5, made[:20]), (6, made[20:40]), (5, made[40:])):
            store.commit(places.singles(some))
            known = store.reveal(plan(), known, LEAST, Period(day, 1)).reports
        assert [(period.start, tally.reports) for period, tally in store.periods(plan())] == [(5, 20), (6, 40)]


def test_reports_from_before_have_no_period(place: Place) -> None:
    made = places.reports(50)
    with place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(made[:25]))
        store.reveal(plan(), 0, LEAST)
        store.commit(places.singles(made[25:]))
        store.reveal(plan(), 25, LEAST, Period(9, 1))
        assert store.periods(plan()) == [(Period(9, 1), tally_of(plan(), made[25:]))]


def test_own_reports_of_a_relay_are_subtracted_from_each_period(place: Place) -> None:
    coin = design(Schema([Categorical("c", ["a", "b"])]), 2.0, title="relayed")
    with place.opened() as store:
        store.add_plan(coin)
        known = 0
        for day in (1, 2):
            people = [randomise(coin, {"c": "a"}) for _ in range(300)]
            own = [randomise(coin, {"c": "b"}) for _ in range(60)]  # any reports will do to count
            vector = layout_of(coin).vector(tally_of(coin, people + own))
            store.commit([Opened(coin, bytes([day]) * 16, vector, people + own, own=60)])
            known = store.reveal(coin, known, LEAST, Period(day, 1)).people
        found = store.periods(coin)
        assert [(tally.people, tally.own) for _, tally in found] == [(300, 60), (300, 60)]
        assert total(store, coin) == store.tally(coin)
        assert change(found[0][1], found[1][1])[0].told is None


class Torn(SqliteStore):
    """The twin: it counts periods in a transaction of their own, after the one that shows."""

    def reveal(self, plan: Plan, known: int | None, least: int, period: Period | None = None) -> Tally:
        before = self.periods(plan)
        found = super().reveal(plan, known, least)
        if period is not None and found.reports != known:
            with self._transaction():
                rest = layout_of(plan).vector(found) - layout_of(plan).vector(sum((t for _, t in before), Tally(plan)))
                self._count(plan, self._find(plan.id)[0], period, rest)
        return found


@pytest.mark.parametrize("kind", [SqliteStore, Torn])
def test_a_crash_while_it_counts_leaves_both_or_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[SqliteStore]
) -> None:
    def fails(*_: Any) -> None:
        raise StoreError("the disk is gone")

    with closing(kind(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        store.commit(places.singles(places.reports(30)))
        with monkeypatch.context() as broken:
            broken.setattr(kind, "_count", fails)
            with pytest.raises(StoreError, match="gone"):
                store.reveal(plan(), 0, LEAST, Period(3, 1))
    with closing(kind(tmp_path / "hush.db")) as store:
        shown = store.reveal(plan(), None, LEAST)
        assert (total(store) == shown) is (kind is SqliteStore)
        if kind is SqliteStore:
            assert store.reveal(plan(), 0, LEAST, Period(3, 1)) == total(store) == store.tally(plan())


def test_a_crash_in_postgresql_leaves_both_or_neither(postgres_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.collector.stores import postgres

    def fails(*_: Any) -> None:
        raise StoreError("the server is gone")

    with postgres_place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(places.reports(30)))
        with monkeypatch.context() as broken:
            broken.setattr(postgres, "_count", fails)
            with pytest.raises(StoreError, match="gone"):
                store.reveal(plan(), 0, LEAST, Period(3, 1))
        assert store.reveal(plan(), None, LEAST).reports == total(store).reports == 0
        store.reveal(plan(), 0, LEAST, Period(3, 1))
        assert total(store) == store.tally(plan())


# -- what readers see


class ByArrival(Reveals):
    """The twin: a period has everything that arrived in it, whatever was shown."""

    arrived: dict[int, list[Any]]

    def periods(self, plan: Plan) -> list[tuple[Period, Tally]]:
        today = period_at("day", self._wall()).start
        return [(Period(day, 1), tally_of(plan, some)) for day, some in sorted(self.arrived.items()) if day < today]


@pytest.mark.parametrize("kind", [Reveals, ByArrival])
def test_a_reader_of_periods_learns_nothing_that_was_not_shown(tmp_path: Path, kind: type[Reveals]) -> None:
    """All sums of periods, and all tallies that were shown, differ by nothing or by `LEAST` reports or more."""
    chance, clock = random.Random(11), Clock(MONDAY * DAY)
    seen: set[int] = {0}
    arrived: dict[int, list[Any]] = {}
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        reader = kind(store, BY_DAY, lambda *_: None, clock, clock)
        if isinstance(reader, ByArrival):
            reader.arrived = arrived
        for report in places.reports(400):
            clock.now += chance.choice((1.0, 200.0, 4000.0))
            store.commit(places.singles([report]))
            arrived.setdefault(period_at("day", clock.now).start, []).append(report)
            seen.add(reader.tally(plan()).reports)
            sums = 0
            for _, tally in reader.periods(plan()):
                sums += tally.reports
                seen.add(sums)
        assert len(reader.periods(plan())) >= 4
    steps = [after - before for before, after in pairwise(sorted(seen))]
    assert (min(steps) >= LEAST) is (kind is Reveals)


def test_a_period_is_shown_when_it_is_over_and_small_ones_wait(tmp_path: Path) -> None:
    clock = Clock(MONDAY * DAY)
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        reader = Reveals(store, BY_DAY, lambda *_: None, clock, clock)

        def day(people: int) -> list[tuple[str, int]]:
            reader.tally(plan())
            store.commit(places.singles(places.reports(people)))
            clock.now += DAY / 2
            reader.tally(plan())
            assert len(reader.periods(plan())) <= clock.now // DAY - MONDAY, "the current one is not shown"
            clock.now += DAY / 2
            return [(f"{period.days}", tally.reports) for period, tally in reader.periods(plan())]

        assert day(30) == [("1", 30)]
        assert day(LEAST - 1) == [("1", 30)]
        assert day(5) == [("1", 30), ("2", LEAST + 4)], "19 and 5 of two days are shown together"


def test_weeks_and_no_periods_at_all(tmp_path: Path) -> None:
    clock = Clock(MONDAY * DAY)
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        none, weekly = (
            Reveals(store, Settings(reveal_every=EVERY, reveal_least=LEAST, by=by), lambda *_: None, clock, clock)
            for by in (None, "week")
        )
        for reader, expected in ((none, 0), (weekly, 1)):
            reader.tally(plan())
            store.commit(places.singles(places.reports(30)))
            clock.now += 2 * EVERY
            reader.tally(plan())
            clock.now += 7 * DAY
            assert len(reader.periods(plan())) == expected
        assert [(period, tally.reports) for period, tally in store.periods(plan())] == [(Period(MONDAY + 7, 7), 30)]


def test_where_readers_see_everything_at_once_periods_follow(tmp_path: Path) -> None:
    clock, made = Clock(MONDAY * DAY), places.reports(9)
    settings = Settings(reveal_every=0.0, reveal_least=0, by="day")
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        store.commit(places.singles(made[:2]))
        for some in (made[2:5], made[5:]):
            reader = Reveals(store, settings, lambda *_: None, clock, clock)  # as after a restart
            reader.follow(plan())
            store.commit(places.singles(some))
            reader.follow(plan())
            clock.now += DAY
        assert reader.periods(plan()) == [
            (Period(MONDAY, 1), tally_of(plan(), made[2:5])),
            (Period(MONDAY + 1, 1), tally_of(plan(), made[5:])),
        ], "the two from before have no period"


# -- over HTTP


def test_estimates_by_day_and_their_change(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(by="day")) as served:
        asked = served.client.get(served.path("periods", FEW)).json()
        assert asked == {"plan": FEW.id, "by": "day", "level": 0.95, "intervals": "each", "others": 0, "periods": []}
        known = 0
        for day, people in ((MONDAY, 40), (MONDAY + 1, 60)):
            made = [report_of(FEW) for _ in range(people)]
            served.store.commit(places.singles(made))
            known = served.store.reveal(FEW, known, 1, Period(day, 1)).reports
        served.store.commit(places.singles([report_of(FEW)]))
        (_, first), (_, second) = served.store.periods(FEW)
        found = served.client.get(served.path("periods", FEW), params={"level": 0.9}).json()
        days = [Period(MONDAY, 1).first, Period(MONDAY + 1, 1).first]
        assert [(entry["first"], entry["last"], entry["reports"]) for entry in found["periods"]] == [
            (days[0], days[0], 40),
            (days[1], days[1], 60),
        ]
        assert found["others"] == 1
        assert found["periods"][0]["changes"] == []
        expected = change(first, second, level=0.9)
        assert [row["low"] for row in found["periods"][1]["changes"]] == [row.low for row in expected]
        assert [row["told"] for row in found["periods"][1]["changes"]] == [row.told for row in expected]
        (last,) = served.client.get(served.path("periods", FEW), params={"last": 1}).json()["periods"]
        assert last["changes"], "the change from a period that is not in the answer"
        wide = served.client.get(served.path("periods", FEW), params={"intervals": "together"}).json()
        assert wide["intervals"] == "together"
        table = served.client.get(served.path("periods", FEW), params={"format": "csv"}).text.splitlines()
        assert table[0] == "first,last,attribute,category,point,stderr,low,high,answers"
        assert len(table) == 1 + 2 * len(expected)
        for wrong in ("0", "401", "x", "-1"):
            assert served.client.get(served.path("periods", FEW), params={"last": wrong}).status_code == 400


def test_a_collector_without_periods_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, anybody()) as served:
        served.store.commit(places.singles([report_of(FEW)]))
        found = served.client.get(served.path("periods", FEW)).json()
        assert (found["by"], found["periods"], found["others"]) == (None, [], 1)
        assert served.store.periods(FEW) == []


def test_two_plans_side_by_side(tmp_path: Path) -> None:
    with serving(tmp_path, anybody()) as served:
        others = [one for one in served.client.get("/plans").json()["plans"] if one["title"] == "all four"]
        served.store.commit(places.singles([report_of(PLAN) for _ in range(50)]))
        found = served.client.get(served.path("changes"), params={"against": others[0]["id"]}).json()
        assert (found["plan"], found["against"], found["reports"], found["reports_against"]) == (
            PLAN.id,
            others[0]["id"],
            50,
            0,
        )
        assert {row["attribute"] for row in found["changes"]} == set(PLAN.schema.names)
        assert found["left_out"] == []
        few = served.client.get(served.path("changes"), params={"against": FEW.id}).json()
        assert (few["changes"], few["left_out"]) == ([], [])
        table = served.client.get(served.path("changes"), params={"against": others[0]["id"], "format": "csv"}).text
        assert table.startswith("attribute,category,before,after,point,stderr,low,high,told")
        assert served.client.get(served.path("changes")).status_code == 400
        assert served.client.get(served.path("changes"), params={"against": "0" * 64}).status_code == 404
