"""Readers cannot rebuild single reports, nor when they came: what is seen moves by many of them, and not often."""

from __future__ import annotations

import random
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hush import Plan, Tally
from hush.collector import reveals
from hush.collector.http.metrics import Metrics
from hush.collector.periods import Period
from hush.collector.reveals import Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.stores.sqlite import SqliteStore
from tests.collector import places
from tests.collector.places import Place, plan, tally_of
from tests.collector.served import ADMIN, EVERYBODY, FEW, HASHES, anybody, report_of, serving
from tests.collector.watching import Clock, Watch, judge, rebuilt

EVERY, LEAST = 60.0, 20


def watch(folder: Path, kind: type[SqliteStore] = SqliteStore, **named: Any) -> Watch:
    return Watch(folder, Settings(open=EVERYBODY, stream_interval=0.01, **named), kind)


def test_a_reader_who_asks_all_the_time_sees_no_single_report(tmp_path: Path) -> None:
    watched = watch(tmp_path)
    assert (watched.settings.reveal_every, watched.settings.reveal_least) == (EVERY, LEAST), "that is the default"
    watched.run(100, seed=1)
    judge(watched.seen, EVERY, LEAST)
    found = rebuilt(watched.seen)
    assert len(found) >= 3, "there is something to see"
    assert min(tally.reports for tally in found) >= LEAST
    assert watched.seen[-1].counters["hush_committed_total"] > 0
    assert watched.seen[-1].counters["people"] > 0


def test_without_the_rule_a_reader_rebuilds_every_report(tmp_path: Path) -> None:
    """The twin: the same reader finds each report, and when it came."""
    watched = watch(tmp_path, reveal_every=0.0, reveal_least=0)
    watched.run(60, seed=1)
    assert rebuilt(watched.seen) == [tally_of(FEW, [report]) for report in watched.sent]
    with pytest.raises(AssertionError):
        judge(watched.seen, EVERY, LEAST)


class Forgetful(SqliteStore):
    """Shows everything when it starts."""

    def reveal(self, plan: Plan, known: int | None, least: int, period: Period | None = None) -> Tally:
        return self.tally(plan) if known is None else super().reveal(plan, self._shown_n(plan), least, period)

    def _shown_n(self, plan: Plan) -> int:
        return super().reveal(plan, None, 0).reports


def test_a_restart_shows_nothing_more(tmp_path: Path) -> None:
    for kind, honest in ((SqliteStore, True), (Forgetful, False)):
        (tmp_path / kind.__name__).mkdir()
        watched = watch(tmp_path / kind.__name__, kind)
        for seed in range(6):
            watched.run(11, seed)
        assert [sight.life for sight in watched.seen] == sorted(sight.life for sight in watched.seen)
        if honest:
            judge(watched.seen, EVERY, LEAST)
            assert len(rebuilt(watched.seen)) >= 2
        else:
            with pytest.raises(AssertionError):
                judge(watched.seen, EVERY, LEAST)


class Eager(Reveals):
    """Does not look whether somebody else has moved the tally meanwhile."""

    def tally(self, plan: Plan) -> Tally:
        seen = self._seen.get(plan.id)
        if seen is not None and self._clock() - seen.looked >= self.every:
            shown = self._store.reveal(plan, None, self.least)
            self._seen[plan.id] = reveals._Seen(shown, seen.looked)
        return super().tally(plan)


@pytest.mark.parametrize("kind", [Reveals, Eager])
def test_several_processes_show_the_same(place: Place, kind: type[Reveals]) -> None:
    chance, clock, made = random.Random(5), Clock(), places.reports(600)
    settings = Settings(reveal_every=EVERY, reveal_least=LEAST)
    with place.opened() as one:
        stores: list[Store] = [one, one]
        if place.kind == "postgresql":
            from hush.collector.stores.opening import open_store

            stores[1] = open_store(place.url)
        one.add_plan(plan())
        seen: list[tuple[float, Tally]] = [(0.0, Tally(plan()))]
        processes = [kind(store, settings, lambda *_: None, clock) for store in stores]
        for report in made:
            chance.choice(stores).commit(places.singles([report]))
            clock.now += chance.choice((0.1, 1.0, 10.0))
            found = chance.choice(processes).tally(plan())
            if found.reports > seen[-1][1].reports:
                seen.append((clock.now, found))
            assert any(found == tally for _, tally in seen), "two processes show different tallies of as many reports"
        if stores[1] is not one:
            stores[1].close()
    gaps = [now - then for (then, _), (now, _) in pairwise(seen)]
    steps = [after.reports - before.reports for (_, before), (_, after) in pairwise(seen)]
    assert len(seen) > 10
    assert min(steps) >= LEAST
    assert (min(gaps[1:]) >= EVERY) is (kind is Reveals)


def test_the_last_reports_of_a_closed_plan_stay_unseen(tmp_path: Path) -> None:
    """Their sum would be the difference to what was seen. The admin who closes it hears how many there are."""
    clock = Clock()
    with closing(SqliteStore(tmp_path / "hush.db")) as store:
        store.add_plan(plan())
        seen = Reveals(store, Settings(reveal_every=EVERY, reveal_least=LEAST), lambda *_: None, clock)
        assert seen.tally(plan()).reports == 0
        store.commit(places.singles(places.reports(LEAST - 1)))
        clock.now += EVERY
        assert seen.tally(plan()).reports == 0, "nothing is shown of fewer"
        store.commit(places.singles(places.reports(1)))
        assert (seen.tally(plan()).reports, seen.next(plan())) == (0, EVERY), "the next look is as far off as any"
        clock.now += EVERY
        assert seen.tally(plan()).reports == LEAST
        store.commit(places.singles(places.reports(LEAST - 1)))
        store.close_plan(plan().id)
        clock.now += 1e6
        assert seen.tally(plan()).reports == LEAST
        assert store.tally(plan()).reports == 2 * LEAST - 1
    (tmp_path / "served").mkdir()
    settings = anybody(tokens={"admin": HASHES["admin"]}, reveal_every=EVERY, reveal_least=LEAST)
    with serving(tmp_path / "served", settings) as served:
        served.post(FEW, report_of(FEW).encode(), "application/vnd.hush.report")
        closed = served.client.post(served.path("close", FEW), headers=ADMIN).json()
        assert (closed["open"], closed["reports"]) == (False, 1)
        listed = next(entry for entry in served.client.get("/plans").json()["plans"] if entry["id"] == FEW.id)
        assert (listed["open"], listed["reports"]) == (False, 0)
        assert (listed["shown"]["every"], listed["shown"]["least"]) == (EVERY, LEAST)
        assert 0 < listed["shown"]["next"] <= EVERY


def test_a_reader_who_fills_a_step_does_not_see_others_take_it() -> None:
    """The reader asks until one more answer would show. Then a device fetches the plan, and sends what was counted."""
    texts = []
    for device in (False, True):
        found = Metrics(LEAST)
        found.responses.update({200: LEAST - 1, 202: LEAST - 1, 304: LEAST - 1, 404: LEAST})
        if device:
            found.responses.update([200, 202, 304])
        texts.append(found.text(found.of_people(0), full=False, late=False).rpartition("process_start")[0])
    assert texts[0] == texts[1]
    assert 'hush_responses_total{status="404"} 20' in texts[0]
