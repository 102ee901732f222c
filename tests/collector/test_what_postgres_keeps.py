"""What PostgreSQL writes beside the tables: the time of each commit, and the rows that broke a rule.

docs/postgres.md says what an operator must set, and what no setting helps against.
"""

from __future__ import annotations

import logging
import re
import resource
import subprocess
import tempfile
import threading
import time
import traceback
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from hush.collector.stores import postgres_connections
from hush.collector.stores.postgres import PostgresStore
from hush.collector.stores.postgres_errors import cut_warnings
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Single
from hush.errors import StoreError
from tests.collector import places
from tests.collector.places import NEW, plan
from tests.collector.postgres import Server, find_binaries

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "postgres.md"
QUICK = {"lock_timeout": "200ms", "statement_timeout": "20s"}
SEGMENT = 16 << 20  # bytes of a file of the log


# -- times


def records(server: Server, since: str) -> list[tuple[int, str, str]]:
    """Return the records of the log: where each begins, its transaction, and what it says."""
    command = [str(server.binaries / "pg_waldump"), "-p", str(server.data / "pg_wal"), "-s", since]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - it ends at the end
    found = []
    for line in told.splitlines():
        if match := re.search(r"tx:\s+(\d+), lsn: (\w+)/(\w+), .*desc: (.*)", line):
            found.append(((int(match[2], 16) << 32) + int(match[3], 16), match[1], match[4]))
    return found


def place_in_log(server: Server, needle: bytes) -> int:
    """Return where some bytes are in the log, as it counts."""
    for path in sorted((server.data / "pg_wal").iterdir()):
        if len(path.name) == 24 and (at := path.read_bytes().find(needle)) >= 0:
            return (int(path.name[8:16], 16) << 32) + int(path.name[16:], 16) * SEGMENT + at
    raise AssertionError("these bytes are not in the log")


def test_the_log_of_postgres_has_the_time_of_each_report(server: Server) -> None:
    """No setting of hush or of the server prevents it: the documents must say so."""
    if not (server.binaries / "pg_waldump").exists():
        pytest.skip("no pg_waldump here")
    made, sent = places.singles(places.reports(5)), []
    url = server.database()
    with psycopg.connect(url) as db:
        ((since,),) = db.execute("select pg_current_wal_lsn()::text").fetchall()
    with closing(PostgresStore(url)) as store:
        store.add_plan(plan())
        for one in made:
            before = time.time()
            assert store.commit([one]) == [NEW]
            sent.append((one, before, time.time()))
    found = records(server, since)
    starts, kept = [start for start, _, _ in found], log_of(server)
    for one, before, after in sent:
        assert one.report.encode() in kept  # beside the id
        writer = found[bisect_right(starts, place_in_log(server, one.id)) - 1][1]
        (said,) = [text for _, tx, text in found if tx == writer and text.startswith("COMMIT")]
        match = re.search(r"COMMIT (\S+ \S+)", said)
        assert match is not None
        moment = datetime.fromisoformat(match[1]).timestamp()  # pg_waldump prints the time of this machine
        assert before - 1 <= moment <= after + 1
    assert "no setting prevents" in DOCUMENT.read_text()


def log_of(server: Server) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((server.data / "pg_wal").iterdir()) if path.is_file())


def test_commit_times_are_not_kept_for_queries_by_default(server: Server) -> None:
    with psycopg.connect(server.database()) as db:
        assert db.execute("show track_commit_timestamp").fetchone() == ("off",)
        assert db.execute("show archive_mode").fetchone() == ("off",)


def test_the_log_of_sqlite_has_no_times(tmp_path: Path) -> None:
    """Its frames are pages: everything else in it is a page's number, the size of the file, salts and checksums."""
    path = tmp_path / "hush.db"
    with closing(SqliteStore(path)) as store:
        store.add_plan(plan())
        store.commit(places.singles(places.reports(5)))
        data = path.with_name("hush.db-wal").read_bytes()
        size = int.from_bytes(data[8:12], "big")
        assert len(data) > 32
        assert (len(data) - 32) % (24 + size) == 0
        now = int(time.time())
        heads = [data[:32], *(data[at : at + 24] for at in range(32, len(data), 24 + size))]
        salts = data[16:24]
        for head in heads[1:]:
            page, pages = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
            assert 0 < page < 10_000
            assert pages < 10_000
            assert head[8:16] == salts  # one salt for all commits since the log was emptied: it tells none apart
        assert abs(int.from_bytes(data[12:16], "big") - now) > 10**6  # the checkpoint's number


