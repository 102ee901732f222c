"""The way by a relay: some people's reports go sealed through a real one, and the batches of all others in memory.

Sealing and opening a report takes a fraction of a millisecond with a library, so a million of them take many minutes.
A relay in a process of its own takes those of `SEALED` people. The others are randomised by the batch engine and
grouped as the relay would do it, each group with own reports that the relay's own code draws. Order does not matter to
counts, so the collector takes the counts of each group, as from another collector.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from hush import batch
from hush.collector import formats
from hush.collector.opening import Opener
from hush.core.plan import Plan
from hush.core.report import ID_SIZE
from hush.demo.people import SCHEMA
from hush.demo.service import DemoError, Service, server_at
from hush.device.client import Client
from hush.device.ledger import Ledger
from hush.device.network import OCTETS
from hush.device.randomise import randomise
from hush.planning.designs import design
from hush.planning.shuffle import shuffle
from hush.relay.mixing import own_reports, seal
from hush.server.tally import Tally

SEALED = 20_000  # people whose reports are sealed, at most
DEVICES = 100  # of them, each in a request of its own, sealed in plain Python
TOGETHER = 500  # others in a request
LEAST = 10_000  # people in a batch
OWN = 150  # reports that the relay adds to a batch
CENTRAL, DELTA, LOCAL = 1.0, 1e-8, 4.0
PATIENCE = 120.0  # seconds until a batch must have arrived
GLANCE = 0.05

Tell = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Division:
    """How many people go which way, in batches of these sizes."""

    sealed: tuple[int, ...]
    mixed: tuple[int, ...]

    @classmethod
    def of(cls, people: int) -> Division:
        """Divide people so that no batch is smaller than the least."""
        sealed = people if people < SEALED + LEAST else SEALED
        return cls(_batches(sealed), _batches(people - sealed))

    @property
    def least(self) -> int:
        """The size of the smallest batch."""
        return min((*self.sealed, *self.mixed))


def _batches(people: int) -> tuple[int, ...]:
    """Return sizes of at least the least, or of all people if they are fewer."""
    if not people:
        return ()
    count = max(people // LEAST, 1)
    return (*[LEAST] * (count - 1), people - LEAST * (count - 1))


def plan_of(division: Division, local: float, title: str) -> Plan:
    """Return the plan: as precise as both promises permit."""
    if division.least < 2:
        raise DemoError("--relay needs 2 people or more: a batch of one hides nobody")
    return design(SCHEMA, central=CENTRAL, delta=DELTA, crowd=division.least, local=local, title=title)


def promises(plan: Plan, division: Division) -> list[str]:
    """Return both promises in words."""
    crowd, own = shuffle(plan, delta=DELTA, crowd=division.least), shuffle(plan, delta=DELTA, own=OWN)
    return [
        *str(crowd).splitlines(),
        "",
        f"If all others lie, the {OWN} reports that the relay adds to each batch still hold it to an epsilon of "
        f"{own.epsilon:.3f}.",
    ]


@contextmanager
def relaying(service: Service, key: str, least: int) -> Iterator[str]:
    """Run `hush relay` as a process of its own, and yield its address."""
    with TemporaryDirectory(prefix="hush-relay-") as folder:
        path = Path(folder) / "plan.json"
        path.write_text(service.plan.to_json())
        command = [sys.executable, "-m", "hush", "relay", str(path), "--collector", service.address, "--key", key]
        mix = ["--least", str(least), "--own", str(OWN), "--every", "0.1s", "--rate", "0"]
        where = ["--store", str(Path(folder) / "relay.db"), "--port", "0", "--json"]
        with subprocess.Popen([*command, *mix, *where], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line:
                    raise DemoError("the relay did not start")
                yield json.loads(line)["address"]
            finally:
                process.terminate()


def collect(service: Service, secret: bytes, population: pa.Table, division: Division, tell: Tell) -> list[str]:
    """Let all people answer, each way, and return what happened in words."""
    sealed = sum(division.sealed)
    start = time.perf_counter()
    took = _through(service, secret, population.slice(0, sealed), division, tell)
    middle = time.perf_counter()
    rest = population.num_rows - sealed
    _in_memory(service, population.slice(sealed), division, tell)
    lines = [
        f"{sealed:,} people sealed their reports for the collector: {min(DEVICES, sealed):,} as devices do, in plain "
        f"Python, the others with a library. A relay in a process of its own mixed them in {_count(division.sealed)} "
        f"with {OWN} own reports each, and sent them on, in {middle - start:.1f} s.",
    ]
    if rest:
        lines.append(
            f"The reports of {rest:,} people were not sealed, which would take {took * rest / 60:.0f} min. They were "
            f"mixed in memory, in {_count(division.mixed)} with {OWN} own reports each, and the collector took their "
            f"counts, in {time.perf_counter() - middle:.1f} s."
        )
    return lines


def _count(batches: tuple[int, ...]) -> str:
    return "one batch" if len(batches) == 1 else f"{len(batches):,} batches"


def _through(service: Service, secret: bytes, people: pa.Table, division: Division, tell: Tell) -> float:
    """Send people's reports through a relay; return the seconds that each took."""
    plan, key = service.plan, Opener(secret).key
    n, done, start = int(people.num_rows), 0, time.perf_counter()
    with relaying(service, key.public.hex(), min(division.sealed)) as address, TemporaryDirectory() as folder:
        relay = server_at("relay", address)
        for size in division.sealed:
            rows = people.slice(done, size).to_pylist()
            alone = 0 if done else min(DEVICES, size)
            for person, record in enumerate(rows[:alone]):
                tell("sealing", done + person, n)
                ledger = Ledger(Path(folder) / f"{person}.db", cap=plan.cost)
                Client(service.address, relay=address, key=key, ledger=ledger).answer(plan, record)
            for first in range(alone, size, TOGETHER):
                tell("sealing", done + first, n)
                some = [seal(randomise(plan, record), key) for record in rows[first : first + TOGETHER]]
                relay.send(f"/sealed/{plan.id}", b"".join(some), OCTETS, {"Hush-Key": key.public.hex()})
            done += size
            _arrived(service, done)
    return (time.perf_counter() - start) / n


def _arrived(service: Service, people: int) -> None:
    """Wait until the collector has counted this many people."""
    deadline = time.monotonic() + PATIENCE
    while service.count < people:
        if time.monotonic() > deadline:
            raise DemoError("a batch of the relay did not arrive")
        time.sleep(GLANCE)


def _in_memory(service: Service, people: pa.Table, division: Division, tell: Tell) -> None:
    """Randomise people, add own reports to each batch, and hand the counts to the collector."""
    plan, done = service.plan, 0
    for size in division.mixed:
        tell("mixing in memory", done, people.num_rows)
        own = Tally(plan)
        own.update(own_reports(plan, OWN))
        own.own = OWN
        counts = batch.tally(plan, batch.randomise(plan, people.slice(done, size)))
        body = (counts + own).encode()
        identity = {"Hush-Batch": secrets.token_hex(ID_SIZE)}
        service.asked.send(f"/plans/{plan.id}/tally", body, formats.TALLY, identity)
        done += size
