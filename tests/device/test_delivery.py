"""The two ways of a report, and batches: where they go, as which bytes, and under which headers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from hush.core.sealing import batch_id, sealed_size
from hush.device.batches import send_batch, send_sealed_batch
from hush.device.delivery import Delivery, Relayed
from hush.device.receipts import Receipt, SealedReceipt
from hush.errors import CollectorError, InputError
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
            Relayed(Scripted(said), KEY).send(REPORT, None)


@pytest.mark.parametrize("keeps", [True, False])
def test_sealed_through_a_relay(keeps: bool, tmp_path: Path) -> None:
    """A book keeps the sealed bytes; without one, every try is sealed anew."""
    relay, collector = Scripted(HELD, b'{"new":0,"reports":1}'), Scripted()
    book = hush.Ledger(tmp_path / "ledger", cap=8.0) if keeps else None
    report = book.randomise(PLAN, {"age": 41, "os": "mac", "shop": "shop 3", "income": None}) if book else REPORT
    delivery = Delivery(collector, Relayed(relay, KEY))
    assert delivery.send(report, book) == Receipt(report.id.hex(), True)
    assert delivery.send(report, book) == Receipt(report.id.hex(), False)
    assert collector.calls == []
    bodies = []
    for path, body, kind, headers in relay.calls:
        assert (path, kind, headers) == (f"/sealed/{PLAN.id}", "application/octet-stream", None)
        assert len(body) == sealed_size(PLAN)
        assert OPENER.open(PLAN, body) == report
        bodies.append(body)
    assert (bodies[0] == bodies[1]) is keeps


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
