"""Wide tallies: a commit of few reports writes few bytes, and the counts are the same as ever."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Batch, Form, Outcome, Single
from hush.collector.vectors import FEW, layout_of
from hush.device.randomise import randomise_from
from hush.errors import StoreError
from hush.testing import SeededCoins
from tests.collector.places import Place
from tests.collector.postgres import Server

WIDE = hush.design(hush.Schema([hush.Text("job", length=16, alphabet="english")]), 4.0, title="texts")
SMALL = hush.design(hush.Schema([hush.Categorical("os", ["linux", "mac"])]), 1.0, title="small")


def singles(number: int, seed: int) -> list[Single]:
    coins = SeededCoins(seed)
    return [Single(WIDE, randomise_from(coins, WIDE, {"job": "nurse"})) for _ in range(number)]


def counted(submissions: list[Single]) -> hush.Tally:
    tally = hush.Tally(WIDE)
    tally.update(one.report for one in submissions)
    return tally


def increments(path: Path) -> int:
    with sqlite3.connect(path) as db:
        return int(db.execute("select count(*) from increments").fetchone()[0])


def test_a_report_of_a_text_writes_little(tmp_path: Path) -> None:
    """Before, a report of 29 bytes had 8.5 MB written, and other plans waited for that."""
    store = SqliteStore(tmp_path / "a.db")
    store.add_plan(WIDE)
    log = tmp_path / "a.db-wal"
    store.commit(singles(1, 1))
    before = log.stat().st_size
    sent = singles(6, 2)
    for one in sent:
        assert store.commit([one]) == [Outcome.NEW]
    assert log.stat().st_size - before < 6 * (1 << 16)
    assert store.commit(sent) == [Outcome.REPEATED] * 6
    assert store.tally(WIDE) == counted([*singles(1, 1), *sent])
    store.close()


def test_counts_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the next start, with increments and without, and after a commit that failed."""
    path = tmp_path / "a.db"
    sent = singles(30, 3)
    for start in range(0, 30, 6):
        store = SqliteStore(path)
        store.add_plan(WIDE)
        for one in sent[start : start + 5]:
            store.commit([one])
        with monkeypatch.context() as patch:
            patch.setattr("hush.collector.stores.sqlite.SqliteStore._write_rounds", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.commit([sent[start + 5]])
        assert store.tally(WIDE).reports == start + 5
        store.commit([sent[start + 5]])
        assert store.tally(WIDE) == counted(sent[: start + 6])
        store.close()
        assert increments(path) == start + 6


def test_increments_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they take a quarter of the tally; then there are none."""
    monkeypatch.setattr("hush.collector.vectors.ROW", layout_of(WIDE).zero().nbytes // 16)
    path = tmp_path / "a.db"
    store = SqliteStore(path)
    store.add_plan(WIDE)
    sent, held = singles(12, 4), []
    for one in sent:
        store.commit([one])
        held.append(increments(path))
    assert held == [1, 2, 3, 0] * 3
    store.close()
    again = SqliteStore(path)
    assert again.tally(WIDE) == counted(sent)
    again.close()


def test_two_collectors_on_postgres(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has increments of its own, and adds them to its own tally; readers see the sum at every moment."""
    monkeypatch.setattr("hush.collector.vectors.ROW", layout_of(WIDE).zero().nbytes // 16)
    url = server.database()
    sent = singles(13, 6)
    with Place(url).opened() as one, Place(url).opened() as two:
        one.add_plan(WIDE)
        for number, single in enumerate(sent):
            assert (one, two)[number % 3 == 0].commit([single]) == [Outcome.NEW]
            assert two.tally(WIDE) == counted(sent[: number + 1])
        assert one.commit(sent) == [Outcome.REPEATED] * 13
    with Place(url).opened() as again:
        assert again.reveal(WIDE, 0, 1) == counted(sent)
        more = singles(2, 7)
        again.commit(more[:1])
        again.commit(more[1:])
        assert again.tally(WIDE) == counted([*sent, *more])


def test_small_tallies_are_written_as_a_whole(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.add_plan(SMALL)
    store.commit([Single(SMALL, hush.randomise(SMALL, {"os": "mac"}))])
    store.close()
    assert increments(tmp_path / "a.db") == 0


def test_own_reports_of_a_relay_are_counted(tmp_path: Path) -> None:
    """They are one number behind the counts, which a vector has only from the first of them on."""
    layout = layout_of(WIDE)
    vector = layout.zero()
    layout.add(vector, singles(1, 5)[0].report)
    store = SqliteStore(tmp_path / "a.db")
    store.add_plan(WIDE)
    for own in (0, 2, 0, 3):
        body = b""
        store.commit([Batch(WIDE, secrets.token_bytes(16), layout.with_own(vector, own), Form.TALLY, body)])
    held = store._vectors[1]
    store.close()
    again = SqliteStore(tmp_path / "a.db")
    assert (again._vectors[1] == held).all()
    assert (layout.own(held), held[0]) == (5, 4)
    again.close()


@pytest.mark.parametrize("number", [0, 1, 17])
def test_few_counts_are_read_as_they_were_written(number: int) -> None:
    layout = layout_of(WIDE)
    assert layout.size > FEW
    chance = np.random.default_rng(number)
    some, held = layout.zero(), layout.zero() + 3
    some[chance.integers(0, layout.size, number)] = chance.integers(-(2**60), 2**60, number)
    data = layout.encode_few(some)
    assert data is not None
    assert (layout.add_few(held.copy(), data) == held + some).all()


@pytest.mark.parametrize("data", [b"x", b"\xff" * 12, bytes(13)])
def test_counts_of_another_plan_are_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="another plan"):
        layout_of(WIDE).add_few(layout_of(WIDE).zero(), data)


def test_many_counts_are_written_as_a_whole() -> None:
    assert layout_of(WIDE).encode_few(layout_of(WIDE).zero() + 1) is None
    assert layout_of(SMALL).encode_few(layout_of(SMALL).zero()) is None
