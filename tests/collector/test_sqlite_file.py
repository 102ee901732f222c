"""One SQLite file, one writer: a 202 means that the next start finds the report, whatever others do to the file.

Each twin takes a check away, and shows that reports would be lost without it.
"""

from __future__ import annotations

import http.client
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hush import Report
from hush.collector import formats
from hush.collector.stores import sqlite_file
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.vectors import layout_of
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import NEW, REPEATED, Place, plan
from tests.collector.siege import ROOT, Service, tally_now

Harm = Callable[[Path], object]


def beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def elsewhere(path: Path) -> Path:
    return path.with_suffix(".moved")


def replaced(path: Path) -> None:
    """Another store takes the name, as by a restore while the collector runs."""
    other = path.with_suffix(".other")
    SqliteStore(other).close()
    other.rename(path)


def log_replaced(path: Path) -> None:
    beside(path, "-wal").unlink()
    beside(path, "-wal").touch()


HARMS: dict[str, Harm] = {
    "deleted": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(elsewhere(path)),
    "replaced": replaced,
    "log deleted": lambda path: beside(path, "-wal").unlink(),
    "log replaced": log_replaced,
    "all renamed": lambda path: [
        beside(path, end).rename(elsewhere(beside(path, end))) for end in ("", "-wal", "-shm")
    ],
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "hush.db")
    opened.add_plan(plan())
    yield opened
    opened.close()


def after_a_kill(path: Path, folder: Path) -> int:
    """Return how many reports the next start would find, whole: copy what the names lead to, as it is now."""
    folder.mkdir()
    for end in ("", "-wal"):
        if beside(path, end).exists():
            # Another process copies: this one would lose the locks of SQLite by closing the file.
            subprocess.run(["cp", str(beside(path, end)), str(folder)], check=True)  # noqa: S603, S607
    try:
        with Place(f"sqlite://{folder / path.name}").opened() as found:
            if not found.plans():
                return 0
            kept = [report for body in found.bodies(plan()) for report in formats.split(plan(), body.body)]
            return min(len(kept), found.tally(plan()).reports)
    except (StoreError, ValueError):
        return 0


# -- the names of the file


@pytest.mark.parametrize("harm", HARMS)
def test_nothing_is_acknowledged_that_the_next_start_would_not_find(
    store: SqliteStore, harm: str, tmp_path: Path
) -> None:
    made = places.singles(places.reports(5))
    assert store.commit(made[:2]) == [NEW] * 2
    assert after_a_kill(store.path, tmp_path / "before") == 2
    HARMS[harm](store.path)
    for _ in range(2):
        with pytest.raises(StoreError, match="nothing is counted"):
            store.commit(made[2:])
    with pytest.raises(StoreError, match="nothing is counted"):
        store.check()
    with pytest.raises(StoreError, match="nothing is counted"):
        store.add_plan(plan("second"))
    assert store.tally(plan()).reports == 2  # reading goes on


@pytest.mark.parametrize("harm", HARMS)
def test_without_that_check_reports_would_be_lost(
    store: SqliteStore, harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file.Locked, "check", lambda _: None)
    made = places.singles(places.reports(1000))
    store.commit(made[:-3])
    store._db.execute("pragma wal_checkpoint(truncate)")  # as SQLite does it once in a while
    HARMS[harm](store.path)
    assert store.commit(made[-3:]) == [NEW] * 3
    assert after_a_kill(store.path, tmp_path / "after") < 1000


def test_a_file_that_is_back_is_written_again(store: SqliteStore) -> None:
    made = places.singles(places.reports(3))
    store.commit(made[:1])
    store.path.rename(elsewhere(store.path))
    with pytest.raises(StoreError):
        store.commit(made)
    elsewhere(store.path).rename(store.path)
    assert store.commit(made) == [REPEATED, NEW, NEW]


def test_a_file_that_goes_in_the_middle_of_a_commit(store: SqliteStore, tmp_path: Path) -> None:
    """It is written, and not acknowledged. If the file comes back, the report is there, once."""
    made = places.singles(places.reports(2))
    check, calls = store._files.check, iter([False, True])

    def late() -> None:
        if next(calls, False):
            store.path.rename(elsewhere(store.path))
        check()

    store._files.check = late  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="cannot be found"):
        store.commit(made)
    elsewhere(store.path).rename(store.path)
    assert store.commit(made) == [REPEATED] * 2
    assert store.tally(plan()) == places.tally_of(plan(), [one.report for one in made])
    assert after_a_kill(store.path, tmp_path / "after") == 2


