"""Ids of closed plans that a kill has left: a start does not wait for them to be forgotten, and the next finds more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from hush.collector.stores import postgres_connections, postgres_sweeping
from hush.collector.stores.postgres import PostgresStore
from hush.collector.stores.postgres_connections import Pool
from hush.collector.stores.postgres_sweeping import Sweeper
from hush.collector.stores.postgres_watchdog import Watch
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import NEW, Place, plan

LEFT = 25  # ids that a kill has left


@pytest.fixture
def closed(postgres_place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a plan that was being closed when its process was killed, and an open one with ids."""
    monkeypatch.setattr(postgres_sweeping, "PIECE", 10)
    monkeypatch.setattr(postgres_sweeping, "AGAIN", 0.01)
    with postgres_place.opened() as store:
        store.add_plan(plan())
        store.add_plan(plan("open"))
        store.commit(places.singles(places.reports(LEFT)))
        store.commit(places.singles(places.reports(3, plan("open"))))
    with psycopg.connect(postgres_place.url) as server:
        server.execute("update hush.plans set open = false where number = 1")
    return postgres_place.url


def ids(url: str) -> dict[int, int]:
    with psycopg.connect(url) as server:
        return dict(server.execute("select plan, count(*) from hush.seen group by plan").fetchall())


def swept(store: PostgresStore) -> None:
    for thread in store._sweeper._threads:
        thread.join(60)
        assert not thread.is_alive()


def test_a_start_deletes_no_ids_itself(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are left: everything is there before the first of them is forgotten."""
    go_on, work = threading.Event(), Sweeper._work

    def later(self: Sweeper) -> None:
        assert go_on.wait(60)
        work(self)

    monkeypatch.setattr(Sweeper, "_work", later)
    store = PostgresStore(closed)
    try:
        assert ids(closed) == {1: LEFT, 2: 3}
        assert store.commit(places.singles(places.reports(1, plan("open")))) == [NEW]
        go_on.set()
        swept(store)
        assert ids(closed) == {2: 4}
    finally:
        store.close()


def test_what_a_kill_leaves_is_found_by_the_next_start(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stops behind each piece, as one that is killed does; and a piece is all that it locks."""

    class Once(Sweeper):
        def forget(self, number: int) -> bool:
            with self._pool.transaction() as db:
                db.execute(postgres_sweeping.FORGET, (number, b"", postgres_sweeping.PIECE, number))
            self._ending.set()
            return False

    with monkeypatch.context() as patch:
        patch.setattr("hush.collector.stores.postgres.Sweeper", Once)
        for left in (15, 5):
            store = PostgresStore(closed)
            for thread in store._sweeper._threads:
                thread.join(60)
            store.close()
            assert ids(closed) == {1: left, 2: 3}
    store = PostgresStore(closed)
    swept(store)
    store.close()
    assert ids(closed) == {2: 3}


@pytest.fixture
def pool(closed: str) -> Iterator[Pool]:
    found = Pool(closed, Watch())
    yield found
    found.close()


def test_one_process_at_a_time_forgets_and_the_other_looks_again(closed: str, pool: Pool) -> None:
    with psycopg.connect(closed) as other:
        other.execute("select pg_advisory_xact_lock(%s, 1)", (postgres_connections.SWEEPING,))
        sweeper = Sweeper(pool)
        assert not sweeper.forget(1)
        assert ids(closed) == {1: LEFT, 2: 3}
        sweeper.begin()
        assert sweeper._threads[0].is_alive()
        other.rollback()  # that process is killed
    sweeper._threads[0].join(60)
    assert ids(closed) == {2: 3}


def test_a_database_that_is_away_is_asked_again(
    closed: str, pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries, rows = iter((StoreError("away"), None)), pool.rows

    def sometimes(query: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        if (error := next(tries, None)) is not None:
            raise error
        return rows(query, values)

    monkeypatch.setattr(pool, "rows", sometimes)
    sweeper = Sweeper(pool)
    sweeper._work()
    assert ids(closed) == {2: 3}
    assert "not forgotten yet: away" in caplog.text


def test_a_store_that_is_closed_stops_behind_a_piece(closed: str, pool: Pool) -> None:
    sweeper = Sweeper(pool)
    sweeper.close()
    assert not sweeper.forget(1)
    assert ids(closed) == {1: LEFT, 2: 3}


def test_each_piece_begins_behind_the_one_before(closed: str, pool: Pool) -> None:
    """Going through rows that were deleted would make closing a plan take the square of its ids."""
    asked: list[bytes] = []
    transaction = pool.transaction

    class Noting:
        def __init__(self, db: postgres_connections.Connection) -> None:
            self._db = db

        def execute(self, query: str, values: tuple[object, ...]) -> object:
            if query is postgres_sweeping.FORGET:
                asked.append(values[1])  # type: ignore[arg-type]
            return self._db.execute(query, values)

    @contextmanager
    def noting() -> Iterator[Noting]:
        with transaction() as db:
            yield Noting(db)

    pool.transaction = noting  # type: ignore[method-assign, assignment]
    assert Sweeper(pool).forget(1)
    assert asked == sorted(set(asked))
    assert len(asked) == LEFT // 10 + 2
