"""The hashes of sent reports: none is sent twice soon, and the file does not grow for ever."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from hush.collector.stores import sqlite_file
from hush.core.sealing import sealed_size
from hush.relay import store as store_module
from hush.relay.store import APPLICATION, MIGRATIONS, RelayStore
from tests.relay.relayed import OTHER, PLAN, collecting, relaying, sealed_reports, wait_until

SIZE = sealed_size(PLAN)
SIZES = ("page_count", "freelist_count", "page_size")
numbers = count(1)


def fresh(n: int) -> list[bytes]:
    """Bytes that a relay cannot distinguish from sealed reports."""
    return [next(numbers).to_bytes(SIZE, "big") for _ in range(n)]


def send(store: RelayStore, sealed: Sequence[bytes], plan: str = PLAN.id) -> int:
    """Take reports and send them as one batch; return how many were new."""
    (new,) = store.commit([(plan, sealed)])
    batch = store.make(plan, 1, len(sealed), b"".join)
    if batch is not None:
        store.acknowledged(plan, batch.id)
    return new


def kept(path: Path) -> Counter[str]:
    with sqlite3.connect(path) as db:
        rows = db.execute("select plans.id, count(*) from sent join plans on plans.number = sent.plan group by 1")
        found = Counter(dict(rows.fetchall()))
    db.close()
    return found


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "KEPT", 100)
    monkeypatch.setattr(store_module, "STEP", 5)


def grown(path: Path) -> int:
    """Send 900 reports, and some of them again; return how many hashes there were at most."""
    most = 0
    store = RelayStore(path)
    sent: list[bytes] = []
    for turn in range(60):
        batch = fresh(15)
        assert send(store, batch) == 15
        sent += batch
        assert send(store, sent[-100:]) == 0, "the last hundred are never sent again"
        if turn == 30:  # what is kept is in the file
            store.close()
            store = RelayStore(path)
        if turn % 10 == 9:
            most = max(most, kept(path)[PLAN.id])
    new = send(store, sent[:50])
    assert new == (50 if most < 500 else 0), "what is forgotten goes into another batch"
    store.close()
    return most


@pytest.mark.usefixtures("few")
def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    assert 100 <= grown(tmp_path / "relay.db") <= 2 * 100 + 2 * 15


@pytest.mark.usefixtures("few")
def test_a_store_that_keeps_all_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "KEPT", 1 << 40)
    assert grown(tmp_path / "relay.db") == 900


def used(path: Path) -> int:
    """The bytes of the file that hold something."""
    with sqlite3.connect(path) as db:
        pages, free, size = (db.execute(f"pragma {name}").fetchone()[0] for name in SIZES)
    db.close()
    return int((pages - free) * size)


def test_the_size_of_a_hash_in_the_file(tmp_path: Path) -> None:
    """docs/relay.md: about 26 bytes each."""
    path, many = tmp_path / "relay.db", 10_000
    store = RelayStore(path)
    send(store, fresh(1))
    before = used(path)
    for _ in range(5):
        send(store, fresh(many // 5))
    assert 24 < (used(path) - before) / many < 28
    store.close()


def test_hashes_of_other_plans_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    store = RelayStore(path)
    first, second, waiting = fresh(5), fresh(7), fresh(3)
    assert (send(store, first), send(store, second, OTHER.id)) == (5, 7)
    store.commit([(OTHER.id, waiting)])
    store.serve({PLAN.id, OTHER.id})
    assert kept(path) == {PLAN.id: 5, OTHER.id: 7}
    store.serve({PLAN.id})
    assert kept(path) == {PLAN.id: 5}
    assert store.held(OTHER.id) == 3, "reports that wait stay"
    assert (send(store, first), store.commit([(OTHER.id, waiting)])) == (0, [0])
    assert send(store, second, OTHER.id) == 7
    store.close()


def test_a_relay_forgets_when_it_starts(tmp_path: Path) -> None:
    store = RelayStore(tmp_path / "relay.db")
    send(store, fresh(4), "f" * 64)
    send(store, fresh(4))
    store.close()
    with relaying(tmp_path, "http://127.0.0.1:9"):
        assert kept(tmp_path / "relay.db") == {PLAN.id: 4}


@pytest.mark.usefixtures("few")
def test_the_collector_drops_a_report_that_comes_late_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "KEPT", 4)
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=4) as relay:
        sealed = sealed_reports(16)[1]
        for start in range(0, 16, 4):
            relay.post(b"".join(sealed[start : start + 4]))
            wait_until(lambda start=start: served.tally(PLAN).people == start + 4)  # type: ignore[misc]
            wait_until(lambda: relay.store.batch(PLAN.id) is None)
        late = sealed[:4]
        assert relay.post(b"".join(late)).json() == {"reports": 4, "new": 4}, "they are forgotten"
        wait_until(lambda: relay.store.held(PLAN.id) == 0 and relay.store.batch(PLAN.id) is None)
        assert served.tally(PLAN).people == 16


def test_an_older_file_is_read(tmp_path: Path) -> None:
    """Reports that wait, batches and hashes of the first version stay."""
    path, waiting, sent = tmp_path / "relay.db", fresh(3), fresh(4)
    db = sqlite_file.connect(path, APPLICATION)
    sqlite_file.migrate(db, MIGRATIONS[:1])
    db.execute("insert into secret values (?)", (bytes(32),))
    store_hash = RelayStore.__dict__["_hash"]
    keyed = type("Keyed", (), {"_key": bytes(32)})()
    for plan in (PLAN.id, OTHER.id):
        for one in waiting:
            db.execute("insert into reports values (?, ?, ?)", (plan, store_hash(keyed, one), one))
        for one in sent:
            db.execute("insert into reports values (?, ?, null)", (plan, store_hash(keyed, one)))
    db.execute("insert into batches values (?, ?, ?)", (PLAN.id, bytes(16), b"a batch"))
    db.close()
    store = RelayStore(path)
    assert (store.held(PLAN.id), store.held(OTHER.id)) == (3, 3)
    assert store.commit([(PLAN.id, [*waiting, *sent]), (OTHER.id, sent)]) == [0, 0]
    found = store.batch(PLAN.id)
    assert found is not None
    assert found.body == b"a batch"
    assert send(store, fresh(1), OTHER.id) == 1
    store.close()
