"""From devices through a relay to a collector, over real sockets."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

import pytest

import hush
from hush.collector import formats
from hush.collector.settings import LOCAL, Settings
from hush.core.sealing import SealedBatch, batch_id, sealed_size, split
from hush.errors import CollectorError, InputError, PlanError, StoreError
from hush.relay.forwarding import Mix
from hush.relay.store import RelayStore
from tests.collector.served import EVERYBODY, HASHES, TOKENS, Served, problem, serving
from tests.relay.relayed import (
    KEY,
    OCTETS,
    OPENER,
    OTHER,
    PLAN,
    RECORD,
    SECRET,
    collecting,
    device,
    relaying,
    sealed_reports,
    wait_until,
)
from tests.web.replaying import needs_node, node

ROOT = Path(__file__).parents[2]


def counted(served: Served, plan: hush.Plan = PLAN) -> Counter[bytes]:
    """The ids of all reports that the collector has."""
    found: Counter[bytes] = Counter()
    for stored in served.store.bodies(plan):
        found.update(report.id for report in formats.split(plan, stored.body))
    return found


def test_large_requests_are_cut_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A MiB of sealed reports, which anybody may send, held up everybody else for seven milliseconds."""
    threads: list[str] = []

    def noting(plan: hush.Plan, data: bytes) -> tuple[bytes, ...]:
        threads.append(threading.current_thread().name)
        return split(plan, data)

    monkeypatch.setattr("hush.relay.app.split", noting)
    with relaying(tmp_path, "http://127.0.0.1:9", least=10_000) as relay:
        for reports in (1, (1 << 19) // sealed_size(PLAN)):
            answer = relay.post(os.urandom(reports * sealed_size(PLAN)))
            assert (answer.status_code, answer.json()["new"]) == (202, reports)
    assert threads[0] != threads[1]


def test_devices_send_through_a_relay(tmp_path: Path) -> None:
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=5, own=4) as relay:
        people = [device(tmp_path, f"p{i}", served.url, relay.url) for i in range(5)]
        ids = {bytes.fromhex(one.answer(PLAN.id, RECORD).id) for one in people[:4]}
        assert served.tally(PLAN).people == 0, "the relay holds them until there are enough"
        ids.add(bytes.fromhex(people[4].answer(PLAN, RECORD).id))
        wait_until(lambda: served.tally(PLAN).people == 5)
        found = counted(served)
        assert ids <= set(found)
        assert found.total() == 9, "and four of the relay's own"
        assert served.store.tally(PLAN).own == 4
        (entry,) = (e for e in served.client.get("/plans").json()["plans"] if e["id"] == PLAN.id)
        assert (entry["reports"], entry["own"]) == (5, 4)
        assert relay.store.batch(PLAN.id) is None, "deleted on receipt"
        assert relay.store.held(PLAN.id) == 0


def test_a_device_never_talks_to_the_collector(tmp_path: Path) -> None:
    with relaying(tmp_path, "http://127.0.0.1:9", least=5) as relay:
        client = device(tmp_path, "one", "http://127.0.0.1:9", relay.url)
        assert client.plan(PLAN.id) == PLAN
        assert client.answer(PLAN.id, RECORD).new


def test_a_retry_is_the_same_bytes(tmp_path: Path) -> None:
    ledger = hush.Ledger(tmp_path / "ledger", cap=10)
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=3) as relay:
        client = hush.Client(served.url, relay=relay.url, key=KEY, ledger=ledger, attempts=1)
        first = client.answer(PLAN, RECORD)
        assert first.new
        again = hush.Client(served.url, relay=relay.url, key=KEY, ledger=hush.Ledger(tmp_path / "ledger"), attempts=1)
        second = again.answer(PLAN, RECORD)
        assert (second.id, second.new) == (first.id, False)
        assert relay.store.held(PLAN.id) == 1
        report = ledger.report(PLAN)
        assert report is not None
        assert client.submit(report) == second
        sealed = sealed_reports(2)[1]
        assert relay.post(b"".join(sealed)).json() == {"reports": 2, "new": 2}
        wait_until(lambda: served.tally(PLAN).people == 3)
        assert not client.answer(PLAN, RECORD).new, "also after it was sent on"
        assert relay.post(sealed[0]).json() == {"reports": 1, "new": 0}
        assert relay.store.held(PLAN.id) == 0


def test_tickets_trainings_and_plain_batches_do_not_go_through_a_relay() -> None:
    client = hush.Client("http://127.0.0.1:9", relay="http://127.0.0.1:9", key=KEY)
    with pytest.raises(InputError, match="cannot go through a relay"):
        client.answer_ticket(PLAN, RECORD)
    with pytest.raises(InputError, match="cannot go through a relay"):
        client.train("t", RECORD, "mac", epsilon=1.0)
    with pytest.raises(InputError, match="cannot go through a relay"):
        client.submit_batch(PLAN, b"", bytes(16), formats.REPORTS)
    with pytest.raises(InputError, match="relay and key go together"):
        hush.Client("http://127.0.0.1:9", relay="http://127.0.0.1:9")
    with pytest.raises(InputError, match="the key of a collector"):
        hush.Client("http://127.0.0.1:9", relay="http://127.0.0.1:9", key="12")


