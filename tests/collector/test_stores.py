"""What every store must do, tried on each of them."""

from __future__ import annotations

import multiprocessing
import secrets
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hush.collector import formats
from hush.collector.stores import postgres_tables, sqlite_file
from hush.collector.stores.base import NotHeld, Store
from hush.collector.stores.opening import open_store
from hush.collector.stores.postgres import PostgresStore
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Gradient, Submission
from hush.errors import InputError, StoreError
from tests.collector import places
from tests.collector.places import CLOSED, LATE, NEW, OVERLAPPING, REPEATED, UNKNOWN, Place, plan
from tests.collector.second import open_and_say


def state(store: Store) -> list[Any]:
    """All that a store has, to be compared."""
    found: list[Any] = []
    for held in store.plans():
        tally = store.tally(held.plan)
        found.append((held, tally.reports, tally.answered, tally.counts, list(store.bodies(held.plan))))
        found.append(store.segments(held.plan))
    for name in store.trainings():
        live = store.live(name)
        found.append((name, live.round.to_json(), live.wanted, live.received, store.history(name)))
    return found


# -- plans


def test_plans_are_kept_in_order(store: Store) -> None:
    store.add_plan(plan("second"), "tallies")
    store.add_plan(plan())  # again: nothing changes
    assert [(held.plan, held.keep, held.open) for held in store.plans()] == [
        (plan(), "reports", True),
        (plan("second"), "tallies", True),
    ]
    with pytest.raises(InputError, match="keeps reports"):
        store.add_plan(plan(), "tallies")


def test_it_knows_its_size(store: Store) -> None:
    size = store.size()
    assert size is not None
    assert size >= 4096


def test_what_the_store_does_not_have(store: Store) -> None:
    other = plan("unknown")
    refused: list[Callable[[], object]] = [
        lambda: store.tally(other),
        lambda: store.close_plan(other.id),
        lambda: list(store.bodies(other)),
        lambda: store.segments(other),
        lambda: store.replace(other, 1, []),
        lambda: store.live("unknown"),
        lambda: store.history("unknown"),
        lambda: store.live("\0"),
        lambda: store.history("a\0b"),
    ]
    for ask in refused:
        with pytest.raises(NotHeld, match="does not have"):
            ask()


def test_an_unknown_plan_fails_nobody_else(store: Store) -> None:
    good = places.singles(places.reports(2))
    strange = places.singles(places.reports(1, plan("unknown")))
    lost = Gradient("unknown", 1, secrets.token_bytes(16), None)
    assert store.commit([good[0], *strange, lost, good[1]]) == [NEW, UNKNOWN, UNKNOWN, NEW]
    assert store.tally(plan()).reports == 2


def test_a_closed_plan_takes_nothing_and_keeps_its_tally(store: Store) -> None:
    made = places.reports(5)
    store.commit(places.singles(made))
    store.close_plan(plan().id)
    store.close_plan(plan().id)
    assert store.commit([*places.singles(made), places.binary_batch(places.reports(2))]) == [CLOSED] * 6
    assert store.tally(plan()) == places.tally_of(plan(), made)
    assert [held.open for held in store.plans()] == [False]


# -- reports


def test_an_empty_group(store: Store) -> None:
    assert store.commit([]) == []


def test_each_report_is_counted_once(store: Store) -> None:
    made = places.reports(50)
    sent = places.singles(made)
    assert store.commit(sent[:30] + sent[:10]) == [NEW] * 30 + [REPEATED] * 10
    assert store.commit(sent) == [REPEATED] * 30 + [NEW] * 20
    assert store.tally(plan()) == places.tally_of(plan(), made)


def test_ids_belong_to_their_plan(store: Store) -> None:
    store.add_plan(plan("second"))
    made = places.reports(1)[0]
    other = type(made)(plan("second"), made.id, made.answers)
    assert store.commit(places.singles([made, other])) == [NEW, NEW]
    assert (store.tally(plan()).reports, store.tally(plan("second")).reports) == (1, 1)


def test_batches_are_counted_once(store: Store) -> None:
    made = places.reports(20)
    binary, columns, arrow = places.binary_batch(made), places.columns_batch(30), places.arrow_batch(40)
    handed_on = places.tally_batch(places.reports(7))
    sent: list[Submission] = [binary, columns, arrow, handed_on]
    assert store.commit([*sent, binary]) == [NEW] * 4 + [REPEATED]
    assert store.commit(sent) == [REPEATED] * 4
    assert store.tally(plan()).reports == 97
    # Without ids of reports a batch is known by its own id alone.
    assert store.commit([places.binary_batch(made)]) == [NEW]


