"""Nothing that a relay acknowledged is lost, and nothing is counted twice, however often relay or collector is killed.

Real processes and real sockets. Each kill comes at a random moment under load. `HUSH_KILLS=100` makes long runs;
without it there are 4 kills.
"""

from __future__ import annotations

import http.client
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import hush
from hush.collector import formats
from hush.collector.stores.sqlite import SqliteStore
from hush.relay.mixing import seal
from tests.relay.relayed import KEY, OPENER, PLAN, RECORD, SECRET

KILLS = int(os.environ.get("HUSH_KILLS", "4"))
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
LEAST, OWN = 8, 3


class Service:
    """A command of hush as a process, always on the same port."""

    def __init__(self, folder: Path, name: str, module: Sequence[str], port: int) -> None:
        self._folder, self._name, self.port = folder, name, port
        self._command = [sys.executable, "-m", *module, "--port", str(port)]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        with (self._folder / f"{self._name}.txt").open("a") as errors:
            self.process = subprocess.Popen(  # noqa: S603
                self._command,
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "listening on" in line, (self._folder / f"{self._name}.txt").read_text()[-3000:]

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


class Devices:
    """Threads that send sealed reports to a relay until it acknowledges them, and now and then once more."""

    def __init__(self, port: int, threads: int = 3) -> None:
        self._port, self._end, self._lock = port, threading.Event(), threading.Lock()
        self.sent: list[hush.Report] = []
        self.acknowledged = 0
        self._threads = [threading.Thread(target=self._work, args=(i,), daemon=True) for i in range(threads)]
        for thread in self._threads:
            thread.start()

    def _work(self, seed: int) -> None:
        draws = random.Random(seed)
        while not self._end.is_set():
            report = hush.randomise(PLAN, RECORD)
            with self._lock:
                self.sent.append(report)
            sealed = seal(report, KEY)
            for _ in range(2 if draws.random() < 0.2 else 1):
                while not self._send(sealed):
                    time.sleep(0.02)
            with self._lock:
                self.acknowledged += 1
            time.sleep(0.1 * draws.random())  # few reports: small batches, and so many of them

    def _send(self, sealed: bytes) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        try:
            head = {"Content-Type": "application/octet-stream", "Hush-Key": KEY.public.hex()}
            connection.request("POST", f"/sealed/{PLAN.id}", sealed, head)
            return connection.getresponse().status == 202
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def wait_for(self, more: int) -> None:
        enough, end = self.acknowledged + more, time.monotonic() + PATIENCE
        while self.acknowledged < enough:
            assert time.monotonic() < end, "no answers"
            time.sleep(0.01)

    def end(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "something is not acknowledged"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def services(folder: Path, relay: Sequence[str] = ("hush", "relay")) -> tuple[Service, Service]:
    (folder / "plan.json").write_text(PLAN.to_json())
    (folder / "key").write_text(SECRET.hex())
    one, two = free_port(), free_port()
    serve = ["hush", "serve", str(folder / "plan.json"), "--store", f"sqlite://{folder / 'hush.db'}", "--sealed-only"]
    serve += ["--sealed-key", str(folder / "key"), "--open", "submit-batch,read"]
    forward = [*relay, str(folder / "plan.json"), "--collector", f"http://127.0.0.1:{one}", "--every", "0.05s"]
    forward += ["--key", KEY.public.hex(), "--least", str(LEAST), "--own", str(OWN)]
    forward += ["--store", str(folder / "relay.db"), "--rate", "0"]
    return Service(folder, "collector", serve, one), Service(folder, "relay", forward, two)


def is_done(folder: Path) -> bool:
    """Whether no batch waits, and too few reports for one."""
    with suppress(sqlite3.OperationalError):
        db = sqlite3.connect(folder / "relay.db")
        (batches,) = db.execute("select count(*) from batches").fetchone()
        (held,) = db.execute("select count(*) from waiting").fetchone()
        db.close()
        return bool(batches == 0 and held < LEAST)
    return False


def siege(folder: Path, kills: int, relay: Sequence[str] = ("hush", "relay")) -> list[str]:
    """Kill relay and collector in turn; return what is wrong in the end, in words."""
    both, draws = services(folder, relay), random.Random(1)
    devices = None
    try:
        for service in both:
            service.start()
        devices = Devices(both[1].port)
        for number in range(kills):
            devices.wait_for(12)
            time.sleep(2.0 * draws.random())
            both[number % 2].stop()
            time.sleep(0.1 * draws.random())
            both[number % 2].start()
        devices.end()
        end = time.monotonic() + PATIENCE
        while not is_done(folder) and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        if devices is not None:
            devices._end.set()
        for service in both[::-1]:
            service.stop(signal.SIGTERM)
    return faults(folder, devices.sent)


def faults(folder: Path, sent: Sequence[hush.Report]) -> list[str]:
    found: list[str] = []
    store = SqliteStore(folder / "hush.db")
    there = Counter(
        report.id for stored in store.bodies(PLAN) for report in formats.split(PLAN, stored.body)
    )  # as the collector has them
    tally = store.tally(PLAN)
    store.close()
    db = sqlite3.connect(folder / "relay.db")
    rows = db.execute("select sealed from waiting").fetchall()
    (batches,) = db.execute("select count(*) from batches").fetchone()
    db.close()
    held = Counter(OPENER.open(PLAN, sealed).id for (sealed,) in rows)
    if batches:
        found.append("a batch is left")
    everything = Counter(report.id for report in sent)
    if lost := everything - (there + held):
        found.append(f"{lost.total()} are lost")
    people = Counter({id_: count for id_, count in (there + held).items() if id_ in everything})
    if doubled := people - everything:
        found.append(f"{doubled.total()} are there twice")
    own = there.total() - sum(count for id_, count in there.items() if id_ in everything)
    if own != tally.own or own % OWN:
        found.append(f"{own} own reports are there, and {tally.own} were stated")
    if tally.reports != there.total():
        found.append("the tally has another number of reports")
    print(f"{len(sent)} reports, {own} own ones, {held.total()} held")
    return found


def test_kill_relay_and_collector(tmp_path: Path) -> None:
    assert siege(tmp_path, KILLS) == []


@pytest.mark.parametrize("how", ["early", "forgetful"])
def test_a_careless_relay_is_caught(how: str, tmp_path: Path) -> None:
    """The same siege on a relay that acknowledges before it has written, or deletes a batch before it is received."""
    assert any("lost" in fault for fault in siege(tmp_path, 4, ("tests.relay.careless", how)))
