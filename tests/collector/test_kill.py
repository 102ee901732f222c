"""Nothing that was acknowledged is lost, and nothing is counted twice, however often the collector is killed.

Real processes and real sockets. Each kill comes at a random moment under load. `HUSH_KILLS=100` makes long runs of the
tests that kill; without it a collector is killed 4 times, and PostgreSQL 2 times. `HUSH_KEEP=1` writes what such runs
came to into docs/measured/kills.json.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.collector.places import Place
from tests.collector.postgres import Server
from tests.collector.siege import ROOT, Service, Siege, tally_now

KILLS = int(os.environ.get("HUSH_KILLS", "4"))
MOMENT = 0.3  # seconds within which a kill comes
ENDED = (0, 128 + signal.SIGTERM)
pytestmark = pytest.mark.timeout(max(900, 20 * KILLS))
KEPT = ROOT / "docs" / "measured" / "kills.json"


@contextmanager
def besieged(*services: Service, threads: int = 6) -> Iterator[Siege]:
    for service in services:
        service.start()
    siege = Siege(services, threads)
    try:
        yield siege
    finally:
        siege.abandon()
        for service in services:
            service.close()


def check(siege: Siege, place: Place, kills: int, what: str = "") -> None:
    with place.opened() as store:
        assert siege.faults(store) == []
    if what and os.environ.get("HUSH_KEEP"):
        rows = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        rows[what] = {
            "kills": kills,
            "submissions": len(siege.sent),
            "reports": siege.expected().reports,
            "answers": siege.acknowledged.total(),
            "broken": siege.broken,
        }
        KEPT.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    print(
        f"{kills} kills: {len(siege.sent)} submissions of {siege.expected().reports} reports, "
        f"{siege.acknowledged.total()} answers, {siege.broken} broken connections, refusals {dict(siege.refused)}: "
        "no loss, nothing twice"
    )


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_kill_the_collector_on_sqlite(place: Place, tmp_path: Path) -> None:
    service = Service(place.url, tmp_path)
    with besieged(service) as siege:
        for _ in range(KILLS):
            siege.wait_for(20)
            siege.pause(MOMENT)
            service.stop(signal.SIGKILL)
            safe = siege.known_reports()
            service.start()
            assert safe <= tally_now(service).reports
        siege.end()
        assert tally_now(service) == siege.expected()
        assert service.stop(signal.SIGTERM) in ENDED
        check(siege, place, KILLS, "a collector on SQLite")


def test_kill_the_collectors_on_postgres(postgres_place: Place, tmp_path: Path) -> None:
    """Two collectors on one database; clients turn from one to the other."""
    services = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        services.append(Service(postgres_place.url, tmp_path / name))
    with besieged(*services) as siege:
        for number in range(KILLS):
            siege.wait_for(20)
            siege.pause(MOMENT)
            service = services[number % 2]
            service.stop(signal.SIGKILL)
            safe = siege.known_reports()
            service.start()
            assert safe <= tally_now(service).reports
        siege.end()
        for service in services:
            assert tally_now(service) == siege.expected()
            assert service.stop(signal.SIGTERM) in ENDED
        check(siege, postgres_place, KILLS, "two collectors on PostgreSQL")


def test_kill_postgres_itself(server: Server, tmp_path: Path) -> None:
    place = Place(server.database())
    service = Service(place.url, tmp_path)
    kills = max(2, KILLS // 4)
    with besieged(service) as siege:
        for _ in range(kills):
            siege.wait_for(20)
            siege.pause(MOMENT)
            server.kill()
            safe = siege.known_reports()
            siege.pause(MOMENT)
            server.start()
            assert safe <= tally_now(service).reports
        siege.end()
        assert siege.refused[503] > 0
        assert tally_now(service) == siege.expected()
        service.stop(signal.SIGTERM)
        check(siege, place, kills, "PostgreSQL itself")


def test_sigterm_under_load_ends_in_good_order(place: Place, tmp_path: Path) -> None:
    service = Service(place.url, tmp_path)
    with besieged(service) as siege:
        for _ in range(2):
            siege.wait_for(50)
            siege.pause(MOMENT)
            assert service.stop(signal.SIGTERM) in ENDED
            service.start()
        siege.end()
        assert service.stop(signal.SIGTERM) in ENDED
        check(siege, place, 0)


@pytest.mark.parametrize("how", ["early", "forgetful"])
def test_a_careless_collector_is_caught(how: str, tmp_path: Path) -> None:
    """The same siege and the same check, on a collector that acknowledges too early or forgets what it has seen."""
    place = Place(f"sqlite://{tmp_path / 'hush.db'}")
    service = Service(place.url, tmp_path, ("tests.collector.careless", how))
    with besieged(service) as siege:
        for _ in range(2):
            siege.wait_for(100)
            service.stop(signal.SIGKILL)
            service.start()
        siege.end()
        service.stop(signal.SIGTERM)
        with place.opened() as store:
            faults = siege.faults(store)
        assert any("lost" in fault if how == "early" else "twice" in fault for fault in faults), faults
        assert any("the tally has" in fault for fault in faults)
