"""The pages that are told as sessions are true: every command is typed, every file written, every block of Python run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.conftest import maybe_server, server  # noqa: F401
from tests.collector.postgres import Server, find_binaries
from tests.sessions import ROOT, Session

# Pages that are replayed as a whole, and the fewest commands that they show.
PAGES: dict[str, int] = {"tutorial.md": 10, "telemetry.md": 5, "backfill.md": 6, "train.md": 2, "operate.md": 10}
# A page that needs a PostgreSQL server of its own.
POSTGRES = "postgres.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages show curl")
@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_true(page: str, session: Session) -> None:
    session.play(ROOT / "docs" / page)
    assert session.commands >= PAGES[page]


def test_the_page_of_postgres_is_true(server: Server) -> None:
    """Against a server of the tests, in a database without anything of hush in it."""
    binaries = find_binaries()
    assert binaries is not None
    session = Session({"postgresql://hush@localhost/hush": server.database()}, path=[binaries])
    try:
        session.play(ROOT / "docs" / POSTGRES)
    finally:
        session.close()
    assert session.commands >= 6
