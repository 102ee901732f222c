"""Stores to test: SQLite in a file, and PostgreSQL on a server of one's own. And a collector that many tests ask."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hush.collector.http import logs
from hush.collector.stores.base import Store
from tests.collector import postgres
from tests.collector.places import Place, plan
from tests.collector.served import HASHES, Served, anybody, serving

NO_POSTGRES = "no PostgreSQL here: neither initdb on the path nor /usr/lib/postgresql/*/bin"


@pytest.fixture(autouse=True)
def fresh_logs() -> None:
    """Forget what earlier tests have logged: lines of one kind are bounded for as long as a process runs."""
    for name in logs.LOGGERS:
        logger = logging.getLogger(name)
        logger.filters = [held for held in logger.filters if not isinstance(held, logs.Bounded)]


@pytest.fixture(scope="session")
def maybe_server() -> Iterator[postgres.Server | None]:
    with postgres.running() as server:
        yield server


@pytest.fixture
def server(maybe_server: postgres.Server | None) -> postgres.Server:
    if maybe_server is None:
        pytest.skip(NO_POSTGRES)
    return maybe_server


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a store."""
    if request.param == "sqlite":
        return Place(f"sqlite://{tmp_path / 'hush.db'}")
    return Place(request.getfixturevalue("server").database())


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """A store of every kind that has a plan."""
    with place.opened() as opened:
        opened.add_plan(plan())
        yield opened


@pytest.fixture
def postgres_place(server: postgres.Server) -> Place:
    return Place(server.database())


@pytest.fixture(scope="module")
def open_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A collector for everybody; only admins have a token."""
    settings = anybody(stream_interval=0.05, tokens={"admin": HASHES["admin"]}, max_body=1 << 18, body_timeout=1.0)
    with serving(tmp_path_factory.mktemp("open"), settings) as served:
        yield served


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Served]:
    """A collector whose times are short, and which leaves nothing behind (`watched`)."""
    from tests.collector.connections import watched  # most tests need none of it

    with watched(tmp_path, monkeypatch, caplog) as served:
        yield served
