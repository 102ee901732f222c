"""Collectors that hand their whole tallies on, again and again: nobody counts twice, and nothing is lost silently."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import Report, Tally
from hush.collector import formats
from hush.collector.periods import Period
from hush.collector.reveals import Reveals
from hush.collector.settings import Settings
from hush.collector.stores.base import HeldPlan, Site, Store
from hush.collector.stores.bookkeeping import Group, IdBook
from hush.collector.stores.opening import open_store
from hush.collector.submissions import Grown, Handed, Outcome, Renamed, Result, Withdrawal
from hush.collector.vectors import layout_of, packed, unpacked
from hush.core.design import design
from hush.core.schema import Schema
from hush.core.texts import Text
from hush.device.randomise import randomise
from hush.server.tally import of_store
from tests.collector import places
from tests.collector.places import CLOSED, NEW, REPEATED, UNKNOWN, Place, handed, plan, reports, tally_of
from tests.collector.served import ADMIN, FEW, HASHES, Served, anybody, problem, report_of, serving
from tests.collector.watching import Clock

NORTH, SOUTH, WEST, OTHER = (bytes([number]) * 16 for number in range(1, 5))
MONDAY = 20_000


def put(store: Store, *submissions: Any) -> list[Result]:
    return list(store.commit(submissions))


@pytest.fixture
def made() -> list[Report]:
    return reports(400)


def test_three_sites_on_two_days_count_everybody_once(place: Place, made: list[Report]) -> None:
    """250 people on the first day, 140 more on the second, and each site hands all of its people on each day."""
    ends = {NORTH: (0, 100, 150), SOUTH: (150, 230, 280), WEST: (280, 350, 390)}
    with place.opened() as store:
        store.add_plan(plan())
        for day, people in ((1, 250), (2, 390)):
            for name, (first, *last) in ends.items():
                found = put(store, handed(made[first : last[day - 1]], name))
                assert found == [Grown(last[day - 1] - (first if day == 1 else last[0]))]
            assert store.tally(plan()).reports == people
        assert store.tally(plan()) == tally_of(plan(), made[:390])
        assert store.sites(plan()) == [Site(NORTH, 150), Site(SOUTH, 130), Site(WEST, 110)]
    with place.opened() as store:
        assert store.tally(plan()) == tally_of(plan(), made[:390])
        assert put(store, handed(made[150:280], SOUTH)) == [REPEATED]


def test_what_else_is_sent(place: Place, made: list[Report]) -> None:
    """Single reports, batches, and tallies without a name count as ever, in the same group too."""
    with place.opened() as store:
        store.add_plan(plan())
        nameless = places.tally_batch(made[:20])
        found = put(
            store, *places.singles(made[20:22]), handed(made[22:40], NORTH), nameless, handed(made[22:60], NORTH)
        )
        assert found == [NEW, NEW, Grown(18), NEW, Grown(20)]
        assert put(store, nameless, handed(made[22:60], NORTH)) == [REPEATED, REPEATED]
        assert store.tally(plan()) == tally_of(plan(), made[:60])


def test_what_is_older_or_has_lost_reports_is_refused(place: Place, made: list[Report]) -> None:
    """An old file, a store that was restored, and counts that no reports can have added."""
    with place.opened() as store:
        store.add_plan(plan())
        assert put(store, handed(made[:200], NORTH)) == [Grown(200)]
        assert put(store, handed(made[:120], NORTH)) == [Outcome.OLDER]
        assert put(store, handed([*made[:120], *made[200:380]], NORTH)) == [Outcome.FALLEN]
        assert store.tally(plan()) == tally_of(plan(), made[:200])
        assert put(store, handed([*made[:200], *made[380:390]], NORTH)) == [Grown(10)]


def test_counts_that_no_reports_can_have_added_are_refused(made: list[Report]) -> None:
    """Each has grown, and both tallies are tallies: but the difference is none, and no period could show it."""
    wide = places.wide_plan()  # of a set, any members: counts have no common sum
    layout = layout_of(wide)
    first = Handed(wide, (NORTH,), layout.vector(Tally(wide, 10, [10], [[0] * 100])))
    second = Handed(wide, (NORTH,), layout.vector(Tally(wide, 11, [11], [[5] + [0] * 99])))
    group = Group({wide.id: (1, HeldPlan(wide))}, {}, IdBook({}))
    assert [group.take(first), group.take(second)] == [Grown(10), Outcome.FALLEN]


def test_own_reports_of_a_relay_are_counts_too(place: Place, made: list[Report]) -> None:
    """A tally with fewer people is refused also if it has as many reports."""

    def mixed(number: int, own: int) -> Handed:
        found = tally_of(plan(), made[:number])
        whole = Tally(plan(), found.reports, found.answered, found.counts, own)
        return formats.handed(plan(), of_store(whole, [NORTH]))

    with place.opened() as store:
        store.add_plan(plan())
        assert put(store, mixed(50, 0), mixed(80, 10)) == [Grown(50), Grown(30)]
        assert (store.tally(plan()).people, store.tally(plan()).own) == (70, 10)
        assert put(store, mixed(80, 12)) == [Outcome.FALLEN]
        assert put(store, mixed(90, 9)) == [Outcome.FALLEN]
        assert put(store, mixed(90, 15)) == [Grown(10)]
        assert put(store, Withdrawal(plan(), NORTH)) == [Grown(-90)]
        assert store.tally(plan()) == Tally(plan())


def test_a_store_that_was_restored(place: Place, made: list[Report]) -> None:
    """It takes a new name, and the old one is withdrawn; until then nothing of it counts, so nobody counts twice."""
    with place.opened() as store:
        store.add_plan(plan())
        put(store, handed(made[:100], NORTH), handed(made[300:320], SOUTH))
        restored = handed([*made[:80], *made[100:150]], OTHER, NORTH)
        assert put(store, restored) == [Renamed(NORTH)]
        assert put(store, Withdrawal(plan(), NORTH), Withdrawal(plan(), NORTH)) == [Grown(-100), REPEATED]
        assert store.tally(plan()) == tally_of(plan(), made[300:320])
        assert put(store, handed(made[:100], NORTH)) == [Outcome.WITHDRAWN]
        assert put(store, restored) == [Grown(130)]
        assert store.tally(plan()) == tally_of(plan(), [*made[:80], *made[100:150], *made[300:320]])
        assert store.sites(plan()) == [Site(NORTH, None), Site(SOUTH, 20), Site(OTHER, 130)]
        assert put(store, Withdrawal(plan(), WEST)) == [UNKNOWN]


def test_a_file_under_an_earlier_name_cannot_come_behind(place: Place, made: list[Report]) -> None:
    """Here nothing was ever handed on under the old name, so nothing is to be withdrawn."""
    with place.opened() as store:
        store.add_plan(plan())
        assert put(store, handed(made[:50], OTHER, WEST, NORTH)) == [Grown(50)]
        assert put(store, handed(made[:40], NORTH), handed(made[:45], WEST, NORTH)) == [Renamed(OTHER)] * 2
        assert store.tally(plan()) == tally_of(plan(), made[:50])


def test_two_stores_that_come_from_one_copy_do_not_count_together(place: Place, made: list[Report]) -> None:
    """One backup is restored twice; or a copy is used beside its original, and each refusal is obeyed."""
    again = bytes([9]) * 16
    with place.opened() as store:
        store.add_plan(plan())
        put(store, handed(made[:100], NORTH))
        first, second = handed(made[:110], WEST, NORTH), handed([*made[:100], *made[200:230]], OTHER, NORTH)
        assert put(store, first, second) == [Renamed(NORTH), Renamed(NORTH)]
        assert put(store, Withdrawal(plan(), NORTH), first, second) == [Grown(-100), Grown(110), Renamed(WEST)]
    with place.opened() as store:
        assert put(store, second) == [Renamed(WEST)]
        # The original, and the original under a new name.
        assert put(store, handed(made[:105], NORTH)) == [Renamed(WEST)]
        assert put(store, handed(made[:105], again, NORTH)) == [Renamed(WEST)]
        assert store.tally(plan()) == tally_of(plan(), made[:110])
        # One is given up for the other, and the first cannot come back, whatever its name.
        assert put(store, Withdrawal(plan(), WEST), second) == [Grown(-110), Grown(130)]
        assert put(store, first) == [Renamed(OTHER)]
        assert put(store, handed(made[:120], again, WEST, NORTH)) == [Renamed(OTHER)]
        assert put(store, handed([*made[:100], *made[200:240]], OTHER, NORTH)) == [Grown(10)]
        assert store.tally(plan()) == tally_of(plan(), [*made[:100], *made[200:240]])
        assert put(store, Withdrawal(plan(), OTHER), handed(made[:105], NORTH)) == [Grown(-140), Outcome.WITHDRAWN]
        assert store.tally(plan()) == Tally(plan())


def test_two_processes_that_take_two_copies_of_one_store(postgres_place: Place, made: list[Report]) -> None:
    """Neither has seen what the other takes: one of both is refused, whichever comes first."""
    with postgres_place.opened() as one:
        other = open_store(postgres_place.url)
        one.add_plan(plan())
        other.add_plan(plan())
        for turn in range(10):
            root, left, right = (bytes([number]) * 16 for number in (10 + 3 * turn, 11 + 3 * turn, 12 + 3 * turn))
            if turn % 2:
                put(one, handed(made[:20], root), Withdrawal(plan(), root))
            answers: list[Any] = []
            barrier = threading.Barrier(2)

            def work(
                store: Store, name: bytes, root: bytes = root, found: list[Any] = answers, at: Any = barrier
            ) -> None:
                at.wait(60)
                found.extend(put(store, handed(made[:50], name, root)))

            threads = [threading.Thread(target=work, args=pair) for pair in ((one, left), (other, right))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert {type(answer) for answer in answers} == {Grown, Renamed}
            assert one.tally(plan()).reports == 50 * (turn + 1)
        other.close()


def test_a_closed_plan_takes_nothing_and_loses_nothing(place: Place, made: list[Report]) -> None:
    with place.opened() as store:
        store.add_plan(plan())
        put(store, handed(made[:50], NORTH))
        store.close_plan(plan().id)
        assert put(store, handed(made[:60], NORTH), Withdrawal(plan(), NORTH)) == [CLOSED, CLOSED]
        assert store.tally(plan()) == tally_of(plan(), made[:50])
        other = plan("not here")
        assert put(store, Withdrawal(other, NORTH), handed(reports(3, other), NORTH)) == [UNKNOWN, UNKNOWN]


def test_names_belong_to_plans(place: Place, made: list[Report]) -> None:
    """One store hands on the tallies of all its plans."""
    other = plan("another")
    with place.opened() as store:
        store.add_plan(plan())
        store.add_plan(other)
        more = reports(30, other)
        assert put(store, handed(made[:50], NORTH), handed(more, NORTH)) == [Grown(50), Grown(30)]
        assert put(store, Withdrawal(other, NORTH), handed(made[:55], NORTH)) == [Grown(-30), Grown(5)]
        assert store.tally(plan()) == tally_of(plan(), made[:55])


def test_a_wide_tally_is_handed_on_as_an_increment(place: Place) -> None:
    """Few counts of very many: on both stores they are written as increments, those that fall too."""
    wide = design(Schema([Text("word", length=16, alphabet="english")]), 4.0)
    made = [randomise(wide, {"word": "abcdefghijkl"[index:]}) for index in range(12)]
    with place.opened() as store:
        store.add_plan(wide)
        put(store, *places.singles(made[:2]), handed(made[2:6], NORTH))
        assert put(store, handed(made[2:9], NORTH), handed(made[9:], SOUTH)) == [Grown(3), Grown(3)]
        assert put(store, Withdrawal(wide, NORTH)) == [Grown(-7)]
        assert store.tally(wide) == tally_of(wide, [*made[:2], *made[9:]])
    with place.opened() as store:
        assert store.tally(wide) == tally_of(wide, [*made[:2], *made[9:]])


def test_two_processes_that_hand_on_the_same_store(postgres_place: Place, made: list[Report]) -> None:
    """Both find the name unknown, and again both replace the same tally: whatever comes first, nobody counts twice."""
    with postgres_place.opened() as one:
        other = open_store(postgres_place.url)
        one.add_plan(plan())
        other.add_plan(plan())
        expected = 0
        for number in (50, 90, 130, 170, 210):
            answers: list[Any] = []
            barrier = threading.Barrier(2)

            def work(store: Store, number: int = number, answers: list[Any] = answers, at: Any = barrier) -> None:
                at.wait(60)
                answers.extend(put(store, handed(made[:number], NORTH), *places.singles(reports(1))))

            threads = [threading.Thread(target=work, args=(store,)) for store in (one, other)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            first = 50 if number == 50 else 40
            assert sorted(map(str, answers)) == sorted(map(str, [NEW, NEW, Grown(first), REPEATED]))
            expected += first + 2
            assert one.tally(plan()).reports == expected
        other.close()


def test_a_row_that_another_process_inserted(postgres_place: Place, made: list[Report]) -> None:
    """Between the look for a name and its first row another process commits that row: the group is tried again."""
    from hush.collector.stores import postgres_commits

    with postgres_place.opened() as one:
        other = open_store(postgres_place.url)
        one.add_plan(plan())
        other.add_plan(plan())
        write, tries = postgres_commits.Commit._write_handed, []

        def held(self: Any, group: Any) -> None:
            tries.append(1)
            if len(tries) == 1:
                assert put(other, handed(made[:60], NORTH)) == [Grown(60)]
            write(self, group)

        postgres_commits.Commit._write_handed = held  # type: ignore[method-assign]
        try:
            assert put(one, handed(made[:100], NORTH)) == [Grown(40)]
        finally:
            postgres_commits.Commit._write_handed = write  # type: ignore[method-assign]
        assert len(tries) == 3
        assert one.tally(plan()) == tally_of(plan(), made[:100])
        other.close()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-3, 2**62), min_size=1, max_size=40), st.integers(0, 5000))
def test_counts_are_packed_without_their_zeros(counts: list[int], zeros: int) -> None:
    vector = np.array([*counts, *[0] * zeros, 7], dtype=np.int64)
    data = packed(vector)
    assert np.array_equal(unpacked(data), vector)
    assert len(data) <= min(1 + vector.nbytes, 5 + 12 * (len(counts) + 1))


def test_the_names_of_a_store_wait_for_no_commit(tmp_path: Path) -> None:
    """Each tally that readers get has them: a commit that is stuck must not hold all threads."""
    with Place(f"sqlite://{tmp_path}/hush.db").opened() as store:
        found: list[Any] = []
        with store._lock:  # type: ignore[attr-defined]
            reader = threading.Thread(target=lambda: found.append(store.names()))
            reader.start()
            reader.join(30)
        assert found
        assert found[0] == store.names()
        assert store.rename()[1:] == found[0]
        assert store.names()[1:] == found[0]


# -- what readers see


def test_readers_see_differences_of_many_and_only_growth(place: Place, made: list[Report]) -> None:
    """Each move is one of 20 people at least; a withdrawal shows when others have made up for it, in no period."""
    clock, seen = Clock(), []
    with place.opened() as store:
        store.add_plan(plan())
        shown = Reveals(
            store,
            Settings(reveal_every=60.0, reveal_least=20, by="day"),
            lambda *_: None,
            clock,
            lambda: 86400.0 * MONDAY,
        )

        def look() -> Tally:
            clock.now += 60
            seen.append(shown.tally(plan()))
            return seen[-1]

        look()
        put(store, handed(made[:100], NORTH))
        assert look().people == 100
        put(store, handed(made[:119], NORTH))
        assert look().people == 100
        put(store, handed(made[:120], NORTH))
        assert look() == tally_of(plan(), made[:120])
        put(store, Withdrawal(plan(), NORTH))
        assert look().people == 120
        put(store, handed([*made[:90], *made[120:150]], OTHER, NORTH))
        assert look().people == 120
        put(store, handed([*made[:90], *made[120:170]], OTHER, NORTH))
        assert look() == tally_of(plan(), [*made[:90], *made[120:170]])
        assert store.periods(plan()) == [(Period(MONDAY, 1), tally_of(plan(), made[:120]))]
    assert all(after == before or after.people - before.people >= 20 for before, after in pairwise(seen))


def test_where_readers_see_everything_at_once_numbers_only_grow_too(tmp_path: Path, made: list[Report]) -> None:
    """Results are kept by the number of people: with as many of others, an old result would be shown."""
    with Place(f"sqlite://{tmp_path}/hush.db").opened() as store:
        store.add_plan(plan())
        shown = Reveals(store, Settings(reveal_every=0.0, reveal_least=0), lambda *_: None)
        put(store, handed(made[:100], NORTH))
        first = shown.tally(plan())
        put(store, Withdrawal(plan(), NORTH))
        assert shown.tally(plan()) is first
        put(store, handed(made[100:200], OTHER))
        assert shown.tally(plan()) is first
        put(store, handed(made[100:201], OTHER))
        assert shown.tally(plan()) == tally_of(plan(), made[100:201])


# -- over HTTP


def site(folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    return serving(folder, anybody(tokens={"admin": HASHES["admin"]}), plans=(FEW,), trainings={})


def hand_on(one: Served, head: Served, binary: bool = False, batch: str | None = None) -> Any:
    accept = formats.TALLY if binary else formats.JSON
    body = one.client.get(one.path("tally", FEW), headers={"accept": accept}).content
    return head.client.post(
        head.path("tally", FEW),
        content=body,
        headers={"content-type": accept} | ({"hush-batch": batch} if batch else {}),
    )


def test_sites_hand_on_what_readers_see(tmp_path: Path) -> None:
    """From collector to collector, as the documents say: daily, twice by mistake, restored from a copy."""
    with site(tmp_path / "head") as head, site(tmp_path / "one") as one, site(tmp_path / "two") as two:
        for day in (1, 2):
            for place in (one, two):
                place.post(FEW, report_of(FEW).encode(), formats.REPORT)
                place.post(FEW, report_of(FEW).encode(), formats.REPORT)
                for again in (False, True):
                    found = hand_on(place, head, binary=again)
                    assert found.status_code == 202
                    assert found.json() == {"id": place.store.names()[0].hex(), "new": not again, "reports": 2 * day}
        assert head.tally(FEW) == one.tally(FEW) + two.tally(FEW)
        assert 'hush_reports_total{plan="' + FEW.id + '"} 8' in head.client.get("/metrics").text
        assert sum(head.client.get(head.path("timeline", FEW)).json()["counts"]) == 8
        with pytest.raises(ValueError, match="count twice"):
            one.tally(FEW) + one.tally(FEW)
        assert "of this very store" in str(problem(hand_on(head, head), "bad-report")["detail"])
        name = one.store.names()[0].hex()
        assert "leave out" in str(problem(hand_on(one, head, batch="7" * 32), "bad-report")["detail"])
        assert hand_on(one, head, batch=name).json()["new"] is False
        both = (one.tally(FEW) + two.tally(FEW)).to_json()
        head_ = {"content-type": formats.JSON}
        refused = head.client.post(head.path("tally", FEW), content=both, headers=head_)
        assert "sum of several stores" in str(problem(refused, "bad-report")["detail"])
        assert one.store.rename()[1:] == (bytes.fromhex(name),)
        assert name in str(problem(hand_on(one, head), "renamed")["detail"])
        path = head.path(f"withdraw/{name}", FEW)
        assert head.client.post(path).status_code == 401
        assert head.client.post(path, headers=ADMIN).json() == {"id": name, "new": True, "reports": 4}
        assert head.client.post(path, headers=ADMIN).json() == {"id": name, "new": False, "reports": 0}
        assert hand_on(one, head).json()["new"] is True
        assert head.store.tally(FEW) == one.tally(FEW) + two.tally(FEW)
        problem(head.client.post(head.path("withdraw/" + "0" * 32, FEW), headers=ADMIN), "not-found")
        problem(head.client.post(head.path("withdraw/x", FEW), headers=ADMIN), "not-found")


def test_a_site_pays_for_the_reports_that_it_adds(tmp_path: Path) -> None:
    """A rate counts reports: handing 900 on again costs one request, and not 900 reports."""
    with serving(tmp_path, anybody(rate=1e-9, burst=1000), plans=(FEW,), trainings={}) as head:
        made = [report_of(FEW) for _ in range(910)]
        for number in range(900, 911):
            body = of_store(tally_of(FEW, made[:number]), [NORTH]).encode()
            found = head.client.post(head.path("tally", FEW), content=body, headers={"content-type": formats.TALLY})
            assert found.status_code == 202
        assert head.store.tally(FEW).reports == 910


# -- whatever comes, in whatever order

STEPS = st.lists(
    st.tuples(st.sampled_from([NORTH, SOUTH]), st.integers(0, 3), st.integers(0, 30), st.booleans()), max_size=12
)
MADE: list[Report] = []


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_a_store_has_what_its_sites_had_last(steps: list[tuple[bytes, int, int, bool]]) -> None:
    """Sites hand on any of their moments, in any order, and are withdrawn: the books agree with a plain model."""
    if not MADE:
        MADE.extend(reports(120))
    start = {NORTH: 0, SOUTH: 60}
    counts: dict[bytes, int | None] = {}
    known: dict[tuple[int, bytes], Any] = {}
    total = layout_of(plan()).zero()
    for name, lives, number, withdrawn in steps:
        group = Group({plan().id: (1, HeldPlan(plan()))}, {}, IdBook({}), known)
        had = counts.get(name, 0)
        if withdrawn and lives == 0:
            found = group.take(Withdrawal(plan(), name))
            expected: Result = UNKNOWN if name not in counts else REPEATED if had is None else Grown(-had)
            counts = counts | ({name: None} if name in counts else {})
        else:
            tally = handed(MADE[start[name] : start[name] + 30 + number], name)
            found = group.take(tally)
            if name in counts and had is None:
                expected = Outcome.WITHDRAWN
            else:
                more = 30 + number - (had or 0)
                expected = Grown(more) if more > 0 else REPEATED if more == 0 else Outcome.OLDER
                counts = counts | ({name: 30 + number} if more > 0 else {})
        assert found == expected
        known = known | group.changed
        for book in group.plans.values():
            total = total + book.added
        people = [MADE[start[name] : start[name] + (end or 0)] for name, end in counts.items()]
        assert layout_of(plan()).tally(total) == tally_of(plan(), [one for some in people for one in some])
    assert np.array_equal(total >= 0, np.ones(len(total), dtype=bool))
