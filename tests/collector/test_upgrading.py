"""An upgrade is everything or nothing: a store that this hush cannot read stays one for the hush that wrote it."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from hush import __version__
from hush.collector.stores import postgres_tables, sqlite_file
from hush.collector.stores.opening import open_store
from hush.collector.stores.postgres import PostgresStore
from hush.core.sealing import CollectorKey
from hush.errors import StoreError
from hush.relay.store import RelayStore
from hush.relay.tables import APPLICATION, MIGRATIONS
from tests.collector import places
from tests.collector.places import NEW, REPEATED, Place, plan
from tests.collector.upgrading import Rows, filled, first_rows, kills, known, older, state

KILLS = int(os.environ.get("HUSH_KILLS", "8"))
pytestmark = pytest.mark.timeout(max(300, 5 * KILLS))


def run(place: Place, statement: str, *values: object) -> None:
    """Change a store behind its back: `%s` stands for a value."""
    if place.kind == "sqlite":
        with closing(sqlite3.connect(place.url.removeprefix("sqlite://"), isolation_level=None)) as file:
            file.execute(statement.replace("%s", "?").replace("hush.", ""), values)
    else:
        with psycopg.connect(place.url) as server:
            server.execute(statement, values)


def of_version_1(text: str) -> str:
    return json.dumps({**json.loads(text), "hush": 1})


def an_old_plan(place: Place) -> None:
    """A plan as an older hush wrote it, which this one does not read."""
    run(place, "update hush.plans set plan = %s where number = 1", of_version_1(plan().to_json()))


def another_tally(place: Place) -> None:
    if place.kind == "sqlite":
        run(place, "update plans set tally = %s where number = 1", bytes(8))
    else:
        run(place, "update hush.tallies set vector = %s where plan = 1", bytes(8))


def an_old_training(place: Place) -> None:
    run(place, "update hush.trainings set round = '{\"hush\": 1}'")


@pytest.mark.parametrize("harm", [an_old_plan, another_tally, an_old_training])
def test_a_store_that_cannot_be_read_is_left_as_it_was(place: Place, harm: Callable[[Place], None]) -> None:
    filled(place)
    older(place)
    harm(place)
    before = state(place)
    here = rf"hush {__version__} \(tables of version {known(place)}\)"
    for _ in range(2):
        with pytest.raises(
            StoreError, match=rf"by an older hush \(tables of version 1\), and {here} cannot open it: .* is as it was"
        ):
            open_store(place.url)
        assert state(place) == before


def test_a_plan_of_another_format_is_named(place: Place) -> None:
    filled(place)
    older(place)
    an_old_plan(place)
    with pytest.raises(StoreError, match=r"a plan of version 1; this hush reads version 2"):
        open_store(place.url)


@pytest.mark.parametrize("version", range(1, len(sqlite_file.MIGRATIONS)))
def test_stores_of_all_versions_are_upgraded(place: Place, version: int) -> None:
    sent = filled(place)
    older(place, version)
    before = first_rows(place)
    with place.opened() as store:
        assert first_rows(place) == before
        assert store.commit(sent) == [REPEATED] * len(sent)
        assert store.commit(places.singles(places.reports(1))) == [NEW]
        assert store.tally(plan()).reports == len(sent) + 1
    assert state(place)[0] == known(place)


def test_a_store_of_a_newer_hush_names_it_and_is_left_alone(place: Place) -> None:
    filled(place)
    run(place, "update hush.writer set hush = '7.1.0'")
    run(place, "pragma user_version = 99" if place.kind == "sqlite" else "update hush.version set number = 99")
    before = state(place)
    with pytest.raises(
        StoreError, match=r"written by hush 7\.1\.0 \(tables of version 99\); this is hush .* a copy from"
    ):
        open_store(place.url)
    assert state(place) == before


def test_the_same_tables_of_another_hush_are_read_before_they_are_taken_over(place: Place) -> None:
    """Formats may change without the tables: then the hush that has written last is the one that reads them."""
    filled(place)
    run(place, "update hush.writer set hush = '7.1.0'")
    an_old_plan(place)
    before = state(place)
    with pytest.raises(StoreError, match=r"written by hush 7\.1\.0 \(tables of .*The store is as it was"):
        open_store(place.url)
    assert state(place) == before
    run(place, "update hush.plans set plan = %s where number = 1", plan().to_json())
    place.opened().__enter__().close()
    assert state(place)[2]["writer"] == [(__version__,)]


def test_another_hush_with_the_same_tables_waits_for_nobody(postgres_place: Place) -> None:
    """It only writes its name: a lock against all others would hold up their commits, or be refused."""
    filled(postgres_place)
    run(postgres_place, "update hush.writer set hush = '7.1.0'")
    with psycopg.connect(postgres_place.url) as other:
        other.execute("select pg_advisory_xact_lock_shared(%s, 0)", (postgres_tables.VERSION,))  # as each commit does
        with postgres_place.opened() as store:
            assert store.commit(places.singles(places.reports(1))) == [NEW]
    assert state(postgres_place)[2]["writer"] == [(__version__,)]
    run(postgres_place, "delete from hush.writer")
    with postgres_place.opened():
        assert state(postgres_place)[2]["writer"] == [(__version__,)]


def test_an_upgrade_may_take_its_time(postgres_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step may have much to change: no limit of a statement ends it."""
    filled(postgres_place)
    older(postgres_place)
    first, *others = postgres_tables.MIGRATIONS[1:]
    slow = (postgres_tables.MIGRATIONS[0], f"{first}; select pg_sleep(0.5)", *others)
    monkeypatch.setattr(postgres_tables, "MIGRATIONS", slow)
    with closing(open_store(f"{postgres_place.url}&options={quote('-c statement_timeout=300ms')}")) as store:
        assert store.tally(plan()).reports > 0


