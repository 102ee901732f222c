"""A relay writes neither addresses nor times, nor the order in which reports came."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hush.relay import store as store_module
from hush.relay.store import RelayStore
from tests.relay.relayed import KEY, PATIENCE, PLAN, sealed_reports

ROOT = Path(__file__).parents[2]
ADDRESS = "127.0.0.77"  # an address of this machine that nothing else here uses
ELSEWHERE = "203.0.113.77"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")


def test_the_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = RelayStore(tmp_path / "relay.db", KEY)
        store.commit([(PLAN.id, sealed_reports(2)[1])])
        found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert found == {"relay.db": 0o600, "relay.db-wal": 0o600, "relay.db-shm": 0o600}


def started(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Return `hush relay` as a process, and its port."""
    (folder / "plan.json").write_text(PLAN.to_json())
    command = [sys.executable, "-m", "hush", "relay", str(folder / "plan.json"), "--key", KEY.public.hex()]
    command += ["--collector", "http://127.0.0.1:9", "--least", "3", "--own", "2", "--port", "0", "--every", "1s"]
    command += ["--store", str(folder / "relay.db"), "--rate", "100", "--forwarded", "127.0.0.1"]
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=errors,
            text=True,
        )  # fmt: skip
    assert process.stdout is not None
    found = re.search(r":(\d+)$", process.stdout.readline().strip())
    assert found is not None, (folder / "errors.txt").read_text()
    return process, int(found[1])


def send(port: int, own: int, bodies: Sequence[bytes], **headers: str) -> list[int]:
    """Send bodies from a port of `ADDRESS`; return the status of each answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(ADDRESS, own))
    found = []
    for body in bodies:
        head = {"Content-Type": "application/octet-stream", "X-Forwarded-For": ELSEWHERE, **headers}
        head["Hush-Key"] = KEY.public.hex()
        connection.request("POST", f"/sealed/{PLAN.id}", body, head)
        response = connection.getresponse()
        response.read()
        found.append(response.status)
    connection.close()
    return found


def free_port() -> int:
    with socket.create_server((ADDRESS, 0)) as server:
        return int(server.getsockname()[1])


def test_neither_files_nor_logs_have_addresses(tmp_path: Path) -> None:
    process, port = started(tmp_path)
    sealed, own = sealed_reports(5)[1], free_port()
    try:
        assert send(port, own, [*sealed, b"garbage", sealed[0], *[bytes(3)] * 3]) == [202] * 5 + [422, 202] + [422] * 3
        with socket.create_connection(("127.0.0.1", port), PATIENCE, (ADDRESS, 0)) as connection:
            connection.sendall(b"garbage\r\n\r\n")
            connection.recv(1000)
    finally:
        process.send_signal(signal.SIGKILL)  # the log of the database stays as it is
        process.wait(PATIENCE)
        assert process.stdout is not None
        process.stdout.close()
    files = [path for path in tmp_path.iterdir() if path.name != "plan.json"]
    assert {"errors.txt", "relay.db", "relay.db-wal"} <= {path.name for path in files}
    content = b"\0".join(path.read_bytes() for path in files)
    assert any(one in content for one in sealed), "this search finds what is there"
    words = [ADDRESS.encode(), ELSEWHERE.encode(), str(own).encode()]
    for needle in [*words, socket.inet_aton(ADDRESS), socket.inet_aton(ELSEWHERE)]:
        assert needle not in content


def test_the_file_has_no_times_and_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same reports, taken in another order and in other requests, leave the same rows."""
    sealed = sealed_reports(30)[1]
    monkeypatch.setattr(store_module, "token_bytes", bytes)  # the key of the file
    dumps = []
    for name, groups in (("one", [sealed]), ("two", [sealed[::-1][i : i + 1] for i in range(30)])):
        store = RelayStore(tmp_path / name, KEY)
        for group in groups:
            store.commit([(PLAN.id, group)])
        store.close()
        with sqlite3.connect(tmp_path / name) as db:
            dumps.append(list(db.iterdump()))
            columns = [name for (name,) in db.execute("select name from pragma_table_info('waiting')")]
            with pytest.raises(sqlite3.OperationalError, match="rowid"):
                db.execute("select rowid from waiting")
        db.close()
        assert columns == ["plan", "hash", "key", "sealed"]
    assert dumps[0] == dumps[1]


def test_reports_are_gone_once_they_are_in_a_batch(tmp_path: Path) -> None:
    store = RelayStore(tmp_path / "relay.db", KEY)
    sealed = sealed_reports(3)[1]
    store.commit([(PLAN.id, sealed)])
    batch = store.make(PLAN.id, 3, 10, lambda _: b"a batch")
    assert batch is not None
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(one in content for one in sealed)
    assert b"a batch" in content
    store.acknowledged(PLAN.id, batch.id)
    assert not any(b"a batch" in path.read_bytes() for path in tmp_path.iterdir())
    store.close()
