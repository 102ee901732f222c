"""A store that fails is 503 on every address, and /healthz says so. Other faults stay what they are."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import httpx
import psycopg
import pytest

from hush.collector import formats
from hush.collector.app import make_app
from hush.collector.sqlite import SqliteStore
from hush.errors import InputError, StoreError, TallyError
from tests.collector import places, postgres
from tests.collector.places import Place
from tests.collector.served import PLAN, TRAINING, Served, anybody, problem, report_of, serving

PATHS = [
    "/healthz",
    "/plans",
    f"/plans/{PLAN.id}",
    *(
        f"/plans/{PLAN.id}/{what}"
        for what in ("tally", "estimates", "stream", "stream?view=dashboard", "statement", "margins", "manipulation")
    ),
    f"/plans/{PLAN.id}/distribution?attribute=age",
    f"/plans/{PLAN.id}/timeline",
    "/trainings",
    *(f"/trainings/{TRAINING.title}/{what}" for what in ("round", "history", "stream", "statement")),
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, anybody(stream_interval=0.05, retry_after=7)) as found:
        yield found


def away(*_: object) -> NoReturn:
    raise StoreError("this store is of version 99, at secret.example.org")


def check_failed(response: httpx.Response, retry: str = "7") -> None:
    assert problem(response, "failed")["detail"] == ""  # a database may name its address
    assert response.headers["retry-after"] == retry


def test_a_store_that_fails_is_503_everywhere(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("check", "commit", "history", "live", "plans", "tally", "trainings"):
        monkeypatch.setattr(served.store, name, away)
    for path in PATHS:
        check_failed(served.client.get(path))
    monkeypatch.undo()
    assert served.client.get(f"/plans/{PLAN.id}").status_code == 200  # and is known from now on
    monkeypatch.setattr(served.store, "tally", away)
    monkeypatch.setattr(served.store, "commit", away)
    for what in ("tally", "estimates", "stream"):
        check_failed(served.client.get(served.path(what)))
    check_failed(served.post(PLAN, report_of(PLAN).encode(), formats.REPORT))


def test_what_others_give_stays_their_fault(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    problem(served.post(PLAN, b"x", formats.REPORT), "bad-report")
    problem(served.client.get("/trainings/none/round"), "not-found")
    problem(served.client.get(served.path("estimates") + "?level=2"), "bad-request")

    def confused(*_: object) -> NoReturn:
        raise TallyError("a tally has one vector of counts for each question")

    monkeypatch.setattr(served.store, "tally", confused)  # nobody has sent anything, so nobody sent anything wrong
    problem(served.client.get(served.path("tally")), "broken")


def test_what_the_store_holds_is_nobody_elses_fault(served: Served) -> None:
    vectors = served.store._vectors
    for number in vectors:
        vectors[number] = vectors[number] + 1
    check_failed(served.client.get(served.path("tally")))


def test_errors_say_whose_fault_it_is() -> None:
    assert issubclass(InputError, ValueError)
    assert not issubclass(StoreError, ValueError)


# -- the health of a file


def test_a_file_that_is_gone_or_another_is_noticed(served: Served) -> None:
    path = served.store.path
    assert served.client.get("/healthz").json() == {"status": "ok"}
    path.rename(path.with_suffix(".moved"))
    check_failed(served.client.get("/healthz"))
    SqliteStore(path.with_suffix(".new")).close()
    path.with_suffix(".new").rename(path)
    check_failed(served.client.get("/healthz"))
    path.with_suffix(".moved").rename(path)
    assert served.client.get("/healthz").status_code == 200


def test_a_version_that_has_changed_is_noticed(served: Served) -> None:
    with sqlite3.connect(served.store.path) as db:
        db.execute("pragma user_version = 99")
    db.close()
    check_failed(served.client.get("/healthz"))


def test_health_waits_for_no_commit(served: Served) -> None:
    """A commit holds the lock of the store, for as long as the disk takes."""
    with served.store._lock:
        found = ThreadPoolExecutor(1).submit(served.client.get, "/healthz").result(60)
    assert found.status_code == 200


def test_a_store_that_hangs_takes_one_thread_and_no_more(tmp_path: Path) -> None:
    """However many ask, one looks; all are answered meanwhile, and so are others; later all is well."""
    looks, go = [], threading.Event()
    with serving(tmp_path, anybody(health_timeout=0.05, retry_after=7)) as served:
        check = served.store.check

        def hanging() -> None:
            looks.append(threading.current_thread().name)
            assert go.wait(60)
            check()

        served.store.check = hanging  # type: ignore[method-assign]
        with ThreadPoolExecutor(8) as people:
            for response in people.map(served.client.get, ["/healthz"] * 40):
                check_failed(response)
        assert served.client.get("/plans").status_code == 200
        assert len(looks) == 1
        go.set()
        while served.client.get("/healthz").status_code != 200:  # the look that hung may go on for a moment
            pass
    assert set(looks) == {"hush-pulse_0"}


# -- the health of a database


def test_a_database_that_is_away_is_503_until_it_is_back(server: postgres.Server) -> None:
    with Place(server.database()).opened() as store:
        store.add_plan(places.plan())
        paths = ["/healthz", "/plans", f"/plans/{places.plan().id}/tally", f"/plans/{places.plan().id}/estimates"]
        store.check()
        server.stop()
        try:
            for path, response in zip(paths, ask(store, paths), strict=True):
                check_failed(response, "1")
                assert path == paths[0] or "socket" not in response.text
        finally:
            server.start()
        assert [response.status_code for response in ask(store, paths)] == [200] * 4


def test_a_database_of_another_version_or_with_damage(postgres_place: Place) -> None:
    with postgres_place.opened() as store:
        store.add_plan(places.plan())
        store.commit(places.singles(places.reports(2)))
        tally = f"/plans/{places.plan().id}/tally"
        with psycopg.connect(postgres_place.url) as db:
            db.execute("update hush.tallies set vector = '\\x00'")
        check_failed(ask(store, [tally])[0], "1")
        with psycopg.connect(postgres_place.url) as db:
            db.execute("update hush.version set number = 99")
        check_failed(ask(store, ["/healthz"])[0], "1")


def ask(store: Any, paths: list[str]) -> list[httpx.Response]:
    """Ask an application without a socket, and without the end of the application, which would close the store."""
    import asyncio

    app = make_app(store, anybody())

    async def scenario() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as web:
            return [await web.get(path) for path in paths]

    return asyncio.run(scenario())