def test_a_start_without_an_upgrade_writes_nothing(place: Place) -> None:
    filled(place)
    if place.kind == "sqlite":
        path = Path(place.url.removeprefix("sqlite://"))
        before = path.read_bytes()
        place.opened().__enter__().close()
        assert path.read_bytes() == before
        return
    with psycopg.connect(place.url, autocommit=True) as server:
        ((row, lock),) = server.execute("select ctid::text, xmin::text from hush.version").fetchall()
        with server.transaction():  # as a commit that runs: an upgrade would wait for it
            server.execute("select pg_advisory_xact_lock_shared(%s, 0)", (postgres_tables.VERSION,))
            place.opened().__enter__().close()
        assert server.execute("select ctid::text, xmin::text from hush.version").fetchall() == [(row, lock)]


@pytest.mark.parametrize("pragma", ["query_only = on", "max_page_count = 1"])
def test_a_file_that_cannot_be_written_is_left_as_it_was(
    tmp_path: Path, pragma: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only file, and a full disk, as SQLite reports both."""
    place = Place(f"sqlite://{tmp_path / 'hush.db'}")
    sent = filled(place)
    older(place)
    before, connect = state(place), sqlite_file.connect

    def narrow(path: Path, application: int = sqlite_file.APPLICATION) -> sqlite3.Connection:
        db = connect(path, application)
        db.execute(f"pragma {pragma}")
        return db

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "connect", narrow)
        with pytest.raises(StoreError, match=r"cannot open it: (attempt to write a readonly|database or disk is full)"):
            open_store(place.url)
    assert state(place) == before
    with place.opened() as store:
        assert store.commit(sent) == [REPEATED] * len(sent)


# -- two at once


def test_two_collectors_that_start_at_once_upgrade_once(
    postgres_place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The second waits for as long as the upgrade takes, though nobody waits long for locks otherwise."""
    sent = filled(postgres_place)
    older(postgres_place)
    url = f"{postgres_place.url}&options=-c%20lock_timeout%3D50ms"
    reading, go_on, read = threading.Event(), threading.Event(), PostgresStore._read

    def slowly(self: PostgresStore, db: object) -> None:
        if not reading.is_set():
            reading.set()
            assert go_on.wait(60)
        read(self, db)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresStore, "_read", slowly)
    opened: list[PostgresStore] = []
    threads = [threading.Thread(target=lambda: opened.append(PostgresStore(url))) for _ in range(2)]
    threads[0].start()
    assert reading.wait(60)
    threads[1].start()
    with psycopg.connect(postgres_place.url, autocommit=True) as server:
        waiting = (
            "select count(*) from pg_stat_activity where wait_event = 'advisory' "
            "and clock_timestamp() - query_start > interval '200 ms'"
        )
        while server.execute(waiting).fetchone() != (1,):
            assert threads[1].is_alive(), "the second has not waited"
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert len(opened) == 2
    for store in opened:
        assert store.commit(sent) == [REPEATED] * len(sent)
        store.close()
    assert "another hush is upgrading the store" in caplog.text
    assert state(postgres_place)[0] == known(postgres_place)