def test_closing_saves_what_is_in_a_log_that_lost_its_name(store: SqliteStore) -> None:
    store.commit(places.singles(places.reports(3)))
    beside(store.path, "-wal").unlink()
    store.close()
    with Place(f"sqlite://{store.path}").opened() as again:
        assert again.tally(plan()).reports == 3


def test_a_log_without_its_database_is_left_alone(store: SqliteStore, tmp_path: Path) -> None:
    """SQLite would make an empty database, and remove the log, in which acknowledged reports may be."""
    store.commit(places.singles(places.reports(3)))
    other = tmp_path / "other"
    other.mkdir()
    log = other / "hush.db-wal"
    subprocess.run(["cp", str(beside(store.path, "-wal")), str(log)], check=True)  # noqa: S603, S607
    size = log.stat().st_size
    for _ in range(2):
        with pytest.raises(StoreError, match="without its database"):
            SqliteStore(other / "hush.db")
        assert log.stat().st_size == size > 0


# -- the lock


def test_nothing_beside_the_file_is_the_lock(store: SqliteStore) -> None:
    """Only the database and what SQLite puts beside it: no file can be removed to get in."""
    assert {path.name for path in store.path.parent.iterdir()} == {"hush.db", "hush.db-wal", "hush.db-shm"}


def test_a_second_store_in_one_process_leaves_the_locks_of_the_first(store: SqliteStore) -> None:
    """Had it opened and closed the file, SQLite would have lost its locks, and others could remove the log in use."""
    for _ in range(2):
        with pytest.raises(StoreError, match="open already"):
            SqliteStore(store.path)
    store.commit(places.singles(places.reports(2)))
    subprocess.run([sys.executable, "-c", READ, str(store.path)], check=True)  # noqa: S603
    assert beside(store.path, "-wal").exists()  # the last to leave removes it: SQLite knows that we are here
    assert store.commit(places.singles(places.reports(2))) == [NEW] * 2


def test_a_handle_that_is_closed_would_lose_the_log(store: SqliteStore) -> None:
    """The twin: this is why nothing here opens the file a second time."""
    store.commit(places.singles(places.reports(2)))
    os.close(os.open(store.path, os.O_RDONLY))
    subprocess.run([sys.executable, "-c", READ, str(store.path)], check=True)  # noqa: S603
    assert not beside(store.path, "-wal").exists()
    with pytest.raises(StoreError, match="cannot be found"):  # and even then nothing is acknowledged
        store.commit(places.singles(places.reports(2)))


READ = (
    "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('select * from plans').fetchall(); db.close()"
)


def test_a_hard_link_is_refused(store: SqliteStore) -> None:
    link = store.path.with_name("link.db")
    link.hardlink_to(store.path)
    with pytest.raises(StoreError, match="open already"):
        SqliteStore(link)
    assert store.commit(places.singles(places.reports(1))) == [NEW]
    store.close()
    for path in (link, store.path):  # a log that a kill leaves would lie beside one of the two
        with pytest.raises(StoreError, match="2 names"):
            SqliteStore(path)
    link.unlink()
    with Place(f"sqlite://{store.path}").opened() as again:
        assert again.tally(plan()).reports == 1


def test_a_link_to_the_file_leads_to_the_file(store: SqliteStore) -> None:
    link = store.path.with_name("link.db")
    link.symlink_to(store.path)
    with pytest.raises(StoreError, match="open already"):
        SqliteStore(link)


# -- others who write


