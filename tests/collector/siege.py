"""A collector as a real process under load: clients that send until they are told that it is safe, and kills.

Clients send each submission until it is acknowledged, and now and then once more. Whatever happens to the server, in
the end its tally must be the sum of all submissions, each once: what was acknowledged was not lost, what was sent again
was not counted again.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hush import Report, Tally
from hush.collector import formats
from hush.collector.stores.base import Store
from hush.collector.submissions import Form
from tests.collector import places
from tests.collector.places import plan

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds


class Service:
    """`hush serve` (or another module) as a process of its own."""

    def __init__(
        self, url: str, folder: Path, module: Sequence[str] = ("hush", "serve"), more: Sequence[str] = ()
    ) -> None:
        self._url, self._folder, self._module, self._more = url, folder, module, more
        (folder / "plan.json").write_text(plan().to_json())
        self.process: subprocess.Popen[str] | None = None
        self.address: tuple[str, int] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self._folder / "errors.txt").open("a") as errors:
            options = [str(self._folder / "plan.json"), "--store", self._url, "--port", "0"]
            options += ["--open", "submit,submit-batch,read", "--reveal-every", "0s", "--reveal-least", "0"]
            options += self._more
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", *self._module, *options],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "listening on http://" in line, (self._folder / "errors.txt").read_text()[-3000:]
        host, _, port = line.split("http://")[1].strip().rpartition(":")
        self.address = host, int(port)

    def stop(self, how: signal.Signals) -> int:
        """Send a signal, wait for the end, and return the exit status as a shell would."""
        assert self.process is not None
        self.address = None
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return 128 - status if status < 0 else status

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGKILL)


@dataclass(frozen=True)
class Item:
    """Something to send, and the reports it stands for."""

    id: bytes
    body: bytes
    kind: str
    reports: tuple[Report, ...]


def items(number: int) -> list[Item]:
    """Single reports, in both forms, and batches."""
    made = iter(places.reports(3 * number))
    found = []
    for index in range(number):
        if index % 10 == 0:
            some = tuple(next(made) for _ in range(12))
            id_ = secrets.token_bytes(16)
            body = id_ + b"".join(report.encode() for report in some)
            found.append(Item(id_, body, formats.REPORTS, some))
        else:
            one = next(made)
            kind = formats.JSON if index % 2 else formats.REPORT
            found.append(Item(one.id, one.to_json().encode() if index % 2 else one.encode(), kind, (one,)))
    return found


@dataclass
class Siege:
    """Clients in threads, which send to whichever of the services listens."""

    services: Sequence[Service]
    threads: int = 8
    seed: int = 0
    sent: list[Item] = field(default_factory=list)
    acknowledged: Counter[bytes] = field(default_factory=Counter)
    news: Counter[bytes] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    broken: int = 0

    def __post_init__(self) -> None:
        self._waiting: queue.Queue[Item] = queue.Queue()
        self._ending, self._abandoned = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._random = random.Random(self.seed)
        self._feed = items(4000)
        self._clients = [
            threading.Thread(target=self._work, args=(index,), daemon=True) for index in range(self.threads)
        ]
        for client in self._clients:
            client.start()

    def _next(self) -> Item | None:
        """What to send: what is to be sent again first; then something new, unless the end has come."""
        with self._lock:
            if self._abandoned.is_set():
                return None
            with suppress(queue.Empty):
                return self._waiting.get_nowait()
            if self._ending.is_set():
                return None
            if not self._feed:
                self._feed = items(500)
            self.sent.append(self._feed.pop())
            return self.sent[-1]

    def _work(self, index: int) -> None:
        draws = random.Random(f"{self.seed}/{index}")
        connections: dict[tuple[str, int], http.client.HTTPConnection] = {}
        while (item := self._next()) is not None:
            address = draws.choice(self.services).address
            if address is None or not self._send(connections, address, item):
                time.sleep(0.01 * draws.random())
                self._waiting.put(item)
                continue
            time.sleep(0.004 * draws.random())  # the machine has other things to do as well
            if draws.random() < 0.1:
                self._waiting.put(item)  # as a client does that did not hear the answer
        for connection in connections.values():
            connection.close()

    def _send(
        self, connections: dict[tuple[str, int], http.client.HTTPConnection], address: tuple[str, int], item: Item
    ) -> bool:
        connection = connections.setdefault(address, http.client.HTTPConnection(*address, timeout=20))
        try:
            connection.request("POST", f"/plans/{plan().id}/reports", item.body, {"Content-Type": item.kind})
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            with self._lock:
                self.broken += 1
            return False
        with self._lock:
            if response.status != 202:
                self.refused[response.status] += 1
                return False
            self.acknowledged[item.id] += 1
            self.news[item.id] += json.loads(body)["new"]
        return True

    def known_reports(self) -> int:
        """How many reports have been acknowledged."""
        with self._lock:
            return sum(len(item.reports) for item in self.sent if self.acknowledged[item.id])

    def wait_for(self, more: int) -> None:
        """Wait until so many more answers have come."""
        enough, deadline = self.acknowledged.total() + more, time.monotonic() + PATIENCE
        while self.acknowledged.total() < enough:
            assert time.monotonic() < deadline, f"no answers: {self.refused}, {self.broken} broken"
            time.sleep(0.005)

    def pause(self, most: float) -> None:
        time.sleep(most * self._random.random())

    def end(self) -> None:
        """Send nothing new, and wait until everything is acknowledged."""
        self._ending.set()
        for client in self._clients:
            client.join(PATIENCE)
            assert not client.is_alive(), f"something is not acknowledged: {self.refused}, {self.broken} broken"

    def abandon(self) -> None:
        """Stop the clients, whatever is missing."""
        self._abandoned.set()
        for client in self._clients:
            client.join(PATIENCE)

    # -- what must be so in the end

    def expected(self) -> Tally:
        return places.tally_of(plan(), [report for item in self.sent for report in item.reports])

    def faults(self, store: Store) -> list[str]:
        """What is wrong with a store, in words: nothing, if all is well."""
        found, tally = [], store.tally(plan())
        if any(not self.acknowledged[item.id] for item in self.sent):
            found.append("something was never acknowledged")
        if any(number > 1 for number in self.news.values()):
            found.append("something was new twice")
        if tally != self.expected():
            found.append(f"the tally has {tally.reports} reports, and {self.expected().reports} were sent")
        kept: Counter[bytes] = Counter()
        for stored in store.bodies(plan()):
            assert stored.form is Form.REPORTS
            kept.update(report.id for report in formats.split(plan(), stored.body))
        everything = Counter(report.id for item in self.sent for report in item.reports)
        if lost := everything - kept:
            found.append(f"{lost.total()} reports are lost")
        if extra := kept - everything:
            found.append(f"{extra.total()} reports are there twice")
        return found


def tally_now(service: Service) -> Tally:
    """The tally, as the service tells it."""
    assert service.address is not None
    connection = http.client.HTTPConnection(*service.address, timeout=20)
    connection.request("GET", f"/plans/{plan().id}/tally")
    found = Tally.from_json(connection.getresponse().read(), plan())
    connection.close()
    return found
