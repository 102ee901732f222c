"""The two ways of a report, and batches: where they go, as which bytes, and under which headers."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

import hush
from hush.collector.opening import Opener
from hush.core.sealing import batch_id, sealed_size
from hush.device.answered import Person
from hush.device.batches import send_batch, send_sealed_batch
from hush.device.delivery import Delivery, Relayed
from hush.device.ledger import Sealed
from hush.device.receipts import Receipt, SealedReceipt
from hush.device.sealing import seal
from hush.errors import CollectorError, InputError, LedgerError
from tests.collector.served import PLAN, report_of
from tests.device.clients import Scripted, receipt_of
from tests.relay.relayed import KEY, OPENER

REPORT = report_of(PLAN)
PATH = f"/plans/{PLAN.id}/reports"
HELD = b'{"new":1,"reports":1}'


def test_straight_to_the_collector() -> None:
    server = Scripted(receipt_of(REPORT.id), receipt_of(REPORT.id, False), receipt_of(REPORT.id))
    delivery = Delivery(server, None)
    assert delivery.send(REPORT, None) == Receipt(REPORT.id.hex(), True)
    assert delivery.send(REPORT, None, "5167") == Receipt(REPORT.id.hex(), False)
    delivery.send_directly(REPORT, {"X": "y"})
    sent = (PATH, REPORT.encode(), "application/vnd.hush.report")
    assert server.calls == [(*sent, {}), (*sent, {"Hush-Ticket": "5167"}), (*sent, {"X": "y"})]
    delivery.require_direct("anything")


def test_a_receipt_for_another_report_is_none() -> None:
    with pytest.raises(CollectorError, match="something else"):
        Delivery(Scripted(receipt_of(bytes(16))), None).send(REPORT, None)
    for said in (b'{"new":1,"reports":2}', receipt_of(REPORT.id)):
        with pytest.raises(CollectorError):
            Relayed(Scripted(said), KEY).send_bytes(REPORT, KEY, seal(REPORT, KEY))


RECORD = {"age": 41, "os": "mac", "shop": "shop 3", "income": None}
AGAIN = hush.CollectorKey(Opener(bytes(32)).key.public)
LOST = CollectorError("the relay cannot be reached: TimeoutError")
NO = CollectorError("This is sealed for another key", 409, "other-key")


def tries(book: hush.Ledger) -> tuple[hush.Report, list[tuple[str, bytes]], list[object]]:
    """Send a report four times: an answer is lost, the key changes, the relay has another, and then holds it.

    Return the report, what has left under which key, and the outcome of each try.
    """
    relay = Scripted(LOST, NO, HELD, HELD)
    report, outcomes = book.randomise(PLAN, RECORD), list[object]()
    for key in (KEY, AGAIN, AGAIN, AGAIN):
        try:
            outcomes.append(Delivery(Scripted(), Relayed(relay, key)).send(report, book))
        except CollectorError as error:
            outcomes.append((error.status, str(error)))
    for path, _, kind, headers in relay.calls:
        assert (path, kind, list(headers)) == (f"/sealed/{PLAN.id}", "application/octet-stream", ["Hush-Key"])
    return report, [(headers["Hush-Key"], body) for _, body, _, headers in relay.calls], outcomes


def test_a_report_leaves_sealed_once(tmp_path: Path) -> None:
    """Whatever the key is later: the same bytes, under the name of the key for which they are sealed."""
    report, left, outcomes = tries(hush.Ledger(tmp_path / "ledger", cap=8.0))
    assert len(left) == 3, "what a relay holds is not sent again"
    ((key, body),) = set(left)
    assert (key, len(body)) == (KEY.public.hex(), sealed_size(PLAN))
    assert OPENER.open(PLAN, body) == report
    lost, other, *rest = outcomes
    assert lost == (None, str(LOST))
    assert other == (
        409,
        "the report is sealed for another key than the relay's: it was not delivered, and is not sealed again",
    )
    assert rest == [Receipt(report.id.hex(), True), Receipt(report.id.hex(), False)]


def test_a_ledger_that_seals_anew_is_caught(tmp_path: Path) -> None:
    class Anew(hush.Ledger):
        def seal(self, report: hush.Report, key: hush.CollectorKey) -> Sealed:
            return Sealed(key, seal(report, key), False)

    report, left, _ = tries(Anew(tmp_path / "ledger", cap=8.0))
    assert len({body for _, body in left}) == len(left)
    assert OPENER.open(PLAN, left[0][1]) == report == Opener(bytes(32)).open(PLAN, left[1][1])


def test_without_a_ledger_nothing_is_sealed() -> None:
    """A process may end, or fork, and would seal the same report anew."""
    relay, collector = Scripted(), Scripted()
    delivery = Delivery(collector, Relayed(relay, KEY))
    for book in (None, Person(), Person("a")):
        with pytest.raises(LedgerError, match=r"needs a ledger.*submit\(report, sealed=\.\.\.\)"):
            delivery.send(REPORT, book)
        with pytest.raises(LedgerError, match="needs a ledger"):
            delivery.check_keeps(book)
    assert relay.calls == collector.calls == []
    Delivery(collector, None).check_keeps(None)


def test_what_may_have_left_sealed_is_not_sent_to_the_collector(tmp_path: Path) -> None:
    """Neither before nor after the relay has confirmed it: the collector would see who has sent it."""
    book = hush.Ledger(tmp_path / "ledger", cap=8.0)
    collector = Scripted(receipt_of(REPORT.id))
    for answer in (LOST, HELD):
        with suppress(CollectorError):
            Delivery(collector, Relayed(Scripted(answer), KEY)).send(book.randomise(PLAN, RECORD), book)
        with pytest.raises(LedgerError, match="would name itself"):
            Delivery(collector, None).send(book.randomise(PLAN, RECORD), book)
    assert collector.calls == []
    assert Delivery(collector, None).send(REPORT, book).new, "another report may"


def test_sealed_bytes_of_the_caller() -> None:
    relay = Scripted(HELD)
    body = seal(REPORT, KEY)
    assert Relayed(relay, KEY).send_bytes(REPORT, KEY, body) == Receipt(REPORT.id.hex(), True)
    assert relay.calls == [(f"/sealed/{PLAN.id}", body, "application/octet-stream", {"Hush-Key": KEY.public.hex()})]
    with pytest.raises(InputError, match="a sealed report of this plan has"):
        Relayed(relay, KEY).send_bytes(REPORT, KEY, body[:-1])


def test_what_a_relay_does_not_take() -> None:
    relay, collector = Scripted(HELD), Scripted()
    delivery = Delivery(collector, Relayed(relay, KEY))
    with pytest.raises(InputError, match=r"^a report with a ticket, which names it, cannot go through a relay"):
        delivery.send(REPORT, None, "5167")
    with pytest.raises(InputError, match=r"^a thing cannot go through a relay"):
        delivery.require_direct("a thing")
    assert relay.calls == collector.calls == []


def test_batches() -> None:
    server = Scripted(receipt_of(b"0123456789abcdef", False), receipt_of(bytes(16)))
    assert send_batch(server, PATH, b"body", b"0123456789abcdef", "a/b") == Receipt(b"0123456789abcdef".hex(), False)
    assert server.calls == [(PATH, b"body", "a/b", {"Hush-Batch": "30313233343536373839616263646566"})]
    with pytest.raises(CollectorError, match="something else"):
        send_batch(server, PATH, b"body", b"0123456789abcdef", "a/b")


def test_sealed_batches_have_the_hash_of_their_bytes_as_an_id() -> None:
    id_ = batch_id(b"body").hex()
    said = {"id": id_, "new": True, "reports": 2, "refused": 1}
    server = Scripted(json.dumps(said).encode(), json.dumps(said | {"id": "00" * 16}).encode())
    assert send_sealed_batch(server, PLAN, b"body") == SealedReceipt(id_, True, 2, 1)
    assert server.calls == [(f"/plans/{PLAN.id}/sealed", b"body", "application/vnd.hush.sealed", {"Hush-Batch": id_})]
    with pytest.raises(CollectorError, match="something else"):
        send_sealed_batch(server, PLAN, b"body")
