"""A database that hangs: somebody holds a lock, the server does not answer, or it is gone. Nobody waits for ever.

Whoever sends is refused with 503 and sends again; nothing is lost or counted twice; a collector ends when it is told
to; and it goes on by itself when the database does.
"""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from hush.collector.http.app import make_app
from hush.collector.intake import Intake
from hush.collector.queues import Stopped
from hush.collector.stores import postgres, postgres_commits, postgres_connections
from hush.collector.stores.base import Store
from hush.collector.stores.opening import open_store
from hush.collector.stores.postgres import PostgresStore
from hush.collector.stores.postgres_watchdog import Watch
from hush.collector.stores.sqlite import SqliteStore
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import NEW, REPEATED, Place, plan
from tests.collector.postgres import Server
from tests.collector.served import anybody
from tests.collector.siege import Service, tally_now
from tests.collector.test_sqlite_file import ask, post

PATIENCE = 60  # seconds, for what must end and would not otherwise

TABLES = ("plans", "tallies", "seen", "bodies", "version")


def hasty(url: str, lock: str = "100ms", statement: str = "1s") -> str:
    """Return the address of the same database, with limits that tests can wait for."""
    return f"{url}&options=-c%20lock_timeout%3D{lock}%20-c%20statement_timeout%3D{statement}&connect_timeout=2"


@contextmanager
def held(url: str, *tables: str) -> Iterator[None]:
    """Lock tables, as an operator does who has forgotten to end a transaction."""
    with psycopg.connect(url) as db:
        db.execute("set idle_in_transaction_session_timeout = 0")
        db.execute(f"lock table {', '.join(f'hush.{table}' for table in tables)}")
        yield
        db.rollback()


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


def ended(work: Callable[[], Any]) -> Any:
    """Do something in a thread of its own, which must end."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:  # noqa: BLE001 - a thread hands on what it raises
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    return outcome[0]


# -- limits


def test_sessions_have_limits_unless_somebody_sets_others(server: Server) -> None:
    url = server.database()
    shown = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")

    def limits(address: str) -> tuple[list[Any], float]:
        db = postgres_connections.connect(address, Watch())
        found = [db.execute(f"show {name}").fetchall()[0][0] for name in shown]
        patience = db.patience
        db.close()
        return found, patience

    assert limits(url) == (["5s", "20s", "1min"], 30.0)
    assert limits(hasty(url)) == (["100ms", "1s", "1min"], 6.1)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("alter role hush set lock_timeout = '7s'")
        try:
            assert limits(url) == (["7s", "20s", "1min"], 32.0)
        finally:
            db.execute("alter role hush reset lock_timeout")


# -- locks


@pytest.mark.parametrize("table", TABLES)
def test_a_lock_that_is_held_is_a_failure_and_nothing_is_lost_or_counted_twice(server: Server, table: str) -> None:
    url = server.database()
    store = open_store(hasty(url))
    store.add_plan(plan())
    sent = places.singles(places.reports(4))
    assert store.commit(sent[:1]) == [NEW]
    with held(url, table):
        for work in (lambda: store.commit(sent), store.check, lambda: store.commit(sent)):
            found = ended(work)
            assert isinstance(found, StoreError), found
            assert "lock timeout" in str(found)
    store.check()
    assert store.commit(sent) == [REPEATED, NEW, NEW, NEW]
    assert store.tally(plan()) == places.tally_of(plan(), [one.report for one in sent])
    store.close()


def test_a_statement_that_takes_too_long_is_a_failure(server: Server) -> None:
    store = PostgresStore(hasty(server.database(), statement="200ms"))
    store.add_plan(plan())
    found = ended(lambda: store._pool.rows("select 1 from pg_sleep(60)"))
    assert "statement timeout" in str(found)
    store.close()


def paths_of(app: Any) -> list[str]:
    """Every address that is read, for a plan and a training that are there."""
    routes = [route for route in app.routes if "GET" in route.methods and route.path not in ("/metrics",)]
    paths = [re.sub("{plan}", plan().id, re.sub("{training}", "training", route.path)) for route in routes]
    about = {"frequent": "?attribute=age", "distribution": "?attribute=age", "quantiles": "?attribute=age"}
    about |= dict.fromkeys(("crosstab", "means", "association"), "?attribute=age&by=os")
    return [path + about.get(path.rsplit("/", 1)[-1], "") for path in paths if "{" not in path]


# What needs no store: pages and what the plan alone says, once it is known.
ALONE = ("/healthz", "/openapi.json", "/charts")


def statuses(app: Any, methods: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    async def scenario() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x", timeout=PATIENCE) as web:
            return list(await asyncio.gather(*(web.request(method, path) for method, path in methods)))

    found = asyncio.run(scenario())
    return {key: response.status_code for key, response in zip(methods, found, strict=True)}


def check_everything(store: Store, harm: Any) -> None:
    """Every address of an application answers 503 while something hangs, or what needs no store; then all is well."""
    settings = anybody(health_every=0, tickets=True, ticket_key=bytes(32))
    paths = [
        ("GET", path)
        for path in paths_of(make_app(store, settings))
        if path.startswith(("/plans", "/trainings", "/readyz")) or path in ALONE
    ]
    assert len(paths) > 15
    streams = {key for key in paths if key[1].endswith("stream")}
    with harm:
        found = ended(lambda: statuses(make_app(store, settings), paths))
    assert isinstance(found, dict), found
    assert {status for (_, path), status in found.items() if path in ALONE} == {200}
    assert {key: status for key, status in found.items() if key[1] not in ALONE and status != 503} == {}
    absent = (
        "frequent",
        "crosstab",
        "means",
        "association",
        "quantiles",
        "relay",
        "presentation",
        "changes",
    )  # this plan has none
    rest = [key for key in paths if key not in streams and not re.search(rf"/({'|'.join(absent)})(\?|$)", key[1])]
    deadline = time.monotonic() + PATIENCE
    while set((last := statuses(make_app(store, settings), rest)).values()) != {200}:
        assert time.monotonic() < deadline, last  # it goes on by itself, in a moment


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


@pytest.mark.parametrize("how", ["locked", "stopped", "frozen"])
def test_every_address_is_503_and_none_hangs(server: Server, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connections, "MARGIN", 0.2)
    monkeypatch.setattr(postgres_connections, "BREAK", 0.2)
    url = server.database()
    store = open_store(hasty(url))
    store.add_plan(plan())
    store.add_training("training", places.first_round(), 4)
    harms = {
        "locked": lambda: held(url, "plans", "trainings", "tallies"),
        "stopped": lambda: stopped(server),
        "frozen": lambda: frozen(server),
    }
    try:
        check_everything(store, harms[how]())
    finally:
        store.close()


# -- servers that do not answer


def test_a_server_that_is_away_is_noticed_at_once_with_the_reason(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for a session that others might give back: a pool that waits for one would hang here."""
    monkeypatch.setattr(postgres_connections, "MARGIN", 1e6)
    store = open_store(hasty(server.database()))
    store.add_plan(plan())
    with stopped(server):
        for work in (store.plans, lambda: store.tally(plan()), lambda: store.close_plan(plan().id)):
            found = ended(work)
            assert isinstance(found, StoreError), found
            assert "Is the server running" in str(found)
    store.close()