# -- rows that broke a rule


def connected(url: str, settings: dict[str, str]) -> str:
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return f"{url}&options={quote(options)}"


def documented() -> dict[str, str]:
    """Return the settings of the server's log that the document asks for."""
    found = dict(re.findall(r"alter role hush set (log_\w+) = '?([\w-]+)'?;", DOCUMENT.read_text()))
    assert set(found) == {
        "log_error_verbosity",
        "log_statement",
        "log_min_duration_statement",
        "log_parameter_max_length",
    }
    return found


@contextmanager
def held(url: str, *statements: tuple[str, tuple[Any, ...]]) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url) as db:
        for statement, values in statements:
            db.execute(statement, values)
        yield db
        db.rollback()


Path_ = Callable[[str, PostgresStore, list[Single]], None]


def row_of_an_id(url: str, store: PostgresStore, made: list[Single]) -> None:
    with psycopg.connect(url) as db:
        db.execute("alter table hush.seen add check (plan <> 1) not valid")
    store.commit(made)


def row_of_a_body(url: str, store: PostgresStore, made: list[Single]) -> None:
    with psycopg.connect(url) as db:
        db.execute("alter table hush.bodies add column later integer")
        db.execute("alter table hush.bodies add check (later is not null) not valid")
    store.commit(made)


def lock_timeout(url: str, store: PostgresStore, made: list[Single]) -> None:
    with held(url, ("insert into hush.seen values (1, %s)", (made[0].id,))):
        store.commit(made)


def statement_timeout(url: str, store: PostgresStore, made: list[Single]) -> None:
    assert store._writer is not None
    store._writer[0].execute("set statement_timeout = '100ms'")
    store._writer[0].execute("set lock_timeout = 0")
    with held(url, ("insert into hush.seen values (1, %s)", (made[0].id,))):
        store.commit(made)


def disconnected(url: str, store: PostgresStore, made: list[Single]) -> None:
    """The server ends the session while it waits."""
    assert store._writer is not None
    pid = store._writer[0].info.backend_pid
    with held(url, ("insert into hush.seen values (1, %s)", (made[0].id,))) as other:
        store._writer[0].execute("set lock_timeout = 0")
        ended = threading.Thread(target=end, args=(url, pid))
        ended.start()
        store.commit(made)
        other.rollback()
        ended.join()


def end(url: str, pid: int) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        while db.execute("select wait_event_type from pg_stat_activity where pid = %s", (pid,)).fetchone() != ("Lock",):
            pass
        db.execute("select pg_terminate_backend(%s)", (pid,))


def deadlocked(url: str, store: PostgresStore, made: list[Single]) -> None:
    """Another session has inserted the id, and waits for a lock that the commit holds."""
    assert store._writer is not None
    pid = store._writer[0].info.backend_pid
    store._writer[0].execute("set deadlock_timeout = '50ms'")
    store._writer[0].execute("set lock_timeout = 0")
    with psycopg.connect(url) as other:
        other.execute("set deadlock_timeout = '60s'")
        other.execute("insert into hush.seen values (1, %s)", (made[0].id,))
        other.execute("set lock_timeout = '30s'")

        def cross() -> None:
            with psycopg.connect(url, autocommit=True) as looking:
                query = "select wait_event_type from pg_stat_activity where pid = %s"
                while looking.execute(query, (pid,)).fetchone() != ("Lock",):
                    pass
            with suppress(psycopg.Error):
                other.execute("select pg_advisory_xact_lock(%s, 1)", (postgres_connections.PLAN,))
            other.rollback()

        crossing = threading.Thread(target=cross)
        crossing.start()
        store._writer[0].execute("set deadlock_timeout = '1s'")
        store.commit(made)
        crossing.join()