def test_the_relay_refuses_other_bodies(tmp_path: Path) -> None:
    with relaying(tmp_path, "http://127.0.0.1:9") as relay:
        size = sealed_size(PLAN)
        for body in (b"", bytes(size - 1), bytes(size + 1)):
            problem(relay.post(body), "bad-report")
        problem(relay.client.post(f"/sealed/{PLAN.id}", content=bytes(size)), "wrong-type")
        problem(relay.client.post(f"/sealed/{'0' * 64}", content=bytes(size), headers=OCTETS), "not-found")
        problem(relay.post(bytes(size * 20_000)), "too-large")
        problem(relay.client.get(f"/sealed/{PLAN.id}"), "bad-method")
        problem(relay.client.get("/plans"), "not-found")
        assert relay.client.get(f"/plans/{OTHER.id}").text == OTHER.to_json()
        assert relay.client.get("/healthz").json() == relay.client.get("/readyz").json() == {"status": "ok"}
        assert relay.store.held(PLAN.id) == 0


def test_the_relay_bounds_rates(tmp_path: Path) -> None:
    with relaying(tmp_path, "http://127.0.0.1:9", rate=1.0, burst=5) as relay:
        sealed = sealed_reports(12)[1]
        assert relay.post(b"".join(sealed[:10])).status_code == 202, "one batch may leave a debt"
        problem(relay.post(sealed[10]), "too-many")


def test_bad_reports_spoil_no_batch(tmp_path: Path) -> None:
    """Garbage, reports of another plan, and reports whose id was counted before."""
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=8) as relay:
        good, sealed = sealed_reports(5)
        assert relay.post(b"".join([*sealed, *(bytes([i]) * sealed_size(PLAN) for i in range(3))])).status_code == 202
        wait_until(lambda: served.tally(PLAN).people == 5)
        more, twice = sealed_reports(6)[0], good[:2]
        from hush.relay.mixing import seal

        body = [seal(report, KEY) for report in [*more, *twice, more[0]]]
        assert relay.post(b"".join(body)).status_code == 202
        wait_until(lambda: served.tally(PLAN).people == 11)
        assert counted(served) == Counter(report.id for report in [*good, *more])
        expected = hush.Tally(PLAN)
        expected.update([*good, *more])
        assert served.store.tally(PLAN) == expected


def test_the_collector_counts_a_batch_once(tmp_path: Path) -> None:
    with collecting(tmp_path) as served:
        made, sealed = sealed_reports(7)
        body = SealedBatch(KEY, 2, tuple(sealed)).encode()
        client = hush.Client(served.url, attempts=1)
        first, second = client.submit_sealed_batch(PLAN, body), client.submit_sealed_batch(PLAN, body)
        assert (first.new, first.reports, first.refused) == (True, 7, 0)
        assert (second.new, second.id) == (False, batch_id(body).hex())
        assert counted(served) == Counter(report.id for report in made)
        assert served.store.tally(PLAN).own == 2


def test_the_collector_refuses_a_relay_that_is_wrong(tmp_path: Path) -> None:
    with collecting(tmp_path, tokens=HASHES, open=EVERYBODY - {"submit-batch"}) as served:
        client = hush.Client(served.url, attempts=1, token=TOKENS["submit-batch"])
        sealed = sealed_reports(3)[1]
        good = SealedBatch(KEY, 0, tuple(sealed)).encode()
        other = SealedBatch(hush.CollectorKey(bytes([9]) * 32), 0, tuple(sealed)).encode()
        with pytest.raises(CollectorError, match="another key") as refused:
            client.submit_sealed_batch(PLAN, other)
        assert refused.value.status == 409
        for body in (b"", good[:-1], b"X" + good[1:], good[:42]):
            with pytest.raises(CollectorError) as refused:
                client.submit_sealed_batch(PLAN, body)
            assert refused.value.status == 422
        head = {"content-type": "application/vnd.hush.sealed", "authorization": f"Bearer {TOKENS['submit-batch']}"}
        path = served.path("sealed", PLAN)
        problem(served.client.post(path, content=good, headers=head | {"hush-batch": "0" * 32}), "bad-report")
        problem(served.client.post(path, content=good, headers=head), "bad-request")
        problem(served.client.post(path, content=good), "no-token")
        assert client.submit_sealed_batch(PLAN, good).new


