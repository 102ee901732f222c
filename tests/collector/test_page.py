"""The page about PostgreSQL is true, against a server of the tests: as tests/docs/test_sessions.py plays the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collector.postgres import Server, find_binaries
from tests.sessions import POSTGRES, ROOT, Session


def test_the_page_of_postgres_is_true(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a server of the tests, in a database without anything of hush in it."""
    monkeypatch.chdir(tmp_path)
    binaries = find_binaries()
    assert binaries is not None
    session = Session({"postgresql://hush@localhost/hush": server.database()}, path=[binaries])
    try:
        session.play(ROOT / "docs" / POSTGRES)
    finally:
        session.close()
    assert session.commands >= 6