def test_a_server_that_does_not_answer_is_a_failure_and_nothing_is_counted_twice(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its limits do not help, as they are its own. What it was told before may still happen, under the same ids."""
    monkeypatch.setattr(postgres_connections, "MARGIN", 0.2)
    monkeypatch.setattr(postgres_connections, "BREAK", 0.0)
    monkeypatch.setattr(postgres, "SENDING", 0.0)
    store = open_store(hasty(server.database(), statement="300ms"))
    store.add_plan(plan())
    sent = places.singles(places.reports(3))
    assert store.commit(sent[:1]) == [NEW]
    with frozen(server):
        for work in (lambda: store.commit(sent), store.check, lambda: store.tally(plan())):
            assert isinstance(ended(work), StoreError)
    assert ended(store.check) is None
    assert ended(lambda: store.commit(sent)) in ([REPEATED, NEW, NEW], [REPEATED] * 3)
    assert store.tally(plan()) == places.tally_of(plan(), [one.report for one in sent])
    store.close()


def test_an_answer_that_never_came_is_not_counted_twice(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server commits, and the session is cut before anybody hears of it."""
    store = PostgresStore(hasty(server.database()))
    store.add_plan(plan())
    sent = places.singles(places.reports(3))
    run = postgres_commits.Commit.run

    def unheard(self: postgres_commits.Commit, submissions: Any) -> Any:
        run(self, submissions)
        raise psycopg.OperationalError("the line was cut")

    with monkeypatch.context() as patch:
        patch.setattr(postgres_commits.Commit, "run", unheard)
        with pytest.raises(StoreError, match="the line was cut"):
            store.commit(sent)
    assert store.commit(sent) == [REPEATED] * 3
    assert store.tally(plan()).reports == 3
    store.close()


def test_closing_cuts_what_waits(server: Server) -> None:
    url = server.database()
    store = open_store(url)  # with the limits that it has by itself
    store.add_plan(plan())
    sent = places.singles(places.reports(2))
    with held(url, "plans"), ThreadPoolExecutor(2) as people:
        waiting: list[Future[Any]] = [people.submit(store.commit, sent), people.submit(store.plans)]
        with psycopg.connect(url, autocommit=True) as db:
            while db.execute("select count(*) from pg_stat_activity where wait_event_type = 'Lock'").fetchone() != (2,):
                pass
        store.close()
        for found in waiting:
            assert isinstance(found.exception(PATIENCE), StoreError)
    with Place(url).opened() as again:
        assert again.commit(sent) == [NEW, NEW]


def test_a_watch_cuts_only_what_is_overdue(server: Server) -> None:
    watch, url = Watch(), server.database()
    late, early = postgres_connections.connect(url, watch), postgres_connections.connect(url, watch)
    with watch.over(early, 1e6), pytest.raises(psycopg.OperationalError), watch.over(late, 0.0):
        late.execute("select pg_sleep(60)")
    assert early.execute("select 1").fetchall() == [(1,)]
    watch.close()
    with pytest.raises(StoreError, match="closed"), watch.over(early, 1.0):
        pass
    late.close()
    early.close()


# -- the end


class Stuck(SqliteStore):
    """A store whose disk hangs."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.add_plan(plan())
        self.go, self.began = threading.Event(), threading.Event()
        self.failing = False

    def commit(self, submissions: Any) -> Any:
        with self._lock:
            self.began.set()
            assert self.go.wait(PATIENCE)
            if self.failing:
                raise StoreError("the disk is away")
            return super().commit(submissions)


def test_the_end_waits_for_a_commit_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hush.collector.stores.sqlite.CLOSING", 0.05)
    store = Stuck(tmp_path / "hush.db")

    async def scenario() -> None:
        intake = Intake(store)
        sending = asyncio.create_task(intake.submit(places.singles(places.reports(1))[0]))
        await asyncio.to_thread(store.began.wait, PATIENCE)
        await intake.stop(0.05)
        assert intake.alive
        assert not sending.done()  # nobody was told anything
        await asyncio.to_thread(store.close)
        sending.cancel()

    ended(lambda: asyncio.run(scenario()))
    store.go.set()  # the loop has ended meanwhile
    while any(thread.name == "hush-intake" for thread in threading.enumerate()):
        pass
    store.close()


def test_at_the_end_a_store_that_fails_is_not_tried_for_everything_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hush.collector.queues.GROUP", 1)
    store = Stuck(tmp_path / "hush.db")
    store.failing = True

    async def scenario() -> list[Any]:
        intake = Intake(store)
        sent = places.singles(places.reports(5))
        tasks = [asyncio.create_task(intake.submit(one)) for one in sent]
        await asyncio.to_thread(store.began.wait, PATIENCE)
        stopping = asyncio.create_task(intake.stop())
        await asyncio.sleep(0.05)
        store.go.set()
        await stopping
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = ended(lambda: asyncio.run(scenario()))
    assert [type(one) for one in found] == [StoreError] + [Stopped] * 4
    store.close()


@contextmanager
def started(url: str, folder: Path, how: tuple[str, ...] = ("hush", "serve")) -> Iterator[Service]:
    service = Service(url, folder, how)
    service.start()
    try:
        yield service
    finally:
        service.close()


@pytest.mark.parametrize("how", ["locked", "frozen"])
def test_a_collector_ends_when_its_database_hangs(server: Server, tmp_path: Path, how: str) -> None:
    """With the limits that sessions have by themselves. What was acknowledged is there, and nothing is there twice."""
    url, made = server.database(), places.reports(8)
    with started(url, tmp_path, ("tests.collector.careless", "brief")) as service:
        assert [post(service, report) for report in made[:2]] == [202, 202]
        with held(url, "plans") if how == "locked" else frozen(server), ThreadPoolExecutor(4) as people:
            sending = [people.submit(post, service, report) for report in made[2:6]]
            time.sleep(1)  # some are being committed, and others wait
            assert service.stop(signal.SIGTERM) == 0
            assert {found.result(PATIENCE) for found in sending} == {503}
        service.start()
        assert [post(service, report) for report in made] == [202] * 8
        assert tally_now(service) == places.tally_of(plan(), made)


def wait_for(service: Service, status: int) -> None:
    """Wait until a collector says that it is ready, or not: it looks once a second."""
    deadline = time.monotonic() + PATIENCE
    while ask(service, "GET", "/readyz") != status:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_collector_goes_on_when_its_database_does(server: Server, tmp_path: Path) -> None:
    url, made = server.database(), places.reports(6)
    with started(hasty(url), tmp_path) as service:
        for index, harm in enumerate((held(url, "plans", "bodies"), stopped(server))):
            some = made[3 * index : 3 * index + 3]
            with harm:
                assert [post(service, report) for report in some] == [503] * 3
                wait_for(service, 503)
                assert ask(service, "GET", "/healthz") == 200
                assert ask(service, "GET", f"/plans/{plan().id}/estimates") in ((200, 503) if not index else (503,))
            assert [post(service, report) for report in some] == [202] * 3
            wait_for(service, 200)
        assert tally_now(service) == places.tally_of(plan(), made)
        assert service.stop(signal.SIGTERM) == 0


def test_the_last_resort_ends_a_process_whatever_hangs(tmp_path: Path) -> None:
    """A commit that nothing can cut: the process ends all the same, and nobody was told anything."""
    url = f"sqlite://{tmp_path / 'hush.db'}"
    with started(url, tmp_path, ("tests.collector.careless", "stuck")) as service, ThreadPoolExecutor(1) as people:
        assert service.process is not None
        assert service.process.stdout is not None
        sending = people.submit(post, service, places.reports(1)[0])
        assert service.process.stdout.readline() == "stuck\n"
        assert service.stop(signal.SIGTERM) == 1
        assert sending.result(PATIENCE) == 503