class Stranger(SqliteStore):
    """A second writer that got past the lock, as on a file system that has none."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_file, "_lock", lambda _: None)
            patch.setattr(sqlite_file, "_held", set())
            super().__init__(path)


def two_writers(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[Report]]:
    """Let two commit the same reports by turns; return what became of them."""
    other, made = Stranger(store.path, monkeypatch), places.reports(40)
    outcomes = []
    for start in range(0, 40, 4):
        some = places.singles(made[start : start + 4])
        outcomes += [*store.commit(some[:3]), *other.commit(some[1:]), *store.commit(some)]
    other._db.close()
    return outcomes, made


def test_two_writers_lose_nothing_and_count_nothing_twice(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outcomes, made = two_writers(store, monkeypatch)
    assert (outcomes.count(NEW), outcomes.count(REPEATED)) == (40, 60)
    assert after_a_kill(store.path, tmp_path / "after") == 40
    store.commit([])
    assert store.tally(plan()) == places.tally_of(plan(), made)


def test_two_writers_who_do_not_look_are_caught(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "writes_of_others", lambda _: 0)
    outcomes, _ = two_writers(store, monkeypatch)
    assert outcomes.count(NEW) > 40


def run_sql(path: Path, statement: str) -> None:
    """Change the database from another process."""
    script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.execute(sys.argv[2])"
    subprocess.run([sys.executable, "-c", script, str(path), statement], check=True)  # noqa: S603


def test_what_another_program_wrote_is_seen(store: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    made = places.singles(places.reports(4))
    store.commit(made[:2])
    run_sql(store.path, "vacuum")  # as operators do
    assert store.commit(made[:3]) == [REPEATED, REPEATED, NEW]
    run_sql(store.path, "delete from runs")  # what was done to the file is done: memory is not put over it
    assert store.commit(made[3:]) == [NEW]
    assert store.commit(made[:1]) == [NEW]
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    run_sql(store.path, "update plans set open = 0")
    assert store.commit(made[:1]) == [places.CLOSED]
    run_sql(store.path, "pragma application_id = 7")
    with pytest.raises(StoreError, match="another program"):
        store.commit(made[:1])
    run_sql(store.path, f"pragma application_id = {sqlite_file.APPLICATION}")
    assert store.commit(made[:1]) == [places.CLOSED]
    run_sql(store.path, "delete from plans")
    assert store.commit(made[:1]) == [places.UNKNOWN]
    assert store.plans() == []


def test_ones_own_commits_are_not_taken_for_others(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are readers, copies and checkpoints of one's own: everything is read once."""
    monkeypatch.setattr(store, "_load", lambda: pytest.fail("read again"))
    store._db.execute("pragma wal_autocheckpoint = 10")
    for _ in range(30):
        assert store.commit(places.singles(places.reports(3))) == [NEW] * 3
        store.check()
    subprocess.run([sys.executable, "-c", READ, str(store.path)], check=True)  # noqa: S603
    run_sql(store.path, f"vacuum into '{store.path.with_suffix('.copy')}'")
    assert store.commit(places.singles(places.reports(3))) == [NEW] * 3


PUT_BACK = "update plans set tally = x'{}'"


def test_what_is_shown_is_what_the_file_has(store: SqliteStore) -> None:
    """Another program has put back an earlier tally: memory is not shown, nor written over it."""
    plan = places.plan()
    store.commit(places.singles(places.reports(3)))
    early = store._vectors[1]
    store.commit(places.singles(places.reports(4)))
    run_sql(store.path, PUT_BACK.format(layout_of(plan).encode(early).hex()))
    assert store.reveal(plan, 0, 1).reports == 3
    assert store.tally(plan).reports == 3
    run_sql(store.path, PUT_BACK.format(layout_of(plan).encode(0 * early).hex()))
    run_sql(store.path, "delete from shown")
    store.commit([])
    assert store.reveal(plan, 0, 1).reports == 0


def test_a_program_that_holds_the_database_is_waited_for_and_not_for_ever(store: SqliteStore) -> None:
    store._db.execute("pragma busy_timeout = 50")
    sent = places.singles(places.reports(2))
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(StoreError, match="locked"):
        store.commit(sent)
    other.execute("rollback")
    other.close()
    assert store.commit(sent) == [NEW, NEW]


