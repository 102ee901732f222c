"""The rows of ids in SQLite: few, however single the reports came, and forgotten in pieces when a plan is closed."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from hush.collector.stores import ids, sqlite_runs
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.stores.sqlite_runs import Runs
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import CLOSED, NEW, REPEATED, Place, plan
from tests.collector.upgrading import older

NEWEST = 32


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ids, sqlite_runs):
        monkeypatch.setattr(module, "NEWEST", NEWEST)
    monkeypatch.setattr(sqlite_runs, "SHORT", 16 * NEWEST)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hush.db"


def rows(path: Path) -> list[int]:
    """Return how many ids each row has."""
    with closing(sqlite3.connect(path)) as db:
        return [size // 16 for (size,) in db.execute("select length(ids) from runs order by number")]


def test_single_reports_make_few_rows(path: Path) -> None:
    """A start reads as many rows as there are: once it was one for each commit, and took seconds for a million."""
    made = places.singles(places.reports(10 * NEWEST))
    with closing(SqliteStore(path)) as store:
        store.add_plan(plan())
        for one in made:
            store.commit([one])
        assert sum(rows(path)) == len(made)
        assert len(rows(path)) <= len(made) // NEWEST + NEWEST
        assert store.commit(made) == [REPEATED] * len(made)


def test_rows_are_joined_across_restarts(path: Path) -> None:
    made = places.singles(places.reports(4 * NEWEST))
    for one in made:
        with closing(SqliteStore(path)) as store:
            store.add_plan(plan())
            assert store.commit([one]) == [NEW]
    assert len(rows(path)) <= 4 + NEWEST
    with closing(SqliteStore(path)) as store:
        assert store.commit(made) == [REPEATED] * len(made)


@pytest.mark.parametrize("seed", range(3))
def test_every_id_counts_once_whatever_happens(path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of all sizes, repeated ids, restarts, and commits that fail before and behind the disk."""
    draw = random.Random(seed)
    made = places.singles(places.reports(400))
    counted: set[bytes] = set()
    store = SqliteStore(path)
    store.add_plan(plan())
    for _ in range(150):
        some = draw.sample(made, draw.choice((1, 1, 1, 2, 7, NEWEST, 2 * NEWEST)))
        act = draw.random()
        if act < 0.2:
            late = act < 0.1
            with monkeypatch.context() as patch:
                patch.setattr(*((store._files, "check", failing_second()) if late else (store, "_write_rounds", fail)))
                with pytest.raises(StoreError):
                    store.commit(some)
            if late:  # the commit is on disk, and its answer is lost
                counted.update(one.id for one in some)
            continue
        if act < 0.3:
            store.close()
            store = SqliteStore(path)
        assert store.commit(some) == [REPEATED if one.id in counted else NEW for one in some]
        counted.update(one.id for one in some)
    assert store.tally(plan()).reports == len(counted) == sum(rows(path))
    store.close()


def fail(_: object = None) -> None:
    raise StoreError("failed")


def failing_second() -> Callable[[], None]:
    calls = iter((lambda: None, fail))
    return lambda: next(calls)()


def test_an_upgrade_joins_the_rows_of_an_older_hush(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = places.singles(places.reports(10 * NEWEST))
    with monkeypatch.context() as patch, closing(SqliteStore(path)) as store:
        patch.setattr(ids.IdIndex, "due", lambda self, new: [])
        store.add_plan(plan())
        for one in made:
            store.commit([one])
    older(Place(f"sqlite://{path}"), 8)
    assert rows(path) == [1] * len(made)
    with closing(SqliteStore(path)) as store:
        assert rows(path) == [NEWEST] * 10
        assert store.commit(made) == [REPEATED] * len(made)


def test_an_upgrade_makes_no_row_that_is_long_to_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated id is looked up in its row, within a commit: rows of 64 KiB were joined into some of 65 MB."""
    sent = [
        places.singles(places.reports(size)) for size in (NEWEST - 1, 1, 2, NEWEST // 2, NEWEST // 2, 3 * NEWEST, 5)
    ]
    with monkeypatch.context() as patch, closing(SqliteStore(path)) as store:
        patch.setattr(ids.IdIndex, "due", lambda self, new: [])
        store.add_plan(plan())
        for some in sent:
            store.commit(some)
    older(Place(f"sqlite://{path}"), 8)
    assert rows(path) == [len(some) for some in sent]
    with closing(SqliteStore(path)) as store:
        assert rows(path) == [NEWEST, NEWEST // 2 + 2, 3 * NEWEST, NEWEST // 2 + 5]
        for some in sent:
            assert store.commit(some) == [REPEATED] * len(some)


# -- closing


def test_closing_forgets_in_pieces_and_commits_go_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_runs, "PIECE", 16 * NEWEST)
    forget, waiting = Runs.forget, []
    with closing(SqliteStore(path)) as store:
        store.add_plan(plan())
        store.add_plan(plan("open"))
        made = places.singles(places.reports(6 * NEWEST))
        store.commit(made)
        for one in places.singles(places.reports(6 * NEWEST)):
            store.commit([one])
        others = places.singles(places.reports(100, plan("open")))

        def between(self: Runs, owner: int, after: int) -> int | None:
            last = forget(self, owner, after)
            waiting.append(threading.Thread(target=store.commit, args=([others.pop()],)))
            waiting[-1].start()  # it waits for this piece, and not for all of them
            return last

        monkeypatch.setattr(Runs, "forget", between)
        store.close_plan(plan().id)
        for other in waiting:
            other.join(60)
        assert len(waiting) > 3
        assert store.tally(plan("open")).reports == len(waiting)
        assert sum(rows(path)) == len(waiting)
        assert store.commit(made[:1]) == [CLOSED]


def test_a_start_reads_no_ids_of_closed_plans_and_forgets_them_beside_its_work(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteStore(path)) as store:
        store.add_plan(plan())
        store.add_plan(plan("open"))
        store.commit(places.singles(places.reports(3 * NEWEST)))
        store.commit(places.singles(places.reports(5, plan("open"))))
        store._db.execute("update plans set open = 0 where number = 1")  # a kill came here
    go_on, sweep = threading.Event(), SqliteStore._sweep

    def later(self: SqliteStore, left: Sequence[int]) -> None:
        assert go_on.wait(60)
        sweep(self, left)

    monkeypatch.setattr(SqliteStore, "_sweep", later)
    with closing(SqliteStore(path)) as store:
        assert list(store._runs._indices) == [2]
        assert sum(rows(path)) == 3 * NEWEST + 5
        assert store.commit(places.singles(places.reports(1, plan("open")))) == [NEW]
        go_on.set()
        assert store._sweeping is not None
        store._sweeping.join(60)
        assert sum(rows(path)) == 6
    with closing(SqliteStore(path)) as store:
        assert store._sweeping is None
