"""The hashes of sent reports: none is forgotten while its plan is open, and the file has a limit."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

import hush
from hush.collector.stores import sqlite_file
from hush.core.sealing import SealedBatch, sealed_size
from hush.relay import store as store_module
from hush.relay.mixing import mixed, seal
from hush.relay.store import MOST, Refusal, RelayStore
from hush.relay.tables import APPLICATION, MIGRATIONS
from tests.collector.served import problem
from tests.relay.relayed import KEY, OTHER, PLAN, SECRET, collecting, relaying, sealed_reports, wait_until

SIZE = sealed_size(PLAN)
SIZES = ("page_count", "freelist_count", "page_size")
ANOTHER = hush.CollectorKey(bytes([9]) * 32)
numbers = count(1)


def fresh(n: int) -> list[bytes]:
    """Bytes that a relay cannot distinguish from sealed reports."""
    return [next(numbers).to_bytes(SIZE, "big") for _ in range(n)]


def opened(path: Path, most: int = MOST, key: hush.CollectorKey = KEY) -> RelayStore:
    return RelayStore(path / "relay.db", key, most)


def send(store: RelayStore, sealed: Sequence[bytes], plan: str = PLAN.id) -> int | Refusal:
    """Take reports and send them as one batch; return how many were new."""
    (new,) = store.commit([(plan, sealed)])
    batch = store.make(plan, 1, len(sealed), b"".join)
    if batch is not None:
        store.acknowledged(plan, batch.id)
    return new


def kept(path: Path) -> Counter[str]:
    """How many hashes of each plan are in a file."""
    with sqlite3.connect(path / "relay.db") as db:
        rows = db.execute("select plans.id, count(*) from once join plans on plans.number = once.plan group by 1")
        found = Counter(dict(rows.fetchall()))
    db.close()
    return found


class Forgetful(RelayStore):
    """The twin: a store that keeps the last hashes alone."""

    def acknowledged(self, plan_id: str, id_: bytes) -> None:
        super().acknowledged(plan_id, id_)
        self._db.execute("delete from once where hash not in (select hash from once order by hash limit 100)")


def taken_twice(path: Path, kind: type[RelayStore]) -> int:
    """Send 900 reports, over restarts, then all of them again; return how many are taken a second time."""
    store = kind(path / "relay.db", KEY)
    sent: list[bytes] = []
    for turn in range(60):
        sent += (some := fresh(15))
        assert send(store, some) == 15
        if turn % 20 == 19:
            store.close()
            store = kind(path / "relay.db", KEY)
    found = send(store, sent)
    store.close()
    assert isinstance(found, int)
    return found


def test_no_hash_is_forgotten(tmp_path: Path) -> None:
    assert taken_twice(tmp_path, RelayStore) == 0


def test_a_store_that_forgets_is_caught(tmp_path: Path) -> None:
    assert taken_twice(tmp_path, Forgetful) > 700


def used(path: Path) -> int:
    """The bytes of the file that hold something."""
    with sqlite3.connect(path / "relay.db") as db:
        pages, free, size = (db.execute(f"pragma {name}").fetchone()[0] for name in SIZES)
    db.close()
    return int((pages - free) * size)


def test_the_size_of_a_hash_in_the_file(tmp_path: Path) -> None:
    """docs/relay.md: about 25 bytes each."""
    many = 10_000
    store = opened(tmp_path)
    send(store, fresh(1))
    before = used(tmp_path)
    for _ in range(5):
        send(store, fresh(many // 5))
    assert 23 < (used(tmp_path) - before) / many < 27
    store.close()


def test_a_relay_may_be_started_without_a_plan(tmp_path: Path) -> None:
    """It has the plan's hashes when it is started with the plan again, and its reports that wait."""
    store = opened(tmp_path)
    sent, waiting = fresh(5), fresh(3)
    assert send(store, sent) == 5
    store.commit([(PLAN.id, waiting)])
    store.close()
    with relaying(tmp_path, "http://127.0.0.1:9", plans=[OTHER]) as relay:
        problem(relay.post(sent[0]), "not-found")
    with relaying(tmp_path, "http://127.0.0.1:9", least=100) as relay:
        assert relay.post(b"".join([*sent, *waiting])).json() == {"reports": 8, "new": 0}
    assert kept(tmp_path) == {PLAN.id: 5}


# -- the limit