# -- whose file it is


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    for name, statement in (("tables.db", "create table t (x)"), ("id.db", "pragma application_id = 7")):
        db = sqlite3.connect(tmp_path / name)
        db.execute(statement)
        db.commit()
        db.close()
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError, match="another program"):
            SqliteStore(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        assert not beside(tmp_path / name, "-wal").exists()


def test_an_empty_file_is_taken(tmp_path: Path) -> None:
    (tmp_path / "none.db").touch()
    sqlite3.connect(tmp_path / "empty.db").executescript("create table t (x); drop table t; vacuum").close()
    for name in ("none.db", "empty.db"):
        SqliteStore(tmp_path / name).close()
        db = sqlite3.connect(tmp_path / name)
        assert db.execute("pragma application_id").fetchone() == (int.from_bytes(b"hush", "big"),)
        db.close()


def test_a_store_that_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        SqliteStore(tmp_path / "hush.db", create=False)
    with pytest.raises(StoreError, match="no such folder"):
        SqliteStore(tmp_path / "none" / "hush.db")
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_may_read_the_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "hush.db")
    finally:
        os.umask(before)
    store.add_plan(plan())
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "hush.db": 0o600,
        "hush.db-wal": 0o600,
        "hush.db-shm": 0o600,
    }
    store.close()
    assert caplog.records == []
    (tmp_path / "hush.db").chmod(0o640)  # somebody may have wanted that, for copies: it is said, and not changed
    with caplog.at_level(logging.WARNING):
        SqliteStore(tmp_path / "hush.db").close()
    assert "chmod 600 hush.db*" in caplog.text
    assert (tmp_path / "hush.db").stat().st_mode & 0o777 == 0o640


# -- real processes


def post(service: Service, report: Report) -> int:
    return ask(service, "POST", f"/plans/{plan().id}/reports", report.encode(), {"Content-Type": formats.REPORT})


def ask(
    service: Service, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> int:
    assert service.address is not None
    with closing(http.client.HTTPConnection(*service.address, timeout=60)) as connection:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        response.read()
        return response.status


def hush(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hush", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)  # noqa: S603


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    started = Service(f"sqlite://{tmp_path / 'hush.db'}", tmp_path)
    started.start()
    yield started
    started.close()


def test_a_second_collector_is_refused_by_whatever_name(service: Service, tmp_path: Path) -> None:
    path, link = tmp_path / "hush.db", tmp_path / "link.db"
    assert post(service, places.reports(1)[0]) == 202
    beside(path, ".lock").touch()  # older versions locked this one
    beside(path, ".lock").unlink()
    link.hardlink_to(path)
    for name in (path, link):
        for command in (["serve", "--port", "0"], ["export", "-o", str(tmp_path / "out")], ["compact"]):
            found = hush(*command, "--store", f"sqlite://{name}")
            assert found.returncode == 4
            assert "another process has this store open" in found.stderr
    assert post(service, places.reports(1)[0]) == 202
    service.stop(signal.SIGKILL)
    found = hush("serve", "--port", "0", "--store", f"sqlite://{link}")
    assert found.returncode == 4
    assert "2 names (hard links)" in found.stderr
    link.unlink()
    service.start()
    assert tally_now(service).reports == 2


@pytest.mark.parametrize("harm", ["deleted", "renamed", "replaced", "log deleted"])
def test_a_running_collector_acknowledges_only_what_is_found_again(service: Service, tmp_path: Path, harm: str) -> None:
    """The file is taken away under a real collector. It is killed; a start on what the names lead to has all of it."""
    path, made = tmp_path / "hush.db", places.reports(6)
    assert [post(service, report) for report in made[:3]] == [202] * 3
    HARMS[harm](path)
    assert [post(service, report) for report in made[3:]] == [503] * 3
    assert (ask(service, "GET", "/healthz"), ask(service, "GET", "/readyz")) == (200, 503)
    if harm == "renamed":
        elsewhere(path).rename(path)
        assert [post(service, report) for report in made[3:]] == [202] * 3
        service.stop(signal.SIGKILL)
        service.start()
        assert tally_now(service) == places.tally_of(plan(), made)
    if harm == "log deleted":  # an end in good order brings what the log has into the database
        assert service.stop(signal.SIGTERM) == 0
        service.start()
        assert tally_now(service) == places.tally_of(plan(), made[:3])


def test_a_running_collector_counts_right_while_others_write(service: Service, tmp_path: Path) -> None:
    made = places.reports(6)
    assert [post(service, report) for report in made[:3]] == [202] * 3
    run_sql(tmp_path / "hush.db", "vacuum")
    assert [post(service, report) for report in made] == [202] * 6
    service.stop(signal.SIGKILL)
    service.start()
    assert tally_now(service) == places.tally_of(plan(), made)


def test_commands_do_not_make_a_store(tmp_path: Path) -> None:
    for command in (["export", "-o", str(tmp_path / "out")], ["compact"]):
        found = hush(*command, "--store", f"sqlite://{tmp_path / 'typo.db'}")
        assert found.returncode == 4
        assert "no such file" in found.stderr
    assert not (tmp_path / "typo.db").exists()