# -- a relay's file


KEY = CollectorKey(bytes([9]) + bytes(31))


def relay_file(path: Path) -> Rows:
    """Make a relay's file of version 1, with a report that waits and one that was sent; return its rows."""
    with closing(sqlite_file.connect(path, APPLICATION)) as db:
        sqlite_file.migrate(db, MIGRATIONS[:1])
        db.execute("insert into secret values (?)", (bytes(32),))
        for number, sealed in enumerate((b"waits", None)):
            db.execute("insert into reports values (?, ?, ?)", (plan().id, bytes([number]) * 16, sealed))
    return relay_rows(path)


def relay_rows(path: Path) -> Rows:
    return state(Place(f"sqlite://{path}"))[2]


def test_a_relays_file_that_cannot_be_read_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "relay.db"
    before = relay_file(path)

    def unreadable(self: RelayStore) -> None:
        raise StoreError("unreadable")

    with monkeypatch.context() as patch:
        patch.setattr(RelayStore, "_count", unreadable)
        with pytest.raises(StoreError, match=r"an older hush \(tables of version 1\), and hush .* as it was"):
            RelayStore(path, KEY)
    assert relay_rows(path) == before
    with closing(RelayStore(path, KEY)) as store:
        assert store.held(plan().id) == 1


@pytest.mark.parametrize("at", range(len(MIGRATIONS)))
def test_a_relays_upgrade_that_fails_at_any_step_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    path = tmp_path / "relay.db"
    before = relay_file(path)
    broken = [*MIGRATIONS[: max(at, 1)], "select 1 from nowhere", *MIGRATIONS[max(at, 1) :]]
    with monkeypatch.context() as patch:
        patch.setattr("hush.relay.store.MIGRATIONS", broken)
        with pytest.raises(StoreError, match="no such table: nowhere"):
            RelayStore(path, KEY)
    assert relay_rows(path) == before
    with closing(RelayStore(path, KEY)) as store:
        assert store.held(plan().id) == 1


# -- kills


def test_kills_during_upgrades_lose_nothing_and_double_nothing(place: Place) -> None:
    """HUSH_KILLS=100 kills a hundred times, as does `python -m tests.collector.killing_upgrades`."""
    found = kills(place, KILLS)
    assert found["undone"] + found["done"] == KILLS
    assert found["undone"] >= KILLS // 4  # most of those that stood still; the others come when they come


def test_a_careless_upgrade_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that commits each step: the check of the tables notices that it stopped half-way."""
    place = Place(f"sqlite://{tmp_path / 'hush.db'}")
    filled(place)
    older(place)
    before = state(place)

    def step_by_step(db: sqlite3.Connection, steps: tuple[str, ...]) -> None:
        for number in range(2, len(steps)):
            migrate(db, steps[:number])
            db.execute("commit")
            db.execute("begin immediate")
        raise sqlite3.OperationalError("killed")

    migrate = sqlite_file.migrate
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "migrate", step_by_step)
        with pytest.raises(StoreError):
            open_store(place.url)
    assert state(place) != before
