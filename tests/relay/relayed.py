"""A collector and a relay on real sockets, in threads, for as long as a test needs them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import hush
from hush.collector.opening import Opener
from hush.collector.serve import listen
from hush.collector.settings import LOCAL, Settings
from hush.device.randomise import randomise
from hush.relay.forwarding import Mix
from hush.relay.mixing import seal
from hush.relay.serve import make_server
from hush.relay.store import MOST, RelayStore
from tests.collector.served import Served, anybody, serving

SECRET = bytes(range(32))
OPENER = Opener(SECRET)
KEY = OPENER.key
SCHEMA = hush.Schema([hush.Numeric("age", 0, 120), hush.Categorical("os", ["linux", "mac", "other"])])
PLAN = hush.design(SCHEMA, 4.0, title="relayed")
OTHER = hush.design(SCHEMA, 2.0, title="another")
RECORD: dict[str, Any] = {"age": 41, "os": "mac"}
OCTETS = {"content-type": "application/octet-stream", "hush-key": KEY.public.hex()}
PATIENCE = 30.0  # seconds


def sealed_reports(number: int, plan: hush.Plan = PLAN) -> tuple[list[hush.Report], list[bytes]]:
    """Reports, and their sealed forms."""
    made = [randomise(plan, RECORD) for _ in range(number)]
    return made, [seal(report, KEY) for report in made]


@dataclass
class Relayed:
    """A running relay."""

    url: str
    store: RelayStore
    client: httpx.Client
    server: Any

    def post(self, body: bytes, plan: hush.Plan = PLAN, **headers: str) -> httpx.Response:
        return self.client.post(f"/sealed/{plan.id}", content=body, headers=OCTETS | headers)


def device(path: Path, name: str, collector: str, relay: str, key: hush.CollectorKey = KEY) -> hush.Client:
    """The client of a person with a ledger of their own."""
    ledger = hush.Ledger(path / f"{name}.device", cap=10)
    return hush.Client(collector, relay=relay, key=key, ledger=ledger, attempts=1)


@contextmanager
def relaying(
    path: Path,
    collector: str,
    *,
    least: int = 10,
    own: int = 0,
    every: float = 0.05,
    ask: float = 0.05,
    port: int = 0,
    key: hush.CollectorKey = KEY,
    most: int = MOST,
    plans: Sequence[hush.Plan] = (),
    **named: Any,
) -> Iterator[Relayed]:
    """Run a relay on a free port, or on one that a collector was told before."""
    store = RelayStore(path / "relay.db", key, most)
    ready = threading.Event()
    settings = Settings(hosts=LOCAL, max_body=1 << 20, **named)
    mix = Mix(key, least, own)
    server = make_server(
        store, plans or [PLAN, OTHER], mix, collector, settings, every=every, ask=ask, ready=lambda _: ready.set()
    )
    listening = listen("127.0.0.1", port)
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        # There are no certificates to verify, and reading those of the system takes longer than starting the server.
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False, verify=False) as client:  # noqa: S501
            yield Relayed(f"http://127.0.0.1:{port}", store, client, server)
    finally:
        server.stop()
        thread.join()


def free_port() -> int:
    """A port that nobody listens on now."""
    with listen("127.0.0.1", 0) as found:
        return int(found.getsockname()[1])


@contextmanager
def collecting(path: Path, **named: Any) -> Iterator[Served]:
    """Run a collector that takes sealed batches alone."""
    settings = anybody(**({"sealed_key": SECRET, "sealed_only": True} | named))
    with serving(path, settings, plans=[PLAN, OTHER], trainings={}) as served:
        yield served


def wait_until(fact: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