def test_overlapping_batches_are_refused_whole(store: Store) -> None:
    made = places.reports(12)
    first = places.binary_batch(made[:4], check_ids=True)
    second = places.binary_batch(made[3:8], check_ids=True)  # holds a report of the first
    third = places.binary_batch(made[4:8], check_ids=True)  # what the second would have counted, had it been
    single = places.singles(made[8:9])
    fourth = places.binary_batch(made[8:12], check_ids=True)  # holds the single report
    group: list[Submission] = [first, second, third, *single, fourth, *places.singles(made[9:10]), second, first]
    assert store.commit(group) == [NEW, OVERLAPPING, NEW, NEW, OVERLAPPING, NEW, OVERLAPPING, REPEATED]
    assert store.commit([second, fourth, first]) == [OVERLAPPING, OVERLAPPING, REPEATED]
    assert store.commit(places.singles(made)) == [REPEATED] * 10 + [NEW] * 2
    assert store.tally(plan()) == places.tally_of(plan(), made)


def test_a_batch_that_holds_its_own_id(store: Store) -> None:
    made = places.reports(2)
    strange = places.binary_batch(made, check_ids=True, id_=made[0].id)
    assert store.commit([strange]) == [OVERLAPPING]
    assert store.commit(places.singles(made)) == [NEW, NEW]


def test_bodies_hold_what_was_counted(store: Store) -> None:
    made = places.reports(9)
    sent = places.binary_batch(made[5:])
    store.commit(places.singles(made[:5]))
    store.commit([sent, *places.singles(made[:1])])
    stored = list(store.bodies(plan()))
    assert [body.reports for body in stored] == [5, 4]
    found = [report for body in stored for report in formats.split(plan(), body.body)]
    assert Counter(report.id for report in found) == Counter(report.id for report in made)
    assert list(store.bodies(plan(), stored[0].place)) == stored[1:]
    assert list(store.bodies(plan(), stored[1].place)) == []


def test_many_bodies(store: Store) -> None:
    made = places.reports(1)[0]
    sent = [places.binary_batch([made]) for _ in range(150)]
    assert store.commit(sent) == [NEW] * 150
    stored = list(store.bodies(plan()))
    assert len(stored) == 150
    assert [body.place for body in stored] == sorted({body.place for body in stored})


def test_only_tallies_are_kept_if_so_wished(store: Store) -> None:
    other = plan("tallies")
    store.add_plan(other, "tallies")
    made = places.reports(5, other)
    assert store.commit([*places.singles(made), places.columns_batch(10, other)]) == [NEW] * 6
    assert store.commit(places.singles(made)) == [REPEATED] * 5
    assert list(store.bodies(other)) == []
    assert store.tally(other).reports == 15


def test_a_store_reopened_is_the_same(place: Place) -> None:
    made = places.reports(20)
    first = places.first_round()
    with place.opened() as store:
        store.add_plan(plan())
        store.add_plan(plan("closed"), "tallies")
        store.add_training("training", first, 5)
        store.commit([*places.singles(made), places.columns_batch(10), *places.gradients(first, 7)])
        store.close_plan(plan("closed").id)
        before = state(store)
    with place.opened() as store:
        assert state(store) == before
        assert store.commit(places.singles(made)) == [REPEATED] * 20
        assert state(store) == before


def test_reading_while_another_thread_commits(store: Store) -> None:
    made = places.reports(400)
    seen: list[int] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                counted = store.tally(plan()).reports
                assert sum(body.reports for body in store.bodies(plan())) >= counted
                store.plans()
                seen.append(counted)
        except BaseException as error:  # noqa: BLE001 - a thread hands on what it raises
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for start in range(0, 400, 10):
        store.commit(places.singles(made[start : start + 10]))
    done.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert set(seen) <= set(range(0, 401, 10))


# -- faults


class Fault(Exception):
    """What a test throws in the middle of a commit."""


class Faulty:
    """A connection that fails at its n-th call, and then works again."""

    def __init__(self, db: Any, calls: int) -> None:
        self._db, self._left = db, calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._db, name)
        if name not in ("execute", "executemany"):
            return found

        def call(query: str, *values: Any) -> Any:
            if query != "rollback":
                self._left -= 1
                if self._left == 0:
                    raise Fault
            return found(query, *values)

        return call


