"""Receipts: for the very thing that was sent, and well-formed, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hush.device.receipts import Receipt, SealedReceipt, receipt, relay_receipt, sealed_receipt
from hush.errors import CollectorError

SENT = bytes(range(16))
ID = SENT.hex()


def said(**named: Any) -> bytes:
    return json.dumps(named).encode()


@pytest.mark.parametrize("new", [True, False])
def test_what_a_receipt_says(new: bool) -> None:
    assert receipt(said(id=ID, new=new, reports=20), SENT) == Receipt(ID, new)
    assert sealed_receipt(said(id=ID, new=new, reports=20, refused=3), SENT) == SealedReceipt(ID, new, 20, 3)
    assert relay_receipt(said(reports=1, new=int(new)), SENT) == Receipt(ID, new)


@pytest.mark.parametrize(
    "found",
    [
        {"id": ID[:-1] + "0", "new": True, "reports": 1},
        {"id": ID.upper(), "new": True, "reports": 1},
        {"id": ID, "new": 1, "reports": 1},
        {"id": ID, "new": None, "reports": 1},
        {"id": ID, "new": True},
        {"id": ID, "new": True, "reports": 1, "more": 1},
    ],
)
def test_a_receipt_of_a_collector_that_is_refused(found: dict[str, Any]) -> None:
    with pytest.raises(CollectorError):
        receipt(said(**found), SENT)


@pytest.mark.parametrize(
    "change",
    [
        *({"id": other} for other in (ID[:-1] + "0", ID.upper(), None)),
        *({"new": other} for other in (1, None)),
        *({"reports": other} for other in (True, 1.0, "1", None)),
        *({"refused": other} for other in (True, 1.0, "1", None)),
        {"more": 1},
    ],
)
def test_a_receipt_of_a_sealed_batch_that_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(CollectorError):
        sealed_receipt(said(**({"id": ID, "new": True, "reports": 2, "refused": 0} | change)), SENT)


@pytest.mark.parametrize(
    "found",
    [
        *({"reports": held, "new": 1} for held in (0, 2, None, "1")),
        *({"reports": 1, "new": new} for new in (True, False, 1.0, None)),
        {"reports": 1},
        {"reports": 1, "new": 1, "id": ID},
    ],
)
def test_a_receipt_of_a_relay_that_is_refused(found: dict[str, Any]) -> None:
    with pytest.raises(CollectorError):
        relay_receipt(said(**found), SENT)


@pytest.mark.parametrize("reader", [receipt, sealed_receipt, relay_receipt])
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff", b"{", b"null"])
def test_what_is_no_receipt(reader: Any, body: bytes) -> None:
    with pytest.raises(CollectorError):
        reader(body, SENT)