LEAKING = (row_of_an_id, row_of_a_body)  # rows that broke a rule
PATHS = (*LEAKING, lock_timeout, statement_timeout, disconnected, deadlocked)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("careful", [True, False], ids=["as documented", "by default"])
def test_no_id_and_no_report_is_in_a_log(
    server: Server, path: Path_, careful: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """By default the server's log has rows that broke a rule; hush's own never has."""
    caplog.set_level(logging.DEBUG)
    address = server.database()
    url = connected(address, QUICK | (documented() if careful else {}))
    made, told = places.singles(places.reports(2)), ""
    before = len(server.log())
    with closing(PostgresStore(url)) as store:
        store.add_plan(plan())
        store.commit(places.singles(places.reports(1)))
        try:
            path(address, store, made)
        except StoreError as error:
            told = "".join(traceback.format_exception(error))
        secrets = [one.id.hex() for one in made] + [made[0].report.encode().hex()[:40]]
        held_ = server.log()[before:].decode(errors="replace")
    assert told or path in (deadlocked, disconnected)  # these are tried again
    said = told + caplog.text
    assert "DETAIL" not in said
    assert not [secret for secret in secrets if secret in said or secret in said.replace("\\x", "")]
    assert "ERROR:" in held_ or "FATAL:" in held_
    leaked = [secret for secret in secrets if secret in held_]
    if careful or path not in LEAKING:
        assert leaked == []
        assert "Failing row" not in held_
    else:
        assert leaked


def test_values_of_failed_statements_stay_out_of_the_log_of_a_server_that_would_keep_them(server: Server) -> None:
    """hush sets this one by itself, as it may."""
    address = server.database()
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("alter system set log_parameter_max_length_on_error = -1")
        db.execute("select pg_reload_conf()")
    try:
        with psycopg.connect(address, autocommit=True) as db:
            while db.execute("show log_parameter_max_length_on_error").fetchone() != ("-1",):
                time.sleep(0.01)
        made, before = places.singles(places.reports(2)), len(server.log())
        with closing(PostgresStore(connected(address, QUICK | documented()))) as store:
            store.add_plan(plan())
            with pytest.raises(StoreError):
                row_of_an_id(address, store, made)
        kept = server.log()[before:].decode(errors="replace")
    finally:
        with psycopg.connect(address, autocommit=True) as db:
            db.execute("alter system reset log_parameter_max_length_on_error")
            db.execute("select pg_reload_conf()")
    assert "ERROR:" in kept
    assert not [one for one in made if one.id.hex() in kept]


def test_warnings_of_psycopg_are_cut(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """It logs what it drops, with the words of the error, which may have a row."""
    cut_warnings()
    with psycopg.connect(server.database()) as db:
        db.execute("create temporary table t (a text check (a <> 'secret'))")
        with pytest.raises(psycopg.errors.CheckViolation, match="secret") as caught:
            db.execute("insert into t values ('secret')")
        db.rollback()
    for name in ("psycopg", "psycopg.transaction"):
        logging.getLogger(name).warning("error ignored in rollback: %s", caught.value, exc_info=caught.value)
    assert caplog.text.count("error ignored") == caplog.text.count("violates check constraint") == 2
    assert "secret" not in caplog.text


def test_an_address_that_cannot_be_read_is_not_quoted(caplog: pytest.LogCaptureFixture) -> None:
    """It has a password."""
    for address in ("postgresql://hush:s3cretpw@[bad/hush", "postgresql://hush:s3cret%zzpw@localhost/hush"):
        with pytest.raises(StoreError, match="postgresql://USER:PASSWORD@HOST/DATABASE") as caught:
            PostgresStore(address)
        assert "s3cret" not in "".join(traceback.format_exception(caught.value)) + caplog.text


def test_the_services_that_are_shipped_keep_rows_to_themselves() -> None:
    for name in ("deploy/compose.yaml", "src/hush/cli/templates/compose.yaml"):
        text = (DOCUMENT.parent.parent / name).read_text()
        assert "log_error_verbosity=terse, -c, log_parameter_max_length=0" in text
    assert "\nUMask=0077\n" in (DOCUMENT.parent.parent / "deploy" / "hush.service").read_text()


def test_a_full_disk_puts_nothing_into_a_log(maybe_server: Server | None, tmp_path: Path) -> None:
    """A server whose files may not grow beyond a segment of the log, which is what its system says of a full disk."""
    binaries = find_binaries()
    if maybe_server is None or binaries is None:
        pytest.skip("no PostgreSQL here")
    made = places.singles(places.reports(2))
    large = [
        replace(places.binary_batch(places.reports(20)), body=made[0].report.encode() * 100_000) for _ in range(12)
    ]
    with tempfile.TemporaryDirectory(prefix="hush-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), binaries)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (SEGMENT, hard))
            try:
                server.start()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            with closing(PostgresStore(server.url("postgres"))) as store:
                store.add_plan(plan())
                with pytest.raises(StoreError, match=r"could not (extend|write)") as caught:
                    store.commit([*made, *large])
                assert store.commit(made) == [NEW] * 2
            told = "".join(traceback.format_exception(caught.value)).encode() + server.log()
        finally:
            server.kill()
    assert b"ERROR:  could not" in told
    for one in made:
        assert one.id.hex().encode() not in told
    assert made[0].report.encode().hex().encode() not in told