@contextmanager
def faulty(store: Any, calls: int) -> Iterator[None]:
    """Let the n-th statement fail that a store sends."""
    if isinstance(store, SqliteStore):
        whole = store._db
        store._db = Faulty(whole, calls)  # type: ignore[assignment]
        yield
        store._db = whole
    else:
        store.commit([])  # so that there is a session
        db, shard = store._writer
        store._writer = Faulty(db, calls), shard
        yield
        if store._writer is not None:
            store._writer = db, shard


def test_a_commit_that_fails_leaves_no_trace(place: Place) -> None:
    """A fault before every statement of a commit, the last one included."""
    first = places.first_round()
    calls, committed = 0, False
    with place.opened() as store:
        store.add_plan(plan())
        store.add_training("training", first, 3)
        store.commit([*places.singles(places.reports(3)), *places.gradients(first, 2)])
        made = places.reports(8)
        sent: list[Submission] = [
            *places.singles(made[:4]),
            places.binary_batch(made[4:7], check_ids=True),
            places.binary_batch(made[6:8], check_ids=True),
            places.columns_batch(5),
            *places.gradients(first, 2),
        ]
        while not committed:
            calls += 1
            before = state(store)
            with faulty(store, calls), suppress(Fault):
                outcomes = store.commit(sent)
                committed = True
            if not committed:
                assert state(store) == before
                with place_copy(place, store) as copy:
                    assert state(copy) == before
        assert outcomes == [NEW] * 5 + [OVERLAPPING, NEW, NEW, LATE]
        assert calls > 8
        assert store.tally(plan()).reports == 15
        assert store.live("training").round.number == 2


def place_copy(place: Place, store: Store) -> Any:
    """Another store on the same data; a copy of it where only one may be open."""
    if isinstance(store, PostgresStore):
        return place.opened()
    path = Path(place.url.removeprefix("sqlite://"))
    copy = path.with_name("copy.db")
    source, target = sqlite3.connect(path), sqlite3.connect(copy)
    source.backup(target)
    source.close()
    target.close()
    return Place(f"sqlite://{copy}").opened()


def test_sqlite_goes_on_after_a_commit_that_the_disk_refused(tmp_path: Path) -> None:
    with Place(f"sqlite://{tmp_path / 'hush.db'}").opened() as store:
        assert isinstance(store, SqliteStore)
        store.add_plan(plan())
        store.commit(places.singles(places.reports(1)))
        pages = store._db.execute("pragma page_count").fetchone()[0]
        store._db.execute(f"pragma max_page_count = {pages + 4}")
        large = places.binary_batch(places.reports(3000))
        with pytest.raises(StoreError, match="full"):
            store.commit([large])
        store._db.execute("pragma max_page_count = 1000000")
        assert store.commit([large, *places.singles(places.reports(1))]) == [NEW, NEW]
        assert store.tally(plan()).reports == 3002


# -- versions and places


def test_a_store_of_an_older_version_is_upgraded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.opened() as store:
        store.add_plan(plan())
        store.commit(places.singles(places.reports(3)))
    step = "create table novelty (number integer)"
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", (*sqlite_file.MIGRATIONS, step))
    monkeypatch.setattr(postgres_tables, "MIGRATIONS", (*postgres_tables.MIGRATIONS, step))
    for number in (3, 4):
        with place.opened() as store:
            assert store.tally(plan()).reports == number
            assert store.commit(places.singles(places.reports(1))) == [NEW]
    if place.kind == "sqlite":
        db = sqlite3.connect(place.url.removeprefix("sqlite://"))
        assert db.execute("pragma user_version").fetchone() == (len(sqlite_file.MIGRATIONS),)
        assert db.execute("select count(*) from novelty").fetchone() == (0,)
        db.close()
    else:
        with psycopg.connect(place.url) as server:
            assert server.execute("select number from hush.version").fetchone() == (len(postgres_tables.MIGRATIONS),)
            assert server.execute("select count(*) from hush.novelty").fetchone() == (0,)


def test_a_store_of_a_newer_version_is_refused(place: Place) -> None:
    with place.opened():
        pass
    if place.kind == "sqlite":
        db = sqlite3.connect(place.url.removeprefix("sqlite://"))
        db.execute("pragma user_version = 99")
        db.close()
    else:
        with psycopg.connect(place.url) as server:
            server.execute("update hush.version set number = 99")
    with pytest.raises(StoreError, match=r"\(tables of version 99\); this is .*: install that hush"):
        open_store(place.url)