def test_a_full_file_takes_no_more_and_forgets_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path, most=10)
    first, second = fresh(6), fresh(4)
    assert send(store, first) == 6
    assert store.commit([(PLAN.id, [*second, *fresh(1)]), (PLAN.id, second), (PLAN.id, fresh(1))]) == [
        Refusal.FULL,
        4,
        Refusal.FULL,
    ]
    assert store.is_full(PLAN.id)
    assert store.commit([(PLAN.id, [*first, *second]), (OTHER.id, fresh(2))]) == [0, 2], "those that it has are safe"
    assert store.held(PLAN.id) == 4
    assert send(store, second) == 0
    assert send(store, fresh(1)) == Refusal.FULL
    store.close()
    again = opened(tmp_path, most=10)
    assert again.is_full(PLAN.id)
    assert again.commit([(PLAN.id, [*first, *second]), (PLAN.id, fresh(1))]) == [0, Refusal.FULL]
    again.close()
    wider = opened(tmp_path, most=11)
    assert not wider.is_full(PLAN.id)
    assert wider.commit([(PLAN.id, [*first, *fresh(1)])]) == [1]
    wider.close()


def test_a_full_relay_says_so(tmp_path: Path) -> None:
    sealed = fresh(6)
    with relaying(tmp_path, "http://127.0.0.1:9", least=100, most=5) as relay:
        assert relay.post(b"".join(sealed[:4])).json() == {"reports": 4, "new": 4}
        refused = relay.post(b"".join(sealed[4:]))
        problem(refused, "full")
        assert refused.status_code == 507
        assert relay.client.get("/readyz").status_code == 200, "there is room for one"
        assert relay.post(sealed[4]).json()["new"] == 1
        problem(relay.post(sealed[5]), "full")
        ready = relay.client.get("/readyz")
        problem(ready, "full")
        assert PLAN.id[:12] in ready.json()["detail"]
        assert relay.client.get("/healthz").status_code == 200
        assert relay.post(b"".join(sealed[:5])).json() == {"reports": 5, "new": 0}
        assert relay.post(sealed[5], OTHER).status_code == 202, "another plan has room"


# -- a plan that is closed


def test_a_closed_plan_is_closed_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "STEP", 3)
    store = opened(tmp_path)
    sent, other = fresh(10), fresh(2)
    assert send(store, sent) == 10
    assert send(store, other, OTHER.id) == 2
    store.commit([(PLAN.id, fresh(4))])
    store.make(PLAN.id, 2, 3, b"".join)
    store.close_plan(PLAN.id)
    assert store.is_closed(PLAN.id)
    assert not store.is_closed(OTHER.id)
    assert (store.held(PLAN.id), store.batch(PLAN.id), store.is_full(PLAN.id)) == (0, None, False)
    assert kept(tmp_path) == {OTHER.id: 2}
    assert store.commit([(PLAN.id, sent), (OTHER.id, other)]) == [Refusal.CLOSED, 0]
    store.close()
    again = opened(tmp_path)
    assert again.is_closed(PLAN.id)
    assert again.commit([(PLAN.id, fresh(1))]) == [Refusal.CLOSED]
    again.close_plan(PLAN.id)
    assert again.commit([(PLAN.id, fresh(1))]) == [Refusal.CLOSED]
    again.close()


def test_a_kill_while_a_plan_is_closed_opens_it_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_path)
    sent = fresh(10)
    send(store, sent)

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RelayStore, "_sweep", killed)
        with pytest.raises(KeyboardInterrupt):
            store.close_plan(PLAN.id)
    store.close()
    again = opened(tmp_path)
    assert again.commit([(PLAN.id, sent)]) == [Refusal.CLOSED]
    assert kept(tmp_path)[PLAN.id] == 10
    again.close_plan(PLAN.id)
    assert kept(tmp_path)[PLAN.id] == 0
    again.close()


def test_a_relay_closes_what_its_collector_has_closed_and_opens_it_for_nobody(tmp_path: Path) -> None:
    """The collector is the adversary: it may say later that the plan is open, to get reports a second time."""
    sealed = sealed_reports(12)[1]
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=4) as relay:
        assert relay.post(b"".join(sealed[:4])).status_code == 202
        wait_until(lambda: served.tally(PLAN).people == 4)
        served.store.close_plan(PLAN.id)
        wait_until(lambda: relay.store.is_closed(PLAN.id))
        problem(relay.post(sealed[0]), "plan-closed")
    (tmp_path / "again").mkdir()
    with collecting(tmp_path / "again") as served, relaying(tmp_path, served.url, least=4) as relay:
        assert served.client.get("/plans").json()["plans"][0]["open"]
        for body in (sealed[0], b"".join(sealed)):
            problem(relay.post(body), "plan-closed")
        assert relay.store.held(PLAN.id) == 0
        assert kept(tmp_path)[PLAN.id] == 0


# -- keys


