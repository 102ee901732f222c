"""A copy made while the collector works is whole, and what is sent to it again counts once (docs/operate.md)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import hush
from hush.collector.segments import compact, export
from hush.collector.stores.opening import open_store
from hush.collector.stores.sqlite import SqliteStore
from hush.device.client import Client
from hush.errors import StoreError
from tests.collector.places import NEW, REPEATED, Place, plan, reports, singles, tally_of
from tests.collector.postgres import Server, find_binaries
from tests.collector.served import FEW, report_of, serving

SENDERS = 3


def copied(source: Path, target: Path) -> None:
    """What the page says: one statement, from another process or connection."""
    with sqlite3.connect(source) as db:
        db.execute("vacuum into ?", (str(target),))
    db.close()


class Crowd:
    """Threads that send reports and note what was acknowledged, for as long as it takes."""

    def __init__(self, send: Callable[[hush.Report], None], made: Callable[[], hush.Report]) -> None:
        self.acknowledged: list[hush.Report] = []
        self._send, self._made, self._end = send, made, threading.Event()
        self._threads = [threading.Thread(target=self._work) for _ in range(SENDERS)]

    def _work(self) -> None:
        while not self._end.is_set():
            report = self._made()
            self._send(report)
            self.acknowledged.append(report)

    def wait_for(self, number: int) -> list[hush.Report]:
        """Return what is acknowledged, when it is as much as that."""
        while len(self.acknowledged) < number:
            self._threads[0].join(0.01)
        return list(self.acknowledged)

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


def test_a_copy_of_a_collector_that_works(tmp_path: Path) -> None:
    backup = tmp_path / "backup" / "hush.db"
    backup.parent.mkdir()
    with serving(tmp_path, plans=(FEW,), trainings={}) as served:
        collector = Client(served.url)
        with Crowd(lambda report: assert_new(collector, report), lambda: report_of(FEW)) as crowd:
            before = crowd.wait_for(30)
            copied(tmp_path / "hush.db", backup)
            crowd.wait_for(len(crowd.acknowledged) + 30)  # it went on
        everything = served.tally(FEW)
    store = SqliteStore(backup)
    try:
        held = store.tally(FEW)
        assert len(before) <= held.reports < everything.reports
        # Counts, ids and reports are those of one moment.
        assert export(store, FEW, backup.parent / "none", tmp_path / "out").reports == held.reports
        again = store.commit(singles(crowd.acknowledged))
        assert again.count(REPEATED) == held.reports
        assert [outcome for report, outcome in zip(crowd.acknowledged, again, strict=True) if report in before] == [
            REPEATED
        ] * len(before)
        assert store.tally(FEW) == everything
    finally:
        store.close()


def assert_new(collector: Client, report: hush.Report) -> None:
    assert collector.submit(report).new


def test_copying_the_file_alone_loses_reports(tmp_path: Path) -> None:
    """Why the page does not say `cp`: what was committed last is in the log beside the file."""
    store = SqliteStore(tmp_path / "hush.db")
    store.add_plan(plan())
    assert store.commit(singles(reports(5))) == [NEW] * 5
    shutil.copy(tmp_path / "hush.db", tmp_path / "copy.db")
    copied(tmp_path / "hush.db", tmp_path / "vacuumed.db")
    store.close()
    lost, whole = SqliteStore(tmp_path / "copy.db"), SqliteStore(tmp_path / "vacuumed.db")
    assert whole.tally(plan()).reports == 5
    assert not lost.plans()
    lost.close()
    whole.close()


def test_the_database_is_copied_before_the_segments(tmp_path: Path) -> None:
    """A compaction between the two leaves a segment too many, which the next one removes; nothing is counted twice."""
    store = SqliteStore(tmp_path / "hush.db")
    store.add_plan(plan())
    made = reports(6)
    store.commit(singles(made[:3]))
    compact(store, plan(), tmp_path / "segments")
    store.commit(singles(made[3:]))
    copied(tmp_path / "hush.db", tmp_path / "backup.db")
    compact(store, plan(), tmp_path / "segments")
    shutil.copytree(tmp_path / "segments", tmp_path / "backup.segments")
    copied(tmp_path / "hush.db", tmp_path / "late.db")
    store.close()
    restored = SqliteStore(tmp_path / "backup.db")
    assert export(restored, plan(), tmp_path / "backup.segments", tmp_path / "out").reports == 6
    compact(restored, plan(), tmp_path / "backup.segments")
    assert len(list((tmp_path / "backup.segments").iterdir())) == len(restored.segments(plan())) == 2
    assert restored.tally(plan()) == tally_of(plan(), made)
    restored.close()
    # The other way round the database may name a segment that the copy does not have: export says so.
    early = SqliteStore(tmp_path / "late.db")
    with pytest.raises(FileNotFoundError):
        export(early, plan(), tmp_path / "nothing", tmp_path / "none")
    early.close()


def test_a_full_disk_is_503_and_what_was_refused_is_counted_when_there_is_room(tmp_path: Path) -> None:
    with serving(tmp_path, plans=(FEW,), trainings={}) as served:
        kind = "application/vnd.hush.report"
        database = served.store._db
        pages = database.execute("pragma page_count").fetchone()[0]
        database.execute(f"pragma max_page_count = {pages}")  # SQLite's own way to run out of room
        refused, counted = None, []
        while refused is None:
            report = report_of(FEW)
            answer = served.post(FEW, report.encode(), kind)
            if answer.status_code == 202:
                counted.append(report)
            else:
                refused = report
        assert answer.status_code == 503
        assert answer.json()["type"] == "urn:hush:problem:failed"
        assert answer.headers["retry-after"]
        assert served.tally(FEW) == tally_of(FEW, counted)  # reading goes on
        assert served.client.get("/healthz").status_code == 200
        database.execute(f"pragma max_page_count = {pages + 1000}")
        assert served.post(FEW, refused.encode(), kind).json()["new"]
        assert served.tally(FEW) == tally_of(FEW, [*counted, refused])


def test_a_store_of_a_newer_hush_is_left_alone(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "hush.db").close()
    with sqlite3.connect(tmp_path / "hush.db") as db:
        db.execute("pragma user_version = 99")
    db.close()
    before = (tmp_path / "hush.db").read_bytes()
    with pytest.raises(StoreError, match="of version 99"):
        SqliteStore(tmp_path / "hush.db")
    assert (tmp_path / "hush.db").read_bytes() == before


def test_a_dump_of_postgres_while_collectors_work(postgres_place: Place, server: Server, tmp_path: Path) -> None:
    binaries = find_binaries()
    assert binaries is not None
    store = open_store(postgres_place.url)
    store.add_plan(plan())
    lock = threading.Lock()

    def send(report: hush.Report) -> None:
        with lock:
            assert store.commit(singles([report])) == [NEW]

    with Crowd(send, lambda: reports(1)[0]) as crowd:
        before = crowd.wait_for(20)
        dump = [str(binaries / "pg_dump"), "--schema=hush", "--format=custom", f"--file={tmp_path / 'hush.dump'}"]
        subprocess.run([*dump, postgres_place.url], check=True, env={**os.environ})  # noqa: S603
        crowd.wait_for(len(crowd.acknowledged) + 10)
    everything = store.tally(plan())
    store.close()
    with psycopg.connect(postgres_place.url, autocommit=True) as db:
        db.execute("drop database if exists restored")
        db.execute("create database restored")
    url = server.url("restored")
    restore = [str(binaries / "pg_restore"), "--no-owner", f"--dbname={url}", str(tmp_path / "hush.dump")]
    subprocess.run(restore, check=True)  # noqa: S603
    restored = open_store(url)
    try:
        held = restored.tally(plan())
        assert len(before) <= held.reports < everything.reports
        again = restored.commit(singles(crowd.acknowledged))
        assert again.count(REPEATED) == held.reports
        assert restored.tally(plan()) == everything
    finally:
        restored.close()
        with psycopg.connect(postgres_place.url, autocommit=True) as db:
            db.execute("drop database restored")


def test_a_collector_of_an_older_hush_writes_no_more(postgres_place: Place) -> None:
    """Once a newer one has changed the tables: what is sent to it is refused, and may be sent again elsewhere."""
    store = open_store(postgres_place.url)
    store.add_plan(plan())
    assert store.commit(singles(reports(1))) == [NEW]
    with psycopg.connect(postgres_place.url, autocommit=True) as db:
        db.execute("update hush.version set number = 99")
    with pytest.raises(StoreError, match="of version 99"):
        store.commit(singles(reports(1)))
    store.close()