def test_an_upgrade_stops_the_collectors_of_the_old_version(postgres_place: Place) -> None:
    with postgres_place.opened() as store:
        store.add_plan(plan())
        made = places.singles(places.reports(1))
        with psycopg.connect(postgres_place.url) as server:
            server.execute("update hush.version set number = 99")
        with pytest.raises(StoreError, match="version 99"):
            store.commit(made)
        with pytest.raises(StoreError, match="version 99"):
            store.add_plan(plan("second"))
        with psycopg.connect(postgres_place.url) as server:
            server.execute("update hush.version set number = %s", (len(postgres_tables.MIGRATIONS),))
        assert store.commit(made) == [NEW]


def test_a_second_process_on_one_file_is_refused(tmp_path: Path) -> None:
    place = Place(f"sqlite://{tmp_path / 'hush.db'}")
    spawn = multiprocessing.get_context("spawn")
    with place.opened():
        with pytest.raises(StoreError, match="has this store open already"):
            open_store(place.url)
        answers = spawn.Queue()
        process = spawn.Process(target=open_and_say, args=(place.url, answers))
        process.start()
        assert "another process" in answers.get(timeout=60)
        process.join()
    with place.opened():
        pass


def test_places_that_cannot_be_opened(tmp_path: Path) -> None:
    for url in (f"sqlite://{tmp_path}/none/hush.db", "postgresql://nobody@127.0.0.1:1/none"):
        with pytest.raises(StoreError, match="cannot be opened"):
            open_store(url)
    with pytest.raises(InputError, match="must be sqlite"):
        open_store("mysql://x")
    (tmp_path / "text.db").write_text("this is no database" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(f"sqlite://{tmp_path / 'text.db'}")


# -- trainings


def test_a_training_steps_when_enough_people_took_part(store: Store) -> None:
    first = places.first_round(rounds=2)
    store.add_training("training", first, 4)
    store.add_training("training", first, 9)  # again: nothing changes
    assert store.trainings() == ["training"]
    made = places.gradients(first, 6)
    late = made[4:]
    assert store.commit([*places.losses(first, 3), *made[:3], made[0]]) == [NEW] * 6 + [REPEATED]
    assert store.live("training")[1:3] == (4, 3)
    assert store.commit(made[3:]) == [NEW, LATE, LATE]  # the round ends within the group
    live = store.live("training")
    assert (live.round.number, live.received) == (2, 0)
    assert live.round == store.live("training").round
    (past,) = store.history("training")
    assert (past.number, past.weights, past.people) == (1, first.weights, 4)
    assert past.loss is not None
    assert past.loss_error is not None
    # Late ones are not remembered, counted ones are, even if the plan of their round is gone.
    gone = [Gradient("training", 1, sent.id, None) for sent in (made[0], late[0])]
    assert store.commit([*gone, made[1], *late]) == [REPEATED, LATE, REPEATED, LATE, LATE]
    assert store.commit(places.gradients(live.round, 4)) == [NEW] * 4
    final = store.live("training")
    assert final.round.done
    assert store.commit(places.gradients_after(live.round, final.round)) == [LATE]
    assert [(past.number, past.loss is None) for past in store.history("training")] == [(1, False), (2, True)]


def test_a_training_goes_on_where_it_was(place: Place) -> None:
    first = places.first_round()
    with place.opened() as store:
        store.add_training("training", first, 5)
        store.commit(places.gradients(first, 5))
        second = store.live("training").round
        made = places.gradients(second, 5)
        store.commit([*made[:3], *places.losses(second, 2)])
        before = state(store)
    with place.opened() as store:
        assert state(store) == before
        assert store.live("training")[1:3] == (5, 3)
        assert store.commit(made) == [REPEATED] * 3 + [NEW] * 2
        assert store.live("training").round.number == 3
        assert [past.people for past in store.history("training")] == [5, 5]


def test_equal_gradients_give_equal_rounds_in_every_store(place: Place, tmp_path: Path) -> None:
    first = places.first_round()
    made = places.gradients(first, 5)
    with place.opened() as one, Place(f"sqlite://{tmp_path / 'other.db'}").opened() as two:
        for store in (one, two):
            store.add_training("training", first, 5)
            for sent in made:
                store.commit([sent])
        assert one.live("training").round == two.live("training").round