def test_a_batch_is_sealed_for_one_key(tmp_path: Path) -> None:
    """A collector would tell reports for an older key from all others, and from the relay's own."""
    store = opened(tmp_path, key=ANOTHER)
    old, new = [fresh(3), fresh(5)]
    store.commit([(PLAN.id, old)])
    assert (store.held(PLAN.id), store.strange(PLAN.id)) == (3, 0)
    store.close()
    store = opened(tmp_path)
    assert (store.held(PLAN.id), store.strange(PLAN.id)) == (0, 3)
    assert store.commit([(PLAN.id, [*new, *old])]) == [5], "it knows the others by their hashes"
    assert store.make(PLAN.id, 6, 100, b"".join) is None, "least counts those of one key"
    batch = store.make(PLAN.id, 5, 100, lambda sealed: mixed(PLAN, KEY, sealed, 2))
    assert batch is not None
    found = SealedBatch.decode(PLAN, batch.body)
    assert (found.key, found.own, len(found.reports)) == (KEY, 2, 7)
    assert set(new) <= set(found.reports)
    assert not set(old) & set(found.reports)
    store.acknowledged(PLAN.id, batch.id)
    store.close()
    store = opened(tmp_path, key=ANOTHER)
    assert send(store, old) == 0
    assert store.held(PLAN.id) == 0, "they went with the key of before"
    assert kept(tmp_path)[PLAN.id] == 8
    store.close()


def test_a_relay_with_another_key_stores_nothing(tmp_path: Path) -> None:
    with relaying(tmp_path, "http://127.0.0.1:9") as relay:
        report, plain = sealed_reports(1)[0][0], {"content-type": "application/octet-stream"}
        body = seal(report, ANOTHER)
        refused = relay.client.post(
            f"/sealed/{PLAN.id}", content=body, headers=plain | {"hush-key": ANOTHER.public.hex()}
        )
        problem(refused, "other-key")
        assert refused.status_code == 409
        for header in ({}, {"hush-key": "0"}, {"hush-key": "g" * 64}):
            problem(relay.client.post(f"/sealed/{PLAN.id}", content=body, headers=plain | header), "bad-request")
        assert relay.store.held(PLAN.id) == 0
    store = opened(tmp_path)
    assert store.commit([(PLAN.id, [body])]) == [1], "and it knows nothing of them"
    store.close()


def test_a_batch_for_a_key_that_the_collector_gave_up_stands_in_nobodys_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is dropped, and its reports are not taken again. A batch for the relay's own key waits."""
    store = opened(tmp_path, key=ANOTHER)
    old = fresh(4)
    store.commit([(PLAN.id, old)])
    assert store.make(PLAN.id, 4, 100, lambda sealed: mixed(PLAN, ANOTHER, sealed, 0)) is not None
    store.close()
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=4) as relay:
        assert relay.post(b"".join(sealed_reports(4)[1])).status_code == 202
        wait_until(lambda: served.tally(PLAN).people == 4)
        assert "the collector has given up its key" in caplog.text
        assert relay.post(b"".join(old)).json() == {"reports": 4, "new": 0}
    with (
        collecting(tmp_path, sealed_key=bytes([7] * 32), older_keys=(SECRET,)) as served,
        relaying(tmp_path, served.url, least=4, key=ANOTHER) as relay,
    ):
        head = {"content-type": "application/octet-stream", "hush-key": ANOTHER.public.hex()}
        body = b"".join(fresh(4))
        assert relay.client.post(f"/sealed/{PLAN.id}", content=body, headers=head).status_code == 202
        wait_until(lambda: "a batch waits" in caplog.text)
        assert relay.store.batch(PLAN.id) is not None


# -- older files


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_read(tmp_path: Path, version: int) -> None:
    """Reports that wait, batches and hashes of earlier versions stay."""
    waiting, sent = fresh(3), fresh(4)
    path = tmp_path / "relay.db"
    db = sqlite_file.connect(path, APPLICATION)
    sqlite_file.migrate(db, MIGRATIONS[:1])
    db.execute("insert into secret values (?)", (bytes(32),))
    store_hash = RelayStore.__dict__["_hash"]
    keyed = type("Keyed", (), {"_secret": bytes(32)})()
    for plan in (PLAN.id, OTHER.id):
        for one in waiting:
            db.execute("insert into reports values (?, ?, ?)", (plan, store_hash(keyed, one), one))
        for one in sent:
            db.execute("insert into reports values (?, ?, null)", (plan, store_hash(keyed, one)))
    db.execute("insert into batches values (?, ?, ?)", (PLAN.id, bytes(16), b"a batch"))
    if version == 2:
        sqlite_file.migrate(db, MIGRATIONS[:2])
        db.execute("insert into sent select plan, 2, hash from sent")  # two generations
    db.close()
    store = opened(tmp_path)
    assert (store.held(PLAN.id), store.held(OTHER.id)) == (3, 3)
    assert store.commit([(PLAN.id, [*waiting, *sent]), (OTHER.id, sent)]) == [0, 0]
    found = store.batch(PLAN.id)
    assert found is not None
    assert found.body == b"a batch"
    assert send(store, fresh(1), OTHER.id) == 1
    assert kept(tmp_path) == {PLAN.id: 4, OTHER.id: 4 + 1}
    store.close()