def test_a_sealed_collector_takes_nothing_else(tmp_path: Path) -> None:
    with collecting(tmp_path) as served:
        report = hush.randomise(PLAN, RECORD)
        for _ in range(2):
            problem(served.post(PLAN, report.encode(), formats.REPORT), "sealed-only")
        problem(served.post(PLAN, bytes(16) + report.encode(), formats.REPORTS), "sealed-only")
        tally = hush.Tally(PLAN)
        tally.add(report)
        head = {"content-type": formats.TALLY, "hush-batch": "0" * 32}
        problem(served.client.post(served.path("tally", PLAN), content=tally.encode(), headers=head), "sealed-only")
        assert served.tally(PLAN).people == 0
        problem(served.client.get("/"), "not-found")
        assert served.client.get("/dashboard").status_code == 200


def test_a_collector_without_a_key_opens_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, plans=[PLAN], trainings={}) as served:
        body = SealedBatch(KEY, 0, tuple(sealed_reports(2)[1])).encode()
        with pytest.raises(CollectorError, match="no key") as refused:
            hush.Client(served.url, attempts=1).submit_sealed_batch(PLAN, body)
        assert refused.value.status == 404


def test_sealed_reports_are_no_way_around_tickets() -> None:
    """Otherwise anybody could answer any question, through a relay."""
    with pytest.raises(InputError, match="take one of both"):
        Settings(hosts=LOCAL, sealed_key=SECRET, tickets=True, ticket_key=bytes(32))


def test_readers_see_whole_batches(tmp_path: Path) -> None:
    """What readers see moves by batches alone, however often they look."""
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=10, own=2) as relay:
        sealed, seen = sealed_reports(40)[1], set()
        for one in sealed:
            relay.post(one)
            seen.add(served.tally(PLAN).people)
        wait_until(lambda: served.tally(PLAN).people + relay.store.held(PLAN.id) == 40)
        assert all(number == 0 or number >= 10 for number in seen)
        assert len(seen) <= 5


def test_reports_wait_while_the_collector_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made, sealed = sealed_reports(10)
    with caplog.at_level(logging.WARNING), relaying(tmp_path, "http://127.0.0.1:9", least=5) as relay:
        assert relay.post(b"".join(sealed)).status_code == 202
        wait_until(lambda: "a batch waits" in caplog.text)
        batch = relay.store.batch(PLAN.id)
        assert batch is not None
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=5) as relay:
        wait_until(lambda: served.tally(PLAN).people == 10)
        wait_until(lambda: relay.store.batch(PLAN.id) is None)
    assert sorted(SealedBatch.decode(PLAN, batch.body).reports) == sorted(sealed)
    assert SealedBatch.decode(PLAN, batch.body).key == OPENER.key
    assert len(made) == 10


def test_a_batch_is_made_once_and_of_bounded_size(tmp_path: Path) -> None:
    store = RelayStore(tmp_path / "relay.db", KEY)
    sealed = sealed_reports(9)[1]
    assert store.commit([(PLAN.id, sealed[:5]), (PLAN.id, sealed[4:6]), (OTHER.id, sealed)]) == [5, 1, 9]
    assert store.make(PLAN.id, 7, 100, b"".join) is None
    first = store.make(PLAN.id, 6, 4, b"".join)
    assert first is not None
    assert store.make(PLAN.id, 1, 4, b"?".join) == first == store.batch(PLAN.id)
    assert store.held(PLAN.id) == 2
    store.acknowledged(PLAN.id, bytes(16))
    assert store.batch(PLAN.id) == first, "another batch was acknowledged"
    store.close()
    store = RelayStore(tmp_path / "relay.db", KEY)
    assert (store.held(PLAN.id), store.held(OTHER.id)) == (2, 9)
    assert store.commit([(PLAN.id, sealed[:6])]) == [0]
    store.acknowledged(PLAN.id, first.id)
    second = store.make(PLAN.id, 2, 4, b"".join)
    assert second is not None
    size = sealed_size(PLAN)
    both = first.body + second.body
    assert sorted(both[i : i + size] for i in range(0, len(both), size)) == sorted(sealed[:6])
    store.close()


def test_nobody_can_push_in(tmp_path: Path) -> None:
    """If more reports wait than fit into a batch, nobody can choose theirs so that others wait for ever.

    15 of 30 are taken: that all of them are the attacker's by chance has a probability of 1e-8.
    """
    honest = sealed_reports(15)[1]
    garbage = (number.to_bytes(sealed_size(PLAN), "big") for number in count())
    low = list(islice((one for one in garbage if not hashlib.sha256(one).digest()[0]), 15))
    store, found = RelayStore(tmp_path / "relay.db", KEY), list[bytes]()

    def mix(sealed: Sequence[bytes]) -> bytes:
        found.extend(sealed)
        return b"a batch"

    store.commit([(PLAN.id, [*low, *honest])])
    store.make(PLAN.id, 15, 15, mix)
    assert len(found) == 15
    assert set(found) & set(honest)
    store.close()
    again = RelayStore(tmp_path / "relay.db", KEY)
    assert again.commit([(PLAN.id, honest)]) == [0], "the key is that of the file"
    again.close()


