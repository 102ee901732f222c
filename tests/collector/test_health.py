"""A store that fails is 503 on every address, and /readyz says so. Other faults stay what they are.

/healthz asks whether the process is alive, and knows nothing of the store.
"""

from __future__ import annotations

import resource
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
from hush.collector.http.app import make_app
from hush.collector.intake import Intake
from hush.errors import InputError, StoreError, TallyError
from tests.collector import places, postgres
from tests.collector.places import Place
from tests.collector.served import PLAN, TRAINING, Served, anybody, problem, report_of, serving

PATHS = [
    "/readyz",
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
    with serving(tmp_path, anybody(stream_interval=0.05, retry_after=7, health_every=0)) as found:
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
    assert served.client.get("/healthz").json() == {"status": "ok"}
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
    assert served.client.get("/readyz").json() == {"status": "ok"}
    path.rename(path.with_suffix(".moved"))
    check_failed(served.client.get("/readyz"))
    path.write_bytes(b"")
    check_failed(served.client.get("/readyz"))
    assert served.client.get("/healthz").status_code == 200  # a restart would not help
    path.with_suffix(".moved").rename(path)
    assert served.client.get("/readyz").status_code == 200


def test_a_version_that_has_changed_is_noticed(served: Served) -> None:
    with sqlite3.connect(served.store.path) as db:
        db.execute("pragma user_version = 99")
    db.close()
    check_failed(served.client.get("/readyz"))


def test_a_store_that_can_be_read_and_not_written_is_not_ready(served: Served) -> None:
    served.store._db.execute("pragma query_only = 1")
    check_failed(served.client.get("/readyz"))
    assert served.client.get("/plans").status_code == 200
    served.store._db.execute("pragma query_only = 0")
    assert served.client.get("/readyz").status_code == 200


def test_a_disk_that_takes_no_more_is_not_ready(served: Served) -> None:
    """As far as the system can play it: files may not become larger than the log is."""
    report = report_of(PLAN).encode()
    assert served.client.get("/readyz").status_code == 200
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{served.store.path}-wal").stat().st_size, before[1]))
    try:
        check_failed(served.post(PLAN, report, formats.REPORT))
        check_failed(served.client.get("/readyz"))
        assert served.tally(PLAN).reports == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert served.client.get("/readyz").status_code == 200
    assert served.post(PLAN, report, formats.REPORT).json()["new"]


def test_a_store_that_hangs_takes_one_thread_and_no_more(tmp_path: Path) -> None:
    """However many ask, one looks; all are answered meanwhile, and so are others; later all is well."""
    looks, go = [], threading.Event()
    with serving(tmp_path, anybody(health_timeout=0.05, retry_after=7, health_every=0)) as served:
        check = served.store.check

        def hanging() -> None:
            looks.append(threading.current_thread().name)
            assert go.wait(60)
            check()

        served.store.check = hanging  # type: ignore[method-assign]
        with ThreadPoolExecutor(8) as people:
            for response in people.map(served.client.get, ["/readyz"] * 40):
                check_failed(response)
        assert served.client.get("/plans").status_code == 200
        assert len(looks) == 1
        go.set()
        while served.client.get("/readyz").status_code != 200:  # the look that hung may go on for a moment
            pass
    assert set(looks) == {"hush-pulse"}


@pytest.mark.parametrize("well", [True, False])
def test_many_who_ask_do_not_load_the_database(tmp_path: Path, well: bool) -> None:
    """What was seen holds for a moment, good or bad."""
    looks = []
    with serving(tmp_path, anybody(health_every=1e6)) as served:

        def look() -> None:
            looks.append(1)
            if not well:
                away()

        served.store.check = look  # type: ignore[method-assign]
        assert {served.client.get("/readyz").status_code for _ in range(20)} == {200 if well else 503}
        assert len(looks) == 1


@pytest.mark.parametrize("sent", [True, False])
def test_how_long_it_takes_does_not_say_whether_a_report_came(tmp_path: Path, sent: bool) -> None:
    """A look takes as long as a commit. Were it left out after one, anybody could see the time of each report."""
    looks = []
    with serving(tmp_path, anybody(health_every=1e6)) as served:
        served.store.check = lambda: looks.append(1)  # type: ignore[method-assign]
        if sent:
            assert served.post(PLAN, report_of(PLAN).encode(), formats.REPORT).status_code == 202
        assert served.client.get("/readyz").status_code == 200
        assert len(looks) == 1


def hold_commits(served: Served) -> tuple[threading.Event, threading.Event]:
    """Let commits wait; return an event that says when one began, and one that lets them go on."""
    began, go = threading.Event(), threading.Event()
    commit = served.store.commit

    def held(submissions: Any) -> Any:
        began.set()
        assert go.wait(60)
        return commit(submissions)

    served.store.commit = held  # type: ignore[method-assign]
    return began, go


def test_a_commit_that_is_stuck_is_noticed(tmp_path: Path) -> None:
    """Within the store, where a look would wait for its lock, and elsewhere in the thread that commits."""
    with serving(tmp_path, anybody(health_timeout=0.05, retry_after=7, health_every=0)) as served:
        with served.store._lock:
            check_failed(ThreadPoolExecutor(1).submit(served.client.get, "/readyz").result(60))
        while served.client.get("/readyz").status_code != 200:
            pass
        began, go = hold_commits(served)
        sending = ThreadPoolExecutor(1).submit(served.post, PLAN, report_of(PLAN).encode(), formats.REPORT)
        assert began.wait(60)
        while (found := served.client.get("/readyz")).status_code == 200:  # until it has taken too long
            pass
        check_failed(found)
        assert served.client.get("/healthz").status_code == 200
        go.set()
        assert sending.result(60).status_code == 202
        while served.client.get("/readyz").status_code != 200:
            pass


def test_a_queue_that_is_full_and_an_end_are_not_ready(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(queue=1, retry_after=7)) as served, ThreadPoolExecutor(2) as people:
        began, go = hold_commits(served)
        first = people.submit(served.post, PLAN, report_of(PLAN).encode(), formats.REPORT)
        assert began.wait(60)
        second = people.submit(served.post, PLAN, report_of(PLAN).encode(), formats.REPORT)
        while not served.waiting():
            pass
        found = served.client.get("/readyz")
        assert problem(found, "busy")["detail"] == "the queue is full"
        assert found.headers["retry-after"] == "7"
        go.set()
        assert [first.result(60).status_code, second.result(60).status_code] == [202, 202]
        assert served.client.get("/readyz").status_code == 200
        served.app.state.collector.give_notice()
        assert problem(served.client.get("/readyz"), "busy")["detail"] == "this collector is shutting down"
        assert served.client.get("/healthz").status_code == 200


def test_a_process_without_the_thread_that_commits_is_not_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, anybody(retry_after=7)) as served:
        assert served.client.get("/healthz").status_code == 200
        monkeypatch.setattr(Intake, "alive", False)
        check_failed(served.client.get("/healthz"))


# -- the health of a database


def test_a_database_that_is_away_is_503_until_it_is_back(server: postgres.Server) -> None:
    with Place(server.database()).opened() as store:
        store.add_plan(places.plan())
        paths = ["/readyz", "/plans", f"/plans/{places.plan().id}/tally", f"/plans/{places.plan().id}/estimates"]
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
        check_failed(ask(store, ["/readyz"])[0], "1")


def ask(store: Any, paths: list[str]) -> list[httpx.Response]:
    """Ask an application without a socket, and without the end of the application, which would close the store."""
    import asyncio

    app = make_app(store, anybody())

    async def scenario() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as web:
            return [await web.get(path) for path in paths]

    return asyncio.run(scenario())