def test_a_batch_that_cannot_be_mixed_changes_nothing(tmp_path: Path) -> None:
    store = RelayStore(tmp_path / "relay.db", KEY)
    store.commit([(PLAN.id, sealed_reports(3)[1])])

    def broken(_: object) -> bytes:
        raise PlanError("no")

    with pytest.raises(PlanError):
        store.make(PLAN.id, 2, 10, broken)
    assert (store.held(PLAN.id), store.batch(PLAN.id)) == (3, None)
    store.check()
    store.close()


def test_the_files_of_relay_and_collector_are_not_mistaken(tmp_path: Path) -> None:
    from hush.collector.stores.sqlite import SqliteStore

    RelayStore(tmp_path / "relay.db", KEY).close()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(tmp_path / "relay.db")
    SqliteStore(tmp_path / "hush.db").close()
    with pytest.raises(StoreError, match="another program"):
        RelayStore(tmp_path / "hush.db", KEY)
    sqlite3.connect(tmp_path / "relay.db").close()


SCRIPT = """
import { Plan, Report } from "./src/hush/collector/static/hush.js";
import { seal, sendSealed } from "./src/hush/collector/static/seal.js";
const [relay, key, plan, ...reports] = process.argv.slice(2);
const read = await Plan.parse(plan);
for (const report of reports) {
  const made = Report.decode(read, Uint8Array.from(Buffer.from(report, "hex")));
  const sealed = await seal(made, key);
  for (let i = 0; i < 2; i++) console.log((await sendSealed(relay, read.id, sealed, key)).new);
}
"""


@needs_node
def test_the_browser_client_sends_through_a_relay(tmp_path: Path) -> None:
    made = [hush.randomise(PLAN, RECORD) for _ in range(3)]
    script = tmp_path / "send.mjs"
    script.write_text(SCRIPT.replace("./src", str(ROOT / "src")))
    with collecting(tmp_path) as served, relaying(tmp_path, served.url, least=3) as relay:
        done = node(script, relay.url, KEY.public.hex(), PLAN.to_json(), *(one.encode().hex() for one in made))
        assert done.stdout.split() == ["true", "false"] * 3, done.stderr
        wait_until(lambda: served.tally(PLAN).people == 3)
        assert counted(served) == Counter(report.id for report in made)


def test_pages_of_an_origin_may_send(tmp_path: Path) -> None:
    page = {"origin": "https://a.example"}
    with relaying(tmp_path, "http://127.0.0.1:9", origins={"*": frozenset(page.values())}) as relay:
        asked = relay.client.options(f"/sealed/{PLAN.id}", headers=page | {"access-control-request-method": "POST"})
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, page["origin"])
        sent = relay.post(sealed_reports(1)[1][0], origin="https://a.example")
        assert sent.headers["access-control-allow-origin"] == page["origin"]
        assert "access-control-allow-origin" not in relay.post(sealed_reports(1)[1][0], origin="https://b").headers


def test_settings_of_a_relay_are_checked() -> None:
    with pytest.raises(InputError, match="least must be 2"):
        Mix(KEY, 1)
    with pytest.raises(InputError, match="own must be 0"):
        Mix(KEY, 2, -1)
    wide = hush.design(hush.Schema([hush.Categorical("town", list(range(100)))]), 1.0, categorical="oue")
    with pytest.raises(PlanError, match="--own 0"):
        Mix(KEY, 2, 1).check(wide)
    Mix(KEY, 2).check(wide)
    with pytest.raises(InputError, match="at most 1 reports"):
        Mix(KEY, 2, 65535).check(PLAN)


def test_a_store_that_hangs_takes_one_thread_and_no_more(tmp_path: Path) -> None:
    """However many ask whether the relay is ready, one looks, in a thread of its own, and the others go on."""
    looks, go = [], threading.Event()
    with relaying(tmp_path, "http://127.0.0.1:9", health_timeout=0.05, health_every=0) as relay:
        check = relay.store.check

        def hanging() -> None:
            looks.append(threading.current_thread().name)
            assert go.wait(60)
            check()

        relay.store.check = hanging  # type: ignore[method-assign]
        with ThreadPoolExecutor(8) as people:
            for response in people.map(relay.client.get, ["/readyz"] * 40):
                problem(response, "failed")
        assert looks == ["hush-pulse"]
        go.set()
        while relay.client.get("/readyz").status_code != 200:  # the look that hung may go on for a moment
            pass
